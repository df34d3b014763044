"""A plan as an immutable record: what was decided, for which state, by whom, and until when.

The record's JSON is written once and never changed. `digest` is the sha256 of its canonical form
(sorted keys, no blanks, ASCII) without the plan's id, so that a copy under another id is known for
the same plan (I8). A secret is a reference in it, never a value.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from deskshell.errors import DeskshellError, PlanRefused
from deskshell.files import identity as ids
from deskshell.files.identity import Identity
from deskshell.files.names import get_path, put_path
from deskshell.kernel import assertion
from deskshell.kernel.action import Action
from deskshell.kernel.capability import Grant, Scope
from deskshell.kernel.item import compensation_form
from deskshell.kernel.plan import PLAIN, Origin, Plan, Step, Terms
from deskshell.kernel.seen import Packed, chained, pack
from deskshell.slotted import slotted

FORMAT = 1
PLAN_ID = re.compile(r"[0-9a-f]{16}")

Kinds = Mapping[str, type[Action]]


@slotted(frozen=True)
class StoredPlan:
    """A plan with its terms.

    Attributes:
        plan_id: 16 hex digits; a name, not a secret.
        plan: what is to be done; `plan.declared` is what it is granted.
        created_ms, expires_ms: wall clock, milliseconds; it is void at `expires_ms` and before `created_ms`.
        after_seq: number of the journal's last line when it was made; a task that applied it stands after.
        cwd: the folder that relative paths meant (F45).
        marks: paths whose content a step reads or removes, and what that content was.
        nonce: 16 hex digits, so that two plans of equal steps differ.
    """

    plan_id: str
    plan: Plan
    created_ms: int
    expires_ms: int
    after_seq: int
    cwd: bytes
    marks: tuple[tuple[bytes, str], ...]
    nonce: str

    @property
    def owner(self) -> str:
        """Who made it: `uid:…` or `key:…`."""
        return self.plan.origin.owner

    @property
    def digest(self) -> str:
        """64 hex digits over everything but the id."""
        return hashlib.sha256(canonical(self._body())).hexdigest()

    def expired(self, now_ms: int) -> bool:
        """True from the end of its time on, and while the clock stands before its making."""
        return not self.created_ms <= now_ms < self.expires_ms

    def left_s(self, now_ms: int) -> int:
        """Seconds for which it may still be applied, rounded up."""
        return 0 if self.expired(now_ms) else -((now_ms - self.expires_ms) // 1000)

    def _body(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "format": FORMAT,
            "plan": plan_form(self.plan),
            "createdMs": self.created_ms,
            "expiresMs": self.expires_ms,
            "afterSeq": self.after_seq,
            "marks": [_path_form(path, mark=mark) for path, mark in self.marks],
            "nonce": self.nonce,
        }
        put_path(body, "cwd", self.cwd)
        return body

    def to_bytes(self) -> bytes:
        """The record as it is stored."""
        return canonical({**self._body(), "planId": self.plan_id, "digest": self.digest}) + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes, plan_id: str, kinds: Kinds) -> StoredPlan:
        """Read a record that was stored under `plan_id`.

        Raises PlanRefused when it cannot be read, was changed, or is the copy of another plan.
        """
        try:
            body = json.loads(data)
            _check_types(body)
            found = cls(
                body["planId"],
                _read_plan(body["plan"], kinds),
                body["createdMs"],
                body["expiresMs"],
                body["afterSeq"],
                get_path(body, "cwd"),
                tuple((get_path(each, "path"), each["mark"]) for each in body["marks"]),
                body["nonce"],
            )
            told = body["digest"]
        except DeskshellError as exc:
            raise _damaged(plan_id, exc.message) from exc
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as exc:
            raise _damaged(plan_id, "it cannot be read") from exc
        if found.plan_id != plan_id:
            raise _damaged(plan_id, "it is a copy of another plan")
        if body["format"] != FORMAT or told != found.digest:
            raise _damaged(plan_id, "its record is not as it was written")
        return found


def _check_types(body: Mapping[str, Any]) -> None:
    """Refuse values of other types than were written. Raises KeyError, TypeError, ValueError, AttributeError."""
    plan = body["plan"]
    origin = plan["origin"]
    folders = plan["folders"]
    steps = [*plan["steps"], *(step for _, step in folders)]
    numbers = [body[key] for key in ("createdMs", "expiresMs", "afterSeq", "format")]
    numbers += [step["n"] for step in steps] + [before for before, _ in folders]
    numbers += [step["size"] for step in steps if "size" in step]
    texts = [body[key] for key in ("planId", "nonce", "digest")]
    texts += [origin[key] for key in ("skill", "version", "found", "front", "owner")]
    texts += [*origin["refs"].values(), *plan["notes"], *plan["secrets"], *(step["id"] for step in steps)]
    texts += [each["mark"] for each in body["marks"]]
    for grant in plan["grants"]:
        texts += [grant["capability"], grant["reason"], *grant["declared"]]
        texts += [each["url"] for each in grant["scope"] if "url" in each]
    flags = [step.get(key, False) for step in steps for key in ("irreversible", "undoNone")]
    for values, kind in ((numbers, int), (texts, str), (flags, bool)):
        if any(type(value) is not kind for value in values):
            raise ValueError("a value is of another type")


def _damaged(plan_id: str, why: str) -> PlanRefused:
    return PlanRefused(
        f"plan `{plan_id}` is not valid: {why}", status="refused", hint="make a new plan, then apply that"
    )


def canonical(value: Mapping[str, Any]) -> bytes:
    """The one way to write a JSON value, for hashing."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def content_digest(plan: Plan) -> str:
    """Sha256 hex over steps, identities, grants and origin: equal for two plannings that found the same."""
    return hashlib.sha256(canonical(plan_form(plan))).hexdigest()


