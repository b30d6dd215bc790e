#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# mail-series, on a kernel source of two files and patches of its own.

# bats runs each test in a subshell, which is what it should do
# shellcheck disable=SC2030,SC2031
bats_require_minimum_version 1.5.0

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}"
MAIL_SERIES=$top_srcdir/kernel/scripts/mail-series
export LC_ALL=C.UTF-8

# fail MESSAGE...: what the test expected and did not get
fail() {
    printf '%s\n' "$@" >&2
    return 1
}

# add_patch NAME SED-SCRIPT FILE FIELD...: what the script makes of the file, on top of the patches before
add_patch() {
    local name=$1 word=${1#*-} script=$2 file=fs/btrfs/$3

    shift 3
    cp "$NEXT/$file" before
    sed -i "$script" "$NEXT/$file"
    {
        printf '%s\n' "From: A Writer <writer@example.invalid>" "Subject: btrfs: ${word%.patch}" "Origin: vendor" \
            "Last-Update: 2026-11-2${name:3:1}" "$@" "Fastpath-Base: 7.3" "" "It is slow." "" "# not a comment" "---" \
            " $file | 2 +-" ""
        diff -u --label "a/$file" --label "b/$file" before "$NEXT/$file" || true
    } >"$FASTPATH_KERNEL_DIR/7.3/$name"
    echo "$name" >>"$FASTPATH_KERNEL_DIR/7.3/series"
}

# Two corrections, the later one to go first, three that make faster, one of them on top of a correction, one that
# mainline has, and a counter.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    export FASTPATH_KERNEL_DIR=$PWD/kernel TMPDIR=$PWD/scratch HOME=$PWD/home
    unset SOURCE_DATE_EPOCH XDG_CONFIG_HOME
    TREE=$PWD/tree NEXT=$PWD/next
    mkdir -p "$FASTPATH_KERNEL_DIR/bases" "$FASTPATH_KERNEL_DIR/7.3" "$TMPDIR" "$HOME" "$TREE/fs/btrfs" results
    printf 'source_version=7.3.4-1\nkernel_series=7.3\nmail_first=(3003)\n' >"$FASTPATH_KERNEL_DIR/bases/7.3.conf"
    printf 'source_version=7.4.1-1\nkernel_series=7.4\n' >"$FASTPATH_KERNEL_DIR/bases/7.4.conf"
    sed -n -e 1p -e '/\t7\.3\t/p' "$top_srcdir/kernel/STATUS.tsv" >"$FASTPATH_KERNEL_DIR/STATUS.tsv"
    sed -n '/\t7\.3\t/s/\t7\.3\t/\t7.4\t/p' "$top_srcdir/kernel/STATUS.tsv" >>"$FASTPATH_KERNEL_DIR/STATUS.tsv"
    printf 'VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\n' >"$TREE/Makefile"
    seq -f 'line %g' 30 >"$TREE/fs/btrfs/one.c"
    seq -f 'row %g' 30 >"$TREE/fs/btrfs/two.c"
    cp -r "$TREE" "$NEXT"
    add_patch 1001-line-ten.patch 's/^line 10$/line ten/' one.c "Forwarded: no" "Patch-mainline: Not yet, new"
    add_patch 2001-line-twenty.patch 's/^line 20$/line twenty/' one.c "Forwarded: no" "Patch-mainline: Not yet, new"
    add_patch 3001-row-three.patch '3a row three and a half' two.c "Forwarded: no" "Fixes: 0123456789ab (\"btrfs: rows\")"
    add_patch 3003-row-nine.patch 's/^row 9$/row nine/' two.c "Forwarded: no" "Fixes: 89abcdef0123 (\"btrfs: log less\")" \
        "Fixes: abcdef012345 (\"btrfs: log more\")" "Cc: stable@vger.kernel.org # 6.1+" "References: CVE-2024-47741" \
        "Fastpath-Feature: log-dir"
    add_patch 3004-row-three-again.patch 's/three and a half/3.5/' two.c "Forwarded: no"
    cp -r "$NEXT" sent
    add_patch 5001-row-thirty.patch 's/^row 30$/row thirty/' two.c "Forwarded: not-needed" "Patch-mainline: v7.4"
    add_patch 9001-count.patch '30a count' two.c "Forwarded: no"
}

