"""Applying a stored plan: once, under the lock, and only to the state it was made from (I8).

Under the lock and in this order: applied already → its first result again · unknown → refused · expired ·
not approved · changed since → stale · claim and run. The `begin` line of the task is the claim, its `end` is
the settlement, and a begin without an end is decided by recovery, which runs before any of this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deskshell.app import claims, consent, plans, running
from deskshell.app.claims import Claim
from deskshell.app.consent import Consent
from deskshell.app.desktop import Desktop
from deskshell.app.plans import PlanStore
from deskshell.errors import Busy, PlanRefused, UsageError
from deskshell.kernel import roots
from deskshell.kernel.desk import Desk, now_ms
from deskshell.kernel.report import TaskReport
from deskshell.kernel.roots import Roots
from deskshell.kernel.secrets import missing
from deskshell.kernel.stored import StoredPlan
from deskshell.slotted import slotted

_EXIT = {"applied": 0, "already_applied": 0, "failed": 1, "busy": 4}


@slotted()
class PlanOutcome:
    """What became of an attempt to apply a plan.

    `status` is applied, already_applied, busy, stale, expired, declined or failed; `report` is that of the
    task (for already_applied, and for failed once more, of the first one); `changed` says what is stale.
    """

    plan_id: str
    status: str
    digest: str | None = None
    report: TaskReport | None = None
    changed: tuple[str, ...] = ()
    message: str | None = None
    hint: str | None = None
    expires_in_s: int = 0

    @property
    def exit_code(self) -> int:
        """The exit code of `deskshell apply`; a task that stopped part way keeps its own."""
        if self.status == "failed" and self.report is not None and self.report.status != "rolled-back":
            return 3
        if self.status == "failed" and self.report is not None and self.report.signum:
            return 128 + self.report.signum
        return _EXIT.get(self.status, 2)

    def to_json(self) -> dict[str, Any]:
        """The object of `apply --json`."""
        task = self.report.to_json() if self.report is not None else {}
        return {
            "planId": self.plan_id,
            "status": self.status,
            "digest": self.digest,
            "expiresInS": self.expires_in_s,
            "taskId": task.get("taskId"),
            "skill": task.get("skill"),
            "taskStatus": task.get("status"),
            "steps": task.get("steps", []),
            "rolledBack": task.get("rolledBack", 0),
            "error": task.get("error"),
            "left": task.get("left", []),
            "notRestored": task.get("notRestored", []),
            "changed": list(self.changed),
            "message": self.message,
            "hint": self.hint,
        }


class Applier:
    """Applies plans of one owner."""

    def __init__(self, desktop: Desktop, store: PlanStore, owner: str) -> None:
        self._desktop = desktop
        self._store = store
        self._owner = owner

    def apply(
        self,
        plan_id: str,
        given: Consent,
        *,
        within: Roots | None = None,
        secrets: Mapping[str, str] | None = None,
        finish: Callable[[Desk, list[TaskReport]], list[str]] | None = None,
    ) -> PlanOutcome:
        """Apply the plan; see the module. Nothing but a claim uses it up.

        Args:
            plan_id: as `plan` gave it.
            given: the caller's consent, and what a person said when asked.
            within: folders outside of which nothing may be touched; None: no such limit.
            secrets: values of secret parameters, by name.
            finish: called under the lock after a run, with the tasks that recovery closed first; returns notes.

        Raises:
            UsageError: it is no plan id, or a secret is missing. NotFound: there is no such plan of this owner.
            PlanRefused: it is damaged, a copy of one that was applied, or a person has yet to approve it.
            IrreversibleError: the caller did not agree to what cannot be undone.
            ScopeError: it touches what lies outside `within`.
        """
        plans.check_id(plan_id)
        if not self._desktop.folder.exists():
            raise plans.unknown(plan_id)
        try:
            with self._desktop.writing(f"apply {plan_id}", secrets) as (desk, recovered):
                outcome = self._apply(desk, plan_id, given, within)
                if finish is not None and outcome.report is not None and outcome.status != "already_applied":
                    outcome.report.notes += finish(desk, recovered)
                return outcome
        except Busy as exc:
            return PlanOutcome(plan_id, "busy", message=exc.message, hint=exc.hint)
        except PlanRefused as exc:
            if exc.status not in ("stale", "expired", "declined"):
                raise
            stored = self._store.get(plan_id)
            return PlanOutcome(
                plan_id,
                exc.status,
                stored.digest,
                changed=exc.changed,
                message=exc.message,
                hint=exc.hint,
                expires_in_s=stored.left_s(now_ms()),
            )

    def _apply(self, desk: Desk, plan_id: str, given: Consent, within: Roots | None) -> PlanOutcome:
        stored = self._store.find(plan_id)
        claim = claims.find(desk.journal, plan_id, stored)
        if claim is not None and claim.owner == self._owner:
            return self._again(desk, claim, plan_id, stored)
        if stored is None or claim is not None:
            raise plans.unknown(plan_id)
        if stored.expired(desk.clock_ms()):
            raise plans.expired(stored)
        plan = roots.restrict(stored.plan, within)
        approval = self._store.approval(stored)
        consent.admit(plan, self._desktop.settings, given, plan_id=plan_id, approved=approval is not None)
        running.admit(plan, plan.declared, consent=True)
        lacking = missing(plan.secrets, desk.secrets)
        if lacking:
            raise UsageError(
                f"the secret `{lacking[0]}` is needed",
                hint=f"set DESKSHELL_SECRET_{lacking[0].upper().replace('-', '_')}",
            )
        by = approval.by if approval is not None else "person" if given.person else ""
        report = running.run_plan(desk, plan, plan.declared, claims.facts(stored, by), stored.marks)
        return _settled(plan_id, stored, report, "applied")

    def _again(self, desk: Desk, claim: Claim, plan_id: str, stored: StoredPlan | None) -> PlanOutcome:
        """Answer for a plan that was applied before: nothing is done."""
        if claim.plan_id != plan_id:
            raise PlanRefused(
                f"plan `{plan_id}` is a copy of `{claim.plan_id}`, which {claim.head.task_id} applied",
                status="refused",
                hint="make a new plan",
            )
        report = claims.first_result(desk.journal, claim, stored)
        return _settled(plan_id, stored, report, "already_applied")


def _settled(plan_id: str, stored: StoredPlan | None, report: TaskReport, good: str) -> PlanOutcome:
    digest = None if stored is None else stored.digest
    if report.status == "ok":
        return PlanOutcome(plan_id, good, digest, report)
    message = f"the plan failed and is used up: {report.error or report.status}"
    return PlanOutcome(plan_id, "failed", digest, report, message=message, hint="make a new plan")
