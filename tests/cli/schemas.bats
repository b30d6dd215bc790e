#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The JSON of each command in many states, whole and in lines, is as its schema says, and what is not is refused. The
# function json of environment.bash does the first for what the other tests read, those of module and enable too.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # $ is jq's; run sets stderr; each test has a subshell

bats_require_minimum_version 1.5.0
load environment.bash
load background.bash

: "${top_builddir:=$PWD}"

setup_file() {
    mount_btrfs 1G noatime
    put_program_for_nobody
    btrfs subvolume create "$MNT/subvolume" >/dev/null
    btrfs subvolume create "$MNT/"$'\xff' >/dev/null
    (cd "$MNT/subvolume" && make_files)
    head -c 64k /dev/urandom >"$MNT/subvolume/delalloc"
}

make_files() {
    head -c 1M /dev/urandom >data
    cp --reflink=always data reflink
    cp --reflink=always data "$MNT/"$'\xff/\xfe'
    printf 'tiny' >tiny
    : >empty
    truncate -s 3M holes
    truncate -s 1M quarters
    xfs_io -c 'pwrite -q 0 256k' -c 'pwrite -q 512k 256k' quarters
    xfs_io -f -c 'falloc 0 1m' -c 'pwrite -q 4k 4k' preallocated
    touch nocow
    chattr +C nocow
    head -c 256K /dev/urandom >nocow
    printf x >$'a\nb "c" \\'
    printf x >$'not \xff UTF-8'
    ln data $'link \xff'
    sync -f .
    btrfs subvolume snapshot -r . "$MNT/before" >/dev/null
    # one of the extents is old, and its leaf new
    xfs_io -c 'pwrite -q 512k 4k' data
    sync -f .
    printf 'more' >>tiny
    btrfs subvolume snapshot -r . "$MNT/after" >/dev/null
}

setup() {
    /usr/bin/python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"
    DIR=$MNT/subvolume
    pid=
}

teardown() {
    kill_started
}

validate() {
    "$BATS_TEST_DIRNAME/validate-json" "$@"
}

# expect_valid STATUS COMMAND ARGUMENT...: whole, and in lines, with this exit status
expect_valid() {
    local expected=$1

    shift
    run --separate-stderr "$FASTPATH" --format json "$@"
    [ "$status" -eq "$expected" ] || fail "status $status: $*" "$stderr"
    validate "$1" <<<"$output" || fail "$*" "$output"
    whole=$output
    run --separate-stderr "$FASTPATH" --format ndjson "$@"
    [ "$status" -eq "$expected" ] || fail "status $status: $*" "$stderr"
    validate --lines "$1" <<<"$output" || fail "$*" "$output"
    output=$whole
}

# bats test_tags=slow
@test "fiemap-shared" {
    local options

    for options in '' -s --extents --owners --why --timing '--timing --cold' --sync --disk --freed '--freed -s' \
        '--owners -s' '--extents --owners --why --timing -v' '--extents --only=shared' --top=2 --sort=path --range=4096:8192; do
        # shellcheck disable=SC2086 # words
        expect_valid 0 fiemap-shared $options -r "$MNT"
    done
    expect_json '[."fiemap-shared"[].extents] | length > 5' true
    expect_valid 0 fiemap-shared --extents --why --owners "$DIR/data" "$MNT/"$'\xff/\xfe'
    expect_json '[.. | objects | keys[] | select(endswith("_encoding"))] | unique | join(" ")' \
        'mounted_at_encoding path_encoding paths_encoding subvolume_encoding'
    expect_valid 1 fiemap-shared --extents "$DIR/missing" "$DIR/tiny"
    expect_valid 1 fiemap-shared "$DIR/missing"
    expect_json '."fiemap-shared" | length' 0
}

# bats test_tags=slow
@test "seek-map" {
    local options

    for options in '' -s --fiemap --check --check=data --timing --histogram --cold --reopen --repeat=3 --verdict \
        '--fiemap --check=data --histogram --cold --reopen --verdict -v' --range=4096:8192; do
        # shellcheck disable=SC2086 # words
        expect_valid 0 seek-map $options -r "$DIR"
    done
    expect_valid 1 seek-map "$DIR/missing" "$DIR/holes"
    run -0 "$FASTPATH" seek-map --qemu "$DIR/preallocated"
    validate --definition qemu seek-map <<<"$output"
    run -0 "$FASTPATH" seek-map --qemu "$DIR/empty"
    validate --definition qemu seek-map <<<"$output"
    SEEK_LIE=no-data:5:99 run -64 --separate-stderr "$top_builddir/tests/cli/lying-seek-map" --format json seek-map --check "$DIR/quarters"
    validate <<<"$output"
}

