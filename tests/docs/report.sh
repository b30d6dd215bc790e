#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC1091,SC2154 # what common.sh and make set
# The tables of bench/REPORT.md have what is in bench/results.
. "$top_srcdir/tests/docs/common.sh"

if command -v python3 >/dev/null; then
	check "bench/REPORT.md is current" "$top_srcdir/bench/report" --check
else
	skip "bench/REPORT.md is current" "python3 is not installed"
fi
finish
