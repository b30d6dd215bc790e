#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# module: what it says and does with the manager of another package, for which a script stands in.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # single quotes hold lines of that script; run sets variables

bats_require_minimum_version 1.5.0
load environment.bash

: "${top_builddir:=$PWD}"

# the one of the build: what is installed has no kernel of another release
PACKAGED=$top_builddir/tests/cli/packaged-fastpath
SIGNAL_RUN=$top_builddir/tests/hostile/signal-run
MANAGER=/usr/libexec/btrfs-fastpath/module
OURS=6.1.192-2+fastpath0.2
# how long nothing may take that could hang
PATIENCE=60

# Nobody else sees these folders.
setup() {
    mkdir -p "${MANAGER%/*}" 2>/dev/null || skip "cannot make ${MANAGER%/*}"
    mount -t tmpfs -o mode=755 tmpfs "${MANAGER%/*}"
    mount -t tmpfs tmpfs /sys/module
    cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
    umount /sys/module "${MANAGER%/*}"
    rmdir --ignore-fail-on-non-empty "${MANAGER%/*}" 2>/dev/null || true
}

# manager LINE...: a script of these lines
manager() {
    printf '%s\n' '#!/bin/bash' "$@" >"$MANAGER"
    chmod 755 "$MANAGER"
}

# manager_says LINE...: what it prints about the state, \t being a tab and \xHH a byte
manager_says() {
    printf '%b\n' "$@" >"${MANAGER%/*}/lines"
    manager "cat ${MANAGER%/*}/lines"
}

