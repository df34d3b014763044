"""What a tool tells the agent to do next fits what happened."""

from __future__ import annotations

import pytest

from deskshell.kernel.report import Left, StepReport, TaskReport
from deskshell.mcp.hints import after_run

TASK = "task-1793201984999"


def step(*, compensated: bool) -> StepReport:
    return StepReport(
        0, "submit", "http.request", "post it", "https://example.org/x", "ok", False, compensated=compensated
    )


@pytest.mark.parametrize(("compensated", "offered"), [(False, False), (True, True)])
def test_an_undo_is_offered_when_one_would_do_something(compensated: bool, offered: bool) -> None:
    report = TaskReport(TASK, "web", "apply", "ok", [step(compensated=compensated)])

    assert ("`undo`" in after_run(report)) is offered


@pytest.mark.parametrize(("final", "offered"), [(False, True), (True, False)])
def test_an_undo_is_not_offered_for_what_is_final(final: bool, offered: bool) -> None:
    left = [Left("submit", "https://example.org/x", "sent", final=final)]
    report = TaskReport(TASK, "web", "apply", "incomplete", [], left=left)

    assert ("`undo`" in after_run(report)) is offered
