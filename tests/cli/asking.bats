#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A question leaves the file system as it was: no time of access, and so no metadata, is changed.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load environment.bash

setup_file() {
    mount_btrfs 1G
    put_program_for_nobody
    btrfs subvolume create "$MNT/home" >/dev/null
    mkdir -p "$MNT"/home/{a,b}/{1..20}
    for file in "$MNT"/home/{a,b}/*; do
        head -c 300 /dev/urandom >"$file/tiny"
    done
    head -c 300K /dev/urandom >"$MNT/home/file"
    cp --reflink=always "$MNT/home/file" "$MNT/home/clone"
    touch "$MNT/home/nocow"
    chattr +C "$MNT/home/nocow"
    head -c 64K /dev/urandom >"$MNT/home/nocow"
    btrfs subvolume snapshot -r "$MNT/home" "$MNT/first" >/dev/null
    btrfs send -q -f "$MNT/home/stream" "$MNT/first"
    chmod 644 "$MNT/home/stream"
    find "$MNT/home" -type f -print0 >"$MNT/home/list"
    find "$MNT/home" -depth -exec touch -a -d '3 days ago' {} +
    btrfs subvolume snapshot "$MNT/home" "$MNT/snapshot" >/dev/null
    sync -f "$MNT"
}

# state: all times of access, what subvolumes were changed, and the bytes of metadata
state() {
    sync -f "$MNT"
    find "$MNT" -printf '%A+ %p\n'
    btrfs subvolume list "$MNT"
    btrfs filesystem df --raw "$MNT"
}

# Each reads directories or files of "snapshot", which shares all of its metadata with "home".
questions() {
    cd "$MNT" || return
    "$@" fiemap-shared -r snapshot
    "$@" fiemap-shared --freed --disk --owners -rs snapshot
    "$@" fiemap-shared --fragments --groups --rewrite -r snapshot
    "$@" fiemap-shared --files0-from home/list
    "$@" seek-map -r snapshot
    "$@" nocow-check -r snapshot
    "$@" send-reada --decode home/stream
    "$@" send-reada --estimate first
    "$@" send-reada --data first
    "$@" status snapshot
    "$@" collect --config "$BATS_TEST_TMPDIR/collect.conf" --output -
}

@test "commands that only ask change nothing" {
    local options before

    printf 'check %s %s -r\n' freed "fiemap-shared --freed -s $MNT/snapshot" seek "seek-map $MNT/snapshot" \
        nocow "nocow-check $MNT/snapshot" >"$BATS_TEST_TMPDIR/collect.conf"
    for options in atime,relatime strictatime strictatime,lazytime; do
        # or reading the state would set them
        mount -o remount,noatime "$MNT"
        before=$(state)
        mount -o "remount,$options" "$MNT"
        questions "$FASTPATH" >/dev/null
        mount -o remount,noatime "$MNT"
        diff <(echo "$before") <(state)
    done
}

@test "a warning tells whoever cannot read directories without changing them" {
    local warning="WARNING: reading directories of other users can set their times of access, which changes metadata"

    mount -o remount,atime,relatime "$MNT"
    run -0 --separate-stderr as_nobody "$MNT/program" seek-map -r "$MNT/snapshot"
    [ "$stderr" = "$warning" ] || fail "$stderr"
    run -0 --separate-stderr as_nobody "$MNT/program" -q seek-map -r "$MNT/snapshot"
    [ -z "$stderr" ] || fail "$stderr"
    run -0 --separate-stderr as_nobody "$MNT/program" seek-map -r "$MNT/first"
    [ -z "$stderr" ] || fail "$stderr"
    chown -R 65534 "$MNT/snapshot"
    run -0 --separate-stderr as_nobody "$MNT/program" seek-map -r "$MNT/snapshot"
    [ -z "$stderr" ] || fail "$stderr"
    run -0 --separate-stderr "$FASTPATH" seek-map -r "$MNT/home"
    [ -z "$stderr" ] || fail "$stderr"
    mount -o remount,noatime "$MNT"
    run -0 --separate-stderr as_nobody "$MNT/program" seek-map -r "$MNT/home"
    [ -z "$stderr" ] || fail "$stderr"
}
