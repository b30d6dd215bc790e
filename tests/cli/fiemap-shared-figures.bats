#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# fiemap-shared on generated trees: every figure against another tool's.
# FASTPATH_SEEDS="3 4" tries more trees.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0
load environment.bash

HERE=$BATS_TEST_DIRNAME

# mount_trees KIND OPTIONS: a file system with a tree for each seed. noatime: reading must not
# make new leaves while they are compared.
mount_trees() {
    local directory=$BATS_FILE_TMPDIR/$1 seed

    mkdir "$directory"
    truncate -s 4G "$directory.image"
    mkfs.btrfs -q "$directory.image" >/dev/null
    mount -o "loop,$2" "$directory.image" "$directory"
    for seed in $SEEDS; do
        mkdir "$directory/$seed"
        "$HERE/generate-tree" "$seed" "$directory/$seed"
    done
}

setup_file() {
    export SEEDS="1 2 ${FASTPATH_SEEDS:-}"
    mount_trees plain noatime
    mount_trees zstd noatime,compress=zstd
}

teardown_file() {
    local kind

    for kind in plain zstd; do
        if mountpoint -q "$BATS_FILE_TMPDIR/$kind"; then
            umount "$BATS_FILE_TMPDIR/$kind"
        fi
    done
}

# compare_tree KIND SEED[/PART] COMPARISON [OPTION...]
compare_tree() {
    local mount=$BATS_FILE_TMPDIR/$1 part=$2 comparison=$3

    shift 3
    "$HERE/compare-figures" --program "$FASTPATH" --image "$mount.image" --mount "$mount" \
        "$@" "$comparison" "$mount/$part"
}

# compare_trees KIND COMPARISON [OPTION...]: for each seed
compare_trees() {
    local kind=$1 seed

    shift
    for seed in $SEEDS; do
        compare_tree "$kind" "$seed" "$@"
    done
}

# compare_dirty_tree KIND SEED COMPARISON [OPTION...]: what is not on disk yet. Anybody's sync can write it
# in the meantime, after which there is nothing to see: then once more.
compare_dirty_tree() {
    local kind=$1 seed=$2 answer status attempt

    shift 2
    for attempt in 1 2 3 4 5; do
        "$HERE/generate-tree" --dirty "$seed" "$BATS_FILE_TMPDIR/$kind/$seed"
        status=0
        answer=$(compare_tree "$kind" "$seed/dirty" "$@" 2>&1) || status=$?
        printf '%s: %s\n' "$attempt" "$answer"
        [[ $status -ne 0 && $answer = *", 0 disagreements;"*"never seen"* ]] || return "$status"
    done
    return "$status"
}

# compare_dirty KIND COMPARISON [OPTION...]: for each seed
compare_dirty() {
    local kind=$1 seed

    shift
    for seed in $SEEDS; do
        compare_dirty_tree "$kind" "$seed" "$@"
    done
}

ALL_FLAGS=shared,encoded,unwritten,inline,last
DIRTY_FLAGS=delalloc,unknown,unwritten,encoded
ALL_DECISIONS=generation,leaf,walk
ALL_OWNERS="owner,owner of itself,owner with several paths"

# describe_tree: names, sizes and contents of what does not change after it was made
describe_tree() {
    (
        cd "$1" || return
        find . -path ./dirty -prune -o -printf '%P %y %s %n\0' | sort -z | sha256sum
        find data other plain -type f -size -2M -print0 | sort -z | xargs -0 sha256sum | sha256sum
    )
}

@test "the same seed makes the same tree" {
    local plain=$BATS_FILE_TMPDIR/plain

    mkdir "$plain/again"
    "$HERE/generate-tree" 1 "$plain/again"
    [ "$(describe_tree "$plain/1")" = "$(describe_tree "$plain/again")" ]
    [ "$(describe_tree "$plain/1")" != "$(describe_tree "$plain/2")" ]
    [ "$(find "$plain/1/data" "$plain/1/other" "$plain/1/plain" -type f -printf . | wc -c)" -ge 200 ]
}

@test "extents and sums not written yet are filefrag's (plain)" {
    compare_dirty plain extents --must-see "$DIRTY_FLAGS"
}

@test "extents and sums not written yet are filefrag's (compress=zstd)" {
    compare_dirty zstd extents --must-see "$DIRTY_FLAGS"
}

@test "sums of what is partly written are those of btrfs filesystem du (plain)" {
    compare_dirty plain sums --at-least 30
}

@test "sums of what is partly written are those of btrfs filesystem du (compress=zstd)" {
    compare_dirty zstd sums --at-least 30
}

@test "extents, flags and sums are filefrag's (plain)" {
    sync -f "$BATS_FILE_TMPDIR/plain"
    compare_trees plain extents --at-least 4000 --must-see "$ALL_FLAGS"
}

@test "extents, flags and sums are filefrag's (compress=zstd)" {
    sync -f "$BATS_FILE_TMPDIR/zstd"
    compare_trees zstd extents --at-least 4000 --must-see "$ALL_FLAGS"
}

