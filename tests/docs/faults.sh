#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC1091,SC2154 # what common.sh and make set
# The list of faults for "make mutation" fits the sources.
. "$top_srcdir/tests/docs/common.sh"

if command -v python3 >/dev/null; then
	check "each of tests/mutation/faults has its lines once in its file" "$top_srcdir/tests/mutation/run" --dry-run
else
	skip "each of tests/mutation/faults has its lines once in its file" "python3 is not installed"
fi
finish
