# SPDX-License-Identifier: GPL-2.0-only
"""Steps: the patched kernel takes the shortcuts, by what it walks and executes, not by the clock."""

import json
import os

import pytest
from fastpath_tests import kernels
from fastpath_tests.load_script import load_script
from fastpath_tests.processes import wait_for

AB = os.path.join(kernels.TOP, "bench/ab")

# feature: a size, and for each measure how many times less it must be at least. What was measured is well above.
EXPECTED = {
    "fiemap-leaf": (
        16384,
        {"backref_steps": 20, "cached_ns": 5, "snapshot_in_use_ns": 1.8, "never_snapshotted_ns": 4},
    ),
    "seek-cache": (8, {"walk_dirty_ns": 5, "cp_cold_ns": 5}),
    "log-dir": (6000, {"fsync_total_ns": 1.5, "fsync_last_tenth_ns": 3}),
    "send-reada": (3125, {"cold_ns": 2}),
}
# test_nocow.py compares what that decides.
LEFT_OUT = {"nocow-csum"}
# What is improved was less before than on a base without the feature.
IMPROVED = {
    "fiemap-leaf": (16384, {"cached_ns": 1.15, "snapshot_in_use_ns": 2.5}),
    "seek-cache": (8, {"walk_dirty_ns": 20, "cp_dirty_ns": 10}),
    "log-dir": (15000, {"fsync_total_ns": 1.2, "fsync_last_tenth_ns": 1.3}),
}
# base: what differs there
EXPECTED_ON = {
    "5.10": {"seek-cache": (4, {"walk_dirty_ns": 5, "walk_synced_ns": 5})},
    "6.12": IMPROVED,
    "7.3": IMPROVED,
}


def is_less(row, least):
    """Where nothing was to do without the feature, nothing is shown."""
    return row["without"] > 0 and row["with"] * least <= row["without"]


def test_fewer_steps(processes, scratch, base, feature, stock, patched):
    if feature in LEFT_OUT:
        pytest.skip(f"{feature} takes no fewer steps")
    size, expected = (EXPECTED | EXPECTED_ON.get(base, {}))[feature]
    results = os.path.join(scratch, "results.json")
    sides = ["--a", stock.folder(), "--b", patched.folder()]
    ab = [AB, feature, *sides, "--rounds", "1", "--mode", "cpu", "--sizes", str(size)]
    assert wait_for(processes, *ab, "--json", results) == 0
    with open(results, encoding="utf-8") as file:
        rows = {row["measure"]: row for row in json.load(file)["results"]}
    for name, least in expected.items():
        assert is_less(rows[name], least), f"{name}: not {least} times less: {rows[name]}"


# -- what has to fail --


def test_nothing_is_not_less_than_nothing():
    assert is_less({"without": 20, "with": 2}, 5)
    assert not is_less({"without": 20, "with": 20}, 5)
    assert not is_less({"without": 0, "with": 0}, 5)


def test_workloads_measure_what_they_expect():
    leaf = load_script(os.path.join(kernels.WORKLOADS, "fiemap-leaf"))
    leaf.map_file = lambda path, _: (0 if path == "empty" else 9, 0, 1000)
    assert leaf.time_mapping("file", 292, 9) == 1000
    assert leaf.measure_cached("file", 9, False) == 1000
    for measure, *arguments in (
        (leaf.time_mapping, "empty", 292, 9),
        (leaf.measure_cached, "file", 9, True),
        (leaf.measure_cached, "file", 10, False),
        (leaf.measure_cached, "empty", 1, False),
    ):
        with pytest.raises(SystemExit):
            measure(*arguments)
    seek = load_script(os.path.join(kernels.WORKLOADS, "seek-cache"))
    seek.require_pieces("file", 128, 1 << 20)
    for pieces in (0, 1):
        with pytest.raises(SystemExit):
            seek.require_pieces("file", pieces, 1 << 20)
