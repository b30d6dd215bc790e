# SPDX-License-Identifier: GPL-2.0-only
"""Flags of inodes that no call would set, written to the leaves of an unmounted btrfs."""

import hashlib
import os
import re
import struct

from .commands import output_of

NODATASUM = 1
NODATACOW = 2

FS_TREE = 5

# Where a leaf's header and an inode item keep things
HEADER_BYTES = 101
HEADER_CHECKSUM_BYTES = 32
INODE_FLAGS_OFFSET = 64


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


def forbid_copies(device, inodes, node_bytes=16384):
    """Makes files of a plain btrfs NOCOW although their data has checksums."""
    set_inode_flags(device, FS_TREE, dict.fromkeys(inodes, NODATACOW | NODATASUM), node_bytes=node_bytes)


def set_inode_flags(device, tree, flags, checksum=crc32c, node_bytes=16384):
    """FLAGS are {inode: flags}."""
    dump = output_of("btrfs", "inspect-internal", "dump-tree", "-t", str(tree), device)
    for leaf, items in inode_items(dump):
        changes = {offset: flags[inode] for inode, offset in items if inode in flags}
        if changes:
            change_leaf(device, leaf, changes, checksum, node_bytes)


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


def change_leaf(device, bytenr, changes, checksum, node_bytes):
    output = output_of("btrfs-map-logical", "-l", str(bytenr), "-b", str(node_bytes), device)
    for physical, disk_name in sorted(set(re.findall(r"physical (\d+) device (\S+)", output))):
        with open(disk_name, "r+b") as disk:
            disk.seek(int(physical))
            leaf = bytearray(disk.read(node_bytes))
            for offset, flags in changes.items():
                struct.pack_into("=Q", leaf, HEADER_BYTES + offset + INODE_FLAGS_OFFSET, flags)
            leaf[:HEADER_CHECKSUM_BYTES] = checksum(leaf[HEADER_CHECKSUM_BYTES:]).ljust(HEADER_CHECKSUM_BYTES, b"\0")
            disk.seek(int(physical))
            disk.write(leaf)
            disk.flush()
            os.fsync(disk.fileno())
