#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# fiemap-shared --owners as root: the directories through which a subvolume is found belong to others.

bats_require_minimum_version 1.5.0
load ../cli/environment.bash

setup_file() {
    mount_btrfs 1G noatime
    mkdir -p "$MNT/home/user"
    btrfs -q subvolume create "$MNT/home/user/subvolume"
    head -c 100000 /dev/urandom >"$MNT/home/user/subvolume/file"
    cp --reflink=always "$MNT/home/user/subvolume/file" "$MNT/file"
    chown -R 65534 "$MNT/home/user"
    sync -f "$MNT"
}

setup() {
    OTHER=$BATS_TEST_TMPDIR/other
}

teardown() {
    for directory in "$OTHER" "$MNT/home"; do
        if mountpoint -q "$directory"; then
            umount "$directory"
        fi
    done
}

# owner_paths: of $MNT/file
owner_paths() {
    run -0 --separate-stderr "$FASTPATH" --format json fiemap-shared --owners "$MNT/file"
    json '.["fiemap-shared"][0].owners[] | "\(.mounted_at)/\(.path)"' | sort
}

@test "a subvolume is not searched for through a link or in another mount" {
    [ "$(owner_paths)" = "$MNT/home/user/subvolume/file" ] || fail "$(owner_paths)"

    # As if the link had come once the path was known; and the subvolume is mounted, too.
    mkdir "$OTHER"
    mount --bind "$MNT/home/user" "$OTHER"
    mount -t tmpfs none "$MNT/home"
    ln -s "$OTHER" "$MNT/home/user"
    [ "$(owner_paths)" = "$OTHER/subvolume/file" ] || fail "$(owner_paths)"
    rm "$MNT/home/user"
    mkdir "$MNT/home/user"
    ln -s "$OTHER/subvolume" "$MNT/home/user/subvolume"
    [ "$(owner_paths)" = "$OTHER/subvolume/file" ] || fail "$(owner_paths)"
}

@test "a mounted subvolume, of root's, and one within it" {
    mkdir "$OTHER"
    btrfs -q subvolume create "$MNT/home/user/subvolume/inner"
    cp --reflink=always "$MNT/file" "$MNT/home/user/subvolume/inner/file"
    mount --bind "$MNT/home/user/subvolume" "$OTHER"
    mount -t tmpfs none "$MNT/home"
    sync -f "$MNT"
    [ "$(owner_paths)" = "$(printf '%s\n' "$OTHER/file" "$OTHER/inner/file")" ] ||
        fail "$(owner_paths)"
}
