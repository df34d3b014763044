"""Paths as bytes: made absolute and free of links for planning, and compared by whole components."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from deskshell.errors import NotFound, ScopeError
from deskshell.files.identity import Stat, stat_path
from deskshell.files.names import NAME_MAX, show

_MAX_LINKS = 40  # as the kernel


def resolve(path: bytes) -> bytes:
    """The absolute path without links, `.` and `..` that `path` leads to at this moment.

    Links are followed up to the deepest component that exists; what is missing is kept as it is written
    (`..` after a missing component takes that component back). For planning only: acting goes by `Places`.

    Raises:
        ScopeError: links form a loop, a name or the path is too long, a folder on the way cannot be searched,
            or `path` is empty or holds a NUL byte.
        NotFound: something that is no folder is used as one.
    """
    if not path or b"\0" in path:
        raise ScopeError(f"`{show(path)}` is no path")
    if not path.startswith(b"/"):
        path = os.getcwdb() + b"/" + path
    pending = path.split(b"/")[::-1]
    done: list[bytes] = []
    missing = 0  # how many components at the end of `done` do not exist
    links = 0
    while pending:
        part = pending.pop()
        if part in (b"", b"."):
            continue
        if part == b"..":
            if done:
                done.pop()
                missing = max(missing - 1, 0)
            continue
        done.append(part)
        if missing:
            missing += 1
            continue
        here = b"/" + b"/".join(done)
        found = _look(here, path)
        if found is None:
            missing = 1
        elif found.kind == "link":
            links += 1
            if links > _MAX_LINKS:
                raise ScopeError(f"`{show(path)}` leads through a loop of links")
            target = os.readlink(here)
            done = [] if target.startswith(b"/") else done[:-1]
            pending.extend(target.split(b"/")[::-1])
        elif found.kind != "folder" and any(rest not in (b"", b".") for rest in pending):
            raise NotFound(f"`{show(here)}` is not a folder")
    return b"/" + b"/".join(done)


def _look(here: bytes, path: bytes) -> Stat | None:
    try:
        return stat_path(here)
    except PermissionError as exc:
        parent = here.rpartition(b"/")[0] or b"/"
        raise ScopeError(f"`{show(path)}` leads through `{show(parent)}`, which may not be searched") from exc
    except OSError as exc:
        if exc.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise ScopeError(f"`{show(path)}` is too long for this file system") from exc
        raise


def resolve_target(path: bytes) -> bytes:
    """`resolve` of the parent, plus the last name as it is: a target that is a link is the link itself.

    Raises:
        ScopeError, NotFound: as `resolve`; ScopeError too when the last component is `.`, `..` or missing.
    """
    parent, _, name = path.rstrip(b"/").rpartition(b"/")
    if name in (b".", b".."):
        raise ScopeError(f"`{show(path)}` does not name anything")
    if not name:
        return resolve(path)  # the root folder itself, or an error
    if not parent:
        parent = b"/" if path.startswith(b"/") else b"."
    target = resolve(parent)
    if len(name) > NAME_MAX or b"\0" in name:
        raise ScopeError(f"`{show(path)}` is too long for this file system, or holds a NUL byte")
    return join(target, name)


def join(folder: bytes, name: bytes) -> bytes:
    """`folder/name`, right for the root folder too."""
    return folder + name if folder.endswith(b"/") else folder + b"/" + name


def is_within(path: bytes, root: bytes) -> bool:
    """Whether the resolved `path` is `root` or lies below it, by whole components."""
    return path == root or path.startswith(root if root.endswith(b"/") else root + b"/")


class PathIndex:
    """Resolved paths, found again by paths that are one of them, lie below one, or above."""

    def __init__(self) -> None:
        self._paths: set[bytes] = set()
        self._below: dict[bytes, list[bytes]] = {}  # folder → the paths in it, at any depth

    def __bool__(self) -> bool:
        return bool(self._paths)

    def add(self, path: bytes) -> None:
        """Take `path` in."""
        if path not in self._paths:
            self._paths.add(path)
            for folder in _above(path):
                self._below.setdefault(folder, []).append(path)

    def related(self, path: bytes) -> Iterator[bytes]:
        """Yield those taken in that are `path`, a folder around it, or inside it; each once."""
        if path in self._paths:
            yield path
        yield from (folder for folder in _above(path) if folder in self._paths)
        yield from self._below.get(path, ())


def _above(path: bytes) -> Iterator[bytes]:
    while path := path.rpartition(b"/")[0]:
        yield path
