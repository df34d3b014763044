"""Journal lines of an older version, in the source's shape: no identity, no hash, no begin or end.

They can be undone as far as they say how: a move back, when the object is there and its old name is free.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from deskshell.files.identity import identity, stat_path
from deskshell.kernel.effects import Move


def plain_intent(n: int, line: Mapping[str, Any]) -> dict[str, Any]:
    """An intent made from an old line and what stands on disk now; final where the line does not say how."""
    found: dict[str, Any] = {
        "n": n,
        "actionId": str(line.get("actionId", n)),
        "kind": str(line.get("kind", "")),
        "summary": str(line.get("summary", "")),
        "fx": [],
    }
    move = _move(line)
    if move is None:
        found["irreversible"] = True
        return found
    src, dst = move
    here = stat_path(dst)
    if here is None:
        here = stat_path(src)
    if here is not None:
        found["fx"] = [Move(src, dst, identity(here)).to_json()]
    else:
        found["unknown"] = True
    return found


def plain_roots(lines: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """The folders that old lines acted in: they recorded no scope, so nothing but their own paths."""
    roots: dict[bytes, None] = {}
    for line in lines:
        for path in _move(line) or ():
            roots[path] = None
    return list(roots)


def _move(line: Mapping[str, Any]) -> tuple[bytes, bytes] | None:
    undo = line.get("undo")
    if not isinstance(undo, Mapping) or undo.get("kind") != "fs.move":
        return None
    src, dst = undo.get("to"), undo.get("from")
    if not (isinstance(src, str) and isinstance(dst, str) and src.startswith("/") and dst.startswith("/")):
        return None
    return os.fsencode(src), os.fsencode(dst)
