# SPDX-License-Identifier: GPL-2.0-only
"""Other programs, and what they print."""

import os
import subprocess

# A balance beside writers takes a quarter of an hour in a guest.
TIMEOUT = 1800
BTRFS = os.environ.get("BTRFS_PROGRAM", "btrfs")


class Failed(RuntimeError):
    """A command did not end with status 0. The text is what it said."""


def run(*command):
    """What the command printed, its errors included."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
    output = done.stdout.decode(errors="replace")
    if done.returncode:
        raise Failed(f"{failure_of(command, done)}\n{output}")
    return output


def btrfs(*arguments):
    return run(BTRFS, *arguments)


def output_of(*command, timeout=TIMEOUT, **options):
    """What the command printed. Its errors go where this program's go."""
    return bytes_of(*command, timeout=timeout, **options).decode()


def bytes_of(*command, timeout=TIMEOUT, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=timeout, check=False, **options)
    if done.returncode:
        raise Failed(failure_of(command, done))
    return done.stdout


def failure_of(command, done):
    return f"{' '.join(map(os.fsdecode, command))}: status {done.returncode}"
