# SPDX-License-Identifier: GPL-2.0-only
"""How results of `ab` are written for people."""

LONGEST_BAR = 50


def readable(measure, value):
    if not measure.endswith("_ns"):
        return f"{value:,.0f}"
    return f"{value / 1e6:,.1f} ms" if value >= 1e6 else f"{value / 1e3:,.1f} us"


def histogram_lines(bins):
    """BINS: (low, high, count), in nanoseconds"""
    most = max(count for _, _, count in bins)
    for low, high, count in bins:
        bar = "#" * round(LONGEST_BAR * count / most) or ("|" if count else "")
        yield f"{low / 1e6:9.3f} - {high / 1e6:9.3f} ms: {count:6d} {bar}".rstrip()
