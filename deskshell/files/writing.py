"""Creating a regular file that was not there before."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from deskshell.files.identity import Stat, stat_fd
from deskshell.files.moving import sync_file
from deskshell.files.opening import O_CLOEXEC, O_NOFOLLOW
from deskshell.slotted import slotted

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | O_NOFOLLOW | O_CLOEXEC | getattr(os, "O_BINARY", 0)


@slotted(frozen=True)
class Copied:
    """A new object: how it looks now, what is in it, and what of the original it could not keep.

    `sha256` is that of a file's content, a link's text, or a folder's listing (`tree.digest`); "" for fifos and
    devices. `bytes` counts the content of all files. `not_kept` has the words of `metadata.apply_metadata`,
    inside a folder once each.
    """

    stat: Stat
    sha256: str
    bytes: int
    not_kept: tuple[str, ...] = ()


def create_file(dir_fd: int, name: bytes, mode: int = 0o600) -> int:
    """Create the empty file `name` in the folder `dir_fd` and open it for reading and writing.

    Raises:
        FileExistsError: the name is taken, by a dangling link too.
    """
    return os.open(name, _CREATE, mode, dir_fd=dir_fd)


def write_all(fd: int, data: bytes | memoryview, at: int | None = None) -> None:
    """Write all of `data`, at the offset `at` or where the descriptor stands."""
    view = memoryview(data)
    while view:
        written = os.write(fd, view) if at is None else os.pwrite(fd, view, at)
        view = view[written:]
        if at is not None:
            at += written


def write_file(
    dir_fd: int, name: bytes, chunks: Iterable[bytes], *, mode: int | None = 0o600, sync: bool = True
) -> Copied:
    """Create the file `name` in the folder `dir_fd` with the content `chunks`.

    Args:
        dir_fd: the open folder.
        name: must not exist.
        chunks: the content; an exception out of it takes the file away again.
        mode: exact bits whatever the umask; None for what a program would get by default (0o666 less the umask,
            or the folder's default ACL).
        sync: whether to make the content durable; the name is only by a sync of the folder.

    Raises:
        FileExistsError: the name is taken.
        OSError: ENOSPC, EIO, …; nothing is left behind.
    """
    fd = create_file(dir_fd, name, 0o666 if mode is None else mode)
    try:
        total = hashlib.sha256()
        length = 0
        for chunk in chunks:
            total.update(chunk)
            length += len(chunk)
            write_all(fd, chunk)
        found = stat_fd(fd)
        if mode is not None and found.mode != mode:  # the umask took bits away
            os.fchmod(fd, mode)
            found = stat_fd(fd)
        if sync:
            sync_file(fd)
    except BaseException:
        discard(dir_fd, name, fd)
        raise
    finally:
        os.close(fd)
    return Copied(found, total.hexdigest(), length)


def discard(dir_fd: int, name: bytes, fd: int) -> None:
    """Take away the name of the new file `fd`, unless it is somebody else's by now. Raises nothing."""
    try:
        now, ours = os.stat(name, dir_fd=dir_fd, follow_symlinks=False), os.fstat(fd)
        if (now.st_dev, now.st_ino) == (ours.st_dev, ours.st_ino):
            os.unlink(name, dir_fd=dir_fd)
    except OSError:
        pass  # the error that led here matters more; a leftover has the name of a temporary
