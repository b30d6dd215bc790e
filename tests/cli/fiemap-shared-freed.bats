#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# fiemap-shared --freed: what it predicts is deleted, and then the file system uses that much less.
# FASTPATH_SEEDS="3 4" tries more trees.

# bats runs each test in a subshell, which is what it should do; its run sets stderr
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load environment.bash
load freed.bash

HERE=$BATS_TEST_DIRNAME
MIB=1048576

# used DIRECTORY Data|Metadata
used() {
    btrfs filesystem df --raw "$1" | sed -n "s/^$2,.*used=//p"
}

fiemap_shared_json() {
    "$FASTPATH" --format json fiemap-shared "$@"
}

# freed OPTION|PATH...: in the last run
freed() {
    run -0 fiemap_shared_json --freed "$@"
    expect_json '.total.freed.incomplete_extent_count' 0
}

# expect_freed BYTES COMMAND...: the last run said so, and the command does it
expect_freed() {
    local expected=$1 answer=$output before after

    shift
    expect_json .total.freed.freed_bytes "$expected"
    settle "$MNT"
    before=$(used "$MNT" Data)
    "$@" >/dev/null
    settle "$MNT"
    after=$(used "$MNT" Data)
    output=$answer
    [ $((before - after)) = "$expected" ] || fail "$((before - after)) bytes were freed, expected $expected"
}

@test "data shared within the set is freed, data shared with other files is kept" {
    random "$MNT/a" 4
    random "$MNT/outside" 2
    sync -f "$MNT"
    cp --reflink=always "$MNT/a" "$MNT/b"
    cp --reflink=always "$MNT/outside" "$MNT/c"
    freed "$MNT/a"
    expect_json .total.freed.freed_bytes 0
    expect_json .total.freed.kept_bytes $((4 * MIB))
    freed "$MNT/a" "$MNT/b" "$MNT/c"
    expect_json .total.exclusive_bytes 0
    expect_json .total.freed.kept_bytes $((2 * MIB))
    expect_freed $((4 * MIB)) rm "$MNT/a" "$MNT/b" "$MNT/c"
}

@test "a partly overwritten extent is freed or kept as a whole" {
    random "$MNT/a" 8
    sync -f "$MNT"
    random "$MNT/a" 2 3
    sync -f "$MNT"
    xfs_io -f -c "reflink $MNT/a 0 0 1m" "$MNT/piece" >/dev/null
    # the rest of the extent is kept for a piece of it
    freed "$MNT/a"
    expect_json .total.freed.kept_bytes $((8 * MIB))
    expect_freed $((2 * MIB)) rm "$MNT/a"
    freed "$MNT/piece"
    expect_json .total.total_bytes $MIB
    expect_freed $((8 * MIB)) rm "$MNT/piece"
}

@test "a file is freed with its last name" {
    mkdir "$MNT/d" "$MNT/e"
    random "$MNT/d/one" 3
    ln "$MNT/d/one" "$MNT/d/two"
    ln "$MNT/d/one" "$MNT/e/one"
    sync -f "$MNT"
    freed "$MNT/d/one" "$MNT/d/two"
    expect_json .total.freed.freed_bytes 0
    # the same name again is no other one, nor is a link that leads to it
    ln -s one "$MNT/d/symlink"
    freed "$MNT/d/one" "$MNT/d/../d/one" "$MNT/d/symlink" "$MNT/d/two"
    expect_json .total.freed.freed_bytes 0
    freed -r "$MNT/d" "$MNT/d/one"
    expect_json .total.freed.freed_bytes 0
    freed --extents "$MNT/d/one" "$MNT/d/two" "$MNT/e/one"
    expect_json .total.freed.freed_bytes $((3 * MIB))
    freed -r "$MNT/d" "$MNT/e"
    expect_freed $((3 * MIB)) rm -r "$MNT/d" "$MNT/e"
    random "$MNT/one" 1
    ln "$MNT/one" "$MNT/two"
    sync -f "$MNT"
    freed "$MNT/one"
    expect_json .total.freed.freed_bytes 0
    freed "$MNT/one" "$MNT/two"
    expect_freed $MIB rm "$MNT/one" "$MNT/two"
}

