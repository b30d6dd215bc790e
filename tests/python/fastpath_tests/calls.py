# SPDX-License-Identifier: GPL-2.0-only
"""The calls of btrfs and of Linux that Python has no function for."""

import collections
import contextlib
import ctypes
import errno
import fcntl
import functools
import mmap
import os
import struct
import sys

from .commands import output_of

BLOCK = 4096

FS_IOC_GETFLAGS = 0x80086601
FS_IOC_SETFLAGS = 0x40086602
FS_NOCOW_FL = 0x00800000
FS_IOC_FIEMAP = 0xC020660B
FICLONERANGE = 0x4020940D
FIDEDUPERANGE = 0xC0189436
BTRFS_IOC_SNAP_CREATE = 0x50009401
BTRFS_IOC_SUBVOL_CREATE = 0x5000940E
BTRFS_IOC_FORGET_DEV = 0x50009405
BTRFS_IOC_SYNC = 0x9408
BTRFS_IOC_FS_INFO = 0x8400941F
BTRFS_IOC_SEND = 0x40489426
BTRFS_IOC_TREE_SEARCH_V2 = 0xC0709411
BTRFS_IOC_INO_LOOKUP = 0xD0009412
BTRFS_IOC_INO_PATHS = 0xC0389423
BTRFS_IOC_LOGICAL_INO_V2 = 0xC038943B
BTRFS_IOC_QUOTA_CTL = 0xC0109428
BTRFS_SEND_FLAG_NO_FILE_DATA = 1

MS_NOATIME = 1024
SYNC_FILE_RANGE_WRITE = 2

FALLOC_FL_KEEP_SIZE = 1
FALLOC_FL_PUNCH_HOLE = 2

FIEMAP_EXTENT_LAST = 0x1
FIEMAP_EXTENT_DELALLOC = 0x4
FIEMAP_EXTENT_ENCODED = 0x8
FIEMAP_EXTENT_DATA_INLINE = 0x200
FIEMAP_EXTENT_SHARED = 0x2000
BTRFS_FS_INFO_FLAG_GENERATION = 2
# Devices, the id of the file system, sizes, the kind of checksum, flags, and the generation
FS_INFO = struct.Struct("=QQ16sIIIHHQQ960x")
FIEMAP_HEADER = struct.Struct("=QQIIII")
# Its offset in the file, its address, its length and its flags
FIEMAP_EXTENT = struct.Struct("=QQQ16xI12x")
TO_THE_END = 2**64 - 1

CSUM_TREE = 7
CSUM_OBJECTID = 2**64 - 10
FIRST_FREE_OBJECTID = 256
LAST_FREE_OBJECTID = 2**64 - 256
EXTENT_DATA_KEY = 108
EXTENT_CSUM_KEY = 128

INLINE, REGULAR, PREALLOC = range(3)

SEARCH_HEADER_BYTES = 112
SEARCH_BUFFER = 256 * 1024
LARGEST_ITEM = 64 * 1024
FIEMAP_AT_ONCE = 512
ROOM_AT_FIRST = 16384

libc = ctypes.CDLL(None, use_errno=True)


class Difference(Exception):
    """The kernel answers something else than it has to."""


Mapped = collections.namedtuple("Mapped", "logical physical length flags")
Item = collections.namedtuple("Item", "inode start length extent extent_offset type compression")


def check_result(result, *names):
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), *names)


def fallocate(fd, mode, offset, length):
    check_result(libc.fallocate(fd, mode, ctypes.c_int64(offset), ctypes.c_int64(length)))


def mount(device, folder, options=""):
    check_result(
        libc.mount(device.encode(), folder.encode(), b"btrfs", ctypes.c_ulong(MS_NOATIME), options.encode()), folder
    )


def unmount(folder):
    check_result(libc.umount2(folder.encode(), 0), folder)


def clone_range(target, target_offset, source, offset, length):
    """LENGTH 0 means up to the end of the source."""
    fcntl.ioctl(target, FICLONERANGE, struct.pack("=qQQQ", source, offset, length, target_offset))


def dedupe_range(target, target_offset, source, offset, length):
    request = bytearray(
        struct.pack("=QQHHI", offset, length, 1, 0, 0) + struct.pack("=qQQiI", target, target_offset, 0, 0, 0)
    )
    fcntl.ioctl(source, FIDEDUPERANGE, request)
    deduped, status = struct.unpack_from("=Qi", request, 40)
    if status or deduped != length:
        raise OSError(f"deduplication failed: status {status}, {deduped} bytes")


def file_flags(fd):
    return struct.unpack("=i", fcntl.ioctl(fd, FS_IOC_GETFLAGS, bytes(4)))[0]


