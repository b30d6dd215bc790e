#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# log-stats: its counts, compared with what happened, what it leaves behind, and how it fails.

# bats' run sets stderr_lines, and it runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load environment.bash
load background.bash

setup_file() {
    # Only tests commit.
    mount_btrfs 1G noatime,commit=3600
    put_program_for_nobody
}

setup() {
    DIR=$MNT/directory
    mkdir "$DIR"
    SAMPLES=$BATS_TEST_TMPDIR/samples
    pid=
}

teardown() {
    kill_started
    if mountpoint -q "$BATS_TEST_TMPDIR/other"; then
        umount "$BATS_TEST_TMPDIR/other"
    fi
    mount -o remount,rw,treelog "$MNT"
    rm -rf "$DIR"
}

log_stats() {
    "$FASTPATH" log-stats "$@"
}

log_stats_json() {
    "$FASTPATH" --format json log-stats "$@"
}

folders() {
    folders_in "$DIR"
}

expect_nothing_left() {
    [ -z "$(ls -A "${1:-$DIR}")" ] || fail "left behind:" "$(ls -A "${1:-$DIR}")"
}

# mount_other SIZE [MKFS-OPTION...]: another file system, small, as $DIR
mount_other() {
    local image=$BATS_TEST_TMPDIR/other.image other=$BATS_TEST_TMPDIR/other

    truncate -s "$1" "$image"
    shift
    "$@" "$image" >/dev/null
    mkdir "$other"
    mount -o loop "$image" "$other"
    rmdir "$DIR"
    DIR=$other
}

# kinds: the number of fsyncs of each kind
kinds() {
    json '.["log-stats"] | "\(.log_commits) \(.full_commits) \(.uncertain)"'
}

# expect_kinds KINDS COMMAND...: of its fsyncs. Repeated, since any sync(2) on the machine commits
# this file system, too, and so changes what becomes of an fsync.
expect_kinds() {
    local attempt

    for attempt in 1 2 3 4 5; do
        run -0 --separate-stderr "${@:2}"
        [ "$(kinds)" != "$1" ] || return 0
    done
    fail "not $1 but $(kinds), $attempt times"
}

# -- what it counts --

@test "new files are logged" {
    expect_kinds "20 0 0" log_stats_json --files 1000 --every 50 "$DIR"
    expect_json '.["log-stats"].files' 1000
    expect_json '.["log-stats"].fsyncs' 20
    expect_json '.["log-stats"].complete' true
    expect_nothing_left
}

@test "the first fsync of each transaction is logged, too" {
    local commits

    expect_kinds "10 0 0" log_stats_json --files 200 --every 20 --commit-between "$DIR"
    commits=$(json '.["log-stats"].commits')
    [ "$commits" -ge 8 ]
}

@test "without the log each fsync is a full commit" {
    mount -o remount,notreelog "$MNT"
    expect_kinds "0 20 0" log_stats_json --files 400 --every 20 "$DIR"
    [ "$(json '.["log-stats"].commits')" -ge 20 ]
}

@test "the verdict: the parts add up, and without the log the rest is commits" {
    expect_kinds "100 0 0" log_stats_json --files 10000 "$DIR"
    expect_json '.["log-stats"] | .parts.disk_ns + .parts.log_ns + .parts.commit_ns == .latency_ns.total' true
    expect_json '.["log-stats"].parts | .commit_ns' 0
    expect_json '.["log-stats"].parts | .disk_ns == .disk_fsync_ns * 100 or .log_ns == 0' true
    mount -o remount,notreelog "$MNT"
    expect_kinds "0 100 0" log_stats_json --workload rename --files 100 "$DIR"
    expect_json '.["log-stats"].parts | .log_ns' 0
    expect_json '.["log-stats"] | .parts.disk_ns + .parts.commit_ns == .latency_ns.total' true
    # On a busy machine the disk alone can take as long.
    expect_json '.["log-stats"].parts | .disk_ns == .disk_fsync_ns * 100 or .commit_ns == 0' true
    expect_nothing_left
    run -0 --separate-stderr "$FASTPATH" --format openmetrics log-stats -q --files 100 "$DIR"
    [[ $output == *"btrfs_fastpath_fsync_part_seconds{part=\"disk\",path=\"$DIR\"} "* ]] || fail "$output"
}

@test "no disk alone is measured for --check" {
    run -0 --separate-stderr log_stats_json --files 100 --check --max-ms 60000 "$DIR"
    expect_json '.["log-stats"].parts' null
}

@test "a slow disk is the verdict" {
    local group=$BATS_TEST_TMPDIR/cgroup device

    mkdir "$group"
    mount -t cgroup -o blkio cgroup "$group" 2>/dev/null || skip "no limit for a disk in this kernel"
    mkdir "$group/slow"
    device=$(lsblk -ndo MAJ:MIN "$(findmnt -no SOURCE "$MNT")")
    echo "${device// /} 10000000" >"$group/slow/blkio.throttle.write_bps_device"
    # shellcheck disable=SC2016 # for the shell that it starts
    run --separate-stderr sh -c 'echo $$ >"$1/slow/cgroup.procs" && shift && exec "$@"' sh "$group" \
        "$FASTPATH" --format json log-stats --workload append --size 1M --files 10 "$DIR"
    rmdir "$group/slow"
    umount "$group"
    [ "$status" -eq 0 ]
    expect_json '.["log-stats"].parts.verdict' disk
}

others_write() {
    touch "$DIR/another"
    rm "$DIR/another"
}

others_commit() {
    touch "$DIR/another"
    sync -f "$DIR"
}

# log_stats_beside FUNCTION OPTION...: while FUNCTION goes on and on
log_stats_beside() {
    local others=$1

    (while :; do "$others"; done) 3>&- &
    pid=$!
    run --separate-stderr log_stats_json "${@:2}" "$DIR"
    kill "$pid"
    finish || true
    [ "$status" -eq 0 ]
}

# bats test_tags=race
@test "without the log, while others write, no fsync is taken for a log commit" {
    mount -o remount,notreelog "$MNT"
    log_stats_beside others_write --files 400 --every 20
    expect_json '.["log-stats"].log_commits' 0
    [ "$(json '.["log-stats"].full_commits')" -ge 15 ]
}

# bats test_tags=race
@test "while other programs commit all the time, fsyncs are not counted as full commits" {
    log_stats_beside others_commit --files 4000 --every 20
    [ "$(json '.["log-stats"] | .log_commits + .full_commits + .uncertain')" -eq 200 ]
    [ "$(json '.["log-stats"].log_commits')" -ge 50 ]
    # In the microseconds before an fsync somebody else's commit may begin, the more so if this
    # waits for a processor just then.
    [ "$(json '.["log-stats"].full_commits')" -le 10 ]
    [ "$(json '.["log-stats"].commits')" -ge 1 ]
}

