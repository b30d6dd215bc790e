# SPDX-License-Identifier: GPL-2.0-only
"""A file system's tree as calls left it, and what fsync guarantees of it after a power cut.

An inode's id is its number, with its subvolume's above. The calls are events, lists that begin with the name of a
method of Tree; see there for the rest.
"""

import collections
import math

TOP = 5
FIRST_INODE = 256
SUBVOLUME_SHIFT = 40

# The inode of a call that has not returned.
ANY = "any"


def id_of(subvolume, inode):
    return inode if subvolume == TOP else subvolume << SUBVOLUME_SHIFT | inode


ROOT = id_of(TOP, FIRST_INODE)


def subvolume_of(inode):
    return inode >> SUBVOLUME_SHIFT or TOP


def is_folder(kind):
    return kind in ("directory", "subvolume")


class Tree:
    """All the calls that have returned, and no more."""

    def __init__(self):
        self.kinds = {ROOT: "directory"}
        self.entries = {ROOT: {}}
        self.names = collections.defaultdict(set)
        self.contents = collections.defaultdict(bytes)
        self.attributes = {}

    def path(self, inode):
        """Of one of its names, relative to the root."""
        parts = []
        while inode != ROOT:
            folder, name = next(iter(self.names[inode]))
            parts.append(name)
            inode = folder
        return "/".join(reversed(parts))

    # -- events --

    def make(self, folder, name, kind, inode):
        self.kinds[inode] = kind
        if is_folder(kind):
            self.entries[inode] = {}
        if kind == "symlink":
            self.contents[inode] = target_of(name).encode()
        self.put(folder, name, inode)

    def link(self, folder, name, inode):
        self.put(folder, name, inode)

    def remove(self, folder, name):
        self.take(folder, name)

    def rename(self, folder, name, target, new_name):
        inode = self.take(folder, name)
        if new_name in self.entries[target]:
            self.take(target, new_name)
        self.put(target, new_name, inode)

    def exchange(self, folder, name, target, other_name):
        inode, other = self.take(folder, name), self.take(target, other_name)
        self.put(folder, name, other)
        self.put(target, other_name, inode)

    def append(self, inode, byte, length):
        self.contents[inode] += bytes([byte]) * length

    def set_attribute(self, inode, value):
        self.attributes[inode] = value

    # -- how --

    def put(self, folder, name, inode):
        self.entries[folder][name] = inode
        self.names[inode].add((folder, name))

    def take(self, folder, name):
        inode = self.entries[folder].pop(name)
        self.names[inode].discard((folder, name))
        return inode