teardown() {
    [ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -A "$TMPDIR")"
}

# mail_series OPTION...: run by bats, for the tree
mail_series() {
    run --separate-stderr "$MAIL_SERIES" --tree "$TREE" --results results "$@"
}

# expect_mails: the last run printed them
expect_mails() {
    # shellcheck disable=SC2154 # bats' run sets them
    [ "$status" -eq 0 ] || fail "status $status: $stderr"
    [ -z "$stderr" ] || fail "it says: $stderr"
}

# expect_error PATTERN: the last run failed for the reason in the first line, and printed nothing
expect_error() {
    [ "$status" -eq 1 ] || fail "status $status: $stderr"
    # shellcheck disable=SC2053,SC2154 # a pattern it is; bats' run sets them
    [[ ${stderr_lines[0]} == $1 ]] || fail "it says: ${stderr_lines[0]}" "and not: $1"
    [ -z "$output" ] || fail "printed: $output"
}

# expect_none PATTERN TEXT: no line of the text is like it
expect_none() {
    ! grep -E "$1" <<<"$2" || fail "there should be none like '$1'"
}

# take_mails: what the last run printed is in the repository taken, on top of the source
take_mails() {
    git init --quiet taken
    git -C taken config user.name Taker
    git -C taken config user.email taker@example.invalid
    cp -r "$TREE/." taken
    git -C taken add --all
    git -C taken commit --quiet --message=stock
    printf '%s\n' "$output" | git -C taken am --quiet
}

# write_results FEATURE MEASURE SIZE...: ten times as fast as without
write_results() {
    local feature=$1 measure=$2 size

    shift 2
    printf 'kernels\tdate\tfiles\tmeasure\twithout\twith\n' >"results/$feature.tsv"
    for size; do
        printf '7.3\t2026-11-24\t%s\t%s\t%s0e6\t%se6\n' "$size" "$measure" "$size" "$size" >>"results/$feature.tsv"
    done
}

