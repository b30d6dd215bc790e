#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Signals at random moments: each command ends, and leaves nothing behind, with and without a reader.

bats_require_minimum_version 1.5.0
load ../cli/environment.bash

: "${top_builddir:=$PWD}"

setup_file() {
    mount_btrfs 1G noatime
    mkdir "$MNT/data"
    for name in {1..40}; do
        head -c 300000 /dev/urandom >"$MNT/data/$name"
    done
    btrfs -q subvolume create "$MNT/subvolume"
    cp -r "$MNT/data" "$MNT/subvolume"
    btrfs -q property set -t subvol "$MNT/subvolume" ro true
}

setup() {
    DIR=$MNT/directory
    mkdir "$DIR"
    # Nothing goes to a directory that others use, too.
    export TMPDIR=$BATS_TEST_TMPDIR
    MOMENTS=0
    USED=$(used_bytes)
}

teardown() {
    rm -rf "$DIR"
}

used_bytes() {
    sync -f "$MNT"
    df --output=used -B1 "$MNT" | tail -1
}

# Space that a file without a name has used comes back a moment after its end.
expect_space_back() {
    for _ in {1..100}; do
        if (($(used_bytes) < USED + (8 << 20))); then
            return
        fi
        sleep 0.2
    done
    fail "$(used_bytes) bytes are used, and were $USED"
}

# expect_nothing_left [DIRECTORY]
expect_nothing_left() {
    [ -z "$(ls -A "${1:-$DIR}")" ] || fail "left in the directory:" "$(ls -A "${1:-$DIR}")"
    [ -z "$(find "$BATS_TEST_TMPDIR" -name 'btrfs-fastpath*')" ] || fail "left in \$TMPDIR"
}

# A loop device is freed in the background.
expect_nothing_is_looped() {
    local loops

    for _ in {1..50}; do
        loops=$(losetup -n -O NAME,BACK-FILE | grep -F "$MNT" || true)
        [ -n "$loops" ] || return 0
        sleep 0.1
    done
    fail "loop devices:" "$loops"
}

# signal_run ARGUMENT...: see there
signal_run() {
    "$top_builddir/tests/hostile/signal-run" "$@"
}

# below MILLISECONDS: any fraction of a second
below() {
    printf '0.%03d' $((RANDOM % $1))
}

# expect_end ENDED SIGNAL STATUS...: by the signal, or before it with one of these
expect_end() {
    local ended=$1 number status

    MOMENTS=$((MOMENTS + 1))
    number=$(kill -l "$2")
    for status in "-$number" "${@:3}"; do
        if [ "$ended" = "$status" ]; then
            return
        fi
    done
    fail "SIG$2: $ended"
}

# at_a_moment 'SIGNAL...' MOST ARGUMENT...: runs of signal-run, one with each signal, all at the same time, each
# within MOST milliseconds. {} is a directory for each. They end by the signal or with ${EXPECTED[@]}.
at_a_moment() {
    local signals=$1 most=$2 signal runs=()

    shift 2
    for signal in $signals; do
        mkdir "$DIR/$signal"
        signal_run --after "$(below "$most")" --signal "$signal" "${@//\{\}/$DIR/$signal}" \
            >"$BATS_TEST_TMPDIR/$signal" 3>&- &
        runs+=($!)
    done
    wait "${runs[@]}"
    for signal in $signals; do
        expect_end "$(cat "$BATS_TEST_TMPDIR/$signal")" "$signal" "${EXPECTED[@]}"
        # That of --json-samples is there as a whole, if at all.
        rm -f "$DIR/$signal/samples"
        expect_nothing_left "$DIR/$signal"
        rmdir "$DIR/$signal"
    done
}

# at_moments COUNT MOST ARGUMENT...: COUNT times, with all signals
at_moments() {
    local count=$1 attempt

    for ((attempt = 0; attempt < count; attempt++)); do
        at_a_moment 'INT TERM HUP PIPE' "${@:2}"
    done
}

# bats test_tags=race
@test "log-stats" {
    EXPECTED=(0)
    at_moments 6 400 "$FASTPATH" log-stats --files 20000 --every 50 {}
    at_moments 3 400 "$FASTPATH" log-stats --files 20000 --every 1 --json-samples {}/samples {}
    at_moments 2 400 "$FASTPATH" log-stats --files 300 --every 10 --interval 0.1 {}
    [ "$MOMENTS" -eq 44 ]
}

# bats test_tags=race
@test "log-stats: other signals that end a program" {
    # Some of them leave a core.
    ulimit -c 0
    EXPECTED=()
    at_a_moment 'QUIT USR1 USR2 XCPU' 400 "$FASTPATH" log-stats --files 1000000 --every 50 {}
    [ "$MOMENTS" -eq 4 ]
}

# bats test_tags=slow
@test "log-stats: a limit of CPU time" {
    # The signal comes while files are made, and perhaps again while they are removed.
    run -$((128 + $(kill -l XCPU))) bash -c 'ulimit -c 0; ulimit -S -t 1; exec "$@"' bash \
        "$FASTPATH" -q log-stats --files 100000000 --every 5000 "$DIR"
    expect_nothing_left
}

# bats test_tags=race
@test "log-stats: more signals do not cut the removal in two" {
    for _ in {1..6}; do
        # Of those that come during one call, the one with the least number is the first.
        expect_end "$(signal_run --after "$(below 900)" --signal TERM --signal INT --signal HUP --signal TERM \
            "$FASTPATH" log-stats --files 200000 --every 5000 "$DIR")" TERM -1 -2
        expect_nothing_left
    done
}

