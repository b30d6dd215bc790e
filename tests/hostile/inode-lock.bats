#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Walks that meet a file whose inode lock another process holds: FIEMAP and SEEK_DATA sleep, and no signal ends that.

# bats' run sets output and stderr, and runs each test in a subshell
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load ../cli/environment.bash
load ../cli/background.bash
load ../cli/inode-lock.bash

# A run waits for 10 seconds for each of the first three files.
LIMIT=59

setup_file() {
    mount_btrfs 1G noatime
}

setup() {
    local directory number

    # a name of its own, by which its processes are found
    PROGRAM=$BATS_TEST_TMPDIR/stuck$$
    cp "$FASTPATH" "$PROGRAM"
    TREE=$MNT/tree
    for directory in a b c; do
        mkdir -p "$TREE/$directory"
        for number in 1 2 3; do
            head -c 64K /dev/urandom >"$TREE/$directory/$number"
        done
    done
    sync -f "$MNT"
    HELD=$TREE/b/2
    STARTED=()
}

teardown() {
    release_inode_locks
    pkill -KILL -x "${PROGRAM##*/}" || true
    within "$LIMIT" nothing_runs
    rm -rf "$TREE"
}

processes() {
    pgrep -x "${PROGRAM##*/}"
}

nothing_runs() {
    ! processes >/dev/null
}

