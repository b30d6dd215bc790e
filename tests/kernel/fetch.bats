#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# fetch, with an apt that knows a few versions of a source package and has all but one of them.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}"
FETCH=$top_srcdir/kernel/scripts/fetch
export LC_ALL=C.UTF-8

# write_command NAME: what it does is on standard input
write_command() {
    {
        echo '#!/bin/bash'
        cat
    } >"$BATS_TEST_TMPDIR/bin/$1"
    chmod +x "$BATS_TEST_TMPDIR/bin/$1"
}

setup() {
    export FASTPATH_KERNEL_DIR=$BATS_TEST_TMPDIR/kernel XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    export PATH=$BATS_TEST_TMPDIR/bin:$PATH CALLS=$BATS_TEST_TMPDIR/calls
    mkdir -p "$FASTPATH_KERNEL_DIR/bases" "$BATS_TEST_TMPDIR/bin"
    printf 'suite=bookworm\nsource_package=linux-source-6.1\nsource_version=6.1.5-2\nsource_sha256=%s\nkernel_series=6.1\n' \
        "$(printf 'package %s\n' 6.1.5-2 | sha256sum | cut -d ' ' -f 1)" >"$FASTPATH_KERNEL_DIR/bases/6.1.conf"
    sed -n -e 1p -e '/\t6\.1\t/p' "$top_srcdir/kernel/STATUS.tsv" >"$FASTPATH_KERNEL_DIR/STATUS.tsv"
    ln -s /bin/true "$BATS_TEST_TMPDIR/bin/xz"
    # one version in two suites
    write_command apt-cache <<'TEXT'
for version in 6.1.6-1 6.1.5-2 6.1.5-2 6.1.4-1~deb12u1 6.1.3-1; do
    echo " $2 | $version | somewhere"
done
TEXT
    write_command apt-get <<'TEXT'
case "$2 $3" in
update*) printf '%s' "${UPDATE_SAYS-}" >&2; exit "${UPDATE_STATUS-0}" ;;
"download linux-source-6.1=6.1.3-1") echo "E: Failed to fetch it  404  Not Found" >&2; exit 100 ;;
"download linux-source-6.1=6.1.6-1") echo "E: Connection timed out" >&2; exit 100 ;;
download*) echo "package ${3#*=}" >"linux-source-6.1_${3#*=}_all.deb"; echo "$3" >>"$CALLS" ;;
esac
TEXT
    # a package is unpacked to the source of its release
    write_command dpkg-deb <<'TEXT'
read -r _ version <"$2"
mkdir -p "$3/usr/src/linux/fs/btrfs"
printf 'VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = %s\n' "$(sed -E 's/^6\.1\.([0-9]+).*/\1/' <<<"$version")" \
    >"$3/usr/src/linux/Makefile"
touch "$3/usr/src/linux/fs/btrfs/ctree.c"
tar -C "$3/usr/src" -cf "$3/usr/src/linux-source-6.1.tar.xz" linux
TEXT
}

teardown() {
    if compgen -G "$XDG_CACHE_HOME/btrfs-fastpath/source/btrfs-fastpath.*"; then return 1; fi
}

# fetch ARGUMENT...: run by bats, without what it says on the way
fetch() {
    run --separate-stderr "$FETCH" "$@"
}

@test "fetch --list: each version once, the newest first" {
    fetch --list 6.1
    # shellcheck disable=SC2154 # bats' run sets them
    [ "$status" -eq 0 ]
    # shellcheck disable=SC2154
    [ "$output" = $'6.1.6-1\n6.1.5-2\n6.1.4-1~deb12u1\n6.1.3-1' ]
}

# apt_update_fails LINE...: what it says then
apt_update_fails() {
    UPDATE_SAYS=$(printf '%s\n' "$@") UPDATE_STATUS=100
    export UPDATE_SAYS UPDATE_STATUS
}

@test "fetch --list: a package source that cannot be read" {
    local unread='E: Failed to fetch somewhere/InRelease  Unable to connect' lacking="E: The repository 'x' does not have a Release file."

    apt_update_fails "$unread" "$lacking"
    fetch --list 6.1
    [ "$status" -eq 4 ]
    [ "$output" = $'6.1.6-1\n6.1.5-2\n6.1.4-1~deb12u1\n6.1.3-1' ]
    # shellcheck disable=SC2154
    [[ $stderr == *"WARNING: not all package sources of bookworm can be read" ]]
    # one that was killed has said nothing
    apt_update_fails
    fetch --list 6.1
    [ "$status" -eq 4 ]
    # a version that is found is enough for who asked for it
    fetch 6.1
    [ "$status" -eq 0 ]
}

