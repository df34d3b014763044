"""A plan made and not yet run: what a preview shows and what has to be asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from deskshell.kernel import gate
from deskshell.kernel.capability import Grant
from deskshell.kernel.plan import Plan, Step
from deskshell.kernel.report import StepReport, TaskReport
from deskshell.slotted import replace, slotted

if TYPE_CHECKING:
    from deskshell.kernel.outcome import Outcome


@slotted(frozen=True)
class Prepared:
    """A plan and what it takes to apply it."""

    plan: Plan

    @property
    def needs_consent(self) -> bool:
        """True when a step cannot be undone by the kernel."""
        return any(gate.needs_consent(step) for step in self.plan.steps)

    def granting(self, names: Iterable[str] | None) -> Prepared:
        """The same plan with only the named capabilities of those it declares; all of them for None.

        Raises:
            UsageError: no such capability. CapabilityError: it is not declared, or a step needs one that is left out.
        """
        if names is None:
            return self
        from deskshell.skills import declared

        granted = declared.narrow(self.plan.declared, names)
        # Before the plan declares less, so that an error says which of the two is missing: declared, or granted.
        self.plan.check(granted)
        return Prepared(replace(self.plan, declared=granted))

    def report(self) -> TaskReport:
        """The preview: every step `planned`."""
        report = TaskReport(None, self.plan.origin.skill, "preview", "planned", StepReports(self.plan.steps))
        report.notes = list(self.plan.notes) + self._warnings()
        return report

    def _warnings(self) -> list[str]:
        stranded = gate.stranded(self.plan.steps)
        if not stranded:
            return []
        shown = ", ".join(f"`{step.action_id}`" for step in stranded[:3])
        return [f"{shown} cannot be undone and is not last: a later failure will leave it standing"]

    @property
    def questions(self) -> list[str]:
        """What `--ask` asks: one question a capability in the manifest's order, and one more for other irreversible steps.

        A capability that only irreversible steps use has one question that says so and names them.
        """
        final = [step for step in self.plan.steps if gate.needs_consent(step)]
        found: list[str] = []
        covered: set[str] = set()
        for grant in self.plan.declared:
            only = self._only_final(grant, final)
            names = tuple(step.action_id for step in only)
            covered.update(names)
            found.append(_question(grant, names))
        rest = tuple(step.action_id for step in final if step.action_id not in covered)
        if rest:
            found.append(f"Run {_listed(rest)}, which cannot be undone?")
        return found

    def _only_final(self, grant: Grant, final: list[Step]) -> list[Step]:
        """The irreversible steps that use `grant`, if no other step does."""
        users = [
            step
            for step in self.plan.steps
            if any(need.capability == grant.capability for need in step.needs())
        ]
        return users if users and all(step in final for step in users) else []

    def tree(self) -> Iterable[tuple[bytes, str, int | None, int]]:
        """What would be where: (path, kind of object, bytes or None, step number)."""
        for step in self.plan.steps:
            target = step.action.target()
            if isinstance(target, bytes):
                yield target, _object_kind(step), step.size_bytes, step.n


class StepReports(Sequence[StepReport]):
    """The reports of a plan's steps, each made when it is asked for: of most steps nobody reads one.

    `outcome` is what became of them, None for a plan that was not run.
    """

    def __init__(self, steps: Sequence[Step], outcome: Outcome | None = None) -> None:
        self._steps = steps
        self._outcome = outcome

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, index: Any) -> Any:
        chosen = self._steps[index]
        return self._report(chosen) if isinstance(chosen, Step) else [self._report(step) for step in chosen]

    def __iter__(self) -> Iterator[StepReport]:
        return map(self._report, self._steps)

    def _report(self, step: Step) -> StepReport:
        outcome = self._outcome
        if outcome is None:
            return PlannedReport(step, "planned")
        report = PlannedReport(step, outcome.state.get(step.n, "skipped"))
        report.error = outcome.errors.get(step.n)
        report.taken_back = step.n in outcome.taken_back
        return report


class PlannedReport(StepReport):
    """The report of a plan's step, its words made when they are read."""

    __slots__ = ("_action",)

    def __init__(self, step: Step, status: str) -> None:
        self.n = step.n
        self.action_id = step.action_id
        self.kind = step.action.kind
        self.status = status
        self.compensated = step.reversible and step.compensated
        self.reversible = step.reversible and not step.compensated
        self.error = None
        self.taken_back = False
        self._action = step.action

    @property
    def summary(self) -> str:  # type: ignore[override]
        """One line for people."""
        return self._action.summary()

    @property
    def target(self) -> bytes | str:  # type: ignore[override]
        """What the step is about."""
        return self._action.target()


def _object_kind(step: Step) -> str:
    if step.action.makes != "same":
        return step.action.makes
    source = step.seen[0][1] if step.seen else None
    return "folder" if source is not None and source.kind == "folder" else "file"


def _question(grant: Grant, final: tuple[str, ...]) -> str:
    where = ", ".join(scope.declared for scope in grant.scopes) or "nothing"
    text = f"Grant {grant.capability} ({grant.reason}) in {where}"
    if final:
        text += f" for {_listed(final)}, which cannot be undone"
    return text + "?"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")
