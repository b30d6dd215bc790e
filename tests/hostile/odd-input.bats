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

# peak_kib COMMAND...: its largest resident memory, if it succeeds before too long
peak_kib() {
    python3 -B -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, timeout=60, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
' "$@"
}

@test "directories that are renamed without end need no more memory and no more time each" {
    for kind in into-itself deep many; do
        for mebibytes in 1 8; do
            "$HERE/make-renames" "$kind" "$mebibytes" >"$BATS_TEST_TMPDIR/$kind-$mebibytes"
        done
        less=$(peak_kib "$FASTPATH" send-reada --top 1000 --decode "$BATS_TEST_TMPDIR/$kind-1")
        more=$(peak_kib "$FASTPATH" send-reada --top 1000 --decode "$BATS_TEST_TMPDIR/$kind-8")
        ((more < less + 4096)) || fail "$kind: 1 MiB of stream takes $less KiB, 8 MiB take $more KiB"
    done
}

@test "a path that renames made too long is no name, and its bytes count" {
    "$HERE/make-renames" into-itself 1 >"$BATS_TEST_TMPDIR/stream"

    run -0 --separate-stderr "$FASTPATH" send-reada --format json --top 3 --decode "$BATS_TEST_TMPDIR/stream"
    expect_json '."send-reada".top | map(.path, .stream_bytes > 1048576) | tojson' '[null,true,null,true,null,true]'
    expect_json '."send-reada".top | length' 3
    run -0 --separate-stderr "$FASTPATH" send-reada --top 3 --decode "$BATS_TEST_TMPDIR/stream"
    expect_line '.* \(longer than a path can be\)'
}
