#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What an image says that somebody made by hand: no command runs for ever, and none prints nonsense as a figure.

# bats runs each test in a subshell, which is what it should do; its run sets stderr
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load ../cli/environment.bash

EDIT=$BATS_TEST_DIRNAME/edit-image
# trees and types of items
ROOT_TREE=1 EXTENT_TREE=2 FS_TREE=5
INODE_ITEM=1 EXTENT_DATA=108 ROOT_ITEM=132 ROOT_BACKREF=144 EXTENT_ITEM=168
HUGE=0x7ffffffffffff000

# A subvolume, a/ with file f and its clone g, and a snapshot of it; in a/b a nested one; and a clone at the top level
setup_file() {
    local mount=$BATS_FILE_TMPDIR/made

    export IMAGE=$BATS_FILE_TMPDIR/image
    mkdir "$mount"
    truncate -s 256M "$IMAGE"
    mkfs.btrfs -q -m single "$IMAGE" >/dev/null
    mount -o loop,noatime "$IMAGE" "$mount"
    btrfs subvolume create "$mount/a" >/dev/null
    btrfs subvolume create "$mount/a/b" >/dev/null
    head -c 1M /dev/urandom >"$mount/a/f"
    sync -f "$mount"
    cp --reflink=always "$mount/a/f" "$mount/a/b/g"
    cp --reflink=always "$mount/a/f" "$mount/h"
    btrfs subvolume snapshot -r "$mount/a" "$mount/snapshot" >/dev/null
    umount "$mount"
}

setup() {
    MNT=$BATS_TEST_TMPDIR/mnt
    mkdir "$MNT"
    cp --sparse=always "$IMAGE" "$BATS_TEST_TMPDIR/image"
}

teardown() {
    if mountpoint -q "$MNT"; then
        umount "$MNT"
    fi
}

# edit TREE OBJECTID TYPE OFFSET VALUE SIZE
edit() {
    "$EDIT" "$BATS_TEST_TMPDIR/image" "$@"
}

mount_edited() {
    mount -o loop,ro "$BATS_TEST_TMPDIR/image" "$MNT"
}

# limited COMMAND ARGUMENT...: with a limit of time, and of memory unless sanitizers need more
limited() {
    if is_sanitized; then
        timeout 60 "$FASTPATH" "$@"
    else
        (ulimit -v 500000 && exec timeout 60 "$FASTPATH" "$@")
    fi
}

@test "two subvolumes that are in each other" {
    edit $ROOT_TREE 256 $ROOT_BACKREF key 257 8
    mount_edited
    run -1 --separate-stderr limited fiemap-shared --owners "$MNT/h"
    [[ $stderr == *"ERROR: the backreferences (ROOT_BACKREF) of subvolume 256 form a loop"* ]]
    expect_line '\(unknown\) +256 .*'
    run -1 --separate-stderr limited --format json fiemap-shared -rs --owners "$MNT"
    [[ $stderr == *"form a loop"* ]]
    expect_json '.owner_summary | map(select(.subvolid == 257)) | .[0].subvolume' null
}

@test "a subvolume that is in itself" {
    edit $ROOT_TREE 256 $ROOT_BACKREF key 256 8
    mount_edited
    run -1 --separate-stderr limited fiemap-shared --owners "$MNT/h"
    [[ $stderr == *"ERROR: the backreferences (ROOT_BACKREF) of subvolume 256 form a loop"* ]]
}

@test "a subvolume with an invalid name" {
    # the name comes after 18 bytes: "a" becomes "/"
    edit $ROOT_TREE 256 $ROOT_BACKREF 18 0x2f 1
    mount_edited
    run -1 --separate-stderr limited fiemap-shared --owners "$MNT/h"
    [[ $stderr == *"ERROR: cannot find the path of subvolume 256: Protocol error"* ]]
}

# expect_refused FILE COMMAND...: an error about the file, and no figure of more than the image has
expect_refused() {
    local file=$1

    shift
    run -1 --separate-stderr limited --format json "$@"
    [[ $stderr == *"ERROR: "*"'$file': Protocol error"* ]] || fail "$stderr"
    expect_json '[.. | numbers | select(. > 268435456)] | length' 0
}

# bats test_tags=slow
@test "sizes and generations of file extents that cannot be" {
    local field

    # disk_num_bytes, offset and num_bytes, which FIEMAP does not check; generation
    for field in "29 $HUGE" "37 $HUGE" "45 $HUGE" "29 0x10001000" "45 0x101000" "0 $HUGE"; do
        cp --sparse=always "$IMAGE" "$BATS_TEST_TMPDIR/image"
        # shellcheck disable=SC2086
        edit $FS_TREE any $EXTENT_DATA $field 8
        mount_edited
        expect_refused "$MNT/h" fiemap-shared --freed --disk "$MNT/h"
        expect_json '[.total.freed, .total.disk_bytes] | tojson' '[null,null]'
        [[ $field != 45* ]] || [[ $field != *$HUGE ]] || {
            expect_refused "$MNT/h" fiemap-shared "$MNT/h"
            expect_refused "$MNT/h" nocow-check "$MNT/h"
        }
        umount "$MNT"
    done
}

@test "a file of more than 8 EiB" {
    local command

    edit $FS_TREE any $INODE_ITEM 16 0xfffffffffffff000 8
    mount_edited
    for command in fiemap-shared seek-map nocow-check; do
        run -1 --separate-stderr limited --format json $command "$MNT/h"
        [[ $stderr == "ERROR: the size of the file is damaged: '$MNT/h'"* ]] || fail "$stderr"
        expect_json '[.. | numbers | select(. > 268435456)] | length' 0
    done
}

@test "more references than there are" {
    edit $EXTENT_TREE any $EXTENT_ITEM 0 0x10000000000 8
    mount_edited
    run -0 --separate-stderr limited --format json fiemap-shared --freed -rs "$MNT"
    expect_json .total.freed.freed_bytes 1048576
    run -0 --separate-stderr limited --format json nocow-check -rs "$MNT"
}

@test "a subvolume with more metadata than its devices have" {
    local snapshot

    mount_edited
    snapshot=$(btrfs inspect-internal rootid "$MNT/snapshot")
    umount "$MNT"
    # bytes_used of the root item
    edit $ROOT_TREE "$snapshot" $ROOT_ITEM 192 0xffffffffffffffff 8
    mount_edited
    run -0 --separate-stderr limited --format json send-reada "$MNT/snapshot"
    expect_json '."send-reada".metadata_bytes' null
    run -0 --separate-stderr limited send-reada "$MNT/snapshot"
    [[ $output != *EiB* ]]
    expect_line 'Metadata: unknown in .*'
}
