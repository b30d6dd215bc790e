#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# send-reada: its counts compared with btrfs receive --dump, its estimates with real streams, and how it fails.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0
load environment.bash
load background.bash

HERE=$BATS_TEST_DIRNAME
BTRFS=${BTRFS_PROGRAM:-btrfs}

setup_file() {
    mount_btrfs 2G noatime
    put_program_for_nobody

    "$BTRFS" subvolume create "$MNT/source" >/dev/null
    "$HERE/generate-tree" 1 "$MNT/source"
    "$BTRFS" subvolume delete "$MNT"/source/data/nested "$MNT/source/data/snapshot-of-snapshot" \
        "$MNT"/source/{data,other,snapshot-old,snapshot-young} >/dev/null 2>&1 || true
    make_more "$MNT/source"
    snapshot source first
    change "$MNT/source"
    snapshot source second

    "$BTRFS" subvolume create "$MNT/stranger" >/dev/null
    echo a >"$MNT/stranger/file"
    snapshot stranger stranger-1
    mkdir "$MNT/directory"
    mkfifo "$MNT/fifo"
}

teardown() {
    kill_started
    if mountpoint -q "$BATS_TEST_TMPDIR/other"; then
        umount "$BATS_TEST_TMPDIR/other"
    fi
}

# snapshot SOURCE TARGET: read-only, with all data on disk
snapshot() {
    sync -f "$MNT"
    "$BTRFS" subvolume snapshot -r "$MNT/$1" "$MNT/$2" >/dev/null
}

# What a send has commands for, and the generated tree does not have at its top.
make_more() {
    local dir=$1 i

    mkdir -p "$dir/deep/er" "$dir/$(printf 'new\nline')"
    printf tiny >"$dir/inline"
    python3 -c 'import os, socket, sys
os.chdir(sys.argv[1])
os.setxattr("inline", "user.name", b"value")
socket.socket(socket.AF_UNIX).bind("socket")' "$dir"
    chmod 4711 "$dir/inline"
    ln "$dir/inline" "$dir/deep/hard link"
    ln -s ../inline "$dir/deep/symlink"
    mkfifo "$dir/deep/fifo"
    mknod "$dir/deep/null" c 1 3
    head -c 3000000 /dev/urandom >"$dir/deep/er/large"
    cp --reflink=always "$dir/deep/er/large" "$dir/deep/clone"
    touch "$dir/deep/compressed"
    "$BTRFS" property set "$dir/deep/compressed" compression zstd
    head -c 1000000 < <(yes compresses) >"$dir/deep/compressed"
    truncate -s 1M "$dir/deep/sparse"
    head -c 5000 /dev/urandom | dd of="$dir/deep/sparse" bs=1000 seek=300 conv=notrunc status=none
    for ((i = 0; i < 200; i++)); do
        head -c $((i * 37)) /dev/urandom >"$dir/deep/er/small $i"
    done
}

change() {
    local dir=$1

    mv "$dir/deep/er" "$dir/renamed"
    mv "$dir/renamed/large" "$dir/large"
    rm "$dir/deep/hard link" "$dir/renamed"/small\ 1*
    python3 -c 'import os, sys; os.removexattr(sys.argv[1], "user.name")' "$dir/inline"
    printf more >>"$dir/inline"
    fallocate -p -o 100k -l 1000k "$dir/large"
    truncate -s 2222222 "$dir/large"
    head -c 70000 /dev/urandom | dd of="$dir/deep/compressed" bs=1000 seek=100 conv=notrunc status=none
    rmdir "$dir/$(printf 'new\nline')"
    mkdir "$dir/new"
    cp --reflink=always "$dir/large" "$dir/new/clone"
    chown 1:1 "$dir/new"
}

send_reada() {
    "$FASTPATH" send-reada "$@"
}

send_reada_json() {
    "$FASTPATH" --format json send-reada "$@"
}

# -- compared with btrfs receive --dump --

# dumped_counts ARGUMENT...: "COMMAND COUNT" of a real send; an escaped name begins no line of its own
dumped_counts() {
    "$BTRFS" send -q "$@" | "$BTRFS" receive --dump | awk '{ print $1 }' | sort | uniq -c | awk '{ print $2, $1 }'
}

our_counts() {
    jq -r '.["send-reada"].commands | to_entries[] | select(.key != "end") | "\(.key) \(.value)"' | sort
}

# expect_dumped_counts [SEND-OPTION...] SUBVOL
expect_dumped_counts() {
    diff <(send_reada_json --data "$@" | our_counts) <(dumped_counts "$@") >&2 || fail "--data: $*"
    diff <("$BTRFS" send -q "$@" | send_reada_json --decode - | our_counts) <(dumped_counts "$@") >&2 ||
        fail "--decode: $*"
    diff <(send_reada_json "$@" | our_counts) <(dumped_counts --no-data "$@") >&2 || fail "without data: $*"
}

@test "the commands are those of btrfs receive --dump" {
    local protocol

    for protocol in 1 2; do
        expect_dumped_counts --proto $protocol "$MNT/first"
        expect_dumped_counts --proto $protocol "$MNT/second"
        expect_dumped_counts --proto $protocol -p "$MNT/first" "$MNT/second"
        expect_dumped_counts --proto $protocol -p "$MNT/second" "$MNT/first"
        expect_dumped_counts --proto $protocol -c "$MNT/first" "$MNT/second"
        expect_dumped_counts --proto $protocol -p "$MNT/first" -c "$MNT/stranger-1" "$MNT/second"
    done
    expect_dumped_counts --proto 2 --compressed-data "$MNT/first"
}

@test "without -p the parent is one of the clone sources, the one that btrfs send takes" {
    "$BTRFS" subvolume create "$MNT/family" >/dev/null
    for generation in 1 2 3; do
        echo $generation >"$MNT/family/file $generation"
        snapshot family family-$generation
    done
    run -0 send_reada_json -c "$MNT/family-1" -c "$MNT/family-2" "$MNT/family-3"
    expect_json '.["send-reada"].parent' "$MNT/family-2"
    expect_dumped_counts -c "$MNT/family-1" -c "$MNT/family-2" "$MNT/family-3"
    expect_dumped_counts -c "$MNT/family-2" -c "$MNT/family-1" "$MNT/family-3"
    # what it is a snapshot of comes before its siblings
    "$BTRFS" subvolume snapshot -r "$MNT/family-1" "$MNT/family-1-1" >/dev/null
    "$BTRFS" subvolume snapshot -r "$MNT/family-1" "$MNT/family-1-2" >/dev/null
    run -0 send_reada_json -c "$MNT/family-1-1" -c "$MNT/family-1" "$MNT/family-1-2"
    expect_json '.["send-reada"].parent' "$MNT/family-1"
    expect_dumped_counts -c "$MNT/family-1-1" -c "$MNT/family-1" "$MNT/family-1-2"
}

