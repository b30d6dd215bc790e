#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# log-stats as root in a directory of somebody else: what is planted at --json-samples, and what
# becomes of the folder when it is renamed and exchanged.
# bats' run sets stderr; scripts stand in single quotes; loops count attempts
# shellcheck disable=SC2154,SC2016,SC2034

bats_require_minimum_version 1.5.0
load ../cli/environment.bash
load ../cli/background.bash

setup_file() {
    mount_btrfs 1G noatime
    let_others_through
}

setup() {
    DIR=$MNT/nobodys
    OTHER=$MNT/other
    mkdir "$DIR" "$OTHER" "$MNT/home"
    chown 65534 "$DIR" "$OTHER" "$MNT/home"
    VICTIM=$BATS_TEST_TMPDIR/victim
    device=
    pid=
    other_pid=
}

teardown() {
    kill_started
    [ -z "$other_pid" ] || stop_attack || true
    if [ -n "$device" ]; then
        losetup -d "$device"
    fi
    if mountpoint -q "$BATS_TEST_TMPDIR/bound"; then
        umount "$BATS_TEST_TMPDIR/bound"
    fi
    rm -rf "$DIR" "$OTHER" "${MNT:?}/home"
}

log_stats() {
    timeout -s KILL 120 "$FASTPATH" log-stats "$@"
}

# folder: the name of the folder in $DIR
folder() {
    basename "$(folders_in "$DIR")"
}

# nothing_left DIRECTORY
nothing_left() {
    [ -z "$(ls -A "$1")" ] || fail "left behind:" "$(ls -AR "$1")"
}

# attack PROGRAM ARGUMENT...: runs the Python in PROGRAM as nobody in parallel with what follows, until stop_attack
attack() {
    python3 -c "
import os, sys
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
$1" "${@:2}" 3>&- &
    other_pid=$!
}

stop_attack() {
    kill -KILL "$other_pid" || fail "the attack ended before what it attacked"
    wait "$other_pid" || true
    other_pid=
}

# -- --json-samples --

# expect_said PATH ERROR
expect_said() {
    run -1 --separate-stderr log_stats -q --files 10 --json-samples "$1" "$OTHER"
    [ "$stderr" = "ERROR: $2" ] || fail "$stderr"
}

# expect_refused PATH REASON
expect_refused() {
    expect_said "$1" "cannot create '$1': $2"
}

@test "a planted link to a block device" {
    truncate -s 1M "$VICTIM"
    device=$(losetup -f --show "$VICTIM")
    as_nobody ln -s "$device" "$DIR/samples"
    expect_refused "$DIR/samples" 'File exists'
    cmp "$VICTIM" <(head -c 1M /dev/zero)
}

@test "planted links to files, to nothing, to directories; a FIFO, a hard link" {
    echo precious >"$VICTIM"
    as_nobody ln -s "$VICTIM" "$DIR/file"
    as_nobody ln -s "$BATS_TEST_TMPDIR/new" "$DIR/nothing"
    as_nobody ln -s "$BATS_TEST_TMPDIR" "$DIR/directory"
    as_nobody ln -s directory "$DIR/chain"
    as_nobody mkfifo "$DIR/fifo"
    touch "$DIR/empty"
    ln "$DIR/empty" "$DIR/hard"
    for name in file nothing fifo hard; do
        expect_refused "$DIR/$name" 'File exists'
    done
    for name in directory/new chain/new ./directory/../directory/new; do
        expect_said "$DIR/$name" "refusing to follow another user's symbolic link in '$DIR/$name'"
    done
    run -1 --separate-stderr log_stats -q --files 10 --format json --json-samples "$DIR/chain/new" "$OTHER"
    expect_json '.["log-stats"].error' 'Permission denied'
    [ "$(cat "$VICTIM")" = precious ]
    [ ! -e "$BATS_TEST_TMPDIR/new" ]
    [ ! -s "$DIR/empty" ]

    # One's own links lead where one wants.
    ln -s "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/own"
    ln -s own/./own "$BATS_TEST_TMPDIR/twice"
    ln -s loop "$BATS_TEST_TMPDIR/loop"
    run -0 log_stats -q --files 10 --json-samples "$BATS_TEST_TMPDIR/twice/new" "$OTHER"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/new")" -eq 1 ]
    expect_refused "$BATS_TEST_TMPDIR/loop/new" 'Too many levels of symbolic links'
}

