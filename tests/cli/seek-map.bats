#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# seek-map: its map compared with a scan of the bytes and with other tools, what it times, and how it fails.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0
load environment.bash

MIB=1048576
HERE=$BATS_TEST_DIRNAME
: "${top_builddir:=$PWD}"
LYING=$top_builddir/tests/cli/lying-seek-map

setup_file() {
    mount_btrfs 1G noatime
    put_program_for_nobody

    # a MiB each: data, hole, preallocated, data
    fill "$MNT/quarters" 0 $MIB
    xfs_io -c "falloc 2m 1m" "$MNT/quarters"
    fill "$MNT/quarters" $((3 * MIB)) $MIB
    printf 'tiny' >"$MNT/tiny"
    : >"$MNT/empty"
    truncate -s 3M "$MNT/holes"
    chmod -R a+r "$MNT"
    sync -f "$MNT"
}

teardown() {
    rm -rf "$MNT/within"
}

# fill FILE OFFSET LENGTH: with bytes that are not zero
fill() {
    xfs_io -f -c "pwrite -q -S 0x61 $2 $3" "$1"
}

seek_map() {
    "$FASTPATH" seek-map "$@"
}

seek_map_json() {
    "$FASTPATH" --format json seek-map "$@"
}

# lying HOW:FIRST:LAST ARGUMENT...: seek-map on a kernel that lies
lying() {
    SEEK_LIE=$1 "$LYING" "${@:2}"
}

# -- the map --

# our_map FILE [OPTION...]: "data OFFSET LENGTH" and "hole OFFSET LENGTH"
our_map() {
    seek_map_json "${@:2}" "$1" | jq -r '.["seek-map"][0].segments[] | "\(.type) \(.offset) \(.length)"'
}

# Where data and holes begin, as xfs_io prints it.
our_starts() {
    our_map "$1" | awk '{ print toupper($1) "\t" $2; end = $2 + $3; last = $1 }
        END { if (last == "data") print "HOLE\t" end }'
}

expect_true_map() {
    diff <(our_map "$1") <("$HERE/write-sparse" scan "$1") >&2 || fail "$1: not what its bytes say ($2)"
    diff <(our_starts "$1") <(xfs_io -r -c "seek -a -r 0" "$1" | grep '[0-9]') >&2 ||
        fail "$1: not what xfs_io says ($2)"
    seek_map -s --check=data "$1" >&2 || fail "$1: --check finds something ($2)"
}

# expect_true_maps FILE...: when written, when synced, when nothing is in memory any more
expect_true_maps() {
    local file

    for file; do expect_true_map "$file" "just written"; done
    sync -f "$MNT"
    for file; do expect_true_map "$file" synced; done
    echo 3 >/proc/sys/vm/drop_caches
    for file; do expect_true_map "$file" cold; done
    for file; do expect_true_map "$file" "warm again"; done
}

make_kinds_of_files() {
    local dir=$1

    mkdir "$dir"
    : >"$dir/empty"
    printf x >"$dir/one-byte"
    head -c 1500 "$FASTPATH" | tr '\0' x >"$dir/inline"
    truncate -s 100000 "$dir/all-holes"
    fill "$dir/to-the-end" 0 5000
    fill "$dir/ends-in-a-hole" 8192 4096
    truncate -s 1000001 "$dir/ends-in-a-hole"
    fill "$dir/starts-in-a-hole" 65536 10
    xfs_io -f -c "falloc 0 1m" "$dir/prealloc"
    xfs_io -f -c "falloc 0 1m" "$dir/prealloc-in-part"
    fill "$dir/prealloc-in-part" 65536 8192
    xfs_io -f -c "falloc -k 0 1m" "$dir/prealloc-behind-the-end"
    fill "$dir/prealloc-behind-the-end" 0 6000
    fill "$dir/punched" 0 $MIB
    sync "$dir/punched"
    xfs_io -c "fpunch 64k 128k" -c "fpunch 512k 4k" "$dir/punched"
    touch "$dir/compressed" "$dir/compressed-inline"
    btrfs property set "$dir/compressed" compression zstd
    btrfs property set "$dir/compressed-inline" compression zstd
    fill "$dir/compressed" 0 $MIB
    fill "$dir/compressed" $((2 * MIB)) 300000
    fill "$dir/compressed-inline" 0 2000
    touch "$dir/nocow"
    chattr +C "$dir/nocow"
    fill "$dir/nocow" 4096 4096
    fill "$dir/nocow" 1000000 100
    cp --reflink=always "$dir/punched" "$dir/clone"
    fill "$dir/clone" 65536 4096
}

@test "a sum that is too large is an error" {
    local name

    mkdir "$MNT/huge"
    for name in a b c; do
        truncate -s 9223372036854775807 "$MNT/huge/$name"
    done
    "$FASTPATH" --format json seek-map -rs "$MNT/huge" >"$BATS_TEST_TMPDIR/json"
    run -0 "$FASTPATH" seek-map -rs "$MNT/huge"
    # Other tests read all files.
    rm -r "$MNT/huge"
    expect_line '>=16.00EiB +0.00B >=16.00EiB +3 total'
    # jq has no integers of 64 bits
    grep -q '"size": 18446744073709551615,' "$BATS_TEST_TMPDIR/json"
}

