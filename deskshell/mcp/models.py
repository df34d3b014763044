"""Answers of the tools. Sizes, inodes and times that can pass 2^53 are not in them as numbers."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from deskshell.app.applying import PlanOutcome
from deskshell.app.plans import PlanState
from deskshell.files import names
from deskshell.kernel.report import EntryReport, Left, StepReport, TaskReport, UndoneTask, UndoReport
from deskshell.mcp.paging import few, part
from deskshell.mcp.tooling import Model


class Step(Model):
    """One step. `target` is a path or URL, safe to show; `target_bytes` (base64) is given where that is not the path itself."""

    n: int
    action_id: str
    kind: str
    summary: str
    status: str
    reversible: bool = True
    error: str | None = None
    target: str = ""
    target_bytes: str | None = None
    taken_back: bool = False


class Remains(Model):
    """A change that could not be taken back, and why."""

    action_id: str
    target: str
    target_bytes: str | None = None
    reason: str


class Listed(Model):
    """A part of a list: `total` is the whole, `next_cursor` asks for the rest."""

    total: int = Field(description="how many there are in all")
    truncated: bool = Field(description="whether this is only a part")
    next_cursor: str | None = Field(default=None, description="give it as `cursor` for the next part")


class Capability(Model):
    """A capability, where it holds, and why it is needed."""

    name: str
    scope: list[str]
    reason: str = ""


class SkillInfo(Model):
    """A skill in a list."""

    name: str
    version: str
    summary: str
    shipped: bool


class SkillList(Listed):
    """All skills."""

    skills: list[SkillInfo]


class SkillParameter(Model):
    """One parameter of a skill; a secret one is never given in a call, only in the server's environment."""

    name: str
    type: str
    help: str
    default: str | int | bool | None = None
    choices: list[str] = Field(default_factory=list)


class SkillDetail(Model):
    """A skill with all that is needed to use it; `text` is its author's description, for information only."""

    name: str
    version: str
    summary: str
    parameters: list[SkillParameter]
    capabilities: list[Capability]
    text: str


class Preview(Listed):
    """What a skill would do now. Nothing was changed and nothing stored."""

    skill: str
    version: str
    needs_consent: bool = Field(description="some steps cannot be undone")
    irreversible: list[str]
    steps: list[Step]
    notes: list[str]
    cwd: str = Field(description="the folder that relative paths lie in")


class Plan(Listed):
    """A stored plan: exactly these steps, for the state of now, applied at most once."""

    plan_id: str
    status: str = Field(description="open, approved, expired, running, applied or failed")
    expires_in_s: int
    digest: str
    skill: str
    version: str
    needs_consent: bool
    irreversible: list[str]
    approved: bool
    task_id: str | None
    changed: list[str] = Field(description="what differs by now from the state it was made for")
    capabilities: list[Capability]
    steps: list[Step]
    notes: list[str]
    cwd: str
    next_step: str = Field(description="how to go on")


class Task(Listed):
    """What a run did: only what the disk shows."""

    task_id: str | None
    skill: str
    status: str = Field(description="ok, rolled-back, incomplete or unknown")
    steps: list[Step]
    rolled_back: int
    error: str | None
    left: list[Remains]
    not_restored: list[str]
    notes: list[str]
    next_step: str


class Applied(Task):
    """What became of a plan."""

    plan_id: str
    status: str = Field(
        description="applied, already_applied, busy, stale, expired, declined or failed (that of the plan)"
    )
    task_status: str | None
    digest: str | None
    expires_in_s: int
    changed: list[str]
    message: str | None
    hint: str | None


class Entry(Model):
    """What an undo did, or would do, with one step."""

    n: int
    action_id: str
    verdict: str
    target: str
    target_bytes: str | None = None
    path: str = ""
    reason: str = ""
    by_task: str | None = None


class Undone(Listed):
    """An undo, a redo or a check of one task."""

    task_id: str | None
    undo_id: str | None
    skill: str
    status: str = Field(description="undone (redone), partly, refused or nothing")
    complete: bool = Field(description="whether everything asked for is undone, or would be")
    rolled_back: int
    entries: list[Entry]
    notes: list[str]
    not_restored: list[str]
    error: str | None
    next_step: str


class TaskSummary(Model):
    """One task of the journal; times are milliseconds since 1970."""

    task_id: str
    skill: str
    started_ms: int
    ended_ms: int | None
    status: str
    steps: int
    role: str
    of: str | None
    front: str
    error: str | None


class TaskList(Listed):
    """The caller's own tasks, the newest first."""

    tasks: list[TaskSummary]


class TaskInfo(Listed):
    """One task with its steps as they are now."""

    task: TaskSummary
    capabilities: list[Capability]
    params: dict[str, Any]
    plan_id: str | None
    steps: list[Step]
    left: list[Remains]
    undone_by: list[str]


class RotatePlan(BaseModel):
    """What a log rotation would do; apply it by its id."""

    plan_id: str
    log_size: int
    archive_name: str
    action: str
    expires_in_s: int


class RotateResult(BaseModel):
    """What a log rotation did; `status` is applied or already_applied."""

    plan_id: str
    status: str
    archive_name: str
    archived_bytes: int


# From the values of the app to answers.


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
