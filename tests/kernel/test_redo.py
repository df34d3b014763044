"""Redo puts the very objects back, forced undos included; which undo it takes; nothing twice."""

from __future__ import annotations

import os

import pytest

from deskshell.errors import NotFound
from tests.support.desk import Bench, chmod, copy, delete, mkdir, move, over, verdicts, write


def test_redo_puts_the_very_objects_back(desk: Bench) -> None:
    """Not copies: an open file, a hard link or an attribute goes with the object."""
    desk.make({"a": "a", "b": "b", "d/x": "x"})
    desk.run(write("n", "n"), over("a", "A"), delete("d"), move("b", "c"), mkdir("m"), copy("c", "c2"))
    after = desk.listing()
    inodes = {name: os.lstat(desk.root / name).st_ino for name in desk.names()}
    desk.undo()

    report = desk.redo()

    assert (set(verdicts(report)), report.exit_code) == ({"undone"}, 0)
    assert desk.changes(after) == []
    assert {name: os.lstat(desk.root / name).st_ino for name in desk.names()} == inodes


def test_a_redone_task_is_undone_again_as_often_as_asked(desk: Bench) -> None:
    """Each redo has a new way back, and folder times survive all of it."""
    desk.make({"f/a": "a", "o": "o"})
    before = desk.listing()
    desk.run(write("f/n", "n"), move("f", "g"), over("o", "O"), write("g/m/k", "k"))
    after = desk.listing()
    for _ in range(3):
        assert set(verdicts(desk.undo())) == {"undone"}
        assert desk.changes(before) == []
        assert set(verdicts(desk.redo())) == {"undone"}
        assert desk.changes(after) == []


def test_what_force_takes_away_comes_back_by_redo(desk: Bench) -> None:
    """`--force` first keeps the current content: an edit, a newcomer, a folder that is no longer empty."""
    desk.make({"a": "one", "moved": "m", "gone": "g"})
    desk.run(over("a", "two"), move("moved", "there"), delete("gone"), mkdir("d"), write("n", "n"))
    (desk.root / "a").write_text("edited")
    (desk.root / "moved").write_text("newcomer")
    (desk.root / "gone").write_text("another")
    (desk.root / "d/mine").write_text("mine")
    (desk.root / "n").write_text("n and more")
    assert verdicts(desk.check()) == ["changed", "blocked", "blocked", "blocked", "changed"]
    assert set(verdicts(desk.check(force=True))) == {"undoable"}
    by_hand = {name: entry.sha256 for name, entry in desk.listing().items()}

    report = desk.undo(force=True)

    assert set(verdicts(report)) == {"undone"}
    assert (desk.read("a"), desk.read("moved"), desk.read("gone")) == ("one", "m", "g")
    assert not {"d", "n", "there"} & set(desk.names())
    assert set(verdicts(desk.redo())) == {"undone"}
    assert {name: entry.sha256 for name, entry in desk.listing().items()} == by_hand


def test_redo_without_an_id_takes_the_newest_undone_task(desk: Bench) -> None:
    for name in ("a", "b"):
        desk.run(write(name, name))
    desk.undo(last=2)
    assert desk.names() == []

    desk.redo()
    assert desk.names() == ["a"]
    desk.redo()
    assert desk.names() == ["a", "b"]
    with pytest.raises(NotFound, match="nothing to redo"):
        desk.redo()


def test_redo_passes_over_what_a_later_task_stands_on(desk: Bench) -> None:
    desk.run(write("a", "a"))
    desk.run(write("b", "b"))
    desk.undo(last=2)
    desk.run(write("a", "another"))

    desk.redo()

    assert (desk.names(), desk.read("a")) == (["a", "b"], "another")


def test_redo_by_id_names_a_task_that_is_not_undone(desk: Bench) -> None:
    done = desk.run(write("a", "a"))

    with pytest.raises(NotFound, match=f"task `{done.task_id}` is not undone"):
        desk.redo(done.task_id)
    with pytest.raises(NotFound, match="no task `task-1`"):
        desk.redo("task-1")


def test_redo_refuses_what_was_changed_since(desk: Bench) -> None:
    """I7: the undone state is compared like any other."""
    desk.make({"a": "one"})
    desk.run(over("a", "two"), write("n", "n"))
    desk.undo()
    (desk.root / "a").write_text("by hand")
    (desk.root / "n").write_text("mine")

    report = desk.redo()

    assert sorted(verdicts(report)) == ["blocked", "undone"] or sorted(verdicts(report)) == [
        "blocked",
        "changed",
    ]
    assert report.exit_code == 1
    assert desk.read("n") == "mine"


def test_a_redo_that_was_refused_in_part_can_go_on(desk: Bench) -> None:
    desk.run(write("a", "a"), write("b", "b"))
    desk.undo()
    (desk.root / "a").write_text("mine")
    assert sorted(verdicts(desk.redo())) == ["blocked", "undone"]
    (desk.root / "a").unlink()

    desk.redo()

    assert (desk.read("a"), desk.read("b")) == ("a", "b")


def test_a_partial_undo_is_completed_and_redone_part_by_part(desk: Bench) -> None:
    desk.make({"a": "a", "b": "b"})
    before = desk.listing()
    desk.run(over("a", "A").named("one"), over("b", "B").named("two"))
    desk.undo(steps=["one"])
    desk.undo()
    assert desk.changes(before) == []

    (task,) = desk.redo().tasks
    assert (desk.read("a"), desk.read("b")) == ("a", "B")
    assert any("still undone" in note for note in task.notes)
    (task,) = desk.redo().tasks
    assert task.notes == []
    assert (desk.read("a"), desk.read("b")) == ("A", "B")
    assert set(verdicts(desk.undo())) == {"undone"}
    assert desk.changes(before) == []


def test_modes_go_there_and_back(desk: Bench) -> None:
    desk.make({"a": "a"})
    os.chmod(desk.root / "a", 0o640)
    desk.run(chmod("a", 0o600))
    desk.undo()
    assert os.stat(desk.root / "a").st_mode & 0o7777 == 0o640
    desk.redo()
    assert os.stat(desk.root / "a").st_mode & 0o7777 == 0o600


def test_folders_that_a_redo_put_away_get_their_times_back_again(desk: Bench) -> None:
    """What the redo did in the folder before it went is no change by others."""
    desk.make({"a": "", "c/b/": None})
    before = desk.listing()
    desk.run(move("a", "c/a"), delete("c"))
    for _ in range(3):
        desk.undo()
        assert desk.changes(before) == []
        desk.redo()
        assert desk.names() == []


def test_redos_follow_each_other_in_the_order_of_the_tasks(desk: Bench) -> None:
    """The redo of an earlier task is no later change that stands in the way of the next."""
    desk.make({"old": "old"})
    desk.run(write("new", "one"), over("old", "other"))
    desk.run(move("new", "newer"), move("old", "older"))
    desk.run(delete("newer"), delete("older"))
    for _ in range(3):
        desk.undo()

    shown = []
    for _ in range(3):
        desk.redo()
        shown.append(desk.names())

    assert shown == [["new", "old"], ["newer", "older"], []]


def test_with_nothing_to_redo_the_reason_is_said(desk: Bench) -> None:
    done = desk.run(write("n", "n"))
    with pytest.raises(NotFound, match="no task is undone"):
        desk.redo()
    desk.undo()
    desk.run(write("n", "another"))
    with pytest.raises(NotFound, match=f"a later task changed what `{done.task_id}` had changed"):
        desk.redo()
