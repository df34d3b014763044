"""Reports in words: what happened, why not, what is left, and what to do about it."""

from __future__ import annotations

import pytest

from deskshell.cli import reports
from deskshell.kernel.report import EntryReport, Left, StepReport, TaskReport, UndoneTask, UndoReport

TASK = "task-1793201984999"


def step(n: int, status: str, *, kind: str = "fs.move", reversible: bool = True) -> StepReport:
    name = f"{n + 1}-{'move' if kind == 'fs.move' else 'submit'}"
    return StepReport(n, name, kind, f"move {n}", b"/srv/%d" % n, status, reversible=reversible)


def run(status: str, steps: list[StepReport], **facts) -> TaskReport:
    report = TaskReport(TASK, "downloads-cleanup", "apply", status, steps)
    for name, value in facts.items():
        setattr(report, name, value)
    return report


def test_a_run_that_went_well(printed, golden):
    reports.run_report(
        run(
            "ok",
            [step(n, "ok") for n in range(10)],
            files=7,
            seconds=0.21,
            notes=["x.part was left (unfinished)"],
        )
    )

    golden("report-done", printed())


def test_a_run_with_a_step_that_cannot_be_undone(printed, golden):
    steps = [step(0, "ok"), step(1, "ok", kind="http.request", reversible=False)]

    reports.run_report(run("ok", steps, files=1, seconds=1.2))

    golden("report-done-irreversible", printed())


def test_a_run_with_a_step_that_has_a_counter_action(printed):
    """`undo` does send it, so it is offered, and the step is not called final."""
    sent = step(0, "ok", kind="http.request", reversible=False)
    sent.compensated = True

    reports.run_report(run("ok", [sent], seconds=1.2))

    assert printed() == (
        f"done {TASK}: 1 step, 1.2 s\n"
        "undone only by its counter-action: 1-submit\n"
        f"! hint: take it back with `deskshell undo --task {TASK}`\n"
    )


def test_an_undo_says_what_a_counter_action_did(printed):
    """The server was asked to take it back; that is not the same as its never having happened."""
    task = UndoneTask(TASK, "web", "undone", 2, 2, [entry(0, "undone"), entry(1, "compensated")])

    reports.undo_report(UndoReport([task]))

    assert printed() == f"undone {TASK}: web, 2 steps, 1 compensated\n"


def test_nothing_to_do(printed):
    reports.run_report(TaskReport(None, "downloads-cleanup", "apply", "ok"))

    assert printed() == "done: nothing to do\n"


def test_a_failure_that_was_taken_back(printed, golden):
    steps = [step(0, "rolled-back"), step(1, "rolled-back"), step(2, "failed"), step(3, "skipped")]

    reports.run_report(run("rolled-back", steps, rolled_back=3, error="`/srv/2` is taken"))

    golden("report-rolled-back", printed())


def test_a_failure_that_left_something(printed, golden):
    """The report never claims more than the disk shows."""
    steps = [*(step(n, "rolled-back") for n in range(4)), step(4, "failed")]
    left = [Left("5-move", b"/home/ada/note.txt", "changed by another program")]

    reports.run_report(run("incomplete", steps, rolled_back=4, error="no space left on device", left=left))

    golden("report-left", printed())


def test_several_things_left_are_listed(printed, golden):
    left = [
        Left("1-move", b"/srv/a\n", "changed"),
        Left("2-submit", "https://example.org/x", "may have been sent"),
    ]

    reports.run_report(
        run(
            "incomplete",
            [step(0, "ok"), step(1, "failed")],
            error="step 2",
            left=left,
            not_restored=["/srv: acl"],
        )
    )

    golden("report-several-left", printed())


def test_what_the_failing_step_says_to_do_is_printed(printed):
    reports.run_report(
        run("rolled-back", [step(0, "failed")], rolled_back=1, error="`a` is a link", hint="leave it out")
    )

    assert printed().endswith("! error: step `1-move` failed: `a` is a link\n! hint: leave it out\n")


