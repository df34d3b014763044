"""From the values of the app to the answers of the tools: shown safely, long lists in parts."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from deskshell.app.applying import PlanOutcome
from deskshell.app.plans import PlanState
from deskshell.files import names
from deskshell.kernel.report import EntryReport, Left, StepReport, TaskReport, UndoneTask, UndoReport
from deskshell.mcp.models import Applied, Capability, Entry, Plan, Remains, Step, Task, Undone
from deskshell.mcp.paging import few, part


def put_shown(data: dict[str, Any], key: str, target: bytes | str) -> None:
    """A path or URL as text that is safe to show; as base64 too where that text is not the path itself."""
    raw = target if isinstance(target, bytes) else target.encode("utf-8", "surrogateescape")
    data[key] = names.show(raw)
    if data[key].encode() != raw:
        data[key + "_bytes"] = base64.b64encode(raw).decode("ascii")


def steps_of(reports: Sequence[StepReport], cursor: str | None) -> dict[str, Any]:
    """The keys `steps`, `total`, `truncated` and `next_cursor`."""
    found, rest = part([_step(each) for each in reports], cursor)
    return {
        "steps": [Step(**each) for each in found],
        "total": len(reports),
        "truncated": len(found) < len(reports),
        "next_cursor": rest,
    }


def _step(report: StepReport) -> dict[str, Any]:
    data: dict[str, Any] = {
        "n": report.n,
        "action_id": names.show(report.action_id.encode("utf-8", "surrogateescape")),
        "kind": report.kind,
        "summary": report.summary,
        "status": report.status,
        "reversible": report.reversible,
        "error": report.error,
        "taken_back": report.taken_back,
    }
    put_shown(data, "target", report.target)
    return data


def remains(left: Sequence[Left]) -> list[Remains]:
    """The first changes that remain."""
    found = []
    for each in left[:20]:
        data: dict[str, Any] = {"action_id": each.action_id, "reason": each.reason}
        put_shown(data, "target", each.target)
        found.append(Remains(**data))
    return found


def capabilities(grants: Sequence[Mapping[str, Any]]) -> list[Capability]:
    """Grants in their JSON form."""
    return [
        Capability(
            name=grant["capability"],
            scope=few((str(each.get("path", each.get("url"))) for each in grant["scope"]), 8),
            reason=str(grant.get("reason", ""))[:300],
        )
        for grant in grants[:10]
    ]


def plan_of(state: PlanState, reports: Sequence[StepReport], cursor: str | None, next_step: str) -> Plan:
    """A stored plan."""
    data = state.to_json()
    return Plan(
        plan_id=data["planId"],
        status=state.status,
        expires_in_s=state.expires_in_s,
        digest=data["digest"],
        skill=data["skill"],
        version=data["version"],
        needs_consent=data["needsConsent"],
        irreversible=few(data["irreversible"]),
        approved=data["approved"],
        task_id=state.task_id,
        changed=few(state.changed),
        capabilities=capabilities(data["grants"]),
        notes=few(data["notes"], 5),
        cwd=names.show(state.stored.cwd),
        next_step=next_step,
        **steps_of(reports, cursor),
    )


def task_of(report: TaskReport, next_step: str) -> Task:
    """A run's report."""
    return Task(status=report.status, next_step=next_step, **_task(report))


def _task(report: TaskReport | None) -> dict[str, Any]:
    if report is None:
        report = TaskReport(None, "", "apply", "refused")
    return {
        "task_id": report.task_id,
        "skill": report.skill,
        "rolled_back": report.rolled_back,
        "error": report.error,
        "left": remains(report.left),
        "not_restored": few(report.not_restored, 10),
        "notes": few(report.notes, 5),
        **steps_of(report.steps, None),
    }


def applied_of(outcome: PlanOutcome, next_step: str) -> Applied:
    """What became of a plan."""
    return Applied(
        plan_id=outcome.plan_id,
        status=outcome.status,
        task_status=None if outcome.report is None else outcome.report.status,
        digest=outcome.digest,
        expires_in_s=outcome.expires_in_s,
        changed=few(outcome.changed),
        message=outcome.message,
        hint=outcome.hint,
        next_step=next_step,
        **_task(outcome.report),
    )


def undone_of(report: UndoReport, cursor: str | None, next_step: str, *, verb: str = "undone") -> Undone:
    """An undo, a redo (`verb` redone) or a check of one task."""
    task = report.tasks[0] if report.tasks else UndoneTask("", "", "nothing", 0, 0)
    found, rest = part([_entry(each) for each in task.entries], cursor)
    return Undone(
        task_id=task.task_id or None,
        undo_id=task.undo_id,
        skill=task.skill,
        status=verb if task.status == "undone" else task.status,
        complete=report.complete,
        rolled_back=task.rolled_back,
        entries=[Entry(**each) for each in found],
        total=len(task.entries),
        truncated=len(found) < len(task.entries),
        next_cursor=rest,
        notes=few(task.notes, 5),
        not_restored=few(task.not_restored, 10),
        error=report.error,
        next_step=next_step,
    )


def _entry(entry: EntryReport) -> dict[str, Any]:
    data: dict[str, Any] = {
        "n": entry.n,
        "action_id": entry.action_id,
        "verdict": entry.verdict,
        "path": names.show(entry.path),
        "reason": entry.reason,
        "by_task": entry.by_task,
    }
    put_shown(data, "target", entry.target)
    return data
