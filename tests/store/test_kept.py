"""Folders of held and kept objects: found again after a power cut, measured, and removed without a trace elsewhere."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from deskshell.errors import DeskshellError
from deskshell.store.folder import StateFolder
from deskshell.store.kept import Kept
from tests.support.privileges import as_normal_user

TASK = "task-1793201984999"


@pytest.fixture
def kept(state: StateFolder) -> Kept:
    return Kept(state)


def test_a_task_has_a_folder_to_hold_objects_in(kept: Kept, state: StateFolder) -> None:
    assert not kept.exists(TASK)

    assert kept.task_folder(TASK) == state.held / TASK
    assert kept.task_folder(TASK) == state.held / TASK

    assert kept.exists(TASK)
    assert stat.S_IMODE((state.held / TASK).stat().st_mode) == 0o700


def test_a_task_folder_is_durable_when_it_is_handed_out(
    kept: Kept, state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I2: an object renamed into a folder that a power cut forgets is gone."""
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))

    kept.task_folder(TASK)

    assert synced == [str(state.held)]


@pytest.mark.parametrize("task_id", ["", ".", "..", "a/b", "../plans", "a\n", "x" * 65])
def test_a_task_id_that_could_reach_outside_is_refused(kept: Kept, task_id: str) -> None:
    for use in (kept.task_folder, kept.exists, kept.remove_task):
        with pytest.raises(ValueError, match="not a task id"):
            use(task_id)


def test_sizes_are_those_on_disk_by_task(kept: Kept, state: StateFolder) -> None:
    folder = kept.task_folder("task-1") / "0"
    folder.mkdir()
    (folder / "a").write_bytes(b"x" * 100_000)
    os.link(folder / "a", folder / "same file")
    with (folder / "sparse").open("wb") as file:
        file.truncate(10**9)
    copies = state.kept / "task-1"
    copies.mkdir(parents=True)
    (copies / "b").write_bytes(b"x" * 50_000)
    (kept.task_folder("task-2") / "0").symlink_to("/")

    sizes = kept.sizes()

    assert set(sizes) == {"task-1", "task-2"}
    assert 150_000 <= sizes["task-1"] < 200_000
    assert sizes["task-2"] <= 4096


def test_sizes_of_nothing_create_nothing(tmp_path: Path) -> None:
    assert Kept(StateFolder(tmp_path / "state")).sizes() == {}
    assert os.listdir(tmp_path) == []


def test_removing_a_task_removes_all_it_held_and_nothing_else(
    kept: Kept, state: StateFolder, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("keep")
    held = kept.task_folder(TASK)
    tree = held / "0"
    (tree / "sub" / "empty").mkdir(parents=True)
    (tree / "sub" / "file").write_text("x")
    (tree / "link to folder").symlink_to(outside)
    (tree / "link to file").symlink_to(outside / "file")
    os.link(outside / "file", tree / "hard link")
    os.mkfifo(tree / "fifo")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(f"/proc/self/fd/{(fd := os.open(tree, os.O_PATH))}/socket")
        os.close(fd)
    (tree / os.fsdecode(b"\xff\n")).write_text("x")
    (state.kept / TASK).mkdir(parents=True)
    (state.kept / TASK / "b").write_text("x")
    kept.task_folder("task-2")

    kept.remove_task(TASK)

    assert not kept.exists(TASK)
    assert kept.exists("task-2")
    assert (outside / "file").read_text() == "keep"
    assert (outside / "file").stat().st_nlink == 1


def test_removing_a_task_that_holds_nothing_is_no_error(kept: Kept) -> None:
    kept.remove_task(TASK)


def test_read_only_and_closed_folders_are_removed(normal_folder: Path) -> None:
    """A user's tree of mode 0555 was moved in as it was."""
    state = StateFolder(normal_folder / "state")

    def hold_and_remove() -> bool:
        state.create()
        kept = Kept(state)
        tree = kept.task_folder(TASK) / "0"
        for mode in (0o555, 0o000, 0o300):
            (tree / oct(mode) / "sub").mkdir(parents=True)
            (tree / oct(mode) / "sub" / "file").write_text("x")
            (tree / oct(mode) / "sub").chmod(mode)
            (tree / oct(mode)).chmod(mode)
        tree.chmod(0o555)
        kept.sizes()
        kept.remove_task(TASK)
        return kept.exists(TASK)

    assert as_normal_user(hold_and_remove) is False


def test_a_tree_deeper_than_any_path_is_removed(kept: Kept) -> None:
    fd = os.open(kept.task_folder(TASK), os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=fd)
        below = os.open("deep", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)

    kept.remove_task(TASK)

    assert not kept.exists(TASK)


@pytest.mark.root
def test_another_file_system_below_is_left_alone(kept: Kept) -> None:
    mounted = kept.task_folder(TASK) / "0" / "mounted"
    mounted.mkdir(parents=True)
    (kept.task_folder(TASK) / "1").write_text("x")
    if subprocess.run(
        ["mount", "-t", "tmpfs", "tmpfs", mounted], check=False, capture_output=True
    ).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        (mounted / "file").write_text("keep")

        with pytest.raises(DeskshellError, match="could be deleted: `mounted` is on another file system"):
            kept.remove_task(TASK)

        assert (mounted / "file").read_text() == "keep"
        assert not (kept.task_folder(TASK) / "1").exists(), "what can be deleted is"
    finally:
        subprocess.run(["umount", mounted], check=True)
