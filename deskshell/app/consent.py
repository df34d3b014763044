"""Who has to agree before a plan is applied, and whether they did (`config.Settings.irreversible`).

    none       nobody: the host has shown the plan
    flag       the caller, by `allowIrreversible` or `--allow-irreversible`
    ask        the caller, and a person too where the client can ask one
    person     a person: through the client, or on a terminal
    terminal   a person on a terminal, by `deskshell approve`

Applying a plan that can be undone is itself the caller's yes: the flag is asked for irreversible ones.
A person's approval on the terminal stands above all others.
"""

from __future__ import annotations

from collections.abc import Sequence

from deskshell.config import Settings
from deskshell.errors import IrreversibleError, PlanRefused
from deskshell.files import names
from deskshell.kernel import gate
from deskshell.kernel.plan import Plan, Step
from deskshell.slotted import slotted


@slotted(frozen=True)
class Consent:
    """What the caller brings: its own yes (`flag`), and what a person said when asked through it."""

    flag: bool = False
    person: bool = False
    declined: bool = False


def is_final(plan: Plan) -> bool:
    """True when a step cannot be undone by the kernel."""
    return any(gate.needs_consent(step) for step in plan.steps)


def policy_for(plan: Plan, settings: Settings) -> str:
    """The word of the policy that holds for `plan`."""
    return settings.irreversible if is_final(plan) else settings.reversible


def asks_person(plan: Plan, settings: Settings, consent: Consent) -> bool:
    """Whether a person is to be asked through the client, if it can ask one."""
    policy = policy_for(plan, settings)
    agreed = consent.flag or not is_final(plan)
    return policy in ("ask", "person") and agreed


def admit(
    plan: Plan, settings: Settings, consent: Consent, *, plan_id: str | None, approved: bool = False
) -> None:
    """Refuse `plan` unless those who have to agree did.

    Args:
        plan: whose steps decide which policy holds.
        settings: its policies.
        consent: what the caller brings.
        plan_id: of a stored plan; None for one that is made and run in one.
        approved: a person approved it on a terminal.

    Raises:
        PlanRefused: a person was asked and said no (status `declined`), or has yet to be asked.
        IrreversibleError: the caller did not agree to steps that cannot be undone.
    """
    policy = policy_for(plan, settings)
    if approved or policy == "none":
        return
    way = _way(plan_id)
    if consent.declined:
        raise PlanRefused("declined: the person who was asked did not agree", status="declined", hint=way)
    if policy == "terminal" or (policy == "person" and not consent.person):
        raise PlanRefused("a person has to approve this first", status="refused", hint=way)
    final = gate.judge(plan.steps)
    if final and not (consent.flag or consent.person):
        raise IrreversibleError(
            f"{_steps(final)} cannot be undone: explicit consent needed",
            hint=f"agree with `allowIrreversible: true` (`--allow-irreversible`), or {way}",
        )


def _steps(final: Sequence[Step]) -> str:
    shown = ", ".join(f"`{names.show(step.action_id.encode())}`" for step in final[:3])
    more = f" and {len(final) - 3} more" if len(final) > 3 else ""
    return f"step{'s' if len(final) > 1 else ''} {shown}{more}"


def _way(plan_id: str | None) -> str:
    if plan_id is None:
        return (
            "make a stored plan of it, which a person approves on a terminal with `deskshell approve PLAN_ID`"
        )
    return f"a person can approve it on a terminal with `deskshell approve {plan_id}`"
