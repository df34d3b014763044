"""The plan store: plans as immutable files, and a person's approvals beside them.

`<state>/plans/<id>.json` is a plan, `<state>/plans/approval-<id>.json` the approval that somebody gave on a
terminal; both are written once. Whether a plan was applied is in the journal (`claims`).
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import closing as closes
from contextlib import suppress
from typing import Any

from deskshell.app import claims
from deskshell.app.claims import Claim
from deskshell.app.consent import is_final
from deskshell.app.desktop import Desktop
from deskshell.app.prepared import StepReports
from deskshell.errors import DeskshellError, NotFound, PlanConflict, PlanRefused, UsageError
from deskshell.files import names
from deskshell.files.names import put_path
from deskshell.kernel import fingerprint, gate
from deskshell.kernel.capability import path_roots
from deskshell.kernel.plan import Plan
from deskshell.kernel.report import text
from deskshell.kernel.stored import PLAN_ID, Kinds, StoredPlan
from deskshell.slotted import slotted
from deskshell.store.journal import Journal
from deskshell.store.records import Records

_APPROVAL = "approval-"


@slotted(frozen=True)
class Approval:
    """A person's yes to one plan, given on a terminal: bound to its id and digest, used up when it is applied."""

    by: str
    at_ms: int


@slotted(frozen=True)
class PlanState:
    """A stored plan and what has become of it.

    `status` is open, approved, expired, running, applied or failed; `task_id` is the task that applied it;
    `changed` is what differs by now from the state it was made for (only where that was asked for).
    """

    stored: StoredPlan
    status: str
    now_ms: int
    approval: Approval | None = None
    task_id: str | None = None
    changed: tuple[str, ...] = ()

    @property
    def expires_in_s(self) -> int:
        """Whole seconds for which it may still be applied."""
        return self.stored.left_s(self.now_ms)

    def to_json(self) -> dict[str, Any]:
        """The object of `plan --json`, and of each in `plans --json`."""
        stored, origin = self.stored, self.stored.plan.origin
        data: dict[str, Any] = {
            "planId": stored.plan_id,
            "status": self.status,
            "expiresInS": self.expires_in_s,
            "digest": stored.digest,
            "skill": origin.skill,
            "version": origin.version,
            "owner": stored.owner,
            "front": origin.front,
            "params": dict(origin.params),
            "grants": [grant.to_json() for grant in stored.plan.declared],
            "steps": [step.to_json() for step in StepReports(stored.plan.steps)],
            "irreversible": [step.action_id for step in stored.plan.steps if gate.needs_consent(step)],
            "needsConsent": is_final(stored.plan),
            "approved": self.approval is not None,
            "taskId": self.task_id,
            "changed": list(self.changed),
            "notes": list(stored.plan.notes),
        }
        put_path(data, "cwd", stored.cwd)
        return data


