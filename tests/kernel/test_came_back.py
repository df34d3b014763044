"""What came back as a copy, because it could not be held by rename, is known to the records of earlier steps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deskshell.kernel.assertion import Missing
from deskshell.kernel.capability import Grant, Scope
from tests.support.desk import Bench, Do, chmod, delete, mkdir, move, over, verdicts, write
from tests.support.seam import Kill, seam


@pytest.fixture
def apart(tmp_path: Path, far: Path) -> Bench:
    """A folder whose state folder lies on another file system: what goes is kept as a copy."""
    return Bench(tmp_path, elsewhere=far)


@pytest.fixture
def both(tmp_path: Path, far: Path) -> Bench:
    """A folder and one on another file system, both in scope."""
    bench = Bench(tmp_path)
    roots = tuple(Scope(os.fsencode(each), str(each)) for each in (bench.root, far))
    bench.declared = tuple(Grant(name, roots, "test") for name in ("fs.read", "fs.write", "fs.delete"))
    return bench


def test_tasks_before_the_one_that_dropped_it_can_be_undone(apart: Bench) -> None:
    apart.make({"z": "z", "old": "old"})
    before = apart.listing()
    apart.run(write("new", "one"), over("old", "other"))
    apart.run(chmod("new", 0o600), move("old", "older"))
    apart.run(delete("new"), delete("older"))

    assert verdicts(apart.check(last=3)) == ["undoable"] * 6
    for _ in range(3):
        assert set(verdicts(apart.undo())) == {"undone"}

    assert apart.changes(before) == []
    for _ in range(3):
        apart.redo()
    assert apart.names() == ["z"]
    apart.undo(last=3)
    assert apart.changes(before) == []


def test_what_is_inside_of_a_folder_that_came_back_is_known_too(apart: Bench) -> None:
    apart.make({"a": "a", "d/b": "b"})
    before = apart.listing()
    apart.run(move("a", "d/a"), mkdir("d/e"))
    apart.run(delete("d"))

    apart.undo()
    assert set(verdicts(apart.undo())) == {"undone"}

    assert apart.changes(before) == []


def test_a_file_put_into_a_folder_that_came_back_is_not_taken_for_the_one_that_was_there(
    apart: Bench,
) -> None:
    """I7: another size or time is another file."""
    apart.make({"a": "a", "d/b": "b"})
    apart.run(move("a", "d/a"))
    apart.run(delete("d"))
    apart.undo()
    (apart.root / "d/a").unlink()
    apart.make({"d/a": "somebody's"})

    assert verdicts(apart.undo()) == ["changed"]
    assert (apart.root / "d/a").read_text() == "somebody's"


def test_an_edit_of_what_came_back_is_kept(apart: Bench) -> None:
    apart.run(write("new", "one"))
    apart.run(delete("new"))
    apart.undo()
    (apart.root / "new").write_text("edited by hand")

    assert verdicts(apart.undo()) == ["changed"]
    assert (apart.root / "new").read_text() == "edited by hand"


def test_what_an_undo_brought_back_that_was_then_rolled_back_itself_stands_for_nothing(
    tmp_path: Path, far: Path
) -> None:
    for at in range(20, 45):
        bench = Bench(tmp_path / str(at), elsewhere=far / str(at))
        before = bench.listing()
        bench.run(write("b", ""), over("b", "other"))
        with seam(Kill(at)):
            bench.undo()
        bench.app.recover()

        bench.undo()

        assert (at, bench.changes(before)) == (at, [])


def _there_and_on(far: Path, *, folder: bool) -> list[Do]:
    """Moves to another file system and on from there."""
    if folder:
        return [_wide("d", f"{far}/d"), _wide(f"{far}/d/b", "b"), _wide(f"{far}/d", "e")]
    return [_wide("a", f"{far}/a"), _wide(f"{far}/a", "c"), _wide("c", f"{far}/c")]


def _wide(src: str, dst: str) -> Do:
    return Do("fs.move", {"from": src, "to": dst})


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_moves_between_file_systems_in_one_task_are_taken_back(both: Bench, far: Path, folder: bool) -> None:
    both.make({"a": "a", "d/b": "b", "d/c": "c"})
    before = both.listing()

    report = both.run(*_there_and_on(far, folder=folder), write("n", "n").then(Missing(both.path("n"))))

    assert (report.status, report.left) == ("rolled-back", [])
    assert both.changes(before) == []
    assert both.run(*_there_and_on(far, folder=folder)).status == "ok"
    assert set(verdicts(both.undo())) == {"undone"}
    assert [line for line in both.changes(before) if "mtime" not in line] == []
    assert os.listdir(far) == []


@pytest.mark.slow
def test_a_kill_anywhere_in_it_is_taken_back(tmp_path: Path, far: Path) -> None:
    """I9: also when the recovery, which makes new copies, is killed again."""
    for at in range(200):
        bench = Bench(tmp_path / str(at))
        roots = tuple(Scope(os.fsencode(each), str(each)) for each in (bench.root, far))
        bench.declared = tuple(Grant(name, roots, "test") for name in ("fs.read", "fs.write", "fs.delete"))
        bench.make({"a": "a", "d/b": "b", "d/c": "c"})
        before = bench.listing()
        with seam(Kill(at)) as cut:
            bench.run(*_there_and_on(far, folder=False))
        if not cut.came:
            return
        with seam(Kill(at % 7)):
            bench.app.recover()
        bench.app.recover()
        if bench.statuses()[:1] != [("run", "ok")]:
            assert (at, bench.changes(before), os.listdir(far)) == (at, [], [])
        for name in os.listdir(far):
            os.unlink(far / name)
    pytest.fail("the run never got to its end")


@pytest.mark.parametrize(
    "plan",
    [
        [write("d/new", ""), delete("d")],
        [write("d/new", ""), move("d", "d.old"), write("d/x", "")],
        [move("d/f", "d/g"), move("d", "d.old"), mkdir("d"), move("d.old/h", "d/h")],
    ],
    ids=["deleted", "rotated", "replaced"],
)
def test_copies_of_folders_have_the_times_of_those_they_stand_for(apart: Bench, plan: list[Do]) -> None:
    apart.make({"d/f": "f", "d/h": "h"})
    before = apart.listing()
    apart.run(*plan)
    after = apart.listing()
    for _ in range(3):
        apart.undo()
        assert apart.changes(before) == []
        apart.redo()
        assert apart.changes(after) == []


def test_what_moved_back_out_of_a_folder_that_came_back_is_known_to_earlier_tasks(apart: Bench) -> None:
    apart.make({"l": ("->", "x"), "f": "f", "d/z": "z", "m/in": "m"})
    before = apart.listing()
    apart.run(move("l", "l2"), chmod("f", 0o600), move("m", "m2"))
    after = apart.listing()
    apart.run(move("l2", "d/l"), move("f", "d/f"), move("m2", "d/m"))
    apart.run(delete("d"))

    for _ in range(3):
        assert set(verdicts(apart.undo())) == {"undone"}
    assert apart.changes(before) == []
    for _ in range(3):
        assert set(verdicts(apart.redo())) == {"undone"}
    apart.undo(last=2)
    assert apart.changes(after) == []


def test_so_it_is_when_it_was_a_rollback_that_moved_it(apart: Bench) -> None:
    apart.make({"l": ("->", "x"), "f": "f", "d/z": "z"})
    apart.run(move("l", "l2"), chmod("f", 0o600))
    after = apart.listing()
    apart.undo()
    failing = write("n", "n").then(Missing(apart.path("n")))
    apart.run_plan(apart.plan(move("l", "d/l"), move("f", "d/f"), delete("d"), failing))

    assert set(verdicts(apart.redo())) == {"undone"}

    assert apart.changes(after) == []
