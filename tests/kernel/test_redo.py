"""Redo puts the very objects back, forced undos included; which undo it takes; nothing twice."""

from __future__ import annotations

import os

import pytest

from deskshell.errors import NotFound
from tests.support.desk import Bench, Do, Listing, chmod, copy, delete, mkdir, move, over, verdicts, write


def goes_to_and_fro(desk: Bench, before: Listing, after: Listing) -> None:
    """The newest task is undone and redone, three times."""
    for _ in range(3):
        assert set(verdicts(desk.undo())) == {"undone"}
        assert desk.changes(before) == []
        assert set(verdicts(desk.redo())) == {"undone"}
        assert desk.changes(after) == []


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
    goes_to_and_fro(desk, before, after)


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
    desk.run(over("a", "two").named("a"), write("n", "n").named("n"))
    desk.undo()
    (desk.root / "a").write_text("by hand")
    (desk.root / "n").write_text("mine")

    report = desk.redo()

    (task,) = report.tasks
    assert {entry.action_id: entry.verdict for entry in task.entries} == {"a": "changed", "n": "blocked"}
    assert report.exit_code == 1
    assert (desk.read("a"), desk.read("n")) == ("by hand", "mine")


@pytest.mark.parametrize("step", [over("a", "two"), delete("a")], ids=["write over", "delete"])
def test_an_edit_after_an_undo_does_not_go_away_with_a_redo(desk: Bench, step: Do) -> None:
    """I7: the object is the same, its content is somebody's later work."""
    desk.make({"a": "one"})
    desk.run(step)
    desk.undo()
    with (desk.root / "a").open("a") as file:
        file.write(", and more")

    report = desk.redo()

    (entry,) = report.tasks[0].entries
    assert (entry.verdict, entry.reason) == ("changed", f"`{desk.root / 'a'}` was edited since")
    assert desk.read("a") == "one, and more"


@pytest.mark.parametrize("change", ["edit", "add", "remove", "chmod"])
def test_work_in_a_folder_after_an_undo_does_not_go_away_with_a_redo(desk: Bench, change: str) -> None:
    """I7, of a folder whose deletion is redone: what is in it is compared as well."""
    desk.make({"d/in/a": "a", "d/b": "b"})
    desk.run(delete("d"))
    desk.undo()
    inner = desk.root / "d" / "in"
    match change:
        case "edit":
            (inner / "a").write_text("longer")
        case "add":
            (inner / "new").write_text("")
        case "remove":
            (inner / "a").unlink()
        case "chmod":
            inner.chmod(0o700)
    now = desk.listing()

    report = desk.redo()

    assert verdicts(report) == ["changed"]
    assert desk.changes(now) == []


def test_a_folder_goes_to_and_fro_with_the_steps_inside_it(desk: Bench) -> None:
    """What the task itself did in the folder is no later work."""
    desk.make({"d/in/a": "a", "d/b": "b", "d/c": "c"})
    before = desk.listing()
    desk.run(move("d/b", "d/in/b"), chmod("d/in", 0o700), over("d/c", "C"), write("d/new", "n"), delete("d"))
    after = desk.listing()

    goes_to_and_fro(desk, before, after)


def test_a_read_only_folder_goes_to_and_fro(desk: Bench) -> None:
    desk.make({"d/a": "a"})
    (desk.root / "d").chmod(0o555)
    before = desk.listing()
    desk.run(delete("d"))

    for _ in range(2):
        assert verdicts(desk.undo()) == ["undone"]
        assert desk.changes(before) == []
        assert verdicts(desk.redo()) == ["undone"]
        assert not (desk.root / "d").exists()


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


def test_a_refused_redo_blames_neither_the_task_itself_nor_its_undo(desk: Bench) -> None:
    """What was done by hand was done by no task; what another task did is told by its id."""
    desk.make({"a": "one", "b": "one"})
    done = desk.run(over("a", "two").named("a"), over("b", "two").named("b"))
    desk.undo()
    desk.redo()
    desk.undo()
    (desk.root / "a").write_text("by hand")
    other = desk.run(over("b", "three"))

    (task,) = desk.redo(done.task_id).tasks

    assert {entry.action_id: entry.by_task for entry in task.entries} == {"a": None, "b": other.task_id}
