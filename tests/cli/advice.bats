#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What a hint or a page advises makes the figure better, also where a directory hands down attributes, in a nested
# subvolume, and with a quota.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0
load environment.bash

BTRFS=${BTRFS_PROGRAM:-btrfs}
STATES=(default c m property C quota nested)

setup_file() {
    mount_btrfs 1G noatime
}

setup() {
    DIRECTORY=$MNT/parent/directory
    "$BTRFS" subvolume create "$MNT/parent" >/dev/null
}

teardown() {
    cd "$MNT" || return
    "$BTRFS" quota disable "$MNT" 2>/dev/null || true
    "$BTRFS" subvolume delete "$MNT"/snapshot "$DIRECTORY"/DIR "$DIRECTORY" "$MNT"/parent/{vm,monday,tuesday} \
        "$MNT/parent" >/dev/null 2>&1 || true
    cd / || return
}

# enter STATE: makes the directory in which files inherit something, and goes there
enter() {
    case $1 in
    c | m | C) chattr "+$1" "$MNT/parent" ;;
    property) "$BTRFS" property set "$MNT/parent" compression zstd ;;
    quota) "$BTRFS" quota enable "$MNT" ;;
    esac
    if [ "$1" = nested ]; then
        "$BTRFS" subvolume create "$DIRECTORY" >/dev/null
    else
        mkdir "$DIRECTORY"
    fi
    cd "$DIRECTORY" || return
}

leave() {
    teardown
    setup
}

# put FILE KIB [SEEK-KIB]
put() {
    dd if=/dev/urandom of="$1" bs=1K count="$2" seek="${3:-0}" conv=notrunc status=none
}

put_nocow() {
    touch "$1"
    chattr -c -m "$1"
    chattr +C "$1"
    put "$@"
}

# copied FILE: bytes that the next write copies
copied() {
    "$FASTPATH" --format json nocow-check --sync "$1" | jq '."nocow-check"[0].cow_bytes'
}

hint() {
    "$FASTPATH" --format json nocow-check "$1" | jq -r '."nocow-check"[0].hint'
}

# follow HINT: runs the commands of the section that it names
follow() {
    local commands

    commands=$(advised "$1") || return
    bash -c "$commands"
}

# better STATE PATTERN FILE [FILE-AFTER]: the hint matches, and what it says lets all of the file be written in place
better() {
    local state=$1 pattern=$2 file=$3 after=${4:-$3} before text

    before=$(copied "$file")
    ((before > 0)) || fail "$state: nothing is copied"
    text=$(hint "$file")
    # shellcheck disable=SC2053 # it is a pattern
    [[ $text == $pattern ]] || fail "$state: $text"
    cp --reflink=never "$file" "$BATS_TEST_TMPDIR/contents"
    follow "$text" || fail "$state: a command failed: $text"
    cmp "$BATS_TEST_TMPDIR/contents" "$after"
    [ "$(copied "$after")" = 0 ] || fail "$state: $before bytes were copied, and $(copied "$after") are: $text"
    [ ! -e NEW ] || fail "$state: NEW is left"
}

@test "a file without NOCOW" {
    local state

    for state in "${STATES[@]}"; do
        enter "$state"
        touch FILE
        chattr -C FILE
        put FILE 256
        better "$state" 'copied: see "Make *' FILE
        leave
    done
}

@test "a NOCOW file that is in a snapshot" {
    local state

    for state in "${STATES[@]}"; do
        enter "$state"
        put_nocow FILE 256
        sync -f .
        "$BTRFS" subvolume snapshot -r "$MNT/parent" "$MNT/snapshot" >/dev/null
        [ "$state" != nested ] || {
            "$BTRFS" subvolume delete "$MNT/snapshot" >/dev/null
            "$BTRFS" subvolume snapshot -r . "$MNT/snapshot" >/dev/null
        }
        better "$state" 'generation: *' FILE DIR/FILE
        leave
    done
}

@test "a NOCOW file that shares its extents" {
    local state

    for state in "${STATES[@]}"; do
        enter "$state"
        put_nocow FILE 256
        touch clone
        chattr -c -m clone
        chattr +C clone
        cp --reflink=always FILE clone
        better "$state" 'copied: see "Make *' FILE
        leave
    done
}

