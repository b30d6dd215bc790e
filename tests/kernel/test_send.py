# SPDX-License-Identifier: GPL-2.0-only
"""Send: the streams of two kernels, with and without reading ahead, for the same snapshots.

Each image has three snapshots, which one guest under each kernel sends, whole and as changes, with nothing in memory. The
streams must be the same, byte for byte, and what this machine receives of them must be what is in the snapshots. Only the
patched kernel may have counted that it read ahead.
"""

import collections
import hashlib
import os
import stat

import pytest
from fastpath_tests import generated_tree as generate
from fastpath_tests import kernels
from fastpath_tests import shared_image as image
from fastpath_tests.commands import btrfs
from fastpath_tests.file_systems import SECOND_DISK_IN_SHELL
from fastpath_tests.processes import both
from fastpath_tests.scratch import make_image, mounted

FEATURE = "send-reada"
pytestmark = pytest.mark.feature(FEATURE)

IMAGE_BYTES = 2 << 30
# A tree of small nodes has nodes above nodes, which are read ahead in another way.
NODESIZES = [4096, 16384]
FOLDERS = 8
FILES_A_FOLDER = 250
INLINE_BYTES = range(1, 400)
CHANGES_OF_NAMES = 60
COUNTER = "send_reada_in_memory"

Stream = collections.namedtuple("Stream", "name snapshot options")
STREAMS = [
    Stream("first", "first", ""),
    Stream("second-from-first", "second", "-p first"),
    Stream("third-from-second", "third", "-p second"),
    Stream("third-from-first", "third", "-p first"),
    Stream("third-with-clones", "third", "-c first -c second"),
    Stream("second", "second", ""),
    Stream("third", "third", ""),
]

IN_THE_GUEST = (
    f"""
set -e
{SECOND_DISK_IN_SHELL}
"""
    """
send() {
    echo 3 >/proc/sys/vm/drop_caches
    btrfs send -q -f "$results/$seed-$1" "${@:2}"
}
results=$PWD/$1
for file in *.image; do
    seed=${file%.image}
    mkdir /mnt/$seed
    mount -t btrfs -o "ro,noatime,loop$(second_disk "$file")" "$file" /mnt/$seed
    pushd /mnt/$seed >/dev/null
"""
    + "".join(f"    send {stream.name} {stream.options} {stream.snapshot}\n" for stream in STREAMS)
    + """
    popd >/dev/null
    uuid=$(findmnt -n -o UUID /mnt/$seed)
    [ -d /sys/fs/btrfs/$uuid ]
    # Not every kernel counts.
    if [ -e /sys/fs/btrfs/$uuid/fastpath_stats ]; then
        cat /sys/fs/btrfs/$uuid/fastpath_stats >"$results/$seed-counters"
    else
        : >"$results/$seed-counters"
    fi
done
"""
)


# -- images --


def folders_in(tree):
    top = tree.path(b"data")
    return sorted(path for path, _, _ in os.walk(top) if os.path.basename(path).startswith(b"folder"))


def make_folders(tree):
    for _ in range(FOLDERS):
        folder = tree.new_path(b"data", "folder")
        os.mkdir(folder)
        for _ in range(FILES_A_FOLDER):
            make_file(tree, folder)


def make_file(tree, folder):
    with tree.opened(tree.new_path(folder, "file")) as fd:
        tree.write(fd, 0, tree.bytes(tree.chance.choice(INLINE_BYTES)))


def pick_file(tree, folder):
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False))
    return tree.path(folder, tree.chance.choice(names))


def move_file(tree, folder, other):
    os.rename(pick_file(tree, folder), tree.new_path(other, "moved"))


def replace_file(tree, folder, other):
    os.rename(pick_file(tree, folder), pick_file(tree, other))


def swap_files(tree, folder, other):
    """Afterwards each name stands for another inode, and neither can be sent first."""
    one, another = pick_file(tree, folder), pick_file(tree, other)
    between = tree.new_path(folder, "between")
    if one != another:
        os.rename(one, between)
        os.rename(another, one)
        os.rename(between, another)


