"""Undo beside the work that was done since: F01, F02, F09, F14, F20, F23, F24, F25."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.shell import (
    Shell,
    before_step,
    chmod,
    compress,
    copy,
    delete,
    failures,
    mkdir,
    move,
    symlink,
    write,
)


def test_f01_what_was_never_captured_is_not_taken_for_ours(shell: Shell, elsewhere: Path) -> None:
    """A file too large for a copy is not written over, and the undo of the task that failed leaves it alone."""
    shell.home = type(shell.home)(shell.home.user, elsewhere / "state")
    shell.env["DESKSHELL_MAX_COPY"] = "100000"
    shell.make({"big.dat": os.urandom(200_000), "small": "s"})
    before = shell.listing()

    report = shell.run(write("new", "n"), write("big.dat", "appended"), code=2)

    assert "max_copy" in report["error"]["message"]
    assert shell.changes(before) == []
    assert shell.tasks() == []


def test_f01_only_what_is_on_record_as_made_is_removed(shell: Shell) -> None:
    """A stranger's file under a name that the task had made is no proof of anything."""
    shell.run(write("made", "content"))
    os.unlink(shell.folder / "made")
    (shell.folder / "made").write_text("content")  # the same bytes, another object

    report = shell.undo(code=1)

    assert failures(report) == [f"changed: {shell.folder}/made"]
    assert shell.read("made") == "content"


def test_f02_undo_of_a_copied_folder_keeps_what_was_changed_in_it(shell: Shell) -> None:
    shell.make({"a/sub/x": "x", "a/top": "t"})
    shell.run(copy("a", "b"))
    (shell.folder / "b/sub/x").write_text("y")  # the same size
    (shell.folder / "b/sub/new").write_text("new")
    before = shell.listing()

    report = shell.undo(code=1)

    told = report["tasks"][0]["entries"][0]["reason"]
    assert "b/sub/x" in told
    assert "b/sub/new" in told
    assert shell.changes(before) == []


def test_f02_undo_of_a_new_folder_keeps_what_was_put_into_it(shell: Shell) -> None:
    shell.run(mkdir("d"))
    (shell.folder / "d/mine").write_text("mine")

    report = shell.undo(code=1)

    assert "d/mine" in report["tasks"][0]["entries"][0]["reason"]
    assert shell.read("d/mine") == "mine"


def test_f02_undo_of_a_moved_folder_takes_later_work_along(shell: Shell) -> None:
    """The same object goes back as it is now, and the edit is in it."""
    shell.make({"a/sub/x": "x"})
    shell.run(move("a", "b"))
    (shell.folder / "b/sub/x").write_text("edited")
    (shell.folder / "b/sub/new").write_text("new")

    shell.undo()

    assert (shell.read("a/sub/x"), shell.read("a/sub/new")) == ("edited", "new")
    assert not (shell.folder / "b").exists()


@pytest.mark.parametrize("same", [False, True], ids=["other content", "same size and time"])
def test_f09_a_stranger_under_the_moved_name_stays(shell: Shell, same: bool) -> None:
    shell.make({"a": "one"})
    shell.run(move("a", "b"))
    old = os.stat(shell.folder / "b")
    os.unlink(shell.folder / "b")
    (shell.folder / "b").write_text("two" if same else "a stranger's")
    if same:
        os.utime(shell.folder / "b", ns=(old.st_atime_ns, old.st_mtime_ns))
    before = shell.listing()

    report = shell.undo(code=1)

    assert failures(report) == [f"changed: {shell.folder}/b"]
    assert shell.changes(before) == []


def test_f14_what_others_changed_meanwhile_is_no_part_of_the_task(shell: Shell) -> None:
    shell.make({"a": "a", "b": "b", "c": "c"})

    def somebody_else() -> None:
        (shell.folder / "b").write_text("theirs")
        (shell.folder / "d").write_text("theirs, too")

    with before_step(1, somebody_else):
        shell.run(move("a", "a2"), move("c", "c2"))

    shell.undo()

    assert {name: shell.read(name) for name in shell.names()} == {
        "a": "a",
        "b": "theirs",
        "c": "c",
        "d": "theirs, too",
    }


def test_f14_a_path_that_a_later_task_changed_is_refused_with_its_id(shell: Shell) -> None:
    shell.make({"x": "0", "y": "0"})
    first = shell.run(write("x", "1"), write("y", "1"))["taskId"]
    second = shell.run(write("x", "2"))["taskId"]

    report = shell.undo("--task", first, code=1)

    (refused,) = [entry for entry in report["tasks"][0]["entries"] if entry["verdict"] != "undone"]
    assert (refused["verdict"], refused["byTask"]) == ("changed", second)
    assert (shell.read("x"), shell.read("y")) == ("2", "0")


