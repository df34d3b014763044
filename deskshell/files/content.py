"""The bytes of a file, copied between two descriptors: cloned where possible, holes kept, hashed on the way."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterator

from deskshell.errors import StepFailed
from deskshell.files.reading import CHUNK
from deskshell.files.writing import write_all

_FICLONE = 0x40049409  # linux/fs.h: _IOW(0x94, 9, int)
_ZEROS = bytes(1 << 20)
# copy_file_range(2) is not for these two files; anything else is a real failure.
_NOT_FOR_THESE = (
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOSYS,
    errno.ENOTSUP,
    errno.EPERM,
    errno.EBADF,
    errno.ETXTBSY,
)


def copy_content(source: int, copy: int, size: int, tick: Callable[[int], None] | None = None) -> str:
    """Give the empty file `copy` the first `size` bytes of the file `source`.

    Clones (btrfs, xfs, bcachefs), else copies each stretch of data and leaves the holes out.

    Args:
        source: descriptor open for reading; its position is lost.
        copy: descriptor open for reading and writing.
        size: the length of `source` when it was looked at.
        tick: called with the number of bytes done after every few MiB; may raise.

    Returns:
        sha256 of the bytes as they were read from `source`.

    Raises:
        StepFailed: `source` got shorter or longer meanwhile, or does not tell its length.
        OSError: ENOSPC, EIO, …
    """
    writer = None if _clone(source, copy) else _Writer(source, copy)
    if writer is not None:
        os.ftruncate(copy, size)
    total = hashlib.sha256()
    for start, end, is_data in _stretches(source, size):
        at = start
        while at < end:
            if is_data:
                chunk = os.pread(source, min(CHUNK, end - at), at)
                if not chunk:
                    raise StepFailed("the file got shorter while it was copied")
                if writer is not None:
                    writer.put(at, chunk)
            else:
                chunk = _ZEROS[: end - at]
            total.update(chunk)
            at += len(chunk)
            if tick is not None:
                tick(len(chunk))
    if os.pread(source, 1, size):  # it grew, or is one of those in /proc that tell a size of 0
        raise StepFailed("the file has more bytes than it says, or got longer while it was copied")
    return total.hexdigest()


def _clone(source: int, copy: int) -> bool:
    """Whether `copy` now shares the blocks of `source` (same file system, one that can)."""
    try:
        import fcntl  # not there on Windows
    except ImportError:
        return False
    try:
        fcntl.ioctl(copy, _FICLONE, source)
    except OSError:
        return False  # ENOSPC and EIO come back with the plain copy, if they are real
    return True


def _stretches(source: int, size: int) -> Iterator[tuple[int, int, bool]]:
    """`(start, end, is data)` from 0 to `size`, without gaps; one stretch where holes cannot be found."""
    at = 0
    while at < size:
        try:
            data = os.lseek(source, at, os.SEEK_DATA)
        except (OSError, AttributeError) as exc:
            if isinstance(exc, OSError) and exc.errno == errno.ENXIO:  # nothing but a hole from here on
                yield at, size, False
            else:
                yield at, size, True
            return
        if data > at:
            yield at, min(data, size), False
        if data >= size:
            return
        end = min(os.lseek(source, data, os.SEEK_HOLE), size)
        yield data, end, True
        at = end


class _Writer:
    """Puts stretches of `source` into `copy` inside the kernel where it can, else with the bytes read."""

    def __init__(self, source: int, copy: int) -> None:
        self._source, self._copy = source, copy
        self._in_kernel = hasattr(os, "copy_file_range")

    def put(self, at: int, chunk: bytes) -> None:
        done = 0
        while self._in_kernel and done < len(chunk):
            try:
                moved = os.copy_file_range(self._source, self._copy, len(chunk) - done, at + done, at + done)
            except OSError as exc:
                if exc.errno not in _NOT_FOR_THESE:
                    raise
                moved = 0
            # 0 at a place where bytes were read: some pseudo and network file systems do not mean it
            self._in_kernel = moved > 0
            done += moved
        if done < len(chunk):
            write_all(self._copy, memoryview(chunk)[done:], at + done)
