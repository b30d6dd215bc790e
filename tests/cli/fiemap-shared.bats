#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# fiemap-shared: what it prints, what it looks at, and how it fails.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0
load environment.bash

MIB=1048576

setup_file() {
    mount_btrfs 2G noatime
    put_program_for_nobody

    random "$MNT/file" 4
    sync -f "$MNT"
    cp --reflink=always "$MNT/file" "$MNT/clone"

    # a MiB each: exclusive, hole, shared, hole
    random "$MNT/quarters" 1
    sync -f "$MNT"
    xfs_io -c "reflink $MNT/file 0 2m 1m" -c "truncate 4m" "$MNT/quarters" >/dev/null
    printf 'tiny' >"$MNT/tiny"
    sync -f "$MNT"
}

teardown() {
    unmount_places
    mount -o remount,rw "$MNT"
    rm -rf "$MNT/within"
}

# mount_own OPTIONS: another btrfs, at $BATS_TEST_TMPDIR/own
mount_own() {
    mkdir -p "$BATS_TEST_TMPDIR/own"
    truncate -s 512M "$BATS_TEST_TMPDIR/own.image"
    mkfs.btrfs -q "$BATS_TEST_TMPDIR/own.image" >/dev/null
    mount -o "loop,$1" "$BATS_TEST_TMPDIR/own.image" "$BATS_TEST_TMPDIR/own"
}

fiemap_shared() {
    "$FASTPATH" fiemap-shared "$@"
}

fiemap_shared_json() {
    "$FASTPATH" --format json fiemap-shared "$@"
}

# -- text --

@test "a row per file and a total" {
    run -0 fiemap_shared "$MNT/file" "$MNT/quarters" "$MNT/tiny"
    expect_line " *Total +Exclusive +Shared +Set shared +Inline +Delalloc +Extents +Shared extents Path"
    expect_line " *4.00MiB +0.00B +4.00MiB +- +0.00B +0.00B +1 +1 $MNT/file"
    expect_line " *2.00MiB +1.00MiB +1.00MiB +- +0.00B +0.00B +2 +1 $MNT/quarters"
    # the kernel rounds inline data up to a block
    expect_line " *0.00B +0.00B +0.00B +- +4.00KiB +0.00B +1 +0 $MNT/tiny"
    expect_line " *6.00MiB +1.00MiB +5.00MiB +4.00MiB +4.00KiB +0.00B +4 +2 total"
}

@test "one file needs no total" {
    run -0 fiemap_shared "$MNT/file"
    refuse_line ".* total"
}

@test "one file that is missing gives no total either" {
    run -1 --separate-stderr fiemap_shared "$MNT/missing"
    [ -z "$output" ]
    [ "$stderr" = "ERROR: cannot access '$MNT/missing': No such file or directory" ]
    run -1 --separate-stderr fiemap_shared_json "$MNT/missing"
    expect_json .total.file_count 0
}

@test "-s prints a row for each argument, and the total" {
    run -0 fiemap_shared -s --raw "$MNT/file"
    [ "${#lines[@]}" = 2 ]
    run -0 fiemap_shared -s --raw "$MNT/file" "$MNT/quarters"
    [ "${#lines[@]}" = 4 ]
    expect_line " *4194304 +0 +4194304 +- +0 +0 +1 +1 $MNT/file"
    expect_line " *6291456 +1048576 +5242880 +4194304 +0 +0 +3 +2 total"
}

@test "units" {
    run -0 fiemap_shared --raw "$MNT/file"
    expect_line " *4194304 +0 +4194304 .*"
    run -0 fiemap_shared --kbytes "$MNT/file"
    expect_line " *4096.00KiB +0.00KiB +4096.00KiB .*"
    run -0 fiemap_shared --si "$MNT/file"
    expect_line " *4.19MB +0.00B +4.19MB .*"
    run -0 "$FASTPATH" --raw fiemap-shared "$MNT/file"
    expect_line " *4194304 +0 +4194304 .*"
    # the last one counts
    run -0 fiemap_shared --raw --kbytes "$MNT/file"
    expect_line " *4096.00KiB +0.00KiB +4096.00KiB .*"
    run -0 fiemap_shared --mbytes --raw "$MNT/file"
    expect_line " *4194304 +0 +4194304 .*"
    run -0 fiemap_shared --si --kbytes "$MNT/file"
    expect_line " *4194.30kB +0.00kB +4194.30kB .*"
    run -0 fiemap_shared --si --kbytes --human-readable "$MNT/file"
    expect_line " *4.00MiB +0.00B +4.00MiB .*"
}

@test "--extents: a row per extent" {
    run -0 fiemap_shared --raw --extents "$MNT/quarters"
    expect_line "File: '$MNT/quarters'"
    expect_line " *Offset +Bytenr +Length Flags *"
    expect_line " *0 +[1-9][0-9]+ +1048576 - *"
    expect_line " *2097152 +[1-9][0-9]+ +1048576 shared,last *"
}

@test "--only selects extents, but not what is summed" {
    run -0 fiemap_shared --raw --extents --only shared "$MNT/quarters"
    expect_line " *2097152 +[1-9][0-9]+ +1048576 shared,last *"
    refuse_line " *0 +[1-9][0-9]+ +1048576 - *"
    run -0 fiemap_shared --raw --extents --only exclusive "$MNT/quarters"
    refuse_line " *2097152 .* shared,last *"
    expect_line " *0 +[1-9][0-9]+ +1048576 - *"
    expect_line " *2097152 +1048576 +1048576 +- .*"
    run -0 fiemap_shared --owners --only exclusive "$MNT/quarters"
    expect_line "Owners: none but this file"
    run -0 fiemap_shared_json --why --only shared "$MNT/quarters"
    expect_json '.["fiemap-shared"][0].decisions | add' 1
    run -1 fiemap_shared --only both "$MNT/quarters"
    [[ $output = *"invalid value for --only: 'both' (expected shared or exclusive)"* ]]
    run -1 fiemap_shared --only shared "$MNT/quarters"
    [[ $output = *"--only requires --extents, --owners or --why"* ]]
}

@test "--owners names who else holds the extents" {
    run -0 fiemap_shared --owners "$MNT/quarters"
    expect_line "Subvolume +Id +Inode +Extents +Bytes Path"
    expect_line "/ +5 +$(stat -c %i "$MNT/file") +1 +1.00MiB $MNT/file"
    expect_line "/ +5 +$(stat -c %i "$MNT/clone") +1 +1.00MiB $MNT/clone"
    refuse_line "/ +5 +$(stat -c %i "$MNT/quarters") .*"
}

# make_owners: in $MNT/within, subvolumes with known owners of 4, 2, 1 and 1 MiB
make_owners() {
    mkdir "$MNT/within"
    cd "$MNT/within" || exit
    btrfs -q subvolume create volume
    btrfs -q subvolume create other
    random volume/four 4
    random volume/two 2
    random volume/one 1
    sync -f .
    btrfs -q subvolume snapshot volume monday
    random volume/new 1
    sync -f .
    btrfs -q subvolume snapshot volume tuesday
    cp --reflink=always volume/four volume/copy
    cp --reflink=always volume/two other/first
    cp --reflink=always volume/two other/second
    touch other/part
    xfs_io -c "reflink volume/four 0 0 1m" other/part >/dev/null
    # with itself
    random other/twice 1
    xfs_io -c "reflink other/twice 0 1m 1m" other/twice >/dev/null
    printf tiny >volume/tiny
    sync -f .
}

remove_owners() {
    cd / || exit
    btrfs -q subvolume delete "$MNT"/within/{volume,other,monday,tuesday}
}

# owner_summary PATH...: a subvolume, its files, extents and bytes in MiB, a line each
owner_summary() {
    run -0 --separate-stderr fiemap_shared_json -rso "$@"
    [ -z "$stderr" ]
    json '.owner_summary[] | [(.subvolume | sub(".*/"; "")), .file_count, .extent_count, .bytes / 1048576] | join(" ")'
}

# The same files, from the owners of each file.
owner_files() {
    run -0 fiemap_shared_json -ro "$@"
    json '[.["fiemap-shared"][].owners | values | .[] | {subvolume, inode}] | unique | group_by(.subvolume)[] |
        "\(.[0].subvolume | sub(".*/"; "")) \(length)"' | sort
}