# The number of threads that sleep so
asleep_count() {
    local pid

    for pid in $(processes); do
        sed -n 's/^State:[[:space:]]*\(D\).*/\1/p' /proc/"$pid"/task/*/status 2>/dev/null
    done | wc -l
}

are_asleep() {
    [ "$(asleep_count)" -ge "$1" ]
}

# start NAME ARGUMENT...: its output goes through a pipe to NAME.out, and its status to NAME.status
start() {
    local name=$BATS_TEST_TMPDIR/$1

    shift
    {
        {
            timeout "$LIMIT" "$PROGRAM" "$@" 2>"$name.err" || echo $? >"$name.status"
        } | cat >"$name.out"
    } 3>&- &
    STARTED+=($!)
}

finish_all() {
    wait "${STARTED[@]}"
    STARTED=()
}

# expect_end NAME FILE...: of the run NAME, which could not examine these
expect_end() {
    local name=$BATS_TEST_TMPDIR/$1 file errors=

    shift
    for file; do
        errors+="ERROR: no answer from the kernel in time for '$file'"$'\n'
    done
    [ "$(<"$name.status")" = 1 ] || fail "status $(<"$name.status")" "$(<"$name.err")"
    diff "$name.err" <(printf %s "$errors")
    output=$(<"$name.out")
}

# expect_paths NAME FILTER: those of all other files
expect_paths() {
    diff <(jq -r "$2" "$BATS_TEST_TMPDIR/$1.out" | sort) \
        <(find "$TREE" -type f ! -samefile "$HELD" | sort)
}

# Each run leaves one process with one sleeping thread, until the lock is free.
expect_left() {
    [ "$(processes | wc -l)" -eq "$1" ] || fail "processes:" "$(processes)"
    [ "$(asleep_count)" -eq "${2:-$1}" ]
    release_inode_locks
    within "$LIMIT" nothing_runs
}

# bats test_tags=slow
@test "the rest of the tree is reported" {
    hold_inode_lock "$HELD" "$MNT/fuse"
    start sums fiemap-shared -r "$TREE"
    start sums-json --format json fiemap-shared -r "$TREE"
    start sorted --format json fiemap-shared -r --sort total "$TREE"
    start seek seek-map -r "$TREE"
    start seek-json --format json seek-map -r "$TREE"
    start nocow --format json nocow-check -r "$TREE"
    finish_all

    expect_end sums "$HELD"
    expect_line " *512\.00KiB .* total"
    expect_line ".* $TREE/b/3"
    refuse_line ".* $HELD"
    for name in sums-json sorted; do
        expect_end "$name" "$HELD"
        expect_json '.total | "\(.file_count) \(.total_bytes)"' "8 $((8 << 16))"
        expect_paths "$name" '."fiemap-shared"[].path'
    done
    expect_end seek "$HELD"
    expect_line " *512\.00KiB .* total"
    expect_line ".* $TREE/b/3"
    expect_end seek-json "$HELD"
    expect_json '.total | "\(.file_count) \(.data_bytes)"' "8 $((8 << 16))"
    expect_paths seek-json '."seek-map"[] | select(.error == null).path'
    expect_json '[."seek-map"[] | select(.error)] | length' 1
    expect_json '."seek-map"[] | select(.error) | "\(.path) \(.segments) \(.error)"' \
        "$HELD [] Device or resource busy"
    expect_end nocow "$HELD"
    expect_json '.total.file_count' 8
    expect_paths nocow '."nocow-check"[] | select(.error == null).path'
    expect_left 6
}

# bats test_tags=slow
@test "the report on a file ends where it was" {
    hold_inode_lock "$HELD" "$MNT/fuse"
    start extents --format json fiemap-shared -r -e --owners --timing "$TREE"
    start lines --format ndjson fiemap-shared -r -e "$TREE"
    start text fiemap-shared -r -e "$TREE"
    start kinds --format json seek-map -r --fiemap --check=data --timing "$TREE"
    start seek-lines --format ndjson seek-map -r "$TREE"
    start ranges --format json nocow-check -r -e "$TREE"
    start metrics --format openmetrics seek-map -r "$TREE"
    finish_all

    expect_end extents "$HELD"
    expect_json '[."fiemap-shared"[] | select(.error) | "\(.path) \(.extents)"] | join(" ")' "$HELD []"
    expect_json '.total.file_count' 8
    expect_paths extents '."fiemap-shared"[] | select(.error == null).path'
    expect_end lines "$HELD"
    [ "$(jq -c .total.file_count <<<"$output" | tail -n 1)" = 8 ]
    run_validator --lines fiemap-shared <<<"$output"
    expect_paths lines 'select(."fiemap-shared" and ."fiemap-shared".error == null)."fiemap-shared".path'
    expect_end text "$HELD"
    expect_line "File: '$TREE/b/3'"
    expect_line " *512\.00KiB .* total"
    expect_end kinds "$HELD"
    expect_json '.total.file_count' 8
    expect_end seek-lines "$HELD"
    run_validator --lines seek-map <<<"$output"
    expect_paths seek-lines 'select(."seek-map" and ."seek-map".error == null)."seek-map".path'
    expect_end ranges "$HELD"
    expect_json '[."nocow-check"[] | select(.error).path] | join(" ")' "$HELD"
    expect_paths ranges '."nocow-check"[] | select(.error == null).path'
    expect_end metrics "$HELD"
    expect_line "btrfs_fastpath_seek_files.* 8"
    expect_left 7
}

# bats test_tags=slow
@test "two files, in one directory and under two names" {
    ln "$HELD" "$TREE/b/other"
    hold_inode_lock "$HELD" "$MNT/fuse"
    hold_inode_lock "$TREE/c/3" "$MNT/fuse2"
    start sums --format json fiemap-shared -r "$TREE"
    start seek --format json seek-map -r "$TREE"
    finish_all
    for name in sums seek; do
        output=$(<"$BATS_TEST_TMPDIR/$name.out")
        [ "$(<"$BATS_TEST_TMPDIR/$name.status")" = 1 ]
        expect_json .total.file_count 7
        [ "$(grep -c "^ERROR: no answer from the kernel in time for '$TREE/\(b/2\|b/other\|c/3\)'$" \
            "$BATS_TEST_TMPDIR/$name.err")" -ge 2 ]
    done
    release_inode_locks
    within "$LIMIT" nothing_runs
}

# bats test_tags=slow
@test "after some files a run waits for a short time only" {
    local file number=0

    for file in a/1 a/2 b/1 b/2 c/1 c/2; do
        hold_inode_lock "$TREE/$file" "$MNT/fuse$((number++))"
    done
    # 10 seconds for each would take longer than the limit.
    start many seek-map -rs "$TREE"
    finish_all
    expect_end many "$TREE"/{a/1,a/2,b/1,b/2,c/1,c/2}
    [ "$(grep -c "$TREE/[abc]/3$" <<<"$output")" = 3 ]
}

# bats test_tags=slow
@test "several paths, and a list of them" {
    hold_inode_lock "$HELD" "$MNT/fuse"
    start paths --format json seek-map "$TREE/a/1" "$HELD" "$TREE/c/1"
    printf '%s\0' "$TREE/a/1" "$HELD" "$TREE/c/1" >"$BATS_TEST_TMPDIR/list"
    start list --format json fiemap-shared --files0-from "$BATS_TEST_TMPDIR/list"
    start nocow --format json nocow-check --files0-from "$BATS_TEST_TMPDIR/list"
    finish_all
    for name in paths list nocow; do
        expect_end "$name" "$HELD"
        expect_json .total.file_count 2
    done
    expect_left 3
}

@test "a call that takes long, and ends, gives its file" {
    hold_inode_lock "$HELD" "$MNT/fuse"
    start sums --format json fiemap-shared -r "$TREE"
    start seek --format json seek-map -r "$TREE"
    within "$LIMIT" are_asleep 2
    release_inode_locks
    finish_all
    for name in sums seek; do
        [ ! -e "$BATS_TEST_TMPDIR/$name.status" ] || fail "$(<"$BATS_TEST_TMPDIR/$name.err")"
        output=$(<"$BATS_TEST_TMPDIR/$name.out")
        expect_json .total.file_count 9
    done
    within "$LIMIT" nothing_runs
}

# expect_signal SIGNAL TARGET: a run ends by SIGNAL, sent to its process, or to its group if TARGET is group; and so
# does the pipe to which it writes
expect_signal() {
    local pid reader status=0 fifo=$BATS_TEST_TMPDIR/fifo

    rm -f "$fifo"
    mkfifo "$fifo"
    cat "$fifo" >/dev/null 3>&- &
    reader=$!
    # a background job ignores SIGINT
    env --default-signal setsid "$PROGRAM" "${COMMAND[@]}" "$TREE" >"$fifo" 2>/dev/null 3>&- &
    pid=$!
    within "$LIMIT" are_asleep "$3"
    if [ "$2" = group ]; then
        kill "-$1" -- "-$pid"
    else
        kill "-$1" "$pid"
    fi
    within "$LIMIT" ended "$pid"
    wait "$pid" || status=$?
    [ "$status" -eq $((128 + $(kill -l "$1"))) ] || fail "$1: status $status"
    within "$LIMIT" ended "$reader"
}

# bats test_tags=slow
@test "a signal ends the wait" {
    local count=0

    hold_inode_lock "$HELD" "$MNT/fuse"
    for COMMAND in "fiemap-shared -r" "seek-map -r"; do
        read -ra COMMAND <<<"$COMMAND"
        expect_signal INT group $((++count))
        expect_signal TERM process $((++count))
        expect_signal HUP process $((++count))
        expect_signal KILL process $((++count))
    done
    # with nothing left but what sleeps
    expect_left "$count"
}

# bats test_tags=slow
@test "a reader that ends before the run ends it" {
    local status=0

    hold_inode_lock "$HELD" "$MNT/fuse"
    mkfifo "$BATS_TEST_TMPDIR/lines"
    exec 7<>"$BATS_TEST_TMPDIR/lines"
    timeout "$LIMIT" "$PROGRAM" --format ndjson seek-map -r "$TREE" >"$BATS_TEST_TMPDIR/lines" 2>/dev/null 3>&- 7>&- &
    within "$LIMIT" are_asleep 1
    # The rest is written to a pipe without a reader.
    exec 7>&-
    wait $! || status=$?
    [ "$status" -eq $((128 + $(kill -l PIPE))) ] || fail "$status"
    expect_left 1
}

@test "exit status and signals of an undisturbed run are passed on" {
    local status=0

    run -0 "$PROGRAM" seek-map -r "$TREE"
    run -1 "$PROGRAM" seek-map -r "$TREE/none"
    chattr +C "$TREE"
    touch "$TREE/nocow"
    head -c 64K /dev/urandom >"$TREE/nocow"
    sync -f "$TREE"
    cp --reflink=always "$TREE/nocow" "$TREE/clone"
    run -64 "$PROGRAM" nocow-check -r --check "$TREE"
    # One that waits for its input
    mkfifo "$BATS_TEST_TMPDIR/fifo"
    exec 7<>"$BATS_TEST_TMPDIR/fifo"
    "$PROGRAM" seek-map --files0-from - <&7 3>&- 7>&- &
    # Between fork and exec a shell loses signals.
    within "$LIMIT" processes >/dev/null
    kill -TERM $!
    wait $! || status=$?
    [ "$status" -eq 143 ]
    within "$LIMIT" nothing_runs
    exec 7>&-
}
