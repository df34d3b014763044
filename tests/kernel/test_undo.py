"""Undo, entry by entry: what comes back, what is refused, and what a report says of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from deskshell.errors import NotFound, UsageError
from deskshell.kernel.report import EntryReport, UndoReport
from deskshell.kernel.secrets import SecretText
from tests.support.desk import (
    Bench,
    Do,
    chmod,
    compress,
    copy,
    delete,
    mkdir,
    move,
    over,
    symlink,
    verdicts,
    write,
)


def only(report: UndoReport) -> EntryReport:
    (task,) = report.tasks
    (entry,) = task.entries
    return entry


def test_every_kind_comes_back_exactly(desk: Bench) -> None:
    """I6: paths, bytes, modes, times, links and link groups, folder times included."""
    desk.make(
        {
            "a": "a",
            "hard": ("=", "a"),
            "d/x": "x",
            "l": ("->", "a"),
            "log": "l" * 99,
            "e": "",
            "caf\udce9": "x",
        }
    )
    os.chmod(desk.root / "a", 0o640)
    before = desk.listing()
    desk.run(
        move("a", "new/a"),
        over("e", "no more"),
        delete("d"),
        copy("l", "l2"),
        compress("log", "log.gz"),
        symlink("s", "x"),
        mkdir("m"),
        move("caf\udce9", "m/caf\udce9"),
        chmod("m", 0o700),
    )

    report = desk.undo()

    assert set(verdicts(report)) == {"undone"}
    assert (report.rolled_back, report.exit_code) == (9, 0)
    assert desk.changes(before) == []


def test_an_edit_made_by_hand_is_kept(desk: Bench) -> None:
    """I7: undo never overwrites work that deskshell did not do."""
    desk.make({"a": "one"})
    desk.run(over("a", "two"))
    (desk.root / "a").write_text("by hand")

    report = desk.undo()

    entry = only(report)
    assert (entry.verdict, entry.path, report.exit_code) == ("changed", desk.path("a"), 1)
    assert desk.read("a") == "by hand"
    assert desk.statuses() == [("run", "ok")]


def test_the_task_that_changed_it_is_named(desk: Bench) -> None:
    """F14: a path that two tasks touched is refused with the other one's id."""
    desk.make({"a": "one"})
    first = desk.run(over("a", "two"))
    second = desk.run(over("a", "three"))

    entry = only(desk.undo(task=first.task_id))

    assert (entry.verdict, entry.by_task) == ("changed", second.task_id)


def test_a_stranger_under_the_moved_name_is_left_alone(desk: Bench) -> None:
    """F09: same name, same size, same time, another object (I7)."""
    desk.make({"a": "one"})
    desk.run(move("a", "b"))
    times = os.stat(desk.root / "b")
    (desk.root / "b").unlink()
    (desk.root / "b").write_text("two")
    os.utime(desk.root / "b", ns=(times.st_atime_ns, times.st_mtime_ns))

    entry = only(desk.undo())

    assert entry.verdict == "changed"
    assert desk.read("b") == "two"


def test_a_moved_file_that_was_edited_goes_back_as_it_is(desk: Bench) -> None:
    desk.make({"a": "one"})
    desk.run(move("a", "b"))
    (desk.root / "b").write_text("one and more")

    report = desk.undo()

    assert only(report).verdict == "undone"
    assert "was edited since; it goes back as it is now" in only(report).reason
    assert desk.read("a") == "one and more"


def test_a_name_that_was_taken_again_blocks(desk: Bench) -> None:
    desk.make({"a": "one"})
    desk.run(move("a", "b"))
    (desk.root / "a").write_text("mine")

    entry = only(desk.undo())

    assert (entry.verdict, entry.path) == ("blocked", desk.path("a"))
    assert (desk.read("a"), desk.read("b")) == ("mine", "one")


def test_a_folder_that_is_gone_blocks(desk: Bench) -> None:
    desk.make({"d/a": "one"})
    desk.run(move("d/a", "b"))
    (desk.root / "d").rmdir()

    entry = only(desk.undo())

    assert (entry.verdict, entry.path) == ("blocked", desk.path("d"))