@test "the tree has all commands of a send" {
    local command all

    all=$(send_reada_json --data "$MNT/first" | our_counts;
        send_reada_json --data -p "$MNT/first" "$MNT/second" | our_counts;
        send_reada_json --data --proto 2 --compressed-data "$MNT/first" | our_counts;
        send_reada_json "$MNT/first" | our_counts)
    for command in subvol snapshot mkfile mkdir mknod mkfifo mksock symlink rename link unlink rmdir \
        set_xattr remove_xattr write clone truncate chmod chown utimes update_extent encoded_write; do
        grep -q "^$command " <<<"$all" || fail "no $command in any stream"
    done
}

# -- compared with the bytes of real streams --

# bytes_of SEND-ARGUMENT...
bytes_of() {
    "$BTRFS" send -q "$@" | wc -c
}

# expect_estimate ARGUMENT...: at most 1% from the real one
expect_estimate() {
    local estimated real

    estimated=$(send_reada --estimate --raw "$@" 2>/dev/null)
    real=$(bytes_of "$@")
    ((100 * (estimated - real) <= real && 100 * (real - estimated) <= real)) ||
        fail "$*: $estimated bytes estimated, $real are"
}

@test "--estimate is within 1% of the real stream" {
    local protocol

    for protocol in 1 2; do
        expect_estimate --proto $protocol "$MNT/first"
        expect_estimate --proto $protocol "$MNT/second"
        expect_estimate --proto $protocol "$MNT/stranger-1"
        expect_estimate --proto $protocol -p "$MNT/first" "$MNT/second"
        expect_estimate --proto $protocol -p "$MNT/second" "$MNT/first"
        expect_estimate --proto $protocol -c "$MNT/first" "$MNT/second"
    done
    # as it is stored
    expect_estimate --proto 2 --compressed-data "$MNT/first"
    expect_estimate --proto 2 --compressed-data "$MNT/second"
    expect_estimate --proto 2 --compressed-data -p "$MNT/first" "$MNT/second"
}

# Compressible text in FILE, SIZE bytes of it that differ from those of other seeds
put_text() {
    head -c "$2" < <(yes "a line of $1, ${3-}") >"$1"
}

@test "--compressed-data: files below directories that are newer, renamed or exchanged" {
    local top=$MNT/logs i

    "$BTRFS" subvolume create "$top" >/dev/null
    "$BTRFS" property set "$top" compression zstd
    mkdir "$top/a" "$top/b"
    for i in 1 2 3 4 5 6; do
        put_text "$top/log.$i" 4000000
    done
    # directories that are newer than what is in them
    mkdir -p "$top/archive/old"
    mv "$top/log.1" "$top/archive"
    mv "$top/log.2" "$top/archive/old"
    mv "$top/log.3" "$top/a"
    mv "$top/log.4" "$top/b"
    # a name as of send itself
    mv "$top/log.5" "$top/o257-7-0"
    snapshot logs logs-1
    expect_estimate --compressed-data "$MNT/logs-1"
    run -0 send_reada --compressed-data --raw --top 6 "$MNT/logs-1"
    expect_line ' *[0-9]{6} archive/log.1'
    expect_line ' *[0-9]{6} archive/old/log.2'

    # the same directories under other names, and each file changed
    mv "$top/archive/old" "$top/archive/older"
    mv "$top/archive" "$top/attic"
    mkdir "$top/archive"
    mv "$top/a" "$top/c"
    mv "$top/b" "$top/a"
    mv "$top/c" "$top/b"
    # the name of an older file that is gone
    mv -f "$top/log.6" "$top/o257-7-0"
    for i in attic/log.1 attic/older/log.2 b/log.3 a/log.4 o257-7-0; do
        put_text "$top/$i" 4000000 again
    done
    put_text "$top/archive/log.1" 3000000 new
    snapshot logs logs-2
    expect_estimate --compressed-data "$MNT/logs-2"
    expect_estimate --compressed-data -p "$MNT/logs-1" "$MNT/logs-2"
    expect_estimate --compressed-data -p "$MNT/logs-2" "$MNT/logs-1"
}

@test "stream bytes and data bytes are those of the stream" {
    run -0 send_reada_json --data "$MNT/first"
    expect_json '.["send-reada"].stream_bytes' "$(bytes_of "$MNT/first")"
    expect_json '.["send-reada"] | .estimated_bytes == .stream_bytes' true
    data=$(json '.["send-reada"].data_bytes')
    run -0 send_reada_json "$MNT/first"
    expect_json '.["send-reada"].stream_bytes' "$(bytes_of --no-data "$MNT/first")"
    expect_json '.["send-reada"].data_bytes' "$data"
    expect_json '.["send-reada"].command_bytes | add + 17' "$(bytes_of --no-data "$MNT/first")"
}

@test "--compressed-data: the data is sent as stored" {
    run -0 send_reada_json --data --compressed-data "$MNT/first"
    expect_json '.["send-reada"].protocol' 2
    data=$(json '.["send-reada"].data_bytes')
    run -0 send_reada_json --compressed-data "$MNT/first"
    expect_json '.["send-reada"].data_bytes' "$data"
    run -0 send_reada_json "$MNT/first"
    expect_json ".[\"send-reada\"].data_bytes > $data" true
}

# 1% more or less than the REAL bytes are
expect_near() {
    local estimated=$1 real=$2

    ((real > 0 && 100 * (estimated - real) <= real && 100 * (real - estimated) <= real)) ||
        fail "$estimated bytes estimated, $real are"
}

