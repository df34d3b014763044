"""Printed text with everything taken out that differs from run to run, so that it can be compared whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATE = r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
_RULES = [
    (re.compile(r"\bjournal-[0-9TZ:.\-]+\.jsonl"), "journal-<time>-<seq>.jsonl"),
    (re.compile(_DATE), "<date>"),
    (re.compile(r"\b\d\d:\d\d(:\d\d(\.\d+)?)?\b"), "<time>"),
    (re.compile(r"\b\d{13}\b"), "<ms>"),
    (re.compile(r"\b(\d+ min )?\d+(\.\d+)? ?(ms|s|min|h)\b"), "<duration>"),
    (re.compile(r"\bpid \d+"), "pid <n>"),
    (re.compile(r"\b([0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{12}|[0-9a-f]{8})\b"), "<hex>"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
]
_IDS = [(re.compile(r"\btask-\d{10,}\b"), "task-"), (re.compile(r"\b[0-9a-f]{16}\b"), "plan-")]


class Normaliser:
    """Replaces times, durations, ids, digests, process ids and places by names that stay the same.

    Ids of tasks and plans become `task-1`, `task-2`, … in the order they are first seen by this object,
    so that two texts agree only if they mean the same task in the same spots.

    Args:
        places: path → what stands for it, such as `{"/tmp/x/home": "~"}`; the longest path wins.
    """

    def __init__(self, places: Mapping[str, str] | None = None) -> None:
        self._places = sorted((places or {}).items(), key=lambda place: -len(place[0]))
        self._seen: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """`text` normalised; trailing blanks of lines go too."""
        for path, name in self._places:
            text = text.replace(path, name)
        for pattern, prefix in _IDS:
            for found in pattern.findall(text):
                text = text.replace(found, self._name(found, prefix))
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
        return text

    def _name(self, found: str, prefix: str) -> str:
        count = sum(name.startswith(prefix) for name in self._seen.values())
        return self._seen.setdefault(found, f"{prefix}{count + 1}")
