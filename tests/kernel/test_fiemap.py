# SPDX-License-Identifier: GPL-2.0-only
"""FIEMAP: what two kernels report about the same images, and what one reports while files change.

Every extent of every file is compared, and the patched kernel's flags with the trees of the image. There has to be enough to
compare. A difference is no fault where the trees show that stock alone is wrong: where relocation left a tree block with
several parents.
"""

import bisect
import collections
import os
import re
import struct

import pytest
from fastpath_tests import file_systems, kernels, shared_oracle
from fastpath_tests.calls import FIEMAP_EXTENT_DATA_INLINE, FIEMAP_EXTENT_LAST, FIEMAP_EXTENT_SHARED, Mapped
from fastpath_tests.file_systems import SECOND_DISK_IN_SHELL
from fastpath_tests.load_script import load_script
from fastpath_tests.processes import both
from fastpath_tests.shared_image import make_image

pytestmark = pytest.mark.feature("fiemap-leaf")

IMAGE_BYTES = 2 << 30
FILE_EXTENT_ITEM_BYTES = 25 + 53
NODESIZE_AT = 0x10000 + 0x94

# Images are mounted on folders of the seed's name; the rest of a guest's folders are not the host's.
IN_THE_GUEST = f"""
set -e
{SECOND_DISK_IN_SHELL}
for image in *.image; do
    mkdir /mnt/"${{image%.image}}"
    mount -t btrfs -o "ro,noatime,loop$(second_disk "$image")" "$image" /mnt/"${{image%.image}}"
done
cd /mnt
"$0" *
"""

CALL = re.compile(r"b'(\d+)/.*' (\d+) (\d+) (\D.*)")
WITHIN = re.compile(r"at [1-9]\d* room \d+$")


# -- guests --


def ask_kernel(guest, directory, kernel, name):
    """What `fiemap-dump` prints in a guest."""
    path = os.path.join(directory, name)
    with open(path, "wb") as output:
        status = guest(
            kernel,
            "bash",
            "-c",
            IN_THE_GUEST,
            kernels.guest_program("fiemap-dump"),
            options=["--share", directory],
            cwd=directory,
            stdout=output,
        )
    assert status == 0
    return read_answers(path)


# -- answers --


def read_answers(path):
    """{seed: {file and way: extents}}"""
    answers = collections.defaultdict(dict)
    extents = []
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if match := CALL.match(line):
                calls, call = answers[int(match[1])], line.rstrip("\n")
                if match[4] == "some as all":
                    calls[call.removesuffix(" as all")] = extents
                else:
                    extents = calls.setdefault(call, [])
            else:
                logical, physical, length, flags = line.split()
                extents.append(Mapped(int(logical), int(physical), int(length), int(flags, 16)))
    return answers


def words(extent):
    if extent is None:
        return "nothing"
    return f"{extent.logical} at {extent.physical}, {extent.length} bytes, flags {extent.flags:#x}"


def first_difference(stock, patched):
    for number in range(max(len(stock), len(patched))):
        ours, theirs = (extents[number] if number < len(extents) else None for extents in (patched, stock))
        if ours != theirs:
            return f"extent {number}: stock has {words(theirs)}; patched has {words(ours)}"
    return None


def differences(stock, patched):
    """{call: a line about it} for each that was not answered alike."""
    found = {}
    for call in sorted(stock.keys() | patched.keys()):
        if call not in patched or call not in stock:
            found[call] = f"{call}: only {'stock' if call in stock else 'patched'} has it"
        elif difference := first_difference(stock[call], patched[call]):
            found[call] = f"{call}: {difference}"
    return found


# -- who is right --


def merge_regardless_of_sharing(extents):
    """What the extents would be if none was shared: the flag alone keeps neighbours apart."""
    merged = []
    for extent in map(unshare, extents):
        last = merged[-1] if merged else None
        if (
            last
            and last.flags == extent.flags & ~FIEMAP_EXTENT_LAST
            and last.logical + last.length == extent.logical
            and last.physical + last.length == extent.physical
        ):
            merged[-1] = last._replace(length=last.length + extent.length, flags=extent.flags)
        else:
            merged.append(extent)
    return merged


def same_but_for_sharing(ours, theirs):
    """Where a small room ends the answer, the last extents may be of other lengths."""
    ours, theirs = map(merge_regardless_of_sharing, (ours, theirs))
    if not ours or not theirs:
        return ours == theirs
    count = min(len(ours), len(theirs)) - 1
    return ours[:count] == theirs[:count] and ours[count][:2] == theirs[count][:2]


def items_of(extent, items):
    """Those that have a part of it."""
    first = max(bisect.bisect_right(items, extent.logical, key=lambda item: item[0]) - 1, 0)
    for item in items[first:]:
        offset, length, _ = item
        if offset >= extent.logical + extent.length:
            return
        if offset + length > extent.logical:
            yield item


