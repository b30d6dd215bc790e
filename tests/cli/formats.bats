#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Each command in each format that its help offers, in places where figures are missing: no sysfs, no privilege, no /proc,
# nothing to measure, streams without names. Each answer must be readable, or an error must say why there is none. A build
# with sanitizers finds more here.
# shellcheck disable=SC2030,SC2031,SC2086,SC2154 # run sets output; each test has a subshell; arguments are words

bats_require_minimum_version 1.5.0
load environment.bash

setup_file() {
    mount_btrfs 1G noatime,commit=3600
    put_program_for_nobody
    (
        cd "$MNT" || exit
        head -c 1M /dev/urandom >file
        cp --reflink=always file clone
        touch empty nocow
        chattr +C nocow
        head -c 1M /dev/urandom >nocow
        truncate -s 1M hole
        mkdir empty-tree no-btrfs writable
        chmod 777 writable
        mount -t tmpfs none no-btrfs
        touch no-btrfs/file
        btrfs -q subvolume create subvolume
        cp file subvolume
        btrfs -q subvolume snapshot -r subvolume before
        head -c 1M /dev/urandom >subvolume/new
        sync -f .
        btrfs -q subvolume snapshot -r subvolume after
    )
}

teardown_file() {
    umount "$MNT/no-btrfs"
    unmount_btrfs
}

setup() {
    cd "$MNT" || exit
    checked=0
}

teardown() {
    cd / || exit
}

# -- places --

complete() {
    "$@"
}

no_sysfs() {
    unshare --mount sh -c 'mount -t tmpfs none /sys/fs/btrfs && exec "$@"' sh "$@"
}

no_privilege() {
    as_nobody "$@"
}

no_privilege_no_sysfs() {
    no_sysfs setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}

# -- what is checked --

# formats_of COMMAND: those that its help offers
formats_of() {
    "$FASTPATH" "$1" --help | sed -n 's/^ Also --format=\([^,]*\),.*/\1/p' | tr '|' ' '
}

# readable COMMAND FORMAT FILE: the answer in FILE
readable() {
    case $2 in
    text) ;; # empty where there is nothing to report
    json) run_validator "$1" <"$3" ;;
    ndjson) run_validator --lines "$1" <"$3" ;;
    openmetrics) "$BATS_TEST_DIRNAME/read-openmetrics" openmetrics <"$3" >/dev/null ;;
    nagios) grep -qxE "${1^^} "'(OK|WARNING|CRITICAL|UNKNOWN) - .+' "$3" ;;
    esac
}

# try PLACE FORMAT COMMAND ARGUMENT...
try() {
    local place=$1 format=$2 command=$3 answer=$BATS_TEST_TMPDIR/answer errors=$BATS_TEST_TMPDIR/errors status=0

    shift 2
    "$place" timeout 60 "$MNT/program" --format "$format" "$@" >"$answer" 2>"$errors" || status=$?
    checked=$((checked + 1))
    ! grep -qE 'Sanitizer|runtime error' "$errors" || fail "$place $format: $*" "$(<"$errors")" || return
    case $format:$status in
    *:0 | *:64 | nagios:[123]) ;;
    *:1) grep -q '^ERROR: ' "$errors" || fail "$place $format: $*: no error" || return ;;
    *) fail "$place $format: $*: status $status" "$(<"$errors")" || return ;;
    esac
    # An error can be all that there is.
    [ "$status" -ne 1 ] || [ -s "$answer" ] || return 0
    readable "$command" "$format" "$answer" || fail "$place $format: $*: unreadable" "$(<"$answer")"
}

# try_all PLACE COMMAND <<ARGUMENTS: a line of them for each call
try_all() {
    local arguments format formats

    formats=$(formats_of "$2")
    [ -n "$formats" ]
    while read -r arguments; do
        for format in $formats; do
            try "$1" "$format" "$2" $arguments || return
        done
    done
}

# in_each_place COMMAND <<ARGUMENTS
in_each_place() {
    local calls place

    calls=$(cat)
    for place in complete no_sysfs no_privilege no_privilege_no_sysfs; do
        try_all "$place" "$1" <<<"$calls" || return
    done
    is_sanitized || try_all without_proc "$1" <<<"$calls"
}

@test "status" {
    try_all complete status <<<'missing'
    try_all no_privilege status <<<'--check'
    [ "$checked" -ge 8 ]
}

# bats test_tags=slow
@test "fiemap-shared" {
    in_each_place fiemap-shared <<'TEXT'
file
empty
missing
.
no-btrfs/file
-r empty-tree
-rs .
--extents --why --owners file empty hole
--timing empty
--cold file
--disk --freed file clone
--disk --freed -r empty-tree
--freed missing
--owners -s -r subvolume
--sort total -r .
--range 4M file
--files0-from /dev/null
TEXT
    [ "$checked" -ge 272 ]
}

# bats test_tags=slow
@test "seek-map" {
    in_each_place seek-map <<'TEXT'
file
empty
missing
.
-r empty-tree
-rs .
--timing empty
--histogram hole
--repeat 2 file empty
--verdict empty
--check --fiemap hole empty
--check=data file
--cold empty
--range 4M file
--files0-from /dev/null
TEXT
    [ "$checked" -ge 240 ]
}

# bats test_tags=slow
@test "nocow-check" {
    in_each_place nocow-check <<'TEXT'
file
empty
missing
.
-r empty-tree
-rs .
--extents nocow empty hole
--check nocow
--check --expect-nocow file empty
--sort path -r .
--exercise missing
--range 4M file
--files0-from /dev/null
TEXT
    [ "$checked" -ge 208 ]
}

# bats test_tags=slow
@test "log-stats" {
    in_each_place log-stats <<'TEXT'
--files 1 writable
--files 2 --every 1 writable
--files 120 --every 1 writable
missing
no-btrfs
file
TEXT
    [ "$checked" -ge 120 ]
}

# bats test_tags=slow
@test "send-reada" {
    in_each_place send-reada <<'TEXT'
before
missing
subvolume
no-btrfs
-p before after
--estimate before
--estimate --rate 1 -p before after
--data --passes 2 --top 3 after
--cold before
--compressed-data --estimate before
TEXT
    [ "$checked" -ge 160 ]
}

# bats test_tags=slow
@test "send-reada --decode: streams without names, and damaged ones" {
    local stream format

    for stream in /dev/null /etc/hostname "${BATS_TEST_DIRNAME%/*}"/fuzz/corpus/send-stream/*; do
        for format in $(formats_of send-reada); do
            try complete "$format" send-reada --decode "$stream"
        done
    done
    [ "$checked" -ge 200 ]
}

# bats test_tags=slow
@test "status, in each place" {
    in_each_place status <<'TEXT'

.
missing
no-btrfs
--check
TEXT
    [ "$checked" -ge 80 ]
}
