"""Reading regular files, without following links, waiting on fifos, or leaving an access time behind."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable

from deskshell.errors import StepFailed
from deskshell.files.identity import Stat, stat_fd
from deskshell.files.names import show
from deskshell.files.opening import O_CLOEXEC, O_NOATIME, O_NOFOLLOW, O_NONBLOCK

CHUNK = 4 << 20
_READ = os.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | getattr(os, "O_BINARY", 0)


def open_file(dir_fd: int, name: bytes) -> tuple[int, Stat]:
    """Open the regular file `name` in the folder `dir_fd` for reading; returns descriptor and first look.

    Raises:
        StepFailed: it is a link, a folder, a fifo or another special object.
        OSError: FileNotFoundError, PermissionError, …
    """
    try:
        try:
            # Only the owner (or root) may ask for no access time.
            fd = os.open(name, _READ | O_NOATIME, dir_fd=dir_fd)
        except PermissionError:
            fd = os.open(name, _READ, dir_fd=dir_fd)
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            raise StepFailed(f"`{show(name)}` is a link, not a file") from exc
        if exc.errno in (errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP):  # sockets, devices without a driver
            raise StepFailed(f"`{show(name)}` is not a regular file") from exc
        raise
    try:
        found = stat_fd(fd)
        if found.kind != "file":
            raise StepFailed(f"`{show(name)}` is a {found.kind}, not a file")
    except BaseException:
        os.close(fd)
        raise
    return fd, found


def grows(fd: int, size: int, at: int) -> bool:
    """Whether the open file `fd`, of `size` bytes at first, was read beyond that because it is longer now.

    A file that does not tell its size (/proc) does not grow.
    """
    return at > size and os.fstat(fd).st_size > size


def hash_fd(fd: int, tick: Callable[[int], None] | None = None) -> str:
    """sha256 of the content of the open file `fd`, from its start to its end; its position stays.

    Raises StepFailed for a file that grows: whoever writes to it could keep this from ever ending.
    """
    total = hashlib.sha256()
    at, size = 0, os.fstat(fd).st_size
    while data := os.pread(fd, CHUNK, at):
        total.update(data)
        at += len(data)
        if grows(fd, size, at):
            raise StepFailed("the file grew while it was read")
        if tick is not None:
            tick(len(data))
    return total.hexdigest()


def hash_file(dir_fd: int, name: bytes, tick: Callable[[int], None] | None = None) -> str:
    """sha256 of the content of the regular file `name` in the folder `dir_fd` (errors as `open_file`).

    Args:
        dir_fd: the open folder that it lies in.
        name: its name; a link or special object is refused.
        tick: called with the number of bytes read after every 4 MiB; may raise to stop.
    """
    fd, _ = open_file(dir_fd, name)
    try:
        return hash_fd(fd, tick)
    finally:
        os.close(fd)


def read_file(dir_fd: int, name: bytes, limit: int | None = None) -> bytes:
    """The whole content of the regular file `name` in the folder `dir_fd` (errors as `open_file`).

    Raises:
        StepFailed: it is longer than `limit` bytes; never a part of it is returned.
    """
    fd, found = open_file(dir_fd, name)
    try:
        if limit is not None and found.size > limit:
            raise StepFailed(f"`{show(name)}` has {found.size} bytes, more than the limit of {limit}")
        chunks: list[bytes] = []
        length = 0
        while data := os.read(fd, CHUNK):
            chunks.append(data)
            length += len(data)
            if limit is not None and length > limit:  # it grew, or its size is not told (/proc)
                raise StepFailed(f"`{show(name)}` has more than the limit of {limit} bytes")
            if grows(fd, found.size, length):
                raise StepFailed(f"`{show(name)}` grew while it was read")
    finally:
        os.close(fd)
    return b"".join(chunks)
