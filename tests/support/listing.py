"""A folder as a value: every entry below it with all the metadata that undo promises to bring back."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TYPES = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
}
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Entry:
    """One name in a tree.

    Attributes:
        type: `file`, `folder`, `link`, `fifo`, `socket`, …
        mode: permission bits with setuid, setgid and sticky.
        mtime_ns: nanoseconds since the epoch; of the link itself for a link.
        size: bytes of a file or link; None for a folder, whose size belongs to the file system.
        sha256: hex digest of a file's content, `UNREADABLE` where this user may not read it, else None.
        target: what a link points to, never followed.
        links: the other names inside the tree of the same file, sorted; `nlink` counts those outside too.
        xattrs: (name, hex value) pairs that this user can see, sorted; POSIX ACLs are among them.
    """

    type: str
    mode: str
    uid: int
    gid: int
    mtime_ns: int
    size: int | None
    sha256: str | None
    target: str | None
    nlink: int | None
    links: tuple[str, ...]
    xattrs: tuple[tuple[str, str], ...]


def listing(path: str | bytes | os.PathLike[str]) -> dict[str, Entry]:
    """The tree at `path`, itself as `.` included, by path relative to it.

    Never follows a link and never opens what is not a regular file, so a fifo cannot block it. Names
    that are not UTF-8 come with surrogate escapes. A folder that may not be read is listed without
    what is in it.

    Raises:
        OSError: `path` does not exist.
    """
    found = {name: (full, os.lstat(full)) for name, full in _walk(os.fsencode(path))}
    names: dict[tuple[int, int], list[str]] = {}
    for name, (_, status) in found.items():
        if not stat.S_ISDIR(status.st_mode):
            names.setdefault((status.st_dev, status.st_ino), []).append(name)
    return {
        name: _entry(full, status, [n for n in names.get((status.st_dev, status.st_ino), []) if n != name])
        for name, (full, status) in sorted(found.items())
    }


def difference(before: dict[str, Entry], after: dict[str, Entry]) -> list[str]:
    """What differs between two listings, a line each; empty when they are equal."""
    lines = [f"gone: {name}" for name in before.keys() - after.keys()]
    lines += [f"new: {name} ({after[name].type})" for name in after.keys() - before.keys()]
    for name in before.keys() & after.keys():
        for field in fields(Entry):
            old, new = getattr(before[name], field.name), getattr(after[name], field.name)
            if old != new:
                lines.append(f"{name}: {field.name} {old} → {new}")
    return sorted(lines)


def _walk(top: bytes) -> Iterator[tuple[str, bytes]]:
    """(name relative to `top`, full path) of `top` and all below it."""
    yield ".", top
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                children = list(entries)
        except (PermissionError, NotADirectoryError):
            continue
        for child in children:
            yield os.fsdecode(os.path.relpath(child.path, top)), child.path
            if child.is_dir(follow_symlinks=False):
                waiting.append(child.path)


def _entry(path: bytes, status: os.stat_result, links: list[str]) -> Entry:
    is_file, is_folder = stat.S_ISREG(status.st_mode), stat.S_ISDIR(status.st_mode)
    is_link = stat.S_ISLNK(status.st_mode)
    return Entry(
        type=_TYPES.get(stat.S_IFMT(status.st_mode), "unknown"),
        mode=oct(stat.S_IMODE(status.st_mode)),
        uid=status.st_uid,
        gid=status.st_gid,
        mtime_ns=status.st_mtime_ns,
        size=status.st_size if is_file or is_link else None,
        sha256=_sha256(path) if is_file else None,
        target=os.fsdecode(os.readlink(path)) if is_link else None,
        nlink=None if is_folder else status.st_nlink,
        links=tuple(sorted(links)),
        xattrs=_xattrs(path),
    )


def _sha256(path: bytes) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except PermissionError:
        return UNREADABLE


def _xattrs(path: bytes) -> tuple[tuple[str, str], ...]:
    if not hasattr(os, "listxattr"):  # macOS keeps them behind another interface
        return ()
    try:
        names = sorted(os.listxattr(path, follow_symlinks=False))
        return tuple((name, os.getxattr(path, name, follow_symlinks=False).hex()) for name in names)
    except OSError:  # a file system without them, or a file that may not be read
        return ()
