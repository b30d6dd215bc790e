#!/usr/bin/env bats
# What a file system, a stream or an option may hold although nobody expects it.

bats_require_minimum_version 1.5.0
load ../cli/environment.bash

HERE=$BATS_TEST_DIRNAME
# Enough for a busy machine; without an end only what never ends
ENDS=(timeout 60)

setup_file() {
    mount_btrfs 1G noatime
}

teardown_file() {
    unmount_btrfs
}

# set_inode_flags FILE FLAGS: on disk, where no call sets them
set_inode_flags() {
    local inode

    inode=$(stat -c %i "$1")
    umount "$MNT"
    PYTHONPATH=$HERE/../kernel python3 -B -c '
import sys, inode_flags
image, inode, flags = sys.argv[1:]
inode_flags.set_inode_flags(image, inode_flags.FS_TREE, {int(inode): int(flags, 0)})
' "$IMAGE" "$inode" "$2"
    mount -o loop,noatime "$IMAGE" "$MNT"
}

@test "the highest flag of an inode is a number, and the report ends" {
    echo data >"$MNT/flags"
    set_inode_flags "$MNT/flags" 0x80000012

    run -0 --separate-stderr "${ENDS[@]}" "$FASTPATH" nocow-check --format json "$MNT/flags"
    expect_json '."nocow-check"[0].inode_flags | join(" ")' "nodatacow prealloc 0x80000000"
    run -0 --separate-stderr "${ENDS[@]}" "$FASTPATH" nocow-check --extents "$MNT/flags"
    expect_line 'Flags: .*0x80000000'
}
