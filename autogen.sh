#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes ./configure from a git checkout.
set -e
cd "$(dirname "$0")"
exec autoreconf --install --force --warnings=all,no-portability
