"""Where `Places` does not go: state folders, other mounts, closed folders; and how many descriptors it keeps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deskshell.errors import Conflict, ScopeError
from deskshell.files import moving
from deskshell.files.scope import Places
from tests.files.conftest import OpenPlaces as Open
from tests.files.making import content
from tests.support.leftovers import Leftovers, left_since
from tests.support.mounts import in_own_mounts
from tests.support.privileges import as_normal_user
from tests.support.trees import make_files

# --- state folders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exists", [True, False])
def test_a_state_folder_is_refused_at_above_and_below_itself(
    folder: Path, top: bytes, places: Open, exists: bool
) -> None:
    make_files(folder, {"root/share/apps/": None, "root/other/": None})
    if exists:
        make_files(folder, {"root/share/state/held/": None, "root/share/state/journal": ""})
    granted = places(top + b"/root", forbidden=[top + b"/root/share/state"])

    for refused in (b"/state", b"/state/journal", b"/state/held/x", b""):
        if not exists and refused.startswith(b"/state/"):
            continue  # there is no parent to open
        with pytest.raises(ScopeError, match="own state folder"):
            granted.at(top + b"/root/share" + refused)
    with pytest.raises(ScopeError, match="own state folder"):
        granted.at(top + b"/root")
    for allowed in (b"/share/apps", b"/share/apps/x", b"/share/state_of_affairs", b"/other", b"/other/x"):
        granted.at(top + b"/root" + allowed)


def test_a_state_folder_under_another_name_is_refused(folder: Path, top: bytes, places: Open) -> None:
    """By identity: it was renamed, and the name that was forbidden leads nowhere any more."""
    make_files(folder, {"a/state/held/": None, "b/": None})
    granted = places(top, forbidden=[top + b"/a/state"])
    (folder / "a" / "state").rename(folder / "b" / "new-name")

    for refused in (b"/b/new-name/x", b"/b/new-name/held/x"):
        with pytest.raises(ScopeError, match="own state folder"):
            granted.at(top + refused)
    with pytest.raises(ScopeError, match="own state folder"):
        granted.at(top + b"/a/state")


def test_a_state_folder_may_be_named_through_a_link(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"real/state/": None, "link": ("->", "real")})
    granted = places(top, forbidden=[top + b"/link/state"])

    with pytest.raises(ScopeError, match="own state folder"):
        granted.at(top + b"/real/state")


@pytest.mark.root
def test_a_state_folder_seen_through_a_bind_mount_is_refused(folder: Path) -> None:
    top = os.path.realpath(os.fsencode(folder))

    def trial() -> list[str]:
        make_files(folder, {"home/state/held/": None, "home/files/": None, "mnt/": None})
        assert os.system(f"mount --bind {folder}/home {folder}/mnt") == 0
        answers = []
        with Places([top], forbidden=[top + b"/home/state"]) as granted:
            for path in (b"/mnt/state", b"/mnt/state/x", b"/mnt/state/held/x", b"/mnt", b"/mnt/files/x"):
                try:
                    granted.at(top + path)
                    answers.append("allowed")
                except ScopeError:
                    answers.append("refused")
        return answers

    assert in_own_mounts(trial) == ["refused", "refused", "refused", "refused", "allowed"]


# --- mounts and permissions -------------------------------------------------------------------------------------


@pytest.mark.root
def test_only_the_recorded_mounts_are_entered(folder: Path) -> None:
    top = os.path.realpath(os.fsencode(folder))

    def trial() -> tuple[bool, str, str]:
        make_files(folder, {"m/": None, "d/": None})
        with Places([top]) as before:
            recorded = before.mount_of(top + b"/d/x")
        assert os.system(f"mount -t tmpfs none {folder}/m") == 0
        with Places([top]) as anywhere, Places([top], mounts={recorded}) as strict:
            differ = anywhere.mount_of(top + b"/m/x") != anywhere.mount_of(top + b"/d/x") == recorded
            strict.at(top + b"/d/x")
            strict.at(top + b"/m")  # the mount point's own name lies outside of it
            answers = []
            for call in (strict.at, strict.mount_of):
                with pytest.raises(Conflict) as caught:
                    call(top + b"/m/x")
                answers.append(caught.value.message)
        return differ, answers[0].replace(str(folder), ""), answers[1].replace(str(folder), "")

    message = "`/m` lies on a mount that the plan did not record"
    assert in_own_mounts(trial) == (True, message, message)


def test_a_folder_that_may_only_be_entered_still_serves_for_renames(normal_folder: Path, way: str) -> None:
    top = os.path.realpath(os.fsencode(normal_folder))

    def trial() -> tuple[list[str], bool]:
        make_files(normal_folder, {"drop/in/f": "x", "to/": None})
        (normal_folder / "drop" / "in").chmod(0o300)
        (normal_folder / "drop").chmod(0o300)
        with Places([top]) as granted:
            source, name = granted.at(top + b"/drop/in/f")
            target, _ = granted.at(top + b"/to/f")
            moving.rename(source, name, target, b"f")
            granted.recheck(top + b"/drop/in/f")
            synced = moving.sync_folder(source)
        return os.listdir(normal_folder / "to"), synced

    assert as_normal_user(trial) == (["f"], False)


def test_a_folder_that_may_not_be_searched_is_refused_by_the_system(normal_folder: Path, way: str) -> None:
    top = os.path.realpath(os.fsencode(normal_folder))

    def trial() -> bool:
        make_files(normal_folder, {"closed/in/f": "x"})
        (normal_folder / "closed").chmod(0o600)
        with Places([top]) as granted:
            try:
                granted.at(top + b"/closed/in/f")
            except PermissionError:
                return True
        return False

    assert as_normal_user(trial) is True


# --- descriptors ------------------------------------------------------------------------------------------------


def test_few_descriptors_stay_open_however_many_folders_were_used(
    folder: Path, top: bytes, places: Open
) -> None:
    make_files(folder, {f"{n}/f": str(n) for n in range(600)})
    granted = places(top)
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(2):
        for n in range(600):
            assert content(granted.at(top + b"/%d/f" % n)) == str(n)

    assert len(os.listdir("/proc/self/fd")) - before <= 256


def test_the_most_recently_used_folders_stay_open(folder: Path, top: bytes, places: Open) -> None:
    """A move uses two at once: opening the second must not close the first."""
    make_files(folder, {f"{n}/f": str(n) for n in range(300)})
    granted = places(top)
    first, _ = granted.at(top + b"/0/f")
    for n in range(1, 300):
        granted.at(top + b"/%d/f" % n)
        assert granted.at(top + b"/0/f")[0] == first

    assert content((first, b"f")) == "0"


def test_closing_leaves_nothing_open_and_may_be_repeated(folder: Path, top: bytes) -> None:
    make_files(folder, {"root/a/": None, "file": "x"})
    before = Leftovers.now()
    with Places([top + b"/root", top + b"/file"], forbidden=[top + b"/state"]) as granted:
        granted.at(top + b"/root/a/x")
        granted.at(top + b"/root")
        granted.close()
    assert left_since(before) == []


def test_a_refused_folder_leaves_nothing_open(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"state/held/": None, "f": "x", "l": ("->", "/")})
    granted = places(top, forbidden=[top + b"/state"], mounts={-1})
    before = Leftovers.now()

    for path in (b"/state/held/x", b"/f/x", b"/l/x", b"/missing/x", b"/x"):
        with pytest.raises((ScopeError, Conflict, FileNotFoundError)):
            granted.at(top + path)
    with pytest.raises(Conflict):
        Places([top + b"/f", top + b"/l/etc"])

    assert left_since(before) == []


def test_paths_longer_than_the_system_takes_at_once_are_opened(deep: Path, way: str, places: Open) -> None:
    top = os.path.realpath(os.fsencode(deep))
    here = os.open(deep, os.O_RDONLY)
    for _ in range(20):
        os.mkdir(b"n" * 250, dir_fd=here)
        below = os.open(b"n" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    granted = places(top, forbidden=[top + b"/state"])
    path = top + (b"/" + b"n" * 250) * 20 + b"/f"

    parent, name = granted.at(path)
    granted.recheck(path)

    assert (os.path.samestat(os.fstat(parent), os.fstat(here)), name) == (True, b"f")
    os.close(here)