@test "a file that is mounted elsewhere has no name there" {
    local place=$BATS_TEST_TMPDIR/place

    random "$MNT/one" 1
    ln "$MNT/one" "$MNT/two"
    sync -f "$MNT"
    # on another file system, and on a file of the same one
    touch "$place" "$MNT/other"
    mkdir "$BATS_TEST_TMPDIR/d"
    for place in "$place" "$MNT/other"; do
        mount --bind "$MNT/one" "$place"
        freed --summarize "$MNT/one" "$place"
        umount "$place"
        expect_json .total.freed.freed_bytes 0
        expect_json .total.freed.kept_bytes $MIB
    done
    # a directory that is mounted elsewhere has the names that it has
    mkdir "$MNT/d"
    mv "$MNT/one" "$MNT/two" "$MNT/d"
    mount --bind "$MNT/d" "$BATS_TEST_TMPDIR/d"
    freed "$MNT/d/one" "$BATS_TEST_TMPDIR/d/one"
    expect_json .total.freed.freed_bytes 0
    freed "$MNT/d/one" "$BATS_TEST_TMPDIR/d/two"
    umount "$BATS_TEST_TMPDIR/d"
    expect_freed $MIB rm -r "$MNT/d"
}

@test "--owners --summarize has the same answer as without" {
    local total

    random "$MNT/a" 4
    random "$MNT/b" 1
    ln "$MNT/b" "$MNT/c"
    sync -f "$MNT"
    cp --reflink=always "$MNT/a" "$MNT/d"
    freed --disk "$MNT"/{a,b,d}
    total=$(json '.total | [.disk_bytes, .freed] | tojson')
    freed --disk --owners --summarize "$MNT"/{a,b,d}
    expect_json '.total | [.disk_bytes, .freed] | tojson' "$total"
    expect_json .total.disk_bytes $((5 * MIB))
    expect_freed $((4 * MIB)) rm "$MNT"/{a,b,d}
}

@test "a deleted file that is still open keeps its extents" {
    random "$MNT/a" 2
    sync -f "$MNT"
    cp --reflink=always "$MNT/a" "$MNT/b"
    exec 9<"$MNT/b"
    rm "$MNT/b"
    sync -f "$MNT"
    freed "$MNT/a"
    expect_freed 0 rm "$MNT/a"
    exec 9<&-
}

@test "data that is not on disk yet is counted separately" {
    random "$MNT/a" 1
    sync -f "$MNT"
    random "$MNT/a" 2 1
    run -0 "$FASTPATH" fiemap-shared --freed "$MNT/a"
    # anybody's sync can write it in the meantime
    if grep -q "^Freed: 1.00MiB of data" <<<"$output"; then
        expect_line "Not on disk yet: 2.00MiB of data"
    else
        expect_line "Freed: 3.00MiB of data"
    fi
    freed --sync "$MNT/a"
    expect_freed $((3 * MIB)) rm "$MNT/a"
}

@test "preallocated, compressed and inline data" {
    local extents

    xfs_io -f -c "falloc 0 3m" "$MNT/prealloc" >/dev/null
    touch "$MNT/zstd"
    btrfs property set "$MNT/zstd" compression zstd
    yes | head -c 4M >"$MNT/zstd"
    printf 'tiny' >"$MNT/tiny"
    sync -f "$MNT"
    # 128 KiB become a block each, and less where writing to the disk began earlier
    extents=$(filefrag -v "$MNT/zstd" | grep -c encoded)
    [ "$extents" -ge 32 ]
    freed "$MNT/prealloc" "$MNT/zstd" "$MNT/tiny"
    expect_freed $((3 * MIB + extents * 4096)) rm "$MNT/prealloc" "$MNT/zstd" "$MNT/tiny"
}

# two_generations: $MNT/origin, and $MNT/snapshot that still has what was replaced in it
two_generations() {
    btrfs subvolume create "$MNT/origin"
    random "$MNT/origin/a" 4
    random "$MNT/origin/b" 4
    for ((i = 0; i < 2000; i++)); do printf '%01000d' "$i" >"$MNT/origin/small-$i"; done
    sync -f "$MNT"
    btrfs subvolume snapshot "$MNT/origin" "$MNT/snapshot"
    random "$MNT/origin/a" 4
    sync -f "$MNT"
}

@test "no figure for metadata" {
    two_generations
    freed -sr "$MNT/snapshot"
    expect_json '.total.freed | [has("freed_metadata_bytes"), .freed_metadata_bytes] | tojson' '[true,null]'
    run -0 "$FASTPATH" fiemap-shared --freed -sr "$MNT/snapshot"
    expect_line "Freed: 4.00MiB of data"
}

@test "a subvolume and its snapshot together" {
    two_generations
    freed -sr "$MNT/origin"
    expect_json .total.freed.freed_bytes $((4 * MIB))
    freed -sr "$MNT/origin" "$MNT/snapshot"
    expect_json .total.freed.kept_bytes 0
    expect_freed $((12 * MIB)) btrfs subvolume delete "$MNT/origin" "$MNT/snapshot"
}