@test "fetch --list: a suite that lacks one of the machine's parts" {
    apt_update_fails "E: The repository 'x bookworm-backports Release' does not have a Release file."
    fetch --list 6.1
    [ "$status" -eq 0 ]
    [ "$output" = $'6.1.6-1\n6.1.5-2\n6.1.4-1~deb12u1\n6.1.3-1' ]
}

# An apt that is not asked to would pass over what it cannot read.
@test "fetch --list: apt is to fail at the first package source that it cannot read" {
    write_command apt-get <<'TEXT'
[[ " $* " == *" APT::Update::Error-Mode=any "* ]] || exit 0
echo "E: Some index files failed to download." >&2
exit 100
TEXT
    fetch --list 6.1
    [ "$status" -eq 4 ]
}

@test "fetch --version: in its own folder, and only once" {
    fetch --version '6.1.4-1~deb12u1' 6.1
    [ "$status" -eq 0 ]
    [ "$output" = "$XDG_CACHE_HOME/btrfs-fastpath/source/6.1-6.1.4-1~deb12u1" ]
    grep -qx 'SUBLEVEL = 4' "$output/Makefile"
    fetch 6.1
    [ "$output" = "$XDG_CACHE_HOME/btrfs-fastpath/source/6.1-6.1.5-2" ]
    grep -qx 'SUBLEVEL = 5' "$output/Makefile"
    fetch --version '6.1.4-1~deb12u1' 6.1
    [ "$status" -eq 0 ]
    [ "$(cat "$CALLS")" = $'linux-source-6.1=6.1.4-1~deb12u1\nlinux-source-6.1=6.1.5-2' ]
}

@test "fetch --version: the pinned one is checked as without it" {
    sed -i 's/^source_sha256=./&0/' "$FASTPATH_KERNEL_DIR/bases/6.1.conf"
    fetch --version 6.1.5-2 6.1
    [ "$status" -eq 1 ]
    # shellcheck disable=SC2154
    [[ $stderr == *"is not what bases/6.1.conf describes"* ]]
}

@test "fetch --version: versions that do not exist, are gone or cannot be fetched" {
    fetch --version 6.1.7-1 6.1
    [ "$status" -eq 1 ]
    [[ $stderr == *"ERROR: the package sources have no linux-source-6.1 6.1.7-1 (there are: 6.1.6-1 6.1.5-2 6.1.4-1~deb12u1 6.1.3-1)" ]]
    fetch --version 6.1.3-1 6.1
    [ "$status" -eq 3 ]
    fetch --version 6.1.6-1 6.1
    [ "$status" -eq 1 ]
    [[ $stderr == *"ERROR: cannot download linux-source-6.1 6.1.6-1" ]]
    [ -z "$output" ]
}

@test "fetch: invalid versions, and options that cannot be combined" {
    for version in ../6.1.4-1 '' 6.1/4 -6; do
        fetch --version "$version" 6.1
        [ "$status" -eq 1 ]
        # shellcheck disable=SC2154
        [ "${stderr_lines[0]}" = "ERROR: --version requires a version: '$version'" ]
    done
    fetch --version 6.1.4-1 --list 6.1
    [ "$status" -eq 1 ]
    [ "${stderr_lines[0]}" = "ERROR: only one of --tarball, --version and --list" ]
}

# write_tarball FILE [TAR-OPTION...]: of a source
write_tarball() {
    mkdir -p "$BATS_TEST_TMPDIR/linux/fs/btrfs"
    printf 'VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 5\n' >"$BATS_TEST_TMPDIR/linux/Makefile"
    touch "$BATS_TEST_TMPDIR/linux/fs/btrfs/ctree.c"
    chmod 6777 "$BATS_TEST_TMPDIR/linux/fs/btrfs/ctree.c"
    tar --force-local -C "$BATS_TEST_TMPDIR" -cf "$1" "${@:2}" linux
}

@test "fetch --tarball: a name with a colon" {
    cd "$BATS_TEST_TMPDIR"
    write_tarball x:y.tar
    fetch --tarball x:y.tar 6.1
    [ "$status" -eq 0 ]
    [ -f "$output/fs/btrfs/ctree.c" ]
}

