"""Landlock: a thread gives up, for good, the right to change anything outside of some folders (Linux 5.19).

A second wall behind `scope.Places`. It covers what creates, removes, renames, links and opens for writing;
not what changes modes, owners, times and extended attributes, which Landlock does not know. Reading stays free.

Every folder gets the same rights: the system refuses (EXDEV) to rename an object into a folder with more.

Source: landlock(7); linux/landlock.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

from deskshell.files import syscalls

_NR_CREATE_RULESET, _NR_ADD_RULE, _NR_RESTRICT_SELF = 444, 445, 446  # one table for all architectures
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))  # REMOVE_DIR … MAKE_SYM
_REFER = 1 << 13  # to rename or link from one folder into another; not refused to all only since ABI 2
_TRUNCATE = 1 << 14  # ABI 3

_LEAST_ABI = 2
_NOT_HERE = (
    -errno.ENOSYS,
    -errno.EOPNOTSUPP,
    -errno.EPERM,
)  # not built in, switched off, kept from us by a sandbox
_ruleset = struct.Struct("=Q").pack
_path_beneath = struct.Struct("=Qi").pack  # packed, as in the header


def abi() -> int:
    """The version of Landlock that this system offers, 0 when it has none that is of use (below 2)."""
    found = syscalls.numbered(
        _NR_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_CREATE_RULESET_VERSION)
    )
    return found if found >= _LEAST_ABI else 0


def restrict_thread(folders: Iterable[int]) -> int:
    """Let the calling thread change only what lies in `folders` (open descriptors, O_PATH will do).

    There is no way back: it belongs in a thread that ends with the work. Threads it starts inherit it.

    Returns:
        The version that is in force from now on, or 0: this system has none, and nothing was restricted.

    Raises:
        OSError: a folder cannot be named to the system, or the sixteen nested walls of a thread are used up.
    """
    version = abi()
    if not version:
        return 0
    rights = _WRITE_FILE | _REMOVE_AND_MAKE | _REFER | (_TRUNCATE if version >= 3 else 0)
    attr = _ruleset(rights)
    ruleset = syscalls.numbered(_NR_CREATE_RULESET, attr, ctypes.c_size_t(len(attr)), ctypes.c_uint(0))
    if ruleset < 0:
        if ruleset in _NOT_HERE:
            return 0
        raise _failure(ruleset)
    try:
        kind, none = ctypes.c_int(_RULE_PATH_BENEATH), ctypes.c_uint(0)
        for fd in folders:
            rule = _path_beneath(rights, fd)
            _must(syscalls.numbered(_NR_ADD_RULE, ctypes.c_int(ruleset), kind, rule, none))
        _must(-syscalls.forbid_new_privileges())
        _must(syscalls.numbered(_NR_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0)))
    finally:
        os.close(ruleset)
    return version


def _must(code: int) -> None:
    if code < 0:
        raise _failure(code)


def _failure(code: int) -> OSError:
    return OSError(-code, os.strerror(-code))
