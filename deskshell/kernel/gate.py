"""Irreversibility: what a plan may do with, and without, explicit consent. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable

from deskshell.errors import IrreversibleError
from deskshell.kernel.plan import Step

_DELETE = "fs.delete"


def needs_consent(step: Step) -> bool:
    """True for a step that cannot be undone, or only by a counter-action that the manifest gave."""
    return not step.reversible or step.compensated


def judge(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps for which the plan runs only with explicit consent; without any it runs freely.

    Raises IrreversibleError for a deletion without an undo, which no consent allows.
    """
    final = []
    for step in steps:
        if not needs_consent(step):
            continue
        if step.action.kind == _DELETE:
            raise IrreversibleError(
                f"step `{step.action_id}` deletes without an undo: this is never allowed",
                hint="leave its undo to the kernel: what is deleted is held until it expires",
            )
        final.append(step)
    return tuple(final)


def admit(steps: Iterable[Step], *, consent: bool) -> None:
    """Refuse the plan whole unless all of it can be undone or `consent` was given.

    Raises IrreversibleError, naming the steps.
    """
    final = judge(steps)
    if consent or not final:
        return
    shown = ", ".join(f"`{step.action_id}`" for step in final[:3])
    more = f" and {len(final) - 3} more" if len(final) > 3 else ""
    noun = "step" if len(final) == 1 else "steps"
    raise IrreversibleError(
        f"{noun} {shown}{more} cannot be undone: explicit consent needed",
        hint="agree with `--ask`, or with `--allow-irreversible` in a script",
    )


def stranded(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Steps that cannot be undone and are not the last: a later failure will leave them standing."""
    ordered = list(steps)
    while ordered and needs_consent(ordered[-1]):
        ordered.pop()
    return tuple(step for step in ordered if needs_consent(step))
