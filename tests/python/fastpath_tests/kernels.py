# SPDX-License-Identifier: GPL-2.0-only
"""The folder kernel/: its tables, and the kernels that its scripts build and boot."""

import csv
import functools
import glob
import itertools
import os
from typing import NamedTuple

from .commands import output_of

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
KERNEL = os.path.join(TOP, "kernel")
SCRIPTS = os.path.join(KERNEL, "scripts")
BOOT = os.path.join(SCRIPTS, "boot")
# As kernel/scripts/common.sh has it
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "btrfs-fastpath")
# Of guests whose tests run several tasks
TWO_CPUS = ["--smp", "2", "--memory", "3072"]
GUEST = os.path.join(TOP, "tests/kernel/guest")
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
    return [key for key, row in status().items() if row["state"] in ("carried", "improved")]


def counted(base):
    """The features that the series counts in, by the second digit of its patches 9FSS-…"""
    with open(os.path.join(KERNEL, base, "series"), encoding="ascii") as series:
        numbers = {int(line[1]) for line in series if line.startswith("9")}
    return [feature for number, feature in enumerate(features(), 1) if number in numbers]


def has_corrections(base):
    return os.path.exists(os.path.join(KERNEL, base, "series.corrections"))


def can_leave_out(base, feature):
    """Whether there is a kernel control:FEATURE of the BASE: its series has patches of the feature, or one takes it out."""
    control = os.path.join(KERNEL, "control", base, f"{features().index(feature) + 1}*.patch")
    return (base, feature) in with_patches() or bool(glob.glob(control))


def newest_base_without(feature):
    """The newest base with a kernel control:FEATURE."""
    can = [base for base in bases() if can_leave_out(base, feature)]
    return max(can, key=lambda base: [int(number) for number in base.split(".")])


def base_of_running_kernel():
    """In a guest. None if it is no base's kernel."""
    release = os.uname().release
    return next((base for base in bases() if release.startswith(f"{base}.")), None)


class Kernel(NamedTuple):
    """What the script `build` gets. It is built when it is booted."""

    base: str
    variant: str
    options: tuple = ()

    def folder(self, boot_options=(), uml=False):
        """With UML as a process, if one can be booted with the options."""
        needs_machine = "--debug" in self.options or any(
            option == "--icount" or "iops=" in option or (option == "--smp" and not has_uml_with_cpus(self.base))
            for option in boot_options
        )
        return build(self.base, self.variant, *["--uml"] * (uml and not needs_machine), *self.options)


def has_uml_with_cpus(base):
    with open(os.path.join(KERNEL, "bases", f"{base}.conf"), encoding="ascii") as conf:
        return "uml-smp.config" in conf.read()


@functools.cache
def build(base, variant, *options):
    """The folder of that kernel, which is built if it is not there yet."""
    return output_of(os.path.join(SCRIPTS, "build"), base, "--variant", variant, *options).strip()


def header(patch, name):
    """The value of that header of a PATCH; empty if it has none."""
    with open(patch, encoding="utf-8") as lines:
        for line in itertools.takewhile(lambda line: not line.startswith("---"), lines):
            if line.startswith(f"{name}: "):
                return line.partition(": ")[2].strip()
    return ""


def finding_of(fault):
    """A regular expression for what a test reports under a kernel with that patch."""
    finding = header(fault, "Fastpath-Finding")
    assert finding, f"the fault does not say what has to be found: '{fault}'"
    return finding


def boot(kernel, *command, options=(), limit=3000, uml=False):
    """What runs a command in a guest, whose kernel must not warn of anything. UML as in Kernel.folder()."""
    return [BOOT, "--strict", "--timeout", str(limit), *options, kernel.folder(options, uml), "--", *command]


def guest_program(name):
    return os.path.join(GUEST, name)
