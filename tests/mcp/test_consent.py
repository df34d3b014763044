"""Consent that a model cannot give itself: flags, questions to the person, the terminal."""

from __future__ import annotations

import pytest

from deskshell.app.consent import Consent
from tests.support.agents import options, talk
from tests.support.planning import Shell, final, write

CAPABILITIES = [{"name": "fs.write", "scope": ["."]}]


async def _final_plan(agent, name="note"):
    return (await agent.call("plan_actions", actions=[final(write(name, "x"))], capabilities=CAPABILITIES))[
        "planId"
    ]


def test_what_cannot_be_undone_takes_the_flag(skill, mode):
    skill.make({"a.txt": "A"})

    async def conversation(agent):
        plan_id = await _final_plan(agent)
        refusals = [
            await agent.refused("skill_run", name="final"),
            await agent.refused("skill_run", name="final", allowIrreversible=False),
            await agent.refused("plan_apply", plan_id=plan_id),
        ]
        assert (skill.root / "a.txt").exists()
        done = await agent.call("skill_run", name="final", allowIrreversible=True)
        applied = await agent.call("plan_apply", plan_id=plan_id, allowIrreversible=True)
        return refusals, done["status"], applied["status"]

    refusals, *statuses = talk(options(skill), conversation, mode=mode)
    assert statuses == ["ok", "applied"]
    assert all("cannot be undone" in text and "deskshell approve" in text for text in refusals)


@pytest.mark.parametrize("answer", ["yes", "no", "decline", "cancel"])
def test_where_the_client_can_the_person_is_asked_too(skill, mode, answer):
    skill.make({"a.txt": "A"})

    async def conversation(agent):
        plan_id = await _final_plan(agent)
        await agent.refused("plan_apply", plan_id=plan_id)
        assert agent.asked == []  # no person is bothered with what the caller itself does not stand for
        outcome = await agent.call("plan_apply", plan_id=plan_id, allowIrreversible=True)
        state = await agent.call("plan_show", plan_id=plan_id)
        if answer == "yes":
            ran = (await agent.call("skill_run", name="final", allowIrreversible=True))["status"]
        else:
            ran = await agent.refused("skill_run", name="final", allowIrreversible=True)
        assert len(agent.asked) == 2
        return outcome, state, ran, agent.asked

    outcome, state, ran, asked = talk(options(skill), conversation, mode=mode, answer=answer)

    assert state["digest"][:8] in asked[0]
    assert "CANNOT BE UNDONE (1)" in asked[0]
    if answer == "yes":
        assert (outcome["status"], state["status"], ran) == ("applied", "applied", "ok")
    else:
        assert (outcome["status"], state["status"]) == ("declined", "open")
        assert f"deskshell approve {outcome['planId']}" in outcome["hint"]
        assert "declined" in ran
        assert (skill.root / "a.txt").exists()


def test_what_can_be_undone_asks_nobody(skill, mode):
    skill.make({"a.txt": "A"})

    async def conversation(agent):
        await agent.call("skill_run", name="tidy")
        return agent.asked

    assert talk(options(skill), conversation, mode=mode, answer="no") == []


def test_a_plan_approved_on_the_terminal_asks_nobody(shell, mode):
    async def conversation(agent):
        plan_id = await _final_plan(agent)
        shell.app().approve(shell.app().plan_show(plan_id))
        outcome = await agent.call("plan_apply", plan_id=plan_id)
        return outcome["status"], agent.asked

    assert talk(options(shell), conversation, mode=mode, answer="no") == ("applied", [])


@pytest.mark.parametrize("policy", ["person", "terminal"])
def test_a_stricter_policy_names_the_terminal_to_clients_that_cannot_ask(shell, mode, policy):
    async def conversation(agent):
        plan_id = await _final_plan(agent)
        text = await agent.refused("plan_apply", plan_id=plan_id, allowIrreversible=True)
        assert f"deskshell approve {plan_id}" in text
        shell.app().approve(shell.app().plan_show(plan_id))
        return (await agent.call("plan_apply", plan_id=plan_id))["status"]

    strict = shell.with_settings(irreversible=policy)
    assert talk(options(strict), conversation, mode=mode) == "applied"


def test_under_the_terminal_policy_no_answer_through_the_client_counts(shell, mode):
    async def conversation(agent):
        plan_id = await _final_plan(agent)
        await agent.refused("plan_apply", plan_id=plan_id, allowIrreversible=True)
        return agent.asked

    strict = shell.with_settings(irreversible="terminal")
    assert talk(options(strict), conversation, mode=mode, answer="yes") == []


def test_a_policy_for_what_can_be_undone_puts_it_before_a_person(skill, mode):
    skill.make({"a.txt": "A"})
    strict = skill.with_settings(reversible="person")

    async def conversation(agent):
        done = await agent.call("skill_run", name="tidy")
        return done["status"], len(agent.asked)

    assert talk(options(strict), conversation, mode=mode, answer="yes") == ("ok", 1)