@test "--estimate prints the size of the incremental, and with --full of the full stream" {
    local full incremental

    full=$(bytes_of "$MNT/second")
    incremental=$(bytes_of -p "$MNT/first" "$MNT/second")
    ((incremental < full)) || fail "$incremental, $full"

    run -0 --separate-stderr send_reada_json --estimate --full -p "$MNT/first" "$MNT/second"
    expect_near "$(json '.["send-reada"].incremental_bytes')" "$incremental"
    expect_near "$(json '.["send-reada"].full_bytes')" "$full"
    expect_json '.["send-reada"] | .incremental_bytes == .estimated_bytes and .full_bytes == .full_estimated_bytes' true
    expect_json '.["send-reada"] | [.rate_bytes_per_second, .rate_source, .eta_ns, .full_eta_ns] | tojson' \
        '[null,null,null,null]'
    run -0 --separate-stderr send_reada --estimate --full -p "$MNT/first" "$MNT/second"
    [[ $output =~ ^"Incremental: "$SIZE$'\n'"Full: "$SIZE$ ]] || fail "$output"

    # a full stream takes another pass
    run -0 --separate-stderr send_reada_json --estimate --rate 1M -p "$MNT/first" "$MNT/second"
    expect_near "$(json '.["send-reada"].incremental_bytes')" "$incremental"
    expect_json '.["send-reada"] | [.full_bytes, .full_estimated_bytes, .full_eta_ns] | tojson' '[null,null,null]'
    run -0 --separate-stderr send_reada --estimate -p "$MNT/first" "$MNT/second"
    [[ $output =~ ^"Incremental: "$SIZE$ ]] || fail "$output"

    run -0 --separate-stderr send_reada_json --estimate "$MNT/second"
    expect_near "$(json '.["send-reada"].full_bytes')" "$full"
    expect_json '.["send-reada"] | .incremental_bytes == null and .full_bytes == .estimated_bytes' true
    run -0 send_reada_json "$MNT/second"
    expect_json '.["send-reada"] | [.incremental_bytes, .full_bytes, .eta_ns] | tojson' '[null,null,null]'
}

SIZE='[0-9.]+[KMGT]?i?B'

@test "--rate: how long the streams take" {
    local full incremental

    run -0 send_reada_json --estimate --full -p "$MNT/first" --rate 1000 "$MNT/second"
    expect_json '.["send-reada"] | [.rate_bytes_per_second, .rate_source] | tojson' '[1000,"given"]'
    expect_json '.["send-reada"] | .eta_ns == .incremental_bytes * 1000000 and .full_eta_ns == .full_bytes * 1000000' true
    run -0 send_reada_json --estimate --rate 4K "$MNT/second"
    expect_json '.["send-reada"] | .rate_bytes_per_second == 4096 and .eta_ns == .full_eta_ns
        and .eta_ns == (.full_bytes * 1000000000 / 4096 | floor)' true

    # 64 bits of nanoseconds, rounded to the unit that is shown
    full=$(send_reada --estimate --raw "$MNT/second")
    incremental=$(send_reada --estimate --raw -p "$MNT/first" "$MNT/second")
    run -0 --separate-stderr send_reada --estimate --rate $((full / 3723)) "$MNT/second"
    expect_line "Full: $SIZE, 1h 2min"
    expect_line "Rate: $SIZE/s, as given"
    run -0 send_reada --estimate --rate 20MB --si "$MNT/first"
    expect_line "Rate: 20.00MB/s, as given"
    run -0 send_reada --estimate --rate 20MiB "$MNT/first"
    expect_line "Rate: 20.00MiB/s, as given"
    [ "${#lines[@]}" = 2 ]
    run -0 --separate-stderr send_reada --estimate --full --raw --rate $((incremental / 90)) -p "$MNT/first" "$MNT/second"
    expect_line "Incremental: $incremental, 1min 30s"
    expect_line "Full: $full, [0-9a-z ]+"
    expect_line "Rate: $((incremental / 90))/s, as given"
    [ "${#lines[@]}" = 3 ]
}

@test "--rate=measure: the rate of a part of the real stream" {
    run -0 --separate-stderr send_reada_json --estimate --full -p "$MNT/first" --rate measure "$MNT/second"
    expect_json '.["send-reada"].rate_source' measured
    expect_json '.["send-reada"] | .rate_bytes_per_second > 0 and .eta_ns > 0 and .full_eta_ns > .eta_ns' true
    run -0 --separate-stderr send_reada --estimate --rate=measure "$MNT/first"
    expect_line "Rate: $SIZE/s, measured: $SIZE sent and discarded in [0-9.]+[num]?s"
    # a stream of some MiB
    [[ $stderr =~ ^"WARNING: the rate was measured for only "[0-9.]+[num]s", perhaps of data in memory; reading from the devices can take longer"$ ]] ||
        fail "$stderr"
    run -0 --separate-stderr send_reada -q --estimate --rate=measure "$MNT/first"
    [ -z "$stderr" ] || fail "$stderr"
    # this stream is short, so all of it is measured
    run -0 --separate-stderr send_reada --estimate --raw --rate=measure "$MNT/first"
    [[ $output == *"measured: $(bytes_of "$MNT/first") sent and discarded in "* ]] || fail "$output"
}

# bats test_tags=slow
@test "--rate=measure ends before a long stream does" {
    local measured real

    # on disk it is next to nothing
    "$BTRFS" subvolume create "$MNT/long" >/dev/null
    truncate -s 1000G "$MNT/long/file"
    printf x | dd of="$MNT/long/file" bs=1 seek=$((1000 * 1024 * 1048576 - 1)) conv=notrunc status=none
    snapshot long long-1
    fallocate -p -o $((1000 * 1024 * 1048576 - 4096)) -l 4096 "$MNT/long/file"
    snapshot long long-2
    # zeros in a hole's place, in protocol 1
    run -0 --separate-stderr send_reada --raw --estimate --rate=measure -p "$MNT/long-1" "$MNT/long-2"
    [[ $stderr != *"was measured"* ]] || fail "$stderr"
    real=$(sed -nE 's/^Incremental: ([0-9]+),.*/\1/p' <<<"$output")
    measured=$(sed -nE 's/^Rate: .* measured: ([0-9]+) sent.*/\1/p' <<<"$output")
    ((measured > 1048576 && measured < 1000 * 1024 * 1048576)) || fail "$real: $output"
    "$BTRFS" subvolume delete "$MNT/long" "$MNT/long-1" "$MNT/long-2" >/dev/null
}

