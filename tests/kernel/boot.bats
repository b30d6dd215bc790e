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

# boot_it OPTION...: in place of the shell, so that a signal to it reaches boot
# shellcheck disable=SC2119,SC2120 # bats passes the options
boot_it() {
    exec timeout --foreground --kill-after=10 300 "$top_srcdir/kernel/scripts/boot" "$@" --accel tcg "$BATS_TEST_TMPDIR/bzImage" -- true
}

crash='ulimit -c 0; kill -SEGV $$'

@test "the status is the command's" {
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

@test "a QEMU that does not end is killed" {
    write_qemu 'exec sleep 100'
    run -124 boot_it --timeout 1
    [ "$output" = "ERROR: the guest did not end in 1 seconds" ]
    [ -z "$(ls "$TMPDIR")" ]
}

@test "a warning of the kernel is an error only with --strict" {
    write_qemu 'printf "%s\n" before "[    1.0] WARNING: x" after >"$job/console"' 'echo 7 >"$job/status"'
    run -7 boot_it
    run -70 boot_it --strict
    [ "$output" = $'[    1.0] WARNING: x\nafter\nERROR: the kernel warned' ]
}

@test "the ports of the guest are the output of boot" {
    # QEMU gets a descriptor for each.
    write_qemu 'for word; do case $word in fd=*) descriptor=${word#fd=}; eval "echo set ${word##*=} >&${descriptor%,*}" ;; esac; done' \
        'echo 0 >"$job/status"'
    run --separate-stderr -0 boot_it
    [ "$output" = "set 0" ]
    # shellcheck disable=SC2154 # bats' run sets it
    [ "$stderr" = "set 1" ]
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
    left=$(find /proc/[0-9]*/fd -lname "$TMPDIR/*" 2>/dev/null || true)
    [ -z "$left" ]
}

# write_uml LINE...: a kernel that runs as a process
write_uml() {
    printf '%s\n' '#!/bin/sh' 'job=${*##*fastpath.job=}' 'job=${job%% *}' "$@" >"$BATS_TEST_TMPDIR/linux"
    chmod +x "$BATS_TEST_TMPDIR/linux"
}

# boot_uml OPTION...
# shellcheck disable=SC2119,SC2120 # bats passes the options
boot_uml() {
    exec timeout --foreground --kill-after=10 300 "$top_srcdir/kernel/scripts/boot" "$@" "$BATS_TEST_TMPDIR" -- true
}

@test "User-mode Linux: output, status and the console" {
    write_uml 'echo out >>"$job/stdout"' 'echo err >>"$job/stderr"' 'echo "WARNING: x"' 'echo 7 >"$job/status"'
    run --separate-stderr -7 boot_uml --console "$BATS_TEST_TMPDIR/console"
    [ "$output" = out ]
    # shellcheck disable=SC2154 # bats' run sets it
    [ "$stderr" = err ]
    [ "$(<"$BATS_TEST_TMPDIR/console")" = "WARNING: x" ]
    run -70 boot_uml --strict
    [ -z "$(ls "$TMPDIR")" ]
}

@test "User-mode Linux that does not end is killed with its processes" {
    mkdir "$BATS_TEST_TMPDIR/within"
    write_uml "cd '$BATS_TEST_TMPDIR/within'" 'sleep 100 & exec sleep 100'
    run -124 boot_uml --timeout 1
    [ -z "$(ls "$TMPDIR")" ]
    [ -z "$(find /proc/[0-9]*/cwd -lname "$BATS_TEST_TMPDIR/within" 2>/dev/null)" ]
}

@test "User-mode Linux: images with any name, and what it cannot do" {
    write_uml 'printf "%s\n" "$@" >>"$job/stdout"' 'cat "$job/image1" >>"$job/stdout"' 'echo 0 >"$job/status"'
    echo content >"$BATS_TEST_TMPDIR/a, b"
    run -0 boot_uml --disk 1M --image "$BATS_TEST_TMPDIR/a, b"
    [[ $output == *$'\nubd0='*/disk0$'\nubd1='*/changes1,*/image1$'\n'*$'\ncontent' ]]
    run -1 boot_uml --icount
    [[ $output == "ERROR: User-mode Linux has no --icount, --accel and iops"* ]]
    run -1 boot_uml --disk 1M,iops=5
    run -1 boot_uml --smp 2
    [[ $output == "ERROR: this kernel has one CPU: no --smp"* ]]
    echo CONFIG_SMP=y >"$BATS_TEST_TMPDIR/.config"
    run -0 boot_uml --smp 2
    [[ $output == *$'\nncpus=2\nseccomp=on\n'* ]]
}
