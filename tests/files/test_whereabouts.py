"""The shortcut before acting: where an open folder is by /proc, and by its path whenever that may not be enough."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from deskshell.errors import Conflict
from deskshell.files import scope, whereabouts
from deskshell.files.scope import Places
from deskshell.files.whereabouts import Whereabouts
from tests.support.mounts import in_own_mounts, mount_tmpfs
from tests.support.trees import make_files


@pytest.fixture
def top(folder: Path) -> bytes:
    return os.path.realpath(os.fsencode(folder))


def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The paths that are looked up from now on."""
    found: list[bytes] = []
    real = scope.open_beneath

    def open_beneath(fd: int, path: bytes, *flags: int) -> int:
        found.append(b"/" + path)
        return real(fd, path, *flags)

    monkeypatch.setattr(scope, "open_beneath", open_beneath)
    return found


def granted(root: bytes, path: bytes) -> Places:
    """Places with the parent of `path` open, and looked up once."""
    found = Places([root])
    found.at(path)
    found.recheck(path)
    return found


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc")


@needs_proc
@pytest.mark.parametrize("name", ["d", "with space", "new\nline", "\udcff", "d (deleted) no", "x" * 255])
def test_a_folder_that_stays_is_not_looked_up_again(
    folder: Path, top: bytes, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (folder / name).mkdir()
    path = top + b"/" + os.fsencode(name) + b"/f"
    with granted(top, path) as places:
        seen = looked_up(monkeypatch)
        places.recheck(path)
        assert seen == []


@pytest.mark.parametrize(
    "change", ["moved", "moved above", "removed", "remade", "removed as it is called", "link"]
)
def test_a_folder_that_is_not_at_its_path_is_noticed(folder: Path, top: bytes, change: str) -> None:
    name = "d (deleted)" if change == "removed as it is called" else "d"
    here = folder / "above" / name
    here.mkdir(parents=True)
    path = os.fsencode(here) + b"/f"
    with granted(top, path) as places:
        places.recheck(path)
        if change == "moved":
            here.rename(folder / "elsewhere")
        elif change == "moved above":
            here.parent.rename(folder / "elsewhere")
            make_files(folder, {"above/d/": None})
        elif change == "link":
            here.rename(folder / "elsewhere")
            here.symlink_to(folder / "elsewhere")
        elif change == "removed as it is called":
            here.rename(here.with_name("d"))
            here.with_name("d").rmdir()  # /proc now calls it `d (deleted)`
        else:
            here.rmdir()
            if change == "remade":
                here.mkdir()

        with pytest.raises(Conflict, match="was moved or replaced"):
            places.recheck(path)


def test_a_folder_that_came_back_is_at_its_path_again(folder: Path, top: bytes) -> None:
    make_files(folder, {"d/": None})
    path = top + b"/d/f"
    with granted(top, path) as places:
        (folder / "d").rename(folder / "e")
        (folder / "e").rename(folder / "d")
        places.recheck(path)


def test_what_proc_cannot_say_is_looked_up(folder: Path, top: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other file systems than the kernel's own, and folders whose name looks like that of a removed one."""
    make_files(folder, {"d/": None, "e (deleted)/": None})
    with granted(top, top + b"/e (deleted)/f") as places:
        seen = looked_up(monkeypatch)
        places.recheck(top + b"/e (deleted)/f")
        assert seen == [top + b"/e (deleted)"]
    monkeypatch.setattr(whereabouts, "_KERNELS_OWN", frozenset())
    with granted(top, top + b"/d/f") as places:
        seen.clear()
        places.recheck(top + b"/d/f")
        assert seen == [top + b"/d"]


def test_a_path_of_any_length_is_answered_for(deep: Path) -> None:
    """/proc gives up on a path longer than a page; looking it up does not."""
    here, path = os.open(deep, os.O_RDONLY), os.path.realpath(os.fsencode(deep))
    for _ in range(20):
        os.mkdir(b"x" * 250, dir_fd=here)
        below = os.open(b"x" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here, path = below, path + b"/" + b"x" * 250
    os.close(here)
    with granted(os.path.realpath(os.fsencode(deep)), path + b"/f") as places:
        places.recheck(path + b"/f")


@pytest.mark.root
@pytest.mark.parametrize("over", ["the folder", "the one above", "another"])
def test_a_mount_laid_over_a_folder_is_noticed(folder: Path, over: str) -> None:
    """/proc goes on giving the path of the covered folder."""
    make_files(folder, {"above/d/": None, "other/": None, "new/": None})
    path = os.path.realpath(os.fsencode(folder)) + b"/above/d/f"
    point = folder / {"the folder": "above/d", "the one above": "above", "another": "other"}[over]

    def trial() -> str:
        with granted(os.path.realpath(os.fsencode(folder)), path) as places:
            places.recheck(path)
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", point], check=True)
            try:
                places.recheck(path)
            except Conflict as exc:
                return exc.message
            return "still there"

    expected = "still there" if over == "another" else "was moved or replaced"
    assert in_own_mounts(trial).endswith(expected)


@pytest.mark.root
def test_after_a_mount_each_folder_is_looked_up_once_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody plugging in a stick must not make the rest of a long task slow."""
    make_files(folder, {"a/": None, "b/": None, "stick/": None})
    top = os.path.realpath(os.fsencode(folder))

    def trial() -> list[bytes]:
        with granted(top, top + b"/a/f") as places:
            places.at(top + b"/b/f")
            places.recheck(top + b"/b/f")
            seen = looked_up(monkeypatch)
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder / "stick"], check=True)
            for _ in range(3):
                places.recheck(top + b"/a/f")
                places.recheck(top + b"/b/f")
        return seen

    assert in_own_mounts(trial) == [top + b"/a", top + b"/b"]


@pytest.mark.root
def test_a_file_system_of_others_mounted_later_is_not_answered_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, {"m/": None})
    top = os.path.realpath(os.fsencode(folder))

    def trial() -> list[bytes]:
        monkeypatch.setattr(whereabouts, "_KERNELS_OWN", whereabouts._KERNELS_OWN - {b"tmpfs"})
        with granted(top, top + b"/f") as places:
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder / "m"], check=True)
            (folder / "m" / "d").mkdir()
            places.recheck(top + b"/f")
            places.at(top + b"/m/d/f")
            seen = looked_up(monkeypatch)
            for _ in range(2):
                places.recheck(top + b"/m/d/f")
        return seen

    assert in_own_mounts(trial) == [top + b"/m/d"] * 2


@pytest.mark.root
def test_a_mount_that_goes_away_is_noticed(folder: Path) -> None:
    def trial() -> str:
        mount_tmpfs(folder / "m", size="1m")
        (folder / "m" / "d").mkdir()
        path = os.path.realpath(os.fsencode(folder)) + b"/m/d/f"
        with granted(os.path.realpath(os.fsencode(folder)), path) as places:
            places.recheck(path)
            subprocess.run(["umount", "-l", folder / "m"], check=True)
            try:
                places.recheck(path)
            except Conflict as exc:
                return exc.message
            return "still there"

    assert in_own_mounts(trial).endswith("was moved or replaced")


def test_nothing_stays_open() -> None:
    before = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else []
    found = Whereabouts()
    found.close()
    found.close()
    after = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else []
    assert before == after
    found.found(0, b"/")
    assert not found.still_at(0, b"/")
