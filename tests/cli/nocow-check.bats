#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# nocow-check: what it prints, and that what it predicts is what happens.

# bats runs each test in a subshell, which is what it should do; its run sets what nobody else does;
# what jq expands, the shell does not
# shellcheck disable=SC2030,SC2031,SC2154,SC2016
bats_require_minimum_version 1.5.0
load environment.bash

MIB=1048576

# nocow_file FILE KIB
nocow_file() {
    touch "$1"
    chattr +C "$1"
    random_kib "$1" "$2"
}

setup_file() {
    mount_btrfs 2G noatime
    put_program_for_nobody

    random_kib "$MNT/cow" 1024
    nocow_file "$MNT/nocow" 4096
    fallocate -l 8M "$MNT/prealloc"
    random_kib "$MNT/prealloc" 1024 1024
    nocow_file "$MNT/cloned" 1024
    touch "$MNT/clone"
    chattr +C "$MNT/clone"
    cp --reflink=always "$MNT/cloned" "$MNT/clone"
    printf 'tiny' >"$MNT/tiny"
    truncate -s 64K "$MNT/hole"
    chattr +C "$MNT/hole"
    sync -f "$MNT"
}

teardown() {
    unmount_places
    mount -o remount,rw "$MNT"
    rm -rf "$MNT/within"
}

nocow_check() {
    "$FASTPATH" nocow-check "$@"
}

@test "an empty directory has a total, a failed one has none" {
    local option

    mkdir "$MNT/within"
    for option in -v --extents --top=3; do
        run -0 nocow_check -r "$option" "$MNT/within"
        expect_line ' *0.00B .* total'
        run -1 nocow_check -r "$option" "$MNT/missing" "$MNT/within"
        refuse_line '.* total'
    done
    run -0 nocow_check -rs "$MNT/within"
    expect_line '- +- +0 +0.00B'
    run -1 nocow_check -rs "$MNT/missing"
    refuse_line '.*0.00B.*'
}

nocow_check_json() {
    "$FASTPATH" --format json nocow-check "$@"
}

# In a mount namespace of its own: one that another test makes meanwhile would keep the file system mounted, and its loop device.
prove_nocow() {
    unshare --mount --propagation private "$BATS_TEST_DIRNAME/prove-nocow" "$FASTPATH" "$BATS_TEST_TMPDIR/proof.image" "$BATS_TEST_TMPDIR/proof" "$@"
}

# -- the proof: predict, write, compare the addresses --

@test "every prediction is right, for every kind of file" {
    run -0 prove_nocow
    for reason in prealloc nodatacow no_flag generation compressed shared checksums hole inline; do
        expect_line "$reason: [1-9][0-9]*"
    done
}

# bats test_tags=slow
@test "every prediction is right with small nodes, long checksums and items for holes" {
    run -0 prove_nocow -n 4096 --csum sha256 -O ^no-holes
    for reason in prealloc nodatacow no_flag generation compressed shared checksums hole inline; do
        expect_line "$reason: [1-9][0-9]*"
    done
}

# bats test_tags=slow
@test "every prediction is right where many things happen at random" {
    for seed in 1 2 3 4; do
        run -0 prove_nocow --seed "$seed"
        expect_line "nodatacow: [1-9][0-9]*"
    done
}

# -- text --

@test "a row per file and a total" {
    run -0 nocow_check "$MNT/cow" "$MNT/nocow" "$MNT/prealloc" "$MNT/tiny" "$MNT/hole"
    expect_line " *In place +Copied +New +Unknown +Checksums +Extents Why +Path"
    expect_line " *0.00B +1.00MiB +0.00B +0.00B +- +1 no_flag +$MNT/cow"
    expect_line " *4.00MiB +0.00B +0.00B +0.00B +0.00B +1 nodatacow +$MNT/nocow"
    expect_line " *7.00MiB +1.00MiB +0.00B +0.00B +0.00B +3 prealloc,no_flag +$MNT/prealloc"
    expect_line " *0.00B +0.00B +4.00KiB +0.00B +- +1 inline +$MNT/tiny"
    expect_line " *0.00B +0.00B +64.00KiB +0.00B +- +0 hole +$MNT/hole"
    expect_line " *11.00MiB +2.00MiB +68.00KiB +0.00B +0.00B +6 [a-z_,]+ +total"
    [[ ${lines[-1]} = "Hint: copied: see "* ]]
    [ "$(grep -c ^Hint: <<<"$output")" = 1 ]
}

# on_terminal ARGUMENT...: what nocow-check prints there
on_terminal() {
    script -qec "'$FASTPATH' nocow-check ${*@Q}" /dev/null | tr -d '\r'
}

@test "several files fit a terminal of 80 columns, and nothing is lost elsewhere" {
    local -a files=(cow nocow prealloc tiny hole)
    local columns narrow piped reasons=' [a-z_]*,[a-z_,]* *total$'

    cd "$MNT"
    export TERM=dumb
    piped=$(nocow_check -q "${files[@]}")
    grep -q "$reasons" <<<"$piped"
    narrow=$(on_terminal -q "${files[@]}")
    # the terminal has no width
    [ "$narrow" = "$piped" ]
    for columns in 80 75; do
        narrow=$(script -qec "stty cols $columns; '$FASTPATH' nocow-check -q ${files[*]}" /dev/null | tr -d '\r')
        [ "$(wc -L <<<"$narrow")" -le "$columns" ]
        [[ $narrow != *'Empty columns'* ]]
        grep -q ' 6  *total$' <<<"$narrow"
        # no blank too many next to the longest reasons
        [[ $narrow = *' prealloc,no_flag prealloc'$'\n'* ]]
    done
    [[ $narrow = *'Csums Ext. Why '* ]]
    narrow=$(script -qec "stty cols 80; '$FASTPATH' nocow-check -q --check ${files[*]}" /dev/null | tr -d '\r')
    [ "$(wc -L <<<"$narrow")" -le 80 ]
}

@test "on a terminal only copied bytes are coloured" {
    local red=$'\033[31m' plain=$'\033[0m' seen

    export TERM=xterm
    unset NO_COLOR
    seen=$(on_terminal "$MNT/cow" "$MNT/nocow")
    [[ $seen = *"$red"*"1.00MiB$plain"* ]]
    # that of the file and that of the total
    [ "$(grep -oF "$red" <<<"$seen" | wc -l)" -eq 2 ]
    seen=$(on_terminal --check "$MNT/cloned")
    [[ $seen = *"$red"*"1.00MiB$plain"*"${red}yes"*"$plain"* ]]
    seen=$(on_terminal --extents "$MNT/prealloc")
    [ "$(grep -cF "${red}copied" <<<"$seen")" -eq 1 ]

    [ "$(NO_COLOR=1 on_terminal "$MNT/cow")" = "$(nocow_check "$MNT/cow")" ]
    [ "$(TERM=dumb on_terminal "$MNT/cow")" = "$(nocow_check "$MNT/cow")" ]
    [[ $(NO_COLOR='' on_terminal "$MNT/cow") = *"$red"* ]]
}

@test "rows that are printed as they arrive are coloured, too" {
    local red=$'\033[31m' plain=$'\033[0m' seen file

    mkdir "$MNT/many"
    for file in {1..510}; do
        echo "$file" >"$MNT/many/$file"
    done
    random_kib "$MNT/many/511" 8
    nocow_file "$MNT/many/512" 8
    sync -f "$MNT"
    export TERM=xterm
    unset NO_COLOR
    printf '%s\0' "$MNT/many"/{1..512} >"$BATS_TEST_TMPDIR/list"
    seen=$(on_terminal -q --files0-from="$BATS_TEST_TMPDIR/list")
    rm -r "$MNT/many"
    [[ $(sed -n '/many\/511$/p' <<<"$seen") = *" ${red}8.00KiB$plain "* ]]
    [[ $(sed -n '/many\/512$/p' <<<"$seen") != *"$red"* ]]
}

@test "one file needs no total" {
    run -0 nocow_check "$MNT/nocow"
    refuse_line ".* total"
}

@test "--extents: a row per range" {
    run -0 nocow_check --raw --extents "$MNT/prealloc"
    expect_line "File: '$MNT/prealloc'"
    expect_line "Flags: prealloc"
    expect_line " *Offset +Bytenr +Length Next write +Why +Checksums"
    expect_line " *0 +[1-9][0-9]+ +1048576 in place +prealloc +no"
    expect_line " *1048576 +[1-9][0-9]+ +1048576 copied +no_flag +-"
    expect_line " *2097152 +[1-9][0-9]+ +6291456 in place +prealloc +no"
    expect_line " *7340032 +1048576 +0 +0 +0 +3 prealloc,no_flag +$MNT/prealloc"
    expect_line "Hint: copied: .*"
}