@test "-r takes nested subvolumes along, and with -x they stay" {
    btrfs subvolume create "$MNT/outer"
    btrfs subvolume create "$MNT/outer/inner"
    random "$MNT/outer/a" 2
    random "$MNT/outer/b" 2
    sync -f "$MNT"
    cp --reflink=always "$MNT/outer/a" "$MNT/outer/inner/a"
    freed -rx "$MNT/outer"
    expect_json .total.freed.freed_bytes $((2 * MIB))
    expect_json .total.freed.kept_bytes $((2 * MIB))
    freed -r "$MNT/outer"
    expect_freed $((4 * MIB)) rm -r "$MNT/outer"
}

@test "without -r a subvolume stays, and its files go" {
    btrfs subvolume create "$MNT/v"
    random "$MNT/v/a" 2
    sync -f "$MNT"
    cp --reflink=always "$MNT/v/a" "$MNT/v/b"
    freed "$MNT/v/a"
    expect_json .total.freed.freed_bytes 0
    freed "$MNT/v/a" "$MNT/v/b"
    expect_freed $((2 * MIB)) rm "$MNT/v/a" "$MNT/v/b"
}

@test "copies on the devices are reported if there are several" {
    local own=$BATS_TEST_TMPDIR/own

    mkdir "$own"
    truncate -s 512M "$own.image"
    mkfs.btrfs -q -M -d dup -m dup "$own.image" >/dev/null
    mount -o loop "$own.image" "$own"
    random "$own/a" 3
    sync -f "$own"
    run -0 "$FASTPATH" fiemap-shared --freed "$own/a"
    expect_line "Freed: 3.00MiB of data"
    expect_line "On the devices: 6.00MiB of data, with all copies"
    freed "$own/a"
    expect_json .total.freed.freed_raw_bytes $((6 * MIB))
    random "$MNT/a" 1
    sync -f "$MNT"
    freed "$MNT/a"
    expect_json .total.freed.freed_raw_bytes $MIB
    run -0 "$FASTPATH" fiemap-shared --freed "$MNT/a"
    refuse_line "On the devices.*"
    # addresses of one file system mean nothing on the other
    freed "$MNT/a" "$own/a"
    expect_json .total.freed.freed_bytes $((4 * MIB))
    expect_json .total.freed.freed_raw_bytes null
}

@test "--sync: data that was just written is in the figures" {
    local options

    for options in -s -e ''; do
        random "$MNT/new" 1
        # shellcheck disable=SC2086 # none or one
        run -0 fiemap_shared_json --sync --disk $options "$MNT/new"
        expect_json .total.disk_bytes $MIB
        random "$MNT/new" 1
        # shellcheck disable=SC2086 # none or one
        run -0 fiemap_shared_json --sync --freed $options "$MNT/new"
        expect_json .total.freed.freed_bytes $MIB
        rm "$MNT/new"
    done
}

@test "data on a seed device is not freed" {
    local mnt=$BATS_TEST_TMPDIR/mnt available

    mount_sprout "$mnt"
    # a part of it is on the other device now
    dd if=/dev/urandom of="$mnt/old" bs=64K count=1 conv=notrunc oflag=direct status=none
    sync -f "$mnt"
    freed "$mnt/old" "$mnt/new" "$mnt/prealloc"
    expect_json .total.freed.freed_bytes $((MIB + 65536))
    expect_json .total.freed.kept_bytes 0
    expect_json .total.freed.read_only_bytes $((2 * MIB))
    run -0 "$FASTPATH" fiemap-shared --freed "$mnt/prealloc"
    expect_line "Freed: 0.00B of data"
    expect_line "Read-only: 1.00MiB of data, on devices that are not writable"
    available=$(df -B1 --output=avail "$mnt" | tail -n 1)
    rm "$mnt/old" "$mnt/new" "$mnt/prealloc"
    settle "$mnt"
    [ $(($(df -B1 --output=avail "$mnt" | tail -n 1) - available)) -eq $((MIB + 65536)) ]
}

# delete_all SUBVOLUME|FILE...
delete_all() {
    local path

    for path; do
        [ -f "$path" ] || btrfs subvolume delete "$path"
    done
    rm -f "$@" 2>/dev/null || true
}

# rows KEY: of the last run, as words
rows() {
    jq -r "[.total.arguments[]$1 | tostring] | join(\" \")" <<<"$output"
}

