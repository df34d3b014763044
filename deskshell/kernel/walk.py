"""A recorded task's steps as they are on disk, last done first: one pass backwards, a step at a time.

What was said later about the task (undone, redone) stands behind it and is met first, so each line is
read once and nothing but a status a step is kept in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from deskshell.files.paths import is_within
from deskshell.kernel import record
from deskshell.kernel.effects import Drop, Move
from deskshell.kernel.folder_time import KnownTimes
from deskshell.kernel.history import Head, numbers
from deskshell.kernel.plain import plain_intent
from deskshell.slotted import NamedTuple
from deskshell.store.journal import Journal

_GONE = "failed-and-taken-back"


class Recorded(NamedTuple):
    """A step that is on disk: its intent as the journal has it, and its summary.

    `ctime_ns` is the change time of the object that it left, None when that was not written down. `unsure` says
    that its counter-action may have been sent: who was about to do so was interrupted.
    """

    n: int
    line: Mapping[str, Any]
    summary: str
    ctime_ns: int | None = None
    unsure: bool = False


class Walk:
    """Iterates the steps of `head` that are on disk.

    Steps that are `settled` are passed over. Implied folders of a run come after the steps that needed them,
    and only when one of those is there.
    While iterating it fills `status` (by step number, the latest), `total` (visible steps), `before` and
    `after` (times of folders: before the task's first change, after the last by it or about it).
    """

    def __init__(self, journal: Journal, head: Head, settled: Collection[int] = ()) -> None:
        self._journal = journal
        self.head = head
        self._settled = settled
        self.status: dict[int, str] = {}
        self.total = 0
        self.before = KnownTimes()
        self.after = KnownTimes()
        self._summaries: dict[int, str] = {}
        self._ctimes: dict[int, int] = {}
        self._met: set[int] = set()
        self._unsure: set[int] = set()
        self._as_run = False
        # What an incomplete run or undo left behind can be tried again, were it a mere folder.
        partly = any((later.end or {}).get("state") == "partly" for later in head.later[:1])
        self._visible = head.role != "run" or head.status == "incomplete" or partly

    def __iter__(self) -> Iterator[Recorded]:
        for later in self.head.later:
            yield from self._shown(self._later(later))
            # Once all is redone, what was said before it no longer holds: all is as the run had left it.
            ended = later.end or {}
            self._as_run = self._as_run or (later.status == "ok" and ended.get("state") == "redone")
        yield from self._shown(self._plain() if self.head.plain else self._own())

    def _shown(self, steps: Iterator[Recorded]) -> Iterator[Recorded]:
        for step in steps:
            self._visible = self._visible or step.n >= 0
            if self._visible:
                yield step

    def _later(self, later: Head) -> Iterator[Recorded]:
        """Claims of an undo or redo; the steps that a redo put back are described by its own intents."""
        put_back: set[int] = set()
        spoken = later.status == "rolled-back"  # then the folders have the times of before it again
        gone: list[bytes] = []  # what it put away, so that its last word has nothing on it
        for line in self._lines(later):
            kind = line.get("type")
            if line.get("taskId") == self.head.task_id and kind is None:
                for n in numbers(line):
                    if n not in self.status:
                        self._take(n, line)
                        if later.role == "redo" and self.status[n] == "ok":
                            put_back.add(n)
            elif kind == "folders" and not self._as_run:
                # Its last word counts; the lines of its batches hold in between, and for what then went away.
                self._note_after(line, within=gone if spoken else None)
                spoken = True
            elif line.get("status") == "intent" and "args" in line and (later.end or {}).get("recovered"):
                self._unsure.add(line["n"])  # where a result was recorded, the step is no longer there
            elif line.get("status") == "intent" and line["n"] in put_back:
                gone += _put_away(line)
                self._met.add(line["n"])
                yield Recorded(line["n"], line, self._summary(line))

    def _own(self) -> Iterator[Recorded]:
        for line in self._lines(self.head):
            kind = line.get("type")
            if line.get("taskId") != self.head.task_id:
                continue  # what an undo (walked for a redo) says of its task
            if kind == "batch":
                for path, time in record.read_folder_times(line["folders"]).items():
                    self.before.note(path, time, over=True)
            elif kind == "folders":
                self._note_after(line)
            elif kind == "counter" and (self.head.end or {}).get("recovered"):
                self._unsure.add(line["n"])
            elif kind is None and line["status"] == "intent":
                step = self._intent(line)
                if step is not None:
                    yield step
            elif kind is None:
                for n in numbers(line):
                    if n not in self.status:
                        self._take(n, line)
                    elif "summary" in line:
                        self._summaries.setdefault(n, line["summary"])

    def _intent(self, line: Mapping[str, Any]) -> Recorded | None:
        """The step of an intent line, when it is on disk as this line has it."""
        n = line["n"]
        self.total += n >= 0
        # An undo writes no result lines: all that it began counts, unless it was rolled back.
        status = self.status.setdefault(n, "intent" if self.head.role == "run" else "ok")
        if status in ("ok", "failed") and n not in self._met and n not in self._settled:
            return Recorded(n, line, self._summary(line), self._ctimes.pop(n, None), n in self._unsure)
        return None

    def _plain(self) -> Iterator[Recorded]:
        for n in range(len(self.head.lines) - 1, -1, -1):
            self.total += 1
            line = self.head.lines[n]
            status = self.status.setdefault(n, str(line.get("status", "")))
            if status == "ok" and n not in self._met:
                yield Recorded(n, plain_intent(n, line), str(line.get("summary", "")))

    def _lines(self, head: Head) -> Iterator[dict[str, Any]]:
        for place, line in self._journal.backward(head.end_place):
            if place == head.begin_place:
                return
            yield line

    def _take(self, n: int, line: Mapping[str, Any]) -> None:
        self.status[n] = _GONE if line.get("takenBack") else line["status"]
        if "summary" in line:
            self._summaries[n] = line["summary"]
        if "ctime" in line:
            self._ctimes[n] = line["ctime"]

    def _note_after(self, line: Mapping[str, Any], within: list[bytes] | None = None) -> None:
        for path, time in record.read_folder_times(line["folders"]).items():
            if within is None or any(is_within(path, each) for each in within):
                self.after.note(path, time, over=False)

    def _summary(self, line: Mapping[str, Any]) -> str:
        return str(line.get("summary") or self._summaries.pop(line["n"], ""))


def _put_away(line: Mapping[str, Any]) -> list[bytes]:
    """The paths from which an intent's folders go into holding, or away with a copy kept."""
    found = []
    for effect in record.read_effects(line):
        if isinstance(effect, Drop) and effect.id.kind == "folder":
            found.append(effect.path)
        elif isinstance(effect, Move) and effect.id.kind == "folder" and effect.dst[:1] != b"/":
            found.append(effect.src)
    return found


def put_back_since(journal: Journal, original: Head, undo: Head) -> set[int]:
    """Numbers of the steps of `original` that `undo` took back and that a later, partial redo put back."""
    status: dict[int, str] = {}
    for later in original.later:
        if later.task_id == undo.task_id:
            break
        for place, line in journal.backward(later.end_place):
            if place == later.begin_place:
                break
            if line.get("taskId") == original.task_id and line.get("type") is None:
                for n in numbers(line):
                    status.setdefault(n, line["status"])
    return {n for n in status if status[n] == "ok"}


def note_times_after(journal: Journal, head: Head, known: KnownTimes) -> None:
    """Add the times of folders as a task left them; none for one that was rolled back."""
    if head.status == "rolled-back":
        return
    for place, line in journal.backward(head.end_place):
        if place == head.begin_place:
            break
        if line.get("type") == "folders":
            for path, time in record.read_folder_times(line["folders"]).items():
                known.note(path, time, over=False)
