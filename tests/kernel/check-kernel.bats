#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# check-kernel, with tests, kernels and guests of its own that do nothing.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}"
export LC_ALL=C.UTF-8

# fail MESSAGE...: what the test expected and did not get
fail() {
    printf '%s\n' "$@" >&2
    return 1
}

# write_program FILE LINE...: of sh
write_program() {
    local file=$1

    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$file"
    chmod +x "$file"
}

# write_fault NAME [HEADER]
write_fault() {
    printf 'A fault.\n%s\n---\n' "${2-Fastpath-Finding: data (from )?[0-9]+}" >"$TESTS/mutants/$1.patch"
}

# A series with one feature, and a fault in it.
setup() {
    local test

    ROOT=$BATS_TEST_TMPDIR/root
    TESTS=$ROOT/tests/kernel
    SCRIPTS=$ROOT/kernel/scripts
    export TMPDIR=$BATS_TEST_TMPDIR/scratch HOME=$BATS_TEST_TMPDIR
    unset XDG_CACHE_HOME
    mkdir -p "$ROOT/lib" "$ROOT/cmds" "$TESTS/mutants" "$TESTS/host" "$TESTS/guest" "$SCRIPTS" "$ROOT/kernel/bases" "$ROOT/kernel/6.1" "$TMPDIR"
    cp "$top_srcdir/tests/kernel/check-kernel" "$TESTS"
    cp "$top_srcdir/kernel/scripts/common.sh" "$SCRIPTS"
    sed -n -e 1p -e '/\t6\.1\t/p' "$top_srcdir/kernel/STATUS.tsv" >"$ROOT/kernel/STATUS.tsv"
    : >"$ROOT/kernel/bases/6.1.conf"
    printf '%s\n' 2001-one.patch 9201-count.patch >"$ROOT/kernel/6.1/series"
    write_fault 6.1-seek-one

    for test in guest/seek-maps guest/failed-writes guest/counters guest/debug-suite host/log-power-cuts host/status \
        host/fewer-steps host/send-differential host/work-differential; do
        write_program "$TESTS/$test" "echo $test \"\$@\""
    done
    write_program "$SCRIPTS/check" 'echo check "$@"'
    # Named as what it has: a variant, or a fault.
    # shellcheck disable=SC2016 # it is source
    write_program "$SCRIPTS/build" 'for word; do :; done' \
        'case "$*" in *--patch*) echo faulty ;; *--debug*) echo debug ;; *) echo "${word##*:}" ;; esac'
    # Its command is what comes after "--".
    # shellcheck disable=SC2016 # it is source
    write_program "$SCRIPTS/boot" 'while [ "$1" != -- ]; do kernel=$1; shift; done' 'shift' 'KERNEL=$kernel exec "$@"'
    under_fault 3 'seed 1: /mnt/file-0: kept descriptor: data 3 is (0, 4096), not None'
}

# under_fault STATUS TEXT: what seek-maps tells under a faulty kernel
under_fault() {
    write_program "$TESTS/guest/seek-maps" "[ \"\$KERNEL\" = faulty ] || exit 0" "echo '$2' >&2" "exit $1"
}

check_kernel() {
    run "$TESTS/check-kernel" --program /bin/true "$@" 6.1
}

# expect_failed STEP...: these and no others
expect_failed() {
    # shellcheck disable=SC2154 # bats' run sets them
    [ "$status" -eq 1 ] || fail "status $status" "$output"
    [ "$(grep ^FAILED: <<<"$output")" = "$(printf 'FAILED: %s\n' "$@")" ] || fail "not what was expected to fail" "$output"
}

@test "all passes, and the fault is noticed" {
    check_kernel
    [ "$status" -eq 0 ] || fail "$output"
    [[ $output == *"6.1-seek-one.patch"*"not None"*"6.1: faults in what lseek finds are noticed: passed"* ]]
    [[ $output == *$'\nall passed' ]]
}

@test "a test that crashes has not noticed a fault" {
    for found in 1 2 70 124 125; do
        under_fault "$found" 'data 3 is a traceback'
        check_kernel
        expect_failed '6.1: faults in what lseek finds are noticed'
    done
}

@test "a fault that has another effect than its own is not noticed" {
    under_fault 3 'seed 1: /mnt/file-0: 0 bytes instead of 4096'
    check_kernel
    expect_failed '6.1: faults in what lseek finds are noticed'
}

@test "a fault that changes nothing is not noticed" {
    under_fault 0 ''
    check_kernel
    expect_failed '6.1: faults in what lseek finds are noticed'
}

@test "a base without faults" {
    rm "$TESTS/mutants/6.1-seek-one.patch"
    check_kernel
    expect_failed '6.1: faults in what lseek finds are noticed'
    [[ $output == *"ERROR: there is no fault to notice: "* ]]
}

