# SPDX-License-Identifier: GPL-2.0-only
"""Types of arguments, and the folder that --keep names."""

import argparse
import os
import tempfile


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
        return places.enter_context(
            tempfile.TemporaryDirectory(prefix=f"btrfs-fastpath-{name}.", dir=os.environ.get("TMPDIR", "/var/tmp"))
        )
    try:
        os.mkdir(kept)
    except OSError as failure:
        raise SystemExit(f"ERROR: cannot create '{kept}': {failure.strerror}") from failure
    return os.path.realpath(kept)
