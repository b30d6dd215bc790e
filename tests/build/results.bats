#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# results, on records as automake's driver for TAP writes them.

# what make or environment.bash sets
# shellcheck disable=SC2154
load environment.bash

# record NAME LINE...: the driver's log and record of a test that printed these lines of TAP
record() {
    local name=$1

    shift
    printf '%s\n' "$@" >"$name.tap"
    "$top_srcdir/build-aux/tap-driver.sh" --test-name "tests/$name" --log-file "$name.log" --trs-file "$name.trs" \
        -- cat "$name.tap" >/dev/null
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir tree
    # It looks for its lists in its own folder.
    cp "$top_srcdir/tests/results" tree/
    printf '# as it is\nno loop device\nthis kernel lists its features\n' >tree/allowed-skips
    echo 4 >tree/test-count
    record good 1..3 'ok 1 - one' 'ok 2 - two' 'ok 3 - three'
    record other 1..2 'ok 1 - first' 'ok 2 - second # SKIP this kernel lists its features'
}

@test "all is well" {
    run -0 tree/results --strict --count good.log other.log
    [ "${lines[0]}" = "4 tests run: 4 passed, 0 failed; 1 skipped" ]
    [ "${lines[1]}" = "skipped: tests/other 2 - second: this kernel lists its features" ]
    [ ${#lines[@]} -eq 2 ]
}

@test "a test skipped for a reason that is not allowed" {
    record worse 1..2 'ok 1 - first' 'ok 2 - second # SKIP fio is not installed'
    run -1 tree/results --strict good.log worse.log
    [ "${lines[1]}" = "skipped: tests/worse 2 - second: fio is not installed" ]
    [ "${lines[2]}" = "ERROR: this is no reason to skip a test: fio is not installed" ]
    run -0 tree/results good.log worse.log
    [ ${#lines[@]} -eq 2 ]
}

@test "a file skipped for a reason that is not allowed, and one for an allowed reason" {
    record worse '1..0 # SKIP bats is not installed'
    record fair '1..0 # SKIP no loop device'
    run -0 tree/results --strict good.log fair.log
    [ "${lines[0]}" = "3 tests run: 3 passed, 0 failed; 1 skipped" ]
    [ "${lines[1]}" = "skipped: tests/fair: no loop device" ]
    run -1 tree/results --strict good.log fair.log worse.log
    [ "${lines[-1]}" = "ERROR: this is no reason to skip a test: bats is not installed" ]
}

@test "a reason must be one as a whole" {
    record worse 1..1 'ok 1 - first # SKIP no loop device today'
    run -1 tree/results --strict good.log worse.log
    record worse 1..1 'ok 1 - first # SKIP'
    run -1 tree/results --strict good.log worse.log
    record worse 1..1 'ok 1 - first # SKIP # as it is'
    run -1 tree/results --strict good.log worse.log
}

@test "no reason at all, nothing is allowed" {
    : >tree/allowed-skips
    run -1 tree/results --strict good.log other.log
    run -0 tree/results --strict good.log
}

@test "failures are counted among those run" {
    record bad 1..3 'not ok 1 - first' 'ok 2 - second' || true
    run -0 tree/results good.log bad.log
    [ "${lines[0]}" = "6 tests run: 4 passed, 2 failed; 0 skipped" ]
}

@test "failures are listed with their messages" {
    record bad 1..3 'ERROR: what the tested program says' '# to a test' 'ok 1 - first' '# of the first' 'not ok 2 - second' '# (in test file x, line 5)' \
        '# where it failed' 'ok 3 - third' '# of the third' || true
    run -1 tree/results --strict good.log bad.log
    [ "${lines[1]}" = "FAIL: tests/bad 2 - second" ]
    [ "${lines[2]}" = "    # (in test file x, line 5)" ]
    [ "${lines[3]}" = "    # where it failed" ]
    [ ${#lines[@]} -eq 4 ]
}

@test "a log or a record that is missing" {
    rm good.trs
    run ! tree/results --strict good.log other.log
    record good 1..1 'ok 1 - one'
    rm other.log
    run ! tree/results --strict good.log other.log
}

@test "nothing was run" {
    run -1 tree/results --strict
    [ "${lines[-1]}" = "ERROR: no test was run" ]
    record fair '1..0 # SKIP no loop device'
    run -1 tree/results --strict fair.log
}

@test "the number of tests" {
    run -0 tree/results --count good.log other.log
    run -1 tree/results --count good.log
    [ "${lines[-1]}" = "ERROR: fewer tests were run than before: 3, not 4" ]
    run -0 tree/results --set-count good.log
    run -0 tree/results --count good.log
    [ "$(cat tree/test-count)" = 3 ]
}

@test "only a run without failures sets the number of tests" {
    record worse 1..1 'ok 1 - first # SKIP fio is not installed'
    run -1 tree/results --strict --set-count good.log worse.log
    [ "$(cat tree/test-count)" = 4 ]
    record bad 1..1 'not ok 1 - first' || true
    run -1 tree/results --strict --set-count good.log bad.log
    [ "$(cat tree/test-count)" = 4 ]
}
