#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# apply, on a kernel source of three files and patches of its own.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}"
APPLY=$top_srcdir/kernel/scripts/apply
export LC_ALL=C.UTF-8

# fail MESSAGE...: what the test expected and did not get
fail() {
    printf '%s\n' "$@" >&2
    return 1
}

# write_source VERSION: at $TREE
write_source() {
    mkdir -p "$TREE/fs/btrfs"
    printf '# a kernel\nVERSION = %s\nPATCHLEVEL = %s\nSUBLEVEL = %s\nEXTRAVERSION =\n' \
        "${1%%.*}" "$(cut -d . -f 2 <<<"$1")" "${1##*.}" >"$TREE/Makefile"
    seq -f 'line %g' 30 >"$TREE/fs/btrfs/one.c"
    seq -f 'row %g' 30 >"$TREE/fs/btrfs/two.c"
    seq -f 'neighbour %g' 30 >"$TREE/fs/btrfs/three.c"
}

# add_patch FOLDER NAME SED-SCRIPT FILE: what the script makes of the file, on top of the patches before
add_patch() {
    local file=fs/btrfs/$4

    mkdir -p "$FASTPATH_KERNEL_DIR/$1"
    cp "$NEXT/$file" "$BATS_TEST_TMPDIR/before"
    sed -i "$3" "$NEXT/$file"
    {
        printf 'Subject: btrfs: change %s\n\nIt is slow.\n---\n' "$4"
        diff -u --label "a/$file" --label "b/$file" "$BATS_TEST_TMPDIR/before" "$NEXT/$file" || true
    } >"$FASTPATH_KERNEL_DIR/$1/$2"
    echo "$2" >>"$FASTPATH_KERNEL_DIR/$1/series"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    export FASTPATH_KERNEL_DIR=$BATS_TEST_TMPDIR/kernel
    export TMPDIR=$BATS_TEST_TMPDIR/scratch
    TREE=$BATS_TEST_TMPDIR/tree
    NEXT=$BATS_TEST_TMPDIR/next
    mkdir -p "$FASTPATH_KERNEL_DIR/bases" "$TMPDIR"
    printf 'source_version=6.1.5-2\nkernel_series=6.1\n' >"$FASTPATH_KERNEL_DIR/bases/6.1.conf"
    sed -n -e 1p -e '/\t6\.1\t/p' "$top_srcdir/kernel/STATUS.tsv" >"$FASTPATH_KERNEL_DIR/STATUS.tsv"
    write_source 6.1.5
    cp -r "$TREE" "$NEXT"
    add_patch 6.1 1001-line-ten.patch 's/^line 10$/line ten/' one.c
    # it stands on the first one: that one alone does not come out again
    add_patch 6.1 1002-line-ten-again.patch 's/^line ten$/line TEN/' one.c
    add_patch 6.1 5001-row-five.patch '5a row five and a half' two.c
    add_patch control/6.1 4001-row-twenty.patch '/^row 20$/d' two.c
    cp -r "$TREE" pristine
}

teardown() {
    [ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -A "$TMPDIR")"
}

# apply OPTION...: run by bats, for the tree
apply() {
    run "$APPLY" 6.1 "$TREE" "$@"
}

# expect STATUS LINE...: how the last run ended, and each line that it said
expect() {
    local wanted=$1

    shift
    # shellcheck disable=SC2154 # bats' run sets them
    [ "$status" -eq "$wanted" ] || fail "status $status: $output"
    [ "$output" = "$(printf '%s\n' "$@")" ] || fail "it says:" "$output" "and not:" "$@"
}

# expect_error PATTERN: the last run failed for the reason in its first line
expect_error() {
    [ "$status" -eq 1 ] || fail "status $status: $output"
    # shellcheck disable=SC2053 # a pattern it is
    [[ ${lines[0]} == $1 ]] || fail "it says: ${lines[0]}" "and not: $1"
}

# unchanged: the tree is what it was before, without new files
unchanged() {
    diff -r pristine "$TREE"
}

# has LINE FILE
has() {
    grep -qx "$1" "$TREE/fs/btrfs/$2" || fail "no '$1' in $2"
}

has_not() {
    ! grep -qx "$1" "$TREE/fs/btrfs/$2" || fail "there is '$1' in $2"
}