def test_the_plan_that_the_person_saw_is_the_one_that_runs(skill, mode):
    """F42: what changes between question and answer is found, not done."""
    skill.make({"a.txt": "A"})

    def answer(_):
        (skill.root / "a.txt").write_text("precious, slipped in meanwhile")
        return "yes"

    async def conversation(agent):
        return await agent.refused("skill_run", name="final", allowIrreversible=True)

    text = talk(options(skill), conversation, mode=mode, answer=answer)

    assert "changed" in text
    assert (skill.root / "a.txt").read_text().startswith("precious")


def test_files_that_come_meanwhile_are_not_swept_along(skill, mode):
    skill.make({"a.txt": "A"})

    def answer(_):
        (skill.root / "b.txt").write_text("came later")
        return "yes"

    async def conversation(agent):
        return await agent.call("skill_run", name="final", allowIrreversible=True)

    done = talk(options(skill), conversation, mode=mode, answer=answer)

    assert [step["actionId"] for step in done["steps"]] == ["move:a.txt"]
    assert (skill.root / "b.txt").exists()


# history: an agent takes back its own damage; older tasks are a person's decision


def _older_task(shell: Shell) -> str:
    task_id = shell.apply(shell.plan(write("old", "x"))).report.task_id
    assert task_id is not None
    return task_id


@pytest.mark.parametrize("verb", ["undo", "redo"])
def test_a_task_from_before_the_session_takes_a_person(shell, mode, verb):
    task_id = _older_task(shell)
    if verb == "redo":
        shell.app().undo(task=task_id)

    async def conversation(agent):
        return await agent.refused(verb, task_id=task_id), agent.asked

    text, _ = talk(options(shell), conversation, mode=mode)
    assert f"deskshell {verb} --task {task_id}" in text
    text, asked = talk(options(shell), conversation, mode=mode, answer="decline")
    assert "declined" in text
    assert task_id in asked[0]
    assert (shell.root / "old").exists() == (verb == "undo")

    async def agreed(agent):
        return (await agent.call(verb, task_id=task_id))["complete"]

    assert talk(options(shell), agreed, mode=mode, answer="yes")
    assert (shell.root / "old").exists() == (verb == "redo")


def test_force_takes_a_person(shell, mode):
    async def conversation(agent):
        plan = await agent.call("plan_actions", actions=[write("note", "x")], capabilities=CAPABILITIES)
        done = await agent.call("plan_apply", plan_id=plan["planId"])
        (shell.root / "note").write_text("by hand")
        first = await agent.call("undo", task_id=done["taskId"])
        assert (first["status"], first["complete"]) == ("refused", False)
        return await agent.refused("undo", task_id=done["taskId"], force=True)

    assert "a person's decision" in talk(options(shell), conversation, mode=mode)
    assert (shell.root / "note").read_text() == "by hand"


def test_looking_at_older_tasks_is_free(shell, mode):
    task_id = _older_task(shell)

    async def conversation(agent):
        return await agent.call("undo_check", task_id=task_id), await agent.call("task_show", task_id=task_id)

    check, shown = talk(options(shell), conversation, mode=mode)
    assert check["complete"]
    assert shown["task"]["taskId"] == task_id


def test_an_answer_runs_its_plan_once_however_often_it_is_sent(skill):
    """The SDK takes the same confirmed answer twice; the newest revision lets a client send it."""
    import mcp_types as types

    skill.make({"a.txt": "A"})

    async def conversation(agent):
        session = agent.client.session
        arguments = {"name": "final", "allowIrreversible": True}
        asked = await session.call_tool("skill_run", arguments, allow_input_required=True)
        (key,) = asked.input_requests
        yes = {key: types.ElicitResult(action="accept", content={"approve": True})}
        again = {"input_responses": yes, "request_state": asked.request_state, "allow_input_required": True}
        first = await session.call_tool("skill_run", arguments, **again)
        (skill.root / "done/a.txt").rename(skill.root / "a.txt")
        second = await session.call_tool("skill_run", arguments, **again)
        return first, second

    first, second = talk(options(skill), conversation, mode="auto", answer="yes")

    assert first.structured_content["status"] == "ok"
    assert not getattr(second, "structured_content", None), "asked anew, or refused"
    assert (skill.root / "a.txt").exists()


def test_the_same_answer_to_a_stored_plan_gives_the_first_result(shell):
    import mcp_types as types

    plan_id = shell.plan(final(write("note", "x"))).stored.plan_id

    async def conversation(agent):
        session = agent.client.session
        arguments = {"plan_id": plan_id, "allowIrreversible": True}
        asked = await session.call_tool("plan_apply", arguments, allow_input_required=True)
        (key,) = asked.input_requests
        yes = {key: types.ElicitResult(action="accept", content={"approve": True})}
        again = {"input_responses": yes, "request_state": asked.request_state, "allow_input_required": True}
        return [
            (await session.call_tool("plan_apply", arguments, **again)).structured_content["status"]
            for _ in range(2)
        ]

    assert talk(options(shell), conversation, mode="auto", answer="yes") == ["applied", "already_applied"]
    assert shell.apply(plan_id, Consent(flag=True)).status == "already_applied"
