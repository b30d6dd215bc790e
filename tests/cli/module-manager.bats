#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The manager of the module, where DKMS moved the stock module away. It runs with another folder in the place of each of
# its own, and sees modules that are nothing but their version.
# shellcheck disable=SC2154 # run sets variables

bats_require_minimum_version 1.5.0
load environment.bash

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}"

VERSION=0.2-1
OURS=6.12.117-1+fastpath$VERSION
RELEASE=6.12.117+deb13-amd64
# Nothing outside is touched: another run of this may be under way.
ROOT=$BATS_TEST_TMPDIR/root
KERNEL=$ROOT/lib/modules/$RELEASE
TREE=$ROOT/var/lib/dkms/btrfs-fastpath
ORIGINALS=$TREE/original_module/$RELEASE/$(uname -m)
MANAGER=$ROOT/usr/libexec/btrfs-fastpath/module

# make_module VERSION FILE: VERSION may be empty
make_module() {
    # shellcheck disable=SC2028 # for the assembler
    echo ".section .modinfo, \"a\"; .asciz \"name=btrfs\"; ${1:+.asciz \"version=$1\"}" |
        cc -c -x assembler -o "$2" -
}

setup_file() {
    make_module '' "$BATS_FILE_TMPDIR/stock"
    make_module "$OURS" "$BATS_FILE_TMPDIR/patched"
}

# stand_in NAME LINE: a program that is called in the place of the one that has this name
stand_in() {
    printf '#!/bin/sh\n%s\n' "$2" >"$ROOT/bin/$1"
    chmod 755 "$ROOT/bin/$1"
}

# in_root FILE: its paths lead there, but for those of programs
in_root() {
    sed -i -E -e "s,(^|[^[:alnum:]/}*])(/(lib/modules|usr/share|var/lib|run|boot|etc)/),\\1$ROOT\\2,g" \
        -e "s,^export PATH=,&$ROOT/bin:," "$1"
}

# A kernel of a package whose headers are not there
setup() {
    make -s -f "$top_srcdir/packaging/dkms/install.mk" DESTDIR="$ROOT" VERSION="$VERSION"
    mkdir -p "$ROOT"/{bin,usr/lib,var/lib,boot,run} "$ROOT/lib/modules" "$KERNEL/kernel/fs/btrfs"
    # kmod may look for modules in either.
    ln -s ../../lib/modules "$ROOT/usr/lib/modules"
    cp -r "$top_srcdir/kernel" "$ROOT/usr/share/btrfs-fastpath"
    in_root "$MANAGER"
    in_root "$ROOT/usr/share/btrfs-fastpath/module.bash"
    stand_in depmod "exec $(command -v depmod) -b '$ROOT' \"\$@\""
    stand_in modprobe "exec $(command -v modprobe) -d '$ROOT' \"\$@\""
    stand_in dpkg-query 'echo installed 6.12.117-1'
    stand_in dkms 'exit 0'
    stand_in lsinitramfs 'exit 0'
    stand_in update-initramfs 'exit 0'
    PATH=$ROOT/bin:$PATH
    suffix=''
}

# place stock|patched FILE
place() {
    mkdir -p "${2%/*}"
    cp "$BATS_FILE_TMPDIR/$1" "$2"
    [ -z "$suffix" ] || { xz --force --check=crc32 "$2" && [ -e "$2$suffix" ]; }
}

# What "dkms build" leaves
build() {
    place patched "$TREE/$VERSION/$RELEASE/$(uname -m)/module/btrfs.ko"
    ln -sfn / "$TREE/$VERSION/source"
}

# dkms_installs [FILE]: as DKMS 3.2 does; FILE is the module that it moves away
dkms_installs() {
    local moved=${1:-$KERNEL/kernel/fs/btrfs/btrfs.ko$suffix}

    mkdir -p "$ORIGINALS"
    mv "$moved" "$ORIGINALS"
    echo "$moved" >"$ORIGINALS/${moved##*/}.origin"
    place patched "$KERNEL/updates/dkms/btrfs.ko"
    ln -s "$VERSION/$RELEASE/$(uname -m)" "$TREE/kernel-$RELEASE-$(uname -m)"
    depmod "$RELEASE"
}

machine() {
    place stock "$KERNEL/kernel/fs/btrfs/btrfs.ko"
    build
    depmod "$RELEASE"
}

manager() {
    "$MANAGER" "$@"
}

