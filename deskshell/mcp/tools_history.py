"""Tools about what was done: the journal, one task, undo and redo. A caller has only tasks of its own."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, ElicitationResult, Resolve
from pydantic import Field, StrictBool

from deskshell.app import log as journal_log
from deskshell.errors import PlanRefused
from deskshell.files import names
from deskshell.kernel.history import Head
from deskshell.mcp import answers, models
from deskshell.mcp.hints import after_undo
from deskshell.mcp.paging import Cursor
from deskshell.mcp.questions import (
    Answer,
    Chosen,
    ChosenUndo,
    Roots,
    Said,
    ask_redo,
    ask_undo,
    consent_of,
)
from deskshell.mcp.service import Service, service_of
from deskshell.mcp.tooling import tool

TaskId = Annotated[str, Field(pattern=r"^task-[0-9]{1,20}$", description="a `taskId`")]
SomeTask = Annotated[
    str | None,
    Field(pattern=r"^task-[0-9]{1,20}$", description="a `taskId`; your newest that can be when left out"),
]
StepIds = Annotated[
    list[str], Field(default_factory=list, max_length=1000, description="only these steps, by `actionId`")
]
_A_PAGE = 30


@tool("List tasks", scope="read", read_only=True, idempotent=True)
def journal_query(
    ctx: Context[Any, Any],
    client: Roots,
    status: Annotated[
        Literal["ok", "rolled-back", "incomplete", "running", "undone", "partly undone"] | None,
        Field(description="only tasks in this state"),
    ] = None,
    cursor: Cursor = None,
) -> models.TaskList:
    """List your own tasks, the newest first: what ran, how it ended, what was undone."""
    service = service_of(ctx)
    within = service.within(client)
    desktop = service.app(ctx).desktop
    start = int(cursor or 0)
    found = [
        summary
        for head, summary in journal_log.summaries(desktop.reading().journal, desktop.holder())
        if service.sees(ctx, head, within) and status in (None, summary.status)
    ]
    shown = list(islice(found, start, start + _A_PAGE))
    end = start + len(shown)
    return models.TaskList(
        tasks=[_summary(each) for each in shown],
        total=len(found),
        truncated=len(shown) < len(found),
        next_cursor=str(end) if end < len(found) else None,
    )


def _summary(task: journal_log.TaskSummary) -> models.TaskSummary:
    return models.TaskSummary(
        task_id=task.task_id,
        skill=names.show(task.skill.encode("utf-8", "surrogateescape")),
        started_ms=task.started_ms,
        ended_ms=task.ended_ms,
        status=task.status,
        steps=task.steps,
        role=task.role,
        of=task.of,
        front=task.front,
        error=None if task.error is None else task.error[:300],
    )


@tool("Show a task", scope="read", read_only=True, idempotent=True)
def task_show(
    ctx: Context[Any, Any], task_id: TaskId, client: Roots, cursor: Cursor = None
) -> models.TaskInfo:
    """Show one of your own tasks with its steps as they are now."""
    service = service_of(ctx)
    app = service.app(ctx)
    service.own_task(ctx, app.desktop.reading().journal, task_id, service.within(client))
    found = app.show(task_id)
    return models.TaskInfo(
        task=_summary(found.summary),
        capabilities=answers.capabilities(found.facts.get("grants", ())),
        params=_short(found.facts.get("params", {})),
        plan_id=found.facts.get("planId"),
        left=answers.remains(found.left),
        undone_by=list(found.undone_by[:20]),
        **answers.steps_of([step.report for step in found.steps], cursor),
    )


def _short(params: dict[str, Any]) -> dict[str, Any]:
    return {key: value[:300] if isinstance(value, str) else value for key, value in list(params.items())[:30]}


@tool("Check an undo", scope="read", read_only=True, idempotent=True)
def undo_check(
    ctx: Context[Any, Any], head: Chosen, steps: StepIds, task_id: SomeTask = None, cursor: Cursor = None
) -> models.Undone:
    """Say for each step of a task what an undo would do now, and what stands in its way. Changes nothing."""
    del task_id  # it went into `head`
    report = service_of(ctx).app(ctx).undo_check(task=head.task_id, steps=steps)
    return answers.undone_of(report, cursor, after_undo(report, "undone"))


@tool("Undo a task", scope="undo", destructive=True, idempotent=True)
def undo(
    ctx: Context[Any, Any],
    head: Chosen,
    said: Annotated[ElicitationResult[Answer], Resolve(ask_undo)],
    client: Roots,
    steps: StepIds,
    task_id: SomeTask = None,
    force: Annotated[
        StrictBool, Field(description="replace (and keep) what was changed since; a person has to agree")
    ] = False,
) -> models.Undone:
    """Take back one of your own tasks, never over work that was done since. An undo can be redone.

    Tasks from before this session, and `force`, take a person's yes.
    """
    del task_id
    service = service_of(ctx)
    within = service.within(client)

    def allowed(found: Head) -> None:
        _allow(service, ctx, found, within, said, "undo", force=force)

    report = service.app(ctx).undo(
        task=head.task_id, steps=steps, force=force, secrets=service.options.secrets, allowed=allowed
    )
    return answers.undone_of(report, None, after_undo(report, "undone"))


@tool("Redo a task", scope="undo", destructive=True, idempotent=True)
def redo(
    ctx: Context[Any, Any],
    head: ChosenUndo,
    said: Annotated[ElicitationResult[Answer], Resolve(ask_redo)],
    client: Roots,
    task_id: SomeTask = None,
) -> models.Undone:
    """Take an undo of your own back: what it removed was held, and the very objects return."""
    del task_id
    service = service_of(ctx)
    within = service.within(client)

    def allowed(found: Head) -> None:
        _allow(service, ctx, found, within, said, "redo", force=False)

    report = service.app(ctx).redo(head.task_id, allowed=allowed)
    return answers.undone_of(report, None, after_undo(report, "redone"), verb="redone")


def _allow(
    service: Service,
    ctx: Context[Any, Any],
    head: Head,
    within: tuple[bytes, ...] | None,
    said: Said,
    verb: str,
    *,
    force: bool,
) -> None:
    """Refuse (by raising) under the lock what the caller may not take back by itself.

    Raises NotFound for a task that is not the caller's, PlanRefused where a person has to agree first.
    """
    service.own_task(ctx, service.app(ctx).desktop.reading().journal, head.task_id, within)
    if service.is_recent(ctx, head) and not force:
        return
    consent = consent_of(flag=False, said=said)
    if consent.person:
        return
    why = "with force" if force else "a task from before this session"
    status = "declined" if consent.declined else "refused"
    lead = "declined: " if consent.declined else ""
    raise PlanRefused(
        f"{lead}to {verb} {why} is a person's decision",
        status=status,
        hint=f"they can run `deskshell {verb} --task {head.task_id}{' --force' if force else ''}` on a terminal",
    )
