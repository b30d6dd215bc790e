#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# --plot of log-stats and send-reada: what gnuplot draws, and what is left if it does not.

# bats runs each test in a subshell, which is what it should do; its run sets stderr
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load environment.bash

BTRFS=${BTRFS_PROGRAM:-btrfs}

setup_file() {
    mount_btrfs 1G noatime,commit=3600
    "$BTRFS" subvolume create "$MNT/source" >/dev/null
    head -c 20M /dev/urandom >"$MNT/source/file"
    "$BTRFS" subvolume snapshot -r "$MNT/source" "$MNT/snapshot" >/dev/null
}

setup() {
    command -v gnuplot >/dev/null || skip "gnuplot is not installed"
    DIR=$MNT/directory
    mkdir "$DIR"
    PLOT=$BATS_TEST_TMPDIR/plot.svg
}

teardown() {
    rm -rf "$MNT/directory"
}

log_stats() {
    "$FASTPATH" -q log-stats "$@"
}

send_reada() {
    "$FASTPATH" -q send-reada "$@"
}

# expect_image FILE: well-formed SVG
expect_image() {
    python3 -c 'import sys, xml.etree.ElementTree as tree
sys.exit(tree.parse(sys.argv[1]).getroot().tag != "{http://www.w3.org/2000/svg}svg")' "$1"
}

# texts_in FILE: a line each
texts_in() {
    python3 -c 'import sys, xml.etree.ElementTree as tree
for text in tree.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}text"):
    print("".join(text.itertext()).strip())' "$1"
}

# points_in FILE: how many, and one for each entry of the legend
points_in() {
    grep -c "<use xlink:href='#gpPt6'" "$1"
}

# expect_no_plot: nor anything of one
expect_no_plot() {
    [ -z "$(find "$BATS_TEST_TMPDIR" -name 'plot.svg*' -o -name 'btrfs-fastpath-unfinished.*')" ]
    [ -z "$(ls -A "$DIR")" ] || fail "left behind:" "$(ls -A "$DIR")"
}

# without_gnuplot COMMAND...: with nothing in PATH
without_gnuplot() {
    PATH=$BATS_TEST_TMPDIR "$@"
}

