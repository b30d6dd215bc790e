#!/usr/bin/env bats
# Signals at random moments: each command ends, and leaves nothing behind, whoever reads or does not.

bats_require_minimum_version 1.5.0
load ../cli/environment.bash

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

teardown_file() {
    unmount_btrfs
}

setup() {
    DIR=$MNT/directory
    mkdir "$DIR"
    SAMPLES=$BATS_TEST_TMPDIR/samples
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

expect_nothing_left() {
    [ -z "$(ls -A "$DIR")" ] || fail "left in the directory:" "$(ls -A "$DIR")"
    [ -z "$(find "$BATS_TEST_TMPDIR" /var/tmp /tmp -maxdepth 1 -name 'btrfs-fastpath-unfinished*')" ]
}

# signal_run ARGUMENT...: see there; the fraction of a second is any below the first argument
signal_run() {
    local most=$1

    shift
    "$BATS_TEST_DIRNAME/signal-run" --after "$(printf '0.%03d' $((RANDOM % most)))" "$@"
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

# at_moments COUNT MOST COMMAND...: with each signal, COUNT times within MOST milliseconds
at_moments() {
    local count=$1 most=$2 signal attempt

    shift 2
    for signal in INT TERM HUP PIPE; do
        for ((attempt = 0; attempt < count; attempt++)); do
            expect_end "$(signal_run "$most" --signal "$signal" "$@")" "$signal" "${EXPECTED[@]}"
            expect_nothing_left
            rm -f "$SAMPLES"
        done
    done
}

@test "log-stats" {
    EXPECTED=(0)
    at_moments 6 400 "$FASTPATH" log-stats --files 20000 --every 50 "$DIR"
    at_moments 3 400 "$FASTPATH" log-stats --files 20000 --every 1 --json-samples "$SAMPLES" "$DIR"
    at_moments 2 400 "$FASTPATH" log-stats --files 300 --every 10 --interval 0.1 "$DIR"
    [ "$MOMENTS" -eq 44 ]
}

@test "log-stats: more signals do not cut the removal in two" {
    for _ in {1..6}; do
        # Of those that come during one call, the one with the least number is the first.
        expect_end "$(signal_run 900 --signal TERM --signal INT --signal HUP --signal TERM \
            "$FASTPATH" log-stats --files 200000 --every 5000 "$DIR")" TERM -1 -2
        expect_nothing_left
    done
}

@test "log-stats: what is left behind by others is removed in part, and then wholly" {
    local pid

    "$FASTPATH" log-stats -q --files 100000 --every 50000 --interval 1000 "$DIR" >/dev/null 2>&1 3>&- &
    pid=$!
    until [ -n "$(find "$DIR" -name file_50000)" ]; do sleep 0.1; done
    kill -KILL "$pid"
    wait "$pid" || true
    # It ends long before all of them are gone.
    expect_end "$(signal_run 50 --signal TERM "$FASTPATH" log-stats -q --files 1 "$DIR")" TERM
    [ -n "$(find "$DIR" -name 'file_*' -print -quit)" ] || fail "the signal waited until everything was gone"
    run -0 "$FASTPATH" log-stats -q --files 1 "$DIR"
    expect_nothing_left
}

@test "log-stats: nobody reads" {
    local signal attempt

    for signal in INT TERM HUP; do
        for attempt in 1 2; do
            # With the report, with the first warning, with the rows.
            expect_end "$(signal_run 900 --signal "$signal" --full "$FASTPATH" log-stats --files 10 "$DIR")" "$signal"
            expect_nothing_left
            expect_end "$(signal_run 900 --signal "$signal" --full-error "$FASTPATH" log-stats --files 100 "$DIR")" "$signal"
            expect_nothing_left
            expect_end "$(signal_run 900 --signal "$signal" --full "$FASTPATH" log-stats --watch --interval 0.01 "$DIR")" \
                "$signal" 0
            expect_end "$(signal_run 900 --signal "$signal" --full \
                "$FASTPATH" --format json log-stats --watch --interval 0.01 "$DIR")" "$signal" 0
        done
    done
    [ "$MOMENTS" -eq 24 ]
}

@test "log-stats: a FIFO that nobody reads is not opened" {
    mkfifo "$BATS_TEST_TMPDIR/fifo"
    run -0 "$BATS_TEST_DIRNAME/signal-run" --signal TERM --after 1 \
        "$FASTPATH" log-stats --files 10 --json-samples "$BATS_TEST_TMPDIR/fifo" "$DIR"
    [ "$output" = 1 ]
    expect_nothing_left
}

@test "nocow-check --exercise" {
    EXPECTED=(0)
    for engine in builtin fio; do
        if [ "$engine" = fio ] && ! command -v fio >/dev/null; then
            continue
        fi
        for scratch in prealloc nocow; do
            at_moments 2 900 "$FASTPATH" nocow-check -q --exercise "$DIR" --size 32M --seconds 60 \
                --scratch "$scratch" --engine "$engine"
        done
    done
    expect_space_back
    [ "$MOMENTS" -ge 16 ]
}

@test "send-reada" {
    local signal

    EXPECTED=(0)
    at_moments 4 300 "$FASTPATH" send-reada "$MNT/subvolume"
    at_moments 2 300 "$FASTPATH" send-reada --estimate "$MNT/subvolume"
    for signal in INT TERM HUP; do
        expect_end "$(signal_run 900 --signal "$signal" --full "$FASTPATH" send-reada "$MNT/subvolume")" "$signal"
    done
    [ "$(ls "$MNT")" = $'data\ndirectory\nsubvolume' ]
    [ "$(btrfs subvolume list "$MNT" | wc -l)" -eq 1 ]
    [ "$MOMENTS" -eq 27 ]
}

@test "commands that make nothing" {
    local signal

    EXPECTED=(0)
    for command in fiemap-shared seek-map nocow-check; do
        at_moments 2 100 "$FASTPATH" "$command" -r "$MNT/data"
        for signal in INT TERM; do
            expect_end "$(signal_run 900 --signal "$signal" --full "$FASTPATH" "$command" -r "$MNT/data")" "$signal"
        done
    done
    [ "$MOMENTS" -eq 30 ]
}
