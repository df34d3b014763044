"""Undo data expires by age and size, never the newest's, and never before the journal says so durably (I2)."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

from deskshell.errors import NotFound
from tests.support.desk import Bench, delete, move, over, verdicts, write


def three(desk: Bench) -> list[str]:
    """Three tasks that each hold something, oldest first."""
    desk.make({name: name * 5000 for name in "abc"})
    return [str(desk.run(delete(name)).task_id) for name in "abc"]


def expired(desk: Bench, **options: Any) -> list[str]:
    return [each.task_id for each in desk.app.gc(**options).expired]


def test_size_lets_the_oldest_go_first_and_never_the_newest(desk: Bench) -> None:
    tasks = three(desk)

    assert expired(desk, max_bytes=20_000) == tasks[:1]
    assert expired(desk, max_bytes=0) == tasks[1:2]
    assert expired(desk, max_bytes=0, keep_s=0) == []

    assert verdicts(desk.check(last=3)) == ["undoable", "expired", "expired"]
    assert verdicts(desk.undo(last=3)) == ["undone", "expired", "expired"]


def test_age_lets_all_but_the_newest_go(desk: Bench) -> None:
    tasks = three(desk)

    assert expired(desk, keep_s=3600) == []
    assert expired(desk, keep_s=-1) == tasks[:2]


def test_it_runs_at_the_end_of_a_task_and_says_so(desk: Bench) -> None:
    tasks = three(desk)
    desk.settings = {"max_bytes": 0}

    report = desk.run(write("n", "n"))

    assert [note for note in report.notes if "expired" in note] == [
        f"undo of {task} ended: its undo data expired" for task in tasks
    ]


def test_it_runs_at_the_end_of_an_undo_and_of_a_redo_and_says_so(desk: Bench) -> None:
    """Nobody finds out from a failing undo that another one had ended it."""
    oldest, older, newest = three(desk)
    desk.settings = {"keep_s": 0}

    undone = desk.undo()

    ended = [f"undo of {task} ended: its undo data expired" for task in (oldest, older)]
    assert undone.notes == ended
    assert undone.to_json()["notes"] == ended
    desk.settings = {}
    desk.make({"d": "d" * 5000})
    last = desk.run(delete("d")).task_id
    desk.settings = {"keep_s": 0}
    assert desk.redo(newest).notes == [f"undo of {last} ended: its undo data expired"]


@contextmanager
def undeletable() -> Iterator[None]:
    """What is held cannot be deleted, as with `chattr +i` or a medium that became read-only."""
    real = os.unlink

    def refuse(path: Any, *, dir_fd: int | None = None) -> None:
        if dir_fd is not None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        real(path)

    with mock.patch.object(os, "unlink", refuse):
        yield


def test_what_cannot_be_deleted_counts_as_kept(desk: Bench) -> None:
    """The disk is as full as before, and it says so, once in the journal and each time to the user."""
    (task, *_) = three(desk)
    with undeletable():
        first = desk.app.gc(task=task)
        again = desk.app.gc(task=task)
    total = desk.app.gc(dry_run=True).kept_bytes
    late = desk.app.gc(task=task)

    assert [(each.task_id, each.bytes, each.ends) for each in first.expired] == [(task, 0, "undo")]
    assert again.expired == []
    for report in (first, again):
        assert (report.freed_bytes, report.kept_bytes) == (0, total)
        assert report.warnings[-1].startswith(
            f"not all that was kept for {task} could be deleted: Operation not"
        )
    assert [line["taskId"] for line in desk.lines() if line.get("type") == "expired"] == [task]
    assert [(each.task_id, each.ends) for each in late.expired] == [(task, "nothing")]
    assert (late.freed_bytes + late.kept_bytes, late.warnings) == (total, [])


def test_an_expired_undo_names_the_file_and_no_name_in_holding(desk: Bench) -> None:
    (task, *_) = three(desk)
    desk.app.gc(task=task)

    (entry,) = desk.undo(task=task).tasks[0].entries

    assert entry.verdict == "expired"
    assert entry.reason == f"what stood at `{desk.root}/a` is no longer held"
    assert entry.path == desk.path("a")


def test_one_task_is_freed_on_demand_the_newest_too(desk: Bench) -> None:
    tasks = three(desk)

    dry = desk.app.gc(task=tasks[2], dry_run=True)
    assert [each.ends for each in dry.expired] == ["undo"]
    assert verdicts(desk.check()) == ["undoable"]

    assert expired(desk, task=tasks[2]) == [tasks[2]]
    assert verdicts(desk.undo()) == ["expired"]
    with pytest.raises(NotFound):
        desk.app.gc(task="task-1")


def test_what_a_redo_needs_lies_with_its_run_and_stays_as_long(desk: Bench) -> None:
    """The newest's undo data may be in an older task's folder."""
    desk.make({"x": "x"})
    before = desk.listing()
    desk.run(delete("x"))
    desk.undo()
    desk.redo()

    assert expired(desk, keep_s=-1, max_bytes=0) == []

    assert verdicts(desk.undo()) == ["undone"]
    assert desk.changes(before) == []
    assert expired(desk, keep_s=-1, max_bytes=0) == []
    assert verdicts(desk.redo()) == ["undone"]


def test_what_lies_in_holding_and_is_not_ours_is_left(desk: Bench) -> None:
    """Absence from the journal is no proof (F01)."""
    three(desk)
    (desk.state / "held/my things").mkdir()
    (desk.state / "held/my things/x").write_text("x")

    desk.app.gc(keep_s=-1, max_bytes=0)

    assert (desk.state / "held/my things/x").read_text() == "x"


def test_held_objects_outlive_a_journal_that_was_taken_away(desk: Bench) -> None:
    """They age like any other, though nobody knows them: a lost journal must not cost the files as well."""
    three(desk)
    held = desk.held()
    (desk.state / "journal.jsonl").unlink()

    desk.run(write("n", "n"))

    assert desk.held() == held


def test_segments_go_only_when_none_of_their_tasks_has_a_future(desk: Bench) -> None:
    desk.settings = {"journal_max_bytes": 600}
    tasks = three(desk)
    before = [path.name for path in desk.app.journal_paths()]

    assert desk.app.gc(journal=True).warnings == []
    assert [path.name for path in desk.app.journal_paths()] == before

    desk.app.gc(max_bytes=0)
    report = desk.app.gc(journal=True)

    assert report.warnings[:1] == [f"dropped {before[0]}"]
    assert tasks[0] not in [each.task_id for each in desk.app.log()]
    assert tasks[2] in [each.task_id for each in desk.app.log()]
    assert desk.app.journal_verify().ok
    assert verdicts(desk.undo()) == ["undone"]


def test_an_old_plain_journal_is_never_dropped_while_it_can_be_undone(desk: Bench) -> None:
    desk.make({"new/a": "a"})
    desk.state.mkdir(mode=0o700)
    undo = {"kind": "fs.move", "from": str(desk.root / "new/a"), "to": str(desk.root / "a")}
    line = {"ts": 1, "taskId": "task-1", "actionId": "x", "kind": "fs.move", "status": "ok", "undo": undo}
    (desk.state / "journal.jsonl").write_text(json.dumps(line) + "\n")

    assert desk.app.gc(journal=True).warnings == []
    assert verdicts(desk.undo()) == ["undone"]


def test_a_rotation_in_the_middle_hides_nothing(desk: Bench) -> None:
    """F26: undo, redo and the log read across segments."""
    desk.settings = {"journal_max_bytes": 500}
    desk.make({"a": "0"})
    before = desk.listing()
    for number in range(1, 6):
        desk.run(over("a", str(number)), write(f"n{number}", "n"))
    assert len(desk.app.journal_paths()) > 4

    assert len(list(desk.app.log())) == 5
    assert set(verdicts(desk.undo(last=5))) == {"undone"}
    assert desk.changes(before) == []
    assert verdicts(desk.redo()) == ["undone", "undone"]
    assert desk.app.journal_verify().ok


def test_moves_hold_nothing_and_never_expire(desk: Bench) -> None:
    desk.make({"a": "a"})
    desk.run(move("a", "b"))

    assert expired(desk, keep_s=-1, max_bytes=0) == []
    assert desk.held() == []
