"""Long lists in parts: an answer stays small enough for a model to read (25 kB with all that goes around it)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated, Any, TypeVar

from pydantic import Field

#: An answer travels twice, as text and as structure, and stays under 25 kB in sum.
MOST_BYTES = 12_000
_FOR_A_LIST = 8_000
_MOST_ITEMS = 50

Cursor = Annotated[
    str | None,
    Field(
        pattern=r"^[0-9]{1,9}$",
        description="`nextCursor` of the answer before, for the next part of a list",
    ),
]

T = TypeVar("T")


def part(items: Sequence[dict[str, Any]], cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
    """The items from `cursor` on that fit into one answer, and the cursor of the rest (None: that was all).

    At least one item is given, cut to size when it alone is too large.
    """
    start = int(cursor or 0)
    found: list[dict[str, Any]] = []
    room = _FOR_A_LIST
    for item in islice(items, start, None):
        size = _size(item)
        if found and (size > room or len(found) == _MOST_ITEMS):
            break
        found.append(item if size <= room else _cut(item))
        room -= size
    end = start + len(found)
    return found, str(end) if end < len(items) else None


def few(texts: Iterable[str], most: int = 20, columns: int = 300) -> list[str]:
    """The first `most` texts, each cut to size, and a count of the others."""
    given = list(texts)
    found = [text if len(text) <= columns else text[: columns - 1] + "…" for text in given[:most]]
    if len(given) > most:
        found.append(f"… and {len(given) - most:,} more")
    return found


def _size(item: object) -> int:
    return len(json.dumps(item, ensure_ascii=True, separators=(",", ":")))


def _cut(item: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value[:500] + "…" if isinstance(value, str) and len(value) > 500 else value
        for key, value in item.items()
    }
