"""`log_rotate_plan` and `log_rotate_apply`: one use of stored plans, in the shape their source gave them.

Every refusal is an error that says which: a changed log, an unknown or expired plan, another rotation at work.
"""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import Context, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ToolError

from deskshell.app import rotation
from deskshell.app.rotation import LOG
from deskshell.files import names
from deskshell.mcp.models import RotatePlan, RotateResult
from deskshell.mcp.questions import Answer, Roots, ask_rotate, consent_of
from deskshell.mcp.service import service_of
from deskshell.mcp.tooling import tool
from deskshell.mcp.tools_plans import PlanId


@tool("Plan a log rotation", scope="plan")
def log_rotate_plan(ctx: Context[Any, Any], client: Roots) -> RotatePlan:
    """Plan to rotate the server's `app.log`. Changes nothing. Apply it only after the user agreed to this plan."""
    service = service_of(ctx)
    found = rotation.plan(
        service.app(ctx),
        service.options.log_dir,
        ttl_s=service.options.log_ttl_s,
        within=service.within(client),
    )
    archive = names.show(found.archive.encode("utf-8", "surrogateescape"))
    return RotatePlan(
        plan_id=found.plan_id,
        log_size=found.size_bytes,
        archive_name=archive,
        action=f"rename {LOG} ({found.size_bytes} bytes) to {archive} and start a new, empty {LOG}",
        expires_in_s=found.expires_in_s,
    )


@tool("Apply a log rotation", scope="apply", destructive=False, idempotent=True)
def log_rotate_apply(
    ctx: Context[Any, Any],
    plan_id: PlanId,
    said: Annotated[ElicitationResult[Answer], Resolve(ask_rotate)],
    client: Roots,
) -> RotateResult:
    """Apply a planned log rotation. Called again with the same `plan_id` it rotates nothing and answers the same."""
    service = service_of(ctx)
    outcome, archive, size_bytes = rotation.apply(
        service.app(ctx), plan_id, consent_of(flag=False, said=said), within=service.within(client)
    )
    if outcome.status not in ("applied", "already_applied"):
        raise ToolError(_refusal(outcome.status, outcome.message or ""))
    return RotateResult(
        plan_id=plan_id,
        status=outcome.status,
        archive_name=names.show(archive.encode("utf-8", "surrogateescape")),
        archived_bytes=size_bytes,
    )


def _refusal(status: str, message: str) -> str:
    words = {
        "busy": "another task is at work right now",
        "stale": "the log changed after the plan was made, and consent was for another state",
        "expired": "the plan has expired; make a new one with `log_rotate_plan` and have it approved anew",
        "declined": "the person who was asked did not agree",
        "failed": "the rotation failed, and the plan is used up",
    }
    return f"{status}: {words[status]} ({message})"
