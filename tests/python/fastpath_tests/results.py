# SPDX-License-Identifier: GPL-2.0-only
"""What a program in a guest finds, and its exit status."""

LINES_SHOWN = 5

# Exit statuses besides 0. With 1 and 2, Python ends a program that stops half way, or was called wrongly.
TEST_FAILED = 1
DIFFERENCE_FOUND = 3


class Results:
    def __init__(self):
        self.count = 0
        self.failed = False

    def add(self, name, wrong):
        """WRONG: lines, none if the kernel is right"""
        self.count += 1
        self.failed |= bool(wrong)
        print(f"{'FAILED' if wrong else 'passed'}: {name}", *wrong[:LINES_SHOWN], sep="\n    ", flush=True)

    def status(self):
        if not self.count:
            return TEST_FAILED
        return DIFFERENCE_FOUND if self.failed else 0