# gnuplot_that COMMAND...: in the place of gnuplot
gnuplot_that() {
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\n%s\n' "$*" >"$BATS_TEST_TMPDIR/bin/gnuplot"
    chmod +x "$BATS_TEST_TMPDIR/bin/gnuplot"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# -- what is drawn --

@test "log-stats: each fsync is a point" {
    run -0 log_stats --files 500 --every 10 --plot "$PLOT" "$DIR"
    expect_image "$PLOT"
    run -0 texts_in "$PLOT"
    expect_line "fsyncs of a growing directory in $DIR"
    expect_line 'Time of an fsync, in ms'
    expect_line 'Files in the directory'
    kinds=$(grep -cE '^(log|full|uncertain): [0-9]+ fsyncs?$' <<<"$output")
    [ "$(points_in "$PLOT")" -eq $((50 + kinds)) ]
}

# bats test_tags=slow
@test "log-stats: of many fsyncs a point is the mean of several" {
    run -0 log_stats --files 1500 --every 1 --plot "$PLOT" "$DIR"
    run -0 texts_in "$PLOT"
    expect_line 'log: 1[0-9]+ fsyncs; a point is the mean of 2, a line their range'
    [ "$(points_in "$PLOT")" -lt 1100 ]
}

@test "log-stats: the report and the exit status are those without a plot" {
    run -0 "$FASTPATH" -q --format json log-stats --files 100 --every 10 --plot "$PLOT" "$DIR"
    expect_json '."log-stats".fsyncs' 10
    rm "$PLOT"
    run -64 log_stats --files 100 --every 10 --check --max-ms 0.001 --plot "$PLOT" "$DIR"
    expect_image "$PLOT"
}

@test "log-stats: after a signal the plot has the measured fsyncs" {
    "$FASTPATH" -q log-stats --files 1000000 --every 10 --interval 0.05 --plot "$PLOT" "$DIR" >/dev/null &
    sleep 1
    kill -TERM $!
    wait $! || true
    expect_image "$PLOT"
    [ -z "$(ls -A "$DIR")" ]
}

@test "send-reada: the stream and the reads in flight" {
    run -0 send_reada --data --cold --plot "$PLOT" "$MNT/snapshot"
    expect_image "$PLOT"
    run -0 texts_in "$PLOT"
    expect_line "send of $MNT/snapshot"
    expect_line 'Stream, in MiB/s'
    expect_line 'Reads in flight'
    # as in text, there is no rate of a stream that has no data
    rm "$PLOT"
    run -0 send_reada --plot "$PLOT" "$MNT/snapshot"
    run -0 texts_in "$PLOT"
    expect_line 'Thousand commands/s'
    refuse_line 'Stream, in .*'
}

@test "a name that promises another format than SVG is an error" {
    run -1 --separate-stderr log_stats --files 10 --plot "$BATS_TEST_TMPDIR/plot.png" "$DIR"
    [ "$stderr" = "ERROR: --plot requires a name that ends in .svg, not '$BATS_TEST_TMPDIR/plot.png'" ] ||
        fail "$stderr"
    [ -z "$output" ]
    run -1 send_reada --plot "$BATS_TEST_TMPDIR/plot.svg.PDF" "$MNT/snapshot"
    [ ! -e "$BATS_TEST_TMPDIR/plot.svg.PDF" ]
    mkdir "$BATS_TEST_TMPDIR/my.plots"
    for name in my.plots/plot plot.SVG; do
        run -0 log_stats --files 10 --plot "$BATS_TEST_TMPDIR/$name" "$DIR"
        expect_image "$BATS_TEST_TMPDIR/$name"
    done
}

@test "send-reada: a send of a few commands is drawn, too" {
    "$BTRFS" subvolume create "$DIR/empty" >/dev/null
    "$BTRFS" subvolume snapshot -r "$DIR/empty" "$DIR/empty-1" >/dev/null
    run -0 send_reada --passes 3 --plot "$PLOT" "$DIR/empty-1"
    expect_image "$PLOT"
    "$BTRFS" subvolume delete "$DIR/empty" "$DIR/empty-1" >/dev/null
}

@test "a name is drawn, and gnuplot does not interpret it" {
    # shellcheck disable=SC2016 # no command is to be run
    name=$'a\'b"c`touch PWNED`$(touch PWNED)\n@d{e}^f\\g\xff'
    mkdir "$DIR/$name"
    cd "$DIR"
    run -0 log_stats --files 100 --every 10 --plot "$PLOT" "$name"
    [ ! -e PWNED ]
    run -0 texts_in "$PLOT"
    # shellcheck disable=SC2016
    grep -qF 'in a'\''b"c`touch PWNED`$(touch PWNED)\x0a@d{e}^f\\g\xff' <<<"$output"
}

@test "gnuplot reads no file of the user" {
    export HOME=$BATS_TEST_TMPDIR/home
    mkdir "$HOME"
    echo "set title 'mine'; system('touch $BATS_TEST_TMPDIR/PWNED')" | tee "$HOME/.gnuplot" >"$DIR/.gnuplot"
    cd "$DIR"
    run -0 log_stats --files 100 --every 10 --plot "$PLOT" .
    [ ! -e "$BATS_TEST_TMPDIR/PWNED" ]
}

# -- what fails --

@test "without gnuplot nothing is done" {
    run -1 --separate-stderr without_gnuplot log_stats --files 100 --plot "$PLOT" "$DIR"
    [ "$stderr" = 'ERROR: --plot requires gnuplot, which is not installed (package gnuplot-nox)' ]
    [ -z "$output" ] || fail "$output"
    run -1 --separate-stderr without_gnuplot send_reada --plot "$PLOT" "$MNT/snapshot"
    [ "$stderr" = 'ERROR: --plot requires gnuplot, which is not installed (package gnuplot-nox)' ]
    [ -z "$output" ]
    expect_no_plot
}

@test "a gnuplot that fails leaves no file, and the report is printed" {
    gnuplot_that 'printf "\n\n\"plot\" line 3: bad\033[31m\n" >&2; echo half; exit 1'
    run -1 --separate-stderr log_stats --files 100 --every 10 --plot "$PLOT" "$DIR"
    [ "$stderr" = 'ERROR: gnuplot failed: "plot" line 3: bad\x1b[31m' ] || fail "$stderr"
    expect_line 'log .*'
    expect_no_plot
    run -1 --separate-stderr send_reada --plot "$PLOT" "$MNT/snapshot"
    [ "$stderr" = 'ERROR: gnuplot failed: "plot" line 3: bad\x1b[31m' ]
    expect_line 'total .*'
    expect_no_plot
}

@test "a gnuplot that hangs: the report is there, and a signal ends the command" {
    gnuplot_that 'exec sleep 60'
    for command in "log-stats --files 100 --every 10 $DIR" "send-reada $MNT/snapshot"; do
        rm -f "$BATS_TEST_TMPDIR/output"
        # shellcheck disable=SC2086 # a command and its arguments
        "$FASTPATH" -q $command --plot "$PLOT" >"$BATS_TEST_TMPDIR/output" 3>&- &
        pid=$!
        for _ in {1..200}; do
            [ ! -s "$BATS_TEST_TMPDIR/output" ] || break
            sleep 0.05
        done
        [ -s "$BATS_TEST_TMPDIR/output" ] || { kill -KILL "$pid"; fail "no report: $command"; }
        kill -TERM "$pid"
        for _ in {1..200}; do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.05
        done
        ! kill -KILL "$pid" 2>/dev/null || fail "SIGTERM did not end it: $command"
        status=0
        wait "$pid" || status=$?
        [ "$status" -eq 143 ]
        expect_no_plot
    done
}

@test "a gnuplot that draws nothing, or is killed" {
    gnuplot_that 'exit 0'
    run -1 --separate-stderr log_stats --files 100 --every 10 --plot "$PLOT" "$DIR"
    [ "$stderr" = 'ERROR: gnuplot failed: the image is incomplete' ]
    rm -r "${BATS_TEST_TMPDIR:?}/bin"
    # shellcheck disable=SC2016
    gnuplot_that 'echo half; kill -KILL $$'
    run -1 --separate-stderr log_stats --files 100 --every 10 --plot "$PLOT" "$DIR"
    [ "$stderr" = "ERROR: gnuplot was killed by signal 9, so there is no plot" ] || fail "$stderr"
    expect_no_plot
}

@test "an existing file is not changed, and nothing is measured" {
    echo mine >"$PLOT"
    for command in "log_stats $DIR" "send_reada $MNT/snapshot"; do
        # shellcheck disable=SC2086 # a command and its argument
        run -1 --separate-stderr $command --plot "$PLOT"
        [ "$stderr" = "ERROR: cannot create '$PLOT': File exists" ] || fail "$stderr"
        [ -z "$output" ]
    done
    [ "$(cat "$PLOT")" = mine ]
    ln -s nowhere "$BATS_TEST_TMPDIR/link"
    for path in "$BATS_TEST_TMPDIR/link" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/none/x" /dev/full ''; do
        run -1 --separate-stderr log_stats --files 10 --plot "$path" "$DIR"
        [[ $stderr == "ERROR: cannot create '$path': "* ]] || fail "$path: $stderr"
    done
    [ ! -e "$BATS_TEST_TMPDIR/nowhere" ]
}

@test "a full disk leaves no file" {
    mkdir "$BATS_TEST_TMPDIR/small"
    mount -t tmpfs -o size=8k none "$BATS_TEST_TMPDIR/small"
    run --separate-stderr log_stats --files 100 --every 10 --plot "$BATS_TEST_TMPDIR/small/plot.svg" "$DIR"
    left=$(ls -A "$BATS_TEST_TMPDIR/small")
    umount "$BATS_TEST_TMPDIR/small"
    [ "$status" -eq 1 ]
    [ "$stderr" = 'ERROR: gnuplot failed: the image is incomplete' ] || fail "$stderr"
    [ -z "$left" ]
}

@test "what --plot cannot be combined with" {
    run -1 --separate-stderr log_stats --watch --plot "$PLOT" "$DIR"
    [[ $stderr == *'--watch can only be combined with --interval'* ]]
    run -1 --separate-stderr send_reada --estimate --plot "$PLOT" "$MNT/snapshot"
    [[ $stderr == *'--estimate cannot be combined with '*' or --plot'* ]]
    run -1 --separate-stderr send_reada --plot "$PLOT" --decode /dev/null
    [[ $stderr == *'--decode cannot be combined with '*' or --plot'* ]]
    expect_no_plot
}