@test "--extents of several files ends in a total" {
    run -0 nocow_check --extents "$MNT/tiny" "$MNT/hole"
    expect_line "File: '$MNT/hole'"
    expect_line " *0.00B +0.00B +68.00KiB +0.00B +- +1 hole,inline +total"
    refuse_line "Hint: .*"
}

@test "--summary: a row per reason, and no file" {
    run -0 nocow_check -q --raw --summary "$MNT/cow" "$MNT/prealloc" "$MNT/cloned"
    expect_line "Next write +Why +Ranges +Bytes"
    expect_line "in place +prealloc +2 +7340032"
    expect_line "copied +no_flag +2 +2097152"
    expect_line "copied +shared +1 +1048576"
    [ "${#lines[@]}" = 4 ]
    run -0 nocow_check_json -s "$MNT/cow" "$MNT/prealloc"
    expect_json '."nocow-check" | length' 0
    expect_json .total.reason_bytes.prealloc 7340032
    run -1 nocow_check -s -e "$MNT/cow"
}

@test "--range cuts the ranges" {
    run -0 nocow_check_json --extents --range 1020K:8K "$MNT/prealloc"
    expect_json '[."nocow-check"[0].ranges[] | [.offset, .length, .reason] | join(" ")] | join(", ")' \
        "1044480 4096 prealloc, 1048576 4096 no_flag"
}

# -- JSON --

@test "the promised keys are always there" {
    local key

    for options in "" "--extents"; do
        # shellcheck disable=SC2086 # a list of words
        run -0 nocow_check_json $options "$MNT/nocow" "$MNT/cow" "$MNT/tiny"
        for key in path inode_flags complete ranges nocow_bytes cow_bytes csum_bytes; do
            expect_json "all(.\"nocow-check\"[]; has(\"$key\"))" true
        done
    done
    for key in offset length nocow reason has_csums; do
        expect_json "all(.\"nocow-check\"[].ranges[]; has(\"$key\"))" true
    done
    expect_json '.__header.version' 1
}

@test "JSON: values that were not requested are null" {
    run -0 nocow_check_json "$MNT/cow"
    expect_json '."nocow-check"[0].ranges' null
    expect_json '."nocow-check"[0].csum_bytes' null
    run -0 nocow_check_json -e "$MNT/cow"
    expect_json '."nocow-check"[0].ranges[0].has_csums' null
}

@test "JSON: the figures" {
    run -0 nocow_check_json -e "$MNT/nocow" "$MNT/prealloc"
    expect_json '."nocow-check"[0].path' "$MNT/nocow"
    expect_json '."nocow-check"[0].inode_flags | join(" ")' "nodatasum nodatacow"
    expect_json '."nocow-check"[0].complete' true
    expect_json '."nocow-check"[0].read_only' false
    expect_json '."nocow-check"[0].nocow_bytes' $((4 * MIB))
    expect_json '."nocow-check"[0].cow_bytes' 0
    expect_json '."nocow-check"[0].csum_bytes' 0
    expect_json '[."nocow-check"[1].ranges[].nocow] | join(" ")' "true false true"
    expect_json .total.nocow_bytes $((11 * MIB))
    expect_json .total.file_count 2
}

@test "the bytenr is filefrag's" {
    local block

    run -0 nocow_check_json -e "$MNT/nocow"
    block=$(filefrag -v "$MNT/nocow" | awk '$1 == "0:" { sub(/\.\..*/, "", $4); print $4 }')
    expect_json '."nocow-check"[0].ranges[0].bytenr' $((block * 4096))
}

# -- --check --

@test "--check: 0 if everything goes in place" {
    run -0 nocow_check --check "$MNT/nocow" "$MNT/cow" "$MNT/prealloc" "$MNT/tiny"
}

@test "--check: holes are no copies" {
    run -0 nocow_check --check "$MNT/hole"
}

@test "--check: 64 for a NOCOW file that would be copied" {
    run -64 --separate-stderr nocow_check --check "$MNT/nocow" "$MNT/cloned"
    [ "$stderr" = "WARNING: NOCOW file: 1.00MiB of it would be copied, and 0.00B have checksums: '$MNT/cloned'" ]
    run -64 --separate-stderr nocow_check -q --check "$MNT/cloned"
    [ -z "$stderr" ]
    # only the part that is looked at counts
    run -0 nocow_check --check --range 2M:1M "$MNT/cloned"
}

@test "--check: a monitoring plugin" {
    run -0 --separate-stderr nocow_check --format nagios "$MNT/nocow"
    [[ $output == "NOCOW-CHECK OK - the check passed | "*" 'btrfs_fastpath_nocow_alarms'=0;;;0;" ]] || fail "$output"
    run -2 --separate-stderr nocow_check --format nagios --check "$MNT/nocow" "$MNT/cloned"
    [[ $output == "NOCOW-CHECK CRITICAL - "*" | "*" 'btrfs_fastpath_nocow_alarms'=1;;;0;" ]] || fail "$output"
    run -3 --separate-stderr nocow_check --format nagios "$MNT/missing" "$MNT/cloned"
    [ "$output" = "NOCOW-CHECK UNKNOWN - cannot access '$MNT/missing': No such file or directory" ] || fail "$output"
}

@test "--check: an error is an error, whatever else is found" {
    run -1 nocow_check --check "$MNT/missing" "$MNT/cloned"
    run -1 nocow_check --check "$MNT/cloned" "$MNT/missing"
}

# jq's list of the files for which --check alarms, by the last run
alarms() {
    json '[."nocow-check"[] | select(.alarm) | .path | sub(".*/"; "")] | sort | join(" ")'
}

# make_reasons: in $MNT/within, a subvolume, files with other reasons, with a snapshot and without one
make_reasons() {
    local name

    btrfs subvolume create "$MNT/within" >/dev/null
    for name in snapshot both; do
        nocow_file "$MNT/within/$name" 1024
    done
    nocow_file "$MNT/within/later" 1024
    sync -f "$MNT"
    btrfs subvolume snapshot -r "$MNT/within" "$MNT/within-snapshot" >/dev/null
    random_kib "$MNT/within/later" 896
    nocow_file "$MNT/within/shared" 1024
    for name in both shared; do
        touch "$MNT/within/$name.clone"
        chattr +C "$MNT/within/$name.clone"
        cp --reflink=always "$MNT/within/$name" "$MNT/within/$name.clone"
    done
    mkdir "$MNT/within/directory"
    chattr +C "$MNT/within/directory"
    random_kib "$MNT/within/lost" 4
    ln "$MNT/within/lost" "$MNT/within/directory/lost"
    random_kib "$MNT/within/ordinary" 4
    sync -f "$MNT"
}

remove_reasons() {
    btrfs subvolume delete "$MNT/within" "$MNT/within-snapshot" >/dev/null
}

@test "--check: the report has an alarm for each file" {
    run -0 nocow_check "$MNT/nocow"
    refuse_line ".*Alarm.*"
    run -64 --separate-stderr nocow_check -q --check "$MNT/nocow" "$MNT/cow" "$MNT/cloned"
    expect_line " *In place .* Extents Alarm +Why +Path"
    expect_line ".* 1 no +nodatacow +$MNT/nocow"
    expect_line ".* 1 no +no_flag +$MNT/cow"
    expect_line ".* 1 yes +shared +$MNT/cloned"
    expect_line ".* 3 yes +nodatacow,no_flag,shared +total"
    run -64 --separate-stderr nocow_check_json -q --check "$MNT/nocow" "$MNT/cow" "$MNT/cloned"
    expect_json '[."nocow-check"[].alarm] | tojson' '[false,false,true]'
    expect_json .total.alarm_count 1
    run -0 nocow_check_json "$MNT/cloned"
    expect_json '[."nocow-check"[0].alarm, .total.alarm_count] | tojson' '[null,null]'
    run -1 --separate-stderr as_nobody "$MNT/program" nocow-check -q --check "$MNT/nocow" "$MNT/cow"
    expect_line '.* unknown +.* +total'
    run -1 --separate-stderr as_nobody "$MNT/program" --format json nocow-check -q --check "$MNT/nocow"
    expect_json '[.total.alarm_count, .total.unknown_count] | tojson' '[0,1]'
    expect_json '."nocow-check"[0].alarm' null
}

