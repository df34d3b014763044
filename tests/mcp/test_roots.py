"""Roots: what a server may touch, whatever a plan declares, a link says, or a client asks for."""

from __future__ import annotations

import os

import pytest

from deskshell.mcp.service import resolved_roots
from tests.support.agents import options, talk
from tests.support.listing import difference
from tests.support.planning import move, write

EVERYWHERE = [{"name": "fs.read", "scope": ["/"]}, {"name": "fs.write", "scope": ["/"]}]


def _rooted(shell, *names):
    folders = [shell.root / name for name in names]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    return options(shell, roots=resolved_roots(folders), cwd=folders[0])


def test_what_lies_within_the_roots_works(shell, mode):
    server = _rooted(shell, "in", "also")
    shell.make({"in/a": "A"})

    async def conversation(agent):
        plan = await agent.call("plan_actions", actions=[move("a", "../also/a")], capabilities=EVERYWHERE)
        assert [each["scope"] for each in plan["capabilities"]] == [
            [str(shell.root / "in"), str(shell.root / "also")]
        ] * 2
        return (await agent.call("plan_apply", plan_id=plan["planId"]))["status"]

    assert talk(server, conversation, mode=mode) == "applied"


@pytest.mark.parametrize(
    "target",
    ["{root}/out/x", "../out/x", "../in_evil/x", "{root}/in_evil/x", "sub/../../out/x", "link/x", "/etc/x"],
)
def test_nothing_is_touched_outside_of_them(shell, mode, target):
    """CVE-2025-53110 (a name that only begins alike) and CVE-2025-53109 (a link that leads out)."""
    server = _rooted(shell, "in")
    shell.make({"in/a": "A", "out/b": "B", "in_evil/c": "C"})
    (shell.root / "in/link").symlink_to(shell.root / "out")
    before = shell.listing()

    async def conversation(agent):
        path = target.replace("{root}", str(shell.root))
        return [
            await agent.refused("plan_actions", actions=[step], capabilities=EVERYWHERE)
            for step in (write(path, "x"), move("a", path), move(path.replace("/x", "/b"), "b"))
        ]

    for text in talk(server, conversation, mode=mode):
        assert "scope" in text or "not-found" in text or "conflict" in text, text
    assert difference(before, shell.listing()) == []
    assert not shell.state.exists()


def test_a_link_that_appears_after_the_plan_leads_nowhere(shell, mode):
    """CVE-2025-53109: the limit holds at the moment of acting."""
    server = _rooted(shell, "in")
    shell.make({"in/a": "A", "in/sub/keep": "", "out/b": "B"})

    async def conversation(agent):
        plan = await agent.call("plan_actions", actions=[move("a", "sub/a")], capabilities=EVERYWHERE)
        os.rename(shell.root / "in/sub", shell.root / "in/was")
        (shell.root / "in/sub").symlink_to(shell.root / "out")
        return (await agent.call("plan_apply", plan_id=plan["planId"]))["status"]

    assert talk(server, conversation, mode=mode) == "stale"
    assert not (shell.root / "out/a").exists()


def test_selectors_list_no_names_outside_of_them(shell, mode):
    server = _rooted(shell, "in")
    shell.make({"in/a": "A", "out/very-private-name": "B"})
    step = {
        "action": "fs.move",
        "for_each": {"files": f"{shell.root}/out/*"},
        "from": "{file.path}",
        "to": "{file.name}",
    }

    async def conversation(agent):
        return await agent.refused("plan_actions", actions=[step], capabilities=EVERYWHERE)

    assert "very-private-name" not in talk(server, conversation, mode=mode)


@pytest.mark.parametrize("tool", ["plan_apply", "undo", "undo_check", "redo", "task_show"])
def test_the_roots_hold_on_every_call(shell, mode, tool):
    """CVE-2025-68145: what a wider server planned or did is not at a narrower one's disposal."""
    shell.make({"in/a": "A", "out/b": "B"})
    plan_id = shell.plan(move("out/b", "out/c")).stored.plan_id
    task_id = shell.apply(shell.plan(move("out/b", "out/d"), scope="out")).report.task_id
    if tool == "redo":
        shell.app().undo(task=task_id)
    before = shell.listing()

    async def conversation(agent):
        assert (await agent.call("journal_query"))["tasks"] == []
        argument = {"plan_id": plan_id} if tool == "plan_apply" else {"task_id": task_id}
        return await agent.refused(tool, **argument)

    text = talk(_rooted(shell, "in"), conversation, mode=mode, answer="yes")
    assert "outside the roots" in text if tool == "plan_apply" else "no task" in text
    assert difference(before, shell.listing()) == []


def test_a_clients_roots_narrow_and_never_widen(shell, mode):
    server = _rooted(shell, "in")
    shell.make({"in/one/a": "A", "in/two/b": "B", "out/c": "C"})

    async def conversation(agent):
        inside = await agent.call("plan_actions", actions=[move("one/a", "one/x")], capabilities=EVERYWHERE)
        beside = await agent.refused(
            "plan_actions", actions=[move("two/b", "two/x")], capabilities=EVERYWHERE
        )
        wider = await agent.refused("plan_actions", actions=[write("../out/x", "")], capabilities=EVERYWHERE)
        return inside["status"], "scope" in beside, "scope" in wider

    roots = [shell.root / "in/one", shell.root / "out"]
    assert talk(server, conversation, mode=mode, roots=roots) == ("open", True, True)


def test_a_client_without_any_root_narrows_nothing(shell, mode):
    server = _rooted(shell, "in")
    shell.make({"in/a": "A"})

    async def conversation(agent):
        plan = await agent.call("plan_actions", actions=[move("a", "b")], capabilities=EVERYWHERE)
        return plan["status"]

    assert talk(server, conversation, mode=mode, roots=[]) == "open"


def test_a_plan_within_the_clients_roots_is_not_applied_by_a_client_with_others(shell, mode):
    shell.make({"in/one/a": "A", "in/two/b": "B"})
    server = _rooted(shell, "in")

    async def one(agent):
        plan = await agent.call("plan_actions", actions=[move("one/a", "one/x")], capabilities=EVERYWHERE)
        return plan["planId"]

    plan_id = talk(server, one, mode=mode, roots=[shell.root / "in/one"])

    async def two(agent):
        return await agent.refused("plan_apply", plan_id=plan_id)

    assert "outside the roots" in talk(server, two, mode=mode, roots=[shell.root / "in/two"])


def test_the_state_folder_is_out_of_bounds(shell, mode):
    async def conversation(agent):
        await agent.call("plan_actions", actions=[write("note", "x")], capabilities=EVERYWHERE)
        return [
            await agent.refused("plan_actions", actions=[step], capabilities=EVERYWHERE)
            for step in (
                write(str(shell.state / "plans" / "forged.json"), "x"),
                move(str(shell.state), "elsewhere"),
                move(str(shell.state / "journal.jsonl"), "journal"),
            )
        ]

    for text in talk(options(shell), conversation, mode=mode):
        assert "own folder" in text or "does not exist" in text, text
