# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A file system in $MNT on which each test of --freed begins with nothing but $MNT/program.

setup_file() {
    mount_btrfs 2G noatime
    put_program_for_nobody
}

teardown() {
    unmount_places
    find "$MNT" -depth -mindepth 1 -maxdepth 2 -inum 256 -exec btrfs -q subvolume delete {} +
    find "$MNT" -mindepth 1 -maxdepth 1 ! -name program -exec rm -rf {} +
    settle "$MNT"
}

settle() {
    finish_deletions "$1"
    btrfs filesystem sync "$1"
}

# make_days: snapshots of the subvolume v. Each has 2 MiB that are overwritten then, and 1 MiB of its own
make_days() {
    local day

    for day in monday tuesday wednesday; do
        random "$MNT/v/file" 2
        random "$MNT/v/$day" 1
        sync -f "$MNT"
        btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/$day"
        rm "$MNT/v/$day"
    done
    random "$MNT/v/file" 2
    sync -f "$MNT"
}
