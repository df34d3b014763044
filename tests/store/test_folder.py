"""The state folder is private, made durably, and refused when others could have prepared it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from deskshell.errors import StateFolderError
from deskshell.store.folder import StateFolder
from tests.store.samples import cut_before
from tests.support.privileges import as_normal_user, is_root


def test_naming_a_folder_touches_nothing(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "a" / "state")

    assert not folder.exists()
    folder.check()
    assert os.listdir(tmp_path) == []


def test_the_folder_and_all_in_it_are_for_the_owner_alone(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "a" / "state")
    usual = os.umask(0)
    try:
        folder.create()
    finally:
        os.umask(usual)

    made = [folder.path.parent, folder.path, folder.held, folder.kept, folder.plans]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700] * 5
    assert folder.exists()


def test_making_it_twice_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = StateFolder(tmp_path / "state")
    folder.create()

    with cut_before(monkeypatch, 1000) as made:
        folder.create()

    assert made == []


def test_each_folder_made_is_synced_in_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """I2: without it a power cut takes the folder with all that was kept for undo."""
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))

    StateFolder(tmp_path / "a" / "b" / "state").create()

    state = tmp_path / "a" / "b" / "state"
    assert synced == [
        str(path) for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b", state, state, state)
    ]


def test_a_first_start_killed_anywhere_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        folder = StateFolder(tmp_path / str(number) / "state")
        with cut_before(monkeypatch, number):
            folder.create()
        folder.create()
        assert folder.plans.is_dir()


def make_link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir()
    path.symlink_to("elsewhere")


def make_broken_link(path: Path) -> None:
    path.symlink_to("nowhere")


def make_file(path: Path) -> None:
    path.write_text("x")


def make_group_writable(path: Path) -> None:
    path.mkdir()
    path.chmod(0o770)


def make_world_writable(path: Path) -> None:
    path.mkdir()
    path.chmod(0o1777)


@pytest.mark.parametrize("below", ["", "held", "kept", "plans"])
@pytest.mark.parametrize(
    "make,why",
    [
        (make_link, "is a link"),
        (make_broken_link, "is a link"),
        (make_file, "is not a folder"),
        (make_group_writable, "can be written by others"),
        (make_world_writable, "can be written by others"),
    ],
)
def test_an_unsafe_folder_is_refused(tmp_path: Path, make: object, why: str, below: str) -> None:
    folder = StateFolder(tmp_path / "state")
    if below:
        folder.path.mkdir(mode=0o700)
    assert callable(make)
    make(folder.path / below)
    before = sorted(tmp_path.rglob("*"))

    for use in (folder.check, folder.create):
        with pytest.raises(StateFolderError, match=why) as caught:
            use()
        assert "DESKSHELL_HOME" in str(caught.value.hint)
    assert folder.exists()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_others_can_read_is_accepted(tmp_path: Path) -> None:
    """`mkdir x; DESKSHELL_HOME=x` makes one with the usual umask."""
    folder = StateFolder(tmp_path / "state")
    folder.path.mkdir(mode=0o755)

    folder.create()

    assert folder.held.is_dir()


@pytest.mark.root
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "state")
    folder.create()
    os.chown(folder.path, 1234, 1234)

    with pytest.raises(StateFolderError, match="belongs to user 1234"):
        folder.check()


def test_a_place_where_nothing_can_be_made_says_what_to_do(normal_folder: Path) -> None:
    normal_folder.chmod(0o500)

    with pytest.raises(StateFolderError, match="Permission denied") as caught:
        as_normal_user(StateFolder(normal_folder / "a" / "state").create)

    assert "DESKSHELL_HOME" in str(caught.value.hint)


def test_a_folder_that_cannot_be_looked_at_says_what_to_do(normal_folder: Path) -> None:
    (normal_folder / "closed").mkdir()
    if is_root():
        (normal_folder / "closed").chmod(0o700)
    else:
        (normal_folder / "closed").chmod(0o000)

    with pytest.raises(StateFolderError, match="cannot be looked at"):
        as_normal_user(StateFolder(normal_folder / "closed" / "state").check)