# bats test_tags=slow
@test "nocow-check" {
    local options

    for options in '' -s --extents --sync --top=2 --sort=path; do
        # shellcheck disable=SC2086 # words
        expect_valid 0 nocow-check $options -r "$MNT"
    done
    expect_valid 64 nocow-check --check --extents "$DIR/nocow" "$DIR/data"
    expect_json .total.alarm_count 1
    expect_valid 64 nocow-check --check --expect-nocow=directory --top=2 -r "$DIR"
    expect_valid 64 nocow-check --swap "$DIR/nocow" "$DIR/data"
    expect_valid 1 nocow-check "$DIR/missing" "$DIR/nocow"
    expect_valid 0 nocow-check --exercise "$MNT" --size 1M --seconds 1 --engine builtin
    expect_json '.exercise.writes > 0' true
    expect_valid 0 nocow-check --exercise "$MNT" --size 1M --seconds 1 --engine builtin --scratch nocow "$DIR/nocow"
}

# bats test_tags=slow
@test "send-reada" {
    local options

    for options in '' --data --cold --passes=2 --top=3 --estimate '--estimate --rate=100M' '--estimate --rate=measure'; do
        # shellcheck disable=SC2086 # words
        expect_valid 0 send-reada $options "$MNT/before"
        # shellcheck disable=SC2086 # words
        expect_valid 0 send-reada $options -p "$MNT/before" "$MNT/after"
    done
    expect_valid 1 send-reada "$MNT/missing"
    expect_json '."send-reada"' null
    expect_valid 1 send-reada "$DIR"
}

@test "send-reada of a stream, a damaged one, and none" {
    local stream=$BATS_TEST_TMPDIR/stream size

    btrfs send -q -f "$stream" "$MNT/after"
    expect_valid 0 send-reada --decode "$stream" --top 2
    size=$(stat -c %s "$stream")
    truncate -s $((size - 10)) "$stream"
    expect_valid 1 send-reada --decode "$stream"
    expect_json '."send-reada" | has("error")' true
    : >"$stream"
    expect_valid 1 send-reada --decode "$stream"
    expect_valid 1 send-reada --decode "$BATS_TEST_TMPDIR/missing"
}

# bats test_tags=slow
@test "log-stats" {
    local options

    for options in '' --commit-between '--check --max-ms 60000' '--check --max-ms 60000 --judge mean' --interval=0.1; do
        # shellcheck disable=SC2086 # words
        expect_valid 0 log-stats --files 20 --every 10 $options "$DIR"
    done
    expect_valid 64 log-stats --files 20 --every 10 --check --max-ms 0.00001 "$DIR"
    expect_valid 1 log-stats --files 20 --every 10 "$DIR/missing"
    expect_json '."log-stats" | has("error")' true
    expect_json '."log-stats".latency_ns' null
    run -0 "$FASTPATH" log-stats -q --files 20 --every 5 --json-samples "$BATS_TEST_TMPDIR/samples" "$DIR"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/samples")" -eq 4 ]
    while IFS= read -r line; do
        validate --definition fsync log-stats <<<"$line"
    done <"$BATS_TEST_TMPDIR/samples"
}

# expect_valid_watch ARGUMENT...: in both formats
expect_valid_watch() {
    local format

    for format in json ndjson; do
        start --format "$format" --watch --interval 0.1 "$@" "$DIR"
        within 20 grep -q elapsed_ns "$BATS_TEST_TMPDIR/stdout"
        sync "$DIR"
        kill -INT "$pid"
        finish
        cp "$BATS_TEST_TMPDIR/stdout" "$BATS_TEST_TMPDIR/$format"
    done
    validate log-stats <"$BATS_TEST_TMPDIR/json"
    validate --lines log-stats <"$BATS_TEST_TMPDIR/ndjson"
    # neither is the other
    run ! validate --lines log-stats < <(jq -c . "$BATS_TEST_TMPDIR/json")
    run ! validate log-stats < <(head -n 1 "$BATS_TEST_TMPDIR/ndjson")
}

# bats test_tags=slow
@test "log-stats --watch" {
    local what

    expect_valid_watch
    for what in process directory file; do
        expect_valid_watch --by "$what"
        [ "$(jq '."log-stats".samples[].causes[]' "$BATS_TEST_TMPDIR/json" | jq -s length)" -ge 1 ]
    done
}

# bats test_tags=slow
@test "status" {
    expect_valid 0 status
    expect_valid 0 status "$MNT"
    expect_valid 0 status --measure "$MNT" "$MNT"
    expect_json '.status.measured.features | length' "$(json '.status.features | length')"
    expect_valid 1 status "$MNT/missing"
}

