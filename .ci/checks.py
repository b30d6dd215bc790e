# SPDX-License-Identifier: GPL-2.0-only
"""Runs the checks that must pass before a change lands: the linters, the tests on a new machine with Debian 12, the
short proofs of Debian's packages, and the tests of the tarball with sanitizers; in parallel, the kernel patches in
guests, the tests on Debian 13, builds with gcc and clang, fuzz targets, and falsified answers of the kernel. It installs
the packages that it needs, requires root and loop devices, and takes about an hour."""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "tests/python"))
from fastpath_tests.commands import excerpt
from fastpath_tests.processes import Groups, end_on_signals

PACKAGES = ["clang", "debootstrap", "gcovr", "git", "libclang-rt-14-dev", "python3-venv", "xz-utils"]
SANITIZERS = ["--enable-werror", "--enable-sanitizers"]
FAILURE = re.compile(rb"^(not ok|FAIL:|XPASS:|ERROR:|FAILED |ERROR |E  )|: error: ")
LINES_AFTER_FAILURE = 20
LINES_SHOWN = 100


def duration(seconds):
    return f"{int(seconds) // 60:3} min {int(seconds) % 60:02} s"


class Results:
    """What became of the parts, whose output is in the folder WORK."""

    def __init__(self, work):
        self.work = work
        self.start = time.monotonic()
        self.lines = []
        self.failed = []

    def output_of(self, name):
        return os.path.join(self.work, f"output of {name}")

    def show_failure(self, name):
        with open(self.output_of(name), "rb") as file:
            lines = file.readlines()
        shown = excerpt(lines, FAILURE, LINES_AFTER_FAILURE)
        print(f"\n==> {name} failed: its failures, and the end of its output", flush=True)
        sys.stdout.buffer.writelines([*shown[:LINES_SHOWN], b"...\n", *lines[-20:]])

    def report(self):
        """The end of the output shows the failures. Returns the exit status."""
        for name in self.failed:
            self.show_failure(name)
        print("\n==> Time of each part, two in parallel")
        print(*self.lines, sep="\n")
        print(f"{'total':27} {duration(time.monotonic() - self.start)}")
        return 1 if self.failed else 0


class Lane:
    """Parts that run one after the other. A failure does not stop the next part."""

    def __init__(self, groups, results, output):
        self.groups = groups
        self.results = results
        self.output = output

    def print(self, text):
        self.output.write(f"{text}\n".encode())
        self.output.flush()

    def run(self, log, command, folder):
        process = self.groups.start(
            *command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        with process.stdout:
            for line in process.stdout:
                log.write(line)
                self.output.write(line)
                self.output.flush()
        return self.groups.wait(process)

    def part(self, name, *commands, folder=TOP):
        """The COMMANDS, up to one that fails."""
        start = time.monotonic()
        self.print(f"\n==> {name}")
        with open(self.results.output_of(name), "wb") as log:
            passed = all(self.run(log, command, folder) == 0 for command in commands)
        if not passed:
            self.results.failed.append(name)
        result = "passed" if passed else "FAILED"
        self.results.lines.append(f"{name:20} {result:6} {duration(time.monotonic() - start)}")
        self.print(f"==> {self.results.lines[-1]}")

    def build(self, name, configure, *make):
        """A part in a build folder of its own, with these arguments."""
        folder = os.path.join(self.results.work, name)
        os.mkdir(folder)
        self.part(
            name,
            [os.path.join(TOP, "configure"), "--quiet", *configure],
            ["make", "--silent", f"-j{len(os.sched_getaffinity(0))}", *make],
            folder=folder,
        )


def guests_trixie_and_builds(lane):
    turn = subprocess.check_output(["git", "rev-list", "--count", "HEAD"], cwd=TOP, text=True).strip()
    parallel = ["-n", "2", "--dist", "loadgroup"]
    lane.part("check-kernel", ["./quickstart", "check-kernel", "--quick", "--changed", turn, *parallel])
    lane.part("newcomer trixie", ["tests/newcomer", "trixie"])
    for compiler in "gcc", "clang":
        lane.build(compiler, [f"CC={compiler}", "--enable-werror"], "check-am-programs")
    lane.build("coverage", ["--enable-coverage"], "coverage", "COVERAGE_OF=check-unit")
    lane.build("fuzzing", ["CC=clang", "--enable-werror", "--enable-fuzzing"], "check-fuzz")
    lane.build("falsified", ["CC=gcc", *SANITIZERS], "check-falsified", "RUNS=2000")


def bookworm_and_tarball(lane):
    share = os.path.join(lane.results.work, "share")
    os.mkdir(share)
    lane.part("lint", [".ci/lint"])
    # At least as many tests as last time
    count = "make --silent -C build check-results RESULTS_FLAGS=--count"
    lane.part("newcomer bookworm", ["tests/newcomer", "--cache", share, "bookworm", count])
    quick = "readme-bookworm or lintian-bookworm or reproducible-bookworm"
    lane.part(
        "packages", ["/usr/bin/python3", "-B", "-m", "pytest", "-v", "tests/packages", "--share", share, "-k", quick]
    )
    # Every test of the tarball, with read-only sources
    flags = f"DISTCHECK_CONFIGURE_FLAGS={' '.join(SANITIZERS)}"
    lane.build("distcheck", [], "distcheck", "VERBOSE=1", "RESULTS_FLAGS=--strict", flags)


def main():
    parser = argparse.ArgumentParser(prog=".ci/run", description=__doc__, allow_abbrev=False)
    parser.parse_args()
    os.chdir(TOP)
    end_on_signals()
    with (
        tempfile.TemporaryDirectory(prefix="btrfs-fastpath-ci.", dir=os.environ.get("TMPDIR", "/var/tmp")) as work,
        open(os.path.join(work, "output of the parallel parts"), "w+b") as parallel_output,
        concurrent.futures.ThreadPoolExecutor() as pool,
        Groups() as groups,
    ):
        # Tests run programs in it without privilege.
        os.chmod(work, 0o755)
        results = Results(work)
        for command in ["./quickstart", "packages", *PACKAGES], ["./quickstart", "build"]:
            if status := groups.wait(groups.start(*command, stdin=subprocess.DEVNULL)):
                return status
        # In threads, which read the output of processes also while these end.
        parallel = pool.submit(guests_trixie_and_builds, Lane(groups, results, parallel_output))
        pool.submit(bookworm_and_tarball, Lane(groups, results, sys.stdout.buffer)).result()
        parallel.result()
        parallel_output.seek(0)
        sys.stdout.buffer.writelines(parallel_output)
        return results.report()


sys.exit(main())