@test "a fault that does not say what has to be found" {
    write_fault 6.1-seek-two 'Subject: a fault'
    check_kernel
    expect_failed '6.1: faults in what lseek finds are noticed'
    [[ $output == *"ERROR: the fault does not say what has to be found: "* ]]
}

@test "every fault counts" {
    write_fault 6.1-seek-two 'Fastpath-Finding: hole'
    check_kernel
    expect_failed '6.1: faults in what lseek finds are noticed'
}

@test "--quick takes the first fault, and says so" {
    write_fault 6.1-seek-two 'Fastpath-Finding: hole'
    check_kernel --quick
    [ "$status" -eq 0 ] || fail "$output"
    [[ $output == *$'\nleft out: 6.1: 1 of 2 faults of seek\n'* ]] || fail "$output"
}

@test "a kernel that cannot be built" {
    # shellcheck disable=SC2016 # it is source
    write_program "$SCRIPTS/build" 'case "$*" in *patched*) exit 1 ;; esac' 'echo stock'
    check_kernel --quick
    expect_failed '6.1: kernels'
}

@test "the time of the processors is that of what was run" {
    # It uses four seconds. check-kernel tells whole ones, so another step may seem to have a part of one.
    write_program "$TESTS/guest/counters" '(ulimit -t 4; while :; do :; done)' true
    check_kernel --quick
    [[ $output =~ "6.1: counters: passed, "[0-9]+" s, "[3-9]" s of CPU" ]] || fail "$output"
    [[ $output =~ "6.1: fewer steps: passed, "[0-9]+" s, "[01]" s of CPU" ]] || fail "$output"
}

@test "a feature without a test" {
    printf '%s\n' 2001-one.patch 6001-six.patch 9201-count.patch >"$ROOT/kernel/6.1/series"
    printf 'new-one\t6.1\tcarried\t6.1\t6001\t-\n' >>"$ROOT/kernel/STATUS.tsv"
    check_kernel
    expect_failed '6.1: new-one: not tested'
}

@test "a series without patches, and one that counts nothing" {
    : >"$ROOT/kernel/6.1/series"
    check_kernel
    expect_failed '6.1: a series without features: not tested'
    echo 2001-one.patch >"$ROOT/kernel/6.1/series"
    check_kernel
    expect_failed '6.1: a series without features: not tested'
}

@test "what status tells needs the program" {
    run "$TESTS/check-kernel" 6.1
    expect_failed '6.1: what status tells, without --program: not tested'
}

@test "a debug guest that fails" {
    write_program "$TESTS/guest/debug-suite" 'exit 1'
    check_kernel
    expect_failed '6.1: under the debug kernel'
}

