#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# fiemap-shared --subvolumes: what was written to snapshots, and what deleting them frees.
# FASTPATH_SEEDS="3 4" tries more file systems.

# bats runs each test in a subshell, which is what it should do; its run sets stderr
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load environment.bash
load freed.bash

HERE=$BATS_TEST_DIRNAME
MIB=1048576

# make_days_and_old: with 4 MiB that stay
make_days_and_old() {
    btrfs -q subvolume create "$MNT/v"
    random "$MNT/v/old" 4
    make_days
}

subvolumes() {
    run -0 --separate-stderr "$FASTPATH" --format json fiemap-shared --subvolumes "$@"
    [ -z "$stderr" ] || fail "$stderr"
}

# expect_rows KEY MIB...
expect_rows() {
    local expected key=$1

    shift
    expected=$(printf '%s\n' "$@" | jq -sc "[.[] * $MIB]")
    expect_json "[.total.arguments[].$key] | tojson" "$expected"
}

@test "a row for each subvolume" {
    make_days_and_old
    subvolumes "$MNT"/{monday,tuesday,wednesday}
    expect_rows written_bytes 7 3 3
    expect_rows freed_alone_bytes 3 3 3
    expect_rows freed_with_above_bytes 3 6 9
    expect_json .total.freed.freed_bytes $((9 * MIB))
    expect_json .total.freed.kept_bytes $((4 * MIB))
    expect_json '[.total.total_bytes, .total.arguments[0].extent_count, .total.set_shared_bytes] | tojson' '[null,null,null]'

    # the order of the rows decides what is above, and not what was before
    subvolumes "$MNT"/{v,wednesday,monday}
    expect_rows written_bytes 2 3 7
    expect_rows freed_alone_bytes 2 3 3
    expect_rows freed_with_above_bytes 2 5 8
    expect_json '[.total.arguments[].path] | tojson' "$(printf '%s\n' "$MNT"/{v,wednesday,monday} | jq -nRc '[inputs]')"

    subvolumes "$MNT/tuesday"
    expect_rows written_bytes 7
    expect_rows freed_alone_bytes 3
    # all of them: nothing is kept
    subvolumes "$MNT"/{monday,tuesday,wednesday,v}
    expect_rows freed_with_above_bytes 3 6 9 15
    expect_json .total.freed.kept_bytes 0
}

