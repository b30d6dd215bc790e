#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What a file system, a stream or an option may hold although nobody expects it.

# bats' run sets stderr
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../cli/environment.bash

HERE=$BATS_TEST_DIRNAME
LITTLE_MEMORY=$top_builddir/tests/hostile/little-memory
# Enough for a busy machine; without an end only what never ends
ENDS=(timeout 60)

setup_file() {
    mount_btrfs 1G noatime
}

# set_inode_flags FILE FLAGS: on disk, where no call sets them
set_inode_flags() {
    local inode

    inode=$(stat -c %i "$1")
    umount "$MNT"
    PYTHONPATH=$HERE/../python python3 -B -c '
import sys
from fastpath_tests import inode_flags
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

# bats test_tags=slow
@test "directories that are renamed without end need no more memory and no more time each" {
    ! is_sanitized || skip "sanitizers keep what was freed"
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
    expect_line '.* \(path too long\)'
}

# many and other share 512 extents; parts and again 512 places within one that are not adjacent
share_many_extents() {
    [ ! -e "$MNT/many" ] || return 0
    for i in {0..511}; do
        echo "pwrite -q $((i * 8192)) 4096"
    done | xfs_io -f "$MNT/many" >/dev/null
    cp --reflink=always "$MNT/many" "$MNT/other"
    xfs_io -f -c "pwrite -q 0 4m" "$MNT/whole"
    for i in {0..511}; do
        echo "reflink -q $MNT/whole $((i * 8192)) $((i * 8192)) 4096"
    done | xfs_io -f "$MNT/parts" >/dev/null
    cp --reflink=always "$MNT/parts" "$MNT/again"
    sync -f "$MNT"
}

# sort_on_full_disk COMMAND...: where some of it is written, and then there is no room
sort_on_full_disk() {
    unshare --mount --propagation private sh -c '
        mount -t tmpfs -o size=4096 none /mnt
        TMPDIR=/mnt exec "$@"' - "$@"
}

@test "a full disk under the sort is named, and the total that needs it is unknown" {
    share_many_extents
    run -1 --separate-stderr sort_on_full_disk "$LITTLE_MEMORY" fiemap-shared "$MNT/parts" "$MNT/again"
    [ "$stderr" = "ERROR: cannot sort the shared extents in '/mnt': No space left on device" ]
    [[ ${lines[1]} =~ ^' '*2\.00MiB' '*0\.00B' '*2\.00MiB' '*-' '.*/parts ]]
    [[ ${lines[3]} =~ ^' '*4\.00MiB' '*0\.00B' '*4\.00MiB' '*-' '.*total$ ]]

    run -1 --separate-stderr sort_on_full_disk "$LITTLE_MEMORY" fiemap-shared --format json "$MNT/parts" "$MNT/again"
    expect_json '[.total.shared_bytes, .total.set_shared_bytes] | tojson' '[4194304,null]'
    expect_json '."fiemap-shared" | length' 2
}

@test "a full disk under the sort of owners is named, and the rest of the report made" {
    share_many_extents
    run -1 --separate-stderr sort_on_full_disk "$LITTLE_MEMORY" fiemap-shared --owners "$MNT/many"
    [ "$stderr" = "ERROR: cannot sort the extents of '$MNT/many' in '/mnt': No space left on device" ]
    expect_line ' *2\.00MiB .*/many'
    refuse_line 'Owners.*'

    run -1 --separate-stderr sort_on_full_disk "$LITTLE_MEMORY" fiemap-shared --format json --owners "$MNT/many"
    expect_json '."fiemap-shared"[0] | [.owners, .owner_disagreements, .shared_bytes] | tojson' '[null,null,2097152]'
}

@test "a sort in a temporary file has the same results as one in memory" {
    share_many_extents
    "$FASTPATH" fiemap-shared --owners "$MNT"/{many,other,parts,again} >"$BATS_TEST_TMPDIR/in-memory"
    "$LITTLE_MEMORY" fiemap-shared --owners "$MNT"/{many,other,parts,again} >"$BATS_TEST_TMPDIR/in-file"
    grep -q many "$BATS_TEST_TMPDIR/in-memory"
    diff "$BATS_TEST_TMPDIR/in-memory" "$BATS_TEST_TMPDIR/in-file"
}

# Of 2^63 - 1 bytes, with data in the first and in the last block
LARGEST=9223372036854775807
make_largest_file() {
    [ ! -e "$MNT/largest" ] || return 0
    echo first >"$MNT/largest"
    truncate -s $LARGEST "$MNT/largest"
    echo last | dd of="$MNT/largest" bs=1 seek=$((LARGEST - 5)) conv=notrunc status=none
    sync -f "$MNT"
}

@test "the largest file there can be has a map up to its end" {
    make_largest_file
    for option in --qemu --check --fiemap --timing --map; do
        run -0 --separate-stderr "${ENDS[@]}" "$FASTPATH" seek-map $option "$MNT/largest"
        [ -z "$stderr" ]
    done
    run -0 --separate-stderr "${ENDS[@]}" "$FASTPATH" seek-map --format json "$MNT/largest"
    # jq's numbers are not exact at this size
    grep -q "\"size\": $LARGEST" <<<"$output"
    grep -q '"data_bytes": 8191' <<<"$output"
    grep -q "\"hole_bytes\": $((LARGEST - 8191))" <<<"$output"
    expect_json '[."seek-map"[0].segments[].type] | join(" ")' "data hole data"

    for command in fiemap-shared "fiemap-shared --map --why --timing" "nocow-check --extents"; do
        # shellcheck disable=SC2086 # words
        run -0 --separate-stderr "${ENDS[@]}" "$FASTPATH" $command "$MNT/largest"
        [ -z "$stderr" ]
    done
    run -0 --separate-stderr "${ENDS[@]}" "$FASTPATH" nocow-check --format json "$MNT/largest"
    expect_json '."nocow-check"[0] | [.complete, .cow_bytes] | tojson' '[true,8192]'
}

@test "nothing is after the end of the largest file" {
    make_largest_file
    echo data >"$MNT/small"
    for range in 15E:1E 8E:8E 15E 9223372036854775807:1 18446744073709551615 1:18446744073709551615; do
        for command in "seek-map --fiemap" seek-map "fiemap-shared --extents" fiemap-shared "nocow-check --extents" nocow-check; do
            # shellcheck disable=SC2086 # words
            run -0 --separate-stderr "${ENDS[@]}" "$FASTPATH" $command --range $range "$MNT/small" "$MNT/largest"
            [ -z "$stderr" ] || fail "$command --range $range: $stderr"
        done
    done
    for range in 16E 0:16E 18446744073709551616 99999999999999999999E; do
        run -1 --separate-stderr "$FASTPATH" seek-map --range $range "$MNT/small"
        [ "$stderr" = "ERROR: invalid range '$range' (OFFSET and LENGTH must fit into 64 bits)" ]
    done
}

# is_taken OPTION...: whether a terminal that the option opens controls the program after that
is_taken() {
    python3 -B - "$FASTPATH" "$@" <<'PYTHON'
import contextlib, os, subprocess, sys, time

# The list is read by a copy of the process. A file may be closed after its name was read.
def has_opened(pid, path):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        pids = [pid, *children.read().split()]
    for link in (link for pid in pids for link in os.scandir(f"/proc/{pid}/fd")):
        with contextlib.suppress(FileNotFoundError):
            if os.readlink(link.path) == path:
                return True
    return False

master, slave = os.openpty()
path = os.ttyname(slave)
child = subprocess.Popen([*sys.argv[1:], path], start_new_session=True, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not has_opened(child.pid, path):
    assert child.poll() is None
    time.sleep(0.01)
with open(f"/proc/{child.pid}/stat") as stat:
    terminal = int(stat.read().rpartition(")")[2].split()[4])
child.kill()
child.wait()
sys.exit(0 if terminal else 3)
PYTHON
}

@test "a terminal that is read from is not taken for the controlling one" {
    run -3 is_taken send-reada --decode
    run -3 is_taken fiemap-shared --files0-from
}

# bats test_tags=slow
@test "a tree deeper than the limit of open files" {
    local command limit number deep=$MNT/deep

    mkdir "$deep"
    for number in {1..150}; do
        deep+=/d
        mkdir "$deep"
        echo x >"$deep/$number"
    done
    for command in fiemap-shared nocow-check seek-map; do
        for limit in -Sn\ 64 -n\ 64 -n\ 24; do
            run -0 --separate-stderr bash -c 'ulimit '"$limit"'; exec "$@"' bash \
                "$FASTPATH" --format json "$command" -r "$MNT/deep"
            expect_json .total.file_count 150
            expect_json "[.[\"$command\"][].path] | unique | length" 150
            [ -z "$stderr" ] || fail "$stderr"
        done
        # Where there are too few even so, what is missing is told.
        run -1 --separate-stderr bash -c 'ulimit -n 7; exec "$@"' bash \
            "$FASTPATH" --format json "$command" -r "$MNT/deep"
        [[ $stderr = "ERROR: cannot "*": Too many open files"* ]] || fail "$stderr"
    done
}
