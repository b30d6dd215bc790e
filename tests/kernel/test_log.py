# SPDX-License-Identifier: GPL-2.0-only
"""fsync of directories: what is there after the power was cut.

log-record records what a guest writes, in named cases and for seeds, and log_replay looks at it after each fsync, on the host
and under its kernel. A record fails where anything is not as the calls before guarantee, or where too few fsyncs made a log.
"""

import concurrent.futures
import copy
import os
import re
import subprocess
import sys
import tempfile
import threading

import pytest
from fastpath_tests import kernels, log_replay
from fastpath_tests.load_script import load_script
from fastpath_tests.log_writes import MARK, BadLog, Log
from fastpath_tests.logged_tree import is_folder
from fastpath_tests.processes import start

pytestmark = pytest.mark.feature("log-dir")

OPTIONS = ["--smp", "2", "--memory", "2048", "--disk", "400M", "--disk", "1G"]
AT_A_TIME = 2
RECORD = kernels.guest_program("log-record")
RECORDED = re.compile(r"recorded (\S+): ")
CASES = load_script(RECORD).CASES

# How many fsyncs of a case are to end in a commit.
COMMITS = {"rename-over-moved-directory": 1, "use-index-again": 1}


# Cases in which a base loses what was synced. It stands for a patched kernel with faults.
LOSSES = [
    "sync-during-first-sync",
    "sync-during-later-sync",
    "sync-evicted-file",
    "remove-before-first-sync",
    "rename-before-first-sync",
]
LOSSES_ON = {
    "6.1": ["rename-over-moved-directory", "rename-logged-symlink"],
    "6.12": ["rename-logged-symlink"],
}
LOST = re.compile("is lost|is not there|not not there|has other contents")


# -- records --


