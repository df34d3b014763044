"""Scope at the moment of acting: folders moved away under an open descriptor, mounts, other names, the second wall."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from deskshell.files import landlock
from deskshell.files.scope import Places
from deskshell.kernel.ground import Ground
from tests.support.listing import difference, listing
from tests.support.mounts import bind, in_own_mounts, mount_tmpfs
from tests.support.seam import Kill, seam
from tests.support.shell import Shell, Step, before_step, chmod, copy, delete, mkdir, move, write


@pytest.mark.parametrize(
    "step", [write("d/e/new", "x"), move("a", "d/e/a"), delete("d/e/y"), mkdir("d/e/n")], ids=str
)
@pytest.mark.parametrize("which", ["d/e", "d"])
def test_a_folder_moved_away_under_its_descriptor_is_noticed(
    shell: Shell, outside: Path, step: Step, which: str
) -> None:
    """An open descriptor goes on working wherever the folder is: so its path is looked at again."""
    shell.make({"a": "a", "b": "b", "d/e/y": "y"})

    with before_step(1, lambda: (shell.folder / which).rename(shell.folder.parent / "taken-away")):
        report = shell.run(move("b", "d/e/b"), step, code=None)

    away = listing(shell.folder.parent / "taken-away")
    (shell.folder.parent / "taken-away").rename(shell.folder / which)
    assert report["status"] in ("rolled-back", "incomplete")
    assert "moved or replaced" in report["error"]
    assert {Path(name).name for name in away} >= {
        "y",
        "b",
    }  # the first step's file went along, and is in the report
    assert any(left["target"].endswith("d/e/b") for left in report["left"])
    shell.undo()  # once the folder is back, so is the file
    assert shell.read("b") == "b"


def test_the_whole_scope_moved_away_is_noticed(shell: Shell, outside: Path) -> None:
    shell.make({"a": "a", "b": "b"})
    away = shell.folder.parent / "taken-away"

    def replace_the_scope() -> None:
        shell.folder.rename(away)
        shell.folder.symlink_to(outside)

    with before_step(0, replace_the_scope):
        report = shell.run(move("a", "c"), code=None)

    shell.folder.unlink()
    away.rename(shell.folder)
    assert "moved or replaced" in str(report)
    assert shell.names() == ["a", "b"]


def test_a_mode_is_not_set_through_another_name_outside(shell: Shell, outside: Path) -> None:
    """A hard link may lie anywhere; the name in the scope says nothing about the others."""
    os.link(outside / "victim", shell.folder / "mine")

    report = shell.run(chmod("mine", "0777"), code=2)

    assert "names" in report["error"]["message"]
    (shell.folder / "mine").unlink()


def test_a_second_name_that_comes_in_between_stops_a_mode(shell: Shell) -> None:
    shell.make({"mine": "m"})
    (shell.folder / "mine").chmod(0o600)

    with before_step(0, lambda: os.link(shell.folder / "mine", shell.folder.parent / "outside-name")):
        shell.run(chmod("mine", "0777"), code=1)

    assert (shell.folder / "mine").stat().st_mode & 0o777 == 0o600


def test_writing_over_one_name_leaves_the_file_outside_alone(shell: Shell, outside: Path) -> None:
    os.link(outside / "victim", shell.folder / "mine")

    shell.run(write("mine", "new"))
    assert (outside / "victim").read_text() == "precious"
    shell.undo()

    assert os.stat(shell.folder / "mine").st_ino == os.stat(outside / "victim").st_ino
    (shell.folder / "mine").unlink()


@pytest.mark.root
def test_a_mount_inside_is_neither_taken_nor_entered_unasked(tmp_path: Path) -> None:
    def trial() -> list[object]:
        shell = Shell.below(tmp_path)
        shell.make({"d/x": "x", "a": "a"})
        mount_tmpfs(shell.folder / "d/m", size="1m")
        (shell.folder / "d/m/inside").write_text("i")
        before = shell.listing()
        found: list[object] = []
        for step in (delete("d"), copy("d", "e"), move("d", "e"), delete("d/m"), move("d/m", "n")):
            done = shell("run", shell.skill(step), "--mode", "apply", "--json", code=None)
            undone = shell("undo", code=None) if done.code == 0 else None
            found.append(
                (
                    done.code != 0 or undone is not None,
                    [line for line in shell.changes(before) if "mtime" not in line],
                )
            )
        return found

    assert in_own_mounts(trial) == [(True, [])] * 5


@pytest.mark.root
def test_a_bind_mount_of_one_file_system_is_copied_over_and_comes_back(tmp_path: Path) -> None:
    """The devices are equal and a rename is refused all the same: it is tried, not read."""

    def trial() -> list[str]:
        shell = Shell.below(tmp_path)
        other = tmp_path / "other"
        other.mkdir()
        shell.make({"a": "a", "b/": None})
        bind(other, shell.folder / "b")
        before = shell.listing()
        shell.run(move("a", "b/a"))
        assert (other / "a").read_text() == "a"
        shell.undo()
        return [line for line in shell.changes(before) if "mtime" not in line]

    assert in_own_mounts(trial) == []


@pytest.mark.root
def test_the_state_folder_is_known_under_another_mount(tmp_path: Path) -> None:
    def trial() -> tuple[int, bool]:
        shell = Shell.below(tmp_path)
        shell.run(write("first", "1"))
        (shell.folder / "b").mkdir()
        bind(shell.home.state, shell.folder / "b")
        done = shell("run", shell.skill(delete("b/journal.jsonl")), "--mode", "apply", code=None)
        return done.code, shell.json("journal", "verify")["ok"]

    assert in_own_mounts(trial) == (2, True)


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o722])
@pytest.mark.parametrize("which", ["", "held", "kept", "plans"])
def test_a_state_folder_that_others_can_write_is_refused(shell: Shell, mode: int, which: str) -> None:
    shell.make({"a": "a"})
    shell.run(write("first", "1"))
    (shell.home.state / which).chmod(mode)

    for command in (("undo",), ("run", shell.skill(move("a", "b")), "--mode", "apply"), ("log",)):
        assert "written by others" in shell(*command, code=2).err

    assert shell.names() == ["a", "first"]
    assert shell("doctor", code=1).out


@pytest.mark.root
def test_a_state_folder_of_somebody_else_is_refused(shell: Shell) -> None:
    shell.run(write("first", "1"))
    os.chown(shell.home.state, 12345, 12345)

    assert "belongs to user 12345" in shell("undo", code=2).err
    assert shell.names() == ["first"]


def test_a_state_folder_that_is_a_link_is_refused(shell: Shell) -> None:
    shell.home.state.symlink_to(shell.folder)

    assert "is a link" in shell("run", shell.skill(write("a", "a")), "--mode", "apply", code=2).err
    assert shell.names() == []


def test_state_is_for_its_owner_alone(shell: Shell) -> None:
    """Folders 0700, files 0600, whatever the umask; held objects keep the modes that they came with."""
    shell.make({"a": "a", "b": "b"})
    before = os.umask(0)
    try:
        shell.run(delete("a"), write("b", "new"), write("c", "c"))
        shell.json("plan", shell.skill(write("d", "d")))
    finally:
        os.umask(before)

    state = shell.home.state
    held = {
        path for store in ("held", "kept") for task in (state / store).iterdir() for path in task.rglob("*")
    }
    own = [path for path in (state, *state.rglob("*")) if path not in held]
    assert {oct(path.stat().st_mode & 0o7777) for path in own if path.is_dir()} == {"0o700"}
    assert {oct(path.stat().st_mode & 0o7777) for path in own if path.is_file()} == {"0o600"}


walled = pytest.mark.skipif(not landlock.abi(), reason="this system has no Landlock")


def _without_the_first_wall() -> Any:
    """A kernel with a fault: every path is opened as it stands, links and all."""

    def at(self: Places, path: bytes) -> tuple[int, bytes]:
        parent, _, name = path.rpartition(b"/")
        fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
        self._fds = [*getattr(self, "_fds", []), fd]  # type: ignore[attr-defined]
        return fd, name

    close = Places.close

    def close_all(self: Places) -> None:
        for fd in getattr(self, "_fds", []):
            os.close(fd)
        self._fds = []  # type: ignore[attr-defined]
        close(self)

    return mock.patch.multiple(Places, at=at, recheck=lambda self, path: None, close=close_all)


@walled
@pytest.mark.parametrize("step", [write("d/new", "x"), move("a", "d/a"), delete("d/victim")], ids=str)
def test_the_second_wall_holds_where_the_first_would_not(shell: Shell, outside: Path, step: Step) -> None:
    shell.make({"a": "a", "b": "b", "d/victim": "v"})

    def plant() -> None:
        (shell.folder / "d").rename(shell.folder / "aside")
        (shell.folder / "d").symlink_to(outside)

    with _without_the_first_wall(), before_step(1, plant):
        shell.run(move("b", "b2"), step, code=None)

    # The fixture `outside` compares what is in there.


@walled
def test_the_journal_says_whether_the_wall_stood(shell: Shell) -> None:
    shell.run(write("a", "a"))
    shell.undo()
    shell.json("redo")
    config = shell.home.user / ".config/deskshell/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("landlock = false\n")
    shell.run(write("b", "b"))

    begun = [line["landlock"] for line in shell.lines() if line.get("type") == "begin"]
    assert begun == [landlock.abi()] * 3 + [False]
    assert "switched off" in shell("doctor", code=None).out


@walled
def test_recovery_is_behind_the_wall_too(shell: Shell) -> None:
    """And finds its way back to what a root's own name was."""
    shell.make({"a": "a"})
    before = shell.listing()
    skill = shell.skill(move("a", "b"), move("b", "c/b"))
    with seam(Kill(30)):
        shell("run", skill, "--mode", "apply", code=None)
    stood: list[int] = []
    real = Ground.look

    def look(self: Ground, *args: Any) -> Any:
        stood.append(self.wall)
        return real(self, *args)

    with mock.patch.object(Ground, "look", look):
        shell("recover")

    assert set(stood) == {landlock.abi()}
    assert [line for line in shell.changes(before) if "mtime" not in line] == []