def forbid_cow(fd):
    fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("=i", file_flags(fd) | FS_NOCOW_FL))


def cow_is_forbidden(fd):
    return bool(file_flags(fd) & FS_NOCOW_FL)


def generation(fd):
    """Of the last transaction that was begun."""
    request = bytearray(FS_INFO.pack(0, 0, b"", 0, 0, 0, 0, 0, BTRFS_FS_INFO_FLAG_GENERATION, 0))
    fcntl.ioctl(fd, BTRFS_IOC_FS_INFO, request)
    return FS_INFO.unpack(request)[-1]


def sync_file_system(fd):
    """With an error, unlike sync(1), and with a commit."""
    fcntl.ioctl(fd, BTRFS_IOC_SYNC)


def commit(path):
    """Only the file system at PATH: other programs may count the commits of another one."""
    with opened(path) as fd:
        sync_file_system(fd)


def tree_of(fd):
    """The id of the subvolume that FD is in."""
    request = bytearray(struct.pack("=QQ", 0, FIRST_FREE_OBJECTID) + bytes(4080))
    fcntl.ioctl(fd, BTRFS_IOC_INO_LOOKUP, request)
    return struct.unpack_from("=Q", request)[0]


def create_subvolume(folder, name):
    """FOLDER is a descriptor."""
    fcntl.ioctl(folder, BTRFS_IOC_SUBVOL_CREATE, bytearray(struct.pack("=q4088s", 0, name.encode())))


def create_snapshot(folder, source, name):
    """FOLDER and SOURCE, the subvolume, are descriptors."""
    fcntl.ioctl(folder, BTRFS_IOC_SNAP_CREATE, bytearray(struct.pack("=q4088s", source, name.encode())))


def fastpath_stats_path(mount_point):
    fsid = output_of("findmnt", "-n", "-o", "UUID", mount_point).strip()
    return f"/sys/fs/btrfs/{fsid}/fastpath_stats"


def fastpath_counters(mount_point):
    """What the kernel counted since the file system was mounted; nothing if it does not count."""
    try:
        with open(fastpath_stats_path(mount_point), encoding="ascii") as file:
            return {name: int(value) for name, value in map(str.split, file)}
    except FileNotFoundError:
        return {}


@contextlib.contextmanager
def opened(path, flags=os.O_RDONLY):
    fd = os.open(path, flags | os.O_CLOEXEC, 0o644)
    try:
        yield fd
    finally:
        os.close(fd)


def drop_caches(which="3"):
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as knob:
        knob.write(which)


def write_all(fd, offset, data):
    while data:
        written = os.pwrite(fd, data, offset)
        data = data[written:]
        offset += written


def write_direct(fd, offset, data, flags=0, guard=contextlib.nullcontext):
    """FD is open with O_DIRECT, which wants memory on a block's bound. Returns how much was written.

    Only the call itself is within GUARD.
    """
    with mmap.mmap(-1, len(data)) as memory:
        memory.write(data)
        with memoryview(memory) as view, guard():
            return os.pwritev(fd, [view], offset, flags)


def start_writing_back(fd):
    """In this process, and without waiting for the disk."""
    check_result(libc.sync_file_range(fd, ctypes.c_int64(0), ctypes.c_int64(0), SYNC_FILE_RANGE_WRITE))


def seek(fd, offset, whence):
    """For SEEK_DATA and SEEK_HOLE. None after the last."""
    try:
        return os.lseek(fd, offset, whence)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None


def data_ranges(fd, size, seek=seek):
    """[(start, end)] of all data up to SIZE, as cp finds it; SEEK instead of the function above."""
    found = []
    offset = 0
    while offset < size:
        start = seek(fd, offset, os.SEEK_DATA)
        if start is None:
            break
        offset = seek(fd, start, os.SEEK_HOLE)
        if offset is None or offset <= start:
            raise Difference(f"no hole after data at {start}: {offset}")
        found.append((start, offset))
    return found


@functools.cache
def fiemap_request(room):
    """For ROOM extents. The next caller with the same ROOM gets the same one."""
    return bytearray(FIEMAP_HEADER.size + room * FIEMAP_EXTENT.size)


def fiemap_call(fd, start, room, guard=contextlib.nullcontext, end=TO_THE_END):
    """One call for what is from START to END. Returns the request as the kernel filled it in, and the count of extents."""
    request = fiemap_request(room)
    FIEMAP_HEADER.pack_into(request, 0, start, end - start, 0, 0, room, 0)
    with guard():
        fcntl.ioctl(fd, FS_IOC_FIEMAP, request)
    return request, FIEMAP_HEADER.unpack_from(request)[3]


