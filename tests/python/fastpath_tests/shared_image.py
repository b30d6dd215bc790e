# SPDX-License-Identifier: GPL-2.0-only
"""An image of a btrfs whose extents are shared in every way, the same operations for the same seed."""

import os
import random

from . import calls, scratch
from . import generated_tree as generate
from .calls import BLOCK
from .commands import btrfs

# The smallest makes the deepest trees, so most images have it.
NODESIZES = [4096, 4096, 4096, 16384, 4096, 8192, 4096, 65536]
FEATURES = ["no-holes", "^no-holes", "no-holes,^skinny-metadata"]


def fragments(tree, fd, first, count):
    """COUNT blocks, an extent each: every other one first, since neighbours become one extent."""
    data = tree.bytes(BLOCK)
    for parity in (0, 1):
        for block in range(first + parity, first + count, 2):
            tree.write(fd, block * BLOCK, data)
        os.fsync(fd)


# -- kinds of files, in addition to those of generate-tree --


def deep(tree, fd):
    fragments(tree, fd, 0, tree.chance.randint(3800, 4800))


def many_leaves(tree, fd):
    fragments(tree, fd, 0, tree.chance.randint(200, 600))


def splintered(tree, fd):
    """One extent that items of several leaves refer to."""
    blocks = tree.chance.randint(400, 1000)
    tree.write(fd, 0, tree.bytes(BLOCK) * blocks)
    os.fsync(fd)
    for block in range(1, blocks, tree.chance.randint(3, 6)):
        tree.write(fd, block * BLOCK, tree.bytes(BLOCK))
    os.fsync(fd)


def splintered_prealloc(tree, fd):
    blocks = tree.chance.randint(200, 500)
    calls.fallocate(fd, 0, 0, blocks * BLOCK)
    for block in range(2, blocks, tree.chance.randint(4, 8)):
        tree.write(fd, block * BLOCK, tree.bytes(BLOCK))
    os.fsync(fd)


LARGE_KINDS = [many_leaves, splintered, splintered_prealloc]
SMALL_KINDS = [
    generate.empty,
    generate.inline,
    generate.beyond_inline,
    generate.small,
    generate.compressed,
    generate.sparse,
    generate.all_hole,
    generate.prealloc,
    generate.prealloc_beyond_end,
    generate.prealloc_partly_written,
    generate.punched,
    generate.reflinked_within_itself,
    generate.nocow,
]
# What can be cloned from and overwritten.
SHAREABLE = ["deep", "many_leaves", "splintered", "splintered_prealloc", *generate.SOURCE_KINDS]


def make_file(tree, directory, kind):
    with tree.opened(tree.new_path(directory, kind.__name__)) as fd:
        kind(tree, fd)


def blocks_of(path):
    return os.stat(path).st_size // BLOCK


def shareable_in(tree, directory):
    paths = [
        tree.path(directory, name)
        for name in sorted(os.listdir(tree.path(directory)))
        if name.rsplit(b"-", 1)[0].decode() in SHAREABLE
    ]
    return [path for path in paths if blocks_of(path)]


def pick(tree, directory):
    """The largest more often than others: with most leaves it has most to go wrong."""
    paths = shareable_in(tree, directory)
    return max(paths, key=blocks_of) if tree.chance.random() < 0.3 else tree.chance.choice(paths)