@test "--estimate --raw prints one number, for pv, and warns of an incremental stream that is larger than a full one" {
    run -0 --separate-stderr send_reada --estimate "$MNT/stranger-1"
    [[ $output =~ ^"Full: "$SIZE$ ]] || fail "$output"
    [ -z "$stderr" ]
    run -0 --separate-stderr send_reada --estimate --raw "$MNT/second"
    [ "$output" = "$(bytes_of "$MNT/second")" ] || fail "$output"
    run -0 --separate-stderr send_reada --estimate --raw -p "$MNT/first" "$MNT/second"
    [[ $output =~ ^[0-9]+$ ]] || fail "$output"
    [ -z "$stderr" ]

    # zeros in a hole's place, in protocol 1
    "$BTRFS" subvolume create "$MNT/hole" >/dev/null
    truncate -s 100M "$MNT/hole/file"
    printf x | dd of="$MNT/hole/file" bs=1 seek=$((100 * 1048576 - 1)) conv=notrunc status=none
    snapshot hole hole-1
    fallocate -p -o $((100 * 1048576 - 4096)) -l 4096 "$MNT/hole/file"
    snapshot hole hole-2
    run -0 --separate-stderr send_reada --estimate --full --raw -p "$MNT/hole-1" "$MNT/hole-2"
    [[ $stderr =~ ^"WARNING: the incremental stream is larger than a full one: " ]] || fail "$stderr"
    if [ "$(cat /sys/fs/btrfs/features/send_stream_version)" -gt 1 ]; then
        [[ $stderr = *"; with --proto 2 it is "$("$BTRFS" send -q --proto 2 -p "$MNT/hole-1" "$MNT/hole-2" | wc -c) ]] ||
            fail "$stderr"
    fi
    expect_estimate -p "$MNT/hole-1" "$MNT/hole-2"
    run -0 --separate-stderr send_reada -q --estimate --full --raw -p "$MNT/hole-1" "$MNT/hole-2"
    [ -z "$stderr" ]
    run -0 --separate-stderr send_reada_json --estimate --full -p "$MNT/hole-1" "$MNT/hole-2"
    expect_json '.["send-reada"] | .estimated_bytes > .full_estimated_bytes' true
}

# Of such lengths a stream without data has 32 bits.
# bats test_tags=slow
@test "--estimate: holes of 4 GiB and more that an incremental stream fills with zeros" {
    local kind

    mkdir "$BATS_TEST_TMPDIR/other"
    for kind in no-holes ^no-holes; do
        truncate -s 20G "$BATS_TEST_TMPDIR/image"
        mkfs.btrfs -q -f -O "$kind" "$BATS_TEST_TMPDIR/image" >/dev/null
        mount -o loop "$BATS_TEST_TMPDIR/image" "$BATS_TEST_TMPDIR/other"
        "$BTRFS" subvolume create "$BATS_TEST_TMPDIR/other/vm" >/dev/null
        fallocate -l 10G "$BATS_TEST_TMPDIR/other/vm/image"
        head -c 1M /dev/urandom | dd of="$BATS_TEST_TMPDIR/other/vm/image" conv=notrunc status=none
        "$BTRFS" subvolume snapshot -r "$BATS_TEST_TMPDIR/other/vm" "$BATS_TEST_TMPDIR/other/1" >/dev/null
        fallocate -p -o 1G -l 4100M "$BATS_TEST_TMPDIR/other/vm/image"
        "$BTRFS" subvolume snapshot -r "$BATS_TEST_TMPDIR/other/vm" "$BATS_TEST_TMPDIR/other/2" >/dev/null
        expect_estimate -p "$BATS_TEST_TMPDIR/other/1" "$BATS_TEST_TMPDIR/other/2"
        umount "$BATS_TEST_TMPDIR/other"
    done
}

@test "--estimate compares with a stream that has neither parent nor clone sources" {
    run -0 send_reada_json --estimate "$MNT/second"
    full=$(json '.["send-reada"].estimated_bytes')
    expect_json '.["send-reada"].full_estimated_bytes' null
    run -0 send_reada_json --estimate --full -p "$MNT/first" "$MNT/second"
    expect_json '.["send-reada"].full_estimated_bytes' "$full"
    run -0 send_reada_json --estimate --full -p "$MNT/first" -c "$MNT/stranger-1" "$MNT/second"
    expect_json '.["send-reada"].full_estimated_bytes' "$full"
}