# expect_loaded FILE: what modprobe loads, and no other module is there but the stock one
expect_loaded() {
    local path

    path=$(modprobe --set-version "$RELEASE" --show-depends btrfs | sed -n 's,^insmod \([^ ]*\).*,\1,p')
    [ "$path" = "$1$suffix" ] || fail "modprobe loads '$path' and not '$1$suffix'"
    [ -e "$path" ] || fail "there is no $path"
    [ -e "$KERNEL/kernel/fs/btrfs/btrfs.ko$suffix" ] || fail "the stock module is not there"
    [ ! -e "$TREE/original_module" ] || fail "DKMS holds a module:" "$(find "$TREE")"
    [ ! -e "$KERNEL/updates/dkms" ] || fail "what DKMS installed is there:" "$(find "$KERNEL/updates")"
}

expect_stock() {
    expect_loaded "$KERNEL/kernel/fs/btrfs/btrfs.ko"
    [ -z "$(modinfo --field version "$KERNEL/kernel/fs/btrfs/btrfs.ko$suffix")" ]
}

@test "a module that DKMS installed: status tells, disable gives the stock one back" {
    machine
    dkms_installs
    run -0 manager status
    [[ $output == *'run '*' update'* ]]
    run -0 manager disable
    expect_stock
    [ -e "$TREE/$VERSION/$RELEASE" ]
    run -0 manager status
    [[ $output != *'run '* ]]
}

@test "the same with compressed modules" {
    suffix=.xz
    machine
    dkms_installs
    run -0 manager disable
    expect_stock
}

@test "a module that DKMS installed: update and forget give the stock one back" {
    machine
    dkms_installs
    run -0 manager update
    expect_stock
    dkms_installs
    run -0 manager forget "$RELEASE"
    expect_stock
    [ ! -e "$TREE/$VERSION/$RELEASE" ]
}

@test "a module that DKMS installed: remove gives the stock one back" {
    machine
    dkms_installs
    run -0 manager remove
    expect_stock
    [ ! -e "$TREE" ]
}

@test "a module that an earlier version had DKMS install: the same" {
    machine
    mv "$TREE/$VERSION" "$TREE/0.1-1"
    rm "$TREE/0.1-1/source"
    dkms_installs
    run -0 manager update
    expect_stock
    [ ! -e "$TREE/0.1-1" ]
}

@test "a module that is active, and DKMS installs it: it is active again, and the stock one is there" {
    machine
    run -0 manager enable
    expect_loaded "$KERNEL/updates/$OURS/btrfs.ko"
    dkms_installs
    run -0 manager update
    expect_loaded "$KERNEL/updates/$OURS/btrfs.ko"
    run -0 manager disable
    expect_stock
}

@test "a module that is active, and DKMS moves that away: the same" {
    machine
    run -0 manager enable
    dkms_installs "$KERNEL/updates/$OURS/btrfs.ko"
    run -0 manager update
    expect_loaded "$KERNEL/updates/$OURS/btrfs.ko"
    dkms_installs "$KERNEL/updates/$OURS/btrfs.ko"
    run -0 manager disable
    expect_stock
}

@test "a stock module that came since stays, and so do modules of others" {
    machine
    dkms_installs
    place stock "$KERNEL/kernel/fs/btrfs/btrfs.ko"
    echo newer >>"$KERNEL/kernel/fs/btrfs/btrfs.ko"
    run -0 manager disable
    [ "$(tail -n 1 "$KERNEL/kernel/fs/btrfs/btrfs.ko" | tail -c 6)" = newer ]
    expect_loaded "$KERNEL/kernel/fs/btrfs/btrfs.ko"

    place stock "$KERNEL/updates/dkms/btrfs.ko"
    depmod "$RELEASE"
    run -0 manager disable
    [ -e "$KERNEL/updates/dkms/btrfs.ko" ]
}

@test "elsewhere below updates, as a link, or without its end: it is taken out" {
    machine
    place patched "$KERNEL/updates/btrfs.ko"
    run -0 manager disable
    expect_stock

    dkms_installs
    ln -sf "$TREE/$VERSION/gone" "$KERNEL/updates/dkms/btrfs.ko"
    run -0 manager disable
    expect_stock

    dkms_installs
    truncate -s 100 "$KERNEL/updates/dkms/btrfs.ko"
    run -0 manager disable
    expect_stock
}

@test "a stock module that cannot be put back is kept, with what DKMS installed" {
    machine
    dkms_installs
    mount -t tmpfs -o size=4k,nr_inodes=1 tmpfs "$KERNEL/kernel"
    run -1 manager remove
    [ -e "$ORIGINALS/btrfs.ko" ]
    [ -e "$KERNEL/updates/dkms/btrfs.ko" ]
    umount "$KERNEL/kernel"
    run -0 manager remove
    expect_stock
}
