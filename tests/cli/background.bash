# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A log-stats that runs in parallel with its test. What a test does to it does not depend on time: it is stopped
# meanwhile, however slow the machine is.

# start ARGUMENT...: its output goes to files; a background job ignores SIGINT
start() {
    # Who waits for its output must not find that of the run before, and send a signal to a shell that is to become it.
    rm -f "$BATS_TEST_TMPDIR/stdout" "$BATS_TEST_TMPDIR/stderr"
    env --default-signal=INT "$FASTPATH" log-stats "$@" \
        >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    pid=$!
}

has_ended() {
    [[ $(ps -o state= -p "$pid") = ?(Z) ]]
}

# The status of what was started. What a lost signal did not end is a failure, and no test that hangs.
finish() {
    local status=0

    within 300 has_ended
    wait "$pid" || status=$?
    pid=
    return "$status"
}

# For teardown()
kill_started() {
    [ -n "${pid-}" ] || return 0
    kill -KILL "$pid" 2>/dev/null || true
    finish || true
}

# within SECONDS COMMAND...: waits until COMMAND succeeds
within() {
    local end=$((SECONDS + $1))

    shift
    until "$@"; do
        ((SECONDS < end)) || fail "not in time: $*"
        sleep 0.05
    done
}

# folders_in DIRECTORY: those that log-stats makes
folders_in() {
    find "$1" -mindepth 1 -maxdepth 1 -name 'btrfs-fastpath-log-stats.????????' -type d
}

# has_files COUNT [DIRECTORY]: the folder in there, $DIR if not given, has got as many
has_files() {
    local folder

    folder=$(folders_in "${2:-$DIR}")
    [ -n "$folder" ] && [ "$(find "$folder" -name 'file_*' 2>/dev/null | wc -l)" -ge "$1" ]
}

# Whether nothing of what was started runs: stopped, or at its end.
runs_no_more() {
    [[ $(ps -o state= -p "$pid") != [RSD] ]]
}

# stop: until go_on; fails where it has ended
stop() {
    kill -STOP "$pid" 2>/dev/null && within 60 runs_no_more && [ "$(ps -o state= -p "$pid")" = T ]
}

go_on() {
    kill -CONT "$pid"
}

has_files_or_ended() {
    has_files "$@" || ! kill -0 "$pid" 2>/dev/null
}

# start_stopped DIRECTORY [ARGUMENT...]: with ten files of twenty, and stopped. A machine that is too slow
# to stop it in time tries again.
start_stopped() {
    local where=$1 folder

    for _ in {1..20}; do
        start -q --files 20 --every 10 --interval 2 "${@:2}" "$where"
        within 60 has_files_or_ended 10 "$where"
        if stop; then
            folder=$(folders_in "$where")
            # They are removed in the order in which they were made.
            [ ! -e "$folder/file_10" ] || [ -e "$folder/file_20" ] || return 0
            go_on
        fi
        finish || return
        # What it wrote is in the way of the next run.
        [ "${2-}" != --json-samples ] || rm -f "$3"
    done
    fail "it cannot be stopped in time"
}
