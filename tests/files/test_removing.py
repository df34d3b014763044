"""Removing deskshell's own objects for good, and counting what they take."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deskshell.errors import StepFailed
from deskshell.files.copying import object_bytes, remove_object
from tests.files.making import make_anything, make_deep
from tests.support.listing import listing
from tests.support.mounts import in_own_mounts
from tests.support.privileges import as_normal_user
from tests.support.trees import make_files


def test_a_folder_is_removed_with_all_that_is_in_it_and_nothing_else(folder: Path, fd: int) -> None:
    make_files(folder, {"keep/f": "x"})
    make_anything(folder)
    (folder / "a" / "abroad").symlink_to(folder / "keep")
    os.link(folder / "keep" / "f", folder / "a" / "linked")
    keep = listing(folder / "keep")

    remove_object(fd, b"a")

    assert os.listdir(folder) == ["keep"]
    after = listing(folder / "keep")
    assert {name: entry.sha256 for name, entry in after.items()} == {n: e.sha256 for n, e in keep.items()}


@pytest.mark.parametrize("name", [b"f", b"l", b"p"])
def test_a_single_object_is_removed_itself(folder: Path, fd: int, name: bytes) -> None:
    make_files(folder, {"target/x": "x", "f": "x", "l": ("->", "target"), "p": ("|",)})

    remove_object(fd, name)

    assert sorted(os.listdir(folder)) == sorted({"target", "f", "l", "p"} - {name.decode()})
    assert os.listdir(folder / "target") == ["x"]


def test_what_is_not_there_cannot_be_removed(fd: int) -> None:
    with pytest.raises(FileNotFoundError):
        remove_object(fd, b"missing")


def test_read_only_and_unreadable_folders_of_ours_are_removed(normal_folder: Path, normal_fd: int) -> None:
    def trial() -> list[str]:
        make_files(normal_folder, {"a/1/f": "x", "a/2/f": "x", "a/3/": None, "a/4/5/f": "x"})
        for name, mode in (
            ("1", 0o555),
            ("2", 0o000),
            ("3", 0o300),
            ("4/5", 0o500),
            ("4", 0o400),
            ("", 0o555),
        ):
            (normal_folder / "a" / name).chmod(mode)
        remove_object(normal_fd, b"a")
        return os.listdir(normal_folder)

    assert as_normal_user(trial) == []


def test_folders_are_closed_again_when_something_cannot_be_removed(
    normal_folder: Path, normal_fd: int
) -> None:
    if os.geteuid():
        pytest.skip("needs root to make a folder of somebody else")
    make_files(normal_folder, {"a/b/theirs/f": "x"})
    os.chown(normal_folder / "a", 65534, 65534)
    os.chown(normal_folder / "a" / "b", 65534, 65534)
    (normal_folder / "a" / "b").chmod(0o555)
    (normal_folder / "a").chmod(0o500)

    def trial() -> str:
        try:
            remove_object(normal_fd, b"a")
        except PermissionError as exc:
            return str(exc.filename)
        return "removed"

    assert as_normal_user(trial) == "b'f'"
    modes = [os.stat(normal_folder / name).st_mode & 0o777 for name in ("a", "a/b")]
    assert modes == [0o500, 0o555]
    assert (normal_folder / "a" / "b" / "theirs" / "f").exists()


def test_a_folder_1000_deep_is_removed(deep: Path, fd: int) -> None:
    (deep / "a").mkdir()
    make_deep(deep / "a", 1000)

    remove_object(fd, b"a")

    assert os.listdir(deep) == []


@pytest.mark.root
def test_a_mount_inside_is_not_emptied(folder: Path) -> None:
    def trial() -> tuple[str, list[str]]:
        make_files(folder, {"a/m/": None, "src/precious": "y"})
        assert os.system(f"mount --bind {folder}/src {folder}/a/m") == 0
        fd = os.open(folder, os.O_RDONLY)
        with pytest.raises(StepFailed) as caught:
            remove_object(fd, b"a")
        return str(caught.value), os.listdir(folder / "src")

    assert in_own_mounts(trial) == ("`m` is a mount point and stays as it is", ["precious"])


def test_bytes_on_the_disk_count_hard_links_once_and_holes_not_at_all(
    folder: Path, fd: int, opened: Callable[[Path | bytes], int]
) -> None:
    make_files(folder, {"a/1": b"x" * 100_000, "a/sub/2": ("=", "a/1"), "a/l": ("->", "/usr")})
    with open(folder / "a" / "sparse", "wb") as file:
        file.truncate(1 << 30)
    os.sync()

    assert 100_000 <= object_bytes(fd, b"a") < 200_000
    assert 100_000 <= object_bytes(opened(folder / "a"), b"1") < 110_000
    assert object_bytes(fd, b"missing") == 0
