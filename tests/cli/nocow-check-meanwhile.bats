#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# nocow-check while a relocation moves extents: each answer is one of a state that existed, or unknown.

# bats runs each test in a subshell, which is what it should do; its run sets stderr
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load environment.bash

MEANWHILE_FASTPATH=$top_builddir/tests/cli/meanwhile-fastpath
BYTES=$((192 * 1024))
FIGURES='."nocow-check"[0] | [.nocow_bytes, .cow_bytes, .unknown_bytes, .complete] | tojson'
REASONS='."nocow-check"[0].reasons | tojson'

setup_file() {
    mount_btrfs 2G noatime
    put_program_for_nobody
    cp "$MEANWHILE_FASTPATH" "$MNT/program"
}

# A file that is newer than the relocations of the tests before.
setup() {
    rm -f "$MNT"/file "$MNT"/clone
    touch "$MNT/file"
    chattr +C "$MNT/file"
    head -c $BYTES /dev/urandom >"$MNT/file"
    sync -f "$MNT"
}

# meanwhile CALL:FIRST:LAST OPTION...: with a balance before these calls
meanwhile() {
    MEANWHILE="$1:btrfs balance start -d '$MNT' >/dev/null" "$MEANWHILE_FASTPATH" nocow-check "${@:2}" "$MNT/file"
}

@test "a file at rest is written in place, and copied after a balance" {
    run -0 "$FASTPATH" --format json nocow-check "$MNT/file"
    expect_json "$FIGURES" "[$BYTES,0,0,true]"
    btrfs balance start -d "$MNT" >/dev/null
    run -0 "$FASTPATH" --format json nocow-check "$MNT/file"
    expect_json "$FIGURES" "[0,$BYTES,0,true]"
    expect_json "$REASONS" '["generation"]'
}

@test "a balance before a file is mapped" {
    run -0 --separate-stderr meanwhile fiemap:1:1 --format json
    [ -z "$stderr" ]
    expect_json "$FIGURES" "[0,$BYTES,0,true]"
    expect_json "$REASONS" '["generation"]'
}

@test "a balance between mapping a file and searching the trees" {
    run -0 --separate-stderr meanwhile extent-tree:1:1 --format json --extents
    [ -z "$stderr" ]
    expect_json "$FIGURES" "[0,$BYTES,0,true]"
    # once, and not for each look
    expect_json '[."nocow-check"[0].ranges[].length] | tojson' "[$BYTES]"
}

# bats test_tags=slow
@test "a part is unknown if each look has a balance" {
    local format option

    for option in -v --extents --summary --sort=copied; do
        for format in json text; do
            run -1 --separate-stderr meanwhile fiemap:1:9999 --format $format $option
            [ "$stderr" = "WARNING: no figure for a part, because data is being moved: '$MNT/file'" ] ||
                fail "$stderr"
            [ $format = text ] || expect_json '.total | [.nocow_bytes, .cow_bytes, .unknown_bytes] | tojson' "[0,0,$BYTES]"
        done
    done
    expect_line ".* $(numfmt --to=iec-i --suffix=B --format=%.2f $BYTES) .*unknown.*"
    run -1 --separate-stderr meanwhile fiemap:1:9999 --check
    [[ $stderr = *"ERROR: changed while it was checked: '$MNT/file'"* ]] || fail "$stderr"
}

# bats test_tags=race
@test "FIEMAP's answer on sharing counts only if nothing changes, without privilege" {
    local begun=$BATS_TEST_TMPDIR/begun done=$BATS_TEST_TMPDIR/done

    let_others_through
    chmod 777 "$BATS_TEST_TMPDIR"
    touch "$MNT/clone"
    chattr +C "$MNT/clone"
    cp --reflink=always "$MNT/file" "$MNT/clone"
    sync -f "$MNT"
    run -0 --separate-stderr as_nobody "$MNT/program" --format json nocow-check "$MNT/file"
    expect_json "$FIGURES" "[0,$BYTES,0,false]"
    (
        timeout 300 sh -c "until [ -e '$begun' ]; do sleep 0.05; done; while [ ! -e '$done' ]; do btrfs balance start -d '$MNT'; done"
    ) >/dev/null 3>&- &
    run -1 --separate-stderr as_nobody env \
        MEANWHILE="fiemap:1:9999:touch '$begun'; timeout 300 sh -c \"until grep -q balance /sys/fs/btrfs/$(findmnt -no UUID "$MNT")/exclusive_operation; do sleep 0.01; done\"" \
        "$MNT/program" --format json nocow-check "$MNT/file"
    touch "$done"
    wait
    expect_json "$FIGURES" "[0,0,$BYTES,false]"
    [[ $stderr = *"because data is being moved: '$MNT/file'"* ]] || fail "$stderr"
}

@test "a file without NOCOW is copied, whatever is moved" {
    head -c $BYTES /dev/urandom >"$MNT/cow"
    sync -f "$MNT"
    run -0 --separate-stderr env MEANWHILE="fiemap:1:9999:btrfs balance start -d '$MNT' >/dev/null" \
        "$MEANWHILE_FASTPATH" --format json nocow-check "$MNT/cow"
    [ -z "$stderr" ]
    expect_json "$FIGURES" "[0,$BYTES,0,true]"
}
