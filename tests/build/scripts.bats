#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What the scripts for developers and make say and leave behind, without doing their work.

# what make or environment.bash sets
# shellcheck disable=SC2154
load environment.bash

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p tree/.ci tree/tests bin
    cp "$top_srcdir/.ci/run" tree/.ci/
    cp "$top_srcdir/tests/newcomer" tree/tests/
    PATH=$PWD/bin:$PATH
}

@test ".ci/run only helps whoever asks for help, or for what there is not" {
    stub tree/quickstart 'exit 99'
    run -0 tree/.ci/run --help
    [[ $output == "Usage: .ci/run"* ]]
    run -1 tree/.ci/run --quick
    [[ $output == "Usage: .ci/run"* ]]
}

@test ".ci/run repeats at its end what failed" {
    # shellcheck disable=SC2016 # for the stub
    stub tree/quickstart 'case $1 in check-kernel) echo "not ok 7 - a map"; exit 1 ;; esac'
    stub tree/tests/newcomer 'echo "FAIL: tests/x 2 - y"' 'echo "    # at line 5"' 'seq 1000' 'exit 1'
    mkdir tree/tests/packages
    stub tree/tests/packages/run
    stub tree/.ci/lint
    stub tree/configure 'exit 0'
    stub bin/git
    # shellcheck disable=SC2016 # for the stub
    stub bin/make 'case $* in *check-fuzz*) echo "out of memory"; exit 2 ;; esac'
    run -1 tree/.ci/run
    [[ $output == *"==> newcomer bookworm failed: "*"FAIL: tests/x 2 - y"$'\n'"    # at line 5"* ]]
    [[ $output == *"==> check-kernel failed: "*"not ok 7 - a map"* ]]
    [[ $output == *"==> fuzzing failed: "*$'\nout of memory\n'*"What each part took"* ]]
    [[ $output == *$'\ncoverage '*" passed "* ]]
    [[ ${lines[-1]} == "all of it "* ]]
}

@test "tests/newcomer says that it wants a git checkout" {
    stub bin/id 'echo 0'
    stub bin/debootstrap
    stub bin/git 'echo "fatal: not a git repository" >&2' 'exit 128'
    run -1 tree/tests/newcomer bookworm
    [ "$output" = "ERROR: no git checkout of root's, to be cloned: '$PWD/tree'" ]
}

@test "check-packages goes on after a failure, and notices a proof that stopped half way" {
    local name

    mkdir tree/tests/packages
    cp "$top_srcdir/tests/packages/run" tree/tests/packages/
    for name in $(tree/tests/packages/run --list | cut -d ' ' -f 1 | sort -u); do
        # one that skips a test, and tells who called it
        stub "tree/tests/packages/$name" "echo \"# $name \$3\"" 'echo "ok 1 - a"' 'echo "ok 2 - b # SKIP none here"' 'echo 1..2'
    done
    run -0 tree/tests/packages/run --share .
    [[ $output == *"# readme bookworm"*"# lintian trixie"* ]]
    [[ $output == *"==> What the proofs came to"*"lintian bookworm "*" passed   2 tests, 0 failed"*"    skipped: b: none here"* ]]

    stub tree/tests/packages/readme 'echo "not ok 1 - a"' 'echo 1..1' 'exit 1'
    run -1 tree/tests/packages/run --share .
    [[ $output == *"readme bookworm "*" FAILED   1 tests, 1 failed"*"lintian trixie "*" passed "* ]]
    stub tree/tests/packages/readme 'echo "ok 1 - a"' 'echo 1..2'
    run -1 tree/tests/packages/run --share . --only readme
    [[ $output == *"ERROR: not every test of it has a result"* ]]
    [[ $output != *lintian* ]]
    stub tree/tests/packages/readme 'echo "ok 1 - a"' 'echo 1..1' 'exit 1'
    run -1 tree/tests/packages/run --share . --only 'readme trixie'
    [[ $output == *"readme trixie "*FAILED* ]]
    run -1 tree/tests/packages/run --only read
    [ "$output" = "ERROR: no such proof: 'read' (--list lists them)" ]
}

@test "guest-init does nothing but in a guest" {
    local program argument

    unshare --mount --net true 2>/dev/null || skip "no mount namespace of its own"
    # were the guard missing: nothing that mounts or reboots
    cp "$top_srcdir/kernel/scripts/guest-init" init
    for program in mount mkdir ln sync ip chroot sleep; do
        stub "bin/$program" "echo $program >>$PWD/calls"
    done
    sed -i 's,/proc/sysrq-trigger,sysrq,' init
    for argument in '' --help; do
        run -1 unshare --mount --propagation private --net bash init ${argument:+"$argument"}
        [ "$output" = "ERROR: only for guests of kernel/scripts/boot, as their first process" ]
    done
    [ ! -e calls ]
    [ ! -e sysrq ]
}

# make_there ARGUMENT...: in the build, with a folder for the front end of its own, as under /usr; the
# prefix that was configured may have any name
make_there() {
    env -u MAKEFLAGS -u MFLAGS make --silent -C "$top_builddir" "DESTDIR=$PWD/installed" \
        prefix=/usr/local frontenddir=/usr/libexec/btrfs-fastpath/bin "$@"
}

@test "make uninstall leaves no file, and no folder that is ours alone" {
    make_there install
    find installed -type d -name btrfs-fastpath | grep -q /doc/
    [ -L installed/usr/local/libexec/btrfs-progs/btrfs-inspect-internal-seek-map ]
    [ -x installed/usr/libexec/btrfs-fastpath/bin/btrfs ]
    make_there uninstall
    [ -z "$(find installed ! -type d)" ]
    [ -z "$(find installed -name '*btrfs*')" ]

    # nor what somebody else has put there
    make_there install
    touch installed/usr/libexec/btrfs-fastpath/other installed/usr/local/libexec/btrfs-progs/other
    make_there uninstall
    [ "$(find installed ! -type d | sort)" = "$(printf '%s\n' installed/usr/{libexec/btrfs-fastpath,local/libexec/btrfs-progs}/other)" ]
}

# inspect_commands PROGRAM: those that its help of btrfs inspect lists
inspect_commands() {
    (exec -a btrfs-inspect-internal-help "$1") | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' | grep -vx help
}

@test "make install makes a link for each command of btrfs inspect, also a second time" {
    local folder=installed/usr/local/libexec/btrfs-progs count

    make_there install
    count=$(inspect_commands installed/usr/local/bin/btrfs-fastpath | wc -l)
    [ "$count" -eq 6 ]
    diff <(find "$folder" -type l -printf '%f\n' | sort) \
        <(inspect_commands installed/usr/local/bin/btrfs-fastpath | sed 's/^/btrfs-inspect-internal-/' | sort)
    make_there install
    [ "$(readlink "$folder/btrfs-inspect-internal-seek-map")" = ../../bin/btrfs-fastpath ]
    "$folder/btrfs-inspect-internal-seek-map" --help | grep -q '^Usage: btrfs inspect seek-map'
}

@test "make dist says that it needs xz, before it makes a tarball" {
    stub bin/xz 'exit 127'
    run -2 make_there dist-hook
    [[ $output == *"ERROR: make dist needs xz (Debian: xz-utils)"* ]]
}
