"""What a plan may do without a way back, and what no consent allows."""

from __future__ import annotations

import pytest

from deskshell.errors import IrreversibleError
from deskshell.kernel import gate
from tests.support.desk import Bench, Do, delete, over, request, write


@pytest.mark.parametrize("step", [delete("a").final(), delete("a").without_undo()], ids=["final", "no undo"])
@pytest.mark.parametrize("consent", [True, False])
def test_a_deletion_without_an_undo_is_always_refused(desk: Bench, step: Do, consent: bool) -> None:
    """No yes brings back a file."""
    desk.make({"a": "a"})

    with pytest.raises(IrreversibleError, match="never allowed"):
        desk.run(step, allow_irreversible=consent)

    assert desk.names() == ["a"]


@pytest.mark.parametrize(
    "step", [over("a", "x").final(), over("a", "x").without_undo()], ids=["final", "no undo"]
)
def test_a_final_step_asks_for_consent_and_runs_with_it(desk: Bench, step: Do) -> None:
    desk.make({"a": "a"})

    with pytest.raises(
        IrreversibleError, match=r"step `fs.write:0` cannot be undone: explicit consent needed"
    ):
        desk.run(step)
    assert desk.read("a") == "a"
    assert not desk.state.exists()

    assert desk.run(step, allow_irreversible=True).status == "ok"
    assert desk.read("a") == "x"


def test_a_compensation_still_asks(desk: Bench) -> None:
    """A counter-action undoes what the server does with it, not what was sent."""
    url = "http://127.0.0.1:9/form"

    plan = desk.plan(request(url).compensated_by(request(f"{url}/1", "DELETE")))

    assert gate.judge(plan.steps) == plan.steps
    assert plan.steps[0].reversible


def test_consent_makes_nothing_undoable(desk: Bench) -> None:
    """An entry without an undo counts as failed, never as rolled back."""
    desk.make({"a": "a"})
    desk.run(over("a", "x").final(), write("b", "b"), allow_irreversible=True)

    report = desk.undo()

    assert [(entry.action_id, entry.verdict) for entry in report.tasks[0].entries] == [
        ("fs.write:1", "undone"),
        ("fs.write:0", "no-undo"),
    ]
    assert report.exit_code == 1
    assert desk.names() == ["a"]
    assert [
        line["undo"] for line in desk.lines() if line.get("actionId") == "fs.write:0" and "undo" in line
    ] == [None]


def test_irreversible_drops_an_undo_that_stands_beside_it(desk: Bench) -> None:
    desk.make({"a": "a"})
    plan = desk.plan(over("a", "x").final().compensated_by(Do("noop", {})))

    assert not plan.steps[0].reversible
    assert not plan.steps[0].compensated
    assert gate.needs_consent(plan.steps[0])


def test_final_steps_that_are_not_last_are_named(desk: Bench) -> None:
    """A later failure will leave them standing."""
    desk.make({"a": "a"})

    one = desk.plan(over("a", "x").final(), write("b", "b"))
    other = desk.plan(write("b", "b"), over("a", "x").final())

    assert [step.action_id for step in gate.stranded(one.steps)] == ["fs.write:0"]
    assert gate.stranded(other.steps) == ()


def test_a_plan_without_final_steps_needs_no_consent(desk: Bench) -> None:
    desk.make({"a": "a"})

    assert gate.judge(desk.plan(delete("a"), write("b", "b")).steps) == ()
