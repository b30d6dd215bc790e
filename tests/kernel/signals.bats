#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What the programs of this folder leave after a signal, without a kernel.

# single quotes hold commands for another shell
# shellcheck disable=SC2016
bats_require_minimum_version 1.5.0

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}"

setup() {
    before=()
    cat >"$BATS_TEST_TMPDIR/program" <<'PYTHON'
import contextlib, os, signal, sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from fastpath_tests.processes import end_on_signals, wait_for

made = sys.argv[2]
end_on_signals()
with contextlib.ExitStack() as places, contextlib.ExitStack() as processes:
    os.mkdir(made)
    places.callback(os.rmdir, made)
    # The second one comes while the first one is dealt with.
    places.callback(os.kill, os.getpid(), signal.SIGTERM)
    wait_for(processes, "sh", "-c", f"{sys.argv[3]}; exec sleep 60", env=os.environ | {"parent": str(os.getpid())})
PYTHON
}

# run_program SHELL-COMMANDS: which know the program as $parent
run_program() {
    "${before[@]}" python3 "$BATS_TEST_TMPDIR/program" "$top_srcdir/tests/python" "$BATS_TEST_TMPDIR/made" "$1"
}

@test "after SIGTERM nothing is left" {
    run -143 run_program 'kill -TERM $parent'
    [ ! -e "$BATS_TEST_TMPDIR/made" ]
}

@test "after a terminal was closed nothing is left" {
    run -129 run_program 'kill -HUP $parent'
    [ ! -e "$BATS_TEST_TMPDIR/made" ]
}

@test "under nohup a closed terminal ends nothing" {
    before=(nohup)
    run -143 run_program 'kill -HUP $parent; sleep 0.2; kill -TERM $parent'
    [ ! -e "$BATS_TEST_TMPDIR/made" ]
}

# signal_at COMMAND: in mount_image it sends SIGTERM to its parent, and has done its work a little later
signal_at() {
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\nkill -TERM "$PPID"\nsleep 0.2\nexec %s "$@"\n' "$(command -v "$1")" >"$BATS_TEST_TMPDIR/bin/$1"
    chmod +x "$BATS_TEST_TMPDIR/bin/$1"
    before=(env PATH="$BATS_TEST_TMPDIR/bin:$PATH")
}

require_loop_btrfs() {
    [ "${MOUNT_TESTS-}" != no ] || skip "no tests that mount, as was asked for"
    [ "$(id -u)" -eq 0 ] || skip "mounting needs root"
    grep -qw btrfs /proc/filesystems || skip "no btrfs in this kernel"
    losetup --find >/dev/null 2>&1 || skip "no loop device"
}

# mount_image: prints the folder as soon as an image of two disks is mounted
mount_image() {
    cat >"$BATS_TEST_TMPDIR/mounting" <<'PYTHON'
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from fastpath_tests.file_systems import KINDS
from fastpath_tests.processes import end_on_signals
from fastpath_tests.scratch import make_image, mounted

end_on_signals()
make_image(sys.argv[2], 256 << 20, kind=next(kind for kind in KINDS if kind.disks == 2))
with mounted(sys.argv[2], "loop") as folder:
    print(folder)
PYTHON
    "${before[@]}" env TMPDIR="$BATS_TEST_TMPDIR" python3 "$BATS_TEST_TMPDIR/mounting" "$top_srcdir/tests/python" "$BATS_TEST_TMPDIR/image"
}

# expect_nothing_mounted: nor attached
expect_nothing_mounted() {
    run ! grep -F "$BATS_TEST_TMPDIR" /proc/self/mounts
    losetup --noheadings --output BACK-FILE >"$BATS_TEST_TMPDIR/loops"
    run ! grep -F "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/loops"
    run ! compgen -G "$BATS_TEST_TMPDIR/btrfs-fastpath-*"
}

@test "an interrupted mount or umount leaves nothing" {
    local command

    require_loop_btrfs
    run -0 mount_image
    expect_nothing_mounted
    for command in mount umount losetup; do
        signal_at "$command"
        run -143 mount_image
        expect_nothing_mounted
        rm -r "${BATS_TEST_TMPDIR:?}/bin"
    done
}

# A kernel that build gets as far as to wait for another build of it, with the commands that it asks for.
prepare_build() {
    local command

    export FASTPATH_KERNEL_DIR=$BATS_TEST_TMPDIR/kernel XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache PATH=$BATS_TEST_TMPDIR/bin:$PATH
    mkdir -p "$FASTPATH_KERNEL_DIR/bases" "$FASTPATH_KERNEL_DIR/configs" "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/tree/fs/btrfs" \
        "$XDG_CACHE_HOME/btrfs-fastpath/build"
    for command in make gcc bc flex bison patch xz; do
        ln -s /bin/true "$BATS_TEST_TMPDIR/bin/$command"
    done
    printf 'source_version=6.1.5-2\nkernel_series=6.1\nconfig_fragments=(one.config)\n' >"$FASTPATH_KERNEL_DIR/bases/6.1.conf"
    sed -n -e 1p -e '/\t6\.1\t/p' "$top_srcdir/kernel/STATUS.tsv" >"$FASTPATH_KERNEL_DIR/STATUS.tsv"
    echo CONFIG_SMP=y >"$FASTPATH_KERNEL_DIR/configs/one.config"
    printf 'VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 5\nEXTRAVERSION =\n' >"$BATS_TEST_TMPDIR/tree/Makefile"
    echo one >"$BATS_TEST_TMPDIR/tree/fs/btrfs/one.c"
}

@test "build ends by a signal while it waits for another build" {
    local lock pid status=0

    prepare_build
    lock=$XDG_CACHE_HOME/btrfs-fastpath/build/tree-gcc-.lock
    exec 8>"$lock"
    flock 8
    "$top_srcdir/kernel/scripts/build" --variant stock --tree "$BATS_TEST_TMPDIR/tree" 6.1 3>&- 8>&- &
    pid=$!
    # /proc/locks of a PID namespace hides a lock whose first owner, the other flock, has ended.
    timeout 60 bash -c "until pgrep -x -P $pid flock >/dev/null; do sleep 0.1; done"
    kill -TERM "$pid"
    timeout 30 tail -f /dev/null --pid="$pid"
    flock -u 8
    wait "$pid" || status=$?
    [ "$status" -eq 143 ]
    run ls "$XDG_CACHE_HOME/btrfs-fastpath/build"
    [ "$output" = tree-gcc-.lock ]
}
