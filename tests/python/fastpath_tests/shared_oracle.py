# SPDX-License-Identifier: GPL-2.0-only
"""Which parts of the files of an unmounted image are shared, as the trees show it, without a kernel.

The data extent of a file extent item is shared where another inode or another subvolume also has an item for it, or the same
inode has it at another distance from the extent's start. Back references are not used.

A relocated leaf refers to an extent as a leaf, whatever number of its items do. For an extent that several items of one
inode and nothing else refer to, one of them in such a leaf, kernels count leaves where they should count distances: it is
None.
"""

import collections
import re

from .commands import BTRFS, output_of

LEAF_FLAGS = re.compile(r"leaf \d+ flags \S*\(([^)]*)\)")
ROOT_ITEM = re.compile(r"\titem \d+ key \((FS_TREE|\d+) ROOT_ITEM \d+\)")
KEY = re.compile(r"\titem \d+ key \((\S+) (\S+) (\S+)\)")
DISK_BYTE = re.compile(r"\t\t(?:extent|prealloc) data disk byte (\d+) ")
DATA_RANGE = re.compile(r"\t\t(?:extent|prealloc) data offset (\d+) nr (\d+)")
FIRST_SUBVOLUME = 256

Item = collections.namedtuple("Item", "offset length bytenr data_offset relocated")


def dump_tree(image, tree):
    return output_of(BTRFS, "inspect-internal", "dump-tree", "--hide-names", "-t", str(tree), image).splitlines()


def subvolumes_of(image):
    """Those that are being dropped too: their references count until they are gone."""
    roots = [match[1] for match in map(ROOT_ITEM.match, dump_tree(image, "root")) if match]
    return [
        5 if root == "FS_TREE" else int(root) for root in roots if root == "FS_TREE" or int(root) >= FIRST_SUBVOLUME
    ]


def items_of(image, subvolume):
    """{inode: items that refer to a data extent}"""
    items = collections.defaultdict(list)
    key = bytenr = None
    relocated = False
    for line in dump_tree(image, subvolume):
        if match := LEAF_FLAGS.match(line):
            relocated = "RELOC" in match[1]
        elif match := KEY.match(line):
            key, bytenr = (match if match[2] == "EXTENT_DATA" else None), None
        elif key and (match := DISK_BYTE.match(line)):
            bytenr = int(match[1])
        elif key and bytenr and (match := DATA_RANGE.match(line)):
            items[int(key[1])].append(Item(int(key[3]), int(match[2]), bytenr, int(match[1]), relocated))
    return items


def is_shared(references):
    """REFERENCES: each (file, item) to one data extent. None if it is unsettled."""
    files = {file for file, _ in references}
    if len(files) > 1 or len(references) == 1:
        return len(files) > 1
    if any(item.relocated for _, item in references):
        return None
    return len({item.offset - item.data_offset for _, item in references}) > 1


def shared_items(image):
    """{(subvolume, inode): [(offset, length, shared)]}"""
    files = {
        (subvolume, inode): items
        for subvolume in subvolumes_of(image)
        for inode, items in items_of(image, subvolume).items()
    }
    references = collections.defaultdict(list)
    for file, items in files.items():
        for item in items:
            references[item.bytenr].append((file, item))
    shared = {bytenr: is_shared(all_of_it) for bytenr, all_of_it in references.items()}
    return {file: [(item.offset, item.length, shared[item.bytenr]) for item in items] for file, items in files.items()}
