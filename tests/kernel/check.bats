#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# check --headers, on the patches that are there, and on three of its own with faults in their headers.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}"
CHECK=$top_srcdir/kernel/scripts/check
export LC_ALL=C.UTF-8

ID=0123456789abcdef0123456789abcdef01234567
OTHER_ID=89abcdef0123456789abcdef0123456789abcdef

# write_patch NAME FEATURE FIELD...: a patch with the fields between those that all have
write_patch() {
    local name=$1 feature=$2 word=${1#*-}

    shift 2
    {
        printf '%s\n' "From: btrfs-fastpath <maintainers@btrfs-fastpath.invalid>" "Subject: btrfs: ${word%.patch}" \
            "Origin: vendor" "$@" "Fastpath-Feature: $feature" "Fastpath-Base: 6.1" "" "It is slow." "---" \
            "--- a/fs/btrfs/file.c" "+++ b/fs/btrfs/file.c" "@@ -1 +1 @@" "-slow" "+fast"
    } >"$FASTPATH_KERNEL_DIR/6.1/$name"
    echo "$name" >>"$FASTPATH_KERNEL_DIR/6.1/series"
}

# One that mainline has, one that it lacks, and one that it does not want.
setup() {
    export FASTPATH_KERNEL_DIR=$BATS_TEST_TMPDIR/kernel
    mkdir -p "$FASTPATH_KERNEL_DIR/bases" "$FASTPATH_KERNEL_DIR/6.1"
    printf 'source_version=6.1.5-2\nkernel_series=6.1\n' >"$FASTPATH_KERNEL_DIR/bases/6.1.conf"
    sed -n -e 1p -e '/\t6\.1\t/p' "$top_srcdir/kernel/STATUS.tsv" >"$FASTPATH_KERNEL_DIR/STATUS.tsv"
    write_patch 1001-walk.patch fiemap-leaf "Forwarded: not-needed" "Last-Update: 2026-11-23" \
        "Applied-Upstream: 6.3, commit:$ID, commit:$OTHER_ID" "Patch-mainline: v6.3" "Git-commit: $ID" \
        "Git-commit: $OTHER_ID (partial)" "References: CVE-2024-47741" \
        "Fastpath-Folds: $OTHER_ID (v6.12, \"btrfs: fix a race\")"
    write_patch 3001-log.patch log-dir "Forwarded: no" "Last-Update: 2026-11-23" \
        "Patch-mainline: Not yet, read and not shown" "Fixes: 0123456789ab (\"btrfs: log less\")"
    write_patch 9001-count.patch counters "Forwarded: not-needed" "Last-Update: 2026-11-23" \
        "Patch-mainline: Never, for this series alone"
}

# finds PATCH SED-SCRIPT FINDING: with what the script makes of the patch, and only then
finds() {
    local patch=$FASTPATH_KERNEL_DIR/6.1/$1 finding=$3

    cp "$patch" "$BATS_TEST_TMPDIR/right"
    sed -i "$2" "$patch"
    run "$CHECK" --headers 6.1
    mv "$BATS_TEST_TMPDIR/right" "$patch"
    # shellcheck disable=SC2154 # bats' run sets them
    if [ "$status" -ne 1 ] || [[ $output != *"not ok"*": $1: headers"*"# $finding"* ]]; then
        printf '%s\n' "$2: status $status, and no finding '$finding' in:" "$output" >&2
        return 1
    fi
}

@test "check --headers: the patches that are there" {
    unset FASTPATH_KERNEL_DIR
    run "$CHECK" --headers
    [ "$status" -eq 0 ] || { echo "$output" | grep -A 9 '^not ok' && return 1; }
    [[ $output == *": headers"* ]]
}

@test "check --headers: the three forms" {
    run "$CHECK" --headers 6.1
    [ "$status" -eq 0 ] || { echo "$output" && return 1; }
}

@test "check --headers: a field that is not there" {
    for field in From Subject Origin Last-Update Patch-mainline Forwarded Applied-Upstream Git-commit; do
        finds 1001-walk.patch "/^$field: /d" ""
    done
    for field in Origin Last-Update Patch-mainline Forwarded; do
        finds 3001-log.patch "/^$field: /d" "$field: expected"
    done
}

@test "check --headers: what DEP-3 asks for" {
    finds 1001-walk.patch 's/^Origin: .*/Origin: upstream/' "Origin: expected 'vendor'"
    finds 1001-walk.patch 's/^Last-Update: .*/Last-Update: 23.11.2026/' "Last-Update: expected"
    finds 1001-walk.patch 's/^Last-Update: .*/Last-Update: 2026-13-23/' "Last-Update: expected"
    finds 1001-walk.patch 's/^Forwarded: .*/Forwarded: yes/' "Forwarded: expected 'not-needed'"
    finds 1001-walk.patch "s/^\(Applied-Upstream: 6.3, commit:\).*/\1$ID/" "Applied-Upstream: expected"
    finds 1001-walk.patch 's/^Applied-Upstream: 6.3/Applied-Upstream: 6.2/' "Applied-Upstream: expected"
    finds 3001-log.patch 's/^Forwarded: no/Forwarded: no, it was not shown/' "Forwarded: expected 'no'"
    finds 3001-log.patch 's/^Forwarded: no/Forwarded: not-needed/' "Forwarded: expected 'no'"
    finds 9001-count.patch 's/^Forwarded: .*/Forwarded: no/' "Forwarded: expected 'not-needed'"
}

@test "check --headers: what SUSE's checks ask for" {
    finds 1001-walk.patch 's/^Patch-mainline: .*/Patch-mainline: v6.3 (0123456789ab)/' "Patch-mainline: expected"
    finds 1001-walk.patch 's/^Patch-mainline: .*/Patch-mainline: 6.3/' "Patch-mainline: expected"
    finds 1001-walk.patch 's/^\(Git-commit: .\{12\}\).*/\1/' "Git-commit: expected"
    finds 1001-walk.patch 's/(partial)/(in part)/' "Git-commit: expected"
    finds 3001-log.patch 's/^Patch-mainline: .*/Patch-mainline: Not yet/' "Patch-mainline: expected"
    finds 9001-count.patch 's/^Patch-mainline: .*/Patch-mainline: Never/' "Patch-mainline: expected"
    finds 3001-log.patch "/^Patch-mainline: /a Git-commit: $ID" "Git-commit: expected ''"
    finds 9001-count.patch "/^Patch-mainline: /a Applied-Upstream: 6.3" "Applied-Upstream: expected ''"
}

@test "check --headers: fixes and references" {
    finds 3001-log.patch 's/^Fixes: 0123456789ab/Fixes: 0123456/' "Fixes: expected"
    finds 3001-log.patch 's/^Fixes: \([0-9a-f]*\).*/Fixes: \1/' "Fixes: expected"
    finds 1001-walk.patch 's/^References: .*/References: a bug/' "References: expected"
    finds 1001-walk.patch 's/^\(Fastpath-Folds: .\{12\}\)[^ ]*/\1/' "Fastpath-Folds: expected"
    finds 1001-walk.patch 's/(v6.12, /(/' "Fastpath-Folds: expected"
}

@test "check --headers: what is no field, and what is there twice" {
    finds 1001-walk.patch '2a Acked-by: nobody' "not a field: 'Acked-by: nobody'"
    finds 1001-walk.patch '2a more of the subject' "not a field: 'more of the subject'"
    finds 1001-walk.patch '3a Origin: vendor' "Origin: expected 'vendor'"
}

@test "check --headers: needs no source and no compiler" {
    PATH=$(dirname "$(command -v sed)"):/bin HOME=/nonexistent run "$CHECK" --headers 6.1
    [ "$status" -eq 0 ]
    [ ! -e /nonexistent ]
}
