#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# check --headers, on the patches that are there, and on three of its own with faults in their headers. check --shipped, on
# sources of its own.

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

# bats test_tags=slow
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

# bats test_tags=slow
@test "check --headers: a field that is not there" {
    for field in From Subject Origin Last-Update Patch-mainline Forwarded Applied-Upstream Git-commit; do
        finds 1001-walk.patch "/^$field: /d" ""
    done
    for field in Origin Last-Update Patch-mainline Forwarded; do
        finds 3001-log.patch "/^$field: /d" "$field: expected"
    done
}

# bats test_tags=slow
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

# bats test_tags=slow
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
    finds 3001-log.patch '/^Fixes/a Cc: stable@vger.kernel.org' "Cc: expected"
    finds 1001-walk.patch 's/^References: .*/References: a bug/' "References: expected"
    finds 1001-walk.patch 's/^\(Fastpath-Folds: .\{12\}\)[^ ]*/\1/' "Fastpath-Folds: expected"
    finds 1001-walk.patch 's/(v6.12, /(/' "Fastpath-Folds: expected"
}

@test "check --headers: unknown and repeated fields" {
    finds 1001-walk.patch '2a Acked-by: nobody' "not a field: 'Acked-by: nobody'"
    finds 1001-walk.patch '2a more of the subject' "not a field: 'more of the subject'"
    finds 1001-walk.patch '3a Origin: vendor' "Origin: expected 'vendor'"
}

@test "check --headers: needs no source and no compiler" {
    PATH=$(dirname "$(command -v sed)"):/bin HOME=/nonexistent run "$CHECK" --headers 6.1
    [ "$status" -eq 0 ]
    [ ! -e /nonexistent ]
}

# write_variant FOLDER NAME SED-SCRIPT: what the script makes of the patch in the series, in FOLDER
write_variant() {
    mkdir -p "$FASTPATH_KERNEL_DIR/6.1/$1"
    sed "$3" "$FASTPATH_KERNEL_DIR/6.1/$2" >"$FASTPATH_KERNEL_DIR/6.1/$1/$2"
}

# expect_finding TEXT FINDING: the last run has it, and no other
expect_finding() {
    # shellcheck disable=SC2154 # bats' run sets them
    if [ "$status" -ne 1 ] || [ "$(grep -c '^not ok' <<<"$output")" -ne 1 ] ||
        ! grep -A 1 "^not ok .*: $1\$" <<<"$output" | grep -qxF "# $2"; then
        printf '%s\n' "status $status, and not 'not ok: $1' with '$2' alone in:" "$output" >&2
        return 1
    fi
}

@test "check --headers: the headers of variants" {
    write_variant before-6.1.4 3001-log.patch 's/^+fast/+faster/'
    run "$CHECK" --headers 6.1
    [ "$status" -eq 0 ] || { echo "$output" && return 1; }
    [[ $output == *": before-6.1.4/3001-log.patch: headers"* ]]
    sed -i 's/^Fastpath-Base: .*/Fastpath-Base: 6.1.4/' "$FASTPATH_KERNEL_DIR/6.1/before-6.1.4/3001-log.patch"
    run "$CHECK" --headers 6.1
    expect_finding "before-6.1.4/3001-log.patch: headers" "Fastpath-Base: expected '6\.1', found '6.1.4'"
}

@test "check --headers: a variant of no patch" {
    write_variant before-6.1.4 3001-log.patch 's/^+fast/+faster/'
    mv "$FASTPATH_KERNEL_DIR/6.1/before-6.1.4/3001-log.patch" "$FASTPATH_KERNEL_DIR/6.1/before-6.1.4/3002-log.patch"
    run "$CHECK" --headers 6.1
    expect_finding "6.1/before-6.1.4 has variants" "not the name of a patch in the series: 3002-log.patch"
}

@test "check --headers: an invalid variant" {
    write_variant before-6.1.4 3001-log.patch 's/^It is slow/It is very slow/'
    run "$CHECK" --headers 6.1
    expect_finding "6.1/before-6.1.4 has variants" "changes the same as the patch in the series: 3001-log.patch"
}

@test "check --headers: variants for no release of the base" {
    write_variant before-6.2 3001-log.patch 's/^+fast/+faster/'
    run "$CHECK" --headers 6.1
    expect_finding "6.1/before-6.2 has variants" "no release of 6.1: before-6.2"
}

