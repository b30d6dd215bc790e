# SPDX-License-Identifier: GPL-2.0-only
"""What `btrfs-fastpath status` reports and measures under the kernels of a base: stock, patched, without the counters, and
without each feature.
"""

import glob
import json
import os
import sys

import pytest
from fastpath_tests import kernels
from fastpath_tests.commands import output_of

PACKAGES = os.path.join(kernels.TOP, "tests/python")
SCRIPT = os.path.join(kernels.SCRIPTS, "status")
COMMANDS = '"$0" --format json status && "$1" --kernel'
# On a disk in memory: while a guest that counts instructions waits for another one, its clock jumps, and commits become due.
MEASURE = """
set -e
disk=$(PYTHONPATH="$1" python3 -c 'from fastpath_tests import workload; print(workload.slow_disk(1024, 0))')
mkfs.btrfs -q "$disk" >/dev/null
mkdir /tmp/btrfs
mount "$disk" /tmp/btrfs
"$0" -q --format json status --measure /tmp/btrfs
"""


def brings(base, symbol):
    """A patch of the base adds it."""
    for path in glob.glob(os.path.join(kernels.KERNEL, base, "*.patch")):
        with open(path, encoding="utf-8") as patch:
            if any(line.startswith("+") and f"{symbol}(" in line for line in patch):
                return True
    return False


def ask(kernel, program):
    """What the program says in a guest, (state, evidence) for each feature, and the states that the script says."""
    output = output_of(kernels.BOOT, kernel, "--", "bash", "-c", COMMANDS, program, SCRIPT)
    report, end = json.JSONDecoder().raw_decode(output)
    table = [line.split("\t") for line in output[end:].splitlines() if "\t" in line]
    return (
        {row["feature"]: (row["state"], row["evidence"]) for row in report["status"]["features"]},
        {row[0]: row[1] for row in table[1:]},
    )


def measure(kernel, program):
    """The verdict on each feature. A guest without --icount tells the processor's time in ticks."""
    output = output_of(
        kernels.BOOT, "--icount", "--memory", "3072", kernel, "--", "bash", "-c", MEASURE, program, PACKAGES
    )
    return {row["feature"]: row["verdict"] for row in json.loads(output)["status"]["measured"]["features"]}


class Status:
    """A kernel is described by the state of each feature that is not absent: {feature: state}."""

    def __init__(self, base, program):
        self.base, self.program = base, program
        self.wrong = []
        self.symbols = {row["feature"] for row in kernels.rows("SYMBOLS.tsv") if brings(base, row["symbol"])}
        improved = kernels.has_state(base, "improved")
        self.stock = dict.fromkeys([*kernels.has_state(base, "upstream"), *improved], "present")
        self.patched = (
            self.stock
            | dict.fromkeys(kernels.has_state(base, "carried"), "present")
            | dict.fromkeys(improved, "improved")
        )

    def compare(self, title, found, expected):
        self.wrong += [
            f"{title}: {feature}: {found.get(feature)}, expected {expected.get(feature)}"
            for feature in sorted(found.keys() | expected.keys())
            if found.get(feature) != expected.get(feature)
        ]

    def check(self, variant, states, evidence):
        """These STATES are reported, by EVIDENCE of each."""
        reported, script = ask(kernels.build(self.base, variant), self.program)
        expected = {feature: (states.get(feature, "absent"), evidence(feature)) for feature in kernels.features()}
        self.compare(f"{variant}: what is reported, and by what", reported, expected)
        same = {feature: state for feature, (state, _) in reported.items()}
        self.compare(f"{variant}: what the script tells", script, same)

    def check_measured(self, variant, states):
        """A measurement tells only of seeks whether they are improved. They are in each series that has patches of them."""
        windows = variant != "stock" and "seek-cache" in states and (self.base, "seek-cache") in kernels.with_patches()
        expected = {feature: "present" if feature in states else "absent" for feature in kernels.features()}
        if windows:
            expected["seek-cache"] = "improved"
        self.compare(f"{variant}: what is measured", measure(kernels.build(self.base, variant), self.program), expected)

    def without(self, feature):
        """The patched kernel without what the series has of the feature, or else without the feature of the base."""
        states = {name: state for name, state in self.patched.items() if name != feature}
        return states | {feature: "present"} if self.patched[feature] == "improved" else states

    def is_visible(self, feature):
        """A symbol of the series tells its state."""
        return feature + {"improved": ":improved"}.get(self.patched.get(feature), "") in self.symbols

    def check_each_off(self):
        for feature in sorted(self.patched):
            if kernels.can_leave_out(self.base, feature):
                self.check(f"control:{feature}", self.without(feature), lambda _: "feature-list")
        # Without the list, the rest of the patches shows by symbols, if at all.
        visible = {feature: state for feature, state in self.patched.items() if self.is_visible(feature)}
        self.check(
            "control:counters", self.stock | visible, lambda feature: "symbol" if feature in visible else "release"
        )
        for feature in sorted(kernels.has_state(self.base, "upstream")):
            if kernels.can_leave_out(self.base, feature):
                self.check_measured(f"control:{feature}", self.without(feature))

    def check_whole(self):
        self.check("stock", self.stock, lambda _: "release")
        self.check_measured("stock", self.stock)
        if self.patched != self.stock:
            self.check("patched", self.patched, lambda _: "feature-list")
            self.check_measured("patched", self.patched)