# bats test_tags=slow
@test "--owners --summarize: subvolumes, with each file and each byte once" {
    make_owners
    diff <(owner_summary volume) - <<<$'tuesday 4 4 8\nmonday 3 3 7\nother 3 2 6\nvolume 2 1 4'
    # other/part has 1 MiB of four, and other/twice shares 1 MiB with itself
    diff <(owner_summary other | sort) - <<<$'monday 2 2 3\nother 3 2 3\ntuesday 2 2 3\nvolume 3 2 3'
    diff <(owner_summary volume/four) <(owner_summary volume/four volume/copy | sed 's/^volume 2/volume 1/')
    diff <(owner_summary --range 0:1M volume/four) - <<<$'volume 1 1 1\nother 1 1 1\nmonday 1 1 1\ntuesday 1 1 1'
    [ "$(owner_summary volume/tiny)" = "" ]
    for paths in volume other monday "volume other" "volume/four other/part"; do
        # shellcheck disable=SC2086 # words
        [ -n "$(owner_files $paths)" ]
        # shellcheck disable=SC2086
        diff <(owner_files $paths) <(owner_summary $paths | cut -d ' ' -f 1,2 | sort)
    done
    # the second MiB of each is another part of four
    touch other/shifted
    xfs_io -c "reflink volume/four 0 1m 1m" other/shifted >/dev/null
    sync -f .
    diff <(owner_summary --range 1M:1M volume/four other/shifted | grep day) - <<<$'monday 1 1 2\ntuesday 1 1 2'
    remove_owners
}

@test "--owners --summarize: the table" {
    make_owners
    run -0 fiemap_shared -rso volume
    [[ ${lines[0]} = *"Total  Exclusive"* ]]
    [[ ${lines[1]} = *" total" ]]
    [ "${lines[2]}" = Owners: ]
    expect_line "Subvolume +Id +Files +Extents +Bytes"
    expect_line "within/monday +[0-9]+ +3 +3 +7.00MiB"
    [ "${#lines[@]}" = 8 ]
    # the sums are those without owners
    [ "${lines[1]}" = "$(fiemap_shared -rs volume | tail -1)" ]
    run -0 fiemap_shared -so volume/tiny
    expect_line "Owners: none but these files; those of inline data are unknown"
    run -0 fiemap_shared -rso --only exclusive volume
    expect_line "Owners: none but these files.*"
    run -0 fiemap_shared_json -rs volume
    expect_json .owner_summary null
    remove_owners
}

@test "--owners --summarize: without privilege, and on two file systems" {
    run -1 --separate-stderr as_nobody "$MNT/program" --format json fiemap-shared -so "$MNT/file" "$MNT/tiny"
    [ "$stderr" = "ERROR: --owners and --why require CAP_SYS_ADMIN (root); the rest of the report does not" ]
    expect_json '[.owner_summary, .total.total_bytes] | tojson' "[null,$((4 * MIB))]"
    mount_own noatime
    random "$BATS_TEST_TMPDIR/own/file" 1
    cp --reflink=always "$BATS_TEST_TMPDIR/own/file" "$BATS_TEST_TMPDIR/own/clone"
    sync -f "$BATS_TEST_TMPDIR/own"
    run -1 --separate-stderr fiemap_shared_json -so "$MNT/file" "$BATS_TEST_TMPDIR/own/file"
    [ "$stderr" = "ERROR: the owners of a file on another file system are not in the summary: '$BATS_TEST_TMPDIR/own/file'" ]
    expect_json .total.total_bytes $((5 * MIB))
    expect_json '[.owner_summary[].bytes] | tojson' "[$((4 * MIB))]"
}

@test "--sort and --top" {
    local files=("$MNT/tiny" "$MNT/quarters" "$MNT/file")

    # order OPTION...: the names in the order of the rows, in text and in JSON
    order() {
        local names

        run -0 fiemap_shared "$@" "${files[@]}"
        names=$(sed -nE "s|.* $MNT/||p" <<<"$output" | paste -sd ' ')
        [ "${lines[-1]}" = "$(fiemap_shared "${files[@]}" | tail -1)" ] || echo "another total"
        run -0 fiemap_shared_json "$@" "${files[@]}"
        expect_json '[.["fiemap-shared"][].path | sub(".*/"; "")] | join(" ")' "$names" || echo "another order in JSON"
        expect_json .total.file_count 3 || echo "another total in JSON"
        echo "$names"
    }

    [ "$(order)" = "tiny quarters file" ]
    [ "$(order --sort path)" = "file quarters tiny" ]
    [ "$(order --sort total)" = "file quarters tiny" ]
    [ "$(order --sort exclusive)" = "quarters file tiny" ]
    [ "$(order --sort shared)" = "file quarters tiny" ]
    [ "$(order --sort inline)" = "tiny file quarters" ]
    [ "$(order --sort delalloc)" = "file quarters tiny" ]
    [ "$(order --sort extents)" = "quarters file tiny" ]
    [ "$(order --sort shared-extents)" = "file quarters tiny" ]
    [ "$(order --top 1)" = "file" ]
    [ "$(order --top 2 --sort exclusive)" = "quarters file" ]
    run -1 --separate-stderr fiemap_shared --sort Total "$MNT/file"
    [ "$stderr" = "ERROR: unknown column for --sort: 'Total' (expected one of: extents, shared-extents, total, shared, exclusive, inline, delalloc, disk, pieces, waste, path, age, freed)" ]
    for option in --extents --owners --map; do
        run -1 --separate-stderr fiemap_shared --top 3 "$option" "$MNT/file"
        [ "$stderr" = "ERROR: --sort and --top cannot be combined with a report on each file" ]
    done
}

# expect_refusal MESSAGE ARGUMENT...
expect_refusal() {
    local message=$1

    shift
    run -1 --separate-stderr fiemap_shared "$@" "$MNT/file"
    [ "$stderr" = "ERROR: $message" ] || fail "$stderr"
    [ -z "$output" ]
}

@test "--sort and --top that do not fit the rows are refused" {
    expect_refusal "--top cannot be combined with --summarize" -s --top 3
    expect_refusal "--summarize sorts only by age, freed or path" -s --sort total
    expect_refusal "--sort freed requires --freed" -s --sort freed
    expect_refusal "--sort age requires --summarize" --sort age
    expect_refusal "--sort freed requires --summarize" --freed --sort freed
    run -1 --separate-stderr fiemap_shared -s --sort age --files0-from /dev/null
    [ "$stderr" = "ERROR: --sort and --summarize require paths as arguments" ]
}

@test "--why counts the decisions and gives one for each extent" {
    run -0 fiemap_shared --why --extents "$MNT/quarters"
    expect_line "Decisions: 2 by generation, 0 by leaf, 0 by walk"
    expect_line " *0 .* generation"
}

@test "--why: several decisions for an extent are mixed, and counted one by one" {
    local own=$BATS_TEST_TMPDIR/own

    mount_own noatime
    btrfs -q subvolume create "$own/subvolume"
    xfs_io -f -c "pwrite -q 0 1m" -c fsync "$own/subvolume/file"
    # What was written before a snapshot may be shared, even where the snapshot is gone.
    btrfs -q subvolume snapshot "$own/subvolume" "$own/snapshot"
    btrfs -q subvolume delete -c "$own/snapshot"
    finish_deletions "$own"
    xfs_io -c "pwrite -q 1m 1m" -c fsync "$own/subvolume/file"
    sync -f "$own"
    run -0 fiemap_shared --raw --why --extents "$own/subvolume/file"
    expect_line " +0 +[0-9]+ +2097152 last +mixed *"
    run -0 fiemap_shared_json --why --extents "$own/subvolume/file"
    expect_json '.["fiemap-shared"][0].extents | map([.decision, .decisions.generation, .decisions.leaf + .decisions.walk]) |
        tojson' '[["mixed",1,1]]'
}

@test "--timing gives the cost in all and per extent" {
    local time='[0-9.]+(ns|us|ms|s)'

    run -0 fiemap_shared --timing "$MNT/quarters"
    expect_line "Warm: $time \(mapping $time, shared check $time; per extent $time and $time\)"
    run -0 fiemap_shared --timing "$MNT/program"
    expect_line "Warm: .*"
}

@test "--cold gives the cold time and the warm one" {
    run -0 fiemap_shared --cold "$MNT/quarters"
    expect_line "Cold: [0-9.]+(ns|us|ms|s)"
    expect_line "Warm: .*"
    run -0 fiemap_shared_json --cold "$MNT/quarters"
    expect_json '.["fiemap-shared"][0].timing | .cold_ns > 0 and .map_ns > 0' true
}

# repeat COUNT CHARACTER
repeat() {
    printf "%$1s" '' | tr ' ' "$2"
}

@test "--map draws hole, exclusive and shared where they are, 80 wide" {
    run -0 fiemap_shared --map "$MNT/quarters"
    [[ $output != *$'\033'* ]]
    expect_line "$(repeat 20 -)[.]{20}$(repeat 20 '#')[.]{20}"
    expect_line "[.] hole  - exclusive  :[+][*]# shared"
}

