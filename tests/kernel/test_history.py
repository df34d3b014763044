"""The journal folded into what is true now: the latest line of a step counts, and no step shows twice."""

from __future__ import annotations

import json

import pytest

from deskshell.errors import NotFound
from deskshell.kernel import history
from deskshell.kernel.assertion import Missing
from tests.support.desk import Bench, move, over, verdicts, write


def states(desk: Bench, task_id: str | None) -> list[str]:
    journal = desk.app.desktop.reading().journal
    fold = history.fold(journal, history.find(journal, str(task_id)))
    return [step.status for n, step in fold.steps.items() if n >= 0]


def test_a_step_has_the_state_of_its_latest_line(desk: Bench) -> None:
    done = desk.run(*(write(name, name) for name in "abc"))
    assert states(desk, done.task_id) == ["ok"] * 3
    desk.undo(steps=["1"])
    assert states(desk, done.task_id) == ["ok", "rolled-back", "ok"]
    desk.undo()
    assert states(desk, done.task_id) == ["rolled-back"] * 3
    desk.redo()
    assert states(desk, done.task_id) == ["ok", "rolled-back", "ok"]


def test_results_of_an_undo_are_written_as_ranges(desk: Bench) -> None:
    """An undo of a thousand steps is not a thousand lines."""
    done = desk.run(*(write(f"{number:03}", "") for number in range(60)))
    desk.undo()

    spans = [
        line["steps"]
        for line in desk.lines()
        if line.get("taskId") == done.task_id and "steps" in line and "type" not in line
    ]
    assert spans == [[0, 59]]
    assert states(desk, done.task_id) == ["rolled-back"] * 60


def test_no_step_shows_twice(desk: Bench) -> None:
    desk.make({"a": "a"})
    desk.run(over("a", "A"), write("b", "b"))
    desk.undo()
    desk.redo()

    entries = list(desk.app.entries())

    assert [entry["actionId"] for entry in entries] == ["fs.write:0", "fs.write:1"]
    assert [entry["status"] for entry in entries] == ["ok", "ok"]


def test_the_line_of_a_finished_step_has_the_form_of_the_contract(desk: Bench) -> None:
    desk.make({"a.txt": "a"})
    done = desk.run(move("a.txt", "docs/a.txt").named("move:a"))

    line = next(
        line for line in desk.lines() if line.get("actionId") == "move:a" and line.get("status") == "ok"
    )

    assert {key: line[key] for key in ("taskId", "actionId", "kind", "summary", "status", "undo", "n")} == {
        "taskId": done.task_id,
        "actionId": "move:a",
        "kind": "fs.move",
        "summary": "move a.txt → docs/a.txt",
        "status": "ok",
        "undo": {"kind": "fs.move", "from": str(desk.root / "docs/a.txt"), "to": str(desk.root / "a.txt")},
        "n": 0,
    }


def test_a_failed_step_keeps_its_error_and_says_that_it_was_taken_back(desk: Bench) -> None:
    done = desk.run(write("a", "a"), write("b", "b").then(Missing(desk.path("b"))))

    line = next(line for line in desk.lines() if line.get("status") == "failed")

    assert line["takenBack"] is True
    assert "post-condition failed" in line["error"]
    assert states(desk, done.task_id) == ["rolled-back", "failed"]


def test_a_task_that_is_not_there_is_not_found(desk: Bench) -> None:
    desk.run(write("a", "a"))
    with pytest.raises(NotFound, match=r"no task `task-1\\n` in the journal"):
        desk.app.show("task-1\n")


# --- journals of older versions -----------------------------------------------------------------------------------


def plain(desk: Bench, *lines: object) -> None:
    """A journal in the source's shape."""
    desk.state.mkdir(mode=0o700)
    (desk.state / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def moved(desk: Bench, name: str, to: str, status: str = "ok", task: str = "task-1") -> dict[str, object]:
    undo = {"kind": "fs.move", "from": str(desk.root / to), "to": str(desk.root / name)}
    return {
        "ts": 1,
        "taskId": task,
        "actionId": f"move:{name}",
        "kind": "fs.move",
        "status": status,
        "undo": undo,
    }


def test_an_old_move_is_undone_as_far_as_its_line_says_how(desk: Bench) -> None:
    desk.make({"new/a": "a"})
    plain(desk, moved(desk, "a", "new/a"))

    assert verdicts(desk.check()) == ["undoable"]
    assert verdicts(desk.undo()) == ["undone"]

    assert desk.read("a") == "a"
    assert [each.status for each in desk.app.log()] == ["ok", "undone"]
    assert verdicts(desk.redo()) == ["undone"]
    assert desk.read("new/a") == "a"


def test_the_latest_line_of_an_old_step_counts(desk: Bench) -> None:
    desk.make({"a": "a", "new/b": "b"})
    plain(
        desk, moved(desk, "a", "new/a"), moved(desk, "b", "new/b"), moved(desk, "a", "new/a", "rolled-back")
    )

    report = desk.undo()

    assert [(entry.action_id, entry.verdict) for entry in report.tasks[0].entries] == [("move:b", "undone")]


def test_lines_that_say_nothing_are_passed_over(desk: Bench) -> None:
    desk.make({"new/a": "a"})
    plain(
        desk, {"foo": 1}, [1], {"taskId": 7, "status": "ok"}, {"taskId": "task-0"}, moved(desk, "a", "new/a")
    )

    assert verdicts(desk.undo()) == ["undone"]
    assert [each.task_id for each in desk.app.log()][1:] == ["task-1", "task-0"]


def test_old_lines_are_no_damage_and_no_proof(desk: Bench) -> None:
    plain(desk, moved(desk, "a", "new/a"))
    desk.run(write("x", "x"))

    report = desk.app.journal_verify()

    assert report.ok
    assert report.unverified_lines == 1
