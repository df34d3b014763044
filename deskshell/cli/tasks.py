"""What `log` and `show` print: tasks, their steps, and what changed in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deskshell.cli import output
from deskshell.cli.columns import say_table
from deskshell.cli.output import Styled
from deskshell.cli.wording import count, seconds, shell_path, size, when
from deskshell.kernel.report import show_target

if TYPE_CHECKING:
    from deskshell.app.diff import StepDiff
    from deskshell.app.log import StepDetail, TaskDetail, TaskSummary

_STYLES = {
    "ok": "green",
    "rolled-back": "yellow",
    "incomplete": "red",
    "failed": "red",
    "recovery pending": "red",
}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def say_log(found: Sequence[TaskSummary]) -> None:
    """A table of tasks, a line each."""
    if not found:
        output.tell("no tasks")
        return
    rows: list[list[str | Styled]] = [
        [each.task_id, when(each.started_ms), _what(each), _status(each.status), f"{each.steps:,}"]
        for each in found
    ]
    say_table(["task", "started", "skill", "status", "steps"], rows, right=frozenset([4]), flexible=(2,))


def _what(task: TaskSummary) -> str:
    return task.skill if task.role == "run" else f"{task.role} of {task.of}"


def _status(status: str) -> Styled:
    return Styled(status, _STYLES.get(status, ""))


def say_detail(detail: TaskDetail) -> None:
    """One task: the facts of its begin, a table of its steps, and what is left of it."""
    task = detail.summary
    output.say(Styled(task.task_id, "bold"), f": {_what(task)}, ", _status(task.status))
    facts = {"started": when(task.started_ms)}
    if task.ended_ms is not None:
        facts["took"] = seconds(max(task.ended_ms - task.started_ms, 0) / 1000)
    facts |= _facts(detail.facts)
    if detail.undone_by:
        facts["later"] = ", ".join(detail.undone_by)
    if task.error:
        facts["failed"] = task.error
    wide = max(map(len, facts)) + 2
    for name, fact in facts.items():
        output.say(Styled(f"  {name.ljust(wide)}", "dim"), fact)
    if detail.steps:
        output.say("")
        _say_steps(detail.steps, task.role)
    _say_rest(detail)


def _facts(begin: Mapping[str, Any]) -> dict[str, str]:
    """What a task's begin line says, for people: who ran what, from where, with which values and grants."""
    found: dict[str, str] = {}
    if begin.get("version") or begin.get("found"):
        found["skill"] = " from ".join(str(begin[key]) for key in ("version", "found") if begin.get(key))
    by = [str(begin[key]) for key in ("owner", "front") if begin.get(key)]
    if begin.get("host"):
        by.append(f"on {begin['host']}")
    if by:
        found["by"] = ", ".join(by)
    for name, value in (begin.get("params") or {}).items():
        if not str(name).endswith("Bytes"):
            found[f"set {name}"] = "(secret)" if isinstance(value, Mapping) else str(value)
    for grant in begin.get("grants") or ():
        scopes = [str(each.get("path", each.get("url", ""))) for each in grant.get("scope", ())]
        found[str(grant.get("capability"))] = ", ".join(shell_path(each) for each in scopes)
    for name, value in (begin.get("refs") or {}).items():
        found[str(name)] = str(value)
    return found


def _say_steps(steps: Sequence[StepDetail], role: str) -> None:
    """A line a step: of a run with how it is undone, of an undo or redo what it took or put back."""
    what = {"undo": "taken back", "redo": "put back"}.get(role, "what")
    head, droppable = ["n", "step", what, "status"], [2]
    rows: list[list[str | Styled]] = []
    for step in steps:
        report = step.report
        told = report.summary or show_target(report.target)
        rows.append([str(report.n), report.action_id, told, _status(report.status)])
    if role == "run":
        droppable.append(len(head))
        head.append("undo")
        for row, step in zip(rows, steps, strict=True):
            row.append("none" if step.undo is None else str(step.undo.get("kind", "yes")))
    say_table(head, rows, right=frozenset([0]), flexible=(1, 2), droppable=droppable)


def _say_rest(detail: TaskDetail) -> None:
    for step in detail.steps:
        if step.report.error:
            output.say(Styled("failed:", "red"), f" {step.report.action_id}: {step.report.error}")
    for left in detail.left:
        output.say(Styled("left:", "yellow"), f" {show_target(left.target)} ({left.reason})")
    for line in detail.not_restored:
        output.say(Styled("not restored:", "yellow"), f" {line}")
    cost = sum(step.cost_bytes for step in detail.steps)
    output.say("")
    output.say(f"{count(len(detail.steps), 'step')}; {size(cost)} kept for undo")


def say_diff(found: Iterable[StepDiff]) -> None:
    """A unified diff a text file, hashes for anything else."""
    for each in found:
        output.say("")
        if each.lines is None:
            output.say(Styled(show_target(each.target), "bold"), ": no text that can be compared")
            output.say(Styled(f"- sha256 {each.before_sha256 or 'none'}", "red"))
            output.say(Styled(f"+ sha256 {each.after_sha256 or 'none'}", "green"))
            continue
        if not each.lines:
            output.say(Styled(show_target(each.target), "bold"), ": content unchanged")
        for i, line in enumerate(each.lines):
            style = "bold" if i < 2 else _DIFF_STYLES.get(line[:1], "")
            output.say(Styled(line, style))