# samples_of KIND: how many fsyncs were of it
samples_of() {
    jq -s --arg kind "$1" 'map(select(.kind == $kind)) | length' "$SAMPLES"
}

# files_made: how many so far, from the last one's name
files_made() {
    find "$(folders)" -name 'file_*' -printf '%f\n' | sed 's/file_//' | sort -n | tail -1
}

has_made() {
    [ "$(files_made)" -ge "$1" ]
}

# full_between FILES FILES: a full commit came with an fsync of so many
full_between() {
    jq -se --argjson from "$1" --argjson to "$2" \
        'any(.[]; .kind == "full" and .entries >= $from and .entries <= $to)' "$SAMPLES" >/dev/null
}

# expect_full_after FUNCTION: it is called with the folder between two fsyncs, and the second one commits
expect_full_after() {
    local attempt made=() full=0

    # More files than there are ever made.
    start -q --files 1000000 --every 10 --interval 0.1 --json-samples "$SAMPLES" "$DIR"
    within 60 has_files 20
    # Several times: somebody may commit the file system before the fsync.
    for attempt in 1 2 3; do
        stop
        made+=("$(files_made)")
        "$1" "$(folders)"
        go_on
        within 60 has_made $((made[-1] + 20))
    done
    kill -TERM "$pid"
    # What others have put into the folder stays, which is an error.
    finish || [ $? -eq 143 ]
    for attempt in "${made[@]}"; do
        # It may have been stopped before the fsync of as many.
        ! full_between "$attempt" $((attempt + 10)) || full=$((full + 1))
    done
    [ "$full" -ge 1 ] || fail "stopped at ${made[*]}:" "$(cat "$SAMPLES")"
    [ "$(samples_of log)" -ge 1 ] || fail "$(cat "$SAMPLES")"
}

delete_subvolume() {
    btrfs -q subvolume create "$1/subvolume"
    btrfs -q subvolume delete "$1/subvolume"
}

make_subvolume() {
    btrfs -q subvolume create "$1/subvolume-$attempt"
}

move_directory_in() {
    mkdir "$DIR/moved-$attempt"
    sync -f "$DIR"
    mv "$DIR/moved-$attempt" "$1"
}

@test "a subvolume deleted in the directory makes the next fsync a full commit" {
    expect_full_after delete_subvolume
    expect_nothing_left
}

remove_the_folder() {
    find "$(folders)" -name 'subvolume-*' -exec btrfs -q subvolume delete {} +
    rm -r "$(folders)"
}

@test "an fsync after a subvolume was created there is a full commit" {
    local before

    before=$(commits_done)
    btrfs -q subvolume create "$DIR/subvolume"
    btrfs -q subvolume delete "$DIR/subvolume"
    [ "$(commits_done)" -eq "$before" ] || skip "this kernel commits when it makes or deletes a subvolume"
    expect_full_after make_subvolume
    remove_the_folder
}

@test "an fsync after a directory was moved there is a full commit" {
    expect_full_after move_directory_in
    remove_the_folder
}

commits_done() {
    awk '$1 == "commits" { print $2 }' "/sys/fs/btrfs/$(findmnt -n -o UUID "$MNT")/commit_stats"
}

@test "figures, histogram and samples are of the same fsyncs" {
    run --separate-stderr log_stats_json --files 3000 --every 10 --json-samples "$SAMPLES" "$DIR"
    [ "$status" -eq 0 ]
    jq -se --argjson report "$output" '
        ($report["log-stats"]) as $r | ($r.latency_ns) as $l | map(.ns) as $ns | ($ns | sort) as $sorted
        | def about(x; y): (x - y) / y | . >= 0 and . <= 1 / 128;
        length == 300 and map(.entries) == [range(10; 3001; 10)]
        and all(.kind == "log" or .kind == "uncertain")
        and $l.min == $sorted[0] and $l.max == $sorted[299] and $l.total == ($ns | add)
        and $l.mean == (($ns | add) / 300 | floor)
        and about($l.median; $sorted[149]) and about($l.p90; $sorted[269])
        and about($l.p95; $sorted[284]) and about($l.p99; $sorted[296])
        and (($ns | add / 300) as $m | ($ns | map(. - $m | . * .) | add / 299 | sqrt) - $l.stddev
             | fabs < 2)
        and ($r.histogram | map(.count) | add) == 300
        and all($r.histogram[]; . as $bin
            | .count == ($ns | map(select(. >= $bin.low_ns and . < $bin.high_ns)) | length))
        and $r.growth.first_tenth_ns == ($ns[:30] | add / 30 | floor)
        and $r.growth.last_tenth_ns == ($ns[270:] | add / 30 | floor)
        and ($r.growth.step_ns == null or
            ((map(.entries) | add / 300) as $mx | ($ns | add / 300) as $my
             | (map((.entries - $mx) * (.ns - $my)) | add) / (map(.entries - $mx | . * .) | add)
             * 1000 - $r.growth.step_ns | fabs < 2))
        and ([$r.commit_kinds[].total_ns] | add) == $l.total
        and ([$r.commit_kinds[].max_ns] | max) == $l.max
        and $r.elapsed_ns > $l.total' "$SAMPLES"
}

@test "figures that need more fsyncs than there are" {
    run --separate-stderr log_stats_json --files 4 --every 2 "$DIR"
    expect_json '.["log-stats"] | [.fsyncs, .growth, (.latency_ns | .p90, .p95, .p99, (.stddev > 0))] | tojson' \
        '[2,null,null,null,null,true]'
    run --separate-stderr log_stats_json --files 1 "$DIR"
    expect_json '.["log-stats"] | [.fsyncs, .latency_ns.stddev] | tojson' '[1,null]'
    run --separate-stderr log_stats_json --files 40 --every 2 "$DIR"
    expect_json '.["log-stats"] | [.growth.step_files, (.latency_ns | .p90 > 0, .p95 > 0, .p99)] | tojson' '[1000,true,true,null]'
    run -0 --separate-stderr log_stats --files 4 --every 2 "$DIR"
    expect_line 'Percentiles: 90th: -; 95th: -; 99th: -'
    expect_line 'Growth: unknown with fewer than 20 fsyncs'
    run -0 --separate-stderr log_stats --files 1 "$DIR"
    expect_line 'Range: .*; Stddev: -'
    run -0 --separate-stderr log_stats --files 38 --every 2 "$DIR"
    expect_line 'Percentiles: 90th: [0-9.]+[mu]?s; 95th: -; 99th: -'
    expect_line 'Growth: unknown .*'
    run -0 --separate-stderr plugin --files 4 --every 2 --judge median
    [[ $output == *" p99=U;;;0; p95=U;;;0; p90=U;;;0; median="[0-9]* ]] || fail "$output"
}