@test "each kind of file system has its turn" {
    kinds=$(cd "$top_srcdir/tests/python" && python3 -B -c 'from fastpath_tests import file_systems
print(len(file_systems.KINDS))')
    mkdir -p "$ROOT/kernel/control/6.1"
    echo 4001-out.patch >"$ROOT/kernel/control/6.1/series"
    check_kernel
    [[ $output == *"send-differential --stock send-reada --patched patched --seeds $kinds --file-systems"* ]] ||
        fail "$output"
}

@test "the calls of each feature are to take no more work" {
    check_kernel
    [[ $output == *"work-differential --stock stock --patched patched --seeds 30 --only seek"* ]] || fail "$output"
    check_kernel --quick
    [[ $output == *"work-differential --stock stock --patched patched --seeds 3 --only seek"* ]] || fail "$output"
    check_kernel --quick --work-seeds 7
    [[ $output == *"work-differential --stock stock --patched patched --seeds 7 --only seek"* ]] || fail "$output"
}

@test "more work is a failure" {
    write_program "$TESTS/host/work-differential" 'exit 3'
    check_kernel --quick
    expect_failed '6.1: no more work than stock'
}

@test "--quick says what it leaves out" {
    write_program "$TESTS/guest/debug-suite" 'exit 1'
    check_kernel --quick
    [ "$status" -eq 0 ] || fail "$output"
    [ "$(grep '^left out: ' <<<"$output")" = "$(printf 'left out: 6.1: %s\n' 'the debug kernel' \
        'each patch built on its own' 'other file systems' 'what status tells of a kernel with one feature off')" ]
    [[ $output == *"check --whole-series 6.1"* ]]
    [[ $output == *$'\nall passed that was not left out' ]]
    # faults are noticed all the same
    under_fault 1 'data 3 is a traceback'
    check_kernel --quick
    expect_failed '6.1: faults in what lseek finds are noticed'
}

# -- --changed --

# run_steps ARGUMENT...: the steps that were run
run_steps() {
    check_kernel --changed "$@"
    [ "$status" -eq 0 ] || fail "$output"
    steps=$(sed -n 's/^==> \(6\.1: .*\): passed, [0-9]* s, .*/\1/p' <<<"$output")
}

@test "--changed leaves out what passed before, and says so" {
    run_steps
    [[ $steps == *"6.1: counters"*"6.1: under the debug kernel"* ]] || fail "$output"
    run_steps
    [ "$steps" = "6.1: kernels" ] || fail "$output"
    [[ $output == *"==> 6.1: counters: passed before"*$'\nall passed' ]] || fail "$output"
    [[ $output != *debug-suite* ]] || fail "$output"
}

@test "--changed tests again what depends on something that changed" {
    local all

    run_steps
    all=$steps
    for changed in kernel/6.1/series kernel/bases/6.1.conf kernel/scripts/common.sh tests/kernel/mutants/6.1-seek-one.patch \
        tests/kernel/guest/counters tests/kernel/host/status tests/kernel/check-kernel; do
        echo '#' >>"$ROOT/$changed"
        run_steps
        [ "$steps" = "$all" ] || fail "$changed" "$output"
    done
    # shellcheck disable=SC2016 # it is source
    write_program "$SCRIPTS/build" 'for word; do :; done' 'case "$*" in *--patch*) echo faulty ;; *) echo "new-${word##*:}" ;; esac'
    run_steps
    [ "$steps" = "$all" ] || fail "$output"
    run_steps --seeds 7
    [ "$steps" = "$all" ] || fail "$output"
}

@test "--changed: a change of the program is one for those who run it, and another base's is none" {
    run_steps
    echo '//' >"$ROOT/lib/new.c"
    mkdir "$ROOT/kernel/6.12"
    echo 2001-one.patch >"$ROOT/kernel/6.12/series"
    write_fault 6.12-seek-one
    run_steps
    [ "$steps" = $'6.1: kernels\n6.1: counters\n6.1: what status tells' ] || fail "$output"
}

@test "--changed: what failed is tested again, and without it all is" {
    run_steps --quick
    write_program "$TESTS/guest/counters" 'exit 1'
    check_kernel --changed
    expect_failed '6.1: counters'
    check_kernel --changed
    expect_failed '6.1: counters'
    [[ $output == *"==> 6.1: what status tells: passed before"* ]] || fail "$output"
    check_kernel
    [[ $output != *"passed before"* ]] || fail "$output"
}

# -- --turn --

# check_turn N: of four bases; $bases are those that were checked, and $others those that were not
check_turn() {
    local base

    cp "$top_srcdir/kernel/STATUS.tsv" "$ROOT/kernel"
    for base in 5.10 6.1 6.12 7.3; do
        mkdir -p "$ROOT/kernel/$base"
        printf '%s\n' 2001-one.patch 9201-count.patch >"$ROOT/kernel/$base/series"
        : >"$ROOT/kernel/bases/$base.conf"
        write_fault "$base-seek-one"
    done
    run "$TESTS/check-kernel" --program /bin/true --quick --changed --turn "$1"
    [ "$status" -eq 0 ] || fail "$output"
    bases=$(sed -n 's/^==> \(.*\): counters: passed.*/\1/p' <<<"$output" | paste -sd ' ')
    others=$(sed -n 's/^left out: \(.*\): not its turn on a new machine$/\1/p' <<<"$output" | paste -sd ' ')
}

@test "--turn: every second base on a new machine, and all of them on another" {
    check_turn 18
    [ "$bases of $others" = "5.10 6.12 of 6.1 7.3" ] || fail "$output"
    check_turn 18
    [ "$bases of $others" = "5.10 6.1 6.12 7.3 of " ] || fail "$output"
    rm -r "$HOME/.cache"
    check_turn 09
    [ "$bases of $others" = "6.1 7.3 of 5.10 6.12" ] || fail "$output"
    [[ $output == *$'\nall passed that was not left out' ]] || fail "$output"
}

@test "it leaves nothing when it is ended along with who reads what it prints" {
    local group tries

    # shellcheck disable=SC2016 # it is source
    write_program "$TESTS/guest/seek-maps" 'touch "$TMPDIR/it runs"' 'exec sleep 100'
    # shellcheck disable=SC2016 # for the other shell
    setsid bash -c '"$0" --program /bin/true 6.1 6.1 2>&1 | cat >/dev/null' "$TESTS/check-kernel" 3>&- &
    group=$!
    for ((tries = 0; tries < 300; tries++)); do
        [ ! -e "$TMPDIR/it runs" ] || break
        sleep 0.1
    done
    kill -TERM -- "-$group"
    for ((tries = 0; tries < 300; tries++)); do
        kill -0 -- "-$group" 2>/dev/null || break
        sleep 0.1
    done
    [ "$(ls "$TMPDIR")" = "it runs" ] || fail "$(ls "$TMPDIR")"
    ! pgrep -f "^[^ ]* $TESTS/" >/dev/null || fail "$(pgrep -af "$TESTS")"
}
