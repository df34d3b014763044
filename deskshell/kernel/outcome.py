"""How a transaction ended, and what an undo or redo adds to its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deskshell.errors import Conflict
from deskshell.kernel.report import Left, text
from deskshell.slotted import NamedTuple, field, slotted


class States:
    """What became of the steps that were begun, by their number: a byte a step, for plans have hundreds of thousands."""

    __slots__ = ("_implied", "_planned")

    _NAMES = ("", "ok", "rolled-back", "failed")

    def __init__(self) -> None:
        self._planned = bytearray()  # at `n`, the place of the state in `_NAMES`
        self._implied = bytearray()  # the same of folders that a step needs, numbered -1, -2, …

    def __setitem__(self, n: int, state: str) -> None:
        codes, at = (self._planned, n) if n >= 0 else (self._implied, ~n)
        if at >= len(codes):
            codes.extend(bytes(at + 1 - len(codes)))
        codes[at] = self._NAMES.index(state)

    def get(self, n: int, default: str) -> str:
        """The state of step `n`, or `default` when it was not begun."""
        codes, at = (self._planned, n) if n >= 0 else (self._implied, ~n)
        return (self._NAMES[codes[at]] if at < len(codes) else "") or default

    def ok(self) -> Iterator[int]:
        """The numbers of steps that are ok."""
        yield from (n for n, code in enumerate(self._planned) if code == 1)
        yield from (~at for at, code in enumerate(self._implied) if code == 1)

    @property
    def planned(self) -> int:
        """How many steps were begun, implied folders left out."""
        return len(self._planned) - self._planned.count(0)


@slotted()
class Outcome:
    """How a transaction ended.

    `status` is ok, rolled-back, incomplete or unknown. `state` tells of the steps that were begun
    ok, rolled-back or failed; `already` are those that an undo found taken back. `task_id` is None
    when nothing was begun.
    """

    task_id: str | None
    status: str
    state: States = field(default_factory=States)
    errors: dict[int, str] = field(default_factory=dict)
    already: list[int] = field(default_factory=list)
    taken_back: set[int] = field(default_factory=set)
    rolled_back: int = 0
    left: list[Left] = field(default_factory=list)
    not_restored: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    hint: str | None = None  # what to do about `error`
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