@test "ten thousand files, as text" {
    run --separate-stderr log_stats "$DIR"
    [ "$status" -eq 0 ]
    expect_line "Directory: '$DIR'"
    expect_line 'Files: 10000, an fsync after every 100'
    expect_line 'log +[0-9]+ .*'
    expect_line 'full +[0-9]+ .*'
    expect_line 'uncertain +[0-9]+ .*'
    expect_line 'Range: [0-9.]+[mu]s - [0-9.]+m?s; Mean: .*; Median: .*; Stddev: .*'
    expect_line 'Percentiles: 90th: .*; 95th: .*; 99th: .*'
    expect_line ' +From +To +Fsyncs *'
    expect_line 'Growth: .* in the first tenth, .* in the last; ([+-].* per 1,000 files|no clear growth)'
    expect_line 'Total: .* in fsync, of .*'
    expect_line 'Commits: [0-9]+ in .* \(whole file system\)'
    expect_line 'Disk: .*s for an fsync without btrfs'
    expect_line 'Verdict: the largest part is (disk|log|commits) \([0-9]+% disk, [0-9]+% log, [0-9]+% commits\)'
    # shellcheck disable=SC2154 # bats' run sets it
    grep -q "^WARNING: creating 10000 temporary empty files in '$DIR/" <<<"$stderr"
    expect_nothing_left
}

@test "fewer files than are fsynced at once" {
    run --separate-stderr log_stats_json --files 3 "$DIR"
    [ "$status" -eq 0 ]
    expect_json '.["log-stats"] | "\(.files) \(.every) \(.fsyncs)"' '3 3 1'
    run --separate-stderr log_stats_json --files 25 --every 10 "$DIR"
    expect_json '.["log-stats"] | "\(.files) \(.fsyncs)"' '25 2'
    expect_json '.["log-stats"].complete' true
}

@test "--check finds an fsync above the limit, and none below" {
    run -0 --separate-stderr log_stats --files 50 --every 10 --check --max-ms 3600000 "$DIR"
    run -64 --separate-stderr log_stats --files 50 --every 10 --check --max-ms 0.001 "$DIR"
    [[ $stderr == *"WARNING: the 99th percentile is "*", above 1.00us" ]]
}

@test "--check -q prints only the reason" {
    run -64 --separate-stderr log_stats -q --files 100 --every 1 --check --max-ms 0.001 "$DIR"
    [ -z "$output" ]
    [[ $stderr == "ERROR: the 99th percentile is "*", above 1.00us" ]] || fail "$stderr"
    run -0 --separate-stderr log_stats -q --files 100 --every 1 --check --max-ms 3600000 "$DIR"
    [ -z "$output$stderr" ]
}

