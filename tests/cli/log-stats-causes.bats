#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# log-stats --watch --by: what it counts, compared with what programs did at the same time.

# bats' run sets stderr, and it runs each test in a subshell, which is what it should do
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
    TRACEFS=$BATS_TEST_TMPDIR/tracefs
    mkdir "$TRACEFS"
    mount -t tracefs tracefs "$TRACEFS"
    pid=
    runs=()
}

teardown() {
    kill_started
    for run in "${runs[@]}"; do kill -KILL "$run" 2>/dev/null || true; done
    for mount in "$TRACEFS" "$BATS_TEST_TMPDIR/other"; do
        if mountpoint -q "$mount"; then umount "$mount"; fi
    done
    mount -o remount,treelog "$MNT"
    rm -rf "$DIR"
}

# In a container the names of running processes are unknown.
require_process_names() {
    [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] || skip "processes have other IDs in the trace"
}

# Those of other processes, such as other tests, are not looked at.
has_instance() {
    [ "$(cat "$TRACEFS/instances/btrfs-fastpath.$pid.0/events/sched/sched_process_exit/enable" 2>/dev/null)" = 1 ]
}

# expect_removed PID
expect_removed() {
    if [ -e "$TRACEFS/instances/btrfs-fastpath.$1.0" ]; then fail "the instance of $1 remains"; fi
}

# watch_by WHAT COMMAND...: $output has all rows
watch_by() {
    start --format ndjson --watch --by "$1" --interval 0.2 "$MNT"
    # It traces when the first interval has ended.
    within 60 grep -qs elapsed_ns "$BATS_TEST_TMPDIR/stdout"
    "${@:2}"
    kill -INT "$pid"
    finish
    [ ! -s "$BATS_TEST_TMPDIR/stderr" ] || fail "$(cat "$BATS_TEST_TMPDIR/stderr")"
    output=$(jq -s 'map(."log-stats".causes[])' "$BATS_TEST_TMPDIR/stdout")
}

# expect_sum FILTER KEY VALUE: of the rows that FILTER selects
expect_sum() {
    local sum

    sum=$(jq "map(select($1).$2) | add // 0" <<<"$output")
    [ "$sum" = "$3" ] || fail "$1: $2 is $sum, not $3" "$output"
}

# call_fsync NAME COUNT [DIRECTORY]: a process of this name writes to as many files, and calls fsync for each and for their directory
call_fsync() {
    python3 - "$@" <<'END'
import os, sys

name, count, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with open("/proc/self/comm", "w") as file:
    file.write(name)
for i in range(count):
    file = os.open(f"{folder}/{i}", os.O_CREAT | os.O_WRONLY)
    os.write(file, b"some data")
    os.fsync(file)
    os.close(file)
    file = os.open(folder, os.O_RDONLY)
    os.fsync(file)
    os.close(file)
END
}

@test "processes: each fsync is counted, and has a time" {
    require_process_names
    watch_by process call_fsync 'a mail server' 30 "$DIR"
    expect_sum '.process == "a mail server"' fsyncs 60
    # The first one can have to commit the transaction.
    expect_sum '.process == "a mail server"' 'log_commits + .full_commits' 60
    expect_sum '.process == "a mail server"' 'commits - .full_commits' 0
    jq -e 'map(select(.process == "a mail server")) | all(.pid > 1 and .mean_ns > 0 and .max_ns >= .mean_ns and .total_ns >= .max_ns)' <<<"$output"
}

# write_synchronously FILE OTHER: a process "writer", which calls fsync for OTHER after the first write, and sync after the second
write_synchronously() {
    python3 - "$@" <<'END'
import os, sys

with open("/proc/self/comm", "w") as file:
    file.write("writer")
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_DSYNC)
os.write(file, b"some data")
other = os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY)
os.fsync(other)
os.write(file, b"more data")
with open(sys.argv[1] + ".late", "w") as file:
    file.write("some data")
os.sync()
END
}

@test "a synchronous write has neither the time of an fsync on another file system nor the commit of a sync" {
    require_process_names
    mkdir "$BATS_TEST_TMPDIR/other"
    mount -t tmpfs tmpfs "$BATS_TEST_TMPDIR/other"
    # After this commit, the write is one to the log.
    sync -f "$DIR"
    watch_by process write_synchronously "$DIR/file" "$BATS_TEST_TMPDIR/other/file"
    expect_sum '.process == "writer"' fsyncs 2
    expect_sum '.process == "writer"' full_commits 0
    jq -e 'map(select(.process == "writer")) | all(.total_ns == null)' <<<"$output"
}

