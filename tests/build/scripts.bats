#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What the scripts for developers and make say and leave behind, without doing their work.

# what make or environment.bash sets
# shellcheck disable=SC2154
load environment.bash

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p tree/.ci tree/tests bin
    cp "$top_srcdir/.ci/run" "$top_srcdir/.ci/full" tree/.ci/
    cp -r "$top_srcdir/tests/newcomer" "$top_srcdir/tests/python" tree/tests/
    # make distcheck has read-only sources.
    chmod -R u+w tree
    PATH=$PWD/bin:$PATH
}

@test ".ci/run and .ci/full only print help for --help and for unknown arguments" {
    local script

    stub tree/quickstart 'exit 99'
    for script in run full; do
        run -0 "tree/.ci/$script" --help
        [[ ${output,} == "usage: .ci/$script"* ]]
        run -2 "tree/.ci/$script" --quick
        [[ ${output,} == "usage: .ci/$script"* ]]
    done
}

# prepare_gate OUTPUT: of the tests, which fail. Once more, they have the status that the file again says.
prepare_gate() {
    mkdir -p tree/kernel/scripts
    stub tree/quickstart "[ \$1 != check ] || { echo '$1' && exit 1; }"
    stub tree/.ci/lint
    stub tree/configure
    stub tree/kernel/scripts/check
    # shellcheck disable=SC2016 # for the stub
    stub bin/make "case \$* in *recheck*) echo >>'$PWD/calls' && exit \$(cat '$PWD/again') ;; esac"
}

@test ".ci/run runs what fails once more: it is unstable, or fails again" {
    prepare_gate 'FAIL: tests/x.bats 2 - y'
    echo 0 >again
    run -0 bash tree/.ci/run
    [[ $output == *$'\nunstable: check: FAIL: tests/x.bats 2 - y\n'* ]]
    echo 1 >again
    run -1 bash tree/.ci/run
    [[ $output == *$'\nFAILED: check: FAIL: tests/x.bats 2 - y\n'* ]]
    [ "$(wc -l <calls)" -eq 2 ]
}

@test ".ci/run does not repeat a crash, nor the report of a sanitizer" {
    local finding

    echo 0 >again
    for finding in 'expected exit code 0, got 139' 'ERROR: AddressSanitizer: heap-buffer-overflow' \
        'a.c:1:2: runtime error: signed integer overflow' 'ERROR: tests/unit/x - exited with status 134'; do
        prepare_gate "$finding"
        run -1 bash tree/.ci/run
        [[ $output == *$'\nFAILED: check: '* ]]
    done
    [ ! -e calls ]
    prepare_gate 'expected exit code 139, got 0'
    run -0 bash tree/.ci/run
    [ -e calls ]
}

prepare_full() {
    git init -q tree && git -C tree add . && git -C tree -c user.name=a -c user.email=a@b commit -qm "a change"
    stub tree/configure
    stub bin/make
}

@test ".ci/full continues after a failure, and ends with a table" {
    # shellcheck disable=SC2016 # for the stub
    stub tree/quickstart 'case $1 in check-kernel) echo "FAILED test_seek.py::test_maps[6.12]"; exit 1 ;; esac'
    stub tree/tests/newcomer 'echo "FAIL: tests/x 2 - y"' 'echo "    # at line 5"' 'seq 1000' 'exit 1'
    prepare_full
    # shellcheck disable=SC2016 # for the stub
    stub bin/make 'case $* in *check-fuzz*) echo "out of memory"; exit 2 ;; esac'
    run -1 tree/.ci/full check-kernel newcomer-bookworm fuzzing coverage
    [[ $output == *"==> newcomer-bookworm failed: "*"FAIL: tests/x 2 - y"$'\n'"    # at line 5"* ]]
    [[ $output == *"==> check-kernel failed: "*"FAILED test_seek.py::test_maps[6.12]"* ]]
    [[ $output == *"==> fuzzing failed: "*$'\nout of memory\n'*"==> Commit "*" a change"* ]]
    [ "$(tail -n 5 <<<"$output" | grep -cE '^(check-kernel|newcomer-bookworm|fuzzing) +FAILED +0 min|^coverage +passed +0 min|^total ')" -eq 5 ]
    run -0 tree/.ci/full coverage
}

@test ".ci/full leaves no process and no folder after a signal" {
    local pid tries left status=0

    stub tree/quickstart
    stub tree/tests/newcomer ': >begun' 'sleep 1000 & exec sleep 1000'
    prepare_full
    mkdir scratch
    TMPDIR=$PWD/scratch tree/.ci/full newcomer-trixie 3>&- &
    pid=$!
    for ((tries = 0; tries < 300; tries++)); do
        [ ! -e tree/begun ] || break
        sleep 0.1
    done
    [ -n "$(ls scratch)" ]
    kill -TERM "$pid"
    wait "$pid" || status=$?
    [ "$status" -eq 143 ]
    [ -z "$(ls scratch)" ]
    left=$(find /proc/[0-9]*/cwd -lname "$PWD/*" 2>/dev/null || true)
    [ -z "$left" ]
}

