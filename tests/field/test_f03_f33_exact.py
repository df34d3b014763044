"""Exactly as it was, by every route: F03, F04, F08, F19, F32, F33."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.listing import listing
from tests.support.shell import Shell, before_step, compress, copy, delete, fail, move, write

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\xff\xfe"
BYTES = {
    "text": b"line\n",
    "binary": bytes(range(256)),
    "empty": b"",
    "png": PNG,
    "crlf": b"one\r\ntwo\r\n",
    "utf-16": "é\n".encode("utf-16"),
    "random": os.urandom(4096),
}


@pytest.mark.parametrize("old", BYTES)
def test_f03_a_rollback_brings_the_old_bytes_back_not_the_new(shell: Shell, old: str) -> None:
    shell.make({"a.txt": BYTES[old]})
    (shell.folder / "a.txt").chmod(0o640)
    before = shell.listing()

    report = shell.run(write("a.txt", "replacement"), fail(), code=1)

    assert (report["status"], report["rolledBack"], report["left"]) == (
        "rolled-back",
        2,
        [],
    )  # the failing step counts, too
    assert shell.changes(before) == []


@pytest.mark.parametrize("old", BYTES)
@pytest.mark.parametrize(
    "step", [write("f", "new\r\n"), delete("f"), compress("f", "f.gz")], ids=lambda s: s["action"]
)
def test_f19_bytes_are_bytes_all_the_way(shell: Shell, old: str, step: dict[str, str]) -> None:
    shell.make({"f": BYTES[old]})
    before = shell.listing()

    shell.run(step)
    shell.undo()

    assert shell.changes(before) == []


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_f04_what_could_not_be_taken_back_is_said(
    as_user: Callable[[Callable[[Shell], Any]], Any], options: tuple[str, ...]
) -> None:
    """And it can be tried again once the cause is gone."""

    def trial(shell: Shell) -> list[object]:
        shell.make({"d/one": b"\0one", "two": "2"})
        before = shell.listing()
        skill = shell.skill(move("d/one", "one"), move("two", "zwei"), fail())
        with before_step(2, lambda: (shell.folder / "d").chmod(0o555)):
            done = shell("run", skill, "--mode", "apply", *options, code=3)
        task = shell.tasks()[0]
        check = shell.undo("--check", code=1)
        (shell.folder / "d").chmod(0o755)
        again = shell.undo("--task", task["taskId"])
        return [
            "one" in done.out + done.err,
            "incomplete" in done.out,
            task["status"],
            [entry["verdict"] for entry in check["tasks"][0]["entries"]],
            again["rolledBack"],
            [line for line in shell.changes(before) if "mtime" not in line],
        ]

    # The check cannot know that a folder's mode will refuse the rename: it looks, it does not try.
    told, named, status, check, again, changes = as_user(trial)
    assert told
    assert named
    assert status == "incomplete"
    assert len(check) == 1
    assert (again, changes) == (1, [])


def test_f08_a_move_that_fails_half_way_keeps_its_source(
    as_user: Callable[[Callable[[Shell], Any]], Any],
) -> None:
    """One step is one unit, and one task is one, too: there is no going on after an error."""

    def trial(shell: Shell) -> tuple[Any, list[str]]:
        shell.make({"1": "1", "2": "2", "3": "3", "a/": None, "b/": None, "c/": None})
        (shell.folder / "b").chmod(0o555)
        before = shell.listing()
        report = shell.run(move("1", "a/1"), move("2", "b/2"), move("3", "c/3"), code=1)
        return report, shell.changes(before)

    report, changes = as_user(trial)
    assert report["status"] == "rolled-back"
    assert "permission denied" in report["error"]
    assert changes == []


def test_f08_a_copy_that_may_not_be_made_keeps_its_source(
    as_user: Callable[[Callable[[Shell], Any]], Any], elsewhere: Path
) -> None:
    closed = elsewhere / "closed"
    closed.mkdir(mode=0o555)

    def trial(shell: Shell) -> tuple[int, list[str]]:
        shell.also = (elsewhere,)
        shell.make({"1": "1", "2": "2"})
        before = shell.listing()
        skill = shell.skill(move("1", f"{elsewhere}/1"), move("2", f"{closed}/2"))
        done = shell("run", skill, "--mode", "apply", "--json", code=None)
        return done.code, shell.changes(before)

    assert as_user(trial) == (1, [])
    assert list(elsewhere.iterdir()) == [closed]
    assert list(closed.iterdir()) == []


CLOSED = {"t/ro/x": "x", "t/ro/deep/y": "y", "t/z": "z"}


@pytest.mark.parametrize("across", [False, True], ids=["held", "kept as a copy"])
def test_f32_a_tree_with_closed_folders_comes_back_whole(
    as_user: Callable[[Callable[[Shell], Any]], Any], elsewhere: Path, across: bool
) -> None:
    def trial(shell: Shell) -> tuple[list[str], list[str]]:
        if across:
            shell.home = type(shell.home)(shell.home.user, elsewhere / "state")
        shell.make(CLOSED)
        for folder, mode in (("t/ro/deep", 0o555), ("t/ro", 0o555), ("t", 0o500)):
            (shell.folder / folder).chmod(mode)
        before = shell.listing()
        shell.run(delete("t"))
        between = shell.names()
        shell.undo()
        return between, shell.changes(before)

    assert as_user(trial) == ([], [])


def test_f32_a_copy_that_fails_leaves_no_closed_folder_behind(
    as_user: Callable[[Callable[[Shell], Any]], Any],
) -> None:
    """The copy has the modes of the original by the time the task fails, and goes all the same."""

    def trial(shell: Shell) -> list[str]:
        shell.make(CLOSED)
        (shell.folder / "t/ro").chmod(0o555)
        before = shell.listing()
        shell.run(copy("t", "u"), fail(), code=1)
        return shell.changes(before)

    assert as_user(trial) == []


def _private(shell: Shell) -> dict[str, Any]:
    shell.make({"d/secret": "s", "d/other": "o"}, mtime=1_234_567_890.123456789)
    (shell.folder / "d/secret").chmod(0o600)
    os.utime(shell.folder / "d/secret", ns=(1, 987_654_321_123_456_789))
    (shell.folder / "d").chmod(0o700)
    return shell.listing()


STEPS = {
    "delete": [delete("d/secret")],
    "delete the folder": [delete("d")],
    "write over": [write("d/secret", "new")],
    "move": [move("d/secret", "out/secret")],
    "move the folder": [move("d", "e")],
}


@pytest.mark.parametrize("kept", ["held", "kept as a copy"])
@pytest.mark.parametrize("route", ["--task", "--last", "rollback"])
@pytest.mark.parametrize("steps", STEPS)
def test_f33_mode_and_time_come_back_by_every_route(
    shell: Shell, elsewhere: Path, kept: str, route: str, steps: str
) -> None:
    if kept != "held":
        shell.home = type(shell.home)(shell.home.user, elsewhere / "state")
    before = _private(shell)

    if route == "rollback":
        shell.run(*STEPS[steps], fail(), code=1)
    else:
        task = shell.run(*STEPS[steps])["taskId"]
        shell.undo(*(["--task", task] if route == "--task" else ["--last", "1"]))

    assert shell.changes(before) == []


def test_f33_and_across_devices(wide: Shell, elsewhere: Path) -> None:
    before = _private(wide)

    wide.run(move("d", f"{elsewhere}/d"))
    there = listing(elsewhere / "d")
    assert there["secret"].mode == "0o600"
    assert there["secret"].mtime_ns == 987_654_321_123_456_789
    assert there["."].mode == "0o700"
    wide.undo()

    assert wide.changes(before) == []


def test_f33_a_copy_kept_for_undo_is_never_wider_than_the_original(shell: Shell, elsewhere: Path) -> None:
    """Not even for a moment: looked at on every change that is made in the state folder."""
    shell.home = type(shell.home)(shell.home.user, elsewhere / "state")
    _private(shell)
    seen: set[int] = set()
    real = os.pwrite

    def looking(fd: int, *args: Any) -> int:
        if "kept" in os.readlink(f"/proc/self/fd/{fd}"):
            seen.add(os.fstat(fd).st_mode & 0o777)
        return real(fd, *args)

    os.pwrite = looking  # type: ignore[assignment]  # put back below
    try:
        shell.run(delete("d/secret"))
    finally:
        os.pwrite = real
    (kept,) = [path for path in (elsewhere / "state/kept").rglob("*") if path.is_file()]
    assert kept.stat().st_mode & 0o777 == 0o600
    assert seen <= {0o600}
    folders = [elsewhere / "state", *(p for p in (elsewhere / "state").rglob("*") if p.is_dir())]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
