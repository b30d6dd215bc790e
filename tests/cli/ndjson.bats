#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# --format ndjson: lines that together say what --format json says, each of them as soon as it is complete.
# shellcheck disable=SC2030,SC2031,SC2154 # bats' run sets stderr, and runs each test in a subshell

bats_require_minimum_version 1.5.0
load environment.bash
load background.bash

FILE_COMMANDS='fiemap-shared seek-map nocow-check'
HEADER='{"__header":{"version":"1"},'

setup_file() {
    mount_btrfs 512M noatime,commit=3600
    btrfs -q subvolume create "$MNT/subvolume" 2>/dev/null || btrfs subvolume create "$MNT/subvolume" >/dev/null
    mkdir "$MNT/subvolume/directory"
    head -c 1M /dev/urandom >"$MNT/subvolume/data"
    cp --reflink=always "$MNT/subvolume/data" "$MNT/subvolume/directory/reflink"
    printf 'tiny' >"$MNT/subvolume/tiny"
    : >"$MNT/subvolume/empty"
    truncate -s 3M "$MNT/subvolume/holes"
    touch "$MNT/subvolume/nocow"
    chattr +C "$MNT/subvolume/nocow"
    head -c 256K /dev/urandom >"$MNT/subvolume/nocow"
    # a line break, quotes, what separates lines elsewhere, and bytes that are not UTF-8
    printf x >"$MNT/subvolume/"$'a\nb "c" \\ \r'
    printf x >"$MNT/subvolume/"$'\u2028\u0085'
    printf x >"$MNT/subvolume/"$'not \xff UTF-8'
    sync -f "$MNT"
    btrfs subvolume snapshot -r "$MNT/subvolume" "$MNT/snapshot" >/dev/null
    mkdir "$MNT/many"
    (cd "$MNT/many" && for ((i = 0; i < 2000; i++)); do : >"$i"; done)
}

setup() {
    DIR=$MNT/subvolume
    pid=
}

teardown() {
    kill_started
}

# lines ARGUMENT...: a run that prints them
lines() {
    run --separate-stderr "$FASTPATH" --format ndjson "$@"
}

# lines_of COUNT: so many, each one an object by itself with the header, and nothing else
expect_lines() {
    [ "$(wc -l <<<"$output")" -eq "$1" ] || fail "not $1 lines:" "$output"
    while IFS= read -r line; do
        [[ $line == "$HEADER"*'}' ]] || fail "not as a line begins and ends: $line"
        jq -e 'type == "object"' <<<"$line" >/dev/null || fail "no object: $line"
    done <<<"$output"
}

# joined COMMAND: the document made of the lines of the last run
joined() {
    jq -S -s --arg command "$1" \
        '{ __header: .[0].__header, ($command): [.[][$command] | values] } + .[-1]' <<<"$output"
}

# expect_same COMMAND ARGUMENT...: the lines as a document, and the same status
expect_same() {
    local expected expected_status=0

    expected=$("$FASTPATH" --format json "$@" 2>/dev/null) || expected_status=$?
    lines "$@"
    [ "$status" -eq "$expected_status" ] || fail "status $status, not $expected_status: $*"
    diff <(joined "$1") <(jq -S . <<<"$expected") || fail "$*"
}

@test "the lines of all files are the document" {
    local command options

    for command in $FILE_COMMANDS; do
        expect_same "$command" -r "$MNT/subvolume" "$MNT/snapshot"
        expect_lines $((2 * $(find "$MNT/subvolume" -type f -printf x | wc -c) + 1))
        for options in -s --range=0:4096; do
            expect_same "$command" $options "$DIR/data" "$DIR/nocow"
        done
    done
    for options in --extents --owners --why '--owners --summarize' --top=3 --sort=path --disk --freed; do
        # shellcheck disable=SC2086 # words
        expect_same fiemap-shared $options "$DIR/data" "$DIR/nocow"
    done
    for options in --fiemap --check=data; do
        expect_same seek-map $options "$DIR/data" "$DIR/holes"
    done
    for options in --extents --check --summary --top=1; do
        expect_same nocow-check $options "$DIR/data" "$DIR/nocow"
    done
}

@test "a file that cannot be examined has no line, and the others have theirs" {
    local command

    for command in $FILE_COMMANDS; do
        expect_same "$command" "$DIR/data" "$DIR/missing" "$DIR/tiny"
        [ "$status" -eq 1 ]
        expect_lines 3
        expect_same "$command" "$DIR/missing"
        expect_lines 1
        json .total.file_count | grep -qx 0
    done
}

@test "names in lines" {
    local command

    for command in $FILE_COMMANDS; do
        lines "$command" "$DIR/"$'a\nb "c" \\ \r' "$DIR/"$'\u2028\u0085' "$DIR/"$'not \xff UTF-8'
        [ "$status" -eq 0 ]
        expect_lines 4
        [ "$(jq -s -r --arg command "$command" '.[0][$command].path' <<<"$output")" = "$DIR/"$'a\nb "c" \\ \r' ]
        [ "$(jq -s -r --arg command "$command" '.[2][$command].path_encoding' <<<"$output")" = escaped ]
    done
}