@test "--expect-nocow: files that lost the attribute" {
    make_reasons
    run -0 --separate-stderr nocow_check_json --check "$MNT/within/lost" "$MNT/within/ordinary"
    [ "$(alarms)" = "" ]
    for option in --expect-nocow --expect-nocow=always; do
        run -64 --separate-stderr nocow_check_json --check "$option" "$MNT/within/lost" "$MNT/within/ordinary" "$MNT/nocow"
        [ "$(alarms)" = "lost ordinary" ]
        [ "${stderr_lines[0]}" = "WARNING: not a NOCOW file: '$MNT/within/lost'" ]
    done
    # any of its directories, by whichever name
    run -64 --separate-stderr nocow_check_json --check --expect-nocow=directory "$MNT/within/lost" "$MNT/within/ordinary"
    [ "$(alarms)" = "lost" ]
    [ "$stderr" = "WARNING: not a NOCOW file, in a NOCOW directory: '$MNT/within/lost'" ]
    rm "$MNT/within/directory/lost"
    sync -f "$MNT"
    run -0 nocow_check --check --expect-nocow=directory "$MNT/within/lost"
    mv "$MNT/within/ordinary" "$MNT/within/directory"
    run -64 nocow_check -q --check --expect-nocow=directory -r "$MNT/within/directory"
    run -1 --separate-stderr as_nobody "$MNT/program" nocow-check -q --check --expect-nocow=directory "$MNT/within/directory/ordinary"
    [ "$stderr" = "ERROR: cannot check without CAP_SYS_ADMIN (root): '$MNT/within/directory/ordinary'" ]
    run -64 as_nobody "$MNT/program" nocow-check -q --check --expect-nocow "$MNT/within/directory/ordinary"
    # a limit does not give the attribute back
    run -64 nocow_check -q --check --expect-nocow --max-copied 100% --ignore-reason generation "$MNT/within/directory/ordinary"
    remove_reasons
}

@test "--max-copied: so much may be copied, and not a block more" {
    make_reasons
    # 128 of 1024 KiB are copied
    run -64 nocow_check -q --check "$MNT/within/later"
    run -64 nocow_check -q --check --max-copied 12% "$MNT/within/later"
    run -0 nocow_check --check --max-copied 13% "$MNT/within/later"
    run -0 nocow_check --check --max-copied 128K "$MNT/within/later"
    run -64 nocow_check -q --check --max-copied 127K "$MNT/within/later"
    run -64 nocow_check -q --check --max-copied 0% "$MNT/within/later"
    run -0 nocow_check --check --max-copied 100% -r "$MNT/within"
    # a hole is no part of it
    truncate -s 1G "$MNT/within/later"
    run -64 nocow_check -q --check --max-copied 12% "$MNT/within/later"
    remove_reasons
}

@test "--ignore-reason: a range counts only if another reason is left" {
    make_reasons
    run -64 --separate-stderr nocow_check_json -q --check -r "$MNT/within"
    [ "$(alarms)" = "both both.clone later shared shared.clone snapshot" ]
    run -64 --separate-stderr nocow_check_json -q --check --ignore-reason generation -r "$MNT/within"
    [ "$(alarms)" = "both both.clone shared shared.clone" ]
    run -64 --separate-stderr nocow_check_json -q --check --ignore-reason shared -r "$MNT/within"
    [ "$(alarms)" = "both both.clone later snapshot" ]
    for option in "--ignore-reason=generation,shared" "--ignore-reason=generation --ignore-reason=shared"; do
        # shellcheck disable=SC2086 # words
        run -0 nocow_check_json --check $option -r "$MNT/within"
        [ "$(alarms)" = "" ]
    done
    # FIEMAP does not tell a snapshot from a clone
    run -1 --separate-stderr as_nobody "$MNT/program" nocow-check -q --check --ignore-reason generation "$MNT/within/snapshot"
    [ "$stderr" = "ERROR: cannot check without CAP_SYS_ADMIN (root): '$MNT/within/snapshot'" ]
    remove_reasons
}

@test "options of --check are checked" {
    local option

    for option in --expect-nocow --max-copied=5% --ignore-reason=shared; do
        run -1 --separate-stderr nocow_check "$option" "$MNT/nocow"
        [ "$stderr" = "ERROR: --expect-nocow, --max-copied and --ignore-reason require --check" ]
    done
    for option in 20 101% 5%% % -1% "" x 1.5% +5%; do
        run -1 --separate-stderr nocow_check --check --max-copied "$option" "$MNT/nocow"
        [ "$stderr" = "ERROR: invalid value for --max-copied: '$option' (expected a percentage such as 20% or a size such as 64M)" ]
    done
    for option in no_flag shared,nothing 'shared,' Shared ""; do
        run -1 --separate-stderr nocow_check --check --ignore-reason "$option" "$MNT/nocow"
        [ "$stderr" = "ERROR: unknown reason '${option#shared,}' (expected some of: generation, compressed, read_only, shared, checksums)" ]
    done
    run -1 --separate-stderr nocow_check --check --expect-nocow=never "$MNT/nocow"
    [ "$stderr" = "ERROR: invalid value for --expect-nocow: 'never' (expected always or directory)" ]
}

# -- all reasons, and what to do --

# reasons FILE: jq's list of the reasons of all of its ranges, which must begin with that of the range
reasons() {
    run -0 nocow_check_json -e "$1"
    expect_json 'all(."nocow-check"[].ranges[]; .reason == .reasons[0])' true || echo "another first reason"
    json '[."nocow-check"[].ranges[].reasons[]] | unique | sort | join(" ")'
}

@test "a snapshot does not hide another reason" {
    make_reasons
    [ "$(reasons "$MNT/within/snapshot")" = generation ]
    [ "$(reasons "$MNT/within/both")" = "generation shared" ]
    [ "$(reasons "$MNT/within/both.clone")" = "generation shared" ]
    [ "$(reasons "$MNT/within/shared")" = shared ]
    [ "$(reasons "$MNT/within/later")" = "generation nodatacow" ]
    run -0 nocow_check -e "$MNT/within/both"
    expect_line ".* copied +generation,shared +no"
    expect_line ".* generation,shared +$MNT/within/both"
    remove_reasons
}

@test "a file in a writable snapshot is not shared but with its origin" {
    make_reasons
    btrfs property set "$MNT/within-snapshot" ro false
    # a new leaf for the items of each, with references of their own
    random_kib "$MNT/within-snapshot/later" 4
    random_kib "$MNT/within/later" 4
    sync -f "$MNT"
    [ "$(reasons "$MNT/within/snapshot")" = generation ]
    [ "$(reasons "$MNT/within-snapshot/snapshot")" = generation ]
    [ "$(reasons "$MNT/within-snapshot/later")" = "generation nodatacow" ]
    remove_reasons
}

@test "a clone with the same inode number in an unrelated subvolume is one" {
    local inode

    btrfs subvolume create "$MNT/within" >/dev/null
    btrfs subvolume create "$MNT/within-snapshot" >/dev/null
    nocow_file "$MNT/within/file" 1024
    sync -f "$MNT"
    btrfs subvolume snapshot "$MNT/within" "$MNT/within/snapshot" >/dev/null
    touch "$MNT/within-snapshot/file"
    chattr +C "$MNT/within-snapshot/file"
    cp --reflink=always "$MNT/within/file" "$MNT/within-snapshot/file"
    sync -f "$MNT"
    inode=$(stat -c %i "$MNT/within/file")
    [ "$inode" = "$(stat -c %i "$MNT/within-snapshot/file")" ]
    [ "$(reasons "$MNT/within/file")" = "generation shared" ]
    btrfs subvolume delete "$MNT/within/snapshot" >/dev/null
    remove_reasons
}

# hint FILE: that of the report on it
hint() {
    run -0 nocow_check_json "$1"
    json '."nocow-check"[0].hint'
}

# follow_hint NAME: runs the commands that its hint names, with FILE and so on replaced
follow_hint() {
    local commands

    commands=$(advised "$(hint "$MNT/within/$1")") || return
    (
        cd "$MNT/within" || exit
        eval "$(sed "s/FILE/$1/g; s/NEW/new/g; s/DIR/elsewhere/g; s/SUBVOLUME/./g" <<<"$commands")" >/dev/null
    )
    sync -f "$MNT"
}