@test "-s: a row for each argument, with what it frees alone and with those above" {
    local order

    btrfs -q subvolume create "$MNT/v"
    make_days
    cp --reflink=always "$MNT/monday/monday" "$MNT/clone"
    cp --reflink=always "$MNT/tuesday/tuesday" "$MNT/wednesday.clone"
    order="$MNT/tuesday $MNT/wednesday $MNT/monday $MNT/clone"
    # shellcheck disable=SC2086 # words
    freed -rs $order
    [ "$(rows .path)" = "$order" ]
    [ "$(rows .freed_alone_bytes)" = "$((2 * MIB)) $((3 * MIB)) $((2 * MIB)) 0" ]
    [ "$(rows .freed_with_above_bytes)" = "$((2 * MIB)) $((5 * MIB)) $((7 * MIB)) $((8 * MIB))" ]
    [ "$(rows .total_bytes)" = "$((3 * MIB)) $((3 * MIB)) $((3 * MIB)) $MIB" ]
    expect_json '[.total.arguments[].total_bytes] | add' "$(jq .total.total_bytes <<<"$output")"
    expect_json .total.freed.freed_bytes $((8 * MIB))

    # shellcheck disable=SC2086 # words
    for sort in age:monday,tuesday,wednesday,clone freed:wednesday,tuesday,monday,clone path:clone,monday,tuesday,wednesday; do
        freed -rs --sort "${sort%:*}" $order
        [ "$(rows '.path | sub(".*/"; "")' | tr ' ' ,)" = "${sort#*:}" ] || fail "$sort"
        expect_json .total.arguments[-1].freed_with_above_bytes $((8 * MIB))
    done
    # shellcheck disable=SC2086 # words
    run -0 "$FASTPATH" fiemap-shared --freed -rs --sort freed $order
    [[ ${lines[0]} = *"Freed alone  With above Path" ]]
    [[ ${lines[2]} = *"2.00MiB     5.00MiB $MNT/tuesday" ]]
    [[ ${lines[5]} = *" -           - total" ]]

    # shellcheck disable=SC2086 # words
    freed -rs $order
    expect_freed $((8 * MIB)) delete_all "$MNT"/{mon,tues,wednes}day "$MNT/clone"
}

@test "-s: a file with names in several arguments goes with the last one" {
    mkdir "$MNT/a" "$MNT/b"
    random "$MNT/a/one" 3
    ln "$MNT/a/one" "$MNT/b/two"
    random "$MNT/b/own" 1
    sync -f "$MNT"
    freed -rs "$MNT/a" "$MNT/b"
    [ "$(rows .freed_alone_bytes)" = "0 $MIB" ]
    [ "$(rows .freed_with_above_bytes)" = "0 $((4 * MIB))" ]
}

@test "-s: a file that several arguments contain counts for the first one" {
    btrfs -q subvolume create "$MNT/v"
    mkdir "$MNT/v/d"
    random "$MNT/v/d/file" 3
    random "$MNT/v/own" 1
    sync -f "$MNT"
    for first in "$MNT/v/d" "$MNT/v/d/file"; do
        freed -rs "$first" "$MNT/v"
        [ "$(rows .total_bytes)" = "$((3 * MIB)) $MIB" ]
        [ "$(rows .freed_alone_bytes)" = "$((3 * MIB)) $MIB" ] || fail "$(rows .freed_alone_bytes)"
        [ "$(rows .freed_with_above_bytes)" = "$((3 * MIB)) $((4 * MIB))" ]
        freed -rs "$MNT/v" "$first"
        [ "$(rows .freed_alone_bytes)" = "$((4 * MIB)) 0" ]
        freed -rs --disk "$first" "$MNT/v"
        [ "$(rows .freed_alone_bytes)" = "$((3 * MIB)) $MIB" ]
    done
    # the second look finds other figures, by which the rows are sorted again
    mkdir "$MNT/e"
    random "$MNT/e/file" 2
    sync -f "$MNT"
    freed -rs --sort freed "$MNT/v/d" "$MNT/v" "$MNT/e"
    [ "$(rows .freed_alone_bytes)" = "$((3 * MIB)) $((2 * MIB)) $MIB" ]
    freed -rs --sort freed "$MNT/e" "$MNT/v/d/file" "$MNT/v/d" "$MNT/v"
    [ "$(rows .freed_alone_bytes)" = "$((3 * MIB)) $((2 * MIB)) $MIB 0" ]

    ln "$MNT/v/d/file" "$MNT/v/link"
    sync -f "$MNT"
    freed -rs "$MNT/v/d" "$MNT/v"
    [ "$(rows .freed_alone_bytes)" = "0 $MIB" ]
    [ "$(rows .freed_with_above_bytes)" = "0 $((4 * MIB))" ]
}