@test "apply: exactly the series" {
    apply
    expect 0 "applied 1001-line-ten.patch" "applied 1002-line-ten-again.patch" \
        "applied 5001-row-five.patch"
    has "line TEN" one.c
    has "row five and a half" two.c
    has "row 20" two.c
    [ "$(cd "$TREE" && find . -type f | sort)" = "$(cd pristine && find . -type f | sort)" ]
}

@test "apply: a second time changes nothing" {
    apply
    cp -a "$TREE" first
    apply
    expect 0 "already applied 1001-line-ten.patch" "already applied 1002-line-ten-again.patch" \
        "already applied 5001-row-five.patch"
    diff -r first "$TREE"
    # not even written again: make would compile it
    [ ! "$TREE/fs/btrfs/one.c" -nt first/fs/btrfs/one.c ]
}

@test "apply: completes a partly applied series" {
    patch -s -p1 -d "$TREE" <"$FASTPATH_KERNEL_DIR/6.1/1001-line-ten.patch"
    apply
    expect 0 "already applied 1001-line-ten.patch" "applied 1002-line-ten-again.patch" \
        "applied 5001-row-five.patch"
    has "line TEN" one.c
}

@test "apply: --without leaves the patches of a feature out" {
    apply --without fiemap-leaf
    expect 0 "applied 5001-row-five.patch"
    has "line 10" one.c
    has "row five and a half" two.c
}

@test "apply: --without and --control several times" {
    apply --without fiemap-leaf --control send-reada --without nocow-csum
    expect 0 "applied 4001-row-twenty.patch"
    has "line 10" one.c
    has "row 5" two.c
    has_not "row 20" two.c
}

@test "apply: --without does not keep quiet about patches that are there" {
    apply
    cp -r "$TREE" first
    apply --without fiemap-leaf
    expect_error "ERROR: '$TREE' has 1001-line-ten.patch, which was not asked for: --revert first"
    diff -r first "$TREE"
}

@test "apply: --control is applied after the series" {
    apply --control send-reada
    expect 0 "applied 1001-line-ten.patch" "applied 1002-line-ten-again.patch" \
        "applied 5001-row-five.patch" "applied 4001-row-twenty.patch"
    has_not "row 20" two.c
}

# add_count NAME NEEDED-FEATURE SED-SCRIPT FILE
add_count() {
    add_patch 6.1 "$1" "$3" "$4"
    sed -i "1a Fastpath-Needs: $2" "$FASTPATH_KERNEL_DIR/6.1/$1"
}

@test "apply: a feature's counters are dropped with it" {
    add_count 9101-line-thirty.patch fiemap-leaf 's/^line 30$/line thirty/' one.c
    add_count 9401-row-thirty.patch send-reada 's/^row 30$/row thirty/' two.c
    apply --without fiemap-leaf --dry-run
    expect 0 "would apply 5001-row-five.patch" "would apply 9401-row-thirty.patch"
    apply --control send-reada --dry-run
    expect 0 "would apply 1001-line-ten.patch" "would apply 1002-line-ten-again.patch" \
        "would apply 5001-row-five.patch" "would apply 9101-line-thirty.patch" "would apply 4001-row-twenty.patch"
    apply --without counters --dry-run
    expect 0 "would apply 1001-line-ten.patch" "would apply 1002-line-ten-again.patch" \
        "would apply 5001-row-five.patch"
}

@test "apply: --control of a feature without a control patch" {
    apply --control log-dir
    expect_error "ERROR: there is no control patch for 'log-dir' in the base '6.1'"
    unchanged
}

@test "apply: --revert gives the source back, byte for byte" {
    apply --control send-reada
    apply --revert
    expect 0 "reverted 4001-row-twenty.patch" "reverted 5001-row-five.patch" \
        "reverted 1002-line-ten-again.patch" "reverted 1001-line-ten.patch"
    unchanged
}

@test "apply: --revert skips patches that are not applied" {
    apply --without nocow-csum
    apply --revert
    expect 0 "not applied 4001-row-twenty.patch" "not applied 5001-row-five.patch" \
        "reverted 1002-line-ten-again.patch" "reverted 1001-line-ten.patch"
    unchanged
}

@test "apply: --dry-run changes nothing, in both directions" {
    apply --dry-run --without nocow-csum
    expect 0 "would apply 1001-line-ten.patch" "would apply 1002-line-ten-again.patch"
    unchanged
    apply
    cp -r "$TREE" first
    apply --revert --dry-run
    expect 0 "not applied 4001-row-twenty.patch" "would revert 5001-row-five.patch" \
        "would revert 1002-line-ten-again.patch" "would revert 1001-line-ten.patch"
    diff -r first "$TREE"
}

