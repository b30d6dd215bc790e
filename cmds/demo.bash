#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Answers three questions of administrators on example files: what `btrfs-fastpath demo` runs.
#
# demo.bash PROGRAM [--all] [DIR]: PROGRAM is btrfs-fastpath, DIR a directory on btrfs; the default is a new btrfs in an image;
#                                  --all shows every command
# demo.bash --check [--all] [DIR]: only checks that the demo has a safe place
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
    losetup --find >/dev/null 2>&1 || die "no free loop device"
}

# The owner of a directory, and other users with write permission, can replace the files that root creates there. Root
# would write to and delete these files. Checks from the top, because nobody can replace a directory in a safe one.
require_safe() {
    local parent=${1%/*}

    [ "$1" = / ] || require_safe "${parent:-/}"
    [ -n "$(find "$1" -maxdepth 0 -type d -uid 0 \( -perm -1000 -o ! -perm /022 \))" ] ||
        die "not safe: '$1' must belong to root, and only root may write to it"
}

# Sets $typed, $typed_demo and $manual, which work in the current directory: a program that is not installed needs its
# path, and the source tree runs its demo by quickstart.
name_commands() {
    local page quickstart=${0%/*}/../quickstart

    typed=btrfs-fastpath typed_demo="btrfs-fastpath demo" manual="man btrfs-fastpath-workflows"
    [[ ! $(type -P btrfs-fastpath) -ef $program ]] || return 0
    typed=$(realpath --no-symlinks --relative-base=. -- "$program")
    [[ $typed == */* ]] || typed=./$typed
    typed_demo="$typed demo"
    [ ! -x "$quickstart" ] || typed_demo="$(realpath --relative-base=. -- "$quickstart") demo"
    [[ $typed_demo == */* ]] || typed_demo=./$typed_demo
    page=${typed%/*}/man/btrfs-fastpath-workflows.7
    [ ! -e "$page" ] || manual="man $page"
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

# Removes the whole image: after a full disk its btrfs is read-only, and nothing in it can be deleted.
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
        echo "ERROR: stopped early, cleaning up" >&2 || true
    fi
    if [ -n "$mount_dir" ]; then
        remove_image || die "left behind: '$mount_dir'"
    elif [ -n "$folder" ]; then
        remove_folder || die "left behind: '$folder'"
    fi
}

mount_image() {
    mount_dir=$(mktemp -d "$1/btrfs-fastpath.XXXXXX")
    step "Creating a btrfs in $mount_dir/image"
    mkdir "$mount_dir/mnt"
    truncate -s 4G "$mount_dir/image"
    mkfs.btrfs -q "$mount_dir/image" >/dev/null
    mount -o loop,nosuid,nodev,noexec "$mount_dir/image" "$mount_dir/mnt"
}

make_example() {
    step "Creating example files in $1"
    btrfs subvolume create "$1/data" >/dev/null
    cd "$1/data"
    echo "  database      8 MiB"
    head -c 8M /dev/urandom >database
    make_scattered
    echo "  disk.img      16 MiB, NOCOW"
    touch disk.img
    chattr +C disk.img
    head -c 16M /dev/urandom >disk.img
    ! "$all" || make_more
    sync -f .
    echo "  ../snapshot   a snapshot of these files; 4 MiB of disk.img are written after it"
    btrfs subvolume snapshot -r . ../snapshot >/dev/null
    echo "  clone         a reflink of database, newer than the snapshot"
    cp --reflink=always database clone
    head -c 4M /dev/urandom | dd of=disk.img bs=1M seek=8 conv=notrunc iflag=fullblock status=none
    ! "$all" || head -c 1M <(yes 'another line') | dd of=log.txt bs=1M seek=256 conv=notrunc iflag=fullblock status=none
    sync -f .
}

make_scattered() {
    local zeros data

    echo "  scattered     64 MiB: 4 KiB of data, a hole of 4 KiB, and so on"
    zeros=$(printf '%04096d' 0)
    data=$(printf '%04095d\n' 0 | tr 0 x)
    head -c 64M <(yes "$zeros$data" | tr '0\n' '\0x') >scattered
    fallocate --dig-holes scattered
}

# For --all
make_more() {
    echo "  log.txt       512 MiB, compressed: an extent for every 128 KiB; 1 MiB is written after the snapshot"
    touch log.txt
    btrfs property set log.txt compression zstd
    head -c 512M <(yes 'a line that compresses well') >log.txt
    echo "  sparse        1 MiB of data in 1 GiB"
    truncate -s 1G sparse
    head -c 1M /dev/urandom | dd of=sparse bs=1M seek=512 conv=notrunc status=none
    echo "  preallocated  16 MiB, nothing written"
    fallocate -l 16M preallocated
}

show() {
    printf '\n# btrfs-fastpath %s\n' "$*"
    "$program" "$@"
}

say() {
    printf '=> %s\n' "$@"
}

show_story() {
    step "1. The disk is full. What do I get back if I delete these files?"
    show fiemap-shared --freed database clone
    say "Nothing: the data is also used elsewhere. Where?"
    show fiemap-shared --owners -s database
    show fiemap-shared --freed -s database clone ../snapshot/database
    say "The three files share the same 8 MiB. It is free once all three are deleted."

    step "2. cp is slow. Is the file or the kernel to blame?"
    show seek-map -s --verdict scattered
    say "The verdict is about the kernel. If it is not to blame, the file is: cp reads" \
        "its 16,384 segments (4 KiB of data, then a hole of 4 KiB) one by one."

    step "3. disk.img is NOCOW. Will the next write go in place?"
    show nocow-check disk.img
    say "Only in the 4 MiB written since the snapshot. The hint names the section with" \
        "the commands that help."
}

show_ending() {
    step "Try it on your own files"
    cat <<TEXT
  $typed fiemap-shared -r --freed DIR
      what do I get back if I delete DIR?
  $typed seek-map -s --verdict FILE
      is the file or the kernel to blame?
  $typed nocow-check -r DIR
      does the next write go in place, or is it copied, and why?
  $typed_demo --all
      all commands on example files
  $manual
      more questions, with answers
TEXT
}

show_all() {
    step "Which features the kernel has"
    show status .
    step "What is shared, and what is on disk"
    show fiemap-shared -r --disk .
    step "Who shares it"
    show fiemap-shared --owners --map log.txt
    show fiemap-shared --owners --extents database
    step "What deleting would free: first one of two clones, then both and the snapshot"
    show fiemap-shared --freed clone
    show fiemap-shared -rs --freed clone database ../snapshot
    step "How the kernel decides what is shared, and how long that takes, cold and warm"
    show fiemap-shared --why --cold log.txt
    step "Where data and holes are; some data is not on disk yet"
    head -c 1M /dev/urandom | dd of=sparse bs=1M seek=700 conv=notrunc status=none
    head -c 4M /dev/urandom | dd of=preallocated bs=1M seek=8 conv=notrunc status=none
    show seek-map --fiemap sparse
    show seek-map -s --map --fiemap --check preallocated
    step "How long it takes to find them, with and without the kernel's cache"
    show seek-map -s --cold --reopen --repeat 9 scattered
    show seek-map -s --verdict scattered
    step "How long fsyncs take in a growing directory, and what they commit"
    show log-stats --files 3000 .
    step "Does the next write go in place, or is it copied, and why"
    show nocow-check disk.img preallocated database
    show nocow-check --extents disk.img
    step "Proof: real writes, and where they went"
    show nocow-check --exercise . --scratch nocow --seconds 2 --size 64M --engine builtin
    step "What a send of the snapshot contains and reads, and how large it is"
    show send-reada --cold --passes 2 --top 3 ../snapshot
    show send-reada --estimate --rate 10M ../snapshot
}

usage="usage: btrfs-fastpath demo [--all] [DIR]"
[ $# -ge 1 ] || die "$usage"
program=$1
shift
all=false
if [ "${1-}" = --all ]; then
    all=true
    shift
fi
[ $# -le 1 ] || die "$usage"
place=${1-${TMPDIR:-/var/tmp}}

[ "$(id -u)" -eq 0 ] || die "the demo needs root, to find the owners of extents"
[ -d "$place" ] || die "not a directory: '$place'"
root=$(cd -- "$place" && pwd -P)
require_safe "$root"
[ $# -eq 0 ] || [ "$(stat -f -c %T -- "$root")" = btrfs ] || die "not a btrfs filesystem: '$place'"
[ "$program" != --check ] || exit 0
require_commands btrfs chattr fallocate
name_commands
[ $# -gt 0 ] || require_loop_btrfs

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
if [ $# -eq 0 ]; then
    mount_image "$root"
    root=$mount_dir/mnt
fi
folder=$(mktemp -d "$root/btrfs-fastpath-demo.XXXXXX")
make_example "$folder"
if "$all"; then
    show_all
else
    show_story
fi
show_ending
step "Cleaning up"
