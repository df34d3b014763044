"""Running a plan: the gate, the grants, the transaction, and its report."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing as closes
from typing import Any

from deskshell.app.prepared import StepReports
from deskshell.errors import Conflict, PlanRefused, StepFailed
from deskshell.kernel import fingerprint, gate, record, room
from deskshell.kernel.capability import Grant, path_roots
from deskshell.kernel.desk import Desk
from deskshell.kernel.fingerprint import Marks
from deskshell.kernel.ground import Ground
from deskshell.kernel.item import Forward
from deskshell.kernel.outcome import Outcome
from deskshell.kernel.plan import Plan
from deskshell.kernel.report import TaskReport, text
from deskshell.kernel.transaction import Transaction


def admit(plan: Plan, granted: Iterable[Grant], *, consent: bool) -> None:
    """Refuse the plan whole, before anything happens, unless it may run.

    Raises CapabilityError, ScopeError, IrreversibleError.
    """
    plan.check(granted)
    gate.admit(plan.steps, consent=consent)


def run_plan(
    desk: Desk,
    plan: Plan,
    granted: tuple[Grant, ...],
    facts: Mapping[str, Any] | None = None,
    marks: Marks = (),
) -> TaskReport:
    """Run an admitted plan as one task, if everything is still as it was planned for (I8).

    Args:
        desk: open for writing.
        plan: checked against `granted`.
        granted: where it may act.
        facts: more for the `begin` line.
        marks: what the contents that it depends on were, see `fingerprint.marks`.

    Raises what the first look finds, before anything is written: PlanRefused when the disk is not as
    planned, else the failure itself.
    """
    started = time.monotonic()
    own = _own(plan, path_roots(granted))
    with closes(desk.ground(path_roots(granted))) as ground:
        _refuse_stale(fingerprint.changes(plan, marks, ground))
        begin = {**_begin(plan, granted, ground), "own": record.folder_list(own), **(facts or {})}
        desk.progress.start(plan.origin.skill, len(plan.steps))
        try:
            room.check(plan, ground, desk.max_copy)
            outcome = desk.walled(ground, lambda: _work(desk, ground, plan, begin), own=own)
        except Conflict as exc:
            raise _stale((exc.message,)) from exc
        except OSError as exc:
            raise StepFailed(text(exc), hint="nothing was changed") from exc
        finally:
            desk.progress.finish()
    report = _report(plan, outcome)
    report.seconds = time.monotonic() - started
    return report


def _work(desk: Desk, ground: Ground, plan: Plan, begin: Mapping[str, Any]) -> Outcome:
    return Transaction(desk, ground, begin).run(Forward(step) for step in plan.ordered())


def _own(plan: Plan, roots: tuple[bytes, ...]) -> list[bytes]:
    """The roots that a step itself renames, removes or makes: that happens in the folder around them."""
    wanted, found = set(roots), dict[bytes, None]()
    for step in plan.ordered():
        for path in step.action.touches():
            if path in wanted:
                found[path] = None
    return list(found)


def _refuse_stale(changed: Sequence[str]) -> None:
    if changed:
        raise _stale(tuple(changed))


def _stale(changed: tuple[str, ...]) -> PlanRefused:
    more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
    return PlanRefused(
        f"the disk changed since the plan was made: {changed[0]}{more}",
        changed=changed,
        hint="nothing was done; look again and make a new plan",
    )


def _begin(plan: Plan, granted: tuple[Grant, ...], ground: Ground) -> dict[str, Any]:
    origin = plan.origin
    return {
        "role": "run",
        "skill": origin.skill,
        "version": origin.version,
        "found": origin.found,
        "params": dict(origin.params),
        "grants": [grant.to_json() for grant in granted],
        "anchors": ground.anchor_forms(),
        "owner": origin.owner,
        "front": origin.front,
        "refs": dict(origin.refs),
        "planned": len(plan.steps),
    }


def _report(plan: Plan, outcome: Outcome) -> TaskReport:
    steps = StepReports(plan.steps, outcome)
    found = TaskReport(outcome.task_id, plan.origin.skill, "apply", outcome.status, steps)
    found.rolled_back = outcome.rolled_back
    found.error, found.hint = outcome.error, outcome.hint
    found.left = outcome.left
    found.not_restored = outcome.not_restored
    found.notes = list(plan.notes)
    found.signum = outcome.signum
    found.files = sum(
        1
        for step in plan.steps
        if step.action.makes not in ("folder", "") and outcome.state.get(step.n, "") == "ok"
    )
    return found