@test "--map shows a shared block of a large exclusive file" {
    xfs_io -f -c "pwrite -q 0 40M" -c fsync -c "pwrite -q 40M 4K" -c fsync -c "pwrite -q 40964K 40956K" -c fsync "$MNT/large"
    xfs_io -f -c "reflink -q $MNT/large 40M 0 4K" "$MNT/one-block"
    run -0 fiemap_shared --map "$MNT/large"
    expect_line "-{40}:-{39}"
    rm "$MNT/large" "$MNT/one-block"
}

@test "--map is as wide as the terminal, and coloured there" {
    local wide

    wide=$(TERM=xterm NO_COLOR='' script -qec "stty cols 40; '$FASTPATH' fiemap-shared --map '$MNT/quarters'" /dev/null)
    [[ $wide = *$'\033['*m* ]]
    # shellcheck disable=SC2001
    wide=$(sed 's/\x1b\[[0-9;]*m//g' <<<"$wide" | tr -d '\r')
    grep -qx -e "$(repeat 10 -)[.]\{10\}$(repeat 10 '#')[.]\{10\}" <<<"$wide"
}

# on_terminal COLUMNS ARGUMENT...: what the command prints there
on_terminal() {
    local columns=$1

    shift
    script -qec "stty cols $columns; '$FASTPATH' fiemap-shared ${*@Q}" /dev/null | tr -d '\r'
}

@test "the sums fit a terminal of 80 columns, and lose nothing elsewhere" {
    local narrow wide piped

    # short names
    cd "$MNT"
    piped=$(fiemap_shared quarters)
    wide=$(on_terminal 200 quarters)
    [ "$wide" = "$piped" ]
    # it is wider than that
    [ "$(head -n 1 <<<"$piped" | wc -L)" -gt 80 ]

    narrow=$(on_terminal 80 quarters)
    [ "$(wc -L <<<"$narrow")" -le 80 ]
    [ "$(sed 's/^ *//;s/   */ /g' <<<"$narrow" | head -n 1)" = \
        "Total Exclusive Shared Set sh. Inline Delalloc Ext. Sh.ext. Path" ]
    # the figures are the same, and there is no other line
    [ "$(sed '1d;s/^ *//;s/   */ /g' <<<"$narrow")" = "$(sed '1d;s/^ *//;s/   */ /g' <<<"$piped")" ]

    narrow=$(on_terminal 60 quarters)
    [ "$(wc -L <<<"$narrow")" -le 60 ]
    [ "$(tail -n 1 <<<"$narrow")" = "Empty columns not shown: Inline, Delalloc" ]
}

@test "--disk of several files and a total fits a terminal of 80 columns" {
    local narrow

    mkdir "$MNT/set"
    head -c 12345678 /dev/urandom >"$MNT/set/a"
    cp --reflink=always "$MNT/set/a" "$MNT/set/b"
    head -c 234567 /dev/urandom >"$MNT/set/c"
    echo inline >"$MNT/set/d"
    sync -f "$MNT"
    cd "$MNT/set"
    narrow=$(on_terminal 80 -r --disk a b c d)
    rm -r "$MNT/set"
    [ "$(wc -L <<<"$narrow")" -le 80 ]
    [[ $narrow = *' Set sh.'*' Inline'*' Disk'*' Ext. Sh.ext. Path'* ]]
    [ "$(tail -n 1 <<<"$narrow")" = "Empty columns not shown: Delalloc" ]
}

@test "a table of nothing keeps its columns" {
    local narrow

    cd "$MNT"
    mkdir none
    narrow=$(on_terminal 80 -rso none 2>/dev/null)
    [[ $narrow = *'Total Exclusive Shared '* ]]
    [[ $narrow != *'Empty columns'* ]]
    # the last ones go first, and the line about them fits
    narrow=$(on_terminal 40 -rso none 2>/dev/null)
    rmdir none
    [[ $narrow = *'Total Exclusive Shared Set sh. Path'* ]]
    [[ $narrow = *$'\nEmpty columns not shown: Inline,\nDelalloc, Extents, Shared extents\n'* ]]
}

