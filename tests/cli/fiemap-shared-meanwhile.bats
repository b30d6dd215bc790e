#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# fiemap-shared while the file system changes: each figure is one of a state that existed, or there is none.

# bats runs each test in a subshell, which is what it should do; its run sets stderr
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load environment.bash

MIB=1048576
MEANWHILE_FASTPATH=$top_builddir/tests/cli/meanwhile-fastpath
FIGURES='.total | [.set_shared_bytes, .disk_bytes, .freed.freed_bytes, .freed.kept_bytes] | tojson'

setup_file() {
    mount_btrfs 3G noatime
    put_program_for_nobody
    cp "$MEANWHILE_FASTPATH" "$MNT/program"
}

setup() {
    make_tree "$MNT"
}

teardown() {
    find "$MNT" -mindepth 1 -maxdepth 1 ! -name program -exec btrfs property set {} ro false \; -exec rm -rf {} + 2>/dev/null
    finish_deletions "$MNT"
}

# make_tree MOUNT: 8 files of a MiB in v/d, their clones in v/e, and a snapshot that lacks the last one
make_tree() {
    local i

    btrfs subvolume create "$1/v" >/dev/null
    mkdir "$1/v/d"
    for ((i = 0; i < 7; i++)); do head -c $MIB /dev/urandom >"$1/v/d/$i"; done
    sync -f "$1"
    cp -r --reflink=always "$1/v/d" "$1/v/e"
    btrfs subvolume snapshot -r "$1/v" "$1/snapshot" >/dev/null
    head -c $MIB /dev/urandom >"$1/v/d/7"
    sync -f "$1"
    cp --reflink=always "$1/v/d/7" "$1/v/e/7"
    sync -f "$1"
}

# both_dirs OPTION|PATH...
both_dirs() {
    "$FASTPATH" --format json fiemap-shared -rs --disk --freed "$MNT/v/d" "$MNT/v/e" "$@"
}

# meanwhile CALL:FIRST:LAST COMMAND: COMMAND before these calls of both_dirs()
meanwhile() {
    MEANWHILE="$1:$2" FASTPATH=$MEANWHILE_FASTPATH both_dirs "${@:3}"
}

# expect_quiet_figures: the last run printed the figures of a file system at rest
expect_quiet_figures() {
    expect_json "$FIGURES" "[$((8 * MIB)),$((8 * MIB)),$MIB,$((7 * MIB))]"
}

@test "a balance between mapping and looking up" {
    run -0 both_dirs
    expect_quiet_figures
    for kind in -d '-m --force' --full-balance; do
        run -0 --separate-stderr meanwhile logical-ino:3:3 "btrfs balance start $kind '$MNT' >/dev/null"
        [ -z "$stderr" ]
        expect_quiet_figures
    done
}

@test "a balance between the files" {
    run -0 --separate-stderr meanwhile fiemap:5:5 "btrfs balance start -d '$MNT' >/dev/null"
    [ -z "$stderr" ]
    expect_quiet_figures
}

@test "a balance between the files, with only --disk and with owners" {
    run -0 --separate-stderr env MEANWHILE="fiemap:5:5:btrfs balance start -d '$MNT' >/dev/null" \
        "$MEANWHILE_FASTPATH" --format json fiemap-shared -rs --disk "$MNT/v/d" "$MNT/v/e"
    expect_json '.total | [.set_shared_bytes, .disk_bytes] | tojson' "[$((8 * MIB)),$((8 * MIB))]"
    run -0 "$FASTPATH" --format json fiemap-shared -rso "$MNT/v/d" "$MNT/v/e"
    expected=$(json .owner_summary)
    run -0 --separate-stderr env MEANWHILE="fiemap:5:5:btrfs balance start -d '$MNT' >/dev/null" \
        "$MEANWHILE_FASTPATH" --format json fiemap-shared -rso "$MNT/v/d" "$MNT/v/e"
    [ "$(json .owner_summary)" = "$expected" ]
    expect_json .total.set_shared_bytes $((8 * MIB))
}

# pause_balance START|RESUME: begins to relocate the data of MNT in the background, and pauses after it
pause_balance() {
    local i

    case $1 in
    start) btrfs balance start -d --background "$MNT" ;;
    resume) btrfs balance resume "$MNT" >/dev/null 2>&1 3>&- & ;;
    esac
    for ((i = 0; i < 500; i++)); do
        ! btrfs balance pause "$MNT" 2>/dev/null || break
        sleep 0.01
    done
    wait
    btrfs filesystem sync "$MNT"
}

# bats test_tags=race
@test "a balance that is paused between the files, and resumed and paused" {
    local kind

    # sh drops functions from its environment
    # shellcheck disable=SC2016 # for the other shell
    { declare -p MNT; declare -f pause_balance; echo 'pause_balance "$1"'; } >"$BATS_TEST_TMPDIR/pause"
    # the data goes to the last block group, which is relocated first
    btrfs balance start -d "$MNT"
    for kind in start resume; do
        run -0 --separate-stderr env MEANWHILE="fiemap:5:5:bash '$BATS_TEST_TMPDIR/pause' $kind >/dev/null" \
            "$MEANWHILE_FASTPATH" --format json fiemap-shared -rs --disk "$MNT/v/d" "$MNT/v/e"
        [ -z "$stderr" ]
        expect_json '.total | [.set_shared_bytes, .disk_bytes] | tojson' "[$((8 * MIB)),$((8 * MIB))]"
    done
    # it has ended already where the pause came too late
    btrfs balance cancel "$MNT" || true
}