# bats test_tags=slow
@test "a hint is right for its reasons, and following it helps" {
    local name

    make_reasons
    [[ $(hint "$MNT/within/snapshot") = "generation: "* ]]
    [[ $(hint "$MNT/within/both") = "generation: "* ]]
    [[ $(hint "$MNT/within/shared") = "copied: "* ]]
    [[ $(hint "$MNT/within/ordinary") = "copied: "* ]]
    [ "$(hint "$MNT/nocow")" = null ]
    # deleting a snapshot or a clone does not
    btrfs subvolume delete --commit-each "$MNT/within-snapshot" >/dev/null
    finish_deletions "$MNT"
    [ "$(reasons "$MNT/within/snapshot")" = generation ]
    rm "$MNT/within/both.clone"
    sync -f "$MNT"
    [ "$(reasons "$MNT/within/both")" = generation ]

    for name in shared ordinary; do
        follow_hint "$name"
        [ "$(reasons "$MNT/within/$name")" = nodatacow ]
    done
    follow_hint snapshot
    [ "$(reasons "$MNT/within/elsewhere/snapshot")" = nodatacow ]
    btrfs subvolume snapshot "$MNT/within" "$MNT/within-snapshot" >/dev/null
    [ "$(reasons "$MNT/within/elsewhere/snapshot")" = nodatacow ]
    [ "$(reasons "$MNT/within/shared")" = generation ]
    btrfs subvolume delete "$MNT/within/elsewhere" >/dev/null
    remove_reasons
}

@test "hints where the reasons are not known, and with several files" {
    mkdir "$MNT/within"
    touch "$MNT/within/dirty"
    chattr +C "$MNT/within/dirty"
    sync -f "$MNT"
    random_kib "$MNT/within/dirty" 64
    [[ $(hint "$MNT/within/dirty") = "delalloc: run nocow-check --sync"* ]]
    # it must fit the reason that FIEMAP gives without privilege, too
    local -A reasons=(["nocow"]=unknown ["cloned"]=shared)
    for name in "${!reasons[@]}"; do
        run -0 --separate-stderr as_nobody "$MNT/program" -q --format json nocow-check -e "$MNT/$name"
        expect_json '."nocow-check"[0].ranges[0].reason' "${reasons[$name]}"
        expect_json '."nocow-check"[0].hint' 'not all reasons are known: run nocow-check as root'
    done
    # each once
    rm -r "$MNT/within"
    make_reasons
    run -0 nocow_check "$MNT/within/both" "$MNT/within/snapshot" "$MNT/cow" "$MNT/cloned" "$MNT/clone" "$MNT/prealloc"
    [ "$(grep -c ^Hint: <<<"$output")" = 2 ]
    ! grep ^Hint: <<<"$output" | grep -E '.{81}' || fail "longer than a line"
    remove_reasons
    run -0 nocow_check --summary "$MNT/cow"
    [[ ${lines[-1]} = "Hint: "* ]]
    run -0 nocow_check -q "$MNT/cow"
    refuse_line "Hint: .*"
}

@test "a hint on a read-only mount says that nothing can be written" {
    mkdir "$BATS_TEST_TMPDIR/own"
    mount --bind "$MNT" "$BATS_TEST_TMPDIR/own"
    mount -o remount,bind,ro "$BATS_TEST_TMPDIR/own"
    for name in cow cloned; do
        run -0 nocow_check "$BATS_TEST_TMPDIR/own/$name"
        [ "${lines[-1]}" = "Hint: mounted read-only: only a writable mount allows what helps" ] || fail "$output"
    done
    run -0 nocow_check "$BATS_TEST_TMPDIR/own/nocow"
    refuse_line "Hint: .*"
}

@test "mounts for rescue: what does not depend on a missing tree is known" {
    local own=$BATS_TEST_TMPDIR/own image=$BATS_TEST_TMPDIR/rescued options

    mkdir "$own"
    truncate -s 400M "$image"
    mkfs.btrfs -q "$image" >/dev/null
    mount -o loop "$image" "$own"
    btrfs subvolume create "$own/sub" >/dev/null
    nocow_file "$own/sub/file" 1024
    random_kib "$own/sub/cow" 256
    sync -f "$own"
    btrfs subvolume snapshot "$own/sub" "$own/snapshot" >/dev/null
    random_kib "$own/sub/file" 64
    umount "$own"
    for options in rescue=usebackuproot rescue=nologreplay rescue=all; do
        mount -o "loop,ro,$options" "$image" "$own"
        run --separate-stderr nocow_check --format json -r "$own/sub"
        expect_json '.total.nocow_bytes' "$([ "$options" = rescue=all ] && echo 0 || echo 65536)"
        expect_json '.total.unknown_bytes' "$([ "$options" = rescue=all ] && echo 65536 || echo 0)"
        expect_json '.total.reason_bytes | .no_flag, .generation' "262144"$'\n'"983040"
        if [ "$options" = rescue=all ]; then
            [ "$status" -eq 1 ]
            [ "$stderr" = "WARNING: no figure for a part of 1 file, because the extent or checksum tree is missing" ] || fail "$stderr"
            run -1 --separate-stderr nocow_check --check --max-copied 1G "$own/sub/file"
            [[ $stderr = "ERROR: cannot check without all trees: '$own/sub/file'"* ]] || fail "$stderr"
        else
            [ "$status" -eq 0 ] && [ -z "$stderr" ] || fail "$stderr"
        fi
        umount "$own"
    done
}

@test "the commands of a hint keep the file if the copy fails, and otherwise its attributes" {
    local command

    btrfs subvolume create "$MNT/hinted" >/dev/null
    cd "$MNT/hinted"
    random_kib FILE 64
    python3 -c 'import os; os.setxattr("FILE", "user.mark", b"kept")'
    sync -f .
    command=$(advised "$(hint FILE)")
    cp FILE before
    run bash -c "ulimit -f 16; trap '' XFSZ; $command"
    [ "$status" -ne 0 ]
    cmp FILE before
    rm NEW
    bash -c "$command"
    cmp FILE before
    [ ! -e NEW ]
    [ "$(python3 -c 'import os; print(os.getxattr("FILE", "user.mark").decode())')" = kept ]
    [ "$(reasons FILE)" = nodatacow ]
    cd /
    btrfs subvolume delete "$MNT/hinted" >/dev/null
}

# compress_by WAY DIRECTORY
compress_by() {
    case $1 in
    attribute) chattr +c "$2" ;;
    property) btrfs property set "$2" compression zstd ;;
    esac
}

@test "the commands of a hint work in a compressed directory" {
    local way command

    for way in attribute property; do
        btrfs subvolume create "$MNT/within" >/dev/null
        compress_by "$way" "$MNT/within"
        mkdir "$MNT/within/inner"
        cd "$MNT/within/inner"
        yes | head -c 256K >FILE
        sync -f .
        command=$(advised "$(hint FILE)")
        bash -c "$command"
        yes | head -c 256K | cmp - FILE
        sync -f .
        [ "$(reasons FILE)" = nodatacow ]
        btrfs subvolume snapshot "$MNT/within" "$MNT/within/now" >/dev/null
        command=$(advised "$(hint FILE)")
        bash -c "$command"
        sync -f .
        [ "$(reasons DIR/FILE)" = nodatacow ]
        btrfs subvolume delete DIR "$MNT/within/now" >/dev/null
        cd /
        btrfs subvolume delete "$MNT/within" >/dev/null
    done
}

@test "the commands of a hint give all names of a file to the copy" {
    local name

    make_reasons
    for name in ordinary shared; do
        ln "$MNT/within/$name" "$MNT/within/directory/$name.link"
        cp --reflink=never "$MNT/within/$name" "$BATS_TEST_TMPDIR/contents"
        follow_hint "$name"
        cmp "$BATS_TEST_TMPDIR/contents" "$MNT/within/$name"
        [ ! -e "$MNT/within/new" ]
        [ "$(reasons "$MNT/within/$name")" = nodatacow ]
        [ "$(stat -c %i "$MNT/within/$name")" = "$(stat -c %i "$MNT/within/directory/$name.link")" ]
    done
    [[ $(hint "$MNT/within/snapshot") = "generation: "* ]]
    remove_reasons
}