class Expectation(Tree):
    """What may be found after a power cut: for each name, one of the inodes that it may have, or None.

    A name that was never there has nothing. What is guaranteed leaves one choice, and each later call one more.
    """

    def __init__(self):
        super().__init__()
        self.may_be = {ROOT: {}}
        self.changed = {}
        # Which have to be found, wherever it is.
        self.kept = {ROOT}
        self.sure_contents = {}
        self.sure_attributes = {}
        self.appended = {}
        self.moved = set()
        # Folders that no fsync can have logged yet. Once one has, the fsync of the folder above need not log it again.
        self.fresh = set()
        self.logging = False
        self.started = {}
        self.clock = 0

    def apply(self, event):
        self.clock += 1
        getattr(self, event[0])(*event[1:])

    # -- events --

    def begin(self, folder, name, inode):
        """Of a call in parallel with others, which may or may not take effect before the next mark."""
        if inode is None:
            self.keep_no_more(self.entries[folder][name], folder, name)
        self.allow(folder, name, inode)
        self.changed[folder, name] = math.inf

    def make(self, folder, name, kind, inode):
        super().make(folder, name, kind, inode)
        if is_folder(kind):
            self.may_be[inode] = {}
            self.fresh.add(inode)
        if kind == "subvolume":
            self.commit()

    def rename(self, folder, name, target, new_name):
        replaced = self.entries[target].get(new_name)
        if replaced is not None:
            self.keep_no_more(replaced, target, new_name)
        super().rename(folder, name, target, new_name)
        self.moved.add(self.entries[target][new_name])
        self.log_new_name()

    def exchange(self, folder, name, target, other_name):
        super().exchange(folder, name, target, other_name)
        self.moved.update((self.entries[folder][name], self.entries[target][other_name]))
        self.log_new_name()

    def link(self, folder, name, inode):
        super().link(folder, name, inode)
        self.log_new_name()

    def remove(self, folder, name):
        self.keep_no_more(self.entries[folder][name], folder, name)
        super().remove(folder, name)

    def append(self, inode, byte, length):
        super().append(inode, byte, length)
        self.appended[inode] = self.clock

    def set_attribute(self, inode, value):
        super().set_attribute(inode, value)
        self.sure_attributes.pop(inode, None)
        self.appended[inode] = self.clock

    def sync(self):
        """All is on disk."""
        self.commit()
        for inode in self.kinds:
            self.settle_inode(inode, self.clock)

    def commit(self):
        """All but data that was not written back."""
        for folder in self.entries:
            self.settle(folder, self.clock)
        self.fresh.clear()
        self.moved.clear()
        self.logging = False

    def start_fsync(self, number, inode, _walked):
        folders = []
        if is_folder(self.kinds[inode]):
            folders = self.folders_to_log(inode)
        self.fresh.clear()
        self.logging = True
        self.started[number] = inode, folders, self.clock

    def mark(self, number):
        """The fsync of that number returned."""
        self.fresh.clear()
        inode, folders, start = self.started.pop(number)
        self.hold(inode, start)
        for folder in folders:
            self.settle(folder, start)
        self.settle_inode(inode, start)

    # -- guarantees --

    def folders_to_log(self, inode):
        """What the fsync of a folder logs: that folder, and those below that are new."""
        folders = [inode]
        for folder in folders:
            folders += [
                below
                for below in self.entries[folder].values()
                if below in self.fresh and self.kinds[below] == "directory"
            ]
        return folders

    def log_new_name(self):
        """Once something was logged, this may log more: the old folders of the inode, and what is new there."""
        if self.logging:
            self.fresh.clear()

    def hold(self, inode, start):
        """All names that it has are on disk, and the folders above that are new."""
        for folder, name in list(self.names[inode]):
            self.settle_name(folder, name, start)
        if not is_folder(self.kinds[inode]):
            self.withdraw(inode, start)
        self.keep(inode)
        while inode != ROOT and self.names[inode]:
            folder, name = next(iter(self.names[inode]))
            if is_folder(self.kinds[inode]) and inode not in self.moved:
                self.settle_name(folder, name, start)
            self.keep(folder)
            inode = folder

    def withdraw(self, inode, start):
        """A file has no other names."""
        for folder, names in self.may_be.items():
            for name, choice in names.items():
                if (
                    inode in choice
                    and self.entries[folder].get(name) != inode
                    and self.changed.get((folder, name), 0) <= start
                ):
                    choice.discard(inode)
                    choice.add(None)

    def settle(self, folder, start):
        if folder != ROOT and not self.names[folder]:
            return
        for name in list(self.may_be[folder]):
            self.settle_name(folder, name, start)

    def settle_name(self, folder, name, start):
        """Unless a call came in between."""
        if self.changed.get((folder, name), 0) > start:
            return
        inode = self.entries[folder].get(name)
        if inode is None:
            del self.may_be[folder][name]
            self.changed.pop((folder, name), None)
        else:
            self.may_be[folder][name] = {inode}
            self.keep(inode)

    def settle_inode(self, inode, start):
        if self.appended.get(inode, 0) > start:
            return
        if self.kinds[inode] == "file":
            self.sure_contents[inode] = len(self.contents[inode])
        if inode in self.attributes:
            self.sure_attributes[inode] = self.attributes[inode]

    def keep(self, inode):
        self.kept.add(inode)

    def keep_no_more(self, inode, folder, name):
        """If this is its last name."""
        if self.names[inode] <= {(folder, name)}:
            self.kept.discard(inode)

    def allow(self, folder, name, inode):
        self.may_be[folder].setdefault(name, {None}).add(inode)

    def put(self, folder, name, inode):
        super().put(folder, name, inode)
        choice = self.may_be[folder].setdefault(name, {None})
        choice.discard(ANY)
        choice.add(inode)
        self.changed[folder, name] = self.clock

    def take(self, folder, name):
        inode = super().take(folder, name)
        self.may_be[folder][name].add(None)
        self.changed[folder, name] = self.clock
        return inode

    # -- comparison --

    def problems(self, found):
        """Lines about what was FOUND, a Found, and may not be so."""
        lines = list(found.problems)
        for folder, entries in found.entries.items():
            lines += self.problems_of_folder(found, folder, entries)
        for inode in sorted(self.kept - found.inodes.keys()):
            lines.append(f"inode {inode} is lost: {self.kinds[inode]}, was '{self.path(inode)}'")
        for inode in found.inodes:
            lines += self.problems_of_inode(found, inode)
        return lines

    def problems_of_folder(self, found, folder, entries):
        choices = self.may_be.get(folder)
        if choices is None:
            return
        for name in sorted(entries.keys() | choices.keys()):
            choice = choices.get(name, {None})
            if entries.get(name) not in choice and ANY not in choice:
                yield (
                    f"'{found.paths[folder]}/{name}' is {words(entries.get(name))}, not "
                    f"{' or '.join(map(words, sorted(choice, key=str)))}"
                )

    def problems_of_inode(self, found, inode):
        it, path = found.inodes[inode], found.paths[inode]
        if inode not in self.kinds:
            return
        if it.kind != self.kinds[inode]:
            yield f"'{path}' is a {it.kind}, not a {self.kinds[inode]}"
        if it.links != (1 if is_folder(it.kind) else it.names) or (is_folder(it.kind) and it.names != 1):
            yield f"'{path}' has {it.names} names and a link count of {it.links}"
        if it.kind == "file":
            yield from self.problems_of_content(path, it.content, inode)
        if it.kind == "symlink" and it.content != self.contents[inode]:
            yield f"'{path}' leads to {it.content}"
        attribute = self.sure_attributes.get(inode)
        if attribute is not None and it.attribute != attribute:
            yield f"'{path}' has the attribute {it.attribute}, not {attribute}"

    def problems_of_content(self, path, content, inode):
        """Of what was appended after the last fsync, any part may be there."""
        whole, sure = self.contents[inode], self.sure_contents.get(inode, 0)
        if content[:sure] != whole[:sure]:
            yield f"'{path}' has other contents in its first {sure} bytes"
        if len(content) > len(whole):
            yield f"'{path}' has {len(content)} bytes, not {len(whole)}"


def words(inode):
    return "not there" if inode is None else f"inode {inode}"


def target_of(name):
    """Of the symbolic link that was made with that name."""
    return f"to-{name}"
