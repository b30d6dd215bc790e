# SPDX-License-Identifier: GPL-2.0-only
"""Files of every kind that btrfs knows, and a tree of them: the same ones for the same seed."""

import os
import random
import socket
import stat

from . import calls
from .calls import BLOCK, clone_range, dedupe_range, fallocate, forbid_cow
from .commands import btrfs

KIB = 1024
MIB = 1024 * KIB
TIB = 1024 * 1024 * MIB

# What mkfs.btrfs and the kernel allow at most in a metadata block of 16 KiB and a page of 4 KiB.
MAX_INLINE = 2048

ODD_NAMES = [
    b"two words",
    b" leading and trailing ",
    b"new\nline",
    b"tab\there",
    b"escape\x1b[31mred",
    b"bell\x07",
    b"delete\x7f",
    b"c1 \xc2\x9b31m",
    b"'single'",
    b'"double"',
    b"back\\slash",
    b"\\x41 is no A",
    b"-leading-dash",
    b"--help",
    b"invalid \xff\xfe",
    b"overlong \xc0\xaf",
    b"surrogate \xed\xa0\x80",
    b"umlaut \xc3\xa4",
    b"%s%n",
    b"*?[a]",
    b"$HOME `id`",
    b"ends in \\",
    b"l" * 255,
    b"\xe2\x82\xac" * 85,
]


