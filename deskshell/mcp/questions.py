"""What a tool asks before it runs: the client for its roots, and the person behind it for a yes.

Resolvers of the SDK's one form that works for clients of all three revisions of the protocol. A client can
answer without a person, and the SDK accepts one answer twice: neither is trusted for more than it is. What a
person approves is bound to the plan by its digest, and once-only is the plan's own (`app.applying`).
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from mcp.server.mcpserver import (
    AcceptedElicitation,
    Context,
    Elicit,
    ElicitationResult,
    ListRoots,
    Resolve,
)
from mcp_types import ListRootsResult
from pydantic import BaseModel, Field

from deskshell.app import approval_text
from deskshell.app.consent import Consent, asks_person
from deskshell.errors import DeskshellError, NotFound
from deskshell.kernel import select
from deskshell.kernel.history import Head
from deskshell.kernel.stored import content_digest
from deskshell.mcp.service import Waited, service_of


class Answer(BaseModel):
    """A person's answer."""

    approve: bool = Field(description="Yes: do exactly this, once.")


class NotAsked(Answer):
    """Nobody was asked: no person is needed, or the client has no way to ask one."""

    approve: bool = False


Said = ElicitationResult[Answer]


def client_roots(ctx: Context[Any, Any]) -> ListRoots | None:
    """Ask the client for its roots, where it has them."""
    capabilities = ctx.client_capabilities
    return ListRoots() if capabilities is not None and capabilities.roots is not None else None


Roots = Annotated[ListRootsResult, Resolve(client_roots)]


def consent_of(flag: bool, said: Said) -> Consent:
    """What the caller and the person said, for `app.consent`."""
    if not isinstance(said, AcceptedElicitation):
        return Consent(flag, declined=True)
    if isinstance(said.data, NotAsked):
        return Consent(flag)
    return Consent(flag, person=said.data.approve, declined=not said.data.approve)


def can_ask(ctx: Context[Any, Any]) -> bool:
    """Whether the client says that it can put a form before a person."""
    capabilities = ctx.client_capabilities
    found = None if capabilities is None else capabilities.elicitation
    return found is not None and (found.form is not None or found.url is None)


# a skill, planned once for question and run


def planned(
    ctx: Context[Any, Any],
    name: str,
    params: dict[str, str | int | bool],
    grants: list[str] | None,
    client: Roots,
) -> Waited:
    """Plan a skill; when an answer comes back, it is the plan of the question."""
    service = service_of(ctx)
    key = _key(service.caller(ctx).owner, name, params, grants)
    waited = service.waiting.get(key) if ctx.input_responses is not None else None
    if waited is None:
        prepared = service.prepare(ctx, name, params, grants, service.within(client))
        waited = service.waiting.put(key, prepared)
    return waited


def _key(owner: str, *given: object) -> str:
    return hashlib.sha256(json.dumps([owner, *given], sort_keys=True).encode()).hexdigest()


Planned = Annotated[Waited, Resolve(planned)]


def ask_run(ctx: Context[Any, Any], plan: Planned, allowIrreversible: bool) -> Elicit[Answer] | NotAsked:
    """Ask the person about a plan that is not stored, where the policy wants one and the client can."""
    found = plan.prepared.plan
    if not (
        asks_person(found, service_of(ctx).options.settings, Consent(allowIrreversible)) and can_ask(ctx)
    ):
        return NotAsked()
    digest = hashlib.sha256((content_digest(found) + plan.nonce).encode()).hexdigest()
    return Elicit(approval_text.text(found, digest), Answer)


# a stored plan


def ask_apply(ctx: Context[Any, Any], plan_id: str, allowIrreversible: bool) -> Elicit[Answer] | NotAsked:
    """Ask the person about a stored plan, unless one has approved it on a terminal."""
    return _ask_stored(ctx, plan_id, Consent(allowIrreversible))


def ask_rotate(ctx: Context[Any, Any], plan_id: str) -> Elicit[Answer] | NotAsked:
    """The same for a log rotation, which can be undone."""
    return _ask_stored(ctx, plan_id, Consent())


def _ask_stored(ctx: Context[Any, Any], plan_id: str, consent: Consent) -> Elicit[Answer] | NotAsked:
    service = service_of(ctx)
    try:
        state = service.app(ctx).plan_show(plan_id)
    except DeskshellError:
        return NotAsked()  # applying says what is wrong
    plan = state.stored.plan
    asked = state.status == "open" and not state.changed
    if not (asked and asks_person(plan, service.options.settings, consent) and can_ask(ctx)):
        return NotAsked()
    return Elicit(approval_text.text(plan, state.stored.digest), Answer)


# history


def chosen(ctx: Context[Any, Any], task_id: str | None, client: Roots) -> Head:
    """The caller's own task that is meant: by id, or the newest that can be undone."""
    service = service_of(ctx)
    within = service.within(client)
    journal = service.app(ctx).desktop.reading().journal
    if task_id is not None:
        return service.own_task(ctx, journal, task_id, within)
    for head in select.candidates(journal):
        if service.sees(ctx, head, within):
            return head
    raise NotFound("there is no task of yours that can be undone", hint="see `journal_query`")


def chosen_undo(ctx: Context[Any, Any], task_id: str | None, client: Roots) -> Head:
    """The caller's own undone task that is meant: by id, or the newest that nothing later stands on."""
    service = service_of(ctx)
    within = service.within(client)
    journal = service.app(ctx).desktop.reading().journal
    if task_id is not None:
        return service.own_task(ctx, journal, task_id, within)

    def is_own(undo: Head) -> bool:
        try:
            service.own_task(ctx, journal, str(undo.of), within)
        except NotFound:
            return False
        return True

    undo = select.undo_to_redo(journal, None, is_own)
    return service.own_task(ctx, journal, str(undo.of), within)


Chosen = Annotated[Head, Resolve(chosen)]
ChosenUndo = Annotated[Head, Resolve(chosen_undo)]


def ask_undo(ctx: Context[Any, Any], head: Chosen, force: bool) -> Elicit[Answer] | NotAsked:
    """Ask the person before older history is undone, or anything with force."""
    return _ask_history(ctx, head, "undo", force=force)


def ask_redo(ctx: Context[Any, Any], head: ChosenUndo) -> Elicit[Answer] | NotAsked:
    """Ask the person before an older task is redone."""
    return _ask_history(ctx, head, "redo", force=False)


def _ask_history(ctx: Context[Any, Any], head: Head, verb: str, *, force: bool) -> Elicit[Answer] | NotAsked:
    service = service_of(ctx)
    if (service.is_recent(ctx, head) and not force) or not can_ask(ctx):
        return NotAsked()
    lines = [f"deskshell would {verb} {head.task_id}, {approval_text.quoted(head.skill)}."]
    if not service.is_recent(ctx, head):
        lines.append("It was done before this session began.")
    if force:
        lines.append("With force: what was changed since is replaced (and kept, so that this can be redone).")
    lines.append(f"The journal has {service.last_seq()} lines.")
    lines.append("It was granted:")
    for grant in head.begin.get("grants", ())[:8]:
        scopes = [str(each.get("path", each.get("url"))) for each in grant["scope"][:4]]
        shown = ", ".join(approval_text.quoted(each, 90) for each in scopes)
        lines.append(f"  {approval_text.quoted(grant['capability'])} in {shown}")
    return Elicit("\n".join(lines), Answer)
