# SPDX-License-Identifier: GPL-2.0-only
"""A btrfs of one's own, on a scratch disk or in an image."""

import contextlib
import os
import tempfile

from . import calls, inode_flags
from .calls import BLOCK
from .commands import run
from .file_systems import second_disk, second_image
from .inode_flags import CHECKSUMS
from .processes import signals_later, undo


@contextlib.contextmanager
def mounted(source, options):
    """SOURCE is a device or, with the option loop, an image. In a folder of its own."""
    folder = tempfile.mkdtemp(prefix="btrfs-fastpath-")
    try:
        with second_disk(source) as second, contextlib.ExitStack() as places:
            with signals_later():
                run("mount", "-t", "btrfs", "-o", options + second, source, folder)
                places.callback(undo, run, "umount", folder)
            yield folder
    finally:
        os.rmdir(folder)


def make_image(path, size, *options, kind=None):
    disks = [path]
    if kind:
        options = [*options, "-n", str(kind.node_bytes), *kind.mkfs]
        disks += [second_image(path)] * (kind.disks - 1)
    for disk in disks:
        with open(disk, "wb") as file:
            file.truncate(size)
    run("mkfs.btrfs", "-q", *options, *disks)


class Scratch:
    """A file system on DEVICE, mounted in a folder of its own while in a with statement.

    One of a KIND on several disks takes the others from DEVICE, separated by commas.
    """

    def __init__(self, device, *options, checksum="crc32c", node_bytes=16384, mount_options="", kind=None):
        devices = device.split(",")[: kind.disks if kind else 1]
        all_options = [mount_options, *(f"device={other}" for other in devices[1:])]
        if kind:
            node_bytes = kind.node_bytes
            options = [*options, *kind.mkfs]
            all_options.append(kind.mount)
        self.device = devices[0]
        self.mount_options = ",".join(filter(None, all_options))
        self.checksum = CHECKSUMS[checksum]
        self.checksum_bytes = len(self.checksum(b""))
        self.node_bytes = node_bytes
        self.root = None
        self.folder = None
        run(
            "mkfs.btrfs",
            "-q",
            "-f",
            "-K",
            "--csum",
            checksum,
            "-n",
            str(node_bytes),
            "-s",
            str(BLOCK),
            *options,
            *devices,
        )

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="btrfs-fastpath-")
        with contextlib.ExitStack() as places:
            places.push(self)
            self.mount()
            places.pop_all()
        return self

    def __exit__(self, *_):
        self.unmount()
        os.rmdir(self.folder)

    def mount(self, *options):
        with signals_later():
            calls.mount(self.device, self.folder, ",".join(filter(None, [self.mount_options, *options])))
            self.root = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)

    def unmount(self):
        if self.root is None:
            return
        with signals_later():
            os.close(self.root)
            self.root = None
            calls.unmount(self.folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def sync(self):
        calls.sync_file_system(self.root)

    def scrub(self):
        """Fails on any error that a scrub finds."""
        output = run("btrfs", "scrub", "start", "-B", self.folder)
        if "Error summary:    no errors found" not in output:
            raise RuntimeError(f"scrub found errors\n{output}")

    def check(self):
        """Of the unmounted file system."""
        run("btrfs", "check", "--check-data-csum", self.device)

    def set_inode_flags(self, tree, flags):
        inode_flags.set_inode_flags(self.device, tree, flags, self.checksum, self.node_bytes)
