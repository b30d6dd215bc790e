# SPDX-License-Identifier: GPL-2.0-only
"""Other programs, and what they print.

They have no time limit: while a guest that counts instructions waits for a program of the host's, its clock jumps to
whatever is due next, which would be the limit. Guests as a whole have one.
"""

import os
import subprocess

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


def bytes_of(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, **options)
    if done.returncode:
        raise Failed(failure_of(command, done))
    return done.stdout


def failure_of(command, done):
    return f"{' '.join(map(os.fsdecode, command))}: status {done.returncode}"
