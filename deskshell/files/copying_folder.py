"""A verified copy of a folder with all below it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from deskshell.errors import Conflict, StepFailed
from deskshell.files.copying_one import changed, copy_one, unchanged, unmake
from deskshell.files.identity import Stat, same_object, stat_at, stat_fd
from deskshell.files.metadata import Metadata, apply_metadata_fd, drop_default_acl, read_metadata, set_mode_at
from deskshell.files.moving import sync_filesystem, sync_folder
from deskshell.files.names import show
from deskshell.files.opening import Descent, open_beneath, open_folder
from deskshell.files.tree import Entry, digest, enter, entry_of
from deskshell.files.writing import Copied
from deskshell.slotted import NamedTuple

Tick = Callable[[int], None]


class _Level(NamedTuple):
    """A source folder being copied: its relative path with a slash, first look, and names to come, last first."""

    prefix: bytes
    before: Stat
    names: list[bytes]


class FolderCopy:
    """One run of copying a folder.

    First pass: make every folder (0700), file, link and special, going down by descriptors. Second pass, deepest
    first: compare names, set the folders' metadata, sync. So a folder's time is set after all that is done in it.
    """

    def __init__(self, src_fd: int, src: bytes, dst_fd: int, dst: bytes, *, tick: Tick | None) -> None:
        self._src_fd, self._src, self._dst_fd, self._dst, self._tick = src_fd, src, dst_fd, dst, tick
        self._root_fd = -1  # the new folder
        self._made: list[tuple[bytes, Stat]] = []  # relative path and first look, in the order of making
        self._entries: list[Entry] = []
        self._folders: list[tuple[bytes, Metadata, set[bytes]]] = []  # relative path, metadata, names in it
        self._linked: dict[tuple[int, int], bytes] = {}  # (device, inode) of the original → first copy's path
        self._not_kept: dict[str, None] = {}  # an ordered set
        self._entry_of_path: dict[bytes, Entry] = {}  # of the first copies in `_linked`
        self._finishing = False
        self._bytes = 0

    def run(self) -> Copied:
        """Copy all (result and errors as `copying.copy_object`)."""
        source = Descent(self._src_fd, self._src)
        try:
            os.mkdir(self._dst, 0o700, dir_fd=self._dst_fd)
            try:
                return self._run(source)
            except BaseException:
                self._take_back()
                raise
            finally:
                if self._root_fd >= 0:
                    os.close(self._root_fd)
        finally:
            source.close()

    def _run(self, source: Descent) -> Copied:
        made = _look(self._dst_fd, self._dst)
        self._made.append((b"", made))
        # A default ACL of the folder around it may have taken even our own rights away, and would be inherited
        # by all that is made inside.
        if made.mode != 0o700:
            set_mode_at(self._dst_fd, self._dst, 0o700)
        self._root_fd = open_folder(self._dst_fd, self._dst)
        if not same_object(made, stat_fd(self._root_fd)):
            raise Conflict(f"`{show(self._dst)}` was replaced while it was made")
        drop_default_acl(self._root_fd)
        copy = Descent(self._root_fd, b".")
        try:
            self._copy_tree(source, copy)
        finally:
            copy.close()
        self._finishing = True
        for path, meta, names in reversed(self._folders):  # the deepest first
            self._finish_folder(path, meta, names)
        return Copied(stat_fd(self._root_fd), digest(self._entries), self._bytes, tuple(self._not_kept))

    # --- first pass -----------------------------------------------------------------------------------------

    def _copy_tree(self, source: Descent, copy: Descent) -> None:
        root = stat_fd(source.fd)
        new_root = os.fstat(self._root_fd)
        levels = [self._begin_folder(source, b"")]
        while levels:
            level = levels[-1]
            if not level.names:
                if not unchanged(level.before, stat_fd(source.fd)):
                    raise changed(level.prefix or self._src)
                levels.pop()
                if levels:
                    source.leave()
                    copy.leave()
                continue
            name = level.names.pop()
            path = level.prefix + name
            found = stat_at(source.fd, name)
            if found is None:
                raise changed(path)
            if self._tick is not None:
                self._tick(0)
            if found.kind != "folder":
                self._copy_one(source.fd, copy.fd, name, path, found)
                continue
            if found.mnt != root.mnt:
                raise StepFailed(f"`{show(path)}` is a mount point, and copies do not cross mounts")
            os.mkdir(name, 0o700, dir_fd=copy.fd)
            self._made.append((path, _look(copy.fd, name)))
            enter(source, name)
            enter(copy, name)
            if source.id == (new_root.st_dev, new_root.st_ino):
                raise StepFailed(f"`{show(self._src)}` cannot be copied into itself")
            levels.append(self._begin_folder(source, path + b"/"))

    def _begin_folder(self, source: Descent, prefix: bytes) -> _Level:
        before = stat_fd(source.fd)
        meta = read_metadata(source.fd)
        names = sorted((os.fsencode(name) for name in os.listdir(source.fd)), reverse=True)
        self._folders.append((prefix[:-1], meta, set(names)))
        return _Level(prefix, before, names)

    def _copy_one(self, src_fd: int, dst_fd: int, name: bytes, path: bytes, found: Stat) -> None:
        key = None
        if found.nlink > 1:
            raw = os.stat(name, dir_fd=src_fd, follow_symlinks=False)
            key = (raw.st_dev, raw.st_ino)
            first = self._linked.get(key)
            if first is not None and self._link_again(first, dst_fd, name):
                self._made.append((path, _look(dst_fd, name)))
                self._entries.append(self._entry_of_path[first]._replace(path=path))
                return
        target = os.readlink(name, dir_fd=src_fd) if found.kind == "link" else b""
        copied = copy_one(src_fd, name, dst_fd, name, tick=self._tick)
        self._made.append((path, copied.stat))
        entry = entry_of(path, copied.stat, target=target, sha256=copied.sha256 if not target else "")
        self._entries.append(entry)
        if key is not None:
            self._linked.setdefault(key, path)
            self._entry_of_path.setdefault(path, entry)
        self._bytes += copied.bytes
        self._not_kept.update(dict.fromkeys(copied.not_kept))

    def _link_again(self, first: bytes, dst_fd: int, name: bytes) -> bool:
        """Make `name` one more link of the copy at the relative path `first`, if the file system can."""
        with self._parent(first) as (fd, first_name):
            try:
                os.link(first_name, name, src_dir_fd=fd, dst_dir_fd=dst_fd, follow_symlinks=False)
            except OSError as exc:
                if exc.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                    raise
                self._not_kept["hard links"] = None
                return False
        return True

    # --- second pass ----------------------------------------------------------------------------------------

    def _finish_folder(self, path: bytes, meta: Metadata, names: set[bytes]) -> None:
        fd = open_beneath(self._root_fd, path)
        try:
            if {os.fsencode(name) for name in os.listdir(fd)} != names:
                raise StepFailed(f"the copy of `{show(path or self._src)}` does not hold the same names")
            self._not_kept.update(dict.fromkeys(apply_metadata_fd(fd, meta)))
            if not sync_folder(fd):
                sync_filesystem(fd)
            self._entries.append(entry_of(path, stat_fd(fd)))
        finally:
            os.close(fd)

    # --- failure --------------------------------------------------------------------------------------------

    def _take_back(self) -> None:
        """Remove what was made, in reverse, and nothing else. Raises nothing."""
        if self._finishing:  # folders may have become read-only by now
            for path, _, _ in self._folders[1:]:
                with suppress(OSError, Conflict), self._parent(path) as (fd, name):
                    set_mode_at(fd, name, 0o700)
        for path, made in reversed(self._made[1:]):
            with suppress(OSError, Conflict), self._parent(path) as (fd, name):
                unmake(fd, name, made)
        for _, made in self._made[:1]:
            unmake(self._dst_fd, self._dst, made)

    @contextmanager
    def _parent(self, path: bytes) -> Iterator[tuple[int, bytes]]:
        """The open folder in the copy that `path` lies in, and its last name."""
        parent, _, name = path.rpartition(b"/")
        fd = open_beneath(self._root_fd, parent)
        try:
            yield fd, name
        finally:
            os.close(fd)


def _look(dir_fd: int, name: bytes) -> Stat:
    """A look at what was made an instant ago."""
    found = stat_at(dir_fd, name)
    if found is None:
        raise Conflict(f"`{show(name)}` was taken away while it was made")
    return found