def test_a_copied_folder_names_what_was_changed_in_it(desk: Bench) -> None:
    """F02: down the whole tree, not just the top."""
    desk.make({"a/sub/x": "x", "a/sub/y": "y"})
    desk.run(copy("a", "b"))
    (desk.root / "b/sub/x").write_text("edited")
    (desk.root / "b/sub/new").write_text("new")

    entry = only(desk.undo())

    assert entry.verdict == "changed"
    assert "b/sub/x` (content)" in entry.reason
    assert "b/sub/new` (added)" in entry.reason
    assert desk.read("b/sub/x") == "edited"


def test_a_new_folder_goes_only_when_it_is_empty(desk: Bench) -> None:
    desk.run(mkdir("d"))
    (desk.root / "d/mine").write_text("mine")

    entry = only(desk.undo())

    assert (entry.verdict, desk.names()) == ("blocked", ["d", "d/mine"])


def test_folders_that_a_step_needed_go_when_empty_and_stay_otherwise(desk: Bench) -> None:
    """Nobody asked for them, so they are no entries; the report says which stay."""
    desk.run(write("p/q/n", "n"), write("r/n", "n"))
    (desk.root / "p/mine").write_text("mine")

    report = desk.undo()

    assert verdicts(report) == ["undone", "undone"]
    assert desk.names() == ["p", "p/mine"]
    assert any("`" + str(desk.root / "p") + "` is not empty" in note for note in report.tasks[0].notes)


def test_what_is_undone_already_is_zero_steps(desk: Bench) -> None:
    """I9: asking twice does nothing twice, and says so."""
    done = desk.run(write("a", "a"))
    desk.undo()

    again = desk.undo(task=done.task_id)

    assert (again.rolled_back, again.exit_code, verdicts(again)) == (0, 0, [])
    assert desk.undo().tasks == []


def test_what_was_put_back_by_hand_counts_as_undone(desk: Bench) -> None:
    desk.make({"a": "one", "m": "m"})
    os.chmod(desk.root / "m", 0o644)
    desk.run(move("a", "b"), chmod("m", 0o600))
    (desk.root / "b").rename(desk.root / "a")
    os.chmod(desk.root / "m", 0o644)

    report = desk.undo()

    assert (verdicts(report), report.rolled_back, report.exit_code) == (["already", "already"], 0, 0)
    assert desk.undo().tasks == []


def test_one_refused_entry_leaves_the_others_undone(desk: Bench) -> None:
    """And its task stays the newest: a repeat refuses again, nothing older goes instead (F23)."""
    desk.make({"a": "one", "b": "two", "c": "c"})
    older = desk.run(over("c", "cc"))
    newer = desk.run(over("a", "x"), over("b", "y"))
    (desk.root / "a").write_text("by hand")

    report = desk.undo()

    assert verdicts(report) == ["undone", "changed"]
    assert (report.tasks[0].status, report.exit_code) == ("partly", 1)
    assert (desk.read("a"), desk.read("b"), desk.read("c")) == ("by hand", "two", "cc")
    assert [each.task_id for each in desk.check().tasks] == [newer.task_id]
    assert verdicts(desk.undo()) == ["changed"]
    both = desk.undo(last=2)
    assert [each.task_id for each in both.tasks] == [newer.task_id, older.task_id]
    assert verdicts(both) == ["changed", "undone"]


def test_all_or_nothing_touches_nothing_unless_all_can_be_undone(desk: Bench) -> None:
    desk.make({"a": "one", "b": "two"})
    desk.run(over("a", "x"), over("b", "y"))
    (desk.root / "a").write_text("by hand")
    now = desk.listing()

    report = desk.undo(all_or_nothing=True)

    assert (verdicts(report), report.exit_code, report.status) == (["undoable", "changed"], 1, "refused")
    assert desk.changes(now) == []


def test_all_or_nothing_calls_no_task_undone_that_it_did_not_touch(desk: Bench) -> None:
    desk.run(write("a", "a"))
    desk.run(write("b", "b"))
    (desk.root / "a").write_text("by hand")

    report = desk.undo(last=2, all_or_nothing=True)

    assert [(task.status, task.rolled_back) for task in report.tasks] == [("refused", 0)] * 2
    assert (desk.read("a"), desk.read("b")) == ("by hand", "b")


