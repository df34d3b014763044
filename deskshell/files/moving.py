"""Rename without ever replacing, exchange, and the syncs that make either durable."""

from __future__ import annotations

import errno
import os

from deskshell.files import syscalls
from deskshell.files.identity import fs_magic, stat_at, stat_fd

# Linux file systems that know RENAME_EXCHANGE. ext2 shares the number of ext4 but cannot when its own driver
# serves it: then `exchange` raises EINVAL before anything changed.
_EXCHANGE_MAGICS = frozenset(
    (
        0xEF53,  # ext3, ext4
        0x58465342,  # xfs
        0x9123683E,  # btrfs
        0xF2F52010,  # f2fs
        0xCA451A4E,  # bcachefs
        0x01021994,  # tmpfs
        0x24051905,  # ubifs
        0x794C7630,  # overlayfs, as far as the file system below can
    )
)
# "This call or flag is not known here", as opposed to a real failure.
_NOT_KNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_CANNOT_LINK = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES, errno.EINVAL)
_FOLDER_SYNC_NOT_SUPPORTED = (errno.EINVAL, errno.EACCES, errno.EBADF, errno.ENOTSUP, errno.EROFS)


def _failure(code: int, src: bytes, dst: bytes) -> OSError:
    return OSError(code, os.strerror(code), src, None, dst)


def rename(src_fd: int, src: bytes, dst_fd: int, dst: bytes) -> None:
    """Give `src` in the folder `src_fd` the name `dst` in `dst_fd`; an existing `dst` is never replaced.

    Two names that are hard links of one file count as existing too.

    Raises:
        OSError: with both names. FileExistsError when `dst` exists, FileNotFoundError when `src` does not,
            EXDEV when the two folders are not on one mount, …
    """
    code = syscalls.rename_with_flags(src_fd, src, dst_fd, dst, syscalls.RENAME_NOREPLACE)
    if code == 0:
        return
    if code not in _NOT_KNOWN:
        raise _failure(code, src, dst)
    _rename_without_flags(src_fd, src, dst_fd, dst)


def _rename_without_flags(src_fd: int, src: bytes, dst_fd: int, dst: bytes) -> None:
    """The same where the file system or system has no such flag (old NFS and FUSE, old kernels)."""
    if syscalls.WINDOWS:
        os.rename(src, dst)  # refuses an existing target by itself; there are no folder descriptors
        return
    found = stat_at(src_fd, src)
    if found is None:
        raise _failure(errno.ENOENT, src, dst)
    if found.kind != "folder":
        try:
            # link(2) refuses an existing name in one step, so nothing can be replaced. A crash between the
            # two calls leaves both names on one inode, which recovery knows how to read.
            os.link(src, dst, src_dir_fd=src_fd, dst_dir_fd=dst_fd, follow_symlinks=False)
        except OSError as exc:
            if exc.errno not in _CANNOT_LINK:
                raise _failure(exc.errno or errno.EIO, src, dst) from exc
        else:
            os.unlink(src, dir_fd=src_fd)
            return
    # No hard links here (FAT, some FUSE) or a folder: look, then rename. Somebody creating `dst` within these
    # microseconds would lose it, except that a folder only ever replaces an empty folder.
    if stat_at(dst_fd, dst) is not None:
        raise _failure(errno.EEXIST, src, dst)
    try:
        os.rename(src, dst, src_dir_fd=src_fd, dst_dir_fd=dst_fd)
    except OSError as exc:
        raise _failure(exc.errno or errno.EIO, src, dst) from exc


def exchange(a_fd: int, a: bytes, b_fd: int, b: bytes) -> None:
    """Swap two existing objects of any kinds in one step.

    Raises:
        OSError: with both names. EINVAL or ENOSYS where the file system or system cannot (nothing changed).
    """
    code = syscalls.rename_with_flags(a_fd, a, b_fd, b, syscalls.RENAME_EXCHANGE)
    if code:
        raise _failure(code, a, b)


def can_exchange(fd: int) -> bool:
    """Whether the file system that `fd` lies on is known to support `exchange`."""
    if syscalls.MACOS:
        return syscalls.fstatfs(fd)[2] == b"apfs"
    return fs_magic(fd) in _EXCHANGE_MAGICS


def renameable(a_fd: int, b_fd: int) -> bool:
    """Whether an object can be renamed from folder `a_fd` to folder `b_fd`. Changes nothing.

    Asks the system to rename a name that does not exist: Linux compares the mounts before it looks the name
    up, so bind mounts of one file system answer EXDEV although the device is the same. Subvolumes of btrfs
    share a mount and differ by device, so that is compared as well.
    """
    name = b".deskshell-probe-" + os.urandom(16).hex().encode()
    code = syscalls.rename_with_flags(a_fd, name, b_fd, name, syscalls.RENAME_NOREPLACE)
    if code == errno.EXDEV:
        return False
    # Every other answer (ENOENT, EACCES, EROFS, …) says nothing about mounts; the rename itself will report it.
    return stat_fd(a_fd).dev == stat_fd(b_fd).dev


def sync_folder(fd: int) -> bool:
    """Make the names in folder `fd` durable.

    Returns:
        False when the system cannot sync this folder (an unreadable one, some network file systems): use
        `sync_filesystem`, or report "not durable".

    Raises:
        OSError: EIO, ENOSPC, EDQUOT and the like: the names may be lost. Never retry this into a success.
    """
    if syscalls.WINDOWS:
        return False
    try:
        os.fsync(fd)
    except OSError as exc:
        if exc.errno in _FOLDER_SYNC_NOT_SUPPORTED:
            return False
        raise
    return True


def sync_file(fd: int) -> None:
    """Make the content and metadata of the open file `fd` durable, through the drive's cache on macOS too.

    Raises:
        OSError: the content may be lost. Never retry this into a success.
    """
    if syscalls.MACOS:
        import fcntl  # not there on Windows

        full_sync = getattr(fcntl, "F_FULLFSYNC", 51)
        try:
            fcntl.fcntl(fd, full_sync)
            return
        except OSError as exc:
            if exc.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):
                raise
    os.fsync(fd)


def sync_filesystem(fd: int) -> None:
    """Make everything on the file system that `fd` lies on durable; where that cannot be told apart, everything.

    Raises:
        OSError: EIO, ENOSPC, EDQUOT: something was not written.
    """
    code = syscalls.syncfs(fd)
    if code == 0:
        return
    if code in (errno.ENOSYS, errno.EBADF):  # EBADF: an O_PATH descriptor, which syncfs does not take
        if hasattr(os, "sync"):
            os.sync()
        return
    raise OSError(code, os.strerror(code))