# bats test_tags=slow
@test "check --headers: the corrections" {
    write_variant corrections 3001-log.patch 's/^+fast/+faster/'
    printf '%s\n' '# the bug fixes' 1001-walk.patch corrections/3001-log.patch >"$FASTPATH_KERNEL_DIR/6.1/series.corrections"
    run "$CHECK" --headers 6.1
    [ "$status" -eq 0 ] || { echo "$output" && return 1; }
    [[ $output == *": corrections/3001-log.patch: headers"* ]]
    echo 4001-gone.patch >>"$FASTPATH_KERNEL_DIR/6.1/series.corrections"
    run "$CHECK" --headers 6.1
    expect_finding "6.1/series.corrections is what is there" "neither a patch of the series nor a variant: 4001-gone.patch"
    echo 1001-walk.patch >"$FASTPATH_KERNEL_DIR/6.1/series.corrections"
    run "$CHECK" --headers 6.1
    expect_finding "6.1/series.corrections is what is there" \
        "a variant, and not in series.corrections: corrections/3001-log.patch"
    printf '%s\n' corrections/3001-log.patch 1001-walk.patch >"$FASTPATH_KERNEL_DIR/6.1/series.corrections"
    run "$CHECK" --headers 6.1
    expect_finding "6.1/series.corrections ascends" "1001-walk.patch comes too late"
    mv "$FASTPATH_KERNEL_DIR/6.1/corrections/3001-log.patch" "$FASTPATH_KERNEL_DIR/6.1/corrections/3002-log.patch"
    echo corrections/3002-log.patch >"$FASTPATH_KERNEL_DIR/6.1/series.corrections"
    run "$CHECK" --headers 6.1
    expect_finding "6.1/corrections has variants" "not the name of a patch in the series: 3002-log.patch"
}

# prepare_shipped: the scripts with another fetch, which knows the versions in $SOURCES, and of these has what is a folder there
prepare_shipped() {
    SOURCES=$BATS_TEST_TMPDIR/sources
    SCRIPTS=$BATS_TEST_TMPDIR/scripts
    mkdir -p "$SOURCES" "$SCRIPTS"
    cp "$top_srcdir"/kernel/scripts/{apply,check,common.sh} "$SCRIPTS"
    cat >"$SCRIPTS/fetch" <<TEXT
#!/bin/bash
if [ "\$1" = --list ]; then ls -r "$SOURCES"; exit "\${LIST_STATUS-0}"; fi
[ -d "$SOURCES/\$2" ] || exit "\$(cat "$SOURCES/\$2")"
echo "$SOURCES/\$2"
TEXT
    chmod +x "$SCRIPTS/fetch"
    rm -r "$FASTPATH_KERNEL_DIR/6.1"
    mkdir "$FASTPATH_KERNEL_DIR/6.1"
    write_patch 3001-log.patch log-dir
    write_source 6.1.5-1 slow
    write_source 6.1.4-1 slow
}

# write_source VERSION LINE
write_source() {
    local release=${1%-*}

    mkdir -p "$SOURCES/$1/fs/btrfs"
    printf 'VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = %s\nEXTRAVERSION =\n' "${release##*.}" >"$SOURCES/$1/Makefile"
    echo "$2" >"$SOURCES/$1/fs/btrfs/file.c"
}

check_shipped() {
    # shellcheck disable=SC2031 # setup sets it
    TMPDIR=$BATS_TEST_TMPDIR run "$SCRIPTS/check" --shipped --no-build 6.1
}

@test "check --shipped: the series fits every version" {
    prepare_shipped
    check_shipped
    [ "$status" -eq 0 ] || { echo "$output" && return 1; }
    [ "$(grep -c 'the series fits$' <<<"$output")" -eq 2 ]
    # the sources stay as they are
    grep -qx slow "$SOURCES/6.1.4-1/fs/btrfs/file.c"
}