def test_a_check_follows_what_later_tasks_moved_out_of_an_earlier_ones_scope(desk: Bench) -> None:
    """What the undo does the check foretells: by then the later task's file is back."""
    desk.make({"a": "a"})
    desk.declared = desk.grants(roots=("a", "b"))
    desk.run(move("a", "b"))
    desk.declared = desk.grants(roots=("b", "c"))
    desk.run(move("b", "c"))

    assert verdicts(desk.check(last=2)) == ["undoable", "undoable"]
    assert verdicts(desk.undo(last=2, all_or_nothing=True)) == ["undone", "undone"]
    assert desk.names() == ["a"]


@pytest.mark.parametrize("ask", [Bench.undo, Bench.check])
def test_a_step_of_several_tasks_is_refused_before_any_is_touched(
    desk: Bench, ask: Callable[..., UndoReport]
) -> None:
    desk.run(write("a", "a").named("a"))
    desk.run(write("b", "b").named("b"))

    with pytest.raises(UsageError, match="`--step` names steps of one task, and these are 2"):
        ask(desk, last=2, steps=["b"])

    assert desk.names() == ["a", "b"]


def test_only_the_steps_asked_for_are_undone(desk: Bench) -> None:
    desk.make({"a": "one", "b": "two"})
    done = desk.run(over("a", "x").named("write-a"), over("b", "y"))

    assert verdicts(desk.undo(steps=["write-a"])) == ["undone"]
    assert (desk.read("a"), desk.read("b")) == ("one", "y")
    with pytest.raises(NotFound, match=f"task `{done.task_id}` has no step `other`"):
        desk.undo(steps=["other"])
    assert verdicts(desk.undo()) == ["undone"]


def test_a_step_that_a_later_one_stands_on_is_not_undone_alone(desk: Bench) -> None:
    """The later step could never be undone then."""
    desk.make({"f/a": "a"})
    desk.run(move("f", "g"), write("g/n", "n"))

    report = desk.undo(steps=["0"])

    assert only(report).verdict == "blocked"
    assert "step `fs.write:1`, which stays, came after it" in only(report).reason
    assert verdicts(desk.undo()) == ["undone", "undone"]


def test_a_refused_step_keeps_what_it_stands_on(desk: Bench) -> None:
    """I9: once its reason is gone, it can be undone, where it was."""
    desk.make({"f/a": "a"})
    before = desk.listing()
    desk.run(move("f", "g"), write("g/n", "n"), write("o", "o"))
    (desk.root / "g/n").write_text("by hand")

    assert verdicts(desk.undo()) == ["undone", "changed", "blocked"]

    assert desk.names() == ["g", "g/a", "g/n"]
    assert verdicts(desk.undo(force=True)) == ["undone", "undone"]
    assert [name for name in desk.changes(before) if "mtime" not in name] == []


def test_an_undo_is_undone_by_redo(desk: Bench) -> None:
    """An undo is a task of its own, and no candidate."""
    done = desk.run(write("a", "a"))
    undo_id = desk.undo().tasks[0].undo_id

    with pytest.raises(UsageError, match="is itself an undo of") as refused:
        desk.undo(task=undo_id)

    assert refused.value.hint == f"take an undo back with `deskshell redo --task {done.task_id}`"


def test_a_redo_is_undone_by_way_of_its_task(desk: Bench) -> None:
    done = desk.run(write("a", "a"))
    desk.undo()
    redo_id = desk.redo().tasks[0].undo_id

    with pytest.raises(UsageError, match=f"is a redo of `{done.task_id}`") as refused:
        desk.undo(task=redo_id)

    assert refused.value.hint == f"undo it with `deskshell undo --task {done.task_id}`"


def test_two_ways_to_choose_are_refused(desk: Bench) -> None:
    done = desk.run(write("a", "a"))
    with pytest.raises(UsageError):
        desk.undo(task=done.task_id, last=1)


@pytest.mark.parametrize(
    "spoil,verdict",
    [
        (lambda desk: [os.unlink(desk.state / each) for each in desk.held()], "expired"),
        (lambda desk: [(desk.state / each).write_text("other") for each in desk.held()], "damaged"),
    ],
    ids=["gone", "another content"],
)
def test_what_is_held_is_looked_at_before_it_goes_back(
    desk: Bench, spoil: Callable[[Bench], Any], verdict: str
) -> None:
    """What somebody did in the state folder must not come back as the old file."""
    desk.make({"a": "one"})
    desk.run(over("a", "two"))
    desk.undo()  # what redo needs is held with its hash
    spoil(desk)

    report = desk.redo()

    assert (verdicts(report), report.exit_code) == ([verdict], 1)
    assert desk.read("a") == "one"