def plan_form(plan: Plan) -> dict[str, Any]:
    """A plan as JSON."""
    origin = plan.origin
    return {
        "origin": {
            "skill": origin.skill,
            "version": origin.version,
            "found": origin.found,
            "params": dict(origin.params),
            "refs": dict(origin.refs),
            "front": origin.front,
            "owner": origin.owner,
        },
        "steps": [_step_form(step) for step in plan.steps],
        "folders": [[before, _step_form(step)] for before, step in plan.folders],
        "grants": [_grant_form(grant) for grant in plan.declared],
        "notes": list(plan.notes),
        "secrets": list(plan.secrets),
    }


def _read_plan(data: Mapping[str, Any], kinds: Kinds) -> Plan:
    origin = data["origin"]
    return Plan(
        Origin(
            origin["skill"],
            origin["version"],
            origin["found"],
            dict(origin["params"]),
            dict(origin["refs"]),
            origin["front"],
            origin["owner"],
        ),
        tuple(_read_step(step, kinds) for step in data["steps"]),
        tuple(_read_grant(grant) for grant in data["grants"]),
        tuple((before, _read_step(step, kinds)) for before, step in data["folders"]),
        tuple(data["notes"]),
        tuple(data["secrets"]),
    )


def _step_form(step: Step) -> dict[str, Any]:
    form: dict[str, Any] = {
        "n": step.n,
        "id": step.action_id,
        "action": compensation_form(step.action),
        "seen": [_seen_form(path, found) for path, found in step.seen],
    }
    terms = step.terms
    if terms.irreversible:
        form["irreversible"] = True
    if terms.undo_none:
        form["undoNone"] = True
    if terms.compensation is not None:
        form["compensation"] = compensation_form(terms.compensation)
    if terms.asserts:
        form["asserts"] = [dict(each.to_json()) for each in terms.asserts]
    if step.size_bytes is not None:
        form["size"] = step.size_bytes
    return form


def _read_step(data: Mapping[str, Any], kinds: Kinds) -> Step:
    compensation = data.get("compensation")
    terms = Terms(
        data.get("irreversible", False),
        data.get("undoNone", False),
        None if compensation is None else _read_action(compensation, kinds),
        tuple(assertion.from_json(each) for each in data.get("asserts", ())),
    )
    return Step(
        data["n"],
        data["id"],
        _read_action(data["action"], kinds),
        PLAIN if terms == PLAIN else terms,
        chained(dict(_read_seen(each) for each in data["seen"])),
        data.get("size"),
    )


def _read_action(data: Mapping[str, Any], kinds: Kinds) -> Action:
    return kinds[data["kind"]].from_json({key: value for key, value in data.items() if key != "kind"})


def _path_form(path: bytes, **more: Any) -> dict[str, Any]:
    form: dict[str, Any] = dict(more)
    put_path(form, "path", path)
    return form


def _seen_form(path: bytes, found: Identity | None) -> dict[str, Any]:
    return _path_form(path, id=None if found is None else ids.to_json(found))


def _read_seen(data: Mapping[str, Any]) -> tuple[bytes, Packed | None]:
    return get_path(data, "path"), None if data["id"] is None else pack(ids.from_json(data["id"]))


def _grant_form(grant: Grant) -> dict[str, Any]:
    return {**grant.to_json(), "declared": [scope.declared for scope in grant.scopes]}


def _read_grant(data: Mapping[str, Any]) -> Grant:
    grant = Grant.from_json(dict(data))
    scopes = tuple(
        Scope(scope.root, declared) for scope, declared in zip(grant.scopes, data["declared"], strict=True)
    )
    return Grant(grant.capability, scopes, grant.reason)
