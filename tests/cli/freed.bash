# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A file system in $MNT on which each test of --freed begins with nothing but $MNT/program.

setup_file() {
    mount_btrfs 2G noatime
    put_program_for_nobody
}

teardown_file() {
    unmount_btrfs
    validate_documents
}

teardown() {
    local place

    while read -r place; do
        umount "$place"
    done < <(findmnt -rno TARGET | grep -e "^$BATS_TEST_TMPDIR/" | tac)
    find "$MNT" -depth -mindepth 1 -maxdepth 2 -inum 256 -exec btrfs -q subvolume delete {} +
    find "$MNT" -mindepth 1 -maxdepth 1 ! -name program -exec rm -rf {} +
    settle "$MNT"
}

# random FILE MIB [SEEK-MIB]
random() {
    dd if=/dev/urandom of="$1" bs=1M count="$2" seek="${3:-0}" conv=notrunc status=none
}

settle() {
    finish_deletions "$1"
    btrfs filesystem sync "$1"
}
