# SPDX-License-Identifier: GPL-2.0-only
"""The folder kernel/: its tables, and the kernels that its scripts build and boot."""

import csv
import glob
import os

from .commands import output_of

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
KERNEL = os.path.join(TOP, "kernel")
SCRIPTS = os.path.join(KERNEL, "scripts")
BOOT = os.path.join(SCRIPTS, "boot")
WORKLOADS = os.path.join(TOP, "bench/workloads")


def rows(name):
    """Those of kernel/NAME, as dictionaries."""
    with open(os.path.join(KERNEL, name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def status():
    """{(base, feature): row}, as STATUS.tsv has them, in its order"""
    return {(row["base"], row["feature"]): row for row in rows("STATUS.tsv")}


def features():
    return list(dict.fromkeys(feature for _, feature in status()))


def bases():
    return list(dict.fromkeys(base for base, _ in status()))


def has_state(base, *states):
    """The features of that BASE that have one of the STATES."""
    return [feature for (of_base, feature), row in status().items() if of_base == base and row["state"] in states]


def with_patches():
    """The (base, feature) pairs for which the series of the base has patches: it brings the feature, or improves it."""
    return {key for key, row in status().items() if row["state"] in ("carried", "improved")}


def can_leave_out(base, feature):
    """Whether there is a kernel control:FEATURE of the BASE: its series has patches of the feature, or one takes it out."""
    control = os.path.join(KERNEL, "control", base, f"{features().index(feature) + 1}*.patch")
    return (base, feature) in with_patches() or bool(glob.glob(control))


def newest_base_without(feature):
    """The newest one of which there is a kernel control:FEATURE."""
    can = [base for base in bases() if can_leave_out(base, feature)]
    return max(can, key=lambda base: [int(number) for number in base.split(".")])


def base_of_running_kernel():
    """In a guest. None if it is no base's kernel."""
    release = os.uname().release
    return next((base for base in bases() if release.startswith(f"{base}.")), None)


def build(base, variant):
    """The folder of that kernel, which is built if it is not there yet."""
    return output_of(os.path.join(SCRIPTS, "build"), base, "--variant", variant).strip()
