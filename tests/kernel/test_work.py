# SPDX-License-Identifier: GPL-2.0-only
"""Work: how many instructions two kernels take for the same calls.

A seed stands for a file system and calls of each operation: FIEMAP, send, lseek, fsync of a directory, and writes in
place. Cases that have a name are measured besides. Both kernels count instructions in a guest each, and have to give
the same answers. A case fails where the patched kernel's work is above the stock kernel's by more than the margin and a
constant.
"""

import collections
import functools
import itertools
import json
import os

import pytest
from fastpath_tests import kernels, work_cases, work_images
from fastpath_tests.processes import both

OPTIONS = ["--icount", "--memory", "3072"]
SIDES = ("stock", "patched")
# feature: its calls
OPERATIONS = {
    "fiemap-leaf": "fiemap",
    "seek-cache": "seek",
    "log-dir": "log",
    "send-reada": "send",
    "nocow-csum": "nocow",
}

# What a patched kernel may take more: the same calls repeat within a percent.
MARGIN = 1.03
# Instructions of each call that it may take besides: a lock, a lookup in an empty cache, a counter. That is a third of a
# microsecond, a tenth of what the cheapest of these calls takes, with the way into the kernel.
PER_CALL = 300
# Instructions of a measure as a whole. Calls on a new descriptor allocate once; and a measure of few calls has a tick of the
# clock or none, which takes a few thousand. With a stock kernel on both sides, what is the least of several rounds
# differs by less than this, and what can be done only once by less than three times as much.
PER_MEASURE = 10_000
PER_MEASURE_ONCE = 30_000

# The constants are no part of a work that is so many times what was measured.
BEYOND_ALL_CONSTANTS = 1_000

# What was left to the kernel's threads before a measure is work in it now and then.
ATTEMPTS = 3

# A boot takes as long as ten seeds.
SEEDS_A_GUEST = 100
SHOWN = 10

Row = collections.namedtuple("Row", "case operation measure calls once stock patched")


# -- images and guests --


def image_of(case):
    """A key that tells images apart, and what makes one at a path."""
    if case["operation"] in work_cases.OF_IMAGES:
        wanted = {key: value for key, value in case.items() if key not in ("name", "late")}
        return json.dumps(wanted, sort_keys=True), lambda path: work_images.make_packed(path, case)
    node_bytes = case["node_bytes"]
    if case["operation"] == "nocow" and case["state"] == "checksums":
        key = f"checksums {node_bytes} {case['mib']}"
        return key, lambda path: work_images.make_checksummed(path, node_bytes, case["mib"])
    return f"empty {node_bytes}", lambda path: work_images.make_empty(path, node_bytes)


def make_images(folder, cases):
    """One for all cases that want the same."""
    packs = {}
    for case in cases:
        key, make_at = image_of(case)
        if key not in packs:
            packs[key] = os.path.join(folder, f"{len(packs)}.pack")
            make_at(packs[key])
        case["image"] = packs[key]


def run_guest(guest, kernel, folder, side):
    path = os.path.join(folder, side)
    with open(path, "wb") as output:
        assert guest(kernel, kernels.guest_program("work-measure"), folder, options=OPTIONS, stdout=output) == 0
    return path


def read_results(path, cases):
    """{name of a case: what the guest reported of it}"""
    with open(path, encoding="utf-8") as lines:
        reported = [json.loads(line) for line in lines]
    return {cases[one["case"]]["name"]: one for one in reported}


class Measurement:
    """Runs cases under both kernels."""

    def __init__(self, guest, processes, folder, stock, patched):
        self.guest = guest
        self.processes = processes
        self.folder = folder
        self.kernels = {"stock": stock, "patched": patched}

    def run_guests(self, name, cases):
        """{name of a case: what the stock kernel reported of it, and the patched one}"""
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        with open(os.path.join(folder, "cases.json"), "w", encoding="utf-8") as file:
            json.dump(cases, file, indent=1)
        paths = both(
            self.processes,
            *(functools.partial(run_guest, self.guest, self.kernels[side], folder, side) for side in SIDES),
        )
        return pairs_of([read_results(path, cases) for path in paths], cases)

    def measure(self, cases):
        """As run_guests. What fails is measured again."""
        make_images(self.folder, cases)
        reported = self.run_guests("first", cases)
        for attempt in range(1, ATTEMPTS):
            failed = [case for case in cases if faults_of(case, *reported[case["name"]])]
            if not failed:
                break
            for name, pair in self.run_guests(f"again-{attempt}", failed).items():
                reported[name] = better_of(reported[name], pair)
        return reported


