"""Folders opened by path: only inside the roots, never through a link."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from deskshell.errors import Conflict, ScopeError
from deskshell.files import moving
from deskshell.files.identity import identity, stat_path
from tests.files.conftest import OpenPlaces as Open
from tests.files.making import content
from tests.support.trees import make_files


def test_a_path_inside_a_root_is_its_open_parent_and_its_name(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"a/b/f": "deep", "f": "shallow"})
    granted = places(top)

    assert content(granted.at(top + b"/a/b/f")) == "deep"
    assert content(granted.at(top + b"/f")) == "shallow"
    assert granted.at(top + b"/a/b/new")[1] == b"new"
    assert os.path.samestat(os.fstat(granted.folder_fd(top + b"/a")), os.stat(folder / "a"))
    assert os.path.samestat(os.fstat(granted.folder_fd(top)), os.stat(folder))


def test_a_parent_is_opened_once(folder: Path, top: bytes, places: Open) -> None:
    granted = places(top)

    assert granted.at(top + b"/x")[0] == granted.at(top + b"/y")[0] == granted.folder_fd(top)


@pytest.mark.parametrize(
    "path",
    [
        b"",
        b"/..",
        b"/../other/f",
        b"/./f",
        b"//f",
        b"/sub/../f",
        b"/sub//f",
        b"/sub/./f",
        b"/",
        b"/.",
        b"/sub/..",
    ],
)
def test_a_path_that_is_not_resolved_is_refused(folder: Path, top: bytes, places: Open, path: bytes) -> None:
    make_files(folder, {"root/sub/": None, "root/f": "x", "other/f": "x"})
    granted = places(top + b"/root")

    if path == b"":
        return  # the root itself, see below
    with pytest.raises(ScopeError):
        granted.at(top + b"/root" + path)


def test_a_path_outside_every_root_is_refused(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"allowed/f": "x", "allowed_evil/f": "x", "f": "x"})
    granted = places(top + b"/allowed")

    for outside in (b"/allowed_evil/f", b"/allowed_evil", b"/f", b"/allowe"):
        with pytest.raises(ScopeError, match="outside every granted scope"):
            granted.at(top + outside)
    for outside in (b"/allowed_evil", b"", b"/allowe"):
        with pytest.raises(ScopeError, match="outside every granted scope"):
            granted.folder_fd(top + outside)
    with pytest.raises(ScopeError):
        granted.at(b"relative/path")


def test_a_root_s_own_name_is_granted_without_its_siblings(folder: Path, top: bytes, places: Open) -> None:
    """So that a task may remove or make the folder it was given."""
    make_files(folder, {"root/f": "x", "sibling": "y"})
    granted = places(top + b"/root")

    parent, name = granted.at(top + b"/root")

    assert name == b"root"
    assert os.path.samestat(os.fstat(parent), os.stat(folder))
    granted.recheck(top + b"/root")
    with pytest.raises(ScopeError):
        granted.at(top + b"/sibling")


def test_a_single_file_can_be_a_root(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"f": "x", "g": "y"})
    granted = places(top + b"/f")

    assert content(granted.at(top + b"/f")) == "x"
    with pytest.raises(ScopeError):
        granted.at(top + b"/g")
    with pytest.raises(ScopeError):
        granted.folder_fd(top)


def test_a_root_that_does_not_exist_yet_is_opened_once_it_does(
    folder: Path, top: bytes, places: Open
) -> None:
    granted = places(top + b"/new/deeper")
    assert [(a.root, a.path) for a in granted.anchors] == [(top + b"/new/deeper", top)]

    with pytest.raises(FileNotFoundError):
        granted.at(top + b"/new/deeper/f")
    with pytest.raises(FileNotFoundError):
        granted.at(top + b"/new/deeper")
    with pytest.raises(ScopeError):
        granted.at(top + b"/other")
    make_files(folder, {"new/deeper/f": "x"})

    assert content(granted.at(top + b"/new/deeper/f")) == "x"
    assert granted.at(top + b"/new/deeper")[1] == b"deeper"


def test_the_whole_file_system_can_be_a_root(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"f": "x"})
    granted = places(b"/")

    assert content(granted.at(top + b"/f")) == "x"
    assert granted.at(b"/etc")[1] == b"etc"
    granted.recheck(b"/etc")
    granted.recheck(top + b"/f")
    assert os.path.samestat(os.fstat(granted.folder_fd(b"/")), os.stat("/"))
    with pytest.raises(ScopeError):
        granted.at(b"/")


@pytest.mark.parametrize("planted", ["a", "a/b", "a/b/c"])
@pytest.mark.parametrize("target", ["absolute", "relative", "dangling", "inside"])
def test_a_link_planted_in_any_component_is_not_followed(
    folder: Path, top: bytes, places: Open, planted: str, target: str
) -> None:
    make_files(folder, {"root/a/b/c/f": "mine", "root/inside/b/c/f": "mine", "outside/b/c/f": "theirs"})
    granted = places(top + b"/root")
    victim = folder / "root" / planted
    victim.rename(folder / "moved")
    leads_to = {
        "absolute": folder / "outside",
        "relative": "../" * planted.count("/") + "../outside",
        "dangling": "nowhere",
        "inside": folder / "root" / "inside",
    }
    victim.symlink_to(leads_to[target])

    with pytest.raises(Conflict) as caught:
        granted.at(top + b"/root/a/b/c/f")

    assert caught.value.message == f"`{victim}` is a link, which is not followed"
    with pytest.raises(Conflict):
        granted.folder_fd(top + b"/root/a/b/c")


def test_a_last_name_that_is_a_link_is_the_link(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"l": ("->", "/etc")})

    parent, name = places(top).at(top + b"/l")

    assert os.readlink(name, dir_fd=parent) == b"/etc"


def test_a_link_on_the_way_to_a_root_is_not_followed(folder: Path, top: bytes, places: Open) -> None:
    """Roots are resolved when the plan is made: a link there now was put there since."""
    make_files(folder, {"real/root/": None, "link": ("->", "real")})

    with pytest.raises(Conflict, match="link` is a link"):
        places(top + b"/link/root")
    assert places(top + b"/link").at(top + b"/link")[1] == b"link"  # a root that is a link: the link itself
    with pytest.raises(Conflict, match="link` is a link"):
        places(top + b"/link").at(top + b"/link/f")


def test_a_file_on_the_way_is_a_conflict_and_a_missing_folder_is_missing(
    folder: Path, top: bytes, places: Open
) -> None:
    make_files(folder, {"f": "x", "d/": None})
    granted = places(top)

    with pytest.raises(Conflict, match="f` is a file, not a folder"):
        granted.at(top + b"/f/below")
    with pytest.raises(Conflict, match="f` is a file, not a folder"):
        granted.at(top + b"/f/below/deeper")
    with pytest.raises(FileNotFoundError) as caught:
        granted.at(top + b"/d/missing/f")
    assert caught.value.filename == top + b"/d/missing"


def test_a_link_swapped_in_while_paths_are_opened_is_never_followed(
    folder: Path, top: bytes, places: Open
) -> None:
    """A component is looked at and opened in one step, so there is no moment in between."""
    make_files(folder, {"root/d/e/f": "mine", "swap": ("->", "outside"), "outside/e/f": "theirs"})
    fd = os.open(folder, os.O_RDONLY)
    if not moving.can_exchange(fd):
        os.close(fd)
        pytest.skip("this file system cannot exchange two names in one step")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            moving.exchange(fd, b"root/d", fd, b"swap")

    swapper = threading.Thread(target=swap)
    swapper.start()
    outcomes = set()
    try:
        for _ in range(3000):
            granted = places(top + b"/root")
            try:
                outcomes.add(content(granted.at(top + b"/root/d/e/f")))
            except (Conflict, FileNotFoundError):
                outcomes.add("refused")
            granted.close()
    finally:
        stop.set()
        swapper.join()
        os.close(fd)

    assert outcomes <= {"mine", "refused"}


def test_a_parent_moved_away_is_noticed_right_before_acting(folder: Path, top: bytes, places: Open) -> None:
    """A descriptor goes on working wherever its folder went."""
    make_files(folder, {"root/d/f": "x", "outside/": None})
    granted = places(top + b"/root")
    path = top + b"/root/d/f"
    granted.at(path)
    granted.recheck(path)

    (folder / "root" / "d").rename(folder / "outside" / "d")

    with pytest.raises(Conflict, match="d` was moved or replaced"):
        granted.recheck(path)


@pytest.mark.parametrize("put", ["folder", "link to it", "file"])
def test_a_parent_that_was_replaced_is_noticed(folder: Path, top: bytes, places: Open, put: str) -> None:
    make_files(folder, {"root/d/e/f": "x", "outside/": None})
    granted = places(top + b"/root")
    path = top + b"/root/d/e/f"
    granted.at(path)
    (folder / "root" / "d").rename(folder / "outside" / "d")
    if put == "folder":
        make_files(folder, {"root/d/e/f": "x"})
    elif put == "file":
        make_files(folder, {"root/d": "x"})
    else:  # the path leads to the very same folder, but by way of the outside
        (folder / "root" / "d").symlink_to(folder / "outside" / "d")

    with pytest.raises(Conflict, match="e` was moved or replaced"):
        granted.recheck(path)


def test_an_anchor_moved_away_is_noticed(folder: Path, top: bytes, places: Open) -> None:
    make_files(folder, {"root/f": "x"})
    granted = places(top + b"/root")
    granted.at(top + b"/root/f")
    (folder / "root").rename(folder / "elsewhere")

    with pytest.raises(Conflict, match="root` was moved or replaced"):
        granted.recheck(top + b"/root/f")


def test_the_anchors_tell_what_was_opened(folder: Path, top: bytes, places: Open) -> None:
    """A plan records them, and is refused when they are others later."""
    make_files(folder, {"root/": None, "file": "x"})
    granted = places(top + b"/root", top + b"/file", top + b"/missing/x")

    found = [(anchor.root, anchor.path, anchor.identity) for anchor in granted.anchors]
    here, root = stat_path(top), stat_path(top + b"/root")
    assert here is not None
    assert root is not None
    assert found == [
        (top + b"/root", top + b"/root", identity(root)),
        (top + b"/file", top, identity(here)),
        (top + b"/missing/x", top, identity(here)),
    ]


def test_what_the_caller_renamed_itself_is_no_conflict(folder: Path, top: bytes, places: Open) -> None:
    """A task that moves a folder away and makes a new one under its name did all of that itself."""
    make_files(folder, {"root/d/e/f": "old", "root/d2/e/f": "other"})
    granted = places(top + b"/root")
    path = top + b"/root/d/e/f"
    assert content(granted.at(path)) == "old"
    other = granted.at(top + b"/root/d2/e/f")[0]

    (folder / "root" / "d").rename(folder / "root" / "moved")
    granted.forget(top + b"/root/d")
    with pytest.raises(FileNotFoundError):
        granted.at(path)
    make_files(folder, {"root/d/e/f": "new"})

    granted.recheck(path)
    assert content(granted.at(path)) == "new"
    assert content(granted.at(top + b"/root/moved/e/f")) == "old"
    assert granted.at(top + b"/root/d2/e/f")[0] == other  # a name that only begins alike stays open


def test_a_root_that_the_caller_renamed_itself_is_anchored_anew(
    folder: Path, top: bytes, places: Open
) -> None:
    make_files(folder, {"root/sub/f": "old"})
    granted = places(top + b"/root", top + b"/root/sub")
    granted.at(top + b"/root/sub/f")

    (folder / "root").rename(folder / "held")
    granted.forget(top + b"/root")
    with pytest.raises(FileNotFoundError):
        granted.at(top + b"/root/sub/f")
    make_files(folder, {"root/sub/f": "new"})

    granted.recheck(top + b"/root/sub/f")
    assert content(granted.at(top + b"/root/sub/f")) == "new"
    with pytest.raises(ScopeError):
        granted.at(top + b"/held/sub/f")


def test_forgetting_what_was_never_open_changes_nothing(folder: Path, top: bytes, places: Open) -> None:
    granted = places(top)
    first = granted.at(top + b"/f")[0]

    granted.forget(top + b"/f")
    granted.forget(top + b"/other/f")

    assert granted.at(top + b"/f")[0] == first
