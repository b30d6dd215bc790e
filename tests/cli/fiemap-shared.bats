#!/usr/bin/env bats
# fiemap-shared on single files: what it prints, and how it fails.

bats_require_minimum_version 1.5.0
load environment.bash

setup_file() {
    mount_btrfs 1G
    dd if=/dev/urandom of="$MNT/file" bs=1M count=4 status=none
    sync -f "$MNT"
    cp --reflink=always "$MNT/file" "$MNT/clone"
    sync -f "$MNT"
}

teardown_file() {
    unmount_btrfs
}

@test "a reflinked file is shared as a whole" {
    run -0 "$FASTPATH" --format json fiemap-shared "$MNT/file"
    [ "$(json '."fiemap-shared"[0].shared_bytes')" = 4194304 ]
    [ "$(json '.total.exclusive_bytes')" = 0 ]
}

@test "a directory needs -r" {
    run -1 "$FASTPATH" fiemap-shared "$MNT"
    [[ $output = *"is a directory"* ]]
}
