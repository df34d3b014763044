"""Room on the disk for what must be written even when it is full."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

RESERVE_BYTES = 64 * 1024


def restore_reserve(path: Path) -> None:
    """Make the reserve file (64 KiB, mode 0600) unless it is there; a full disk is no error."""
    if os.path.lexists(path):
        return
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, bytes(RESERVE_BYTES))
        finally:
            os.close(fd)


def allocate(fd: int, offset: int, size_bytes: int) -> bool:
    """Reserve blocks behind the end of the file without changing its size; True when the system did.

    Best effort: not every file system can, and a full disk is seen by the write itself.
    """
    if sys.platform != "linux" or size_bytes <= 0:
        return False
    import ctypes

    fallocate = ctypes.CDLL(None, use_errno=True).fallocate
    fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    keep_size = 1  # FALLOC_FL_KEEP_SIZE, linux/falloc.h
    return bool(fallocate(fd, keep_size, offset, size_bytes) == 0)
