"""A plan as a record: what it says is what was planned, and no copy of it is another plan."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from deskshell import registry
from deskshell.errors import PlanRefused
from deskshell.kernel.action import Action
from deskshell.kernel.plan import Origin, Plan, Step, Terms
from deskshell.kernel.stored import StoredPlan, content_digest
from deskshell.slotted import replace
from tests.support.planning import delete, final, move, write


def _stored(plan: Plan, **more: object) -> StoredPlan:
    given = {
        "plan_id": "0123456789abcdef",
        "plan": plan,
        "created_ms": 1000,
        "expires_ms": 2000,
        "after_seq": 7,
        "cwd": b"/tmp/caf\xe9",
        "marks": ((b"/x/\xff", "ab" * 32),),
        "nonce": "0" * 16,
    }
    return StoredPlan(**{**given, **more})


def _read(stored: StoredPlan) -> StoredPlan:
    return StoredPlan.from_bytes(stored.to_bytes(), stored.plan_id, registry.kinds())


def _actions() -> list[Action]:
    """One action of every example of every kind."""
    return [
        kind.build({key: _value(kind, key, value) for key, value in example.args.items()})
        for kind in registry.kinds().values()
        for example in kind.examples()
    ]


def _value(kind: type[Action], key: str, value: Any) -> Any:
    """A value of an example, in a folder whose name is not ASCII, in the form that `build` takes."""
    param = next(each for each in (*kind.params, *kind.planned) if each.name == key)
    if param.type == "paths":
        return tuple(os.fsencode(each.replace("{root}", "/root/é")) for each in value)
    filled = value.replace("{root}", "/root/é") if isinstance(value, str) else value
    return os.fsencode(filled) if param.type in ("path", "target") else filled


@pytest.mark.parametrize("action", _actions(), ids=lambda action: action.kind)
def test_every_action_survives_being_stored(action):
    plan = Plan(Origin("s"), (Step(0, "a", action, terms=Terms(irreversible=True), size=3),), ())
    assert _read(_stored(plan)).plan == plan


def test_a_whole_plan_survives_being_stored(shell):
    shell.make({"a.txt": "A", "sub/b.txt": "B", b"caf\xe9".decode("utf-8", "surrogateescape"): "C"})
    plan = shell.prepare(
        move("a.txt", "new/deep/a.txt", **{"assert": [{"exists": "new/deep/a.txt"}]}),
        final(write("note", "x", mode="0600")),
        delete("sub"),
    ).plan
    assert plan.folders
    stored = _stored(plan)

    assert _read(stored) == stored


def test_the_digest_covers_everything_but_the_id(shell):
    shell.make({"a.txt": "A"})
    plan = shell.prepare(move("a.txt", "b.txt")).plan
    stored = _stored(plan)
    others = [
        replace(stored, created_ms=1),
        replace(stored, expires_ms=1),
        replace(stored, after_seq=1),
        replace(stored, cwd=b"/"),
        replace(stored, marks=()),
        replace(stored, nonce="1" * 16),
        replace(stored, plan=replace(plan, declared=plan.declared[:1])),
        replace(stored, plan=replace(plan, origin=Origin("other"))),
        replace(stored, plan=replace(plan, steps=())),
    ]

    assert len({each.digest for each in (stored, *others)}) == len(others) + 1
    assert replace(stored, plan_id="f" * 16).digest == stored.digest


def test_two_plannings_of_one_state_have_one_content_digest(shell):
    shell.make({"a.txt": "A"})
    one, two = (shell.prepare(move("a.txt", "b.txt")).plan for _ in range(2))
    assert content_digest(one) == content_digest(two)
    (shell.root / "a.txt").write_text("B")
    assert content_digest(shell.prepare(move("a.txt", "b.txt")).plan) != content_digest(one)


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b'{"planId": 1}', b"\xff", b'{"plan": null}'])
def test_what_is_no_record_is_refused(data):
    with pytest.raises(PlanRefused, match="is not valid"):
        StoredPlan.from_bytes(data, "0123456789abcdef", registry.kinds())


def test_a_kind_that_is_no_longer_installed_is_refused(shell):
    stored = _stored(shell.prepare({"action": "noop"}).plan)
    kinds = {name: kind for name, kind in registry.kinds().items() if name != "noop"}
    with pytest.raises(PlanRefused, match="is not valid"):
        StoredPlan.from_bytes(stored.to_bytes(), stored.plan_id, kinds)


def test_the_record_is_private_and_canonical(shell):
    plan = shell.plan(write("note", "x"))
    path = shell.plan_file(plan)
    assert path.stat().st_mode & 0o777 == 0o600
    body = json.loads(path.read_bytes())
    assert path.read_bytes() == json.dumps(body, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def test_plans_are_cleared_away_when_undo_data_would_have_expired(shell):
    keep = shell.with_settings(keep_s=60.0)
    old = keep.plan(write("one", "x"))
    path = keep.plan_file(old)
    os.utime(path, (1, 1))

    new = keep.plan(write("two", "x"))

    assert not path.exists()
    assert keep.plan_file(new).exists()