@test "extents are counted as fiemap-shared counts them" {
    run -0 "$FASTPATH" --format json fiemap-shared "$MNT"/{cow,nocow,prealloc,cloned,tiny,hole}
    expected=$(json '[."fiemap-shared"[].extent_count, .total.extent_count] | tojson')
    run -0 nocow_check_json "$MNT"/{cow,nocow,prealloc,cloned,tiny,hole}
    expect_json '[."nocow-check"[].extent_count, .total.extent_count] | tojson' "$expected"
    run -0 "$FASTPATH" --format json fiemap-shared --range 1020K:8K "$MNT/prealloc"
    expected=$(json .total.extent_count)
    run -0 nocow_check_json --range 1020K:8K "$MNT/prealloc"
    expect_json .total.extent_count "$expected"
}

# -- --sort and --top --

# order OPTION...: the names in the order of the rows, in text and in JSON
order() {
    local names

    run -0 nocow_check -q "$@" "$MNT"/{cow,nocow,prealloc,cloned,tiny,hole}
    names=$(sed -nE "s|.* $MNT/||p" <<<"$output" | paste -sd ' ')
    expect_line ".* total" || echo "no total"
    run -0 nocow_check_json "$@" "$MNT"/{cow,nocow,prealloc,cloned,tiny,hole}
    expect_json '[."nocow-check"[].path | sub(".*/"; "")] | join(" ")' "$names" || echo "another order in JSON"
    echo "$names"
}

@test "--sort: by each column" {
    [ "$(order)" = "cow nocow prealloc cloned tiny hole" ]
    [ "$(order --sort path)" = "cloned cow hole nocow prealloc tiny" ]
    [ "$(order --sort copied)" = "cloned cow prealloc hole nocow tiny" ]
    [ "$(order --sort in-place)" = "prealloc nocow cloned cow hole tiny" ]
    [ "$(order --sort new)" = "hole tiny cloned cow nocow prealloc" ]
    [ "$(order --sort extents)" = "prealloc cloned cow nocow tiny hole" ]
    [ "$(order --sort checksums)" = "$(order --sort path)" ]
    [ "$(order --sort unknown)" = "$(order --sort path)" ]
}

@test "--top: the first rows, and the total of all" {
    local all

    run -0 nocow_check -q "$MNT"/{cow,nocow,prealloc,cloned,tiny,hole}
    all=${lines[-1]}
    [ "$(order --top 2)" = "cloned cow" ]
    [ "$(order --sort in-place --top 1)" = "prealloc" ]
    [ "$(order --sort path --top 100)" = "cloned cow hole nocow prealloc tiny" ]
    run -0 nocow_check -q --top 2 "$MNT"/{cow,nocow,prealloc,cloned,tiny,hole}
    [ "${lines[-1]}" = "$all" ]
    run -64 nocow_check_json -q --check --top 1 --sort in-place "$MNT/cloned" "$MNT/nocow"
    expect_json '[(."nocow-check" | length), .total.file_count, .total.alarm_count] | tojson' '[1,2,1]'
}

@test "--sort and --top are checked" {
    run -1 --separate-stderr nocow_check --sort size "$MNT/cow"
    [ "$stderr" = "ERROR: unknown column for --sort: 'size' (expected one of: extents, in-place, copied, new, unknown, checksums, path)" ]
    run -1 nocow_check --top 0 "$MNT/cow"
    run -1 --separate-stderr nocow_check --top 5 -e "$MNT/cow"
    [ "$stderr" = "ERROR: --sort and --top cannot be combined with --summary or --extents" ]
    run -1 nocow_check --sort path -s "$MNT/cow"
}

# -- without privilege --

@test "without privilege nothing is guessed" {
    run -0 --separate-stderr as_nobody "$MNT/program" --format json nocow-check -e \
        "$MNT/nocow" "$MNT/prealloc" "$MNT/cloned" "$MNT/hole" "$MNT/tiny"
    [ "$stderr" = "WARNING: without CAP_SYS_ADMIN (root) the answers come from inode flags and FIEMAP alone" ]
    expect_json 'any(."nocow-check"[]; .complete)' false
    expect_json '[."nocow-check"[0].ranges[] | [.nocow, .reason, .has_csums]] | tostring' '[[null,"unknown",null]]'
    expect_json '[."nocow-check"[1].ranges[] | [.nocow, .reason]] | tostring' \
        '[[null,"unknown"],[false,"no_flag"],[null,"unknown"]]'
    expect_json '."nocow-check"[1].unknown_bytes' $((7 * MIB))
    expect_json '."nocow-check"[2].ranges[0].reason' shared
    expect_json '."nocow-check"[3].ranges[0].reason' hole
    expect_json '."nocow-check"[4].ranges[0].reason' inline
    expect_json '."nocow-check"[0].inode_flags | join(" ")' nodatacow
    expect_json '."nocow-check"[0].csum_bytes' null
}

@test "without privilege --check reports only certain copies" {
    mkdir "$MNT/within"
    nocow_file "$MNT/within/file" 1024
    sync -f "$MNT"
    random_kib "$MNT/within/file" 3072 1024
    sync -f "$MNT"
    touch "$MNT/within/part"
    chattr +C "$MNT/within/part"
    xfs_io -c "reflink $MNT/within/file 0 0 1m" "$MNT/within/part" >/dev/null
    run -64 --separate-stderr as_nobody "$MNT/program" nocow-check --check "$MNT/within/file" "$MNT/within/part"
    [ "${stderr_lines[1]}" = "WARNING: NOCOW file: 1.00MiB of it would be copied (3.00MiB unknown): '$MNT/within/file'" ]
    [ "${stderr_lines[2]}" = "WARNING: NOCOW file: 1.00MiB of it would be copied: '$MNT/within/part'" ]
    run -64 --separate-stderr nocow_check --check "$MNT/within/file"
    [ "$stderr" = "WARNING: NOCOW file: 1.00MiB of it would be copied, and 0.00B have checksums: '$MNT/within/file'" ]
    # the end waits to be written back
    random_kib "$MNT/within/file" 64 8192
    run -64 --separate-stderr nocow_check --check "$MNT/within/file"
    [ "$stderr" = "WARNING: NOCOW file: 1.00MiB of it would be copied, and 0.00B have checksums (64.00KiB unknown): '$MNT/within/file'" ]
}

@test "without privilege --check fails without a certain answer" {
    run -1 --separate-stderr as_nobody "$MNT/program" nocow-check -q --check "$MNT/nocow"
    [ "$stderr" = "ERROR: cannot check without CAP_SYS_ADMIN (root): '$MNT/nocow'" ]
    # what is certain is
    run -64 as_nobody "$MNT/program" nocow-check -q --check "$MNT/cloned"
    run -0 as_nobody "$MNT/program" nocow-check -q --check "$MNT/cow"
}

# -- what it looks at --

@test "data not yet written is unknown, until --sync" {
    mkdir "$MNT/within"
    touch "$MNT/within/dirty"
    chattr +C "$MNT/within/dirty"
    sync -f "$MNT"
    random_kib "$MNT/within/dirty" 64
    run -0 nocow_check_json -e "$MNT/within/dirty"
    expect_json '[."nocow-check"[0].ranges[0] | .nocow, .reason] | tostring' '[null,"delalloc"]'
    expect_json '."nocow-check"[0].delalloc_bytes' 65536
    run -0 nocow_check_json --sync -e "$MNT/within/dirty"
    expect_json '[."nocow-check"[0].ranges[0] | .nocow, .reason] | tostring' '[true,"nodatacow"]'
}

@test "each subvolume has its own last snapshot" {
    local name

    for name in without with; do
        btrfs subvolume create "$MNT/$name" >/dev/null
        touch "$MNT/$name/file"
        chattr +C "$MNT/$name/file"
        head -c 64K /dev/zero >"$MNT/$name/file"
    done
    sync -f "$MNT"
    # Once there was one, even though nothing is shared any more.
    btrfs subvolume snapshot "$MNT/with" "$MNT/snapshot" >/dev/null
    btrfs subvolume delete --commit-each "$MNT/snapshot" >/dev/null
    finish_deletions "$MNT"
    run -0 nocow_check_json --extents "$MNT/without/file" "$MNT/with/file" "$MNT/without/file"
    expect_json '[."nocow-check"[] | [.ranges[].reason] | unique | join(" ")] | join(", ")' 'nodatacow, generation'
    run -0 nocow_check_json --extents "$MNT/with/file" "$MNT/without/file"
    expect_json '[."nocow-check"[] | [.ranges[].reason] | unique | join(" ")] | join(", ")' 'generation, nodatacow'
    btrfs subvolume delete "$MNT/with" "$MNT/without" >/dev/null
}