# owners_meanwhile FIRST:LAST COMMAND [OPTION...]: COMMAND before these lookups of the owners of one file
owners_meanwhile() {
    MEANWHILE="logical-ino:$1:$2" "$MEANWHILE_FASTPATH" fiemap-shared --owners "${@:3}" "$MNT/v/d/0"
}

@test "a balance before the owners of one file are looked up" {
    local expected

    run -0 "$FASTPATH" --format json fiemap-shared --owners "$MNT/v/d/0"
    expected=$(json '."fiemap-shared"[0] | [.owners, .owner_disagreements]')
    expect_json '."fiemap-shared"[0].owners | length' 3
    run -0 --separate-stderr owners_meanwhile 1:1 "btrfs balance start -d '$MNT' >/dev/null" --format json
    [ -z "$stderr" ]
    [ "$(json '."fiemap-shared"[0] | [.owners, .owner_disagreements]')" = "$expected" ]
}

@test "no owners of one file if each lookup comes after a balance" {
    local format

    for format in json text; do
        run -1 --separate-stderr owners_meanwhile 1:9999 "btrfs balance start -d '$MNT' >/dev/null" --format $format
        [ "$stderr" = "WARNING: no figure for the owners, because data is being moved: '$MNT/v/d/0'" ] || fail "$stderr"
        [ $format = text ] || expect_json '."fiemap-shared"[0] | [.owners, .owner_disagreements] | tojson' '[null,null]'
        refuse_line 'Owners:.*'
    done
}

@test "a file that is written again before its owners are looked up has those of the rest" {
    local format

    cp "$MNT/v/d/0" "$MNT/v/d/new"
    for format in json text; do
        run -0 --separate-stderr owners_meanwhile 1:9999 \
            "cat '$MNT/v/d/new' >'$MNT/v/d/0' && sync -f '$MNT'" --format $format
        [ -z "$stderr" ]
        [ $format = text ] || expect_json '."fiemap-shared"[0].owners | type' array
        [ $format = json ] || expect_line 'Owners:.*'
    done
}

@test "a balance between the files, without privilege" {
    local begun=$BATS_TEST_TMPDIR/begun done=$BATS_TEST_TMPDIR/done

    let_others_through
    chmod 777 "$BATS_TEST_TMPDIR"
    (
        timeout 300 sh -c "until [ -e '$begun' ]; do sleep 0.05; done"
        btrfs balance start -d "$MNT"
        touch "$done"
    ) >/dev/null 3>&- &
    run -0 --separate-stderr as_nobody env \
        MEANWHILE="fiemap:5:5:touch '$begun'; timeout 300 sh -c \"until [ -e '$done' ]; do sleep 0.05; done\"" \
        "$MNT/program" --format json fiemap-shared -rs "$MNT/v/d" "$MNT/v/e"
    wait
    [ -z "$stderr" ]
    expect_json .total.set_shared_bytes $((8 * MIB))
}

# changed DISK FREED KEPT COMMAND: the figures in MiB if COMMAND comes between two lookups
changed() {
    run -0 --separate-stderr meanwhile logical-ino:4:4 "{ $4; } >/dev/null && sync -f '$MNT'"
    [ -z "$stderr" ]
    expect_json '.total | [.disk_bytes, .freed.freed_bytes, .freed.kept_bytes] | tojson' \
        "[$(($1 * MIB)),$(($2 * MIB)),$(($3 * MIB))]"
}

@test "the files are read again although their list comes from a pipe" {
    find "$MNT/v/d" "$MNT/v/e" -type f -print0 >"$BATS_TEST_TMPDIR/list"
    # shellcheck disable=SC2016 # for the other shell
    run -0 --separate-stderr bash -c 'cat "$1" | MEANWHILE="logical-ino:3:3:btrfs balance start -d $2 >/dev/null" \
        "$3" --format json fiemap-shared -s --disk --freed --files0-from -' \
        bash "$BATS_TEST_TMPDIR/list" "$MNT" "$MEANWHILE_FASTPATH"
    [ -z "$stderr" ]
    expect_quiet_figures
    expect_json .total.file_count 16
}

