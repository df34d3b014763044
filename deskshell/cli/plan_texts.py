"""Stored plans as lines of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from deskshell.cli import output, reports
from deskshell.cli.faults import tell
from deskshell.cli.output import Styled
from deskshell.cli.wording import count, seconds

if TYPE_CHECKING:
    from deskshell.app.applying import PlanOutcome
    from deskshell.app.plans import PlanState

_STYLE = {
    "open": "",
    "approved": "green",
    "applied": "green",
    "expired": "dim",
    "failed": "red",
    "running": "yellow",
}


def say_stored(state: PlanState) -> None:
    """What was stored, and how to go on."""
    stored = state.stored
    output.say("")
    output.say(
        Styled("plan", "green"),
        f" {stored.plan_id}, digest {stored.digest[:8]}, can be applied for {seconds(state.expires_in_s)}",
    )
    if state.to_json()["needsConsent"]:
        output.say(
            "approve with: ", Styled(f"deskshell approve {stored.plan_id}", "bold"), " (on a terminal)"
        )
    output.say("apply with: ", Styled(f"deskshell apply {stored.plan_id}", "bold"))


def say_plans(states: Iterable[PlanState]) -> None:
    """A line a plan, the newest first."""
    some = False
    for state in states:
        some = True
        stored = state.stored
        left = f", {seconds(state.expires_in_s)} left" if state.status in ("open", "approved") else ""
        task = f" by {state.task_id}" if state.task_id else ""
        final = ", cannot all be undone" if state.to_json()["needsConsent"] else ""
        output.say(
            Styled(stored.plan_id, "bold"),
            "  ",
            Styled(state.status, _STYLE.get(state.status, "")),
            f"{task}{left}  {stored.plan.origin.skill}, {count(len(stored.plan.steps), 'step')}{final}"
            f"  ({stored.owner}, {stored.plan.origin.front})",
        )
    if not some:
        output.say("no plans")


def say_outcome(outcome: PlanOutcome) -> None:
    """What became of `apply`: the task's report, or why nothing was done."""
    report = outcome.report
    if outcome.status == "already_applied" and report is not None:
        output.say(
            Styled("already applied", "green"),
            f" by {report.task_id}: {count(len(report.steps), 'step')}; nothing was done now",
        )
    elif report is not None:
        reports.run_report(report)
    else:
        tell(f"{outcome.status}: {outcome.message}" if outcome.message else outcome.status)
        for line in outcome.changed[1:]:
            output.tell(Styled("changed:", "yellow"), f" {line}")
    if report is None and outcome.hint:
        output.tell(Styled("hint:", "cyan"), f" {outcome.hint}")
