# SPDX-License-Identifier: GPL-2.0-only
"""Send: bugs of each base that the series corrects. The stock kernel has them, so the tests can fail."""

import pytest
from fastpath_tests import kernels
from fastpath_tests.results import DIFFERENCE_FOUND

DISK = ["--disk", "2G"]


@pytest.fixture(params=["send-stopped", "send-large-holes"])
def program_on_disk(request):
    return [kernels.guest_program(request.param), "/dev/vda"]


@pytest.mark.bugs
def test_corrected(guest, patched, program_on_disk):
    assert guest(patched, *program_on_disk, options=DISK) == 0


def test_the_stock_kernel_is_wrong(guest, stock, program_on_disk):
    assert guest(stock, *program_on_disk, options=DISK) == DIFFERENCE_FOUND
