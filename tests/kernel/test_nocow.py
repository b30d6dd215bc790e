# SPDX-License-Identifier: GPL-2.0-only
"""NOCOW: what a stock kernel and a patched one decide about writes, and what they do with checksums.

nocow-write runs with each seed, and csum-users with the first one, in one guest of each kernel.
"""

import collections
import contextlib
import os
import shlex
import subprocess
import sys

import pytest
from fastpath_tests import kernels
from fastpath_tests.load_script import load_script
from fastpath_tests.processes import both

pytestmark = pytest.mark.feature("nocow-csum")

DISKS = "/dev/vda,/dev/vdb"
OPTIONS = ["--memory", "1024", *["--disk", "512M"] * 2]

# Without these the comparison has missed what it is for.
NEEDED = [
    "in-place",
    "copied",
    "checksum",
    "checksum further on",
    "prealloc next to checksum",
    "nocow next to checksum",
]


# What only a kernel with the change has.
MARKER = "btrfs_csum_exists_in_range"

Job = collections.namedtuple("Job", "program seed options")


def jobs_of(seeds):
    if any(seeds.values()):
        return [Job("nocow-write", seed, ["--file-systems"]) for seed in seeds]
    return [Job("csum-users", next(iter(seeds)), [])] + [Job("nocow-write", seed, []) for seed in seeds]


class Run:
    """One kernel runs all jobs, each one's output and status in files of its own."""

    def __init__(self, guest, kernel, folder, jobs):
        self.folder = folder
        os.mkdir(folder)
        with open(os.path.join(folder, "log"), "wb") as log:
            self.status = guest(
                kernel,
                "/bin/sh",
                "-c",
                self.script(jobs),
                options=[*OPTIONS, "--share", folder],
                limit=7200,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def script(self, jobs):
        marker = shlex.quote(os.path.join(self.folder, "marker"))
        return "\n".join([f"grep -cw {MARKER} /proc/kallsyms >{marker}", *map(self.command, jobs)])

    def command(self, job):
        disks = DISKS if job.options else DISKS.split(",")[0]
        program = kernels.guest_program(job.program)
        command = shlex.join([sys.executable, program, *job.options, str(job.seed), disks])
        output = shlex.quote(os.path.join(self.folder, self.name(job)))
        return f"{command} >{output} 2>{output}.errors; echo $? >{output}.status"

    def name(self, job):
        return f"{job.program}-{job.seed}"

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def markers(self):
        """None of a guest that did not get so far."""
        text = self.read("marker").strip()
        return int(text) if text else None

    def result(self, job):
        name = self.name(job)
        return self.read(name), self.read(name + ".status").strip(), self.read(name + ".errors")


def decisions_of(output):
    """Without the neighbors of a range on disk, which depend on where the allocator put things."""
    return [line.replace(" next to checksum", "") for line in output.splitlines() if not line.startswith("total ")]


def first_difference(stock, patched):
    """The first decision that differs as (number, stock's, patched's); None if there is none."""
    stock_lines, patched_lines = decisions_of(stock), decisions_of(patched)
    for number in range(max(len(stock_lines), len(patched_lines))):
        one, other = (lines[number] if number < len(lines) else "(nothing)" for lines in (stock_lines, patched_lines))
        if one != other:
            return number + 1, one, other
    return None


def faults_of(stock, patched):
    """What is wrong with two results, in lines."""
    faults = []
    for kernel, (_, status, errors) in (("stock", stock), ("patched", patched)):
        if status != "0":
            faults.append(f"{kernel}: status {status or 'none'}: {errors.strip()}")
    if not decisions_of(stock[0]):
        faults.append("no output")
    difference = first_difference(stock[0], patched[0])
    if difference:
        faults.append("line {}: stock: {} / patched: {}".format(*difference))
    return faults


def totals_of(output):
    totals = collections.Counter()
    for line in output.splitlines():
        if line.startswith("total "):
            name, count = line[len("total ") :].rsplit(": ", 1)
            totals[name] += int(count)
    return totals


def doctored(output):
    """The same with one decision turned round."""
    for old, new in (("in-place", "copied"), ("copied", "in-place")):
        if f" {old} (" in output:
            return output.replace(f" {old} (", f" {new} (", 1)
    raise ValueError("no decision in the output")


def kernels_faults(stock, patched):
    """STOCK and PATCHED: how often each kernel has the marker"""
    faults = []
    if stock != 0:
        faults.append("the stock kernel was not asked" if stock is None else f"the stock kernel has {MARKER}")
    if not patched:
        faults.append("the patched kernel was not asked" if patched is None else f"the patched kernel has no {MARKER}")
    return faults


def notices_doctored_output(stock):
    output, status, errors = stock
    try:
        changed = doctored(output)
    except ValueError as error:
        return [str(error)]
    if not faults_of(stock, (changed, status, errors)):
        return ["a decision that was turned round is not noticed"]
    if not faults_of(stock, ("\n".join(decisions_of(output)[:-1]), status, errors)):
        return ["a missing decision is not noticed"]
    return []


def test_same_decisions(guest, processes, scratch, stock, patched, seeds):
    jobs = jobs_of(seeds)
    sides = both(
        processes,
        lambda: Run(guest, stock, os.path.join(scratch, "stock"), jobs),
        lambda: Run(guest, patched, os.path.join(scratch, "patched"), jobs),
    )
    stock, patched = sides
    wrong = kernels_faults(stock.markers(), patched.markers())
    wrong += [side.read("log") for side in sides if side.status]
    totals = collections.Counter()
    for job in jobs:
        result = stock.result(job)
        wrong += [f"{job.program}, seed {job.seed}: {line}" for line in faults_of(result, patched.result(job))]
        totals += totals_of(result[0])
    print(*(f"{name}: {count}" for name, count in sorted(totals.items())), sep="\n")
    wrong += [f"no write: {name}" for name in NEEDED if not totals[name]]
    wrong += notices_doctored_output(stock.result(jobs[-1]))
    assert not wrong, "\n".join(wrong)


# -- what has to fail --


def test_kernels_that_were_not_asked_are_noticed():
    assert not kernels_faults(0, 1)
    for markers in ((None, 1), (0, None), (1, 1), (0, 0)):
        assert kernels_faults(*markers)


def test_totals_alone_are_no_decisions():
    same = "quiet/nocow 0+1 direct: 0+1 in-place (nocow)\n", "0", ""
    assert not faults_of(same, same)
    for output in ("", "total writes: 0\n"):
        nothing = output, "0", ""
        assert faults_of(nothing, nothing)


def test_a_file_without_extents_has_no_addresses(monkeypatch):
    users = load_script(kernels.guest_program("csum-users"))

    class Tree:
        @contextlib.contextmanager
        def opened(self, _):
            yield -1

    monkeypatch.setattr(users.calls, "block_addresses", lambda _: {})
    with pytest.raises(RuntimeError):
        users.block_addresses(Tree(), "large")