@test "with a quota that is exceeded the file stays" {
    "$BTRFS" quota enable "$MNT"
    mkdir "$DIRECTORY"
    cd "$DIRECTORY"
    put FILE 4096
    sync -f .
    cp --reflink=never FILE "$BATS_TEST_TMPDIR/contents"
    "$BTRFS" qgroup limit 5M "$MNT/parent"
    run follow "$(hint FILE)"
    [ "$status" -ne 0 ]
    cmp "$BATS_TEST_TMPDIR/contents" FILE
}

@test "in a read-only subvolume there is nothing to do" {
    put "$MNT/parent/FILE" 256
    "$BTRFS" subvolume snapshot -r "$MNT/parent" "$MNT/snapshot" >/dev/null
    [[ $(hint "$MNT/parent/FILE") == 'copied: see "Make '* ]]
    [ "$(hint "$MNT/snapshot/FILE")" = null ]
}

disk_bytes() {
    "$FASTPATH" --format json fiemap-shared --sync --disk "$1" | jq '."fiemap-shared"[0].disk_bytes'
}

# used: bytes of data on the file system
used() {
    finish_deletions "$MNT"
    "$BTRFS" filesystem sync "$MNT"
    "$BTRFS" filesystem df --raw "$MNT" | sed -n 's/^Data.*used=//p'
}

# What btrfs-fastpath-workflows(7) says of a file that takes more space on disk than it has bytes
@test "a real copy of a file that was overwritten in parts takes less space" {
    local state before after used_before

    for state in "${STATES[@]}"; do
        [ "$state" != C ] || continue
        enter "$state"
        put FILE 16384
        sync -f .
        put FILE 4096 4096
        put FILE 1024 12288
        sync -f .
        before=$(disk_bytes FILE)
        ((before > 16777216)) || fail "$state: $before bytes on disk before"
        used_before=$(used)
        cp --preserve=all --reflink=never FILE NEW
        mv NEW FILE
        after=$(disk_bytes FILE)
        ((after <= 16777216)) || fail "$state: $before bytes on disk, then $after"
        ((used_before - $(used) >= before - after)) || fail "$state: the file system has less free space"
        leave
    done
}

@test "data that is not written back: with --sync the next write is known" {
    local state text

    for state in "${STATES[@]}"; do
        enter "$state"
        touch FILE
        chattr -c -m FILE
        chattr +C FILE
        sync -f .
        put FILE 256
        text=$(hint FILE)
        [[ $text == "delalloc: run nocow-check --sync"* ]] || fail "$state: $text"
        "$FASTPATH" --format json nocow-check --sync FILE >"$BATS_TEST_TMPDIR/after"
        jq -e '."nocow-check"[0] | .complete and .nocow_bytes == 262144' "$BATS_TEST_TMPDIR/after" >/dev/null ||
            fail "$state: $(<"$BATS_TEST_TMPDIR/after")"
        leave
    done
}

@test "a subvolume that is not read-only: with the command of the error it can be sent" {
    local state message

    for state in "${STATES[@]}"; do
        enter "$state"
        "$BTRFS" subvolume create "it's" >/dev/null
        put "it's/FILE" 256
        run ! --separate-stderr "$FASTPATH" send-reada --estimate "it's"
        # shellcheck disable=SC2154 # bats' run sets it
        message=$stderr
        [[ $message == *": btrfs subvolume snapshot -r "* ]] || fail "$state: $message"
        (umask 022 && eval "${message##*send a snapshot instead: }" >/dev/null)
        "$FASTPATH" -q send-reada --estimate "it's/snapshot" >/dev/null || fail "$state: $message"
        "$BTRFS" subvolume delete "it's/snapshot" "it's" >/dev/null
        leave
    done
}

# freed [OPTION...] PATH...
freed() {
    sync -f "$MNT"
    "$FASTPATH" --format json fiemap-shared --freed "$@" | jq .total.freed.freed_bytes
}

