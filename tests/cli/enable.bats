#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# enable and disable: the links to a front end that a package has installed apart.

# bats' run sets stderr_lines
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load environment.bash

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}"
: "${PACKAGED:=$top_builddir/tests/cli/packaged-fastpath}"

LINK=/usr/local/bin/btrfs
COMPLETION=/usr/local/share/bash-completion/completions/btrfs
STARTUP=/etc/bash_completion.d/btrfs-front-end
TARGET=/usr/libexec/btrfs-fastpath/btrfs
DATA=/usr/share/btrfs-fastpath/bash-completion
# From bash-completion 2.12 on it has the functions that completions for earlier ones call, btrfs-progs' too.
COMPATIBLE=/etc/bash_completion.d/000_bash_completion_compat.bash

# Nobody else sees these folders. They are as after the installation of the package.
setup() {
    local directory

    # One of these folders may have it.
    cp "$FRONT_END" "$BATS_TEST_TMPDIR/front-end"
    cp "$COMPATIBLE" "$BATS_TEST_TMPDIR/compatible" 2>/dev/null || true
    for directory in /usr/local/bin /usr/local/share /etc/bash_completion.d "${TARGET%/*}" "$DATA"; do
        mkdir -p "$directory" 2>/dev/null || skip "cannot make $directory"
        mount -t tmpfs -o mode=755 tmpfs "$directory"
    done
    cp "$BATS_TEST_TMPDIR/front-end" "$TARGET"
    cp "$top_srcdir/bash-completion/btrfs" "$DATA/btrfs"
    sed "s|@frontcompletion@|$COMPLETION|" "$top_srcdir/bash-completion/front-end.in" >"$DATA/btrfs-front-end"
}

teardown() {
    umount "$DATA" "${TARGET%/*}" /etc/bash_completion.d /usr/local/share /usr/local/bin
    rmdir --ignore-fail-on-non-empty "$DATA" "${DATA%/*}" "${TARGET%/*}" 2>/dev/null || true
}

enabled_path() {
    "$PACKAGED" --format json status | jq -r .status.front_end
}

expect_no_links() {
    [ -z "$(find /usr/local/bin /usr/local/share /etc/bash_completion.d -mindepth 1)" ]
    [ "$(enabled_path)" = null ]
}

