"""What `log` and `show` print: tasks, their steps, and what changed in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from deskshell.cli import output
from deskshell.cli.columns import say_table
from deskshell.cli.output import Styled
from deskshell.cli.wording import count, seconds, size, when
from deskshell.kernel.report import show_target

if TYPE_CHECKING:
    from deskshell.app import StepDiff, TaskDetail, TaskSummary

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
    say_table(["task", "started", "skill", "status", "steps"], rows, right=frozenset([4]), flexible=2)


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
    facts |= detail.facts
    wide = max(map(len, facts)) + 2
    for name, fact in facts.items():
        output.say(Styled(f"  {name.ljust(wide)}", "dim"), fact)
    if detail.steps:
        output.say("")
        rows: list[list[str | Styled]] = [
            [
                str(step.n),
                step.action_id,
                step.summary or show_target(step.target),
                _status(step.status),
                step.undo,
            ]
            for step in detail.steps
        ]
        say_table(["n", "step", "what", "status", "undo"], rows, right=frozenset([0]), flexible=2)
    for step in detail.steps:
        if step.error:
            output.say(f"step `{step.action_id}` failed: {step.error}")
    for left in detail.left:
        output.say(Styled("left:", "yellow"), f" {show_target(left.target)} ({left.reason})")
    cost = sum(step.cost_bytes or 0 for step in detail.steps)
    output.say("")
    output.say(f"{count(len(detail.steps), 'step')}; {size(cost)} kept for undo")


def say_diff(found: Iterable[StepDiff]) -> None:
    """A unified diff a text file, hashes for anything else."""
    for each in found:
        output.say("")
        if each.lines is None:
            output.say(Styled(show_target(each.target), "bold"), ": no text that can be compared")
            output.say(Styled(f"- sha256 {each.before_sha or 'none'}", "red"))
            output.say(Styled(f"+ sha256 {each.after_sha or 'none'}", "green"))
            continue
        if not each.lines:
            output.say(Styled(show_target(each.target), "bold"), ": content unchanged")
        for i, line in enumerate(each.lines):
            style = "bold" if i < 2 else _DIFF_STYLES.get(line[:1], "")
            output.say(Styled(line, style))
