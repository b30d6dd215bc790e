#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The front end where btrfs-progs should be and is not, and programs that are started without their
# standard files.
# bats runs each test in a subshell; scripts stand in single quotes
# shellcheck disable=SC2016,SC2030,SC2031

bats_require_minimum_version 1.5.0
load ../cli/environment.bash

: "${top_builddir:=$PWD}"
: "${BTRFS_PROGRAM:=/usr/bin/btrfs}"

setup_file() {
    mount_btrfs 512M
    mkdir "$MNT/directory"
    dd if=/dev/urandom of="$MNT/file" bs=1M count=1 status=none
    sync -f "$MNT"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# with_script LINE... -- COMMAND...: COMMAND finds a script in the place of btrfs-progs
with_script() {
    local lines=('#!/bin/sh' "echo called >>'$PWD/calls'")

    while [ "$1" != -- ]; do
        lines+=("$1")
        shift
    done
    shift
    printf '%s\n' "${lines[@]}" >script
    chmod 755 script
    : >calls
    timeout -s KILL 30 unshare --mount sh -c \
        'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh \
        "$PWD/script" "$BTRFS_PROGRAM" "$@"
}

expect_refused() {
    [ -z "$output" ] || fail "$output"
    # shellcheck disable=SC2154 # bats' run sets it
    [ "$stderr" = "ERROR: '$BTRFS_PROGRAM' calls this front end again; it is not btrfs-progs" ] ||
        fail "$stderr"
}

# expect_calls MOST: the script was called, and not more often
expect_calls() {
    [ "$(wc -l <calls)" -ge 1 ]
    [ "$(wc -l <calls)" -le "$1" ] || fail "called $(wc -l <calls) times"
}


@test "a wrapper that calls the front end again, as a child and in its own place" {
    local stop="[ \"\$(wc -l <'$PWD/calls')\" -lt 100 ] || exit 77"

    run -1 --separate-stderr with_script "$stop" "'$FRONT_END' \"\$@\"" -- "$FRONT_END" inspect rootid "$MNT"
    expect_refused
    expect_calls 5
    run -1 --separate-stderr with_script "$stop" "exec '$FRONT_END' \"\$@\"" -- "$FRONT_END" version
    expect_refused
    expect_calls 5
}

@test "a wrapper that calls it twice, and for its list of commands" {
    local stop="[ \"\$(wc -l <'$PWD/calls')\" -lt 100 ] || exit 77"

    run -1 --separate-stderr with_script "$stop" "'$FRONT_END' --version" "'$FRONT_END' \"\$@\"" -- \
        "$FRONT_END" inspect rootid "$MNT"
    expect_calls 50
    # Our commands still work.
    run -0 with_script "$stop" "exec '$FRONT_END' \"\$@\"" -- "$FRONT_END" inspect fiem "$MNT/file"
    [[ $output == *"$MNT/file"* ]]
    expect_calls 50
    run -1 with_script "$stop" "exec '$FRONT_END' \"\$@\"" -- "$FRONT_END" inspect --help
    [[ $output == *fiemap-shared* ]]
    expect_calls 50
}

@test "a wrapper that calls the front end once for something else" {
    run -0 --separate-stderr with_script \
        'if [ "$1" = version ]; then echo "the real one"; else echo "before $1:"; "$FRONT_END" version; fi' -- \
        "$FRONT_END" filesystem
    [ "$output" = $'before filesystem:\nthe real one' ]
    [ -z "$stderr" ]
    expect_calls 2
    # What it is told by others is no reason to refuse, or to go on without end.
    for value in '' x -1 99 10 ' 3'; do
        BTRFS_FASTPATH_NESTING=$value run -0 with_script 'echo "$BTRFS_FASTPATH_NESTING"' -- "$FRONT_END" version
        [ "$output" = 1 ]
    done
}

# -- standard files --

# without FILES COMMAND...: with the standard files whose numbers are in FILES closed
without() {
    python3 -c '
import os, sys
for digit in sys.argv[1]:
    os.close(int(digit))
os.execv(sys.argv[2], sys.argv[2:])' "$@" 3>&-
}

# bats test_tags=slow
@test "nothing that is opened gets the place of a closed standard file" {
    local files

    for files in 0 1 2 01 02 12 012; do
        # What is printed goes nowhere, and into no file.
        without "$files" "$FASTPATH" log-stats --files 30 --every 10 --json-samples samples-$files \
            "$MNT/directory" >out 2>err || true
        [ "$(wc -l <samples-$files)" -eq 3 ]
        ! grep -vE '^\{"entries":[0-9]+,"ns":[0-9]+,"kind":"[a-z]+"\}$' samples-$files ||
            fail "closed $files"
        without "$files" "$FASTPATH" nocow-check --exercise "$MNT/directory" --seconds 1 --size 1M \
            --engine builtin --scratch nocow >out 2>err || true
        if [[ $files != *1* ]]; then
            grep -q '^Predicted: [1-9]' out
            grep -q ', 0.00B of the file moved$' out
        fi
    done
    [ -z "$(ls -A "$MNT/directory")" ]
}

@test "a report that nobody can get is an error" {
    local program

    for program in "$FASTPATH" "$FRONT_END inspect"; do
        for files in 1 01; do
            # shellcheck disable=SC2086 # two words
            run -1 without "$files" $program fiemap-shared "$MNT/file"
            [ "$output" = "ERROR: cannot write to standard output: Bad file descriptor" ] || fail "$output"
        done
        # shellcheck disable=SC2086
        run -1 without 12 $program fiemap-shared "$MNT/file"
        # shellcheck disable=SC2086
        run -0 without 2 $program fiemap-shared "$MNT/file"
        # shellcheck disable=SC2086
        run -1 sh -c '"$@" 2>&1 >/dev/full' sh $program fiemap-shared "$MNT/file"
        [ "$output" = "ERROR: cannot write to standard output: No space left on device" ]
        # shellcheck disable=SC2086
        run -1 sh -c '"$@" 2>&1 >/dev/full' sh $program fiemap-shared --help
        [[ $output == *"ERROR: cannot write to standard output: No space left on device"* ]]
    done
    run -1 sh -c '"$@" 2>&1 >/dev/full' sh "$FASTPATH" log-stats -q --files 10 "$MNT/directory"
    [ "$output" = "ERROR: cannot write to standard output: No space left on device" ]
    run -1 timeout -s KILL 60 sh -c '"$@" 2>&1 >/dev/full' sh "$FASTPATH" log-stats --watch --interval 0.1 "$MNT/directory"
    [ "$output" = "ERROR: cannot write to standard output: No space left on device" ]
}

@test "standard files that were closed stay closed in the executed program" {
    run -0 with_script 'for fd in 0 1 2; do [ ! -e /proc/$$/fd/$fd ] || echo "$fd" >>open; done' -- \
        python3 -c '
import os, sys
for fd in 0, 2:
    os.close(fd)
os.execv(sys.argv[1], ["btrfs", "version"])' "$FRONT_END"
    [ "$(cat open)" = 1 ]
}

@test "closed standard files in a root directory that has no /dev" {
    local library root=$PWD/root

    skip_if_it_needs_proc
    mkdir -p "$root$MNT"
    cp "$FASTPATH" "$root/program"
    ldd "$FASTPATH" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root${library%/*}"
        cp "$library" "$root$library"
    done
    run -0 unshare --mount sh -c 'mount --bind "$1" "$2$1" && shift && exec chroot "$@" 2>&-' sh \
        "$MNT" "$root" /program log-stats --files 30 --every 10 --json-samples /samples "$MNT/directory"
    [ "$(grep -c '^{' "$root/samples")" -eq 3 ]
    [ "$(wc -l <"$root/samples")" -eq 3 ]
}

# expect_no_start PROGRAM ERROR
expect_no_start() {
    run -1 --separate-stderr without 0 "$top_builddir/tests/hostile/$1" status
    [ -z "$output" ] || fail "$output"
    # shellcheck disable=SC2154 # bats' run sets it
    [ "$stderr" = "ERROR: $2" ] || fail "$stderr"
}

@test "an error at the start is reported" {
    local closed='cannot replace a closed standard file: Too many open files'

    NO_FILES=1 expect_no_start failing-program "$closed"
    NO_FILES=1 expect_no_start failing-front-end "$closed"
    NO_MEMORY=1 expect_no_start failing-front-end 'cannot set BTRFS_FASTPATH_NESTING: Cannot allocate memory'
    # There is no way to report it.
    NO_FILES=1 run -1 without 02 "$top_builddir/tests/hostile/failing-program" status
    [ -z "$output" ]
}
