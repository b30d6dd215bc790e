#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The commands while answers of the kernel are falsified, and whether check-falsified would notice.

bats_require_minimum_version 1.5.0

: "${top_builddir:=$PWD}"
CHECK=$BATS_TEST_DIRNAME/check-falsified
FAULTY=$top_builddir/tests/hostile/falsify/faulty-command

# check_faulty FAULT COMMAND: the command with this fault
check_faulty() {
    ln -s "$FAULTY" "$BATS_TEST_TMPDIR/$1"
    "$CHECK" --runs=10 --seconds=3 --program="$BATS_TEST_TMPDIR/$1" "$2"
}

# expect_caught FAULT WORDS [COMMAND]
expect_caught() {
    run -1 check_faulty "$1" "${3:-status}"
    grep -q "^# seed [0-9]*: .*$2" <<<"$output" || {
        printf '%s\n' "$1 is not caught:" "$output" >&2
        return 1
    }
}

# bats test_tags=slow
@test "every command" {
    run -0 "$CHECK" --runs=40
    printf '%s\n' "$output"
    grep -q '^ok 1 - fiemap-shared$' <<<"$output"
    grep -q '^ok 6 - status$' <<<"$output"
}

@test "a command without a fault passes" {
    run -0 check_faulty none status
}

@test "no runs are no pass" {
    run -1 "$CHECK" --runs=0 status
    [[ $output = *"not ok 1 - status: no run at all"* ]]
}

@test "runs without a falsified answer are no pass" {
    run -1 check_faulty uninterested status
    [[ $output = *"not ok 1 - status: no answer was falsified"* ]]
}

@test "an unknown command is refused" {
    run -2 "$CHECK" --runs=1 nothing
}

# bats test_tags=slow
@test "each kind of fault is caught" {
    expect_caught crash 'exit status -6'
    expect_caught endless 'did not end in 3 s'
    expect_caught status 'exit status 2'
    expect_caught silent-error 'exit status 1 without an ERROR'
    expect_caught error-and-success 'exit status 0 with an ERROR'
    expect_caught report "a sanitizer's report"
    expect_caught control-bytes 'control bytes in standard output'
    expect_caught memory 'KiB resident'
    expect_caught invalid-json 'invalid JSON'
    expect_caught left-behind 'left left behind and does not say so' log-stats
}

@test "a seed repeats a failure" {
    run -1 check_faulty status status
    run -1 bash -c "$(sed -n 's/^#   repeat it: //p' <<<"$output" | head -n 1)"
    [[ $output = *"1 of 1 runs failed"* ]]
}
