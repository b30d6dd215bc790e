#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# quickstart, with a package manager, a configure and a make that only say what they were asked.

# what make or environment.bash sets
# shellcheck disable=SC2154
load environment.bash

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p tree/cmds bin
    cp "$top_srcdir/quickstart" tree/
    cp "$top_srcdir/cmds/demo.bash" tree/cmds/
    export CALLS=$BATS_TEST_TMPDIR/calls PACKAGES=$BATS_TEST_TMPDIR/packages
    # shellcheck disable=SC2016 # scripts
    {
        stub bin/dpkg-query 'case $3 in "\${db:Status-Status}") printf installed ;; *) cat "$PACKAGES" ;; esac'
        stub tree/configure 'echo configure >>"$CALLS"' \
            'printf "#!/bin/sh\necho config.status \$* >>$CALLS\n" >config.status' 'chmod 755 config.status' ': >Makefile'
        stub bin/make 'echo "make $*" >>"$CALLS"' 'case "$*" in *"$FAILING"*) exit 1 ;; esac'
    }
    export FAILING=nothing
    PATH=$PWD/bin:$PATH
    echo 'bats 1.8 installed' >"$PACKAGES"
    : >calls
}

configured() {
    grep -E '^config' calls || true
}

@test "it configures once" {
    run -0 tree/quickstart build
    run -0 tree/quickstart build
    [ "$(configured)" = configure ]
}

@test "it configures again after packages were added" {
    run -0 tree/quickstart build
    echo 'libcmocka-dev 1.1 installed' >>"$PACKAGES"
    run -0 tree/quickstart build
    [ "$(configured)" = "$(printf '%s\n' configure 'config.status --quiet --recheck' 'config.status --quiet')" ]
    run -0 tree/quickstart build
    [ "$(configured | wc -l)" -eq 3 ]
}

@test "it configures again after a program came by itself" {
    run -0 tree/quickstart build
    mkdir more
    stub more/bats
    PATH=$PWD/more:$PATH run -0 tree/quickstart build
    [ "$(configured | wc -l)" -eq 3 ]
}

@test "a build folder that was configured by hand is configured again" {
    mkdir tree/build
    (cd tree/build && ../configure)
    run -0 tree/quickstart build
    [ "$(configured | wc -l)" -eq 3 ]
}

@test "help, before anything is installed or built" {
    local command word

    for command in demo check check-kernel bench build packages; do
        for word in -h --help; do
            run -0 tree/quickstart "$command" "$word"
            [[ $output = Usage:* ]]
            [ ! -s calls ]
        done
    done
    run -0 tree/quickstart check-kernel -h
    [[ $output = "Usage: ./quickstart check-kernel "* ]]
    [ ! -s calls ]
}

@test "too many arguments, before anything is installed or built" {
    local command

    for command in check bench build; do
        run -1 tree/quickstart "$command" surplus
        [ "$output" = "ERROR: $command: too many arguments, the first is 'surplus'" ]
    done
    run -1 tree/quickstart demo . surplus
    [ "$output" = "ERROR: demo: too many arguments, the first is 'surplus'" ]
    run -1 tree/quickstart demo --all . surplus
    [ "$output" = "ERROR: demo: too many arguments, the first is 'surplus'" ]
    [ ! -s calls ]
}

# As root on a machine that has what the tests need.
check() {
    [ "${MOUNT_TESTS-}" != no ] || skip "no tests that mount, as was asked for"
    [ "$(id -u)" -eq 0 ] || skip "mounting needs root"
    grep -qw btrfs /proc/filesystems || skip "no btrfs in this kernel"
    losetup --find >/dev/null 2>&1 || skip "no loop device"
    run tree/quickstart check "$@"
}

@test "check leaves out slow tests, except with --all" {
    check
    grep -qxE 'make --silent -j[0-9]+ SLOW_TESTS=no check-TESTS' calls
    : >calls
    check --all
    grep -qx 'make --silent check-TESTS' calls
}

