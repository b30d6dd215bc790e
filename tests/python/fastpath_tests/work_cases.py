# SPDX-License-Identifier: GPL-2.0-only
"""The file systems and calls whose work under two kernels is compared: some that have a name, and one of each operation
for a seed.

A case is a dictionary: what it is called, the operation, the size of nodes, the seed of what is left to chance, and what
the operation wants.
"""

import random

OPERATIONS = ["fiemap", "send", "seek", "log", "nocow"]
# Those that find an image of their own.
OF_IMAGES = ["fiemap", "send"]

NODE_BYTES = [4096, 16384]
FAR = 1 << 40
# Data takes most of the time of a send.
MOST_SENT = 100
# So many leaves need a node above their nodes, if nodes have 4 KiB.
THREE_LEVELS = 130

FILE_KINDS = ["fragments", "fragments", "fragments", "compressed", "prealloc", "splintered", "interleaved", "mixed"]
SEEK_STATES = ["dirty", "written back in part", "being written back", "holes filled", "clean", "cold"]
LOG_CHANGES = ["create", "rename", "unlink", "link", "mkdir", "create below", "replace", "append"]
NOCOW_STATES = ["prealloc", "written", "snapshotted", "checksums"]


def case(name, operation, node_bytes=4096, seed=1, **wanted):
    return {"name": f"{operation}: {name}", "operation": operation, "node_bytes": node_bytes, "seed": seed, **wanted}


def fiemap(name, extents, *steps, kind="fragments", filler=0, late=0, **more):
    return case(
        name,
        "fiemap",
        kind=kind,
        extents=extents,
        steps=list(steps),
        filler=filler,
        late=late,
        **more,
    )


def seek(name, state, pieces, hole_blocks=1, piece_blocks=1, far=0, fresh=False, backwards=False, **more):
    return case(
        name,
        "seek",
        state=state,
        pieces=pieces,
        hole_blocks=hole_blocks,
        piece_blocks=piece_blocks,
        far=far,
        fresh=fresh,
        backwards=backwards,
        **more,
    )


def log(name, fsyncs, changes_each, changes, before=0, snapshot=False, evict=False, **more):
    return case(
        name,
        "log",
        fsyncs=fsyncs,
        changes_each=changes_each,
        changes=changes,
        before=before,
        snapshot=snapshot,
        evict=evict,
        **more,
    )


def nocow(name, state, direct, writes=60, mib=8, **more):
    return case(name, "nocow", state=state, direct=direct, writes=writes, mib=mib, **more)


def named():
    """Each took more work once, or is what everybody has."""
    return [
        fiemap("one extent", 1),
        fiemap("never snapshotted", 1000),
        fiemap("never snapshotted, three levels", 1000, filler=THREE_LEVELS),
        fiemap("never snapshotted, 16 KiB", 1000, node_bytes=16384),
        fiemap("fresh snapshot", 1000, "snapshot"),
        fiemap("fresh snapshot, three levels", 1000, "snapshot", filler=THREE_LEVELS),
        fiemap("snapshot, one block written", 1000, "snapshot", "write 1"),
        fiemap("snapshot, one block written, three levels", 1000, "snapshot", "write 1", filler=THREE_LEVELS),
        fiemap("snapshot, five blocks written, three levels", 1000, "snapshot", "write 5", filler=THREE_LEVELS),
        fiemap("snapshot, half of the blocks written", 1000, "snapshot", "write 50%", filler=THREE_LEVELS),
        fiemap("snapshot, one block written, 16 KiB", 1000, "snapshot", "write 1", node_bytes=16384),
        fiemap("interleaved reflinks", 1000, kind="mixed"),
        fiemap("six extents, neighbors of others", 6, "snapshot", "write 1", "balance", kind="mixed", filler=20),
        fiemap("twelve extents, two kinds in turn", 12, "snapshot", "write 5", "balance", filler=20, late=5),
        fiemap(
            "one data extent of many pieces, reflinked",
            178,
            *("snapshot", "append", "change", "write 100", "reflink"),
            kind="splintered",
            seed=37,
        ),
        fiemap("reflinks from both ends, never snapshotted", 15, kind="interleaved", node_bytes=16384, filler=200),
        fiemap(
            "reflinks from both ends, one block written",
            293,
            *("snapshot", "deduplicate", "snapshot", "change", "commit", "append", "balance", "write 1"),
            kind="interleaved",
            filler=200,
            seed=26,
        ),
        fiemap(
            "reflinks from both ends, five blocks written",
            488,
            *("snapshot", "change", "commit", "write 5", "change"),
            kind="interleaved",
            node_bytes=16384,
            filler=200,
            late=1,
            seed=78,
        ),
        fiemap("reflinks of pairs, 64 KiB", 400, kind="pairs", node_bytes=65536),
        fiemap("reflinks of pairs, 16 KiB", 100, kind="pairs", node_bytes=16384),
        case(
            "whole and incremental",
            "send",
            kind="fragments",
            extents=MOST_SENT,
            steps=["snapshot", "write 5"],
            filler=THREE_LEVELS,
            late=0,
        ),
        seek("dirty", "dirty", 200),
        seek("being written back", "being written back", 100),
        seek("clean, fresh descriptors, backwards", "clean", 300, fresh=True, backwards=True),
        seek("holes of 4 MiB, dirty, backwards", "dirty", 16, hole_blocks=1000, backwards=True),
        seek("1 GiB of nothing, dirty, fresh descriptors", "dirty", 30, far=1 << 30, fresh=True),
        seek("few holes filled", "holes filled", 9),
        seek("holes filled, from the end", "holes filled", 40, fresh=True, backwards=True),
        seek("far hole", "cold", 1, far=FAR),
        seek("far hole, fresh descriptors", "clean", 1, far=FAR, fresh=True),
        log("many creates", 20, 50, ["create"]),
        log("few creates", 60, 2, ["create"]),
        log("mixed", 30, 10, LOG_CHANGES, before=100),
        log("removals and creates", 20, 100, ["create", "unlink"], before=1500),
        nocow("prealloc, direct", "prealloc", True),
        nocow("checksums, buffered", "checksums", False),
    ]