def extent_is_true(extent, items):
    """What is in a leaf refers to no data extent."""
    reported = [shared for _, _, shared in items_of(extent, items)]
    return bool(reported or extent.flags & FIEMAP_EXTENT_DATA_INLINE) and all(
        shared in (is_shared(extent), None) for shared in reported
    )


def is_true(extents, items):
    """ITEMS: (offset, length, shared), of the file, by offset"""
    return all(extent_is_true(extent, items) for extent in extents)


class Trees:
    """What the image itself has about its files."""

    def __init__(self, image):
        self.files = shared_oracle.shared_items(image)

    def confirm(self, call, extents):
        match = CALL.match(call)
        return is_true(extents, self.files.get((int(match[2]), int(match[3])), []))

    def lies(self, answers):
        """A line about each call whose flags are not what the trees tell."""
        return [
            f"{call}: the trees tell otherwise" for call, extents in answers.items() if not self.confirm(call, extents)
        ]

    def refute(self, call, stock, patched):
        """Whether stock is wrong where the two differ, and patched right."""
        return (
            call in stock
            and call in patched
            and same_but_for_sharing(patched[call], stock[call])
            and self.confirm(call, patched[call])
            and not self.confirm(call, stock[call])
        )


def split_refuted(found, stock, patched, trees):
    """The DIFFERENCES found, as (calls that only stock got wrong, lines about the others)"""
    refuted = {call for call in found if trees.refute(call, stock, patched)}
    return refuted, [line for call, line in found.items() if call not in refuted]


