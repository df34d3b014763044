"""`fs.mkdir`, `fs.delete`, `fs.symlink` and `noop`: what is special about each."""

from __future__ import annotations

import os

import pytest

from deskshell.actions.fs_delete import FsDelete
from deskshell.actions.fs_mkdir import FsMkdir
from deskshell.actions.fs_symlink import FsSymlink
from deskshell.actions.noop import Noop
from deskshell.errors import Conflict, ManifestError, PlanConflict
from deskshell.kernel.view import TargetTaken, View
from tests.contract.harness import World
from tests.support.listing import difference
from tests.support.trees import make_files


def test_a_folder_that_is_there_refuses_the_plan(world: World) -> None:
    """`on_conflict = "skip"` turns this into nothing to do."""
    make_files(world.root, {"d/x": "x"})

    with pytest.raises(TargetTaken, match=r"`.*/d` exists already \(a folder\)"):
        FsMkdir.build({"path": world.path("d")}).simulate(View(), "mkdir")


def test_a_folder_with_something_in_it_is_not_removed(world: World) -> None:
    """F02: the message names what somebody put there."""
    action = FsMkdir.build({"path": world.path("d")})
    prior = world.prepare(action)
    world.do(action, prior)
    make_files(world.root / "d", {"theirs": "x"})

    with pytest.raises(Conflict, match=r"folder `.*/d` is not empty: `.*/d/theirs`") as refusal:
        world.undo(action, prior)

    assert refusal.value.verdict == "blocked"
    assert (world.root / "d/theirs").read_text() == "x"


def test_deleting_a_folder_takes_links_and_not_what_they_point_to(world: World) -> None:
    """F17."""
    make_files(world.root, {"keep/k": "k", "d/l": ("->", "../keep"), "d/x": "x"})
    action = FsDelete.build({"path": world.path("d")})

    world.do(action, world.prepare(action))

    assert sorted(os.listdir(world.root)) == ["keep"]
    assert os.listdir(world.root / "keep") == ["k"]


def test_deleting_what_an_earlier_step_removes_refuses_the_plan(world: World) -> None:
    """Both steps are named."""
    make_files(world.root, {"d/x": "x"})
    view = View()
    FsDelete.build({"path": world.path("d/x")}).simulate(view, "delete:x")

    with pytest.raises(
        PlanConflict, match=r"`.*/d/x` does not exist: step `delete:x` has moved or removed it"
    ):
        FsDelete.build({"path": world.path("d/x")}).simulate(view, "delete:again")


def test_what_takes_the_place_of_a_deleted_file_is_left_alone(world: World) -> None:
    make_files(world.root, {"a": "ours"})
    action = FsDelete.build({"path": world.path("a")})
    prior = world.prepare(action)
    world.do(action, prior)
    make_files(world.root, {"a": "theirs"})

    with pytest.raises(Conflict):
        world.undo(action, prior)

    assert (world.root / "a").read_text() == "theirs"


def test_an_object_put_under_the_name_between_look_and_act_is_not_deleted(world: World) -> None:
    """I7: what goes is what was planned, or nothing."""
    make_files(world.root, {"a": "ours"})
    action = FsDelete.build({"path": world.path("a")})
    prior = world.prepare(action)
    os.rename(world.root / "a", world.root / "b")
    make_files(world.root, {"a": "theirs"})
    before = world.listing()

    with pytest.raises(Conflict, match="is another file now"):
        world.do(action, prior)

    assert difference(before, world.listing()) == []


def test_a_link_keeps_its_text_as_it_is_written(world: World) -> None:
    """Neither resolved nor made absolute, whatever bytes it has."""
    for number, text in enumerate(("../x", "/absolute", "nowhere", "caf\udce9", ".")):
        action = FsSymlink.build({"path": world.path(f"l{number}"), "target": text})
        world.do(action, world.prepare(action))
        assert os.readlink(world.path(f"l{number}")) == os.fsencode(text)


def test_a_link_that_was_pointed_elsewhere_is_not_removed(world: World) -> None:
    action = FsSymlink.build({"path": world.path("l"), "target": "a"})
    prior = world.prepare(action)
    world.do(action, prior)
    os.unlink(world.root / "l")
    os.symlink("b", world.root / "l")

    with pytest.raises(Conflict, match="is another link now"):
        world.undo(action, prior)

    assert os.readlink(world.root / "l") == "b"


@pytest.mark.parametrize("text", ["", "a\0b"])
def test_a_link_needs_a_text(text: str) -> None:
    with pytest.raises(ManifestError, match="not the text of a link"):
        FsSymlink.build({"path": b"/l", "target": text})


def test_noop_needs_nothing_and_does_nothing(world: World) -> None:
    action = Noop.build({})

    assert (list(action.needs()), list(action.touches()), world.prepare(action).effects) == ([], [], ())