def pairs_of(sides, cases):
    return {case["name"]: in_same_transactions(*(side.get(case["name"]) for side in sides)) for case in cases}


def is_measured(reported):
    return reported is not None and "results" in reported


def in_same_transactions(stock, patched):
    """The two without the calls from the first one on that ended in a commit on one side alone.

    Where a stock kernel meets a name of an inode that is gone, it commits all, and the fsyncs that follow have less to log.
    """
    if not is_measured(stock) or not is_measured(patched):
        return stock, patched
    sides = [{**reported, "results": dict(reported["results"])} for reported in (stock, patched)]
    for name in stock["results"].keys() & patched["results"].keys():
        ones = [reported["results"][name] for reported in sides]
        if all("transactions" in one for one in ones):
            ends = [[end - one["transactions"][0] for end in one["transactions"][1:]] for one in ones]
            same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*ends, strict=False)))
            for reported, one, end in zip(sides, ones, ends, strict=True):
                reported["results"][name] = {**one, "calls": same, "work": sum(one["each"][:same]), "commits": end[-1]}
    return sides


def more_commits(stock, patched):
    return max(patched.get("commits", 0) - stock.get("commits", 0), 0)


def better_of(pair, other):
    """Of each measure the one with the lesser ratio: who is slower is so each time. The OTHER pair if only that can tell.

    So it is with commits: what a kernel's threads have done meanwhile decides which fsyncs end in one.
    """
    if not all(is_measured(reported) for reported in (*pair, *other)):
        return other
    if len({tuple(reported["results"]) for reported in (*pair, *other)}) > 1:
        return other
    best = [{**reported, "results": {}} for reported in other]
    for name in other[0]["results"]:
        measures = [[reported["results"][name] for reported in one] for one in (pair, other)]
        lesser = min(measures, key=lambda sides: (more_commits(*sides), ratio_of(*(one["work"] for one in sides))))
        for reported, one in zip(best, lesser, strict=True):
            reported["results"][name] = one
    return best


# -- comparison --


def allowed(row):
    return row.stock * MARGIN + row.calls * PER_CALL + (PER_MEASURE_ONCE if row.once else PER_MEASURE)


def ratio_of(stock, patched):
    return patched / max(stock, 1)


def ratio(row):
    return ratio_of(row.stock, row.patched)


def rows_of(case, stock, patched):
    return [
        Row(
            case["name"],
            case["operation"],
            name,
            one["calls"],
            one["once"],
            one["work"],
            patched["results"][name]["work"],
        )
        for name, one in stock["results"].items()
        if name in patched["results"] and one["calls"]
    ]


def line_of(row):
    return (
        f"{ratio(row):.3f}  {row.stock // row.calls} -> {row.patched // row.calls} instructions a call, {row.calls} calls: "
        f"{row.case}: {row.measure}"
    )


