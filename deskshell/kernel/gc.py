"""Letting undo data expire, oldest first, and never before the journal says so durably (I2)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from deskshell.kernel import history, record
from deskshell.kernel.desk import Desk
from deskshell.slotted import field, replace, slotted
from deskshell.store.kept import Kept

_OURS = r"task-[0-9]{1,18}"
_BEFORE_ALL = -(10**18)  # below the number of any segment


@slotted()
class Expiry:
    """One task whose undo data goes: its bytes, and whether an undo (or redo) ends with it.

    `again` when the journal says already that it expired: not all of it could be deleted then.
    """

    task_id: str
    skill: str
    bytes: int
    ends: str  # undo, redo, or nothing
    again: bool = False

    def to_json(self) -> dict[str, Any]:
        """The object in `expired`."""
        return {"taskId": self.task_id, "skill": self.skill, "bytes": self.bytes, "ends": self.ends}


@slotted()
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

    Without `task_id`: undo data not used for `keep_s` seconds, then the oldest until what remains is
    within `max_bytes`; never the newest. A run, its undos and its redos go together. With `task_id`:
    what that task holds.
    """
    sizes = Kept(desk.folder).sizes()
    total = sum(sizes.values())
    families, spent = _families(desk, sizes)
    if task_id is not None:
        history.find(desk.journal, task_id)
        chosen = [task_id] if task_id in sizes else []
    else:
        chosen = list(spent)
        remaining = total - sum(sizes[each] for each in spent)
        newest = max((each.place for each in families), default=None)
        for family in sorted((each for each in families if each.members), key=lambda each: each.place):
            old = desk.clock_ms() - family.last_ms > keep_s * 1000
            if family.place != newest and (old or remaining > max_bytes):
                chosen += family.members
                remaining -= sum(sizes[each] for each in family.members)
    families_of = {each: family for family in families for each in family.members}
    found = [_expiry(each, sizes[each], families_of.get(each)) for each in chosen]
    return found, total - sum(each.bytes for each in found)


@slotted()
class _Family:
    """A run with its undos and redos: what one of them holds, another may need. It ages from its last one.

    `place` orders families by that one; `members` are those that hold anything, oldest first; `ends`
    is what is lost with it. `over` are those of the members that expired already.
    """

    place: tuple[int, int]
    last_ms: int
    skill: str
    ends: str
    members: list[str] = field(default_factory=list)
    over: set[str] = field(default_factory=set)


def _expiry(task_id: str, size_bytes: int, family: _Family | None) -> Expiry:
    if family is None:
        return Expiry(task_id, "", size_bytes, "nothing")
    again = task_id in family.over
    return Expiry(task_id, family.skill, size_bytes, "nothing" if again else family.ends, again)


def _families(desk: Desk, sizes: Mapping[str, int]) -> tuple[list[_Family], list[str]]:
    """All families down to the oldest that holds anything, and tasks whose holding nobody can need."""
    spent: list[str] = []
    found: dict[str, _Family] = {}
    unknown = {each for each in sizes if re.fullmatch(_OURS, each)}  # nothing else in there is ever touched
    for head in history.heads(desk.journal):
        family = head.of or head.task_id
        if family not in found:  # the newest comes first
            ends = "redo" if head.role == "undo" else "undo"
            place = (head.begin_place.segment, head.begin_place.offset)
            found[family] = _Family(place, head.started_ms, head.skill, ends)
        if head.task_id in unknown:
            unknown.remove(head.task_id)
            if head.status == "rolled-back":  # killed before it could clear up: what it staged
                spent.append(head.task_id)
            else:
                found[family].members.insert(0, head.task_id)
                if head.expired:
                    found[family].over.add(head.task_id)
        if (
            not unknown
        ):  # older tasks hold nothing; this runs at the end of every task, however long the history
            break
    for (
        each
    ) in unknown:  # a crash before its first line, or a journal that was taken away: it ages all the same
        started_ms = int(each.rpartition("-")[2])
        found[each] = _Family((_BEFORE_ALL, started_ms), started_ms, "", "nothing", [each])
    return list(found.values()), spent


def expire(desk: Desk, chosen: Sequence[Expiry], kept_bytes: int) -> GcReport:
    """Write what expires, sync, and only then delete (I2). Raises OSError; then nothing was deleted.

    Args:
        desk: open for writing.
        chosen: as `plan_gc` gave it.
        kept_bytes: the bytes beside it.

    Returns:
        What became of it; what cannot be deleted counts as kept, and is named.
    """
    _write_expired(desk, [each for each in chosen if not each.again])
    stays = {each.task_id: why for each in chosen if (why := desk.forget(each.task_id)) is not None}
    if not stays:
        return report(chosen, kept_bytes, dry_run=False)
    sizes = Kept(desk.folder).sizes()
    gone = [replace(each, bytes=max(0, each.bytes - sizes.get(each.task_id, 0))) for each in chosen]
    more = sum(sizes.get(task_id, 0) for task_id in stays)
    found = report([each for each in gone if each.bytes or not each.again], kept_bytes + more, dry_run=False)
    found.warnings += stays.values()
    return found


def report(chosen: Sequence[Expiry], kept_bytes: int, *, dry_run: bool) -> GcReport:
    """What expires with `chosen`, what that frees, and what it ends."""
    found = GcReport(dry_run, list(chosen), sum(each.bytes for each in chosen), kept_bytes)
    word = "would end" if dry_run else "ended"
    found.warnings = [
        f"{each.ends} of {each.task_id} {word}: its undo data expired"
        for each in chosen
        if each.ends != "nothing"
    ]
    return found


def _write_expired(desk: Desk, chosen: Sequence[Expiry]) -> None:
    if not chosen:
        return
    ts = desk.clock_ms()
    desk.journal.append(
        record.body({"type": "expired", "ts": ts, "taskId": each.task_id, "bytes": each.bytes})
        for each in chosen
    )
    desk.journal.sync()


def drop_segments(desk: Desk) -> list[str]:
    """Drop the oldest journal segments that no task with a future needs; says which went.

    A task is over when its undo data expired, or when it was rolled back: neither can be undone.
    """
    needed = [head.begin_place.segment for head in history.heads(desk.journal) if not _is_over(head)]
    oldest = min(needed, default=desk.journal.place().segment)
    return [f"dropped {name}" for name in desk.journal.drop_before(oldest)]


def _is_over(head: history.Head) -> bool:
    return head.expired or head.status == "rolled-back"
