# SPDX-License-Identifier: GPL-2.0-only
"""Other programs, and what they print.

They have no time limit: while a guest that counts instructions waits for a program of the host's, its clock jumps to
whatever is due next, which would be the limit. Guests as a whole have one.
"""

import os
import re
import subprocess

from .processes import stop

BTRFS = os.environ.get("BTRFS_PROGRAM", "btrfs")


class Failed(RuntimeError):
    """A command did not end with status 0. The text is what it said."""


def run(*command):
    """What the command printed, its errors included."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    output = done.stdout.decode(errors="replace")
    if done.returncode:
        raise Failed(f"{failure_of(command, done)}\n{output}")
    return output


def btrfs(*arguments):
    return run(BTRFS, *arguments)


def output_of(*command, **options):
    """What the command printed. Its errors go where this program's go."""
    return bytes_of(*command, **options).decode()


def bytes_of(*command, input=None, **options):
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, **options) as process:
        try:
            output, _ = process.communicate(input)
        except BaseException:
            # subprocess.run() would kill it, and leave what it made. A terminal's signal would be its second one.
            stop(process)
            raise
    if process.returncode:
        raise Failed(failure_of(command, process))
    return output


def failure_of(command, done):
    return f"{' '.join(map(os.fsdecode, command))}: status {done.returncode}"


def used_bytes(directory):
    """Data on this btrfs, counted once."""
    text = output_of(BTRFS, "filesystem", "df", "--raw", directory)
    return sum(int(number) for number in re.findall(r"^Data, .*used=(\d+)$", text, re.MULTILINE))


def settle(directory):
    """What was deleted is gone from this btrfs."""
    btrfs("filesystem", "sync", directory)
    btrfs("subvolume", "sync", "-s", "1", directory)
    btrfs("filesystem", "sync", directory)


def excerpt(lines, pattern, after):
    """The lines that the pattern is found in, each with the AFTER lines that follow."""
    shown, until = [], 0
    for number, line in enumerate(lines):
        if pattern.search(line):
            until = number + 1 + after
        if number < until:
            shown.append(line)
    return shown
