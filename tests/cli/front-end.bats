#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The front end: btrfs-progs behind it behaves as without it, and our commands join its own.
# shellcheck disable=SC2016 # many of these single quotes hold a script for another shell

bats_require_minimum_version 1.5.0
load environment.bash

: "${BTRFS_PROGRAM:=/usr/bin/btrfs}"
export BTRFS_PROGRAM
: "${top_builddir:=$PWD}"
PRINT_ARGUMENTS=$top_builddir/tests/cli/print-arguments

setup_file() {
    mount_btrfs 1G
    dd if=/dev/urandom of="$MNT/file" bs=1M count=1 status=none
    cp --reflink=always "$MNT/file" "$MNT/clone"
    btrfs -q subvolume create "$MNT/subvolume"
    sync -f "$MNT"
}

setup() {
    set -o pipefail
    cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
    mount -o remount,rw "$MNT"
}

# record NAME PROGRAM ARGUMENT...: what PROGRAM says when it is called as btrfs, and how it ends
record() {
    local directory=$1 program=$2 status=0
    shift 2
    mkdir -p "$directory"
    (exec -a btrfs "$program" "$@") </dev/null \
        >"$directory/stdout" 2>"$directory/stderr" || status=$?
    echo "$status" >"$directory/status"
}

# same ARGUMENT...: with and without the front end nothing differs
same() {
    record native "$BTRFS_PROGRAM" "$@"
    record front "$FRONT_END" "$@"
    diff -r native front || fail "differs: btrfs ${*@Q}"
}

# with_program FILE COMMAND...: COMMAND finds FILE in the place of btrfs-progs, nobody else does
with_program() {
    timeout 60 unshare --mount sh -c \
        'mount --bind "$1" "$BTRFS_PROGRAM" && shift && exec "$@"' sh "$@"
}

# with_directory DIRECTORY COMMAND...: the same for the directory of btrfs-progs
with_directory() {
    timeout 60 unshare --mount sh -c \
        'mount --bind "$1" "${BTRFS_PROGRAM%/*}" && shift && exec "$@"' sh "$@"
}

# program NAME LINE...: a shell script to stand in for btrfs-progs
program() {
    local name=$1
    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$name"
    chmod 755 "$name"
}

# program_with NAME SUBCOMMAND...: one whose inspect-internal lists these
program_with() {
    local name=$1
    shift
    program "$name" 'case "$*" in' '*--help)' 'cat <<END' \
        'usage: btrfs inspect-internal <command> <args>' '' \
        "$(printf '    btrfs inspect-internal %s\n        Do it\n' "$@")" \
        'END' ';;' '*) echo "native: $*" ;;' 'esac'
}

native_names() {
    "$BTRFS_PROGRAM" inspect-internal --help |
        sed -n 's/^    btrfs inspect-internal \([^ ]*\).*/\1/p'
}

# As the front end calls them.
our_names() {
    "$FASTPATH" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' | grep -vx -e help -e enable -e disable -e module -e collect -e demo |
        sed 's/^status$/fastpath-status/'
}

# bats test_tags=slow
@test "every subcommand of btrfs-progs: without arguments, --help, a bogus option" {
    local list count=0 words
    list=$("$BTRFS_PROGRAM" --help | sed -n 's/^    btrfs //p' |
        sed -E 's/^([a-z-]+( [a-z-]+)?)( .*)?$/\1/' | sort -u)
    grep -qx 'inspect-internal rootid' <<<"$list"
    grep -qx 'send' <<<"$list"

    while read -ra words; do
        same "${words[@]}" --help
        same "${words[@]}" --no-such-option
        count=$((count + 1))
        case ${words[*]} in
        "device scan" | "rescue create-control-device")
            # Without arguments these change the machine.
            continue
            ;;
        "filesystem show")
            # Without arguments it lists all file systems, which others mount meanwhile.
            continue
            ;;
        esac
        same "${words[@]}"
    done <<<"$list"
    [ "$count" -ge 50 ]
}

