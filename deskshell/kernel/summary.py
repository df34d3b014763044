"""The words of a step's one line: names short and escaped, a target by the part that differs."""

from __future__ import annotations

from functools import lru_cache

from deskshell.files import names

_WIDTH = 80  # columns a name; with a verb and an arrow a line stays below 200 characters


def name(path: bytes) -> str:
    """The last component of `path`, safe to print."""
    return names.shorten(names.show(path.rpartition(b"/")[2]), _WIDTH)


def arrow(src: bytes, dst: bytes) -> str:
    """``a.txt → docs/a.txt``: the name of `src`, and `dst` from the folder on that both share."""
    cut = _shared(src.rpartition(b"/")[0], dst.rpartition(b"/")[0])
    return f"{name(src)} → {names.shorten(names.show(dst[cut:]), _WIDTH)}"


@lru_cache(maxsize=64)  # neighbours in a plan have the same folders
def _shared(folder: bytes, other: bytes) -> int:
    """How many bytes of `other`, and of the slash behind them, are folders that `folder` has, too."""
    shared = 0
    for one, two in zip(folder.split(b"/"), other.split(b"/"), strict=False):
        if one != two:
            break
        shared += len(two) + 1
    return shared
