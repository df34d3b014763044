"""Opening folders and files so that no link is followed, and going through deep trees on few descriptors."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from deskshell.errors import Conflict
from deskshell.files import syscalls
from deskshell.files.identity import stat_at
from deskshell.files.names import show

# Flags that some system lacks are 0 there. Without O_PATH (macOS) a folder is opened for reading instead.
O_PATH: int = getattr(os, "O_PATH", os.O_RDONLY)
O_DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
O_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
O_NOATIME: int = getattr(os, "O_NOATIME", 0)
O_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)

_NO_LINKS = syscalls.RESOLVE_BENEATH | syscalls.RESOLVE_NO_SYMLINKS | syscalls.RESOLVE_NO_MAGICLINKS
_FOLDER = os.O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC


class InTheWay(Conflict):
    """A component of a path is a link or no folder; `component` is the path up to it, `kind` what it is."""

    def __init__(self, component: bytes, kind: str) -> None:
        what = "is a link, which is not followed" if kind == "link" else f"is a {kind}, not a folder"
        super().__init__(f"`{show(component)}` {what}", hint="it may have changed since the plan was made")
        self.component = component
        self.kind = kind


def open_folder(dir_fd: int, name: bytes) -> int:
    """Open the folder `name` in `dir_fd` for reading, or by O_PATH when it may only be searched.

    Raises:
        OSError: ENOTDIR or ELOOP when it is a link or no folder, FileNotFoundError, PermissionError.
    """
    try:
        return os.open(name, _FOLDER | O_NOATIME, dir_fd=dir_fd)
    except PermissionError as exc:
        if exc.errno == errno.EPERM:  # only the owner (or root) may ask for no access time
            with suppress(PermissionError):
                return os.open(name, _FOLDER, dir_fd=dir_fd)
        return os.open(name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, dir_fd=dir_fd)


def open_beneath(anchor_fd: int, path: bytes, flags: int = os.O_RDONLY) -> int:
    """Open the folder `path`, relative to the folder `anchor_fd`, with no link on the way or at its end.

    Args:
        anchor_fd: where to start; `path` cannot lead out of it.
        path: components separated by one `/`, none of them `.` or `..`; empty means `anchor_fd` itself.
        flags: O_RDONLY or O_PATH.

    Raises:
        FileNotFoundError: a component does not exist.
        InTheWay: a component is a link, or no folder.
        OSError: anything else (EACCES, EMFILE, EIO, …).
    """
    flags |= O_DIRECTORY | O_CLOEXEC
    if not path:
        return os.open(b".", flags, dir_fd=anchor_fd)
    for _ in range(4):
        fd = syscalls.openat2(anchor_fd, path, flags, _NO_LINKS)
        if fd >= 0:
            return fd
        if fd != -errno.EAGAIN:  # a rename elsewhere raced with the lookup
            break
    if fd in (-errno.ENOTDIR, -errno.ELOOP, -errno.EXDEV):
        _raise_in_the_way(anchor_fd, path)
    if fd in (-errno.ENOSYS, -errno.EPERM, -errno.EAGAIN, -errno.ENAMETOOLONG, -errno.ELOOP, -errno.EXDEV):
        return _open_by_component(anchor_fd, path, flags)
    raise OSError(-fd, os.strerror(-fd), path)


def _open_by_component(anchor_fd: int, path: bytes, flags: int) -> int:
    """The same without openat2, and for paths longer than the system takes at once."""
    parts = path.split(b"/")
    current = anchor_fd
    try:
        for i, part in enumerate(parts):
            wanted = flags if i == len(parts) - 1 else O_PATH | O_DIRECTORY | O_CLOEXEC
            try:
                below = os.open(part, wanted | O_NOFOLLOW, dir_fd=current)
            except OSError as exc:
                if exc.errno in (errno.ENOTDIR, errno.ELOOP):
                    found = stat_at(current, part)
                    kind = found.kind if found is not None else "file"
                    raise InTheWay(b"/".join(parts[: i + 1]), kind) from exc
                raise
            if current != anchor_fd:
                os.close(current)
            current = below
    except BaseException:
        if current != anchor_fd:
            os.close(current)
        raise
    return current


def _raise_in_the_way(anchor_fd: int, path: bytes) -> None:
    """Name the component that is a link or no folder; return when there is none (any more)."""
    parts = path.split(b"/")
    for i in range(1, len(parts) + 1):
        component = b"/".join(parts[:i])
        found = stat_at(anchor_fd, component)
        if found is None:
            return
        if found.kind != "folder":
            raise InTheWay(component, found.kind)


class Descent:
    """One open folder that goes down and up a tree, however deep, on a single descriptor.

    Going up opens `..` and compares it with the folder it came from, so that a folder moved away under our
    feet is noticed instead of leading somewhere else.
    """

    def __init__(self, dir_fd: int, name: bytes) -> None:
        """Open the folder `name` in `dir_fd` (errors as `open_folder`)."""
        self.fd = open_folder(dir_fd, name)
        self._above: list[tuple[int, int]] = []  # (device, inode) of the folders passed on the way down
        self._here = self._id()

    @property
    def id(self) -> tuple[int, int]:
        """(device, inode) of the folder that is open now."""
        return self._here

    def _id(self) -> tuple[int, int]:
        found = os.fstat(self.fd)
        return found.st_dev, found.st_ino

    def enter(self, name: bytes) -> None:
        """Go down into `name` (errors as `open_folder`; then nothing has moved)."""
        below = open_folder(self.fd, name)
        os.close(self.fd)
        self.fd = below
        self._above.append(self._here)
        self._here = self._id()

    def leave(self) -> None:
        """Go back up.

        Raises:
            Conflict: the folder now lies in another one than it was entered from.
        """
        above = open_folder(self.fd, b"..")
        os.close(self.fd)
        self.fd = above
        expected = self._above.pop()
        self._here = self._id()
        if self._here != expected:
            raise Conflict("a folder was moved while it was being read")

    def close(self) -> None:
        """Close the descriptor. May be called twice."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
