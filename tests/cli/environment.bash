# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2119,SC2120,SC2154
# What every command test stands on: the programs just built, or those that make check-installed names, and a btrfs on a
# loop device.
#
#   setup_file() { mount_btrfs 1G compress=lzo; }
#
# Tests find the file system at $MNT.

: "${top_builddir:=$PWD}"
: "${FASTPATH:=$top_builddir/btrfs-fastpath}" "${FRONT_END:=$top_builddir/btrfs}"
export FASTPATH FRONT_END
export LC_ALL=C.UTF-8

# mount_btrfs SIZE [MOUNT-OPTIONS]
mount_btrfs() {
    export MNT=$BATS_FILE_TMPDIR/mnt
    export IMAGE=$BATS_FILE_TMPDIR/image
    mkdir "$MNT"
    truncate -s "$1" "$IMAGE"
    mkfs.btrfs -q "$IMAGE" >/dev/null
    mount -o "loop${2:+,$2}" "$IMAGE" "$MNT"
}

# finish_deletions PATH: until deleted subvolumes are gone. The first sync wakes the thread that removes them, which
# otherwise sleeps for up to 30 seconds.
finish_deletions() {
    "${BTRFS_PROGRAM:-btrfs}" filesystem sync "$1"
    "${BTRFS_PROGRAM:-btrfs}" subvolume sync -s 1 "$1" >/dev/null
}

unmount_btrfs() {
    if mountpoint -q "${MNT:-}"; then
        umount "$MNT"
    fi
}

teardown_file() {
    unmount_btrfs
    validate_documents
}

# random FILE MIB [SEEK-MIB]: writes what cannot be compressed
random() {
    dd if=/dev/urandom of="$1" bs=1M count="$2" seek="${3:-0}" conv=notrunc status=none
}

# random_kib FILE KIB [SEEK-KIB]
random_kib() {
    dd if=/dev/urandom of="$1" bs=1K count="$2" seek="${3:-0}" conv=notrunc status=none
}

# What a test mounted below its own folder or $MNT
unmount_places() {
    local place

    while read -r place; do
        umount "$place"
    done < <(findmnt -rno TARGET | grep -e "^$BATS_TEST_TMPDIR/" -e "^$MNT/" | tac)
}

# mount_sprout DIRECTORY: a new file system that grew from a seed device. old (NOCOW) and prealloc, 1 MiB each, are on
# the seed, and new (NOCOW), 1 MiB, on the other device.
mount_sprout() {
    local image=$BATS_TEST_TMPDIR/seed sprout

    mkdir "$1"
    truncate -s 400M "$image" "$image.sprout"
    mkfs.btrfs -q "$image" >/dev/null
    mount -o loop "$image" "$1"
    touch "$1/old"
    chattr +C "$1/old"
    head -c 1M /dev/urandom >"$1/old"
    fallocate -l 1M "$1/prealloc"
    umount "$1"
    btrfstune -S 1 "$image"
    mount -o loop "$image" "$1" 2>/dev/null
    sprout=$(losetup --find --show "$image.sprout")
    btrfs device add -f "$sprout" "$1" >/dev/null
    # removed at its last use
    losetup --detach "$sprout"
    mount -o remount,rw "$1"
    touch "$1/new"
    chattr +C "$1/new"
    head -c 1M /dev/urandom >"$1/new"
    sync -f "$1"
}

# fail MESSAGE...: what the test expected and did not get
fail() {
    printf '%s\n' "$@" >&2
    return 1
}

# run_validator ARGUMENT...: checks standard input against a schema, unless there is no module for that
run_validator() {
    local status=0

    "${BATS_TEST_DIRNAME%/*}/cli/validate-json" "$@" || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ]
}

# json FILTER: jq's answer about the last run's standard output. validate_documents checks it later if it is a command's
# document.
json() {
    # shellcheck disable=SC2154 # bats' run sets it
    [[ $output != $'{\n  "__header"'* ]] || printf '%s\n%s\0' "$BATS_TEST_DESCRIPTION" "$output" >>"$BATS_FILE_TMPDIR/documents"
    jq -r "$1" <<<"$output"
}

# Checks what json() was asked about in all tests of the file against the schemas. Python needs most of the time to start.
validate_documents() {
    [ ! -e "$BATS_FILE_TMPDIR/documents" ] || run_validator --of-tests <"$BATS_FILE_TMPDIR/documents"
}

# expect_json FILTER VALUE: jq's answer about the last run
expect_json() {
    local value

    value=$(json "$1")
    [ "$value" = "$2" ] || fail "$1 is $value, expected $2"
}

# expect_line PATTERN: a line of the last run that matches as a whole
expect_line() {
    grep -qxE -e "$1" <<<"$output" || fail "no line '$1' in:" "$output"
}

refuse_line() {
    ! grep -qxE -e "$1" <<<"$output" || fail "a line '$1' in:" "$output"
}

# advised HINT: the commands in the section of nocow-check's page that the hint names
advised() {
    [[ $1 =~ ^[a-z]+:\ see\ \"([^\"]+)\"\ in\ btrfs-inspect-nocow-check\(8\)$ ]] || fail "no section in '$1'" || return
    "${BATS_TEST_DIRNAME%/*}/cli/follow-page" --commands "${BATS_TEST_DIRNAME%/tests/*}/man/btrfs-inspect-nocow-check.8.rst" \
        "${BASH_REMATCH[1]}"
}

let_others_through() {
    chmod o+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR"
}

# The program at $MNT/program, where nobody can get at it
put_program_for_nobody() {
    let_others_through
    cp "$FASTPATH" "$MNT/program"
}

# as_nobody COMMAND...: without privilege
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}

is_sanitized() {
    grep -q __asan_init "$FASTPATH"
}

# The search for leaks at the end fails without it, and so does the program.
skip_if_it_needs_proc() {
    ! is_sanitized || skip "sanitizers need /proc"
}

# traced STRACE-ARGUMENT...: LeakSanitizer traces, too, and there can be only one.
traced() {
    ASAN_OPTIONS=detect_leaks=0 strace -f "$@"
}

# without_proc COMMAND...: where it was not mounted
without_proc() {
    unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
}

# with_feature_list LIST COMMAND...: as on a kernel that lists its features
with_feature_list() {
    # shellcheck disable=SC2016 # for the other shell
    unshare --mount sh -c 'mount -t tmpfs none /sys/fs/btrfs/features &&
        printf "%s\n" "$1" >/sys/fs/btrfs/features/fastpath && shift && exec "$@"' sh "$@"
}

# What a kernel lists that has all features, and three of them improved
IMPROVED_LIST="fiemap-leaf seek-cache log-dir fiemap-leaf:improved seek-cache:improved log-dir:improved send-reada nocow-csum"

# is_running PID: one that ended, and that nobody has waited for, is not. In a container nobody may.
is_running() {
    kill -0 "$1" 2>/dev/null && ! grep -qs '^State:[[:space:]]*Z' "/proc/$1/status"
}

# ended PID: before too long
ended() {
    local attempt

    for ((attempt = 0; attempt < 100; attempt++)); do
        is_running "$1" || return 0
        sleep 0.05
    done
    return 1
}
