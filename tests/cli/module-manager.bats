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
EARLIER=6.12.117-1+fastpath0.1-1
RELEASE=6.12.117+deb13-amd64
# Nothing outside is touched: another run of this may be under way.
ROOT=$BATS_TEST_TMPDIR/root
KERNEL=$ROOT/lib/modules/$RELEASE
STOCK=$KERNEL/kernel/fs/btrfs/btrfs.ko
INITRAMFS=$ROOT/boot/initrd.img-$RELEASE
TREE=$ROOT/var/lib/dkms/btrfs-fastpath
LINK=$TREE/kernel-$RELEASE-$(uname -m)
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
    make_module "$EARLIER" "$BATS_FILE_TMPDIR/earlier"
}

# stand_in NAME LINE: a program that is called in the place of the one that has this name
stand_in() {
    printf '#!/bin/sh\n%s\n' "$2" >"$ROOT/bin/$1"
    chmod 755 "$ROOT/bin/$1"
}

# in_root FILE: its paths lead there, but for those of programs
in_root() {
    sed -i -E -e "s,(^|[^[:alnum:]/}*])(/(lib/modules|usr/share|var/lib|run|boot|etc)/),\\1$ROOT\\2,g" \
        -e "s,^export PATH=,&$ROOT/faulty:$ROOT/bin:," "$1"
}

# A kernel of a package whose headers are not there
setup() {
    make -s -f "$top_srcdir/packaging/dkms/install.mk" DESTDIR="$ROOT" VERSION="$VERSION"
    mkdir -p "$ROOT"/{bin,usr/lib,var/lib,boot,run} "$ROOT/lib/modules" "$KERNEL/kernel/fs/btrfs"
    touch "$KERNEL"/modules.{order,builtin,builtin.modinfo}
    # kmod may look for modules in either.
    ln -s ../../lib/modules "$ROOT/usr/lib/modules"
    cp -r "$top_srcdir/kernel" "$ROOT/usr/share/btrfs-fastpath"
    in_root "$MANAGER"
    in_root "$ROOT/usr/share/btrfs-fastpath/module.bash"
    stand_in depmod "exec $(command -v depmod) -b '$ROOT' \"\$@\""
    stand_in modprobe "exec $(command -v modprobe) -d '$ROOT' \"\$@\""
    stand_in dpkg-query 'echo installed 6.12.117-1'
    stand_in dkms 'exit 0'
    # An initramfs is a list of what it has.
    # shellcheck disable=SC2016 # for the stand-in
    stand_in lsinitramfs 'cat "$1"'
    stand_in update-initramfs "modprobe --set-version \"\$3\" --show-depends btrfs | sed 's,^insmod ,,; s, *$,,' >'$ROOT/boot/initrd.img-'\"\$3\""
    PATH=$ROOT/bin:$PATH
    suffix=''
}

# place stock|patched|earlier FILE
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
    local moved=${1:-$STOCK$suffix}

    mkdir -p "$ORIGINALS"
    mv "$moved" "$ORIGINALS"
    echo "$moved" >"$ORIGINALS/${moved##*/}.origin"
    place patched "$KERNEL/updates/dkms/btrfs.ko"
    ln -s "$VERSION/$RELEASE/$(uname -m)" "$LINK"
    depmod "$RELEASE"
}

machine() {
    place stock "$STOCK"
    build
    depmod "$RELEASE"
    update-initramfs -u -k "$RELEASE"
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
    [ -e "$STOCK$suffix" ] || fail "the stock module is not there"
    [ ! -e "$TREE/original_module" ] || fail "DKMS holds a module:" "$(find "$TREE")"
    [ -z "$(find "$KERNEL/updates/dkms" ! -type d 2>/dev/null)" ] || fail "what DKMS installed is there:" "$(find "$KERNEL/updates")"
}

expect_stock() {
    expect_loaded "$STOCK"
    is_stock "$STOCK$suffix"
}

is_stock() {
    run -0 modinfo --field version "$1"
    [ -z "$output" ]
}

