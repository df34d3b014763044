"""The command after a crash: it finds a disk that recovery is about to change."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskshell.app.prepared import Prepared
from deskshell.errors import PlanRefused
from tests.support.desk import Bench, move, write
from tests.support.seam import Kill, seam


def killed(top: Path) -> Bench:
    """A world in which a run was killed after it moved its file, and before its end."""
    for at in range(10, 60):
        desk = Bench(top / str(at))
        desk.make({"a": "A"})
        with seam(Kill(at)) as cut:
            desk.run(move("a", "b"), write("c", "C"))
        if cut.came and "b" in desk.names():
            return desk
    raise AssertionError("no kill came between the move and the end")


def test_what_a_crash_left_is_closed_before_a_plan_is_made(tmp_path: Path) -> None:
    """A run after a crash works at once, and says what it had to do first."""
    desk = killed(tmp_path)

    (note,) = desk.app.close_interrupted()

    assert "interrupted" in note
    assert desk.names() == ["a"]
    assert desk.run(move("a", "b")).status == "ok"
    assert desk.app.close_interrupted() == []


def test_a_plan_made_before_the_recovery_is_refused_with_the_reason(tmp_path: Path) -> None:
    """I8: what was agreed to was another disk."""
    desk = killed(tmp_path)
    plan = desk.plan(move("b", "d"))

    with pytest.raises(PlanRefused) as refused:
        desk.app.run(Prepared(plan))

    assert "interrupted" in str(refused.value.hint)
    assert desk.names() == ["a"]


def test_without_a_crash_nothing_is_made(tmp_path: Path) -> None:
    desk = Bench(tmp_path)

    assert desk.app.close_interrupted() == []
    assert not desk.state.exists()
