# SPDX-License-Identifier: GPL-2.0-only
"""Images for measurements, made on the host and packed, so that a guest can put one into a disk in memory.

A pack is a sequence of a header, which says where on the disk a piece is and how long, and the piece. What is all zeros
is left out: so file data costs nothing.
"""

import contextlib
import os
import struct

from . import calls, shared_image
from . import generated_tree as generate
from .calls import BLOCK
from .commands import btrfs
from .inode_flags import forbid_copies
from .scratch import make_image, mounted

DISK_MIB = 64 << 10
PIECE = struct.Struct("=QQ")
PIECE_MOST = 1 << 20
COMPRESSED_EXTENT = 128 << 10
XATTR_BYTES = 3000


# -- packs --


def nonzero_pieces(fd):
    """(offset, bytes) of what is not all zeros."""
    size = os.fstat(fd).st_size
    for start, end in calls.data_ranges(fd, size):
        for at in range(start, end, PIECE_MOST):
            data = os.pread(fd, min(PIECE_MOST, end - at), at)
            yield from nonzero_blocks(at, data)


def nonzero_blocks(at, data):
    zeros = bytes(BLOCK)
    begin = None
    for offset in range(0, len(data) + 1, BLOCK):
        block = data[offset : offset + BLOCK]
        if block and block != zeros[: len(block)]:
            begin = offset if begin is None else begin
        elif begin is not None:
            yield at + begin, data[begin:offset]
            begin = None


def pack(image, path):
    """And removes the IMAGE."""
    with calls.opened(image) as source, open(path, "wb") as target:
        target.writelines(PIECE.pack(offset, len(data)) + data for offset, data in nonzero_pieces(source))
    os.unlink(image)


def unpack(path, disk):
    with calls.opened(disk, os.O_WRONLY) as target, open(path, "rb") as source:
        while header := source.read(PIECE.size):
            offset, length = PIECE.unpack(header)
            calls.write_all(target, offset, source.read(length))
        os.fsync(target)


# -- the file that is mapped and sent --


def zeros(tree, fd, block, count=1):
    tree.write(fd, block * BLOCK, bytes(count * BLOCK))


def fragments(tree, fd, count):
    """An extent of each block: neighbours that are written together become one."""
    for parity in (0, 1):
        for block in range(parity, count, 2):
            zeros(tree, fd, block)
        os.fsync(fd)


def compressed(tree, fd, count):
    os.setxattr(fd, "btrfs.compression", b"lzo")
    for number in range(count):
        tree.write(fd, number * COMPRESSED_EXTENT, bytes(COMPRESSED_EXTENT))


def prealloc(tree, fd, count):
    """One extent, written in every other block."""
    calls.fallocate(fd, 0, 0, count * BLOCK)
    for block in range(1, count, 2):
        zeros(tree, fd, block)
    os.fsync(fd)


def splintered(tree, fd, count):
    """One extent to which many items refer."""
    zeros(tree, fd, 0, count)
    os.fsync(fd)
    for block in range(1, count, 2):
        zeros(tree, fd, block)
    os.fsync(fd)


@contextlib.contextmanager
def source_of(tree, count):
    with tree.opened(tree.path(b"data", b"source")) as fd:
        fragments(tree, fd, count)
        yield fd


