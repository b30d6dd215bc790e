# SPDX-License-Identifier: GPL-2.0-only
"""The option --share, and what a signal and a skipped result of a proof do."""

import os
import tempfile

import pytest
from fastpath_tests.processes import end_on_signals


def pytest_addoption(parser):
    parser.addoption("--share", metavar="DIR", help="keep the suites and the packages in DIR for the next run")


def pytest_configure():
    end_on_signals(lambda status: pytest.exit("ended by a signal", status))


@pytest.fixture(scope="session")
def share(request):
    if kept := request.config.getoption("--share"):
        if not os.path.isdir(kept):
            pytest.exit(f"--share requires a directory: '{kept}'", pytest.ExitCode.USAGE_ERROR)
        yield os.path.realpath(kept)
        return
    directory = os.environ.get("TMPDIR", "/var/tmp")
    with tempfile.TemporaryDirectory(prefix="btrfs-fastpath-packages.", dir=directory) as folder:
        # Proofs run programs in it without privilege.
        os.chmod(folder, 0o755)
        yield folder


def pytest_terminal_summary(terminalreporter):
    for outcome in "passed", "failed":
        for report in terminalreporter.getreports(outcome):
            for name, value in report.user_properties:
                terminalreporter.write_line(f"{report.nodeid}: {name}: {value}")
