"""What the kernel tells its front ends: values, never text for a terminal.

`to_json` gives the stable shapes of `contract.md`. A report never claims more than the disk shows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from deskshell.errors import DeskshellError
from deskshell.files import names
from deskshell.files.names import put_path
from deskshell.slotted import field, slotted


@slotted()
class StepReport:
    """One step: `status` is planned, ok, failed, rolled-back or skipped.

    `target` is a path (bytes) or URL (str); `taken_back` says of a failed step that its own effects
    are gone again. `reversible` is what the kernel takes back by itself; `compensated` what only a
    counter-action of the skill does.
    """

    n: int
    action_id: str
    kind: str
    summary: str
    target: bytes | str
    status: str
    reversible: bool = True
    error: str | None = None
    taken_back: bool = False
    compensated: bool = False

    def to_json(self) -> dict[str, Any]:
        """The object in `steps`."""
        data: dict[str, Any] = {
            "n": self.n,
            "actionId": self.action_id,
            "kind": self.kind,
            "summary": self.summary,
            "status": self.status,
            "reversible": self.reversible,
            "error": self.error,
        }
        put_target(data, "target", self.target)
        if self.taken_back:
            data["takenBack"] = True
        if self.compensated:
            data["compensated"] = True
        return data


@slotted()
class Left:
    """One change that remains, and why; `final` says that no undo will ever take it back."""

    action_id: str
    target: bytes | str
    reason: str
    final: bool = False

    def to_json(self) -> dict[str, Any]:
        """The object in `left`."""
        data: dict[str, Any] = {"actionId": self.action_id, "reason": self.reason}
        put_target(data, "target", self.target)
        if self.final:
            data["final"] = True
        return data


@slotted()
class TaskReport:
    """One run, or its preview.

    `status` is planned, ok, rolled-back, incomplete, unknown, refused or cancelled; `error` is the
    failure as one line, `hint` what to do about it; `not_restored` lists metadata and times that could not be put
    back; `files` counts steps that changed a file, `seconds` is the wall time of the run.
    """

    task_id: str | None
    skill: str
    mode: str
    status: str
    steps: Sequence[StepReport] = field(default_factory=list)
    rolled_back: int = 0
    error: str | None = None
    left: list[Left] = field(default_factory=list)
    not_restored: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    signum: int = 0
    role: str = "run"
    files: int = 0
    hint: str | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of the contract for this outcome."""
        if self.status in ("incomplete", "unknown"):
            return 3
        if self.signum:
            return 128 + self.signum
        return {"planned": 0, "ok": 0, "rolled-back": 1, "refused": 2, "cancelled": 2}[self.status]

    def to_json(self) -> dict[str, Any]:
        """The object of `run --json`."""
        return {
            "taskId": self.task_id,
            "skill": self.skill,
            "mode": self.mode,
            "status": self.status,
            "steps": [step.to_json() for step in self.steps],
            "rolledBack": self.rolled_back,
            "error": self.error,
            "hint": self.hint,
            "left": [each.to_json() for each in self.left],
            "notRestored": self.not_restored,
            "notes": self.notes,
        }


@slotted()
class EntryReport:
    """What undo did, or with `--check` would do, with one step.

    `verdict` is undone, undoable, compensated, already, changed, blocked, no-undo, needs-secret,
    expired, damaged or failed; `path` is what is in the way; `by_task` the later task that made
    the difference, where one did.
    """

    n: int
    action_id: str
    verdict: str
    target: bytes | str
    path: bytes = b""
    reason: str = ""
    by_task: str | None = None

    @property
    def good(self) -> bool:
        """True when nothing is left to do for this entry."""
        return self.verdict in ("undone", "undoable", "compensated", "already")

    def to_json(self) -> dict[str, Any]:
        """The object in `entries`."""
        data: dict[str, Any] = {"n": self.n, "actionId": self.action_id, "verdict": self.verdict}
        put_target(data, "target", self.target)
        put_path(data, "path", self.path)
        data["reason"] = self.reason
        data["byTask"] = self.by_task
        return data