# bats test_tags=slow
@test "log-stats: remains with foreign files are removed in part, and later completely" {
    local pid

    "$FASTPATH" log-stats -q --files 100000 --every 50000 --interval 1000 "$DIR" >/dev/null 2>&1 3>&- &
    pid=$!
    until [ -n "$(find "$DIR" -name file_50000)" ]; do sleep 0.1; done
    kill -KILL "$pid"
    wait "$pid" || true
    # It ends long before all of them are gone.
    expect_end "$(signal_run --after "$(below 50)" --signal TERM "$FASTPATH" log-stats -q --files 1 "$DIR")" TERM
    [ -n "$(find "$DIR" -name 'file_*' -print -quit)" ] || fail "the signal waited until everything was gone"
    run -0 "$FASTPATH" log-stats -q --files 1 "$DIR"
    expect_nothing_left
}

# bats test_tags=race
@test "log-stats: nobody reads" {
    local attempt

    for attempt in 1 2; do
        # With the report, with the first warning, with the rows.
        EXPECTED=()
        at_a_moment 'INT TERM HUP' 900 --full "$FASTPATH" log-stats --files 10 {}
        at_a_moment 'INT TERM HUP' 900 --full-error "$FASTPATH" log-stats --files 100 {}
        EXPECTED=(0)
        at_a_moment 'INT TERM HUP' 900 --full "$FASTPATH" log-stats --watch --interval 0.01 {}
        at_a_moment 'INT TERM HUP' 900 --full "$FASTPATH" --format json log-stats --watch --interval 0.01 {}
    done
    [ "$MOMENTS" -eq 24 ]
}

@test "log-stats: a FIFO that nobody reads is not opened" {
    mkfifo "$BATS_TEST_TMPDIR/fifo"
    run -0 "$top_builddir/tests/hostile/signal-run" --signal TERM --after 1 \
        "$FASTPATH" log-stats --files 10 --json-samples "$BATS_TEST_TMPDIR/fifo" "$DIR"
    [ "$output" = 1 ]
    expect_nothing_left
}

# exercise_at_moments OPTION...: those of signal-run
exercise_at_moments() {
    local engine scratch

    for engine in builtin fio; do
        if [ "$engine" = fio ] && ! command -v fio >/dev/null; then
            continue
        fi
        for scratch in prealloc nocow; do
            at_moments 1 900 "$@" "$FASTPATH" nocow-check -q --exercise {} --size 32M --seconds 60 \
                --scratch "$scratch" --engine "$engine"
        done
    done
    expect_space_back
    [ "$MOMENTS" -ge 8 ]
}

# bats test_tags=race
@test "nocow-check --exercise" {
    EXPECTED=(0)
    exercise_at_moments
}

# bats test_tags=race
@test "nocow-check --exercise: a signal from the terminal, for fio too" {
    EXPECTED=(0)
    exercise_at_moments --group
}

# bats test_tags=race
@test "status --measure" {
    EXPECTED=(0)
    at_moments 1 900 "$FASTPATH" status --measure {}
    at_moments 1 900 --group "$FASTPATH" status --measure {}
    expect_nothing_is_looped
    expect_space_back
    [ "$MOMENTS" -eq 8 ]
}

@test "status --measure: a signal from the terminal, for mkfs.btrfs too" {
    local folder=$BATS_TEST_TMPDIR/bin signal

    mkdir "$folder"
    # The signal comes as soon as the last file is there, and so not before it is counted.
    # shellcheck disable=SC2016 # for another shell
    printf '#!/bin/sh\necho >>"${0%%/*}/runs"\n: >"${0%%/*}/started"\nexec sleep 60\n' >"$folder/mkfs.btrfs"
    chmod +x "$folder/mkfs.btrfs"
    for signal in INT TERM HUP; do
        rm -f "$folder/started" "$folder/runs"
        PATH=$folder:$PATH run signal_run --once "$folder/started" --signal "$signal" --group \
            --error "$BATS_TEST_TMPDIR/said" "$FASTPATH" -q status --measure "$DIR"
        expect_end "$output" "$signal"
        [ ! -s "$BATS_TEST_TMPDIR/said" ] || fail "$(cat "$BATS_TEST_TMPDIR/said")"
        [ "$(wc -l <"$folder/runs")" -eq 1 ] || fail "it was run $(wc -l <"$folder/runs") times"
        expect_nothing_left
    done
    expect_nothing_is_looped
}

# bats test_tags=race
@test "send-reada" {
    EXPECTED=(0)
    at_moments 4 300 "$FASTPATH" send-reada "$MNT/subvolume"
    at_moments 2 300 "$FASTPATH" send-reada --estimate "$MNT/subvolume"
    EXPECTED=()
    at_a_moment 'INT TERM HUP' 900 --full "$FASTPATH" send-reada "$MNT/subvolume"
    [ "$(ls "$MNT")" = $'data\ndirectory\nsubvolume' ]
    [ "$(btrfs subvolume list "$MNT" | wc -l)" -eq 1 ]
    [ "$MOMENTS" -eq 27 ]
}

# bats test_tags=race
@test "commands that make nothing" {
    for command in fiemap-shared seek-map nocow-check; do
        EXPECTED=(0)
        at_moments 2 100 "$FASTPATH" "$command" -r "$MNT/data"
        EXPECTED=()
        at_a_moment 'INT TERM' 900 --full "$FASTPATH" "$command" -r "$MNT/data"
    done
    [ "$MOMENTS" -eq 30 ]
}
