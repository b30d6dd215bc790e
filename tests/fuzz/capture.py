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

FS_IOC_FIEMAP = 0xC020660B
BTRFS_IOC_TREE_SEARCH_V2 = 0xC0709411
BTRFS_IOC_INO_PATHS = 0xC0389423
BTRFS_IOC_LOGICAL_INO_V2 = 0xC038943B

EXTENT_DATA_KEY = 108
EXTENTS = 60
ITEMS = 40
MAX = 2**64 - 1


def fiemap(fd):
    """One answer, the header included, and the addresses in it."""
    answer = bytearray(struct.pack("=QQIIII", 0, MAX, 0, 0, EXTENTS, 0) + bytes(56 * EXTENTS))
    fcntl.ioctl(fd, FS_IOC_FIEMAP, answer)
    mapped = struct.unpack_from("=I", answer, 20)[0]
    answer = answer[: 32 + 56 * mapped]
    physical = [struct.unpack_from("=Q", answer, 32 + 56 * i + 8)[0] for i in range(mapped)]
    return bytes(answer), [address for address in physical if address]


def tree_search(fd, inode):
    """The items that were found."""
    room = 65536
    key = struct.pack("=QQQQQQQIIII32x", 0, inode, inode, 0, MAX, 0, MAX,
                      EXTENT_DATA_KEY, EXTENT_DATA_KEY, ITEMS, 0)
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