@test "--decode: the UUIDs of a stream, and whether a target can receive it" {
    local stream=$BATS_TEST_TMPDIR/stream target=$BATS_TEST_TMPDIR/target uuid parent

    uuid=$("$BTRFS" subvolume show "$MNT/second" | awk '$1 == "UUID:" { print $2 }')
    parent=$("$BTRFS" subvolume show "$MNT/first" | awk '$1 == "UUID:" { print $2 }')
    truncate -s 300M "$target.image"
    mkfs.btrfs -q "$target.image" >/dev/null
    mkdir "$target"
    mount -o loop "$target.image" "$target"

    "$BTRFS" -q send -f "$stream.full" "$MNT/first"
    run -0 send_reada --decode "$stream.full" --target "$target"
    expect_line "UUID: $parent, transaction [0-9]+"
    expect_line "Parent: none, a full stream"
    [[ $output != *Target:* ]]

    "$BTRFS" -q send -p "$MNT/first" -f "$stream" "$MNT/second"
    run -64 send_reada --decode "$stream" --target "$target"
    expect_line "UUID: $uuid, transaction [0-9]+"
    expect_line "Parent: $parent, transaction [0-9]+"
    expect_line "Target: '$target' does not have the parent: btrfs receive would fail"
    run ! "$BTRFS" -q receive -f "$stream" "$target"
    run -64 send_reada_json --decode "$stream" --target "$target"
    expect_json '.["send-reada"] | [.uuid, .parent_uuid, .target.has_parent, .target.parent_path] | tojson' \
        "[\"$uuid\",\"$parent\",false,null]"
    run -2 send_reada --format nagios --decode "$stream" --target "$target"
    [[ $output == "SEND-READA CRITICAL - btrfs receive would not find the parent |"* ]] || fail "$output"

    # received, with another UUID of its own
    "$BTRFS" -q receive -f "$stream.full" "$target"
    run -0 send_reada --decode "$stream" --target "$target"
    expect_line "Target: '$target' has the parent: 'first'"
    "$BTRFS" -q receive -f "$stream" "$target"
    # mounted from another subvolume than the parent's
    mkdir "$target.other"
    "$BTRFS" -q subvolume create "$target/elsewhere"
    mount -o subvol=elsewhere "$(findmnt -no SOURCE "$target")" "$target.other"
    run -64 send_reada --decode "$stream" --target "$target.other"
    expect_line "Target: '$target.other' has the parent: 'first', but is mounted without it: btrfs receive would fail"
    run -64 send_reada_json --decode "$stream" --target "$target.other"
    expect_json '.["send-reada"].target | [.has_parent, .parent_reachable] | tojson' "[true,false]"
    run ! "$BTRFS" -q receive -f "$stream" "$target.other"
    umount "$target.other"
    # on the file system that sent it
    run -0 send_reada_json --decode "$stream" --target "$MNT"
    expect_json '.["send-reada"].target.parent_path' first
    run -0 send_reada_json --decode "$stream"
    expect_json '.["send-reada"].target' null
    umount "$target"

    run -1 --separate-stderr send_reada --decode "$stream" --target /proc
    [[ $stderr == *"not a btrfs filesystem: '/proc'" ]] || fail "$stderr"
    run -1 --separate-stderr send_reada --target "$MNT" "$MNT/second"
    [ "$stderr" = "ERROR: --target requires --decode" ]
}

@test "--top has the files with most bytes, by their last names" {
    "$BTRFS" subvolume create "$MNT/sizes" >/dev/null
    mkdir "$MNT/sizes/d"
    head -c 500000 /dev/urandom >"$MNT/sizes/d/half"
    head -c 1000000 /dev/urandom >"$MNT/sizes/$(printf 'one\033')"
    head -c 400000 /dev/urandom >"$MNT/sizes/less"
    snapshot sizes sizes-1
    run -0 send_reada --raw --top 2 "$MNT/sizes-1"
    expect_line ' *10[0-9]+ one\\x1b'
    expect_line ' *50[0-9]+ d/half'
    refuse_line '.* less'
    run -0 send_reada_json --data --top 2 "$MNT/sizes-1"
    expect_json '.["send-reada"].top | map(.path) | tojson' '["one\u001b","d/half"]'
    bytes=$(json '.["send-reada"].top | tojson')
    run -0 send_reada_json --top 2 "$MNT/sizes-1"
    expect_json '.["send-reada"].top | tojson' "$bytes"
}

@test "a stream without data has no rate in bytes" {
    run -0 send_reada "$MNT/first"
    expect_line 'Pass +Elapsed +Commands/s +Reads +Read +Mean read +In flight +Busy'
    run -0 send_reada --data "$MNT/first"
    expect_line 'Pass +Elapsed +Commands/s +Reads +Read +Mean read +In flight +Busy +Stream/s'
    expect_line "1( +[^ ]+){7} +$SIZE"
    run -0 send_reada_json "$MNT/first"
    expect_json '.["send-reada"].passes[0] | .commands_per_second > 0 and .stream_bytes_per_second == null' true
    run -0 send_reada_json --data "$MNT/first"
    expect_json '.["send-reada"].passes[0].stream_bytes_per_second > 0' true
}

# -- the devices --

# The blocks of a subvolume's tree, by another tool.
tree_bytes() {
    local loop

    loop=$(findmnt -n -o SOURCE "$MNT")
    sync -f "$MNT"
    "$BTRFS" inspect-internal dump-tree -t "$("$BTRFS" inspect-internal rootid "$1")" "$loop" |
        grep -cE '^(node|leaf) [0-9]+ (level|items)' | awk '{ print 16384 * $1 }'
}

@test "--cold reads the metadata from the device, and warm passes do not" {
    run -0 send_reada_json --cold --passes 3 "$MNT/first"
    expect_json '.["send-reada"].passes | map(.cold) | tojson' '[true,false,false]'
    expect_json '.["send-reada"].metadata_bytes' "$(tree_bytes "$MNT/first")"
    expect_json '.["send-reada"].device.device_count' 1
    expect_json '.["send-reada"] | .device.read_bytes >= .metadata_bytes / 2' true
    expect_json '.["send-reada"].device | .mean_read_bytes == (.read_bytes / .reads | floor)' true
    expect_json '.["send-reada"] | .device.read_bytes > .passes[2].device.read_bytes' true
    expect_json '.["send-reada"].passes[0].device == .["send-reada"].device' true
    expect_json '.["send-reada"] | .cold and .elapsed_ns == .passes[0].elapsed_ns' true
    run -0 send_reada --cold --passes 2 "$MNT/first"
    expect_line 'cold +.*'
    expect_line 'warm +.*'
    expect_line 'Metadata: .* in the subvolume.s tree, .* read'
}

@test "all devices of a file system count" {
    local first second

    mkdir "$BATS_TEST_TMPDIR/other"
    truncate -s 300M "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
    first=$(losetup --find --show "$BATS_TEST_TMPDIR/a")
    second=$(losetup --find --show "$BATS_TEST_TMPDIR/b")
    mkfs.btrfs -q -m raid1 -d raid0 "$first" "$second" >/dev/null
    mount "$first" "$BATS_TEST_TMPDIR/other"
    "$BTRFS" subvolume create "$BATS_TEST_TMPDIR/other/s" >/dev/null
    head -c 50M /dev/urandom >"$BATS_TEST_TMPDIR/other/s/file"
    sync -f "$BATS_TEST_TMPDIR/other"
    "$BTRFS" property set "$BATS_TEST_TMPDIR/other/s" ro true
    run -0 send_reada_json --data --cold "$BATS_TEST_TMPDIR/other/s"
    umount "$BATS_TEST_TMPDIR/other"
    losetup -d "$first" "$second"
    expect_json '.["send-reada"].device.device_count' 2
    expect_json '.["send-reada"].device.read_bytes >= 50 * 1048576' true
}

