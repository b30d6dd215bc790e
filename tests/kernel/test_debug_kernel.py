# SPDX-License-Identifier: GPL-2.0-only
"""Races and faults under a kernel with KASAN, lockdep and kmemleak, which must not warn of anything."""

import pytest
from fastpath_tests import kernels
from fastpath_tests.load_script import load_script

# kmemleak and KASAN go through all of the memory.
OPTIONS = ["--smp", "2", "--memory", "1536", "--append", "maxcpus=1", "--disk", "8G"]


@pytest.mark.slow
def test_races_and_faults(guest, base, option):
    kernel = kernels.Kernel(base, "patched", ("--debug",))
    features = kernels.has_state(base, "carried", "improved")
    suite = kernels.guest_program("debug-suite")
    assert guest(kernel, suite, str(option.seconds // 2), "/dev/vda", *features, options=OPTIONS) == 0


# -- what has to fail --


def test_faults_need_an_answer_to_compare_with():
    faults = load_script(kernels.guest_program("inject-faults"))
    assert faults.known("fiemap", {"file": [1]}) == {"file": [1]}
    for nothing in ({}, {"file": []}, {"file": [1], "other": []}):
        with pytest.raises(RuntimeError):
            faults.known("fiemap", nothing)
