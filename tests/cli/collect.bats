#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Metrics: what each command gives, as Prometheus' own library reads it, compared with its JSON; and collect, which writes the
# file for node_exporter.

# bats' run sets output and stderr, and runs each test in a subshell
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load environment.bash
load inode-lock.bash

setup_file() {
    mount_btrfs 1G noatime,commit=3600
    put_program_for_nobody
    head -c 1M /dev/urandom >"$MNT/file"
    cp --reflink=always "$MNT/file" "$MNT/clone"
    head -c 3M /dev/urandom >"$MNT/other"
    touch "$MNT/nocow"
    chattr +C "$MNT/nocow"
    head -c 2M /dev/urandom >"$MNT/nocow"
    sync -f "$MNT"
    btrfs -q subvolume create "$MNT/subvolume"
    head -c 5M /dev/urandom >"$MNT/subvolume/file"
    btrfs -q subvolume snapshot -r "$MNT/subvolume" "$MNT/snapshot"
    sync -f "$MNT"
}

setup() {
    mkdir "$MNT/work"
    chmod 700 "$MNT/work"
    CONFIG=$MNT/work/collect.conf
    OUTPUT=$MNT/work/btrfs.prom
}

teardown() {
    release_inode_locks
    rm -rf "$MNT/work"
}

# openmetrics ARGUMENT...: the samples of a command
openmetrics() {
    "$FASTPATH" --format openmetrics "$@" | "$BATS_TEST_DIRNAME/read-openmetrics" openmetrics
}

# json_of FILTER ARGUMENT...
json_of() {
    "$FASTPATH" --format json "${@:2}" | jq -r "$1"
}

# expect_sample TYPE NAME LABELS VALUE
expect_sample() {
    grep -qxF -e "$1 $2 {$3} $4" <<<"$output" || fail "no $1 $2 {$3} $4 in:" "$output"
}

# value NAME LABELS: of the only sample
value() {
    awk -v name="$1" -v labels="{$2}" '$2 == name && $3 == labels { print $4 }' <<<"$output"
}

@test "fiemap-shared: the sums of all files" {
    local kind

    run -0 openmetrics fiemap-shared "$MNT/file" "$MNT/clone" "$MNT/other"
    expect_sample gauge btrfs_fastpath_sharing_files '' 3
    expect_sample gauge btrfs_fastpath_sharing_bytes kind=total 5242880
    expect_sample gauge btrfs_fastpath_sharing_bytes kind=shared 2097152
    expect_sample gauge btrfs_fastpath_sharing_bytes kind=set_shared 1048576
    for kind in exclusive inline delalloc; do
        expect_sample gauge btrfs_fastpath_sharing_bytes "kind=$kind" \
            "$(json_of ".total.${kind}_bytes" fiemap-shared "$MNT/file" "$MNT/clone" "$MNT/other")"
    done
}

@test "nocow-check: bytes by next write and reason" {
    run -0 openmetrics nocow-check "$MNT/nocow" "$MNT/other"
    expect_sample gauge btrfs_fastpath_nocow_files '' 2
    expect_sample gauge btrfs_fastpath_nocow_bytes next_write=in_place,reason=nodatacow 2097152
    expect_sample gauge btrfs_fastpath_nocow_bytes next_write=copied,reason=no_flag 3145728
    expect_sample gauge btrfs_fastpath_nocow_bytes next_write=copied,reason=generation 0
}

@test "seek-map: a file, and its calls as a histogram" {
    run -0 openmetrics seek-map --timing --reopen "$MNT/file"
    expect_sample gauge btrfs_fastpath_seek_bytes "path=$MNT/file,type=data" 1048576
    expect_sample gauge btrfs_fastpath_seek_bytes "path=$MNT/file,type=hole" 0
    expect_sample histogram btrfs_fastpath_seek_call_seconds_count "path=$MNT/file" 2
    [ -n "$(value btrfs_fastpath_seek_walk_seconds "path=$MNT/file,walk=reopened")" ]
}

