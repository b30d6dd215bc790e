# SPDX-License-Identifier: GPL-2.0-only
"""Counters: each feature is counted, and the commands print the counters."""

import os
import tempfile

import pytest
from fastpath_tests import kernels
from fastpath_tests.load_script import load_script
from fastpath_tests.results import Results

COUNTERS = kernels.guest_program("counters")


def test_counters(guest, patched, base, program):
    options = [*kernels.TWO_CPUS, "--disk", "2G"]
    assert guest(patched, COUNTERS, "--program", program, "/dev/vda", *kernels.counted(base), options=options) == 0


# -- what has to fail --


class Scratch:
    folder = "/"
    unmount = mount = staticmethod(lambda: None)


@pytest.mark.parametrize(
    "begun, counting", [({"log_dir_passes": 0}, True), ({"log_dir_passes": 1}, False), ({}, False)]
)
def test_no_counters_do_not_begin_at_0(begun, counting, monkeypatch):
    counters = load_script(COUNTERS)
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0o444)
        monkeypatch.setattr(counters, "read", lambda _: "")
        monkeypatch.setattr(counters.calls, "fastpath_stats_path", lambda _: file.name)
        monkeypatch.setattr(counters.calls, "fastpath_counters", lambda _: begun)
        results = Results()
        counters.check_counting(Scratch, results, [])
    assert results.failed != counting
