"""A plan of very many files shows a sign of life, on a terminal, while it is made."""

from __future__ import annotations

import pytest

from deskshell.errors import PlanConflict

MOVE = """
[[steps]]
action = "fs.move"
for_each = { files = "{folder}/**/*" }
from = "{file.path}"
to = "{folder}/sorted/"
"""


class Told:
    """What a front end is told, as text."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def start(self, what: str, total: int) -> None:
        self.lines.append(f"{what} {total}")

    def advance(self, count: int) -> None:
        self.lines.append(f"+{count}")

    def finish(self) -> None:
        self.lines.append("end")


def fill(planning, count):
    for n in range(count):
        (planning.folder / f"{n}.txt").touch()


def test_objects_looked_at_and_steps_planned_are_told_now_and_then(planning):
    fill(planning, 2150)
    told = Told()

    planning.steps(MOVE, progress=told)

    assert told.lines == ["looking 0", "+1000", "+1000", "planning 2150", *["+100"] * 21, "end"]


def test_nothing_is_drawn_any_more_when_a_plan_fails(planning):
    """The error would stand in the middle of the bar."""
    fill(planning, 2)
    told = Told()

    with pytest.raises(PlanConflict):
        planning.steps(MOVE.replace('sorted/"', 'sorted"'), progress=told)

    assert told.lines[-1] == "end"
