# SPDX-License-Identifier: GPL-2.0-only
"""dm-log-writes: a device that keeps each write to a disk in a log, and that log, read again. And a device that fails."""

import collections
import contextlib
import fcntl
import os
import struct
import time

SECTOR = 512
MAGIC = 0x6A736677736872
VERSION = 1

FLUSH, FUA, DISCARD, MARK, METADATA = (1 << bit for bit in range(5))
FLAGS = FLUSH | FUA | DISCARD | MARK | METADATA

CONTROL = "/dev/mapper/control"
NAME = "fastpath-tests"
DM_IOCTL = 0xC138FD00
DM_DEV_CREATE, DM_DEV_REMOVE, DM_DEV_SUSPEND, DM_TABLE_LOAD, DM_TARGET_MSG = 3, 4, 6, 9, 14
DM_SUSPEND_FLAG = 2
DM_HEADER = struct.Struct("=3I3IiII4xQ128s129s7x")
DM_TARGET = struct.Struct("=QQiI16s")
CALLS_HAVE_ROOM_FOR = 1024
NODE_TIMEOUT = 10
PART_ALIGNMENT = 1 << 20
UNTIL_THE_END = 1 << 20

Entry = collections.namedtuple("Entry", "sector count flags mark at end")


class BadLog(Exception):
    pass


def bytes_of_disk(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.lseek(fd, 0, os.SEEK_END)
    finally:
        os.close(fd)


def dm_call(number, targets=0, data=b"", flags=0, name=NAME):
    """Returns the minor number of the device."""
    size = DM_HEADER.size + CALLS_HAVE_ROOM_FOR
    header = DM_HEADER.pack(4, 0, 0, size, DM_HEADER.size, targets, 0, flags, 0, 0, name.encode(), b"")
    request = bytearray(header + data.ljust(CALLS_HAVE_ROOM_FOR, b"\0"))
    control = os.open(CONTROL, os.O_RDWR)
    try:
        fcntl.ioctl(control, DM_IOCTL | number, request)
    finally:
        os.close(control)
    return os.minor(DM_HEADER.unpack_from(request)[9])


class MappedDisk:
    """A device on top of DISK, while in a with statement."""

    name = NAME

    def __init__(self, disk):
        self.disk = disk
        self.bytes = bytes_of_disk(disk)
        self.path = None

    def create(self, kind, parameters):
        self.path = f"/dev/dm-{dm_call(DM_DEV_CREATE, name=self.name)}"
        self.load(kind, parameters)
        deadline = time.monotonic() + NODE_TIMEOUT
        while not os.path.exists(self.path) and time.monotonic() < deadline:
            time.sleep(0.01)

    def load(self, kind, parameters):
        """From now on the device is of this KIND."""
        target = DM_TARGET.pack(0, self.bytes // SECTOR, 0, 0, kind.encode())
        dm_call(DM_TABLE_LOAD, 1, target + f"{parameters}\0".encode(), name=self.name)
        dm_call(DM_DEV_SUSPEND, name=self.name)

    @contextlib.contextmanager
    def suspended(self):
        """Requests wait meanwhile."""
        dm_call(DM_DEV_SUSPEND, flags=DM_SUSPEND_FLAG, name=self.name)
        try:
            yield
        finally:
            dm_call(DM_DEV_SUSPEND, name=self.name)

    def __exit__(self, *_):
        dm_call(DM_DEV_REMOVE, name=self.name)


class LoggedDisk(MappedDisk):
    """LOG is overwritten. At the end, what was not flushed to it is written, too."""

    def __init__(self, disk, log):
        super().__init__(disk)
        self.log = log

    def __enter__(self):
        self.create("log-writes", f"{self.disk} {self.log}")
        return self

    def mark(self, number):
        dm_call(DM_TARGET_MSG, 0, struct.pack("=Q", 0) + f"mark {number}\0".encode())


def part_bytes(disk_bytes, count):
    """How large each of COUNT parts is."""
    return disk_bytes // count // PART_ALIGNMENT * PART_ALIGNMENT


class PartOfDisk(MappedDisk):
    """One of COUNT parts, which are of equal size."""

    def __init__(self, disk, number, count):
        super().__init__(disk)
        self.name = f"{NAME}-{number}"
        self.bytes = part_bytes(self.bytes, count)
        self.start = number * self.bytes

    def __enter__(self):
        self.create("linear", f"{self.disk} {self.start // SECTOR}")
        return self


class FailingDisk(MappedDisk):
    """Works until it is made to fail."""

    def __enter__(self):
        self.create("flakey", f"{self.disk} 0 {UNTIL_THE_END} 0")
        return self

    def fail(self):
        """All writes, with EIO. A file system on it is committed first."""
        dm_call(DM_DEV_SUSPEND, flags=DM_SUSPEND_FLAG)
        self.load("flakey", f"{self.disk} 0 0 {UNTIL_THE_END} 1 error_writes")


class Log:
    """What was written to a disk of BYTES bytes, in the order in which it was on the disk for sure."""

    def __init__(self, path, disk_bytes):
        self.stream = open(path, "rb")
        self.bytes = self.stream.seek(0, os.SEEK_END)
        self.disk_bytes = disk_bytes
        self.count, self.sector = self.read_super()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()

    def read(self, at, length):
        if length > self.bytes - at:
            raise BadLog(f"the log ends before byte {at + length}")
        return os.pread(self.stream.fileno(), length, at)

    def read_super(self):
        magic, version, count, sector = struct.unpack("<QQQI", self.read(0, 28))
        if magic != MAGIC or version != VERSION:
            raise BadLog(f"no log: magic {magic:#x}, version {version}")
        if sector not in (512, 1024, 2048, 4096):
            raise BadLog(f"sectors of {sector} bytes")
        if count > self.bytes // sector:
            raise BadLog(f"{count} entries in {self.bytes} bytes")
        return count, sector

    def read_entry(self, at):
        header = self.read(at, self.sector)
        sector, count, flags, length = struct.unpack_from("<QQQQ", header)
        if flags & ~FLAGS:
            raise BadLog(f"entry at {at} has flags {flags:#x}")
        if sector + count > self.disk_bytes // self.sector:
            raise BadLog(f"entry at {at} is beyond the disk: {count} sectors from {sector}")
        if length > self.sector - 32 or (length and not flags & MARK):
            raise BadLog(f"entry at {at} has {length} bytes of its own")
        at += self.sector
        end = at if flags & (DISCARD | MARK) else at + count * self.sector
        if end > self.bytes:
            raise BadLog(f"the log ends before byte {end}")
        return Entry(sector, count, flags, header[32 : 32 + length] if flags & MARK else None, at, end)

    def __iter__(self):
        at = self.sector
        for _ in range(self.count):
            entry = self.read_entry(at)
            at = entry.end
            yield entry

    def end(self):
        """Where the last entry ends."""
        at = self.sector
        for entry in self:
            at = entry.end
        return at

    def replay(self, entry, target):
        """Makes the write again, in the file TARGET."""
        if entry.flags & MARK or not entry.count:
            return
        length = entry.count * self.sector
        if entry.flags & DISCARD:
            data = bytes(length)
        else:
            data = self.read(entry.at, length)
        if os.pwrite(target, data, entry.sector * self.sector) != length:
            raise BadLog(f"cannot write {length} bytes")
