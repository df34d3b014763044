"""Calls of the C library that Python does not offer: statx, renameat2, openat2, syncfs, fstatfs, fchmodat2.

Each is looked up once. Where the system or its C library lacks one, the wrapper answers `ENOSYS`,
and the module above falls back to what Python has. On Linux nothing is assumed about the version of
glibc: calls without a wrapper of their own go through `syscall(2)` by number.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable

LINUX = sys.platform == "linux"
MACOS = sys.platform == "darwin"
WINDOWS = sys.platform == "win32"

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100
AT_NO_AUTOMOUNT = 0x800
AT_EMPTY_PATH = 0x1000

RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
# <sys/stdio.h> of macOS 10.12 and later.
_MAC_RENAME_SWAP = 2
_MAC_RENAME_EXCL = 4

RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08

# Numbers are the same on every Linux architecture but alpha since the tables were unified (5.0).
_NR_OPENAT2 = 437
_NR_FCHMODAT2 = 452
_PR_SET_NO_NEW_PRIVS = 38

_Call = Callable[..., int]


def _load() -> ctypes.CDLL | None:
    if WINDOWS:
        return None
    return ctypes.CDLL(None, use_errno=True)


_libc = _load()


def _function(name: str, *argtypes: object) -> _Call | None:
    """The C function `name` returning int, or None where the library has none."""
    found = getattr(_libc, name, None) if _libc is not None else None
    if found is None:
        return None
    found.argtypes = list(argtypes)
    found.restype = ctypes.c_int
    return found  # type: ignore[no-any-return]


_int, _uint, _str, _ptr = ctypes.c_int, ctypes.c_uint, ctypes.c_char_p, ctypes.c_void_p

statx = _function("statx", _int, _str, _int, _uint, _ptr) if LINUX else None
_renameat2 = _function("renameat2", _int, _str, _int, _str, _uint) if LINUX else None
_renameatx_np = _function("renameatx_np", _int, _str, _int, _str, _uint) if MACOS else None
_syncfs = _function("syncfs", _int) if LINUX else None
_prctl = _function("prctl", _int, *[ctypes.c_ulong] * 4) if LINUX else None
_fstatfs = _function("fstatfs", _int, _ptr)
_syscall = getattr(_libc, "syscall", None) if LINUX else None
if _syscall is not None:
    _syscall.restype = ctypes.c_long


def last_errno() -> int:
    """The `errno` that this thread's last call through this module left."""
    return ctypes.get_errno()


def rename_with_flags(src_fd: int, src: bytes, dst_fd: int, dst: bytes, flags: int) -> int:
    """renameat2(2), on macOS renameatx_np(2). Returns 0, or the errno (`ENOSYS` where there is none)."""
    if _renameat2 is not None:
        return 0 if _renameat2(src_fd, src, dst_fd, dst, flags) == 0 else ctypes.get_errno()
    if _renameatx_np is not None:
        mac = _MAC_RENAME_SWAP if flags & RENAME_EXCHANGE else _MAC_RENAME_EXCL
        return 0 if _renameatx_np(src_fd, src, dst_fd, dst, mac) == 0 else ctypes.get_errno()
    return errno.ENOSYS


def numbered(number: int, *args: object) -> int:
    """Make the system call `number` of Linux by syscall(2); for calls that no C library wraps.

    Returns its result, or the negative errno (`-ENOSYS` where there is no such call, or no Linux).
    """
    if _syscall is None:
        return -errno.ENOSYS
    result: int = _syscall(number, *args)
    return result if result >= 0 else -ctypes.get_errno()


_open_how = struct.Struct("=QQQ").pack
_OPEN_HOW_SIZE = 24
_hows: dict[tuple[int, int], bytes] = {}  # a handful of combinations, asked for twice a step
# A function object of its own, whose types are declared: converting them anew takes as long as the call.
_openat2 = _libc["syscall"] if LINUX and _libc is not None and _syscall is not None else None
if _openat2 is not None:
    _openat2.argtypes = [ctypes.c_long, _int, _str, _str, ctypes.c_size_t]
    _openat2.restype = ctypes.c_long


def openat2(dir_fd: int, path: bytes, flags: int, resolve: int) -> int:
    """Call openat2(2) (Linux 5.6). Returns a descriptor, or the negative errno (`-ENOSYS` where there is none).

    An answer that a sandbox makes up for an unknown call (`EPERM` under old seccomp filters) reads as
    `EPERM` here too: the caller decides whether to fall back.
    """
    if _openat2 is None:
        return -errno.ENOSYS
    how = _hows.get((flags, resolve))
    if how is None:
        how = _hows[flags, resolve] = _open_how(flags | os.O_CLOEXEC, 0, resolve)
    fd: int = _openat2(_NR_OPENAT2, dir_fd, path, how, _OPEN_HOW_SIZE)
    return fd if fd >= 0 else -ctypes.get_errno()


def fchmodat2(dir_fd: int, name: bytes, mode: int, flags: int) -> int:
    """Call fchmodat2(2) (Linux 6.6). Returns 0, or the errno (`ENOSYS` where there is none)."""
    if _syscall is None:
        return errno.ENOSYS
    if _syscall(_NR_FCHMODAT2, _int(dir_fd), name, _uint(mode), _uint(flags)) == 0:
        return 0
    return ctypes.get_errno()


def syncfs(fd: int) -> int:
    """Call syncfs(2). Returns 0, or the errno (`ENOSYS` where there is none)."""
    if _syncfs is None:
        return errno.ENOSYS
    return 0 if _syncfs(fd) == 0 else ctypes.get_errno()


def forbid_new_privileges() -> int:
    """Keep this thread from gaining rights by an execve(2), for good. Returns 0, or the errno."""
    if _prctl is None:
        return errno.ENOSYS
    return 0 if _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 else ctypes.get_errno()


def fstatfs(fd: int) -> tuple[int, bytes, bytes]:
    """Kind of the file system that `fd` lies on.

    Returns:
        magic number (Linux, else 0), the eight bytes of `f_fsid` (zeros when unknown), and the type's
        name (macOS, else empty). All empty where the system cannot say.
    """
    nothing = (0, bytes(8), b"")
    if _fstatfs is None:
        return nothing
    buffer = ctypes.create_string_buffer(4096)  # larger than struct statfs anywhere
    if _fstatfs(fd, ctypes.addressof(buffer)) != 0:
        return nothing
    raw = buffer.raw
    if MACOS:  # struct statfs with 64-bit inodes: f_fsid at 48, f_fstypename[16] at 72
        return 0, raw[48:56], raw[72:88].split(b"\0", 1)[0]
    if not LINUX:
        return nothing
    if ctypes.sizeof(ctypes.c_long) == 8:  # f_type, f_bsize, five u64, f_fsid
        return int.from_bytes(raw[0:8], sys.byteorder) & 0xFFFFFFFF, raw[56:64], b""
    # 32 bit: words of four bytes: f_type, f_bsize, five counters, f_fsid
    return int.from_bytes(raw[0:4], sys.byteorder), raw[28:36], b""