def link_file(tree, folder, other):
    os.link(pick_file(tree, folder), tree.new_path(other, "link"))


def delete_file(tree, folder, _):
    os.unlink(pick_file(tree, folder))


def add_file(tree, folder, _):
    make_file(tree, folder)


def change_attributes(tree, folder, _):
    path = pick_file(tree, folder)
    os.setxattr(path, "user.changed", tree.bytes(20))
    os.chmod(path, 0o600)
    os.truncate(path, tree.chance.randrange(100))


def move_folder(tree, folder, other):
    if not other.startswith(folder):
        os.rename(folder, tree.new_path(other, "folder"))


def change_names(tree):
    changes = [move_file, replace_file, swap_files, link_file, delete_file, add_file, change_attributes]
    for _ in range(CHANGES_OF_NAMES):
        tree.chance.choice(changes)(tree, *tree.chance.choices(folders_in(tree), k=2))
    move_folder(tree, *tree.chance.choices(folders_in(tree), k=2))


def fill(tree):
    image.make_subvolume(tree, b"data", *image.LARGE_KINDS)
    generate.make_odd_names(tree, b"data/odd names")
    generate.make_hard_links(tree, b"data")
    generate.make_what_is_no_file(tree, b"data")
    make_folders(tree)
    generate.snapshot(tree, b"data", b"first", "-r")
    for name in (b"second", b"third"):
        image.change(tree, b"data", 4, 8)
        change_names(tree)
        generate.snapshot(tree, b"data", name, "-r")


# -- file systems --


def make_snapshots(path, seed, kind):
    make_image(path, IMAGE_BYTES, "-n", str(NODESIZES[seed % len(NODESIZES)]), kind=kind)
    with mounted(path, ",".join(filter(None, ["loop,noatime", kind and kind.mount]))) as folder:
        fill(generate.Tree(folder, seed))


# -- trees --


