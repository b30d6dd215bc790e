#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2030,SC2031,SC2154 # bats' run sets some variables
# btrfs-fastpath-workflows(7) and the examples of the commands' pages are followed to the letter: each section on a fresh
# file system, at /mnt or /srv in a mount namespace of its own, on a terminal. What a section prints is compared with the
# page; the masks after a title name the figures that may differ, and follow-page says why.

load environment

FOLLOW=$BATS_TEST_DIRNAME/follow-page
PAGE=$BATS_TEST_DIRNAME/../../man/btrfs-fastpath-workflows.7.rst

# The page calls the program by its name, and btrbk calls btrfs. What that sends is counted in $SENT.
setup_file() {
    export SENT=$BATS_FILE_TMPDIR/sent
    mkdir "$BATS_FILE_TMPDIR/bin"
    ln -s "$(realpath "$FASTPATH")" "$BATS_FILE_TMPDIR/bin/btrfs-fastpath"
    export PATH=$BATS_FILE_TMPDIR/bin:$PATH
}

# follow [--show | --update] TITLE [MASK...]: in a folder of its own
follow() {
    local page=$PAGE mode=()

    if [[ $1 == --* ]]; then
        mode=("$1")
        shift
    fi
    cd "$BATS_TEST_TMPDIR" || return
    rm -f trial.img
    run unshare --mount "$FOLLOW" "${mode[@]}" "${OTHER_PAGE:-$page}" "$@"
}

# matches TITLE [MASK...]: the page says what comes. Where another program syncs while a file is written, the file has one
# extent more, and a busy machine disturbs a verdict: there are three attempts. With UPDATE_EXAMPLES the page then gets what comes.
matches() {
    local attempt

    for attempt in 1 2 3; do
        follow "$@"
        [ "$status" -ne 0 ] || return 0
        echo "attempt $attempt: $output"
    done
    [ -n "${UPDATE_EXAMPLES-}" ] || fail "the page differs"
    follow --update "$@"
    [ "$status" -eq 0 ] || fail "$output"
}

@test "Which snapshots should go?" {
    matches "$BATS_TEST_DESCRIPTION"
}

@test "What do I get back if I delete these?" {
    matches "$BATS_TEST_DESCRIPTION"
}

@test "Which directory holds the space?" {
    matches "$BATS_TEST_DESCRIPTION"
}

@test "How much disk is it?" {
    matches "$BATS_TEST_DESCRIPTION"
}

@test "Who holds this space?" {
    matches "$BATS_TEST_DESCRIPTION"
}

@test "Which NOCOW files are not written in place?" {
    matches "$BATS_TEST_DESCRIPTION"
}

@test "Why is it copied, and what can I do?" {
    matches "$BATS_TEST_DESCRIPTION"
}

require_btrbk() {
    command -v btrbk >/dev/null || skip "btrbk is not installed"
}

@test "How long will tonight's send take?" {
    require_btrbk
    matches "$BATS_TEST_DESCRIPTION" snapshot bytes
}

# count_sends: btrfs as before, but the bytes of each stream are written to $SENT
count_sends() {
    local btrfs

    btrfs=$(command -v btrfs)
    cat >"$BATS_FILE_TMPDIR/bin/btrfs" <<EOF
#!/bin/bash
[ "\$1" = send ] || exec $btrfs "\$@"
set -o pipefail
exec 9>&1
$btrfs "\$@" | tee /dev/fd/9 | wc -c >>$SENT
EOF
    chmod +x "$BATS_FILE_TMPDIR/bin/btrfs"
}

@test "btrbk's stream has the size of the page's estimate, within 1 KiB" {
    local full sent again estimate

    require_btrbk
    count_sends
    follow --show "How long will tonight's send take?"
    rm "$BATS_FILE_TMPDIR/bin/btrfs"
    [ "$status" -eq 0 ] || fail "$output"
    estimate=$(sed -n '/# btrfs-fastpath send-reada --estimate --raw/{n;p}' <<<"$output" | tr -d ' ')
    [ "$(wc -l <"$SENT")" -eq 3 ] || fail "not two sends by btrbk and one by the page:" "$(cat "$SENT")" "$output"
    { read -r full && read -r sent && read -r again; } <"$SENT"
    [ "$full" -gt $((24 << 20)) ] || fail "the first night sent $full"
    [ "$sent" -eq "$again" ] || fail "btrbk sent $sent, the page counts $again"
    [ $((estimate - sent)) -lt 1024 ] || fail "btrbk sent $sent, estimated: $estimate"
    [ $((sent - estimate)) -lt 1024 ] || fail "btrbk sent $sent, estimated: $estimate"
}

# bats test_tags=slow
@test "Is the file or the kernel to blame?" {
    [ ! -e /sys/fs/btrfs/features/fastpath ] || skip "this kernel lists its features"
    matches "$BATS_TEST_DESCRIPTION" times factor seek-cache no-seek-cache
}

