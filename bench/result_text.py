# SPDX-License-Identifier: GPL-2.0-only
"""How results are written for people."""

import re

LONGEST_BAR = 50


def readable(measure, value):
    if not measure.endswith("_ns"):
        return f"{value:,.0f}"
    return f"{value / 1e6:,.1f} ms" if value >= 1e6 else f"{value / 1e3:,.1f} us"


def distribution_lines(times):
    """TIMES: as a workload tells them, in nanoseconds"""

    def milliseconds(name):
        return f"{times[name] / 1e6:.3f}"

    yield f"Count: {times['count']}"
    yield (
        f"Range: {milliseconds('min')} - {milliseconds('max')} ms; Mean: {milliseconds('mean')}; "
        f"Median: {milliseconds('median')}; Stddev: {milliseconds('stddev')}"
    )
    yield f"Percentiles: 90th: {milliseconds('p90')}; 95th: {milliseconds('p95')}; 99th: {milliseconds('p99')}"
    most = max(count for _, _, count in times["bins"])
    for low, high, count in times["bins"]:
        bar = "#" * round(LONGEST_BAR * count / most) or ("|" if count else "")
        yield f"{low / 1e6:9.3f} - {high / 1e6:9.3f} ms: {count:6d} {bar}".rstrip()


def with_block(text, name, lines):
    """TEXT with LINES between <!-- NAME --> and the next <!-- end -->"""
    filled = "".join(f"{line}\n" for line in lines)
    new, found = re.subn(f"(?<=<!-- {name} -->\n).*?(?=<!-- end -->)", lambda _: filled, text, count=1, flags=re.DOTALL)
    if not found:
        raise ValueError(f"no place for '{name}'")
    return new
