"""Letting undo data expire, oldest first, and never before the journal says so durably (I2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from deskshell.kernel import history, record
from deskshell.kernel.desk import Desk
from deskshell.store.kept import Kept


@dataclass(slots=True)
class Expiry:
    """One task whose undo data goes: its bytes, and whether an undo (or redo) ends with it."""

    task_id: str
    skill: str
    bytes: int
    ends: str  # undo, redo, or nothing

    def to_json(self) -> dict[str, Any]:
        """The object in `expired`."""
        return {"taskId": self.task_id, "skill": self.skill, "bytes": self.bytes, "ends": self.ends}


@dataclass(slots=True)
class GcReport:
    """What gc freed (or with `dry_run` would free), and what undo data remains."""

    dry_run: bool = False
    expired: list[Expiry] = field(default_factory=list)
    freed_bytes: int = 0
    kept_bytes: int = 0
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The object of `gc --json`."""
        return {
            "dryRun": self.dry_run,
            "freedBytes": self.freed_bytes,
            "keptBytes": self.kept_bytes,
            "expired": [each.to_json() for each in self.expired],
            "warnings": self.warnings,
        }


def plan_gc(
    desk: Desk, *, keep_s: float, max_bytes: int, task_id: str | None = None
) -> tuple[list[Expiry], int]:
    """What is to expire, and the bytes of undo data that remain.

    Without `task_id`: undo data older than `keep_s` seconds, then the oldest until what remains is
    within `max_bytes`; never the newest task's. With it: that task's.
    """
    sizes = Kept(desk.folder).sizes()
    heads = {head.task_id: head for head in history.heads(desk.journal) if head.task_id in sizes}
    order = list(heads)  # newest first
    total = sum(sizes.values())
    if task_id is not None:
        history.find(desk.journal, task_id)
        chosen = [task_id] if task_id in sizes else []
    else:
        newest = next((head.task_id for head in history.heads(desk.journal)), None)
        chosen = [each for each in sizes if each not in heads]  # of no task that the journal knows
        remaining = total - sum(sizes[each] for each in chosen)
        for each in reversed(order):
            old = desk.clock_ms() - heads[each].started_ms > keep_s * 1000
            if each != newest and (old or remaining > max_bytes):
                chosen.append(each)
                remaining -= sizes[each]
    found = []
    for each in chosen:
        head = heads.get(each)
        ends = "nothing" if head is None else ("redo" if head.role == "undo" else "undo")
        found.append(Expiry(each, "" if head is None else head.skill, sizes[each], ends))
    return found, total - sum(each.bytes for each in found)


def expire(desk: Desk, chosen: Iterable[Expiry]) -> None:
    """Write what expires, sync, and only then delete (I2). Raises OSError; then nothing was deleted."""
    chosen = list(chosen)
    if not chosen:
        return
    ts = desk.clock_ms()
    desk.journal.append(
        record.body({"type": "expired", "ts": ts, "taskId": each.task_id, "bytes": each.bytes})
        for each in chosen
    )
    desk.journal.sync()
    for each in chosen:
        desk.forget(each.task_id)


def drop_segments(desk: Desk) -> list[str]:
    """Drop the oldest journal segments that no task with a future needs; says which went.

    A task is over when its undo data expired, or when it was rolled back: neither can be undone.
    """
    needed = [head.begin_place.segment for head in history.heads(desk.journal) if not _is_over(head)]
    oldest = min(needed, default=desk.journal.place().segment)
    return [f"dropped {name}" for name in desk.journal.drop_before(oldest)]


def _is_over(head: history.Head) -> bool:
    return head.expired or head.status == "rolled-back"