@test "--judge: the figure that is compared, also in JSON" {
    local figure key

    # of too few fsyncs the slowest one is judged
    for figure in p99:max p95:p95 p90:p90 median:median mean:mean max:max; do
        key=${figure#*:} figure=${figure%:*}
        run -0 --separate-stderr log_stats_json --files 30 --every 1 --check --max-ms 3600000 --judge "$figure" "$DIR"
        expect_json '.["log-stats"].check | "\(.figure) \(.limit_ns) \(.passed)"' "$figure 3600000000000 true"
        expect_json ".[\"log-stats\"] | .check.value_ns == .latency_ns.$key" true
    done
    run -64 --separate-stderr log_stats_json --files 30 --every 1 --check --max-ms 0.001 --judge mean "$DIR"
    [[ $stderr == *"WARNING: the mean is "* ]]
    expect_json '.["log-stats"].check.passed' false
    run -0 --separate-stderr log_stats_json --files 30 "$DIR"
    expect_json '.["log-stats"] | has("check"), .check' "true"$'\n'"null"
}

@test "a warning if there are fewer than 100 fsyncs for the 99th percentile" {
    run -0 --separate-stderr log_stats --files 99 --every 1 --check --max-ms 3600000 "$DIR"
    [[ $stderr == *"WARNING: with 99 fsyncs, the 99th percentile is the slowest one"* ]] || fail "$stderr"
    run -0 --separate-stderr log_stats --files 100 --every 1 --check --max-ms 3600000 "$DIR"
    [[ $stderr != *"is the slowest one"* ]] || fail "$stderr"
    run -0 --separate-stderr log_stats --files 10 --every 1 --check --max-ms 3600000 --judge max "$DIR"
    [[ $stderr != *"is the slowest one"* ]] || fail "$stderr"
    run -0 --separate-stderr log_stats --files 19 --every 1 --check --max-ms 3600000 --judge p95 "$DIR"
    [[ $stderr == *"WARNING: with 19 fsyncs, the 95th percentile is the slowest one: use 20 or more, or another --judge"* ]] || fail "$stderr"
    # monitoring keeps standard output alone
    run -0 --separate-stderr plugin --files 99 --every 1
    [[ $output == "LOG-STATS OK - p99 of 99 fsyncs took "*" full commits, only 99 fsyncs: p99 is the slowest one | p99="* ]] ||
        fail "$output"
    run -0 --separate-stderr plugin --files 99 --every 1 --judge median
    [[ $output != *" only "* ]] || fail "$output"
    run -0 --separate-stderr plugin
    [[ $output != *" only "* ]] || fail "$output"
}

plugin() {
    "$FASTPATH" --format nagios log-stats -q --files 200 --every 2 "$@" "$DIR"
}

# expect_answer STATUS NAME ARGUMENT...: one line with performance data, and the exit status
expect_answer() {
    run "-$1" --separate-stderr plugin "${@:3}"
    [ -z "$stderr" ] || fail "$stderr"
    [ "${#lines[@]}" -eq 1 ] || fail "$output"
    [[ $output =~ ^"LOG-STATS $2 - "[^\|]+' | '[^\|]+$ ]] || fail "$output"
}

@test "a monitoring plugin: its answers" {
    expect_answer 0 OK
    expect_answer 0 OK --warning 3600000 --critical 3600000
    expect_answer 0 OK --warning 0: --critical '~:3600000'
    expect_answer 1 WARNING --warning 3600000: --critical 3600000
    expect_answer 1 WARNING --warning '~:0'
    expect_answer 2 CRITICAL --warning '~:0' --critical '~:0'
    expect_answer 2 CRITICAL --critical @0:3600000 --judge median
    expect_answer 2 CRITICAL --critical 3600000:
}

@test "a monitoring plugin: its performance data" {
    run -0 --separate-stderr plugin --warning 0:3600000 --critical '~:7200000' --judge p90
    [[ $output =~ \ p90=[0-9]+\.[0-9]{6}ms\;0:3600000\;~:7200000\;0\;\  ]] || fail "$output"
    [[ $output =~ \ p99=[0-9]+\.[0-9]{6}ms\;\;\;0\;\  ]] || fail "$output"
    [[ $output == *" fsyncs=100;;;0; "* ]] || fail "$output"
    [ "$(grep -oE ' (log|full|uncertain)=[0-9]+' <<<"$output" | awk -F = '{ sum += $2 } END { print sum }')" = 100 ]
}

# expect_unknown REASON COMMAND...
expect_unknown() {
    run -3 --separate-stderr "${@:2}"
    [ "$output" = "LOG-STATS UNKNOWN - $1" ] || fail "$output"
}

@test "a monitoring plugin: errors are unknown" {
    mkdir "$DIR/a|b"
    expect_unknown "not a btrfs filesystem: '/proc'" "$FASTPATH" --format nagios log-stats /proc
    expect_unknown "cannot open '$DIR/a/c': No such file or directory" "$FASTPATH" log-stats --format nagios "$DIR/a|c"
    expect_unknown "cannot create a folder in '$DIR': Permission denied" as_nobody "$MNT/program" --format nagios log-stats "$DIR"
    expect_unknown "invalid value for --warning: 'x' (expected [@][START:][END], in milliseconds)" \
        "$FASTPATH" --format nagios log-stats --warning x "$DIR"
    expect_unknown "invalid value for --critical: '2:1' (the start is above the end, or a number is too large)" \
        "$FASTPATH" --format nagios log-stats --critical 2:1 "$DIR"
    expect_unknown "invalid arguments" "$FASTPATH" log-stats --nonsense --format nagios "$DIR"
    expect_unknown "exactly 1 argument expected, 0 given" "$FASTPATH" log-stats --format nagios
    # shellcheck disable=SC2016 # for the other shell
    run -3 --separate-stderr sh -c '"$1" --format nagios log-stats -q --files 1 --every 1 "$2" >/dev/full' sh "$FASTPATH" "$DIR"
}

@test "a monitoring plugin: only for checks, and with its own options" {
    local arguments

    run -1 --separate-stderr "$FASTPATH" --format nagios enable
    [ -z "$output" ]
    [[ $stderr == *"unknown format 'nagios' (expected text, json or ndjson)"* ]] || fail "$stderr"
    for arguments in "--check --max-ms 1" --watch; do
        # shellcheck disable=SC2086 # words
        run -3 --separate-stderr plugin $arguments
    done
    run -1 --separate-stderr log_stats --warning 1 "$DIR"
    [[ $stderr == *"require --format nagios"* ]]
    run -1 --separate-stderr log_stats --judge max "$DIR"
    [[ $stderr == *"--judge requires"* ]]
}

@test "--check: an error outweighs" {
    local left=$DIR/btrfs-fastpath-log-stats.00000000

    mkdir -m 700 "$left"
    mark "$left"
    touch "$left/other"
    run -1 --separate-stderr log_stats --files 50 --every 10 --check --max-ms 0.001 "$DIR"
    [[ $stderr == *"WARNING: the 99th percentile is "*", above 1.00us"* ]]
    [[ $stderr == *"ERROR: unknown files remain in '$left'"* ]]
}

@test "--json-samples does not touch a file that is there" {
    echo mine >"$SAMPLES"
    run -1 --separate-stderr log_stats --files 10 --json-samples "$SAMPLES" "$DIR"
    [ "$stderr" = "ERROR: cannot create '$SAMPLES': File exists" ]
    [ "$(cat "$SAMPLES")" = mine ]
    ln -s nowhere "$BATS_TEST_TMPDIR/link"
    run -1 --separate-stderr log_stats --files 10 --json-samples "$BATS_TEST_TMPDIR/link" "$DIR"
    [ ! -e "$BATS_TEST_TMPDIR/nowhere" ]
    run -1 --separate-stderr log_stats --files 10 --json-samples - "$DIR"
    for path in "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/" "$BATS_TEST_TMPDIR/none/x" "$SAMPLES/x" /dev/full ''; do
        run -1 --separate-stderr log_stats --files 10 --json-samples "$path" "$DIR"
        [[ $stderr == "ERROR: cannot create '$path': "* ]] || fail "$path: $stderr"
    done
    [ -z "$(find "$BATS_TEST_TMPDIR" -name 'btrfs-fastpath-unfinished.*')" ]
    expect_nothing_left
}

# -- what it leaves behind --

# expect_ended_by SIGNAL NUMBER
expect_ended_by() {
    local status=0

    start --format json --files 1000000 --every 1000 "$DIR"
    within 20 has_files 100
    kill "-$1" "$pid"
    finish || status=$?
    [ "$status" -eq $((128 + $2)) ]
    jq -e '.["log-stats"] | .complete == false and .files > 0 and .files < 1000000' \
        "$BATS_TEST_TMPDIR/stdout"
    expect_nothing_left
}

@test "a signal ends it in order: a report, nothing left, and the end that others expect" {
    expect_ended_by INT 2
    expect_ended_by TERM 15
    expect_ended_by HUP 1
}

@test "a monitoring plugin that a signal ends found nothing out" {
    local status=0

    start --format nagios --files 1000000 --every 100 "$DIR"
    within 20 has_files 100
    kill -TERM "$pid"
    finish || status=$?
    [ "$status" -eq 143 ]
    [ "$(<"$BATS_TEST_TMPDIR/stdout")" = "LOG-STATS UNKNOWN - interrupted" ]
    expect_nothing_left
}

@test "a signal ends the sleep between fsyncs" {
    local status=0

    start --files 20 --every 10 --interval 86400 "$DIR"
    within 20 has_files 10
    kill -TERM "$pid"
    timeout 20 tail --pid="$pid" -f /dev/null
    finish || status=$?
    [ "$status" -eq 143 ]
    expect_nothing_left
}

@test "an ignored signal does not end the run" {
    trap '' HUP
    start_stopped "$DIR" --format json
    trap - HUP
    kill -HUP "$pid"
    go_on
    finish
    jq -e '.["log-stats"].complete' "$BATS_TEST_TMPDIR/stdout"
    expect_nothing_left
}

@test "what SIGKILL leaves, the next run removes, unless it is alive" {
    local alive dead

    start --files 1000000 --every 1000 "$DIR"
    within 20 has_files 100
    kill -KILL "$pid"
    finish || true
    dead=$(folders)
    [ -n "$dead" ]

    start --files 20 --every 10 --interval 86400 "$DIR"
    within 20 has_files 10
    within 20 [ ! -e "$dead" ]
    alive=$(folders)
    grep -qxF "WARNING: removing the folder of a killed run: '$dead'" \
        "$BATS_TEST_TMPDIR/stderr"

    # this one is alive
    run -0 --separate-stderr log_stats --files 10 "$DIR"
    [ "${stderr_lines[0]}" = "WARNING: not removed, because another run is using it: '$alive'" ]
    has_files 10
    kill -TERM "$pid"
    finish || true
    expect_nothing_left
}

# mark FOLDER: as root's run does it
mark() {
    python3 -c 'import os, sys
os.setxattr(sys.argv[1], "trusted.btrfs-fastpath.log-stats", sys.argv[2].encode())' "$1" "$(stat -c '%i %.9W' "$1")"
}

@test "what SIGKILL leaves of another user, his next run removes" {
    chown 65534 "$DIR"
    setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$MNT/program" log-stats -q --files 20 --every 10 --interval 86400 "$DIR" 3>&- &
    pid=$!
    within 20 has_files 10
    kill -KILL "$pid"
    finish || [ $? -eq 137 ]
    # Nobody else does.
    run -0 --separate-stderr log_stats -q --files 10 "$DIR"
    has_files 10
    run -0 --separate-stderr as_nobody "$MNT/program" log-stats --files 10 "$DIR"
    [[ $stderr == *"WARNING: removing the folder of a killed run: "* ]]
    expect_nothing_left
}

@test "files of other origin are not removed" {
    local folder

    # the name alone
    mkdir "$DIR/btrfs-fastpath-log-stats.00000000" "$DIR/target"
    touch "$DIR/btrfs-fastpath-log-stats.00000000/file_1"
    ln -s target "$DIR/btrfs-fastpath-log-stats.00000001"
    touch "$DIR/target/file_1"
    # the mark, and somebody else's
    mkdir -m 700 "$DIR/btrfs-fastpath-log-stats.00000002"
    touch "$DIR/btrfs-fastpath-log-stats.00000002/file_1"
    mark "$DIR/btrfs-fastpath-log-stats.00000002"
    mark "$DIR/target"
    chown 65534 "$DIR/btrfs-fastpath-log-stats.00000002"
    # the mark, and others may have written there
    mkdir -m 755 "$DIR/btrfs-fastpath-log-stats.00000003"
    touch "$DIR/btrfs-fastpath-log-stats.00000003/file_1"
    mark "$DIR/btrfs-fastpath-log-stats.00000003"

    # ours, with something else in it
    start --files 100000 --every 10 --interval 86400 "$DIR"
    within 20 has_files_of_ours
    folder=$(find "$DIR" -name file_10 -printf %h)
    echo data >"$folder/file_3"
    touch "$folder/file_x" "$folder/other"
    ln -s ../target "$folder/file_777"
    mkdir "$folder/file_888"
    touch "$folder/file_888/file_1"
    kill -KILL "$pid"
    finish || true

    run -1 --separate-stderr log_stats --files 10 "$DIR"
    [[ $stderr == *"ERROR: unknown files remain in '$folder'"* ]]
    [ "$(ls -A "$folder")" = "$(printf '%s\n' file_3 file_777 file_888 file_x other)" ]
    [ -e "$folder/file_888/file_1" ]
    [ -e "$DIR/target/file_1" ]
    [ -e "$DIR/btrfs-fastpath-log-stats.00000000/file_1" ]
    [ -e "$DIR/btrfs-fastpath-log-stats.00000002/file_1" ]
    [ -e "$DIR/btrfs-fastpath-log-stats.00000003/file_1" ]
}

has_files_of_ours() {
    [ -n "$(find "$DIR" -name file_10)" ]
}

# bats test_tags=slow
@test "files, and the folder, that vanish" {
    local status=0

    start_stopped "$DIR"
    rm "$(folders)/file_5"
    go_on
    finish
    expect_nothing_left

    start_stopped "$DIR"
    rm -r "$(folders)"
    go_on
    finish || status=$?
    [ "$status" -eq 1 ]
    grep -q "^ERROR: cannot create a file in '$DIR/.*': No such file or directory" \
        "$BATS_TEST_TMPDIR/stderr"
    expect_nothing_left
}

@test "a directory that is moved away meanwhile, and another one in its place" {
    start_stopped "$DIR"
    mv "$DIR" "$DIR.moved"
    mkdir "$DIR"
    go_on
    finish
    expect_nothing_left
    expect_nothing_left "$DIR.moved"
    rmdir "$DIR.moved"
}

# fill_up DIRECTORY: with data, and with empty files
fill_up() {
    head -c 1G /dev/zero >"$1/data" 2>/dev/null || true
    sync -f "$1"
    mkdir "$1/files"
    python3 -c 'import os, sys
os.chdir(sys.argv[1])
try:
    for i in range(10000000):
        os.close(os.open(str(i), os.O_CREAT | os.O_WRONLY))
except OSError as error:
    print(error)
for name in os.listdir(".")[:500]:
    os.unlink(name)' "$1/files"
    sync -f "$1"
}

# bats test_tags=slow
@test "a full file system" {
    mount_other 128M mkfs.btrfs -q
    fill_up "$DIR"
    run -1 --separate-stderr log_stats_json --files 1000000 --every 1000000 "$DIR"
    [[ $stderr == *"ERROR: cannot create a file in '$DIR/"*"': No space left on device"* ]]
    expect_json '.["log-stats"].complete' false
    expect_json '.["log-stats"].error' 'No space left on device'
    [ "$(json '.["log-stats"].files')" -gt 0 ]
    [ "$(ls "$DIR")" = "$(printf '%s\n' data files)" ]
}

@test "a full quota" {
    mount_other 512M mkfs.btrfs -q
    btrfs -q quota enable "$DIR"
    btrfs -q subvolume create "$DIR/limited"
    btrfs -q qgroup limit 1M "$DIR/limited"
    sync -f "$DIR"
    run -1 --separate-stderr log_stats --files 1000000 --every 1000 "$DIR/limited"
    [[ $stderr == *"ERROR: cannot "*": Disk quota exceeded"* ]]
    expect_nothing_left "$DIR/limited"
}

# -- --workload --

data_size() {
    stat -c %s "$(folders)/data"
}

has_data() {
    [ "$(data_size)" -ge "$1" ]
}

# start_workload OPTION...: until its file has data
start_workload() {
    start -q --files 1000000 --interval 0.05 "$@" "$DIR"
    within 20 has_data 1
}

end_workload() {
    kill -TERM "$pid"
    go_on
    finish || [ $? -eq 143 ]
    expect_nothing_left
}

is_nocow() {
    [[ $(lsattr -d "$1") =~ ^[^\ ]*C ]]
}

@test "--workload append: a file grows by the size of a write" {
    start_workload --workload append --size 3000 --every 2
    within 20 has_data 12000
    stop
    [ $(($(data_size) % 3000)) -eq 0 ]
    [ "$(ls -A "$(folders)")" = data ]
    ! is_nocow "$(folders)/data" || fail "NOCOW without --nocow"
    end_workload
}

# addresses: where the blocks of the file are on disk
addresses() {
    sync -f "$DIR"
    filefrag -v "$(folders)/data" | awk '/^ +[0-9]+:/ { print $2, $4, $5, $6 }'
}

is_written_after() {
    [ "$(stat -c %.Y "$(folders)/data")" != "$1" ]
}

# expect_overwritten same|moved OPTION...: what became of the addresses while it wrote
expect_overwritten() {
    local before count written

    start_workload --workload overwrite --json-samples "$SAMPLES" --interval 0.01 "${@:2}"
    within 20 has_data $((1024 * 4096))
    stop
    before=$(addresses)
    written=$(stat -c %.Y "$(folders)/data")
    go_on
    within 20 is_written_after "$written"
    stop
    count=$(data_size)
    [ "$count" -eq $((1024 * 4096)) ]
    if [ "$1" = same ]; then
        [ "$(addresses)" = "$before" ]
    else
        [ "$(addresses)" != "$before" ]
    fi
    end_workload
    [ "$(wc -l <"$SAMPLES")" -ge 1 ]
    rm "$SAMPLES"
}

@test "--workload overwrite: blocks in place with --nocow, and else moved" {
    expect_overwritten same --nocow
    expect_overwritten moved
}

is_another_file() {
    [ "$(stat -c %i "$(folders)/data")" != "$1" ]
}

@test "--workload rename: a new file again and again" {
    local inode

    start_workload --workload rename --size 5000 --nocow
    inode=$(stat -c %i "$(folders)/data")
    within 20 is_another_file "$inode"
    stop
    [ "$(data_size)" -eq 5000 ]
    is_nocow "$(folders)/data"
    end_workload
}

@test "--workload: log commits, and full ones without the log" {
    local workload

    for workload in append overwrite rename; do
        expect_kinds "20 0 0" log_stats_json --workload "$workload" --files 20 "$DIR"
        expect_json '.["log-stats"] | [.workload, .files, .every, .write_bytes, .nocow, .fsyncs, .complete] | tojson' \
            "[\"$workload\",20,1,4096,false,20,true]"
    done
    expect_json '.["log-stats"].commit_kinds.log.count' 20
    mount -o remount,notreelog "$MNT"
    for workload in append overwrite rename; do
        run -0 --separate-stderr log_stats_json --workload "$workload" --files 20 --size 64K --nocow "$DIR"
        expect_json '.["log-stats"] | [.log_commits, .write_bytes, .nocow] | tojson' '[0,65536,true]'
        [ "$(json '.["log-stats"].full_commits')" -ge 15 ]
    done
    expect_nothing_left
}

@test "--workload in text and as metrics" {
    run -0 --separate-stderr log_stats --workload append --files 100 --every 10 --size 8K "$DIR"
    expect_line 'Workload: append, writes of 8.00KiB'
    expect_line 'Writes: 100, an fsync after every 10'
    grep -q "^WARNING: writing 100 times to a temporary file in '$DIR/" <<<"$stderr" || fail "$stderr"
    run -0 --separate-stderr log_stats --workload rename --files 10 --nocow "$DIR"
    expect_line 'Workload: rename, files of 4.00KiB, NOCOW'
    expect_line 'Files: 10, an fsync after every 1'
    run -0 --separate-stderr "$FASTPATH" --format openmetrics log-stats -q --workload append --files 10 "$DIR"
    [[ $output == *"btrfs_fastpath_fsync_seconds_count{path=\"$DIR\",workload=\"append\"} 10"* ]] || fail "$output"
    [[ $output == *"btrfs_fastpath_fsyncs{path=\"$DIR\",workload=\"append\",commit=\"log\"} "* ]] || fail "$output"
    run -0 --separate-stderr "$FASTPATH" --format openmetrics log-stats -q --files 10 "$DIR"
    [[ $output != *workload* ]] || fail "$output"
}

@test "--workload: what SIGKILL leaves, the next run removes" {
    local workload

    for workload in append rename; do
        start_workload --workload "$workload"
        kill -KILL "$pid"
        finish || [ $? -eq 137 ]
        [ -n "$(folders)" ]
        run -0 --separate-stderr log_stats --files 10 "$DIR"
        [[ $stderr == *"WARNING: removing the folder of a killed run: "* ]] || fail "$stderr"
        expect_nothing_left
    done
}

@test "--workload: a full file system" {
    mount_other 128M mkfs.btrfs -q
    run -1 --separate-stderr log_stats_json --workload append --size 1M --files 1000 "$DIR"
    [[ $stderr == *"ERROR: cannot "*" '$DIR/"*"': No space left on device"* ]] || fail "$stderr"
    expect_json '.["log-stats"] | .complete, .error' $'false\nNo space left on device'
    expect_nothing_left
}

@test "--workload: arguments that make no sense" {
    local arguments

    for arguments in "--workload x" "--size 4K" "--nocow" "--workload directory --nocow" "--workload append --size 0" \
        "--workload append --size 65M" "--workload append --size x" "--workload rename --every 2" \
        "--workload append --watch" "--workload append --every 20 --files 10"; do
        # shellcheck disable=SC2086 # words
        run -1 --separate-stderr log_stats $arguments "$DIR"
        [ -z "$output" ]
        [ "$(wc -l <<<"$stderr")" -eq 1 ] || fail "$arguments: $stderr"
    done
}

# -- --watch --

@test "--watch follows commits until it is interrupted" {
    start --format json --watch --interval 0.2 "$DIR"
    sleep 0.3
    touch "$DIR/file"
    sync -f "$DIR"
    within 20 watched_a_commit
    kill -INT "$pid"
    finish
    jq -e '.["log-stats"].samples | map(.commits) | add >= 1' "$BATS_TEST_TMPDIR/stdout"
    jq -e --arg dir "$DIR" '.["log-stats"].path == $dir' "$BATS_TEST_TMPDIR/stdout"
    [ "$(ls "$DIR")" = file ]
}

watched_a_commit() {
    grep -q '"commits": [1-9]' "$BATS_TEST_TMPDIR/stdout"
}

commit_again() {
    touch "$DIR/again"
    sync -f "$DIR"
    rm "$DIR/again"
    sync -f "$DIR"
}

# commit_ms_done: how long they all took
commit_ms_done() {
    awk '$1 == "total_commit_ms" { print $2 }' "/sys/fs/btrfs/$(findmnt -n -o UUID "$MNT")/commit_stats"
}

# rows_have_all_since BEFORE COMMAND...: the rows so far count every commit after the first BEFORE; COMMAND prints the
# number of each row. A commit that goes on is in no row yet.
rows_have_all_since() {
    local before=$1

    shift
    [ "$("$@" <"$BATS_TEST_TMPDIR/stdout" | awk '{ sum += $1 } END { print sum + 0 }')" -eq $(($(commits_done) - before)) ]
}

commits_in_json() {
    sed -n 's/^ *"commits": \([0-9]*\),$/\1/p'
}

# the third word of a row, after the time and the generation
commits_in_text() {
    awk 'NR > 1 { print $3 }'
}

@test "--watch counts the commits from row to row, not those before" {
    local before before_ms

    commit_again
    before=$(commits_done)
    before_ms=$(commit_ms_done)
    start --format json --watch --interval 0.2 "$DIR"
    within 20 grep -q '"commits": 0' "$BATS_TEST_TMPDIR/stdout"
    commit_again
    within 20 watched_a_commit
    within 20 rows_have_all_since "$before" commits_in_json
    kill -INT "$pid"
    finish
    [ "$before" -gt 0 ]
    jq -e --argjson commits $(($(commits_done) - before)) --argjson ms $(($(commit_ms_done) - before_ms)) \
        '.["log-stats"].samples | (map(.commits) | add) == $commits and (map(.commit_ns) | add) == $ms * 1000000' \
        "$BATS_TEST_TMPDIR/stdout" || fail "$(cat "$BATS_TEST_TMPDIR/stdout")"

    # the same in text
    start --watch --interval 0.2 "$DIR"
    within 20 grep -qE '^ +[0-9.]+m?s +[0-9]+ +0 ' "$BATS_TEST_TMPDIR/stdout"
    before=$(commits_done)
    commit_again
    within 20 grep -qE '^ +[0-9.]+m?s +[0-9]+ +[1-9]' "$BATS_TEST_TMPDIR/stdout"
    within 20 rows_have_all_since "$before" commits_in_text
    kill -INT "$pid"
    finish
}

# start_without_sysfs ARGUMENT...: as start, until sysfs_appears
start_without_sysfs() {
    local program=$BATS_TEST_TMPDIR/without-sysfs

    printf '#!/bin/sh\nexec unshare --mount sh -c "mount -t tmpfs none /sys/fs/btrfs && exec \\"\\$@\\"" sh "%s" "$@"\n' \
        "$FASTPATH" >"$program"
    chmod +x "$program"
    FASTPATH=$program start "$@"
}

sysfs_appears() {
    nsenter --mount --root --target "$pid" umount /sys/fs/btrfs
}

sysfs_vanishes() {
    nsenter --mount --root --target "$pid" mount -t tmpfs none /sys/fs/btrfs
}

@test "--watch: what follows an unknown reading is unknown" {
    commit_again
    start_without_sysfs --format ndjson --watch --interval 0.2 "$DIR"
    within 20 grep -q '"commits":null,"commit_ns":null,"last_commit_ns":null' "$BATS_TEST_TMPDIR/stdout"
    sysfs_appears
    within 20 grep -q '"commits":0' "$BATS_TEST_TMPDIR/stdout"
    sysfs_vanishes
    within 20 grep -qz '"commits":0.*"last_commit_ns":null' "$BATS_TEST_TMPDIR/stdout"
    sysfs_appears
    within 20 grep -qz '"commits":0.*"last_commit_ns":null.*"commits":0' "$BATS_TEST_TMPDIR/stdout"
    kill -INT "$pid"
    finish
    jq -s 'map(.["log-stats"])' "$BATS_TEST_TMPDIR/stdout" >"$BATS_TEST_TMPDIR/rows"
    # no commit since the first look, and the first known reading after each unknown one has no difference
    jq -e '(map(.commits // 0) | add) == 0
        and ([range(1; length) as $i | select(.[$i - 1].last_commit_ns == null and .[$i].last_commit_ns != null) | .[$i]]
            | length == 2 and all(.commits == null and .commit_ns == null))' "$BATS_TEST_TMPDIR/rows" ||
        fail "$(cat "$BATS_TEST_TMPDIR/rows")"
}

@test "--watch in text: what follows an unknown reading is unknown" {
    commit_again
    start_without_sysfs --watch --interval 0.2 "$DIR"
    within 20 grep -qE '^ +[0-9.]+m?s +[0-9]+ +- +- +- +-$' "$BATS_TEST_TMPDIR/stdout"
    sysfs_appears
    within 20 grep -qE '^ +[0-9.]+m?s +[0-9]+ +0 ' "$BATS_TEST_TMPDIR/stdout"
    kill -INT "$pid"
    finish
    [ "$(grep -cE '^ +[0-9.]+m?s +[0-9]+ +- +- +[0-9.]+[mun]?s +[0-9.]+m?s$' "$BATS_TEST_TMPDIR/stdout")" -eq 1 ] ||
        fail "$(cat "$BATS_TEST_TMPDIR/stdout")"
    ! grep -qE '^ +[0-9.]+m?s +[0-9]+ +[1-9]' "$BATS_TEST_TMPDIR/stdout" || fail "$(cat "$BATS_TEST_TMPDIR/stdout")"
}

@test "--watch prints a row an interval, and ends when nobody reads" {
    start --watch --interval 0.1 "$DIR"
    within 20 grep -qE '^ +[0-9.]+m?s +[0-9]+ +[0-9]+ +.*s$' "$BATS_TEST_TMPDIR/stdout"
    kill -TERM "$pid"
    finish
    [ "$(grep -c Generation "$BATS_TEST_TMPDIR/stdout")" -eq 1 ]

    timeout 20 "$FASTPATH" log-stats --watch --interval 0.1 "$DIR" | head -n 2 || [ $? -eq 141 ]
    run -1 --separate-stderr timeout 20 sh -c 'exec "$@" >/dev/full' sh \
        "$FASTPATH" log-stats --watch --interval 0.1 "$DIR"
}

# A dozen rows fill the writer's buffer, which takes a minute.
# bats test_tags=slow
@test "--watch prints a row of JSON when its interval is over" {
    start --format json --watch --interval 5 "$DIR"
    within 40 grep -q elapsed_ns "$BATS_TEST_TMPDIR/stdout"
    kill -TERM "$pid"
    finish
}

watch_rows() {
    grep -c elapsed_ns "$BATS_TEST_TMPDIR/stdout"
}

has_more_rows_than() {
    [ "$(watch_rows)" -gt "$1" ]
}

# bats test_tags=slow
@test "--watch prints no row for an interval in which it was stopped" {
    local before

    start --format json --watch --interval 0.05 "$DIR"
    within 20 grep -q elapsed_ns "$BATS_TEST_TMPDIR/stdout"
    kill -STOP "$pid"
    sleep 3
    before=$(watch_rows)
    kill -CONT "$pid"
    within 20 has_more_rows_than $((before + 2))
    kill -TERM "$pid"
    finish
    # of the 60 that it missed; a row that is late itself may come right before the next one
    [ "$(jq --argjson first "$before" '[.["log-stats"].samples[$first:] | range(1; length) as $i
        | .[$i].elapsed_ns - .[$i - 1].elapsed_ns | select(. < 5000000)] | length' "$BATS_TEST_TMPDIR/stdout")" -lt 20 ]
}

# -- privilege, and what is no directory on btrfs --

@test "no privilege is needed but to write in the directory" {
    chown 65534 "$DIR"
    expect_kinds "2 0 0" as_nobody "$MNT/program" --format json log-stats --files 20 --every 10 "$DIR"
    expect_json '.["log-stats"].parts' null
    expect_nothing_left
    run -0 --separate-stderr as_nobody "$MNT/program" log-stats --files 20 --every 10 "$DIR"
    expect_line 'Verdict: requires root, to read the block device'
    # nor to read
    chmod 300 "$DIR"
    expect_kinds "2 0 0" as_nobody "$MNT/program" --format json log-stats --files 20 --every 10 "$DIR"
    expect_nothing_left

    run -1 --separate-stderr as_nobody "$MNT/program" log-stats --watch "$DIR"
    [ "$stderr" = "ERROR: cannot open '$DIR': Permission denied" ]

    chmod 500 "$DIR"
    run -1 --separate-stderr as_nobody "$MNT/program" log-stats "$DIR"
    [ "$stderr" = "ERROR: cannot create a folder in '$DIR': Permission denied" ]
    chmod 000 "$DIR"
    run -1 --separate-stderr as_nobody "$MNT/program" log-stats "$DIR"
    [ "$stderr" = "ERROR: cannot create a folder in '$DIR': Permission denied" ]
}

@test "without sysfs, full commits are uncertain, and log commits are not" {
    expect_kinds "2 0 0" unshare --mount sh -c 'umount -l /sys && exec "$@"' sh \
        "$FASTPATH" --format json log-stats --files 20 --every 10 "$DIR"
    expect_json '.["log-stats"].commits' null
    [[ $stderr == *"WARNING: there is no commit_stats in sysfs"* ]]
    mount -o remount,notreelog "$MNT"
    expect_kinds "0 0 2" unshare --mount sh -c 'umount -l /sys && exec "$@"' sh \
        "$FASTPATH" --format json log-stats --files 20 --every 10 "$DIR"
}

@test "a read-only file system" {
    mount -o remount,ro "$MNT"
    run -1 --separate-stderr log_stats "$DIR"
    [ "$stderr" = "ERROR: cannot create a folder in '$DIR': Read-only file system" ]
    run -1 --separate-stderr log_stats_json "$DIR"
    expect_json '.["log-stats"].error' 'Read-only file system'
    mount -o remount,rw "$MNT"
}

@test "another file system" {
    mount_other 64M mkfs.ext4 -q
    run -1 --separate-stderr log_stats "$DIR"
    [ "$stderr" = "ERROR: not a btrfs filesystem: '$DIR'" ]
    run -1 --separate-stderr log_stats --watch "$DIR"
    [ "$stderr" = "ERROR: not a btrfs filesystem: '$DIR'" ]
}

@test "arguments that are not directories" {
    touch "$DIR/file"
    mkfifo "$DIR/fifo"
    run -1 --separate-stderr log_stats "$DIR/file"
    [ "$stderr" = "ERROR: cannot open '$DIR/file': Not a directory" ]
    run -1 --separate-stderr timeout 20 "$FASTPATH" log-stats "$DIR/fifo"
    [ "$stderr" = "ERROR: cannot open '$DIR/fifo': Not a directory" ]
    run -1 --separate-stderr log_stats "$DIR/none"
    [ "$stderr" = "ERROR: cannot open '$DIR/none': No such file or directory" ]
    run -1 --separate-stderr log_stats ''
    [ "$stderr" = "ERROR: cannot open '': No such file or directory" ]
}

@test "a name with control characters" {
    mkdir "$DIR"/$'a\nb'
    run -0 --separate-stderr log_stats --files 10 "$DIR"/$'a\nb'
    expect_line "Directory: '$DIR/a\\\\x0ab'"
    run -0 --separate-stderr log_stats_json --files 10 "$DIR"/$'a\nb'
    [ "$(json '.["log-stats"].path')" = "$DIR"/$'a\nb' ]
}

@test "arguments that make no sense" {
    local arguments

    while read -ra arguments; do
        run -1 --separate-stderr timeout 20 "$FASTPATH" log-stats "${arguments[@]}"
        [ -n "$stderr" ] || fail "nothing is said: ${arguments[*]}"
        [ -z "$output" ]
    done <<END
--files 10
--files 0 $DIR
--files x $DIR
--files -1 $DIR
--files 100000001 $DIR
--every 0 $DIR
--every 11 --files 10 $DIR
--interval 0 $DIR
--interval -1 $DIR
--interval nan $DIR
--interval 0x1 $DIR
--interval 1.2.3 $DIR
--interval 1,5 $DIR
--interval 86401 $DIR
--check $DIR
--max-ms 5 $DIR
--check --max-ms 1e3 $DIR
--watch --files 3 $DIR
--watch --check $DIR
--watch --check --max-ms 3 $DIR
--watch --commit-between $DIR
--watch --json-samples x $DIR
--watch --by
--watch --by user $DIR
--by process $DIR
--watch --by file --files 3 $DIR
$DIR $DIR
END
    # nothing else would help
    run -1 "$FASTPATH" log-stats --watch --check "$DIR"
    [ "$output" = "ERROR: --watch can only be combined with --interval and --by" ]
    expect_nothing_left
}