class Recorder:
    """Replays each record as soon as it is there."""

    def __init__(self, processes, directory, option):
        self.processes = processes
        self.directory = directory
        self.keep = option.keep
        self.uml = option.uml

    def record(self, kernel, cases=(), seeds=()):
        """{name: what was found, None if it was not recorded}"""
        names = [*cases, *map(str, seeds)]
        options = [f"--case={case}" for case in cases]
        if seeds:
            options += ["--seeds", str(len(seeds)), "--first-seed", str(min(seeds))]
            options += ["--file-systems"] * any(seeds.values())
        command = [sys.executable, RECORD, *options, "/dev/vda", "/dev/vdb", self.directory]
        boot = kernels.boot(kernel, *command, options=[*OPTIONS, "--share", self.directory], uml=self.uml)
        process = start(self.processes, *boot, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        found = self.replay_all(process.stdout)
        assert process.wait() == 0
        return {name: found.get(name) for name in names}

    def replay_all(self, lines):
        stopped = threading.Event()
        replays = {}
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            try:
                for line in lines:
                    print(line, end="")
                    if match := RECORDED.match(line):
                        path = os.path.join(self.directory, match[1])
                        replays[match[1]] = pool.submit(log_replay.replay, path, self.keep, stopped)
                return {name: future.result() for name, future in replays.items()}
            except BaseException:
                stopped.set()
                raise


@pytest.fixture
def recorder(processes, scratch, option):
    return Recorder(processes, scratch, option)


# -- report --


def too_little(counts):
    """Lines about what the record of a seed lacks."""
    lines = []
    # The last mark is of the unmounted file system.
    if counts["marks"] < 2:
        lines.append("there was no fsync")
    if not counts["names"]:
        lines.append("no name was compared")
    if counts["logged"] * 2 < counts["marks"]:
        lines.append(f"only {counts['logged']} of {counts['marks']} marks have a log")
    if not counts["walked"]:
        lines.append("no entry was inserted before it was logged")
    return lines


def not_as_wanted(case, counts):
    """Lines about what the record of a case lacks: each of its fsyncs is to make a log, but for those that are to commit."""
    lines = [] if counts["names"] else ["no name was compared"]
    fsyncs = counts["marks"] - 1
    wanted = fsyncs - COMMITS.get(case, 0)
    if fsyncs < 1 or counts["logged"] != wanted:
        lines.append(f"{counts['logged']} of {fsyncs} fsyncs made a log, not {wanted}")
    return lines


def findings(name, reported):
    """Lines about what is wrong with a record that was replayed."""
    return reported["wrong"] + (too_little(reported) if name.isdigit() else not_as_wanted(name, reported))


def report(name, found):
    """Lines about what is wrong with a record."""
    if found is None:
        return [f"{name}: not recorded"]
    print(
        f"{name}: {found['kind']}{found['kind'] and ', '}nodesize {found['nodesize']}, {found['marks'] - 1} fsyncs, "
        f"{found['logged']} marks with a log, {found['names']} names compared, {found['walked']} entries inserted before "
        "they were logged"
    )
    return [f"{name}: {line}" for line in findings(name, found)]


def not_noticed(found, finding):
    """The names of records that lack a FINDING, and what they have instead."""
    lines = []
    for name, reported in found.items():
        wrong = findings(name, reported) if reported else ["not recorded"]
        if not any(map(finding.search, wrong)):
            lines += [f"{name}: not noticed: {line}" for line in wrong or ["nothing is wrong"]]
    return lines


# -- controls --


def mark_with_most(record):
    """(number, how many entries were made in the folder since the mark before)"""
    made, best = [], (0, 0)
    for event in record.events:
        if event[0] == "make":
            made.append(event[1])
        elif event[0] == "start_fsync":
            best = max(best, (made.count(event[2]), event[1]))
        elif event[0] == "mark":
            made = []
    return best[1], best[0]


def writes_super(log, entry):
    at = entry.sector * log.sector
    return not entry.flags & MARK and at <= log_replay.SUPER < at + entry.count * log.sector


def image_without_last_super(record, number):
    """As if the power had gone just before the fsync of that mark returned."""
    entries = list(record.log)
    mark = next(position for position, entry in enumerate(entries) if entry.mark == str(number).encode())
    last = max(position for position in range(mark) if writes_super(record.log, entries[position]))
    image = log_replay.Image(record.bytes, record.parts)
    for entry in entries[:last]:
        record.log.replay(entry, image.fd)
    return image


def add_a_name(expectation):
    folder = next(folder for folder, names in expectation.may_be.items() if names)
    expectation.may_be[folder]["one more"] = {next(iter(expectation.kept))}


def leave_out_a_name(expectation):
    for choices in expectation.may_be.values():
        for name, choice in choices.items():
            if None not in choice:
                del choices[name]
                return


def change_an_inode(expectation):
    for choices in expectation.may_be.values():
        for name, choice in choices.items():
            if len(choice) == 1:
                choices[name] = {1 + number for number in choice}
                return


def change_contents(expectation):
    inode = max(
        (inode for inode in expectation.sure_contents if inode in expectation.kept), key=expectation.sure_contents.get
    )
    whole = expectation.contents[inode]
    expectation.contents[inode] = whole[:-1] + bytes([whole[-1] ^ 1])


def keep_another(expectation):
    inode = max(expectation.kinds)
    expectation.kinds[inode + 1] = "file"
    expectation.put(next(folder for folder in expectation.may_be), "lost", inode + 1)
    expectation.kept.add(inode + 1)


def change_a_kind(expectation):
    inode = next(inode for inode in expectation.kept if not is_folder(expectation.kinds[inode]))
    expectation.kinds[inode] = "socket"


DOCTORED = {
    "one name more": add_a_name,
    "one name less": leave_out_a_name,
    "another inode": change_an_inode,
    "other contents": change_contents,
    "another kind": change_a_kind,
    "an inode that is lost": keep_another,
}


def refuses_short_log(path, record):
    """One that ends within its last entry."""
    with open(path, "rb") as source, tempfile.NamedTemporaryFile() as short:
        short.write(source.read()[:-1])
        short.flush()
        try:
            with Log(short.name, record.bytes) as log:
                list(log)
        except BadLog:
            return True
        return False


def controls(path):
    """(name, whether it was refused as it should be)"""
    with log_replay.Record(path) as record:
        wanted, _ = mark_with_most(record)
        moments = record.moments()
        image, expectation = next((image, expectation) for number, image, expectation in moments if number == wanted)
        found, problems = log_replay.cut_power(image, expectation, removing=True)
        yield "what was expected is found", not problems
        for name, doctor in DOCTORED.items():
            doctored = copy.deepcopy(expectation)
            doctor(doctored)
            yield f"{name} is refused", bool(doctored.problems(found))
        with image_without_last_super(record, wanted) as short:
            yield "a log without its last write is refused", bool(log_replay.cut_power(short, expectation, False)[1])
        yield "a log that ends early is refused", refuses_short_log(f"{path}.log", record)


# -- tests --


@pytest.mark.bugs
def test_power_cuts(recorder, scratch, patched, seeds, option):
    cases = [] if any(seeds.values()) else [case for case in CASES if option.case in case]
    if option.case:
        seeds = {}
        if not cases:
            pytest.skip("no such case")
    found = recorder.record(patched, cases, seeds)
    wrong = [line for name, one in found.items() for line in report(name, one)]
    assert not wrong, "\n".join(wrong)
    # The record is right, as it must be before it is altered.
    if seeds:
        for name, refused in controls(os.path.join(scratch, str(min(seeds)))):
            assert refused, name


def test_losses_of_the_base_are_noticed(recorder, base, stock):
    wrong = not_noticed(recorder.record(stock, [*LOSSES_ON.get(base, []), *LOSSES]), LOST)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.bugs
@pytest.mark.faults("windows/log-*")
def test_changes_during_logging(recorder, base, fault, faulty):
    """Where another task has its turn in a window, the base loses what was synced, and the patched kernel does not."""
    cases = kernels.header(fault, "Fastpath-Case").split()
    stock = kernels.Kernel(base, "stock", ("--patch", fault))
    wrong = not_noticed(recorder.record(stock, cases), LOST)
    for name, found in recorder.record(faulty, cases).items():
        wrong += report(name, found)
    assert not wrong, "\n".join(wrong)


@pytest.mark.faults("mutants/log-*")
def test_faults_are_noticed(recorder, fault, faulty):
    """By the case that the fault names, or else by a seed"""
    cases = kernels.header(fault, "Fastpath-Case").split()
    found = recorder.record(faulty, cases, {} if cases else {1: None})
    wrong = not_noticed(found, re.compile(kernels.finding_of(fault)))
    assert not wrong, "\n".join(wrong)


# -- what has to fail --


@pytest.mark.parametrize(
    "script, findings",
    [
        ("exit 0", []),
        ("echo 'ERROR: bad'; exit 1", ["btrfs check: ERROR: bad"]),
        ("exit 1", ["btrfs check: btrfs check --force {image}: status 1"] * 2),
        ("echo 'cannot allocate memory'; exit 139", None),
    ],
)
def test_a_check_that_fails_without_a_word_has_failed(script, findings, scratch, monkeypatch):
    program = os.path.join(scratch, "btrfs")
    with open(program, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n{script}\n")
    os.chmod(program, 0o755)
    monkeypatch.setenv("PATH", scratch, prepend=":")
    with log_replay.Image(1 << 20) as image:
        found = log_replay.check(image)
        assert found if findings is None else found == [line.format(image=image.path) for line in findings]


ENOUGH = {"marks": 9, "logged": 9, "names": 9, "walked": 9}


def test_a_record_without_fsyncs_is_too_little():
    assert not too_little(ENOUGH)
    for lack in ({"marks": 0, "logged": 0}, {"marks": 1, "logged": 1}, {"names": 0}, {"logged": 0}, {"walked": 0}):
        assert too_little(ENOUGH | lack)


@pytest.mark.parametrize("case, logged", [("rename-logged-symlink", 8), ("use-index-again", 7)])
def test_each_fsync_of_a_case_logs_or_commits_as_it_should(case, logged):
    assert not not_as_wanted(case, ENOUGH | {"logged": logged})
    for lack in ({"logged": logged - 1}, {"logged": logged + 1}, {"logged": logged, "names": 0}, {"marks": 1}):
        assert not_as_wanted(case, ENOUGH | {"logged": logged} | lack)


def test_a_fault_is_noticed_by_what_it_breaks():
    def noticed(reported):
        return not not_noticed({"1": reported}, re.compile("is lost"))

    assert noticed(ENOUGH | {"wrong": ["mark 3, log: inode 300 is lost: file"]})
    assert not noticed(ENOUGH | {"wrong": ["mark 3: cannot mount: No such device"]})
    assert not noticed(ENOUGH | {"wrong": []})
    assert not noticed(None)


def test_a_replay_that_crashes_tells_nothing(recorder, monkeypatch):
    def crash(*_):
        raise OSError("the image is lost")

    monkeypatch.setattr(log_replay, "replay", crash)
    with pytest.raises(OSError):
        recorder.replay_all(["recorded 1: "])
