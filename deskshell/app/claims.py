"""Which task applied a plan: the journal's `begin` lines say so, and nothing else does.

A `begin` with a plan's id is the claim (I8): durable before the first change, and decided by its `end`, or
by recovery after a kill. There is no second record that could contradict it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskshell.app import log as journal_log
from deskshell.app.prepared import PlannedReport
from deskshell.kernel import history, record
from deskshell.kernel.history import Head
from deskshell.kernel.report import TaskReport
from deskshell.kernel.stored import StoredPlan
from deskshell.slotted import NamedTuple, replace
from deskshell.store.journal import Journal


class Claim(NamedTuple):
    """The task that applied a plan; `plan_id` is the id under which it did."""

    head: Head
    plan_id: str

    @property
    def owner(self) -> str:
        """Who applied it."""
        return str(self.head.begin.get("owner", ""))

    @property
    def status(self) -> str:
        """`applied`, `failed`, or `running` while there is no end."""
        if self.head.end is None:
            return "running"
        return "applied" if self.head.status == "ok" else "failed"


def facts(stored: StoredPlan, approved_by: str) -> dict[str, Any]:
    """What the `begin` line of the task says of its plan."""
    found = {"planId": stored.plan_id, "planDigest": stored.digest}
    return {**found, "approvedBy": approved_by} if approved_by else found


def find(journal: Journal, plan_id: str, stored: StoredPlan | None) -> Claim | None:
    """The claim on a plan, by its id or, whatever the id, by its digest.

    Reads a line or two a task, the newest first, and stops at the line after which `stored` was made.
    """
    after_seq = 0 if stored is None else stored.after_seq
    digest = None if stored is None else stored.digest
    for head in history.heads(journal):
        if head.begin.get("seq", 0) <= after_seq and not head.plain:
            return None
        claimed = head.begin.get("planId")
        if claimed is not None and (claimed == plan_id or head.begin.get("planDigest") == digest):
            return Claim(head, str(claimed))
    return None


def since(journal: Journal, after_seq: int) -> Mapping[str, Claim]:
    """All claims after a line, by plan id."""
    found: dict[str, Claim] = {}
    for head in history.heads(journal):
        if head.begin.get("seq", 0) <= after_seq and not head.plain:
            break
        claimed = head.begin.get("planId")
        if claimed is not None:
            found[str(claimed)] = Claim(head, str(claimed))
    return found


def first_result(journal: Journal, claim: Claim, stored: StoredPlan | None) -> TaskReport:
    """The report of the task as it was when it ended, whatever undo and redo did since.

    Without `stored` (its record was cleared away) steps that were never begun are not in it.
    """
    head = replace(claim.head, later=[])
    end = head.end or {}
    fold = history.fold(journal, head)
    begun = {n: journal_log.step_detail(journal, fold, n).report for n in fold.steps if n >= 0}
    report = TaskReport(head.task_id, head.skill, "apply", head.status, list(begun.values()))
    if stored is not None:
        report.steps = [begun.get(step.n) or PlannedReport(step, "skipped") for step in stored.plan.steps]
    report.rolled_back = int(end.get("rolledBack", 0))
    report.error = end.get("error")
    report.left = record.read_left(end.get("left", ()))
    report.not_restored = list(end.get("notRestored", ()))
    return report
