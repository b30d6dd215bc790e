# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Locks of inodes that another process holds for as long as a test likes.

HOLDERS=()
LOCK_MOUNTS=()

# hold_inode_lock FILE MOUNT-POINT: MOUNT-POINT is made; see hostile/hold-inode-lock
hold_inode_lock() {
    mkdir "$2"
    "${BATS_TEST_DIRNAME%/*}/hostile/hold-inode-lock" "$1" "$2" >"$2.held" 2>&1 3>&- &
    HOLDERS+=($!)
    LOCK_MOUNTS+=("$2")
    until [ -s "$2.held" ]; do
        is_running "${HOLDERS[-1]}" || skip "no FUSE in this kernel"
        sleep 0.05
    done
    [ "$(<"$2.held")" = held ] || skip "no FUSE in this kernel"
}

# All of them. Also waits for what was waiting.
release_inode_locks() {
    local mount_point holder

    for holder in "${HOLDERS[@]}"; do
        kill "$holder" 2>/dev/null || true
        wait "$holder" || true
    done
    for mount_point in "${LOCK_MOUNTS[@]}"; do
        # busy for as long as what was waiting ends
        umount --lazy "$mount_point" 2>/dev/null || true
        rmdir "$mount_point" && rm -f "$mount_point.held"
    done
    HOLDERS=()
    LOCK_MOUNTS=()
}