@test "directories: an fsync of a directory counts for it" {
    mkdir "$DIR/new" "$DIR/cur"
    both() {
        call_fsync one 10 "$DIR/new"
        call_fsync two 20 "$DIR/cur"
    }
    watch_by directory both
    expect_sum ".path == \"$DIR/new\"" fsyncs 20
    expect_sum ".path == \"$DIR/cur\"" fsyncs 40
    expect_sum ".path == \"$DIR\"" fsyncs 0
}

@test "files of subvolumes, mounted or not" {
    btrfs subvolume create "$DIR/subvolume" >/dev/null
    mkdir "$DIR/subvolume/folder"
    watch_by file call_fsync one 3 "$DIR/subvolume/folder"
    for path in 0 1 2; do
        expect_sum ".path == \"$DIR/subvolume/folder/$path\"" fsyncs 1
    done
    expect_sum ".path == \"$DIR/subvolume/folder\"" fsyncs 3
}

@test "full commits: of an fsync, and of a snapshot" {
    require_process_names
    mount -o remount,notreelog "$MNT"
    watch_by process call_fsync everything-full 5 "$DIR"
    # An fsync of a directory that has just been committed has nothing to do.
    expect_sum '.process == "everything-full"' fsyncs 10
    jq -e 'map(select(.process == "everything-full").full_commits) | add >= 5' <<<"$output"
    expect_sum '.process == "everything-full"' 'commits - .full_commits' 0

    mount -o remount,treelog "$MNT"
    touch "$DIR/change"
    watch_by process btrfs subvolume snapshot "$MNT" "$DIR/snapshot"
    jq -e 'map(select(.process == "btrfs")) | map(.commits) | add >= 1' <<<"$output"
    expect_sum '.process == "btrfs"' fsyncs 0
}

@test "synchronous writes are counted without a time" {
    require_process_names
    watch_by process dd if=/dev/zero of="$DIR/log" bs=4k count=40 oflag=dsync status=none
    expect_sum '.process == "dd"' fsyncs 40
    jq -e 'map(select(.process == "dd")) | all(.total_ns == null and .mean_ns == null)' <<<"$output"
}

@test "processes that end at once have a name" {
    require_process_names
    for_each_file() {
        local file

        for file in 1 2 3 4 5 6 7 8; do
            echo "$file" >"$DIR/$file"
            sync "$DIR/$file"
        done
    }
    watch_by process for_each_file
    expect_sum '.process == "sync"' fsyncs 8
}

@test "another file system does not count" {
    require_process_names
    local other=$BATS_TEST_TMPDIR/other

    truncate -s 300M "$other.image"
    mkfs.btrfs -q "$other.image" >/dev/null
    mkdir "$other"
    mount -o loop "$other.image" "$other"
    watch_by process call_fsync elsewhere 10 "$other"
    umount "$other"
    expect_sum '.process == "elsewhere"' fsyncs 0
}

call_fsync_named() {
    NAME=$1 python3 - "$2" "$DIR" <<'END'
import os, sys

with open("/proc/self/comm", "wb") as file:
    file.write(os.environb[b"NAME"])
for i in range(int(sys.argv[1])):
    for path in (f"{sys.argv[2]}/{i}", sys.argv[2]):
        file = os.open(path, os.O_RDONLY if path == sys.argv[2] else os.O_CREAT | os.O_WRONLY)
        os.fsync(file)
        os.close(file)
END
}

@test "names with any bytes" {
    require_process_names
    local name=$'a\n\e[31m"\xff'

    watch_by process call_fsync_named "$name" 3
    expect_sum '.process != null' fsyncs 6
    jq -e 'map(select(.fsyncs > 0)) | all(.process == "a\\x0a\\x1b[31m\"\\xff")' <<<"$output"
}

@test "a subvolume that was renamed has its new name" {
    btrfs subvolume create "$DIR/old" >/dev/null
    rename_between() {
        call_fsync one 1 "$DIR/old"
        within 60 grep -qs "$DIR/old" "$BATS_TEST_TMPDIR/stdout"
        mv "$DIR/old" "$DIR/renamed"
        call_fsync two 1 "$DIR/renamed"
    }
    watch_by directory rename_between
    expect_sum ".path == \"$DIR/old\"" fsyncs 2
    expect_sum ".path == \"$DIR/renamed\"" fsyncs 2
}

