"""Rotation: archives are never touched, no line is lost, and a sixth rotation is refused."""

from __future__ import annotations

import os

import pytest

from deskshell.actions.log_rotate import LogRotate
from deskshell.errors import Conflict, PlanConflict
from deskshell.kernel.view import View
from tests.contract.harness import World
from tests.support.listing import difference
from tests.support.trees import make_files


@pytest.mark.parametrize("taken, archive", [((), 2), ((2,), 3), ((2, 3, 4, 5), 6), ((3,), 2), ((1,), 2)])
def test_the_first_free_of_five_names_is_taken(world: World, taken: tuple[int, ...], archive: int) -> None:
    make_files(world.root, {"app.log": "now\n", **{f"app.log.{number}": "old" for number in taken}})
    view = View()
    action = LogRotate.build({"path": world.path("app.log")}).settled(view)
    action.simulate(view, "rotate")

    assert action.summary() == f"rotate app.log → app.log.{archive}"
    world.do(action, world.prepare(action))
    assert (world.root / f"app.log.{archive}").read_text() == "now\n"
    assert (world.root / "app.log").read_bytes() == b""


def test_with_all_five_names_taken_the_plan_is_refused(world: World) -> None:
    """It never deletes an archive to make room."""
    make_files(world.root, {"app.log": "now", **{f"app.log.{number}": "old" for number in range(2, 7)}})
    action = LogRotate.build({"path": world.path("app.log")})
    before = world.listing()

    with pytest.raises(PlanConflict, match=r"all five archive names are taken, up to `.*/app.log.6`"):
        action.settled(View()).simulate(View(), "rotate")
    with pytest.raises(Conflict, match="is taken"):
        world.prepare(action)

    assert difference(before, world.listing()) == []


def test_a_name_that_was_taken_since_the_plan_stops_it(world: World) -> None:
    """The plan said `app.log.2`; taking another name unasked would be another plan."""
    make_files(world.root, {"app.log": "now"})
    action = LogRotate.build({"path": world.path("app.log")}).settled(View())
    make_files(world.root, {"app.log.2": "theirs"})

    with pytest.raises(Conflict, match=r"`.*/app.log.2` is taken"):
        world.prepare(action)


def test_a_program_that_has_the_log_open_loses_no_line(world: World) -> None:
    """F27: it goes on writing into the archive."""
    make_files(world.root, {"app.log": "one\n"})
    action = LogRotate.build({"path": world.path("app.log")})
    prior = world.prepare(action)
    with open(world.root / "app.log", "a") as log:
        world.do(action, prior)
        log.write("two\n")

    assert (world.root / "app.log.2").read_text() == "one\ntwo\n"
    world.undo(action, prior)
    assert (world.root / "app.log").read_text() == "one\ntwo\n"
    assert os.listdir(world.root) == ["app.log"]


def test_lines_in_the_new_log_stop_an_undo(world: World) -> None:
    """They would be lost with it."""
    make_files(world.root, {"app.log": "one\n"})
    action = LogRotate.build({"path": world.path("app.log")})
    prior = world.prepare(action)
    world.do(action, prior)
    with open(world.root / "app.log", "a") as log:
        log.write("two\n")

    with pytest.raises(Conflict, match=r"content changed since: `.*/app.log`"):
        world.undo(action, prior)

    assert (world.root / "app.log").read_text() == "two\n"
    assert (world.root / "app.log.2").read_text() == "one\n"


def test_a_link_is_no_log(world: World) -> None:
    """Renaming it would leave the log where it is, and growing."""
    make_files(world.root, {"app.log": ("->", "real.log"), "real.log": "x"})

    with pytest.raises(PlanConflict, match="is a link, not a file"):
        LogRotate.build({"path": world.path("app.log")}).simulate(View(), "rotate")
