"""Plans that are stored, approved and applied: the part of `App` that issue them and keep them (I8)."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deskshell.errors import PlanRefused
from deskshell.kernel.desk import Desk, now_ms

if TYPE_CHECKING:
    from pathlib import Path

    from deskshell.app.applying import PlanOutcome
    from deskshell.app.consent import Consent
    from deskshell.app.desktop import Desktop
    from deskshell.app.plans import Approval, PlanState, PlanStore
    from deskshell.app.prepared import Prepared
    from deskshell.config import Settings
    from deskshell.kernel.action import Action
    from deskshell.kernel.report import TaskReport
    from deskshell.kernel.roots import Roots


class Planning(ABC):
    """Stored plans; see `App`, which this is a part of."""

    settings: Settings
    front: str
    owner: str
    desktop: Desktop

    @abstractmethod
    def kinds(self) -> Mapping[str, type[Action]]:
        """All kinds of action, by name."""

    @abstractmethod
    def finish(self, desk: Desk, recovered: list[TaskReport]) -> list[str]:
        """What belongs at a task's end; returns notes for its report."""

    def prepare_actions(
        self,
        actions: Sequence[Mapping[str, Any]],
        capabilities: Sequence[Mapping[str, Any]],
        *,
        cwd: Path,
        summary: str = "",
        within: Roots | None = None,
    ) -> Prepared:
        """Plan a list of actions, each a step as in a manifest. Changes nothing. Raises Refused in all its forms."""
        from datetime import datetime
        from pathlib import Path

        from deskshell.app.prepared import Prepared
        from deskshell.kernel import room, roots
        from deskshell.skills import planner
        from deskshell.skills.params import Where

        self.desktop.folder.check()
        plan = planner.plan_actions(
            actions,
            capabilities,
            kinds=self.kinds(),
            where=Where(cwd=os.fsencode(cwd), home=os.fsencode(Path.home())),
            now=datetime.now().astimezone(),
            state_folder=os.fsencode(self.settings.home),
            within=within,
            summary=summary,
            front=self.front,
            owner=self.owner,
        )
        room.check_places(plan, self.desktop.reading())
        return Prepared(roots.restrict(plan, within))

    def plan(
        self,
        prepared: Prepared,
        *,
        cwd: Path,
        ttl_s: float | None = None,
    ) -> PlanState:
        """Store a plan, to be approved and applied later.

        Args:
            prepared: has at least one step; its grants are the plan's.
            cwd: the folder that relative paths meant.
            ttl_s: seconds for which it may be applied, those of the settings for None.

        Raises:
            PlanRefused: there is nothing to do, or the disk changed meanwhile.
            CapabilityError, ScopeError, IrreversibleError: it could never be applied.
        """
        plan = prepared.plan
        if not plan.steps:
            raise PlanRefused("there is nothing to do, so no plan was stored", status="refused")
        plan.check(plan.declared)
        stored = self._store().add(
            plan,
            cwd=os.fsencode(cwd),
            ttl_s=self.settings.plan_ttl_s if ttl_s is None else ttl_s,
            now_ms=now_ms(),
        )
        from deskshell.app.plans import PlanState

        return PlanState(stored, "open", now_ms())

    def plans(self, *, everyone: bool = False) -> list[PlanState]:
        """Stored plans, the newest first: this owner's, or (for the person at the terminal) everyone's."""
        return self._store(everyone=everyone).states(now_ms())

    def plan_show(self, plan_id: str, *, everyone: bool = False) -> PlanState:
        """One plan, its state, and what has changed since it was made. Raises UsageError, NotFound, PlanRefused."""
        return self._store(everyone=everyone).state(plan_id, now_ms())

    def approve(self, state: PlanState) -> Approval:
        """Record that the person at the terminal approved the very plan they were shown.

        Raises PlanRefused when it can no longer be applied.
        """
        if state.status not in ("open", "approved"):
            raise PlanRefused(f"plan `{state.stored.plan_id}` is {state.status}", status=state.status)
        return self._store(everyone=True).approve(state.stored, by=self.owner, now_ms=now_ms())

    def apply(
        self,
        plan_id: str,
        *,
        consent: Consent | None = None,
        within: Roots | None = None,
        secrets: Mapping[str, str] | None = None,
    ) -> PlanOutcome:
        """Apply a stored plan, once; see `applying.Applier.apply`."""
        from deskshell.app.applying import Applier
        from deskshell.app.consent import Consent

        applier = Applier(self.desktop, self._store(), self.owner)
        return applier.apply(
            plan_id, consent or Consent(), within=within, secrets=secrets, finish=self.finish
        )

    def admit(self, prepared: Prepared, consent: Consent) -> None:
        """Refuse to run a plan that was not stored, unless those who have to agree did (`consent.admit`)."""
        from deskshell.app import consent as consents
        from deskshell.app import running

        running.admit(prepared.plan, prepared.plan.declared, consent=True)
        consents.admit(prepared.plan, self.settings, consent, plan_id=None)

    def admit_run(self, prepared: Prepared, *, at_terminal: bool) -> None:
        """Refuse a run from the command line where the policy wants a person, unless one is asked at a terminal.

        Raises PlanRefused, before anything has happened.
        """
        from deskshell.app import consent as consents

        policy = consents.policy_for(prepared.plan, self.settings)
        if prepared.plan.steps and policy in ("person", "terminal") and not at_terminal:
            raise PlanRefused(
                f"the policy `{policy}` asks for a person at a terminal",
                status="refused",
                hint="run it with `--ask` on a terminal, or store it with `deskshell plan` and have it approved",
            )

    def _store(self, *, everyone: bool = False) -> PlanStore:
        from deskshell.app.plans import PlanStore

        return PlanStore(self.desktop, self.kinds(), None if everyone else self.owner)