@test "the map equals the bytes and xfs_io, for each kind of file" {
    make_kinds_of_files "$MNT/within"
    expect_true_maps "$MNT"/within/*
}

# bats test_tags=slow
@test "the map equals the bytes and xfs_io, for files written at random" {
    local seed

    mkdir "$MNT/within"
    for ((seed = 1; seed <= 20; seed++)); do
        "$HERE/write-sparse" write $seed "$MNT/within/$seed"
    done
    expect_true_maps "$MNT"/within/*
}

@test "a row per segment and the sums" {
    run -0 seek_map "$MNT/quarters"
    expect_line "File: '$MNT/quarters'"
    expect_line " *Offset +Length Type *"
    expect_line " *0 +1.00MiB data *"
    expect_line " *1048576 +2.00MiB hole *"
    expect_line " *3145728 +1.00MiB data *"
    expect_line " *Size +Data +Hole +Segments Path"
    expect_line " *4.00MiB +2.00MiB +2.00MiB +3 $MNT/quarters"
    refuse_line ".* total"
    refuse_line "lseek calls.*"
    run -0 seek_map -v --raw "$MNT/quarters"
    expect_line "lseek calls: 4"
    expect_line " *4194304 +2097152 +2097152 +3 .*"
}

@test "--fiemap splits segments where the extents' kind changes" {
    run -0 seek_map --raw --fiemap "$MNT/quarters"
    expect_line " *Offset +Length Type +Extent *"
    expect_line " *0 +1048576 data +regular *"
    expect_line " *1048576 +1048576 hole +hole *"
    expect_line " *2097152 +1048576 hole +prealloc *"
    expect_line " *3145728 +1048576 data +regular *"
    # lseek has three, whatever is printed
    expect_line " *4194304 +2097152 +2097152 +3 .*"
    run -0 seek_map --raw --fiemap "$MNT/tiny"
    expect_line " *0 +4 data +inline *"
}

@test "--fiemap reports data that is not written yet, and does not write it" {
    mkdir "$MNT/within"
    fill "$MNT/within/dirty" 0 $MIB
    sync "$MNT/within/dirty"
    xfs_io -c "falloc 2m 64k" -c "pwrite -q 2m 4k" -c "pwrite -q 1m 4k" "$MNT/within/dirty"
    for _ in 1 2; do
        run -0 seek_map --raw --fiemap "$MNT/within/dirty"
        expect_line " *0 +1048576 data +regular *"
        expect_line " *1048576 +4096 data +delalloc *"
        expect_line " *1052672 +1044480 hole +hole *"
        expect_line " *2097152 +4096 data +delalloc *"
        expect_line " *2101248 +61440 hole +prealloc *"
    done
}

@test "a compressed file is one segment, however many extents it has" {
    mkdir "$MNT/within"
    touch "$MNT/within/file"
    btrfs property set "$MNT/within/file" compression zstd
    fill "$MNT/within/file" 0 $((4 * MIB))
    sync "$MNT/within/file"
    run -0 seek_map_json --fiemap "$MNT/within/file"
    expect_json '.["seek-map"][0].segments | map([.offset, .length, .type, .extent]) | tojson' \
        '[[0,4194304,"data","regular"]]'
}

@test "empty, one byte, all hole, the largest file" {
    run -0 seek_map --raw "$MNT/empty"
    expect_line " *0 +0 +0 +0 $MNT/empty"
    run -0 seek_map --raw --fiemap --map --timing --check=data "$MNT/empty"
    expect_line "warm +0 +- .*"
    run -0 seek_map --raw "$MNT/holes"
    expect_line " *0 +3145728 hole *"

    mkdir "$MNT/within"
    truncate -s 9223372036854771712 "$MNT/within/huge"
    run -0 seek_map --raw "$MNT/within/huge"
    expect_line " *0 +9223372036854771712 hole *"
    fill "$MNT/within/huge" 9223372036854697984 1
    for _ in dirty synced; do
        run -0 timeout 60 "$FASTPATH" seek-map --raw --fiemap --map --timing --check "$MNT/within/huge"
        expect_line " *0 +9223372036854697984 hole +hole *"
        expect_line " *9223372036854697984 +4096 data .*"
        expect_line " *9223372036854702080 +69632 hole +hole *"
        sync -f "$MNT"
    done
}

@test "-s prints a row per file and a total" {
    run -0 seek_map -s --raw "$MNT/quarters" "$MNT/tiny" "$MNT/holes"
    [ "${#lines[@]}" = 5 ]
    expect_line " *4194304 +2097152 +2097152 +3 $MNT/quarters"
    expect_line " *4 +4 +0 +1 $MNT/tiny"
    expect_line " *3145728 +0 +3145728 +1 $MNT/holes"
    expect_line " *7340036 +2097156 +5242880 +5 total"
    run -0 seek_map -s "$MNT/tiny"
    [ "${#lines[@]}" = 2 ]
    run -1 seek_map -s --fiemap "$MNT/tiny"
    [[ $output = *"--fiemap cannot be combined with --summarize, except with --map"* ]]
}

# repeat COUNT CHARACTER
repeat() {
    printf "%$1s" '' | tr ' ' "$2"
}

@test "--map draws data and holes, and with --fiemap the kinds" {
    run -0 seek_map -s --map "$MNT/quarters"
    expect_line "$(repeat 20 '#')[.]{40}$(repeat 20 '#')"
    expect_line "[.] hole  :[+][*]# data"
    run -0 seek_map -s --map --fiemap "$MNT/quarters"
    expect_line "$(repeat 20 '#')[.]{20}={20}$(repeat 20 '#')"
    expect_line "[.] hole  -= prealloc  :[+][*]# data  i inline  dD delalloc"
    run -0 seek_map -s --map --range 1M:3M --fiemap "$MNT/quarters"
    expect_line "[.]{26}-={26}[+*]#{26}"
}

@test "--map shows the share of data in a block" {
    local part

    truncate -s 8000K "$MNT/shades"
    for part in 4 28 52 76; do
        dd if=/dev/zero of="$MNT/shades" bs=1K seek=$((part * 100)) count=$part conv=notrunc,fsync status=none
    done
    run -0 seek_map -s --map "$MNT/shades"
    # a block is 100K; writes end at a multiple of 4K
    expect_line "[.]{4}:[.]{23}[+][.]{23}[*][.]{23}#[.]{3}"
    # the last 4K of a block are not written
    xfs_io -f -t -c "falloc 0 8000K" -c "pwrite -q 0 3996K" -c fsync "$MNT/shades"
    run -0 seek_map -s --map --fiemap "$MNT/shades"
    expect_line "#{40}={40}"
    rm "$MNT/shades"
}

@test "--map=HEIGHT draws more lines" {
    run -0 seek_map -s --map=2 "$MNT/quarters"
    [ "${lines[1]}" = "$(repeat 40 '#')$(repeat 40 .)" ]
    [ "${lines[2]}" = "$(repeat 40 .)$(repeat 40 '#')" ]
    [ "${lines[3]}" = ". hole  :+*# data" ]
    for height in 0 1001 -1 x 1x '' 99999999999999999999; do
        run -1 seek_map "--map=$height" "$MNT/quarters"
        [ "${lines[0]}" = "ERROR: invalid value for --map: '$height' (expected 1 to 1000)" ] || fail "$output"
    done
    run -0 seek_map -s --map=1000 "$MNT/quarters"
    [ "$(grep -c '^[#.]\{80\}$' <<<"$output")" -eq 1000 ]
}

@test "--map: several files below one another, on one scale" {
    local dir=$MNT/maps

    mkdir "$dir"
    truncate -s 8M "$dir/large"
    head -c 1M /dev/zero >"$dir/small"
    : >"$dir/empty"
    echo a >"$dir/tiny"
    run -1 seek_map -s --map "$dir/small" "$dir/empty" "$dir/large" "$dir/missing" "$dir/tiny"
    [[ $output == *"
Maps: a block is 102.40KiB
'$dir/small': 1.00MiB
##########
'$dir/empty': 0.00B
'$dir/large': 8.00MiB
$(repeat 80 .)
'$dir/tiny': 2.00B
#
. hole  :+*# data" ]] || fail "$output"
    [ "$(grep -c 'hole  :' <<<"$output")" -eq 1 ]
    run -0 seek_map -s -r --map=2 "$dir"
    [[ $output == *"Maps: a block is 51.20KiB"*"'$dir/small': 1.00MiB
$(repeat 20 '#')
"* ]] || fail "$output"
    run -0 seek_map -s --map --range 0:1M "$dir/small" "$dir/large"
    [[ $output == *"
'$dir/small': 1.00MiB
$(repeat 80 '#')
'$dir/large': 1.00MiB
$(repeat 80 .)
"* ]] || fail "$output"
    narrow=$(TERM=dumb script -qec "stty cols 10; '$FASTPATH' seek-map -s --map '$dir/small' '$dir/large'" /dev/null)
    [[ ${narrow//$'\r'/} == *"'$dir/small': 1.00MiB
##
'$dir/large': 8.00MiB
$(repeat 10 .)
"* ]] || fail "$narrow"
    run -0 seek_map_json -s --map=3 "$dir/small" "$dir/large"
    expect_json '.["seek-map"] | length' 2
    rm -r "$dir"
}

@test "--range cuts what lies across its ends" {
    run -0 seek_map_json --range 512K:2M "$MNT/quarters"
    expect_json '.["seek-map"][0].segments | map([.offset, .length, .type]) | tojson' \
        '[[524288,524288,"data"],[1048576,1572864,"hole"]]'
    expect_json '.["seek-map"][0] | [.size, .data_bytes, .hole_bytes] | tojson' '[4194304,524288,1572864]'
    run -0 seek_map_json --fiemap --range 2560K: "$MNT/quarters"
    expect_json '.["seek-map"][0].segments | map([.offset, .length, .extent]) | tojson' \
        '[[2621440,524288,"prealloc"],[3145728,1048576,"regular"]]'
    run -0 seek_map_json --range 4M:1M "$MNT/quarters"
    expect_json '.["seek-map"][0] | [.segments, .calls] | tojson' '[[],0]'
    run -0 seek_map_json --range 15E:1E "$MNT/quarters"
    expect_json '.["seek-map"][0].segments | length' 0
}

# -- qemu-img --

# qemu_map FILE: QEMU 8.2 and later say of each part of a raw file that it is not compressed
qemu_map() {
    qemu-img map --output=json -f raw "$1" | sed 's/ "compressed": false,//'
}

@test "--qemu prints what qemu-img map prints" {
    local file

    command -v qemu-img >/dev/null || skip "qemu-img is not installed"
    mkdir "$MNT/within"
    for file in 1 2 3 4 5; do
        "$HERE/write-sparse" write $file "$MNT/within/$file"
        # qemu-img sees a disk, in whole sectors
        truncate -s 3M "$MNT/within/$file"
    done
    for file in "$MNT/quarters" "$MNT/holes" "$MNT"/within/*; do
        diff <(seek_map --qemu "$file") <(qemu_map "$file") >&2
    done
    sync -f "$MNT"
    for file in "$MNT"/within/*; do
        diff <(seek_map --qemu "$file") <(qemu_map "$file") >&2
    done
}

@test "--qemu prints JSON for any file, and nothing else" {
    run -0 seek_map --qemu "$MNT/empty"
    [ "$output" = "[]" ]
    run -0 seek_map --qemu "$MNT/tiny"
    expect_json 'map([.start, .length, .data, .zero, .offset]) | tojson' '[[0,4,true,false,0]]'
    run -0 seek_map_json --qemu --range 1M:2M "$MNT/quarters"
    expect_json 'map([.start, .length, .data, .zero, .offset]) | tojson' '[[1048576,2097152,false,true,1048576]]'
    run -1 seek_map --qemu "$MNT/tiny" "$MNT/quarters"
    [[ $output = *"--qemu requires exactly one file"* ]]
    run -1 seek_map --qemu -r "$MNT"
    run -1 seek_map --qemu --timing "$MNT/tiny"
    [[ $output = *"--qemu cannot be combined with other reports"* ]]
    run -1 --separate-stderr lying broken:3:3 seek-map --qemu "$MNT/quarters"
    expect_json length 1
    [ "$stderr" = "ERROR: cannot map '$MNT/quarters': Input/output error" ]
}

# -- what it costs --

TIME='[0-9.]+(ns|us|ms|s)'

@test "--timing counts and times the calls" {
    run -0 seek_map -s --timing "$MNT/quarters"
    expect_line "Walk +Calls +Total +Min +Mean +p50 +p99 +Max +Calls/s"
    expect_line "warm +4( +$TIME){4} +- +$TIME +[0-9]+"
    refuse_line "(cold|reopened) .*"
    run -0 seek_map_json --timing "$MNT/quarters"
    expect_json '.["seek-map"][0] | .calls_per_second > 0 and (.latency_ns |
        .min > 0 and .min <= .mean and .mean <= .max and .min <= .p50 and .p50 <= .max
        and .p99 == null and .total >= 4 * .min and .total <= 4 * .max)' true
}

RATIO='[0-9]+[.][0-9][0-9]'

@test "--reopen adds a walk and the ratio of both" {
    run -0 seek_map -s --reopen --repeat 3 "$MNT/quarters"
    expect_line "warm +4( +$TIME){4} +- +$TIME +[0-9]+"
    expect_line "reopened +4( +$TIME){4} +- +$TIME +[0-9]+"
    expect_line "Warm and reopened: medians of 3 walks"
    expect_line "A new descriptor for each call: too few walks to compare, use --repeat 5"
    run -0 seek_map_json -s --reopen --repeat 4 "$MNT/quarters"
    expect_json '.["seek-map"][0] | .reopened_percent == null and .reopened_latency_ns.total > 0 and .latency_ns.p99 == null' true
    run -0 seek_map -s --reopen --repeat 5 "$MNT/quarters"
    expect_line "A new descriptor for each call takes $RATIO times as long, $RATIO to $RATIO in half of the pairs(: no clear difference)?"
    run -0 seek_map_json --reopen "$MNT/quarters"
    expect_json '.["seek-map"][0] | .reopened_latency_ns.total > 0 and .latency_ns.total > 0' true
    # four calls of the warm walk, then four of this one
    run -0 lying no-reuse:5:8 seek-map -s --reopen "$MNT/quarters"
    run -1 lying no-reuse:1:4 seek-map -s --reopen "$MNT/quarters"
}

@test "--reopen reports which walk is slower" {
    run -0 lying slow:5:8 --format json seek-map -s --reopen "$MNT/quarters"
    expect_json '.["seek-map"][0] | .reopened_latency_ns.total > 2 * .latency_ns.total' true
    run -0 lying slow:1:4 --format json seek-map -s --reopen "$MNT/quarters"
    expect_json '.["seek-map"][0] | .latency_ns.total > 2 * .reopened_latency_ns.total' true
}

# bats test_tags=slow
@test "--reopen compares pair by pair, and reports no clear difference" {
    run -0 --separate-stderr lying slow:5:8 --format json seek-map -s --reopen --repeat 5 "$MNT/quarters"
    expect_json '.["seek-map"][0].reopened_percent | .low > 0 and .low <= .median and .median <= .high and .high < 10000' true
    run -0 lying slow:1:32 seek-map -s --reopen --repeat 5 "$MNT/quarters"
    expect_line "A new descriptor for each call takes $RATIO times as long, $RATIO to $RATIO in half of the pairs(: no clear difference)?"
    run -0 seek_map_json -s --timing "$MNT/quarters"
    expect_json '.["seek-map"][0].reopened_percent' null
    run -0 seek_map_json -s --reopen "$MNT/empty"
    expect_json '.["seek-map"][0].reopened_percent' null
}

# -- whether the kernel is slow --

# judged STATE: the last run's verdict, and that its figures say the same by the bounds in the manual page
judged() {
    local state

    state=$(json '.["seek-map"][0].verdict.state')
    [[ $state =~ ^($1)$ ]] || fail "not $1: $output"
    expect_json '.["seek-map"][0].verdict | .growth_percent.low <= .growth_percent.median
        and .growth_percent.median <= .growth_percent.high and .sample_count >= 5 and .sample_count <= 9
        and ([.call_ns, .start_call_ns, .end_call_ns] | all(. > 0))' true
    expect_json '.["seek-map"][0].verdict | if .growth_percent.low > 400 then "slow"
        elif .growth_percent.low >= 25 and .growth_percent.high < 200 then "fine" else "inconclusive" end' "$state"
    expect_json '.["seek-map"][0].verdict.seek_cache | IN("present", "improved", "absent", "unknown")' true
}

VERDICT="(a call costs $TIME at any offset: the kernel is not to blame"
VERDICT+="|a call costs $TIME, at the start of the file [0-9]+[.][0-9] times as much as at its end: the kernel is to blame"
VERDICT+="|inconclusive: a call costs $TIME, at the start of the file [0-9]+[.][0-9] to [0-9]+[.][0-9] times as much as at its end)"

@test "--verdict reports the cost of a call, and whether it depends on the offset" {
    local file

    mkdir "$MNT/within"
    # nothing writes it back for a while
    python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
for offset in range(0, 4 << 20, 8192): os.pwrite(fd, b"x" * 4096, offset)' "$MNT/within/dirty"
    for file in within/dirty quarters tiny holes; do
        run -0 seek_map_json -s --verdict "$MNT/$file"
        judged 'fine|slow|inconclusive'
        run -0 seek_map -s --verdict "$MNT/$file"
        expect_line "Verdict: $VERDICT"
        run -0 seek_map -s "$MNT/$file"
        refuse_line 'Verdict.*'
    done
    run -0 seek_map_json -s --timing "$MNT/quarters"
    expect_json '.["seek-map"][0] | has("verdict") and .verdict == null' true
}

# bats test_tags=slow
@test "--verdict compares the start and the end of the file" {
    run -0 lying slow-at-start:1:9999 --format json seek-map -s --verdict "$MNT/quarters"
    judged slow
    expect_json '.["seek-map"][0].verdict | .start_call_ns >= 1000000 and .start_call_ns > 4 * .end_call_ns' true
    run -0 lying slow-at-start:1:9999 seek-map -s --verdict "$MNT/quarters"
    expect_line "Verdict: a call costs $TIME, at the start of the file [0-9]+[.][0-9] times as much as at its end: the kernel is to blame"
    # slow as such is not it, and the opposite is not known of any kernel
    run -0 lying slow-at-all:1:9999 --format json seek-map -s --verdict "$MNT/quarters"
    judged fine
    run -0 lying slow-at-end:1:9999 --format json seek-map -s --verdict "$MNT/quarters"
    judged inconclusive
    # the whole file is judged
    run -0 lying slow-at-start:1:9999 --format json seek-map -s --verdict --range 2M: "$MNT/quarters"
    judged slow
}

# on_release RELEASE HOW: the verdict of a kernel of this release, that lies
on_release() {
    run -0 env RELEASE="$1" "$top_builddir/tests/cli/other-release-seek-map" "${@:2}" seek-map -s --verdict "$MNT/quarters"
}

# bats test_tags=slow
@test "--verdict reports whether seek-cache helps" {
    [ ! -e /sys/fs/btrfs/features/fastpath ] || skip "this kernel lists its features"
    export SEEK_LIE=slow-at-start:1:9999
    on_release 5.19.0
    expect_line 'Seek-cache: absent; it helps here, see btrfs-fastpath-kernel[(]7[)]'
    on_release 5.19.0 --format json
    expect_json '.["seek-map"][0].verdict | [.seek_cache, .seek_cache_helps] | tojson' '["absent",true]'
    on_release 6.18.0
    expect_line 'Seek-cache: present as in mainline, which stays slow if much data is not on disk yet: sync the file, or see btrfs-fastpath-kernel[(]7[)]'
    on_release 6.18.0 --format json
    expect_json '.["seek-map"][0].verdict | [.seek_cache, .seek_cache_helps] | tojson' '["present",false]'
    on_release nonsense
    expect_line 'Seek-cache: unknown; see btrfs-fastpath status --measure'
    on_release nonsense --format json
    expect_json '.["seek-map"][0].verdict | [.seek_cache, .seek_cache_helps] | tojson' '["unknown",null]'

    # what a kernel that lists its features says of itself is known on every release
    run -0 with_feature_list "$IMPROVED_LIST" "$top_builddir/tests/cli/other-release-seek-map" seek-map -s --verdict "$MNT/quarters"
    expect_line 'Seek-cache: improved; it does not help here'
    run -0 with_feature_list "$IMPROVED_LIST" "$top_builddir/tests/cli/other-release-seek-map" --format json seek-map -s --verdict \
        "$MNT/quarters"
    expect_json '.["seek-map"][0].verdict | [.seek_cache, .seek_cache_helps] | tojson' '["improved",false]'
    run -0 with_feature_list seek-cache "$top_builddir/tests/cli/other-release-seek-map" seek-map -s --verdict "$MNT/quarters"
    expect_line 'Seek-cache: present; it does not help here'

    # equally slow everywhere, so that no noise counts
    export SEEK_LIE=slow-at-all:1:9999
    on_release 5.19.0
    expect_line 'Seek-cache: absent; calls can get slow when the file is read or written'
    on_release 5.19.0 --format json
    expect_json '.["seek-map"][0].verdict | [.state, .seek_cache, .seek_cache_helps] | tojson' '["fine","absent",null]'
    on_release 6.18.0
    refuse_line 'Seek-cache.*'
    on_release 6.18.0 --format json
    expect_json '.["seek-map"][0].verdict | [.state, .seek_cache_helps] | tojson' '["fine",false]'
    export SEEK_LIE=slow-at-end:1:9999
    on_release 6.18.0 --format json
    expect_json '.["seek-map"][0].verdict | [.state, .seek_cache_helps] | tojson' '["inconclusive",null]'
}

@test "--verdict without anything to measure, and on a kernel that fails" {
    run -0 seek_map -s --verdict "$MNT/empty"
    expect_line "Verdict: inconclusive: there was nothing to measure"
    run -0 lying move-at-end:1:9999 --format json seek-map -s --verdict "$MNT/quarters"
    expect_json '.["seek-map"][0].verdict | [.state, .sample_count, .call_ns, .growth_percent] | tojson' \
        '["inconclusive",0,null,null]'
    run -1 --separate-stderr lying broken:3:3 seek-map -s --verdict "$MNT/quarters"
    [ "$stderr" = "ERROR: cannot map '$MNT/quarters': Input/output error" ] || fail "$stderr"
}

@test "--reopen of a file that was deleted" {
    local descriptor

    mkdir "$MNT/within"
    cp "$MNT/quarters" "$MNT/within/file"
    exec {descriptor}<"$MNT/within/file"
    rm "$MNT/within/file"
    run -0 seek_map -s --reopen "/proc/self/fd/$descriptor"
    expect_line "reopened .*"
    exec {descriptor}<&-
}

@test "--cold without /proc names the cause" {
    skip_if_it_needs_proc
    run -1 --separate-stderr without_proc "$FASTPATH" seek-map -s --cold "$MNT/quarters"
    [ "$stderr" = "ERROR: --cold requires /proc/sys/vm/drop_caches (No such file or directory)" ]
}

@test "--cold adds the walk with nothing in memory" {
    run -0 seek_map -s --cold "$MNT/quarters"
    expect_line "cold +4( +$TIME){4} +- +$TIME +[0-9]+"
    expect_line "warm +4( +$TIME){4} +- +$TIME +[0-9]+"
    run -0 seek_map_json --cold "$MNT/quarters"
    expect_json '.["seek-map"][0].cold_latency_ns.total > 0' true
}

@test "--histogram accounts for each call of each walk" {
    run -0 seek_map -s --histogram --repeat 5 "$MNT/quarters"
    expect_line " *From +To +Calls *"
    expect_line " +$TIME +$TIME +[0-9]+ #+ *"
    run -0 seek_map_json --histogram --repeat 5 "$MNT/quarters"
    expect_json '.["seek-map"][0].histogram | map(.count) | add' 20
    expect_json '.["seek-map"][0] | .histogram[-1].high_ns > .latency_ns.max
        and (.histogram | all(.high_ns > .low_ns and .count > 0))' true
}

@test "--repeat requires a number of walks" {
    local number

    for number in 0 1001 -1 +1 x 1x '' ' 1' 99999999999999999999; do
        run -1 seek_map --repeat="$number" "$MNT/tiny"
        [[ $output = *"invalid value for --repeat: '$number' (expected 1 to 1000)"* ]] || fail "'$number': $output"
    done
    run -0 seek_map -s --repeat 1000 "$MNT/tiny"
}

# -- whether it is true --

@test "--check is content with what agrees" {
    run -0 seek_map --check "$MNT/quarters"
    expect_line "Check: lseek and FIEMAP agree"
    refuse_line "Check: all holes read as zeros"
    run -0 seek_map --check=data "$MNT/quarters"
    expect_line "Check: all holes read as zeros"
    run -0 seek_map -s --check=data -r "$MNT"
    refuse_line "(Check|Disagreement).*"
    run -1 seek_map --check=nothing "$MNT/quarters"
    [[ $output = *"invalid value for --check: 'nothing' (expected data)"* ]]
}

# quarters needs four calls for the map; then the check begins
@test "--check exits with 64 where lseek and FIEMAP disagree" {
    run -64 lying no-data:5:99 seek-map --raw --check "$MNT/quarters"
    expect_line "Disagreement in '$MNT/quarters': 1048576 at 0 is hole to lseek and regular to FIEMAP"
    expect_line "Disagreement in '$MNT/quarters': 1048576 at 3145728 is hole to lseek and regular to FIEMAP"
    [ "$(grep -c Disagreement <<<"$output")" = 2 ]
    refuse_line "Check: .*"
    [[ $(TERM=xterm NO_COLOR='' SEEK_LIE=no-data:5:99 script -qec "'$LYING' seek-map --check '$MNT/quarters'" /dev/null) = *$'\033[31mDisagreement\033[0m in '* ]]
    run -64 lying no-hole:5:99 seek-map --raw --check "$MNT/quarters"
    expect_line "Disagreement in '$MNT/quarters': 1048576 at 1048576 is data to lseek and hole to FIEMAP"
    expect_line "Disagreement in '$MNT/quarters': 1048576 at 2097152 is data to lseek and prealloc to FIEMAP"
    run -64 lying no-data:5:99 --format json seek-map --check "$MNT/quarters"
    expect_json '.["seek-map"][0].disagreements | tojson' \
        '[{"offset":0,"length":1048576,"type":"hole","extent":"regular"},{"offset":3145728,"length":1048576,"type":"hole","extent":"regular"}]'
    expect_json '.["seek-map"][0].nonzero_holes' null
}

@test "--check ignores a difference that is gone at the second look" {
    run -0 lying no-data:5:5 seek-map --check "$MNT/quarters"
    refuse_line "Disagreement.*"
    run -0 lying no-data:5:5 --format json seek-map --check "$MNT/quarters"
    expect_json '.["seek-map"][0].disagreements | tojson' '[]'
}

@test "--check: a monitoring plugin" {
    run -0 --separate-stderr "$FASTPATH" --format nagios seek-map "$MNT/quarters"
    [[ $output == "SEEK-MAP OK - the check passed | "*"{type:data,path:$MNT/quarters}'=2097152B;;;0; "* ]] || fail "$output"
    run -2 --separate-stderr lying no-data:5:99 --format nagios seek-map "$MNT/quarters"
    [[ $output == "SEEK-MAP CRITICAL - lseek and FIEMAP disagree | "* ]] || fail "$output"
    run -2 --separate-stderr lying no-data:9:99 --format nagios seek-map --check=data "$MNT/quarters"
    [[ $output == "SEEK-MAP CRITICAL - a hole is not zero | "* ]] || fail "$output"
    run -3 --separate-stderr "$FASTPATH" --format nagios seek-map --verdict "$MNT/quarters"
    [[ $output == "SEEK-MAP UNKNOWN - metrics cannot be combined with "* ]] || fail "$output"
}

# Reading on where the file was would take weeks.
@test "--check=data ends where the file becomes shorter" {
    local reader bytes=0 ended=yes

    truncate -s 4096P "$MNT/shrinks"
    "$FASTPATH" seek-map --check=data "$MNT/shrinks" 3>&- >"$BATS_TEST_TMPDIR/output" 2>&1 &
    reader=$!
    while [ "$bytes" -lt $((100 * MIB)) ]; do
        bytes=$(awk '$1 == "rchar:" { print $2 }' "/proc/$reader/io")
        sleep 0.1
    done
    truncate -s 1M "$MNT/shrinks"
    timeout 60 tail --pid="$reader" -f /dev/null || ended=no
    kill "$reader" 2>/dev/null || true
    rm "$MNT/shrinks"
    [ "$ended" = yes ] || fail "it reads on"
    output=$(<"$BATS_TEST_TMPDIR/output")
    expect_line "WARNING: changed while it was mapped: '$MNT/shrinks'"
}

@test "--check=data exits with 64 where a hole is not zero" {
    run -64 lying no-data:9:99 seek-map --raw --check=data "$MNT/quarters"
    expect_line "Check: lseek and FIEMAP agree"
    expect_line "Disagreement in '$MNT/quarters': the hole of 4194304 at 0 is not zero at 0"
    # it looks again before it says so, once for what is data after all
    run -0 timeout 20 env SEEK_LIE=no-data:9:9 "$LYING" seek-map --check=data "$MNT/quarters"
    expect_line "Check: all holes read as zeros"
    run -64 lying no-data:9:99 --format json seek-map --check=data "$MNT/quarters"
    expect_json '.["seek-map"][0] | [.disagreements, .nonzero_holes] | tojson' \
        '[[],[{"offset":0,"length":4194304,"nonzero_offset":0}]]'
}

@test "--check in a table of several files" {
    run -64 lying no-data:1:99 seek-map -s --raw --check "$MNT/tiny" "$MNT/quarters" "$MNT/holes"
    [ "$(grep -c "^Disagreement in '$MNT/tiny'" <<<"$output")" = 1 ]
    [ "$(grep -c "^Disagreement in '$MNT/quarters'" <<<"$output")" = 2 ]
    expect_line " *3145728 +0 +3145728 +1 $MNT/holes"
    # each finding stands before the row of its file, and behind the one of the file before
    grep -A1 " $MNT/tiny$" <<<"$output" | grep -q "^Disagreement in '$MNT/quarters'"
    # an error weighs more: not everything was checked
    run -1 lying no-data:1:99 seek-map -s --check "$MNT/tiny" "$MNT/missing"
    run -1 lying no-data:1:99 seek-map -s --check "$MNT/missing" "$MNT/tiny"
}

# -- a kernel that makes no sense --

@test "answers that lead nowhere, back, or are errors end the walk" {
    local how option

    for how in stay:1:999999 stay:2:999999 back:2:2 broken:2:2; do
        for option in --fiemap -s --timing --check=data --qemu; do
            run -1 --separate-stderr timeout 20 env SEEK_LIE="$how" "$LYING" \
                seek-map $option "$MNT/quarters"
            [[ $stderr = "ERROR: cannot map '$MNT/quarters': "* ]] || fail "$how $option: $stderr"
        done
    done
    run -1 --separate-stderr lying broken:2:2 --format json seek-map "$MNT/quarters" "$MNT/tiny"
    expect_json '.["seek-map"] | map(.error) | tojson' '["Input/output error",null]'
    expect_json .total.file_count 1
}

# -- JSON --

# bats test_tags=slow
@test "JSON has all promised keys for every combination of options" {
    local number options
    local choices=(--fiemap --timing --histogram --reopen --verdict --check --check=data --map)

    for ((number = 0; number < 1 << ${#choices[@]}; number++)); do
        options=()
        for ((bit = 0; bit < ${#choices[@]}; bit++)); do
            ((number >> bit & 1)) && options+=("${choices[bit]}")
        done
        run -0 --separate-stderr seek_map_json "${options[@]}" "$MNT/quarters" "$MNT/tiny" "$MNT/empty"
        [ -z "$stderr" ]
        jq -e --arg options " ${options[*]} " '
            def wants($option): $options | contains(" \($option)");
            def is_uint: type == "number" and . >= 0 and . == floor;
            def all_uint($names): . as $object | $names | all(. as $name | $object[$name] | is_uint);
            def is_latency: all_uint(["min", "mean", "p50", "max", "total"]) and has("p99") and .p99 == null;
            .__header == {version: "1"}
            and (.total | all_uint(["file_count", "size", "data_bytes", "hole_bytes", "segment_count", "calls"]))
            and (.total as $total | .["seek-map"] as $files
                | ["size", "data_bytes", "hole_bytes", "segment_count", "calls"]
                | all(. as $name | $total[$name] == ([$files[][$name]] | add)))
            and (.["seek-map"] | length == 3 and all(
                (["path", "size", "data_bytes", "hole_bytes", "segments", "calls", "latency_ns"]
                    - keys_unsorted == [])
                and all_uint(["size", "data_bytes", "hole_bytes", "segment_count", "calls"])
                and .size == .data_bytes + .hole_bytes
                and (.path | type == "string")
                and (.segments | all(all_uint(["offset", "length"]) and (.type | IN("data", "hole"))
                    and (if wants("--fiemap") then .extent | IN("regular", "inline", "prealloc", "hole")
                        else has("extent") and .extent == null end)))
                and (([.segments[].length] | add // 0) == .size)
                and has("latency_ns") and has("cold_latency_ns") and has("reopened_latency_ns")
                and has("calls_per_second") and has("histogram") and has("changed")
                and (if wants("--verdict") then .verdict | (.state | IN("fine", "slow", "inconclusive"))
                    and has("call_ns") and has("seek_cache_helps") else has("verdict") and .verdict == null end)
                and has("reopened_percent") and .reopened_percent == null
                and (if .calls > 0 and (wants("--timing") or wants("--histogram") or wants("--reopen"))
                    then .latency_ns | is_latency else .latency_ns == null end)
                and (if .calls > 0 and wants("--reopen") then .reopened_latency_ns | is_latency
                    else .reopened_latency_ns == null end)
                and (if wants("--histogram") then .histogram | type == "array" else .histogram == null end)
                and (if wants("--check") then .disagreements == [] else .disagreements == null end)
                and (if wants("--check=data") then .nonzero_holes == [] else .nonzero_holes == null end)
            ))' <<<"$output" >/dev/null || fail "${options[*]}: $output"
    done
    run -0 seek_map_json -s "$MNT/quarters"
    expect_json '.["seek-map"][0] | has("segments") and .segments == null' true
}

# -- which files --

@test "directories, lists, links and other files are treated as in fiemap-shared" {
    local expected

    mkdir -p "$MNT/within/directory"
    cp "$MNT/tiny" "$MNT/within/directory/file"
    ln "$MNT/within/directory/file" "$MNT/within/same"
    mkfifo "$MNT/within/fifo"
    ln -s nowhere "$MNT/within/dangling"
    run -0 timeout 60 "$FASTPATH" --format json seek-map -r "$MNT/within"
    expect_json .total.file_count 1
    run -0 seek_map_json --files0-from=- < <(printf '%s\0%s\0' "$MNT/tiny" "$MNT/quarters")
    expect_json .total.file_count 2

    run -1 --separate-stderr timeout 60 "$FASTPATH" --format json seek-map "$MNT/within/directory" \
        "$MNT/quarters" "$MNT/missing" "$MNT/within/fifo" /dev/null "$MNT/within/dangling" "$MNT/tiny"
    expect_json '.["seek-map"] | map(.path) | tojson' "[\"$MNT/quarters\",\"$MNT/tiny\"]"
    for expected in \
        "is a directory, and -r was not given: '$MNT/within/directory'" \
        "cannot access '$MNT/missing': No such file or directory" \
        "not a regular file: '$MNT/within/fifo'" \
        "not a btrfs filesystem: '/dev/null'" \
        "cannot access '$MNT/within/dangling': No such file or directory"; do
        grep -qxF "ERROR: $expected" <<<"$stderr" || fail "no '$expected' in:" "$stderr"
    done
    [ "$(grep -c . <<<"$stderr")" = 5 ]
}

@test "names of any bytes" {
    mkdir "$MNT/within"
    cp "$MNT/tiny" "$MNT/within/"$'new\nline\033\377'
    run -0 seek_map -r "$MNT/within"
    [[ $output = *'new\x0aline\x1b\xff'* ]]
    [[ $output != *$'\033'* ]]
    run -64 lying no-data:3:99 seek-map --check "$MNT/within/"$'new\nline\033\377'
    [[ $output = *"Disagreement in '$MNT/within/new\\x0aline\\x1b\\xff': "* ]]
    run -0 seek_map_json -r "$MNT/within"
    expect_json '.["seek-map"][0].path_encoding' escaped
}

@test "without privilege everything works but --cold" {
    run -0 as_nobody "$MNT/program" --format json seek-map --fiemap --histogram --reopen --check=data --map \
        --range 1M:3M "$MNT/quarters" "$MNT/tiny"
    expect_json .total.file_count 2
    expect_json '.["seek-map"][0].reopened_latency_ns.total > 0' true
    run -1 --separate-stderr as_nobody "$MNT/program" seek-map --cold "$MNT/quarters" "$MNT/tiny"
    [ "$(grep -c . <<<"$stderr")" = 1 ]
    [[ $stderr = *"ERROR: --cold requires root to write to /proc/sys/vm/drop_caches"* ]]
    expect_line "warm .*"
    refuse_line "cold .*"
    expect_line ".* total"
}

@test "a read-only mount" {
    sync -f "$MNT"
    mount -o remount,ro "$MNT"
    run -0 seek_map --fiemap --reopen --check=data --map "$MNT/quarters"
    mount -o remount,rw "$MNT"
}

@test "a full disk behind standard output, or none, is an error" {
    local option

    for option in -s --fiemap --timing --check --map --qemu --format=json; do
        run -1 bash -c "'$FASTPATH' seek-map $option '$MNT/quarters' >/dev/full"
        [[ $output = *"cannot write to standard output: No space left on device"* ]]
        run -1 bash -c "'$FASTPATH' seek-map $option '$MNT/quarters' >&-"
        [[ $output = *"cannot write to standard output: Bad file descriptor"* ]]
    done
}

@test "an interrupted run ends by the signal" {
    # the holes of this file take years to read
    mkdir "$MNT/within"
    truncate -s 4E "$MNT/within/huge"
    run -130 timeout --preserve-status -k 20 -s INT 1 env --default-signal=INT \
        "$FASTPATH" seek-map --check=data "$MNT/within/huge"
}

# -- change --

# map_while COMMAND FILE: while COMMAND changes FILE over and over
map_while() {
    local stop=$BATS_TEST_TMPDIR/stop number options status

    (while [ ! -e "$stop" ]; do "$1" "$2"; done) 3>&- &
    for ((number = 0; number < 8; number++)); do
        for options in "" "--fiemap --map" "--reopen --histogram" "--check=data"; do
            status=0
            # shellcheck disable=SC2086
            timeout 60 "$FASTPATH" --format json seek-map $options "$2" \
                >"$BATS_TEST_TMPDIR/answer" 2>"$BATS_TEST_TMPDIR/errors" || status=$?
            # --check may find what changed twice
            [ $status = 64 ] && [ "$options" = --check=data ] && status=0
            if [ $status != 0 ] || ! jq . "$BATS_TEST_TMPDIR/answer" >/dev/null ||
                grep -v "^WARNING: changed while it was mapped: '$2'$" "$BATS_TEST_TMPDIR/errors"; then
                touch "$stop"
                wait
                fail "failed with '$options', $status" "$(cat "$BATS_TEST_TMPDIR/answer" "$BATS_TEST_TMPDIR/errors")"
            fi
        done
    done
    touch "$stop"
    wait
}

append_blocks() {
    head -c 20000 /dev/urandom >>"$1"
    fallocate -o $((RANDOM * 4096)) -l 8192 "$1"
}

rewrite() {
    : >"$1"
    head -c $((RANDOM * 100)) /dev/urandom >>"$1"
    sync "$1"
}

punch_and_fill() {
    fill "$1" 0 $MIB
    xfs_io -c "fpunch 4k 8k" -c "fpunch 64k 512k" "$1"
}

# bats test_tags=slow
@test "a file that grows, shrinks, is punched and filled can be mapped" {
    local change

    mkdir "$MNT/within"
    for change in append_blocks rewrite punch_and_fill; do
        : >"$MNT/within/$change"
        rm -f "$BATS_TEST_TMPDIR/stop"
        map_while $change "$MNT/within/$change"
    done
}

@test "contradicting answers are reported as a change" {
    run -0 --separate-stderr lying stay:2:2 seek-map "$MNT/quarters"
    [ "$stderr" = "WARNING: changed while it was mapped: '$MNT/quarters'" ]
    run -0 --separate-stderr lying stay:2:2 --format json seek-map -q "$MNT/quarters"
    [ -z "$stderr" ]
    expect_json '.["seek-map"][0].changed' true
}

@test "a file that grows without a contradiction has changed, too" {
    local expected option

    mkdir "$MNT/within"
    expected="WARNING: changed while it was mapped: '$MNT/within/file'"
    for option in --raw -s --qemu; do
        cp "$MNT/quarters" "$MNT/within/file"
        run -0 --separate-stderr lying grow:4:4 seek-map "$option" "$MNT/within/file"
        [ "$stderr" = "$expected" ] || fail "$option: $stderr"
        run -0 --separate-stderr seek_map "$option" "$MNT/within/file"
        [ -z "$stderr" ]
    done
    run -0 --separate-stderr lying grow:4:4 --format json seek-map -q "$MNT/within/file"
    expect_json '.["seek-map"][0].changed' true
}

# -- the command line --

@test "help names the options, and a prefix of the name will do" {
    run -0 --separate-stderr "$FASTPATH" help seek-map
    [[ $output = "Usage: btrfs-fastpath seek-map [OPTION...] PATH..."* ]]
    for option in fiemap map qemu summarize check timing histogram cold reopen repeat range recursive; do
        [[ $output = *"--$option"* ]]
    done
    run -0 --separate-stderr "$FASTPATH" seek-map --qemu -s --fiemap --help
    [ -z "$stderr" ]
    run -0 "$FASTPATH" seek -s "$MNT/tiny"
    run -0 "$FRONT_END" inspect seek-map -s "$MNT/tiny"
    run -1 "$FASTPATH" seek-map
    [[ $output = *"btrfs-fastpath seek-map: at least 1 argument expected, 0 given"* ]]
}

# -- memory --

# bats test_tags=slow
@test "memory does not grow with the number of segments" {
    local peak=() count

    ! is_sanitized || skip "sanitizers keep what was freed"
    mkdir "$MNT/within"
    for count in 1000 60000; do
        python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for number in range(int(sys.argv[2])):
    os.pwrite(fd, b"x", number * 8192)' "$MNT/within/$count" "$count"
        sync "$MNT/within/$count"
        peak+=("$(python3 -c 'import os, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
            "$FASTPATH" seek-map --fiemap --histogram --reopen --map --check "$MNT/within/$count")")
    done
    [ $((peak[1] - peak[0])) -lt 1024 ] || fail "${peak[*]} KiB"
}

# named_slowly: paths, one after the other, for longer than a second
named_slowly() {
    local _

    for _ in 1 2 3 4 5; do
        printf '%s\0' "$MNT/quarters" "$MNT"/$'a \xc3\xbc\n\e[31m file with a name'
        sleep 0.4
    done
}

@test "progress: the files, how fast, and the end of the path, in a line of ASCII" {
    local line

    head -c 64K /dev/urandom >"$MNT"/$'a \xc3\xbc\n\e[31m file with a name'
    mkfifo "$BATS_TEST_TMPDIR/pipe"
    named_slowly >"$BATS_TEST_TMPDIR/pipe" &
    script -qec "stty cols 60; exec '$FASTPATH' seek-map --files0-from '$BATS_TEST_TMPDIR/pipe' >/dev/null" \
        /dev/null </dev/null | tr '\r' '\n' | sed 's/\x1b\[K//' | grep 'files, ' >"$BATS_TEST_TMPDIR/lines"
    rm "$MNT"/a*name
    [ -s "$BATS_TEST_TMPDIR/lines" ]
    while read -r line; do
        ((${#line} < 60)) || fail "$line"
        [[ $line =~ ^[0-9]+" files, "[0-9]+"/s, ..."[\ -~]*(name|quarters)$ || $line =~ ^[0-9]+" files, "[0-9]+"/s, /"[\ -~]*quarters$ ]] || fail "$line"
    done <"$BATS_TEST_TMPDIR/lines"
}

# bats test_tags=slow
@test "SIGINT: the sums of the files so far, marked as such, and then the end by the signal" {
    local names=$BATS_TEST_TMPDIR/names i format

    mkdir "$MNT/interrupted"
    for i in 1 2 3 4 5 6; do
        head -c 4096 /dev/urandom >"$MNT/interrupted/$i"
    done
    sync -f "$MNT"
    for format in text json; do
        rm -f "$names"
        mkfifo "$names"
        # Without job control, the shell would ignore SIGINT for it.
        setsid env --default-signal=INT "$FASTPATH" --format "$format" seek-map --files0-from "$names" \
            >"$BATS_TEST_TMPDIR/$format" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
        pid=$!
        {
            printf '%s\0' "$MNT/interrupted/"{1,2,3}
            sleep 1
            kill -INT "$pid"
            sleep 1
            printf '%s\0' "$MNT/interrupted/"{4,5,6}
        } >"$names"
        status=0
        wait "$pid" || status=$?
        [ "$status" -eq 130 ] || fail "$status" "$(<"$BATS_TEST_TMPDIR/errors")"
    done
    rm -r "$MNT/interrupted"
    # The call that waited for the fourth name still returns it.
    grep -qx 'Interrupted: only 4 files were examined' "$BATS_TEST_TMPDIR/text" || fail "$(<"$BATS_TEST_TMPDIR/text")"
    [ "$(jq '.total.interrupted and .total.file_count == 4' "$BATS_TEST_TMPDIR/json")" = true ] ||
        fail "$(<"$BATS_TEST_TMPDIR/json")"
    [ "$(jq '.total.file_count == (."seek-map" | length)' "$BATS_TEST_TMPDIR/json")" = true ]
}
