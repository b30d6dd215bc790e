#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# fiemap-shared --freed: what it predicts is deleted, and then the file system uses that much less.
# FASTPATH_SEEDS="3 4" tries more trees.

# bats runs each test in a subshell, which is what it should do; its run sets stderr
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load environment.bash

HERE=$BATS_TEST_DIRNAME
MIB=1048576

setup_file() {
    mount_btrfs 2G noatime
    put_program_for_nobody
}

teardown_file() {
    unmount_btrfs
}

teardown() {
    local place

    while read -r place; do
        umount "$place"
    done < <(findmnt -rno TARGET | grep -e "^$BATS_TEST_TMPDIR/" | tac)
    find "$MNT" -mindepth 1 -maxdepth 1 ! -name program -exec rm -rf {} +
    settle "$MNT"
}

# random FILE MIB [SEEK-MIB]
random() {
    dd if=/dev/urandom of="$1" bs=1M count="$2" seek="${3:-0}" conv=notrunc status=none
}

settle() {
    btrfs filesystem sync "$1"
    btrfs subvolume sync -s 1 "$1" >/dev/null
    btrfs filesystem sync "$1"
}

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

@test "what is shared within the set is freed, what others share is kept" {
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

@test "an extent that was overwritten in part goes or stays as a whole" {
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

@test "a file goes with the last of its names" {
    mkdir "$MNT/d" "$MNT/e"
    random "$MNT/d/one" 3
    ln "$MNT/d/one" "$MNT/d/two"
    ln "$MNT/d/one" "$MNT/e/one"
    sync -f "$MNT"
    freed "$MNT/d/one" "$MNT/d/two"
    expect_json .total.freed.freed_bytes 0
    expect_json .total.freed.freed_metadata_bytes 0
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

@test "data that is not on disk yet is told apart" {
    random "$MNT/a" 1
    sync -f "$MNT"
    random "$MNT/a" 2 1
    run -0 "$FASTPATH" fiemap-shared --freed "$MNT/a"
    # anybody's sync can write it in the meantime
    if grep -q "^Freed: 1.00MiB of data" <<<"$output"; then
        expect_line "Not on disk yet: 2.00MiB of data"
    else
        expect_line "Freed: 3.00MiB of data, and about .*"
    fi
    freed --sync "$MNT/a"
    expect_freed $((3 * MIB)) rm "$MNT/a"
}

@test "preallocated, compressed and inline data" {
    xfs_io -f -c "falloc 0 3m" "$MNT/prealloc" >/dev/null
    touch "$MNT/zstd"
    btrfs property set "$MNT/zstd" compression zstd
    yes | head -c 4M >"$MNT/zstd"
    printf 'tiny' >"$MNT/tiny"
    sync -f "$MNT"
    # 128 KiB become a block each
    freed "$MNT/prealloc" "$MNT/zstd" "$MNT/tiny"
    expect_freed $((3 * MIB + 32 * 4096)) rm "$MNT/prealloc" "$MNT/zstd" "$MNT/tiny"
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

@test "a snapshot, compared with its quota group" {
    local exclusive guess

    two_generations
    btrfs quota enable "$MNT"
    btrfs quota rescan -w "$MNT"
    for ((i = 0; i < 1000; i++)); do printf '%01000d' "$i" >"$MNT/origin/small-$i"; done
    settle "$MNT"
    exclusive=$(btrfs qgroup show --raw -F "$MNT/snapshot" | awk 'END { print $3 }')
    freed -sr "$MNT/snapshot"
    btrfs quota disable "$MNT"
    guess=$((4 * MIB + $(json .total.freed.freed_metadata_bytes)))
    # of the metadata, the thousand files of 1000 bytes are a MiB
    [ "$exclusive" -gt $((5 * MIB)) ]
    [ $((guess - exclusive)) -lt $((256 * 1024)) ] || fail "$guess, and the quota group has $exclusive"
    [ $((exclusive - guess)) -lt $((256 * 1024)) ] || fail "$guess, and the quota group has $exclusive"
    expect_freed $((4 * MIB)) btrfs subvolume delete "$MNT/snapshot"
}

@test "a subvolume and its snapshot together" {
    two_generations
    freed -sr "$MNT/origin"
    expect_json .total.freed.freed_bytes $((4 * MIB))
    freed -sr "$MNT/origin" "$MNT/snapshot"
    expect_json .total.freed.kept_bytes 0
    expect_freed $((12 * MIB)) btrfs subvolume delete "$MNT/origin" "$MNT/snapshot"
}

@test "metadata that a snapshot shares is not freed with files, and counts once with both subvolumes" {
    local both

    two_generations
    run -0 fiemap_shared_json --freed -s -r "$MNT/snapshot" "$MNT/origin"
    both=$(json .total.freed.freed_metadata_bytes)
    # two thousand files of a thousand bytes, and neither half nor twice as much
    [ "$both" -gt $((2 * MIB)) ]
    [ "$both" -lt $((4 * MIB)) ]
    run -0 fiemap_shared_json --freed -s "$MNT"/origin/small-*
    [ "$(json .total.freed.freed_metadata_bytes)" -lt $((MIB / 4)) ]
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

@test "copies on the devices are told where there are several" {
    local own=$BATS_TEST_TMPDIR/own

    mkdir "$own"
    truncate -s 512M "$own.image"
    mkfs.btrfs -q -M -d dup -m dup "$own.image" >/dev/null
    mount -o loop "$own.image" "$own"
    random "$own/a" 3
    sync -f "$own"
    run -0 "$FASTPATH" fiemap-shared --freed "$own/a"
    expect_line "Freed: 3.00MiB of data, and about .*"
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

@test "the estimate of metadata knows the size of a checksum" {
    local own=$BATS_TEST_TMPDIR/own before after

    mkdir "$own"
    truncate -s 2G "$own.image"
    mkfs.btrfs -q --csum sha256 "$own.image" >/dev/null
    mount -o loop "$own.image" "$own"
    fallocate -l 200M "$own/a"
    shred -n 1 "$own/a"
    settle "$own"
    freed "$own/a"
    before=$(used "$own" Metadata)
    rm "$own/a"
    settle "$own"
    after=$(used "$own" Metadata)
    # of each 4 KiB 32 bytes
    [ "$(json .total.freed.freed_metadata_bytes)" -ge $((200 * MIB / 128)) ]
    expect_json ".total.freed.freed_metadata_bytes - $((before - after)) | fabs < $((256 * 1024))" true
    umount "$own"
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

@test "--freed and --disk without privilege say so once, and the rest is printed" {
    mkdir "$MNT/d"
    random "$MNT/d/a" 1
    random "$MNT/d/b" 1
    sync -f "$MNT"
    run -1 --separate-stderr as_nobody "$MNT/program" --format json fiemap-shared --freed --disk -r "$MNT/d"
    [ "$stderr" = "ERROR: --disk and --freed need CAP_SYS_ADMIN (root); the rest of the report needs no privilege" ]
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

@test "--freed of a part of a file is refused" {
    random "$MNT/a" 1
    run -1 --separate-stderr "$FASTPATH" fiemap-shared --freed --range 4K "$MNT/a"
    [ "$stderr" = "ERROR: --freed cannot be combined with --range, because files are deleted as a whole" ]
}

# calls OPTION FILE: how often it asks the kernel for all references to an extent
calls() {
    local trace=$BATS_TEST_TMPDIR/trace

    strace -f -e trace=ioctl -o "$trace" "$FASTPATH" fiemap-shared "$@" >/dev/null
    grep -c LOGICAL_INO "$trace" || true
}

@test "extents that one file alone has are not looked up one by one, and others are" {
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