@test "apply: a patch that does not fit leaves the source as it was" {
    sed -i 's/^row 6$/row six/' "$TREE/fs/btrfs/two.c"
    rm -r pristine
    cp -r "$TREE" pristine
    apply
    expect_error "ERROR: 5001-row-five.patch does not fit '$TREE': fs/btrfs/two.c: hunk #1 at line 3"
    unchanged
    apply --dry-run
    expect_error "ERROR: 5001-row-five.patch does not fit *"
}

@test "apply: a file that is not there" {
    rm "$TREE/fs/btrfs/two.c" pristine/fs/btrfs/two.c
    apply
    expect_error "ERROR: 5001-row-five.patch does not fit '$TREE': *fs/btrfs/two.c*"
    unchanged
}

@test "apply: a patch that makes a file, and one that deletes one" {
    printf 'Subject: x\n---\n--- /dev/null\n+++ b/fs/btrfs/new.c\n@@ -0,0 +1 @@\n+new\n' \
        >"$FASTPATH_KERNEL_DIR/6.1/9001-new.patch"
    {
        printf 'Subject: x\n---\n--- a/fs/btrfs/three.c\n+++ /dev/null\n@@ -1,30 +0,0 @@\n'
        sed 's/^/-/' "$TREE/fs/btrfs/three.c"
    } >"$FASTPATH_KERNEL_DIR/6.1/9002-no-three.patch"
    printf '%s\n' 9001-new.patch 9002-no-three.patch >"$FASTPATH_KERNEL_DIR/6.1/series"
    apply
    expect 0 "applied 9001-new.patch" "applied 9002-no-three.patch"
    has new new.c
    [ ! -e "$TREE/fs/btrfs/three.c" ]
    apply --revert
    [ "$status" -eq 0 ]
    unchanged
}

@test "apply: the same with POSIXLY_CORRECT" {
    printf 'Subject: x\n---\n--- /dev/null\n+++ b/fs/btrfs/new.c\n@@ -0,0 +1 @@\n+new\n' \
        >"$FASTPATH_KERNEL_DIR/6.1/9001-new.patch"
    echo 9001-new.patch >"$FASTPATH_KERNEL_DIR/6.1/series"
    POSIXLY_CORRECT=1 apply
    expect 0 "applied 9001-new.patch"
    has new new.c
}

@test "apply: a source whose name looks like an assignment" {
    mv "$TREE" a=b
    run timeout 60 "$APPLY" 6.1 a=b </dev/null
    expect 0 "applied 1001-line-ten.patch" "applied 1002-line-ten-again.patch" "applied 5001-row-five.patch"
}

@test "apply: a hard link of a file keeps its content" {
    cp -al "$TREE" linked
    apply
    [ "$status" -eq 0 ]
    diff -r pristine linked
}

@test "apply: another 6.1.y is tried, with a warning" {
    sed -i 's/^SUBLEVEL.*/SUBLEVEL = 7/' "$TREE/Makefile"
    apply
    expect 0 "WARNING: '$TREE' is Linux 6.1.7, and the patches were tested with 6.1.5" \
        "applied 1001-line-ten.patch" "applied 1002-line-ten-again.patch" "applied 5001-row-five.patch"
}

# add_variant RELEASE NAME SED-SCRIPT: the patch of the series, changed by the script, for what is before the release
add_variant() {
    mkdir -p "$FASTPATH_KERNEL_DIR/6.1/before-$1"
    sed "$3" "$FASTPATH_KERNEL_DIR/6.1/$2" >"$FASTPATH_KERNEL_DIR/6.1/before-$1/$2"
}

# row_of VERSION: what 5001 makes of a source of that version
row_of() {
    rm -r "$TREE"
    write_source "$1"
    apply
    [ "$status" -eq 0 ] || fail "$output"
    sed -n 's/^row five and //p' "$TREE/fs/btrfs/two.c"
}

