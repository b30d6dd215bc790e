#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# nocow-check --swap: its answers, compared with what swapon says of the same file.

# bats' run sets stderr, and it runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load environment.bash

setup_file() {
    mount_btrfs 1G noatime
    put_program_for_nobody
    make_swap_file "$MNT/control"
    swapon "$MNT/control" || skip "no swap on this machine"
    swapoff "$MNT/control"
}

setup() {
    DIR=$MNT/directory
    mkdir "$DIR"
    FILE=$DIR/file
}

teardown() {
    swapoff "$FILE" 2>/dev/null || true
    chattr -R -ia "$DIR" 2>/dev/null || true
    if mountpoint -q "$BATS_TEST_TMPDIR/other"; then umount "$BATS_TEST_TMPDIR/other"; fi
    # shellcheck disable=SC2086 # several
    if [ -n "${devices-}" ]; then losetup -d $devices; fi
    find "$DIR" -inum 256 -mindepth 1 -exec btrfs property set {} ro false \; -exec btrfs subvolume delete {} + >/dev/null
    rm -rf "$DIR"
}

# make_swap_file FILE [SIZE]
make_swap_file() {
    touch "$1"
    chmod 600 "$1"
    chattr +C "$1"
    fallocate -l "${2-16M}" "$1"
    mkswap -q "$1" >/dev/null
}

# expect_yes FILE: and swapon takes it
expect_yes() {
    run -0 --separate-stderr "$FASTPATH" nocow-check --swap "$1"
    [ "$output" = "Usable as swap: '$1': yes" ]
    swapon "$1"
    swapoff "$1"
}

# expect_no FILE OBSTACLE...: all of them, and no others, and swapon does not take it
expect_no() {
    run -64 --separate-stderr "$FASTPATH" --format json nocow-check --swap "$1"
    swap=$(jq -c '."nocow-check"[0].swap' <<<"$output")
    [ "$(jq -r '"\(.usable) \([.obstacles[].obstacle] | join(" "))"' <<<"$swap")" = "false ${*:2}" ] || fail "$swap"
    run ! swapon "$1"
}