# expect_initramfs FILE: that module is in it, and no other one
expect_initramfs() {
    [ "$(cat "$INITRAMFS")" = "$1" ] || fail "the initramfs has" "$(cat "$INITRAMFS")"
}

@test "a module installed by DKMS: status reports it, disable restores the stock one" {
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

@test "a newer stock module stays, and so do modules of other origin" {
    machine
    dkms_installs
    place stock "$STOCK"
    echo newer >>"$STOCK"
    run -0 manager disable
    [ "$(tail -n 1 "$STOCK" | tail -c 6)" = newer ]
    expect_loaded "$STOCK"

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

@test "without a stock module the one installed by DKMS stays, and status says what to do" {
    machine
    dkms_installs
    rm "$ORIGINALS/btrfs.ko"
    for action in disable update remove; do
        run -1 manager $action
        [[ $output == *"there is no stock module: apt install --reinstall linux-image-$RELEASE"* ]]
        cmp "$KERNEL/updates/dkms/btrfs.ko" "$BATS_FILE_TMPDIR/patched"
    done
    run -0 manager status
    [[ $output == *"there is no stock module: apt install --reinstall linux-image-$RELEASE"* ]]
    place stock "$STOCK"
    run -0 manager disable
    expect_stock
}

@test "the same where what DKMS moved away is not whole" {
    machine
    dkms_installs
    truncate -s 100 "$ORIGINALS/btrfs.ko"
    run -1 manager disable
    [[ $output == *"there is no stock module"* ]]
    cmp "$KERNEL/updates/dkms/btrfs.ko" "$BATS_FILE_TMPDIR/patched"
}

@test "the same if DKMS installed a link to the built module" {
    machine
    mv "$TREE/$VERSION" "$TREE/0.1-1"
    rm "$TREE/0.1-1/source"
    dkms_installs
    ln -sfn "0.1-1/$RELEASE/$(uname -m)" "$LINK"
    ln -sf "$LINK/module/btrfs.ko" "$KERNEL/updates/dkms/btrfs.ko"
    rm "$ORIGINALS/btrfs.ko"
    for action in disable update remove; do
        run -1 manager $action
        cmp "$KERNEL/updates/dkms/btrfs.ko" "$BATS_FILE_TMPDIR/patched"
    done
    place stock "$STOCK"
    run -0 manager update
    expect_stock
    [ ! -e "$TREE/0.1-1" ]
}

@test "without a stock module the one that is active stays" {
    machine
    run -0 manager enable
    rm "$STOCK"
    run -1 manager disable
    [[ $output == *"there is no stock module"* ]]
    cmp "$KERNEL/updates/$OURS/btrfs.ko" "$BATS_FILE_TMPDIR/patched"
    run -0 manager status
    [[ $output == *"there is no stock module: apt install --reinstall linux-image-$RELEASE"* ]]
    # Part of a copy is none.
    place stock "$STOCK.part"
    run -1 manager disable
    cmp "$KERNEL/updates/$OURS/btrfs.ko" "$BATS_FILE_TMPDIR/patched"
}

@test "without a stock module an earlier one stays until there is another one" {
    machine
    run -0 manager enable
    mv "$KERNEL/updates/$OURS" "$KERNEL/updates/$EARLIER"
    place earlier "$KERNEL/updates/$EARLIER/btrfs.ko"
    depmod "$RELEASE"
    rm "$STOCK"
    stand_in cp 'exit 1'
    run -1 manager update
    cmp "$KERNEL/updates/$EARLIER/btrfs.ko" "$BATS_FILE_TMPDIR/earlier"
    [[ $output != *stock* ]]
    rm "$ROOT/bin/cp"
    run -0 manager update
    place stock "$STOCK"
    expect_loaded "$KERNEL/updates/$OURS/btrfs.ko"
    [ ! -e "$KERNEL/updates/$EARLIER" ]
}

@test "a kernel that is removed, or was, needs no stock module" {
    machine
    run -0 manager enable
    rm "$STOCK"
    run -0 manager forget "$RELEASE"
    [ ! -e "$KERNEL/updates" ]

    machine
    dkms_installs
    rm "$ORIGINALS/btrfs.ko"
    run -0 manager forget "$RELEASE"
    [ ! -e "$KERNEL/updates" ]

    machine
    run -0 manager enable
    rm "$STOCK"
    stand_in dpkg-query 'exit 1'
    touch "$ROOT/boot/vmlinuz-$RELEASE"
    run -1 manager remove
    [ -e "$KERNEL/updates/$OURS/btrfs.ko" ]
    rm "$ROOT/boot/vmlinuz-$RELEASE"
    run -0 manager remove
    [ ! -e "$KERNEL/updates" ]
}

@test "a truncated or patched file in the place of the stock module does not count" {
    machine
    dkms_installs
    place stock "$STOCK"
    truncate -s 100 "$STOCK"
    run -0 manager disable
    expect_stock

    dkms_installs
    place patched "$STOCK"
    run -0 manager disable
    expect_stock
}

@test "an initramfs with a module that DKMS installed is rebuilt" {
    machine
    dkms_installs
    update-initramfs -u -k "$RELEASE"
    expect_initramfs "$KERNEL/updates/dkms/btrfs.ko"
    run -0 manager disable
    expect_initramfs "$STOCK"
    run -0 manager enable
    expect_initramfs "$KERNEL/updates/$OURS/btrfs.ko"
}

@test "the initramfs of a module of somebody else is right" {
    machine
    place stock "$KERNEL/updates/dkms/btrfs.ko"
    run -0 manager enable
    expect_initramfs "$KERNEL/updates/$OURS/btrfs.ko"
    run -0 manager disable
    expect_initramfs "$KERNEL/updates/dkms/btrfs.ko"
}

@test "the stock module is on disk before DKMS loses it, on another file system, too" {
    machine
    dkms_installs
    stand_in sync "echo \"\$@\" \$(ls '$STOCK' '$ORIGINALS/btrfs.ko') >>'$ROOT/synced'; exec $(command -v sync) \"\$@\""
    run -0 manager disable
    grep -Fx "${STOCK%/*} $STOCK $ORIGINALS/btrfs.ko" "$ROOT/synced"
    expect_stock

    dkms_installs
    rm "$ROOT/synced"
    stand_in ln 'exit 1'
    run -0 manager disable
    grep -Fx "${STOCK%/*} $STOCK $ORIGINALS/btrfs.ko" "$ROOT/synced"
    expect_stock
}

@test "a module that is not whole, and not ours, stays, and keeps nobody from a removal" {
    place stock "$STOCK"
    place stock "$KERNEL/updates/dkms/btrfs.ko"
    truncate -s 100 "$KERNEL/updates/dkms/btrfs.ko"
    depmod "$RELEASE"
    # It has no symbols.
    echo "updates/dkms/btrfs.ko:" >"$KERNEL/modules.dep"
    for action in disable remove; do
        run -0 manager "$action"
        [ -e "$KERNEL/updates/dkms/btrfs.ko" ]
    done
}

@test "a kernel that stays after all gets its initramfs" {
    machine
    run -0 manager enable
    run -0 manager forget "$RELEASE"
    expect_initramfs "$KERNEL/updates/$OURS/btrfs.ko"
    run -0 manager update
    expect_initramfs "$STOCK"
    [ ! -e "$ROOT/var/lib/btrfs-fastpath/unsettled/$RELEASE" ]

    build
    run -0 manager enable
    run -0 manager forget "$RELEASE"
    rm -r "$KERNEL"
    run -0 manager update
    [ ! -e "$ROOT/var/lib/btrfs-fastpath/unsettled/$RELEASE" ]
}

@test "a link to the folder into which DKMS installs" {
    machine
    mkdir "$ROOT/elsewhere" "$KERNEL/updates"
    ln -s "$ROOT/elsewhere" "$KERNEL/updates/dkms"
    dkms_installs
    run -0 manager disable
    [ ! -e "$ROOT/elsewhere/btrfs.ko" ]
    rm "$KERNEL/updates/dkms"
    expect_stock
}

@test "what an interrupted change left: paths without a module, parts of one, the link of DKMS" {
    machine
    dkms_installs
    mv "$ORIGINALS/btrfs.ko" "$STOCK"
    : >"$STOCK.part"
    run -0 manager disable
    expect_stock

    dkms_installs
    cp "$ORIGINALS/btrfs.ko" "$STOCK"
    : >"$STOCK.part"
    run -0 manager disable
    expect_stock
    [ ! -e "$STOCK.part" ]

    ln -s "$VERSION/$RELEASE/$(uname -m)" "$LINK"
    run -0 manager disable
    expect_stock
    [ ! -L "$LINK" ]

    mkdir -p "$ORIGINALS"
    echo "$STOCK" >"$ORIGINALS/btrfs.ko.origin"
    run -0 manager disable
    expect_stock
}

@test "a link that DKMS moved away is put back as one" {
    machine
    place stock "$ROOT/elsewhere.ko"
    mkdir -p "$KERNEL/extra"
    ln -s ../../../../elsewhere.ko "$KERNEL/extra/btrfs.ko"
    dkms_installs "$KERNEL/extra/btrfs.ko"
    run -0 manager disable
    [ "$(readlink "$KERNEL/extra/btrfs.ko")" = ../../../../elsewhere.ko ]
    [ ! -e "$TREE/original_module" ]
}

@test "a stock module that came compressed stays, and nothing is added next to it" {
    machine
    dkms_installs
    suffix=.xz
    place stock "$STOCK"
    run -0 manager disable
    [ ! -e "$STOCK" ]
    expect_stock
}

@test "a file with another name than a module has stays" {
    machine
    dkms_installs
    cp "$KERNEL/updates/dkms/btrfs.ko" "$KERNEL/updates/dkms/btrfs.ko.bak"
    run -0 manager disable
    [ -e "$KERNEL/updates/dkms/btrfs.ko.bak" ]
    [ ! -e "$KERNEL/updates/dkms/btrfs.ko" ]
}

@test "DKMS of Debian 12, which moves nothing away, also when it was interrupted" {
    machine
    place patched "$KERNEL/updates/dkms/btrfs.ko"
    ln -s "$VERSION/$RELEASE/$(uname -m)" "$LINK"
    depmod "$RELEASE"
    run -0 manager disable
    expect_stock
    [ ! -L "$LINK" ]

    place patched "$KERNEL/updates/dkms/btrfs.ko"
    truncate -s 100 "$KERNEL/updates/dkms/btrfs.ko"
    run -0 manager disable
    expect_stock
}

# with_fault NUMBER FAULT: before the command of that number which changes something, from 0 on, the line FAULT is run
with_fault() {
    local command

    mkdir "$ROOT/faulty"
    echo "$1" >"$ROOT/count"
    cat >"$ROOT/faulty/cp" <<TEXT
#!/bin/sh
read -r count <'$ROOT/count'
echo \$((count - 1)) >'$ROOT/count'
[ "\$count" -ne 0 ] || $2
PATH=\${PATH#*:}
exec "\${0##*/}" "\$@"
TEXT
    chmod 755 "$ROOT/faulty/cp"
    for command in depmod ln mv rm rmdir sync update-initramfs; do
        ln "$ROOT/faulty/cp" "$ROOT/faulty/$command"
    done
}

has_any_module() {
    local file

    for file in "$STOCK" "$KERNEL"/updates/*/btrfs.ko; do
        ! modinfo "$file" >/dev/null 2>&1 || return 0
    done
    fail "no module is there:" "$(find "$ROOT/lib/modules" "$TREE")"
}

# What modules.dep names is there.
expect_loadable() {
    local path

    path=$(modprobe --set-version "$RELEASE" --show-depends btrfs | sed -n 's,^insmod \([^ ]*\).*,\1,p')
    [ -e "$path" ] || fail "modules.dep names '$path', and there is" "$(find "$ROOT/lib/modules" -name 'btrfs.ko*')"
}

# survives PREPARATION EXPECTATION ACTION FAULT...: with a fault before any step, each in its turn, there is a module, and the
# same again does the rest. Which one is the first is left to chance: all before each step take minutes.
survives() {
    local number fault faults=("${@:4}") turn=$RANDOM

    for ((number = 0; ; number++)); do
        fault=${faults[(turn + number) % ${#faults[@]}]}
        rm -rf "$KERNEL/updates" "$TREE" "$ROOT/var/lib/btrfs-fastpath" "$ROOT/run"
        "$1"
        with_fault "$number" "$fault"
        setsid --wait "$MANAGER" "$3" >"$ROOT/said" 2>&1 || true
        rm -r "$ROOT/faulty"
        has_any_module
        expect_loadable || fail "$fault before step $number"
        "$MANAGER" "$3" >"$ROOT/said" 2>&1 || fail "$fault before step $number: $3 fails:" "$(cat "$ROOT/said")"
        "$2" || fail "$fault before step $number"
        [ "$(cat "$ROOT/count")" -lt 0 ] || break
    done
    [ "$number" -gt 5 ] || fail "there are $number steps"
}

installed_by_dkms() {
    machine
    dkms_installs
    update-initramfs -u -k "$RELEASE"
}

stock_everywhere() {
    expect_stock && expect_initramfs "$STOCK"
}

# bats test_tags=slow
@test "interrupted or failing in any step: there is a module, and disable does the rest" {
    survives installed_by_dkms stock_everywhere disable 'kill -KILL 0' 'kill -TERM 0' 'exit 1'
}

# The module of an earlier version of the package
earlier_is_active() {
    machine
    manager enable
    mv "$KERNEL/updates/$OURS" "$KERNEL/updates/$EARLIER"
    place earlier "$KERNEL/updates/$EARLIER/btrfs.ko"
    depmod "$RELEASE"
    update-initramfs -u -k "$RELEASE"
}

active_without_stock() {
    earlier_is_active
    rm "$STOCK"
}

ours_everywhere() {
    # what the expectation asks for
    place stock "$STOCK"
    expect_loaded "$KERNEL/updates/$OURS/btrfs.ko" && expect_initramfs "$KERNEL/updates/$OURS/btrfs.ko"
}

# bats test_tags=slow
@test "the same without a stock module: update does the rest" {
    survives active_without_stock ours_everywhere update 'kill -KILL 0' 'exit 1'
}

# bats test_tags=slow
@test "killed where DKMS installed it: enable does the rest" {
    survives installed_by_dkms ours_everywhere enable 'kill -KILL 0'
}

@test "status reports the same in any mode of bash in the environment" {
    local expected

    machine
    run -0 manager status
    expected=$output
    [[ $expected == *$'\n'kernel*ready* ]]
    POSIXLY_CORRECT=1 run -0 manager status
    [ "$output" = "$expected" ]
    run -0 env SHELLOPTS=posix "$MANAGER" status
    [ "$output" = "$expected" ]
    POSIXLY_CORRECT=1 run -0 manager enable
    expect_loaded "$KERNEL/updates/$OURS/btrfs.ko"
    POSIXLY_CORRECT=1 run -0 manager disable
    expect_stock
}

# settings LINE...: what the administrator has chosen
settings() {
    mkdir -p "$ROOT/etc/btrfs-fastpath"
    printf '%s\n' "$@" >"$ROOT/etc/btrfs-fastpath/module.conf"
}

# buildable: the headers and a source of the kernel are there. DKMS runs build-module; apply notes its options, and make
# makes a module of the version that is at the end of super.c.
buildable() {
    local source=$ROOT/usr/src/linux-source-6.12 scripts=$ROOT/usr/share/btrfs-fastpath/kernel/scripts

    mkdir -p "$KERNEL/build/include/generated" "$source/fs/btrfs"
    echo '#define LINUX_PACKAGE_ID " Debian 6.12.117-1"' >"$KERNEL/build/include/generated/package.h"
    echo CONFIG_BTRFS_FS=m >"$KERNEL/build/.config"
    touch "$source/Makefile" "$source/fs/btrfs/super.c"
    tar -C "$ROOT/usr/src" -cJf "$source.tar.xz" linux-source-6.12
    sed -i "s,/usr/src/\\\$source_package,$ROOT&," "$ROOT/usr/share/btrfs-fastpath/module.bash"
    in_root "$ROOT/usr/src/btrfs-fastpath-$VERSION/build-module"
    printf '#!/bin/sh\necho "$*" >>%s\n' "$ROOT/applied" >"$scripts/apply"
    # shellcheck disable=SC2016 # for the stand-in
    stand_in make 'version=$(sed -n "s/^MODULE_VERSION(\"\(.*\)\");$/\1/p" fs/btrfs/super.c)
echo ".section .modinfo, \"a\"; .asciz \"name=btrfs\"; .asciz \"version=$version\"" | cc -c -x assembler -o fs/btrfs/btrfs.ko -'
    stand_in dkms "[ \"\$1\" = build ] || exit 0
rm -rf '$ROOT/work' && mkdir '$ROOT/work' && cd '$ROOT/work' || exit
'$ROOT/usr/src/btrfs-fastpath-$VERSION/build-module' '$RELEASE' '$KERNEL/build' || exit
mkdir -p '$TREE/$VERSION/$RELEASE/$(uname -m)/module' && cp fs/btrfs/btrfs.ko '$TREE/$VERSION/$RELEASE/$(uname -m)/module/'
ln -sfn / '$TREE/$VERSION/source'"
}

@test "module.conf: the corrections alone, and the full series again" {
    machine
    buildable
    run -0 manager enable
    expect_loaded "$KERNEL/updates/$OURS/btrfs.ko"
    [ ! -e "$ROOT/applied" ] || fail "built again"
    settings '# careful' '' 'series=corrections'
    run -0 manager status
    [[ $output == *'of another version of the package or another series'* ]]
    run -0 manager enable
    expect_loaded "$KERNEL/updates/$OURS+corrections/btrfs.ko"
    expect_initramfs "$KERNEL/updates/$OURS+corrections/btrfs.ko"
    [ "$(cat "$ROOT/applied")" = '6.12 linux --only corrections' ]
    run -0 manager status
    [[ $output == *$'active\t'"$OURS+corrections"$'\t' ]] || fail "$output"
    run -0 manager update
    [ "$(wc -l <"$ROOT/applied")" -eq 1 ]
    settings 'series=full'
    run -0 manager update
    expect_loaded "$KERNEL/updates/$OURS/btrfs.ko"
    [ "$(tail -n 1 "$ROOT/applied")" = '6.12 linux' ]
}

# bats test_tags=slow
@test "module.conf: without it, and with a wrong line" {
    local line

    place stock "$STOCK"
    depmod "$RELEASE"
    update-initramfs -u -k "$RELEASE"
    buildable
    for line in 'series=some' 'series = corrections' "series=corrections; touch '$ROOT/run_by_a_shell'" 'series=full corrections' 'corrections'; do
        settings 'series=corrections' "$line"
        run -1 manager enable
        [[ $output == *"ERROR: $ROOT/etc/btrfs-fastpath/module.conf has "*' instead of series=full or series=corrections' ]]
        run -1 manager update
        [[ $output == *'no module is built: '* ]]
        run -0 manager status
        [[ $output == *$'stock\t-\t'*'instead of series=full'* ]]
        run -0 manager disable
    done
    rm "$ROOT/etc/btrfs-fastpath/module.conf"
    mkfifo "$ROOT/etc/btrfs-fastpath/module.conf"
    run -1 timeout 20 "$MANAGER" enable
    [[ $output == *"ERROR: cannot read $ROOT/etc/btrfs-fastpath/module.conf" ]]
    rm "$ROOT/etc/btrfs-fastpath/module.conf"
    settings 'series=corrections'
    chmod o+w "$ROOT/etc/btrfs-fastpath/module.conf"
    run -1 manager enable
    [[ $output == *"ERROR: other users can write to $ROOT/etc/btrfs-fastpath/module.conf" ]]
    [ ! -e "$ROOT/applied" ] && [ ! -e "$ROOT/run_by_a_shell" ]
    expect_stock
    rm "$ROOT/etc/btrfs-fastpath/module.conf"
    run -0 manager enable
    expect_loaded "$KERNEL/updates/$OURS/btrfs.ko"
    [ "$(cat "$ROOT/applied")" = '6.12 linux' ]
}

# notes_lock NAME: a program that tells whether it has the lock open, and does what it did before
notes_lock() {
    mv "$ROOT/bin/$1" "$ROOT/bin/$1.real"
    stand_in "$1" "[ ! -e /proc/self/fd/9 ] || echo $1 >>'$ROOT/has_lock'
echo $1 >>'$ROOT/was_run'
. '$ROOT/bin/$1.real'"
}

@test "depmod and update-initramfs, whose hooks may start a daemon, do not get the lock" {
    machine
    notes_lock depmod
    notes_lock update-initramfs
    run -0 manager enable
    # settle calls depmod where nothing else could.
    mv "$STOCK" "$ROOT/stock"
    : >"$KERNEL/modules.dep.bin"
    : >"$ROOT/was_run"
    run -1 manager disable
    grep -qx depmod "$ROOT/was_run"
    mv "$ROOT/stock" "$STOCK"
    run -0 manager disable
    [ "$(sort -u "$ROOT/was_run")" = $'depmod\nupdate-initramfs' ]
    [ ! -e "$ROOT/has_lock" ] || fail "the lock is open in" "$(sort "$ROOT/has_lock")"
}

# depmod_fails NUMBER FAULT: with FAULT in its NUMBERth call
depmod_fails() {
    : >"$ROOT/calls"
    mv "$ROOT/bin/depmod" "$ROOT/depmod"
    stand_in depmod "echo \"\$@\" >>'$ROOT/calls'
[ \$(wc -l <'$ROOT/calls') -ne $1 ] || $2
. '$ROOT/depmod'"
}

# survives_depmod ACTION EXPECTATION FAULT: in each of its two or more calls
survives_depmod() {
    local number

    for number in 1 2; do
        rm -rf "$KERNEL/updates" "$TREE" "$ROOT/var/lib/btrfs-fastpath" "$ROOT/run"
        earlier_is_active
        depmod_fails "$number" "$3"
        setsid --wait "$MANAGER" "$1" >"$ROOT/said" 2>&1 || true
        [ "$(wc -l <"$ROOT/calls")" -ge "$number" ] || fail "depmod was called less often"
        mv "$ROOT/depmod" "$ROOT/bin/depmod"
        expect_loadable || fail "$1, $3 in call $number"
        manager update >"$ROOT/said" 2>&1 || fail "$1, $3 in call $number: update fails:" "$(cat "$ROOT/said")"
        "$2" || fail "$1, $3 in call $number"
        [ ! -e "$KERNEL/updates/$EARLIER" ]
        [[ $(manager status) != *'run '* ]] || fail "status is not content:" "$(manager status)"
    done
}

# bats test_tags=slow
@test "killed in depmod: modules.dep names a module that is there, and update does the rest" {
    survives_depmod update ours_everywhere 'kill -KILL 0'
    survives_depmod disable stock_everywhere 'kill -KILL 0'
}

# bats test_tags=slow
@test "a depmod that fails: the same" {
    survives_depmod update ours_everywhere 'exit 1'
    survives_depmod disable stock_everywhere 'exit 1'
}

@test "a depmod that always fails: disable deletes nothing, and reports it" {
    earlier_is_active
    stand_in depmod 'exit 1'
    run -1 manager disable
    [[ $output == *'depmod failed, and no module was deleted'* ]]
    expect_loadable
    cmp "$KERNEL/updates/$EARLIER/btrfs.ko" "$BATS_FILE_TMPDIR/earlier"
    expect_initramfs "$KERNEL/updates/$EARLIER/btrfs.ko"
}

@test "an administrator's depmod settings apply to each call" {
    earlier_is_active
    mkdir -p "$ROOT/etc/depmod.d"
    echo "search extra built-in" >"$ROOT/etc/depmod.d/extra.conf"
    depmod_fails 0 :
    run -0 manager disable
    [ "$(grep -c -e "--config $ROOT/etc/depmod.d .*--config $ROOT/run/" "$ROOT/calls")" -eq 1 ]
    [ ! -e "$ROOT/run/btrfs-fastpath" ]
    expect_stock
}