@test "-s: one table, also with --owners" {
    random "$MNT/a" 1
    random "$MNT/b" 1
    sync -f "$MNT"
    run -0 "$FASTPATH" fiemap-shared -so "$MNT/a" "$MNT/b"
    [ "$(grep -c Exclusive <<<"$output")" -eq 1 ] || fail "$output"
    [ "$(grep -cE ' (/.*/(a|b)|total)$' <<<"$output")" -eq 3 ]
}

# The file is renamed back and forth, so that a name of it is found twice, and the other name is not in the set.
# bats test_tags=race
@test "a name that is found twice is not two names" {
    local directory pid

    mkdir "$MNT/outside" "$MNT/set" "$MNT/set/d"{0..300}
    random "$MNT/set/d0/file" 1
    ln "$MNT/set/d0/file" "$MNT/outside/link"
    sync -f "$MNT"
    (while :; do
        for directory in 300 0; do
            mv "$MNT"/set/d*/file "$MNT/set/d$directory/" 2>/dev/null
        done
    done) &
    pid=$!
    for _ in {1..8}; do
        run --separate-stderr fiemap_shared_json -rs --freed "$MNT/set"
        jq -e '.total.freed | . == null or .freed_bytes == 0' <<<"$output" >/dev/null || break
    done
    kill "$pid"
    wait "$pid" || true
    expect_json '.total.freed | . == null or .freed_bytes == 0' true
}

@test "-s: rows without a figure, and none for a list" {
    random "$MNT/a" 1
    random "$MNT/b" 1
    sync -f "$MNT"
    run -1 --separate-stderr fiemap_shared_json --freed -s "$MNT/a" "$MNT/missing" "$MNT/b"
    [ "$(rows .total_bytes)" = "$MIB 0 $MIB" ]
    [ "$(rows .freed_alone_bytes)" = "null null null" ]
    printf '%s\0' "$MNT/a" "$MNT/b" >"$BATS_TEST_TMPDIR/list"
    run -0 fiemap_shared_json -s --files0-from "$BATS_TEST_TMPDIR/list"
    expect_json .total.arguments null
    run -0 fiemap_shared_json "$MNT/a" "$MNT/b"
    expect_json .total.arguments null
}

@test "generated trees, set by set, to the byte" {
    local seed options directory count=0

    for seed in 1 2 ${FASTPATH_SEEDS:-}; do
        for options in noatime noatime,compress=zstd; do
            directory=$BATS_TEST_TMPDIR/tree-$((++count))
            mkdir "$directory"
            truncate -s 4G "$directory.image"
            mkfs.btrfs -q "$directory.image" >/dev/null
            mount -o "loop,$options" "$directory.image" "$directory"
            "$HERE/generate-tree" "$seed" "$directory"
            "$HERE/prove-freed" "$FASTPATH" "$seed" "$directory"
            umount "$directory"
        done
    done
}

@test "--freed and --disk without privilege: one error, and the rest is printed" {
    mkdir "$MNT/d"
    random "$MNT/d/a" 1
    random "$MNT/d/b" 1
    sync -f "$MNT"
    run -1 --separate-stderr as_nobody "$MNT/program" --format json fiemap-shared --freed --disk -r "$MNT/d"
    [ "$stderr" = "ERROR: --disk and --freed require CAP_SYS_ADMIN (root); the rest of the report does not" ]
    expect_json .total.exclusive_bytes $((2 * MIB))
    expect_json '[.total.freed, .total.disk_bytes, .["fiemap-shared"][].disk_bytes] | tojson' '[null,null,null,null]'
    run -1 --separate-stderr as_nobody "$MNT/program" fiemap-shared --freed --disk "$MNT/d/a"
    expect_line " *1.00MiB +1.00MiB +0.00B +- +0.00B +0.00B +- +1 +0 $MNT/d/a"
    refuse_line "Freed.*"
}