# -- by chance --


def about(chance, low, high):
    """As often between 1 and 10 as between 100 and 1000."""
    return round(low * (high / low) ** chance.random())


def steps_of(chance):
    """What happens to the file after it was written."""
    written = ["write 1", "write 5", "write 100", "write 50%"]
    usual = [[], ["snapshot"], ["snapshot", chance.choice(written)], ["snapshot", chance.choice(written), "balance"]]
    if chance.random() < 0.6:
        return chance.choice(usual)
    any_of = [
        "snapshot",
        "snapshot",
        *written[:3],
        "delete",
        "reflink",
        "deduplicate",
        "balance",
        "append",
        "commit",
        "change",
        "change",
    ]
    return ["snapshot", *(chance.choice(any_of) for _ in range(chance.randint(1, 7)))]


def image_of(chance):
    extents = about(chance, 1, 2000)
    if chance.random() < 0.005:
        extents = 100_000
    return {
        "node_bytes": chance.choice(NODE_BYTES),
        "kind": chance.choice(FILE_KINDS),
        "extents": extents,
        "steps": steps_of(chance),
        "filler": chance.choice([0, 0, 20, 200]),
        "late": chance.choice([0, 0, 0, 1, 5, 50]),
    }


def of_seed(number):
    chance = random.Random(number)
    image = {"seed": number, **image_of(chance)}
    title = f"seed {number}"
    yield fiemap(
        title,
        image["extents"],
        *image["steps"],
        **{key: image[key] for key in image if key not in ("extents", "steps")},
    )
    yield case(title, "send", **{**image, "extents": min(image["extents"], MOST_SENT), "late": 0})
    common = {"seed": number, "node_bytes": chance.choice(NODE_BYTES)}
    yield seek(
        title,
        chance.choice(SEEK_STATES),
        about(chance, 1, 300),
        hole_blocks=chance.choice([1, 1, 2, 16, 1000]),
        piece_blocks=chance.choice([1, 1, 2, 8]),
        far=chance.choice([0, 0, 0, 1 << 30, FAR]),
        fresh=chance.random() < 0.4,
        backwards=chance.random() < 0.4,
        **common,
    )
    yield log(
        title,
        about(chance, 20, 80),
        about(chance, 1, 60),
        chance.choice([["create"], LOG_CHANGES, chance.sample(LOG_CHANGES, 3)]),
        before=chance.choice([0, 0, 10, 300]),
        snapshot=chance.random() < 0.3,
        evict=chance.random() < 0.2,
        **common,
    )
    yield nocow(
        title,
        chance.choice(NOCOW_STATES),
        chance.random() < 0.5,
        writes=about(chance, 20, 100),
        mib=chance.choice([1, 4, 16]),
        **common,
    )


def words(of):
    """What a reader has to know of a case besides its name."""
    apart = ("name", "operation", "node_bytes", "seed", "image")
    reported = [f"nodes of {of['node_bytes'] >> 10} KiB"]
    for key, value in of.items():
        if key in apart or value in (0, False, []):
            continue
        value = " and ".join(value) if isinstance(value, list) else value
        reported.append(key.replace("_", " ") if value is True else f"{key.replace('_', ' ')} {value}")
    return ", ".join(reported)
