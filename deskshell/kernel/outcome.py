"""How a transaction ended, and what an undo or redo adds to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskshell.errors import Conflict
from deskshell.kernel.report import Left, text
from deskshell.slotted import NamedTuple, field, slotted


@slotted()
class Outcome:
    """How a transaction ended.

    `status` is ok, rolled-back, incomplete or unknown. `state` maps the numbers of steps that were begun
    to ok, rolled-back or failed; `already` are those that an undo found taken back. `task_id` is None
    when nothing was begun.
    """

    task_id: str | None
    status: str
    state: dict[int, str] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    already: list[int] = field(default_factory=list)
    taken_back: set[int] = field(default_factory=set)
    rolled_back: int = 0
    left: list[Left] = field(default_factory=list)
    not_restored: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    signum: int = 0


class Closing(NamedTuple):
    """What an undo or redo adds: folder times to set, lines on the task it is about, facts of its `end`."""

    times: Mapping[bytes, int]
    lines: list[str]
    facts: Mapping[str, Any]


def as_conflict(exc: Exception) -> Conflict:
    """A failure as the refusal of one entry."""
    if isinstance(exc, Conflict):
        return exc
    return Conflict(text(exc), verdict="failed")