@test "the column of --disk, and none without it" {
    random "$MNT/a" 4
    sync -f "$MNT"
    random "$MNT/a" 1 1
    printf 'tiny' >"$MNT/tiny"
    sync -f "$MNT"
    run -0 "$FASTPATH" fiemap-shared --disk "$MNT/a" "$MNT/tiny"
    expect_line " *Total +Exclusive +Shared +Set shared +Inline +Delalloc +Disk +Extents +Shared extents Path"
    expect_line " *4.00MiB +.* +5.00MiB +3 +0 $MNT/a"
    expect_line " *0.00B +.* +4.00B +1 +0 $MNT/tiny"
    run -0 "$FASTPATH" fiemap-shared --disk --extents --raw "$MNT/a"
    expect_line " *4194304 +.* +5242880 +3 +0 $MNT/a"
    # all of the extents that have a byte in the range
    run -0 fiemap_shared_json --disk --range 1M:1M "$MNT/a"
    expect_json .total.disk_bytes $MIB
    expect_json .total.freed null
    run -0 fiemap_shared_json --freed "$MNT/a"
    expect_json '[.total.disk_bytes, .["fiemap-shared"][0].disk_bytes] | tojson' '[null,null]'
    run -0 "$FASTPATH" fiemap-shared --freed "$MNT/a"
    expect_line " *Total +Exclusive +Shared +Set shared +Inline +Delalloc +Extents +Shared extents Path"
}

@test "directories keep their access time" {
    local own=$BATS_TEST_TMPDIR/own before

    mkdir -p "$MNT/d/e" "$own"
    random "$MNT/d/e/one" 1
    touch -a -d yesterday "$MNT/d" "$MNT/d/e"
    sync -f "$MNT"
    mount --bind "$MNT" "$own"
    mount -o remount,bind,strictatime "$own"
    before=$(stat -c %x "$own/d" "$own/d/e")
    freed -r "$own/d"
    expect_json .total.file_count 1
    [ "$(stat -c %x "$own/d" "$own/d/e")" = "$before" ]
    ls "$own/d" >/dev/null
    [ "$(stat -c %x "$own/d" "$own/d/e")" != "$before" ]
}

@test "no figure if a part of the named files could not be examined" {
    random "$MNT/a" 1
    sync -f "$MNT"
    btrfs subvolume create "$MNT/v"
    run -1 --separate-stderr fiemap_shared_json --freed -s "$MNT/a" "$MNT/typo"
    [ "${stderr_lines[*]: -1}" = "WARNING: no figure for Freed: a part of what was named was not examined" ]
    expect_json .total.freed null
    expect_json .total.total_bytes $MIB
    run -1 --separate-stderr "$FASTPATH" fiemap-shared --freed -s "$MNT/a" "$MNT/v"
    refuse_line 'Freed.*|Kept.*'
    expect_line ' *1.00MiB .* total'
    run -1 --separate-stderr "$FASTPATH" --format openmetrics fiemap-shared --freed -s "$MNT/a" "$MNT/typo"
    refuse_line 'btrfs_fastpath_sharing_freed_bytes .*'
    expect_line 'btrfs_fastpath_sharing_bytes\{kind="total"\} 1048576'
}

@test "the owners of inline data are unknown" {
    btrfs subvolume create "$MNT/v"
    echo inline >"$MNT/v/a"
    sync -f "$MNT"
    btrfs subvolume snapshot "$MNT/v" "$MNT/snapshot"
    run -0 "$FASTPATH" fiemap-shared --owners "$MNT/v/a"
    expect_line 'Owners: unknown, because inline data has no extent'
    run -0 fiemap_shared_json --owners "$MNT/v/a"
    expect_json '.["fiemap-shared"][0] | [has("owners"), .owners, .owner_disagreements] | tojson' '[true,null,null]'
    run -0 "$FASTPATH" fiemap-shared --owners -rs "$MNT/v"
    expect_line 'Owners: none but these files; those of inline data are unknown'
    random "$MNT/v/b" 1
    sync -f "$MNT"
    run -0 "$FASTPATH" fiemap-shared --owners "$MNT/v/b"
    expect_line 'Owners: none but this file'
}

@test "no figure at all if nothing could be examined, of any command" {
    local command

    btrfs subvolume create "$MNT/v"
    for command in 'fiemap-shared --freed --disk' 'fiemap-shared -s' seek-map 'seek-map -s' nocow-check 'nocow-check -s'; do
        # shellcheck disable=SC2086
        run -1 --separate-stderr "$FASTPATH" $command "$MNT/v" "$MNT/typo"
        [ -z "$output" ] || fail "$command: $output"
        # shellcheck disable=SC2086
        run -1 --separate-stderr "$FASTPATH" --format openmetrics $command "$MNT/v"
        refuse_line "[^#].*"
        # shellcheck disable=SC2086
        run -1 --separate-stderr "$FASTPATH" --format json $command "$MNT/v"
        expect_json '.total | del(.file_count, .vanished_count, .skipped_mount_count) | [.[] | numbers] | length' 0
        expect_json .total.file_count 0
    done
    # an empty directory has nothing to examine, and that is known
    mkdir "$MNT/empty"
    run -0 fiemap_shared_json --freed -rs "$MNT/empty"
    expect_json '.total | [.total_bytes, .freed.freed_bytes] | tojson' '[0,0]'
}