@test "a file that has just been preallocated" {
    mkdir "$MNT/within"
    fallocate -l 1M "$MNT/within/new"
    run -0 nocow_check_json "$MNT/within/new"
    expect_json '."nocow-check"[0].nocow_bytes' $MIB
}

@test "a read-only mount" {
    mount -o remount,ro "$MNT"
    run -0 nocow_check -e "$MNT/nocow"
    expect_line "Read-only mount: written only through another one"
    run -0 nocow_check_json "$MNT/nocow"
    expect_json '."nocow-check"[0].writes_blocked_by' null
    expect_json '."nocow-check"[0].read_only' true
    expect_json '."nocow-check"[0].nocow_bytes' $((4 * MIB))
}

# blocked_by FILE
blocked_by() {
    run --separate-stderr nocow_check_json --check "$1"
    expect_json '."nocow-check"[0].writes_blocked_by' "$2"
    expect_json '."nocow-check"[0].alarm' "$3"
    expect_json '."nocow-check"[0].cow_bytes' $((64 * 1024))
}

# bats test_tags=slow
@test "--check: no alarm for a file that no program can write to" {
    local file=$MNT/within/file

    btrfs subvolume create "$MNT/within" >/dev/null
    nocow_file "$file" 64
    btrfs subvolume snapshot -r "$MNT/within" "$MNT/snapshot" >/dev/null
    btrfs subvolume snapshot "$MNT/within" "$MNT/writable" >/dev/null
    blocked_by "$file" null true
    blocked_by "$MNT/writable/file" null true
    blocked_by "$MNT/snapshot/file" read_only_subvolume false
    run -64 --separate-stderr nocow_check_json --check -r "$MNT/within" "$MNT/snapshot"
    expect_json .total.alarm_count 1
    # not even as one that is expected to be NOCOW
    btrfs property set "$MNT/snapshot" ro false
    rm "$MNT/snapshot/file"
    random_kib "$MNT/snapshot/file" 64
    run -64 nocow_check --check --expect-nocow "$MNT/snapshot/file"
    btrfs property set "$MNT/snapshot" ro true
    run -0 nocow_check --check --expect-nocow "$MNT/snapshot/file"
    run -0 nocow_check -e "$MNT/snapshot/file"
    expect_line "Not written: the subvolume is read-only"
    refuse_line "Hint: .*"

    chattr +i "$file"
    blocked_by "$file" immutable false
    chattr -i +a "$file"
    blocked_by "$file" append_only false
    chattr -a "$file"
    blocked_by "$file" null true
    btrfs subvolume delete "$MNT/within" "$MNT/snapshot" "$MNT/writable" >/dev/null
}

@test "--check: no alarm for active swap" {
    local swap=$MNT/within/"swap file"

    btrfs subvolume create "$MNT/within" >/dev/null
    btrfs filesystem mkswapfile -s 8M "$swap" >/dev/null
    # it becomes older than a snapshot, which has to go before swapon
    btrfs subvolume snapshot -r "$MNT/within" "$MNT/snapshot" >/dev/null
    btrfs subvolume delete "$MNT/snapshot" >/dev/null
    finish_deletions "$MNT"
    run -64 nocow_check --check "$swap"
    swapon "$swap"
    run --separate-stderr nocow_check_json --check "$swap"
    swapoff "$swap"
    [ "$status" -eq 0 ]
    expect_json '."nocow-check"[0].writes_blocked_by' swap
    run -64 nocow_check --check "$swap"
    btrfs subvolume delete "$MNT/within" >/dev/null
}

# bytenr_of FILE: of its first extent
bytenr_of() {
    run -0 nocow_check_json --sync --extents "$1"
    json '."nocow-check"[0].ranges[0].bytenr'
}

# bats test_tags=slow
@test "data on a seed device is copied" {
    local mnt=$BATS_TEST_TMPDIR/mnt before

    mount_sprout "$mnt"
    [ "$(reasons "$mnt/old")" = read_only ]
    [ "$(reasons "$mnt/prealloc")" = read_only ]
    [ "$(reasons "$mnt/new")" = nodatacow ]
    run -64 nocow_check --check "$mnt/old"
    run -64 nocow_check --check --ignore-reason=generation "$mnt/old"
    run -0 nocow_check --check --ignore-reason=read_only "$mnt/old"
    # a file without the attribute has no other reason
    random_kib "$mnt/cow" 64
    sync -f "$mnt"
    [ "$(reasons "$mnt/cow")" = no_flag ]
    # the kernel agrees
    before=$(bytenr_of "$mnt/old")
    dd if=/dev/urandom of="$mnt/old" bs=64K count=1 conv=notrunc oflag=direct status=none
    [ "$(bytenr_of "$mnt/old")" != "$before" ]
    [ "$(reasons "$mnt/old")" = "nodatacow read_only" ]
    before=$(bytenr_of "$mnt/old")
    dd if=/dev/urandom of="$mnt/old" bs=64K count=1 conv=notrunc oflag=direct status=none
    [ "$(bytenr_of "$mnt/old")" = "$before" ]
    # following the hint helps
    (
        cd "$mnt"
        bash -c "$(advised "$(hint old)" | sed 's/FILE/old/g')"
    )
    run -0 nocow_check_json --sync "$mnt/old"
    expect_json '."nocow-check"[0].cow_bytes' 0
    # with a snapshot there are two reasons, and all of them go with the last device
    btrfs subvolume snapshot "$mnt" "$mnt/snapshot" >/dev/null
    [ "$(reasons "$mnt/prealloc")" = "generation read_only" ]
    btrfs device remove 1 "$mnt"
    [ "$(reasons "$mnt/prealloc")" = generation ]
}

@test "-r: all files of a directory, each once" {
    mkdir -p "$MNT/within/deeper"
    nocow_file "$MNT/within/a" 64
    ln "$MNT/within/a" "$MNT/within/deeper/b"
    ln -s a "$MNT/within/c"
    mkfifo "$MNT/within/fifo"
    sync -f "$MNT"
    run -0 nocow_check_json -r "$MNT/within"
    expect_json '."nocow-check" | length' 1
    expect_json .total.nocow_bytes 65536
}

@test "--files0-from" {
    printf '%s\0' "$MNT/nocow" "$MNT/cow" >"$BATS_TEST_TMPDIR/list"
    run -0 nocow_check --files0-from "$BATS_TEST_TMPDIR/list"
    expect_line ".*nodatacow +$MNT/nocow"
    expect_line ".*no_flag +$MNT/cow"
}

@test "files that are not regular or not on btrfs" {
    mkfifo "$BATS_TEST_TMPDIR/fifo"
    run -1 --separate-stderr nocow_check "$MNT" "$MNT/missing" /proc/self/status
    [ "${stderr_lines[0]}" = "ERROR: is a directory, and -r was not given: '$MNT'" ]
    [ "${stderr_lines[1]}" = "ERROR: cannot access '$MNT/missing': No such file or directory" ]
    [ "${stderr_lines[2]}" = "ERROR: not a btrfs filesystem: '/proc/self/status'" ]
    mkdir "$MNT/within"
    mkfifo "$MNT/within/fifo"
    run -1 --separate-stderr timeout 10 "$FASTPATH" nocow-check "$MNT/within/fifo"
    [ "$stderr" = "ERROR: not a regular file: '$MNT/within/fifo'" ]
}

@test "a file on ext4" {
    truncate -s 8M "$BATS_TEST_TMPDIR/ext4"
    mkfs.ext4 -q "$BATS_TEST_TMPDIR/ext4"
    mkdir "$BATS_TEST_TMPDIR/other"
    mount -o loop "$BATS_TEST_TMPDIR/ext4" "$BATS_TEST_TMPDIR/other"
    touch "$BATS_TEST_TMPDIR/other/file"
    run -1 --separate-stderr nocow_check "$BATS_TEST_TMPDIR/other/file"
    [ "$stderr" = "ERROR: not a btrfs filesystem: '$BATS_TEST_TMPDIR/other/file'" ]
}

@test "names of any bytes" {
    mkdir "$MNT/within"
    random_kib "$MNT/within/"$'new\nline\xff' 4
    run -0 nocow_check_json -r "$MNT/within"
    expect_json '."nocow-check"[0].path_encoding' escaped
    expect_json '."nocow-check"[0].path' "$MNT/within/new\\x0aline\\xff"
}