@test "seek-map: only the sums of several files" {
    run -0 openmetrics seek-map --timing "$MNT/file" "$MNT/other"
    expect_sample gauge btrfs_fastpath_seek_files '' 2
    expect_sample gauge btrfs_fastpath_seek_file_bytes '' 4194304
    expect_sample gauge btrfs_fastpath_seek_bytes type=data 4194304
    expect_sample gauge btrfs_fastpath_seek_segments '' 2
    [[ $output != *path=* ]] || fail "$output"
    run -0 openmetrics seek-map -r "$MNT/subvolume"
    expect_sample gauge btrfs_fastpath_seek_files '' 1
    [[ $output != *path=* ]] || fail "$output"
}

@test "log-stats: the fsyncs as a histogram, and by kind" {
    run -0 --separate-stderr openmetrics log-stats -q --files 300 "$MNT/work"
    expect_sample histogram btrfs_fastpath_fsync_seconds_count "path=$MNT/work" 3
    expect_sample histogram btrfs_fastpath_fsync_seconds_bucket "le=+Inf,path=$MNT/work" 3
    [ "$(awk '$2 == "btrfs_fastpath_fsyncs" { sum += $4 } END { print sum }' <<<"$output")" = 3 ]
}

@test "send-reada: the sizes of the stream, and how long it takes" {
    local bytes

    run -0 openmetrics send-reada --estimate "$MNT/snapshot"
    expect_sample gauge btrfs_fastpath_send_stream_bytes "subvolume=$MNT/snapshot" \
        "$("$FASTPATH" send-reada --estimate --raw "$MNT/snapshot")"
    [[ $output != *estimated_seconds* ]] || fail "$output"
    # a second for each byte of the stream that has a parent
    btrfs -q subvolume snapshot -r "$MNT/subvolume" "$MNT/same"
    bytes=$("$FASTPATH" send-reada --estimate --raw -p "$MNT/snapshot" "$MNT/same")
    run -0 openmetrics send-reada --estimate --rate 1 -p "$MNT/snapshot" "$MNT/same"
    btrfs -q subvolume delete "$MNT/same"
    expect_sample gauge btrfs_fastpath_send_estimated_seconds "subvolume=$MNT/same" "$bytes"
}

