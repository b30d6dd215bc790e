# SPDX-License-Identifier: GPL-2.0-only
"""The upstream suite xfstests, a built checkout `--suite DIR`: the cases of kernel/fstests fail on the base and pass on the
patched kernel, and each test of the suite that passes on the base passes on the patched kernel, too."""

import collections
import functools
import hashlib
import json
import os
import re
import signal
import subprocess
import time

import pytest
from fastpath_tests import kernels
from fastpath_tests.processes import both, start, stop

CASES = os.path.join(kernels.KERNEL, "fstests")
CASES_BASE = "7.3"
RESULTS = os.path.join(kernels.CACHE, "fstests")
# The suite has none of these numbers.
FIRST_NUMBER = 900
GROUPS = {"log", "send", "fiemap", "seek", "snapshot", "clone", "prealloc", "punch"}
LEFT_OUT = {"broken", "dangerous", "dangerous_fuzzers", "soak"}
DISKS = ["--disk", "4G"] * 3
SECONDS_TO_BOOT = 120
RUNS = 3
LINES_KEPT = 15

TEST = re.compile(r"^((?:btrfs|generic)/\d+)\b(.*)")
PASSED = re.compile(r"\s*(\d+s \.\.\.\s+)?\d+s\s*")
END = re.compile(r"^(Ran:|Passed all)")


# -- the suite --


def chosen_of(lists, chosen=""):
    """Names of tests, from the content of each group.list: first those of GROUPS that are quick, in turn from each of these
    groups, so that a part of the list has tests of all of them; then other quick ones, and those of GROUPS that are not"""
    found, number_in = [], collections.Counter()
    for folder, lines in lists.items():
        for line in lines.splitlines():
            number, *groups = line.partition("#")[0].split() or [""]
            ours = GROUPS & set(groups)
            if not number or LEFT_OUT & set(groups) or not (ours or "quick" in groups):
                continue
            number_in.update(ours)
            turn = min((number_in[group] for group in ours), default=0)
            if chosen in f"{folder}/{number} {' '.join(groups)}":
                found.append(("quick" not in groups, not ours, turn, f"{folder}/{number}"))
    return [name for *_, name in sorted(found)]


def results_in(output):
    """[(test, result, what the suite said)] in their order. Without an end, the last test is what the guest died of."""
    found, ended = [], False
    for line in output.splitlines():
        ended = ended or bool(END.match(line))
        if match := TEST.match(line):
            found.append((match[1], [match[2]]))
        elif found and line.strip() and not ended:
            found[-1][1].append(line)
    results = [(test, result_of(lines), "\n".join(lines[:LINES_KEPT]).strip()) for test, lines in found]
    if results and not ended:
        results[-1] = (results[-1][0], "no result", results[-1][2])
    return results


def result_of(lines):
    if "[not run]" in lines[0]:
        return "not run"
    return "passed" if PASSED.fullmatch(lines[0]) and len(lines) == 1 else "failed"


# -- results --


class Results:
    """{test: [result]} of a kernel. Each is in the file as soon as it is known, and a later run reads them from there."""

    def __init__(self, path):
        self.path, self.found = path, collections.defaultdict(list)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for row in map(json.loads, file):
                    self.found[row["test"]].append(row["result"])

    def add(self, test, result, text):
        self.found[test].append(result)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"test": test, "result": result, "text": text}) + "\n")


def differences(tests, stock, patched):
    """What always passed on the base and never on the patched kernel"""
    return [test for test in tests if set(stock[test]) == {"passed"} and "passed" not in patched[test]]


def summary(tests, stock, patched):
    """How many tests ended how on both kernels, and each that did not end the same way"""
    same = collections.Counter(result for test in tests for result in set(stock[test]) & set(patched[test]))
    yield f"{len(tests)} tests on both kernels: {', '.join(f'{count} {result}' for result, count in same.items())}"
    for test in tests:
        if set(stock[test]) != set(patched[test]):
            yield f"{test}: base {', '.join(stock[test])}; patched {', '.join(patched[test])}"


# -- guests --


def content(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def watch(process, path, limit):
    """Stops a guest that takes longer than the LIMIT for a test. Returns the results in its output at PATH, as they come."""
    results, since, allowed, stopped = [], time.monotonic(), SECONDS_TO_BOOT, False
    while True:
        ended = process.poll() is not None
        found = results_in(content(path))
        if len(found) > len(results):
            since, allowed = time.monotonic(), limit
        yield from found[max(len(results) - 1, 0) : -1]
        results = found
        if ended:
            break
        if time.monotonic() - since > allowed:
            stop(process)
            stopped = True
        else:
            time.sleep(0.5)
    # Ctrl-C, or a failure on the other kernel
    if not stopped and process.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM):
        raise InterruptedError("the guest was stopped")
    yield from results[-1:]


@pytest.fixture
def suite(option):
    if not option.suite:
        pytest.skip("needs --suite")
    if not os.access(os.path.join(option.suite, "ltp/fsstress"), os.X_OK):
        pytest.fail(f"not a built checkout of xfstests: '{option.suite}'")
    return option.suite


@pytest.fixture
def run(processes, scratch, suite, option):
    """Runs tests on a kernel, and adds each result to those that are known. A guest that hangs or panics is replaced."""

    def run(kernel, tests, results):
        options = ["--memory", "3072", *DISKS]
        if not option.uml or kernels.has_uml_with_cpus(kernel.base):
            options += ["--smp", "2"]
        path = os.path.join(scratch, f"{kernel.variant}.output")
        while tests:
            command = [kernels.guest_program("fstests"), suite, *tests]
            boot = kernels.boot(kernel, *command, options=options, limit=option.limit, uml=option.uml)
            with open(path, "wb") as file, open(f"{path}.errors", "wb") as errors:
                process = start(processes, *boot, stdin=subprocess.DEVNULL, stdout=file, stderr=errors)
            number = 0
            for test, result, text in watch(process, path, option.test_limit):
                results.add(test, result, text)
                number += 1
            assert number, content(path) + content(f"{path}.errors")
            tests = tests[number:]

    return run


