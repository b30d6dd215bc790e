#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Shows the commands at work on example files: what `btrfs-fastpath demo` runs.
#
# demo.bash PROGRAM [DIR]: PROGRAM is btrfs-fastpath, DIR a directory on btrfs; without it there is a new btrfs in an image
# demo.bash --check [DIR]: only whether there is a place for it
set -euo pipefail

step() {
    printf '\n==> %s\n' "$*"
}

die() {
    printf 'ERROR: %s\n' "$*" >&2
    exit 1
}

require_commands() {
    local command missing=()

    for command; do
        command -v "$command" >/dev/null || missing+=("$command")
    done
    [ ${#missing[@]} -eq 0 ] || die "not installed: ${missing[*]}"
}

# What mounting an example needs; says so before anything is done.
require_loop_btrfs() {
    require_commands mkfs.btrfs losetup mount umount mountpoint
    grep -qw btrfs /proc/filesystems || modprobe -q btrfs || die "this kernel has no btrfs"
    modprobe -q loop || true
    losetup --find >/dev/null 2>&1 || die "there is no free loop device"
}

# Where others own a directory or can write to it, they can put something else in the place of what root makes there,
# and root would write to it and delete it. From the top: what is in a safe directory stays what it is.
require_safe() {
    local parent=${1%/*}

    [ "$1" = / ] || require_safe "${parent:-/}"
    [ -n "$(find "$1" -maxdepth 0 -type d -uid 0 \( -perm -1000 -o ! -perm /022 \))" ] ||
        die "not safe from other users: '$1' is not root's, or others can write to it"
}

# -- the example --

folder=
mount_dir=

# In DIR.
remove_folder() {
    local subvolume

    for subvolume in "$folder/data" "$folder/snapshot"; do
        if [ -e "$subvolume" ]; then
            btrfs subvolume delete "$subvolume" >/dev/null || return
        fi
    done
    rmdir "$folder"
}

# With all that is in it: on a disk that is full, the btrfs in the image is read-only by now, and nothing in it can be deleted.
remove_image() {
    if mountpoint -q "$mount_dir/mnt"; then
        umount "$mount_dir/mnt" || return
    fi
    rm -rf "$mount_dir"
}

clean_up() {
    local status=$?

    trap '' INT TERM HUP
    cd /
    if [ "$status" -ne 0 ]; then
        echo "ERROR: stopped half way, cleaning up" >&2 || true
    fi
    if [ -n "$mount_dir" ]; then
        remove_image || die "left behind: '$mount_dir'"
    elif [ -n "$folder" ]; then
        remove_folder || die "left behind: '$folder'"
    fi
}

mount_image() {
    mount_dir=$(mktemp -d "$1/btrfs-fastpath.XXXXXX")
    step "Making a btrfs in $mount_dir/image"
    mkdir "$mount_dir/mnt"
    truncate -s 4G "$mount_dir/image"
    mkfs.btrfs -q "$mount_dir/image" >/dev/null
    mount -o loop,nosuid,nodev,noexec "$mount_dir/image" "$mount_dir/mnt"
}

make_example() {
    local zeros data

    step "Making example files in $1"
    btrfs subvolume create "$1/data" >/dev/null
    cd "$1/data"
    echo "  log.txt       512 MiB, compressed: an extent for every 128 KiB"
    touch log.txt
    btrfs property set log.txt compression zstd
    head -c 512M <(yes 'a line that compresses well') >log.txt
    echo "  database      8 MiB"
    head -c 8M /dev/urandom >database
    echo "  sparse        1 MiB of data in 1 GiB"
    truncate -s 1G sparse
    head -c 1M /dev/urandom | dd of=sparse bs=1M seek=512 conv=notrunc status=none
    echo "  scattered     64 MiB, 4 KiB of data and a hole of 4 KiB in turn"
    zeros=$(printf '%04096d' 0)
    data=$(printf '%04095d\n' 0 | tr 0 x)
    head -c 64M <(yes "$zeros$data" | tr '0\n' '\0x') >scattered
    fallocate --dig-holes scattered
    echo "  preallocated  16 MiB, nothing written"
    fallocate -l 16M preallocated
    echo "  disk.img      16 MiB, NOCOW"
    touch disk.img
    chattr +C disk.img
    head -c 16M /dev/urandom >disk.img
    sync -f .
    echo "  clone         a reflink of database"
    cp --reflink=always database clone
    echo "  ../snapshot   a snapshot of it all, after which 1 MiB of the log and"
    echo "                4 MiB of disk.img are written anew"
    btrfs subvolume snapshot -r . ../snapshot >/dev/null
    head -c 1M <(yes 'another line') | dd of=log.txt bs=1M seek=256 conv=notrunc iflag=fullblock status=none
    head -c 4M /dev/urandom | dd of=disk.img bs=1M seek=8 conv=notrunc iflag=fullblock status=none
    sync -f .
}

show() {
    printf '\n# btrfs-fastpath %s\n' "$*"
    "$program" "$@"
}

show_all() {
    step "What the kernel has"
    show status .
    step "What is shared, and what is on disk"
    show fiemap-shared -r --disk .
    step "Who shares it"
    show fiemap-shared --owners --map log.txt
    show fiemap-shared --owners --extents database
    step "What deleting them would free: one of two clones, and both with the snapshot"
    show fiemap-shared --freed clone
    show fiemap-shared -rs --freed clone database ../snapshot
    step "How the kernel finds out what is shared, and what that costs, cold and warm"
    show fiemap-shared --why --cold log.txt
    step "Where the data is, some of it not on disk yet, and where holes are"
    head -c 1M /dev/urandom | dd of=sparse bs=1M seek=700 conv=notrunc status=none
    head -c 4M /dev/urandom | dd of=preallocated bs=1M seek=8 conv=notrunc status=none
    show seek-map --fiemap sparse
    show seek-map -s --map --fiemap --check preallocated
    step "What it costs to find it, with and without what the kernel remembers from call to call"
    show seek-map -s --cold --reopen --repeat 9 scattered
    show seek-map -s --verdict scattered
    step "How long fsyncs of a growing directory take, and what they commit"
    show log-stats --files 3000 .
    step "What the next write does: in place, or a copy, and why"
    show nocow-check disk.img preallocated database
    show nocow-check --extents disk.img
    step "The same, written and proved"
    show nocow-check --exercise . --scratch nocow --seconds 2 --size 64M --engine builtin
    step "What a send of the snapshot consists of, what it reads, and how large it would be"
    show send-reada --cold --passes 2 --top 3 ../snapshot
    show send-reada --estimate --rate 10M ../snapshot
}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    die "btrfs-fastpath demo runs this program"
fi
program=$1
place=${2-${TMPDIR:-/var/tmp}}

[ "$(id -u)" -eq 0 ] || die "the demo asks who owns extents, which needs root"
[ -d "$place" ] || die "not a directory: '$place'"
root=$(cd -- "$place" && pwd -P)
require_safe "$root"
[ $# -eq 1 ] || [ "$(stat -f -c %T -- "$root")" = btrfs ] || die "not a btrfs filesystem: '$place'"
[ "$program" != --check ] || exit 0
require_commands btrfs chattr fallocate
[ $# -gt 1 ] || require_loop_btrfs

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
if [ $# -eq 1 ]; then
    mount_image "$root"
    root=$mount_dir/mnt
fi
folder=$(mktemp -d "$root/btrfs-fastpath-demo.XXXXXX")
make_example "$folder"
show_all
step "Cleaning up"
