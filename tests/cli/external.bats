#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The program under the names by which a patched btrfs-progs runs external commands.

bats_require_minimum_version 1.5.0
load environment.bash

setup_file() {
    mount_btrfs 1G
    dd if=/dev/urandom of="$MNT/file" bs=1M count=1 status=none
    cp --reflink=always "$MNT/file" "$MNT/clone"
    sync -f "$MNT"
}

setup() {
    program=$(realpath "$FASTPATH")
    cd "$BATS_TEST_TMPDIR" || return
}

# external COMMAND ARGUMENT...
external() {
    local name=btrfs-inspect-internal-$1

    shift
    ln -sf "$program" "$name"
    "./$name" "$@"
}

# The commands of btrfs inspect
inspect_commands() {
    external help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' | grep -vx help
}

@test "no command has the name of one of btrfs inspect" {
    local command count=0

    while read -r command; do
        run -0 --separate-stderr external "$command" --help
        [[ ${lines[0]} == "Usage: btrfs inspect $command "* ]]
        count=$((count + 1))
    done < <(inspect_commands)
    [ "$count" -eq 6 ]
}

@test "the report equals the command's" {
    run -0 external fiemap-shared "$MNT/file" "$MNT/clone"
    [[ ${lines[1]} == *" 0.00B "*" 1.00MiB "*" $MNT/file" ]]
    diff <(echo "$output") <("$program" fiemap-shared "$MNT/file" "$MNT/clone")
}

@test "global options come before all other arguments" {
    run -0 external fiemap-shared --format json -q --log=default --raw "$MNT/file"
    expect_json '.["fiemap-shared"][0].shared_bytes' 1048576
    run -1 external seek-map --format xml "$MNT/file"
    [ "${lines[0]}" = "ERROR: unknown format 'xml' (expected text, json, ndjson, openmetrics or nagios)" ]
}

@test "the command is not looked for among the arguments" {
    mkdir "$MNT/folder"
    echo text >"$MNT/folder/help"
    cd "$MNT/folder"
    (exec -a btrfs-inspect-internal-seek-map "$program" help) >"$BATS_TEST_TMPDIR/report"
    run -0 cat "$BATS_TEST_TMPDIR/report"
    [[ ${lines[-1]} == *" help" ]]
}

@test "the exit status is the command's" {
    run -1 external fiemap-shared "$MNT/missing"
    [ "${lines[0]}" = "ERROR: cannot access '$MNT/missing': No such file or directory" ]
}

@test "names that btrfs inspect does not have are errors" {
    local name

    for name in enable module status nonexistent ''; do
        run -1 external "$name"
        [ "${lines[0]}" = "ERROR: unknown command '$name'" ]
    done
}

@test "any other name is the program's own" {
    local name

    for name in btrfs-inspect-internal btrfs-inspect-fiemap-shared xbtrfs-inspect-internal-seek-map; do
        ln -s "$program" "$name"
        run -0 "./$name" status --help
        [[ ${lines[0]} == "Usage: btrfs-fastpath status "* ]]
    done
    # a folder of such a name is no name of the program
    mkdir btrfs-inspect-internal-seek-map
    ln -s "$program" btrfs-inspect-internal-seek-map/program
    run -0 btrfs-inspect-internal-seek-map/program status --help
    [[ ${lines[0]} == "Usage: btrfs-fastpath status "* ]]
}
