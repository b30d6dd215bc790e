#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs every fuzz target on its corpus, a line of TAP for each.
# Both kinds of target, with libFuzzer and without, take the files as arguments.
# EMULATOR runs targets that were built for another processor.
set -u

: "${top_srcdir:=.}" "${top_builddir:=.}"
corpora=$top_srcdir/tests/fuzz/corpus

# shellcheck disable=SC2086 # a list of words
set -- ${FUZZ_TARGETS:?is the list of targets}
echo "1..$#"

number=0
for target in "$@"; do
    number=$((number + 1))
    name=${target##*/fuzz-}
    log=$(${EMULATOR:-} "$top_builddir/$target" "$corpora/$name"/* 2>&1)
    status=$?
    if [ $status -eq 0 ]; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name: exit status $status"
        printf '%s\n' "$log" | sed 's/^/# /'
    fi
done
