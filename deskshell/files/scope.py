"""Paths resolved once, and folders opened by path only inside granted roots.

Planning may follow links (`resolve`); acting may not. `Places` opens each root's *anchor*, the deepest folder
of it that exists, and reaches everything else from there with openat2(2), which refuses links, `..` and magic
links in the kernel (Linux 5.6; elsewhere each component is opened by itself with O_NOFOLLOW).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from types import TracebackType

from deskshell.errors import Conflict, Refused, ScopeError
from deskshell.files import syscalls
from deskshell.files.identity import Identity, identity, stat_fd
from deskshell.files.names import show
from deskshell.files.opening import O_CLOEXEC, O_DIRECTORY, O_PATH, InTheWay, open_beneath
from deskshell.files.paths import is_within, join, resolve
from deskshell.files.whereabouts import Whereabouts
from deskshell.slotted import NamedTuple

__all__ = ["Anchor", "InTheWay", "Places"]

_CACHED_FOLDERS = 256
_KNOWN_CLEAN = 4096
_NO_NAMES = frozenset((b"", b".", b".."))
_Id = tuple[int, int]  # (device, inode), good within this process


class Anchor(NamedTuple):
    """An opened root: `path` is the deepest folder of `root` that existed, opened as `fd`."""

    root: bytes
    path: bytes
    fd: int
    identity: Identity


class _Folder(NamedTuple):
    """A cached folder: its descriptor, what it was when opened, and whether a forbidden folder lies below."""

    fd: int
    dev: int
    ino: int
    mnt: int
    above_forbidden: bool


class Places:
    """Opens folders by path, only inside its roots, never through a link.

    Args:
        roots: resolved paths (`resolve`). A root that is a folder grants itself and all below it; one that is
            a file, a link, or does not exist yet, grants that path (and what will be below it). A root's own
            name is granted as a target too, through its parent, which is not granted otherwise.
        forbidden: state folders: everything at, above or below one is refused, by identity and by name.
        mounts: the ids of the mounts that a target's parent may lie on; None allows any.

    Not for use from several threads at once: descriptors are cached, and the least recently used are closed.

    Raises:
        Conflict: a link lies on the way to a root.
        OSError: a root's folder cannot be opened.
    """

    def __init__(
        self, roots: Iterable[bytes], *, forbidden: Iterable[bytes] = (), mounts: set[int] | None = None
    ) -> None:
        if syscalls.WINDOWS:
            raise Refused(
                "this needs folder descriptors, which Windows does not have", hint="run it inside WSL"
            )
        self._mounts = mounts
        self._forbidden = tuple(resolve(path) for path in forbidden)
        self._forbidden_ids: set[_Id] = set()
        self._above_ids: set[_Id] = set()
        self._clean_ids: set[_Id] = set()
        self._folders: OrderedDict[bytes, _Folder] = OrderedDict()  # granted folders; the key of `/` is b""
        self._passed: dict[bytes, int] = {}  # folder → how many of `_folders` are it or lie below it
        self._root_parents: dict[bytes, _Folder] = {}  # root → its parent
        self._anchors: dict[bytes, Anchor] = {}
        self._above_anchors: set[bytes] = (
            set()
        )  # every folder that is, or holds, one that an anchor was opened at
        self._whereabouts = Whereabouts()
        self._top_fd = os.open(b"/", os.O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try:
            for path in self._forbidden:
                self._learn_forbidden(path)
            for root in roots:
                self._anchors[root] = self._open_anchor(root)
        except BaseException:
            self.close()
            raise

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The opened roots, in the order given: what a plan records, and compares before it is applied."""
        return tuple(self._anchors.values())

    def at(self, path: bytes, *, looking: bool = False) -> tuple[int, bytes]:
        """`(descriptor of the parent folder, last name)` of the resolved `path`.

        With `looking` the caller only looks: a folder above a forbidden one may be looked at, such as the home
        that the state folder lies in, and that other files are made in.

        The descriptor belongs to this object and stays open until 256 further folders were used: call `at`
        again for every use instead of keeping it. It serves for fsync unless the folder may not be read.

        Raises:
            ScopeError: outside every root, or at, above or below a forbidden folder.
            FileNotFoundError: the parent does not exist.
            Conflict: on the way lies a link, something that is no folder, or a mount that is not allowed.
        """
        parent, _, name = path.rpartition(b"/")
        folder = self._folders.get(parent)
        if folder is None:
            folder = self._root_parents.get(path) or self._open_parent(path, parent)
        elif len(self._folders) == _CACHED_FOLDERS:  # one will have to go: not this one
            self._folders.move_to_end(parent)
        if name in _NO_NAMES:
            raise ScopeError(f"`{show(path)}` does not name anything inside a folder")
        if folder.above_forbidden and not looking:
            self._refuse_above(path, folder.fd, name)
        return folder.fd, name

    def folder_fd(self, path: bytes) -> int:
        """Descriptor of the folder `path` itself; life time and errors as `at`."""
        key = path if path != b"/" else b""
        folder = self._folders.get(key)
        if folder is None:
            anchor = self._anchor_for(path)
            if anchor is None:
                raise _outside(path)
            folder = self._open_granted(key, anchor)
        return folder.fd

    def mount_of(self, path: bytes) -> int:
        """Id of the mount that the parent of `path` lies on, 0 when the system cannot say (errors as `at`)."""
        return stat_fd(self.at(path)[0]).mnt

    def recheck(self, path: bytes) -> None:
        """Check that the parent folder that `at(path)` gives is still what its path leads to, without links.

        A descriptor goes on working after its folder was moved elsewhere: so this belongs right before acting.

        Raises:
            Conflict: the folder was moved or replaced, or a link now lies on the way.
            ScopeError, FileNotFoundError: as `at`, when the folder was not open yet.
        """
        parent = path.rpartition(b"/")[0]
        folder = self._folders.get(parent) or self._root_parents.get(path)
        if folder is None:
            self.at(path)  # opened this instant, so there is nothing to compare
            return
        if self._whereabouts.still_at(folder.fd, parent):
            return
        try:
            # From `/` and not from the anchor: the anchor may have been moved, too.
            fd = open_beneath(self._top_fd, parent[1:], O_PATH)
        except (FileNotFoundError, Conflict) as exc:
            raise _moved(parent) from exc
        try:
            now = os.fstat(fd)
        finally:
            os.close(fd)
        if now.st_ino != folder.ino or now.st_dev != folder.dev:
            raise _moved(parent)
        self._whereabouts.found(folder.fd, parent)

    def forget(self, path: bytes) -> None:
        """Take note that the caller itself renamed or removed the object `path`: what was open there is closed.

        Otherwise a new folder made under that name would pass for somebody else's doing. A root that was
        renamed is anchored anew, in the deepest folder of its path that now exists.

        Raises:
            Conflict: a link lies on the way to such a root.
        """
        if path in self._above_anchors:
            for root, anchor in self._anchors.items():
                if is_within(anchor.path, path):
                    os.close(anchor.fd)
                    self._anchors[root] = anchor._replace(fd=-1)
                    self._anchors[root] = self._open_anchor(root)
        if path in self._passed:
            for key in [key for key in self._folders if is_within(key, path)]:
                self._drop(key)

    def close(self) -> None:
        """Close every descriptor. May be called twice."""
        self._whereabouts.close()
        for fd in [folder.fd for folder in (*self._folders.values(), *self._root_parents.values())]:
            os.close(fd)
        self._folders.clear()
        self._root_parents.clear()
        self._passed.clear()
        for anchor in self._anchors.values():
            if anchor.fd >= 0:
                os.close(anchor.fd)
        self._anchors.clear()
        if self._top_fd >= 0:
            os.close(self._top_fd)
            self._top_fd = -1

    def __enter__(self) -> Places:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- opening --------------------------------------------------------------------------------------------

    def _open_anchor(self, root: bytes) -> Anchor:
        path = root
        while True:
            try:
                fd = _open_readable(self._top_fd, b"/", path[1:])
            except FileNotFoundError:
                path = path.rpartition(b"/")[0] or b"/"
            except InTheWay as exc:
                if exc.kind == "link" and exc.component != root:
                    raise
                path = exc.component.rpartition(b"/")[0] or b"/"
            else:
                self._above_anchors.update(_upwards(path))
                return Anchor(root, path, fd, identity(stat_fd(fd)))

    def _anchor_for(self, folder: bytes) -> Anchor | None:
        """The deepest anchor from which the granted folder `folder` is reached; None when it is not granted."""
        granting = [anchor for root, anchor in self._anchors.items() if is_within(folder, root)]
        return max(granting, key=lambda anchor: len(anchor.path), default=None)

    def _open_parent(self, path: bytes, parent: bytes) -> _Folder:
        anchor = self._anchor_for(parent or b"/")
        if anchor is not None:
            return self._open_granted(parent, anchor)
        if path not in self._anchors:
            raise _outside(path)
        fd = _open_readable(self._top_fd, b"/", parent[1:])
        folder = self._root_parents[path] = self._admit(fd, parent)
        return folder

    def _open_granted(self, key: bytes, anchor: Anchor) -> _Folder:
        base = len(anchor.path) if anchor.path != b"/" else 0
        relative = key[base + 1 :]
        if len(key) > base and not _NO_NAMES.isdisjoint(relative.split(b"/")):
            raise ScopeError(f"`{show(key)}` is not resolved: it has empty, `.` or `..` components")
        folder = self._admit(_open_readable(anchor.fd, anchor.path, relative), key)
        self._folders[key] = folder
        for passed in _upwards(key):
            self._passed[passed] = self._passed.get(passed, 0) + 1
        if len(self._folders) > _CACHED_FOLDERS:
            self._drop(next(iter(self._folders)))
        return folder

    def _drop(self, key: bytes) -> None:
        fd = self._folders.pop(key).fd
        self._whereabouts.forget(fd)
        os.close(fd)
        for passed in _upwards(key):
            self._passed[passed] -= 1
            if not self._passed[passed]:
                del self._passed[passed]

    def _admit(self, fd: int, key: bytes) -> _Folder:
        """Check mount and forbidden folders; closes `fd` when it is refused."""
        try:
            mnt = stat_fd(fd).mnt
            if self._mounts is not None and mnt not in self._mounts:
                raise Conflict(f"`{show(key or b'/')}` lies on a mount that the plan did not record")
            above = self._refuse_below(fd, key)
            here = os.fstat(fd)
        except BaseException:
            os.close(fd)
            raise
        return _Folder(fd, here.st_dev, here.st_ino, mnt, above)

    # --- forbidden folders ------------------------------------------------------------------------------------

    def _learn_forbidden(self, path: bytes) -> None:
        at, ids = path, self._forbidden_ids
        while True:
            try:
                found = os.stat(at, follow_symlinks=False)
            except FileNotFoundError:
                pass  # not made yet: goes by name until it is
            else:
                ids.add((found.st_dev, found.st_ino))
            if at == b"/":
                return
            at, ids = at.rpartition(b"/")[0] or b"/", self._above_ids

    def _refuse_below(self, fd: int, key: bytes) -> bool:
        """Refuse an open folder at or below a forbidden one; says whether a forbidden one lies below it."""
        if not self._forbidden:
            return False
        path = key or b"/"
        if any(is_within(path, forbidden) for forbidden in self._forbidden):
            raise _forbidden(path)
        for folder_id in self._climb(fd):
            if folder_id in self._forbidden_ids:
                raise _forbidden(path)
        here = os.fstat(fd)
        return (here.st_dev, here.st_ino) in self._above_ids or any(
            is_within(forbidden, path) for forbidden in self._forbidden
        )

    def _climb(self, fd: int) -> Iterator[_Id]:
        """(device, inode) of the folder `fd` and of those that really contain it, up to one known as clean."""
        passed: list[_Id] = []
        current = os.dup(fd)
        try:
            while True:
                found = os.fstat(current)
                here = (found.st_dev, found.st_ino)
                if here in self._clean_ids or (passed and here == passed[-1]):  # `/..` is `/`
                    break
                yield here
                passed.append(here)
                above = os.open(b"..", O_PATH | O_DIRECTORY | O_CLOEXEC, dir_fd=current)
                os.close(current)
                current = above
        finally:
            os.close(current)
        if len(self._clean_ids) > _KNOWN_CLEAN:
            self._clean_ids.clear()
        self._clean_ids.update(passed)

    def _refuse_above(self, path: bytes, fd: int, name: bytes) -> None:
        if any(is_within(forbidden, path) for forbidden in self._forbidden):
            raise _forbidden(path)
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return
        if (found.st_dev, found.st_ino) in self._above_ids | self._forbidden_ids:
            raise _forbidden(path)


def _open_readable(anchor_fd: int, anchor: bytes, relative: bytes) -> int:
    """`open_beneath` for reading, as fsync needs it, or by O_PATH when the folder may only be searched."""
    try:
        try:
            return open_beneath(anchor_fd, relative)
        except PermissionError:
            return open_beneath(anchor_fd, relative, O_PATH)
    except InTheWay as exc:  # named in full, as the user knows it
        raise InTheWay(join(anchor, exc.component), exc.kind) from exc
    except OSError as exc:
        raise OSError(exc.errno, exc.strerror, join(anchor, relative)) from exc


def _upwards(key: bytes) -> Iterator[bytes]:
    """`key` and the folders above it, but for the root folder."""
    while key:
        yield key
        key = key.rpartition(b"/")[0]


def _outside(path: bytes) -> ScopeError:
    return ScopeError(f"`{show(path)}` lies outside every granted scope")


def _forbidden(path: bytes) -> ScopeError:
    return ScopeError(f"`{show(path)}` lies at, above or below deskshell's own state folder")


def _moved(folder: bytes) -> Conflict:
    return Conflict(f"the folder `{show(folder or b'/')}` was moved or replaced")