@test "a command with one object prints one line" {
    local keys

    lines status "$MNT"
    [ "$status" -eq 0 ]
    expect_lines 1
    diff <(jq -S . <<<"$output") <("$FASTPATH" --format json status "$MNT" | jq -S .)

    btrfs send -f "$BATS_TEST_TMPDIR/stream" "$MNT/snapshot" 2>/dev/null
    lines send-reada --decode "$BATS_TEST_TMPDIR/stream" --top 3
    expect_lines 1
    [ "$(json '."send-reada".command_count')" -gt 10 ]
    lines send-reada --decode "$BATS_TEST_TMPDIR/missing"
    [ "$status" -eq 1 ]
    [ "$output" = "$HEADER\"send-reada\":null}" ]

    keys=$("$FASTPATH" --format json log-stats --files 20 --every 10 "$MNT" | jq -c '."log-stats" | keys')
    lines log-stats --files 20 --every 10 "$MNT"
    expect_lines 1
    [ "$(jq -c '."log-stats" | keys' <<<"$output")" = "$keys" ]
}

@test "--qemu, which prints an array, has no lines" {
    lines seek-map --qemu "$DIR/data"
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [ "$stderr" = 'ERROR: --qemu does not support --format ndjson' ]
}

# A list that has not ended: its second file is named only when the line of the first one was read.
@test "the line of a file is printed before the next file is examined" {
    local command list=$BATS_TEST_TMPDIR/list answer=$BATS_TEST_TMPDIR/answer

    mkfifo "$list" "$answer"
    for command in seek-map nocow-check 'fiemap-shared --extents'; do
        # shellcheck disable=SC2086 # words
        timeout 60 "$FASTPATH" --format ndjson $command --files0-from "$list" >"$answer" 3>&- &
        pid=$!
        exec {reader}<"$answer" {writer}>"$list"
        printf '%s\0' "$DIR/data" >&"$writer"
        expect_next .path "$DIR/data"
        printf '%s\0' "$DIR/tiny" >&"$writer"
        expect_next .path "$DIR/tiny"
        exec {writer}>&-
        expect_next .file_count 2
        finish
        exec {reader}<&-
    done
}

# expect_next KEY VALUE: in an object of the next line
expect_next() {
    local line

    read -r -t 30 line <&"$reader" || fail "no line with $1 $2"
    [ "$(jq -r ".[] | objects | $1 | values" <<<"$line")" = "$2" ] || fail "not $1 $2: $line"
}

@test "a reader of one line ends the command" {
    local command

    for command in $FILE_COMMANDS; do
        run bash -c 'timeout 60 "$@" | head -n 1; exit "${PIPESTATUS[0]}"' - \
            "$FASTPATH" --format ndjson "$command" -r "$MNT/many"
        # SIGPIPE, which a test that ignores it would see as an error
        [ "$status" -eq 141 ] || fail "$command: $status"
        expect_lines 1
    done
}

@test "--watch prints a line an interval, and complete ones only" {
    local count

    start --format ndjson --watch --interval 0.1 "$DIR"
    # one a minute would fill no buffer
    within 20 has_lines 3
    kill -INT "$pid"
    finish
    output=$(cat "$BATS_TEST_TMPDIR/stdout")
    count=$(grep -c '' "$BATS_TEST_TMPDIR/stdout")
    expect_lines "$count"
    [ "$(jq -r '."log-stats" | "\(.path) \(.elapsed_ns > 0) \(has("commits")) \(has("samples"))"' <<<"$output" |
        sort -u)" = "$DIR true true false" ]

    timeout 20 "$FASTPATH" --format ndjson log-stats --watch --interval 0.1 "$DIR" | head -n 2 || [ $? -eq 141 ]
    lines log-stats --watch "$DIR/missing"
    [ "$status" -eq 1 ]
    [ -z "$output" ]
}

has_lines() {
    [ "$(grep -c '}}$' "$BATS_TEST_TMPDIR/stdout")" -ge "$1" ]
}

# The lines are more than stdio keeps.
@test "a full disk and a closed output" {
    local command

    for command in $FILE_COMMANDS; do
        run -1 bash -c '"$@" 2>&1 >/dev/full' - "$FASTPATH" --format ndjson "$command" -r "$MNT/many"
        [ "$output" = 'ERROR: cannot write to standard output: No space left on device' ]
        run -1 bash -c '"$@" 2>&1 >&-' - "$FASTPATH" --format ndjson "$command" "$DIR/data"
        [ "$output" = 'ERROR: cannot write to standard output: Bad file descriptor' ]
    done
    for command in status "log-stats -q --files 20 --every 10 $MNT" "log-stats --watch --interval 0.1 $MNT"; do
        # shellcheck disable=SC2086 # words
        run -1 bash -c 'timeout 20 "$@" 2>&1 >/dev/full' - "$FASTPATH" --format ndjson $command
        [ "$output" = 'ERROR: cannot write to standard output: No space left on device' ]
    done
}

# It is full when the first lines are written, and has space again at the end.
@test "an output that was full for a while is an error, with the reason" {
    local small=$BATS_TEST_TMPDIR/small list=$BATS_TEST_TMPDIR/list

    mkdir "$small"
    mount -t tmpfs -o size=64k tmpfs "$small"
    mkfifo "$list"
    head -c 64k /dev/zero >"$small/filler" || true
    "$FASTPATH" --format ndjson seek-map --files0-from "$list" >"$small/lines" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    pid=$!
    exec {writer}>"$list"
    printf '%s\0' "$DIR/data" >&"$writer"
    within 20 has_written
    rm "$small/filler"
    printf '%s\0' "$DIR/tiny" >&"$writer"
    exec {writer}>&-
    status=0
    finish || status=$?
    cat "$BATS_TEST_TMPDIR/stderr"
    umount "$small"
    [ "$status" -eq 1 ]
    [ "$(cat "$BATS_TEST_TMPDIR/stderr")" = 'ERROR: cannot write to standard output: No space left on device' ]
}

# Or tried to
# The lines are written by a copy of the process.
has_written() {
    [ "$(sed -n 's/^syscw: //p' "/proc/$(pgrep -P "$pid")/io")" -gt 0 ]
}