class PlanStore:
    """The stored plans of one state folder. Making one touches nothing.

    Args:
        owner: only plans of this owner exist for it; None is the person whose state folder it is.
    """

    def __init__(self, desktop: Desktop, kinds: Kinds, owner: str | None) -> None:
        self._desktop = desktop
        self._kinds = kinds
        self._owner = owner
        self._records = Records(desktop.folder.plans)

    def add(self, plan: Plan, *, cwd: bytes, ttl_s: float, now_ms: int) -> StoredPlan:
        """Store `plan`, durably, with the state of its targets and their contents at this moment.

        Raises:
            PlanRefused: the disk is no longer as it was planned. IrreversibleError: it is never allowed.
            StateFolderError: it cannot be stored.
        """
        gate.judge(plan.steps)
        folder = self._desktop.folder
        folder.create()
        self._clear(now_ms)
        desk = self._desktop.reading()
        after_seq = last_seq(desk.journal)
        with closes(desk.ground(path_roots(plan.declared))) as ground:
            marks = fingerprint.marks(plan, ground)
            changed = fingerprint.changes(plan, (), ground)
        if changed:
            raise PlanRefused(
                f"the disk changed while the plan was made: {changed[0]}", changed=tuple(changed)
            )
        while True:
            stored = StoredPlan(
                secrets.token_hex(8),
                plan,
                now_ms,
                now_ms + round(ttl_s * 1000),
                after_seq,
                cwd,
                marks,
                secrets.token_hex(8),
            )
            with suppress(PlanConflict):  # the id is taken: one in 2^64
                self._records.put(stored.plan_id, stored.to_bytes())
                return stored

    def get(self, plan_id: str) -> StoredPlan:
        """The plan of that id, if it is the owner's.

        Raises:
            UsageError: it is no plan id. NotFound: there is none, or it is somebody else's.
            PlanRefused: its record is damaged.
        """
        stored = self.find(plan_id)
        if stored is None:
            raise unknown(plan_id)
        return stored

    def find(self, plan_id: str) -> StoredPlan | None:
        """As `get`, but None when there is no such plan of this owner."""
        check_id(plan_id)
        data = self._records.get(plan_id)
        if data is None:
            return None
        stored = StoredPlan.from_bytes(data, plan_id, self._kinds)
        return stored if self._owner in (None, stored.owner) else None

    def all(self) -> Iterator[StoredPlan]:
        """Every plan of this owner that can be read, the newest first."""
        found = []
        for name in self._records.names():
            if PLAN_ID.fullmatch(name):
                with suppress(DeskshellError):
                    stored = self.find(name)
                    if stored is not None:
                        found.append(stored)
        yield from sorted(found, key=lambda each: (each.created_ms, each.plan_id), reverse=True)

    def states(self, now_ms: int) -> list[PlanState]:
        """Every plan with its state, the newest first; reads the journal once."""
        plans = list(self.all())
        if not plans:
            return []
        journal = self._desktop.reading().journal
        claimed = claims.since(journal, min(each.after_seq for each in plans))
        return [self._state(each, claimed.get(each.plan_id), now_ms) for each in plans]

    def state(self, plan_id: str, now_ms: int) -> PlanState:
        """One plan with its state, and what has changed since it was made. Raises as `get`."""
        stored = self.get(plan_id)
        desk = self._desktop.reading()
        claim = claims.find(desk.journal, plan_id, stored)
        changed: tuple[str, ...] = ()
        if claim is None:
            try:
                with closes(desk.ground(path_roots(stored.plan.declared))) as ground:
                    changed = tuple(fingerprint.changes(stored.plan, stored.marks, ground))
            except (DeskshellError, OSError) as exc:
                changed = (text(exc),)
        return self._state(stored, claim, now_ms, changed)

    def _state(
        self, stored: StoredPlan, claim: Claim | None, now_ms: int, changed: tuple[str, ...] = ()
    ) -> PlanState:
        approval = self.approval(stored)
        status = "open" if approval is None else "approved"
        if claim is not None:
            status = claim.status
        elif stored.expired(now_ms):
            status = "expired"
        task_id = None if claim is None else claim.head.task_id
        return PlanState(stored, status, now_ms, approval, task_id, changed)

    def approval(self, stored: StoredPlan) -> Approval | None:
        """A person's approval of exactly this plan, if there is one."""
        data = self._records.get(_APPROVAL + stored.plan_id)
        try:
            told = {} if data is None else json.loads(data)
            if told.get("planId") == stored.plan_id and told.get("digest") == stored.digest:
                return Approval(str(told["by"]), int(told["atMs"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # a record that cannot be read approves nothing
        return None

    def approve(self, stored: StoredPlan, *, by: str, now_ms: int) -> Approval:
        """Record that a person approved `stored`, durably; a second time changes nothing.

        Raises PlanRefused when it has expired by now.
        """
        if stored.expired(now_ms):
            raise expired(stored)
        record = {"planId": stored.plan_id, "digest": stored.digest, "by": by, "atMs": now_ms}
        with suppress(PlanConflict):
            self._records.put(_APPROVAL + stored.plan_id, json.dumps(record).encode("ascii") + b"\n")
        approval = self.approval(stored)
        if approval is None:
            raise PlanRefused(f"the approval of plan `{stored.plan_id}` is damaged", status="refused")
        return approval

    def _clear(self, now_ms: int) -> None:
        """Drop plans that expired longer ago than undo data is kept: the journal knows what became of them."""
        keep_ms = self._desktop.settings.keep_s * 1000
        for name in self._records.names():
            if PLAN_ID.fullmatch(name) and self._written_ms(name) + keep_ms < now_ms:
                for each in (name, _APPROVAL + name):
                    with suppress(NotFound, OSError):
                        self._records.remove(each)

    def _written_ms(self, name: str) -> float:
        try:
            return os.stat(self._records.folder / f"{name}.json").st_mtime * 1000
        except OSError:
            return float("inf")


def check_id(plan_id: str) -> None:
    """Raise UsageError unless `plan_id` is one: before it becomes part of a path."""
    if not PLAN_ID.fullmatch(plan_id):
        shown = names.shorten(names.show(plan_id.encode("utf-8", "surrogateescape")), 40)
        raise UsageError(f"`{shown}` is no plan id", hint="a plan id has 16 digits of 0-9 and a-f")


def unknown(plan_id: str) -> NotFound:
    """What an id of nobody's, and of somebody else's, is answered with."""
    return NotFound(
        f"no plan `{plan_id}`", hint="make one with `deskshell plan SKILL`; see `deskshell plans`"
    )


def expired(stored: StoredPlan) -> PlanRefused:
    """Why a plan cannot be approved or applied any more."""
    return PlanRefused(
        f"plan `{stored.plan_id}` has expired", status="expired", hint="make a new plan, and look at it again"
    )


def last_seq(journal: Journal) -> int:
    """The number of the journal's last line, 0 when it is empty."""
    for _, line in journal.backward():
        return int(line.get("seq", 0))
    return 0