@slotted()
class UndoneTask:
    """One task of an undo or redo: `status` is undone, partly, refused or nothing.

    `undo_id` is the task that did it, None for a check and when there was nothing to do.
    """

    task_id: str
    skill: str
    status: str
    rolled_back: int
    total: int
    entries: list[EntryReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    not_restored: list[str] = field(default_factory=list)
    undo_id: str | None = None
    unknown: bool = False
    incomplete: bool = False

    def to_json(self) -> dict[str, Any]:
        """The object in `tasks`."""
        return {
            "taskId": self.task_id,
            "skill": self.skill,
            "status": self.status,
            "rolledBack": self.rolled_back,
            "total": self.total,
            "entries": [entry.to_json() for entry in self.entries],
            "notes": self.notes,
            "notRestored": self.not_restored,
            "undoId": self.undo_id,
        }


@slotted()
class UndoReport:
    """An undo, a redo or a check over one or more tasks, newest first.

    `recovered` reports tasks that a crash had left open and that were closed first; `checked` says
    that nothing was changed; `error` is set when it ended before its end; `notes` are about what else
    happened at its end, such as undo data that expired.
    """

    tasks: list[UndoneTask] = field(default_factory=list)
    checked: bool = False
    recovered: list[TaskReport] = field(default_factory=list)
    error: str | None = None
    status: str = "ok"
    signum: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, task: UndoneTask) -> None:
        """Add one task's result; its outcome decides the report's."""
        self.tasks.append(task)
        if task.unknown:
            self.status = "unknown"
        elif task.incomplete and self.status == "ok":
            self.status = "incomplete"

    @property
    def rolled_back(self) -> int:
        """Steps taken back in all tasks."""
        return sum(task.rolled_back for task in self.tasks)

    @property
    def complete(self) -> bool:
        """True when everything asked for is undone (or would be, for a check)."""
        return not self.error and all(entry.good for task in self.tasks for entry in task.entries)

    @property
    def exit_code(self) -> int:
        """The exit code of the contract for this outcome."""
        if self.status in ("unknown", "incomplete"):
            return 3
        if self.signum:
            return 128 + self.signum
        lost = any(task.not_restored for task in self.tasks)
        return 0 if self.complete and not lost else 1

    def to_json(self) -> dict[str, Any]:
        """The object of `undo --json` and `redo --json`."""
        return {
            "rolledBack": self.rolled_back,
            "tasks": [task.to_json() for task in self.tasks],
            "check": self.checked,
            "recovered": [each.to_json() for each in self.recovered],
            "status": self.status,
            "error": self.error,
            "notes": self.notes,
        }


def put_target(data: dict[str, Any], key: str, target: bytes | str) -> None:
    """Write a path or a URL under `key` (see `names.put_path`)."""
    if isinstance(target, bytes):
        put_path(data, key, target)
    else:
        data[key] = target


def show_target(target: bytes | str) -> str:
    """A target for people, escaped."""
    return names.show(target if isinstance(target, bytes) else target.encode("utf-8", "replace"))


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Sorted numbers as inclusive ranges: ``[0, 1, 2, 5]`` → ``[[0, 2], [5, 5]]``."""
    found: list[list[int]] = []
    for n in sorted(numbers):
        if found and found[-1][1] == n - 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    return found


def hint(exc: Exception) -> str | None:
    """What to do about a failure, where that is known."""
    return exc.hint if isinstance(exc, DeskshellError) else None


def text(exc: Exception) -> str:
    """A failure as one line, its names escaped."""
    if isinstance(exc, DeskshellError):
        return exc.message
    if isinstance(exc, OSError) and exc.errno:
        where = (
            f": `{show_target(os.fsencode(exc.filename))}`" if isinstance(exc.filename, str | bytes) else ""
        )
        return f"{os.strerror(exc.errno).lower()}{where}"
    return str(exc)
