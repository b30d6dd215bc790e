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

# The sentences of the demo are written by hand: the figures that they explain must be there.
@test "demo answers three questions on one screen and a half, and leaves nothing" {
    TMPDIR=$PLACE run -0 demo
    [ "$(grep -cE '^==> [1-9]\. .*\?$' <<<"$output")" -eq 3 ] || fail "$output"
    [ "${#lines[@]}" -le 65 ] || fail "${#lines[@]} lines"
    mapfile -t freed < <(grep -oE '^Freed: [^ ]+' <<<"$output")
    [ "${freed[*]}" = 'Freed: 0.00B Freed: 8.00MiB' ] || fail "${freed[*]}"
    expect_line '/btrfs-fastpath-demo.*/snapshot .* 8.00MiB|btrfs-fastpath-demo.*/snapshot .* 8.00MiB'
    expect_line 'Verdict: .*'
    expect_line ' *64.00MiB +32.00MiB +32.00MiB +16384 scattered'
    expect_line ' *4.00MiB +12.00MiB .* disk.img'
    expect_line 'Hint: .*'
    refuse_line 'ERROR: .*'
    expect_nothing_left "$PLACE"
}

# expect_calls_work COUNT < CALLS: a line each, on files of one's own
expect_calls_work() {
    local call seconds count=0

    btrfs -q subvolume create "$MNT/own"
    head -c 1M /dev/urandom >"$MNT/own/file"
    btrfs -q subvolume snapshot -r "$MNT/own" "$MNT/parent"
    head -c 1M /dev/urandom >"$MNT/own/file"
    btrfs -q subvolume snapshot -r "$MNT/own" "$MNT/snapshot"
    while read -ra call; do
        count=$((count + 1))
        call=("${call[@]/#DIR/$MNT/own}")
        call=("${call[@]/#PARENT/$MNT/parent}")
        call=("${call[@]/#SNAPSHOT*/$MNT/snapshot}")
        call=("${call[@]/#FILE*/$MNT/own/file}")
        call=("${call[@]/#\/MOUNT/$MNT}")
        seconds=60
        # What watches ends by Ctrl-C.
        [[ " ${call[*]} " != *" --watch "* ]] || seconds=2
        run -0 timeout --preserve-status -s INT "$seconds" env --default-signal=INT "$FASTPATH" "${call[@]}" </dev/null
    done
    btrfs -q subvolume delete "$MNT/own" "$MNT/parent" "$MNT/snapshot"
    [ "$count" -eq "$1" ] || fail "$count calls"
}

@test "demo ends with calls for one's own files, which work" {
    local calls page

    run -0 demo "$MNT"
    mapfile -t calls < <(sed -nE 's/^  ([^ ]*btrfs-fastpath .* (DIR|FILE))$/\1/p' <<<"$output")
    # as they can be typed in this directory
    [[ $(type -P "${calls[0]%% *}") -ef $FASTPATH ]] || fail "${calls[@]}"
    page=$(sed -nE 's/^  man ([^ ]*)$/\1/p' <<<"$output")
    [ "$page" = btrfs-fastpath-workflows ] || [ -e "$page" ] || fail "no page '$page'"
    expect_calls_work 3 < <(printf '%s\n' "${calls[@]#* }")
}

@test "the calls in the table of README.md work" {
    # shellcheck disable=SC2016 # Markdown
    expect_calls_work 10 < <(sed -nE 's/^\| .*\? \| `btrfs-fastpath (.*)` \|$/\1/p' "$top_srcdir/README.md")
}

# bats test_tags=slow
@test "demo --all runs each command, and leaves nothing" {
    TMPDIR=$PLACE run -0 demo --all
    for command in status fiemap-shared seek-map log-stats nocow-check send-reada; do
        expect_line "# btrfs-fastpath $command .*"
    done
    expect_line '==> Cleaning up'
    refuse_line 'ERROR: .*'
    expect_nothing_left "$PLACE"
}

@test "demo DIR: in a new folder there" {
    run -0 demo "$MNT"
    grep -qF "==> Creating example files in $MNT/btrfs-fastpath-demo." <<<"$output"
    [ "$(ls -A "$MNT")" = program ] || fail "$(ls -A "$MNT")"
}

