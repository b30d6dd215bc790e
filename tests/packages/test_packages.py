# SPDX-License-Identifier: GPL-2.0-only
"""The proofs of the packages, each on a new, minimal Debian. They test what is committed."""

import os
import re
import subprocess
import tempfile

import pytest
from fastpath_tests.processes import Groups

HERE = os.path.dirname(os.path.realpath(__file__))
SECONDS = 2 * 60 * 60

# A program of this folder and its argument. The first one of a suite builds the packages that the others take.
PROOFS = [
    "readme bookworm",
    "lintian bookworm",
    "reproducible bookworm",
    "install bookworm",
    "metrics bookworm",
    "piuparts bookworm",
    "autopkgtest bookworm",
    "btrfs-progs bookworm",
    "module bookworm",
    "rpm bookworm",
    "arm64 bookworm",
    "other-architectures i386",
    "other-architectures s390x",
    "readme trixie",
    "lintian trixie",
    "install trixie",
    "piuparts trixie",
    "autopkgtest trixie",
    "btrfs-progs trixie",
    "module trixie",
]


def run(command):
    """The exit status, or why there is none, and the output."""
    with tempfile.TemporaryFile("w+", errors="replace") as output, Groups() as groups:
        process = groups.start(*command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        try:
            status = groups.wait(process, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            status = f"timed out after {SECONDS} s"
        output.seek(0)
        return status, output.read()


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.replace(" ", "-"))
def test_proof(proof, share, record_property):
    program, argument = proof.split()
    status, output = run([os.path.join(HERE, program), "--share", share, argument])
    print(output)
    for skipped in re.findall(r"^ok \d+ - (.*) # SKIP (.*)", output, re.MULTILINE):
        record_property("skipped", ": ".join(skipped))
    results = re.findall(r"^(?:not )?ok .*", output, re.MULTILINE)
    assert status == 0
    assert not [result for result in results if result.startswith("not")]
    assert re.findall(r"^1\.\.(\d+)", output, re.MULTILINE) == [str(len(results))] != ["0"]