@test "a file that cannot be examined in any look changes nothing" {
    run -1 --separate-stderr meanwhile logical-ino:3:3 "btrfs balance start -d '$MNT' >/dev/null" "$MNT/missing"
    [ "$stderr" = "ERROR: cannot access '$MNT/missing': No such file or directory
WARNING: no figure for Freed: a part of what was named was not examined" ] || fail "$stderr"
    expect_json "$FIGURES" "[$((8 * MIB)),$((8 * MIB)),null,null]"
}

@test "no figure if other files cannot be examined in another look" {
    run -1 --separate-stderr meanwhile logical-ino:3:3 "rm '$MNT/v/d/7' && sync -f '$MNT'" "$MNT/missing" "$MNT/v/d/7"
    expect_json "$FIGURES" '[null,null,null,null]'
    [[ $stderr = *"WARNING: no figure for Set shared, Disk, Freed: files or snapshots change"* ]] || fail "$stderr"
}

@test "an error is printed in one look only" {
    local command="head -c 5000 /dev/urandom >'$MNT/v/d/new' && sync -f '$MNT' && exit 5"

    run -1 --separate-stderr meanwhile logical-ino:1:9999 "$command"
    [ "$stderr" = "ERROR: cannot find the references to the data extents: Input/output error" ] || fail "$stderr"
    expect_json '.total | [.disk_bytes, .freed.freed_bytes] | tojson' '[null,null]'
    run -1 --separate-stderr env MEANWHILE="logical-ino:1:9999:$command" "$MEANWHILE_FASTPATH" \
        --format json fiemap-shared -rso "$MNT/v/d" "$MNT/v/e"
    [ "$stderr" = "ERROR: cannot find the owners: Input/output error" ] || fail "$stderr"
    expect_json .owner_summary null
}

@test "rows are printed once" {
    run -0 --separate-stderr env MEANWHILE="logical-ino:3:3:btrfs balance start -d '$MNT' >/dev/null" \
        "$MEANWHILE_FASTPATH" fiemap-shared -r --freed "$MNT/v/d" "$MNT/v/e"
    [ "$(grep -c "$MNT/v/d/3\$" <<<"$output")" -eq 1 ]
    expect_line 'Freed: 1.00MiB of data'
    expect_line ' *16.00MiB .* total'
}

@test "a snapshot is deleted between two lookups" {
    changed 8 8 0 "btrfs subvolume delete '$MNT/snapshot'"
}

@test "a snapshot is created between two lookups" {
    btrfs subvolume delete "$MNT/snapshot"
    changed 8 0 8 "btrfs subvolume snapshot '$MNT/v' '$MNT/new'"
}

@test "clones are created between two lookups, and deleted" {
    btrfs subvolume delete "$MNT/snapshot"
    changed 8 0 8 "cp -r --reflink=always '$MNT/v/d' '$MNT/new'"
    changed 8 8 0 "rm -r '$MNT/new'"
}

@test "a file of the set is deleted between two lookups, is moved, and is written again" {
    changed 8 0 8 "mv '$MNT/v/d/7' '$MNT'"
    changed 7 0 7 "rm '$MNT/v/e/7'"
    changed 8 1 7 "head -c $MIB /dev/urandom >'$MNT/v/d/0' && sync -f '$MNT'"
}

@test "extents move because a device is removed or gets smaller" {
    local i own=$BATS_TEST_TMPDIR/own devices=()

    for i in 0 1; do
        truncate -s 2G "$BATS_TEST_TMPDIR/image-$i"
        devices+=("$(losetup --find --show "$BATS_TEST_TMPDIR/image-$i")")
    done
    mkdir "$own"
    mkfs.btrfs -q "${devices[0]}" >/dev/null
    mount "${devices[0]}" "$own"
    make_tree "$own"
    MNT=$own changed 8 1 7 "btrfs device add -f ${devices[1]} '$own' && btrfs device remove ${devices[0]} '$own'"
    MNT=$own changed 8 1 7 "btrfs filesystem resize 2:1G '$own'"
    umount "$own"
    losetup --detach "${devices[@]}"
}

@test "a deleted snapshot does not count, whatever the state of the cleaner" {
    local fd

    run -0 both_dirs
    expect_quiet_figures
    btrfs subvolume snapshot -r "$MNT/v" "$MNT/new"
    # The cleaner waits for the last file that is open.
    exec {fd}<"$MNT/new/d/7"
    btrfs subvolume delete "$MNT/new" >/dev/null
    run -0 both_dirs
    exec {fd}<&-
    expect_quiet_figures
}

# bats test_tags=slow
@test "no figure while files change all the time" {
    local command="head -c 5000 /dev/urandom >'$MNT/v/d/new' && cp --reflink=always '$MNT/v/d/new' '$MNT/v/d/0' && sync -f '$MNT'"

    run -1 --separate-stderr meanwhile logical-ino:1:9999 "$command"
    [ "$stderr" = "WARNING: no figure for Set shared, Disk, Freed: files or snapshots change" ]
    expect_json "$FIGURES" '[null,null,null,null]'
    run -1 --separate-stderr env MEANWHILE="logical-ino:1:9999:$command" "$MEANWHILE_FASTPATH" \
        --format openmetrics fiemap-shared -rs --freed "$MNT/v/d" "$MNT/v/e"
    refuse_line '.*(set_shared|freed_bytes).*[0-9]'
    expect_line '.*kind="total".*'
    run -1 --separate-stderr env MEANWHILE="logical-ino:1:9999:$command" "$MEANWHILE_FASTPATH" \
        fiemap-shared -rs --freed "$MNT/v/d" "$MNT/v/e"
    refuse_line 'Freed.*'
}