# bats test_tags=slow
@test "demo leaves nothing after a signal, and reports it" {
    for signal in INT TERM HUP; do
        : >"$BATS_TEST_TMPDIR/output"
        TMPDIR=$PLACE env --default-signal=INT bash "$DEMO" "$FASTPATH" --all >"$BATS_TEST_TMPDIR/output" 2>&1 &
        for _ in {1..200}; do
            ! grep -q '==> Who shares it' "$BATS_TEST_TMPDIR/output" || break
            sleep 0.05
        done
        kill "-$signal" $!
        status=0
        wait $! || status=$?
        [ "$status" -eq $((128 + $(kill -l "$signal"))) ] || fail "$signal: $status"
        grep -q '^ERROR: stopped early, cleaning up$' "$BATS_TEST_TMPDIR/output"
        expect_nothing_left "$PLACE"
    done
}

# The btrfs in the image is read-only after errors of writing.
# bats test_tags=slow
@test "demo on a disk that gets full leaves nothing" {
    mount -t tmpfs -o size=120m,mode=755 tmpfs "$PLACE"
    TMPDIR=$PLACE run -1 demo --all
    expect_line 'ERROR: stopped early, cleaning up'
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
        [ "$stderr" = "ERROR: not safe: '$PLACE' must belong to root, and only root may write to it" ] || fail "$stderr"
    done
    chmod 755 "$PLACE"
    chown 65534 "$PLACE/within"
    TMPDIR=$PLACE/within run -1 --separate-stderr demo
    [[ $stderr == *"'$PLACE/within' must belong to root"* ]]
    run -1 --separate-stderr demo "$PLACE/none"
    [ "$stderr" = "ERROR: not a directory: '$PLACE/none'" ]
    run -1 --separate-stderr demo /proc
    [[ $stderr == "ERROR: "* ]]
    [ "$(ls -A "$PLACE")" = within ]
    [ -z "$(ls -A "$PLACE/within")" ]
}

@test "the command is for root, and takes one directory and --all" {
    run -1 --separate-stderr as_nobody "$MNT/program" demo
    [ "$stderr" = 'ERROR: demo requires root' ]
    run -1 --separate-stderr "$FASTPATH" demo one two
    [[ $stderr == *"1 argument at most expected, 2 given"* ]]
    run -1 --separate-stderr "$FASTPATH" --format json demo
    [ "$stderr" = "ERROR: this command does not support --format 'json'" ] || fail "$stderr"
    run -1 --separate-stderr "$FASTPATH" demo --al=x
    [[ $stderr == *"doesn't allow an argument"* ]] || fail "$stderr"
    run -0 "$FASTPATH" demo --help
    [[ $output == *--all* ]]
    [[ $output != *format* ]]
}

# With a script of our own at the place of the installed one, which no other process sees.
@test "the command passes --all and the directory on to its script" {
    script=$(grep -aoE '/[[:print:]]*/demo\.bash' "$MNT/program" | head -n 1)
    place=${script%/*}
    while [ ! -d "$place" ]; do
        place=${place%/*}
    done
    # shellcheck disable=SC2016 # for another shell
    run -0 unshare --mount --propagation private sh -c '
        mount -t tmpfs none "$1" && mkdir -p "${2%/*}" || exit 99
        printf "%s\n" "#!/bin/sh" shift "echo \$# \$*" >"$2"
        chmod 755 "$2" && cd / || exit 99
        "$3" demo && "$3" demo --all && "$3" demo one && "$3" demo two --all' - "$place" "$script" "$MNT/program"
    [ "$output" = $'0\n1 --all\n1 one\n2 --all two' ] || fail "$output"
}

# first_question < PICTURE: the text of the first question, without what differs from run to run
first_question() {
    sed -n 's/^<text [^>]*>\(.*\)<\/text>$/\1/p' | sed 's/btrfs-fastpath-demo\.[[:alnum:]]*/DEMO/; /^==&gt;.2\./,$d'
}

@test "the picture in README.md shows what the demo prints" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    "$top_srcdir/man/html/draw-demo" "$DEMO" "$(realpath "$FASTPATH")" >"$BATS_TEST_TMPDIR/demo.svg"
    first_question <"$BATS_TEST_TMPDIR/demo.svg" >"$BATS_TEST_TMPDIR/now"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/now")" -ge 18 ]
    diff <(first_question <"$top_srcdir/man/html/demo.svg") "$BATS_TEST_TMPDIR/now" || fail "make picture draws it again"
}
