# SPDX-License-Identifier: GPL-2.0-only
"""The folder kernel/: its tables, and the kernels that its scripts build and boot."""

import csv
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


def newest_patched_base():
    patched = [base for base in bases() if has_state(base, "carried")]
    return max(patched, key=lambda base: [int(number) for number in base.split(".")])


def base_of_running_kernel():
    """In a guest. None if it is no base's kernel."""
    release = os.uname().release
    return next((base for base in bases() if release.startswith(f"{base}.")), None)


def build(base, variant):
    """The folder of that kernel, which is built if it is not there yet."""
    return output_of(os.path.join(SCRIPTS, "build"), base, "--variant", variant).strip()
