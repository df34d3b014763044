"""Undo over one task or several, newest first. A module of its own, for a look at the history does without."""

from __future__ import annotations

from deskshell.kernel.desk import Desk
from deskshell.kernel.history import Head
from deskshell.kernel.inverse import Expected
from deskshell.kernel.report import UndoneTask, UndoReport
from deskshell.kernel.undo import Wish, check_task, undo_task

__all__ = ["Wish", "all_good", "check_all", "take_back"]


def take_back(desk: Desk, chosen: list[Head], wish: Wish, report: UndoReport) -> None:
    """Undo tasks in order, up to a signal; `report` says what became of each."""
    for head in chosen:
        if desk.stop.signum:
            report.signum = desk.stop.signum
            report.error = f"stopped before {head.task_id}"
            break
        report.add(undo_task(desk, head, wish))


def all_good(desk: Desk, chosen: list[Head], wish: Wish, report: UndoReport) -> bool:
    """Whether every entry can be undone; else `report` is made the refusal."""
    checked = check_all(desk, chosen, wish)
    if all(entry.good for each in checked for entry in each.entries):
        return True
    for task in checked:  # the good ones, too, are not touched
        task.status = "refused"
    report.tasks, report.status = checked, "refused"
    report.error = "not everything can be undone, so nothing was (all or nothing)"
    return False


def check_all(desk: Desk, chosen: list[Head], wish: Wish) -> list[UndoneTask]:
    """Check tasks in order, each with what the undos before it would have changed."""
    expected = Expected()
    return [check_task(desk, head, wish, expected) for head in chosen]