def faults_of(case, stock, patched):
    """Lines about what is wrong with the results of a case."""
    for side, reported in zip(SIDES, (stock, patched), strict=True):
        if not is_measured(reported):
            return [f"{side}: not measured: {(reported or {}).get('error', 'nothing was reported')}"]
    if not stock["results"]:
        return ["nothing was measured"]
    if stock["results"].keys() != patched["results"].keys():
        return ["not the same was measured"]
    faults = []
    for name, one in stock["results"].items():
        other = patched["results"][name]
        if other.get("commits", 0) > one.get("commits", 0):
            faults.append(f"{name}: {other['commits']} commits, and {one.get('commits', 0)} of the stock kernel")
            continue
        if other.get("commits", 0) < one.get("commits", 0) and not one["calls"]:
            continue
        if one["answer"] != other["answer"]:
            faults.append(f"{name}: another answer")
        if one["calls"] != other["calls"]:
            faults.append(f"{name}: {one['calls']} calls, and {other['calls']}")
        if not one["calls"] or one["work"] < 0 or other["work"] < 0:
            faults.append(f"{name}: nothing was measured")
    compared = [one for one in stock["results"].values() if one["calls"]]
    if compared and not any(one["work"] for one in compared):
        faults.append("no work was measured")
    if faults:
        return faults
    return [line_of(row) for row in rows_of(case, stock, patched) if row.patched > allowed(row)]


# -- doctored results --


def with_work(reported, factor):
    results = {name: {**one, "work": round(one["work"] * factor)} for name, one in reported["results"].items()}
    return {**reported, "results": results}


def with_other_answer(reported):
    results = {name: dict(one) for name, one in reported["results"].items()}
    next(iter(results.values()))["answer"] = "another"
    return {**reported, "results": results}


def with_another_commit(reported):
    results = {name: {**one, "commits": one.get("commits", 0) + 1} for name, one in reported["results"].items()}
    return {**reported, "results": results}


def controls(case, reported):
    """(name, whether it was refused as it should be). REPORTED is of a kernel, which is as fast as itself."""
    yield "the same results pass", not faults_of(case, reported, reported)
    yield "a tenth more work is refused", bool(faults_of(case, reported, with_work(reported, 1.1)))
    yield "less work passes", not faults_of(case, reported, with_work(reported, 0.5))
    yield "no work at all is refused", bool(faults_of(case, with_work(reported, 0), with_work(reported, 0)))
    yield "another commit is refused", bool(faults_of(case, reported, with_another_commit(reported)))
    yield "another answer is refused", bool(faults_of(case, reported, with_other_answer(reported)))
    yield (
        "a measure too few is refused",
        bool(faults_of(case, reported, {**reported, "results": dict(list(reported["results"].items())[1:])})),
    )
    yield "no results are refused", bool(faults_of(case, {**reported, "results": {}}, {**reported, "results": {}}))
    yield "a kernel that reported nothing is refused", bool(faults_of(case, reported, None))
    yield "an error is refused", bool(faults_of(case, reported, {"error": "no memory"}))


# -- tests --


def report_worst(rows):
    # What takes next to nothing has any ratio.
    for row in sorted((row for row in rows if row.stock > PER_MEASURE), key=ratio, reverse=True)[:SHOWN]:
        print(line_of(row))


def notices_doctored(reported):
    """Of a case with work"""
    for case, (stock, _) in reported:
        if is_measured(stock) and any(one["work"] > 0 for one in stock["results"].values()):
            return [name for name, refused in controls(case, with_work(stock, BEYOND_ALL_CONSTANTS)) if not refused]
    return ["there is nothing to doctor"]


def chosen(operation, option):
    """In groups, one for each boot"""
    seeds = range(option.first_seed, option.first_seed + option.work_seeds)
    cases = work_cases.named()
    for first in range(0, len(seeds), SEEDS_A_GUEST):
        cases += [case for number in seeds[first : first + SEEDS_A_GUEST] for case in work_cases.of_seed(number)]
        yield [case for case in cases if case["operation"] == operation and option.case in case["name"]]
        cases = []


def test_no_more_work(guest, processes, scratch, stock, patched, feature, option):
    reported = []
    for number, cases in enumerate(filter(None, chosen(OPERATIONS[feature], option))):
        folder = os.path.join(scratch, str(number))
        os.mkdir(folder)
        pairs = Measurement(guest, processes, folder, stock, patched).measure(cases)
        reported += [(case, pairs[case["name"]]) for case in cases]
    if option.case and not reported:
        pytest.skip("no such case")
    wrong, rows = [], []
    for case, pair in reported:
        wrong += [f"{case['name']}: {work_cases.words(case)}: {fault}" for fault in faults_of(case, *pair)]
        if all(map(is_measured, pair)):
            rows += rows_of(case, *pair)
    report_worst(rows)
    wrong += [f"not so: {name}" for name in notices_doctored(reported)]
    assert not wrong, "\n".join(wrong)