# loaded [VERSION]: the module that the running kernel has
loaded() {
    mkdir /sys/module/btrfs
    echo live >/sys/module/btrfs/initstate
    [ $# -eq 0 ] || echo "$1" >/sys/module/btrfs/version
}

module() {
    timeout -s KILL "$PATIENCE" "$PACKAGED" module "$@"
}

module_json() {
    timeout -s KILL "$PATIENCE" "$PACKAGED" --format json module "$@"
}

# expect_error TEXT
expect_error() {
    [ "$stderr" = "ERROR: $1" ] || fail "standard error:" "$stderr" "and not: ERROR: $1"
}

every_state() {
    manager_says 'enabled\tyes' \
        "kernel\t$(uname -r)\tactive\t$OURS\t" \
        'kernel\t6.1.0-47-amd64\tstock\t-\tthe source is 6.1.192-2, the headers are 6.1.190-1' \
        "kernel\t6.1.0-46-amd64\trefused\t$OURS\tthe key is not enrolled" \
        'kernel\t5.10.0-30-amd64\tready\t5.10.251-1+fastpath0.2\t'
}

@test "status: every state, with its version and reason" {
    every_state
    loaded "$OURS"
    run -0 --separate-stderr module status
    [ -z "$stderr" ]
    expect_line 'Module: enabled'
    expect_line 'Kernel +Running +State +Version'
    expect_line "$(uname -r | sed 's/[.]/\\./g') +yes +active +${OURS//[+]/\\+}"
    expect_line '6\.1\.0-47-amd64 +no +stock +-'
    expect_line "6\\.1\\.0-46-amd64 +no +refused +${OURS//[+]/\\+}"
    expect_line '5\.10\.0-30-amd64 +no +ready +5\.10\.251-1\+fastpath0\.2'
    expect_line '6\.1\.0-47-amd64: the source is 6\.1\.192-2, the headers are 6\.1\.190-1'
    expect_line '6\.1\.0-46-amd64: the key is not enrolled'
    expect_line "Loaded: ${OURS//[+]/\\+}"
    refuse_line '.*reboot.*'
    # It fits.
    refuse_line '.{81,}'
    [ "${#lines[@]}" -eq 9 ]
}

@test "status: the same in JSON" {
    every_state
    loaded "$OURS"
    run -0 --separate-stderr module_json status
    [ -z "$stderr" ]
    expect_json '.module | keys | join(" ")' "enabled enabled_for_all kernels loaded loaded_version reboot_needed"
    expect_json '.module | "\(.enabled) \(.enabled_for_all) \(.loaded) \(.loaded_version) \(.reboot_needed)"' "true true patched $OURS false"
    expect_json '[.module.kernels[] | keys | join(" ")] | unique | join(",")' "kernel reason running state version"
    expect_json '[.module.kernels[] | select(.running).kernel] | join(" ")' "$(uname -r)"
    expect_json '[.module.kernels[] | .state] | join(" ")' "active stock refused ready"
    expect_json '[.module.kernels[] | .version] | tostring' "[\"$OURS\",null,\"$OURS\",\"5.10.251-1+fastpath0.2\"]"
    expect_json '[.module.kernels[] | .reason] | tostring' \
        '[null,"the source is 6.1.192-2, the headers are 6.1.190-1","the key is not enrolled",null]'
}

# expect_loaded LINE NAME VERSION REBOOT: in text and JSON
expect_loaded() {
    run -0 module status
    expect_line "Loaded: $1"
    if [ "$4" = true ]; then
        expect_line 'A reboot is needed to load the (patched|stock) module'
    else
        refuse_line '.*reboot.*'
    fi
    run -0 --separate-stderr module_json status
    expect_json '.module | "\(.loaded) \(.loaded_version) \(.reboot_needed)"' "$2 $3 $4"
}

# expect_enabled WORD TEXT JSON: what the manager's WORD comes to
expect_enabled() {
    manager_says "enabled\t$1" "kernel\ta\tready\t$OURS\tit is not enabled for this kernel"
    run -0 module status
    expect_line "Module: $2"
    expect_line 'a: it is not enabled for this kernel'
    run -0 --separate-stderr module_json status
    expect_json '.module | "\(.enabled) \(.enabled_for_all)"' "$3"
}

@test "status: enabled for all, some or no kernels" {
    expect_enabled yes enabled 'true true'
    expect_enabled some 'enabled for some kernels' 'true false'
    expect_enabled no 'not enabled' 'false false'
}

@test "status: the loaded module, and whether a reboot loads another one" {
    manager_says 'enabled\tno' "kernel\t$(uname -r)\tready\t$OURS\t"
    expect_loaded none none null false
    loaded
    expect_loaded 'the stock module' stock null false
    echo "$OURS" >/sys/module/btrfs/version
    expect_loaded '6\.1\.192-2\+fastpath0\.2' patched "$OURS" true
    run -0 module status
    expect_line 'Module: not enabled'
    expect_line 'A reboot is needed to load the stock module'

    manager_says 'enabled\tyes' "kernel\t$(uname -r)\tactive\t6.1.195-1+fastpath0.2\t"
    expect_loaded '6\.1\.192-2\+fastpath0\.2' patched "$OURS" true
    rm /sys/module/btrfs/version
    expect_loaded 'the stock module' stock null true
    run -0 module status
    expect_line 'A reboot is needed to load the patched module'
    # built in
    rm /sys/module/btrfs/initstate
    expect_loaded none none null false
}

@test "status: a running kernel that is not listed" {
    manager_says 'enabled\tyes' 'kernel\tanother\tstock\t-\tno headers of this kernel are installed'
    loaded "$OURS"
    run -0 module status
    refuse_line '.*reboot.*'
    run -0 --separate-stderr module_json status
    expect_json '[.module.kernels[].running] | tostring' '[false]'
    expect_json .module.reboot_needed false
    manager_says 'enabled\tyes'
    run -0 --separate-stderr module_json status
    expect_json .module.kernels '[]'
}

@test "status: names are escaped" {
    manager_says 'enabled\tyes' 'kernel\ta\x1b[31m\xff\tstock\t-\t\xe2\x80\xae\xc3'
    run -0 module status
    expect_line 'a\\x1b\[31m\\xff +no +stock +-'
    expect_line 'a\\x1b\[31m\\xff: \\xe2\\x80\\xae\\xc3'
    run -0 --separate-stderr module_json status
    expect_json '.module.kernels[0].kernel' 'a\x1b[31m\xff'
    expect_json '.module.kernels[0].kernel_encoding' escaped
    expect_json '.module.kernels[0].reason' '\xe2\x80\xae\xc3'
}

@test "without the package there is no module" {
    local action

    for action in status enable disable; do
        run -1 --separate-stderr module "$action"
        expect_error "the package btrfs-fastpath-dkms is not installed: cannot find '$MANAGER'"
        [ -z "$output" ]
    done
    run -0 --separate-stderr "$PACKAGED" status
    [ -z "$stderr" ]
    refuse_line 'Module: .*'
    run -0 --separate-stderr "$PACKAGED" --format json status
    expect_json .status.module null
}

# expect_not_run ERROR: for what other users can modify, whatever it would do
expect_not_run() {
    local action

    for action in status enable disable; do
        run -1 --separate-stderr module "$action"
        expect_error "$1"
        [ -z "$output" ]
    done
    run -0 --separate-stderr "$PACKAGED" status
    [ "$stderr" = "WARNING: $1" ] || fail "$stderr"
    [ ! -e "$BATS_TEST_TMPDIR/ran" ] || fail "it was run"
}

@test "a manager that other users can modify is not run" {
    local untrusted="refusing to run a file that other users can modify: '$MANAGER'"

    manager "touch $BATS_TEST_TMPDIR/ran"
    chmod 757 "$MANAGER"
    expect_not_run "$untrusted"
    chmod 775 "$MANAGER"
    expect_not_run "$untrusted"
    chmod 755 "$MANAGER"
    chown 65534 "$MANAGER"
    expect_not_run "$untrusted"
    chown 0 "$MANAGER"
    chmod 1777 "${MANAGER%/*}"
    expect_not_run "$untrusted"
    chmod 755 "${MANAGER%/*}"
    mv "$MANAGER" "$MANAGER.real"
    ln -s "$MANAGER.real" "$MANAGER"
    expect_not_run "$untrusted"
    rm "$MANAGER"
    mkfifo "$MANAGER"
    expect_not_run "$untrusted"
    rm "$MANAGER"
    mv "$MANAGER.real" "$MANAGER"
    chmod 644 "$MANAGER"
    expect_not_run "cannot run '$MANAGER': Permission denied"
    chmod 755 "$MANAGER"
    run -0 module enable
    [ -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "status: a manager that fails" {
    local line

    for line in 'exit 1' 'kill -KILL $$'; do
        manager 'printf "enabled\tyes\n"; echo "ERROR: why" >&2' "$line"
        run -1 --separate-stderr module status
        [ "${stderr_lines[0]}" = "ERROR: why" ]
        [ "${stderr_lines[1]}" = "ERROR: failed: '$MANAGER'" ] || fail "$stderr"
        [ -z "$output" ]
    done
    run -0 --separate-stderr "$PACKAGED" status
    [ "${stderr_lines[1]}" = "WARNING: failed: '$MANAGER'" ] || fail "$stderr"
    expect_line 'log-dir .*'
}

# expect_garbage: of what the manager prints
expect_garbage() {
    run -1 --separate-stderr module status
    expect_error "unexpected output of '$MANAGER'"
    [ -z "$output" ]
    run -0 --separate-stderr "$PACKAGED" --format json status
    [ "$stderr" = "WARNING: unexpected output of '$MANAGER'" ] || fail "$stderr"
    expect_json .status.module null
}

@test "status: a manager that prints something else, or too much" {
    manager 'head -c 100000 /dev/urandom'
    expect_garbage
    manager 'exit 0'
    expect_garbage
    manager 'printf "enabled\tyes\nkernel\ta\tstock\t-\t"'
    expect_garbage
    manager 'printf "enabled\tyes\nkernel\ta\0b\tstock\t-\t\n"'
    expect_garbage
    manager_says 'enabled\tyes' 'kernel\ta\tbuilt\t-\t'
    expect_garbage
    manager_says 'enabled\tyes' 'kernel\ta\tstock\t-\t' 'kernel\ta\tready\t1\t'
    expect_garbage
    manager 'printf "enabled\tyes\n"; seq -f "kernel%.0f" 100000'
    expect_garbage
    manager 'printf "enabled\tyes\n"; seq 100000 | sed "s/.*/kernel\t&\tstock\t-\t/"'
    expect_garbage
    manager 'exec yes'
    expect_garbage
}

@test "status: SIGCHLD that is ignored is no matter" {
    manager_says 'enabled\tyes'
    run -0 env --ignore-signal=CHLD "$PACKAGED" module status
    expect_line 'Module: enabled'
    run -0 env --ignore-signal=CHLD "$PACKAGED" module enable
}

@test "enable and disable run the manager, and pass on its output and status" {
    local action

    manager 'read -r answer' 'echo "$# $*: $answer"' 'echo "to errors" >&2' 'exit "$answer"'
    for action in enable disable; do
        run -0 --separate-stderr module "$action" <<<0
        [ "$output" = "1 $action: 0" ] || fail "$output"
        [ "$stderr" = "to errors" ]
        run -1 --separate-stderr module "$action" <<<1
        [ "$output" = "1 $action: 1" ]
        run -1 module "$action" <<<3
        run -0 module "$action" --kernel 6.1.0-48-amd64 <<<0
        [ "${lines[0]}" = "2 $action 6.1.0-48-amd64: 0" ] || fail "$output"
    done
    manager 'kill -KILL $$'
    run -1 --separate-stderr module enable
    expect_error "failed: '$MANAGER'"
}

@test "enable: JSON is the new state, and --quiet prints nothing" {
    manager 'if [ "$1" != status ]; then echo "it is done"; touch "$0.done"; exit; fi' \
        'printf "enabled\t%s\n" "$([ -e "$0.done" ] && echo yes || echo no)"'
    run -0 --separate-stderr module_json status
    expect_json .module.enabled false
    run -0 --separate-stderr module_json enable
    [ "$stderr" = "it is done" ] || fail "$stderr"
    expect_json .module.enabled true
    run -0 --separate-stderr module_json -q disable
    [ -z "$stderr" ]
    expect_json .module.enabled true
    run -0 module enable --quiet
    [ -z "$output" ]
    # A failure has a state, too.
    manager '[ "$1" = status ] && printf "enabled\tno\n"'
    run -1 --separate-stderr module_json enable
    expect_json .module.enabled false
}

@test "a release that cannot be a kernel's is refused" {
    local release long

    manager "touch $BATS_TEST_TMPDIR/ran"
    printf -v long '%0256d' 0
    for release in '' - -6.1 --help . .. / a/b ../6.1 $'a\nb' $'a\tb' $'\e' $'\xff' 'a\b' "$long"; do
        run -1 --separate-stderr module enable "--kernel=$release"
        [[ $stderr == "ERROR: invalid value for --kernel: '"*"' (expected a name in /lib/modules)" ]] || fail "$stderr"
        [[ $stderr != *$'\e'* ]]
    done
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
    run -0 module enable "--kernel=${long:1}"
    run -0 module disable --kernel ..6.1+_~
}

@test "wrong arguments" {
    manager "touch $BATS_TEST_TMPDIR/ran"
    run -1 --separate-stderr module
    [ "$stderr" = "btrfs-fastpath module: status, enable or disable expected" ] || fail "$stderr"
    run -1 --separate-stderr module stat
    expect_error "unknown action 'stat' (expected status, enable or disable)"
    run -1 --separate-stderr module enable disable
    [ "$stderr" = "btrfs-fastpath module: exactly 1 argument expected, 2 given" ] || fail "$stderr"
    run -1 --separate-stderr module status --kernel 6.1
    expect_error "--kernel requires enable or disable"
    run -1 "$FRONT_END" inspect module status
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
    run -0 module --help
    [[ ${lines[0]} == *"module [OPTION...] status|enable|disable" ]]
}

@test "all users may query the state, only root may change it" {
    local program=$BATS_TEST_TMPDIR/program

    manager_says 'enabled\tyes'
    cp "$PACKAGED" "$program"
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$program"
    run -0 as_nobody "$program" module status
    expect_line 'Module: enabled'
    run -1 --separate-stderr as_nobody "$program" module disable
    expect_error "module disable requires root"
}

# -- signals --

# It had the time to say which process it was.
expect_no_manager() {
    ended "$(cat pid)" || fail "the manager runs"
}

@test "status: Ctrl-C ends a manager that hangs" {
    manager 'echo $$ >pid' 'touch started' 'exec sleep 1000'
    run -0 "$SIGNAL_RUN" --group --once started --signal INT "$PACKAGED" module status
    [ "$output" = -2 ] || fail "$output"
    expect_no_manager
}

@test "enable: after Ctrl-C the manager cleans up before the program ends, once" {
    manager 'clean_up() { sleep 0.5; echo cleaned >>cleaned; }' 'trap clean_up EXIT' 'trap "exit 1" INT' \
        'echo $$ >pid' 'touch started' 'while :; do sleep 0.05; done'
    run -0 "$SIGNAL_RUN" --group --once started --signal INT "$PACKAGED" module enable
    [ "$output" = -2 ] || fail "$output"
    expect_no_manager
    [ "$(cat cleaned)" = cleaned ]
}

@test "disable: SIGTERM for the program also ends the manager" {
    manager 'trap "touch cleaned; exit 1" TERM' 'echo $$ >pid' 'touch started' 'while :; do sleep 0.05; done'
    run -0 "$SIGNAL_RUN" --once started --signal TERM "$PACKAGED" module disable
    [ "$output" = -15 ] || fail "$output"
    expect_no_manager
    [ -e cleaned ]
}

# -- status, the other command --

# kernel_status RELEASE ARGUMENT...: what it says on a kernel that calls itself RELEASE
kernel_status() {
    [ ! -e /sys/fs/btrfs/features/fastpath ] || skip "this kernel lists its features"
    run -0 --separate-stderr env RELEASE="$1" "$PACKAGED" status "${@:2}"
    [ -z "$stderr" ]
}

@test "status of the kernel gives the reason for an absent feature" {
    manager_says 'enabled\tyes' 'kernel\t6.1.0\tstock\t-\tthe source is \x1b 6.1.190-1'
    kernel_status 6.1.0
    expect_line 'Module: stock: the source is \\x1b 6.1.190-1'
    kernel_status 6.1.0 --format json
    expect_json '.status.module | keys | join(" ")' "enabled enabled_for_all loaded loaded_version reason reboot_needed state version"
    expect_json '.status.module | "\(.enabled) \(.state) \(.version) \(.loaded)"' "true stock null none"

    loaded
    manager_says 'enabled\tyes' "kernel\t6.1.0\tactive\t$OURS\t"
    kernel_status 6.1.0
    expect_line "Module: active; a reboot is needed"
    echo "$OURS" >/sys/module/btrfs/version
    kernel_status 6.1.0
    expect_line "Module: active"
    # There is none for the running one.
    kernel_status 6.1.1
    refuse_line 'Module: .*'
    kernel_status 6.1.1 --format json
    expect_json '.status.module | "\(.enabled) \(.state)"' "true null"
}

@test "status of a kernel with all features: a module that is not used, or a reboot that is needed" {
    loaded
    manager_says 'enabled\tno' 'kernel\t99.0\tstock\t-\tno patches for this kernel'
    kernel_status 99.0
    refuse_line 'Module: .*'
    manager_says 'enabled\tno' "kernel\t99.0\tready\t$OURS\t"
    kernel_status 99.0
    expect_line 'Module: ready'
    manager_says 'enabled\tyes' "kernel\t99.0\trefused\t$OURS\tits key is not enrolled"
    kernel_status 99.0
    expect_line 'Module: refused: its key is not enrolled'
    manager_says 'enabled\tyes' "kernel\t99.0\tactive\t$OURS\t"
    kernel_status 99.0
    expect_line 'Module: active; a reboot is needed'
    echo "$OURS" >/sys/module/btrfs/version
    kernel_status 99.0
    refuse_line 'Module: .*'
}
