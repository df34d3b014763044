"""A disk that is really full, and one that is really read-only, for the files and for the state folder."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.mounts import (
    has_mkfs,
    in_own_mounts,
    mount_image,
    mount_tmpfs,
    remount_read_only,
    stop_taking_writes,
)
from tests.support.shell import Shell, before_step, delete, fail, mkdir, move, write

pytestmark = pytest.mark.root


@pytest.fixture(autouse=True)
def no_syncs() -> None:
    """Syncs are done here: what they report is part of what a broken disk does."""


def fill(place: Path) -> None:
    """Take every byte that is left."""
    with open(place / "filler", "ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
    with open(place / "filler", "ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x")


def names(shell: Shell) -> list[str]:
    return [line for line in shell.names() if line != "filler"]


@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
@pytest.mark.parametrize("moment", ["before", "in the middle"])
def test_a_full_disk_is_told_and_all_is_as_before(tmp_path: Path, kind: str, moment: str) -> None:
    """Files and state folder both lie on it. What was deleted before can be brought back without any space."""
    if kind == "ext4" and not has_mkfs("ext4"):
        pytest.skip("mkfs.ext4 is missing")

    def trial() -> object:
        disk = tmp_path / "disk"
        if kind == "tmpfs":
            mount_tmpfs(disk, size="2m")
        else:
            mount_image("ext4", tmp_path / "image", disk, 8)
        shell = Shell.below(disk)
        shell.make({"a": "a" * 5000, "b": "b", "c": "c"})
        before = shell.listing()
        deleted = shell.run(delete("a"))["taskId"]
        between = names(shell)
        steps = [move("b", "new/b"), write("big", "x" * 100_000), move("c", "c2")]
        if moment == "before":
            skill = shell.skill(*steps)
            fill(disk)
            done = shell("run", skill, "--mode", "apply", "--json", code=None)
        else:
            skill = shell.skill(*steps[:1], mkdir("x"), write("x/big", "x" * 100_000), fail())
            with before_step(0, lambda: fill(disk)):
                done = shell("run", skill, "--mode", "apply", "--json", code=None)
        after = names(shell)
        statuses = {task["status"] for task in shell.tasks()}
        undone = shell("undo", "--task", deleted, code=None)
        os.unlink(disk / "filler")
        shell("recover")
        if undone.code:
            shell("undo", "--task", deleted)
        return (
            done.code,
            "no space left" in done.out or "sure-to-fail" in done.out,
            after == between,
            statuses <= {"ok", "rolled-back"},
            [line for line in shell.changes(before) if "mtime" not in line and "filler" not in line],
            shell.json("journal", "verify")["ok"],
        )

    code, told, same, ended, changes, verified = in_own_mounts(trial)  # type: ignore[misc]
    assert code in (1, 2)
    assert (told, same, ended, changes, verified) == (True, True, True, [], True)


@pytest.mark.skipif(not has_mkfs("ext4"), reason="mkfs.ext4 is missing")
def test_a_disk_that_turns_read_only_loses_nothing(tmp_path: Path) -> None:
    """As a failing disk does. The report says what is left; when the disk is well again, an undo puts it right."""

    def trial() -> object:
        disk = tmp_path / "disk"
        mount_image("ext4", tmp_path / "image", disk, 8)
        shell = Shell.below(tmp_path)
        shell.folder = disk / "folder"
        shell.folder.mkdir()
        shell.make({"a": "a", "b": "b"})
        before = shell.listing()
        skill = shell.skill(move("a", "d/a"), write("b", "new"), move("d/a", "e/a"))
        with before_step(1, lambda: remount_read_only(disk)):
            done = shell("run", skill, "--mode", "apply", "--json", code=None)
        after = sorted(shell.read(name) for name in names(shell) if (shell.folder / name).is_file())
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        shell("undo")
        changes = [line for line in shell.changes(before) if "mtime" not in line]
        return done.code, len(done.json["left"]) > 0, set(after) >= {"a", "b"}, changes

    assert in_own_mounts(trial) == (3, True, True, [])


def test_a_read_only_state_folder_is_refused_and_can_be_read(tmp_path: Path) -> None:
    def trial() -> object:
        shell = Shell.below(tmp_path)
        mount_tmpfs(tmp_path / "disk", size="2m")
        shell.home = type(shell.home)(shell.home.user, tmp_path / "disk/state")
        task = shell.run(write("a", "a"))["taskId"]
        before = shell.listing()
        skill = shell.skill(move("a", "b"))
        remount_read_only(tmp_path / "disk")
        told = shell("run", skill, "--mode", "apply", code=2).err
        shell("undo", code=2)
        listed = [each["taskId"] for each in shell.tasks()]
        checked = shell.undo("--check")["tasks"][0]["entries"][0]["verdict"]
        return "read-only" in told.lower(), listed == [task], checked, shell.changes(before)

    assert in_own_mounts(trial) == (True, True, "undoable", [])


@pytest.mark.skipif(not has_mkfs("ext4"), reason="mkfs.ext4 is missing")
def test_a_state_folder_that_turns_read_only_is_never_a_success(tmp_path: Path) -> None:
    """The journal takes no end: the outcome is `unknown`, and the next start on a healthy disk decides it (I5)."""

    def trial() -> object:
        disk = tmp_path / "disk"
        mount_image("ext4", tmp_path / "image", disk, 8)
        shell = Shell.below(tmp_path)
        shell.home = type(shell.home)(shell.home.user, disk / "state")
        shell.make({"a": "a", "b": "b"})
        before = shell.listing()
        # The second step stands on the first, so it is announced in the journal only after that has acted.
        skill = shell.skill(move("a", "c"), move("c", "d"), write("new", "n"))
        with before_step(0, lambda: stop_taking_writes(disk)):
            done = shell("run", skill, "--mode", "apply", "--json", code=None)
        subprocess.run(["umount", disk], check=True)
        subprocess.run(["fsck.ext4", "-p", "-f", tmp_path / "image"], check=False, capture_output=True)
        subprocess.run(["mount", "-o", "loop", tmp_path / "image", disk], check=True)
        shell("recover")
        ended = [task["status"] for task in shell.tasks()]
        return (
            done.code,
            done.json["status"],
            ended,
            shell.changes(before),
            shell.json("journal", "verify")["ok"],
        )

    assert in_own_mounts(trial) == (3, "unknown", ["rolled-back"], [], True)
