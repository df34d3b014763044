"""The reports of a task's steps are made when they are read."""

from __future__ import annotations

import os
from typing import ClassVar

from deskshell.actions.fs_mkdir import FsMkdir
from deskshell.app.prepared import Prepared
from deskshell.slotted import slotted
from tests.support.desk import Bench, mkdir, move, write


def test_a_preview_says_of_each_step_that_it_is_planned(desk: Bench) -> None:
    desk.make({"a": "A"})
    steps = Prepared(desk.plan(move("a", "b"), write("c", "C"))).report().steps

    assert [step.status for step in steps] == ["planned", "planned"]
    assert (len(steps), steps[0].kind, steps[-1].kind) == (2, "fs.move", "fs.write")
    assert [step.kind for step in steps[1:]] == ["fs.write"]


def test_steps_can_be_read_twice(desk: Bench) -> None:
    """For the terminal, and again for whoever keeps the report."""
    desk.make({"a": "A"})
    report = desk.run(move("a", "in/b"), write("c", "C"))

    assert [[step.status for step in report.steps] for _ in range(2)] == [["ok", "ok"]] * 2


def test_files_are_counted_where_a_step_changed_one(desk: Bench) -> None:
    desk.make({"a": "A"})

    assert desk.run(move("a", "in/b"), write("c", "C"), mkdir("d")).files == 2


def test_a_new_kind_is_counted_and_shown_as_what_it_makes(desk: Bench) -> None:
    """Without another line anywhere but in its own file."""
    plan = desk.plan(mkdir("d"))
    plan.steps[0].action = ToyFolder(os.fsencode(desk.root / "d"))

    assert [kind for _, kind, _, _ in Prepared(plan).tree()] == ["folder"]
    assert desk.run_plan(plan).files == 0


@slotted(frozen=True)
class ToyFolder(FsMkdir):
    """A kind that nothing in the package has heard of."""

    kind: ClassVar[str] = "toy.folder"
