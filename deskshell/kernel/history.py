"""The journal read as tasks: heads from the newest back, and one task's steps folded to what is true now.

A step is (task, n) and its state is its latest line. `heads` reads one line a finished task (its end
says where it began), so finding the newest task costs the same in a journal of a million entries.
Everything said later about a task (undone, redone, expired) stands after it, so a walk from the newest
back has met all of it by the time it meets the task itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deskshell.errors import NotFound
from deskshell.files import names
from deskshell.slotted import field, slotted
from deskshell.store.journal import Journal
from deskshell.store.segments import Place

OPEN = "open"


@slotted()
class Head:
    """One task as the journal has it: its `begin`, its `end` (None while open) and where they stand.

    `later` are undos and redos of this task, newest first; `expired` says that its held objects are
    gone. A task written by an older version (`plain`) has no begin; its lines are in `lines`.
    """

    task_id: str
    begin: Mapping[str, Any]
    end: Mapping[str, Any] | None
    begin_place: Place
    end_place: Place | None
    later: list[Head] = field(default_factory=list)
    expired: bool = False
    plain: bool = False
    lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def role(self) -> str:
        """`run`, `undo` or `redo`."""
        return str(self.begin.get("role", "run"))

    @property
    def of(self) -> str | None:
        """The task that an undo or redo is about."""
        return self.begin.get("of")

    @property
    def skill(self) -> str:
        """The skill's name, empty when the journal does not say."""
        return str(self.begin.get("skill", ""))

    @property
    def started_ms(self) -> int:
        """When it began, by the clock of that moment."""
        return int(self.begin.get("ts", 0))

    @property
    def status(self) -> str:
        """`open`, or how it ended."""
        return OPEN if self.end is None else str(self.end["status"])


def heads(journal: Journal) -> Iterator[Head]:
    """Every task, newest first, with what later tasks say about it."""
    later: dict[str, list[Head]] = {}
    expired: set[str] = set()
    for head in _heads(journal, expired):
        if head.of is not None:
            later.setdefault(head.of, []).append(head)
        else:
            head.later = later.pop(head.task_id, [])
        head.expired = head.task_id in expired
        yield head


def _heads(journal: Journal, expired: set[str]) -> Iterator[Head]:
    lines = journal.backward()
    pending: list[tuple[Place, dict[str, Any]]] = []  # steps of a task whose end or begin has not been met
    while True:
        found = next(lines, None)
        if found is None:
            yield from _plain_heads(pending)
            return
        place, line = found
        kind = line.get("type")
        if "check" not in line:
            if kind is not None or not isinstance(line.get("taskId"), str):
                continue
            if pending and pending[-1][1]["taskId"] != line["taskId"]:
                yield from _plain_heads(pending)
                pending = []
            pending.append((place, line))
        elif kind == "end":
            begin_place = Place(*line["begin"])
            yield Head(line["taskId"], journal.line_at(begin_place), line, begin_place, place)
            lines = journal.backward(begin_place)
        elif kind == "begin":
            yield Head(line["taskId"], line, None, place, None)
            pending.clear()
        elif kind == "expired":
            expired.add(line["taskId"])


def _plain_heads(found: list[tuple[Place, dict[str, Any]]]) -> Iterator[Head]:
    """The task of some lines of an older version, given newest first; a step's latest line counts."""
    if not found:
        return
    steps: dict[str, dict[str, Any]] = {}
    for number, (_, line) in enumerate(reversed(found)):
        key = str(line.get("actionId", number))
        steps[key] = steps.get(key, {}) | {"status": "ok"} | _trusted(line)
    place, first = found[-1]
    begin = {"taskId": first["taskId"], "ts": _ms(first), "role": "run", "skill": ""}
    end = {"taskId": first["taskId"], "status": "ok", "ts": _ms(found[0][1])}
    yield Head(str(first["taskId"]), begin, end, place, None, plain=True, lines=list(steps.values()))


_PLAIN: Mapping[str, type] = {
    "taskId": str,
    "actionId": str,
    "kind": str,
    "summary": str,
    "status": str,
    "error": str,
    "sha256": str,
    "undo": dict,
    "irreversible": bool,
}


def _trusted(line: Mapping[str, Any]) -> dict[str, Any]:
    """What a line without a check may say: the keys of the old shape, each of its type."""
    return {key: line[key] for key, kind in _PLAIN.items() if isinstance(line.get(key), kind)}