@test "an empty file" {
    mkdir "$MNT/within"
    touch "$MNT/within/empty"
    run -0 nocow_check_json -e "$MNT/within/empty"
    expect_json '."nocow-check"[0].ranges | length' 0
    expect_json '."nocow-check"[0].complete' true
}

@test "a full disk is an error" {
    run -1 --separate-stderr bash -c '"$1" nocow-check "$2" >/dev/full' - "$FASTPATH" "$MNT/nocow"
    [ "$stderr" = "ERROR: cannot write to standard output: No space left on device" ]
}

# bats test_tags=race
@test "a file that changes underfoot" {
    local writer

    mkdir "$MNT/within"
    nocow_file "$MNT/within/busy" 1024
    while :; do
        xfs_io -c "falloc 0 1m" -c "pwrite -q 64k 128k" -c "fpunch 32k 256k" -c "truncate 700k" "$MNT/within/busy"
    done 3>&- >/dev/null &
    writer=$!
    for _ in {1..10}; do
        run -0 timeout 10 "$FASTPATH" --format json nocow-check -e "$MNT/within/busy"
        expect_json '[."nocow-check"[0].ranges | .[:-1] as $a | .[1:] as $b | range($a | length) |
            $a[.].offset + $a[.].length == $b[.].offset] | all' true
    done
    kill "$writer"
    wait "$writer" || true
}

# -- cost --

# searches FILE: how many tree searches it takes
searches() {
    traced -e trace=ioctl "$FASTPATH" nocow-check "$1" 2>&1 >/dev/null | grep -c TREE_SEARCH_V2
}

@test "a file of many extents takes few searches, and an ordinary one none for its extents" {
    local i writes=()

    command -v strace >/dev/null || skip "strace is not installed"
    mkdir "$MNT/within"
    touch "$MNT/within/nocow"
    chattr +C "$MNT/within/nocow"
    for ((i = 0; i < 400; i++)); do
        writes+=(-c "pwrite -q $((8 * i))k 4k")
    done
    xfs_io "${writes[@]}" "$MNT/within/nocow"
    cp --reflink=never --sparse=always "$MNT/within/nocow" "$MNT/within/other"
    sync -f "$MNT"
    run -0 nocow_check_json "$MNT/within/nocow"
    expect_json '."nocow-check"[0].nocow_bytes' $((400 * 4096))
    expect_json '."nocow-check"[0].range_count > 300' true
    [ "$(searches "$MNT/within/nocow")" -lt 40 ]
    [ "$(searches "$MNT/within/other")" -le 6 ]
}

@test "options are checked" {
    run -1 --separate-stderr nocow_check
    [[ ${stderr_lines[0]} == *"at least 1 argument expected, 0 given" ]]
    run -1 nocow_check --range 5 --range x:y "$MNT/cow"
    run -1 nocow_check --no-such-option "$MNT/cow"
    for option in --scratch=nocow --size=4M --seconds=1 --engine=builtin; do
        run -1 --separate-stderr nocow_check "$option" "$MNT/cow"
        [ "$stderr" = "ERROR: --scratch, --size, --seconds and --engine require --exercise" ]
        run -0 nocow_check "$option" --help
    done
    run -0 nocow_check --help
    expect_line ".*--check .*"
}

# -- --exercise --

# without_fio COMMAND...: with nothing in PATH
without_fio() {
    PATH=$BATS_TEST_TMPDIR "$@"
}

# expect_nothing_left: of what a test wrote in $MNT/within
expect_nothing_left() {
    local used

    [ -z "$(ls -A "$MNT/within")" ]
    for _ in {1..50}; do
        sync -f "$MNT"
        used=$(df --output=used -B1 "$MNT" | tail -1)
        if ((used < $1 + 16 * MIB)); then
            return
        fi
        sleep 0.2
    done
    fail "$used bytes are used, and were $1"
}

used_bytes() {
    sync -f "$MNT"
    df --output=used -B1 "$MNT" | tail -1
}

@test "--exercise: all writes go in place, as predicted" {
    local scratch used

    mkdir "$MNT/within"
    used=$(used_bytes)
    for scratch in prealloc nocow; do
        run -0 --separate-stderr nocow_check_json --exercise "$MNT/within" --seconds 1 --size 4M \
            --scratch "$scratch" --engine builtin
        [ "$stderr" = "WARNING: writing for up to 1 second to an unnamed scratch file of 4.00MiB in '$MNT/within'" ]
        expect_json .exercise.scratch "$scratch"
        expect_json .exercise.engine builtin
        expect_json '.exercise.writes > 0 and .exercise.elapsed_ns > 0' true
        expect_json .exercise.moved_bytes 0
        expect_json .exercise.predicted_nocow_bytes $((4 * MIB))
        expect_json '.exercise | .writes == .proved_writes_in_place and .writes == .predicted_writes_in_place' true
    done
    expect_json '.exercise.written_bytes > 4194304' true
    expect_nothing_left "$used"
}

@test "--exercise: text, and other files" {
    mkdir "$MNT/within"
    run -0 --separate-stderr nocow_check -q --exercise "$MNT/within" --seconds 1 --size 4M --engine builtin "$MNT/nocow"
    # the file's row comes first, and a blank line after it
    [[ ${lines[0]} = *Path ]]
    [[ ${lines[1]} = */nocow ]]
    [ -z "$(sed -n 3p <<<"$output")" ]
    [[ $(sed -n 4p <<<"$output") = Exercise:* ]]
    [ -z "$stderr" ]
    expect_line ".* nodatacow +$MNT/nocow"
    expect_line "Exercise: prealloc by builtin"
    expect_line "Written: [0-9]+ writes, 4.00MiB in .*: .*/s, [0-9]+ IOPS"
    expect_line "Predicted: [0-9]+ writes in place"
    expect_line "Proved: [0-9]+ writes in place, 0.00B of the file moved"
}

@test "--exercise announces writes only before it writes" {
    mkdir "$MNT/within"
    run -1 --separate-stderr nocow_check --exercise "$MNT/missing"
    [ "$stderr" = "ERROR: cannot create a scratch file in '$MNT/missing': No such file or directory" ]
    run -1 --separate-stderr nocow_check --exercise /proc
    [ "$stderr" = "ERROR: not a btrfs filesystem: '/proc'" ]
    run -1 --separate-stderr as_nobody "$MNT/program" nocow-check --exercise "$MNT/within"
    [ "$stderr" = "ERROR: cannot create a scratch file in '$MNT/within': Permission denied" ]
}

@test "--exercise: fio" {
    command -v fio >/dev/null || skip "fio is not installed"
    mkdir "$MNT/within"
    for scratch in prealloc nocow; do
        run -0 nocow_check_json -q --exercise "$MNT/within" --seconds 1 --size 32M --scratch "$scratch"
        expect_json .exercise.engine fio
        expect_json .exercise.moved_bytes 0
        expect_json '.exercise | .writes > 0 and .writes == .proved_writes_in_place' true
    done
}

# bats test_tags=slow
@test "--exercise: fio writes blocks of all sizes alike" {
    command -v fio >/dev/null || skip "fio is not installed"
    mkdir "$MNT/within"
    run -0 nocow_check_json -q --exercise "$MNT/within" --engine fio --seconds 2 --size 8M --scratch nocow
    # the mean is 24.8 KiB; fio's map of what it has written would make blocks shorter
    expect_json '.exercise.writes > 1000' true
    expect_json '.exercise | .written_bytes / .writes | . > 23000 and . < 28000' true
}

@test "--exercise: without fio" {
    mkdir "$MNT/within"
    run -1 --separate-stderr without_fio "$FASTPATH" nocow-check -q --exercise "$MNT/within" --engine fio
    [ "$stderr" = "ERROR: fio is not installed; use --engine builtin" ]
    run -0 without_fio "$FASTPATH" nocow-check -q --exercise "$MNT/within" --seconds 1 --size 4M
    expect_line "Exercise: prealloc by builtin"
    # one that fails
    printf '#!/bin/sh\nexit 1\n' >"$BATS_TEST_TMPDIR/fio"
    chmod +x "$BATS_TEST_TMPDIR/fio"
    run -1 --separate-stderr without_fio "$FASTPATH" nocow-check -q --exercise "$MNT/within" --size 4M
    [ "$stderr" = "ERROR: fio failed to write to the scratch file in '$MNT/within'" ]
}