@test "without privilege" {
    local command

    FASTPATH=$MNT/program
    for command in 'fiemap-shared --extents --owners --disk' 'fiemap-shared -s --owners --freed' 'nocow-check --extents' \
        'seek-map --verdict'; do
        for format in json ndjson; do
            # shellcheck disable=SC2086 # words
            as_nobody "$FASTPATH" --format $format $command "$DIR/data" "$DIR/nocow" \
                >"$BATS_TEST_TMPDIR/$format" 2>/dev/null || [ $? -eq 1 ]
        done
        validate "${command%% *}" <"$BATS_TEST_TMPDIR/json"
        validate --lines "${command%% *}" <"$BATS_TEST_TMPDIR/ndjson"
    done
}

# refuse_altered COMMAND FILTER: each of the documents that jq's FILTER makes of what it printed
refuse_altered() {
    jq -c ". as \$whole | $2 | select(. != \$whole)" <<<"$output" >"$BATS_TEST_TMPDIR/altered"
    validate --refuse "$1" <"$BATS_TEST_TMPDIR/altered" || fail "$1: $2"
}

# alter COMMAND: its objects get a key more, and a number of each name becomes something else
alter() {
    validate "$1" <<<"$output"
    refuse_altered "$1" '(paths(objects) | select(IN(.[]; "counters", "reason_bytes", "commands", "command_bytes") | not))
        as $path | setpath($path + ["more"]; 1)'
    refuse_altered "$1" '(paths(numbers) | select(.[-1] != "step_ns")) as $path | (-1, "1", 1.5) as $value |
        setpath($path; $value)'
    refuse_altered "$1" "del(.__header), (.__header.version = 1), (.more = 1), del(.\"$1\"), [.]"
}

# bats test_tags=slow
@test "a document that was altered is refused" {
    expect_valid 0 fiemap-shared --extents --owners --why --timing --disk --freed "$DIR/data"
    alter fiemap-shared
    refuse_altered fiemap-shared 'del(."fiemap-shared"[0].owners)'
    refuse_altered fiemap-shared 'del(.owner_summary)'
    refuse_altered fiemap-shared '."fiemap-shared"[0].extents[0].decision = "luck"'
    refuse_altered fiemap-shared '."fiemap-shared"[0].extents[0].decision = "mixed"'
    refuse_altered fiemap-shared '."fiemap-shared"[0].path_encoding = "utf-8"'
    refuse_altered fiemap-shared '."fiemap-shared"[0].extents[0].flags += ["odd"]'
    refuse_altered fiemap-shared '."fiemap-shared"[0].counters = {"a": -1}'
    refuse_altered fiemap-shared '."fiemap-shared"[0].total_bytes = null'
    expect_valid 0 seek-map --fiemap --timing --histogram --verdict "$DIR/holes" "$DIR/data"
    alter seek-map
    refuse_altered seek-map '."seek-map"[0].segments[0].type = "gap"'
    expect_valid 0 nocow-check --extents "$DIR/nocow"
    alter nocow-check
    refuse_altered nocow-check '."nocow-check"[0].reasons = ["whim"]'
    expect_valid 0 send-reada "$MNT/before"
    alter send-reada
    refuse_altered send-reada '."send-reada".commands.fly = 1'
    expect_valid 0 log-stats --files 20 --every 10 "$DIR"
    alter log-stats
    expect_valid 0 status --measure "$MNT" "$MNT"
    alter status
    refuse_altered status '.status.features[0].state = "yes"'
}

# What this kernel or run has not, but another one.
@test "what may be there is taken" {
    expect_valid 0 fiemap-shared --extents "$DIR/data"
    validate < <(jq '."fiemap-shared"[0].counters = {"fiemap_leaf": 18446744073709551615}' <<<"$output")
    validate < <(jq '."fiemap-shared"[0] = {path: "x", extents: [], error: "Input/output error"}' <<<"$output")
    run ! validate < <(jq '."fiemap-shared"[0] = {path: "x", extents: []}' <<<"$output")
    expect_valid 0 status "$MNT"
    validate < <(jq '.status.counters = {"a": 1}' <<<"$output")
    validate < <(jq '.status.module = {"enabled": true, "enabled_for_all": false, "loaded": "patched",
        "loaded_version": "1", "reboot_needed": false, "state": null, "version": null, "reason": null}' <<<"$output")
}

@test "anything but JSON or lines is refused" {
    local header='"__header":{"version":"1"}' text

    for text in '' '[' '{}' "{$header}" "{$header,\"status\":NaN}" "{$header,$header,\"enable\":{\"front_end\":null}}"; do
        run ! validate enable <<<"$text"
    done
    validate enable <<<"{$header,\"enable\":{\"front_end\":null}}"
    text="{$header,\"enable\":{\"front_end\":null}}"
    validate --lines enable < <(printf '%s\n' "$text" "$text")
    run ! validate --lines enable < <(printf '%s' "$text")
    run ! validate --lines enable < <(printf '%s\n\n' "$text")
    run ! validate --lines enable </dev/null
}
