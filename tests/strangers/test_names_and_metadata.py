"""Every kind of name and object through plan, run, journal, show, undo and JSON: `kernel.md`, section 5."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.privileges import as_normal_user
from tests.support.shell import Shell, copy, delete, fail, move, write

NAMES = {
    "not UTF-8": b"caf\xe9",
    "a newline": b"a\nb",
    "a leading dash": b"-rf",
    "two dashes": b"--mode",
    "255 bytes": b"x" * 255,
    "composed": "é".encode(),
    "decomposed": "e\u0301".encode(),
    "trailing dots": b"name...",
    "blanks": b" name ",
    "a backslash": b"a\\b",
    "quotes": b"\"'`$(x)",
    "braces": b"{file.name}",
    "a glob": b"*?[a]",
    "escape sequences": b"\x1b[2J\x07",
    "right to left": "\u202egnp.exe".encode(),
    "half a character": b"\xe2\x82",
    "an emoji": "🗂".encode(),
    "a tilde": b"~",
    "a hash": b"#1%20",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_every_name_goes_through_everything(shell: Shell, name: bytes) -> None:
    path = os.fsencode(shell.folder) + b"/" + name
    Path(os.fsdecode(path)).write_text("content")
    os.utime(path, (1, 1))
    shell.make({"neighbour": "n"})
    before = shell.listing()
    each: dict[str, Any] = {"id": "{file.name}", "for_each": {"files": "*", "skip": ["neighbour"]}}
    steps = [
        {**copy("{file.path}", "copies/{file.name}"), **each},
        {**move("{file.path}", "moved/{file.name}"), **each},
    ]
    skill = shell.skill(*steps)

    preview = shell("run", skill)
    plan = shell.json("plan", skill)["planId"]
    applied = shell.json("apply", plan)
    task = applied["taskId"]

    assert applied["status"] == "applied"
    assert os.path.lexists(os.fsencode(shell.folder) + b"/moved/" + name)
    shown = shell.json("show", task)["steps"]
    for step in (*applied["steps"], *shown):
        target = base64.b64decode(step["targetBytes"]) if "targetBytes" in step else step["target"].encode()
        assert target.endswith(b"/" + name)
    for out in (preview.out + preview.err, shell("show", task).out, shell("undo", "--check").out):
        assert not set(out) & set("\x1b\x07\u202e")
    assert shell.json("journal", "verify")["ok"]
    moved = os.fsdecode(os.fsencode(shell.folder) + b"/moved/" + name)
    assert [each["taskId"] for each in shell.json("log", "--path", moved)["tasks"]] == [task]
    shell.undo()

    assert shell.changes(before) == []


def test_composed_and_decomposed_are_two_names(shell: Shell) -> None:
    shell.make({"é": "1", "e\u0301": "2"})
    before = shell.listing()

    shell.run({"id": "{file.name}", **move("{file.path}", "out/{file.name}"), "for_each": {"files": "*"}})
    assert sorted(os.listdir(shell.folder / "out")) == sorted(["é", "e\u0301"])
    shell.undo()

    assert shell.changes(before) == []


def _sparse(path: Path) -> None:
    with open(path, "xb") as file:
        file.truncate(1 << 20)


def _socket(path: Path) -> None:
    before = os.getcwd()
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)
    os.chdir(before)


def _mode(mode: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_text("x")
        path.chmod(mode)

    return make


def _linked(path: Path) -> None:
    path.write_text("x")
    os.link(path, path.with_name("second-name"))


OBJECTS: dict[str, Callable[[Path], Any]] = {
    "empty": Path.touch,
    "sparse": _sparse,
    "hard-linked": _linked,
    "a dangling link": lambda path: path.symlink_to("nowhere"),
    "an absolute link": lambda path: path.symlink_to("/etc"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a fifo": os.mkfifo,
    "a socket": _socket,
    "setuid": _mode(0o4755),
    "sticky and setgid": _mode(0o3711),
    "read-only": _mode(0o444),
    "without any right": _mode(0o000),
    "an empty folder": Path.mkdir,
}


@pytest.mark.parametrize("way", ["moved", "deleted", "moved with its folder", "deleted with its folder"])
@pytest.mark.parametrize("kind", OBJECTS)
def test_every_kind_of_object_is_moved_and_deleted_and_comes_back(
    normal_folder: Path, kind: str, way: str
) -> None:
    """As a normal user, who may neither read nor write some of them."""

    def trial() -> tuple[list[str], bool]:
        shell = Shell.below(normal_folder)
        shell.make({"d/": None})
        OBJECTS[kind](shell.folder / "d/it")
        os.utime(shell.folder / "d/it", ns=(1, 123_456_789_987_654_321), follow_symlinks=False)
        before = shell.listing()
        name = "d" if "folder" in way else "d/it"
        shell.run(delete(name) if "deleted" in way else move(name, "elsewhere/it"))
        gone = not os.path.lexists(shell.folder / name)
        shell.undo()
        return shell.changes(before), gone

    assert as_normal_user(trial) == ([], True)


@contextlib.contextmanager
def immutable(path: Path) -> Iterator[None]:
    """`chattr +i`, where the file system knows it."""
    if subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode:
        pytest.skip("this file system knows no immutable files")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", path], check=True)


@pytest.mark.root
def test_an_immutable_file_fails_the_task_and_stays(shell: Shell) -> None:
    shell.make({"fixed": "f", "a": "a"})
    before = shell.listing()

    with immutable(shell.folder / "fixed"):
        for step in (move("fixed", "g"), delete("fixed"), write("fixed", "x")):
            report = shell.run(move("a", "b"), step, code=None)
            assert report["status"] == "rolled-back"
            assert "not permitted" in report["error"]
        assert shell.changes(before) == []


def test_a_file_that_is_open_elsewhere_is_moved_and_deleted_under_its_reader(shell: Shell) -> None:
    shell.make({"open": "content"})
    before = shell.listing()

    with open(shell.folder / "open") as file:
        shell.run(delete("open"))
        assert file.read() == "content"
        shell.undo()
    assert shell.changes(before) == []


def test_what_is_written_into_a_held_file_comes_back_with_it(shell: Shell) -> None:
    """It is the very object; whoever has it open may go on. The report of the undo does not claim otherwise."""
    shell.make({"open": "content"})

    with open(shell.folder / "open", "a") as file:
        shell.run(delete("open"))
        file.write(" and more")
    shell.undo()

    assert shell.read("open") == "content and more"


def test_a_read_only_folder_gives_nothing_up(normal_folder: Path) -> None:
    def trial() -> list[str]:
        shell = Shell.below(normal_folder)
        shell.make({"ro/x": "x", "a": "a"})
        (shell.folder / "ro").chmod(0o555)
        before = shell.listing()
        for step in (move("ro/x", "y"), delete("ro/x"), write("ro/new", "n"), move("a", "ro/a")):
            shell("run", shell.skill(write("first", "1"), step), "--mode", "apply", code=1)
        return shell.changes(before)

    assert as_normal_user(trial) == []


def test_a_folder_that_is_a_link_is_the_link(shell: Shell) -> None:
    shell.make({"real/x": "x", "d": ("->", "real")})
    before = shell.listing()

    shell.run(move("d", "e"))
    assert os.readlink(shell.folder / "e") == "real"
    shell.undo()

    assert shell.changes(before) == []


def test_a_read_only_folder_that_was_moved_comes_back_read_only(normal_folder: Path) -> None:
    """I6: a folder that may not be written is made movable for the rename alone, there and back."""

    def trial() -> list[list[str]]:
        shell = Shell.below(normal_folder)
        shell.make({"ro/x": "x", "other/": None, "p/q/ro/y": "y"})
        (shell.folder / "ro").chmod(0o555)
        (shell.folder / "p/q/ro").chmod(0o500)
        before = shell.listing()
        shell.run(move("ro", "other/ro"), move("p/q/ro", "p/ro"))
        after = shell.listing()
        found = []
        for _ in range(2):
            shell.undo()
            found.append(shell.changes(before))
            shell("redo")
            found.append(shell.changes(after))
        return found

    assert as_normal_user(trial) == [[], [], [], []]


def test_a_file_that_its_owner_may_not_read_is_written_over_rotated_and_taken_back(
    normal_folder: Path,
) -> None:
    """What takes its place may not be read either: it is known by its object, size and time."""

    def facts(shell: Shell) -> dict[str, tuple[int, ...]]:
        stats = {each.name: each.lstat() for each in shell.folder.iterdir()}
        return {name: (it.st_ino, it.st_mode, it.st_size, it.st_mtime_ns) for name, it in stats.items()}

    def trial() -> list[bool]:
        shell = Shell.below(normal_folder)
        shell.make({"closed": "x", "app.log": "lines"})
        for name in ("closed", "app.log"):
            (shell.folder / name).chmod(0o200)
        before = facts(shell)
        rotate = {"action": "log.rotate", "path": "app.log"}
        shell(
            "run",
            shell.skill(write("closed", "y", on_conflict="replace"), rotate, fail()),
            "--mode",
            "apply",
            code=1,
        )
        found = [facts(shell) == before]
        shell.run(write("closed", "y", on_conflict="replace"), rotate)
        after = facts(shell)
        for _ in range(2):
            shell("undo", "--last", "--check")
            shell.undo()
            found.append(facts(shell) == before)
            shell("redo")
            found.append(facts(shell) == after)
        return found

    assert as_normal_user(trial) == [True] * 5


def test_a_plan_that_reads_what_may_not_be_read_is_refused(normal_folder: Path) -> None:
    def trial() -> str:
        shell = Shell.below(normal_folder)
        shell.make({"closed": "x"})
        (shell.folder / "closed").chmod(0o200)
        return str(shell("plan", shell.skill(copy("closed", "copy")), code=2).err)

    assert "cannot be read" in as_normal_user(trial)