@test "fetch --tarball: the source is the caller's, and nobody else can change it" {
    write_tarball "$BATS_TEST_TMPDIR/x.tar" --owner=12345 --group=12345
    umask 0
    fetch --tarball "$BATS_TEST_TMPDIR/x.tar" 6.1
    [ "$status" -eq 0 ]
    [ -z "$(find "$output" ! -user "$(id -u)")" ]
    [ -z "$(find "$output" -perm /7022)" ]
}

# refuses_cache: for the reason that its last line gives, and makes nothing
refuses_cache() {
    fetch 6.1
    [ "$status" -eq 1 ]
    # shellcheck disable=SC2053 # a pattern it is
    [[ ${stderr_lines[-1]} == $1 ]] || { printf '%s\n' "$stderr" >&2 && return 1; }
    [ ! -e "$CALLS" ]
}

# whose: makes a folder another user's
whose() {
    chown 12345:12345 "$@" 2>/dev/null || skip "another user's files need root"
}

@test "fetch: a cache in a folder of another user is refused" {
    mkdir -p "$XDG_CACHE_HOME"
    whose "$XDG_CACHE_HOME"
    refuses_cache "ERROR: not safe from other users: '$XDG_CACHE_HOME' belongs to one"
    [ -z "$(ls -A "$XDG_CACHE_HOME")" ]
    chown 0:0 "$XDG_CACHE_HOME"
    mkdir -p "$XDG_CACHE_HOME/btrfs-fastpath/source/6.1-6.1.5-2"
    whose "$XDG_CACHE_HOME/btrfs-fastpath"
    refuses_cache "ERROR: not safe from other users: '$XDG_CACHE_HOME/btrfs-fastpath' belongs to one"
    # through a link, too
    mv "$XDG_CACHE_HOME" "$BATS_TEST_TMPDIR/elsewhere"
    ln -s elsewhere "$XDG_CACHE_HOME"
    refuses_cache "ERROR: not safe from other users: '$BATS_TEST_TMPDIR/elsewhere/btrfs-fastpath' belongs to one"
}

@test "fetch: a cache to which others can write is refused" {
    mkdir -p "$XDG_CACHE_HOME/btrfs-fastpath"
    chmod o+w "$XDG_CACHE_HOME"
    refuses_cache "ERROR: not safe from other users: they can write to '$XDG_CACHE_HOME'"
    # nobody can replace a folder of the caller there
    chmod +t "$XDG_CACHE_HOME"
    fetch 6.1
    [ "$status" -eq 0 ]
    rm "$CALLS"
    chmod 1777 "$XDG_CACHE_HOME/btrfs-fastpath"
    refuses_cache "ERROR: the cache is not yours alone: '$XDG_CACHE_HOME/btrfs-fastpath'; *"
}

@test "fetch: a cache of a group with nobody else in it" {
    [ "$(id -gn)" = "$(id -un)" ] || skip "the caller's group has others in it"
    umask 002
    mkdir -p "$XDG_CACHE_HOME/btrfs-fastpath"
    fetch 6.1
    [ "$status" -eq 0 ]
    rm "$CALLS"
    chgrp 12345 "$XDG_CACHE_HOME/btrfs-fastpath" 2>/dev/null || return 0
    refuses_cache "ERROR: not safe from other users: they can write to '$XDG_CACHE_HOME/btrfs-fastpath'"
}

@test "new-base: a base whose source is fetched and verified" {
    local new_base=$top_srcdir/kernel/scripts/new-base

    mv "$FASTPATH_KERNEL_DIR/bases/6.1.conf" "$BATS_TEST_TMPDIR/known"
    # not the version that cannot be downloaded
    run -3 "$new_base" 6.1 linux-source-6.1 6.1.3-1 bookworm
    [ -z "$(ls "$FASTPATH_KERNEL_DIR/bases")" ]
    run -0 "$new_base" 6.1 linux-source-6.1 6.1.5-2 bookworm
    [[ $output == *"Created bases/6.1.conf and 6.1/series"* ]]
    for name in suite source_package source_version source_sha256 kernel_series; do
        grep -x "$(grep "^$name=" "$BATS_TEST_TMPDIR/known")" "$FASTPATH_KERNEL_DIR/bases/6.1.conf"
    done
    [ "$(grep -cv '^#' "$FASTPATH_KERNEL_DIR/6.1/series")" -eq 0 ]
    rm -r "$XDG_CACHE_HOME"
    fetch 6.1
    [ "$status" -eq 0 ]
    run -1 "$new_base" 6.1 linux-source-6.1 6.1.5-2 bookworm
    [ "$output" = "ERROR: there is a base '6.1'" ]
}