# What btrfs-fastpath-workflows(7) says of space that deleting would not free
@test "the owners of the rest, added to what is deleted, free the space" {
    local before more names used_before

    put "$MNT/parent/FILE" 4096
    cp --reflink=always "$MNT/parent/FILE" "$MNT/parent/clone"
    "$BTRFS" subvolume snapshot -r "$MNT/parent" "$MNT/snapshot" >/dev/null
    before=$(freed "$MNT/parent/FILE")
    [ "$before" = 0 ]
    # a name of each owner
    mapfile -t names < <("$FASTPATH" --format json fiemap-shared --owners "$MNT/parent/FILE" |
        jq -r '."fiemap-shared"[0].owners[] | "\(.mounted_at)/\(.path)"')
    [ ${#names[@]} -eq 3 ] || fail "${names[*]}"
    more=$(freed "$MNT/parent/FILE" "${names[@]}")
    [ "$more" = $((4096 << 10)) ] || fail "$more bytes with ${names[*]}"
    used_before=$(used)
    "$BTRFS" property set "$MNT/snapshot" ro false
    rm -f "$MNT/parent/FILE" "${names[@]}"
    [ $((used_before - $(used))) = "$more" ]
}

@test "snapshots that free space together, and not alone, free what was said" {
    local together used_before used_after

    "$BTRFS" subvolume create "$MNT/parent/vm" >/dev/null
    put "$MNT/parent/vm/FILE" 4096
    sync -f "$MNT"
    "$BTRFS" subvolume snapshot -r "$MNT/parent/vm" "$MNT/parent/monday" >/dev/null
    "$BTRFS" subvolume snapshot -r "$MNT/parent/vm" "$MNT/parent/tuesday" >/dev/null
    rm "$MNT/parent/vm/FILE"
    [ "$(freed -rs "$MNT/parent/monday")" = 0 ]
    [ "$(freed -rs "$MNT/parent/tuesday")" = 0 ]
    together=$(freed -rs "$MNT/parent/monday" "$MNT/parent/tuesday")
    [ "$together" = $((4096 << 10)) ]
    used_before=$(used)
    "$BTRFS" subvolume delete "$MNT/parent/monday" "$MNT/parent/tuesday" >/dev/null
    used_after=$(used)
    [ $((used_before - used_after)) = "$together" ] || fail "$used_before, then $used_after, not $together less"
    "$BTRFS" subvolume delete "$MNT/parent/vm" >/dev/null
}

# What btrfs-fastpath-workflows(7) says of a slow copy of a file with many holes
# bats test_tags=slow
@test "a copy without holes is one segment, and what is written back is no longer looked for" {
    local state block

    for state in "${STATES[@]}"; do
        enter "$state"
        for block in $(seq 0 2 126); do
            printf data | dd of=FILE bs=4K seek="$block" conv=notrunc status=none
        done
        cp --reflink=never --sparse=never FILE full
        [ "$("$FASTPATH" --format json seek-map FILE | jq '."seek-map"[0].segment_count')" -gt 100 ] || fail "$state"
        [ "$("$FASTPATH" --format json seek-map full | jq '."seek-map"[0].segment_count')" = 1 ] || fail "$state"
        sync FILE
        [ "$("$FASTPATH" --format json seek-map --fiemap FILE |
            jq '[."seek-map"[0].segments[] | select(.extent == "delalloc")] | length')" = 0 ] || fail "$state"
        leave
    done
}

# What btrfs-inspect-fiemap-shared(8) says of a file whose mapping takes long
@test "defragmenting a file of many extents leaves few" {
    local before after block

    for block in {0..63}; do
        put "$MNT/parent/FILE" 4 $((4 * (block * 37 % 64)))
        sync -f "$MNT"
    done
    before=$("$FASTPATH" --format json fiemap-shared "$MNT/parent/FILE" | jq .total.extent_count)
    "$BTRFS" filesystem defragment "$MNT/parent/FILE" >/dev/null
    after=$("$FASTPATH" --format json fiemap-shared --sync "$MNT/parent/FILE" | jq .total.extent_count)
    ((before > 8 * after)) || fail "$before extents before, $after after"
}