def test_status(base, program):
    status = Status(base, program)
    status.check_whole()
    assert not status.wrong, "\n".join(status.wrong)


@pytest.mark.slow
def test_status_with_each_feature_off(base, program):
    status = Status(base, program)
    status.check_each_off()
    assert not status.wrong, "\n".join(status.wrong)


# -- what has to fail --

IMPROVED = ["fiemap-leaf", "seek-cache", "log-dir"]


def reported_by_improved(variant):
    """What a kernel of a base tells that has all features, with patches for three of them."""
    off = variant.partition(":")[2]
    states = dict.fromkeys(kernels.features(), "present")
    if variant == "stock":
        return {feature: (state, "release") for feature, state in states.items()}
    if off == "counters":
        reported = {feature: (state, "release") for feature, state in states.items()}
        return reported | {"seek-cache": ("improved", "symbol")}
    states |= {feature: "improved" for feature in IMPROVED if feature != off}
    return {feature: (state, "feature-list") for feature, state in states.items()}


def measured_on_improved(variant):
    states = dict.fromkeys(kernels.features(), "present")
    return states if variant == "stock" else states | {"seek-cache": "improved"}


def wrong_of_improved(monkeypatch, reported=None, measured=None, script=None):
    """What is wrong with that base, where the dictionaries say what some kernels tell instead."""
    upstream = [feature for feature in kernels.features() if feature not in IMPROVED]
    states = {"improved": IMPROVED, "upstream": upstream, "carried": []}
    symbols = [{"feature": "seek-cache:improved", "symbol": "cut"}, {"feature": "nocow-csum", "symbol": "csum"}]
    features = kernels.features()
    for name, replacement in {
        "features": lambda: features,
        "has_state": lambda _, state: states[state],
        "with_patches": lambda: [("6.12", feature) for feature in IMPROVED],
        "can_leave_out": lambda _, feature: feature in IMPROVED,
        "rows": lambda _: symbols,
        "build": lambda _, variant: variant,
    }.items():
        monkeypatch.setattr(kernels, name, replacement)

    def ask_instead(variant, _):
        answers = reported_by_improved(variant) | (reported or {}).get(variant, {})
        return answers, {feature: state for feature, (state, _) in answers.items()} | (script or {}).get(variant, {})

    module = sys.modules[__name__]
    monkeypatch.setattr(module, "brings", lambda _, symbol: symbol == "cut")
    monkeypatch.setattr(module, "ask", ask_instead)
    monkeypatch.setattr(
        module, "measure", lambda variant, _: measured_on_improved(variant) | (measured or {}).get(variant, {})
    )
    status = Status("6.12", "program")
    status.check_whole()
    status.check_each_off()
    return status.wrong


def test_nothing_is_wrong_with_an_improved_base(monkeypatch):
    assert not wrong_of_improved(monkeypatch)


@pytest.mark.parametrize(
    "variant, wrong",
    [
        ("stock", {"log-dir": ("improved", "release")}),
        ("stock", {"log-dir": ("absent", "release")}),
        ("patched", {"log-dir": ("present", "feature-list")}),
        ("patched", {"nocow-csum": ("improved", "feature-list")}),
        ("patched", {"nocow-csum": ("absent", "feature-list")}),
        ("control:log-dir", {"log-dir": ("improved", "feature-list")}),
        ("control:log-dir", {"log-dir": ("absent", "feature-list")}),
        ("control:log-dir", {"seek-cache": ("present", "feature-list")}),
        ("control:counters", {"seek-cache": ("present", "release")}),
        ("control:counters", {"seek-cache": ("present", "symbol")}),
        ("control:counters", {"log-dir": ("improved", "release")}),
    ],
)
def test_a_wrong_report_is_noticed(monkeypatch, variant, wrong):
    assert wrong_of_improved(monkeypatch, reported={variant: wrong})


@pytest.mark.parametrize(
    "variant, wrong",
    [
        ("stock", {"seek-cache": "improved"}),
        ("patched", {"seek-cache": "present"}),
        ("patched", {"log-dir": "absent"}),
    ],
)
def test_a_wrong_measurement_is_noticed(monkeypatch, variant, wrong):
    assert wrong_of_improved(monkeypatch, measured={variant: wrong})


def test_another_answer_of_the_script_is_noticed(monkeypatch):
    assert wrong_of_improved(monkeypatch, script={"patched": {"log-dir": "present"}})
