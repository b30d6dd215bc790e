# SPDX-License-Identifier: GPL-2.0-only
"""A btrfs of one's own on a scratch disk."""

import hashlib
import os
import re
import struct
import subprocess
import tempfile

import btrfs_calls as calls
from btrfs_calls import BLOCK

TIMEOUT = 600

NODATASUM = 1
NODATACOW = 2

# Where a leaf's header and an inode item keep things
HEADER_BYTES = 101
HEADER_CHECKSUM_BYTES = 32
INODE_FLAGS_OFFSET = 64


def run(*command):
    """The command's output; what it said goes with the failure."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
    output = done.stdout.decode(errors="replace")
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{output}")
    return output


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC32C_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return struct.pack("=I", crc ^ 0xFFFFFFFF)


def crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC32C_TABLE = crc32c_table()

# Those that need no library besides Python's own
CHECKSUMS = {
    "crc32c": crc32c,
    "sha256": lambda data: hashlib.sha256(data).digest(),
    "blake2": lambda data: hashlib.blake2b(data, digest_size=32).digest(),
}


class Scratch:
    """A file system on DEVICE, mounted in a folder of its own while in a with statement."""

    def __init__(self, device, *options, checksum="crc32c", node_bytes=16384):
        self.device = device
        self.checksum = CHECKSUMS[checksum]
        self.checksum_bytes = len(self.checksum(b""))
        self.node_bytes = node_bytes
        self.root = None
        self.folder = None
        run("mkfs.btrfs", "-q", "-f", "-K", "--csum", checksum, "-n", str(node_bytes), "-s", str(BLOCK),
            *options, device)

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="btrfs-fastpath-")
        self.mount()
        return self

    def __exit__(self, *_):
        self.unmount()
        os.rmdir(self.folder)

    def mount(self, options=""):
        calls.mount(self.device, self.folder, options)
        self.root = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)

    def unmount(self):
        if self.root is None:
            return
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
        """Gives inodes of a subvolume, {number: flags}, on the unmounted disk flags that no call would."""
        for leaf, items in inode_items(run("btrfs", "inspect-internal", "dump-tree", "-t", str(tree), self.device)):
            changes = {offset: flags[inode] for inode, offset in items if inode in flags}
            if changes:
                self.change_leaf(leaf, changes)

    def change_leaf(self, bytenr, changes):
        output = run("btrfs-map-logical", "-l", str(bytenr), "-b", str(self.node_bytes), self.device)
        for physical in sorted({int(place) for place in re.findall(r"physical (\d+)", output)}):
            with open(self.device, "r+b") as disk:
                disk.seek(physical)
                leaf = bytearray(disk.read(self.node_bytes))
                for offset, flags in changes.items():
                    struct.pack_into("=Q", leaf, HEADER_BYTES + offset + INODE_FLAGS_OFFSET, flags)
                checksum = self.checksum(leaf[HEADER_CHECKSUM_BYTES:])
                leaf[:HEADER_CHECKSUM_BYTES] = checksum.ljust(HEADER_CHECKSUM_BYTES, b"\0")
                disk.seek(physical)
                disk.write(leaf)
                disk.flush()
                os.fsync(disk.fileno())


def inode_items(dump):
    """Yields (leaf, [(inode, offset in the leaf's data)]) from what dump-tree printed."""
    leaf, items = None, []
    for line in dump.splitlines():
        found = re.match(r"leaf (\d+) items ", line)
        if found:
            yield leaf, items
            leaf, items = int(found[1]), []
        found = re.match(r"\s+item \d+ key \((\d+) INODE_ITEM 0\) itemoff (\d+) ", line)
        if found:
            items.append((int(found[1]), int(found[2])))
    yield leaf, items