def interleaved(tree, fd, count):
    """Reflinks alone, of the blocks of another file from both of its ends."""
    with source_of(tree, count) as source:
        for block in range(count):
            calls.clone_range(
                fd, block * BLOCK, source, (block // 2 if block % 2 else count - 1 - block // 2) * BLOCK, BLOCK
            )


def pairs(tree, fd, count):
    """Reflinks alone, in random order, of two blocks of another file that are neighbors on disk. A third file shares all."""
    with source_of(tree, count) as source, tree.opened(tree.path(b"data", b"third")) as third:
        calls.clone_range(third, 0, source, 0, 0)
        # As fragments() puts them on disk: every other block.
        on_disk = [*range(0, count, 2), *range(1, count, 2)]
        found = [on_disk[at : at + 2] for at in range(0, count - 1, 2)]
        tree.chance.shuffle(found)
        for number, block in enumerate(block for pair in found for block in pair):
            calls.clone_range(fd, number * BLOCK, source, block * BLOCK, BLOCK)


def mixed(tree, fd, count):
    """A reflink after each extent of its own."""
    fragments(tree, fd, count)
    with source_of(tree, (count + 1) // 2) as source:
        for block in range(1, count, 2):
            calls.clone_range(fd, block * BLOCK, source, block // 2 * BLOCK, BLOCK)


KINDS = {
    function.__name__: function for function in (fragments, compressed, prealloc, splintered, interleaved, pairs, mixed)
}
# A call each.
MOST_EXTENTS = {"interleaved": 2000, "pairs": 2000, "mixed": 2000}


def make_filler(tree, count):
    """Leaves of one inode each, before and after the file's."""
    for _ in range(count):
        with tree.opened(tree.new_path(b"data", "filler")) as fd:
            os.setxattr(fd, "user.filler", tree.bytes(XATTR_BYTES))


# -- what happens to it --


# Names of the kinds that other changes look for.
FILE = b"deep-0"
OTHER_FILE = b"many_leaves-0"


class Image:
    def __init__(self, tree):
        self.tree = tree
        self.snapshots = []
        self.count = 0

    @property
    def file(self):
        return self.tree.path(b"data", FILE)

    def step(self, text):
        verb, *rest = text.split()
        getattr(self, verb)(*rest)

    def snapshot(self):
        self.count += 1
        name = b"snapshot-%d" % self.count
        generate.snapshot(self.tree, b"data", name, "-r")
        self.snapshots.append(name)

    def write(self, how_many):
        overwrite(self.tree, self.file, how_many)
        self.commit()

    def append(self):
        with calls.opened(self.file, os.O_RDWR) as fd:
            zeros(self.tree, fd, shared_image.blocks_of(self.file) + 1, 3)

    def delete(self):
        """The oldest: what it alone shared is private again. One stays, to be sent."""
        if len(self.snapshots) > 1:
            shared_image.drop(self.tree, self.snapshots.pop(0), wait=True)

    def reflink(self):
        self.count += 1
        copy = self.tree.path(b"data", b"copy-%d" % self.count)
        with calls.opened(self.file) as source, self.tree.opened(copy) as target:
            calls.clone_range(target, 0, source, 0, 0)

    def deduplicate(self):
        copy = self.tree.new_path(b"data", "deduplicate")
        with calls.opened(self.file) as source, self.tree.opened(copy) as target:
            generate.deduplicate(self.tree, source, target)

    def balance(self):
        btrfs("balance", "start", "-m", "--force", os.fsdecode(self.tree.root))

    def change(self):
        """What else can happen to what is shared."""
        if not os.path.exists(self.tree.path(b"data", OTHER_FILE)):
            with self.tree.opened(self.tree.path(b"data", OTHER_FILE)) as fd:
                fragments(self.tree, fd, 40)
        shared_image.change(self.tree, b"data", 1, 4)

    def commit(self):
        generate.commit(self.tree, b"data")


def overwrite(tree, path, how_many):
    """HOW_MANY blocks here and there, as a number or as a percentage."""
    blocks = shared_image.blocks_of(path)
    count = blocks * int(how_many[:-1]) // 100 if how_many.endswith("%") else int(how_many)
    with calls.opened(path, os.O_RDWR) as fd:
        for block in sorted(tree.chance.sample(range(blocks), min(count, blocks))):
            zeros(tree, fd, block)


def fill(tree, of):
    btrfs("subvolume", "create", os.fsdecode(tree.path(b"data")))
    make_filler(tree, of["filler"] // 2)
    with tree.opened(tree.path(b"data", FILE)) as fd:
        KINDS[of["kind"]](tree, fd, min(of["extents"], MOST_EXTENTS.get(of["kind"], of["extents"])))
    make_filler(tree, of["filler"] // 2)
    generate.commit(tree, b"data")
    image = Image(tree)
    for step in of["steps"]:
        image.step(step)
    if of["operation"] == "send":
        if not image.snapshots:
            image.snapshot()
            image.write("1")
        image.snapshot()


@contextlib.contextmanager
def packed_image(path, node_bytes):
    """A new image, which is packed to PATH in the end."""
    image = f"{path}.image"
    make_image(image, DISK_MIB << 20, "-K", "-m", "single", "-n", str(node_bytes))
    yield image
    pack(image, path)


def make_packed(path, of):
    with packed_image(path, of["node_bytes"]) as image, mounted(image, "loop,noatime") as folder:
        fill(generate.Tree(folder, of["seed"]), of)


def make_empty(path, node_bytes):
    with packed_image(path, node_bytes):
        pass


def make_checksummed(path, node_bytes, mib):
    """A NOCOW file with checksums, which no call would make."""
    with packed_image(path, node_bytes) as image:
        with mounted(image, "loop,noatime") as folder, open(f"{folder}/file", "wb") as file:
            file.write(bytes(mib << 20))
            inode = os.fstat(file.fileno()).st_ino
        forbid_copies(image, [inode], node_bytes)
