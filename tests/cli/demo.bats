#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# demo: the script that the command runs, from its beginning to its end, and what it leaves if it does not get so far.

# bats' run sets stderr
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load environment.bash

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}"
DEMO=$top_srcdir/cmds/demo.bash

setup_file() {
    mount_btrfs 3G
    put_program_for_nobody
}

teardown_file() {
    unmount_btrfs
}

setup() {
    PLACE=$BATS_TEST_TMPDIR/place
    mkdir -m 755 "$PLACE"
}

demo() {
    bash "$DEMO" "$FASTPATH" "$@"
}

expect_nothing_left() {
    [ -z "$(ls -A "$1")" ] || fail "left behind:" "$(ls -A "$1")"
    ! grep -qF "$1/" /proc/mounts || fail "mounted:" "$(grep -F "$1/" /proc/mounts)"
    losetup --list --noheadings --output BACK-FILE >"$BATS_TEST_TMPDIR/loops"
    ! grep -F "$1/" "$BATS_TEST_TMPDIR/loops" || fail "a loop device is left"
}

@test "demo runs each command on a file system of its own, and leaves nothing" {
    TMPDIR=$PLACE run -0 demo
    for command in status fiemap-shared seek-map log-stats nocow-check send-reada; do
        expect_line "# btrfs-fastpath $command .*"
    done
    expect_line '==> Cleaning up'
    refuse_line 'ERROR: .*'
    expect_nothing_left "$PLACE"
}

@test "demo DIR: in a folder of its own there" {
    run -0 demo "$MNT"
    grep -qF "==> Making example files in $MNT/btrfs-fastpath-demo." <<<"$output"
    [ "$(ls -A "$MNT")" = program ] || fail "$(ls -A "$MNT")"
}

@test "demo after a signal leaves nothing, and says so" {
    for signal in INT TERM HUP; do
        : >"$BATS_TEST_TMPDIR/output"
        TMPDIR=$PLACE env --default-signal=INT bash "$DEMO" "$FASTPATH" >"$BATS_TEST_TMPDIR/output" 2>&1 &
        for _ in {1..200}; do
            ! grep -q '==> Who shares it' "$BATS_TEST_TMPDIR/output" || break
            sleep 0.05
        done
        kill "-$signal" $!
        status=0
        wait $! || status=$?
        [ "$status" -eq $((128 + $(kill -l "$signal"))) ] || fail "$signal: $status"
        grep -q '^ERROR: stopped half way, cleaning up$' "$BATS_TEST_TMPDIR/output"
        expect_nothing_left "$PLACE"
    done
}

# The btrfs in the image is read-only after errors of writing.
@test "demo on a disk that gets full leaves nothing" {
    mount -t tmpfs -o size=120m,mode=755 tmpfs "$PLACE"
    TMPDIR=$PLACE run -1 demo
    expect_line 'ERROR: stopped half way, cleaning up'
    left=$(ls -A "$PLACE")
    grep -F "$PLACE/" /proc/mounts | cut -d ' ' -f 2 | xargs -r umount
    umount "$PLACE"
    [ -z "$left" ] || fail "left behind: $left"
}

@test "demo in a directory that is not safe, or no directory at all" {
    chmod 777 "$PLACE"
    mkdir -m 755 "$PLACE/within"
    for place in "$PLACE" "$PLACE/within"; do
        TMPDIR=$place run -1 --separate-stderr demo
        [ "$stderr" = "ERROR: not safe from other users: '$PLACE' is not root's, or others can write to it" ] || fail "$stderr"
    done
    chmod 755 "$PLACE"
    chown 65534 "$PLACE/within"
    TMPDIR=$PLACE/within run -1 --separate-stderr demo
    [[ $stderr == *"'$PLACE/within' is not root's"* ]]
    run -1 --separate-stderr demo "$PLACE/none"
    [ "$stderr" = "ERROR: not a directory: '$PLACE/none'" ]
    run -1 --separate-stderr demo /proc
    [[ $stderr == "ERROR: "* ]]
    [ "$(ls -A "$PLACE")" = within ]
    [ -z "$(ls -A "$PLACE/within")" ]
}

@test "the command is for root, and takes one directory" {
    run -1 --separate-stderr as_nobody "$MNT/program" demo
    [ "$stderr" = 'ERROR: demo needs root' ]
    run -1 --separate-stderr "$FASTPATH" demo one two
    [[ $stderr == *"1 argument at most expected, 2 given"* ]]
    run -1 --separate-stderr "$FASTPATH" --format json demo
    [ "$stderr" = 'ERROR: demo prints text' ]
}
