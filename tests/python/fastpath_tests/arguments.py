# SPDX-License-Identifier: GPL-2.0-only
"""Types of arguments."""

import argparse
import os


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"not a positive number: '{text}'")
    return number


def directory(path):
    if not os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"not a directory: '{path}'")
    return os.path.realpath(path)
