#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# boot, with a QEMU that is a script and no kernel.

# single quotes hold commands for another shell
# shellcheck disable=SC2016
bats_require_minimum_version 1.5.0

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}"

setup() {
    mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/scratch"
    export TMPDIR=$BATS_TEST_TMPDIR/scratch PATH=$BATS_TEST_TMPDIR/bin:$PATH
    : >"$BATS_TEST_TMPDIR/bzImage"
}

# write_qemu LINE...: they know the folder that it shares with boot as $job, and $turn is 1 the first time
write_qemu() {
    printf '%s\n' '#!/bin/sh' \
        "echo >>'$BATS_TEST_TMPDIR/turns'" \
        "turn=\$(wc -l <'$BATS_TEST_TMPDIR/turns')" \
        'job=${*##*fastpath.job=}' 'job=${job%% *}' \
        "$@" >"$BATS_TEST_TMPDIR/bin/qemu-system-x86_64"
    chmod +x "$BATS_TEST_TMPDIR/bin/qemu-system-x86_64"
}

# boot_it: it is boot that has this number
boot_it() {
    exec "$top_srcdir/kernel/scripts/boot" --accel tcg "$BATS_TEST_TMPDIR/bzImage" -- true
}

crash='ulimit -c 0; kill -SEGV $$'

@test "the status is that of the command" {
    write_qemu 'echo 7 >"$job/status"'
    run -7 boot_it
    [ "$(wc -l <"$BATS_TEST_TMPDIR/turns")" -eq 1 ]
}

@test "a QEMU that crashes before the guest began is started once more" {
    write_qemu "[ \$turn -gt 1 ] || { $crash; }" 'echo 7 >"$job/status"'
    run -7 boot_it
    [[ $output == *"WARNING: QEMU crashed before anything ran in the guest: once more"* ]]
}

@test "a QEMU that crashes again is an error" {
    write_qemu "$crash"
    run -125 boot_it
    [ "$(wc -l <"$BATS_TEST_TMPDIR/turns")" -eq 2 ]
    [ -z "$(ls "$TMPDIR")" ]
}

@test "a QEMU that crashes later is an error at once" {
    write_qemu 'echo "[    1.0] Run $job/init as init process" >"$job/console"' "$crash"
    run -125 boot_it
    [ "$(wc -l <"$BATS_TEST_TMPDIR/turns")" -eq 1 ]
}

@test "a signal while QEMU starts leaves nothing" {
    local boot tries left

    write_qemu 'exec sleep 100'
    boot_it 3>&- &
    boot=$!
    for ((tries = 0; tries < 300; tries++)); do
        [ ! -e "$BATS_TEST_TMPDIR/turns" ] || break
        sleep 0.1
    done
    kill -TERM "$boot"
    wait "$boot" && return 1
    [ -z "$(ls "$TMPDIR")" ]
    # Its readers have the scratch folder in their names.
    left=$(pgrep -af "cat $TMPDIR/" || true)
    [ -z "$left" ]
}
