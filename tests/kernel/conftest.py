# SPDX-License-Identifier: GPL-2.0-only
"""Options and fixtures of the tests of the kernel patches, which boot kernels."""

import argparse
import contextlib
import functools
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile

import pytest
from fastpath_tests import kernels
from fastpath_tests.arguments import positive
from fastpath_tests.file_systems import KINDS, kind_of_seed
from fastpath_tests.processes import end_on_signals, wait_for
from fastpath_tests.results import DIFFERENCE_FOUND

HERE = os.path.dirname(os.path.realpath(__file__))
PASSED = os.path.join(kernels.CACHE, "passed")

# name: without and with --quick, and what it counts
AMOUNTS = {
    "seeds": (6, 2, "generated file systems of each comparison"),
    "work-seeds": (30, 3, "generated states in which calls are counted"),
    "seconds": (20, 10, "how long FIEMAP and lseek run in parallel with writes"),
    "suite-tests": (1000, 100, "tests of xfstests"),
}


# -- options --


def pytest_addoption(parser):
    group = parser.getgroup("kernel patches")
    group.addoption("--base", action="append", choices=kernels.bases(), help="only this one; can be repeated")
    group.addoption("--quick", action="store_true", help="no debug kernel, one fault of each kind, fewer file systems")
    for name, (full, quick, words) in AMOUNTS.items():
        group.addoption(f"--{name}", type=positive, metavar="N", help=f"{words} ({full}; with --quick {quick})")
    group.addoption("--first-seed", type=positive, default=1, metavar="N", help="the first of them (1)")
    group.addoption("--case", default="", metavar="TEXT", help="only cases of fsync and of work with this in the name")
    group.addoption(
        "--program",
        type=os.path.realpath,
        default=os.path.join(kernels.TOP, "build/btrfs-fastpath"),
        help="btrfs-fastpath, whose commands print what the kernel counts (build/btrfs-fastpath)",
    )
    group.addoption(
        "--uml",
        action="store_true",
        help="boot User-mode Linux where it can do what a test needs: faster than an emulator",
    )
    group.addoption("--module", action="store_true", help="also build btrfs.ko for the distribution's kernel")
    group.addoption(
        "--suite", type=os.path.realpath, metavar="DIR", help="a built checkout of xfstests, to run its tests"
    )
    group.addoption(
        "--test-limit", type=positive, default=120, metavar="SECONDS", help="of each test of the suite (120)"
    )
    group.addoption("--keep", action="store_true", help="keep the files of a test that fails")
    group.addoption("--limit", type=positive, default=7200, metavar="SECONDS", help="of each test (7200)")
    group.addoption(
        "--changed",
        type=turn,
        metavar="N",
        help="skip what passed before with the same kernels, tests and options. Of more than two bases with other tests, "
        "test every second one, beginning with the second one if N is odd",
    )


def turn(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"not a number: '{text}'")
    return int(text)


def interrupt(_):
    raise KeyboardInterrupt


def pytest_configure(config):
    for name, (full, quick, _) in AMOUNTS.items():
        name = name.replace("-", "_")
        amount = getattr(config.option, name) or (quick if config.option.quick else full)
        setattr(config.option, name, amount)
    end_on_signals(interrupt)
    signal.signal(signal.SIGALRM, time_out)


# -- which tests run --


def bases(config):
    return config.option.base or kernels.bases()


def bases_with(config, feature, *states):
    """Where tests compare kernels with and without the feature, or where it has one of the STATES."""
    return [
        base
        for base in bases(config)
        if (feature in kernels.has_state(base, *states) if states else kernels.can_leave_out(base, feature))
    ]


def faults_of(base, pattern):
    """The patches that go on top of the series."""
    patches = sorted(glob.glob(os.path.join(HERE, pattern)))
    return [patch for patch in patches if base in kernels.header(patch, "Fastpath-Base").split()]


def fault_parameters(base, pattern):
    """All but the first fault of a base are slow."""
    patches = faults_of(base, pattern)
    assert patches, f"no patch '{pattern}' is for {base}: nothing shows that the test can fail"
    for number, patch in enumerate(patches):
        name = os.path.basename(patch).removesuffix(".patch")
        yield pytest.param(base, patch, id=f"{base}-{name}", marks=[pytest.mark.slow] if number else [])


def pytest_generate_tests(metafunc):
    if "base" not in metafunc.fixturenames:
        return
    feature = metafunc.definition.get_closest_marker("feature")
    chosen = bases_with(metafunc.config, *feature.args) if feature else bases(metafunc.config)
    if "feature" in metafunc.fixturenames:
        pairs = [pair for pair in kernels.with_patches() if pair[0] in chosen]
        metafunc.parametrize("base, feature", pairs, ids=map("-".join, pairs))
    elif "fault" in metafunc.fixturenames:
        pattern = metafunc.definition.get_closest_marker("faults").args[0]
        metafunc.parametrize(
            "base, fault", [parameters for base in chosen for parameters in fault_parameters(base, pattern)]
        )
    else:
        metafunc.parametrize("base", chosen)
    if chosen and metafunc.definition.get_closest_marker("bugs"):
        metafunc.parametrize("variant", ["patched", "corrections"])


def has_its_kernel(item):
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return parameters.get("variant") != "corrections" or kernels.has_corrections(parameters["base"])


def base_of(item):
    return item.callspec.params.get("base") if hasattr(item, "callspec") else None


def reason_to_skip(config, item):
    if config.option.quick and item.get_closest_marker("slow"):
        return "left out by --quick"
    if config.option.changed is not None and os.path.exists(record_of(item) or ""):
        return "passed before"
    return None


