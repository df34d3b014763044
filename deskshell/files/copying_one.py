"""A verified copy of one object that is no folder."""

from __future__ import annotations

import errno
import hashlib
import os
import stat as stat_bits
from collections.abc import Callable

from deskshell.errors import Conflict, StepFailed
from deskshell.files.content import copy_content
from deskshell.files.identity import Stat, stat_at, stat_fd
from deskshell.files.metadata import apply_metadata, apply_metadata_fd, read_metadata, read_metadata_at
from deskshell.files.moving import sync_file
from deskshell.files.names import show
from deskshell.files.reading import hash_fd, open_file
from deskshell.files.writing import Copied, create_file, discard

Tick = Callable[[int], None]


def copy_one(src_fd: int, src: bytes, dst_fd: int, dst: bytes, *, tick: Tick | None) -> Copied:
    """`copying.copy_object` for anything but a folder."""
    found = stat_at(src_fd, src)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), src)
    if found.kind == "file":
        return _copy_file(src_fd, src, dst_fd, dst, tick)
    return _copy_special(src_fd, src, dst_fd, dst, found)


def changed(name: bytes) -> StepFailed:
    """The failure to raise when an original did not hold still."""
    return StepFailed(
        f"`{show(name)}` changed while it was copied", hint="try again when nothing writes to it any more"
    )


def unchanged(before: Stat, after: Stat | None) -> bool:
    """Whether the original is the same object with the same size, mtime and ctime."""
    return after is not None and before[:6] == after[:6]


def _copy_file(src_fd: int, src: bytes, dst_fd: int, dst: bytes, tick: Tick | None) -> Copied:
    source, before = open_file(src_fd, src)
    try:
        meta = read_metadata(source)
        # Never wider than the original, not even for a moment: the rest of the mode comes after the content.
        copy = create_file(dst_fd, dst)
        try:
            sha256 = copy_content(source, copy, before.size, tick)
            not_kept = apply_metadata_fd(copy, meta)
            sync_file(copy)
            if not unchanged(before, stat_fd(source)):
                raise changed(src)
            _forget_pages(copy)
            if hash_fd(copy, tick) != sha256:
                raise StepFailed(f"the copy of `{show(src)}` differs from it when read back")
            return Copied(stat_fd(copy), sha256, before.size, tuple(not_kept))
        except BaseException:
            discard(dst_fd, dst, copy)
            raise
        finally:
            os.close(copy)
    finally:
        os.close(source)


def _forget_pages(fd: int) -> None:
    """Have the read-back come from the disk and not from memory, as far as the system takes the hint."""
    if hasattr(os, "posix_fadvise"):
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            pass  # a hint only


def _copy_special(src_fd: int, src: bytes, dst_fd: int, dst: bytes, found: Stat) -> Copied:
    """A link, fifo or device."""
    meta = read_metadata_at(src_fd, src)
    sha256 = ""
    if found.kind == "link":
        target = os.readlink(src, dir_fd=src_fd)
        sha256 = hashlib.sha256(target).hexdigest()
        os.symlink(target, dst, dir_fd=dst_fd)
    elif found.kind == "fifo":
        os.mkfifo(dst, 0o600, dir_fd=dst_fd)
    elif found.kind == "socket":
        raise StepFailed(
            f"`{show(src)}` is a socket, which cannot be copied", hint="move it by rename instead"
        )
    else:
        _make_device(src_fd, src, dst_fd, dst)
    made = stat_at(dst_fd, dst)
    try:
        not_kept = apply_metadata(dst_fd, dst, meta)
        now = stat_at(dst_fd, dst)
        if made is None or now is None or (made.kind, made.ino) != (now.kind, now.ino):
            raise Conflict(f"`{show(dst)}` was replaced while it was made")
        if not unchanged(found, stat_at(src_fd, src)):
            raise changed(src)
        if found.kind == "link" and os.readlink(dst, dir_fd=dst_fd) != target:
            raise StepFailed(f"the copy of `{show(src)}` differs from it when read back")
    except BaseException:
        unmake(dst_fd, dst, made)
        raise
    return Copied(now, sha256, 0, tuple(not_kept))


def _make_device(src_fd: int, src: bytes, dst_fd: int, dst: bytes) -> None:
    raw = os.stat(src, dir_fd=src_fd, follow_symlinks=False)
    try:
        os.mknod(dst, stat_bits.S_IFMT(raw.st_mode) | 0o600, raw.st_rdev, dir_fd=dst_fd)
    except PermissionError as exc:
        raise StepFailed(f"`{show(src)}` is a device, which only root can copy") from exc


def unmake(dir_fd: int, name: bytes, made: Stat | None) -> None:
    """Remove an object that this module made, unless the name is somebody else's by now. Raises nothing."""
    try:
        now = stat_at(dir_fd, name)
        if (
            made is None
            or now is None
            or (now.kind, now.ino, now.birth_ns) != (made.kind, made.ino, made.birth_ns)
        ):
            return
        if made.kind == "folder":
            os.rmdir(name, dir_fd=dir_fd)  # not empty: something of somebody else's lies in it
        else:
            os.unlink(name, dir_fd=dir_fd)
    except OSError:
        pass  # the error that led here matters more; a leftover has the name of a temporary
