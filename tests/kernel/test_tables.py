# SPDX-License-Identifier: GPL-2.0-only
"""What is written by hand about each feature or base is about those of kernel/STATUS.tsv. Needs no kernel."""

import glob
import json
import os
import re
import subprocess
import sys

import pytest
from fastpath_tests import kernels
from fastpath_tests.load_script import load_script
from test_steps import EXPECTED, EXPECTED_ON, LEFT_OUT
from test_work import OPERATIONS

HERE = os.path.dirname(os.path.realpath(__file__))
BENCH = os.path.join(kernels.TOP, "bench")
FEATURES = set(kernels.features())
BASES = set(kernels.bases())
PATCHED = set(kernels.with_patches())


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def names_in(*path):
    return {os.path.basename(name) for name in glob.glob(os.path.join(*path))}


def pairs_of(table):
    return {(base, feature) for base in table for feature in table[base]}


def test_status_has_each_feature_of_each_base():
    assert set(kernels.status()) == {(base, feature) for base in BASES for feature in FEATURES}


def test_each_base_has_a_configuration_and_a_series():
    assert names_in(kernels.KERNEL, "bases/*.conf") == {f"{base}.conf" for base in BASES}
    series = {path.split("/")[-2] for path in glob.glob(os.path.join(kernels.KERNEL, "[0-9]*/series"))}
    assert series == {base for base, _ in PATCHED} == BASES
    assert all(map(kernels.counted, BASES))


def test_readme_is_current():
    current = [os.path.join(kernels.SCRIPTS, "tables"), "--check"]
    assert subprocess.run(current, check=False).returncode == 0


def test_bench_has_each_feature(monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    ab, report = (load_script(os.path.join(BENCH, name)) for name in ("ab", "report"))
    assert names_in(BENCH, "workloads/*") - {"__pycache__"} == FEATURES
    assert set(ab.FEATURES) == set(report.PLOTTED) == set(json.loads(read(BENCH, "published.json"))) == FEATURES
    assert set(ab.SIZES_ON) <= PATCHED


def test_the_program_and_its_page_have_each_feature():
    assert all(os.path.exists(os.path.join(kernels.TOP, f"lib/probe/probe-{name}.c")) for name in FEATURES)
    page = read(kernels.TOP, "man/btrfs-fastpath-kernel.7.rst")
    assert {heading.lower() for heading in re.findall(r"^([A-Z]+-[A-Z]+)\n=+$", page, re.MULTILINE)} == FEATURES


def test_each_feature_has_tests():
    modules = "".join(map(read, glob.glob(os.path.join(HERE, "test_*.py"))))
    assert FEATURES == set(re.findall(r'^(?:pytestmark = |FEATURE = ).*?"([a-z-]+)"', modules, re.MULTILINE))
    assert set(OPERATIONS) == {*EXPECTED, *LEFT_OUT} == FEATURES
    assert pairs_of(EXPECTED_ON) <= PATCHED


def test_programs_of_the_guest_have_each_feature():
    counters = load_script(kernels.guest_program("counters"))
    assert set(counters.WORK) == FEATURES
    assert pairs_of(counters.WORK_ON) <= PATCHED
    assert set(load_script(kernels.guest_program("inject-faults")).TRIES) == FEATURES
    asked = set(re.findall(r"^if has (\S+);", read(kernels.GUEST, "debug-suite"), re.MULTILINE))
    assert asked and asked <= FEATURES


@pytest.mark.parametrize("patch", glob.glob(os.path.join(HERE, "[mw]*/*.patch")), ids=os.path.basename)
def test_each_fault_names_bases(patch):
    bases = kernels.header(patch, "Fastpath-Base").split()
    assert bases and set(bases) <= BASES


@pytest.mark.parametrize(
    "program, arguments",
    [
        ("seek-maps", ["--seeds", "0", "1", "/dev/null"]),
        ("seek-maps", ["--seconds", "0", "1", "/dev/null"]),
        ("fiemap-load", ["--seconds", "0", "/dev/null"]),
        ("fiemap-snapshot-writes", []),
        ("seek-many-states", []),
        ("inject-faults", ["--rounds", "0", "1", "/dev/null", "log-dir"]),
        ("inject-faults", ["1", "/dev/null"]),
        ("log-record", ["--seeds", "0", "/dev/null", "/dev/null", "/"]),
        ("log-record", ["--case", "no-such-case", "/dev/null", "/dev/null", "/"]),
        ("counters", ["/dev/null"]),
    ],
)
def test_no_program_tests_nothing(program, arguments):
    wrong_call = 2
    assert (
        subprocess.run([sys.executable, kernels.guest_program(program), *arguments], check=False).returncode
        == wrong_call
    )