@test "status: the features, and the commits of a file system" {
    local uuid features

    uuid=$(findmnt -no UUID "$MNT")
    run -0 openmetrics status "$MNT"
    expect_sample info btrfs_fastpath_kernel_info "release=$(uname -r)" 1
    features=$(json_of '.status.features[] | select(.state != "unknown") |
        "gauge btrfs_fastpath_feature_present {feature=\(.feature)} \(if .state == "absent" then 0 else 1 end)"' status)
    [ "$(grep btrfs_fastpath_feature_present <<<"$output")" = "$features" ]
    [ ! -e "/sys/fs/btrfs/$uuid/commit_stats" ] || expect_sample counter btrfs_fastpath_commits_total "uuid=$uuid" \
        "$(awk '$1 == "commits" { print $2 }' "/sys/fs/btrfs/$uuid/commit_stats")"
}

@test "status: an improved feature is present" {
    run -0 with_feature_list "log-dir log-dir:improved seek-cache" "$FASTPATH" --format openmetrics status
    output=$("$BATS_TEST_DIRNAME/read-openmetrics" openmetrics <<<"$output")
    expect_sample gauge btrfs_fastpath_feature_present feature=log-dir 1
    expect_sample gauge btrfs_fastpath_feature_present feature=seek-cache 1
    expect_sample gauge btrfs_fastpath_feature_present feature=nocow-csum 0
}

@test "a command without metrics refuses the format" {
    run -1 --separate-stderr "$FASTPATH" --format openmetrics enable
    [ -z "$output" ]
    grep -q '^ERROR: .*metrics' <<<"$stderr" || fail "$stderr"
}

@test "metrics of details are refused" {
    local arguments

    for arguments in "fiemap-shared --extents" "nocow-check --extents" "seek-map --map" "seek-map --check"; do
        # shellcheck disable=SC2086 # words
        run -1 --separate-stderr "$FASTPATH" --format openmetrics $arguments "$MNT/file"
        [ -z "$output" ]
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
    done
}

@test "a name of any bytes is a label" {
    local name=$'a"b\\c\n-\xff'

    cp --reflink=always "$MNT/file" "$MNT/work/$name"
    run -0 openmetrics seek-map "$MNT/work/$name"
    expect_sample gauge btrfs_fastpath_seek_segments "path=$MNT/work/a\"b\\\\c\\x0a-\\xff" 1
}

# -- collect --

collect() {
    "$FASTPATH" collect --config "$CONFIG" --output "$OUTPUT" "$@"
}

# read_output: the file's samples, as run's output
read_output() {
    run -0 "$BATS_TEST_DIRNAME/read-openmetrics" prometheus <"$OUTPUT"
}

@test "collect: the kernel and each mounted file system" {
    local uuid before=(/sys/fs/btrfs/*-*/commit_stats)

    : >"$CONFIG"
    run -0 --separate-stderr collect
    [ -z "$output$stderr" ]
    read_output
    expect_sample gauge btrfs_fastpath_kernel_info "release=$(uname -r)" 1
    for uuid in "${before[@]}"; do
        [ ! -e "$uuid" ] || [ -n "$(value btrfs_fastpath_commits_total "uuid=$(basename "$(dirname "$uuid")")")" ]
    done
    [ "$(($(date +%s) - $(value btrfs_fastpath_collect_timestamp_seconds '')))" -lt 600 ]
}

@test "collect: what checks found, passed, and could not do" {
    cat >"$CONFIG" <<TEXT
# a comment

  check database nocow-check --check "$MNT/nocow"
check 'two words' fiemap-shared -s $MNT/{file,clone}
check pattern fiemap-shared -s $MNT/o*her
check fsync log-stats -q --files 100 $MNT/work --check --max-ms 86400000
check missing seek-map $MNT/nothing
TEXT
    run -1 --separate-stderr collect
    [ -z "$output" ]
    [[ $stderr == *"ERROR: check 'missing': cannot access '$MNT/nothing': No such file or directory" ]] || fail "$stderr"
    read_output
    expect_sample gauge btrfs_fastpath_check_status check=database,command=nocow-check 0
    expect_sample gauge btrfs_fastpath_check_status check=fsync,command=log-stats 0
    expect_sample gauge btrfs_fastpath_check_status check=missing,command=seek-map 1
    expect_sample gauge btrfs_fastpath_sharing_bytes 'check=pattern,kind=total' 3145728
    expect_sample histogram btrfs_fastpath_fsync_seconds_count "check=fsync,path=$MNT/work" 1
    [ -n "$(value btrfs_fastpath_check_seconds check=database,command=nocow-check)" ]

    btrfs -q subvolume snapshot "$MNT" "$MNT/work/now"
    echo "check database nocow-check --check $MNT/nocow" >"$CONFIG"
    run -0 --separate-stderr collect
    [[ $stderr == *"would be copied"* ]]
    btrfs -q subvolume delete "$MNT/work/now"
    read_output
    expect_sample gauge btrfs_fastpath_check_status check=database,command=nocow-check 64
    expect_sample gauge btrfs_fastpath_nocow_bytes check=database,next_write=copied,reason=generation 2097152
}

@test "collect: a check of a tree in which a mount was not entered has not passed" {
    mkdir -p "$MNT/work/tree/mount" "$MNT/work/elsewhere"
    echo "check tree nocow-check -r --check $MNT/work/tree" >"$CONFIG"
    mount --bind "$MNT/work/elsewhere" "$MNT/work/tree/mount"
    run --separate-stderr collect
    umount "$MNT/work/tree/mount"
    [ "$status" -eq 1 ]
    [[ $stderr == *"check 'tree': mount points of the same filesystem that were not entered: 1"* ]] || fail "$stderr"
    read_output
    expect_sample gauge btrfs_fastpath_check_status check=tree,command=nocow-check 1
    expect_sample gauge btrfs_fastpath_skipped_mounts check=tree 1
    run -0 collect
    read_output
    expect_sample gauge btrfs_fastpath_check_status check=tree,command=nocow-check 0
}

@test "collect: an error in a line names its number, and the other checks run" {
    # shellcheck disable=SC2016 # for the file
    printf '%s\n' 'check' 'chek a nocow-check x' 'check b module status' 'check c nothing x' 'check d seek-map $(touch x)' \
        'check e seek-map "' "check f seek-map $MNT/file" >"$CONFIG"
    run -1 --separate-stderr collect
    [ "$(grep -o 'line [0-9]*:' <<<"$stderr" | tr -d '\n')" = 'line 1:line 2:line 3:line 4:line 5:line 6:' ] || fail "$stderr"
    [ ! -e x ]
    read_output
    expect_sample gauge btrfs_fastpath_check_status check=f,command=seek-map 0
}

@test "collect: a check that prints something else than metrics has not passed" {
    local option

    for option in --help --help=all -h --usage --version --vers '--format json' --format=text; do
        echo "check a nocow-check $option $MNT/file" >"$CONFIG"
        run -1 --separate-stderr collect
        [ -z "$output" ] || fail "$option: $output"
        [[ $stderr == *"print no metrics"* ]] || fail "$option: $stderr"
        read_output
        expect_sample gauge btrfs_fastpath_check_status check=a,command=nocow-check 1
    done
}

@test "collect: a check that hangs or dies does not stop the others" {
    local child ended=0

    mkfifo "$MNT/work/fifo"
    printf 'check %s\n' "stuck seek-map --files0-from $MNT/work/fifo" "after seek-map $MNT/file" >"$CONFIG"
    run -1 --separate-stderr collect --timeout 1
    [[ $stderr == "ERROR: check 'stuck': timed out after 1 s" ]] || fail "$stderr"
    read_output
    expect_sample gauge btrfs_fastpath_check_status check=stuck,command=seek-map 1
    expect_sample gauge btrfs_fastpath_check_status check=after,command=seek-map 0
    expect_sample gauge btrfs_fastpath_kernel_info "release=$(uname -r)" 1
    # killed by somebody, as by the kernel without memory
    "$FASTPATH" collect --config "$CONFIG" --output "$OUTPUT" 2>"$MNT/work/errors" &
    until child=$(pgrep -P $!); do
        sleep 0.1
    done
    kill -KILL "$child"
    wait $! || ended=$?
    [ "$ended" -eq 1 ]
    [ "$(cat "$MNT/work/errors")" = "ERROR: check 'stuck': exited early" ]
    read_output
    expect_sample gauge btrfs_fastpath_check_status check=after,command=seek-map 0
}

# collect_to_file STATUS: a process that is left behind would keep a pipe open
collect_to_file() {
    local status=0

    collect --timeout "${TIMEOUT:-1}" >"$MNT/work/errors" 2>&1 3>&- || status=$?
    [ "$status" -eq "$1" ] || fail "status $status" "$(<"$MNT/work/errors")"
    stderr=$(<"$MNT/work/errors")
    read_output
}

# bats test_tags=slow
@test "collect: a check whose process cannot be killed is not started again" {
    local left

    head -c 1M /dev/urandom >"$MNT/work/file"
    printf 'check %s\n' "stuck seek-map $MNT/work/file" "after seek-map $MNT/file" >"$CONFIG"
    hold_inode_lock "$MNT/work/file" "$MNT/work/fuse"
    collect_to_file 1
    [ "$stderr" = "ERROR: check 'stuck': timed out after 1 s" ] || fail "$stderr"
    expect_sample gauge btrfs_fastpath_check_blocked check=stuck,command=seek-map 0
    collect_to_file 1
    [[ $stderr =~ ^"ERROR: check 'stuck': not started, since its process "([0-9]+)" of another run still exists"$ ]] ||
        fail "$stderr"
    left=${BASH_REMATCH[1]}
    expect_sample gauge btrfs_fastpath_check_blocked check=stuck,command=seek-map 1
    expect_sample gauge btrfs_fastpath_check_status check=stuck,command=seek-map 1
    expect_sample gauge btrfs_fastpath_check_blocked check=after,command=seek-map 0
    expect_sample gauge btrfs_fastpath_check_status check=after,command=seek-map 0
    release_inode_locks
    ended "$left"
    collect_to_file 0
    expect_sample gauge btrfs_fastpath_check_blocked check=stuck,command=seek-map 0
    expect_sample gauge btrfs_fastpath_check_status check=stuck,command=seek-map 0
}

# bats test_tags=slow
@test "collect: after an upgrade a process that cannot be killed is found, and other checks of its name are made" {
    local FASTPATH=$MNT/work/program

    # On the same file system as what replaces it.
    cp "$top_builddir/btrfs-fastpath" "$FASTPATH"
    head -c 1M /dev/urandom >"$MNT/work/file"
    echo "check stuck seek-map $MNT/work/file" >"$CONFIG"
    hold_inode_lock "$MNT/work/file" "$MNT/work/fuse"
    collect_to_file 1
    [ "$stderr" = "ERROR: check 'stuck': timed out after 1 s" ] || fail "$stderr"
    cp "$FASTPATH" "$FASTPATH.new"
    mv "$FASTPATH.new" "$FASTPATH"
    collect_to_file 1
    [[ $stderr = "ERROR: check 'stuck': not started, since its process "* ]] || fail "$stderr"
    # of another file, and in another configuration
    echo "check stuck seek-map $MNT/file" >"$CONFIG"
    collect_to_file 0
    echo "check stuck seek-map $MNT/file" >"$CONFIG.2"
    CONFIG=$CONFIG.2 collect_to_file 0
    expect_sample gauge btrfs_fastpath_check_blocked check=stuck,command=seek-map 0
    release_inode_locks
}

# bats test_tags=slow
@test "collect: a check of a tree gives the other files, and is not started again either" {
    mkdir "$MNT/work/tree"
    head -c 1M /dev/urandom | tee "$MNT/work/tree/file" >"$MNT/work/tree/held"
    sync -f "$MNT"
    printf 'check %s\n' "tree fiemap-shared -r $MNT/work/tree" >"$CONFIG"
    hold_inode_lock "$MNT/work/tree/held" "$MNT/work/fuse"
    TIMEOUT=59 collect_to_file 1
    [ "$stderr" = "ERROR: check 'tree': no answer from the kernel in time for '$MNT/work/tree/held'" ] || fail "$stderr"
    expect_sample gauge btrfs_fastpath_check_status check=tree,command=fiemap-shared 1
    expect_sample gauge btrfs_fastpath_sharing_files check=tree 1
    collect_to_file 1
    expect_sample gauge btrfs_fastpath_check_blocked check=tree,command=fiemap-shared 1
    release_inode_locks
}

@test "collect: an invalid time is an error" {
    local time

    for time in 0 86401 x; do
        run -1 --separate-stderr collect --timeout "$time"
        [[ $stderr == *--timeout* ]] || fail "$stderr"
    done
}

@test "collect: a second check of the same name hides nothing" {
    btrfs -q subvolume snapshot "$MNT" "$MNT/work/now"
    printf 'check a nocow-check --check %s\n' "$MNT/nocow" "$MNT/other" >"$CONFIG"
    run -1 --separate-stderr collect
    btrfs -q subvolume delete "$MNT/work/now"
    [[ $stderr == *"line 2: another check has this name"* ]] || fail "$stderr"
    read_output
    expect_sample gauge btrfs_fastpath_check_status check=a,command=nocow-check 64
    [ "$(grep -c '^btrfs_fastpath_check_status' "$OUTPUT")" -eq 1 ]
}

@test "collect: a check with a very long label has no samples" {
    local long=$MNT/work/x i

    for ((i = 0; i < 5; i++)); do
        long+=/$(printf '%0250d' 0)
    done
    mkdir -p "$long"
    cp --reflink=always "$MNT/file" "$long/file"
    printf 'check long seek-map %s/file\ncheck all seek-map -r %s\n' "$long" "$MNT/work/x" >"$CONFIG"
    run -1 --separate-stderr collect
    [[ $stderr == *"check 'long': more than 1000 samples, or a label of more than 1024 bytes"* ]] || fail "$stderr"
    read_output
    expect_sample gauge btrfs_fastpath_check_status check=long,command=seek-map 1
    expect_sample gauge btrfs_fastpath_check_status check=all,command=seek-map 0
    [ -z "$(value btrfs_fastpath_seek_segments "check=long,path=$long/file")" ]
    expect_sample gauge btrfs_fastpath_seek_segments check=all 1
}

@test "collect: a configuration that other users can modify is refused" {
    echo "check a seek-map $MNT/file" >"$CONFIG"
    chmod o+w "$CONFIG"
    run -1 --separate-stderr collect
    [[ $stderr == *"other users can modify"* ]] || fail "$stderr"
    read_output
    [ -z "$(value btrfs_fastpath_check_status check=a,command=seek-map)" ]
}

@test "collect: a configuration that was named has to be there" {
    run -1 --separate-stderr collect
    [[ $stderr == *"cannot open '$CONFIG'"* ]] || fail "$stderr"
    [ -e "$OUTPUT" ]
}

@test "collect: the file is replaced at once, and readable for others" {
    : >"$CONFIG"
    echo old >"$OUTPUT"
    chmod 600 "$OUTPUT"
    exec 5<"$OUTPUT"
    run -0 collect
    [ "$(cat <&5)" = old ]
    [ "$(stat -c %a "$OUTPUT")" = 644 ]
    [ "$(find "$MNT/work" -type f | wc -l)" -eq 2 ]
}

@test "collect: what cannot be replaced stays" {
    : >"$CONFIG"
    mkdir "$OUTPUT"
    run -1 --separate-stderr collect
    [[ $stderr == *"cannot write to '$OUTPUT': Is a directory"* ]] || fail "$stderr"
    rmdir "$OUTPUT"
    mkfifo "$OUTPUT"
    run -1 --separate-stderr collect
    [ -p "$OUTPUT" ]
}

@test "collect: a limit of file sizes leaves the old file and nothing else" {
    : >"$CONFIG"
    echo old >"$OUTPUT"
    run -1 --separate-stderr bash -c 'ulimit -f 1; exec "$@"' - "$FASTPATH" collect --config "$CONFIG" --output "$OUTPUT"
    [[ $stderr == *"cannot write to '$OUTPUT': File too large"* ]] || fail "$stderr"
    [ "$(cat "$OUTPUT")" = old ]
    [ "$(find "$MNT/work" -type f | wc -l)" -eq 2 ]
}

@test "collect: to standard output, without privilege" {
    run -0 --separate-stderr as_nobody "$MNT/program" collect --output -
    run -0 "$BATS_TEST_DIRNAME/read-openmetrics" prometheus <<<"$output"
    expect_sample gauge btrfs_fastpath_kernel_info "release=$(uname -r)" 1
}