@test "enable makes the links, and calls of btrfs reach the front end" {
    expect_no_links
    umask 077
    run -0 --separate-stderr "$PACKAGED" enable
    [ "${lines[0]}" = "'$LINK' leads to the front end, '$TARGET'." ]
    [ -z "$stderr" ]
    [ "$(readlink "$LINK")" = "$TARGET" ]
    [ "$(readlink "$COMPLETION")" = "$DATA/btrfs" ]
    [ "$(readlink "$STARTUP")" = "$DATA/btrfs-front-end" ]
    [ "$(stat -c %a "${COMPLETION%/*}")" = 755 ]
    [ "$(enabled_path)" = "$LINK" ]
    expect_line_of_status "Front end: $LINK"
    PATH=/usr/local/bin:/usr/bin:/bin btrfs inspect --help | grep -q fiemap-shared
}

expect_line_of_status() {
    run -0 "$PACKAGED" status
    expect_line "$1"
}

# completed LINE: what a new login shell, at a terminal of its own, makes of LINE where TAB is pressed at its end
completed() {
    printf '%s\t\001echo made: \nexit\n' "$1" |
        env -i HOME="$BATS_TEST_TMPDIR" PATH=/usr/local/bin:/usr/bin:/bin TERM=dumb \
            timeout 60 script --quiet --command 'bash --login -i' /dev/null | tr -d '\r' | sed -n 's/^made: //p'
}

@test "a login shell completes the commands while the front end is enabled" {
    local ours=$BATS_TEST_TMPDIR/.local/share/bash-completion/completions

    [ -r /etc/profile.d/bash_completion.sh ] || skip "bash-completion is not installed"
    mkdir -p "$ours"
    cp "$top_srcdir/bash-completion/btrfs-fastpath" "$ours/"
    [ ! -e "$BATS_TEST_TMPDIR/compatible" ] || cp "$BATS_TEST_TMPDIR/compatible" "$COMPATIBLE"
    [ "$(completed 'btrfs inspect fie')" = "btrfs inspect fie" ]
    run -0 "$PACKAGED" enable
    [ "$(completed 'btrfs inspect fie')" = "btrfs inspect fiemap-shared" ]
    # those of btrfs-progs, too
    [ "$(completed 'btrfs inspect-internal subvolid-r')" = "btrfs inspect-internal subvolid-resolve" ]
    run -0 "$PACKAGED" disable
    [ "$(completed 'btrfs inspect fie')" = "btrfs inspect fie" ]
    [ "$(completed 'btrfs inspect-internal subvolid-r')" = "btrfs inspect-internal subvolid-resolve" ]
}

@test "enable twice, disable twice" {
    run -0 "$PACKAGED" enable
    run -0 "$PACKAGED" enable
    run -0 "$PACKAGED" disable
    [[ $output == "The front end is disabled."* ]]
    expect_no_links
    run -0 "$PACKAGED" disable
    expect_line_of_status "Front end: not enabled: use btrfs-fastpath COMMAND, .*"
}

@test "JSON and --quiet" {
    local command

    run -0 "$PACKAGED" --format json enable
    expect_json .enable.front_end "$LINK"
    run -0 "$PACKAGED" --format json disable
    expect_json .disable.front_end null
    for command in enable disable; do
        run -0 "$PACKAGED" --format ndjson "$command"
        [ ${#lines[@]} -eq 1 ]
        run_validator --lines "$command" <<<"$output"
    done
    run -0 "$PACKAGED" -q enable
    [ -z "$output" ]
    run -0 "$PACKAGED" disable -q
    [ -z "$output" ]
}

@test "a name in use: nothing is created, and other users' files stay" {
    local taken

    for taken in "$LINK" "$COMPLETION" "$STARTUP"; do
        mkdir -p "${taken%/*}"
        echo "somebody's" >"$taken"
        run -1 --separate-stderr "$PACKAGED" enable
        [ "${stderr_lines[0]}" = "ERROR: cannot create the link '$taken': File exists" ]
        [[ ${stderr_lines[1]} == "ERROR: not a link of this package"* ]]
        [ "$(find /usr/local/bin /usr/local/share /etc/bash_completion.d ! -type d)" = "$taken" ]
        run -0 --separate-stderr "$PACKAGED" disable
        [ "$stderr" = "WARNING: '$taken' is not from this package and was not changed" ]
        [ "$(cat "$taken")" = "somebody's" ]
        rm "$taken"
    done
}

@test "a link that leads elsewhere is not ours" {
    ln -s /usr/bin/btrfs "$LINK"
    run -1 "$PACKAGED" enable
    run -0 "$PACKAGED" disable
    [ "$(readlink "$LINK")" = /usr/bin/btrfs ]
    [ "$(enabled_path)" = null ]
}

@test "a failed creation leaves nothing, except for existing files" {
    mount -o remount,ro /usr/local/bin
    run -1 --separate-stderr "$PACKAGED" enable
    [ "$stderr" = "ERROR: cannot create the link '$LINK': Read-only file system" ]
    expect_no_links

    ln -s "$DATA/btrfs-front-end" "$STARTUP"
    run -1 "$PACKAGED" enable
    [ "$(find /usr/local/bin /usr/local/share /etc/bash_completion.d ! -type d)" = "$STARTUP" ]
}

@test "another user's link on the way is not followed" {
    mkdir -m 755 "$BATS_TEST_TMPDIR/elsewhere"
    ln -s "$BATS_TEST_TMPDIR/elsewhere" /usr/local/share/bash-completion
    chown -h 65534 /usr/local/share/bash-completion
    run -1 --separate-stderr "$PACKAGED" enable
    [ "$stderr" = "ERROR: cannot create the link '$COMPLETION': Invalid cross-device link" ]
    [ -z "$(find "$BATS_TEST_TMPDIR/elsewhere" -mindepth 1)" ]
    chown -h 0 /usr/local/share/bash-completion
    run -0 "$PACKAGED" enable
    [ -L "$BATS_TEST_TMPDIR/elsewhere/completions/btrfs" ]
}

@test "what cannot be removed is an error, and the rest is removed" {
    run -0 "$PACKAGED" enable
    mount -o remount,ro /etc/bash_completion.d
    run -1 --separate-stderr "$PACKAGED" disable
    [ "$stderr" = "ERROR: cannot remove the link '$STARTUP': Read-only file system" ]
    [ ! -e "$LINK" ]
}

@test "another user cannot" {
    local program=$BATS_TEST_TMPDIR/program

    cp "$PACKAGED" "$program"
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "$program"
    run -1 --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$program" enable
    [ "$stderr" = "ERROR: cannot create the link '$STARTUP': Permission denied"$'\n'"ERROR: enable requires root" ]
    expect_no_links
}

@test "without the front end there is nothing to enable" {
    rm "$TARGET"
    run -1 --separate-stderr "$PACKAGED" enable
    [ "$stderr" = "ERROR: is not installed: '$TARGET'" ]
    expect_no_links
}

@test "neither takes an argument, and btrfs inspect has neither" {
    run -1 "$PACKAGED" enable now
    [ "${lines[0]}" = "btrfs-fastpath enable: no arguments expected, 1 given" ]
    run -1 "$PACKAGED" disable now
    run ! "$FRONT_END" inspect enable
    run ! "$FRONT_END" inspect disable
    run -0 "$FRONT_END" inspect --help
    [[ $output != *" enable "* ]]
}

@test "a front end that is not installed is not reported as enabled" {
    run --separate-stderr "$FASTPATH" enable
    if [ "$status" -eq 0 ]; then
        # of a program that was installed
        [ -x "$LINK" ]
        "$FASTPATH" -q disable
    else
        [[ $stderr == "ERROR: is not installed: '/"*"/btrfs'" ]]
    fi
}