@walled
def test_a_root_may_itself_be_moved_deleted_and_made(shell: Shell) -> None:
    """That happens in the folder around it, which the wall then has to leave open."""
    root = shell.folder / "root"
    shell.make({"root/x": "x"})
    before = shell.listing()
    for steps in (
        [delete("root")],
        [delete("root"), mkdir("root")],
        [move("root/x", "root2/x"), delete("root")],
    ):
        shell.run(*steps, scope=[str(root), str(shell.folder / "root2")])
        shell.undo()
        assert shell.changes(before) == []


@walled
def test_a_rename_that_only_the_wall_refuses_is_an_error_and_no_reason_to_copy(
    shell: Shell, tmp_path: Path
) -> None:
    """The probe said that it can be renamed; EXDEV after that is no other file system."""
    shell.make({"a": "a", "d/": None})
    before = shell.listing()
    real = landlock.restrict_thread

    def narrower(folders: Any) -> int:
        fd = os.open(shell.folder / "d", os.O_RDONLY)
        try:
            return real([fd, list(folders)[-1]])
        finally:
            os.close(fd)

    with mock.patch.object(landlock, "restrict_thread", narrower):
        report = shell.run(move("a", "d/a"), code=None)

    assert report["status"] == "rolled-back"
    assert shell.names() == ["a", "d"]
    assert difference(before, shell.listing()) == []