def fiemap_once(fd, start, room, guard=contextlib.nullcontext, end=TO_THE_END):
    """(logical, physical, length, flags) of up to ROOM extents from START to END."""
    request, count = fiemap_call(fd, start, room, guard, end)
    if count > room:
        raise OSError(errno.EOVERFLOW, f"{count} extents where there was room for {room}")
    return list(FIEMAP_EXTENT.iter_unpack(memoryview(request)[FIEMAP_HEADER.size :][: count * FIEMAP_EXTENT.size]))


def fiemap_in_one_call(fd):
    room = ROOM_AT_FIRST
    while len(extents := fiemap_once(fd, 0, room)) == room:
        room *= 4
    return extents


def fiemap(fd, room=FIEMAP_AT_ONCE, guard=contextlib.nullcontext, most_calls=sys.maxsize):
    """Every extent of the file, in calls with room for ROOM of them. Only the calls themselves are within GUARD."""
    extents = []
    start = 0
    for _ in range(most_calls):
        answer = fiemap_once(fd, start, room, guard)
        if not answer:
            break
        extents += map(Mapped._make, answer)
        if extents[-1].flags & FIEMAP_EXTENT_LAST:
            break
        end = extents[-1].logical + extents[-1].length
        if end <= start:
            raise OSError(errno.ELOOP, f"no progress at {start}")
        start = end
    return extents


def block_addresses(fd):
    """{number of a block in the file: its address}. All of them have to be on disk.

    A block of an encoded extent has none but that of the extent, which is negative here.
    """
    addresses = {}
    for extent in fiemap(fd):
        if extent.flags & FIEMAP_EXTENT_DELALLOC:
            raise OSError(errno.EBUSY, f"not written back at {extent.logical}")
        for offset in range(0, extent.length if extent.physical else 0, BLOCK):
            encoded = extent.flags & FIEMAP_EXTENT_ENCODED
            addresses[(extent.logical + offset) // BLOCK] = -extent.physical if encoded else extent.physical + offset
    return addresses


def send(fd, target, flags=0, guard=contextlib.nullcontext, parent=0):
    """All of the snapshot that FD is, or what it has besides the one whose id is PARENT, to the descriptor TARGET.

    Only the call itself is within GUARD.
    """
    request = struct.pack("=qQQQQI28x", target, 0, 0, parent, flags, 0)
    with guard():
        fcntl.ioctl(fd, BTRFS_IOC_SEND, request)


def search_tree(fd, tree, first, last):
    """Yields (objectid, type, offset, bytes) of the keys from FIRST to LAST, whatever lies between."""
    objectid, kind, offset = first
    request = bytearray(SEARCH_HEADER_BYTES + SEARCH_BUFFER)
    position = len(request)
    # As long as another item may not have found room.
    while position + LARGEST_ITEM > len(request):
        struct.pack_into(
            "=7Q4I4QQ",
            request,
            0,
            tree,
            objectid,
            last[0],
            offset,
            last[2],
            0,
            2**64 - 1,
            kind,
            last[1],
            2**32 - 1,
            0,
            0,
            0,
            0,
            0,
            SEARCH_BUFFER,
        )
        fcntl.ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, request)
        position = SEARCH_HEADER_BYTES
        for _ in range(struct.unpack_from("=I", request, 64)[0]):
            _, objectid, offset, kind, size = struct.unpack_from("=QQQII", request, position)
            position += 32
            yield objectid, kind, offset, bytes(request[position : position + size])
            position += size
        offset += 1


def file_extent_items(fd, tree):
    """Every item of a subvolume that maps a part of a file to a place on disk."""
    for inode, kind, start, data in search_tree(
        fd, tree, (FIRST_FREE_OBJECTID, EXTENT_DATA_KEY, 0), (LAST_FREE_OBJECTID, EXTENT_DATA_KEY, 2**64 - 1)
    ):
        if kind != EXTENT_DATA_KEY:
            continue
        ram_bytes, compression, extent_type = struct.unpack_from("=8xQB3xB", data)
        if extent_type == INLINE:
            yield Item(inode, start, ram_bytes, 0, 0, INLINE, compression)
            continue
        extent, _, extent_offset, length = struct.unpack_from("=21x4Q", data)
        yield Item(inode, start, length, extent, extent_offset, extent_type, compression)


def checksum_items(fd, checksum_bytes):
    """Yields (start, end) of each piece of disk that a checksum item covers."""
    for _, _, start, data in search_tree(
        fd, CSUM_TREE, (CSUM_OBJECTID, EXTENT_CSUM_KEY, 0), (CSUM_OBJECTID, EXTENT_CSUM_KEY, 2**64 - 1)
    ):
        yield start, start + len(data) // checksum_bytes * BLOCK