# -- streams --

@test "--decode prints the commands of the kernel's stream, from a file and from a pipe" {
    "$BTRFS" send -q "$MNT/first" >"$BATS_TEST_TMPDIR/stream"
    run -0 send_reada_json --decode "$BATS_TEST_TMPDIR/stream"
    expect_json '.["send-reada"].subvolume' first
    expect_json '.["send-reada"] | [.parent, .device, .metadata_bytes] | tojson' '[null,null,null]'
    expect_json '.["send-reada"].stream_bytes' "$(stat -c %s "$BATS_TEST_TMPDIR/stream")"
    commands=$(json '.["send-reada"].commands | tojson')
    run -0 send_reada_json --data "$MNT/first"
    expect_json '.["send-reada"].commands | tojson' "$commands"
    run -0 as_nobody "$MNT/program" send-reada --decode - <"$BATS_TEST_TMPDIR/stream"
    expect_line "Subvolume: 'first'"
    # several one after the other, as btrfs send writes them
    "$BTRFS" send -q "$MNT/first" "$MNT/stranger-1" >"$BATS_TEST_TMPDIR/two"
    run -0 send_reada_json --decode "$BATS_TEST_TMPDIR/two"
    expect_json '.["send-reada"].commands.subvol' 2
    "$BTRFS" send -q -e "$MNT/first" "$MNT/stranger-1" >"$BATS_TEST_TMPDIR/two"
    run -0 send_reada_json --decode "$BATS_TEST_TMPDIR/two"
    expect_json '.["send-reada"].commands.subvol' 2
}

@test "a damaged, truncated or empty stream: the place of the damage, and the part before it" {
    local stream=$BATS_TEST_TMPDIR/stream damaged=$BATS_TEST_TMPDIR/damaged size

    "$BTRFS" send -q "$MNT/stranger-1" >"$stream"
    size=$(stat -c %s "$stream")

    head -c $((size - 3)) "$stream" >"$damaged"
    run -1 --separate-stderr send_reada --decode "$damaged"
    [ "$stderr" = "ERROR: damaged stream '$damaged' at byte $((size - 3)): it is cut off" ] || fail "$stderr"
    expect_line 'subvol +1 .*'
    head -c $((size - 10)) "$stream" >"$damaged"
    run -1 --separate-stderr send_reada --decode "$damaged"
    [ "$stderr" = "ERROR: damaged stream '$damaged' at byte $((size - 10)): it is cut off before the end command" ] ||
        fail "$stderr"

    # a letter of the first command's path, behind both headers and the attribute's
    cp "$stream" "$damaged"
    printf X | dd of="$damaged" bs=1 seek=33 conv=notrunc status=none
    run -1 --separate-stderr send_reada --decode - <"$damaged"
    [ "$stderr" = "ERROR: damaged stream '-' at byte 17: wrong checksum of a command" ] || fail "$stderr"
    run -1 --separate-stderr send_reada_json --decode "$damaged"
    expect_json '.["send-reada"].error' "wrong checksum of a command"
    expect_json '.["send-reada"].command_count' 0

    : >"$damaged"
    run -1 --separate-stderr send_reada --decode "$damaged"
    [ "$stderr" = "ERROR: damaged stream '$damaged' at byte 0: it is empty" ] || fail "$stderr"
    run -1 --separate-stderr send_reada --decode "$FASTPATH"
    [ "$stderr" = "ERROR: damaged stream '$FASTPATH' at byte 0: this is not the beginning of a send stream" ] || fail "$stderr"
    cat "$stream" "$FASTPATH" >"$damaged"
    run -1 --separate-stderr send_reada --decode "$damaged"
    [ "$stderr" = "ERROR: damaged stream '$damaged' at byte $size: this is not the beginning of a send stream" ] || fail "$stderr"
}

@test "a stream whose sender was stopped and continued: the place where it restarts" {
    local stream=$BATS_TEST_TMPDIR/stream damaged=$BATS_TEST_TMPDIR/damaged

    "$BTRFS" send -q "$MNT/stranger-1" >"$stream"
    { head -c 100 "$stream" && cat "$stream"; } >"$damaged"
    run -1 --separate-stderr send_reada_json --decode "$damaged"
    [ "$stderr" = "ERROR: damaged stream '$damaged' at byte 100: the stream restarts: its sender was stopped and continued" ] ||
        fail "$stderr"
    expect_json '.["send-reada"].error' "the stream restarts: its sender was stopped and continued"
}

