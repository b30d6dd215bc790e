# SPDX-License-Identifier: GPL-2.0-only
"""lseek: what SEEK_DATA and SEEK_HOLE, and FIEMAP, find of data that is written back or not."""

import collections
import os

import pytest
from fastpath_tests import calls, kernels
from fastpath_tests.calls import Difference
from fastpath_tests.load_script import load_script
from fastpath_tests.results import DIFFERENCE_FOUND, TEST_FAILED

pytestmark = pytest.mark.feature("seek-cache")

SEEK_MAPS = kernels.guest_program("seek-maps")
# Writing back takes a while on a slow disk.
OPTIONS = [*kernels.TWO_CPUS, "--disk", "1G,iops=300", "--disk", "1G,iops=300"]


@pytest.mark.bugs
def test_maps(guest, patched, seeds, option):
    arguments = ["--seeds", str(len(seeds))]
    if any(seeds.values()):
        arguments += ["--file-systems", str(min(seeds)), "/dev/vda,/dev/vdb"]
    else:
        arguments += ["--seconds", str(option.seconds), str(min(seeds)), "/dev/vda"]
    assert guest(patched, SEEK_MAPS, *arguments, options=OPTIONS) == 0


@pytest.mark.faults("mutants/seek-*")
def test_faults_are_noticed(notices, fault, faulty):
    notices(fault, faulty, SEEK_MAPS, "--seeds", "3", "1", "/dev/vda", options=OPTIONS)


def test_many_states(guest, patched):
    program = kernels.guest_program("seek-many-states")
    assert guest(patched, program, "/dev/vda", options=[*kernels.TWO_CPUS, "--disk", "256G"]) == 0


# Newer kernels keep in memory what the disk refused, and the series that improve the feature do not touch that.
@pytest.mark.feature("seek-cache", "carried")
def test_reads_after_failed_writes(guest, patched):
    program = kernels.guest_program("failed-writes")
    assert guest(patched, program, "/dev/vda", options=[*kernels.TWO_CPUS, "--disk", "2G"]) == 0


# -- what has to fail --

seek_maps = load_script(SEEK_MAPS)


def status_of_tasks(*tasks):
    return seek_maps.status_of_tasks(*seek_maps.run_tasks([task() for task in tasks], 0))


def busy():
    while True:
        yield 1


def idle():
    while True:
        yield 0


def never():
    yield from ()


def different():
    raise Difference("another answer")
    yield


def crashing():
    raise OSError("no disk")
    yield


def killed():
    os.kill(os.getpid(), 9)
    yield


@pytest.mark.parametrize(
    "tasks, status",
    [
        ((busy, busy), 0),
        ((busy, idle), TEST_FAILED),
        ((busy, never), TEST_FAILED),
        ((busy, different), DIFFERENCE_FOUND),
        ((busy, crashing), TEST_FAILED),
        ((busy, killed), TEST_FAILED),
        ((different, crashing), TEST_FAILED),
    ],
)
def test_tasks_that_crash_or_do_nothing_are_no_difference(tasks, status):
    assert status_of_tasks(*tasks) == status


def test_a_test_that_failed_has_found_no_difference():
    assert seek_maps.worst([0, DIFFERENCE_FOUND, TEST_FAILED]) == TEST_FAILED
    assert seek_maps.worst([0, DIFFERENCE_FOUND]) == DIFFERENCE_FOUND


def test_an_empty_listing_is_noticed(scratch):
    with calls.opened(scratch, os.O_RDONLY) as fd:
        assert status_of_tasks(busy, lambda: seek_maps.list_names(fd, {"name"})) == TEST_FAILED
        os.mknod(os.path.join(scratch, "name"))
        assert status_of_tasks(busy, lambda: seek_maps.list_names(fd, {"name"})) == 0


def test_files_without_data_are_noticed():
    tally = collections.Counter(write=9, start_writing_back=9, data=9)
    assert seek_maps.status_of_tally(tally) == 0
    for what in tally:
        assert seek_maps.status_of_tally(tally - collections.Counter({what: 9})) == TEST_FAILED


def test_a_file_that_cannot_be_read_is_a_difference(scratch):
    file = seek_maps.File(os.path.join(scratch, "file"), None)
    os.close(file.fd)
    with pytest.raises(Difference):
        file.read()


def test_data_without_a_hole_behind_it_is_a_difference():
    with pytest.raises(Difference):
        calls.data_ranges(-1, 8192, lambda _, offset, __: offset)


def test_windows_grow_up_to_a_limit():
    states = load_script(kernels.guest_program("seek-many-states"))
    assert [states.windows_for(count) for count in (0, 1, 2, 3, 2730, 2731, 20_000)] == [0, 1, 1, 2, 6, 7, 11]
