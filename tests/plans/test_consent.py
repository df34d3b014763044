"""Who has to agree to a plan, by policy; and approvals that only fit the plan they were given for."""

from __future__ import annotations

import json
import time

import pytest

from deskshell.app.consent import Consent
from deskshell.errors import DeskshellError, IrreversibleError, PlanRefused
from tests.support.planning import delete, final, move, write

NONE, FLAG = Consent(), Consent(flag=True)
PERSON = Consent(flag=True, person=True)
DECLINED = Consent(flag=True, declined=True)

# policy: which consents let an irreversible plan run
LETS_RUN = {
    "flag": [FLAG, PERSON],
    "ask": [FLAG, PERSON],
    "person": [PERSON],
    "terminal": [],
}


@pytest.mark.parametrize("policy", LETS_RUN)
@pytest.mark.parametrize("consent", [NONE, FLAG, PERSON], ids=["none", "flag", "person"])
def test_the_policy_says_who_has_to_agree_to_what_cannot_be_undone(shell, policy, consent):
    other = shell.with_settings(irreversible=policy)
    plan = other.plan(final(write("note", "x")))

    if consent in LETS_RUN[policy]:
        assert other.apply(plan, consent).status == "applied"
        return
    with pytest.raises(DeskshellError) as refused:
        other.apply(plan, consent)
    assert refused.value.exit_code == 2
    assert f"deskshell approve {plan.stored.plan_id}" in refused.value.hint
    assert not (shell.root / "note").exists()


@pytest.mark.parametrize(
    ("policy", "consent", "runs"),
    [
        ("none", NONE, True),
        ("flag", NONE, True),
        ("ask", NONE, True),
        ("person", NONE, False),
        ("person", Consent(person=True), True),
        ("terminal", Consent(person=True), False),
    ],
)
def test_the_policy_may_ask_for_a_person_for_what_can_be_undone_too(shell, policy, consent, runs):
    other = shell.with_settings(reversible=policy)
    plan = other.plan(write("note", "x"))

    if runs:
        assert other.apply(plan, consent).status == "applied"
    else:
        with pytest.raises(PlanRefused, match="a person has to approve"):
            other.apply(plan, consent)


@pytest.mark.parametrize("policy", LETS_RUN)
def test_an_approval_on_the_terminal_stands_above_every_policy(shell, policy):
    other = shell.with_settings(irreversible=policy)
    plan = other.plan(final(write("note", "x")))
    other.app().approve(plan)

    assert other.apply(plan).status == "applied"
    assert shell.begins()[0]["approvedBy"] == plan.stored.owner


def test_a_decline_burns_nothing(shell):
    plan = shell.plan(final(write("note", "x")))

    outcome = shell.apply(plan, DECLINED)

    assert (outcome.status, outcome.exit_code) == ("declined", 2)
    assert f"deskshell approve {plan.stored.plan_id}" in outcome.hint
    assert outcome.expires_in_s > 0
    assert shell.apply(plan, FLAG).status == "applied"


def test_a_deletion_without_an_undo_is_refused_when_planned_and_no_consent_helps(shell):
    shell.make({"a": "A"})
    with pytest.raises(IrreversibleError, match="delete"):
        shell.plan(final(delete("a")))


def test_an_approval_fits_only_the_plan_it_was_given_for(shell):
    """F42: approve one plan, apply another."""
    shell.make({"x": "X", "y": "Y"})
    approved, other = shell.plan(final(move("x", "gone"))), shell.plan(final(move("y", "away")))
    shell.app().approve(approved)
    folder = shell.plan_file(approved).parent
    record = (folder / f"approval-{approved.stored.plan_id}.json").read_bytes()
    theirs = folder / f"approval-{other.stored.plan_id}.json"

    for forged in (
        record,
        record.replace(approved.stored.plan_id.encode(), other.stored.plan_id.encode()),
        b"{}",
        b"[]",
        b"true",
        b"",
    ):
        theirs.write_bytes(forged)
        with pytest.raises(IrreversibleError):
            shell.apply(other)
    assert (shell.root / "y").exists()


def test_an_approval_is_used_up_with_its_plan(shell):
    """F42: reuse of an approval for a second run."""
    shell.make({"x": "X"})
    plan = shell.plan(final(move("x", "gone")))
    shell.app().approve(plan)
    shell.apply(plan)
    (shell.root / "gone").rename(shell.root / "x")

    assert shell.apply(plan).status == "already_applied"
    with pytest.raises(PlanRefused, match="is applied"):
        shell.app().approve(shell.app().plan_show(plan.stored.plan_id))
    assert (shell.root / "x").exists()


def test_what_changed_after_the_approval_is_stale(shell):
    """F42: approve, then change the file behind the name."""
    shell.make({"x": "harmless"})
    plan = shell.plan(final(move("x", "gone")))
    shell.app().approve(plan)
    (shell.root / "x").write_text("precious")

    assert shell.apply(plan).status == "stale"


def test_an_expired_plan_cannot_be_approved(shell, monkeypatch):
    plan = shell.plan(final(write("note", "x")))
    now_ns = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now_ns + 10**13)

    with pytest.raises(PlanRefused):
        shell.app().approve(plan)
    assert shell.app().plan_show(plan.stored.plan_id).status == "expired"


def test_approving_twice_keeps_the_first_approval(shell):
    plan = shell.plan(final(write("note", "x")))
    first = shell.app().approve(plan)
    path = shell.plan_file(plan).parent / f"approval-{plan.stored.plan_id}.json"
    record = path.read_bytes()

    assert shell.app().approve(plan) == first
    assert path.read_bytes() == record
    assert json.loads(record)["digest"] == plan.stored.digest


def test_states_of_plans_are_listed_newest_first(shell):
    shell.make({"a": "A"})
    plans = {
        "failed": shell.plan(move("a", "b", **{"assert": [{"missing": "b"}]})),
        "applied": shell.plan(write("one", "x")),
        "approved": shell.plan(final(write("two", "x"))),
        "expired": shell.plan(write("three", "x"), ttl_s=0.0),
        "open": shell.plan(write("four", "x")),
    }
    shell.apply(plans["failed"])
    shell.apply(plans["applied"])
    shell.app().approve(plans["approved"])

    found = {state.stored.plan_id: state.status for state in shell.app().plans()}

    assert found == {plan.stored.plan_id: status for status, plan in plans.items()}
    for status, plan in plans.items():
        assert shell.app().plan_show(plan.stored.plan_id).status == status