# is_stopped: all threads of $pid, or it has ended
is_stopped() {
    ! grep -qs '^State:[[:space:]]*[^TZX[:space:]]' /proc/"$pid"/task/*/status
}

# wait_for_reading: until $pid has read one megabyte, or has ended; without a pause, because a send is short
wait_for_reading() {
    local end=$((SECONDS + 60)) size=0

    while ((size < 1000000)); do
        { read -r _ size <"/proc/$pid/io"; } 2>/dev/null || return 0
        ((SECONDS < end)) || fail "it reads nothing"
    done
}

# stop_and_continue ARGUMENT...: send-reada -v, in the midst of a stream
stop_and_continue() {
    for _ in {1..20}; do
        "$FASTPATH" --format json send-reada -v "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
        pid=$!
        wait_for_reading
        # It may have ended meanwhile.
        kill -STOP "$pid" 2>/dev/null || true
        within 60 is_stopped
        kill -CONT "$pid" 2>/dev/null || true
        finish
        [ ! -s "$BATS_TEST_TMPDIR/stderr" ] || return 0
    done
    fail "it cannot be stopped in time"
}

@test "a send that is stopped and continued has the figures of one that is not" {
    "$BTRFS" subvolume create "$MNT/long" >/dev/null
    head -c 64M /dev/urandom >"$MNT/long/file"
    snapshot long long-1
    run -0 send_reada_json --data "$MNT/long-1"
    json '.["send-reada"] | .stream_bytes, .commands' >"$BATS_TEST_TMPDIR/undisturbed"

    stop_and_continue --data "$MNT/long-1"
    [ "$(<"$BATS_TEST_TMPDIR/stderr")" = "WARNING: the send was stopped and continued, and is done once more" ] ||
        fail "$(<"$BATS_TEST_TMPDIR/stderr")"
    output=$(<"$BATS_TEST_TMPDIR/stdout")
    json '.["send-reada"] | .stream_bytes, .commands' | diff - "$BATS_TEST_TMPDIR/undisturbed"
}

# -- what goes wrong --

# expect_error MESSAGE ARGUMENT...: before anything was printed
expect_error() {
    run -1 --separate-stderr send_reada "${@:2}"
    # shellcheck disable=SC2154 # bats' run sets it
    [ "$stderr" = "ERROR: $1" ] || fail "${*:2}: $stderr"
    [ -z "$output" ] || fail "$output"
}

@test "what cannot be sent" {
    expect_error "subvolume is not read-only: '$MNT/source'; send a snapshot instead: \
btrfs subvolume snapshot -r '$MNT/source' '$MNT/source/snapshot'" "$MNT/source"
    expect_error "not a subvolume: '$MNT/directory'" "$MNT/directory"
    expect_error "not a subvolume: '$MNT/first/deep'" "$MNT/first/deep"
    expect_error "cannot open '$MNT/missing': No such file or directory" "$MNT/missing"
    expect_error "cannot open '$MNT/fifo': Not a directory" "$MNT/fifo"
    expect_error "cannot open '$MNT/first/inline': Not a directory" "$MNT/first/inline"
    expect_error "not a btrfs filesystem: '/proc'" /proc
    "$BTRFS" property set "$MNT" ro true
    run -1 --separate-stderr send_reada "$MNT"
    "$BTRFS" property set "$MNT" ro false
    [ "$stderr" = "ERROR: the top level of a filesystem cannot be sent: '$MNT'" ] || fail "$stderr"
    run -1 --separate-stderr send_reada_json "$MNT/missing"
    expect_json '.["send-reada"]' null
}

@test "the command that a writable subvolume asks for makes what can be sent" {
    local name command

    for name in plain $'it\'s $(false) "x"' $'new\nline \377'; do
        "$BTRFS" subvolume create "$MNT/$name" >/dev/null
        run -1 --separate-stderr send_reada "$MNT/$name/"
        command=${stderr#*; send a snapshot instead: }
        [[ $command == "btrfs subvolume snapshot -r "* ]] || fail "$stderr"
        bash -c "$command" >/dev/null
        run -0 send_reada "$MNT/$name/snapshot"
        "$BTRFS" subvolume delete "$MNT/$name/snapshot" "$MNT/$name" >/dev/null
    done
}

@test "the command for a writable subvolume works on a read-only mount" {
    local own="$BATS_TEST_TMPDIR/other" command options

    mkdir "$own"
    # the file system, and the mount alone
    for options in remount,ro remount,bind,ro; do
        truncate -s 200M "$BATS_TEST_TMPDIR/image"
        mkfs.btrfs -q -f "$BATS_TEST_TMPDIR/image" >/dev/null
        mount -o loop "$BATS_TEST_TMPDIR/image" "$own"
        "$BTRFS" subvolume create "$own/sub" >/dev/null
        mount -o "$options" "$own"
        run -1 --separate-stderr send_reada "$own/sub"
        command=${stderr##*mounted read-only: }
        [ "$command" = "mount -o remount,rw '$own' && btrfs subvolume snapshot -r '$own/sub' '$own/sub/snapshot'" ] || fail "$stderr"
        bash -c "$command" >/dev/null
        run -0 send_reada "$own/sub/snapshot"
        umount "$own"
    done
}

@test "the command for a writable subvolume works for a name that looks like an option" {
    local command

    cd "$MNT"
    "$BTRFS" subvolume create ./-r >/dev/null
    run -1 --separate-stderr send_reada -- -r
    command=${stderr#*; send a snapshot instead: }
    [ "$command" = "btrfs subvolume snapshot -r './-r' './-r/snapshot'" ] || fail "$stderr"
    bash -c "$command" >/dev/null
    run -0 send_reada -- -r/snapshot
    "$BTRFS" subvolume delete ./-r/snapshot ./-r >/dev/null
}

@test "the command for a writable subvolume names no place where another user can plant a link" {
    local owner

    "$BTRFS" subvolume create "$MNT/theirs" >/dev/null
    for owner in 65534:65534 0:65534; do
        chown "$owner" "$MNT/theirs"
        [ "$owner" = 65534:65534 ] || chmod g+w "$MNT/theirs"
        expect_error "subvolume is not read-only: '$MNT/theirs'; send a snapshot instead: \
btrfs subvolume snapshot -r '$MNT/theirs' SNAPSHOT" "$MNT/theirs"
    done
    "$BTRFS" subvolume delete "$MNT/theirs" >/dev/null
}

@test "ext4" {
    mkdir "$BATS_TEST_TMPDIR/other"
    truncate -s 10M "$BATS_TEST_TMPDIR/ext4"
    mkfs.ext4 -q "$BATS_TEST_TMPDIR/ext4"
    mount -o loop "$BATS_TEST_TMPDIR/ext4" "$BATS_TEST_TMPDIR/other"
    expect_error "not a btrfs filesystem: '$BATS_TEST_TMPDIR/other'" "$BATS_TEST_TMPDIR/other"
}

@test "a parent whose lineage is unknown: the size of the stream, and a warning" {
    run -0 --separate-stderr send_reada_json --data -p "$MNT/stranger-1" "$MNT/first"
    expect_json '.["send-reada"].stream_bytes' "$("$BTRFS" send -q -p "$MNT/stranger-1" "$MNT/first" | wc -c)"
    [ "$stderr" = "WARNING: by what is still there, '$MNT/first' and '$MNT/stranger-1' are not snapshots of one another or of one\
 origin; the stream can only be received where this parent was received" ] || fail "$stderr"
}

@test "parents and clone sources that cannot be ones" {
    mkdir "$BATS_TEST_TMPDIR/other"
    truncate -s 200M "$BATS_TEST_TMPDIR/image"
    mkfs.btrfs -q "$BATS_TEST_TMPDIR/image" >/dev/null
    mount -o loop "$BATS_TEST_TMPDIR/image" "$BATS_TEST_TMPDIR/other"
    "$BTRFS" subvolume create "$BATS_TEST_TMPDIR/other/s" >/dev/null
    "$BTRFS" property set "$BATS_TEST_TMPDIR/other/s" ro true
    expect_error "not on the filesystem of the subvolume to be sent: '$BATS_TEST_TMPDIR/other/s'" \
        -p "$BATS_TEST_TMPDIR/other/s" "$MNT/first"
    expect_error "not on the filesystem of the subvolume to be sent: '$BATS_TEST_TMPDIR/other/s'" \
        -p "$MNT/first" -c "$BATS_TEST_TMPDIR/other/s" "$MNT/second"
    expect_error "subvolume is not read-only: '$MNT/source'" -p "$MNT/source" "$MNT/first"
    expect_error "not a subvolume: '$MNT/directory'" -p "$MNT/directory" "$MNT/first"
    expect_error "cannot open '$MNT/missing': No such file or directory" -c "$MNT/missing" "$MNT/first"
    expect_error "no clone source can be the parent, name one with -p: '$MNT/first'" \
        -c "$MNT/stranger-1" "$MNT/first"
}

@test "without root" {
    run -1 --separate-stderr as_nobody "$MNT/program" send-reada "$MNT/first"
    [ "$stderr" = "ERROR: sending requires CAP_SYS_ADMIN (root); without it only --decode works" ] || fail "$stderr"
    [ -z "$output" ]
}

@test "arguments that do not fit" {
    run -1 --separate-stderr send_reada
    [[ $stderr == *" send-reada: exactly 1 argument expected, 0 given" ]] || fail "$stderr"
    run -1 --separate-stderr send_reada "$MNT/first" "$MNT/second"
    [[ $stderr == *" send-reada: exactly 1 argument expected, 2 given" ]] || fail "$stderr"
    expect_error "unknown protocol '4' (expected 0 to 3)" --proto 4 "$MNT/first"
    expect_error "unknown protocol '1x' (expected 0 to 3)" --proto 1x "$MNT/first"
    expect_error "--compressed-data requires protocol 2 or later" --proto 1 --compressed-data "$MNT/first"
    expect_error "invalid value for --passes: '0' (expected 1 to 1000)" --passes 0 "$MNT/first"
    expect_error "invalid value for --top: '1001' (expected 1 to 1000)" --top 1001 "$MNT/first"
    expect_error "--estimate cannot be combined with --data, --cold, --passes, --top, --decode or --plot" --estimate --data "$MNT/first"
    expect_error "--rate requires --estimate" --rate 1M "$MNT/first"
    expect_error "--rate requires --estimate" --rate measure --decode x
    for rate in 0 0K x 1X -1 '' 99999999999999999999 measures; do
        expect_error "invalid value for --rate: '$rate' (expected bytes per second, such as 100M, or measure)" \
            --estimate --rate "$rate" "$MNT/first"
    done
    expect_error "--decode cannot be combined with a subvolume" --decode x "$MNT/first"
    expect_error "--decode cannot be combined with -p, -c, --proto, --compressed-data, --data, --cold, --passes or --plot" \
        --decode x --cold
    expect_error "cannot open 'missing': No such file or directory" --decode missing
    expect_error "cannot read '$MNT/directory': Is a directory" --decode "$MNT/directory"
}

@test "--proto 0 is the newest protocol of the kernel, and newer ones are refused" {
    local newest

    newest=$(cat /sys/fs/btrfs/features/send_stream_version 2>/dev/null || echo 1)
    run -0 send_reada_json --proto 0 "$MNT/stranger-1"
    expect_json '.["send-reada"].protocol' $((newest < 3 ? newest : 3))
    ((newest < 3)) || skip "this kernel knows them all"
    expect_error "this kernel does not support protocol 3, only up to $newest" --proto 3 "$MNT/first"
}

@test "Ctrl-C ends it and leaves nothing" {
    local status=0

    snapshot source short-lived
    # not in the background of a shell, where SIGINT is ignored
    python3 - "$FASTPATH" "$MNT/short-lived" <<'PYTHON' || status=$?
import signal, subprocess, sys, time
process = subprocess.Popen([sys.argv[1], "send-reada", "--data", "--passes", "1000", sys.argv[2]],
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(1)
process.send_signal(signal.SIGINT)
sys.exit(process.wait(60) != -signal.SIGINT)
PYTHON
    [ "$status" -eq 0 ] || fail "did not end by SIGINT: $status"
    # the kernel does not let go of what is being sent
    "$BTRFS" property set "$MNT/short-lived" ro false
    "$BTRFS" subvolume delete "$MNT/short-lived" >/dev/null
}

# bats test_tags=slow
@test "progress fits the terminal, with the time left if known" {
    local columns

    for columns in 80 40; do
        script -qec "stty cols $columns; exec '$FASTPATH' send-reada --data --progress --passes 200 '$MNT/first'" \
            /dev/null </dev/null >"$BATS_TEST_TMPDIR/typescript"
        tr '\r' '\n' <"$BATS_TEST_TMPDIR/typescript" | sed 's/\x1b\[K//' | grep '%.* of .*/s' >"$BATS_TEST_TMPDIR/lines"
        [ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' "$BATS_TEST_TMPDIR/lines")" -lt $columns ] ||
            fail "$columns columns: $(<"$BATS_TEST_TMPDIR/lines")"
        [ $columns = 40 ] || grep -q '^\[#.*\] .* left$' "$BATS_TEST_TMPDIR/lines"
    done
}

# bats test_tags=slow
@test "progress with a bar and the time left, if requested" {
    run -0 --separate-stderr send_reada --data --no-progress --passes 2 "$MNT/first"
    [ -z "$stderr" ] || fail "$stderr"
    # a stream that takes its time
    "$BTRFS" send -q "$MNT/first" >"$BATS_TEST_TMPDIR/stream"
    run -0 --separate-stderr send_reada --progress --decode - \
        < <(head -c 100000 "$BATS_TEST_TMPDIR/stream"; sleep 2.5; tail -c +100001 "$BATS_TEST_TMPDIR/stream")
    [[ $stderr == *" commands, "* ]] || fail "$stderr"
    run -0 --separate-stderr send_reada --data --progress --passes 200 "$MNT/first"
    [[ $stderr == *'['*'#'*'] '*'% '*' left'* ]] || fail "$stderr"
}