@test "--map: several files on one scale, and in several lines" {
    local dir=$MNT/maps line

    mkdir "$dir"
    head -c 4M /dev/urandom >"$dir/large"
    head -c 1M /dev/urandom >"$dir/small"
    sync -f "$MNT"
    cp --reflink "$dir/small" "$dir/copy"
    : >"$dir/empty"
    sync -f "$MNT"
    line=$(printf '%80s' '' | tr ' ' -)
    run -1 fiemap_shared --map "$dir/large" "$dir/copy" "$dir/empty" "$dir/missing"
    [[ $output == *"
Maps: a block is 51.20KiB
'$dir/large': 4.00MiB
$line
'$dir/copy': 1.00MiB
####################
'$dir/empty': 0.00B
. hole  - exclusive  :+*# shared" ]] || fail "$output"
    run -0 fiemap_shared --map=2 -r "$dir"
    [[ $output == *"'$dir/large': 4.00MiB
$line
$line
"* ]] || fail "$output"
    [ "$(grep -c '^# *\|^#\{40\}$' <<<"$output")" -eq 2 ]
    run -0 fiemap_shared --map=2 "$dir/large"
    [ "$(grep -c "^$line\$" <<<"$output")" -eq 2 ]
    run -1 fiemap_shared --map=1001 "$dir/large"
    [[ $output == "ERROR: invalid value for --map: '1001' (expected 1 to 1000)"* ]] || fail "$output"
    rm -r "$dir"
}

@test "--map of a range and of an empty file" {
    run -0 fiemap_shared --map --range 2M:1M "$MNT/quarters"
    expect_line "#{80}"
    run -0 fiemap_shared --map --range 1M:2M "$MNT/quarters"
    expect_line "[.]{40}#{40}"
    run -0 fiemap_shared --map --range 9M:1M "$MNT/quarters"
    refuse_line "[.:+*#-]+"
    : >"$MNT/empty"
    run -0 fiemap_shared --map "$MNT/empty"
    refuse_line "[.:+*#-]+"
}

# -- range --

@test "--range cuts what lies across its ends" {
    run -0 fiemap_shared_json --extents --range 3M:512K "$MNT/file"
    expect_json '.["fiemap-shared"][0].extents | map([.offset, .length]) | tojson' "[[3145728,524288]]"
    expect_json .total.shared_bytes 524288
    expect_json .total.set_shared_bytes 524288
    run -0 fiemap_shared_json --range 512K:2M "$MNT/quarters"
    expect_json .total.exclusive_bytes 524288
    expect_json .total.shared_bytes 524288
}

@test "--range moves the bytenr with the start" {
    local whole

    run -0 fiemap_shared_json --extents "$MNT/file"
    whole=$(json '.["fiemap-shared"][0].extents[0].bytenr')
    run -0 fiemap_shared_json --extents --range 64K: "$MNT/file"
    expect_json '.["fiemap-shared"][0].extents[0].bytenr' "$((whole + 65536))"
}

@test "--range leaves last to the extent that reaches the end of the file" {
    run -0 fiemap_shared_json --extents --range 0:64K "$MNT/file"
    expect_json '.["fiemap-shared"][0].extents[-1].flags | tojson' '["shared"]'
    run -0 fiemap_shared_json --extents --range 64K: "$MNT/file"
    expect_json '.["fiemap-shared"][0].extents[-1].flags | tojson' '["shared","last"]'
}

@test "--range beyond the end of the file holds nothing" {
    run -0 fiemap_shared_json --range 4M:1M "$MNT/file"
    expect_json .total.extent_count 0
    expect_json .total.total_bytes 0
    expect_json .total.file_count 1
}

@test "--range understands suffixes" {
    local range

    for range in 1M:1M 1048576:1048576 1024K:1024k 1MiB:1mib 1048576B:1M 1M:1024KiB; do
        run -0 fiemap_shared_json --range "$range" "$MNT/file"
        expect_json .total.total_bytes $MIB
    done
    run -0 fiemap_shared_json --range 1M:1024KB "$MNT/file"
    expect_json .total.total_bytes 1024000
    for range in 3M 3M: 3M:1T 3M:18446744073709551615; do
        run -0 fiemap_shared_json --range "$range" "$MNT/file"
        expect_json .total.total_bytes $MIB
    done
}

@test "--range refuses invalid ranges" {
    local range

    for range in '' : x 1:x x:1 -1:1 0:-1 1.5M:1 1M:0 1M:1M:1M 1Z ' 1:1' 0x10:1 16E:1 \
        18446744073709551616:1; do
        run -1 fiemap_shared --range "$range" "$MNT/file"
        [[ $output = *"invalid range '$range'"* ]] || fail "'$range': $output"
    done
    run -1 fiemap_shared --range 1M:0 "$MNT/file"
    [ "$output" = "ERROR: invalid range '1M:0' (expected OFFSET[:LENGTH], for example 0:1M, with LENGTH above 0)" ]
}

# -- what is not written yet --

@test "--sync writes the data back first" {
    random "$MNT/dirty" 1
    run -0 fiemap_shared_json "$MNT/dirty"
    expect_json .total.delalloc_bytes $MIB
    expect_json .total.total_bytes 0
    run -0 fiemap_shared_json --sync "$MNT/dirty"
    expect_json .total.delalloc_bytes 0
    expect_json .total.total_bytes $MIB
}

@test "--sync also applies to the report on each file" {
    random "$MNT/dirty-too" 1
    run -0 fiemap_shared_json --extents --sync "$MNT/dirty-too"
    expect_json '.["fiemap-shared"][0].extents[0].flags | index("delalloc")' null
    expect_json .total.total_bytes $MIB
}

# -- which files --

@test "a directory needs -r" {
    run -1 fiemap_shared "$MNT"
    [[ $output = *"is a directory, and -r was not given: '$MNT'"* ]]
}

@test "-r counts the files in directories and nested subvolumes, -x only those of the subvolume" {
    mkdir -p "$MNT/within/folder"
    btrfs subvolume create "$MNT/within/folder/nested" >/dev/null
    cp --reflink=always "$MNT/file" "$MNT/within/one"
    cp --reflink=always "$MNT/file" "$MNT/within/folder/two"
    cp --reflink=always "$MNT/file" "$MNT/within/folder/nested/three"
    sync -f "$MNT"
    run -0 fiemap_shared_json -r "$MNT/within"
    expect_json '.["fiemap-shared"] | map(.path) | sort | tojson' \
        "[\"$MNT/within/folder/nested/three\",\"$MNT/within/folder/two\",\"$MNT/within/one\"]"
    expect_json .total.file_count 3
    expect_json .total.shared_bytes $((12 * MIB))
    expect_json .total.set_shared_bytes $((4 * MIB))
    run -0 fiemap_shared_json -r -x "$MNT/within"
    expect_json '.["fiemap-shared"] | map(.path) | sort | tojson' \
        "[\"$MNT/within/folder/two\",\"$MNT/within/one\"]"
    run -0 fiemap_shared_json -r --extents "$MNT/within"
    expect_json .total.set_shared_bytes $((4 * MIB))
    btrfs subvolume delete "$MNT/within/folder/nested" >/dev/null
}

@test "an empty directory holds nothing" {
    mkdir "$MNT/within"
    run -0 fiemap_shared_json -r "$MNT/within"
    expect_json '.["fiemap-shared"] | length' 0
    expect_json .total.file_count 0
}

@test "mount points within a directory are not crossed" {
    mkdir -p "$MNT/within/bound" "$MNT/within/other" "$BATS_TEST_TMPDIR/source"
    cp --reflink=always "$MNT/file" "$MNT/within/mine"
    mount --bind "$MNT" "$MNT/within/bound"
    mount -t tmpfs none "$MNT/within/other"
    echo other >"$MNT/within/other/file"
    run -0 --separate-stderr fiemap_shared_json -r "$MNT/within"
    expect_json '.["fiemap-shared"] | map(.path) | tojson' "[\"$MNT/within/mine\"]"
    # The other one is of another file system.
    expect_json .total.skipped_mount_count 1
    [[ $stderr == "WARNING: "*mount* ]]
    run -0 fiemap_shared_json -r "$MNT/within/bound"
    expect_json "[.[\"fiemap-shared\"][] | select(.path == \"$MNT/within/bound/file\")] | length" 1
}

@test "symbolic links are followed when named, and only then" {
    mkdir "$MNT/within"
    ln -s ../file "$MNT/within/to-file"
    ln -s .. "$MNT/within/to-directory"
    ln -s nowhere "$MNT/within/to-nowhere"
    run -0 fiemap_shared_json -r "$MNT/within"
    expect_json .total.file_count 0
    run -0 fiemap_shared_json "$MNT/within/to-file"
    expect_json .total.shared_bytes $((4 * MIB))
    run -0 fiemap_shared_json --extents "$MNT/within/to-file"
    expect_json .total.shared_bytes $((4 * MIB))
    run -0 fiemap_shared_json -r "$MNT/within/to-directory"
    expect_json '.total.file_count > 2' true
    run -1 fiemap_shared "$MNT/within/to-nowhere"
    [[ $output = *"cannot access '$MNT/within/to-nowhere': No such file or directory"* ]]
}

@test "hard links and overlapping paths count once" {
    mkdir -p "$MNT/within/a"
    cp --reflink=always "$MNT/file" "$MNT/within/a/one"
    ln "$MNT/within/a/one" "$MNT/within/a/same"
    ln "$MNT/within/a/one" "$MNT/within/same"
    run -0 fiemap_shared_json -r "$MNT/within"
    expect_json .total.file_count 1
    run -0 fiemap_shared_json "$MNT/within/a/one" "$MNT/within/same" "$MNT/within/a/one"
    expect_json .total.file_count 1
    run -0 fiemap_shared_json -r "$MNT/within/a" "$MNT/within" "$MNT/within/a/same"
    expect_json .total.file_count 1
    expect_json .total.total_bytes $((4 * MIB))
    run -0 fiemap_shared_json -r --extents "$MNT/within" "$MNT/within/a"
    expect_json .total.file_count 1
}

@test "--files0-from reads names from a file and from standard input" {
    local list=$BATS_TEST_TMPDIR/list

    mkdir "$MNT/within"
    cp "$MNT/tiny" "$MNT/within/new"$'\n'"line"
    printf '%s\0' "$MNT/file" "$MNT/within/new"$'\n'"line" >"$list"
    run -0 fiemap_shared_json --files0-from "$list"
    expect_json '.["fiemap-shared"] | map(.path) | tojson' "[\"$MNT/file\",\"$MNT/within/new\\nline\"]"
    run -0 fiemap_shared_json --files0-from=- <"$list"
    expect_json .total.file_count 2
    run -0 fiemap_shared_json --files0-from=- --extents <"$list"
    expect_json .total.file_count 2
    run -0 bash -c "printf %s '$MNT/file' | '$FASTPATH' --format json fiemap-shared --files0-from=-"
    expect_json .total.file_count 1
}

@test "--files0-from complains about an empty name and continues" {
    run -1 --separate-stderr fiemap_shared_json --files0-from=- \
        < <(printf '%s\0\0%s\0' "$MNT/file" "$MNT/tiny")
    expect_json .total.file_count 2
    [[ $stderr = *"cannot access ''"* ]]
}

@test "--files0-from of lines: the error says what is expected" {
    local list=$BATS_TEST_TMPDIR/list option
    local hint="ERROR: each path must end with a NUL byte, as find -print0 writes it"

    printf '%s\n' "$MNT/file" "$MNT/tiny" >"$list"
    for option in -s --extents; do
        run -1 --separate-stderr fiemap_shared "$option" --files0-from="$list"
        [[ $stderr = "ERROR: cannot access '$MNT/file"*$'\n'"$hint" ]]
    done
    # more of them than a path can have
    for _ in {1..1000}; do
        echo "$MNT/file"
    done >"$list"
    run -1 --separate-stderr fiemap_shared --files0-from="$list"
    [[ $stderr = *$'\n'"$hint" ]]
    run -1 --separate-stderr fiemap_shared "$MNT/file"$'\n'
    [[ $stderr != *"$hint"* ]]
}

@test "--files0-from of nothing, a missing file, a directory, and with paths" {
    run -0 fiemap_shared_json --files0-from=/dev/null
    expect_json .total.file_count 0
    run -1 fiemap_shared --files0-from="$MNT/missing"
    [ "$output" = "ERROR: cannot read the paths from '$MNT/missing': No such file or directory" ]
    run -1 fiemap_shared --files0-from="$MNT"
    [ "$output" = "ERROR: cannot read the paths from '$MNT': Is a directory" ]
    run -1 fiemap_shared --files0-from=/dev/null "$MNT/file"
    [[ $output = *"--files0-from cannot be combined with paths"* ]]
}

# -- JSON --

KEYS='delalloc_bytes exclusive_bytes extent_count inline_bytes shared_bytes shared_count total_bytes'
FILE_KEYS="decisions extents owners path timing $KEYS"

# expect_keys OPTION...: what DESIGN promises for these options, whatever the order
expect_keys() {
    local wants

    run -0 --separate-stderr fiemap_shared_json "$@" "$MNT/quarters" "$MNT/tiny" "$MNT/file"
    [ -z "$stderr" ] || fail "$*: $stderr"
    wants=$(jq -e --arg options " $* " --arg keys "$KEYS" --arg file_keys "$FILE_KEYS" '
        def wants($option): $options | contains(" \($option) ");
        def is_uint: type == "number" and . >= 0 and . == floor;
        def all_uint($names): . as $object | $names | all(. as $name | $object[$name] | is_uint);
        ($keys | split(" ")) as $sums
        | .__header == {version: "1"}
        and (.total | all_uint($sums + ["set_shared_bytes", "file_count"]))
        and (.total | if wants("--disk") then .disk_bytes | is_uint else .disk_bytes == null and has("disk_bytes") end)
        and (.total | if wants("--freed") then .freed | all_uint(["freed_bytes", "freed_raw_bytes", "kept_bytes",
                "incomplete_extent_count"]) else .freed == null and has("freed") end)
        and (.["fiemap-shared"] | length == 3 and all(
            (keys_unsorted | sort) as $have
            | (($file_keys | split(" ")) - $have == [])
            and all_uint($sums)
            and (.path | type == "string")
            and (if wants("--disk") then .disk_bytes | is_uint else .disk_bytes == null and has("disk_bytes") end)
            and (if wants("--extents") then .extents | length > 0 and all(
                    all_uint(["offset", "bytenr", "length"])
                    and (.flags | type == "array" and all(type == "string"))
                    and has("decision")) else .extents == null end)
            and (if wants("--why") then .decisions | all_uint(["generation", "leaf", "walk"])
                else .decisions == null end)
            and (if wants("--timing") or wants("--cold")
                then .timing | all_uint(["map_ns", "shared_check_ns"]) and has("cold_ns")
                else .timing == null end)
            and (if wants("--cold") then .timing.cold_ns > 0 else true end)
            and (if wants("--owners") and .inline_bytes == 0 then .owners | type == "array" and all(
                    all_uint(["subvolid", "inode", "extent_count", "bytes"])
                    and (.subvolume | type == "string") and (.path | type == "string"))
                else .owners == null end)))' <<<"$output") || fail "$*: $output"
    [ "$wants" = true ]
}

# bats test_tags=slow
@test "JSON has all promised keys for every combination of options" {
    local number
    local options=()

    for ((number = 0; number < 64; number++)); do
        options=()
        ((number & 1)) && options+=(--extents)
        ((number & 2)) && options+=(--owners)
        ((number & 4)) && options+=(--why)
        ((number & 8)) && options+=(--timing)
        ((number & 16)) && options+=(--map)
        ((number & 32)) && options+=(--sync)
        expect_keys "${options[@]}"
    done
    expect_keys --cold
    expect_keys --extents --owners --why --cold --map --sync
    expect_keys --disk --freed
    expect_keys --disk --freed --extents --owners --why
}

@test "JSON of a summary has the total and no files" {
    run -0 fiemap_shared_json -s -r "$MNT"
    expect_json '.["fiemap-shared"] | length' 0
    expect_json '.total.file_count > 3' true
}

@test "the promised keys are there without privilege" {
    run -1 --separate-stderr as_nobody "$MNT/program" --format json fiemap-shared \
        --extents --owners --why --timing "$MNT/file"
    expect_json '.["fiemap-shared"][0] | [.decisions, .owners, .extents[0].decision] | tojson' \
        '[null,null,null]'
    expect_json '.["fiemap-shared"][0].extents[0].length' $((4 * MIB))
}

# -- names --

odd_names() {
    printf '%s\n' $'esc\033[31m' $'bell\a' $'c1\302\233m' $'del\177' "qu'ote" 'dou"ble' 'back\slash' \
        '\x41' ' space ' $'\303\244' '%s%n' '--help'
}

# bats test_tags=slow
@test "names are unchanged in JSON, and contain no raw control bytes" {
    local name raw

    mkdir "$MNT/within"
    while IFS= read -r name; do
        cp "$MNT/tiny" "$MNT/within/$name"
        run -0 fiemap_shared_json "$MNT/within/$name"
        expect_json '.["fiemap-shared"][0].path' "$MNT/within/$name"
        expect_json '.["fiemap-shared"][0] | has("path_encoding")' false
        raw=$(tr -d '\n' <<<"$output" | grep -c -aP '[\x00-\x1f\x7f]|\xc2[\x80-\x9f]' || true)
        [ "$raw" = 0 ] || fail "raw control bytes for $(printf %q "$name")"
    done < <(odd_names)
    cp "$MNT/tiny" "$MNT/within/"$'new\nline'
    run -0 fiemap_shared_json "$MNT/within/"$'new\nline'
    expect_json '.["fiemap-shared"][0].path' "$MNT/within/"$'new\nline'
}

@test "a name that is not UTF-8 is escaped and marked in JSON" {
    mkdir "$MNT/within"
    cp "$MNT/tiny" "$MNT/within/"$'a\\b\377'
    run -0 fiemap_shared_json "$MNT/within/"$'a\\b\377'
    expect_json '.["fiemap-shared"][0].path' "$MNT/within/"'a\\b\xff'
    expect_json '.["fiemap-shared"][0].path_encoding' escaped
}

@test "control bytes in names do not reach the terminal" {
    local name option

    mkdir "$MNT/within"
    while IFS= read -r name; do
        cp "$MNT/tiny" "$MNT/within/$name"
    done < <(odd_names)
    cp "$MNT/tiny" "$MNT/within/"$'new\nline'
    cp "$MNT/tiny" "$MNT/within/"$'invalid\377'
    for option in -r -re; do
        run -0 fiemap_shared $option "$MNT/within"
        [ "$(tr -d '\n' <<<"$output" | grep -c -aP '[\x00-\x1f\x7f\xff]|\xc2[\x80-\x9f]')" = 0 ]
        [[ $output = *'new\x0aline'* ]]
        [[ $output = *'invalid\xff'* ]]
        [[ $output = *'esc\x1b[31m'* ]]
        [[ $output = *$'\303\244'* ]]
    done
    run -1 fiemap_shared "$MNT/within/"$'not\033there\n'
    [ "$output" = "ERROR: cannot access '$MNT/within/not\\x1bthere\\x0a': No such file or directory" ]
}

@test "the names of owners are escaped too" {
    mkdir "$MNT/within"
    cp --reflink=always "$MNT/file" "$MNT/within/"$'own\033er\377'
    sync -f "$MNT"
    run -0 fiemap_shared --owners "$MNT/file"
    [[ $output = *'own\x1ber\xff'* ]]
    [[ $output != *$'\033'* ]]
    run -0 fiemap_shared_json --owners "$MNT/file"
    expect_json '[.["fiemap-shared"][0].owners[] | select(.path_encoding == "escaped") | .path] | tojson' \
        '["within/own\\x1ber\\xff"]'
}

# -- what cannot be reported --

make_what_is_no_file() {
    mkdir -p "$MNT/within/directory"
    mkfifo "$MNT/within/fifo"
    mknod "$MNT/within/device" c 1 3
    (cd "$MNT/within" && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")')
    ln -s nowhere "$MNT/within/dangling"
}

# expect_errors: what the last run said about the errors of the test below
expect_errors() {
    local expected

    for expected in \
        "is a directory, and -r was not given: '$MNT/within/directory'" \
        "cannot access '$MNT/missing': No such file or directory" \
        "not a regular file: '$MNT/within/fifo'" \
        "not a regular file: '$MNT/within/device'" \
        "not a regular file: '$MNT/within/socket'" \
        "not a btrfs filesystem: '$BATS_TEST_TMPDIR/tmpfs/file'" \
        "not a btrfs filesystem: '$BATS_TEST_TMPDIR/ext4/file'" \
        "not a btrfs filesystem: '/dev/null'" \
        "cannot access '$MNT/file/below': Not a directory"; do
        grep -qxF "ERROR: $expected" <<<"$stderr" || fail "no '$expected' in:" "$stderr"
    done
    [ "$(grep -c . <<<"$stderr")" = 9 ]
}

@test "errors in between leave the rest processed" {
    local option

    make_what_is_no_file
    mkdir "$BATS_TEST_TMPDIR/tmpfs" "$BATS_TEST_TMPDIR/ext4"
    mount -t tmpfs none "$BATS_TEST_TMPDIR/tmpfs"
    truncate -s 8M "$BATS_TEST_TMPDIR/ext4.image"
    mkfs.ext4 -q "$BATS_TEST_TMPDIR/ext4.image"
    mount -o loop "$BATS_TEST_TMPDIR/ext4.image" "$BATS_TEST_TMPDIR/ext4"
    echo other | tee "$BATS_TEST_TMPDIR/tmpfs/file" >"$BATS_TEST_TMPDIR/ext4/file"

    for option in --sync --extents --owners --timing; do
        run -1 --separate-stderr timeout 60 "$FASTPATH" --format json fiemap-shared $option "$MNT/within/directory" \
            "$MNT/file" "$MNT/missing" "$MNT/within/fifo" "$MNT/within/device" "$MNT/within/socket" \
            "$BATS_TEST_TMPDIR/tmpfs/file" "$BATS_TEST_TMPDIR/ext4/file" "$MNT/quarters" /dev/null \
            "$MNT/file/below" "$MNT/tiny"
        expect_json '.["fiemap-shared"] | map(.path) | tojson' \
            "[\"$MNT/file\",\"$MNT/quarters\",\"$MNT/tiny\"]"
        expect_json .total.file_count 3
        expect_errors
    done
}

@test "a walk ignores everything but files" {
    make_what_is_no_file
    cp "$MNT/tiny" "$MNT/within/tiny"
    run -0 timeout 60 "$FASTPATH" --format json fiemap-shared -r "$MNT/within"
    expect_json .total.file_count 1
    run -0 timeout 60 "$FASTPATH" --format json fiemap-shared -r --extents "$MNT/within"
    expect_json .total.file_count 1
}

@test "without privilege everything works that names no privilege" {
    run -0 as_nobody "$MNT/program" --format json fiemap-shared --extents --timing --map \
        --range 1M:3M --only shared --sync "$MNT/quarters" "$MNT/file"
    expect_json .total.file_count 2
    run -0 as_nobody "$MNT/program" fiemap-shared -s -r "$MNT"
    expect_line ".* total"
}

@test "without privilege --owners, --why and --cold print an error, and the rest is printed" {
    run -1 --separate-stderr as_nobody "$MNT/program" fiemap-shared --raw --extents --owners "$MNT/file"
    [[ $stderr = *"ERROR: --owners and --why require CAP_SYS_ADMIN (root)"* ]]
    expect_line " *0 +[0-9]+ +4194304 shared,last *"
    expect_line " *4194304 +0 +4194304 .* $MNT/file"
    run -1 --separate-stderr as_nobody "$MNT/program" fiemap-shared --raw --why "$MNT/file" "$MNT/tiny"
    [ "$(grep -c CAP_SYS_ADMIN <<<"$stderr")" = 1 ]
    [[ $stderr = *"ERROR: --owners and --why require CAP_SYS_ADMIN (root)"* ]]
    expect_line " *4194304 +0 +4194304 .* total"
    run -1 --separate-stderr as_nobody "$MNT/program" fiemap-shared --cold "$MNT/file"
    [[ $stderr = *"ERROR: --cold requires root to write to /proc/sys/vm/drop_caches"* ]]
    expect_line "Warm: .*"
    refuse_line "Cold: .*"
}

@test "without privilege unreadable files and directories are named" {
    mkdir -p "$MNT/within/closed" "$MNT/within/open"
    cp "$MNT/tiny" "$MNT/within/closed/file"
    cp "$MNT/tiny" "$MNT/within/open/readable"
    cp "$MNT/tiny" "$MNT/within/open/unreadable"
    chmod 0 "$MNT/within/closed" "$MNT/within/open/unreadable"
    run -1 --separate-stderr as_nobody "$MNT/program" --format json fiemap-shared -r "$MNT/within"
    expect_json '.["fiemap-shared"] | map(.path) | tojson' "[\"$MNT/within/open/readable\"]"
    [[ $stderr = *"'$MNT/within/closed': Permission denied"* ]]
    [[ $stderr = *"cannot open '$MNT/within/open/unreadable': Permission denied"* ]]
    run -1 as_nobody "$MNT/program" fiemap-shared --extents "$MNT/within/closed/file"
    [[ $output = *"cannot access '$MNT/within/closed/file': Permission denied"* ]]
}

@test "a full disk behind standard output is an error" {
    local option

    for option in -s --extents --owners --map --format=json --help; do
        run -1 bash -c "'$FASTPATH' fiemap-shared $option '$MNT/file' >/dev/full"
        [[ $output = *"cannot write to standard output: No space left on device"* ]]
    done
    for option in --help --version help; do
        run -1 bash -c "'$FASTPATH' $option >/dev/full"
        [[ $output = *"cannot write to standard output: No space left on device"* ]]
    done
}

# More rows than are kept to be laid out, and more than stdio keeps.
@test "a full disk in the midst of many rows" {
    local format

    mkdir "$MNT/within"
    (cd "$MNT/within" && for ((i = 0; i < 2000; i++)); do echo x >"$i"; done)
    for format in text json; do
        run -1 bash -c '"$@" 2>&1 >/dev/full' - "$FASTPATH" --format $format fiemap-shared -r "$MNT/within"
        [ "$output" = "ERROR: cannot write to standard output: No space left on device" ]
    done
}

@test "an error follows the output before it" {
    local format

    mkdir "$MNT/within"
    for ((i = 0; i < 1000; i++)); do
        echo x >"$MNT/within/$i"
        printf '%s\0' "$MNT/within/$i"
        ((i % 50)) || printf '%s\0' "$MNT/missing"
    done >"$BATS_TEST_TMPDIR/list"
    run -1 bash -c '"$@" 2>&1' - "$FASTPATH" nocow-check --files0-from "$BATS_TEST_TMPDIR/list"
    [ "$(grep -c "^ERROR: cannot access '$MNT/missing': No such file or directory$" <<<"$output")" = 20 ]
    [ "$(grep -c "^ .*$MNT/within/[0-9]*$" <<<"$output")" = 1000 ]

    for format in text json; do
        run -1 bash -c '"$@" 2>&1' - "$FASTPATH" --format $format fiemap-shared -e "$MNT/file" "$MNT/missing" "$MNT/file"
        [ "$(grep -nm 1 "ERROR: " <<<"$output" | cut -d : -f 1)" -gt "$(grep -nm 1 "$MNT/file" <<<"$output" | cut -d : -f 1)" ]
        # and not in the middle of a line of text
        grep -qE "(^|[]}])ERROR: cannot access '$MNT/missing': No such file or directory$" <<<"$output"
    done
}

# -- interruption and change --

@test "after SIGINT only PATHs that were examined have a row" {
    command -v strace >/dev/null || skip "strace is not installed"
    mkdir -p "$MNT/three/"{first,second,third}
    touch "$MNT/three/"{first,second,third}/{a,b}
    # when the second PATH is opened
    traced -o "$BATS_TEST_TMPDIR/trace" -P "$MNT/three/second" -e trace=openat -e inject=openat:signal=INT:when=1 \
        "$FASTPATH" --format json fiemap-shared -rs "$MNT/three/"{first,second,third} >"$BATS_TEST_TMPDIR/json" || true
    rm -r "$MNT/three"
    [ "$(jq -c '[.total | .interrupted, (.arguments | length)]' "$BATS_TEST_TMPDIR/json")" = "[true,2]" ] ||
        fail "$(<"$BATS_TEST_TMPDIR/json")"
}

@test "-r does with few descriptors and without more threads" {
    local expected

    mkdir -p "$MNT/few/"{first,second}/third
    touch "$MNT/few/"{first,second}/third/{a,b}
    expected=$("$FASTPATH" fiemap-shared -qrs "$MNT/few")
    [[ $expected = *' total' ]]
    run -0 prlimit --nofile=64 "$FASTPATH" fiemap-shared -qrs "$MNT/few"
    [ "$output" = "$expected" ]
    chmod -R a+rX "$MNT/few"
    run -0 as_nobody prlimit --nproc=8 "$MNT/program" fiemap-shared -qrs "$MNT/few"
    [ "$output" = "$expected" ]
    rm -r "$MNT/few"
}

# bats test_tags=slow
@test "an interrupted run ends by the signal and leaves nothing behind" {
    local option

    mkdir "$BATS_TEST_TMPDIR/temporary"
    for option in --raw --extents --owners --format=json; do
        # names without end
        # shellcheck disable=SC2016
        run -130 bash -c 'yes "$1" | tr "\n" "\0" |
            TMPDIR=$2 timeout --preserve-status -k 20 -s INT 1 env --default-signal=INT "${@:3}"' \
            - "$MNT/file" "$BATS_TEST_TMPDIR/temporary" \
            "$FASTPATH" fiemap-shared --files0-from=- $option
        [ -z "$(ls -A "$BATS_TEST_TMPDIR/temporary")" ]
        [ -z "$(pgrep -f -- "$FASTPATH fiemap-shared --files0-from=- $option")" ]
    done
}

# scan_while COMMAND FILE: while COMMAND changes FILE over and over
scan_while() {
    local stop=$BATS_TEST_TMPDIR/stop number options

    (while [ ! -e "$stop" ]; do "$1" "$2"; done) 3>&- &
    for ((number = 0; number < 8; number++)); do
        for options in "" "--extents --why --map" "--owners --timing" "--range 1M:2M --sync"; do
            # shellcheck disable=SC2086
            if ! timeout 60 "$FASTPATH" --format json fiemap-shared $options "$2" \
                >"$BATS_TEST_TMPDIR/answer" || ! jq . "$BATS_TEST_TMPDIR/answer" >/dev/null; then
                touch "$stop"
                wait
                fail "failed with '$options'" "$(cat "$BATS_TEST_TMPDIR/answer")"
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

# bats test_tags=race
@test "a file that grows can be scanned" {
    mkdir "$MNT/within"
    : >"$MNT/within/grows"
    scan_while append_blocks "$MNT/within/grows"
}

# bats test_tags=race
@test "a file that is truncated and rewritten can be scanned" {
    mkdir "$MNT/within"
    : >"$MNT/within/changes"
    scan_while rewrite "$MNT/within/changes"
}

replace_files() {
    rm -f "$1"/*
    cp "$MNT/tiny" "$1/$RANDOM"
    cp --reflink=always "$MNT/file" "$1/$RANDOM"
}

# bats test_tags=race
@test "files that vanish during a walk are no error" {
    local number

    mkdir -p "$MNT/within/busy"
    (while [ ! -e "$BATS_TEST_TMPDIR/stop" ]; do replace_files "$MNT/within/busy"; done) 3>&- 2>/dev/null &
    for ((number = 0; number < 50; number++)); do
        if ! timeout 60 "$FASTPATH" fiemap-shared -r "$MNT/within" >/dev/null 2>"$BATS_TEST_TMPDIR/errors"; then
            touch "$BATS_TEST_TMPDIR/stop"
            wait
            fail "$(cat "$BATS_TEST_TMPDIR/errors")"
        fi
    done
    touch "$BATS_TEST_TMPDIR/stop"
    wait
}

# -- mounts and subvolumes --

@test "a read-only mount" {
    sync -f "$MNT"
    mount -o remount,ro "$MNT"
    run -0 fiemap_shared --extents --owners --why --timing --map --sync "$MNT/file"
    expect_line "Decisions: 1 by generation, 0 by leaf, 0 by walk"
    expect_line "/ .* $MNT/clone"
    run -0 fiemap_shared -r "$MNT"
}

@test "an owner that is deleted but open has no name, and can be asked itself" {
    local inode descriptor

    cp --reflink=always "$MNT/file" "$MNT/unlinked"
    sync -f "$MNT"
    inode=$(stat -c %i "$MNT/unlinked")
    exec {descriptor}<"$MNT/unlinked"
    rm "$MNT/unlinked"
    sync -f "$MNT"
    run -0 fiemap_shared --owners "$MNT/file"
    expect_line "/ +5 +$inode +1 +4.00MiB \(no name\)"
    run -0 fiemap_shared_json --owners "$MNT/file"
    expect_json "[.[\"fiemap-shared\"][0].owners[] | select(.inode == $inode) | .path] | tojson" '[null]'
    run -0 fiemap_shared --extents --owners --why "/proc/self/fd/$descriptor"
    expect_line "/ .* $MNT/file"
    exec {descriptor}<&-
}

@test "an owner in a deleted snapshot that is not cleaned yet" {
    local id descriptor

    btrfs subvolume create "$MNT/within" >/dev/null
    cp --reflink=always "$MNT/file" "$MNT/within/copy"
    sync -f "$MNT"
    id=$(btrfs inspect-internal rootid "$MNT/within")
    # the cleaner leaves it alone as long as a file in it is open
    exec {descriptor}<"$MNT/within/copy"
    btrfs subvolume delete -c "$MNT/within" >/dev/null
    run -0 fiemap_shared --owners "$MNT/file"
    expect_line "\(deleted\) +$id +257 +1 +4.00MiB \(no name\)"
    run -0 fiemap_shared_json --owners "$MNT/file"
    expect_json "[.[\"fiemap-shared\"][0].owners[] | select(.subvolid == $id) |
        [.subvolume, .path]] | tojson" '[[null,null]]'
    run -0 fiemap_shared --extents --owners "/proc/self/fd/$descriptor"
    expect_line "/ .* $MNT/clone"
    exec {descriptor}<&-
}

@test "an owner that no mount shows still gets a name" {
    local own=$BATS_TEST_TMPDIR/own device

    mount_own noatime
    btrfs subvolume create "$own/shown" >/dev/null
    btrfs subvolume create "$own/hidden" >/dev/null
    mkdir "$own/hidden/folder"
    random "$own/hidden/folder/file" 1
    sync -f "$own"
    cp --reflink=always "$own/hidden/folder/file" "$own/shown/copy"
    cp --reflink=always "$own/hidden/folder/file" "$own/top"
    sync -f "$own"
    device=$(findmnt -no SOURCE "$own")
    mkdir "$BATS_TEST_TMPDIR/part"
    mount -o subvol=shown "$device" "$BATS_TEST_TMPDIR/part"
    umount "$own"

    run -0 fiemap_shared --owners "$BATS_TEST_TMPDIR/part/copy"
    expect_line "hidden +257 +258 +1 +1.00MiB folder/file"
    expect_line "/ +5 +[0-9]+ +1 +1.00MiB top"
    run -0 fiemap_shared_json --owners "$BATS_TEST_TMPDIR/part/copy"
    expect_json '.["fiemap-shared"][0].owners | map([.subvolume, .path, .mounted_at]) | sort | tojson' \
        '[["/","top",null],["hidden","folder/file",null]]'
    # one name is all that can be asked for, whether there are more or not
    expect_json '.["fiemap-shared"][0].owners | map([.paths_complete, (.paths | length)]) | unique | tojson' '[[false,1]]'
    run -0 fiemap_shared --owners "$BATS_TEST_TMPDIR/part/copy"
    [ "$(grep -c '(and maybe more)' <<<"$output")" = 2 ] || fail "$output"
}

@test "an owner is looked for where its own file system is mounted" {
    local own=$BATS_TEST_TMPDIR/own

    # Both have a top level, of the same id, and the other one was mounted first.
    mount_own noatime
    random "$own/file" 1
    cp --reflink=always "$own/file" "$own/copy"
    cp --reflink=always "$own/file" "$own/another"
    sync -f "$own"
    run -0 fiemap_shared_json --owners "$own/file"
    expect_json '.["fiemap-shared"][0].owners | map([.path, .mounted_at]) | sort | tojson' \
        "[[\"another\",\"$own\"],[\"copy\",\"$own\"]]"
}

@test "an owner with more names than the kernel returns" {
    local copy=$MNT/$BATS_TEST_NUMBER number

    mkdir "$copy"
    cp --reflink=always "$MNT/file" "$copy/1"
    for number in {2..40}; do
        ln "$copy/1" "$copy/$number"
    done
    sync -f "$MNT"
    run -0 fiemap_shared_json --owners "$MNT/file"
    expect_json '.["fiemap-shared"][0].owners[] | select(.paths | length == 40) | .paths_complete' true
    run -0 fiemap_shared --owners "$MNT/file"
    refuse_line '.*and maybe more.*'
    # the figures stand in the first of its rows only, so that they can be added up
    [ "$(grep -c " $copy/" <<<"$output")" = 40 ] || fail "$output"
    [ "$(grep -c " 4.00MiB $copy/" <<<"$output")" = 1 ] || fail "$output"
    [ "$(grep -cE " +1 +4.00MiB $copy/" <<<"$output")" = 1 ] || fail "$output"
    [ "$(grep -cE " +$(stat -c %i "$copy/1") +1 " <<<"$output")" = 1 ] || fail "$output"

    # 4096 bytes have room for some of these only
    for number in {1..40}; do
        mv "$copy/$number" "$copy/$number-$(printf '%0200d' 0)"
    done
    sync -f "$MNT"
    run -0 fiemap_shared_json --owners "$MNT/file"
    expect_json '.["fiemap-shared"][0].owners[] | select(.paths | length > 10) | .paths_complete' false
    run -0 fiemap_shared --owners "$MNT/file"
    [ "$(grep -c '(and maybe more)' <<<"$output")" = 1 ] || fail "$output"
    rm -r "$copy"
}

# -- the command line --

# rows_down_to DEPTH PATH...: "PATH TOTAL EXCLUSIVE" a line
rows_down_to() {
    run -0 --separate-stderr fiemap_shared_json -r --depth "$@"
    jq -r '."fiemap-shared"[] | "\(.path) \(.total_bytes) \(.exclusive_bytes)"' <<<"$output"
}

# The same of directories, by btrfs filesystem du -s
sums_of() {
    local path

    for path; do
        btrfs filesystem du -s --raw "$path" | awk 'NR > 1 { print $4, $1, $2 }'
    done
}

@test "--depth: rows of directories are those of btrfs filesystem du -s" {
    local tree=$MNT/within i

    mkdir -p "$tree"/{a/b/c,a/empty,"d/e f"}
    for i in 1 2 3; do
        random "$tree/a/b/c/$i" "$i"
        random "$tree/a/$i" "$i"
        cp --reflink=always "$tree/a/$i" "$tree/d/e f/$i"
    done
    random "$tree/file" 1
    sync -f "$MNT"
    diff <(rows_down_to 0 "$tree") <(sums_of "$tree")
    diff <(rows_down_to 1 "$tree") <(sums_of "$tree" "$tree"/{a,d})
    diff <(rows_down_to 2 "$tree/a" "$tree/file") <(sums_of "$tree"/a{,/b,/b/c} "$tree/file")
    rows_down_to 65535 "$tree" | grep -qxF "$tree/d/e f 6291456 0"
    # a path is the same whether its argument ends with a slash
    diff <(rows_down_to 1 "$tree/") <(rows_down_to 1 "$tree" | sed "s|^$tree |$tree/ |")

    # the largest ones, and the total of all
    run -0 --separate-stderr fiemap_shared -r --depth 9 --top 2 "$tree"
    [ "${#lines[@]}" -eq 4 ]
    [[ ${lines[1]} = *" $tree" ]]
    [[ ${lines[2]} = *" $tree/a" ]]
    [[ ${lines[3]} =~ ^\ +19.00MiB\ .*\ total$ ]]
}

@test "help and version" {
    run -0 "$FASTPATH" --version
    [[ $output = "btrfs-fastpath "[0-9]* ]]
    run -0 "$FASTPATH" fiemap-shared --version
    run -0 --separate-stderr "$FASTPATH" help
    [[ $output = *"fiemap-shared [OPTION...] PATH..."* ]]
    [ -z "$stderr" ]
    run -0 --separate-stderr "$FASTPATH" help fiemap-shared
    [[ $output = "Usage: btrfs-fastpath fiemap-shared [OPTION...] PATH..."* ]]
    for option in extents owners why timing cold map range only sync recursive summarize \
        one-file-system files0-from format raw; do
        [[ $output = *"--$option"* ]]
    done
    [ "$output" = "$("$FASTPATH" fiemap-shared --help)" ]
    run -1 "$FASTPATH" help nonsense
    [[ $output = *"unknown command 'nonsense'"* ]]
}

@test "a prefix of a command will do" {
    run -0 "$FASTPATH" fiemap --raw "$MNT/file"
    expect_line " *4194304 .*"
    run -1 "$FASTPATH" fiemap-sharedx "$MNT/file"
    [[ $output = *"unknown command 'fiemap-sharedx'"* ]]
    run -1 "$FASTPATH" '' "$MNT/file"
    [[ $output = *"unknown command ''"* ]]
}

@test "global options before and after the command" {
    run -0 "$FASTPATH" --format json fiemap-shared "$MNT/file"
    expect_json .total.file_count 1
    run -0 "$FASTPATH" fiemap-shared "$MNT/file" --format json
    expect_json .total.file_count 1
    run -1 "$FASTPATH" --format xml fiemap-shared "$MNT/file"
    [[ $output = *"unknown format 'xml' (expected text, json, ndjson, openmetrics or nagios)"* ]]
}

@test "--summary is --summarize, and the other way round" {
    local name command

    for command in fiemap-shared seek-map nocow-check; do
        run -0 "$FASTPATH" "$command" -s "$MNT/file" "$MNT/quarters"
        [ -n "$output" ]
        for name in --summarize --summary --summ; do
            [ "$("$FASTPATH" "$command" "$name" "$MNT/file" "$MNT/quarters")" = "$output" ]
        done
    done
}

@test "--ignore-snapshots without privilege, and with a report on each file" {
    run -1 --separate-stderr as_nobody "$MNT/program" fiemap-shared --ignore-snapshots "$MNT/file" "$MNT/clone"
    [[ $stderr == "ERROR: --ignore-snapshots requires CAP_SYS_ADMIN (root): '$MNT/file'"* ]]
    run -1 --separate-stderr fiemap_shared --ignore-snapshots --extents "$MNT/file"
    [ "$stderr" = "ERROR: --ignore-snapshots cannot be combined with --owners or a report on each file" ]
}

@test "--ignore-snapshots: without any, and one that is deleted but not cleaned up" {
    local tree=$MNT/within/subvolume

    mkdir "$MNT/within"
    btrfs -q subvolume create "$tree"
    random "$tree/file" 1
    cp --reflink=always "$tree/file" "$tree/clone"
    sync -f "$MNT"
    run -0 --separate-stderr fiemap_shared --ignore-snapshots "$tree/file"
    [[ ${lines[1]} =~ ^\ +1.00MiB\ +0.00B\ +1.00MiB ]]
    rm "$tree/clone"
    btrfs -q subvolume snapshot -r "$tree" "$MNT/within/snapshot"
    exec 5<"$MNT/within/snapshot/file"
    btrfs -q subvolume delete -c "$MNT/within/snapshot"
    run -0 --separate-stderr fiemap_shared --ignore-snapshots "$tree/file"
    exec 5<&-
    [[ ${lines[1]} =~ ^\ +1.00MiB\ +1.00MiB\ +0.00B ]] || fail "$output"
    btrfs -q subvolume delete "$tree"
}

@test "usage errors of --depth" {
    local arguments

    for arguments in '--depth 1' '-r --depth -1' '-r --depth x' '-r --depth 65536' '-r --depth 1 -s' '-r --depth 1 -e' \
        '-r --depth 1 -s --owners'; do
        # shellcheck disable=SC2086 # words
        run -1 --separate-stderr fiemap_shared $arguments "$MNT"
        [ -z "$output" ]
    done
}

@test "usage errors exit with 1" {
    run -1 "$FASTPATH"
    [[ $output = *"no command given"* ]]
    run -1 "$FASTPATH" fiemap-shared
    [[ $output = *"btrfs-fastpath fiemap-shared: at least 1 argument expected, 0 given"* ]]
    run -1 "$FASTPATH" fiemap-shared --nonsense "$MNT/file"
    [[ $output = *"unrecognized option '--nonsense'"* ]]
    run -1 "$FASTPATH" --nonsense
    run -1 "$FASTPATH" fiemap-shared --range
    run -1 "$FASTPATH" fiemap-shared -s --extents "$MNT/file"
    [[ $output = *"--summarize cannot be combined"* ]]
}

@test "a name that begins with a dash follows --" {
    mkdir "$MNT/within"
    cp "$MNT/tiny" "$MNT/within/-dash"
    cd "$MNT/within"
    run -0 fiemap_shared_json -- -dash
    expect_json '.["fiemap-shared"][0].path' -dash
}

# -- memory --

# scatter FILE COUNT: as many extents, a hole behind each
scatter() {
    python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for number in range(int(sys.argv[2])):
    os.pwrite(fd, b"x" * 4096, number * 8192)
os.fsync(fd)' "$1" "$2"
}

# peak_after NAME: the peak of the program that reads names from descriptor 7, after file NAME.
# The complaint about the missing file behind it tells when that is.
peak_after() {
    printf '%s\0%s\0' "$1" "$1-is-done" >&7
    until grep -qF -- "$1-is-done" "$BATS_TEST_TMPDIR/errors"; do
        kill -0 "$pid"
        sleep 0.05
    done
    # A copy of the process does the work.
    awk '/^VmHWM/ { print $2 }' "/proc/$(pgrep -P "$pid")/status"
}

# bats test_tags=slow
@test "memory does not grow with the number of extents" {
    local format small large pid

    ! is_sanitized || skip "sanitizers keep what was freed"
    mkdir "$MNT/within"
    scatter "$MNT/within/small" 15000
    scatter "$MNT/within/large" 60000
    for format in text json; do
        rm -f "$BATS_TEST_TMPDIR/list"
        mkfifo "$BATS_TEST_TMPDIR/list"
        "$FASTPATH" --format $format fiemap-shared --extents --files0-from="$BATS_TEST_TMPDIR/list" \
            >"$BATS_TEST_TMPDIR/answer" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
        pid=$!
        exec 7>"$BATS_TEST_TMPDIR/list"
        small=$(peak_after "$MNT/within/small")
        large=$(peak_after "$MNT/within/large")
        exec 7>&-
        wait "$pid" || [ $? = 1 ]
        [ "$(grep -c 4096 "$BATS_TEST_TMPDIR/answer")" -ge 75000 ] ||
            [ "$(grep -c 4.00KiB "$BATS_TEST_TMPDIR/answer")" -ge 75000 ]
        [ $((large - small)) -lt 1024 ] || fail "$format: $small KiB, then $large KiB"
    done
}
