#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Stands in the list of tests for those that were not built.
echo "1..0 # SKIP configure did not find cmocka: no unit test is run"