def entry_of(path):
    """Everything in a stream about an inode."""
    status = os.lstat(path)
    entry = [stat.filemode(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns]
    if stat.S_ISLNK(status.st_mode):
        return entry + [os.readlink(path)]
    entry += [(name, os.getxattr(path, name)) for name in sorted(os.listxattr(path)) if name.startswith("user.")]
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            entry += [status.st_nlink, hashlib.sha256(file.read()).hexdigest()]
    return entry + [status.st_rdev]


def entries_of(root):
    """Of all below ROOT: the receiver touches ROOT itself at the end."""
    root = os.fsencode(root)
    paths = [os.path.join(place, name) for place, folders, files in os.walk(root) for name in folders + files]
    return {os.path.relpath(path, root): entry_of(path) for path in paths}


def tree_differences(expected, found):
    if not expected:
        return ["there is nothing in the snapshot"]
    return [
        f"{path!r}: {expected.get(path)}, received {found.get(path)}"
        for path in sorted(expected.keys() | found.keys())
        if expected.get(path) != found.get(path)
    ]


def receive_all(streams, folder):
    """{name: what is there afterwards}"""
    found = {}
    for stream in STREAMS:
        place = os.path.join(folder, stream.name)
        os.mkdir(place)
        btrfs("receive", "-q", "-f", streams[stream.name], place)
        found[stream.name] = entries_of(os.path.join(place, stream.snapshot))
    return found


# -- streams --


def read(path):
    with open(path, "rb") as file:
        return file.read()


def first_difference(one, other):
    """A line about the first byte that is not the same; None if there is none."""
    if one == other:
        return None
    length = min(len(one), len(other))
    at = next((at for at in range(length) if one[at] != other[at]), length)
    return f"the streams differ from byte {at} on: {len(one)} and {len(other)} bytes"


def stream_faults(one, other):
    if not one:
        return ["nothing was sent"]
    difference = first_difference(one, other)
    return [difference] if difference else []


def counted(directory, side, seed):
    """None of a kernel that does not count it."""
    lines = read(os.path.join(directory, side, f"{seed}-counters")).decode().splitlines()
    return {name: int(value) for name, value in map(str.split, lines)}.get(COUNTER)


# -- tests --


def count_faults(stock, patched):
    faults = [f"the stock kernel did, {stock} times"] if stock else []
    if not patched:
        faults.append("the patched kernel does not count it" if patched is None else "the patched kernel did not")
    return faults


def faults_of_counts(directory, seed):
    stock, patched = (counted(directory, side, seed) for side in ("stock", "patched"))
    print(f"seed {seed}: only the patched kernel read on after blocks in memory, {patched} times")
    return count_faults(stock, patched)


def faults_of_streams(directory, seed):
    for stream in STREAMS:
        one, other = (read(os.path.join(directory, side, f"{seed}-{stream.name}")) for side in ("stock", "patched"))
        print(f"seed {seed}: {stream.name}, {len(one)} bytes")
        yield from (f"{stream.name}: {fault}" for fault in stream_faults(one, other))


def faults_of_received(directory, seed, snapshots):
    copy = os.path.join(directory, f"{seed}.received")
    make_image(copy, IMAGE_BYTES)
    streams = {stream.name: os.path.join(directory, "patched", f"{seed}-{stream.name}") for stream in STREAMS}
    with mounted(copy, "loop,noatime") as folder:
        found = receive_all(streams, folder)
    os.unlink(copy)
    for stream in STREAMS:
        print(f"seed {seed}: {stream.name} received, {len(found[stream.name])} inodes")
        yield from tree_differences(snapshots[stream.snapshot], found[stream.name])


def snapshots_of(directory, seed):
    with mounted(os.path.join(directory, f"{seed}.image"), "loop,noatime,ro") as folder:
        return {name: entries_of(os.path.join(folder, name)) for name in ("first", "second", "third")}


def send_all(guest, directory, kernel, side):
    os.mkdir(os.path.join(directory, side))
    options = ["--share", directory]
    assert guest(kernel, "bash", "-c", IN_THE_GUEST, "send-all", side, options=options, limit=3600, cwd=directory) == 0


@pytest.fixture
def stock(base):
    """A kernel without the feature. Where the base has it, a patch takes it out."""
    return kernels.Kernel(base, "stock" if (base, FEATURE) in kernels.with_patches() else f"control:{FEATURE}")


def test_same_streams(guest, processes, scratch, stock, patched, seeds):
    # A seed takes longer than in other tests.
    if not any(seeds.values()):
        seeds = dict(list(seeds.items())[: (len(seeds) + 9) // 10])
    for seed, kind in seeds.items():
        make_snapshots(os.path.join(scratch, f"{seed}.image"), seed, kind)
    both(
        processes,
        lambda: send_all(guest, scratch, stock, "stock"),
        lambda: send_all(guest, scratch, patched, "patched"),
    )
    wrong = []
    for seed in seeds:
        snapshots = snapshots_of(scratch, seed)
        faults = [
            *faults_of_counts(scratch, seed),
            *faults_of_streams(scratch, seed),
            *faults_of_received(scratch, seed, snapshots),
        ]
        wrong += [f"seed {seed}: {line}" for line in faults]
    assert not wrong, "\n".join(wrong)
    assert tree_differences(snapshots["first"], snapshots["second"]), "another snapshot is not noticed"


# -- what has to fail --


def test_other_streams_are_noticed():
    assert not stream_faults(b"abc", b"abc")
    for one, other in ((b"123", b"124"), (b"123", b"12"), (b"", b"")):
        assert stream_faults(one, other)


def test_counters_that_are_missing_are_not_0(scratch):
    with pytest.raises(FileNotFoundError):
        counted(scratch, "", 1)
    for text, count in (("", None), ("fiemap_leaf_hits 3\n", None), ("send_reada_in_memory 3\n", 3)):
        with open(os.path.join(scratch, "1-counters"), "w", encoding="ascii") as file:
            file.write(text)
        assert counted(scratch, "", 1) == count
    assert not count_faults(None, 3)
    assert not count_faults(0, 1)
    for counts in ((None, None), (None, 0), (0, None), (3, 3)):
        assert count_faults(*counts)


def test_empty_snapshots_are_noticed():
    assert tree_differences({}, {})
    assert not tree_differences({b"a": [1]}, {b"a": [1]})