# bats test_tags=race
@test "a link to a block device that appears and disappears during creation" {
    local attempt ended

    truncate -s 1M "$VICTIM"
    device=$(losetup -f --show "$VICTIM")
    attack '
os.chdir(sys.argv[1])
while True:
    try:
        os.symlink(sys.argv[2], "samples")
        os.unlink("samples")
    except OSError:
        os.path.lexists("samples") and os.unlink("samples")' "$DIR" "$device"
    for attempt in {1..40}; do
        ended=0
        log_stats -q --files 2 --json-samples "$DIR/samples" "$OTHER" >/dev/null 2>&1 || ended=$?
        [ "$ended" -le 1 ]
    done
    stop_attack
    cmp "$VICTIM" <(head -c 1M /dev/zero)
}

# bats test_tags=slow
@test "samples that cannot be written as a whole are not there at all" {
    local small=$BATS_TEST_TMPDIR/bound

    mkdir "$small"
    mount -t tmpfs -o size=8k none "$small"
    run -1 --separate-stderr log_stats -q --files 2000 --every 1 --json-samples "$small/samples" "$OTHER"
    [ "$stderr" = "ERROR: cannot write to '$small/samples': No space left on device" ] || fail "$stderr"
    nothing_left "$small"
    [[ $output == *"an fsync after every 1"* ]]
    # Each error is that of its file.
    run -1 --separate-stderr sh -c '"$@" >&-' sh "$FASTPATH" log-stats -q --files 2000 --every 1 \
        --json-samples "$small/samples" "$OTHER"
    [ "$stderr" = "ERROR: cannot write to '$small/samples': No space left on device
ERROR: cannot write to standard output: Bad file descriptor" ] || fail "$stderr"

    # A name that somebody takes meanwhile stays his.
    start_stopped "$OTHER" --json-samples "$DIR/samples"
    nothing_left "$DIR"
    as_nobody sh -c 'echo mine >"$1"' sh "$DIR/samples"
    go_on
    finish && fail "no error"
    [ "$(cat "$BATS_TEST_TMPDIR/stderr")" = "ERROR: cannot write to '$DIR/samples': File exists" ]
    [ "$(cat "$DIR/samples")" = mine ]
    [ "$(ls "$DIR")" = samples ]
}

# bats test_tags=slow
@test "SIGKILL leaves nothing of the samples, and nobody can move them meanwhile" {
    start_stopped "$OTHER" --json-samples "$DIR/samples"
    kill -KILL "$pid"
    finish || [ $? -eq 137 ]
    nothing_left "$DIR"

    start_stopped "$OTHER" --json-samples "$DIR/samples"
    as_nobody sh -c 'mv "$1"/* "$2"' sh "$DIR" "$MNT/home" || true
    go_on
    finish
    nothing_left "$MNT/home"
    [ "$(ls "$DIR")" = samples ]
    [ "$(wc -l <"$DIR/samples")" -eq 2 ]
}

# bats test_tags=slow
@test "samples in a directory that is moved or removed" {
    start_stopped "$OTHER" --json-samples "$DIR/samples"
    mv "$DIR" "$MNT/home/moved"
    as_nobody mkdir "$MNT/home/new"
    mv "$MNT/home/new" "$DIR"
    go_on
    finish
    nothing_left "$DIR"
    [ "$(ls "$MNT/home/moved")" = samples ]
    [ "$(wc -l <"$MNT/home/moved/samples")" -eq 2 ]

    start_stopped "$OTHER" --json-samples "$DIR/samples"
    rmdir "$DIR"
    go_on
    finish && fail "no error"
    [ "$(cat "$BATS_TEST_TMPDIR/stderr")" = "ERROR: cannot write to '$DIR/samples': No such file or directory" ]
}

# -- the folder --

@test "a folder that is renamed is removed under its new name" {
    start_stopped "$DIR"
    as_nobody mv "$DIR/$(folder)" "$DIR/renamed"
    go_on
    finish
    nothing_left "$DIR"
    [ ! -s "$BATS_TEST_TMPDIR/stderr" ]
}

# bats test_tags=slow
@test "a folder that is moved elsewhere, with another one in its place" {
    local name

    start_stopped "$DIR"
    name=$(folder)
    as_nobody mkdir -p "$OTHER/a/b" "$OTHER/a/b/empty"
    mv "$DIR/$name" "$OTHER/a/b/moved"
    as_nobody mkdir "$DIR/$name"
    go_on
    finish
    [ "$(ls "$OTHER/a/b")" = empty ]
    # That is somebody else's.
    [ -d "$DIR/$name" ]
    # and so after a signal
    rmdir "$DIR/$name"
    start_stopped "$DIR"
    mv "$DIR/$(folder)" "$OTHER/a/b/moved"
    kill -TERM "$pid"
    go_on
    finish || [ $? -eq 143 ]
    [ "$(ls "$OTHER/a/b")" = empty ]
}

@test "a folder that is moved out of reach is reported" {
    local bound=$BATS_TEST_TMPDIR/bound

    # Only what is under $DIR can be reached by this mount.
    mkdir "$bound"
    mount --bind "$DIR" "$bound"
    start_stopped "$bound"
    mv "$DIR/$(folder)" "$OTHER/moved"
    go_on
    finish && fail "no error"
    grep -qx "ERROR: cannot remove '$bound/btrfs-fastpath-log-stats.*': No such file or directory" \
        "$BATS_TEST_TMPDIR/stderr"
    grep -qx "ERROR: it is left behind as inode $(stat -c %i "$OTHER/moved")" "$BATS_TEST_TMPDIR/stderr"
    [ -z "$(ls "$OTHER/moved")" ]
}

# mark_as USER NAMESPACE FOLDER WHICH: with the mark that belongs to the folder WHICH
mark_as() {
    python3 -c 'import os, sys
os.setgroups([])
os.setresgid(*[int(sys.argv[1])] * 3)
os.setresuid(*[int(sys.argv[1])] * 3)
os.setxattr(sys.argv[3], sys.argv[2] + ".btrfs-fastpath.log-stats", sys.argv[4].encode())' \
        "${@:1:3}" "$(stat -c '%i %.9W' "$4")"
}

# expect_left_alone FOLDER REASON: log-stats warns of it, and removes nothing from it
expect_left_alone() {
    run -0 --separate-stderr log_stats --files 10 "$DIR"
    grep -qxF "WARNING: not removed, because it may not be from a killed run: '$1'" <<<"$stderr" ||
        fail "$2:" "$stderr"
    [ "$(ls "$1")" = "$(printf 'file_%d\n' 1 2 3)" ] || fail "$2:" "$(ls "$1")"
}

@test "a folder of root with a planted name and mark stays" {
    local bait=$DIR/bait left=$DIR/btrfs-fastpath-log-stats.00000000

    # For a while everybody may write there.
    mkdir "$bait"
    chmod 777 "$bait"
    as_nobody touch "$bait"/file_{1,2,3}
    mark_as 65534 user "$bait" "$bait"
    as_nobody mv "$bait" "$left"
    chmod 755 "$left"
    expect_left_alone "$left" "a mark that everybody could make"
    chmod 700 "$left"
    expect_left_alone "$left" "the same, and the right mode"

    # The mark of a folder that log-stats made, on another one, as copies have it.
    mark_as 0 trusted "$left" "$DIR"
    expect_left_alone "$left" "the mark of another inode"
    run -0 --separate-stderr log_stats -q --files 10 "$DIR"
    [ -z "$stderr" ]
}

@test "if root cannot make a mark, the remaining folder stays and is reported" {
    # trusted.* needs this capability, as in a container
    local left without_mark=(setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin)

    chown 0 "$DIR"
    "${without_mark[@]}" "$FASTPATH" log-stats -q --files 1000 --every 3 --interval 86400 "$DIR" 3>&- &
    pid=$!
    within 20 has_files 3
    kill -KILL "$pid"
    finish || [ $? -eq 137 ]
    left=$DIR/$(folder)
    expect_left_alone "$left" "the real root"
    run -0 --separate-stderr "${without_mark[@]}" "$FASTPATH" log-stats --files 10 "$DIR"
    [[ $stderr == *"WARNING: not removed, because it may not be from a killed run: '$left'"* ]]
    [ "$(ls "$left")" = "$(printf 'file_%d\n' 1 2 3)" ]
}

# bats test_tags=race
@test "folders that are renamed all the time are removed or reported" {
    local attempt left said=0

    attack '
os.chdir(sys.argv[1])
count = 0
while True:
    for name in os.listdir("."):
        count += 1
        try:
            os.rename(name, "%s/%d" % (sys.argv[2] if count % 3 == 0 else ".", count))
            if count % 5 == 0:
                os.mkdir(name)
        except OSError:
            pass' "$DIR" "$OTHER"
    for attempt in {1..30}; do
        log_stats -q --files 200 --every 50 "$DIR" >/dev/null 2>>"$BATS_TEST_TMPDIR/said" || {
            [ $? -eq 1 ]
            said=$((said + 1))
        }
    done
    stop_attack
    # Root's are what log-stats made; no file is left in any that it could open.
    left=$(find "$DIR" "$OTHER" -mindepth 1 -maxdepth 1 -uid 0 | wc -l)
    [ "$left" -le "$said" ] || fail "$left left, $said told:" "$(cat "$BATS_TEST_TMPDIR/said")"
    [ -z "$(find "$DIR" "$OTHER" -type f)" ]
}