EMPTY: list[tuple[str, dict[str, str | None], dict[str, str]]] = [
    ("a new file", {}, write("new", "")),
    ("an empty file written over", {"empty": ""}, write("empty", "full")),
    ("an empty file deleted", {"empty": ""}, delete("empty")),
    ("an empty folder deleted", {"hollow/": None}, delete("hollow")),
]


@pytest.mark.parametrize(("files", "step"), [each[1:] for each in EMPTY], ids=[each[0] for each in EMPTY])
def test_f20_empty_is_not_missing(shell: Shell, files: dict[str, str | None], step: dict[str, str]) -> None:
    """And the undo of an undo, and its undo again, come out where they should."""
    shell.make({"bystander": "b", **files})
    if "empty" in files:
        (shell.folder / "empty").chmod(0o640)
    before = shell.listing()

    shell.run(step)
    after = shell.listing()
    shell.undo()
    assert shell.changes(before) == []
    shell.json("redo")
    assert shell.changes(after) == []
    shell.undo()
    assert shell.changes(before) == []


def test_f23_a_refused_task_stays_the_newest(shell: Shell) -> None:
    shell.make({"a": "a", "b": "b"})
    shell.run(write("a", "a1"))
    newest = shell.run(write("b", "b1"))["taskId"]
    (shell.folder / "b").write_text("by hand")

    for _ in range(2):
        report = shell.undo("--last", "1", code=1)
        assert [task["taskId"] for task in report["tasks"]] == [newest]
        assert (shell.read("a"), shell.read("b")) == ("a1", "by hand")

    report = shell.undo("--last", "2", code=1)
    assert [task["status"] for task in report["tasks"]] == ["refused", "undone"]
    assert (shell.read("a"), shell.read("b")) == ("a", "by hand")


OTHERS: dict[str, tuple[dict[str, str], Callable[[Path], bool]]] = {
    "move": (move("y", "y2"), lambda folder: (folder / "y2").exists()),
    "copy": (copy("y", "y2"), lambda folder: (folder / "y2").exists()),
    "write": (write("y", "new"), lambda folder: (folder / "y").read_text() == "new"),
    "mkdir": (mkdir("d"), lambda folder: (folder / "d").exists()),
    "symlink": (symlink("l", "y"), lambda folder: (folder / "l").is_symlink()),
    "chmod": (chmod("y", "0600"), lambda folder: (folder / "y").stat().st_mode & 0o777 == 0o600),
    "compress": (compress("y", "y.gz"), lambda folder: (folder / "y.gz").exists()),
    "rotate": ({"action": "log.rotate", "path": "y"}, lambda folder: (folder / "y.2").exists()),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_f24_undo_takes_the_latest_task_whatever_its_kind(shell: Shell, kind: str) -> None:
    step, is_done = OTHERS[kind]
    shell.make({"x": "x", "y": "y"})
    (shell.folder / "y").chmod(0o644)
    shell.run(delete("x"))
    between = shell.listing()

    shell.run(step)
    assert is_done(shell.folder)
    shell.undo("--last", "1")

    assert shell.changes(between) == []
    assert not (shell.folder / "x").exists()


def test_f24_what_cannot_be_undone_is_not_reached_past(shell: Shell) -> None:
    shell.make({"x": "x", "y": "y"})
    shell.run(delete("x"))
    shell.run({**move("y", "y2"), "irreversible": True}, options=["--allow-irreversible"])

    report = shell.undo("--last", "1", code=1)

    assert [entry["verdict"] for entry in report["tasks"][0]["entries"]] == ["no-undo"]
    assert shell.names() == ["y2"]


def test_f25_a_folder_is_not_merged_into_another(shell: Shell) -> None:
    shell.make({"src/own": "1", "src/both": "2", "dst/old": "3", "dst/both": "4"})
    before = shell.listing()

    for conflict in ("refuse", "replace"):
        report = shell.run(move("src", "dst", on_conflict=conflict), code=2)
        assert "dst" in report["error"]["message"]
    assert shell.changes(before) == []


def test_f25_into_a_folder_goes_beside_what_is_there_and_comes_back_alone(shell: Shell) -> None:
    shell.make({"src/own": "1", "dst/old": "3"})
    before = shell.listing()

    shell.run(move("src", "dst/"))
    assert shell.names() == ["dst", "dst/old", "dst/src", "dst/src/own"]
    shell.undo()

    assert shell.changes(before) == []


def test_f25_the_undo_of_a_merge_by_single_files_keeps_the_old_content(shell: Shell) -> None:
    shell.make({"src/own": "1", "src/both": "2", "dst/old": "3", "dst/both": "4"})
    before = shell.listing()
    each = {"for_each": {"files": "src/*"}, "on_conflict": "replace"}

    shell.run({"id": "merge:{file.name}", **move("{file.path}", "dst/{file.name}"), **each})
    assert shell.read("dst/both") == "2"
    shutil.rmtree(shell.folder / "src")
    (shell.folder / "src").mkdir()
    shell.undo()

    assert [line for line in shell.changes(before) if "mtime" not in line] == []
