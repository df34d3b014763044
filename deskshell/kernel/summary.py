"""The words of a step's one line: names short and escaped, a target by the part that differs."""

from __future__ import annotations

from deskshell.files import names

_WIDTH = 80  # columns a name; with a verb and an arrow a line stays below 200 characters


def name(path: bytes) -> str:
    """The last component of `path`, safe to print."""
    return names.shorten(names.show(path.rpartition(b"/")[2]), _WIDTH)


def arrow(src: bytes, dst: bytes) -> str:
    """``a.txt → docs/a.txt``: the name of `src`, and `dst` from the folder on that both share."""
    parts, others = src.split(b"/")[:-1], dst.split(b"/")
    shared = 0
    while shared < min(len(parts), len(others) - 1) and parts[shared] == others[shared]:
        shared += 1
    return f"{name(src)} → {names.shorten(names.show(b'/'.join(others[shared:])), _WIDTH)}"
