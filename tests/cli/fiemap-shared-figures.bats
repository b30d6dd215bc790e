#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# fiemap-shared on generated trees: every figure against another tool's.
# FASTPATH_SEEDS="3 4" tries more trees.

# bats runs each test in a subshell, which is what it should do, and its run sets some variables
# shellcheck disable=SC2030,SC2031,SC2154
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
ALL_OWNERS="owner,owner of itself,owner with several paths,inline data"

# describe_tree: names, sizes and contents of what does not change after it was made
describe_tree() {
    (
        cd "$1" || return
        find . -path ./dirty -prune -o -printf '%P %y %s %n\0' | sort -z | sha256sum
        find data other plain -type f -size -2M -print0 | sort -z | xargs -0 sha256sum | sha256sum
    )
}

# bats test_tags=slow
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

@test "sums of a partly written file equal btrfs filesystem du (plain)" {
    compare_dirty plain sums --at-least 30
}

@test "sums of a partly written file equal btrfs filesystem du (compress=zstd)" {
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

# bats test_tags=slow
@test "bytes on disk are those of compsize (compress=zstd)" {
    compare_trees zstd disk --at-least 400 --must-see none,prealloc,zstd
}

@test "owners are those of logical-resolve, by their names (plain)" {
    compare_trees plain owners --at-least 15000 --must-see "$ALL_OWNERS"
}

# bats test_tags=slow
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

# expect_refusal COMPARISON JQ-FILTER: the altered answer does not
expect_refusal() {
    local answer=$BATS_TEST_TMPDIR/$1 altered=$BATS_TEST_TMPDIR/altered

    jq "$2" "$answer" >"$altered"
    [ "$(jq -c . "$answer")" != "$(jq -c . "$altered")" ] || fail "the filter changes nothing"
    run -1 compare_tree plain 1/plain "$1" --answer "$altered"
    [[ $output = *"fiemap-shared has "* ]]
}

SHARED='first(.["fiemap-shared"][] | select(.shared_count > 0))'

# bats test_tags=slow
@test "control: one flag too few is noticed" {
    keep_answer extents
    expect_refusal extents "first(.[\"fiemap-shared\"][].extents[] |
        select(.flags | index(\"shared\"))).flags -= [\"shared\"]"
}

# bats test_tags=slow
@test "control: one bytenr off by a block is noticed" {
    keep_answer extents
    expect_refusal extents "$SHARED.extents[0].bytenr += 4096"
}

# bats test_tags=slow
@test "control: one extent too few is noticed" {
    keep_answer extents
    expect_refusal extents "del($SHARED.extents[0])"
}

# bats test_tags=slow
@test "control: one sum off by a byte is noticed" {
    keep_answer extents
    expect_refusal extents "$SHARED.shared_bytes -= 1"
    keep_answer sums
    expect_refusal sums "$SHARED.total_bytes += 1"
    expect_refusal sums "$SHARED.exclusive_bytes += 1"
}

# bats test_tags=slow
@test "control: bytes on disk off by one are noticed" {
    keep_answer disk
    expect_refusal disk 'first(.["fiemap-shared"][] | select(.disk_bytes > 0)).disk_bytes += 1'
    expect_refusal disk '.total.disk_bytes -= 1'
}

# bats test_tags=slow
@test "control: one owner missing, or with another figure, is noticed" {
    keep_answer owners
    expect_refusal owners "del($SHARED.owners[0])"
    expect_refusal owners "$SHARED.owners[0].inode += 1"
    expect_refusal owners "$SHARED.owners[0].extent_count += 1"
    expect_refusal owners "$SHARED.owners[0].bytes -= 1"
    expect_refusal owners "$SHARED.owners[0].subvolume = \"elsewhere\""
}

# bats test_tags=slow
@test "control: one decision changed is noticed" {
    keep_answer why
    expect_refusal why 'first(.["fiemap-shared"][].extents[] |
        select(.decision == "generation")).decision = "walk"'
    expect_refusal why "$SHARED.decisions.generation += 1"
}

# bats test_tags=slow
@test "control: a file left out is noticed" {
    keep_answer sums
    expect_refusal sums 'del(.["fiemap-shared"][0])'
}

# bats test_tags=slow
@test "control: too little to compare is a failure" {
    run -1 compare_tree plain 1/plain sums --at-least 1000000
    run -1 compare_tree plain 1/plain extents --must-see delalloc,nothing
}

# sums [OPTION...]: "PATH TOTAL EXCLUSIVE SHARED SET-SHARED" of each file in $TREE/own, and of all
sums() {
    "$FASTPATH" --format json fiemap-shared -r "$@" "$TREE/own" |
        jq -r '(."fiemap-shared"[] | "\(.path) \(.total_bytes) \(.exclusive_bytes) \(.shared_bytes)"),
            (.total | "total \(.total_bytes) \(.exclusive_bytes) \(.shared_bytes) \(.set_shared_bytes)")'
}

# Files of a subvolume, changed between snapshots of several kinds.
make_family() {
    local i seed=$1

    btrfs -q subvolume create "$TREE/own"
    btrfs -q subvolume create "$TREE/other"
    for i in {1..12}; do
        dd if=/dev/urandom of="$TREE/own/$i" bs=64k count=$((1 + (i * seed) % 20)) status=none
        [ $((i % 3)) -ne 0 ] || yes "$i $seed" | head -c 300000 >"$TREE/own/text-$i"
    done
    sync -f "$TREE"
    btrfs -q subvolume snapshot -r "$TREE/own" "$TREE/ro-1"
    cp --reflink=always "$TREE/own/1" "$TREE/other/clone"
    xfs_io -c "reflink $TREE/own/2 0 8m 64k" "$TREE/own/2" >/dev/null
    for i in 3 4 5; do
        dd if=/dev/urandom of="$TREE/own/$i" bs=4k count=1 seek=$((i + seed)) conv=notrunc status=none
    done
    [ $((seed % 2)) -eq 0 ] || btrfs -q subvolume snapshot "$TREE/own" "$TREE/writable"
    sync -f "$TREE"
    btrfs -q subvolume snapshot -r "$TREE/own" "$TREE/ro-2"
    # a read-only snapshot, but of another subvolume
    [ $((seed % 3)) -ne 0 ] || btrfs -q subvolume snapshot -r "$TREE/ro-1" "$TREE/second"
    dd if=/dev/urandom of="$TREE/own/6" bs=4k count=3 seek="$seed" conv=notrunc status=none
    cp --reflink=always "$TREE/own/7" "$TREE/own/copy-of-7"
    rm "$TREE/own/8"
    sync -f "$TREE"
}

@test "--ignore-snapshots: the figures are those after the snapshots are deleted" {
    local seed different=0

    for seed in 1 2 3 4 5 6; do
        TREE=$BATS_FILE_TMPDIR/plain/family-$seed
        mkdir "$TREE"
        make_family "$seed"
        sums >"$BATS_TEST_TMPDIR/with"
        sums --ignore-snapshots >"$BATS_TEST_TMPDIR/ignored"
        btrfs -q subvolume delete "$TREE"/ro-* >/dev/null
        finish_deletions "$TREE"
        sums >"$BATS_TEST_TMPDIR/without"
        diff "$BATS_TEST_TMPDIR/ignored" "$BATS_TEST_TMPDIR/without" || fail "seed $seed"
        cmp -s "$BATS_TEST_TMPDIR/with" "$BATS_TEST_TMPDIR/without" || different=$((different + 1))
    done
    [ "$different" -ge 3 ]
}

@test "--ignore-snapshots: snapshots of a subvolume with the same ID on another file system do not count" {
    local mount

    for mount in "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two"; do
        mkdir "$mount"
        truncate -s 300M "$mount.image"
        mkfs.btrfs -q "$mount.image" >/dev/null
        mount -o loop "$mount.image" "$mount"
        head -c 64K /dev/urandom >"$mount/file"
        sync -f "$mount"
        # The second snapshot has another ID than the first one.
        [ "$mount" = "$BATS_TEST_TMPDIR/one" ] || btrfs -q subvolume create "$mount/other"
        btrfs -q subvolume snapshot -r "$mount" "$mount/snapshot"
    done
    run "$FASTPATH" --format json fiemap-shared --ignore-snapshots "$BATS_TEST_TMPDIR/one/file" "$BATS_TEST_TMPDIR/two/file"
    umount "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two"
    [ "$status" -eq 0 ]
    [ "$(jq -c '[."fiemap-shared"[].exclusive_bytes]' <<<"$output")" = "[65536,65536]" ]
}

# pieces_of FILE: by filefrag, whose addresses are those of btrfs
pieces_of() {
    filefrag -v -b1 "$1" | awk '/^ *[0-9]+:/ { gsub(/[.:]/, " "); if ($4 != end) pieces++; end = $5 + 1 } END { print pieces + 0 }'
}

# bats test_tags=slow
@test "--fragments: pieces are those of filefrag (plain)" {
    local count=0 path pieces

    TREE=$BATS_FILE_TMPDIR/plain
    sync -f "$TREE"
    "$FASTPATH" --format json fiemap-shared -r --fragments "$TREE" >"$BATS_TEST_TMPDIR/report"
    while read -r pieces path; do
        # Of compressed data it has no length on disk, and of inline data no address.
        ! filefrag -v "$path" | grep -qE 'encoded|inline' || continue
        [ "$pieces" -eq "$(pieces_of "$path")" ] || fail "$path: $pieces, by filefrag $(pieces_of "$path")"
        count=$((count + 1))
    done < <(jq -r '."fiemap-shared"[] | select(.path | test("^[a-zA-Z0-9/._-]+$")) | "\(.piece_count) \(.path)"' "$BATS_TEST_TMPDIR/report" |
        shuf --random-source=/dev/zero -n 400)
    [ "$count" -ge 100 ]
}

@test "--groups: the sets are those of filefrag, block by block" {
    compare_trees plain groups --at-least 5 --must-see group
    compare_trees zstd groups --at-least 2 --must-see group,compressed
}

# groups OPTION...: bytes, number of files and paths of each
groups() {
    "$FASTPATH" --format json fiemap-shared --groups "$@" | jq -r '.groups[] | "\(.shared_bytes) \(.paths | join(" "))"'
}

@test "--groups: parts of an extent, names of one file, and files between others" {
    cd "$BATS_FILE_TMPDIR/plain"
    mkdir groups
    cd groups
    dd if=/dev/urandom of=whole bs=4M count=1 status=none
    sync -f .
    xfs_io -f -c 'reflink whole 0 0 2m' begin >/dev/null
    xfs_io -f -c 'reflink whole 1m 0 2m' middle >/dev/null
    xfs_io -f -c 'reflink whole 3m 0 1m' end >/dev/null
    rm whole
    [ "$(groups -r .)" = "1048576 ./begin ./middle" ] || fail "$(groups -r .)"
    # another name of a file is no other file, and what only others have does not count
    ln begin name
    [ "$(groups -r .)" = "1048576 ./begin ./middle" ] || fail "$(groups -r .)"
    [ -z "$(groups begin name end)" ]
    # a file with both parts, of which one comes twice
    xfs_io -f -c 'reflink end 0 0 1m' -c 'reflink begin 0 1m 1m' -c 'reflink begin 0 2m 1m' both >/dev/null
    [ "$(groups begin both end middle)" = "3145728 begin both end middle" ] || fail "$(groups begin both end middle)"
    [ "$(groups both end)" = "1048576 both end" ]
    # a file that shares only with itself
    dd if=/dev/urandom of=own bs=1M count=1 status=none
    xfs_io -c 'reflink own 0 1m 1m' own >/dev/null
    [ -z "$(groups own end)" ]
    # what only one of them has several times is not shared by both
    xfs_io -f -c 'reflink own 256k 0 512k' -c 'reflink own 0 512k 1m' twice >/dev/null
    xfs_io -f -c 'reflink own 128k 0 64k' other >/dev/null
    [ "$(groups twice other)" = "65536 other twice" ] || fail "$(groups twice other)"
    run -0 --separate-stderr "$FASTPATH" fiemap-shared -s --groups begin both end middle own
    [ "${lines[-1]}" = "   3.00MiB        4 'begin' 'both' 'end' and 1 more" ] || fail "$output"
    run -1 --separate-stderr "$FASTPATH" --format json fiemap-shared -s --groups begin both missing
    [ "$(jq -c '[.groups[].paths]' <<<"$output")" = '[["begin","both"]]' ] || fail "$output"
    run -1 --separate-stderr setpriv --bounding-set=-sys_admin "$FASTPATH" fiemap-shared -s --groups begin both
    [[ $stderr == "ERROR: --fragments, --groups and --rewrite require CAP_SYS_ADMIN (root); the rest of the report does not" ]] || fail "$stderr"
    [[ $output == *total* && $output != *Groups* ]] || fail "$output"
}

# fragments FILTER: of the last report on FILE
fragments() {
    "$FASTPATH" --format json fiemap-shared --fragments --disk "$FILE" | jq "(.\"fiemap-shared\"[0] | $1)"
}

@test "--fragments: a copy has no waste, and the disk the space" {
    local before i

    TREE=$BATS_FILE_TMPDIR/plain/fragments FILE=$TREE/file
    mkdir "$TREE"
    dd if=/dev/urandom of="$FILE" bs=1M count=8 status=none
    sync -f "$TREE"
    [ "$(fragments .waste_bytes)" -eq 0 ]
    for i in 3 9 27 81 243; do
        dd if=/dev/urandom of="$FILE" bs=4k seek="$i" count=7 conv=notrunc status=none
        sync "$FILE"
    done
    sync -f "$TREE"
    [ "$(fragments .waste_bytes)" -eq $((5 * 7 * 4096)) ]
    [ "$(fragments '.disk_bytes - .total_bytes - .waste_bytes')" -eq 0 ]
    [ "$(fragments .piece_count)" -eq "$(pieces_of "$FILE")" ]
    before=$(fragments .piece_count)

    # what a snapshot reads is no waste
    cp --reflink=always "$FILE" "$TREE/clone"
    sync -f "$TREE"
    [ "$(fragments .waste_bytes)" -eq 0 ]
    rm "$TREE/clone"
    sync -f "$TREE"
    btrfs filesystem sync "$TREE"
    [ "$(fragments .waste_bytes)" -eq $((5 * 7 * 4096)) ]

    cp --reflink=never "$FILE" "$TREE/copy"
    sync -f "$TREE"
    FILE=$TREE/copy
    [ "$(fragments .waste_bytes)" -eq 0 ]
    [ "$(fragments .piece_count)" -lt "$before" ]
    [ "$(fragments '.disk_bytes - .total_bytes')" -eq 0 ]
    # the end of an extent that was cut off
    truncate -s 1M "$TREE/copy"
    sync -f "$TREE"
    [ "$(fragments '.disk_bytes - .total_bytes - .waste_bytes')" -eq 0 ]
}

@test "--fragments: pieces of a compressed file are those in the tree" {
    local device pieces

    FILE=$BATS_FILE_TMPDIR/zstd/compressed
    yes compressed | head -c 8M >"$FILE"
    dd if=/dev/urandom of="$FILE" bs=4k seek=99 count=1 conv=notrunc status=none
    sync -f "$FILE"
    device=$(findmnt -no SOURCE -T "$FILE")
    pieces=$(btrfs inspect-internal dump-tree -t 5 "${device%%[*}" | awk -v inode="$(stat -c %i "$FILE")" '
        / key \(/ { own = index($0, "key (" inode " EXTENT_DATA ") }
        own && /extent data disk byte/ { if ($5 != end && $5 != last) pieces++; last = $5; end = $5 + $7 }
        END { print pieces + 0 }')
    [ "$(fragments .extent_count)" -ge 60 ]
    [ "$(fragments .piece_count)" -eq "$pieces" ] || fail "$(fragments .piece_count), not $pieces"
    [ "$pieces" -lt "$(fragments .extent_count)" ]
}

# disk_of DIRECTORY: of all files in it together
disk_of() {
    sync -f "$1"
    "$FASTPATH" --format json fiemap-shared -r -s --disk "$1" | jq .total.disk_bytes
}

# change_blocks FILE: writes small parts of it again
change_blocks() {
    local i

    for i in 3 9 27 81 243; do
        dd if=/dev/urandom of="$1" bs=4k seek="$i" count=7 conv=notrunc status=none
        sync "$1"
    done
}

@test "--rewrite: the printed command gains what was said" {
    local before commands gain name

    TREE=$BATS_FILE_TMPDIR/plain/rewrite
    mkdir "$TREE"
    cd "$TREE"
    for name in file -r "a b" $'quote \'\n \xff' "\$(touch x)"; do
        dd if=/dev/urandom of="./$name" bs=1M count=2 status=none
        truncate -s 5M "./$name"
        xfs_io -c 'falloc 3m 1m' "./$name"
        change_blocks "./$name"
        before=$(disk_of "$TREE")
        gain=$("$FASTPATH" --format json fiemap-shared --rewrite -- "$name" | jq .total.rewrite.gain_bytes)
        ((gain > 0)) || fail "$name: $gain"
        run -0 --separate-stderr "$FASTPATH" fiemap-shared --rewrite -- "$name"
        commands=$(sed -n 's/^Command: //p' <<<"$output")
        sha256sum <"./$name" >"$BATS_TEST_TMPDIR/sum"
        bash -c "$commands" || fail "$commands"
        sha256sum <"./$name" | cmp - "$BATS_TEST_TMPDIR/sum"
        [ $((before - $(disk_of "$TREE"))) -eq "$gain" ] || fail "$name: $before, $(disk_of "$TREE"), not $gain"
    done
    [ "$(find . -type f -printf x)" = xxxxx ]
    # It would overwrite another file, or replace a link by a copy.
    change_blocks file
    ln -s file link
    for name in link file; do
        : >file.new
        run -0 --separate-stderr "$FASTPATH" fiemap-shared --rewrite "$name"
        [[ $output == *"Rewrite: gains 140.00KiB"* && $output != *Command:* ]] || fail "$output"
        rm file.new
    done
}

# rewritten FILE: what a copy by cp really gains
rewritten() {
    local before

    before=$(disk_of "$TREE")
    cp --preserve=all --reflink=never "$1" "$TREE/new"
    mv "$TREE/new" "$1"
    echo $((before - $(disk_of "$TREE")))
}

@test "--rewrite: preallocated parts, holes and inline data" {
    local file gain

    TREE=$BATS_FILE_TMPDIR/plain/prealloc
    mkdir "$TREE"
    fallocate -l 4M "$TREE/full"
    dd if=/dev/urandom of="$TREE/full" bs=100K count=1 conv=notrunc status=none
    touch "$TREE/beyond"
    fallocate -l 4M --keep-size "$TREE/beyond"
    dd if=/dev/urandom of="$TREE/beyond" bs=100K count=1 conv=notrunc status=none
    truncate -s 3M "$TREE/hole"
    dd if=/dev/urandom of="$TREE/hole" bs=100K count=1 seek=3 conv=notrunc status=none
    fallocate -o 1M -l 1M "$TREE/hole"
    xfs_io -f -c 'falloc -k 2m 6m' -c 'pwrite -q 64k 64k' "$TREE/hole-and-beyond"
    fallocate -l 1M "$TREE/unwritten"
    echo inline >"$TREE/inline"
    truncate -s 1M "$TREE/empty"
    change_blocks "$TREE/full"
    sync -f "$TREE"
    for file in "$TREE"/*; do
        gain=$("$FASTPATH" --format json fiemap-shared --rewrite "$file" | jq .total.rewrite.gain_bytes)
        [ "$(rewritten "$file")" -eq "$gain" ] || fail "$file: $gain"
    done
}

@test "--rewrite: no command that another user can turn against root, or that fails" {
    TREE=$BATS_FILE_TMPDIR/plain/hostile
    mkdir -p "$TREE/theirs/below" "$TREE/ours"
    chown 65534 "$TREE/theirs"
    for DIR in theirs theirs/below ours; do
        dd if=/dev/urandom of="$TREE/$DIR/file" bs=1M count=2 status=none
        change_blocks "$TREE/$DIR/file"
        run -0 --separate-stderr "$FASTPATH" fiemap-shared --rewrite "$TREE/$DIR/file"
        [[ $output == *"Command: "* ]] && [ "$DIR" = ours ] || [[ $output == *'Commands: see'* && $DIR = theirs* ]] || fail "$DIR: $output"
    done
    chattr +i "$TREE/ours/file"
    run -0 --separate-stderr "$FASTPATH" fiemap-shared --rewrite "$TREE/ours/file"
    chattr -i "$TREE/ours/file"
    [[ $output == *'Commands: see'* ]] || fail "$output"
}

@test "--rewrite: no command where nothing can be written" {
    TREE=$BATS_FILE_TMPDIR/plain/writable
    btrfs subvolume create "$TREE" >/dev/null
    dd if=/dev/urandom of="$TREE/file" bs=1M count=2 status=none
    change_blocks "$TREE/file"
    btrfs property set "$TREE" ro true
    run -0 --separate-stderr "$FASTPATH" fiemap-shared --rewrite "$TREE/file"
    btrfs property set "$TREE" ro false
    expect_line 'Commands: none here, where the subvolume or the mount is read-only'
    [[ $output != *"Command: "* ]] || fail "$output"
}

@test "--rewrite: what a snapshot or a clone has costs space" {
    local before

    TREE=$BATS_FILE_TMPDIR/plain/costs
    mkdir "$TREE"
    dd if=/dev/urandom of="$TREE/file" bs=1M count=2 status=none
    change_blocks "$TREE/file"
    cp --reflink=always "$TREE/file" "$TREE/clone"
    before=$(disk_of "$TREE")
    run -0 --separate-stderr "$FASTPATH" fiemap-shared --rewrite "$TREE/file"
    expect_line 'Rewrite: costs 2.00MiB, because copies take 2.00MiB'
    expect_line 'Unshared: 2.00MiB, which the copies would no longer share'
    [[ $output != *Command* ]] || fail "$output"
    cp --reflink=never "$TREE/file" "$TREE/new"
    mv "$TREE/new" "$TREE/file"
    [ $(($(disk_of "$TREE") - before)) -eq $((2 << 20)) ]
    # files that share with each other
    run -0 "$FASTPATH" --format json fiemap-shared -s --rewrite "$TREE/file" "$TREE/clone"
    [ "$(jq .total.rewrite.copy_bytes <<<"$output")" -eq $((4 << 20)) ]
}

@test "--rewrite: for a NOCOW file, links and several files the page has the commands" {
    local text='Commands: see "Rewrite a file" in btrfs-inspect-fiemap-shared(8)'

    TREE=$BATS_FILE_TMPDIR/plain/others
    mkdir "$TREE"
    touch "$TREE/nocow"
    chattr +C "$TREE/nocow"
    for name in nocow one two; do
        dd if=/dev/urandom of="$TREE/$name" bs=1M count=2 status=none
        sync "$TREE/$name"
        truncate -s 500K "$TREE/$name"
    done
    ln "$TREE/one" "$TREE/link"
    for files in nocow 'one link' 'two nocow'; do
        # shellcheck disable=SC2086 # one or several
        run -0 --separate-stderr env -C "$TREE" "$FASTPATH" fiemap-shared --rewrite $files
        [ "${lines[-1]}" = "$text" ] || fail "$output"
    done
    # A file is not freed while it has another name.
    run -0 "$FASTPATH" --format json fiemap-shared --rewrite "$TREE/one"
    [ "$(jq .total.rewrite.gain_bytes <<<"$output")" -eq -512000 ]
    cd "$TREE"
    before=$(disk_of "$TREE")
    gain=$("$FASTPATH" --format json fiemap-shared --rewrite two | jq .total.rewrite.gain_bytes)
    sed -n 's/^    # \(cp --preserve=all --reflink=never FILE NEW .*\)/\1/p' \
        "$BATS_TEST_DIRNAME/../../man/btrfs-inspect-fiemap-shared.8.rst" | sed 's/FILE/two/g' | bash
    [ $((before - $(disk_of "$TREE"))) -eq "$gain" ]
}

@test "two file systems: an address of one has nothing to do with the same one of the other" {
    local i

    cd "$BATS_TEST_TMPDIR"
    for i in 1 2; do
        truncate -s 300M "$i.image"
        mkfs.btrfs -q -m single "$i.image" >/dev/null
        mkdir "$i"
        mount -o loop "$i.image" "$i"
        head -c 1M /dev/urandom >"$i/a"
        cp --reflink=always "$i/a" "$i/b"
        sync -f "$i"
    done
    [ "$(filefrag -v 1/a | sed -n '/ 0: /p')" = "$(filefrag -v 2/a | sed -n '/ 0: /p')" ]
    run -0 "$FASTPATH" --format json fiemap-shared -s --groups {1,2}/{a,b}
    "$FASTPATH" --format json fiemap-shared -e {1,2}/a >details
    umount 1 2
    [ "$(jq .total.set_shared_bytes <<<"$output")" -eq $((2 << 20)) ] || fail "$output"
    [ "$(jq -c '[.groups[].paths]' <<<"$output")" = '[["1/a","1/b"],["2/a","2/b"]]' ] || fail "$output"
    [ "$(jq .total.set_shared_bytes details)" -eq $((2 << 20)) ]
}