@test "mail-series: corrections first, numbered, without counters and what mainline has" {
    mail_series 7.3
    expect_mails
    [ "$(grep '^Subject: ' <<<"$output")" = "\
Subject: [PATCH 1/5] btrfs: row-nine
Subject: [PATCH 2/5] btrfs: row-three
Subject: [PATCH 3/5] btrfs: line-ten
Subject: [PATCH 4/5] btrfs: line-twenty
Subject: [PATCH 5/5] btrfs: row-three-again" ] || fail "$output"
}

@test "mail-series: git am takes it" {
    mail_series 7.3
    expect_mails
    take_mails
    diff -r --exclude=.git sent taken
    [ "$(git -C taken log --format='%an <%ae>, %ad' --date=iso -1)" = \
        "A Writer <writer@example.invalid>, 2026-11-24 12:00:00 +0000" ]
    [ "$(git -C taken log --format=%B -1)" = $'btrfs: row-three-again\n\nIt is slow.\n\n# not a comment' ]
}

@test "mail-series: a message has only the fields Fixes and Cc" {
    mail_series 7.3
    take_mails
    [ "$(git -C taken log --format=%B -1 HEAD~4)" = 'btrfs: row-nine

It is slow.

# not a comment

Fixes: 89abcdef0123 ("btrfs: log less")
Fixes: abcdef012345 ("btrfs: log more")
Cc: stable@vger.kernel.org # 6.1+' ] || fail "$(git -C taken log --format=%B -1 HEAD~4)"
    expect_none '^(Origin|Forwarded|Last-Update|Patch-mainline|References|Fastpath-[A-Za-z]*|Signed-off-by):' "$output"
}

@test "mail-series: each patch is one that fits on top of those before it exactly" {
    mail_series --output mails 7.3
    [ "$status" -eq 0 ] || fail "$stderr"
    for mail in mails/000[1-5]-*.patch; do
        run patch -p1 --fuzz=0 --force --directory="$TREE" --input="$PWD/$mail"
        [ "$status" -eq 0 ] && [[ $output != *offset* ]] || fail "$mail: $output"
    done
    diff -r sent "$TREE"
}

@test "mail-series: --output, a file each and a cover letter" {
    for feature in fiemap-leaf seek-cache log-dir; do
        write_results "$feature" measure 1
    done
    write_results fiemap-leaf cached_ns 500 7000 60
    mail_series --output mails 7.3
    expect_mails
    [ -z "$output" ] || fail "printed: $output"
    [ "$(cd mails && echo *)" = "0000-cover-letter.patch 0001-btrfs-row-nine.patch 0002-btrfs-row-three.patch \
0003-btrfs-line-ten.patch 0004-btrfs-line-twenty.patch 0005-btrfs-row-three-again.patch" ] || fail "$(ls mails)"
    letter=$(cat mails/0000-cover-letter.patch)
    for text in 'From: A Writer <writer@example.invalid>' 'Date: Tue, 24 Nov 2026 12:00:00 +0000' \
        'Subject: [PATCH 0/5] btrfs: corrections, and faster FIEMAP, lseek and fsync' 'Linux 7.3.4' \
        '- 1-2: corrections for fsync, each' '- 3-5: faster FIEMAP, lseek and fsync' 'FIEMAP gives the same' \
        'lseek finds all data' 'After a power cut' 'not signed off' $'A Writer (5):\n  btrfs: row-nine\n' \
        ' 2 files changed, 4 insertions(+), 3 deletions(-)'; do
        [[ $letter == *"$text"* ]] || fail "no '$text' in:" "$letter"
    done
    grep -qE '^FIEMAP, 7,000 files$' <<<"$letter"
    grep -qE '^  all leaves shared +70,000\.0 ms +7,000\.0 ms +10\.00$' <<<"$letter" || fail "$letter"
    expect_none '.{76}|Streams|NOCOW|lseek, ' "$letter"
}

@test "mail-series: without results there is no table, and a warning" {
    mail_series --output mails 7.3
    [ "$status" -eq 0 ]
    [ "$stderr" = "$(for feature in fiemap-leaf seek-cache log-dir; do
        echo "WARNING: the cover letter has no figures for $feature: there are none of 7.3 in 'results/$feature.tsv'"
    done)" ] || fail "$stderr"
    expect_none 'patched|Measured' "$(cat mails/0000-cover-letter.patch)"
    grep -q 'not signed off' mails/0000-cover-letter.patch
}

@test "mail-series: results that cannot be read" {
    printf '7.3\n7.3\n' >results/log-dir.tsv
    mail_series --output mails 7.3
    [ "$status" -eq 1 ]
    [ "${stderr_lines[-1]}" = "ERROR: cannot read the results in 'results'" ] || fail "$stderr"
    [ ! -e mails ]
}

@test "mail-series: a cover letter of corrections only, and of an empty series" {
    sed -i '/^[12]\|^3004/d' "$FASTPATH_KERNEL_DIR/7.3/series"
    mail_series --output corrections 7.3
    expect_mails
    grep -qx 'Subject: \[PATCH 0/2\] btrfs: corrections for fsync' corrections/0000-cover-letter.patch
    expect_none 'faster|lseek|FIEMAP' "$(cat corrections/0000-cover-letter.patch)"
    sed -i s/mail_first.*// "$FASTPATH_KERNEL_DIR/bases/7.3.conf"
    echo 2001-line-twenty.patch >"$FASTPATH_KERNEL_DIR/7.3/series"
    write_results seek-cache walk_dirty_ns 8
    mail_series --output faster 7.3
    expect_mails
    grep -qx 'Subject: \[PATCH 0/1\] btrfs: faster lseek' faster/0000-cover-letter.patch
    grep -qx -- '- 1: faster lseek' faster/0000-cover-letter.patch
    expect_none 'correct|Fixes|fsync' "$(cat faster/0000-cover-letter.patch)"
}

@test "mail-series: the same with any configuration of the user, in any directory" {
    write_results log-dir fsync_total_ns 5
    mail_series --output mails 7.3
    [ "$status" -eq 0 ]
    mkdir -p "$HOME/.config/git"
    printf '[user]\nname = Else\nemail = else@example.invalid\n[format]\nsignOff = true\nsubjectPrefix = RFC\n' >"$HOME/.gitconfig"
    printf '[diff]\nnoprefix = true\n[commit]\ngpgSign = true\n[core]\nautocrlf = true\n' >>"$HOME/.gitconfig"
    echo '*.c binary' >"$HOME/.config/git/attributes"
    echo '*.c' >"$HOME/.config/git/ignore"
    TZ=Asia/Tokyo GIT_DIR=/nonexistent GIT_COMMITTER_DATE=@0 GIT_AUTHOR_NAME=else LC_ALL=C mail_series --output again 7.3
    [ "$status" -eq 0 ] || fail "$stderr"
    diff -r mails again
    # nor does it tell which git there is
    expect_none '^-- $' "$(cat mails/*)"
}

@test "mail-series: SOURCE_DATE_EPOCH" {
    export SOURCE_DATE_EPOCH=1000000000
    mail_series --output mails 7.3
    [ "$status" -eq 0 ]
    [ "$(cat mails/* | grep -c '^Date: Sun, 9 Sep 2001 01:46:40 +0000$')" -eq 6 ]
    SOURCE_DATE_EPOCH=today mail_series 7.3
    expect_error "ERROR: SOURCE_DATE_EPOCH is no number: 'today'"
}

@test "mail-series: the newest base that has patches, if none is named" {
    cp -r "$FASTPATH_KERNEL_DIR/7.3" "$FASTPATH_KERNEL_DIR/7.2"
    printf 'source_version=7.2.1-1\nkernel_series=7.2\n' >"$FASTPATH_KERNEL_DIR/bases/7.2.conf"
    sed -n '/\t7\.3\t/s/\t7\.3\t/\t7.2\t/p' "$top_srcdir/kernel/STATUS.tsv" >>"$FASTPATH_KERNEL_DIR/STATUS.tsv"
    mail_series
    expect_mails
    [[ $output == *"[PATCH 1/5] btrfs: row-nine"* ]]
}

@test "mail-series: an empty folder is used, another one is left alone" {
    mkdir mails
    mail_series --output mails 7.3
    [ "$status" -eq 0 ] && [ "$(find mails -type f | wc -l)" -eq 6 ]
    mail_series --output "-n o\"" 7.3
    [ "$status" -eq 0 ] || fail "$stderr"
    diff -r mails "./-n o\""
    cp -r mails first
    mail_series --output mails 7.3
    expect_error "ERROR: the folder is not empty: 'mails'"
    diff -r first mails
    mail_series --output tree/Makefile 7.3
    expect_error "ERROR: not a folder: 'tree/Makefile'"
    mail_series --output no/mails 7.3
    expect_error "ERROR: no such folder: 'no'"
}

@test "mail-series: a folder that cannot be filled is left as it was" {
    mkdir bin
    # shellcheck disable=SC2016 # a script for another shell
    printf '#!/bin/sh\n%s "$@"\ncase $* in *--target-directory=*) exit 1 ;; esac\n' "$(command -v cp)" >bin/cp
    chmod +x bin/cp
    PATH=$PWD/bin:$PATH mail_series --output mails 7.3
    [ "$status" -eq 1 ]
    [ "${stderr_lines[-1]}" = "ERROR: cannot write to 'mails'" ] || fail "$stderr"
    [ ! -e mails ]
    mkdir mails
    PATH=$PWD/bin:$PATH mail_series --output mails 7.3
    [ "$status" -eq 1 ]
    [ -d mails ] && [ -z "$(ls -A mails)" ]
}

# meanwhile SHELL-COMMAND: what another user does while the mails are made
meanwhile() {
    mkdir bin
    printf '#!/bin/sh\ncase $* in *format-patch*) %s ;; esac\nexec %s "$@"\n' "$1" "$(command -v git)" >bin/git
    chmod +x bin/git
    PATH=$PWD/bin:$PATH mail_series --output mails 7.3
}

@test "mail-series: a folder with links that somebody else makes meanwhile" {
    echo precious >precious
    # shellcheck disable=SC2016 # a script for another shell
    meanwhile 'mkdir mails; ln -s ../precious mails/0001-btrfs-row-nine.patch'
    [ "$status" -eq 1 ]
    [ "${stderr_lines[-1]}" = "ERROR: cannot make the folder 'mails'" ] || fail "$stderr"
    [ "$(cat precious)" = precious ]
    [ "$(ls mails)" = 0001-btrfs-row-nine.patch ]
}

@test "mail-series: an empty folder that is exchanged meanwhile" {
    mkdir mails other
    touch other/0001-btrfs-row-nine.patch
    meanwhile 'rmdir mails; ln -s other mails'
    [ "$status" -eq 1 ]
    [ "${stderr_lines[-1]}" = "ERROR: the folder is not empty: 'mails'" ] || fail "$stderr"
    [ "$(ls other)" = 0001-btrfs-row-nine.patch ] && [ ! -s other/0001-btrfs-row-nine.patch ]
}

@test "mail-series: a folder to which others can write" {
    mkdir mails
    chmod 1777 mails
    mail_series --output mails 7.3
    expect_error "ERROR: the folder is not yours alone: 'mails'"
    chmod 755 mails
    meanwhile 'chmod 777 mails'
    [ "$status" -eq 1 ]
    [ "${stderr_lines[-1]}" = "ERROR: the folder is not yours alone: 'mails'" ] || fail "$stderr"
    chmod 755 mails
    chown 12345 mails 2>/dev/null || skip "another user's files need root"
    mail_series --output mails 7.3
    expect_error "ERROR: the folder is not yours alone: 'mails'"
    [ -z "$(ls -A mails)" ]
}

@test "mail-series: others cannot write to the folder that it makes" {
    umask 0
    mail_series --output mails 7.3
    [ "$status" -eq 0 ] || fail "$stderr"
    [ -z "$(find mails -perm /022)" ] || fail "$(ls -la mails)"
}

@test "mail-series: a full disk" {
    [ -c /dev/full ] || fail "no /dev/full"
    # shellcheck disable=SC2016 # a script for another shell
    run bash -c '"$@" >/dev/full' bash "$MAIL_SERIES" --tree "$TREE" 7.3
    [ "$status" -eq 1 ] || fail "status $status"
    [[ $output == *"No space left on device"* ]]
}

# signal_at COMMAND PATTERN: with an argument like the pattern it sends SIGTERM to its parent, and does its work
signal_at() {
    mkdir bin
    # shellcheck disable=SC2016 # a script for another shell
    printf '#!/bin/sh\ncase $* in %s) kill -TERM "$PPID" ;; esac\nexec %s "$@"\n' "$2" "$(command -v "$1")" >"bin/$1"
    chmod +x "bin/$1"
}

@test "mail-series: a signal at the end of filling the folder has no effect" {
    signal_at cp '*--target-directory=*'
    PATH=$PWD/bin:$PATH mail_series --output mails 7.3
    [ "$status" -eq 0 ] || fail "status $status: $stderr"
    [ "$(find mails -type f | wc -l)" -eq 6 ]
}

@test "mail-series: a signal leaves nothing" {
    signal_at git '*format-patch*'
    PATH=$PWD/bin:$PATH mail_series --output mails 7.3
    [ "$status" -eq 143 ] || fail "status $status: $stderr"
    [ ! -e mails ]
}

@test "mail-series: a patch that does not fit, or only where the series has it" {
    sed -i 's/^row 8$/row eight/' "$TREE/fs/btrfs/two.c"
    mail_series --output mails 7.3
    expect_error "ERROR: 3003-row-nine.patch does not fit Linux 7.3.4 in the order of the mails: fs/btrfs/two.c: hunk #1 at line 7"
    [ ! -e mails ]
    sed -i 's/^row eight$/row 8/' "$TREE/fs/btrfs/two.c"
    sed -i '/^Last-Update/a Fixes: 0123456789ab ("btrfs: x")' "$FASTPATH_KERNEL_DIR/7.3/3004-row-three-again.patch"
    sed -i 's/^mail_first.*/mail_first=(3004)/' "$FASTPATH_KERNEL_DIR/bases/7.3.conf"
    mail_series 7.3
    expect_error "ERROR: 3004-row-three-again.patch does not fit *"
}

@test "mail-series: a base that there is not, one without patches, one whose patches mainline has" {
    mail_series 9.9
    expect_error "ERROR: no such base: '9.9' (there are: 7.3 7.4)"
    mail_series 7.4
    expect_error "ERROR: nothing to send: there are no patches for the base '7.4', *"
    printf '%s\n' 5001-row-thirty.patch 9001-count.patch >"$FASTPATH_KERNEL_DIR/7.3/series"
    sed -i s/mail_first.*// "$FASTPATH_KERNEL_DIR/bases/7.3.conf"
    mail_series 7.3
    expect_error "ERROR: nothing to send: mainline lacks none of the patches for the base '7.3'"
    rm "$FASTPATH_KERNEL_DIR/7.3/series"
    mail_series
    expect_error "ERROR: nothing to send: no base has patches"
}

@test "mail-series: faults in the series" {
    sed -i 's/^mail_first.*/mail_first=(3004)/' "$FASTPATH_KERNEL_DIR/bases/7.3.conf"
    mail_series 7.3
    expect_error "ERROR: bases/7.3.conf: mail_first has 3004, which is no correction that is sent"
    sed -i '/^Last-Update/s/: .*/: 2026-13-01/' "$FASTPATH_KERNEL_DIR/7.3/2001-line-twenty.patch"
    sed -i s/mail_first.*// "$FASTPATH_KERNEL_DIR/bases/7.3.conf"
    mail_series 7.3
    expect_error "ERROR: 2001-line-twenty.patch: Last-Update is no day: '2026-13-01'"
    sed -i /^Last-Update/d "$FASTPATH_KERNEL_DIR/7.3/2001-line-twenty.patch"
    mail_series 7.3
    expect_error "ERROR: 2001-line-twenty.patch has no field 'Last-Update'"
    echo 9099-gone.patch >"$FASTPATH_KERNEL_DIR/7.3/series"
    mail_series 7.3
    expect_error "ERROR: the series names a patch that is not there: '$FASTPATH_KERNEL_DIR/7.3/9099-gone.patch'"
}

@test "mail-series: another source" {
    sed -i 's/^PATCHLEVEL.*/PATCHLEVEL = 2/' "$TREE/Makefile"
    mail_series 7.3
    expect_error "ERROR: '$TREE' is Linux 7.2.4, not 7.3.y"
    run --separate-stderr "$MAIL_SERIES" --tree "$PWD" 7.3
    expect_error "ERROR: no kernel source: '$PWD'"
}

@test "mail-series: options" {
    mail_series 7.3 7.4
    expect_error "ERROR: one base at a time, not 7.3 7.4"
    mail_series --fast
    expect_error "ERROR: unknown option: '--fast'"
    for option in --output --results --tree; do
        run --separate-stderr "$MAIL_SERIES" "$option"
        expect_error "ERROR: $option requires a folder"
    done
}

@test "mail-series: usage" {
    run "$MAIL_SERIES" --help
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "Usage: mail-series [OPTION...] [BASE]" ]]
    [[ $output == *"git am --signoff"* ]]
}