@test "check fails where the tests fail, and then reports all of them" {
    FAILING=check-TESTS check
    [ "$status" -eq 1 ]
    [ "$(tail -n 1 calls)" = "make --silent check-results RESULTS_FLAGS=--strict" ]
}

@test "check fails where a test was skipped without need" {
    FAILING=check-results check
    [ "$status" -eq 1 ]
    FAILING=nothing check
    [ "$status" -eq 0 ]
}

# demo_in DIRECTORY [FROM]: which it refuses; on a file system that no other process sees, with directories of many kinds
demo_in() {
    [ "${MOUNT_TESTS-}" != no ] || skip "no tests that mount, as was asked for"
    [ "$(id -u)" -eq 0 ] || skip "mounting needs root"
    unshare --mount true 2>/dev/null || skip "root may not mount here"
    # shellcheck disable=SC2016 # a script of its own
    run -1 unshare --mount --propagation private sh -c '
        mount -t tmpfs none /mnt && cd /mnt || exit 99
        mkdir -m 755 root root/below theirs theirs/below
        mkdir -m 1777 sticky sticky/below their-sticky
        mkdir -m 755 sticky/theirs
        mkdir -m 775 group
        mkdir -m 757 others others/below
        chmod 755 sticky/below
        chown 65534 theirs their-sticky sticky/theirs
        ln -s root link
        ln -s sticky/theirs link-to-theirs
        cd "$1" || exit 99
        exec "$2" demo "$3"' - "${2-/}" "$PWD/tree/quickstart" "$1"
}

@test "demo: no directory in which another user can replace what root makes" {
    local directory unsafe

    while read -r directory unsafe; do
        demo_in "/mnt/$directory"
        [ "$output" = "ERROR: not safe: '/mnt/$unsafe' must belong to root, and only root may write to it" ]
        [ ! -s calls ]
    done <<'TABLE'
theirs theirs
theirs/below theirs
sticky/theirs sticky/theirs
link-to-theirs sticky/theirs
their-sticky their-sticky
group group
others others
others/below others
theirs/../root/../theirs theirs
TABLE
    demo_in . /mnt/theirs
    [[ $output = *"'/mnt/theirs' must belong to root"* ]]
}

@test "demo: root's directories, and those with a sticky bit" {
    local directory

    for directory in root root/below sticky sticky/below link; do
        demo_in "/mnt/$directory"
        # which comes after it
        [ "$output" = "ERROR: not a btrfs filesystem: '/mnt/$directory'" ]
    done
}

@test "demo DIR: a relative path is checked before anything is built" {
    [ "${MOUNT_TESTS-}" != no ] || skip "no tests that mount, as was asked for"
    [ "$(id -u)" -eq 0 ] || skip "mounting needs root"
    mkdir -m 755 place
    stub bin/stat 'echo btrfs'
    # shellcheck disable=SC2016 # a script
    stub bin/btrfs 'echo "btrfs $*" >>"$CALLS"' 'exit 1'
    run -1 tree/quickstart demo place
    grep -qxE "btrfs subvolume create $(pwd -P)/place/btrfs-fastpath-demo\.[^/]*/data" calls
    [ -z "$(ls -A place)" ]

    : >calls
    run -1 tree/quickstart demo missing
    [ "$output" = "ERROR: not a directory: 'missing'" ]
    [ ! -s calls ]
}

@test "demo: no image in a \$TMPDIR in which another user can replace it" {
    [ "${MOUNT_TESTS-}" != no ] || skip "no tests that mount, as was asked for"
    [ "$(id -u)" -eq 0 ] || skip "mounting needs root"
    mkdir theirs
    chown 65534 theirs
    TMPDIR=$PWD/theirs run -1 tree/quickstart demo
    [ "$output" = "ERROR: not safe: '$PWD/theirs' must belong to root, and only root may write to it" ]
    [ -z "$(ls -A theirs)" ]
}
