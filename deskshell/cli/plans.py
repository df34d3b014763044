"""`deskshell plan`, `plans`, `approve` and `apply`: decide now, let it happen later, once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from deskshell.cli import complete
from deskshell.cli.options import EXIT_CODES, Json, argument, command, option, single
from deskshell.errors import Cancelled, Refused

if TYPE_CHECKING:
    from deskshell.app.plans import PlanState

plan = single()
plans = single()
approve = single()
apply = single()

PlanId = Annotated[
    str,
    argument(
        metavar="PLAN_ID",
        help="as `deskshell plan` printed it",
        autocompletion=complete.plan_ids,
        show_default=False,
    ),
]


@plan.command(
    **command(
        [
            "deskshell plan downloads-cleanup --set folder=~/Downloads",
            "deskshell apply 0f3a…",
        ],
        {"0": "the plan was stored, or there is nothing to do", "2": "", "70": ""},
    )
)
def _plan(
    skill: Annotated[
        str,
        argument(
            metavar="SKILL",
            help="a skill's name, or the path of its folder (./skills/mine)",
            autocompletion=complete.skill_names,
            show_default=False,
        ),
    ],
    *,
    grant: Annotated[
        list[str] | None,
        option(
            metavar="CAP",
            help="grant only this capability of those the skill declares; may be repeated",
            autocompletion=complete.capabilities,
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        option("--set", metavar="NAME=VALUE", help="value of a parameter; may be repeated"),
    ] = None,
    json: Json = False,
) -> int:
    """Store what a skill would do, for the state that everything is in now.

    `deskshell apply` carries out exactly that, once, unless something it is about has changed.
    """
    from deskshell.cli import output, plan_texts, previews
    from deskshell.cli.run import parameters
    from deskshell.cli.session import open_app, working_folder

    app, cwd = open_app(progress=not json), working_folder()
    prepared = app.prepare(skill, parameters(values or ()), cwd=cwd, grants=grant)
    if not prepared.plan.steps:
        if json:
            output.json_object({"planId": None, "status": "nothing", **_nothing(prepared.plan.notes)})
        else:
            previews.say_preview(prepared)
        return 0
    state = app.plan(prepared, cwd=cwd)
    if json:
        output.json_object(state.to_json())
    else:
        previews.say_preview(prepared)
        plan_texts.say_stored(state)
    return 0


def _nothing(notes: tuple[str, ...]) -> dict[str, object]:
    return {"expiresInS": 0, "digest": None, "steps": [], "changed": [], "notes": list(notes)}


@plans.command(**command(["deskshell plans"], ["0", "2", "70"]))
def _plans(*, json: Json = False) -> int:
    """List the stored plans, the newest first: open, approved, expired, applied or failed."""
    from deskshell.cli import output, plan_texts
    from deskshell.cli.session import open_app

    states = open_app().plans(everyone=True)
    if json:
        output.json_object({"plans": [state.to_json() for state in states]})
    else:
        plan_texts.say_plans(states)
    return 0


@approve.command(
    **command(
        ["deskshell approve 0f3a…"],
        {"0": "approved; it can be applied once", "2": "refused, or not agreed to", "70": "", "130": ""},
    )
)
def _approve(plan_id: PlanId, *, json: Json = False) -> int:
    """Approve a stored plan, as the person at this terminal.

    Shows what the plan does and what of it cannot be undone, then asks. Needs a terminal: an answer through a
    pipe is no person's.
    """
    from deskshell.cli import output
    from deskshell.cli.session import open_app

    if not all(output.is_terminal(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise Refused(
            "`approve` takes a person at a terminal",
            hint="run it in a terminal window of your own, without pipes and redirections",
        )
    app = open_app()
    state = app.plan_show(plan_id, everyone=True)
    _show(state)
    if state.status in ("open", "approved") and not state.changed:
        _ask(state.stored.digest[:8])
    elif state.changed:
        raise Refused(f"plan `{plan_id}` is stale: {state.changed[0]}", hint="make a new plan")
    approval = app.approve(state)
    if json:
        output.json_object({**state.to_json(), "status": "approved", "approved": True})
    else:
        output.say(f"approved {plan_id} as {approval.by}; apply with: deskshell apply {plan_id}")
    return 0


def _show(state: PlanState) -> None:
    from deskshell.app import approval_text
    from deskshell.cli import output
    from deskshell.cli.wording import when

    stored = state.stored
    output.tell(
        f"plan {stored.plan_id}, made {when(stored.created_ms)} by {stored.owner} ({stored.plan.origin.front})"
    )
    for line in approval_text.lines(stored.plan, stored.digest):
        output.tell(line)


def _ask(digest: str) -> None:
    """Ask until an answer is typed that can only be meant. Raises Cancelled on any other."""
    from deskshell.cli import output

    output.ask_line(f"Approve? Type {digest} or y: ")
    answer = sys.stdin.readline().strip().lower()
    if answer not in ("y", "yes", digest):
        raise Cancelled("not approved: the plan stays open until it expires", hint="nothing was done")


@apply.command(
    **command(
        ["deskshell apply 0f3a…", "deskshell apply 0f3a… --allow-irreversible"],
        EXIT_CODES
        | {
            "0": "applied, now or earlier",
            "1": "failed; everything is as before, and the plan is used up",
            "2": "stale, expired, unknown, or not agreed to; nothing was done",
        },
    )
)
def _apply(
    plan_id: PlanId,
    *,
    allow_irreversible: Annotated[
        bool, option("--allow-irreversible", help="agree to steps that cannot be undone")
    ] = False,
    json: Json = False,
) -> int:
    """Carry out a stored plan: once, and only while all it is about is as it was when it was made."""
    from deskshell.app.consent import Consent
    from deskshell.cli import output, plan_texts
    from deskshell.cli.session import Secrets, open_app

    app = open_app(progress=not json)
    outcome = app.apply(plan_id, consent=Consent(flag=allow_irreversible), secrets=Secrets())
    if json:
        output.json_object(outcome.to_json())
    else:
        plan_texts.say_outcome(outcome)
    return outcome.exit_code