@test "--freed of a part of a file is refused" {
    random "$MNT/a" 1
    run -1 --separate-stderr "$FASTPATH" fiemap-shared --freed --range 4K "$MNT/a"
    [ "$stderr" = "ERROR: --freed cannot be combined with --range, because files are deleted as a whole" ]
}

# calls OPTION FILE: how often it asks the kernel for all references to an extent
calls() {
    local trace=$BATS_TEST_TMPDIR/trace

    traced -e trace=ioctl -o "$trace" "$FASTPATH" fiemap-shared "$@" >/dev/null
    grep -c LOGICAL_INO "$trace" || true
}

@test "extents of only one file are not looked up one by one, others are" {
    local i option writes=()

    command -v strace >/dev/null || skip "strace is not installed"
    for ((i = 0; i < 300; i++)); do
        writes+=(-c "pwrite -q $((8 * i))k 4k")
    done
    btrfs subvolume create "$MNT/volume" >/dev/null
    xfs_io -f "${writes[@]}" "$MNT/volume/a"
    sync -f "$MNT"
    for option in --freed -so; do
        [ "$(calls "$option" "$MNT/volume/a")" -eq 0 ]
    done
    # not on disk when the command begins
    cp --reflink=always "$MNT/volume/a" "$MNT/b"
    [ "$(calls -so "$MNT/volume/a")" -eq 300 ]
    [ "$(calls --freed "$MNT/volume/a")" -eq 300 ]
    freed "$MNT/volume/a"
    expect_json .total.freed.freed_bytes 0
    rm "$MNT/b"
    settle "$MNT"
    # the extents have one reference each, in blocks that both subvolumes have
    btrfs subvolume snapshot "$MNT/volume" "$MNT/snapshot" >/dev/null
    for option in --freed -so; do
        [ "$(calls "$option" "$MNT/volume/a")" -eq 300 ]
    done
    freed "$MNT/volume/a"
    expect_json .total.freed.freed_bytes 0
    xfs_io -c 'pwrite -q 0 4k' "$MNT/volume/a"
    sync -f "$MNT"
    for option in --freed -so; do
        [ "$(calls "$option" "$MNT/volume/a")" -eq 299 ]
    done
    freed "$MNT/volume/a"
    expect_freed 4096 rm "$MNT/volume/a"
}

# volume_of_small_files DIRECTORY: a subvolume of 2,000 files, in leaves of some fifty
volume_of_small_files() {
    btrfs subvolume create "$1" >/dev/null
    head -c 6000000 /dev/urandom | split -b 3000 -a 4 - "$1/"
    sync -f "$MNT"
}

@test "what an earlier snapshot has in the same leaf is not looked up" {
    command -v strace >/dev/null || skip "strace is not installed"
    volume_of_small_files "$MNT/volume"
    btrfs subvolume snapshot -r "$MNT/volume" "$MNT/first" >/dev/null
    random "$MNT/volume/new" 1
    btrfs subvolume snapshot -r "$MNT/volume" "$MNT/second" >/dev/null
    rm "$MNT/volume/new" "$MNT/volume/aaaa"
    settle "$MNT"
    [ "$(calls --freed -rs "$MNT/second")" -lt 200 ]
    freed -rs "$MNT/second"
    expect_json .total.freed.kept_bytes $((2000 * 4096))
    # with the earlier one in the set, too: aaaa is in these two alone
    freed -rs "$MNT/first" "$MNT/second"
    expect_freed $((MIB + 4096)) btrfs subvolume delete "$MNT/first" "$MNT/second"
}

@test "of the oldest snapshot only what its origin does not have is looked up" {
    command -v strace >/dev/null || skip "strace is not installed"
    volume_of_small_files "$MNT/volume"
    random "$MNT/volume/old" 1
    btrfs subvolume snapshot -r "$MNT/volume" "$MNT/first" >/dev/null
    rm "$MNT/volume/old"
    settle "$MNT"
    [ "$(calls --freed -rs "$MNT/first")" -lt 200 ]
    freed -rs "$MNT/first"
    expect_json .total.freed.kept_bytes $((2000 * 4096))
    expect_freed $MIB btrfs subvolume delete "$MNT/first"
}