@test "every group: without arguments, --help, an unknown subcommand, a prefix" {
    local group groups
    groups=$("$BTRFS_PROGRAM" --help | sed -nE 's/^    btrfs ([a-z-]+) [a-z-]+.*/\1/p' | sort -u)
    grep -qx inspect-internal <<<"$groups"

    for group in $groups; do
        same "$group"
        same "$group" no-such-command
        same "$group" ''
        same "${group:0:3}" no-such-command
        # The help of our group has more in it, see below.
        [ "$group" = inspect-internal ] || same "$group" --help
    done
}

@test "calls without a group, and global options" {
    same
    same ''
    same -
    same --
    same --help
    same --version
    same version
    same help
    same help --full
    same no-such-group
    same no-such-group --help
    same -v
    same -vv
    same --format
    same --log
    same --format bogus inspect rootid "$MNT"
    same --log bogus inspect rootid "$MNT"
    same -v --version
    same -q inspect
    same inspect -h
    same help inspect
    same inspect no-such-command --help
}

@test "any other call goes to btrfs-progs unchanged" {
    for option in - -- -x -vx -xv --verb --quie=1 --format-json --logs=x --help --version --full; do
        same "$option" inspect fiemap-shared "$MNT/file"
    done
    for group in '' x inspect-internal- inspect-internals Inspect fiemap-shared; do
        same "$group" fiemap-shared "$MNT/file"
    done
    for name in '' - -v -h help x Fiemap fiemap-shared-but-longer; do
        same inspect "$name" "$MNT/file"
    done
    same inspect
    same inspect -v fiemap-shared "$MNT/file"
    same --format inspect fiemap-shared "$MNT/file"
    same fiemap-shared "$MNT/file"
}