def test_no_undo_is_offered_for_what_can_never_be_undone(printed):
    """A hint that cannot work is worse than none."""
    gone = Left("2-submit", "https://example.org/x", "this step cannot be undone", final=True)
    steps = [step(0, "rolled-back"), step(1, "failed")]
    facts = {"rolled_back": 1, "error": "no answer", "hint": "ask the server first"}

    reports.run_report(run("incomplete", steps, left=[gone], **facts))
    alone = printed()
    reports.run_report(run("incomplete", steps, left=[gone, Left("1-move", b"/srv/a", "changed")], **facts))

    assert "deskshell undo" not in alone
    assert "! hint: ask the server first\n" in alone
    assert f"deskshell undo --task {TASK}" in printed()


def test_a_run_that_was_interrupted_says_by_what(printed):
    reports.run_report(
        run("rolled-back", [step(0, "rolled-back")], rolled_back=1, signum=15, error="interrupted")
    )

    assert printed() == f"rolled back {TASK}: 1 step, 1 taken back, nothing left\n! error: stopped by TERM\n"


def test_an_unknown_outcome_is_not_called_done(printed, golden):
    reports.run_report(run("unknown", [step(0, "ok")], error="the last sync failed: input/output error"))

    golden("report-unknown", printed())


def entry(n: int, verdict: str, reason: str = "") -> EntryReport:
    return EntryReport(n, f"move:{n}.txt", verdict, b"/home/ada/%d.txt" % n, reason=reason)


def test_an_undo_of_several_tasks_prints_a_line_a_task(printed, golden):
    whole = UndoneTask(TASK, "photo-sort", "undone", 13, 13, [entry(n, "undone") for n in range(13)])
    again = UndoneTask("task-1793201984000", "log-archive", "nothing", 0, 5)
    partly = UndoneTask(
        "task-1793201983000",
        "downloads-cleanup",
        "partly",
        8,
        10,
        [
            entry(0, "undone"),
            entry(1, "changed", "`1.txt` changed (by task-1793201984000)"),
            entry(2, "expired", "gone"),
        ],
        notes=["`b.txt` was edited since, and went back as it is now"],
        not_restored=["/home/ada: folder time"],
    )

    reports.undo_report(UndoReport([whole, again, partly]))

    golden("undo-tasks", printed())


def test_an_entry_without_an_undo_is_never_called_undone(printed, golden):
    task = UndoneTask(TASK, "submit-form", "refused", 0, 1, [entry(0, "no-undo", "it has no undo")])

    reports.undo_report(UndoReport([task]))

    golden("undo-no-undo", printed())


def test_a_check_says_for_each_entry_what_would_happen(printed, golden):
    task = UndoneTask(
        TASK,
        "downloads-cleanup",
        "refused",
        0,
        3,
        [entry(0, "undoable"), entry(1, "changed", "`1.txt` changed"), entry(2, "already")],
    )

    reports.undo_report(UndoReport([task], checked=True))

    golden("undo-check", printed())


def test_a_recovered_task_is_reported_before_anything_else(printed, golden):
    crashed = TaskReport(TASK, "photo-sort", "apply", "rolled-back", rolled_back=4)

    reports.undo_report(UndoReport([], recovered=[crashed]))

    golden("undo-recovered", printed())


@pytest.mark.parametrize("word, text", [("undone", "nothing to undo\n"), ("redone", "nothing to redo\n")])
def test_an_empty_history_has_nothing_to_undo(printed, word, text):
    reports.undo_report(UndoReport(), word=word)

    assert printed() == text


def test_many_notes_are_cut(printed):
    reports.run_report(run("ok", [step(0, "ok")], notes=[f"note {n}" for n in range(1000)]))

    shown = printed().splitlines()
    assert sum("note 1" in line for line in shown) == 11
    assert "! note: … and 980 more; `--json` lists them all" in shown
