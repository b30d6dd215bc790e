# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of file systems unlike the one that a test makes by itself."""

import collections
import contextlib
import os

from .commands import run
from .processes import signals_later, undo

Kind = collections.namedtuple("Kind", "name node_bytes holes mkfs mount disks")


def kind(name, node_bytes, *mkfs, holes=False, free_space_tree=True, mount="", disks=1):
    features = ["-O", "^no-holes" if holes else "no-holes"]
    features += ["-R", "free-space-tree" if free_space_tree else "^free-space-tree"]
    return Kind(name, node_bytes, holes, [*features, *mkfs], mount, disks)


KINDS = [
    kind("small nodes, holes, no free space tree", 4096, holes=True, free_space_tree=False),
    kind("large nodes", 65536),
    kind("zstd", 16384, mount="compress=zstd"),
    kind("RAID1 on two disks", 16384, "-m", "raid1", "-d", "raid1", disks=2),
    kind(
        "large nodes, holes, no free space tree, zstd", 65536, holes=True, free_space_tree=False, mount="compress=zstd"
    ),
]


def add_argument(parser):
    parser.add_argument(
        "--file-systems",
        action="store_true",
        help="seeds take turns with: " + "; ".join(kind.name for kind in KINDS),
    )


def kind_of_seed(seed):
    return KINDS[seed % len(KINDS)]


def kind_of(arguments, seed):
    """None for the one that the test makes by itself."""
    return kind_of_seed(seed) if arguments.file_systems else None


def seed_name(seed, kind):
    return f"seed {seed}{f', {kind.name}' if kind else ''}"


# An image of a file system on two disks has the second one next to it.


def second_image(path):
    return f"{path}.second"


@contextlib.contextmanager
def loop_device(path, *options):
    with contextlib.ExitStack() as places:
        with signals_later():
            loop = run("losetup", "--find", "--show", *options, path).strip()
            places.callback(undo, run, "losetup", "--detach", loop)
        yield loop


@contextlib.contextmanager
def second_disk(path):
    """Gives the options for mount that name the second disk of an image, if it has one."""
    if not os.path.exists(second_image(path)):
        yield ""
        return
    with loop_device(second_image(path)) as loop:
        yield f",device={loop}"


# For a guest, which takes its loop devices with it: the options for mount, as second_disk gives them.
SECOND_DISK_IN_SHELL = """
second_disk() {
    if [ -e "$1.second" ]; then
        echo ",device=$(losetup --find --show "$1.second")"
    fi
}
"""
