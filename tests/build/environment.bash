# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Scripts and make, with programs that only print their arguments.

bats_require_minimum_version 1.5.0

: "${top_srcdir:=$BATS_TEST_DIRNAME/../..}" "${top_builddir:=$PWD}"
export LC_ALL=C.UTF-8

# stub FILE LINE...: a shell script
stub() {
    local file=$1

    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$file"
    chmod 755 "$file"
}