@test "apply: the variant that an earlier release needs" {
    add_variant 6.1.5 5001-row-five.patch 's/half/third/'
    add_variant 6.1.10 5001-row-five.patch 's/half/quarter/'
    [ "$(row_of 6.1.4)" = "a third" ]
    [ "$(row_of 6.1.5)" = "a quarter" ]
    [ "$(row_of 6.1.9)" = "a quarter" ]
    [ "$(row_of 6.1.10)" = "a half" ]
    [ "$(row_of 6.1.100)" = "a half" ]
}

@test "apply: where the next release has no variant, that of a later one" {
    add_variant 6.1.5 1002-line-ten-again.patch 's/TEN/tenth/'
    add_variant 6.1.10 5001-row-five.patch 's/half/quarter/'
    [ "$(row_of 6.1.4)" = "a quarter" ]
    has "line tenth" one.c
    [ "$(row_of 6.1.5)" = "a quarter" ]
    has "line TEN" one.c
}

@test "apply: --revert takes a variant out, and --without leaves it out" {
    write_source 6.1.4
    sed -i 's/^row 6$/row six/' "$TREE/fs/btrfs/two.c"
    rm -r pristine
    cp -r "$TREE" pristine
    add_variant 6.1.5 5001-row-five.patch 's/^ row 6$/ row six/'
    add_variant 6.1.5 1001-line-ten.patch 's/It is slow/It is very slow/'
    warning="WARNING: '$TREE' is Linux 6.1.4, and the patches were tested with 6.1.5"
    apply --without fiemap-leaf --dry-run
    expect 0 "$warning" "would apply 5001-row-five.patch"
    apply
    expect 0 "$warning" "applied 1001-line-ten.patch" "applied 1002-line-ten-again.patch" "applied 5001-row-five.patch"
    has "row five and a half" two.c
    apply
    expect 0 "$warning" "already applied 1001-line-ten.patch" "already applied 1002-line-ten-again.patch" \
        "already applied 5001-row-five.patch"
    apply --revert
    expect 0 "$warning" "not applied 4001-row-twenty.patch" "reverted 5001-row-five.patch" \
        "reverted 1002-line-ten-again.patch" "reverted 1001-line-ten.patch"
    unchanged
}

@test "apply: a variant of a control patch" {
    write_source 6.1.4
    mkdir "$FASTPATH_KERNEL_DIR/control/6.1/before-6.1.5"
    sed 's/^-row 20$/-row 20\n+row twenty/; s/,6 +18/,7 +18/; s/+18,6/+18,7/; s/+17,6/+17,7/' \
        "$FASTPATH_KERNEL_DIR/control/6.1/4001-row-twenty.patch" \
        >"$FASTPATH_KERNEL_DIR/control/6.1/before-6.1.5/4001-row-twenty.patch"
    apply --control send-reada
    [ "$status" -eq 0 ] || fail "$output"
    has "row twenty" two.c
}

@test "apply: a variant that does not fit leaves the source as it was" {
    write_source 6.1.4
    rm -r pristine
    cp -r "$TREE" pristine
    add_variant 6.1.5 5001-row-five.patch 's/^ row 6$/ row six/'
    apply
    [ "$status" -eq 1 ]
    [[ ${lines[1]} == "ERROR: 5001-row-five.patch does not fit '$TREE': fs/btrfs/two.c: hunk #1 at line 3" ]] || fail "$output"
    unchanged
}

# add_corrections: 1002, which does not need 1001 there, and 5001
add_corrections() {
    mkdir "$FASTPATH_KERNEL_DIR/6.1/corrections"
    sed 's/^-line ten$/-line 10/; s/^+line TEN$/+line Ten/' "$FASTPATH_KERNEL_DIR/6.1/1002-line-ten-again.patch" \
        >"$FASTPATH_KERNEL_DIR/6.1/corrections/1002-line-ten-again.patch"
    printf '%s\n' '# the bug fixes' corrections/1002-line-ten-again.patch 5001-row-five.patch \
        >"$FASTPATH_KERNEL_DIR/6.1/series.corrections"
}

@test "apply: --only corrections" {
    add_corrections
    apply --only corrections --dry-run
    expect 0 "would apply 1002-line-ten-again.patch" "would apply 5001-row-five.patch"
    unchanged
    apply --only corrections
    expect 0 "applied 1002-line-ten-again.patch" "applied 5001-row-five.patch"
    has "line Ten" one.c
    apply --only corrections
    expect 0 "already applied 1002-line-ten-again.patch" "already applied 5001-row-five.patch"
    apply
    expect_error "ERROR: '$TREE' has corrections/1002-line-ten-again.patch, which was not asked for: --revert first"
    apply --revert
    expect 0 "not applied 4001-row-twenty.patch" "reverted 5001-row-five.patch" "reverted 1002-line-ten-again.patch" \
        "not applied 1001-line-ten.patch"
    unchanged
    apply
    apply --only corrections
    expect_error "ERROR: '$TREE' has 1001-line-ten.patch, which was not asked for: --revert first"
}

