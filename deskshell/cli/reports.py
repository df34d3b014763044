"""Reports of runs and undos as lines of text: what was done to standard output, why not to standard error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from deskshell.cli import output
from deskshell.cli.faults import tell
from deskshell.cli.output import Styled
from deskshell.cli.wording import count, seconds, shell_path
from deskshell.kernel.report import EntryReport, Left, TaskReport, UndoneTask, UndoReport, show_target

if TYPE_CHECKING:
    from deskshell.app import App

_NOT_BEGUN = ("planned", "skipped")
_SIGNALS = {1: "HUP", 2: "INT", 15: "TERM"}
_MOST_LINES = 20

_FORCE = "keep a copy and go ahead with `deskshell undo --task {task} --force`"
#: What the user can do about an entry that was not undone, by verdict; `{task}` is the task's id.
_HINTS = {
    "changed": "see what changed with `deskshell undo --task {task} --check`, or " + _FORCE,
    "blocked": "move what is in the way, or look closer with `deskshell undo --task {task} --check`",
    "no-undo": "it was known before it ran that this cannot be undone; take it back by hand",
    "expired": "`deskshell gc` let its undo data go; what it changed can be seen with `deskshell show {task}`",
    "damaged": "what was kept for undo is not as it was; check the disk with `deskshell doctor`",
    "needs-secret": "set the variable that is named, or run `undo` on a terminal and answer the prompt",
    "failed": "when the cause is gone, try again with `deskshell undo --task {task}`",
}
_CHECK_HINTS = {**_HINTS, "changed": _FORCE, "blocked": "move what is in the way"}
_AGAIN = "try again with `deskshell redo --task {task}`"
_REDO_HINTS = {
    **_HINTS,
    "changed": f"put it back as the undo had left it, then {_AGAIN}",
    "blocked": f"move what is in the way, then {_AGAIN}",
    "no-undo": "run it anew",
    "needs-secret": f"set the variable that is named, then {_AGAIN}",
    "failed": f"when the cause is gone, {_AGAIN}",
}


def run_report(report: TaskReport) -> None:
    """Print how a run ended; with what remains, where something does."""
    tell_notes(report.notes)
    if report.status == "ok":
        _ok(report)
    else:
        _not_ok(report)
    label = "not kept:" if report.status == "ok" else "not restored:"  # by its copies, or by its rollback
    for line in report.not_restored:
        output.tell(Styled(label, "yellow"), f" {line}")


def _ok(report: TaskReport) -> None:
    if not report.steps:
        output.say(Styled("done:", "green"), " nothing to do")
        return
    facts = [count(len(report.steps), "step")]
    if report.files:
        facts.append(count(report.files, "file"))
    facts.append(seconds(report.seconds))
    output.say(Styled("done", "green"), f" {report.task_id}: {', '.join(facts)}")
    final = [step.action_id for step in report.steps if not step.reversible and not step.compensated]
    if final:
        output.say(f"cannot be undone: {shortened(final)}")
    countered = [step.action_id for step in report.steps if step.compensated]
    if countered:
        output.say(f"undone only by its counter-action: {shortened(countered)}")
    if len(final) < len(report.steps):
        output.tell(Styled("hint:", "cyan"), f" take it back with `deskshell undo --task {report.task_id}`")


def _not_ok(report: TaskReport) -> None:
    failed = next((step for step in report.steps if step.status == "failed"), None)
    why = report.error or "the run did not end well"
    if report.signum:
        why = f"stopped by {_SIGNALS.get(report.signum, f'signal {report.signum}')}"
    elif failed is not None and failed.action_id not in why:
        why = f"step `{failed.action_id}` failed: {why}"
    words = {"rolled-back": ("rolled back", "yellow"), "unknown": ("outcome unknown", "red")}
    word, style = words.get(report.status, (report.status, "red"))
    tell(why)
    begun = sum(step.status not in _NOT_BEGUN for step in report.steps)
    facts = f"{count(begun, 'step')}, {report.rolled_back:,} taken back"
    name = f" {report.task_id}" if report.task_id else ""
    if report.status == "unknown":
        output.say(Styled(word, style), f"{name}: {count(begun, 'step')}; what is on disk is not known")
    elif not report.left and not report.rolled_back:
        output.say(Styled(word, style), f"{name}: nothing was changed")
    elif len(report.left) == 1:
        output.say(Styled(word, style), f"{name}: {facts}, 1 left: {_left(report.left[0])}")
    elif report.left:
        output.say(Styled(word, style), f"{name}: {facts}, {len(report.left):,} left:")
        for each in report.left:
            output.say(f"  {_left(each)}")
    else:
        output.say(Styled(word, style), f"{name}: {facts}, nothing left")
    if report.hint:
        output.tell(Styled("hint:", "cyan"), f" {report.hint}")
    if report.task_id and any(not each.final for each in report.left):
        output.tell(
            Styled("hint:", "cyan"),
            f" when the cause is gone, try again with `deskshell undo --task {report.task_id}`",
        )
    elif report.status == "unknown":
        output.tell(
            Styled("hint:", "cyan"), " check the disk, then let `deskshell recover` look at what happened"
        )


def _left(left: Left) -> str:
    return f"{shell_path(show_target(left.target))} ({left.reason})"


def undo_report(report: UndoReport, *, word: str = "undone") -> None:
    """Print a line a task, newest first, then why entries stand, each with its cause.

    Args:
        report: of an undo, a check or a redo.
        word: what became of the tasks: undone or redone.
    """
    recovered_reports(report.recovered)
    if report.checked:
        _check(report)
    for task in [] if report.checked else report.tasks:
        _undone(task, word)
    tell_notes(report.notes)
    if report.error:
        tell(report.error)
    if report.signum and not report.error:
        tell(f"stopped by {_SIGNALS.get(report.signum, f'signal {report.signum}')} after the task in hand")
    if not report.tasks and not report.recovered and not report.error:
        output.say(f"nothing to {'redo' if word == 'redone' else 'undo'}")


def recovered_reports(reports: Iterable[TaskReport]) -> None:
    """Say which interrupted tasks were closed before anything else happened."""
    for each in reports:
        state = f"{each.rolled_back:,} taken back"
        if each.left:
            state += f", {len(each.left):,} left"
        output.say(Styled("recovered", "yellow"), f" {each.task_id}: {each.skill} was interrupted; {state}")
        for left in each.left:
            output.say(f"  {_left(left)}")
        tell_notes(each.notes)


def _undone(task: UndoneTask, word: str) -> None:
    bad = [entry for entry in task.entries if not entry.good]
    if task.status == "nothing" and not bad:
        output.say(f"nothing to do for {task.task_id}: {task.skill} is already {word}")
        return
    label = {"undone": word, "partly": f"partly {word}"}.get(task.status, f"not {word}")
    if task.status == "undone":
        steps = count(task.rolled_back, "step")
    else:
        steps = f"{task.rolled_back:,} of {count(task.total, 'step')}"
    compensated = sum(entry.verdict == "compensated" for entry in task.entries)
    if compensated:
        steps += f", {compensated:,} compensated"
    output.say(
        Styled(label, "green" if task.status == "undone" else "yellow"),
        f" {task.task_id}: {task.skill}, {steps}",
    )
    tell_notes(task.notes)
    for line in task.not_restored:
        output.tell(Styled("not restored:", "yellow"), f" {line}")
    for entry in bad:
        tell(_cause(entry))
    _hints(task, _REDO_HINTS if word == "redone" else _HINTS)


def _cause(entry: EntryReport) -> str:
    reason = entry.reason or f"`{show_target(entry.path or entry.target)}` is {entry.verdict}"
    by = f" (by {entry.by_task})" if entry.by_task else ""
    return f"step `{entry.action_id}`: {reason}{by}, left as it is"


def _check(report: UndoReport) -> None:
    """What an undo would do now, entry by entry; nothing was changed."""
    for task in report.tasks:
        good = sum(entry.verdict in ("undoable", "compensated") for entry in task.entries)
        output.say(
            Styled(task.task_id, "bold"),
            f": {task.skill}, {good:,} of {count(task.total, 'step')} would be undone",
        )
        wide = max((len(entry.verdict) for entry in task.entries), default=0)
        for entry in task.entries:
            style = "green" if entry.good else "yellow"
            reason = f"  ({entry.reason})" if entry.reason else ""
            by = f"  by {entry.by_task}" if entry.by_task else ""
            output.say(
                "  ",
                Styled(entry.verdict.ljust(wide), style),
                f"  {entry.action_id}  {shell_path(show_target(entry.target))}{reason}{by}",
            )
        tell_notes(task.notes)
        _hints(task, _CHECK_HINTS)


def _hints(task: UndoneTask, words: Mapping[str, str]) -> None:
    """One line for each kind of refusal, in `words` by verdict."""
    for verdict in dict.fromkeys(entry.verdict for entry in task.entries if not entry.good):
        hint = words.get(verdict)
        if hint:
            output.tell(Styled("hint:", "cyan"), " " + hint.format(task=task.task_id))


def tell_pending(app: App) -> None:
    """Say that a task is running, or was interrupted: what is shown does not know its end."""
    note = app.pending()
    if note:
        tell_notes([note])


def tell_notes(notes: Iterable[str]) -> None:
    """Facts for the reader, a line each; a long list is cut."""
    notes = list(notes)
    for note in notes[:_MOST_LINES]:
        output.tell(Styled("note:", "cyan"), f" {note}")
    if len(notes) > _MOST_LINES:
        output.tell(
            Styled("note:", "cyan"), f" … and {len(notes) - _MOST_LINES:,} more; `--json` lists them all"
        )


def shortened(names: list[str], most: int = 5) -> str:
    """``a, b, c and 9,980 more``."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"