@test "tests/newcomer requires a git checkout" {
    [ "$(id -u)" -eq 0 ] || skip "mounting needs root"
    stub bin/debootstrap
    stub bin/git 'echo "fatal: not a git repository" >&2' 'exit 128'
    run -1 tree/tests/newcomer bookworm
    [ "$output" = "ERROR: not a git checkout that root can clone: '$PWD/tree'" ]
}

prepare_proofs() {
    /usr/bin/python3 -m pytest --version || skip "pytest is not installed"
    mkdir tree/tests/packages share
    cp "$top_srcdir/pytest.ini" tree/
    cp "$top_srcdir"/tests/packages/*.py tree/tests/packages/
}

# check_packages OPTION...: in place of the shell, so that a signal reaches it
check_packages() {
    cd tree && exec /usr/bin/python3 -B -m pytest -v tests/packages "$@"
}

@test "check-packages continues after a failure, and notices a proof that stopped early" {
    local name

    prepare_proofs
    for name in $(check_packages --collect-only -qq | sed -nE 's/.*\[(.*)-[a-z0-9]+\]$/\1/p'); do
        # one that skips a test, and says who called it
        stub "tree/tests/packages/$name" "echo \"$name \$*\" >>'$PWD/calls'" \
            'echo "ok 1 - a"' 'echo "ok 2 - b # SKIP none here"' 'echo 1..2'
    done
    run -0 check_packages --share ../share
    [[ $output == *"[lintian-bookworm]: skipped: b: none here"* ]]
    grep -qx "readme --share $PWD/share bookworm" calls
    grep -qx "lintian --share $PWD/share trixie" calls

    stub tree/tests/packages/readme 'echo "not ok 1 - a"' 'echo 1..1'
    run -1 check_packages
    [[ $output == *"[readme-bookworm] FAILED"*"[lintian-trixie] PASSED"*$'\nnot ok 1 - a\n'* ]]
    stub tree/tests/packages/readme 'echo "ok 1 - a"' 'echo 1..2'
    run -1 check_packages -k readme
    [[ $output != *lintian* ]]
    stub tree/tests/packages/readme 'echo 1..0'
    run -1 check_packages -k readme-trixie
    stub tree/tests/packages/readme 'echo "ok 1 - a"' 'echo 1..1' 'exit 1'
    run -1 check_packages -k readme-trixie
    [[ $output == *"[readme-trixie] FAILED"* ]]
    [[ $output != *readme-bookworm* ]]
    run -4 check_packages --share missing -k readme-trixie
    [[ $output == *"--share requires a directory: 'missing'"* ]]
}

@test "a proof ends by a signal to check-packages, and its processes with it" {
    local pid tries left status=0

    prepare_proofs
    mkdir scratch
    stub tree/tests/packages/readme "cd '$PWD/scratch'" ': >runs' 'sleep 1000 & exec sleep 1000'
    TMPDIR=$PWD/scratch check_packages 3>&- &
    pid=$!
    for ((tries = 0; tries < 300; tries++)); do
        [ ! -e scratch/runs ] || break
        sleep 0.1
    done
    kill -TERM "$pid"
    wait "$pid" || status=$?
    [ "$status" -eq 143 ]
    [ "$(ls scratch)" = runs ]
    left=$(find /proc/[0-9]*/cwd -lname "$PWD/scratch" 2>/dev/null || true)
    [ -z "$left" ]
}

@test "guest-init does nothing outside a guest" {
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

@test "make uninstall leaves no file, and no folder of the program" {
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

@test "make dist requires xz before it creates a tarball" {
    stub bin/xz 'exit 127'
    run -2 make_there dist-hook
    [[ $output == *"ERROR: make dist needs xz (Debian: xz-utils)"* ]]
}

@test "a bats file that hangs ends, and its processes with it" {
    # A child holds the pipe that the output goes to.
    stub hanging 'sleep 20 & wait'
    BATS=$PWD/hanging BATS_FILE_TIMEOUT=1 run -124 sh "$top_srcdir/tests/cli/run-bats" tests/build/x.bats </dev/null
}

@test "SLOW_TESTS=no leaves out slow tests and races, and no whole file" {
    local file slow

    for file in "$top_srcdir"/tests/*/*.bats; do
        slow=$(grep -cE '^# bats test_tags=(slow|race)$' "$file" || true)
        [ "$slow" -lt "$(grep -c '^@test' "$file")" ] || fail "all of $file is slow"
    done
    # shellcheck disable=SC2016 # a script
    stub bats-with 'echo "$*"'
    BATS=$PWD/bats-with SLOW_TESTS=no run -0 sh "$top_srcdir/tests/cli/run-bats" tests/build/x.bats </dev/null
    [ "$output" = "--filter-tags !slow,!race --tap tests/build/x.bats" ]
    BATS=$PWD/bats-with SLOW_TESTS='' run -0 sh "$top_srcdir/tests/cli/run-bats" tests/build/x.bats </dev/null
    [ "$output" = "--tap tests/build/x.bats" ]
}
