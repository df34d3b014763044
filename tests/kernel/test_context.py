"""What a step knows of the disk: looked up once, or taken from the plan and compared by acting."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deskshell.errors import Conflict
from deskshell.files.identity import Identity, identity, stat_path
from deskshell.files.scope import Places
from deskshell.kernel.context import Context
from deskshell.kernel.effects import Move
from deskshell.kernel.ground import Ground


@pytest.fixture
def folder(tmp_path: Path) -> bytes:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("a")
    return os.path.realpath(os.fsencode(tmp_path / "folder"))


@pytest.fixture
def ctx(tmp_path: Path, folder: bytes) -> Iterator[Context]:
    held, kept = os.fsencode(tmp_path / "held"), os.fsencode(tmp_path / "kept")
    with closing(Ground(Places([folder]), held=held, kept=kept, key=lambda: b"key")) as ground:
        yield Context(ground, task_id="task-1", n=0, token="abc", secrets={}, stop=lambda: None)


def planned(path: bytes) -> Identity:
    found = stat_path(path)
    assert found is not None
    return identity(found)


def change(path: bytes, how: str) -> None:
    if how == "edited":
        Path(os.fsdecode(path)).write_text("edited")
        return
    os.unlink(path)
    if how == "replaced":
        Path(os.fsdecode(path)).write_text("a")


@pytest.mark.parametrize("how", ["edited", "gone", "replaced"])
def test_a_file_that_is_renamed_by_what_the_plan_saw_is_compared_by_acting(
    folder: bytes, ctx: Context, how: str
) -> None:
    """Whatever somebody does to it after the plan was compared: it is not moved (I7, I8)."""
    seen = planned(folder + b"/a")
    change(folder + b"/a", how)
    ctx.check_seen([(folder + b"/a", seen)])

    effects = ctx.move(folder + b"/a", folder + b"/b")
    ctx.check_rest()

    assert effects == (Move(folder + b"/a", folder + b"/b", seen),)
    with pytest.raises(Conflict):
        ctx.act(effects)
    assert not os.path.lexists(folder + b"/b")


@pytest.mark.parametrize("how", ["edited", "gone", "replaced"])
@pytest.mark.parametrize("by", ["a look", "the rest"])
def test_a_file_that_is_not_renamed_is_compared_when_looked_at(
    folder: bytes, ctx: Context, how: str, by: str
) -> None:
    seen = planned(folder + b"/a")
    change(folder + b"/a", how)
    ctx.check_seen([(folder + b"/a", seen)])

    compare = ctx.check_rest if by == "the rest" else lambda: ctx.look(folder + b"/a")

    with pytest.raises(Conflict, match="since it was planned"):
        compare()


def test_a_path_that_was_free_and_a_folder_are_compared_at_once(folder: bytes, ctx: Context) -> None:
    with pytest.raises(Conflict, match="exists now"):
        ctx.check_seen([(folder + b"/a", None)])
    os.mkdir(folder + b"/d")
    seen = planned(folder + b"/d")
    os.rmdir(folder + b"/d")
    with pytest.raises(Conflict, match="is gone"):
        ctx.check_seen([(folder + b"/d", seen)])


def test_what_was_renamed_unseen_can_be_looked_at_under_its_new_name(folder: bytes, ctx: Context) -> None:
    """A step may go on with it: a move, and then its mode."""
    seen = planned(folder + b"/a")
    ctx.check_seen([(folder + b"/a", seen)])

    effects = ctx.move(folder + b"/a", folder + b"/b") + ctx.set_mode(folder + b"/b", 0o600)

    assert ctx.look(folder + b"/a") is None
    ctx.act(effects)
    found = stat_path(folder + b"/b")
    assert found is not None
    assert (found.ino, found.mode) == (seen.ino, 0o600)
