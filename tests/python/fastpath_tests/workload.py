# SPDX-License-Identifier: GPL-2.0-only
"""What the workloads of bench/workloads share: disks, clocks and counts of a guest, and how they are called."""

import contextlib
import itertools
import json
import os
import statistics
import sys
import time

from .commands import run
from .processes import end_on_signals
from .scratch import make_image, mounted

TRACING = "/sys/kernel/debug/tracing"
CONFIGURATION = "/sys/kernel/config"


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


@contextlib.contextmanager
def new_btrfs(image, size, *options):
    make_image(image, size)
    with mounted(image, ",".join(("loop",) + options)) as mount_point:
        yield mount_point


def distribution(values, bins=10):
    """With (low, high, count) of each bin, every one of them wider than the last by the same factor."""
    low, high = min(values), max(values) + 1
    bounds = [round(low * (high / low) ** (number / bins)) for number in range(bins + 1)]
    percentiles = statistics.quantiles(values, n=100, method="inclusive")
    return {
        "count": len(values),
        "min": low,
        "max": max(values),
        "mean": statistics.mean(values),
        "median": statistics.median(values),
        "stddev": statistics.stdev(values),
        **{f"p{percent}": percentiles[percent - 1] for percent in (90, 95, 99)},
        "bins": [
            (first, last, sum(first <= value < last for value in values)) for first, last in itertools.pairwise(bounds)
        ],
    }


def slow_disk(size_mib, completion_ns, source=None):
    """A disk in memory, with the contents of SOURCE, that completes a request after that time."""
    if not os.path.ismount(CONFIGURATION):
        run("mount", "-t", "configfs", "configfs", CONFIGURATION)
    folder = f"{CONFIGURATION}/nullb/memory-disk"
    if not os.path.isdir(folder):
        os.mkdir(folder)
        for name, value in {
            "size": size_mib,
            "memory_backed": 1,
            "irqmode": 2 if completion_ns else 0,
            "completion_nsec": completion_ns,
            "hw_queue_depth": 64,
            "power": 1,
        }.items():
            write(f"{folder}/{name}", str(value))
        disk = disk_of(folder)
        if source:
            run("dd", f"if={source}", f"of={disk}", "bs=1M", "conv=sparse,fsync", "status=none")
    return disk_of(folder)


def remove_disk():
    """With what is on it. The next one is empty."""
    os.rmdir(f"{CONFIGURATION}/nullb/memory-disk")


def disk_of(folder):
    """Linux 5.19 began to name the disk as the folder is named."""
    name = os.path.basename(folder)
    if not os.path.isdir(f"/sys/block/{name}"):
        with open(f"{folder}/index", encoding="ascii") as file:
            name = f"nullb{int(file.read())}"
    return f"/dev/{name}"


def symbol_of(function):
    """The compiler marks the name of a function whose arguments it changed; None if it was inlined."""
    with open("/proc/kallsyms", encoding="ascii") as symbols:
        names = [line.split()[2] for line in symbols]
    return next((name for name in names if name == function or name.startswith(f"{function}.isra.")), None)


class counted:
    """Counts the calls of a function of the kernel, or with RETURNS those that return that value.

    HITS is None where the kernel has no such function, the compiler none of this name, or User-mode Linux no kprobes.
    """

    def __init__(self, function, returns=None):
        self.event = f"{function}_{'calls' if returns is None else 'returns'}"
        self.symbol = symbol_of(function) if os.path.exists(f"{TRACING}/kprobe_events") else None
        self.definition = (
            f"p:{self.event} {self.symbol}" if returns is None else f"r:{self.event} {self.symbol} ret=$retval:s32"
        )
        self.trigger = "hist:keys=common_type" + ("" if returns is None else f" if ret=={returns}")
        self.hits = None

    @property
    def folder(self):
        return f"{TRACING}/events/kprobes/{self.event}"

    def __enter__(self):
        if not self.symbol:
            return self
        write(f"{TRACING}/kprobe_events", self.definition, os.O_APPEND)
        write(f"{self.folder}/trigger", self.trigger)
        self.hits = 0
        return self

    def __exit__(self, *_):
        if self.hits is None:
            return
        with open(f"{self.folder}/hist", encoding="ascii") as histogram:
            self.hits = next(int(line.split(":")[1]) for line in histogram if line.strip().startswith("Hits:"))
        write(f"{self.folder}/trigger", f"!{self.trigger}")
        write(f"{TRACING}/kprobe_events", f"-:{self.event}", os.O_APPEND)


def write(path, text, flags=0):
    """Files of the kernel take a write for a command, and cannot be searched for their end."""
    fd = os.open(path, os.O_WRONLY | flags)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def main(description, make, measure):
    verb, *arguments = sys.argv[1:] or ["help"]
    if verb == "make":
        end_on_signals()
        make(arguments[0], [int(size) for size in arguments[1:]])
    elif verb == "run" and len(arguments) > 1:
        json.dump({size: measure(arguments[0], int(size)) for size in arguments[1:]}, sys.stdout)
    else:
        sys.exit(description)