# mount_other COUNT MKFS-OPTION...: another file system of as many devices
mount_other() {
    local count=$1 image

    shift
    devices=
    for ((; count; count--)); do
        image=$BATS_TEST_TMPDIR/other.$count
        truncate -s 300M "$image"
        devices+=" $(losetup --show -f "$image")"
    done
    # shellcheck disable=SC2086 # words
    mkfs.btrfs -q -f "$@" $devices >/dev/null
    mkdir "$BATS_TEST_TMPDIR/other"
    # shellcheck disable=SC2086 # words
    mount ${devices##* } "$BATS_TEST_TMPDIR/other"
}

@test "a swap file" {
    make_swap_file "$FILE"
    expect_yes "$FILE"
}

@test "a swap file in use" {
    make_swap_file "$FILE"
    swapon "$FILE"
    expect_no "$FILE" active
}

@test "a file that is copied on write" {
    fallocate -l 16M "$FILE"
    chmod 600 "$FILE"
    mkswap -q "$FILE"
    expect_no "$FILE" copy_on_write checksums
}

@test "a file without a signature, and one with another" {
    make_swap_file "$FILE"
    dd if=/dev/zero of="$FILE" bs=4096 count=1 conv=notrunc,fsync status=none
    expect_no "$FILE" no_signature
    mkswap -q "$FILE"
    expect_yes "$FILE"
    # a bad page
    printf '\1\0\0\0' | dd of="$FILE" bs=1 seek=1032 conv=notrunc,fsync status=none
    expect_no "$FILE" no_signature
    printf 'SWAP-SPACE' | dd of="$FILE" bs=1 seek=4086 conv=notrunc,fsync status=none
    expect_no "$FILE" no_signature
}

@test "a file that was cut after mkswap, by a page and by a part of one" {
    make_swap_file "$FILE"
    truncate -s $((16777216 - 1)) "$FILE"
    expect_no "$FILE" too_short
    mkswap -q "$FILE"
    expect_yes "$FILE"
}

@test "holes: at the begin, in the middle, at the end" {
    make_swap_file "$FILE"
    fallocate --punch-hole -o 1M -l 64K "$FILE"
    fallocate --punch-hole -o 4M -l 1M "$FILE"
    expect_no "$FILE" holes
    [ "$(jq -c '.obstacles[0] | [.bytes, .first_offset]' <<<"$swap")" = "[1114112,1048576]" ]
    rm "$FILE"
    make_swap_file "$FILE"
    truncate -s 20M "$FILE"
    expect_no "$FILE" holes
    [ "$(jq -c '.obstacles[0] | [.bytes, .first_offset]' <<<"$swap")" = "[4194304,16777216]" ]
}

@test "a part that is shared by a reflink" {
    make_swap_file "$FILE"
    touch "$DIR/other"
    chattr +C "$DIR/other"
    xfs_io -f -c "reflink $FILE 1048576 0 65536" "$DIR/other" >/dev/null
    sync "$DIR/other"
    expect_no "$FILE" shared
    rm "$DIR/other"
    btrfs filesystem sync "$MNT" >/dev/null
    expect_yes "$FILE"
}

@test "a snapshot shares it, and no longer" {
    btrfs subvolume create "$DIR/subvolume" >/dev/null
    make_swap_file "$DIR/subvolume/file"
    sync -f "$MNT"
    btrfs subvolume snapshot -r "$DIR/subvolume" "$DIR/snapshot" >/dev/null
    expect_no "$DIR/subvolume/file" shared
    expect_no "$DIR/snapshot/file" read_only shared
    btrfs subvolume delete "$DIR/snapshot" >/dev/null
    finish_deletions "$MNT"
    expect_yes "$DIR/subvolume/file"
}

@test "compression: the flag, and the data" {
    head -c 16M /dev/zero >"$FILE"
    chmod 600 "$FILE"
    mkswap -q "$FILE"
    btrfs filesystem defragment -c "$FILE"
    sync "$FILE"
    chattr +c "$FILE"
    expect_no "$FILE" compress_flag copy_on_write checksums compressed
}

@test "a file with inline data" {
    touch "$FILE"
    chattr +C "$FILE"
    printf x >"$FILE"
    sync "$FILE"
    run -64 --separate-stderr "$FASTPATH" nocow-check --swap "$FILE"
    [[ $output == *'it has no valid swap signature: run mkswap' ]]
    run ! swapon "$FILE"
}

@test "an immutable file" {
    make_swap_file "$FILE"
    chattr +i "$FILE"
    expect_no "$FILE" not_writable
    chattr -i "$FILE"
    expect_yes "$FILE"
}

@test "data with two copies" {
    mount_other 1 -m single -d dup
    FILE=$BATS_TEST_TMPDIR/other/file
    make_swap_file "$FILE"
    expect_no "$FILE" profile
}

@test "on one of two devices, and on both" {
    local other=$BATS_TEST_TMPDIR/other size

    mount_other 2 -m raid1 -d single
    FILE=$other/file
    make_swap_file "$FILE"
    expect_yes "$FILE"
    rm "$FILE"
    for size in 420M 380M 340M 300M; do
        make_swap_file "$FILE" "$size" && break
        rm "$FILE"
    done
    expect_no "$FILE" devices
}

@test "on a seed device" {
    local other=$BATS_TEST_TMPDIR/other first second

    mount_other 1 -m single -d single
    FILE=$other/file
    make_swap_file "$FILE"
    expect_yes "$FILE"
    umount "$other"
    first=${devices##* }
    btrfstune -S 1 "$first"
    truncate -s 300M "$BATS_TEST_TMPDIR/sprout"
    second=$(losetup --show -f "$BATS_TEST_TMPDIR/sprout")
    devices+=" $second"
    mount "$first" "$other" 2>/dev/null
    btrfs device add -f "$second" "$other" >/dev/null
    mount -o remount,rw "$other"
    expect_no "$FILE" read_only_device
}

@test "several files, and those that cannot be swap at all" {
    make_swap_file "$FILE"
    : >"$DIR/empty"
    run -64 --separate-stderr "$FASTPATH" nocow-check --swap "$FILE" "$DIR/empty"
    [ "${lines[0]}" = "Usable as swap: '$FILE': yes" ] || fail "$output"
    [ "${lines[1]}" = "Usable as swap: '$DIR/empty': no" ]
    run -1 --separate-stderr "$FASTPATH" nocow-check --swap /dev/null
    [ -z "$output" ]
}

@test "without root a part is unknown" {
    make_swap_file "$FILE"
    chmod 644 "$FILE"
    run -1 --separate-stderr as_nobody "$MNT/program" nocow-check --swap "$FILE" || fail "$output"
    [ "$output" = "Usable as swap: '$FILE': unknown: run nocow-check as root" ]
    fallocate --punch-hole -o 4M -l 1M "$FILE"
    run -64 --separate-stderr as_nobody "$MNT/program" nocow-check --swap "$FILE"
    [[ $output == *'it has holes' ]]
}

@test "the commands of the page make a swap file" {
    local commands

    mapfile -t commands < <(awk '/^Make a swap file$/ { found = 1 } found && /^    # / { print substr($0, 7); lines++ } lines && /^[^ ]/ { exit }' \
        "$(dirname "$BATS_TEST_FILENAME")/../../man/btrfs-inspect-nocow-check.8.rst")
    [ "${#commands[@]}" -ge 3 ]
    cd "$DIR"
    for command in "${commands[@]}"; do
        [[ $command == swapon* ]] || eval "$command"
    done
    expect_yes "$DIR/swap/swapfile"
}
