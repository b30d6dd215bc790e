#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Walks over directories whose owner renames and exchanges what is in them meanwhile.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load ../cli/environment.bash

COMMANDS=(fiemap-shared seek-map nocow-check)
# More than are read at once
MANY=5000
SOME=1000

setup_file() {
    mount_btrfs 1G noatime
    put_program_for_nobody
    cp "$top_builddir/tests/hostile/exchange-names" "$MNT"
}

# The opponent owns all of it.
setup() {
    chmod o+x "$BATS_TEST_TMPDIR"
    mkdir "$MNT/home" "$MNT/home/tree" "$MNT/home/elsewhere" "$MNT/writers"
    chown 65534:65534 "$MNT/home" "$MNT/home"/*
}

teardown() {
    local job

    for job in $(jobs -p); do
        kill "$job" 2>/dev/null || true
    done
    wait
    while mountpoint -q "$MNT/home/tree/mount"; do
        umount "$MNT/home/tree/mount"
    done
    rm -rf "${MNT:?}/home" "$MNT/writers"
}

# make_files DIR COUNT: tiny ones, which the opponent owns
make_files() {
    # shellcheck disable=SC2016 # bash expands it
    as_nobody bash -c 'mkdir -p "$1" && cd "$1" &&
        for ((number = 0; number < $2; number++)); do printf x >"$number"; done' bash "$1" "$2"
}

# make_bait DIR COUNT: files of the same names that no tiny file can be taken for
make_bait() {
    local number

    mkdir "$1"
    chattr +C "$1"
    for ((number = 0; number < $2; number++)); do
        fallocate -l 64K "$1/$number"
    done
    chown -R 65534:65534 "$1"
}

# make_traps DIR COUNT: FIFOs and devices of the same names; the devices have no driver
make_traps() {
    local number

    mkdir "$1"
    for ((number = 0; number < $2; number++)); do
        if ((number % 50 == 0)); then
            mkfifo "$1/$number"
        else
            mknod "$1/$number" c 240 0
        fi
    done
    chown -R 65534:65534 "$1"
}

# set_traps DIR: who opens a FIFO for reading lets a writer go on, which tells so in $SPRUNG. A writer may begin late,
# when the names in DIR are already exchanged, so it has the FIFO by a name of its own.
set_traps() {
    local fifo name

    SPRUNG=$BATS_TEST_TMPDIR/sprung
    : >"$SPRUNG"
    while read -r fifo; do
        name=$(mktemp -u "$MNT/writers/XXXXXX")
        ln "$fifo" "$name"
        (: >"$name" && echo "$fifo" >>"$SPRUNG") 3>&- &
    done < <(find "$1" -type p)
}

expect_no_trap_sprung() {
    [ ! -s "$SPRUNG" ] || fail "FIFOs were opened:" "$(head -n 5 "$SPRUNG")"
}

# opponent A B [MICROSECONDS]: exchanges the names until it is stopped, and rests that long at most
opponent() {
    # before anybody asks for its size
    : >"$BATS_TEST_TMPDIR/exchanges"
    (exec setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$MNT/exchange-names" "$MNT/home/$1" "$MNT/home/$2" "${3-0}") >>"$BATS_TEST_TMPDIR/exchanges" 3>&- &
    OPPONENT=$!
}

stop_opponent() {
    kill "$OPPONENT"
    wait "$OPPONENT" || fail "the opponent failed"
}

exchanges() {
    stat --format=%s "$BATS_TEST_TMPDIR/exchanges"
}

# against_opponent RUNS ACTION...: runs ACTION so often, and on until the opponent was busy meanwhile, or it proves
# nothing: on a busy machine it may wait for all of the first runs
against_opponent() {
    local runs=$1 number before

    shift
    before=$(exchanges)
    for ((number = 0; number < runs || $(exchanges) == before; number++)); do
        kill -0 "$OPPONENT" || fail "the opponent ended"
        "$@"
    done
}

# step_in COMMAND DIR ACTION...: runs ACTION while COMMAND, which is stopped for this, is in DIR and has
# read its first entries. With few descriptors no other thread reads ahead in DIR.
step_in() {
    local command=$1 directory=$2
    local pid waiter

    shift 2
    [ -p "$BATS_TEST_TMPDIR/stopped" ] || mkfifo "$BATS_TEST_TMPDIR/stopped"
    (
        ulimit -n 512
        exec "$top_builddir/tests/hostile/stop-in" "$directory" "$BATS_TEST_TMPDIR/stopped" \
            "$FASTPATH" --format json "$command" -r "$MNT/home/tree" ${OPTION:+"$OPTION"}
    ) >"$BATS_TEST_TMPDIR/report" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
    waiter=$!
    read -r pid <"$BATS_TEST_TMPDIR/stopped" || fail "$command was never in $directory"
    "$@"
    kill -CONT "$pid"
    status=0
    wait "$waiter" || status=$?
    output=$(<"$BATS_TEST_TMPDIR/report")
    stderr=$(<"$BATS_TEST_TMPDIR/errors")
}

# paths_of COMMAND: the last run's
paths_of() {
    jq -r ".\"$1\"[].path" <<<"$output"
}

# expect_no_bait COMMAND: nothing of the last run is of a file that make_bait() made
expect_no_bait() {
    local count

    count=$(json "[.\"$1\"[] | select((.total_bytes // 0) + (.size // 0) > 1 or
        (.inode_flags // [] | index(\"nodatacow\")))] | length")
    [ "$count" = 0 ] || fail "$1: $count files from outside"
}

# -- directories that are renamed --

move_away() {
    as_nobody mv "$MNT/home/tree/folder" "$MNT/home/elsewhere/moved"
}

move_back() {
    as_nobody mv "$MNT/home/elsewhere/moved" "$MNT/home/tree/folder"
}

# bats test_tags=slow
@test "a directory that is renamed while it is walked loses no file" {
    local command

    make_files "$MNT/home/tree/folder" $MANY
    for command in "${COMMANDS[@]}"; do
        step_in "$command" "$MNT/home/tree/folder" move_away
        move_back
        [ "$status" = 0 ]
        expect_json .total.file_count $MANY
        expect_json .total.vanished_count 0
        [ "$(paths_of "$command" | sort -u | wc -l)" = $MANY ]
        [ "$(paths_of "$command" | grep -c "^$MNT/home/tree/folder/[0-9]*$")" = $MANY ]
        [ -z "$stderr" ]
    done
}

# bats test_tags=slow
@test "--check finds the file at fault in a directory that was renamed" {
    make_files "$MNT/home/tree/folder" $MANY
    # two clones of a NOCOW file, the names that the walk comes to last
    chattr +C "$MNT/home/elsewhere"
    dd if=/dev/zero of="$MNT/home/elsewhere/first" bs=64k count=4 status=none
    cp --reflink=always "$MNT/home/elsewhere/first" "$MNT/home/elsewhere/second"
    mv "$MNT/home/elsewhere/first" "$MNT/home/elsewhere/second" "$MNT/home/tree/folder"
    sync -f "$MNT"
    run -64 "$FASTPATH" nocow-check -q --check -r "$MNT/home/tree"

    OPTION=--check step_in nocow-check "$MNT/home/tree/folder" move_away
    [ "$status" = 64 ]
    expect_json .total.file_count $((MANY + 2))
}

# -- directories and files that are exchanged --

# It goes into the one or the other.
walk_without_a_trap() {
    run -0 --separate-stderr "$FASTPATH" --format json "$1" -r "$MNT/home/tree"
    [ -z "$stderr" ] || fail "$stderr"
    [[ $(json .total.file_count) =~ ^(0|$SOME)$ ]] || fail "$(json .total)"
    expect_no_trap_sprung
}

# bats test_tags=slow
@test "a directory that is exchanged with one of devices and FIFOs opens none of them" {
    local command

    make_files "$MNT/home/tree/folder" $SOME
    make_traps "$MNT/home/elsewhere/traps" $SOME
    set_traps "$MNT/home/elsewhere/traps"
    opponent tree/folder elsewhere/traps
    for command in "${COMMANDS[@]}"; do
        against_opponent 3 walk_without_a_trap "$command"
    done
    stop_opponent
}

walk_without_the_bait() {
    run -0 "$FASTPATH" -q --format json "$1" -r "$MNT/home/tree"
    expect_no_bait "$1"
    found=$((found + $(json .total.file_count)))
}

# bats test_tags=slow
@test "a directory that is exchanged with a link does not lead out of the tree" {
    local command found

    make_files "$MNT/home/tree/folder" $SOME
    make_bait "$MNT/home/elsewhere/bait" $SOME
    as_nobody ln -s ../elsewhere/bait "$MNT/home/link"
    # Without a rest the list of names, which are new each time, lacks both most often.
    opponent tree/folder link 3000
    for command in "${COMMANDS[@]}"; do
        found=0
        against_opponent 40 walk_without_the_bait "$command"
        # A busy machine may exchange them during each of these.
        until [ "$found" -gt 0 ]; do
            walk_without_the_bait "$command"
        done
    done
    stop_opponent
}

# The other files are all there; that one is another file, vanished, or reported.
walk_over_the_exchanged_file() {
    local total

    run -0 --separate-stderr "$FASTPATH" --format json "$1" -r "$MNT/home/tree"
    [ -z "$stderr" ] || [[ $stderr = "WARNING: 1 file or directory was "* ]] || fail "$stderr"
    total=$(json .total.file_count)
    ((total == SOME - 1 || total == SOME)) || fail "$(json .total)"
    expect_no_bait "$1"
    expect_no_trap_sprung
}

# expect_no_exchanged_file_opened: of those in the tree
expect_no_exchanged_file_opened() {
    local command other

    make_bait "$MNT/home/elsewhere/bait" 1
    as_nobody mkfifo "$MNT/home/elsewhere/fifo"
    mknod "$MNT/home/elsewhere/device" c 240 0
    chown 65534:65534 "$MNT/home/elsewhere/device"
    as_nobody ln -s bait/0 "$MNT/home/elsewhere/link"
    for other in fifo device link; do
        set_traps "$MNT/home/elsewhere"
        opponent "tree/$((SOME - 1))" "elsewhere/$other"
        for command in "${COMMANDS[@]}"; do
            against_opponent 3 walk_over_the_exchanged_file "$command"
        done
        stop_opponent
    done
}

# bats test_tags=slow
@test "files that are exchanged with a FIFO, a device and a link are not opened" {
    make_files "$MNT/home/tree" $SOME
    expect_no_exchanged_file_opened
}

# They would be opened at once if nobody else could write there.
# bats test_tags=slow
@test "no more in a directory of root where everybody makes files of his own" {
    make_files "$MNT/home/tree" $SOME
    chown 0:0 "$MNT/home/tree"
    chmod 1777 "$MNT/home/tree"
    expect_no_exchanged_file_opened
}

@test "a mount point in a directory does not belong to the walk, be it of a file" {
    local command

    make_files "$MNT/home/tree" 3
    make_files "$MNT/home/tree/mount" 3
    make_bait "$MNT/home/elsewhere/bait" 2
    mount --bind "$MNT/home/elsewhere/bait" "$MNT/home/tree/mount"
    mount --bind "$MNT/home/elsewhere/bait/1" "$MNT/home/tree/2"
    for command in "${COMMANDS[@]}"; do
        run --separate-stderr "$FASTPATH" --format json "$command" -r "$MNT/home/tree"
        [ "$status" = 0 ] &&
            [ "$(json '.total | [.file_count, .vanished_count, .skipped_mount_count] | tojson')" = "[2,0,2]" ] &&
            [[ $stderr == "WARNING: 2 mount points of the same filesystem were not entered"* ]] ||
            { umount "$MNT/home/tree/2"; fail "$command: $output$stderr"; }
        expect_no_bait "$command"
    done
    umount "$MNT/home/tree/2"
}

@test "a directory mounted on itself is entered, and a mount of another file system is not counted" {
    local command

    make_files "$MNT/home/tree" 3
    make_files "$MNT/home/tree/mount" 3
    mkdir "$MNT/home/tree/other"
    mount -t tmpfs none "$MNT/home/tree/other"
    mount --bind "$MNT/home/tree/mount" "$MNT/home/tree/mount"
    for command in "${COMMANDS[@]}"; do
        run --separate-stderr "$FASTPATH" --format json "$command" -r "$MNT/home/tree"
        [ "$status" = 0 ] && [ -z "$stderr" ] &&
            [ "$(json '.total | [.file_count, .skipped_mount_count] | tojson')" = "[6,0]" ] ||
            { umount "$MNT/home/tree/other"; fail "$command: $output$stderr"; }
    done
    umount "$MNT/home/tree/other"
}

# -- deep trees --

# make_chain DIR DEPTH LENGTH FILES: directories in each other, whose names have so many bytes, and files in the last one
make_chain() {
    as_nobody /usr/bin/python3 - "$@" <<'PYTHON'
import os, sys
directory, depth, length, files = sys.argv[1], *map(int, sys.argv[2:])
os.makedirs(directory, exist_ok=True)
fd = os.open(directory, os.O_RDONLY)
for _ in range(depth):
    os.mkdir("d" * length, dir_fd=fd)
    below = os.open("d" * length, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
    os.close(fd)
    fd = below
for number in range(files):
    with open(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY, dir_fd=fd), "w") as file:
        file.write("x")
PYTHON
}

# in_little_memory COMMAND...: a sanitizer needs more
in_little_memory() {
    ! is_sanitized || { "$@"; return; }
    # shellcheck disable=SC2016 # for the other shell
    bash -c 'ulimit -v 400000; exec "$@"' bash "$@"
}

# bats test_tags=slow
@test "a deep tree of another user takes little memory, and is reported completely" {
    local arguments

    # the path of each file has 4.9 MB
    make_chain "$MNT/home/tree" 19000 255 2500
    for arguments in "fiemap-shared -s" "fiemap-shared -s --disk --freed" "fiemap-shared -s --owners" "nocow-check -s" \
        "fiemap-shared --top 2" "nocow-check --top 2"; do
        # shellcheck disable=SC2086 # words
        run -0 --separate-stderr in_little_memory "$FASTPATH" --format json $arguments -r "$MNT/home/tree"
        [ -z "$stderr" ] || fail "$arguments" "${stderr:0:500}"
        [ "$(jq .total.file_count <<<"$output")" -eq 2500 ] || fail "$arguments"
    done
    run -0 --separate-stderr in_little_memory "$FASTPATH" --format openmetrics seek-map -r "$MNT/home/tree"
    grep -qx 'btrfs_fastpath_seek_files 2500' <<<"$output" || fail "$output"
}

# bats test_tags=slow
@test "so do several deep trees" {
    local chain

    for chain in {1..8}; do
        make_chain "$MNT/home/tree/$chain" 4000 200 4
    done
    run -0 --separate-stderr in_little_memory "$FASTPATH" --format json fiemap-shared -s -r "$MNT/home/tree"
    expect_json .total.file_count 32
    run -0 --separate-stderr in_little_memory "$FASTPATH" fiemap-shared --sort path -r "$MNT/home/tree"
    [ -z "$stderr" ] || fail "${stderr:0:500}"
    [ "$(grep -c /f <<<"$output")" -eq 32 ]
    [ "$(grep /f <<<"$output" | sed 's/.* //' | LC_ALL=C sort -c 2>&1)" = "" ]
}

# bats test_tags=slow
@test "the files of a tree that is too deep are left out before the others" {
    local chain

    mkdir -p "$MNT/home/tree"
    for chain in {0..9}; do echo x >"$MNT/home/tree/short-$chain"; done
    for chain in deep-{1..3}; do
        make_chain "$MNT/home/tree/$chain" 70000 250 1
    done
    run -1 --separate-stderr in_little_memory "$FASTPATH" fiemap-shared --top 13 -r "$MNT/home/tree"
    [[ $stderr = "WARNING: "[123]" files are not printed: their paths have more than "* ]] || fail "${stderr:0:500}"
    [ "$(grep -c "$MNT/home/tree/short-[0-9]\$" <<<"$output")" -eq 10 ]
}

# Directories in each other, deeper than are open at the same time, and a file in each that comes after the next one
make_ladder() {
    as_nobody /usr/bin/python3 - "$1" "$2" <<'PYTHON'
import os, sys
path = sys.argv[1]
for number in range(int(sys.argv[2])):
    path += f"/{number}"
    os.makedirs(path)
while path != sys.argv[1]:
    with open(path + "/file", "w") as file:
        file.write("x")
    path = os.path.dirname(path)
PYTHON
}

# rung NUMBER: its path
rung() {
    local path=$MNT/home/tree number

    for ((number = 0; number <= $1; number++)); do path+=/$number; done
    echo "$path"
}

move_rungs() {
    local number

    for number in "$@"; do
        as_nobody mv "$(rung "$number")" "$MNT/home/elsewhere/"
    done
}

@test "a directory that is moved away while a deeper one is read loses no file" {
    local command

    for command in "${COMMANDS[@]}"; do
        make_ladder "$MNT/home/tree" 100
        step_in "$command" "$(rung 99)" move_rungs 40
        [ "$status" = 0 ] || fail "$stderr"
        [ -z "$stderr" ] || fail "$stderr"
        expect_json .total.file_count 100
        [ "$(paths_of "$command" | sort -u | wc -l)" = 100 ]
        rm -rf "$MNT/home/tree/0" "$MNT/home/elsewhere/40"
    done
}

# The 40th was in the 20th, which was moved, too.
@test "a directory that cannot be found again is an error, and the rest is reported" {
    local command

    for command in "${COMMANDS[@]}"; do
        make_ladder "$MNT/home/tree" 100
        step_in "$command" "$(rung 99)" move_rungs 40 20
        [ "$status" = 1 ]
        [ "$stderr" = "ERROR: moved during the walk, and not examined completely: '$(rung 20)'" ] || fail "$stderr"
        expect_json .total.file_count 80
        rm -rf "$MNT/home/tree/0" "$MNT/home/elsewhere/"{20,40}
    done
}

# A copy of the ladder below the moved rung, by links and by directories
put_copy() {
    move_rungs 40
    as_nobody mv "$(rung 20)" "$MNT/home/elsewhere/"
    "$@"
}

link_rung() {
    as_nobody ln -s "$MNT/home/elsewhere/20" "$(rung 20)"
}

copy_rung() {
    as_nobody cp -r "$MNT/home/elsewhere/20" "$(rung 20)"
}

# bats test_tags=slow
@test "the replacement of a moved directory is not examined" {
    local command how

    for command in "${COMMANDS[@]}"; do
        for how in link_rung copy_rung; do
            make_ladder "$MNT/home/tree" 100
            step_in "$command" "$(rung 99)" put_copy "$how"
            [ "$status" = 1 ]
            [ "$stderr" = "ERROR: moved during the walk, and not examined completely: '$(rung 20)'" ] || fail "$stderr"
            # the copy is a directory of its own, which was made in the meantime
            expect_json .total.file_count "$([ "$how" = link_rung ] && echo 80 || echo 100)"
            rm -rf "$MNT/home/tree/0" "$MNT/home/elsewhere/"{20,40}
        done
    done
}

# -- files that another user has a lease on --

# lease MODE FILE...: as their owner, until it is stopped; "release" gives the first ones up when asked to
lease() {
    rm -f "$BATS_TEST_TMPDIR/leases"
    (exec setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 - "$@") \
        >"$BATS_TEST_TMPDIR/leases" 3>&- <<'PYTHON' &
import fcntl, os, signal, sys, time
files = [os.open(path, os.O_RDWR) for path in sys.argv[2:]]
asked = 0
def release(*_):
    global asked
    asked += 1
signal.signal(signal.SIGIO, release)
for fd in files:
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("ready", flush=True)
while True:
    time.sleep(0.3)
    if asked and sys.argv[1] == "release":
        while files:
            os.close(files.pop())
PYTHON
    HOLDER=$!
    until [ -s "$BATS_TEST_TMPDIR/leases" ]; do
        kill -0 "$HOLDER" || fail "no lease"
        sleep 0.05
    done
}

end_lease() {
    kill "$HOLDER"
    wait "$HOLDER" || true
}

# bats test_tags=slow
@test "files with a lease are examined at the end, when it is given up" {
    local arguments files=()

    make_files "$MNT/home/tree" 300
    make_files "$MNT/home/tree/folder" 20
    mapfile -t files < <(printf '%s\n' "$MNT/home/tree/"{7,150,299} "$MNT/home/tree/folder/"{0..19})
    for arguments in "fiemap-shared" "fiemap-shared --extents" "fiemap-shared --sort path" "nocow-check" "seek-map"; do
        lease release "${files[@]}"
        # shellcheck disable=SC2086 # words
        run -0 --separate-stderr "$FASTPATH" --format json $arguments -r "$MNT/home/tree"
        [ -z "$stderr" ] || fail "$stderr"
        expect_json .total.file_count 320
        [ "$(paths_of "${arguments%% *}" | sort -u | wc -l)" = 320 ]
        end_lease
    done
    lease release "$MNT/home/tree/1"
    run -0 --separate-stderr "$FASTPATH" seek-map -s "$MNT/home/tree/1"
    end_lease
    lease release "$MNT/home/tree/1"
    run -0 --separate-stderr "$FASTPATH" status "$MNT/home/tree/1"
    end_lease
}

@test "more files with a lease than descriptors" {
    local i files=()

    for ((i = 0; i < 200; i++)); do
        files+=("$MNT/home/tree/leased-$i")
        as_nobody sh -c "echo data >'${files[i]}'"
    done
    lease release "${files[@]}"
    run -0 --separate-stderr bash -c "ulimit -n 256; '$FASTPATH' --format json fiemap-shared -rs '$MNT/home/tree'"
    end_lease
    [ "$(json .total.file_count)" -ge 200 ]
    rm "${files[@]}"
}

# A file with the time after which the kernel ends a lease, which is not shorter for that
with_lease_time() {
    echo "$1" >"$BATS_TEST_TMPDIR/lease-time"
    # shellcheck disable=SC2016 # for the other shell
    unshare --mount sh -c 'mount --bind "$0" /proc/sys/fs/lease-break-time && exec "$@"' "$BATS_TEST_TMPDIR/lease-time" "${@:2}"
}

# bats test_tags=slow
@test "a lease that nobody ends is an error, after the rest" {
    local command

    make_files "$MNT/home/tree" 300
    lease keep "$MNT/home/tree/7" "$MNT/home/tree/150"
    for command in "${COMMANDS[@]}"; do
        run -1 --separate-stderr with_lease_time 1 timeout 30 "$FASTPATH" --format json "$command" -r "$MNT/home/tree"
        expect_json .total.file_count 298
        [ "$stderr" = "ERROR: cannot open, because of another process' lease: '$MNT/home/tree/7'
ERROR: cannot open, because of another process' lease: '$MNT/home/tree/150'" ] || fail "$stderr"
    done
    end_lease
}

# -- what vanishes --

empty_folder() {
    as_nobody find "$MNT/home/tree/folder" -type f -delete
}

@test "vanished files are counted and reported, and are no error" {
    local command vanished

    for command in "${COMMANDS[@]}"; do
        make_files "$MNT/home/tree/folder" $MANY
        step_in "$command" "$MNT/home/tree/folder" empty_folder
        [ "$status" = 0 ]
        vanished=$(json .total.vanished_count)
        [ "$vanished" -gt 0 ]
        [ $(($(json .total.file_count) + vanished)) -le $MANY ]
        [ "$stderr" = "WARNING: $vanished files or directories were deleted, renamed or replaced\
 before they could be examined" ]
    done
}

remove_folders() {
    as_nobody rm -r "$MNT/home/tree/"*
}

# bats test_tags=slow
@test "a directory that vanished is counted, too" {
    local command directory

    for command in "${COMMANDS[@]}"; do
        for directory in {1..50}; do
            make_files "$MNT/home/tree/folder-$directory" 400
        done
        # the entries of the tree were all read at once
        step_in "$command" "$MNT/home/tree/folder-*" remove_folders
        [ "$status" = 0 ]
        [ "$(json .total.vanished_count)" -ge 49 ]
    done
}

# -- without what the walk would like to have --

@test "without /proc a walk reports all the same" {
    local command

    skip_if_it_needs_proc
    make_files "$MNT/home/tree/folder" $SOME
    for command in "${COMMANDS[@]}"; do
        run -0 --separate-stderr without_proc "$FASTPATH" --format json "$command" -r "$MNT/home/tree" "$MNT/home/tree/folder/1"
        expect_json .total.file_count $SOME
        [ -z "$stderr" ]
    done
}

# bats test_tags=slow
@test "more directories than a process may have descriptors" {
    local command

    as_nobody bash -c "for ((i = 0; i < 3000; i++)); do mkdir '$MNT/home/tree/'\$i; \
        echo x >'$MNT/home/tree/'\$i/file; done"
    for command in "${COMMANDS[@]}"; do
        run -0 --separate-stderr bash -c "ulimit -n 1024; '$FASTPATH' --format json $command -r '$MNT/home/tree'"
        expect_json .total.file_count 3000
        run -0 --separate-stderr bash -c "ulimit -n 1024; find '$MNT/home/tree' -type f -print0 |
            '$FASTPATH' --format json $command --files0-from=-"
        expect_json .total.file_count 3000
    done
}

# -- lists of paths --

@test "a list that cannot be read: an error, and JSON as without any file" {
    local command list keys

    make_files "$MNT/home/tree" 1
    for command in "${COMMANDS[@]}"; do
        run -0 "$FASTPATH" --format json "$command" --files0-from /dev/null
        keys=$(json '[paths | map(tostring) | join(".")] | tojson')
        for list in "$MNT/missing" "$MNT" "$MNT/home/tree/0/below"; do
            run -1 --separate-stderr "$FASTPATH" --format json "$command" --files0-from "$list"
            [[ $stderr = "ERROR: cannot read the paths from '$list': "* ]]
            [ "${#stderr_lines[@]}" = 1 ]
            expect_json '[paths | map(tostring) | join(".")] | tojson' "$keys"
            expect_json ".\"$command\" | length" 0
            expect_json .total.file_count 0
        done
    done
}

# bats test_tags=slow
@test "a FIFO that nobody writes to, as the list, can be interrupted" {
    local command

    mkfifo "$MNT/home/elsewhere/list"
    for command in "${COMMANDS[@]}"; do
        run -124 timeout --signal=TERM --kill-after=20 1 \
            "$FASTPATH" "$command" --files0-from "$MNT/home/elsewhere/list"
    done
}