def test_an_older_journal_line_without_an_undo_fails(desk: Bench) -> None:
    """It counts as failed, never as rolled back."""
    desk.state.mkdir(mode=0o700)
    (desk.state / "journal.jsonl").write_text(
        '{"ts":1,"taskId":"task-1","actionId":"x","kind":"fs.delete","status":"ok","undo":null}\n'
    )

    report = desk.undo()

    assert (verdicts(report), report.exit_code) == (["no-undo"], 1)


def test_a_check_says_what_an_undo_would_do_and_does_nothing(desk: Bench) -> None:
    """Several tasks on the same files, each seen as the undos before it would leave them."""
    desk.make({"a": "one", "d/x": "x"})
    desk.run(over("a", "two"), move("d", "e"), write("e/y", "y"))
    desk.run(over("a", "three"), delete("e"))
    desk.run(write("e", "a file"), chmod("a", 0o600))
    now, journal = desk.listing(), desk.journal_bytes()

    report = desk.check(last=3)

    assert set(verdicts(report)) == {"undoable"}
    assert (report.exit_code, report.rolled_back) == (0, 0)
    assert (desk.changes(now), desk.journal_bytes()) == ([], journal)
    assert set(verdicts(desk.undo(last=3))) == {"undone"}


def test_an_undo_needs_a_secret_only_to_compare(desk: Bench) -> None:
    """What was written from a secret is known by a keyed hash: its value is not asked for again."""
    secret = SecretText(("token=", ("TOKEN",), "\n"))
    desk.make({"a": "one"})
    desk.run(over("a", "x"), write(".env", secret), secrets={"TOKEN": "s3cr3t-value"})  # type: ignore[arg-type]
    assert desk.read(".env") == "token=s3cr3t-value\n"

    report = desk.undo()

    assert verdicts(report) == ["undone", "undone"]
    assert verdicts(desk.redo()) == ["undone", "undone"]
    assert desk.read(".env") == "token=s3cr3t-value\n"


@pytest.mark.parametrize(
    "plan",
    [
        [write("d/new", ""), move("d", "d.old"), write("d/x", "")],
        [move("d/f", "d/g"), move("d", "d.old"), mkdir("d"), move("d.old/h", "d/h")],
        [move("d", "t"), move("e", "d"), move("t", "e"), write("d/q", "")],
        [write("n/a", ""), move("n", "m"), write("n/a", "")],
    ],
    ids=["rotated", "replaced", "swapped", "made twice"],
)
def test_folders_that_had_one_path_in_turn_keep_their_own_times(desk: Bench, plan: list[Do]) -> None:
    """Times are known by the folder, not by the path that it had."""
    desk.make({"d/f": "f", "d/h": "h", "e/f": "f"})
    before = desk.listing()
    desk.run(*plan)
    after = desk.listing()
    for _ in range(2):
        desk.undo()
        assert desk.changes(before) == []
        desk.redo()
        assert desk.changes(after) == []


def test_a_step_is_undone_alone_when_only_earlier_ones_stand_where_it_does(desk: Bench) -> None:
    """What was done before it needs nothing of it: the check says so, and the undo does it."""
    desk.make({"a": "a"})
    desk.run(over("a", "b").named("first"), chmod("a", 0o600).named("second"))

    assert verdicts(desk.check(steps=["second"])) == ["undoable"]
    assert verdicts(desk.undo(steps=["second"])) == ["undone"]
    assert verdicts(desk.undo()) == ["undone"]


def test_a_check_of_several_tasks_knows_whose_mode_is_whose(desk: Bench) -> None:
    """Bits that an earlier undo gives back belong to the object, not to the path it leaves."""
    desk.make({"a": "a", "b": "b"})
    os.chmod(desk.root / "b", 0o444)
    before = desk.listing()
    desk.run(chmod("a", 0o600))
    desk.run(copy("b", "a", replace=True))
    desk.run(chmod("a", 0o640))

    assert verdicts(desk.check(last=3)) == ["undoable"] * 3

    desk.undo(last=3)
    assert desk.changes(before) == []