def window_of(tree, blocks):
    """Up to an eighth of a file, so that neighboring leaves stay as they are."""
    count = tree.chance.randint(1, max(1, blocks // 8))
    return tree.chance.randrange(blocks - count + 1), count


# -- what happens to a subvolume --


def overwrite_window(tree, directory):
    overwrite_window_of(tree, pick(tree, directory))


def overwrite_window_of(tree, path):
    first, count = window_of(tree, blocks_of(path))
    with calls.opened(path, os.O_RDWR) as fd:
        for block in range(first, first + count, tree.chance.randint(1, 4)):
            tree.write(fd, block * BLOCK, tree.bytes(BLOCK))


def scatter(tree, directory):
    """A block here and there makes leaf after leaf private."""
    path = pick(tree, directory)
    generate.overwrite(tree, [path] * tree.chance.randint(1, 5))


def rewrite(tree, directory):
    path = tree.chance.choice(shareable_in(tree, directory)[1:])
    blocks = blocks_of(path)
    with calls.opened(path, os.O_RDWR) as fd:
        fragments(tree, fd, 0, min(blocks, 300))


def punch(tree, directory):
    path = pick(tree, directory)
    first, count = window_of(tree, blocks_of(path))
    mode = calls.FALLOC_FL_PUNCH_HOLE | calls.FALLOC_FL_KEEP_SIZE
    with calls.opened(path, os.O_RDWR) as fd:
        calls.fallocate(fd, mode, first * BLOCK, min(count, 40) * BLOCK)


def reflink_from(tree, source, directory):
    """A window of SOURCE, into the midst of an old file or into a new one."""
    first, count = window_of(tree, blocks_of(source))
    target = pick(tree, directory) if tree.chance.random() < 0.5 else tree.new_path(directory, "reflink")
    with tree.opened(target) as fd, calls.opened(source) as source_fd:
        at = tree.chance.randrange(os.fstat(fd).st_size // BLOCK + 10)
        if source != target or at >= first + count or at + count <= first:
            calls.clone_range(fd, at * BLOCK, source_fd, first * BLOCK, count * BLOCK)


def reflink(tree, directory):
    reflink_from(tree, pick(tree, directory), directory)


def deduplicate(tree, directory):
    path = pick(tree, directory)
    with calls.opened(path) as source, tree.opened(tree.new_path(directory, "deduplicate")) as target:
        generate.deduplicate(tree, source, target)


def create(tree, directory):
    make_file(tree, directory, tree.chance.choice(SMALL_KINDS))


CHANGES = [
    overwrite_window,
    overwrite_window,
    scatter,
    scatter,
    rewrite,
    punch,
    reflink,
    reflink,
    deduplicate,
    create,
    generate.commit,
]


def change(tree, directory, low, high):
    for _ in range(tree.chance.randint(low, high)):
        tree.chance.choice(CHANGES)(tree, directory)


# -- the whole --


def snapshot(tree, source, name):
    options = ["-r"] if tree.chance.random() < 0.3 else []
    generate.snapshot(tree, source, name, *options)
    return not options


def drop(tree, name, wait):
    btrfs("subvolume", "delete", *(["-c"] if wait else []), os.fsdecode(tree.path(name)))
    if wait:
        btrfs("subvolume", "sync", "-s", "1", os.fsdecode(tree.root))


def make_generation(tree, number):
    """A snapshot that stays, one that does not, and changes before, between and after."""
    kept, dropped = (b"%s-%d" % (name, number) for name in (b"kept", b"dropped"))

    writable = snapshot(tree, b"data", kept)
    change(tree, b"data", 2, 6)
    snapshot(tree, b"data", dropped)
    change(tree, b"data", 2, 6)
    if writable:
        change(tree, kept, 1, 4)
    if tree.chance.random() < 0.5:
        snapshot(tree, kept, b"of-%s" % kept)
    drop(tree, dropped, wait=tree.chance.random() < 0.6)
    change(tree, b"data", 0, 3)
    reflink_from(tree, pick(tree, kept), b"other")


def make_subvolume(tree, name, *kinds):
    btrfs("subvolume", "create", os.fsdecode(tree.path(name)))
    kinds = [*kinds, *SMALL_KINDS]
    tree.chance.shuffle(kinds)
    for kind in kinds:
        make_file(tree, name, kind)


def fill(tree):
    make_subvolume(tree, b"data", deep, *LARGE_KINDS)
    make_subvolume(tree, b"other", many_leaves)
    make_subvolume(tree, b"alone", deep, *LARGE_KINDS)
    for number in range(tree.chance.randint(1, 3)):
        make_generation(tree, number)
    if tree.chance.random() < 0.4:
        # Thin out: what only dropped snapshots shared is private again.
        drop(tree, b"kept-0", wait=True)
    change(tree, b"data", 0, 4)
    # In every image, whatever chance said, a file has shared and private leaves.
    overwrite_window_of(tree, max(shareable_in(tree, b"data"), key=blocks_of))
    if tree.chance.random() < 0.3:
        # A relocated leaf is newer than its contents.
        btrfs("balance", "start", "-m", "--force", os.fsdecode(tree.root))
    if tree.chance.random() < 0.3:
        snapshot(tree, b"data", b"last")
        drop(tree, b"last", wait=False)


def make_image(seed, path, size, kind=None):
    chance = random.Random(seed)
    options = ["-n", str(chance.choice(NODESIZES)), "-O", chance.choice(FEATURES)]
    scratch.make_image(path, size, *options, kind=kind)
    mount_options = ",".join(filter(None, ["loop,noatime", kind and kind.mount]))
    with scratch.mounted(path, mount_options) as folder:
        fill(generate.Tree(folder, seed))