# -- what has to fail --


CASE = {"name": "seek: seed 1", "operation": "seek"}


def work_of(instructions, call_count=10, once=False, answer="same"):
    result = {"calls": call_count, "work": instructions, "once": once, "answer": answer}
    return {"results": {"file, whole": result}}


def test_more_work_is_noticed():
    million = work_of(1_000_000)
    assert not faults_of(CASE, million, million)
    assert not faults_of(CASE, million, work_of(1_042_000))
    assert len(faults_of(CASE, million, work_of(1_044_000))) == 1
    # what is cheap may cost a little more, and what could not be repeated
    assert not faults_of(CASE, work_of(2000), work_of(14_000))
    assert len(faults_of(CASE, work_of(2000), work_of(16_000))) == 1
    assert not faults_of(CASE, work_of(2000, once=True), work_of(34_000, once=True))
    assert len(faults_of(CASE, work_of(2000, once=True), work_of(36_000, once=True))) == 1


def of_fsyncs(each, transactions):
    result = {
        "calls": len(each),
        "work": sum(each),
        "once": True,
        "answer": "same",
        "each": each,
        "transactions": transactions,
    }
    return {"results": {"all": result}}


def test_fsyncs_count_until_one_side_commits():
    stock, patched = in_same_transactions(
        of_fsyncs([10, 20, 1000, 5, 5], [7, 7, 7, 8, 8, 8]), of_fsyncs([11, 21, 31, 90, 90], [3, 3, 3, 3, 3, 3])
    )
    assert [reported["results"]["all"]["work"] for reported in (stock, patched)] == [30, 32]
    assert [reported["results"]["all"]["calls"] for reported in (stock, patched)] == [2, 2]
    assert not faults_of(CASE, stock, patched)
    assert len(faults_of(CASE, patched, stock)) == 1


def test_a_first_fsync_that_commits_leaves_nothing_to_compare():
    pair = in_same_transactions(of_fsyncs([1000, 5], [7, 8, 8]), of_fsyncs([90, 90], [3, 3, 3]))
    assert not faults_of(CASE, *pair)
    assert not rows_of(CASE, *pair)


def test_who_is_slower_is_so_each_time():
    slow, fast = (work_of(100), work_of(200)), (work_of(300), work_of(310))
    assert better_of(slow, fast) == list(fast)
    assert better_of(fast, slow) == list(fast)
    more_commits = in_same_transactions(of_fsyncs([300, 5], [3, 3, 3]), of_fsyncs([9, 5], [7, 7, 8]))
    as_many = in_same_transactions(of_fsyncs([300, 5], [3, 3, 3]), of_fsyncs([300, 5], [7, 7, 7]))
    assert len(faults_of(CASE, *more_commits)) == 1
    assert better_of(more_commits, as_many) == list(as_many)
    assert better_of(as_many, more_commits) == list(as_many)
    assert better_of((None, work_of(1)), slow) == slow
    assert better_of(fast, (work_of(1), {"error": "no memory"})) == (work_of(1), {"error": "no memory"})


@pytest.mark.parametrize(
    "stock, other",
    [
        (None, None),
        (work_of(9), None),
        ({"error": "no memory"}, {"error": "no memory"}),
        ({"results": {}}, {"results": {}}),
        (work_of(0), work_of(0)),
        (work_of(9, call_count=0), work_of(9, call_count=0)),
        (work_of(9), work_of(9, call_count=11)),
        (work_of(9), work_of(9, answer="another")),
        (work_of(9), {"results": {}}),
    ],
)
def test_work_that_was_not_measured_is_noticed(stock, other):
    assert faults_of(CASE, stock, other)


def test_every_doctored_result_is_refused():
    assert all(refused for _, refused in controls(CASE, work_of(100_000_000)))