@test "a typo in the name of a command: btrfs-progs refuses it, and the command is suggested" {
    local name command

    for name in fiemap-shard:fiemap-shared fiemap-sharedx:fiemap-shared seekmap:seek-map nocow-chekc:nocow-check \
        send-raeda:send-reada log-stat5:log-stats fastpath-satus:fastpath-status; do
        command=${name#*:} name=${name%:*}
        run -1 btrfs inspect "$name" "$MNT/file"
        progs=$output
        run -1 "$FRONT_END" inspect "$name" "$MNT/file"
        [ "$output" = "$progs"$'\n\n'"Did you mean '$command', which is from btrfs-fastpath?" ] || fail "$output"
    done
    run -1 "$FASTPATH" seekmap
    [[ $output == *"Did you mean 'seek-map'?"* ]] || fail "$output"
    run -1 "$FASTPATH" nothing-like-it
    [[ $output != *"Did you mean"* ]] || fail "$output"
}

@test "real uses of btrfs-progs" {
    local root
    root=$(btrfs inspect-internal rootid "$MNT/subvolume")
    # No commit shall come between the two programs: it would change the generation.
    mount -o remount,ro "$MNT"
    same filesystem du "$MNT"
    same filesystem du --raw -s "$MNT/file" "$MNT/clone"
    same filesystem show "$MNT"
    same filesystem df "$MNT"
    same subvolume list "$MNT"
    same subvolume show "$MNT/subvolume"
    same property get "$MNT/subvolume"
    same device stats "$MNT"
    same --format json device stats "$MNT"
    same inspect rootid "$MNT/subvolume"
    same inspect-internal rootid "$MNT/subvolume"
    same i ro "$MNT/subvolume"
    same -q i ro "$MNT/subvolume"
    same -v inspect rootid "$MNT/subvolume"
    same -vq --log verbose --log=quiet --format text --format=text inspect ro "$MNT"
    same --format json inspect rootid "$MNT"
    same inspect log 1 "$MNT"
    same inspect log
    same inspect s "$root" "$MNT"
    same inspect s
    same inspect d
    same inspect inode 257 "$MNT"
    same inspect rootid /proc
    same inspect rootid "$MNT/missing"
    same inspect dump-super "$IMAGE"
    same inspect rootid --help
    same send "$MNT/subvolume"
    [ "$("$FRONT_END" i ro "$MNT/subvolume")" = "$root" ]
}

@test "what btrfs-progs writes and reads" {
    "$FRONT_END" subvolume create "$MNT/made"
    "$FRONT_END" subvolume snapshot -r "$MNT/made" "$MNT/snapshot"
    "$FRONT_END" send "$MNT/snapshot" >stream
    "$FRONT_END" receive --dump <stream >dump
    btrfs receive --dump <stream | cmp - dump
    [ -s dump ]
    "$FRONT_END" subvolume delete "$MNT/made" "$MNT/snapshot"
    [ ! -e "$MNT/made" ]
}

@test "the arguments pass untouched, argv[0] too" {
    local words=(inspect-internal rootid '' ' ' 'a b' $'new\nline' $'\xff\xfe' "'" '*' --help -v '')
    for name in btrfs 'an odd name' /x/y -btrfs; do
        with_program "$PRINT_ARGUMENTS" bash -c 'exec -a "$1" "${@:2}"' bash \
            "$name" "$FRONT_END" "${words[@]}" >got
        printf '%s\0' "$name" "${words[@]}" | cmp - got
    done

    words=(-vq --format=json --log $'\xff' i fiemap-shared-not $'\x01')
    with_program "$PRINT_ARGUMENTS" "$FRONT_END" "${words[@]}" >got
    printf '%s\0' "$FRONT_END" "${words[@]}" | cmp - got

    with_program "$PRINT_ARGUMENTS" "$FRONT_END" >got
    printf '%s\0' "$FRONT_END" | cmp - got
}

@test "the environment passes untouched, with one variable more" {
    run -0 with_program "$(command -v env)" env -i ONE=1 LC_ALL=xx PATH=/nowhere "$FRONT_END"
    [ "$output" = $'ONE=1\nLC_ALL=xx\nPATH=/nowhere\nBTRFS_FASTPATH_NESTING=1' ]
}

@test "btrfs-progs takes the place of the front end's process" {
    program fake 'echo $$'
    run -0 with_program "$PWD/fake" sh -c 'echo $$; exec "$0" inspect rootid' "$FRONT_END"
    [ "${lines[0]}" = "${lines[1]}" ]
}

@test "the exit status and the signal are those of btrfs-progs" {
    program fake 'case $2 in [0-9]*) exit $2 ;; esac' 'kill -s "$2" $$'
    run -42 with_program "$PWD/fake" "$FRONT_END" filesystem 42
    run -0 with_program "$PWD/fake" "$FRONT_END" inspect 0
    run -143 with_program "$PWD/fake" "$FRONT_END" inspect TERM
}

@test "our command by every name of the group and of itself" {
    "$FASTPATH" fiemap-shared "$MNT/file" >expected
    for group in i in inspect inspect-internal; do
        for name in "fi" fiem fiemap-shared; do
            "$FRONT_END" "$group" "$name" "$MNT/file" | cmp - expected
        done
    done
    grep -q 1.00MiB expected
}

@test "global options before the group and behind the command" {
    "$FASTPATH" --format json fiemap-shared "$MNT/file" >expected
    [ "$(jq -r '."fiemap-shared"[0].shared_bytes' expected)" = 1048576 ]
    "$FRONT_END" --format json inspect fiemap-shared "$MNT/file" | cmp - expected
    "$FRONT_END" --format=json inspect fiem "$MNT/file" | cmp - expected
    "$FRONT_END" inspect fiemap-shared --format json "$MNT/file" | cmp - expected
    "$FRONT_END" -q --log info -vv --verbose --quiet --format json i "fi" "$MNT/file" |
        cmp - expected

    run -1 --separate-stderr "$FRONT_END" --log bogus inspect fiemap-shared "$MNT/file"
    [[ $stderr = *"unknown log level 'bogus'"* ]]
    run -1 --separate-stderr "$FRONT_END" --format bogus inspect fiemap-shared "$MNT/file"
    [[ $stderr = *"unknown format 'bogus'"* ]]
}

@test "our command gets its arguments untouched" {
    local odd=$'a b\n\xff \x27*'
    cp "$MNT/file" "$MNT/$odd"
    sync -f "$MNT"
    "$FASTPATH" fiemap-shared -- "$MNT/$odd" "$MNT/file" >expected
    "$FRONT_END" inspect fiemap-shared -- "$MNT/$odd" "$MNT/file" | cmp - expected
    run -1 --separate-stderr "$FRONT_END" inspect fiemap-shared ''
    [ "$stderr" = "ERROR: cannot access '': No such file or directory" ]
}

@test "our command's exit status and messages" {
    run -1 --separate-stderr "$FRONT_END" inspect fiemap-shared "$MNT/missing" "$MNT/file"
    [[ $stderr = "ERROR: cannot access '$MNT/missing': No such file or directory" ]]
    [[ $output = *file* ]]
    run -1 "$FRONT_END" inspect fiemap-shared --no-such-option
    [[ $output = *"btrfs inspect fiemap-shared"* ]]
}

@test "our command's help names it as it was called" {
    run -0 --separate-stderr "$FRONT_END" inspect fiem --help
    [[ $output = "Usage: btrfs inspect fiemap-shared "* ]]
    [ -z "$stderr" ]
}

# bats test_tags=slow
@test "every prefix of our commands: native, ours or ambiguous" {
    local names prefix native ours
    names=$(our_names)
    grep -qx fiemap-shared <<<"$names"
    for name in $names; do
        for ((length = 1; length <= ${#name}; length++)); do
            prefix=${name:0:length}
            native=$(native_names | grep -c "^$prefix" || true)
            ours=$(grep -c "^$prefix" <<<"$names")
            if [ "$length" -lt ${#name} ] && [ "$native" -gt 0 ]; then
                same inspect "$prefix" --help
            elif grep -qx "$prefix" <<<"$names"; then
                run -0 "$FRONT_END" inspect "$prefix" --help
                [[ $output = "Usage: btrfs inspect $prefix "* ]]
            elif [ "$ours" -gt 1 ]; then
                run -1 --separate-stderr "$FRONT_END" inspect "$prefix" --help
                [ -z "$output" ]
                [[ $stderr = "ERROR: ambiguous command '$prefix'"*$'\n\t'"$name"* ]]
            else
                run -0 "$FRONT_END" inspect "$prefix" --help
                [[ $output = "Usage: btrfs inspect $name "* ]]
            fi
        done
    done
}

@test "a native subcommand of the same name wins, and is listed once" {
    program_with fake other 'fiemap-shared <file>'
    run -0 with_program "$PWD/fake" "$FRONT_END" inspect fiemap-shared "$MNT/file"
    [ "$output" = "native: inspect fiemap-shared $MNT/file" ]
    run -0 with_program "$PWD/fake" "$FRONT_END" -q i fiem
    [ "$output" = "native: -q i fiem" ]
    run -0 with_program "$PWD/fake" "$FRONT_END" inspect --help
    [ "$(grep -c 'btrfs inspect-internal fiemap-shared' <<<"$output")" = 1 ]
    # as a btrfs-progs with the patch in contrib/btrfs-progs
    program_with fake fiemap-shared seek-map log-stats nocow-check send-reada fastpath-status
    run -0 with_program "$PWD/fake" "$FRONT_END" inspect --help
    refuse_line 'from btrfs-fastpath.*'
}

@test "a native subcommand with the prefix wins, but not over our whole name" {
    program_with fake 'fiemap-dump <file>' fiemap-shared-more
    for word in f fiem fiemap- fiemap-s; do
        run -0 with_program "$PWD/fake" "$FRONT_END" inspect "$word"
        [ "$output" = "native: inspect $word" ]
    done
    run -0 with_program "$PWD/fake" "$FRONT_END" inspect fiemap-shared --help
    [[ $output = "Usage: btrfs inspect fiemap-shared"* ]]
}

@test "only usage lines of the list name native subcommands" {
    program fake 'case "$*" in *--help) cat list ;; *) echo "native: $*" ;; esac'
    {
        echo 'usage: btrfs inspect-internal fiemap-shared'
        echo '        btrfs inspect-internal fiemap-shared'
        echo '    btrfs filesystem fiemap-shared'
        echo '    btrfs inspect-internal'
        echo '    btrfs inspect-internal '
        echo '    btrfs inspect-internal not-fiemap-shared <fiemap-shared>'
        printf '    btrfs inspect-internal \0fiemap-shared\n'
        printf '%20000s\n' fiemap-shared
    } >list
    run -0 with_program "$PWD/fake" "$FRONT_END" inspect fiem --help
    [[ $output = "Usage: btrfs inspect fiemap-shared"* ]]

    # The same with the name in the last line, which has no end.
    printf '    btrfs inspect-internal fiemap-shared' >>list
    run -0 with_program "$PWD/fake" "$FRONT_END" inspect fiem
    [ "$output" = 'native: inspect fiem' ]
}

@test "a btrfs-progs that lists nothing, fails, or never ends its list" {
    program fake 'exit 3'
    run -0 with_program "$PWD/fake" "$FRONT_END" i fiem "$MNT/file"
    program fake 'echo noise >&2' 'kill -KILL $$'
    run -0 --separate-stderr with_program "$PWD/fake" "$FRONT_END" i fiem "$MNT/file"
    [ -z "$stderr" ]
    program fake 'exec yes'
    run -0 with_program "$PWD/fake" "$FRONT_END" i fiem "$MNT/file"
}

@test "asking for the list leaves standard input to our command" {
    program fake 'cat'
    printf '%s\0' "$MNT/file" >names
    run -0 with_program "$PWD/fake" "$FRONT_END" --format json inspect fiemap-shared \
        --files0-from - <names
    [ "$(json '."fiemap-shared"[0].path')" = "$MNT/file" ]
}

@test "closed standard files" {
    "$FASTPATH" fiemap-shared "$MNT/file" >expected
    "$FRONT_END" inspect fiem "$MNT/file" <&- 2>&- | cmp - expected
    run -1 bash -c '"$@" >&-' bash "$FRONT_END" inspect fiem "$MNT/file"
    [ "$output" = "ERROR: cannot write to standard output: Bad file descriptor" ]
}

@test "the group's help: the native one, then ours" {
    "$BTRFS_PROGRAM" inspect-internal --help >native
    for group in inspect i inspect-internal; do
        "$FRONT_END" "$group" --help >got 2>&1
        head -c "$(stat -c %s native)" got | cmp - native
        tail -c "+$(($(stat -c %s native) + 1))" got >ours
        [[ $(sed -n 2p ours) = *btrfs-fastpath* ]]
        tail -n +4 ours >list
        diff <(our_names) <(sed -n 's/^    btrfs inspect-internal \([^ ]*\) .*/\1/p' list)
        [ "$(grep -c '^        [A-Z]' list)" = "$(our_names | wc -l)" ]
        [ "$(wc -l <list)" = "$(($(our_names | wc -l) * 2))" ]
    done
    run -0 "$FRONT_END" -v --format json inspect --help
    [ "$output" = "$(cat got)" ]
    run -0 "$FRONT_END" inspect --help more words
    [ "$output" = "$(cat got)" ]
}

@test "the group's help ends as the native one does" {
    program fake 'echo native' 'exit 3'
    run -3 with_program "$PWD/fake" "$FRONT_END" inspect --help
    [ "${lines[0]}" = native ]
    [[ $output = *fiemap-shared* ]]
    # A parent that ignores SIGCHLD leaves it so.
    run -3 with_program "$PWD/fake" env --ignore-signal=CHLD "$FRONT_END" inspect --help

    program fake 'kill -TERM $$'
    run -143 with_program "$PWD/fake" "$FRONT_END" inspect --help
    [[ $output = *fiemap-shared* ]]

    with_program "$PRINT_ARGUMENTS" "$FRONT_END" -v i --help 'a b' >got
    printf '%s\0' "$FRONT_END" -v i --help 'a b' >expected
    head -c "$(stat -c %s expected)" got | cmp - expected
}

@test "the group's help reports a failed write" {
    run -1 bash -c '"$0" inspect --help 2>&1 >/dev/full' "$FRONT_END"
    [[ $output = *"ERROR: cannot write to standard output: No space left on device"* ]]
}

@test "it does not execute itself" {
    local refusal="ERROR: '$BTRFS_PROGRAM' is this front end itself, not btrfs-progs"
    local name=${BTRFS_PROGRAM##*/}
    cp "$FRONT_END" front

    mkdir symbolic hard copy
    ln -s "$PWD/front" "symbolic/$name"
    ln front "hard/$name"
    cp front "copy/$name"
    for directory in symbolic hard copy; do
        run -1 --separate-stderr with_directory "$PWD/$directory" "$PWD/front" inspect rootid "$MNT"
        [ -z "$output" ]
        [ "$stderr" = "$refusal" ]
    done

    for directory in symbolic hard; do
        run -1 --separate-stderr with_directory "$PWD/$directory" "$PWD/front" inspect --help
        [ "$stderr" = "$refusal" ]
        [[ $output = *fiemap-shared* ]]
        run -0 with_directory "$PWD/$directory" "$PWD/front" i fiem "$MNT/file"
    done

    run -1 with_program "$PWD/front" "$PWD/front"
    [ "$output" = "$refusal" ]
}

@test "it does not execute itself without /proc either" {
    run -1 with_program "$FRONT_END" sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
        "$FRONT_END" inspect rootid "$MNT"
    # The sanitizers warn of the missing /proc, before or behind.
    [[ $output = *"is this front end itself"* ]]
    run -0 --separate-stderr without_proc "$FRONT_END" --version
    [ "$output" = "$("$BTRFS_PROGRAM" --version)" ]
}

@test "without btrfs-progs" {
    mkdir empty
    for words in '' 'filesystem du' 'inspect rootid' 'inspect'; do
        # shellcheck disable=SC2086
        run -127 --separate-stderr with_directory "$PWD/empty" "$FRONT_END" $words
        [ -z "$output" ]
        [[ $stderr = "ERROR: cannot execute btrfs-progs '$BTRFS_PROGRAM': No such file or directory" ]]
    done
    run -0 with_directory "$PWD/empty" "$FRONT_END" i fiem "$MNT/file"
    run -127 --separate-stderr with_directory "$PWD/empty" "$FRONT_END" inspect --help
    [[ $stderr = "ERROR: cannot execute btrfs-progs"* ]]
    [[ $output = *fiemap-shared* ]]
}

@test "with a btrfs-progs that cannot be executed" {
    echo data >plain
    run -126 --separate-stderr with_program "$PWD/plain" "$FRONT_END" inspect rootid
    [[ $stderr = "ERROR: cannot execute btrfs-progs '$BTRFS_PROGRAM': Permission denied" ]]
    chmod 755 plain
    run -126 --separate-stderr with_program "$PWD/plain" "$FRONT_END" inspect rootid
    [[ $stderr = "ERROR: cannot execute btrfs-progs '$BTRFS_PROGRAM': Exec format error" ]]
    run -0 with_program "$PWD/plain" "$FRONT_END" i fiem "$MNT/file"
}
