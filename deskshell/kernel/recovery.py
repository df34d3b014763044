"""Closing what a crash left open: the task is taken back, and gets its one end (I5).

A task without an `end` did not commit, so the state before it is what the next start finds. Recovery
may itself be killed at any point and run again (I9).
"""

from __future__ import annotations

from contextlib import closing as closes

from deskshell.errors import DeskshellError, OutcomeUnknown
from deskshell.kernel import history, record, rollback
from deskshell.kernel.capability import Grant, path_roots
from deskshell.kernel.desk import Desk
from deskshell.kernel.ground import Ground
from deskshell.kernel.history import Head
from deskshell.kernel.report import Left, TaskReport, text
from deskshell.kernel.rollback import TakenBack
from deskshell.kernel.transaction import write_surely

_WHY = "interrupted (crash, kill or power cut)"


def recover(desk: Desk) -> list[TaskReport]:
    """Close the task that was left open, if one was; the caller holds the lock and opened the journal.

    Raises OutcomeUnknown when its end cannot be made durable; nothing is lost, and it can be run again.
    """
    head = history.find_open(desk.journal)
    return [] if head is None else [_close(desk, head)]


def _close(desk: Desk, head: Head) -> TaskReport:
    found = _take_back(desk, head)
    status = "incomplete" if found.left else "rolled-back"
    rolled_back = len([n for n in found.back if n >= 0])
    ts = desk.clock_ms()
    end = {
        "type": "end",
        "ts": ts,
        "taskId": head.task_id,
        "status": status,
        "begin": list(head.begin_place),
        "steps": len([n for n in found.back | set(found.left) if n >= 0]),
        "rolledBack": rolled_back,
        "error": _WHY,
        "recovered": True,
    }
    if found.left:
        end["left"] = record.left_list(found.left.values())
    if found.not_restored:
        end["notRestored"] = found.not_restored[:100]
    if head.of is not None:
        end["of"] = head.of
    lines = rollback.result_lines(ts, head.task_id, found)
    try:
        write_surely(desk, [*lines, record.body(end)])
    except OSError as exc:
        raise OutcomeUnknown(
            f"task `{head.task_id}` was taken back, but its end cannot be written: {text(exc)}",
            hint="free some space or repair the disk, then run `deskshell recover`",
        ) from exc
    if status == "rolled-back":
        desk.forget(head.task_id)
    report = TaskReport(head.task_id, head.skill, "apply", status, rolled_back=rolled_back, error=_WHY)
    report.left = list(found.left.values())
    report.not_restored = found.not_restored
    report.role = head.role
    return report


def _take_back(desk: Desk, head: Head) -> TakenBack:
    roots = path_roots(Grant.from_json(each) for each in head.begin.get("grants", ()))
    try:
        with closes(desk.ground(roots)) as ground:
            own = record.read_folder_list(head.begin.get("own", ()))
            return desk.walled(ground, lambda: _take_back_on(desk, ground, head), own=own)
    except (
        DeskshellError,
        OSError,
    ) as exc:  # the folder itself cannot be opened: all of it is left, and said so
        return _all_left(desk, head, text(exc))


def _take_back_on(desk: Desk, ground: Ground, head: Head) -> TakenBack:
    found = rollback.take_back(desk, ground, head.task_id, head.begin_place, since_ms=head.started_ms)
    ground.sync()
    return found


def _all_left(desk: Desk, head: Head, reason: str) -> TakenBack:
    found = TakenBack()
    for _, line in desk.journal.forward(head.begin_place):
        if line.get("taskId") == head.task_id and line.get("status") == "intent":
            paths = [path for effect in record.read_effects(line) for path in effect.paths()]
            target: bytes | str = paths[-1] if paths else ""
            found.left[line["n"]] = Left(line["actionId"], target, reason, bool(line.get("irreversible")))
    return found
