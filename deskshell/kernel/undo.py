"""Undo and redo: a task made from the journal, never from the manifest.

The steps of a recorded task are read from the newest back and each is turned into the effects that
take it back (`inverse`). Entries that cannot be undone are refused one by one, with their cause; the
others go on. A redo is the same over the steps of an undo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing as closes
from dataclasses import dataclass
from typing import Any

from deskshell.errors import Conflict, DeskshellError, NotFound
from deskshell.files import names
from deskshell.files.identity import stat_path
from deskshell.kernel import history, record, select
from deskshell.kernel.capability import Grant, path_roots
from deskshell.kernel.desk import Desk
from deskshell.kernel.effects import get_path
from deskshell.kernel.ground import Ground
from deskshell.kernel.history import Head
from deskshell.kernel.inverse import Sight
from deskshell.kernel.item import Backward
from deskshell.kernel.plain import plain_intent, plain_roots
from deskshell.kernel.report import EntryReport, UndoneTask, ranges, text
from deskshell.kernel.transaction import Closing, Outcome, Transaction

_READ_AHEAD = 500  # intents read at a time, newest first; what an undo holds in memory of its task


@dataclass(frozen=True, slots=True)
class Wish:
    """How to undo: only `steps` (action ids, empty for all), and whether to go over later changes."""

    steps: tuple[str, ...] = ()
    force: bool = False
    owner: str = ""
    front: str = "cli"


def undo_task(desk: Desk, head: Head, wish: Wish) -> UndoneTask:
    """Take back one task. Refused entries are in the report; nothing of theirs is touched."""
    work = _Work(desk, head, wish)
    if not work.order:
        return work.report(None)
    with closes(work.open()) as ground:
        blocked = work.anchors_moved()
        if blocked is not None:
            return work.refuse_all(blocked)
        transaction = Transaction(
            desk, ground, work.begin("undo", {}), go_on=True, closing=lambda done: _close_undo(work, done)
        )
        desk.progress.start(f"undoing {head.task_id}", len(work.visible))
        outcome = transaction.run(work.items())
        desk.progress.finish()
        return work.report(outcome)


def check_task(desk: Desk, head: Head, wish: Wish, sight: Sight | None = None) -> UndoneTask:
    """What `undo_task` would do now. Changes nothing; `sight` carries over what earlier checks would undo."""
    work = _Work(desk, head, wish)
    with closes(work.open()) as ground:
        blocked = work.anchors_moved()
        if blocked is not None:
            return work.refuse_all(blocked)
        if sight is None:
            sight = Sight(ground)
        else:
            sight = sight.over(ground)
        return work.check(sight)


def redo_task(desk: Desk, undo: Head, wish: Wish) -> UndoneTask:
    """Take back an undo exactly: what it held goes back as the very object it was."""
    original = history.find(desk.journal, str(undo.of))
    work = _Work(desk, undo, wish, original=original)
    if not work.order:
        return work.report(None)
    with closes(work.open()) as ground:
        blocked = work.anchors_moved()
        if blocked is not None:
            return work.refuse_all(blocked)
        begin = work.begin("redo", {"undoes": undo.task_id})
        transaction = Transaction(
            desk, ground, begin, go_on=True, closing=lambda done: _close_redo(work, done)
        )
        desk.progress.start(f"redoing {original.task_id}", len(work.visible))
        outcome = transaction.run(work.items())
        desk.progress.finish()
        return work.report(outcome)


class _Work:
    """One recorded task being taken back: its fold, the steps chosen, and what became of them.

    `head` is the task whose effects are inverted (an undo, for a redo); `original` the one that
    reports name.
    """

    def __init__(self, desk: Desk, head: Head, wish: Wish, original: Head | None = None) -> None:
        self.desk = desk
        self.head = head
        self.wish = wish
        self.original = original or head
        self.fold = history.fold(desk.journal, head)
        self.seen: dict[int, Backward] = {}
        self.order = self._choose()
        self.visible = [n for n in self.order if n >= 0]

    def _choose(self) -> list[int]:
        live = [n for n, step in self.fold.steps.items() if step.live or self._pending(n)]
        if self.wish.steps:
            wanted = self._named(live)
            live = [n for n in live if n < 0 or n in wanted]
        live.reverse()
        return live if any(n >= 0 for n in live) else []

    def _pending(self, n: int) -> bool:
        """An undo's own steps have no result lines: all that were begun count, unless it was rolled back."""
        return self.head.role != "run" and self.fold.steps[n].status == "intent"

    def _named(self, live: Sequence[int]) -> set[int]:
        wanted = set()
        by_id: dict[str, int] = {}
        for n in self.fold.steps:
            if n >= 0:
                by_id[str(self.line(n).get("actionId"))] = n
        for name in self.wish.steps:
            found = by_id.get(name, int(name) if name.isdecimal() and int(name) in self.fold.steps else None)
            if found is None:
                raise NotFound(
                    f"task `{self.head.task_id}` has no step `{names.show(name.encode())}`",
                    hint=f"see its steps with `deskshell show {self.head.task_id}`",
                )
            if found in live:
                wanted.add(found)
        return wanted

    # reading

    def line(self, n: int) -> Mapping[str, Any]:
        """The intent that describes step `n` as it is on disk."""
        if self.head.plain:
            return plain_intent(n, self.head.lines[n])
        place = self.fold.steps[n].intent
        if place is None:
            return {"n": n, "actionId": str(n), "kind": "", "fx": [], "irreversible": True}
        return self.desk.journal.line_at(place)

    def items(self) -> Iterator[Backward]:
        """The chosen steps, last done first, read a stretch at a time."""
        for start in range(0, len(self.order), _READ_AHEAD):
            for n in self.order[start : start + _READ_AHEAD]:
                yield self.item(n)

    def item(self, n: int) -> Backward:
        """Step `n` as something to take back."""
        line = self.line(n)
        item = Backward(line, summary=self._summary(n, line), force=self.wish.force, kinds=self.desk.kinds)
        if n >= 0:
            self.seen[n] = item
        return item

    def _summary(self, n: int, line: Mapping[str, Any]) -> str:
        if "summary" in line:
            return str(line["summary"])
        place = self.fold.steps[n].result
        return "" if place is None else str(self.desk.journal.line_at(place).get("summary", ""))

    # scope

    def grants(self) -> list[dict[str, Any]]:
        """The grants that the task recorded: an undo acts within them."""
        return list(self.head.begin.get("grants", ()))

    def open(self) -> Ground:
        """The ground within the task's recorded scopes."""
        if self.head.plain:
            return self.desk.ground(plain_roots(self.head.lines))
        return self.desk.ground(path_roots(Grant.from_json(each) for each in self.grants()))

    def anchors_moved(self) -> Conflict | None:
        """Why the task's folders are not the ones it acted in; None when they are."""
        for anchor in self.head.begin.get("anchors", ()):
            path = get_path(anchor, "path")
            kind, ino, birth_ns = anchor["id"]
            here = stat_path(path)
            if here is None:
                return Conflict(f"folder `{names.show(path)}` is gone", path=path, verdict="blocked")
            if (
                here.ino
                and ino
                and (here.ino != ino or (here.birth_ns and birth_ns and here.birth_ns != birth_ns))
            ):
                return Conflict(f"`{names.show(path)}` is another {kind} than the task acted in", path=path)
        return None

    def begin(self, role: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        """What the `begin` line of the undo or redo says."""
        return {
            "role": role,
            "of": self.original.task_id,
            "skill": self.original.skill,
            "grants": self.grants(),
            "anchors": list(self.head.begin.get("anchors", ())),
            "owner": self.wish.owner,
            "front": self.wish.front,
            "force": self.wish.force,
            **facts,
        }

    # reporting

    def check(self, sight: Sight) -> UndoneTask:
        """Verdicts without acting; `sight` is told what would have happened."""
        entries = []
        for item in self.items():
            try:
                effects = item.look_ahead(sight)
            except (DeskshellError, OSError) as exc:
                if item.n >= 0:
                    entries.append(self._refused(item.n, _conflict(exc)))
                continue
            sight.play(effects)
            if item.n >= 0:
                entries.append(self._entry(item, "undoable" if effects or item.compensates else "already"))
        good = all(entry.good for entry in entries)
        status = ("undone" if good else "refused") if entries else "nothing"
        return self._task(status, 0, entries)

    def report(self, outcome: Outcome | None) -> UndoneTask:
        """What became of each chosen step."""
        if outcome is None:
            return self._task("nothing", 0, [])
        entries = []
        undone = 0
        for n in self.visible:
            if n in outcome.refused:
                entries.append(self._refused(n, outcome.refused[n]))
            elif n in outcome.already:
                entries.append(self._entry(self.seen[n], "already"))
            elif outcome.state.get(n) == "ok":
                undone += 1
                item = self.seen[n]
                entries.append(self._entry(item, "compensated" if item.compensates else "undone"))
            else:
                reason = outcome.error or "not done"
                entries.append(self._refused(n, Conflict(reason, verdict="failed")))
        good = all(entry.good for entry in entries)
        status = "undone" if good else ("partly" if undone else "refused")
        task = self._task(status, undone, entries)
        task.undo_id = outcome.task_id
        task.unknown = outcome.status == "unknown"
        task.notes += outcome.notes
        task.not_restored += outcome.not_restored
        return task

    def refuse_all(self, conflict: Conflict) -> UndoneTask:
        """Nothing of the task can be taken back, for one reason."""
        entries = []
        for n in self.visible:
            self.item(n)
            entries.append(self._refused(n, conflict))
        return self._task("refused" if entries else "nothing", 0, entries)

    def _task(self, status: str, undone: int, entries: list[EntryReport]) -> UndoneTask:
        total = sum(1 for n in self.fold.steps if n >= 0)
        task = UndoneTask(self.original.task_id, self.original.skill, status, undone, total, entries)
        task.notes = [note for item in self.seen.values() for note in item.notes]
        return task

    def _entry(self, item: Backward, verdict: str) -> EntryReport:
        return EntryReport(item.n, item.action_id, verdict, item.target, reason="; ".join(item.notes))

    def _refused(self, n: int, conflict: Conflict) -> EntryReport:
        item = self.seen[n]
        by_task = None
        if conflict.path and conflict.verdict in ("changed", "blocked"):
            by_task = select.who_changed(self.desk.journal, self.original, conflict.path)
        reason = conflict.message + (f" (by {by_task})" if by_task else "")
        return EntryReport(n, item.action_id, conflict.verdict, item.target, conflict.path, reason, by_task)


def _close_undo(work: _Work, done: Transaction) -> Closing:
    """An undo's last words: the task's steps are `rolled-back`, its folders have their earlier times."""
    numbers = _numbers_done(done)
    times = _times(work.fold.before, work.fold.after, work, done)
    lines = [
        record.steps_status(work.desk.clock_ms(), work.original.task_id, span, "rolled-back", done.task_id)
        for span in ranges(numbers)
    ]
    remaining = [n for n in work.fold.live() if n not in numbers]
    return Closing(times, lines, {"of": work.original.task_id, "state": "partly" if remaining else "undone"})


def _close_redo(work: _Work, done: Transaction) -> Closing:
    """A redo's last words: each step is `ok` again, with a new undo."""
    original = history.fold(work.desk.journal, work.original)
    times = _times(work.fold.before, original.after | work.fold.after, work, done)
    lines = []
    for n in sorted(_numbers_done(done)):
        item = work.seen.get(n) or work.item(n)
        effects = done.effects[n].effects if n in done.effects else ()
        lines.append(item.redone(work.desk.clock_ms(), work.original.task_id, done.task_id, effects))
    return Closing(times, lines, {"of": work.original.task_id, "state": "redone"})


def _numbers_done(done: Transaction) -> set[int]:
    return {n for n, state in done.outcome.state.items() if state == "ok"} | set(done.outcome.already)


def _times(
    before: Mapping[bytes, int], after: Mapping[bytes, int], work: _Work, done: Transaction
) -> dict[bytes, int]:
    """Folder times to give back: of folders that nobody changed since, and that nothing is left in."""
    refused = set(done.outcome.refused)
    kept = {path.rpartition(b"/")[0] for n in refused for path in _touched(work, n)}
    others = [n for n, step in work.fold.steps.items() if step.live and n not in work.order]
    kept |= {path.rpartition(b"/")[0] for n in others for path in _touched(work, n)}
    times: dict[bytes, int] = {}
    for folder, mtime_ns in done.before.items():
        if folder not in before or folder in kept:
            continue
        if mtime_ns == after.get(folder):
            times[folder] = before[folder]
        else:
            done.outcome.notes.append(f"folder time of `{names.show(folder)}` kept (changed by others)")
    return times


def _touched(work: _Work, n: int) -> list[bytes]:
    return [path for effect in record.read_effects(work.line(n)) for path in effect.paths()]


def _conflict(exc: Exception) -> Conflict:
    return exc if isinstance(exc, Conflict) else Conflict(text(exc), verdict="failed")