# bats test_tags=slow
@test "cp or tar of a sparse file crawls" {
    matches "$BATS_TEST_DESCRIPTION" times no-seek-cache walk spaces
}

# bats test_tags=slow
@test "My mail server's fsyncs got slow" {
    matches "$BATS_TEST_DESCRIPTION" times fsyncs histogram growth commits watch verdict spaces
}

# sum_of KIND: in the tables of the last run, one after the other
sum_of() {
    sed -nE "s/^ *$1 +([0-9]+) .*/\1/p" <<<"$output" | tr '\n' ' '
}

# bats test_tags=slow
@test "Which process causes the commits?" {
    matches "$BATS_TEST_DESCRIPTION" times interval causes namespace spaces
}

@test "Can this file be swap?" {
    matches "$BATS_TEST_DESCRIPTION"
}

@test "Can the backup receive this stream?" {
    matches "$BATS_TEST_DESCRIPTION" uuid
}

# bats test_tags=slow
@test "the page's fsyncs are mostly log" {
    local log

    follow --show "My mail server's fsyncs got slow"
    read -r -a log <<<"$(sum_of log)"
    [ "${log[0]}" -gt 50 ] || fail "log: ${log[*]}"
}

@test "Alarm me" {
    matches "$BATS_TEST_DESCRIPTION" times commits state kinds
}

# bats test_tags=slow
@test "Does my kernel have it, and would the patches help here?" {
    matches "$BATS_TEST_DESCRIPTION" release front-end features evidence ratio spaces
}

# page NAME TITLE [MASK...]: as matches, for the page of a command, whose examples use the front end
page() {
    local front=$BATS_TEST_TMPDIR/front

    mkdir "$front"
    ln -s "$(realpath "$FRONT_END")" "$front/btrfs"
    PATH=$front:$PATH OTHER_PAGE=${PAGE%/*}/btrfs-$1.8.rst matches "${@:2}"
}

@test "examples of fiemap-shared" {
    page inspect-fiemap-shared EXAMPLES times decisions
}

# bats test_tags=slow
@test "examples of seek-map" {
    [ ! -e /sys/fs/btrfs/features/fastpath ] || skip "this kernel lists its features"
    page inspect-seek-map EXAMPLES times factor seek-cache walk pairs spaces
}

# EXAMPLES come first.
# bats test_tags=slow
@test "examples of log-stats, and as a monitoring plugin" {
    page inspect-log-stats "A MONITORING PLUGIN" times fsyncs histogram growth verdict commits scratch samples state kinds spaces
}

# bats test_tags=slow
@test "examples of send-reada" {
    page inspect-send-reada EXAMPLES times uuid rate short passes read extents spaces
}

# bats test_tags=slow
@test "examples of nocow-check" {
    page inspect-nocow-check EXAMPLES times addresses exercise spaces
}

# bats test_tags=slow
@test "examples of status" {
    page fastpath-status EXAMPLES release front-end features evidence ratio spaces
}

@test "every section of the page is followed" {
    run "$FOLLOW" --list "$PAGE"
    [ "${#lines[@]}" -ge 11 ]
    for title in "${lines[@]}"; do
        grep -qF "@test \"$title\" {" "$BATS_TEST_FILENAME" || fail "no test follows '$title'"
    done
}

# wrong EXPRESSION TITLE [MASK...]: a page that sed changed so is noticed
wrong() {
    local expression=$1

    shift
    sed "$expression" "$PAGE" >"$BATS_TEST_TMPDIR/page.rst"
    ! cmp -s "$PAGE" "$BATS_TEST_TMPDIR/page.rst" || fail "nothing to change: $expression"
    OTHER_PAGE=$BATS_TEST_TMPDIR/page.rst follow "$@"
    [ "$status" -eq 1 ] || fail "not noticed: $expression" "$output"
    grep -q '^[-+][^-+]' <<<"$output" || fail "no difference is printed: $expression" "$output"
}

# bats test_tags=slow
@test "a page that is wrong is noticed, also where figures are masked" {
    local freed="What do I get back if I delete these?" seek="Is the file or the kernel to blame?"

    wrong 's/^    Kept: 0.00B of/    Kept: 1.00B of/' "$freed"
    wrong '/^    Kept: 64.00MiB/d' "$freed"
    wrong 's/^    # btrfs-fastpath fiemap-shared --freed -rs/    # btrfs-fastpath fiemap-shared --free -rz/' "$freed"
    wrong 's/^    Verdict: a call costs \([0-9].*s\) at any offset/    Verdict: a call costs \1 at no offset/' "$seek" \
        times factor seek-cache no-seek-cache
    wrong 's/^    Seek-cache: present/    Seek-cache: here/' "$seek" times factor seek-cache no-seek-cache
}