# fake_fio LINE...: found before the real one by those who look for it
fake_fio() {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    printf '%s\n' '#!/bin/sh' "$@" >"$BATS_TEST_TMPDIR/bin/fio"
    chmod +x "$BATS_TEST_TMPDIR/bin/fio"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

@test "--exercise: without /proc" {
    local complaint="ERROR: fio requires /proc, --engine builtin does not: cannot write to the scratch file in '$MNT/within'"

    skip_if_it_needs_proc
    mkdir "$MNT/within"
    run -0 without_proc "$FASTPATH" nocow-check -q --exercise "$MNT/within" --seconds 1 --size 4M --engine builtin
    expect_line "Written: [1-9][0-9]* writes, 4.00MiB in .*"
    expect_line "Proved: [1-9][0-9]* writes in place, 0.00B of the file moved"

    # It would say that all went well, and the real one does.
    fake_fio 'echo "{\"jobs\": [{\"error\": 0, \"write\": {\"total_ios\": 7, \"io_bytes\": 28672, \"runtime\": 1}}]}"'
    for option in --engine=fio --verbose; do
        run -1 --separate-stderr without_proc "$FASTPATH" nocow-check -q --exercise "$MNT/within" \
            --seconds 1 --size 4M "$option"
        [[ $stderr == *"$complaint" ]]
        refuse_line "Proved: .*"
    done
}

@test "--exercise: fio ends with a run that is killed" {
    local pid fio used

    mkdir "$MNT/within"
    used=$(used_bytes)
    # shellcheck disable=SC2016 # a script
    fake_fio 'echo $$ >"$STARTED"' 'exec sleep 20'
    # In a PATH with no program that sees to it.
    ln -s "$(command -v sleep)" "$BATS_TEST_TMPDIR/bin/sleep"
    STARTED=$BATS_TEST_TMPDIR/started PATH=$BATS_TEST_TMPDIR/bin \
        "$FASTPATH" nocow-check -q --exercise "$MNT/within" --size 4M --engine fio >/dev/null 2>&1 3>&- &
    pid=$!
    until [ -s "$BATS_TEST_TMPDIR/started" ]; do
        kill -0 "$pid" || fail "it ran no fio"
        sleep 0.05
    done
    fio=$(<"$BATS_TEST_TMPDIR/started")
    kill -KILL "$pid"
    wait "$pid" || true
    if ! ended "$fio"; then
        kill "$fio"
        fail "it goes on"
    fi
    expect_nothing_left "$used"
}

@test "--exercise: no write proves nothing" {
    mkdir "$MNT/within"
    fake_fio 'echo "{\"jobs\": [{\"error\": 0, \"write\": {\"total_ios\": 0, \"io_bytes\": 0, \"runtime\": 0}}]}"'
    run -1 --separate-stderr nocow_check -q --exercise "$MNT/within" --seconds 1 --size 4M --scratch nocow
    [ "$stderr" = "ERROR: fio failed to write to the scratch file in '$MNT/within'" ]
    refuse_line "Proved: .*"
}

@test "--exercise: fio may open as many files as the caller may" {
    mkdir "$MNT/within"
    fake_fio 'ulimit -Sn >"'"$BATS_TEST_TMPDIR"'/limit"' 'exit 1'
    run -1 bash -c 'ulimit -Sn 100; exec "$@"' bash \
        "$FASTPATH" nocow-check -q -r "$MNT/within" --exercise "$MNT/within" --seconds 1 --size 4M
    [ "$(cat "$BATS_TEST_TMPDIR/limit")" = 100 ]
}

# bats test_tags=slow
@test "--exercise: in directories with inherited attributes" {
    local attribute scratch

    mkdir "$MNT/within"
    for attribute in c m C; do
        rm -rf "$MNT/within/directory"
        mkdir "$MNT/within/directory"
        chattr "+$attribute" "$MNT/within/directory"
        for scratch in prealloc nocow; do
            run -0 --separate-stderr nocow_check_json -q --exercise "$MNT/within/directory" --seconds 1 \
                --size 4M --scratch "$scratch" --engine builtin
            expect_json .exercise.moved_bytes 0
            expect_json .exercise.predicted_nocow_bytes $((4 * MIB))
            expect_json '.exercise | .writes > 0 and .writes == .proved_writes_in_place' true
        done
    done
    rm -rf "$MNT/within/directory"
    mkdir "$MNT/within/directory"
    btrfs property set "$MNT/within/directory" compression zstd
    run -0 --separate-stderr nocow_check_json -q --exercise "$MNT/within/directory" --seconds 1 --size 4M \
        --scratch nocow --engine builtin
    expect_json .exercise.moved_bytes 0
}

# bats test_tags=slow
@test "--exercise: a snapshot in the middle shows" {
    local engine

    btrfs subvolume create "$MNT/within" >/dev/null
    for engine in builtin fio; do
        command -v "$engine" >/dev/null || [ "$engine" = builtin ] || continue
        (sleep 1.5 && btrfs subvolume snapshot "$MNT/within" "$BATS_FILE_TMPDIR/mnt/snapshot" >/dev/null) 3>&- &
        run -0 nocow_check_json -q --exercise "$MNT/within" --seconds 4 --size 16M --scratch nocow --engine "$engine"
        wait
        btrfs subvolume delete "$MNT/snapshot" >/dev/null
        expect_json '.exercise.moved_bytes > 0' true
        expect_json '.exercise | .proved_writes_in_place == null or .proved_writes_in_place < .predicted_writes_in_place' true
    done
}

# bats test_tags=slow
@test "--exercise: a signal leaves nothing behind" {
    local engine pid signal used

    mkdir "$MNT/within"
    used=$(used_bytes)
    for engine in builtin fio; do
        command -v "$engine" >/dev/null || [ "$engine" = builtin ] || continue
        for signal in TERM KILL; do
            "$FASTPATH" nocow-check -q --exercise "$MNT/within" --seconds 60 --size 64M --scratch nocow \
                --engine "$engine" 3>&- >/dev/null &
            pid=$!
            sleep 1.5
            kill -"$signal" "$pid"
            wait "$pid" || true
            expect_nothing_left "$used"
        done
    done
}

@test "--exercise: where it cannot be" {
    local place

    run -1 --separate-stderr nocow_check -q --exercise /proc
    [ "$stderr" = "ERROR: not a btrfs filesystem: '/proc'" ]
    run -1 --separate-stderr nocow_check -q --exercise "$MNT/missing"
    [ "$stderr" = "ERROR: cannot create a scratch file in '$MNT/missing': No such file or directory" ]
    run -1 --separate-stderr nocow_check -q --exercise "$MNT/nocow"
    [ "$stderr" = "ERROR: cannot create a scratch file in '$MNT/nocow': Not a directory" ]
    for place in prealloc nocow; do
        run -1 --separate-stderr nocow_check -q --exercise "$MNT" --size 8G --scratch "$place"
        [ "$stderr" = "ERROR: cannot create a scratch file in '$MNT': No space left on device" ]
    done
    mount -o remount,ro "$MNT"
    run -1 --separate-stderr nocow_check -q --exercise "$MNT"
    [ "$stderr" = "ERROR: cannot create a scratch file in '$MNT': Read-only file system" ]
}

@test "--exercise: without privilege there is no prediction, but proof" {
    mkdir "$MNT/within"
    chmod 777 "$MNT/within"
    run -0 --separate-stderr as_nobody "$MNT/program" -q --format json nocow-check --exercise "$MNT/within" \
        --seconds 1 --size 4M --engine builtin
    expect_json .exercise.predicted_nocow_bytes null
    expect_json .exercise.predicted_writes_in_place null
    expect_json '.exercise | .writes > 0 and .writes == .proved_writes_in_place' true
}

@test "--exercise: options are checked" {
    local option

    for option in --seconds=0 --seconds=-1 --seconds=1x --seconds=100000 --size=0 --size=1000 --size=9G --size=x \
        --engine=dd --scratch=cow; do
        run -1 --separate-stderr nocow_check "$option" --exercise "$MNT"
        [[ $stderr == "ERROR: "* ]] || fail "$option: $stderr"
    done
}

@test "--exercise: an option for files needs one" {
    local option

    for option in --check --extents --sync --top=3 --sort=path --range=1M: --range=0:1M -r -x; do
        run -1 --separate-stderr nocow_check "$option" --exercise "$MNT"
        [ "$stderr" = "ERROR: with --exercise, --check, --extents, --sync, --sort, --top, --range, -r and -x need a PATH" ]
    done
    run -0 nocow_check -q --check --exercise "$MNT" --seconds 1 --size 1M --engine builtin "$MNT/cow"
}