def _ms(line: Mapping[str, Any]) -> int:
    ts = line.get("ts")
    return int(ts) if isinstance(ts, int | float) and abs(ts) < 1e15 else 0


def find(journal: Journal, task_id: str) -> Head:
    """The task with this id. Raises NotFound."""
    for head in heads(journal):
        if head.task_id == task_id:
            return head
    raise unknown(task_id)


def unknown(task_id: str) -> NotFound:
    """What an id that names no task (or none that the caller may see) is answered with."""
    return NotFound(f"no task `{names.show(task_id.encode())}` in the journal", hint="see `deskshell log`")


def find_open(journal: Journal) -> Head | None:
    """The task that a crash left without an end, or that is running now."""
    for head in _heads(journal, set()):
        return head if head.end is None and not head.plain else None
    return None


def last_id_ms(journal: Journal) -> int:
    """The number in the newest task id, 0 in an empty journal."""
    for head in _heads(journal, set()):
        return _id_ms(head.task_id)
    return 0


def _id_ms(task_id: str) -> int:
    number = task_id.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


@slotted()
class StepState:
    """One step, folded: `status`, where its intent and latest result stand, and which task last made it so.

    `source` is the task whose intent describes the step as it is on disk: its own, or a redo's.
    """

    status: str = "intent"
    intent: Place | None = None
    result: Place | None = None
    source: str = ""
    taken_back: bool = False
    undone_by: str | None = None

    @property
    def live(self) -> bool:
        """Something of this step is on disk."""
        return self.status == "ok" or (self.status == "failed" and not self.taken_back)


@slotted()
class Fold:
    """A task's steps by number, in the order they were begun."""

    head: Head
    steps: dict[int, StepState] = field(default_factory=dict)

    def live(self) -> list[int]:
        """Numbers of visible steps that are on disk, in the order they were begun."""
        return [n for n, step in self.steps.items() if n >= 0 and step.live]

    @property
    def undone(self) -> bool:
        """True when nothing visible of the task is on disk any more."""
        return not self.live()


def fold(journal: Journal, head: Head) -> Fold:
    """Read a task's lines, and those that later tasks wrote about it, into what is true now."""
    found = Fold(head)
    if head.plain:
        for n, line in enumerate(head.lines):
            _fold_result(found, line | {"n": n}, None)
        for later in reversed(head.later):
            _fold_later(journal, found, later)
        return found
    for place, line in journal.forward(head.begin_place, head.end_place):
        if line.get("taskId") == head.task_id:
            _fold_line(found, place, line, head.task_id)
    for later in reversed(head.later):
        _fold_later(journal, found, later)
    return found


def _fold_later(journal: Journal, found: Fold, later: Head) -> None:
    """What an undo or redo says about the task: nothing before it has ended (it may be rolled back)."""
    task_id = found.head.task_id
    intents: dict[int, Place] = {}
    for place, line in journal.forward(later.begin_place, later.end_place):
        if line.get("taskId") == later.task_id:
            if line.get("status") == "intent":
                intents[line["n"]] = place
        elif line.get("taskId") == task_id:
            _fold_result(found, line, place)
            if later.role == "redo":
                for n in numbers(line):
                    if n in intents:
                        found.steps[n].intent, found.steps[n].source = intents[n], later.task_id


def _fold_line(found: Fold, place: Place, line: Mapping[str, Any], source: str) -> None:
    kind = line.get("type")
    if kind is None:
        if line["status"] == "intent":
            step = found.steps.setdefault(line["n"], StepState())
            step.intent, step.source = place, source
        else:
            _fold_result(found, line, place)


def _fold_result(found: Fold, line: Mapping[str, Any], place: Place | None) -> None:
    for n in numbers(line):
        step = found.steps.setdefault(n, StepState())
        step.status = line["status"]
        step.taken_back = bool(line.get("takenBack"))
        step.undone_by = line.get("by") if step.status == "rolled-back" else None
        if "n" in line and "summary" in line:
            step.result = place


def numbers(line: Mapping[str, Any]) -> range:
    """The steps that a result line speaks of: one, or a range."""
    if "steps" in line:
        first, last = line["steps"]
        return range(first, last + 1)
    return range(line["n"], line["n"] + 1)
