# SPDX-License-Identifier: GPL-2.0-only
"""The patches themselves: kernel/scripts/check, and the module."""

import os

import pytest
from fastpath_tests import kernels
from fastpath_tests.processes import wait_for

CHECK = os.path.join(kernels.SCRIPTS, "check")


def test_series(processes, base, option):
    """With --quick, the series is built as a whole, otherwise patch by patch."""
    assert wait_for(processes, CHECK, *["--whole-series"] * option.quick, base) == 0


def test_module(base, option):
    if not option.module:
        pytest.skip("needs --module")
    assert kernels.build(base, "patched", "--module")