class Size:
    """How much there was to compare."""

    def __init__(self, answers, nodesize):
        files = [extents for call, extents in answers.items() if call.endswith(" all")]
        self.within = sum(bool(extents) for call, extents in answers.items() if begins_within(call))
        self.extents = sum(map(len, files))
        self.shared = sum(is_shared(extent) for extents in files for extent in extents)
        large = [extents for extents in files if len(extents) > nodesize // FILE_EXTENT_ITEM_BYTES]
        self.large = len(large)
        self.mixed = sum(len(set(map(is_shared, extents))) > 1 for extents in large)

    def __str__(self):
        return (
            f"{self.extents} extents, {self.shared} of them shared; "
            f"{self.large} files of several leaves, {self.mixed} of them shared in part"
        )

    def lacks(self):
        return [
            what
            for what, count in {
                "shared extents": self.shared,
                "extents that are not shared": self.extents - self.shared,
                "files of several leaves": self.large,
                "files of several leaves shared in part": self.mixed,
                "calls that begin within a file": self.within,
            }.items()
            if not count
        ]


def begins_within(call):
    return bool(WITHIN.match(CALL.match(call)[4]))


def is_shared(extent):
    return bool(extent.flags & FIEMAP_EXTENT_SHARED)


def nodesize_of(image):
    with open(image, "rb") as stream:
        stream.seek(NODESIZE_AT)
        return struct.unpack("<I", stream.read(4))[0]


def too_little(size):
    return [f"there are no {what}" for what in size.lacks()]


# -- doctored answers --


def with_extents(answers, change):
    return {call: list(map(change, extents)) for call, extents in answers.items()}


def flip_one(answers):
    """One extent in the midst of the largest file is not shared any more, or now is."""
    call = max((call for call in answers if call.endswith(" all")), key=lambda call: len(answers[call]))
    extents = list(answers[call])
    middle = len(extents) // 2
    extents[middle] = extents[middle]._replace(flags=extents[middle].flags ^ FIEMAP_EXTENT_SHARED)
    return {**answers, call: extents}


def leave_out_a_file(answers):
    first = next(iter(answers))
    return {call: extents for call, extents in answers.items() if call != first}


def unshare(extent):
    return extent._replace(flags=extent.flags & ~FIEMAP_EXTENT_SHARED)


def controls(answers, image):
    """(name, whether it was refused as it should be)"""
    nodesize = nodesize_of(image)
    doctored = flip_one(answers)
    flipped = differences(answers, doctored)
    yield "one flag flipped is one difference", len(flipped) == 1
    trees = Trees(image)
    yield "the trees tell a flipped flag", len(trees.lies(doctored)) == 1 and not trees.lies(answers)
    yield "stock is right where a flag is flipped", not split_refuted(flipped, answers, doctored, trees)[0]
    left_out = differences(answers, leave_out_a_file(answers))
    yield "one answer too few is one difference", len(left_out) == 1
    unshared = with_extents(answers, unshare)
    yield "nothing shared is too little", bool(too_little(Size(unshared, nodesize)))
    from_start = {call: extents for call, extents in answers.items() if not begins_within(call)}
    yield "no call that begins within a file is too little", bool(too_little(Size(from_start, nodesize)))
    trees.files.clear()
    yield "trees without files confirm nothing", bool(trees.lies(answers))
    single = {call: extents[:1] for call, extents in answers.items()}
    yield "no file of several leaves is too little", bool(too_little(Size(single, nodesize)))


# -- tests --


def faults_of_seed(stock, patched, image):
    size = Size(patched, nodesize_of(image))
    trees = Trees(image)
    refuted, wrong = split_refuted(differences(stock, patched), stock, patched, trees)
    print(
        f"nodesize {nodesize_of(image)}, {size}; in {len(refuted)} calls of {len(stock)} stock is wrong and patched right"
    )
    return wrong + trees.lies(patched) + too_little(size)


@pytest.mark.bugs
def test_same_answers(guest, processes, scratch, stock, patched, seeds):
    images = {seed: os.path.join(scratch, f"{seed}.image") for seed in seeds}
    for seed, image in images.items():
        make_image(seed, image, IMAGE_BYTES, seeds[seed])
    stock, patched = both(
        processes,
        lambda: ask_kernel(guest, scratch, stock, "stock"),
        lambda: ask_kernel(guest, scratch, patched, "patched"),
    )
    wrong = []
    for seed, image in images.items():
        name = file_systems.seed_name(seed, seeds[seed])
        print(f"{name}: ", end="")
        wrong += [f"{name}: {line}" for line in faults_of_seed(stock[seed], patched[seed], image)]
    # The answers must be right before they are altered.
    seed = next((seed for seed in seeds if stock[seed] == patched[seed]), next(iter(seeds)))
    wrong += [f"not so: {name}" for name, refused in controls(patched[seed], images[seed]) if not refused]
    assert not wrong, "\n".join(wrong)


@pytest.mark.bugs
def test_pieces_past_the_range(guest, patched):
    program = kernels.guest_program("fiemap-past-range")
    assert guest(patched, program, "/dev/vda", options=["--disk", "64G"]) == 0


def test_during_writes_and_balances(guest, patched, option):
    load = kernels.guest_program("fiemap-load")
    assert (
        guest(patched, load, "--seconds", str(option.seconds), "/dev/vda", options=[*kernels.TWO_CPUS, "--disk", "8G"])
        == 0
    )


WRITES = [kernels.guest_program("fiemap-snapshot-writes"), "/dev/vda"]
WRITES_OPTIONS = [*kernels.TWO_CPUS, "--disk", "2G"]


def test_during_writes_to_a_snapshot(guest, patched):
    assert guest(patched, *WRITES, options=WRITES_OPTIONS) == 0


@pytest.mark.faults("mutants/fiemap-*")
def test_faults_are_noticed(notices, fault, faulty):
    notices(fault, faulty, *WRITES, options=WRITES_OPTIONS)


# -- what has to fail --


def extent(logical, length, flags=0):
    return Mapped(logical, 1 << 20, length, flags)


def test_calls_within_a_file_are_counted_alone():
    extents = [extent(0, 4096, FIEMAP_EXTENT_SHARED), extent(8192, 4096)]
    others = {
        "b'1/x' 5 257 all": extents,
        "b'1/x' 5 257 some": extents,
        "b'1/x' 5 257 at 0 room 1": extents[:1],
        "b'1/x' 5 257 at 4096 room 1": [],
    }
    assert Size(others, 4096).within == 0
    assert "calls that begin within a file" in Size(others, 4096).lacks()
    assert Size(others | {"b'1/x' 5 257 at 8192 room 1": extents[1:]}, 4096).within == 1


def test_an_extent_that_the_trees_do_not_have_is_not_true():
    assert not is_true([extent(0, 4096)], [])
    assert not is_true([extent(0, 4096)], [(4096, 4096, False)])
    assert is_true([extent(0, 4096, FIEMAP_EXTENT_DATA_INLINE)], [])
    assert is_true([extent(0, 4096)], [(0, 4096, False)])
    assert not is_true([extent(0, 4096)], [(0, 4096, True)])


def test_an_empty_file_proves_no_coverage():
    load = load_script(kernels.guest_program("fiemap-load"))
    assert load.gaps([], 0)
    assert not load.gaps([(0, 0, 4096, 0)], 4096)


@pytest.mark.parametrize(
    "before, during, after, wrong",
    [
        (True, {1: True}, True, False),
        (True, {1: False}, True, True),
        (False, {1: True}, False, True),
        (True, {}, True, True),
        (True, {1: False}, False, False),
    ],
)
def test_an_extent_that_stays_shared_is_reported_as_such(before, during, after, wrong):
    writes = load_script(kernels.guest_program("fiemap-snapshot-writes"))
    assert bool(list(writes.wrong_answers({1: before}, during, {1: after}))) == wrong