@test "a table has the rows with the most time first, and the others in one" {
    start --watch --by file --interval 86400 "$MNT"
    within 60 has_instance
    call_fsync one 40 "$DIR"
    kill -INT "$pid"
    finish
    run -0 cat "$BATS_TEST_TMPDIR/stdout"
    [[ ${lines[0]} =~ ^0ns\ -\ .*:\ 80\ fsyncs, ]]
    [[ ${lines[1]} =~ ^\ Fsyncs\ +Per\ second\ +Full\ +Uncertain\ +Commits\ +Total\ +Mean\ +Max\ Path$ ]]
    [ "${#lines[@]}" -eq 23 ]
    [[ ${lines[22]} = *' (others)' ]]
    [ "$(awk 'NR > 2 { sum += $1 } END { print sum }' <<<"$output")" -eq 80 ]
}

@test "the instance of the kernel's tracing is removed, also that of a killed run" {
    local mounts run

    mounts=$(grep -c ' - tracefs ' /proc/self/mountinfo)
    start --watch --by process --interval 0.1 "$MNT"
    within 60 has_instance
    [ "$(grep -c ' - tracefs ' /proc/self/mountinfo)" -eq "$mounts" ]
    run=$pid
    kill -INT "$pid"
    finish
    expect_removed "$run"

    start --watch --by process --interval 0.1 "$MNT"
    within 60 has_instance
    run=$pid
    kill -KILL "$pid"
    finish || [ $? -eq 137 ]
    watch_by file true
    expect_removed "$run"
}

@test "a run does not disturb another" {
    require_process_names
    local first

    start --watch --by process --interval 0.1 "$MNT"
    within 60 has_instance
    first=$pid
    cp "$BATS_TEST_TMPDIR/stdout" "$BATS_TEST_TMPDIR/first"
    watch_by process call_fsync second 5 "$DIR"
    expect_sum '.process == "second"' fsyncs 10
    kill -0 "$first"
    pid=$first
    has_instance
    kill -INT "$pid"
    wait "$pid"
    expect_removed "$first"
}

@test "without root it says what it requires" {
    run -1 as_nobody "$MNT/program" log-stats --watch --by process "$MNT"
    [ "$output" = "ERROR: --by requires root: Operation not permitted" ]
}

@test "in a PID namespace it looks up no process that has the ID of another one" {
    unshare --pid --fork --kill-child "$FASTPATH" --format ndjson log-stats --watch --by process --interval 86400 "$MNT" \
        >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    pid=$!
    within 60 grep -q WARNING "$BATS_TEST_TMPDIR/stderr"
    call_fsync outside 5 "$DIR"
    pkill -TERM -P "$pid"
    finish
    [ "$(cat "$BATS_TEST_TMPDIR/stderr")" = "WARNING: in a PID namespace, the names of running processes are unknown" ]
    output=$(jq -s 'map(."log-stats".causes[])' "$BATS_TEST_TMPDIR/stdout")
    expect_sum .fsyncs fsyncs 10
    jq -e 'map(select(.fsyncs > 0)) | all(.process == null or .process == "python3" or .process == "outside")' <<<"$output"
}

@test "two runs with the same process ID, in two PID namespaces, do not share an instance" {
    local i

    for i in 1 2; do
        unshare --pid --fork --kill-child "$FASTPATH" --format ndjson log-stats --watch --by process --interval 86400 "$MNT" \
            >"$BATS_TEST_TMPDIR/stdout$i" 2>"$BATS_TEST_TMPDIR/stderr$i" 3>&- &
        runs+=($!)
        within 60 grep -q WARNING "$BATS_TEST_TMPDIR/stderr$i"
    done
    call_fsync outside 5 "$DIR"
    pkill -TERM -P "${runs[0]}"
    pkill -TERM -P "${runs[1]}"
    wait "${runs[@]}"
    for i in 1 2; do
        output=$(jq -s 'map(."log-stats".causes[])' "$BATS_TEST_TMPDIR/stdout$i")
        expect_sum .fsyncs fsyncs 10
    done
}
