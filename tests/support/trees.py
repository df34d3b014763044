"""Folders made from a dictionary, so that a test shows its world as a value."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Content: TypeAlias = str | bytes | tuple[str, ...] | tuple[str, str | bytes] | None
"""Text or bytes of a file; None for a folder; `("->", target)` a link; `("=", name)` a hard link; `("|",)` a fifo."""


def make_files(
    root: str | bytes | os.PathLike[str],
    entries: Mapping[str, Content] | Mapping[bytes, Content],
    *,
    mtime: float | None = None,
) -> None:
    """Make `entries` below `root`, parents included, in the order given.

    Args:
        root: made when missing.
        entries: name relative to `root` → content, see `Content`. A folder's name ends with `/`.
        mtime: seconds since the epoch that every entry gets, folders last; None leaves the clock's.

    Raises:
        FileExistsError: a name is already there; this never writes over anything.
    """
    top = os.fsencode(root)
    os.makedirs(top, exist_ok=True)
    made = []
    for name, content in entries.items():
        path = os.path.join(top, os.fsencode(name))
        _make(top, path, content)
        made.append(path.rstrip(b"/"))
    if mtime is not None:
        folders = {parent for path in made for parent in _parents(path, top)}
        for path in [*made, *sorted(folders, key=len, reverse=True)]:
            os.utime(path, (mtime, mtime), follow_symlinks=False)


def remove_closed(top: str | bytes | os.PathLike[str]) -> None:
    """Remove a folder of ours, with folders in it that were closed to us."""
    os.chmod(top, 0o700)
    for parent, names, _ in os.walk(os.fsencode(top)):  # top down: opened before they are entered
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(top)


def _make(top: bytes, path: bytes, content: Content) -> None:
    if content is None:
        if not path.endswith(b"/"):
            raise ValueError(f"a folder's name ends with `/`: {path!r}")
        os.makedirs(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    match content:
        case str() | bytes():
            with open(path, "xb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
        case ("->", target):
            os.symlink(os.fsencode(target), path)
        case ("=", name):
            os.link(os.path.join(top, os.fsencode(name)), path)
        case ("|",):
            os.mkfifo(path)
        case _:
            raise ValueError(f"not a content: {content!r}")


def _parents(path: bytes, top: bytes) -> list[bytes]:
    """The folders between `path` and `top`, `top` included."""
    found = []
    while path != top:
        path = os.path.dirname(path)
        found.append(path)
    return found