def results_of(kernel, suite, option):
    """In the folder of the kernels' cache, by the content of what they depend on"""
    version = subprocess.run(["git", "-C", suite, "rev-parse", "HEAD"], capture_output=True, check=False).stdout
    parts = [kernel.folder(uml=option.uml), version or suite.encode(), content(kernels.guest_program("fstests"))]
    name = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
    os.makedirs(RESULTS, exist_ok=True)
    return Results(os.path.join(RESULTS, f"{kernel.base}-{kernel.variant}-{name}"))


# -- tests --


def test_cases(run, base, stock, patched, scratch, option):
    if base != CASES_BASE:
        pytest.skip(f"the cases are for {CASES_BASE}")
    names = sorted(name.removesuffix(".out") for name in os.listdir(CASES) if name.endswith(".out"))
    chosen = dict(enumerate((name for name in names if option.case in name), FIRST_NUMBER))
    if not chosen:
        pytest.skip("no such case")
    for kernel, expected in (stock, "failed"), (patched, "passed"):
        results = Results(os.path.join(scratch, kernel.variant))
        run(kernel, [f"{number}={os.path.join(CASES, name)}" for number, name in chosen.items()], results)
        found = {name: results.found[f"btrfs/{number}"] for number, name in chosen.items()}
        assert found == {name: [expected] for name in chosen.values()}, content(results.path)


def test_suite(run, processes, suite, stock, patched, option, capsys):
    lists = {name: content(os.path.join(suite, "tests", name, "group.list")) for name in ("btrfs", "generic")}
    chosen = chosen_of(lists, option.case)[: option.suite_tests]
    if not chosen:
        pytest.skip("no such case")
    sides = [(kernel, results_of(kernel, suite, option)) for kernel in (stock, patched)]
    found = [results.found for _, results in sides]
    wanted = chosen
    for number in range(1, RUNS + 1):
        jobs = [
            functools.partial(run, kernel, [test for test in wanted if len(results.found[test]) < number], results)
            for kernel, results in sides
        ]
        both(processes, *jobs)
        wanted = differences(chosen, *found)
    with capsys.disabled():
        print("", *summary(chosen, *found), sep="\n")
    assert not wanted


# -- what has to fail --

LISTS = {"btrfs": "# comment\n\n001 auto quick\n002 log\n003 auto\n", "generic": "001 seek quick\n002 log soak\n"}
OUTPUT = """FSTYP -- btrfs

btrfs/001         3s
btrfs/002  3s ...  4s
btrfs/003         [not run] this test requires a disk
btrfs/004         [failed, exit status 1]- output mismatch (see /results/btrfs/004.out.bad)
    --- tests/btrfs/004.out
btrfs/005         _check_dmesg: something found in dmesg (see /results/btrfs/005.dmesg)

btrfs/006         _check_btrfs_filesystem: filesystem on /dev/vdb is inconsistent
(see /results/btrfs/006.full for details)
 5s
btrfs/007         """


def test_the_tests_of_the_groups_are_found():
    assert chosen_of(LISTS) == ["generic/001", "btrfs/001", "btrfs/002"]
    assert chosen_of(LISTS, "log") == ["btrfs/002"]
    assert not chosen_of(LISTS, "btrfs/003")


def test_only_what_the_suite_reports_as_passed_has_passed():
    expected = ["passed"] * 2 + ["not run"] + ["failed"] * 3
    names = [f"btrfs/00{number}" for number in range(1, 8)]
    assert [(test, result) for test, result, _ in results_in(OUTPUT)] == list(zip(names, [*expected, "no result"]))
    assert results_in(f"{OUTPUT}6s\nRan: btrfs/007\nPassed all 7 tests\n")[-1][1] == "passed"
    assert results_in(f"{OUTPUT}6s\n")[-1][1] == "no result"
    assert not results_in("FSTYP -- btrfs\n")


@pytest.mark.parametrize("result", ["failed", "no result", "not run"])
def test_a_difference_is_noticed(result):
    passed = {"1": ["passed"]}
    for patched, found in ([result], ["1"]), ([result] * RUNS, ["1"]), ([result, "passed"], []), (["passed"], []):
        assert differences(passed, passed, {"1": patched}) == found
    assert not differences(passed, {"1": ["passed", "failed"]}, {"1": [result]})
    lines = list(summary("12", passed | {"2": ["passed"]}, {"1": [result], "2": ["passed"]}))
    assert lines == ["2 tests on both kernels: 1 passed", f"1: base passed; patched {result}"]


def test_a_result_is_kept(scratch):
    path = os.path.join(scratch, "results")
    Results(path).add("btrfs/001", "passed", "3s")
    Results(path).add("btrfs/001", "failed", "")
    assert Results(path).found == {"btrfs/001": ["passed", "failed"]}


def test_a_guest_that_hangs_is_stopped(processes, scratch):
    path = os.path.join(scratch, "output")
    with open(path, "wb") as file:
        start(processes, "printf", r"btrfs/001  3s\nbtrfs/002  ", stdout=file).wait()
    found = list(watch(start(processes, "sleep", "1000"), path, 1))
    assert found == [("btrfs/001", "passed", "3s"), ("btrfs/002", "no result", "")]
    stopped = start(processes, "sleep", "1000")
    stopped.terminate()
    with pytest.raises(InterruptedError):
        list(watch(stopped, path, 1000))
