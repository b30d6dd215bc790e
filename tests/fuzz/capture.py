#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write the kernel's answers about files on btrfs to the fuzz corpora.

usage: capture.py CORPORA FILE...   (as root)
"""

import ctypes
import fcntl
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../python"))
from fastpath_tests.calls import (
    BTRFS_IOC_INO_PATHS,
    BTRFS_IOC_LOGICAL_INO_V2,
    BTRFS_IOC_TREE_SEARCH_V2,
    EXTENT_DATA_KEY,
    FIEMAP_EXTENT,
    FIEMAP_HEADER,
    fiemap_call,
)

EXTENTS = 60
ITEMS = 40
MAX = 2**64 - 1


def fiemap(fd):
    """One answer, the header included, and the addresses in it."""
    answer, mapped = fiemap_call(fd, 0, EXTENTS)
    answer = bytes(answer[: FIEMAP_HEADER.size + FIEMAP_EXTENT.size * mapped])
    physical = [extent[1] for extent in FIEMAP_EXTENT.iter_unpack(answer[FIEMAP_HEADER.size :])]
    return answer, [address for address in physical if address]


def tree_search(fd, inode):
    """The items that were found."""
    room = 65536
    key = struct.pack("=QQQQQQQIIII32x", 0, inode, inode, 0, MAX, 0, MAX, EXTENT_DATA_KEY, EXTENT_DATA_KEY, ITEMS, 0)
    answer = bytearray(key + struct.pack("=Q", room) + bytes(room))
    fcntl.ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, answer)
    items = struct.unpack_from("=I", answer, 64)[0]
    end = 112
    for _ in range(items):
        end += 32 + struct.unpack_from("=I", answer, end + 28)[0]
    return bytes(answer[112:end])


def container(fd, request, number, flags, size):
    """What a struct btrfs_data_container of SIZE bytes was filled with."""
    answer = ctypes.create_string_buffer(size)
    # both requests: what to ask about, the size, reserved or flags, the container's address
    argument = bytearray(struct.pack("=QQ24xQQ", number, size, flags, ctypes.addressof(answer)))
    fcntl.ioctl(fd, request, argument)
    return answer.raw.rstrip(b"\0") + b"\0"


def write(corpora, target, name, data):
    directory = os.path.join(corpora, target)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "kernel-" + name), "wb") as file:
        file.write(data)


def capture(corpora, path):
    name = os.path.basename(path)
    fd = os.open(path, os.O_RDONLY)
    inode = os.fstat(fd).st_ino
    answer, addresses = fiemap(fd)
    write(corpora, "fiemap", name, answer)
    write(corpora, "tree-search", name, tree_search(fd, inode))
    write(corpora, "paths", name, container(fd, BTRFS_IOC_INO_PATHS, inode, 0, 512))
    if addresses:
        # the last reference may end in zeros
        data = container(fd, BTRFS_IOC_LOGICAL_INO_V2, addresses[0], 1, 2048)
        count = struct.unpack_from("=I", data, 8)[0]
        write(corpora, "refs", name, data.ljust(16 + 8 * count, b"\0")[: 16 + 8 * count])
    os.close(fd)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    for path in sys.argv[2:]:
        capture(sys.argv[1], path)


main()