class Tree:
    """A directory to make files in, and the chance that decides about them."""

    def __init__(self, root, seed):
        self.root = os.fsencode(root)
        self.chance = random.Random(seed)
        self.count = 0

    def path(self, *names):
        return os.path.join(self.root, *names)

    def new_path(self, directory, kind):
        self.count += 1
        return self.path(directory, b"%s-%03d" % (kind.encode(), self.count))

    def opened(self, path):
        """Made if it is not there. Closed on a signal, too: what is mounted has to be unmounted then."""
        return calls.opened(path, os.O_RDWR | os.O_CREAT)

    def bytes(self, length):
        return self.chance.randbytes(length)

    def text(self, length):
        """Something that compresses, and is not the same everywhere."""
        word = self.bytes(64)
        return (word * (length // len(word) + 1))[:length]

    def blocks(self, low, high):
        return BLOCK * self.chance.randint(low, high)

    def write(self, fd, offset, data):
        calls.write_all(fd, offset, data)


# -- the kinds: each fills a new file --


def empty(tree, fd):
    pass


def inline(tree, fd):
    tree.write(fd, 0, tree.bytes(tree.chance.choice([1, 2, 100, 1000, MAX_INLINE - 1, MAX_INLINE])))


def beyond_inline(tree, fd):
    tree.write(fd, 0, tree.bytes(tree.chance.choice([MAX_INLINE + 1, 4095, 4096, 4097])))


def small(tree, fd):
    tree.write(fd, 0, tree.bytes(tree.chance.randint(1, 64 * KIB)))


def large(tree, fd):
    tree.write(fd, 0, tree.bytes(tree.chance.randint(1, 4) * MIB + tree.chance.randint(0, 9999)))


def many_extents(tree, fd):
    """Blocks written backwards, each one on its own, do not come to lie next to each other."""
    count = tree.chance.randint(20, 60)
    for number in reversed(range(count)):
        tree.write(fd, number * BLOCK, tree.bytes(BLOCK))
        os.fsync(fd)


def compressed(tree, fd):
    os.setxattr(fd, "btrfs.compression", tree.chance.choice([b"zlib", b"lzo", b"zstd"]))
    tree.write(fd, 0, tree.text(tree.chance.randint(100, 1000) * KIB + tree.chance.randint(0, 4095)))


def sparse(tree, fd):
    for _ in range(tree.chance.randint(2, 8)):
        tree.write(fd, tree.blocks(0, 1000), tree.bytes(tree.blocks(1, 5)))
    os.ftruncate(fd, os.fstat(fd).st_size + tree.blocks(0, 100))


def all_hole(tree, fd):
    os.ftruncate(fd, tree.chance.randint(1, 100 * MIB))


def far_away(tree, fd):
    """Blocks whose number does not fit into 32 bits."""
    tree.write(fd, 0, tree.bytes(BLOCK))
    tree.write(fd, 17 * TIB + tree.blocks(0, 1000), tree.bytes(tree.blocks(1, 5)))
    os.ftruncate(fd, 20 * TIB)


def prealloc(tree, fd):
    fallocate(fd, 0, 0, tree.blocks(10, 200))


def prealloc_beyond_end(tree, fd):
    tree.write(fd, 0, tree.bytes(tree.blocks(1, 10)))
    fallocate(fd, calls.FALLOC_FL_KEEP_SIZE, 0, tree.blocks(20, 200))


def prealloc_partly_written(tree, fd):
    length = tree.blocks(50, 200)
    fallocate(fd, 0, 0, length)
    for _ in range(4):
        tree.write(fd, tree.blocks(0, length // BLOCK - 5), tree.bytes(tree.blocks(1, 4)))
        os.fsync(fd)


def punched(tree, fd):
    length = tree.blocks(50, 200)
    tree.write(fd, 0, tree.bytes(length))
    os.fsync(fd)
    for _ in range(3):
        fallocate(
            fd,
            calls.FALLOC_FL_PUNCH_HOLE | calls.FALLOC_FL_KEEP_SIZE,
            tree.blocks(0, length // BLOCK - 1),
            tree.blocks(1, 10),
        )


def reflinked_within_itself(tree, fd):
    length = tree.blocks(10, 30)
    tree.write(fd, 0, tree.bytes(length))
    os.fsync(fd)
    clone_range(fd, length + tree.blocks(0, 10), fd, 0, length)
    if tree.chance.random() < 0.5:
        clone_range(fd, 4 * length, fd, BLOCK, 3 * BLOCK)


def nocow(tree, fd):
    forbid_cow(fd)
    tree.write(fd, 0, tree.bytes(tree.blocks(10, 100)))
    os.fsync(fd)
    tree.write(fd, BLOCK, tree.bytes(tree.blocks(1, 5)))


KINDS = [
    empty,
    inline,
    beyond_inline,
    small,
    large,
    many_extents,
    compressed,
    sparse,
    all_hole,
    far_away,
    prealloc,
    prealloc_beyond_end,
    prealloc_partly_written,
    punched,
    reflinked_within_itself,
    nocow,
]

# What can be reflinked: not inline, which has nothing to share, and no NOCOW file, which only
# shares with its like.
SOURCE_KINDS = ["small", "large", "many_extents", "compressed", "sparse", "prealloc_partly_written", "punched"]


# -- what needs files that exist --


def sources_in(tree, directory):
    names = sorted(os.listdir(tree.path(directory)))
    return [
        tree.path(directory, name) for name in names if name.rsplit(b"-", 1)[0].decode(errors="replace") in SOURCE_KINDS
    ]


def reflink_whole(tree, source, target):
    clone_range(target, 0, source, 0, 0)


def reflink_partly(tree, source, target):
    blocks = os.fstat(source).st_size // BLOCK
    if blocks < 2:
        return
    offset = tree.chance.randrange(blocks)
    length = tree.chance.randint(1, blocks - offset)
    tree.write(target, 0, tree.bytes(tree.blocks(1, 3)))
    clone_range(target, tree.blocks(2, 50), source, offset * BLOCK, length * BLOCK)


def deduplicate(tree, source, target):
    blocks = min(os.fstat(source).st_size // BLOCK, 64)
    if not blocks:
        return
    tree.write(target, 0, tree.bytes(BLOCK))
    tree.write(target, BLOCK, os.pread(source, blocks * BLOCK, 0))
    os.fsync(target)
    dedupe_range(target, BLOCK, source, 0, blocks * BLOCK)


def make_copies(tree, sources, directory, count):
    makers = [reflink_whole, reflink_partly, deduplicate]
    for number in range(count):
        maker = makers[number % len(makers)]
        path = tree.new_path(directory, maker.__name__)
        with calls.opened(tree.chance.choice(sources)) as source, tree.opened(path) as target:
            maker(tree, source, target)


def make_files(tree, directory, rounds):
    for _ in range(rounds):
        for kind in KINDS:
            with tree.opened(tree.new_path(directory, kind.__name__)) as fd:
                kind(tree, fd)


def make_odd_names(tree, directory):
    os.makedirs(tree.path(directory), exist_ok=True)
    for name in ODD_NAMES:
        with tree.opened(tree.path(directory, name)) as fd:
            tree.chance.choice([inline, small, compressed, sparse])(tree, fd)


def make_hard_links(tree, directory):
    source = sources_in(tree, directory)[0]
    os.makedirs(tree.path(directory, b"links"), exist_ok=True)
    for name in [b"first", b"new\nline", b"invalid \xff", b"\\xff in letters"]:
        os.link(source, tree.path(directory, b"links", name))


def make_what_is_no_file(tree, directory):
    os.symlink(b"does not exist", tree.path(directory, b"dangling"))
    os.symlink(os.path.basename(sources_in(tree, directory)[0]), tree.path(directory, b"symlink"))
    os.symlink(b".", tree.path(directory, b"symlink-to-directory"))
    os.mkfifo(tree.path(directory, b"fifo"))
    os.mknod(tree.path(directory, b"null"), stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod(tree.path(directory, b"block"), stat.S_IFBLK | 0o600, os.makedev(7, 255))
    here = os.getcwd()
    os.chdir(tree.path(directory))  # a socket's address is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    os.chdir(here)


def overwrite(tree, paths):
    """A few blocks inside each, so that what they share falls into pieces."""
    for path in paths:
        blocks = os.stat(path).st_size // BLOCK
        if not blocks:
            continue
        with calls.opened(path, os.O_RDWR) as fd:
            for _ in range(3):
                tree.write(fd, BLOCK * tree.chance.randrange(blocks), tree.bytes(tree.blocks(1, 2)))


def overwrite_some(tree, directory, tail):
    """Only the last TAIL files, so that the leaves of the others stay as old as they are."""
    overwrite(tree, sources_in(tree, directory)[-tail:])


# -- the whole --


def commit(tree, directory):
    """Without it several changes are of one transaction, the snapshot's too."""
    calls.commit(tree.path(directory))


def snapshot(tree, source, target, *options):
    """Without a sync before, so that some extents are of the snapshot's own transaction."""
    btrfs("subvolume", "snapshot", *options, tree.path(source), tree.path(target))


def make_tree(tree):
    for name in [b"data", b"data/nested", b"other"]:
        btrfs("subvolume", "create", tree.path(name))
    os.mkdir(tree.path(b"plain"))
    os.mkdir(tree.path(b"data/folder"))

    make_files(tree, b"data", 4)
    make_files(tree, b"data/nested", 1)
    make_files(tree, b"other", 2)
    make_files(tree, b"plain", 1)
    make_odd_names(tree, b"data/odd names")
    make_hard_links(tree, b"data")
    make_what_is_no_file(tree, b"data")
    commit(tree, b"data")
    make_copies(tree, sources_in(tree, b"data"), b"data/folder", 18)
    make_copies(tree, sources_in(tree, b"data"), b"other", 9)

    snapshot(tree, b"data", b"snapshot-old", "-r")
    overwrite_some(tree, b"data", 3)
    make_files(tree, b"data/folder", 1)

    snapshot(tree, b"data", b"snapshot-deleted")
    overwrite_some(tree, b"data", 2)
    snapshot(tree, b"data", b"snapshot-young")
    btrfs("subvolume", "delete", tree.path(b"snapshot-deleted"))

    overwrite_some(tree, b"snapshot-young", 4)
    make_odd_names(tree, b"snapshot-young/own odd names")
    make_copies(tree, sources_in(tree, b"snapshot-old"), b"plain", 9)
    snapshot(tree, b"snapshot-young", b"data/snapshot-of-snapshot", "-r")
    overwrite_some(tree, b"data", 1)
    make_files(tree, b"data/folder", 1)
    # This sync wakes the cleaner too, which would take its time otherwise.
    calls.commit(tree.root)
    btrfs("subvolume", "sync", "-s", "1", tree.root)


def make_dirty(tree):
    """Data that is not on disk yet, alone and next to everything else."""
    os.makedirs(tree.path(b"dirty"), exist_ok=True)
    for kind in KINDS:
        path = tree.path(b"dirty", kind.__name__.encode())
        fresh = not os.path.exists(path)
        with tree.opened(path) as fd:
            if fresh:
                kind(tree, fd)
                os.fsync(fd)
            tree.write(fd, tree.blocks(2, 6), tree.bytes(tree.blocks(1, 3)))
            tree.write(fd, tree.blocks(300, 400), tree.bytes(tree.chance.randint(1, 100 * KIB)))

    # A new file: one that was cut to nothing is written back as it is closed.
    path = tree.path(b"dirty", b"never written")
    if os.path.exists(path):
        os.unlink(path)
    with tree.opened(path) as fd:
        tree.write(fd, 0, tree.bytes(tree.chance.randint(10, 100) * KIB))
