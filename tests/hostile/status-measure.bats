#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# status --measure in a directory of another user, who replaces whatever appears there meanwhile.

bats_require_minimum_version 1.5.0
load ../cli/environment.bash

: "${top_builddir:=$PWD}"
RUNS=${RUNS:-2}
# On one CPU, where the opponent goes first.
OPPONENT_SCHEDULING="taskset -c 0"
MEASURER_SCHEDULING="taskset -c 0 chrt --idle 0"

setup_file() {
    mount_btrfs 2G
    put_program_for_nobody
}

setup() {
    DIR=$MNT/directory
    VICTIM=$MNT/victim
    mkdir "$DIR" "$VICTIM"
    chown 65534:65534 "$DIR"
    cp "$top_builddir/tests/hostile/replace-folders" "$MNT/opponent"
}

teardown() {
    local entry

    [ -z "${opponent-}" ] || kill "$opponent" 2>/dev/null || true
    for entry in "$DIR"/*/snapshot "$DIR"/* "$VICTIM"; do
        [ -e "$entry" ] || [ -L "$entry" ] || continue
        btrfs -q subvolume delete "$entry" >/dev/null 2>&1 || rm -rf "$entry"
    done
    rm -rf "$DIR"
}

# start_opponent ARGUMENT...: as the owner of the directory
start_opponent() {
    # shellcheck disable=SC2086 # words
    $OPPONENT_SCHEDULING setpriv --reuid=65534 --regid=65534 --clear-groups "$MNT/opponent" "$DIR" "$@" \
        >"$BATS_TEST_TMPDIR/seen" 3>&- &
    opponent=$!
}

# Sets $seen: how many names of others it saw
stop_opponent() {
    kill "$opponent"
    wait "$opponent" || fail "the opponent failed"
    opponent=
    seen=$(cat "$BATS_TEST_TMPDIR/seen")
}

# What another user's deletions would go through: names that the probes use, too
fill_victim() {
    btrfs -q subvolume create "$VICTIM/subvolume" >/dev/null
    mkdir "$VICTIM/snapshot" "$VICTIM/mnt" "$VICTIM/subvolume/snapshot"
    echo data | tee "$VICTIM/extents" "$VICTIM/snapshot/extents" "$VICTIM/subvolume/extents" \
        "$VICTIM/subvolume/snapshot/extents" "$VICTIM/file_1" >/dev/null
    head -c 1M /dev/urandom >"$VICTIM/image"
    chmod -R go= "$VICTIM"
    chmod a+x "$VICTIM"
}

list_victim() {
    (cd "$VICTIM" && find . -type f -exec sha256sum {} + -o -printf '%p %y\n' | sort)
}

expect_nothing_is_mounted_or_looped() {
    local loops

    # A loop device is freed in the background.
    for _ in {1..50}; do
        loops=$(losetup -n -O NAME,BACK-FILE | grep -F "$MNT" || true)
        [ -n "$loops" ] || break
        sleep 0.1
    done
    [ -z "$loops" ] || fail "loop devices:" "$loops"
    ! grep -F "$DIR" /proc/self/mountinfo || fail "mounted"
}

# bats test_tags=slow
@test "root formats, mounts and runs nothing of the directory's owner" {
    local run

    command -v mkfs.btrfs >"$BATS_TEST_TMPDIR/mkfs"
    mkdir "$VICTIM/bin" "$BATS_TEST_TMPDIR/planted"
    chmod a+x "$VICTIM"
    # What the owner wants to be run: it stands before the system's in PATH once it is mounted there.
    truncate -s 200M "$BATS_TEST_TMPDIR/planted.image"
    printf '#!/bin/sh\ntouch %q\nexec %q "$@"\n' "$VICTIM/taken-over" "$(cat "$BATS_TEST_TMPDIR/mkfs")" \
        >"$BATS_TEST_TMPDIR/planted/mkfs.btrfs"
    chmod 755 "$BATS_TEST_TMPDIR/planted/mkfs.btrfs"
    mkfs.btrfs -q --rootdir "$BATS_TEST_TMPDIR/planted" "$BATS_TEST_TMPDIR/planted.image" >/dev/null
    for ((run = 0; run < RUNS; run++)); do
        cp "$BATS_TEST_TMPDIR/planted.image" "$DIR/planted"
        mkdir "$DIR/trap"
        ln -s "$VICTIM/bin" "$DIR/trap/mnt"
        ln -s "$DIR" "$DIR/elsewhere"
        truncate -s 1G "$DIR/trap/image"
        chown -hR 65534:65534 "$DIR"
        start_opponent trap
        PATH=$VICTIM/bin:$PATH run --separate-stderr "$FASTPATH" -q --format json status --measure "$DIR"
        stop_opponent
        [ ! -e "$VICTIM/taken-over" ] || fail "run $run: root ran a program of the directory's owner"
        [ "$status" -eq 0 ] || fail "run $run: status $status" "$stderr"
        [ "$seen" -eq 0 ] || fail "run $run: the owner saw $seen names"
        expect_json '[.status.measured.features[] | select(.verdict == null)] | length' 0
        [ "$(ls -A "$DIR")" = $'elsewhere\nplanted\ntrap' ] || fail "left behind:" "$(ls -A "$DIR")"
        [ -z "$(ls -A "$VICTIM/bin")" ] || fail "made in $VICTIM/bin:" "$(ls -A "$VICTIM/bin")"
        rm -r "${DIR:?}"/*
        expect_nothing_is_mounted_or_looped
    done
}

# bats test_tags=slow
@test "root writes and removes nothing where a link of the owner leads to" {
    local run before

    fill_victim
    before=$(list_victim)
    start_opponent link "$VICTIM"
    for ((run = 0; run < RUNS; run++)); do
        # shellcheck disable=SC2086 # words
        run --separate-stderr $MEASURER_SCHEDULING "$FASTPATH" -q --format json status --measure "$DIR"
        diff <(list_victim) - <<<"$before" || fail "run $run"
        [ "$status" -eq 0 ] || fail "run $run: status $status" "$stderr"
    done
    stop_opponent
    [ "$seen" -eq 0 ] || fail "the owner saw $seen names"
    [ -z "$(ls -A "$DIR")" ] || fail "left behind:" "$(ls -A "$DIR")"
    expect_nothing_is_mounted_or_looped
}

@test "root without mkfs.btrfs makes no name in a directory of another user" {
    start_opponent link "$VICTIM"
    run -1 --separate-stderr env PATH=/nowhere "$FASTPATH" -q --format json status --measure "$DIR"
    stop_opponent
    [ "$seen" -eq 0 ] || fail "the owner saw $seen names"
    expect_json '[.status.measured.features[] | select(.verdict != null)] | length' 0
    [ "$(grep -c 'cannot find mkfs.btrfs' <<<"$stderr")" -eq 5 ] || fail "$stderr"
}

# as_user COMMAND...: who is neither root nor the directory's owner
as_user() {
    setpriv --reuid=65533 --regid=65533 --clear-groups --inh-caps=-all "$@"
}

@test "a user writes and removes nothing where a link of the directory's owner leads to" {
    local run before

    fill_victim
    chown -R 65533:65533 "$VICTIM"
    chmod 777 "$DIR"
    before=$(list_victim)
    start_opponent link "$VICTIM"
    for ((run = 0; run < RUNS; run++)); do
        # It may fail: its folder can be taken away.
        # shellcheck disable=SC2086 # words
        run --separate-stderr as_user $MEASURER_SCHEDULING "$MNT/program" -q --format json status --measure "$DIR"
        diff <(list_victim) - <<<"$before" || fail "run $run"
        [ "$status" -le 1 ] || fail "run $run: status $status" "$stderr"
        [ "$status" -eq 0 ] || [ -n "$stderr" ] || fail "run $run: fails without a word"
    done
    # The opponent was there.
    stop_opponent
    [ "$seen" -gt 0 ]
}

# flags_of_mount PID: of a directory that the process has open on a mount that no process sees
flags_of_mount() {
    python3 - "$@" <<'PYTHON'
import os, sys

folder = f"/proc/{sys.argv[1]}/fd"
for name in os.listdir(folder):
    path = f"{folder}/{name}"
    if os.readlink(path) == "/" and os.stat(path).st_dev != os.stat("/").st_dev:
        print(os.statvfs(path).f_flag)
        break
PYTHON
}

# bats test_tags=slow
@test "mounts are nosuid, nodev and noexec, and no process sees them" {
    local pid device flags=

    "$FASTPATH" -q status --measure "$DIR" >/dev/null 3>&- &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        device=$(losetup -n -O NAME,BACK-FILE | awk -v folder="$DIR/" 'index($2, folder) == 1 { print $1 }')
        [ -n "$device" ] || continue
        ! grep -F " $device " "/proc/$pid/mountinfo" /proc/self/mountinfo || fail "a mount is seen"
        [ -n "$flags" ] || flags=$(flags_of_mount "$pid" 2>/dev/null || true)
    done
    wait "$pid"
    [ -n "$flags" ] || fail "nothing was mounted"
    # ST_NOSUID, ST_NODEV and ST_NOEXEC
    [ $((flags & 14)) -eq 14 ] || fail "flags $flags"
}

@test "messages of mkfs.btrfs are printed" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    # shellcheck disable=SC2016 # its own argument
    printf '#!/bin/sh\nprintf "ERROR: no \\033[31mroom\\n" >&2\nexit 1\n' >"$BATS_TEST_TMPDIR/bin/mkfs.btrfs"
    chmod +x "$BATS_TEST_TMPDIR/bin/mkfs.btrfs"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH run -1 --separate-stderr "$FASTPATH" -q status --measure "$DIR"
    [[ $stderr == *"ERROR: cannot measure nocow-csum in '$DIR': mkfs.btrfs failed: no "*"[31mroom" ]] || fail "$stderr"
    # It is escaped.
    [[ $stderr != *$'\033'* ]]
}

# bats test_tags=slow
@test "nothing is left after SIGKILL" {
    local pid delay

    for delay in 0.05 0.3 1 2; do
        "$FASTPATH" -q status --measure "$DIR" >/dev/null 3>&- &
        pid=$!
        sleep "$delay"
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" || true
        expect_nothing_is_mounted_or_looped
        [ -z "$(ls -A "$DIR")" ] || fail "left behind:" "$(ls -A "$DIR")"
    done
}

# replace_mkfs LINE...: by a shell script, which finds the real one in $MKFS
replace_mkfs() {
    MKFS=$(command -v mkfs.btrfs)
    export MKFS FOLDER=$BATS_TEST_TMPDIR
    mkdir "$FOLDER/bin"
    printf '%s\n' '#!/bin/sh' "$@" >"$FOLDER/bin/mkfs.btrfs"
    chmod +x "$FOLDER/bin/mkfs.btrfs"
}

# Kills a run whose mkfs.btrfs has written its process id, and sets $mkfs to it and $device to the run's loop device.
kill_run_in_mkfs() {
    local pid

    PATH=$FOLDER/bin:$PATH "$FASTPATH" -q status --measure "$DIR" >/dev/null 2>&1 3>&- &
    pid=$!
    until [ -s "$FOLDER/started" ]; do
        kill -0 "$pid" || fail "it ran no mkfs.btrfs"
        sleep 0.05
    done
    mkfs=$(<"$FOLDER/started")
    device=$(losetup -n -O NAME,BACK-FILE | awk -v folder="$DIR/" 'index($2, folder) == 1 { print $1 }')
    [ -n "$device" ] || fail "no loop device"
    kill -KILL "$pid"
    wait "$pid" || true
}

@test "mkfs.btrfs ends with a run that is killed" {
    # shellcheck disable=SC2016 # a script
    replace_mkfs 'echo $$ >"$FOLDER/started"' 'exec sleep 20'
    kill_run_in_mkfs
    if ! ended "$mkfs"; then
        kill "$mkfs"
        fail "it goes on"
    fi
    expect_nothing_is_mounted_or_looped
}

# bats test_tags=slow
@test "a mkfs.btrfs that survives does not format another program's image" {
    local attached=

    # Nobody ends its child.
    # shellcheck disable=SC2016 # a script
    replace_mkfs 'until [ -e "$FOLDER/go" ]; do sleep 0.05; done 2>/dev/null && exec "$MKFS" "$@" 2>&1 &' \
        'echo $! >"$FOLDER/started"' 'wait'
    truncate -s 1G "$FOLDER/image"
    kill_run_in_mkfs
    # Most often it is the next one that anybody gets.
    ! losetup "$device" "$FOLDER/image" 2>/dev/null || attached=1
    touch "$FOLDER/go"
    ended "$mkfs" || fail "it goes on for too long"
    [ -z "$attached" ] || losetup -d "$device"
    [ -z "$(tr -d '\0' <"$FOLDER/image" | head -c 1)" ] || fail "the image of another was formatted"
    [ -z "$attached" ] || fail "the loop device was given away"
    expect_nothing_is_mounted_or_looped
}