@test "as a table, sorted" {
    make_days_and_old
    random "$MNT/v/late" 5
    sync -f "$MNT"
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/sunday"
    rm "$MNT/v/late"
    sync -f "$MNT"
    run -0 "$FASTPATH" fiemap-shared --subvolumes --sort age "$MNT"/*day
    diff - <(echo "$output") <<END
   Written  Freed alone  With above Path
   7.00MiB      3.00MiB     3.00MiB $MNT/monday
   3.00MiB      3.00MiB     6.00MiB $MNT/tuesday
   3.00MiB      3.00MiB     9.00MiB $MNT/wednesday
   7.00MiB      5.00MiB    14.00MiB $MNT/sunday
Freed: 14.00MiB of data
Kept: 6.00MiB of data, still referenced elsewhere
END
    # what is in use comes last, although it is the oldest
    run -0 "$FASTPATH" fiemap-shared --subvolumes --sort age "$MNT"/{v,monday}
    [[ ${lines[2]} = *" $MNT/v" ]] || fail "$output"
    run -0 "$FASTPATH" fiemap-shared --subvolumes --sort freed --freed -s "$MNT"/*day
    [[ ${lines[1]} = *" 5.00MiB     5.00MiB $MNT/sunday" ]] || fail "$output"
    run -0 "$FASTPATH" --format openmetrics fiemap-shared --subvolumes "$MNT"/*day
    expect_line "btrfs_fastpath_sharing_freed_bytes $((14 * MIB))"
    refuse_line "btrfs_fastpath_sharing_(files|extents|bytes).*"
}

@test "what is cloned, preallocated, or only in a part of a file" {
    make_days_and_old
    cp --reflink=always "$MNT/monday/monday" "$MNT/v/clone"
    cp --reflink=always "$MNT/tuesday/tuesday" "$MNT/other"
    fallocate -l 1M "$MNT/v/preallocated"
    dd if=/dev/urandom of="$MNT/v/old" bs=1M count=1 seek=1 conv=notrunc status=none
    sync -f "$MNT"
    subvolumes "$MNT"/{monday,tuesday,wednesday,v}
    # of 4 MiB, one was overwritten: all of them stay
    expect_rows written_bytes 7 3 3 4
    expect_rows freed_alone_bytes 2 2 3 4
    expect_rows freed_with_above_bytes 2 4 7 16
}

# written MIB... PATH...: as many of both
written() {
    local half=$(($# / 2))

    subvolumes "${@:half+1}"
    expect_rows written_bytes "${@:1:half}"
}

@test "what was written: writable subvolumes, and those that change later" {
    make_days_and_old
    # the last snapshot has the data, and not its idle origin
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/sunday"
    written 7 3 3 2 0 "$MNT"/{monday,tuesday,wednesday,sunday,v}
    touch "$MNT/v/file"
    sync -f "$MNT"
    written 7 3 3 2 0 "$MNT"/{monday,tuesday,wednesday,sunday,v}
    # deduplication changes a snapshot later
    cp "$MNT/monday/monday" "$MNT/v/same"
    sync -f "$MNT"
    xfs_io -r -c "dedupe $MNT/v/same 0 0 1m" "$MNT/monday/monday" >/dev/null
    sync -f "$MNT"
    written 7 3 3 2 "$MNT"/{monday,tuesday,wednesday,sunday}
    # two that go on from one
    btrfs -q subvolume snapshot "$MNT/sunday" "$MNT/one"
    btrfs -q subvolume snapshot "$MNT/sunday" "$MNT/two"
    random "$MNT/one/new" 5
    sync -f "$MNT"
    touch "$MNT/two/file" && sync -f "$MNT"
    touch "$MNT/one/file" && sync -f "$MNT"
    written 6 5 0 "$MNT"/{sunday,one,two}
    written 11 0 "$MNT"/{one,two}
}

# snapshot SOURCE NAME [-r]
snapshot() {
    sync -f "$MNT"
    btrfs -q subvolume snapshot "${@:3}" "$MNT/$1" "$MNT/$2"
    sync -f "$MNT"
}

@test "what was written: since the one that has most in common" {
    btrfs -q subvolume create "$MNT/a"
    random "$MNT/a/f" 1
    snapshot a s1 -r
    # a rollback, beside which the old one goes on
    snapshot s1 w
    random "$MNT/a/g" 4
    snapshot a s2 -r
    # a copy of an older one
    snapshot s1 copy -r
    random "$MNT/w/new" 8
    snapshot w ws -r
    random "$MNT/a/h" 2
    snapshot a s3 -r
    written 1 4 "$MNT"/{s1,s2}
    written 1 4 0 8 2 "$MNT"/{s1,s2,copy,ws,s3}
    written 1 8 2 4 "$MNT"/{s1,ws,s3,s2}
    written 1 8 6 "$MNT"/{s1,ws,s3}
    written 1 4 8 "$MNT"/{s1,s2,w}
    written 5 8 "$MNT"/{s2,w}
    written 1 4 8 0 2 "$MNT"/{s1,s2,ws,w,a}
}

@test "what was written: subvolumes that were created at the same time are not related" {
    local try

    for try in {1..200}; do
        btrfs -q subvolume create "$MNT/a"
        btrfs -q subvolume create "$MNT/b"
        [ "$(stat -c %w "$MNT/a")" != "$(stat -c %w "$MNT/b")" ] || break
        btrfs -q subvolume delete "$MNT/a" "$MNT/b"
        [ "$try" -lt 200 ] || skip "the clock is too fine"
    done
    random "$MNT/a/f" 4
    random "$MNT/b/f" 8
    snapshot b b1 -r
    random "$MNT/a/g" 4
    snapshot a a1 -r
    written 0 8 0 8 "$MNT"/{a,b1,b,a1}
    written 8 8 "$MNT"/{b1,a1}
}

@test "what was written to received snapshots, also after those between them were deleted" {
    local parent=() day

    make_days_and_old
    mkdir "$MNT/backup"
    for day in monday tuesday wednesday; do
        btrfs -q send "${parent[@]}" "$MNT/$day" | btrfs -q receive "$MNT/backup"
        parent=(-p "$MNT/$day")
    done
    sync -f "$MNT"
    written 7 3 3 "$MNT/backup"/{monday,tuesday,wednesday}
    btrfs -q subvolume delete "$MNT/backup/tuesday"
    finish_deletions "$MNT"
    written 7 3 "$MNT/backup"/{monday,wednesday}
}

@test "no file is mapped, and what snapshots have in common is read once" {
    local trace=$BATS_TEST_TMPDIR/trace one all set

    command -v strace >/dev/null || skip "strace is not installed"
    btrfs -q subvolume create "$MNT/v"
    python3 - "$MNT" <<'END'
import subprocess, sys
for number in range(4000):
    with open(f"{sys.argv[1]}/v/{number}", "wb") as file:
        file.write(bytes(5000))
for number in range(20):
    with open(f"{sys.argv[1]}/v/{number}", "wb") as file:
        file.write(bytes(6000))
    subprocess.run(["btrfs", "-q", "subvolume", "snapshot", "-r", f"{sys.argv[1]}/v", f"{sys.argv[1]}/s{number:02}"], check=True)
END
    sync -f "$MNT"
    traced -e trace=ioctl -o "$trace" "$FASTPATH" fiemap-shared --subvolumes "$MNT/s00" >/dev/null
    one=$(grep -c TREE_SEARCH "$trace")
    traced -e trace=ioctl -o "$trace" "$FASTPATH" fiemap-shared --subvolumes "$MNT"/s* >/dev/null
    all=$(grep -c TREE_SEARCH "$trace")
    run -1 grep FIEMAP "$trace"
    # a few for each snapshot, where reading it would take dozens
    [ "$one" -gt 40 ] || fail "$one"
    [ "$all" -lt $((one + 20 * 10)) ] || fail "$one, $all"
    # what nothing else has is not looked up extent by extent; nor where others have a part of it
    echo >"$MNT/v/0"
    sync -f "$MNT"
    traced -e trace=ioctl -o "$trace" "$FASTPATH" fiemap-shared --subvolumes "$MNT/v" "$MNT"/s* >"$BATS_TEST_TMPDIR/rows"
    grep -qx "Kept: 0.00B .*" "$BATS_TEST_TMPDIR/rows" || fail "$(<"$BATS_TEST_TMPDIR/rows")"
    for set in "$MNT/v $MNT/s*" "$MNT/s*" "$MNT/s0*" "$MNT/s1*" "$MNT/s?[369]"; do
        # shellcheck disable=SC2086 # words
        traced -e trace=ioctl -o "$trace" "$FASTPATH" fiemap-shared --subvolumes $set >/dev/null
        all=$(grep -c LOGICAL_INO "$trace" || :)
        [ "$all" -lt 20 ] || fail "$set: $all lookups"
    done

    # Ctrl-C while they are read
    run -130 traced -e trace=ioctl -e inject=ioctl:signal=SIGINT:when=40 -o "$trace" "$FASTPATH" --format json fiemap-shared \
        --subvolumes "$MNT"/s*
    expect_json '[.total.interrupted, .total.freed, .total.arguments[0].written_bytes] | tojson' '[true,null,null]'
    # one is deleted meanwhile: its tree cannot be searched any more
    traced -e trace=ioctl -o "$trace" "$FASTPATH" fiemap-shared --subvolumes "$MNT"/s0[0-3] >/dev/null
    run -1 traced -e trace=ioctl -e "inject=ioctl:error=ENOENT:when=$(($(grep -c 'ioctl(' "$trace") / 2))+" -o "$trace" \
        "$FASTPATH" fiemap-shared --subvolumes "$MNT"/s0[0-3]
    refuse_line "ERROR: cannot find the references.*"
}

@test "a leaf that two have counts once, and one that another subvolume has does not count" {
    btrfs -q subvolume create "$MNT/v"
    btrfs -q subvolume create "$MNT/outside"
    random "$MNT/v/file" 2
    for number in {1..3000}; do echo >"$MNT/v/small-$number"; done
    # leaves that are written in the transaction of the snapshot
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/monday"
    subvolumes "$MNT"/{v,monday}
    expect_rows freed_with_above_bytes 0 2
    cp --reflink=always "$MNT/v/file" "$MNT/outside/file"
    sync -f "$MNT"
    subvolumes "$MNT"/{v,monday}
    expect_rows freed_with_above_bytes 0 0
    rm "$MNT/outside/file"

    # a snapshot that was changed, but not in the leaf of the file
    btrfs -q subvolume snapshot "$MNT/v" "$MNT/tuesday"
    echo >"$MNT/tuesday/small-3000"
    sync -f "$MNT"
    subvolumes "$MNT"/{v,monday}
    expect_rows freed_with_above_bytes 0 0
    expect_json .total.freed.kept_bytes $((2 * MIB))
}

# leaves_around BYTES: a subvolume v, where file and the first and the last one of small files are in three leaves of 16 KiB
leaves_around() {
    local number

    btrfs -q subvolume create "$MNT/v"
    for number in {100..299}; do
        [ "$number" -ne 200 ] || random "$MNT/v/file" 2
        head -c "$1" /dev/zero >"$MNT/v/$number"
    done
    sync -f "$MNT"
}

@test "what later subvolumes have that are not in the set" {
    local day

    leaves_around 3000
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/monday"
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/tuesday"
    rm "$MNT/v/file"
    for day in wednesday thursday; do
        random "$MNT/v/$day" 1
        btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/$day"
    done
    subvolumes "$MNT"/{monday,wednesday}
    expect_rows freed_with_above_bytes 0 0
    subvolumes "$MNT"/{monday,tuesday,wednesday}
    expect_rows freed_with_above_bytes 0 2 2
    subvolumes "$MNT"/{tuesday,monday,thursday}
    expect_rows freed_with_above_bytes 0 2 2
}

@test "what a later subvolume has, and an earlier and nearer one has not" {
    local number

    leaves_around 3000
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/sunday"
    random "$MNT/v/file" 2
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/monday"
    for number in {290..299}; do
        rm "$MNT/v/$number"
        sync -f "$MNT"
    done
    subvolumes "$MNT/monday"
    expect_rows freed_with_above_bytes 0
    rm "$MNT/v/file"
    sync -f "$MNT"
    subvolumes "$MNT/monday"
    expect_rows freed_with_above_bytes 2
}

@test "what a later subvolume has whose tree is not worth reading" {
    leaves_around 1500
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/monday"
    rm "$MNT/v/100"
    sync -f "$MNT"
    subvolumes "$MNT/monday"
    expect_rows freed_with_above_bytes 0
    # two that have nothing but the same leaves
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/tuesday"
    subvolumes "$MNT/monday"
    expect_rows freed_with_above_bytes 0
}

@test "a later subvolume that is deleted before it is read, and one that has the same leaves" {
    local trace=$BATS_TEST_TMPDIR/trace day tree searches

    command -v strace >/dev/null || skip "strace is not installed"
    leaves_around 3000
    for day in monday tuesday wednesday; do
        btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/$day"
    done
    btrfs -q subvolume delete "$MNT/v"
    settle "$MNT"
    tree=$(btrfs inspect-internal rootid "$MNT/tuesday")
    traced -e trace=ioctl -o "$trace" "$FASTPATH" fiemap-shared --subvolumes "$MNT/monday" >/dev/null
    searches=$(grep -m 1 -B 1000 "tree_id=$tree," "$trace" | awk '{ calls[$1]++ } END { print calls[$1] }')
    run -0 traced -e trace=ioctl -e "inject=ioctl:error=ENOENT:when=$searches" -o "$trace" \
        "$FASTPATH" --format json fiemap-shared --subvolumes "$MNT/monday"
    grep -q "tree_id=$tree,.*INJECTED" "$trace" || fail "$(<"$trace")"
    expect_rows freed_with_above_bytes 0
}

@test "a later subvolume of which only a file is in the set" {
    leaves_around 3000
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/monday"
    rm "$MNT/v/100"
    sync -f "$MNT"
    run -0 "$FASTPATH" --format json fiemap-shared --freed -rs "$MNT/monday" "$MNT/v/file"
    expect_json '.total.arguments[1].freed_with_above_bytes' $((2 * MIB + 4096))
}

@test "a leaf that two have, changed before and after a related one that is not in the set" {
    leaves_around 3000
    btrfs -q subvolume snapshot "$MNT/v" "$MNT/first"
    btrfs -q subvolume snapshot "$MNT/first" "$MNT/second"
    rm "$MNT/first/100"
    sync -f "$MNT"
    rm "$MNT/v/file"
    sync -f "$MNT"
    rm "$MNT/second/299"
    sync -f "$MNT"
    subvolumes "$MNT"/{first,second}
    expect_rows freed_alone_bytes 0 0
    expect_rows freed_with_above_bytes 0 2
}

@test "a leaf that was changed by the name of a snapshot, which still has it" {
    local number

    btrfs -q subvolume create "$MNT/v"
    for number in {1..300}; do head -c 4096 /dev/zero >"$MNT/v/$number"; done
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/first"
    btrfs -q subvolume snapshot -r "$MNT/v" "$MNT/v/within"
    btrfs -q subvolume snapshot "$MNT/v/within" "$MNT/last"
    rm "$MNT/last"/?
    sync -f "$MNT"
    subvolumes "$MNT"/{first,v,v/within,last}
    expect_json '[.total.arguments[].freed_with_above_bytes] | tojson' "[0,0,$((9 * 4096)),$((300 * 4096))]"
}

@test "what is no subvolume, and what cannot be combined" {
    local option

    make_days_and_old
    mkdir "$MNT/v/folder"
    run -1 --separate-stderr "$FASTPATH" --format json fiemap-shared --subvolumes "$MNT/monday" "$MNT/v/folder" "$MNT/v/old" "$MNT/none" /
    for option in "not a subvolume: '$MNT/v/folder'" "not a subvolume: '$MNT/v/old'" "cannot access '$MNT/none': .*" "not a btrfs filesystem: '/'"; do
        grep -qx -e "ERROR: $option" <<<"$stderr" || fail "$option: $stderr"
    done
    # what all of them free together is unknown then
    expect_json '[.total.freed, .total.arguments[0].freed_alone_bytes] | tojson' '[null,null]'
    for option in -r -x --disk -e --owners --depth=1 --groups --range=0:1 --sync --rewrite --fragments --files0-from=list; do
        run -1 "$FASTPATH" fiemap-shared --subvolumes "$option" "$MNT/monday"
        [[ $output = *"--subvolumes can only be combined with --freed, --summarize and --sort"* || $option = --files0-from=list ]] ||
            fail "$option: $output"
    done
    run -1 "$FASTPATH" fiemap-shared --subvolumes --files0-from=list
    [[ $output = *"--subvolumes can only be combined with --freed, --summarize and --sort"* ]]
    run -1 "$FASTPATH" fiemap-shared --subvolumes --top 3 "$MNT/monday"
    [[ $output = *"--subvolumes can only be combined with "* ]]
    run -1 "$FASTPATH" fiemap-shared --subvolumes --sort total "$MNT/monday"
    [[ $output = *"--subvolumes sorts only by age, freed or path"* ]]
    run -0 --separate-stderr "$FASTPATH" fiemap-shared --subvolumes "$MNT"
    [ "$stderr" = "WARNING: '$MNT' is the top level of a file system, which cannot be deleted" ]
    run -1 as_nobody "$MNT/program" fiemap-shared --subvolumes "$MNT/monday"
    expect_line "ERROR: --subvolumes requires CAP_SYS_ADMIN \(root\)"
}

@test "generated snapshots, row by row, to the byte" {
    local seed directory

    for seed in 1 2 ${FASTPATH_SEEDS:-}; do
        directory=$BATS_TEST_TMPDIR/$seed
        mkdir "$directory"
        truncate -s 4G "$directory.image"
        mkfs.btrfs -q "$directory.image" >/dev/null
        mount -o loop,noatime "$directory.image" "$directory"
        "$HERE/prove-subvolumes" "$FASTPATH" "$seed" "$directory" "$directory.image" || fail "seed $seed"
        umount "$directory"
    done
}
