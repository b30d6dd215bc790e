# SPDX-License-Identifier: GPL-2.0-only
"""What the tests have alike: TAP, exit statuses, arguments, processes, and a folder for what they make."""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile

LINES_SHOWN = 5

# Exit statuses besides 0. With 1 and 2, Python ends a program that stops half way, or was called wrongly.
TEST_FAILED = 1
DIFFERENCE_FOUND = 3


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = False

    def result(self, passed, name, diagnostics=()):
        self.count += 1
        self.failed |= not passed
        print(f"{'ok' if passed else 'not ok'} {self.count} - {name}")
        for line in diagnostics[:LINES_SHOWN]:
            print(f"# {line}")
        if len(diagnostics) > LINES_SHOWN:
            print(f"# and {len(diagnostics) - LINES_SHOWN} more")
        sys.stdout.flush()

    def end(self):
        """Prints the plan. Returns the exit status."""
        if not self.count:
            print("Bail out! nothing was tested")
            return TEST_FAILED
        print(f"1..{self.count}")
        return DIFFERENCE_FOUND if self.failed else 0


def stop(process):
    if process.poll() is None:
        process.terminate()
    process.wait()


def run(processes, *command, **options):
    """The exit status. What still runs when PROCESSES is left is stopped."""
    process = subprocess.Popen(command, **options)
    processes.callback(stop, process)
    return process.wait()


def both(processes, first, second):
    """Two calls at the same time. If one fails, or a signal comes, the other's process is stopped."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        try:
            return [future.result() for future in [pool.submit(first), pool.submit(second)]]
        except BaseException:
            processes.close()
            raise


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"not a positive number: '{text}'")
    return number


def kernel_at(path):
    """A guest is started in another folder."""
    if not os.access(path, os.R_OK):
        raise argparse.ArgumentTypeError(f"cannot read '{path}'")
    return os.path.realpath(path)


def new_directory(places, kept, name):
    """KEPT, or if that is None one of that NAME that goes with PLACES."""
    if kept is None:
        return places.enter_context(tempfile.TemporaryDirectory(prefix=f"btrfs-fastpath-{name}.",
                                                                dir=os.environ.get("TMPDIR", "/var/tmp")))
    try:
        os.mkdir(kept)
    except OSError as failure:
        raise SystemExit(f"ERROR: cannot create '{kept}': {failure.strerror}") from failure
    return os.path.realpath(kept)