@test "check --shipped: a version that the series does not fit" {
    prepare_shipped
    write_source 6.1.4-1 slower
    check_shipped
    [ "$status" -eq 1 ]
    grep -q '^ok .*: 6.1.5-1: the series fits$' <<<"$output"
    grep -q '^not ok .*: 6.1.4-1: the series fits$' <<<"$output"
    grep -q '^# ERROR: 3001-log.patch does not fit ' <<<"$output"
    write_variant before-6.1.5 3001-log.patch 's/^-slow/-slower/'
    check_shipped
    [ "$status" -eq 0 ] || { echo "$output" && return 1; }
    grep -q '^ok .*: 6.1.4-1: it needs its variants$' <<<"$output"
}

@test "check --shipped: a variant that is not needed" {
    prepare_shipped
    write_variant before-6.1.5 3001-log.patch 's/^+fast/+faster/'
    check_shipped
    expect_finding "6.1.4-1: it needs its variants" "fits without the variant: 3001-log.patch"
}

@test "check --shipped: a version that the corrections do not fit" {
    prepare_shipped
    write_variant corrections 3001-log.patch 's/^-slow/-slower/'
    echo corrections/3001-log.patch >"$FASTPATH_KERNEL_DIR/6.1/series.corrections"
    rm -r "$SOURCES/6.1.4-1"
    check_shipped
    [ "$status" -eq 1 ]
    grep -q '^not ok .*: 6.1.5-1: the corrections fit$' <<<"$output"
    echo 3001-log.patch >"$FASTPATH_KERNEL_DIR/6.1/series.corrections"
    rm -r "$FASTPATH_KERNEL_DIR/6.1/corrections"
    check_shipped
    [ "$status" -eq 0 ] || { echo "$output" && return 1; }
}

@test "check --shipped: a version that is gone, and one that cannot be fetched" {
    prepare_shipped
    echo 3 >"$SOURCES/6.1.3-1"
    check_shipped
    [ "$status" -eq 0 ] || { echo "$output" && return 1; }
    grep -q '^ok .*: 6.1.3-1 # SKIP ' <<<"$output"
    echo 1 >"$SOURCES/6.1.3-1"
    check_shipped
    expect_finding "6.1.3-1: there is a source" "exit status 1"
    rm "$SOURCES/6.1.3-1"
    # without the newest one nothing is known
    echo 3 >"$SOURCES/6.1.6-1"
    check_shipped
    expect_finding "6.1.6-1: there is a source" "exit status 1"
}

@test "check --shipped: no versions at all" {
    prepare_shipped
    rm -r "${SOURCES:?}"/*
    check_shipped
    expect_finding "versions: " "the package sources have no "
}

@test "check --shipped: versions can be missing" {
    prepare_shipped
    LIST_STATUS=4 check_shipped
    expect_finding "all package sources can be read" "fetch --list ended with status 4: versions can be missing"
    # it goes on with those that are listed
    [ "$(grep -c '^ok .*: the series fits$' <<<"$output")" -eq 2 ]
}

@test "check --shipped: options that do not go with it" {
    run "$CHECK" --shipped --headers
    [ "$status" -eq 1 ]
    [[ ${lines[0]} == "ERROR: --shipped "* ]]
}

# -- STATUS.tsv and SYMBOLS.tsv, of a source with one function --

# prepare_status STATE PATCHES MARKER: the row of seek-cache, for a series with a patch of it
prepare_status() {
    SOURCE=$BATS_TEST_TMPDIR/source
    mkdir -p "$SOURCE/fs/btrfs"
    printf 'VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 5\nEXTRAVERSION =\n' >"$SOURCE/Makefile"
    printf 'int seek(void)\n{\n\treturn cached();\n}\n' >"$SOURCE/fs/btrfs/file.c"
    rm -r "$FASTPATH_KERNEL_DIR/6.1"
    mkdir "$FASTPATH_KERNEL_DIR/6.1"
    write_patch 2001-cut.patch seek-cache
    echo '+int cut_range(void)' >>"$FASTPATH_KERNEL_DIR/6.1/2001-cut.patch"
    printf 'feature\tbase\tstate\tsince\tpatches\tevidence\n' >"$FASTPATH_KERNEL_DIR/STATUS.tsv"
    printf 'fiemap-leaf\t6.1\tupstream\t6.3\t-\tfs/btrfs/file.c:seek:cached\n' >>"$FASTPATH_KERNEL_DIR/STATUS.tsv"
    printf 'seek-cache\t6.1\t%s\t6.2\t%s\t%s\n' "$@" >>"$FASTPATH_KERNEL_DIR/STATUS.tsv"
    printf 'feature\tsymbol\nseek-cache:improved\tcut_range\n' >"$FASTPATH_KERNEL_DIR/SYMBOLS.tsv"
}

# Where no kernel is built, what that needs may not be installed.
stand_in_for() {
    local command

    mkdir -p "$BATS_TEST_TMPDIR/bin"
    for command; do
        printf '#!/bin/sh\nexit 1\n' >"$BATS_TEST_TMPDIR/bin/$command"
        chmod +x "$BATS_TEST_TMPDIR/bin/$command"
    done
}

# status_line NAME: what check says of it, with its findings. It finds more in such a source, which cannot be built.
status_line() {
    stand_in_for bc bison flex sparse
    PATH=$BATS_TEST_TMPDIR/bin:$PATH TMPDIR=$BATS_TEST_TMPDIR HOME=$BATS_TEST_TMPDIR run "$CHECK" --tree "$SOURCE" 6.1
    printf '%s\n' "$output" | sed -n "/ok [0-9]* - 6.1: $1/{s/ [0-9]* - 6.1: .*//p;:more;n;s/^# //p;t more;}" | paste -s -d '|'
}