@test "apply: --only corrections for an earlier release" {
    write_source 6.1.4
    add_corrections
    mkdir -p "$FASTPATH_KERNEL_DIR/6.1/before-6.1.5/corrections"
    sed 's/^+line Ten$/+line 10th/' "$FASTPATH_KERNEL_DIR/6.1/corrections/1002-line-ten-again.patch" \
        >"$FASTPATH_KERNEL_DIR/6.1/before-6.1.5/corrections/1002-line-ten-again.patch"
    apply --only corrections
    [ "$status" -eq 0 ]
    has "line 10th" one.c
}

@test "apply: --only with anything else" {
    apply --only corrections
    expect_error "ERROR: nothing to apply: there are no corrections for the base '6.1'"
    add_corrections
    apply --only
    expect_error "ERROR: --only requires the word corrections"
    apply --only log-dir
    expect_error "ERROR: --only requires the word corrections"
    for option in --without --control; do
        apply --only corrections "$option" send-reada
        expect_error "ERROR: --only cannot be combined with --without and --control"
    done
    apply --only corrections --revert
    expect_error "ERROR: --revert takes out every patch*"
    unchanged
}

@test "apply: a patch may have moved, but not changed its neighbours" {
    sed -i '1i one more' "$TREE/fs/btrfs/one.c"
    apply
    [ "$status" -eq 0 ]
    has "line TEN" one.c
}

@test "apply: another series is refused" {
    rm -r "$TREE"
    for version in 6.6.5 5.1.5 6.10.5; do
        write_source "$version"
        apply
        expect_error "ERROR: '$TREE' is Linux $version, not 6.1.y"
        has "line 10" one.c
    done
}

@test "apply: no kernel source" {
    run "$APPLY" 6.1 "$BATS_TEST_TMPDIR"
    expect_error "ERROR: no kernel source: '$BATS_TEST_TMPDIR'"
    run "$APPLY" 6.1 "$BATS_TEST_TMPDIR/nothing"
    expect_error "ERROR: no kernel source: '$BATS_TEST_TMPDIR/nothing'"
    echo 'all:' >"$TREE/Makefile"
    apply
    expect_error "ERROR: no kernel source: '$TREE'"
}

@test "apply: unknown features, bases and options" {
    apply --without fiemap
    expect_error "ERROR: no such feature: 'fiemap' (there are: fiemap-leaf *"
    apply --control everything
    expect_error "ERROR: no such feature: 'everything' *"
    apply --control
    expect_error "ERROR: *--control*"
    run "$APPLY" 9.9 "$TREE"
    expect_error "ERROR: no such base: '9.9' (there are: 6.1)"
    apply --fast
    expect_error "ERROR: unknown option: '--fast'"
    apply another
    expect_error "ERROR: a base and a tree are needed"
    apply --revert --without log-dir
    expect_error "ERROR: --revert takes out every patch*"
    unchanged
}

@test "apply: a base without a series" {
    rm -r "$FASTPATH_KERNEL_DIR/6.1" "$FASTPATH_KERNEL_DIR/control/6.1"
    apply
    expect_error "ERROR: nothing to apply: there are no patches for the base '6.1', *"
    apply --revert
    expect_error "ERROR: nothing to apply: *"
    unchanged
}

@test "apply: a series that names a patch that is not there" {
    echo 9099-gone.patch >>"$FASTPATH_KERNEL_DIR/6.1/series"
    apply
    expect_error "ERROR: *'$FASTPATH_KERNEL_DIR/6.1/9099-gone.patch'"
    unchanged
}

