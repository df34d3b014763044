"""A plan is a frozen value: a dry run prints it, apply runs that same value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from deskshell.kernel.action import Action, Reversibility
from deskshell.kernel.capability import Checker, Grant, Need
from deskshell.kernel.seen import Sight, Size, bytes_of
from deskshell.slotted import field, slotted

if TYPE_CHECKING:
    from deskshell.kernel.assertion import Assertion


@slotted(frozen=True)
class Terms:
    """How a step is taken back, and what must hold after it: what its manifest says of it, and most others share.

    `irreversible` and `undo_none` are declared; `compensation` is the counter-action that takes it back.
    """

    irreversible: bool = False
    undo_none: bool = False
    compensation: Action | None = None
    asserts: tuple[Assertion, ...] = ()


PLAIN = Terms()
"""Taken back exactly, no post-conditions."""


@slotted()
class Step:
    """One entry of a plan.

    `n` counts from 0 in plan order; folders that a step needs and that nobody asked for are steps
    too, numbered -1, -2, …, and are not counted or shown (`implied`). `seen` is what the planner
    found on disk for this step: path and identity, None for a path that was free. `size` tells what
    a preview shows for the target.
    """

    n: int
    action_id: str
    action: Action
    terms: Terms = PLAIN
    seen: Sequence[Sight] = ()
    size: Size | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self._value() == other._value()

    def __hash__(self) -> int:
        return hash((self.n, self.action_id))

    def _value(self) -> tuple[Any, ...]:
        """What makes two steps equal: a size is the same however it is told."""
        return (self.n, self.action_id, self.action, self.terms, self.seen, self.size_bytes)

    @property
    def size_bytes(self) -> int | None:
        """Bytes that the target will have, None where it is no file."""
        return None if self.size is None else bytes_of(self.size)

    @property
    def implied(self) -> bool:
        """A folder made because a later step needs it."""
        return self.n < 0

    @property
    def reversible(self) -> bool:
        """False for what `irreversible = true`, a missing undo, or the kind itself makes final."""
        if self.terms.irreversible or self.terms.undo_none:
            return False
        return self.compensated or self.action.reversibility is Reversibility.EXACT

    @property
    def compensated(self) -> bool:
        """Undone only by a counter-action: still asks for the irreversible consent."""
        return self.terms.compensation is not None and not self.terms.irreversible

    def needs(self) -> Iterable[Need]:
        """The needs of the action, of its compensation, and of what the asserts look at beyond its own targets."""
        own, terms = self.action.needs(), self.terms
        if terms is PLAIN:
            return own
        every = list(own)
        if terms.compensation is not None and not terms.irreversible:
            every += terms.compensation.needs()
        known = {need.target for need in own}
        for assertion in terms.asserts:
            every += [need for need in assertion.needs() if need.target not in known]
        return every


@slotted(frozen=True)
class Origin:
    """Where a plan comes from; goes into the task's `begin` line.

    `params` hold no secret values (a secret is `{"secret": name}`), `found` is the manifest's path,
    `refs` is a free map of identifiers from outside, `front` the front end (`cli`, `mcp`, …).
    """

    skill: str
    version: str = ""
    found: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    refs: Mapping[str, str] = field(default_factory=dict)
    front: str = "cli"
    owner: str = ""


@slotted(frozen=True)
class Plan:
    """Steps in order, with what they need and where they come from.

    `folders` are the implied ones, each with the number of the step it is made before; `notes` are
    facts for the reader of a preview (files skipped, and why).
    """

    origin: Origin
    steps: tuple[Step, ...]
    declared: tuple[Grant, ...]
    folders: tuple[tuple[int, Step], ...] = ()
    notes: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    def ordered(self) -> Iterator[Step]:
        """All steps in the order of running: implied folders right before the first that needs them."""
        before: dict[int, list[Step]] = {}
        for n, folder in self.folders:
            before.setdefault(n, []).append(folder)
        for step in self.steps:
            yield from before.get(step.n, ())
            yield step

    def check(self, granted: Iterable[Grant]) -> None:
        """Refuse the plan whole when a step needs what was not granted (CapabilityError, ScopeError)."""
        checker = Checker(self.declared, granted)
        for step in chain((folder for _, folder in self.folders), self.steps):
            checker.check(step.action_id, step.needs())
