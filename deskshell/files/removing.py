"""Removing an object for good, and counting what it takes on the disk.

Only for deskshell's own: kept objects, and leftovers whose identity was checked. Users' objects are renamed.
"""

from __future__ import annotations

import errno
import os
import stat as stat_bits

from deskshell.errors import StepFailed
from deskshell.files.identity import Stat, stat_at
from deskshell.files.metadata import set_mode_at
from deskshell.files.names import show
from deskshell.files.opening import Descent
from deskshell.slotted import NamedTuple


def remove_object(dir_fd: int, name: bytes) -> None:
    """Remove `name` in the folder `dir_fd`, with all below it when it is a folder; links are not followed.

    Folders of ours that may not be written or read are opened up on the way, and closed again on a failure.

    Raises:
        FileNotFoundError: there is no such object.
        StepFailed: a folder below is a mount point; nothing in it was touched.
        OSError: something cannot be removed; what was removed before stays removed.
    """
    found = stat_at(dir_fd, name)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if found.kind == "folder":
        _remove_folder(dir_fd, name, found)
    else:
        os.unlink(name, dir_fd=dir_fd)


def _remove_folder(dir_fd: int, name: bytes, root: Stat) -> None:
    mode = _open_up(dir_fd, name, root)
    at = Descent(dir_fd, name)
    # One level: the folder's name, the mode to give back on a failure, the names in it yet to be removed.
    levels: list[tuple[bytes, int | None, list[bytes]]] = [(name, mode, _names(at.fd))]
    try:
        while levels:
            here, _, names = levels[-1]
            if not names:
                levels.pop()
                if not levels:
                    break
                at.leave()
                os.rmdir(here, dir_fd=at.fd)
                continue
            child = names.pop()
            found = stat_at(at.fd, child)
            if found is None:
                continue
            if found.kind != "folder":
                os.unlink(child, dir_fd=at.fd)
                continue
            if found.mnt != root.mnt:
                raise StepFailed(f"`{show(child)}` is a mount point and stays as it is")
            mode = _open_up(at.fd, child, found)
            at.enter(child)
            levels.append((child, mode, _names(at.fd)))
    except BaseException:
        _close_up(at, [mode for _, mode, _ in levels])
        raise
    finally:
        at.close()
    os.rmdir(name, dir_fd=dir_fd)


def _names(fd: int) -> list[bytes]:
    return [os.fsencode(name) for name in os.listdir(fd)]


def _open_up(dir_fd: int, name: bytes, found: Stat) -> int | None:
    """Let the owner read and write the folder; returns the mode it had when that was needed."""
    if found.mode & 0o700 == 0o700 or found.uid != os.geteuid():
        return None
    set_mode_at(dir_fd, name, found.mode | 0o700)
    return found.mode


def _close_up(at: Descent, modes: list[int | None]) -> None:
    """Give back the modes of the folders from the one that is open up to the first. Raises nothing."""
    try:
        while modes:
            mode = modes.pop()
            if mode is not None:
                set_mode_at(at.fd, b".", mode)
            if modes:
                at.leave()
    except (OSError, StepFailed):
        pass  # the error that led here matters more


class Measured(NamedTuple):
    """What an object takes on the disk in `bytes`, and whether a file in it has `names_elsewhere` (hard links)."""

    bytes: int
    names_elsewhere: bool


def object_bytes(dir_fd: int, name: bytes) -> int:
    """Bytes that `name` in the folder `dir_fd` takes on the disk; see `measure`."""
    return measure(dir_fd, name).bytes


def measure(dir_fd: int, name: bytes) -> Measured:
    """Measure `name` in the folder `dir_fd`, with all below it; hard links count once.

    Does not enter other mounts. Nothing when there is no such object.
    """
    root = stat_at(dir_fd, name)
    if root is None:
        return Measured(0, False)
    seen: dict[tuple[int, int], int] = {}
    total = _blocks(dir_fd, name, seen)
    if root.kind != "folder":
        return Measured(total, any(seen.values()))
    at = Descent(dir_fd, name)
    try:
        levels = [_names(at.fd)]
        while levels:
            if not levels[-1]:
                levels.pop()
                if levels:
                    at.leave()
                continue
            child = levels[-1].pop()
            found = stat_at(at.fd, child)
            if found is None or found.mnt != root.mnt:
                continue
            total += _blocks(at.fd, child, seen)
            if found.kind == "folder":
                at.enter(child)
                levels.append(_names(at.fd))
    finally:
        at.close()
    return Measured(total, any(seen.values()))


def _blocks(dir_fd: int, name: bytes, seen: dict[tuple[int, int], int]) -> int:
    """`seen` counts the names of a file that were not met yet."""
    raw = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    if raw.st_nlink > 1 and not stat_bits.S_ISDIR(raw.st_mode):
        key = (raw.st_dev, raw.st_ino)
        if key in seen:
            seen[key] -= 1
            return 0
        seen[key] = raw.st_nlink - 1
    # Always in units of 512, whatever the block size; Windows does not tell.
    blocks: int | None = getattr(raw, "st_blocks", None)
    return raw.st_size if blocks is None else blocks * 512
