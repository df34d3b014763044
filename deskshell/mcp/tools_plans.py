"""Tools about stored plans: make one from a list of actions, look at it, apply it once."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import Context, ElicitationResult, Resolve
from pydantic import BaseModel, ConfigDict, Field

from deskshell.mcp import answers, models
from deskshell.mcp.hints import after_apply, after_plan
from deskshell.mcp.paging import Cursor
from deskshell.mcp.questions import Answer, Roots, ask_apply, consent_of
from deskshell.mcp.service import service_of
from deskshell.mcp.tooling import tool
from deskshell.mcp.tools_skills import AllowIrreversible

PlanId = Annotated[
    str, Field(pattern=r"^[0-9a-f]{16}$", description="the `planId` that a plan was stored under")
]


class Declared(BaseModel):
    """A capability that the actions take: name, scope (paths, or URL prefixes), and why."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(description="fs.read, fs.write, fs.delete or net.request")]
    scope: Annotated[
        list[str], Field(max_length=50, description="folders, or URL prefixes; as narrow as can be")
    ]
    reason: Annotated[str, Field(max_length=300)] = "needed by the actions"


Actions = Annotated[
    list[dict[str, Any]],
    Field(
        min_length=1,
        max_length=1000,
        description=(
            "steps as in a skill: each has `action` (fs.move, fs.copy, fs.mkdir, fs.write, fs.delete, fs.symlink, "
            "fs.chmod, fs.compress, log.rotate, http.request, noop), the keys of that action (`from` and `to`, `path`, "
            "`text`, …), and may have `id`, `for_each`, `on_conflict`, `assert`. "
            "In texts and paths `{name}` is filled in, so a brace itself is written `{{` or `}}`"
        ),
    ),
]


@tool("Plan a list of actions", scope="plan")
def plan_actions(
    ctx: Context[Any, Any],
    actions: Actions,
    capabilities: Annotated[list[Declared], Field(max_length=20)],
    client: Roots,
    summary: Annotated[str, Field(max_length=200)] = "",
) -> models.Plan:
    """Store a plan of your own actions, for the state of now. Changes nothing else.

    What is not declared in `capabilities` is refused. Relative paths lie in `cwd` of the answer; use absolute ones.
    Show the plan to the user, then `plan_apply` its id.
    """
    service = service_of(ctx)
    app, within = service.app(ctx), service.within(client)
    prepared = app.prepare_actions(
        actions,
        [each.model_dump() for each in capabilities],
        cwd=service.options.cwd,
        summary=summary,
        within=within,
    )
    state = app.plan(prepared, cwd=service.options.cwd)
    return answers.plan_of(state, prepared.report().steps, None, after_plan(state, service.options.settings))


@tool("Show a plan", scope="read", read_only=True, idempotent=True)
def plan_show(ctx: Context[Any, Any], plan_id: PlanId, cursor: Cursor = None) -> models.Plan:
    """Show a stored plan of yours: its steps, what has become of it, and what has changed since it was made."""
    from deskshell.app import Prepared

    service = service_of(ctx)
    state = service.app(ctx).plan_show(plan_id)
    steps = Prepared(state.stored.plan).report().steps
    return answers.plan_of(state, steps, cursor, after_plan(state, service.options.settings))


@tool("Apply a plan", scope="apply", destructive=True, idempotent=True, open_world=True)
def plan_apply(
    ctx: Context[Any, Any],
    plan_id: PlanId,
    said: Annotated[ElicitationResult[Answer], Resolve(ask_apply)],
    client: Roots,
    allowIrreversible: AllowIrreversible = False,
) -> models.Applied:
    """Apply a stored plan: exactly its steps, once. Called again, it does nothing and gives the first result.

    `status` is applied, already_applied, busy, stale, expired, declined or failed; only the first acted now.
    """
    service = service_of(ctx)
    outcome = service.app(ctx).apply(
        plan_id,
        consent=consent_of(allowIrreversible, said),
        within=service.within(client),
        secrets=service.options.secrets,
    )
    return answers.applied_of(outcome, after_apply(outcome))
