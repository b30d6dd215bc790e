# SPDX-License-Identifier: GPL-2.0-only
"""TAP, and the exit statuses of tests."""

import sys

LINES_SHOWN = 5

# Exit statuses besides 0. With 1 and 2, Python ends a program that stops half way, or was called wrongly.
TEST_FAILED = 1
DIFFERENCE_FOUND = 3


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = False

    def result(self, passed, name, diagnostics=(), shown=LINES_SHOWN):
        """At most SHOWN of the diagnostics, which are lines, are printed."""
        self.count += 1
        self.failed |= not passed
        print(f"{'ok' if passed else 'not ok'} {self.count} - {name}")
        for line in diagnostics[:shown]:
            print(f"# {line}")
        if len(diagnostics) > shown:
            print(f"# and {len(diagnostics) - shown} more")
        sys.stdout.flush()

    def end(self):
        """Prints the plan. Returns the exit status."""
        if not self.count:
            print("Bail out! nothing was tested")
            return TEST_FAILED
        print(f"1..{self.count}")
        return DIFFERENCE_FOUND if self.failed else 0
