"""Folders in which names that differ only in case are one name (ext4 with casefold, vfat, APFS, …) (F31)."""

from __future__ import annotations

import array
import os
import unicodedata

from deskshell.files.identity import Identity, same_object, stat_path

_GETFLAGS = 0x80086601  # FS_IOC_GETFLAGS
_CASEFOLD = 0x40000000  # FS_CASEFOLD_FL


def key(name: bytes) -> bytes | str:
    """What two names share when such a folder takes them for one; bytes that are not UTF-8 are never folded."""
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        return name
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


def folds(folder: bytes) -> bool:
    """Whether the existing `folder` folds names: asked of the file system, else tried on an entry in it."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # may not be read: the act itself never replaces anything
        return False
    try:
        return _has_flag(fd) or _tried(folder, fd)
    finally:
        os.close(fd)


def _has_flag(fd: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    flags = array.array("L", [0])
    try:
        fcntl.ioctl(fd, _GETFLAGS, flags, True)
    except OSError:
        return False
    return bool(flags[0] & _CASEFOLD)


def _tried(folder: bytes, fd: int) -> bool:
    """Look up the first name with letters in the other case: one object under a name that is not listed."""
    with os.scandir(fd) as listing:
        for entry in listing:
            name = os.fsencode(entry.name)
            other = name.swapcase()  # ASCII letters only, which every folding file system folds
            if other == name:
                continue
            one, two = stat_path(folder + b"/" + name), stat_path(folder + b"/" + other)
            return (
                one is not None and two is not None and same_object(one, two) and not is_listed(folder, other)
            )
    return False


def is_listed(folder: bytes, name: bytes) -> bool:
    """Whether `folder` holds exactly this spelling (a second hard link, say, and not another case of the first)."""
    try:
        return name in os.listdir(folder)
    except OSError:
        return True


def is_one(folder: bytes, name: bytes, other: bytes, found: tuple[Identity, Identity]) -> bool:
    """Whether `other` is only another spelling of `name`, both having been found in `folder`."""
    return key(name) == key(other) and same_object(*found) and not is_listed(folder, other)