@test "a snapshot that was changed after it was made holds only what it has" {
    volume_of_small_files "$MNT/volume"
    btrfs subvolume snapshot "$MNT/volume" "$MNT/first" >/dev/null
    btrfs subvolume snapshot -r "$MNT/volume" "$MNT/second" >/dev/null
    rm "$MNT"/first/* "$MNT"/volume/*
    btrfs property set "$MNT/first" ro true
    settle "$MNT"
    freed -rs "$MNT/second"
    expect_freed $((2000 * 4096)) btrfs subvolume delete "$MNT/second"
}

@test "a file with many names is mapped and read once" {
    local count i options trace=$BATS_TEST_TMPDIR/trace

    command -v strace >/dev/null || skip "strace is not installed"
    mkdir "$MNT/set" "$MNT/other"
    random "$MNT/set/0" 1
    for ((i = 1; i < 300; i++)); do
        ln "$MNT/set/0" "$MNT/set/$i"
    done
    settle "$MNT"
    for options in -r -rs "-rs --freed" "-rs --disk" "-r --disk --sort disk" "-rs --owners" "-rs --fragments" "-rs --groups"; do
        # shellcheck disable=SC2086 # words
        traced -e trace=ioctl -o "$trace" "$FASTPATH" fiemap-shared $options "$MNT/set" >/dev/null
        count=$(grep -c 'FIEMAP' "$trace")
        [ "$count" -le 2 ] || fail "$options: $count"
    done
    # it is opened once, too; a name on which something is mounted is not one of its names
    touch "$MNT/set/mounted"
    mount --bind "$MNT/set/0" "$MNT/set/mounted"
    mount --bind "$MNT/set/1" "$MNT/set/2"
    traced -e trace=open,openat,openat2 -o "$trace" "$FASTPATH" --format json fiemap-shared -rs --owners "$MNT/set" \
        >"$BATS_TEST_TMPDIR/set.json"
    umount "$MNT/set/mounted" "$MNT/set/2"
    rm "$MNT/set/mounted"
    count=$(grep -cE '"([0-9]+|mounted)"' "$trace")
    [[ $count -ge 1 && $count -lt 20 ]] || fail "$(<"$trace")"
    [ "$(jq .total.skipped_mount_count "$BATS_TEST_TMPDIR/set.json")" -eq 2 ]
    freed -rs "$MNT/set"
    expect_json .total.total_bytes $MIB
    expect_json .total.freed.freed_bytes $MIB
    ln "$MNT/set/0" "$MNT/other/name"
    sync -f "$MNT"
    freed -rs "$MNT/set"
    expect_json .total.freed.freed_bytes 0
    freed -rs "$MNT/other" "$MNT/set"
    expect_json '.total.arguments | [.[].freed_with_above_bytes] | tojson' "[0,$MIB]"
    expect_freed $MIB rm -r "$MNT/set" "$MNT/other"
}

# One block of a deduplicated image, as in its padding: 72,000 references, and as many again for each snapshot
@test "an extent with more references than the kernel lists" {
    local i

    btrfs subvolume create "$MNT/v" >/dev/null
    random "$MNT/v/image" 4
    sync -f "$MNT"
    python3 - "$MNT/v/image" <<'END'
import fcntl, os, struct, sys
FICLONERANGE = 0x4020940D
fd = os.open(sys.argv[1], os.O_RDWR)
size = 4 << 20
end = 72000 * size
while size < end:
    step = min(size, end - size)
    fcntl.ioctl(fd, FICLONERANGE, struct.pack("=qQQQ", fd, 0, step, size))
    size += step
END
    random "$MNT/v/image" 1 $((72000 * 4))
    sync -f "$MNT"
    for i in {1..10}; do
        btrfs subvolume snapshot -r "$MNT/v" "$MNT/s$i" >/dev/null
    done
    settle "$MNT"
    # one is missing, or the file in one of them
    freed -rs "$MNT/v" "$MNT"/s?
    expect_json .total.freed.kept_bytes $((5 * MIB))
    freed -rs "$MNT/v/image" "$MNT"/s?
    expect_json .total.freed.kept_bytes $((5 * MIB))
    freed -rs "$MNT/v/image" "$MNT"/s*
    expect_json .total.freed.freed_bytes $((5 * MIB))
    [ "$(rows .freed_with_above_bytes)" = "0 0 0 0 0 0 0 0 0 0 $((5 * MIB))" ]
    freed -rs "$MNT/v" "$MNT"/s*
    expect_freed $((5 * MIB)) btrfs subvolume delete "$MNT/v" "$MNT"/s*
}