# expect_status RESULT NAME
expect_status() {
    local found

    found=$(status_line "$2")
    [ "$found" = "$1" ] || { printf '%s\n' "$2: '$found', expected '$1'" >&2 && return 1; }
}

# bats test_tags=slow
@test "check: an improved feature has patches, and a marker that proves that the base has it" {
    prepare_status improved 2001 'fs/btrfs/file.c:seek:cached'
    expect_status ok "STATUS.tsv: seek-cache is improved"
    prepare_status improved 2001 'fs/btrfs/file.c:seek:remembered'
    expect_status 'not ok|not found: fs/btrfs/file.c:seek:remembered' "STATUS.tsv: seek-cache is improved"
    prepare_status improved 2001 -
    expect_status 'not ok|no marker: -' "STATUS.tsv: seek-cache is improved"
    prepare_status improved - 'fs/btrfs/file.c:seek:cached'
    expect_status "not ok|patches are 2001, not '-'" "STATUS.tsv: seek-cache is improved"
    rm "$FASTPATH_KERNEL_DIR/6.1"/*
    write_patch 3001-log.patch log-dir
    expect_status 'not ok|improved, and there is no patch' "STATUS.tsv: seek-cache is improved"
}

@test "check: the other states of a feature with patches" {
    prepare_status carried 2001 'fs/btrfs/file.c:seek:!remembered'
    expect_status ok "STATUS.tsv: seek-cache is carried"
    prepare_status upstream 2001 'fs/btrfs/file.c:seek:cached'
    expect_status "not ok|upstream, and there are patches: 2001" "STATUS.tsv: seek-cache is upstream"
    prepare_status better 2001 'fs/btrfs/file.c:seek:cached'
    expect_status "not ok|no such state: 'better'" "STATUS.tsv: seek-cache is better"
}

# bats test_tags=slow
@test "check: a symbol proves an improvement where the feature is improved, and else the feature" {
    prepare_status improved 2001 'fs/btrfs/file.c:seek:cached'
    expect_status ok "SYMBOLS.tsv"
    printf 'feature\tsymbol\nseek-cache\tcut_range\n' >"$FASTPATH_KERNEL_DIR/SYMBOLS.tsv"
    expect_status 'not ok|cut_range is of 2001-cut.patch, too: seek-cache:improved' "SYMBOLS.tsv"
    prepare_status carried 2001 'fs/btrfs/file.c:seek:!remembered'
    expect_status 'not ok|cut_range is of 2001-cut.patch, too: seek-cache' "SYMBOLS.tsv"
    printf 'feature\tsymbol\nseek-cache\tcut_range\n' >"$FASTPATH_KERNEL_DIR/SYMBOLS.tsv"
    expect_status ok "SYMBOLS.tsv"
    printf 'feature\tsymbol\nseek-cache\tcut\n' >"$FASTPATH_KERNEL_DIR/SYMBOLS.tsv"
    expect_status 'not ok|no patch has it: cut' "SYMBOLS.tsv"
}