@test "apply: links to another source lead nowhere" {
    cp -r "$TREE" other
    cp -r other other-before
    rm -r "$TREE/fs/btrfs"
    ln -s "$PWD/other/fs/btrfs" "$TREE/fs/btrfs"
    apply
    expect_error "ERROR: a link: '$TREE/fs/btrfs'"
    rm -r "$TREE/fs"
    ln -s "$PWD/other/fs" "$TREE/fs"
    apply
    expect_error "ERROR: a link: '$TREE/fs'"
    diff -r other-before other
    # it is the caller who names this one
    ln -s other named
    run "$APPLY" 6.1 named
    [ "$status" -eq 0 ] || fail "$output"
}

@test "apply: a patch only changes regular files" {
    local file=$TREE/fs/btrfs/one.c

    mv "$file" one.c
    ln -s "$PWD/one.c" "$file"
    apply
    expect_error "ERROR: a link: '$file'"
    rm "$file"
    mkfifo "$file"
    run timeout 60 "$APPLY" 6.1 "$TREE"
    expect_error "ERROR: no regular file: '$file'"
    rm "$file"
    ln -s /dev/zero "$file"
    # it would fill the disk
    run bash -c 'ulimit -f 2048 && exec "$@"' bash "$APPLY" 6.1 "$TREE"
    expect_error "ERROR: no regular file: '$file'"
    rm "$file"
    ln -s nothing "$file"
    apply
    expect_error "ERROR: a link: '$file'"
    rm "$file"
    mv one.c "$file"
    unchanged
}

@test "apply: a source of another user, or one that others can write to" {
    local folder

    for folder in "$TREE" "$TREE/fs" "$TREE/fs/btrfs"; do
        chmod o+w "$folder"
        apply
        expect_error "ERROR: other users can write to '$folder'"
        chmod o-w "$folder"
        [ "$(id -u)" -eq 0 ] || skip "another user's files need root"
        chown 12345 "$folder"
        apply
        expect_error "ERROR: '$folder' is another user's, *"
        chown 0 "$folder"
    done
    unchanged
}

@test "apply: another user tries the patches on root's source, and changes his own" {
    local other=(setpriv --reuid=12345 --regid=12345 --clear-groups env TMPDIR="$PWD/theirs")

    [ "$(id -u)" -eq 0 ] || skip "another user's files need root"
    install -d -m 1777 theirs
    # In root's home nobody else could run it.
    cp -r "$top_srcdir/kernel/scripts" scripts
    chmod a+x "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
    run "${other[@]}" scripts/apply 6.1 "$TREE" --dry-run
    [ "$status" -eq 0 ] || fail "$output"
    unchanged
    chown -R 12345 "$TREE"
    run "${other[@]}" scripts/apply 6.1 "$TREE"
    [ "$status" -eq 0 ] || fail "$output"
    has "line TEN" one.c
}

# apply_with_read_only DIR: run by bats, for the tree, while nobody can write to DIR
apply_with_read_only() {
    [ "${MOUNT_TESTS-}" != no ] || skip "no tests that mount, as was asked for"
    [ "$(id -u)" -eq 0 ] || skip "mounting needs root"
    # shellcheck disable=SC2016 # a script for another shell
    run unshare --mount bash -c '
        mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 77
        ! touch "$1/probe" 2>/dev/null || exit 78
        shift && exec "$@"' bash "$1" "$APPLY" 6.1 "$TREE"
    [ "$status" -ne 77 ] || skip "no mounts in here"
}

@test "apply: a source that cannot be written stays as it was" {
    apply_with_read_only "$TREE"
    [ "$status" -eq 1 ]
    [ "${lines[-1]}" = "ERROR: cannot write to '$TREE'" ]
    unchanged
}

@test "apply: a link with the name of its copies leads it nowhere" {
    echo precious >precious
    ln -s "$PWD/precious" "$TREE/fs/btrfs/one.c.fastpath"
    "$APPLY" 6.1 "$TREE"
    [ "$(cat precious)" = precious ]
    [ -f "$TREE/fs/btrfs/one.c" ] && [ ! -L "$TREE/fs/btrfs/one.c" ]
    grep -qx 'line TEN' "$TREE/fs/btrfs/one.c"
}

@test "apply: the patches and the scripts may be read only" {
    apply_with_read_only "$FASTPATH_KERNEL_DIR"
    [ "$status" -eq 0 ]
    has "line TEN" one.c
    apply --revert
    apply_with_read_only "$top_srcdir/kernel"
    [ "$status" -eq 0 ]
    has "line TEN" one.c
}

@test "apply: usage" {
    run "$APPLY" --help
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "Usage: apply BASE TREE"* ]]
}
