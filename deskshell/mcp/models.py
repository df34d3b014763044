"""Answers of the tools. Sizes, inodes and times that can pass 2^53 are not in them as numbers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

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
