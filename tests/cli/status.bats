#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# status: what it reports about the running kernel, compared with the kernel and the script.
# shellcheck disable=SC2016,SC2030,SC2031 # $ is jq's; each test has a subshell

bats_require_minimum_version 1.5.0
load environment.bash

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}" "${top_builddir:=$PWD}"
FEATURES=$(awk -F '\t' 'NR > 1 && !seen[$1]++ { print $1 }' "$top_srcdir/kernel/STATUS.tsv" | paste -s -d ' ')

setup_file() {
    mount_btrfs 256M
    put_program_for_nobody
}

status_json() {
    run --separate-stderr "$FASTPATH" --format json status "$@"
}

@test "every feature of STATUS.tsv, in its order, with its release" {
    status_json
    [ "$status" -eq 0 ]
    diff <(json '.status.features[] | "\(.feature) \(.mainline)"') \
        <(awk -F '\t' 'NR > 1 && !seen[$1]++ { print $1, $4 }' "$top_srcdir/kernel/STATUS.tsv")
    [ "$(json '[.status.features[].feature] | join(" ")')" = "$FEATURES" ]
    [ "$(json .status.release)" = "$(uname -r)" ]
}

@test "text and JSON agree" {
    local feature

    status_json
    [ "$status" -eq 0 ]
    declare -A state
    for feature in $FEATURES; do
        state[$feature]=$(json ".status.features[] | select(.feature == \"$feature\").state")
    done
    run --separate-stderr "$FASTPATH" status
    [ "$status" -eq 0 ]
    expect_line "Kernel: $(uname -r)"
    for feature in $FEATURES; do
        expect_line "$feature +${state[$feature]} +[0-9.]+ +.*"
    done
}