def bases_of_other_turns(config, items):
    """With --changed, where the kernels of many bases have to be built."""
    due = {base_of(item) for item in items if not reason_to_skip(config, item)}
    due = [base for base in bases(config) if base in due]
    if config.option.changed is None or len(due) <= 2:
        return []
    return due[(config.option.changed + 1) % 2 :: 2]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    config.hook.pytest_deselected(items=[item for item in items if not has_its_kernel(item)])
    items[:] = filter(has_its_kernel, items)
    other_turns = bases_of_other_turns(config, items)
    for item in items:
        if base_of(item):
            item.add_marker(pytest.mark.guest)
            # With xdist, `-n 2 --dist loadgroup` tests two bases at a time.
            item.add_marker(pytest.mark.xdist_group(base_of(item)))
        if base_of(item) in other_turns:
            item.add_marker(pytest.mark.skip(reason="of a base whose turn is not this one"))
        elif reason := reason_to_skip(config, item):
            item.add_marker(pytest.mark.skip(reason=reason))


# -- what passed before --


@functools.cache
def sum_of(*patterns):
    """Of the names and contents of files"""
    total = hashlib.sha256()
    for name in sorted(
        name for pattern in patterns for name in glob.glob(pattern, root_dir=kernels.TOP, recursive=True)
    ):
        path = os.path.join(kernels.TOP, name)
        if os.path.isfile(path) and "__pycache__" not in name:
            with open(path, "rb") as file:
                total.update(name.encode() + hashlib.sha256(file.read()).digest())
    return total.hexdigest()


@functools.cache
def version_of(program):
    return subprocess.run([program, "--version"], capture_output=True, check=False).stdout


def record_of(item):
    """A file that exists if the test passed; None for a test without a kernel"""
    base = base_of(item)
    if not base:
        return None
    option = item.config.option
    parts = [
        item.nodeid.partition("@")[0],
        [
            option.quick,
            option.uml,
            option.module,
            option.first_seed,
            option.case,
            *(getattr(option, name.replace("-", "_")) for name in AMOUNTS),
        ],
        version_of("qemu-system-x86_64"),
        version_of("gcc"),
        sum_of(f"kernel/{base}/**", f"kernel/control/{base}/**", f"kernel/bases/{base}.conf", "kernel/*.tsv"),
        sum_of(
            "kernel/configs/**",
            "kernel/scripts/**",
            "tests/kernel/**",
            "tests/python/**",
            "bench/ab*",
            "bench/workloads*/**",
        ),
        [option.program, sum_of("lib/**", "cmds/**")] if "program" in item.fixturenames else None,
        [option.suite, sum_of("kernel/fstests/**")] if "suite" in item.fixturenames else None,
    ]
    return os.path.join(PASSED, hashlib.sha256(repr(parts).encode()).hexdigest()[:16])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    item.failed = report.failed or getattr(item, "failed", False)
    # A test that finds nothing to do here skips itself.
    item.called = report.when == "call" and not report.failed or getattr(item, "called", False)
    record = record_of(item)
    if report.when == "teardown" and item.called and not item.failed and record:
        os.makedirs(PASSED, exist_ok=True)
        open(record, "w").close()


# -- limits --


def time_out(*_):
    raise TimeoutError("the test took longer than --limit")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    signal.alarm(item.config.option.limit)
    yield
    signal.alarm(0)


# -- fixtures --


@pytest.fixture
def option(request):
    return request.config.option


@pytest.fixture(params=["usual", pytest.param("each-kind", marks=pytest.mark.slow)])
def seeds(request, option):
    """{seed: kind of its file system, None for the usual one}"""
    if request.param == "usual":
        return dict.fromkeys(range(option.first_seed, option.first_seed + option.seeds))
    return {seed: kind_of_seed(seed) for seed in range(1, len(KINDS) + 1)}


@pytest.fixture
def scratch(request):
    """A folder for large files."""
    folder = tempfile.mkdtemp(prefix="btrfs-fastpath-test.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    yield folder
    if request.config.option.keep and request.node.failed:
        print(f"kept: {folder}")
    else:
        shutil.rmtree(folder)


@pytest.fixture
def processes(scratch):
    """Processes are stopped before the folder is removed."""
    with contextlib.ExitStack() as processes:
        yield processes


@pytest.fixture
def guest(processes, option):
    """Runs a command in a guest, and returns its exit status. pytest shows its output if the test fails."""

    def run(kernel, *command, options=(), limit=3000, **popen):
        boot = kernels.boot(kernel, *command, options=options, limit=limit, uml=option.uml)
        return wait_for(processes, *boot, stdin=subprocess.DEVNULL, **popen)

    return run


@pytest.fixture
def notices(guest, scratch):
    """Expects a program in a guest to report the finding of a fault, and not to fail in another way."""

    def notices(fault, *arguments, **options):
        output = os.path.join(scratch, "output")
        with open(output, "wb") as file:
            status = guest(*arguments, **options, stdout=file, stderr=subprocess.STDOUT)
        with open(output, encoding="utf-8", errors="replace") as file:
            found = file.read()
        print(found)
        assert status == DIFFERENCE_FOUND
        assert re.search(kernels.finding_of(fault), found)

    return notices


@pytest.fixture
def stock(base):
    return kernels.Kernel(base, "stock")


@pytest.fixture
def variant():
    """The mark `bugs` adds another one."""
    return "patched"


@pytest.fixture
def patched(base, variant):
    return kernels.Kernel(base, variant)


@pytest.fixture
def faulty(base, variant, fault):
    """The patched kernel with a fault."""
    return kernels.Kernel(base, variant, ("--patch", fault))


@pytest.fixture
def program(option):
    if not os.access(option.program, os.X_OK):
        pytest.fail(f"no such program: '{option.program}'; build it, or name it with --program")
    return option.program
