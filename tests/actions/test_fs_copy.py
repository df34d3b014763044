"""Copying: all of it or nothing, and what later steps of a plan see of a copy."""

from __future__ import annotations

import os
from typing import Any

import pytest

from deskshell.actions.fs_copy import FsCopy
from deskshell.actions.fs_move import FsMove
from deskshell.errors import Conflict, PlanConflict
from deskshell.kernel.view import TargetTaken, View
from tests.contract.harness import World
from tests.support.listing import difference
from tests.support.trees import make_files


def copy(world: World, src: str, dst: str, **more: Any) -> FsCopy:
    return FsCopy.build({"from": world.path(src), "to": world.path(dst), **more})


def test_a_copy_that_somebody_worked_in_stays(world: World) -> None:
    """F02: an edit deep inside and a file added, both named."""
    make_files(world.root, {"a/sub/x": "x", "a/y": "y"})
    action = copy(world, "a", "b")
    prior = world.prepare(action)
    world.do(action, prior)
    (world.root / "b/sub/x").write_text("edited")
    make_files(world.root, {"b/sub/new": "theirs"})

    with pytest.raises(Conflict) as refusal:
        world.undo(action, prior)

    assert "/b/sub/new` (added)" in refusal.value.message
    assert "/b/sub/x` (content)" in refusal.value.message
    assert (world.root / "b/sub/x").read_text() == "edited"


def test_a_folder_is_not_copied_into_itself(world: World) -> None:
    """F39: it would never end."""
    make_files(world.root, {"d/x": "x"})

    with pytest.raises(PlanConflict, match="lies inside"):
        copy(world, "d", "d/sub").simulate(View(), "copy")


def test_a_fifo_alone_is_refused_when_planning(world: World) -> None:
    """F36."""
    make_files(world.root, {"pipe": ("|",)})

    with pytest.raises(PlanConflict, match="is a fifo, which has no content to copy"):
        copy(world, "pipe", "b").simulate(View(), "copy")


def test_the_original_may_be_edited_before_the_copy_is_undone(world: World) -> None:
    """Only the copy is this step's work."""
    make_files(world.root, {"a": "a"})
    action = copy(world, "a", "b")
    prior = world.prepare(action)
    world.do(action, prior)
    (world.root / "a").write_text("edited")

    world.undo(action, prior)

    assert os.listdir(world.root) == ["a"]
    assert (world.root / "a").read_text() == "edited"


def test_what_is_replaced_comes_back_as_the_very_object(world: World) -> None:
    make_files(world.root, {"a": "a", "b": "b", "other name of b": ("=", "b")})
    before = world.listing()
    inode = os.stat(world.root / "b").st_ino
    action = copy(world, "a", "b", replace=True)
    prior = world.prepare(action)

    world.do(action, prior)
    world.undo(action, prior)

    assert difference(before, world.listing()) == []
    assert os.stat(world.root / "b").st_ino == inode


# --- planning on copies -------------------------------------------------------------------------------------------


def test_later_steps_see_what_is_in_a_planned_copy(world: World) -> None:
    """With the changes that earlier steps make in the original."""
    make_files(world.root, {"a/x": "x", "a/in/y": "y"})
    view = View()
    FsMove.build({"from": world.path("a/x"), "to": world.path("a/z")}).simulate(view, "move:x")
    copy(world, "a", "b").simulate(view, "copy:a")

    assert {entry.name for entry in view.entries(world.path("b"))} == {b"in", b"z"}
    assert {entry.name for entry in view.entries(world.path("b/in"))} == {b"y"}
    node = view.look(world.path("b/in/y"))
    assert node is not None
    assert (node.by, node.id, node.origin) == ("copy:a", None, world.path("a/in/y"))
    with pytest.raises(TargetTaken):
        FsMove.build({"from": world.path("a/z"), "to": world.path("b/in/y")}).simulate(view, "move:z")


def test_a_step_on_a_planned_copy_is_not_planned_for_the_original(world: World) -> None:
    """The copy will be another object: expecting the original's identity there would stop every such plan."""
    make_files(world.root, {"a/x": "x"})
    view = View()
    copy(world, "a", "b").simulate(view, "copy:a")
    view.take_seen()
    FsMove.build({"from": world.path("b/x"), "to": world.path("c")}).simulate(view, "move:x")

    assert world.path("b/x") not in dict(view.take_seen())