# bats test_tags=slow
@test "the script of the source tree agrees" {
    local feature

    status_json
    for feature in $FEATURES; do
        [ "$(json ".status.features[] | select(.feature == \"$feature\").state")" = \
            "$("$top_srcdir/kernel/scripts/status" --kernel |
                awk -F '\t' -v feature="$feature" '$1 == feature { print $2 }')" ]
    done
}

@test "the state follows from the evidence" {
    status_json
    if [ -e /sys/fs/btrfs/features/fastpath ]; then
        expect_json '[.status.features[].evidence] | unique | join(" ")' feature-list
    else
        # Of symbols there may be some, but nothing certain.
        expect_json '[.status.features[] | select(.evidence == "feature-list")] | length' 0
        expect_json '[.status.features[] | select((.evidence == "symbol") != (.symbol != null))] | length' 0
    fi
}

@test "features from the kernel's list, including improved ones" {
    run -0 --separate-stderr with_feature_list "$IMPROVED_LIST something:improved" "$FASTPATH" --format json status --check
    expect_json '[.status.features[].state] | join(" ")' "improved improved improved present present"
    expect_json '[.status.features[].evidence] | unique | join(" ")' feature-list
    run -0 --separate-stderr with_feature_list "$IMPROVED_LIST" "$FASTPATH" --format ndjson status
    [ "$(jq -r '[.status.features[].state] | unique | join(" ")' <<<"$output")" = "improved present" ] || fail "$output"
    run -0 --separate-stderr with_feature_list "$IMPROVED_LIST" "$FASTPATH" status
    expect_line 'log-dir +improved +6[.]4 +listed by the kernel'
    expect_line 'send-reada +present +5[.]15 +listed by the kernel'

    run -64 --separate-stderr with_feature_list "log-dir log-dir:improved seek-cache" "$FASTPATH" status --check
    expect_line 'log-dir +improved +6[.]4 +listed by the kernel'
    expect_line 'seek-cache +present +6[.]2 +listed by the kernel'
    expect_line 'nocow-csum +absent +6[.]10 +not listed by the kernel'
}

@test "the script of the source tree agrees on a list" {
    local list states

    for list in "$IMPROVED_LIST" "log-dir log-dir:improved seek-cache log-dir:faster" "log-dir:improved" "xlog-dir:improved"; do
        states=$(with_feature_list "$list" "$FASTPATH" --format json status | jq -r '.status.features[] | .feature + " " + .state')
        [ "$(with_feature_list "$list" "$top_srcdir/kernel/scripts/status" --kernel |
            awk -F '\t' 'NF == 4 && $1 != "Feature" { print $1, $2 }')" = "$states" ] || fail "$list:" "$states"
    done
}

# with_symbols LINES COMMAND...: as on a kernel that has these symbols
with_symbols() {
    printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/kallsyms"
    # shellcheck disable=SC2016 # for the other shell
    unshare --mount sh -c 'mount --bind "$1" /proc/kallsyms && shift && exec "$@"' sh "$BATS_TEST_TMPDIR/kallsyms" "${@:2}"
}

@test "features from the kernel's symbols, and the script agrees" {
    local row feature symbol state

    [ ! -e /sys/fs/btrfs/features/fastpath ] || skip "this kernel lists its features"
    while IFS=$'\t' read -r row symbol; do
        feature=${row%:improved} state=present
        [ "$feature" = "$row" ] || state=improved
        run -0 --separate-stderr with_symbols "0000000000000000 t $symbol	[btrfs]" "$FASTPATH" --format json status
        expect_json ".status.features[] | select(.feature == \"$feature\") | [.state, .evidence, .symbol] | join(\" \")" \
            "$state symbol $symbol"
        expect_json '[.status.features[] | select(.symbol)] | length' 1
        run -0 with_symbols "0000000000000000 t $symbol	[btrfs]" "$top_srcdir/kernel/scripts/status" --kernel
        expect_line "$feature	$state	kernel symbol $symbol	.*"
        [ "$(grep -c 'kernel symbol' <<<"$output")" -eq 1 ] || fail "$output"
    done < <(tail -n +2 "$top_srcdir/kernel/SYMBOLS.tsv")
}

# with_uname26 COMMAND...: with the release of a kernel of the past
with_uname26() {
    setarch --uname-2.6 "$@"
}

@test "an old release has no feature, marks this as inferred, and fails --check" {
    [ ! -e /sys/fs/btrfs/features/fastpath ] || skip "this kernel lists its features"
    # Any kernel pretends to be a 2.6 then.
    run --separate-stderr with_uname26 "$FASTPATH" --format json status --check
    [ "$status" -eq 64 ]
    expect_json '[.status.features[].state] | unique | join(" ")' absent
    expect_json '[.status.features[].evidence] | unique | join(" ")' release
    run --separate-stderr with_uname26 "$FASTPATH" status
    [ "$status" -eq 0 ]
    expect_line "log-dir +absent +6\.4 +inferred from the release"
}

# with_release RELEASE ARGUMENT...: what status says on a kernel that calls itself RELEASE
with_release() {
    RELEASE=$1 "$top_builddir/tests/cli/other-release-status" "${@:2}"
}

@test "--check of an unknown release is an error, unless a feature is absent" {
    [ ! -e /sys/fs/btrfs/features/fastpath ] || skip "this kernel lists its features"
    run --separate-stderr with_release custom --format json status
    [ "$status" -eq 0 ]
    expect_json .status.release custom
    expect_json '[.status.features[] | select(.state == "unknown")] | length > 0' true
    expect_json '[.status.features[] | select(.state == "absent")] | length' 0
    run --separate-stderr with_release custom status --check
    [ "$status" -eq 1 ] || fail "status $status"
    [ "$stderr" = "ERROR: cannot determine the features of the kernel" ] || fail "$stderr"
    expect_line "log-dir +(unknown|present) .*"

    # an error weighs more than what is found
    run --separate-stderr with_release 6.3.1 status --check "$MNT/missing"
    [ "$status" -eq 1 ] || fail "status $status"

    # some of them, and all of them
    run --separate-stderr with_release 6.3.1 status --check
    [ "$status" -eq 64 ] || fail "status $status"
    run --separate-stderr with_release 99.0 status --check
    [ "$status" -eq 0 ] || fail "status $status"
}

# expect_advice RELEASE STATE LAST-LINE...: whatever this kernel's symbols prove
expect_advice() {
    run -0 --separate-stderr with_release "$1" status
    [ "$(tail -n $(($# - 2)) <<<"$output")" = "$(printf '%s\n' "${@:3}")" ] || fail "$output"
    run -0 --separate-stderr with_release "$1" --format json status
    expect_json .status.advice.state "$2"
}

@test "it ends with what to do" {
    local where="(see btrfs-fastpath-kernel(7))"

    [ ! -e /sys/fs/btrfs/features/fastpath ] || skip "this kernel lists its features"
    ! grep -qwf <(tail -n +2 "$top_srcdir/kernel/SYMBOLS.tsv" | cut -f 2) /proc/kallsyms || skip "this kernel knows them all"
    expect_advice 6.18.1 complete "No feature is missing: this kernel has all 5"
    expect_advice 6.5.0 absent "What to do: Linux 6.10 and later have all 5 features"
    expect_json '.status.advice | [.absent[], .mainline, .patches_bring[]] | join(" ")' 'nocow-csum 6.10'
    expect_advice 6.1.0-37-amd64 absent "What to do: Linux 6.10 and later have all 5 features" \
        "The patches fix bugs that lose data $where" \
        "The patches bring to this kernel: fiemap-leaf,seek-cache,log-dir,nocow-csum $where"
    expect_advice 7.3.4 complete "No feature is missing: this kernel has all 5" \
        "The patches fix bugs that lose data $where" \
        "The patches make faster: fiemap-leaf,seek-cache,log-dir $where"
    expect_advice custom unknown "What to do: measure what is unknown with --measure DIR"
}

@test "the patches that it advises are those of the series" {
    local base wanted

    [ ! -e /sys/fs/btrfs/features/fastpath ] || skip "this kernel lists its features"
    while read -r base; do
        run -0 --separate-stderr with_release "$base.1" --format json status
        wanted=$(awk -F '\t' -v base="$base" '$2 == base && $3 ~ /^(carried|improved)$/ { print $1 }' "$top_srcdir/kernel/STATUS.tsv")
        # Symbols of this kernel can prove that it has some of them.
        diff <(json '.status | .advice as $advice | .features[] | select(.evidence == "release") | .feature |
            select(IN(($advice.patches_bring + $advice.patches_improve)[]))') \
            <(json '.status.features[] | select(.evidence == "release").feature' | grep -xF "$wanted")
    done < <(tail -n +2 "$top_srcdir/kernel/STATUS.tsv" | cut -f 2 | sort -u)
}

@test "--check passes where all are there" {
    status_json --check
    if [ "$(json '[.status.features[].state] | all(IN("present", "improved"))')" = true ]; then
        [ "$status" -eq 0 ]
    else
        [ "$status" -eq 64 ]
    fi
}

# expect_plugin STATUS LINE COMMAND...: the line of a monitoring plugin before its performance data
expect_plugin() {
    run "-$1" --separate-stderr "${@:3}"
    [ "${output%% |*}" = "$2" ] || fail "$output"
    [ "${#lines[@]}" -eq 1 ] || fail "$output"
}

@test "a monitoring plugin: present, absent, unknown and errors" {
    expect_plugin 0 "STATUS OK - the check passed" with_feature_list "$IMPROVED_LIST" "$FASTPATH" --format nagios status
    [[ $output == *" 'btrfs_fastpath_feature_present{feature:log-dir}'=1;;;0;"* ]] || fail "$output"
    expect_plugin 2 "STATUS CRITICAL - a feature is absent" with_feature_list log-dir "$FASTPATH" --format nagios status --check "$MNT"
    [[ $output == *" 'btrfs_fastpath_feature_present{feature:nocow-csum}'=0;;;0;"* ]] || fail "$output"
    expect_plugin 3 "STATUS UNKNOWN - cannot open '$MNT/a/b': No such file or directory" \
        "$FASTPATH" status --format=nagios "$MNT/a|b"
    expect_plugin 3 "STATUS UNKNOWN - invalid arguments" "$FASTPATH" status --nonsense --format nagios
    # shellcheck disable=SC2016 # for the other shell
    run -3 --separate-stderr sh -c '"$1" --format nagios status >/dev/full' sh "$FASTPATH"
    [ -e /sys/fs/btrfs/features/fastpath ] ||
        expect_plugin 3 "STATUS UNKNOWN - cannot determine the features of the kernel" with_release custom --format nagios status
}

@test "counters of a file system" {
    status_json "$MNT"
    [ "$status" -eq 0 ]
    expect_json .status.path "$MNT"
    if [ -e "/sys/fs/btrfs/$(findmnt -n -o UUID "$MNT")/fastpath_stats" ]; then
        expect_json '.status.counters | type' object
    else
        expect_json .status.counters null
        run --separate-stderr "$FASTPATH" status "$MNT"
        expect_line "Counters: '$MNT': this kernel has no counters"
    fi
}

@test "paths that are on no btrfs" {
    local path

    mkfifo "$BATS_TEST_TMPDIR/fifo"
    for path in /proc "$BATS_TEST_TMPDIR/fifo"; do
        run -1 --separate-stderr timeout -s KILL 20 "$FASTPATH" status "$path"
        # shellcheck disable=SC2154 # bats' run sets it
        [ "$stderr" = "ERROR: not a btrfs filesystem: '$path'" ] || fail "$stderr"
        refuse_line 'Counters: .*'
    done
    run -1 --separate-stderr "$FASTPATH" status "$MNT/missing"
    [ "$stderr" = "ERROR: cannot open '$MNT/missing': No such file or directory" ] || fail "$stderr"
    expect_line 'Kernel: .*'
}

@test "a file on btrfs stands for its file system" {
    echo data >"$MNT/file"
    run -0 --separate-stderr "$FASTPATH" status "$MNT/file"
    expect_line "Counters: '$MNT/file'.*"
    rm "$MNT/file"
}

@test "paths that are neither directory nor regular file are not opened" {
    local path opener

    mkfifo "$MNT/fifo"
    mknod "$MNT/device" c 240 0
    ln -s fifo "$MNT/link"
    # The writer waits until a reader opens it.
    (: >"$MNT/fifo" && touch "$BATS_TEST_TMPDIR/opened") 3>&- &
    opener=$!
    for path in fifo device link; do
        run -1 --separate-stderr timeout -s KILL 20 "$FASTPATH" status "$MNT/$path"
        [ "$stderr" = "ERROR: not a regular file: '$MNT/$path'" ] || fail "$stderr"
        expect_line 'Kernel: .*'
    done
    kill -0 "$opener" && [ ! -e "$BATS_TEST_TMPDIR/opened" ] || fail "the FIFO was opened"
    kill "$opener"
    rm "$MNT/fifo" "$MNT/device" "$MNT/link"
}

# -- what is measured --

# folder_with [OWNER]: a test that failed leaves what it had
folder_with() {
    rm -rf "$MNT/folder"
    mkdir "$MNT/folder"
    [ -z "${1-}" ] || chown "$1" "$MNT/folder"
}

# A loop device is freed in the background.
expect_no_loops() {
    local attempt

    for ((attempt = 0; attempt < 100; attempt++)); do
        [ -n "$(loops_below "$MNT/folder")" ] || return 0
        sleep 0.1
    done
    fail "left behind:" "$(loops_below "$MNT/folder")"
}

expect_nothing_left() {
    [ -z "$(ls -A "$MNT/folder")" ] || fail "left behind:" "$(ls -A "$MNT/folder")"
    rmdir "$MNT/folder"
}

# bats test_tags=slow
@test "--measure: every feature is seen at work, and nothing is left" {
    local verdicts

    folder_with
    status_json -q --measure "$MNT/folder"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    expect_json '.status.measured.directory' "$MNT/folder"
    expect_json '[.status.measured.features[] | select(.cost != null).feature] | join(" ")' "$FEATURES"
    expect_json '[.status.measured.features[] | select(.not_measured).feature] | length' 0
    expect_json '[.status.measured.features[].unit] | join(" ")' "ns ns ns bytes ns"
    # The ratio is of the two, and the verdict follows from the bounds; one that is clear is a state's evidence.
    # Somebody's sync can come between each time: then nothing can be said.
    verdicts='.status.measured.features[] |
        (if .reference == 0 then 0 else (.cost * 100 / .reference | floor) end) == .ratio_percent and
        .verdict == (if .reference == 0 and .feature == "log-dir" then "unclear" elif .ratio_percent < .present_below_percent then
                       (if .improvement.reference != null and .improvement.ratio_percent < .improvement.improved_below_percent
                        then "improved" else "present" end)
                     elif .ratio_percent > .absent_above_percent then "absent" else "unclear" end)'
    expect_json "[$verdicts] | all" true
    # One feature has a second comparison, which is made where the feature is seen.
    expect_json '[.status.measured.features[] | select(.improvement).feature] | join(" ")' seek-cache
    expect_json '.status.measured.features[] | select(.improvement) | .improvement.reference == null or
        (.verdict | IN("present", "improved")) and
        (.improvement | (.cost * 100 / .reference | floor) == .ratio_percent)' true
    # A kernel without patches takes longer for a call if there is more dirty data.
    [ -e /sys/fs/btrfs/features/fastpath ] ||
        expect_json '[.status.measured.features[].verdict | select(. == "improved")] | length' 0
    if [ ! -e /sys/fs/btrfs/features/fastpath ]; then
        # shellcheck disable=SC2016 # jq's variables
        expect_json '[.status.features[] | select(.evidence == "measurement").feature] as $measured |
            [.status.measured.features[] | select(.verdict | IN("present", "improved", "absent")).feature] == $measured' true
    fi
    expect_nothing_left
}

# bats test_tags=slow
@test "--measure announces its work, and three features need no privilege" {
    folder_with 65534
    run --separate-stderr as_nobody "$MNT/program" status --measure "$MNT/folder"
    [ "$status" -eq 0 ]
    [ "$stderr" = "WARNING: creating some thousand temporary files and subvolumes in '$MNT/folder'" ] || fail "$stderr"
    expect_line "Measured: '$MNT/folder'"
    expect_line 'fiemap-leaf +[0-9.]+ +<[0-9.]+ +>[0-9.]+ +- +- (present|absent|unclear)'
    expect_line 'seek-cache +[0-9.]+ +<[0-9.]+ +>[0-9.]+ +([0-9.]+|-) +<2[.]00 (present|improved|absent|unclear)'
    expect_line 'seek-cache, 2nd ratio: seeks among 128 pieces of dirty data, against 32'
    expect_line 'fiemap-leaf: whether extents are shared, against mapping them'
    [ "$(grep -v "^Measured: " <<<"$output" | wc -L)" -le 80 ]
    expect_line 'Not measured: send-reada: mounting an image requires root'
    expect_line 'Not measured: nocow-csum: mounting an image requires root'
    run --separate-stderr as_nobody "$MNT/program" -q --format json status --measure "$MNT/folder"
    expect_json '[.status.measured.features[] | select(.not_measured).feature] | join(" ")' "send-reada nocow-csum"
    expect_json '[.status.measured.features[] | select(.not_measured) | .cost, .verdict] | unique | tostring' '[null]'
    expect_nothing_left
}

@test "--measure without CAP_SYS_ADMIN names what needs no privilege" {
    folder_with 65534
    run -1 --separate-stderr setpriv --bounding-set=-sys_admin "$FASTPATH" -q status --measure "$MNT/folder"
    [ "$(grep -c '^ERROR: cannot measure .* (CAP_SYS_ADMIN is required)$' <<<"$stderr")" -eq 5 ] || fail "$stderr"
    [[ $stderr == *$'\n'"These can be measured without privilege: fiemap-leaf, seek-cache, log-dir" ]] || fail "$stderr"
    # and so does root where no other user can exchange files
    chown 0:0 "$MNT/folder"
    run -1 --separate-stderr setpriv --bounding-set=-sys_admin "$FASTPATH" -q --format json status --measure "$MNT/folder"
    expect_json '[.status.measured.features[] | select(.cost != null).feature] | join(" ")' "fiemap-leaf seek-cache log-dir"
    expect_nothing_left
}

# loops_below FOLDER: the loop devices whose files are in there, with a name or without
loops_below() {
    losetup -n -O NAME,BACK-FILE | awk -v folder="$1/" 'index($2, folder) == 1'
}

# bats test_tags=slow
@test "--measure mounts where nobody sees it, and works for a path from here" {
    local pid

    folder_with
    cd "$MNT"
    "$FASTPATH" status --measure folder >"$BATS_TEST_TMPDIR/output" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        loops_below "$MNT/folder" >>"$BATS_TEST_TMPDIR/loops"
        if grep -F "$MNT/folder" /proc/self/mountinfo; then fail "a mount is seen"; fi
        [ -z "$(ls -A "$MNT/folder")" ] || fail "a name is seen:" "$(ls -A "$MNT/folder")"
        sleep 0.02
    done
    wait "$pid"
    output=$(cat "$BATS_TEST_TMPDIR/output")
    [ "$(cat "$BATS_TEST_TMPDIR/errors")" = \
        "WARNING: creating an image with some thousand temporary files and subvolumes in 'folder'" ]
    expect_line 'nocow-csum +[0-9.]+ +<[0-9.]+ .*'
    # There was one indeed.
    [ -s "$BATS_TEST_TMPDIR/loops" ]
    expect_no_loops
    expect_nothing_left
}

@test "--measure without mkfs.btrfs: the others are measured, and it is an error" {
    folder_with
    run --separate-stderr env PATH=/nowhere "$FASTPATH" -q --format json status --measure "$MNT/folder"
    [ "$status" -eq 1 ]
    [[ $stderr == "ERROR: cannot measure send-reada in '$MNT/folder': cannot find mkfs.btrfs: not installed"* ]] || fail "$stderr"
    expect_json '[.status.measured.features[] | select(.cost != null).feature] | join(" ")' \
        "fiemap-leaf seek-cache log-dir"
    expect_nothing_left
}

@test "--measure leaves nothing on a full file system" {
    truncate -s 120M "$BATS_TEST_TMPDIR/image"
    mkfs.btrfs -q "$BATS_TEST_TMPDIR/image" >/dev/null
    mkdir "$BATS_TEST_TMPDIR/mnt"
    mount -o loop "$BATS_TEST_TMPDIR/image" "$BATS_TEST_TMPDIR/mnt"
    dd if=/dev/zero of="$BATS_TEST_TMPDIR/mnt/filler" bs=1M status=none 2>/dev/null || true
    sync "$BATS_TEST_TMPDIR/mnt"
    mkdir "$BATS_TEST_TMPDIR/mnt/folder" || true
    status_json -q --measure "$BATS_TEST_TMPDIR/mnt/folder"
    ls -A "$BATS_TEST_TMPDIR/mnt/folder" >"$BATS_TEST_TMPDIR/left"
    umount "$BATS_TEST_TMPDIR/mnt"
    [ "$status" -eq 1 ]
    [[ $stderr == *"ERROR: cannot measure nocow-csum in "* ]] || fail "$stderr"
    [ ! -s "$BATS_TEST_TMPDIR/left" ] || fail "left behind:" "$(cat "$BATS_TEST_TMPDIR/left")"
}

# bats test_tags=slow
@test "--measure leaves nothing after a signal" {
    local pid status signal delay

    for signal in INT TERM; do
        for delay in 0.05 0.5 1 1.5 2 3; do
            folder_with
            env --default-signal=INT "$FASTPATH" -q status --measure "$MNT/folder" >/dev/null 3>&- &
            pid=$!
            sleep "$delay"
            kill -"$signal" "$pid" 2>/dev/null || true
            status=0
            wait "$pid" || status=$?
            # If it was faster than the signal, that is no failure either.
            [ "$status" -eq 0 ] || [ "$status" -gt 128 ] || fail "status $status"
            expect_no_loops
            expect_nothing_left
        done
    done
}

@test "--measure where it cannot" {
    status_json -q --measure "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    [ "$stderr" = "ERROR: not a btrfs filesystem: '$BATS_TEST_TMPDIR'" ]
    expect_json '[.status.measured.features[].verdict] | unique | tostring' '[null]'
    run -1 --separate-stderr "$FASTPATH" status --measure "$BATS_TEST_TMPDIR"
    [[ $output != *Measured* ]] || fail "$output"
    # and does not say that it is about to
    mount -o remount,ro "$MNT"
    status_json --measure "$MNT"
    mount -o remount,rw "$MNT"
    [ "$status" -eq 1 ]
    [ "$stderr" = "ERROR: cannot write to '$MNT': Read-only file system" ] || fail "$stderr"
    folder_with
    run -1 --separate-stderr as_nobody "$MNT/program" status --measure "$MNT/folder"
    [ "$stderr" = "ERROR: cannot write to '$MNT/folder': Permission denied" ] || fail "$stderr"
    expect_nothing_left
}

@test "anybody may ask" {
    run --separate-stderr as_nobody "$MNT/program" --format json status "$MNT"
    [ "$status" -eq 0 ]
    expect_json '.status.features | length' 5
}

@test "a path that is not on btrfs is an error, and the kernel is still reported" {
    status_json "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    [ "$stderr" = "ERROR: not a btrfs filesystem: '$BATS_TEST_TMPDIR'" ]
    expect_json '.status.features | length' 5
    run --separate-stderr "$FASTPATH" status "$MNT/nothing"
    [ "$status" -eq 1 ]
    [ "$stderr" = "ERROR: cannot open '$MNT/nothing': No such file or directory" ]
    expect_line 'Feature +State .*'
}

@test "wrong arguments" {
    run --separate-stderr "$FASTPATH" status "$MNT" "$MNT"
    [ "$status" -eq 1 ]
    [[ $stderr == *"1 argument at most expected, 2 given"* ]]
    [ -z "$output" ]
    run --separate-stderr "$FASTPATH" status --bogus
    [ "$status" -eq 1 ]
}

@test "the front end calls it fastpath-status" {
    run --separate-stderr "$FRONT_END" inspect fastpath-status
    [ "$status" -eq 0 ]
    expect_line 'Feature +State .*'
    run --separate-stderr "$FRONT_END" inspect fast "$MNT" "$MNT"
    [ "$status" -eq 1 ]
    [[ $stderr == "btrfs inspect fastpath-status: 1 argument at most"* ]]
    run "$FRONT_END" inspect status
    [ "$status" -ne 0 ]
    [[ $output == *"unknown token 'status'"* ]]
    run -0 "$FASTPATH" fastpath-status
    expect_line 'Feature +State .*'
    run -1 "$FASTPATH" fastpath-stat
    [[ $output == "ERROR: unknown command 'fastpath-stat'"* ]]
}
