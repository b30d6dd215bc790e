# SPDX-License-Identifier: GPL-2.0-only
"""Cuts the power after each fsync that the guest's log-record recorded, and looks what is there.

At each mark, a copy of what was on disk is mounted, compared with what the calls before guarantee, and checked; now and
then all of it is removed. Needs root, loop devices and a kernel with btrfs.
"""

import collections
import contextlib
import errno
import fcntl
import json
import os
import shutil
import stat
import struct
import tempfile

from . import calls
from .commands import run
from .file_systems import loop_device
from .log_writes import MARK, BadLog, Log, part_bytes
from .logged_tree import FIRST_INODE, TOP, Expectation, id_of, is_folder
from .processes import signals_later, undo

ATTRIBUTE = "user.fastpath"
SUPER = 0x10000
SUPER_MAGIC = b"_BHRfS_M"

# What is removed to see whether it can be, costs another mount.
MARKS_BETWEEN_REMOVALS = 6

KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo",
    stat.S_IFCHR: "device",
}

Inode = collections.namedtuple("Inode", "kind links names content attribute")


class Found:
    """What is in a mounted file system."""

    def __init__(self, folder):
        self.folder = folder
        self.problems = []
        self.inodes = {}
        self.paths = {}
        self.entries = {}
        self.names = 0
        self.read("", TOP)

    def read(self, path, subvolume):
        """The inode at PATH, and all below."""
        try:
            status = os.lstat(self.folder + path)
            kind = KINDS[stat.S_IFMT(status.st_mode)]
            if kind == "directory" and path and status.st_ino == FIRST_INODE:
                kind, subvolume = "subvolume", self.subvolume_at(path)
            inode = id_of(subvolume, status.st_ino)
            if inode in self.inodes:
                known = self.inodes[inode]
                self.inodes[inode] = known._replace(names=known.names + 1)
            else:
                self.inodes[inode] = self.read_inode(path, kind, status)
                self.paths[inode] = path
                if is_folder(kind):
                    self.read_folder(path, inode, subvolume)
            return inode
        except OSError as error:
            self.problems.append(f"'{path}': {error.strerror}")
            return None

    def read_folder(self, path, inode, subvolume):
        entries = self.entries[inode] = {}
        names = os.listdir(self.folder + path)
        self.names += len(names)
        if len(set(names)) != len(names):
            self.problems.append(f"'{path}' lists a name twice")
        for name in names:
            below = self.read(f"{path}/{name}", subvolume)
            # Otherwise it is reported already.
            if below is not None:
                entries[name] = below

    def read_inode(self, path, kind, status):
        content = None
        if kind == "file":
            with open(self.folder + path, "rb") as file:
                content = file.read()
        elif kind == "symlink":
            content = os.readlink(self.folder + path).encode()
        return Inode(kind, status.st_nlink, 1, content, attribute_of(self.folder + path))

    def subvolume_at(self, path):
        fd = os.open(self.folder + path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return calls.tree_of(fd)
        finally:
            os.close(fd)


def attribute_of(path):
    try:
        return os.getxattr(path, ATTRIBUTE, follow_symlinks=False).decode()
    except OSError as error:
        if error.errno not in (errno.ENODATA, errno.EPERM, errno.EOPNOTSUPP):
            raise
        return None


# -- images --


class Image:
    """A disk in memory, or several of equal size, one after the other."""

    def __init__(self, size, parts=1):
        self.fd = os.memfd_create("disk")
        os.ftruncate(self.fd, size)
        self.size = size
        self.parts = parts
        self.path = f"/proc/{os.getpid()}/fd/{self.fd}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def copy(self):
        other = Image(self.size, self.parts)
        self.copy_to(other.fd)
        return other

    def copy_to(self, fd):
        """Only what was written."""
        for start, end in calls.data_ranges(self.fd, self.size):
            calls.write_all(fd, start, os.pread(self.fd, end - start, start))

    def log_root(self):
        """Where the log trees begin; 0 if there are none."""
        magic, root = struct.unpack("<8s24xQ", os.pread(self.fd, 40, SUPER + 64)[:40])
        if magic != SUPER_MAGIC:
            raise BadLog("there is no btrfs")
        return root


def forget_devices(path):
    """Of an image of another mark, which has the same id."""
    with contextlib.suppress(OSError):
        control = os.open("/dev/btrfs-control", os.O_RDWR)
        try:
            fcntl.ioctl(control, calls.BTRFS_IOC_FORGET_DEV, bytearray(struct.pack("=q4088s", 0, path.encode())))
        finally:
            os.close(control)


@contextlib.contextmanager
def loops_of(image):
    """A device for each disk of it."""
    length = part_bytes(image.size, image.parts)
    with contextlib.ExitStack() as attached:
        yield [attached.enter_context(loop_of(image, number * length, length)) for number in range(image.parts)]


@contextlib.contextmanager
def loop_of(image, start, length):
    place = ["--offset", str(start), "--sizelimit", str(length)]
    with loop_device(image.path, *place) as loop:
        forget_devices(loop)
        try:
            yield loop
        finally:
            forget_devices(loop)


@contextlib.contextmanager
def mounted(image, folder):
    with loops_of(image) as loops, contextlib.ExitStack() as places:
        with signals_later():
            calls.mount(loops[0], folder, ",".join(f"device={loop}" for loop in loops[1:]))
            places.callback(undo, calls.unmount, folder)
        yield folder


def remove_all(folder):
    """Lines about what cannot be removed."""
    problems = []
    for entry in os.scandir(folder):
        try:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
        except OSError as error:
            problems.append(f"cannot remove '{error.filename}': {error.strerror}")
    return problems


def check(image):
    # Without --force it compares the image with each loop device in /proc/mounts. One that another test detaches meanwhile
    # is an error, and one that is used again is taken for a mount of the image.
    command = ["btrfs", "check", "--force"]
    try:
        if image.parts == 1:
            run(*command, image.path)
        else:
            with loops_of(image) as loops:
                run(*command, loops[0])
    except RuntimeError as error:
        lines = str(error).splitlines()
        findings = [line for line in lines if line.startswith(("ERROR", "root ", "\t"))]
        # One that fails without a word of why tells its status in the first line.
        return [f"btrfs check: {line}" for line in findings or [*lines[:1], *lines[-1:]]]
    return []


# -- records --


class Record:
    """What log-record left."""

    def __init__(self, path):
        with open(f"{path}.events", encoding="ascii") as lines:
            header = json.loads(next(lines))
            self.events = [json.loads(line) for line in lines]
        self.nodesize = int(header["nodesize"])
        self.bytes = int(header["bytes"])
        self.parts = int(header["parts"])
        self.kind = header["kind"]
        self.log = Log(f"{path}.log", self.bytes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.log.__exit__()

    def images(self):
        """Yields (number of a mark, the image of that moment, which goes on)."""
        with Image(self.bytes, self.parts) as image:
            for entry in self.log:
                if not entry.flags & MARK:
                    self.log.replay(entry, image.fd)
                elif entry.mark.isdigit():
                    yield int(entry.mark), image

    def moments(self):
        """Yields (number of a mark, the image, what may be there), which both go on."""
        events = iter(self.events)
        expectation = Expectation()
        for number, image in self.images():
            while (event := next(events, None)) and event[0] != "mark":
                expectation.apply(event)
            if event != ["mark", number]:
                raise BadLog(f"mark {number} where {event} is due")
            expectation.apply(event)
            yield number, image, expectation
        if next(events, None) is not None:
            raise BadLog("there are fewer marks than events")

    def walked(self):
        """How many entries were in a subvolume's tree, and not in the log, when an fsync began."""
        return sum(event[3] for event in self.events if event[0] == "start_fsync")


def cut_power(image, expectation, removing):
    """(Found, problems)"""
    with image.copy() as copy:
        folder = tempfile.mkdtemp(prefix="btrfs-fastpath-")
        try:
            with mounted(copy, folder):
                found = Found(folder)
            problems = expectation.problems(found) + check(copy)
            if removing and not problems:
                with mounted(copy, folder):
                    problems = remove_all(folder)
                problems += check(copy)
            return found, problems
        except OSError as error:
            return None, [f"cannot mount: {error.strerror}"]
        finally:
            os.rmdir(folder)


def save(image, path):
    with open(path, "wb") as file:
        os.truncate(file.fileno(), image.size)
        image.copy_to(file.fileno())


class Stopped(Exception):
    pass


def replay(path, keep, stopped):
    """{count: number}, and lines about what is "wrong", of a record. KEEP leaves the image of the first mark that is wrong.

    STOPPED: a threading.Event that ends it
    """
    counts = collections.Counter(marks=0, logged=0, names=0)
    wrong = []
    with Record(path) as record:
        for number, image, expectation in record.moments():
            if stopped.is_set():
                raise Stopped
            logged = bool(image.log_root())
            found, problems = cut_power(image, expectation, number % MARKS_BETWEEN_REMOVALS == 0)
            counts.update(marks=1, logged=logged, names=found.names if found else 0)
            if problems and not wrong and keep:
                save(image, f"{path}.mark-{number}")
            wrong += [f"mark {number}{', log' if logged else ''}: {problem}" for problem in problems]
        counts.update(walked=record.walked(), nodesize=record.nodesize)
        return {**counts, "kind": record.kind, "wrong": wrong}