@test "extents and sums within a range are filefrag's, cut (plain)" {
    compare_trees plain ranges --at-least 16000 --must-see "$ALL_FLAGS"
}

@test "extents and sums within a range are filefrag's, cut (compress=zstd)" {
    compare_trees zstd ranges --at-least 16000 --must-see "$ALL_FLAGS"
}

@test "sums of each file are those of btrfs filesystem du (plain)" {
    compare_trees plain sums --at-least 1200 --must-see "set shared"
}

@test "sums of each file are those of btrfs filesystem du (compress=zstd)" {
    compare_trees zstd sums --at-least 1200 --must-see "set shared"
}

@test "sums of each directory, set shared too, are those of btrfs filesystem du -s (plain)" {
    compare_trees plain sets --at-least 80 --must-see "set shared"
}

@test "sums of each directory, set shared too, are those of btrfs filesystem du -s (compress=zstd)" {
    compare_trees zstd sets --at-least 80 --must-see "set shared"
}

@test "bytes on disk are those of compsize (plain)" {
    compare_trees plain disk --at-least 400 --must-see none,prealloc,zstd
}

@test "bytes on disk are those of compsize (compress=zstd)" {
    compare_trees zstd disk --at-least 400 --must-see none,prealloc,zstd
}

@test "owners are those of logical-resolve, by their names (plain)" {
    compare_trees plain owners --at-least 15000 --must-see "$ALL_OWNERS"
}

@test "owners are those of logical-resolve, by their names (compress=zstd)" {
    compare_trees zstd owners --at-least 15000 --must-see "$ALL_OWNERS"
}

@test "decisions follow from the trees that dump-tree shows (plain)" {
    compare_trees plain why --at-least 5000 --must-see "$ALL_DECISIONS"
}

@test "decisions follow from the trees that dump-tree shows (compress=zstd)" {
    compare_trees zstd why --at-least 5000 --must-see "$ALL_DECISIONS"
}

# -- the comparison itself can fail --

# keep_answer COMPARISON: the true answer, which passes
keep_answer() {
    compare_tree plain 1/plain "$1" --save "$BATS_TEST_TMPDIR/$1"
    compare_tree plain 1/plain "$1" --answer "$BATS_TEST_TMPDIR/$1"
}

# expect_refusal COMPARISON JQ-FILTER: the doctored answer does not
expect_refusal() {
    local answer=$BATS_TEST_TMPDIR/$1 doctored=$BATS_TEST_TMPDIR/doctored

    jq "$2" "$answer" >"$doctored"
    [ "$(jq -c . "$answer")" != "$(jq -c . "$doctored")" ] || fail "the filter changes nothing"
    run -1 compare_tree plain 1/plain "$1" --answer "$doctored"
    [[ $output = *"fiemap-shared has "* ]]
}

SHARED='first(.["fiemap-shared"][] | select(.shared_count > 0))'

@test "control: one flag too few is noticed" {
    keep_answer extents
    expect_refusal extents "first(.[\"fiemap-shared\"][].extents[] |
        select(.flags | index(\"shared\"))).flags -= [\"shared\"]"
}

@test "control: one bytenr off by a block is noticed" {
    keep_answer extents
    expect_refusal extents "$SHARED.extents[0].bytenr += 4096"
}

@test "control: one extent too few is noticed" {
    keep_answer extents
    expect_refusal extents "del($SHARED.extents[0])"
}

@test "control: one sum off by a byte is noticed" {
    keep_answer extents
    expect_refusal extents "$SHARED.shared_bytes -= 1"
    keep_answer sums
    expect_refusal sums "$SHARED.total_bytes += 1"
    expect_refusal sums "$SHARED.exclusive_bytes += 1"
}

@test "control: bytes on disk off by one are noticed" {
    keep_answer disk
    expect_refusal disk 'first(.["fiemap-shared"][] | select(.disk_bytes > 0)).disk_bytes += 1'
    expect_refusal disk '.total.disk_bytes -= 1'
}

@test "control: one owner missing, or with another figure, is noticed" {
    keep_answer owners
    expect_refusal owners "del($SHARED.owners[0])"
    expect_refusal owners "$SHARED.owners[0].inode += 1"
    expect_refusal owners "$SHARED.owners[0].extent_count += 1"
    expect_refusal owners "$SHARED.owners[0].bytes -= 1"
    expect_refusal owners "$SHARED.owners[0].subvolume = \"elsewhere\""
}

@test "control: one decision changed is noticed" {
    keep_answer why
    expect_refusal why 'first(.["fiemap-shared"][].extents[] |
        select(.decision == "generation")).decision = "walk"'
    expect_refusal why "$SHARED.decisions.generation += 1"
}

@test "control: a file left out is noticed" {
    keep_answer sums
    expect_refusal sums 'del(.["fiemap-shared"][0])'
}

@test "control: too little to compare is a failure" {
    run -1 compare_tree plain 1/plain sums --at-least 1000000
    run -1 compare_tree plain 1/plain extents --must-see delalloc,nothing
}
