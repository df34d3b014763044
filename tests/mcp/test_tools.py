"""What an agent can do, in both eras of the protocol: preview, plan, apply, report, undo."""

from __future__ import annotations

import json
import os

import pytest

from deskshell.app.keys import SCOPES
from deskshell.mcp.hints import INSTRUCTIONS
from deskshell.mcp.server import build
from tests.support.agents import options, talk
from tests.support.listing import difference
from tests.support.planning import Shell, move, write

CAPABILITIES = [{"name": "fs.read", "scope": ["."]}, {"name": "fs.write", "scope": ["."]}]
TOOLS = {
    "skill_list", "skill_show", "skill_preview", "skill_run", "skill_plan", "plan_actions", "plan_show",
    "plan_apply", "task_show", "undo", "undo_check", "redo", "journal_query", "log_rotate_plan", "log_rotate_apply",
}  # fmt: skip


def test_every_tool_says_what_it_does_and_what_it_answers(shell, mode):
    async def conversation(agent):
        return (await agent.client.list_tools()).tools, agent.client.instructions

    tools, instructions = talk(options(shell), conversation, mode=mode)

    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        assert tool.description
        assert tool.title
        hints = tool.annotations.model_dump()
        assert all(
            isinstance(hints[f"{name}_hint"], bool)
            for name in ("read_only", "destructive", "idempotent", "open_world")
        )
        assert tool.output_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
    assert instructions == INSTRUCTIONS
    assert len(INSTRUCTIONS) < 2000


def test_every_tool_takes_a_scope_that_keys_know(shell):
    server = build(options(shell))
    assert {tool.scope for tool in server._tool_manager.list_tools()} == set(SCOPES)


def test_preview_run_report_undo_redo(skill, mode):
    skill.make({"a.txt": "A"})
    before = skill.listing()

    async def conversation(agent):
        assert "tidy" in [each["name"] for each in (await agent.call("skill_list"))["skills"]]
        assert (await agent.call("skill_show", name="tidy"))["parameters"][0]["name"] == "folder"
        preview = await agent.call("skill_preview", name="tidy")
        assert [step["summary"] for step in preview["steps"]] == ["move a.txt → done/a.txt"]
        assert not skill.state.exists()
        assert difference(before, skill.listing()) == []

        done = await agent.call("skill_run", name="tidy", params={"folder": str(skill.root)})
        assert done["status"] == "ok"
        after = skill.listing()

        assert (await agent.call("undo_check"))["complete"]
        undone = await agent.call("undo", task_id=done["taskId"])
        assert (undone["status"], undone["rolledBack"]) == ("undone", 1)
        assert difference(before, skill.listing()) == []
        assert (await agent.call("redo", task_id=done["taskId"]))["status"] == "redone"
        assert difference(after, skill.listing()) == []
        shown = await agent.call("task_show", task_id=done["taskId"])
        assert (shown["task"]["status"], shown["steps"][0]["status"]) == ("ok", "ok")
        listed = await agent.call("journal_query")
        assert [each["role"] for each in listed["tasks"]] == ["redo", "undo", "run"]

    talk(options(skill), conversation, mode=mode)


@pytest.mark.parametrize("tool", ["skill_preview", "skill_plan", "skill_run"])
def test_a_skill_takes_no_more_than_is_granted(skill, tool):
    """`grants` narrows what the skill declares, for each tool that takes it, and refuses what needs more."""
    skill.make({"a.txt": "A"})
    params = {"folder": str(skill.root)}

    async def conversation(agent):
        said = await agent.refused(tool, name="tidy", params=params, grants=["fs.read"])
        assert "which was not granted" in said
        unknown = await agent.refused(tool, name="tidy", params=params, grants=["fs.delete"])
        assert "`fs.delete` is not declared by the skill" in unknown
        assert not skill.state.exists()
        return await agent.call(tool, name="tidy", params=params, grants=["fs.write"])

    answer = talk(options(skill), conversation)

    assert [step["summary"] for step in answer["steps"]] == ["move a.txt → done/a.txt"]
    if tool == "skill_plan":
        assert [each["name"] for each in answer["capabilities"]] == ["fs.write"]
    if tool == "skill_run":
        assert [each["capability"] for each in skill.begins()[0]["grants"]] == ["fs.write"]


def test_plan_apply_apply_again_undo(shell, mode):
    shell.make({"a.txt": "A"})

    async def conversation(agent):
        plan = await agent.call(
            "plan_actions", actions=[move("a.txt", "b.txt"), write("note", "x")], capabilities=CAPABILITIES
        )
        assert plan["cwd"] == str(shell.root)
        assert (await agent.call("plan_show", plan_id=plan["planId"]))["status"] == "open"
        first = await agent.call("plan_apply", plan_id=plan["planId"])
        second = await agent.call("plan_apply", plan_id=plan["planId"])
        assert [first["status"], second["status"]] == ["applied", "already_applied"]
        assert second["taskId"] == first["taskId"]
        assert second["steps"] == first["steps"]
        assert (await agent.call("plan_show", plan_id=plan["planId"]))["status"] == "applied"
        await agent.call("undo")

    talk(options(shell), conversation, mode=mode)
    assert (shell.root / "a.txt").read_text() == "A"
    assert len([line for line in shell.begins() if line.get("planId")]) == 1


def test_a_plan_of_a_skill_is_applied_as_it_was_shown(skill, mode):
    skill.make({"a.txt": "A"})

    async def conversation(agent):
        plan = await agent.call("skill_plan", name="tidy")
        (skill.root / "b.txt").write_text("came later")
        return await agent.call("plan_apply", plan_id=plan["planId"])

    assert talk(options(skill), conversation, mode=mode)["status"] == "applied"
    assert (skill.root / "b.txt").exists()


def test_outcomes_are_answers_with_a_status(shell, mode):
    shell.make({"a.txt": "A"})

    async def conversation(agent):
        stale = await agent.call("plan_actions", actions=[move("a.txt", "b")], capabilities=CAPABILITIES)
        failing = await agent.call(
            "plan_actions",
            actions=[write("note", "x", **{"assert": [{"missing": "note"}]})],
            capabilities=CAPABILITIES,
        )
        (shell.root / "a.txt").write_text("changed")
        found = [await agent.call("plan_apply", plan_id=each["planId"]) for each in (stale, failing, failing)]
        assert "a.txt" in found[0]["changed"][0]
        return [each["status"] for each in found]

    assert talk(options(shell), conversation, mode=mode) == ["stale", "failed", "failed"]


REFUSED = [
    ("skill_list", {"nonsense": 1}, ["`nonsense` is no argument"]),
    ("plan_show", {}, ["`plan_id` is missing"]),
    ("plan_show", {"plan_id": "../../etc/passwd"}, ["does not have the right form"]),
    ("plan_show", {"plan_id": 7}, ["has to be text"]),
    ("plan_apply", {"plan_id": "0" * 16, "allowIrreversible": "yes"}, ["has to be true or false"]),
    ("plan_apply", {"plan_id": "0" * 16, "allowIrreversible": 1}, ["has to be true or false"]),
    (
        "plan_apply",
        {"plan_id": "0" * 16, "allow_irreversible": True},
        ["`allow_irreversible` is no argument"],
    ),
    ("undo", {"force": "true"}, ["has to be true or false"]),
    ("skill_run", {"name": "../tidy"}, ["does not have the right form"]),
    ("skill_run", {"name": "-rf"}, ["does not have the right form"]),
    ("plan_apply", {"plan_id": "0" * 16}, ["no plan"]),
    ("task_show", {"task_id": "task-1"}, ["no task"]),
    ("undo", {}, ["no task of yours"]),
    ("plan_actions", {"actions": [{"action": "fs.nonsense"}], "capabilities": []}, ["fs.nonsense"]),
    ("plan_actions", {"actions": [], "capabilities": []}, ["`actions`"]),
]


def test_refusals_are_in_our_own_words(shell, mode):
    async def conversation(agent):
        return [await agent.refused(tool, **arguments) for tool, arguments, _ in REFUSED]

    for text, (_, arguments, words) in zip(
        talk(options(shell), conversation, mode=mode), REFUSED, strict=True
    ):
        assert all(word in text for word in words), (arguments, text)
        assert not any(word in text for word in ("Traceback", "pydantic", "Error executing"))


def test_a_refusal_never_repeats_the_value_that_was_wrong(shell, mode):
    """F41: an argument may hold a secret, and logs keep what is answered."""

    async def conversation(agent):
        return await agent.refused("plan_show", plan_id="hunter2-is-my-password", token="hunter2")

    assert "hunter2" not in talk(options(shell), conversation, mode=mode)


def test_what_is_unexpected_is_masked(shell, mode, monkeypatch):
    from deskshell.app import App

    def broken(self):
        raise RuntimeError("the secret is /etc/shadow")

    monkeypatch.setattr(App, "skills", broken)

    async def conversation(agent):
        return await agent.refused("skill_list")

    assert "shadow" not in talk(options(shell), conversation, mode=mode)


def test_what_is_not_declared_is_refused(shell, mode):
    async def conversation(agent):
        return [
            await agent.refused("plan_actions", actions=[write("note", "x")], capabilities=[]),
            await agent.refused(
                "plan_actions",
                actions=[write("/etc/motd", "x")],
                capabilities=[{"name": "fs.write", "scope": ["."]}],
            ),
            await agent.refused(
                "plan_actions",
                actions=[write("note", "x")],
                capabilities=[{"name": "fs.everything", "scope": []}],
            ),
        ]

    undeclared, outside, unknown = talk(options(shell), conversation, mode=mode)
    assert "capability" in undeclared
    assert "scope" in outside
    assert "fs.read" in unknown


def test_long_lists_come_in_parts(shell, mode):
    shell.make({f"folder/{n:03} {'x' * 100}.txt": "" for n in range(200)})
    actions = [
        {
            "id": "move:{file.name}",
            "action": "fs.move",
            "for_each": {"files": "folder/*"},
            "from": "{file.path}",
            "to": "other/{file.name}",
        }
    ]

    async def conversation(agent):
        answer = await agent.call("plan_actions", actions=actions, capabilities=CAPABILITIES)
        plan_id, found = answer["planId"], []
        while True:
            found += [step["n"] for step in answer["steps"]]
            assert answer["total"] == 200
            assert answer["truncated"]
            if answer["nextCursor"] is None:
                return found
            answer = await agent.call("plan_show", plan_id=plan_id, cursor=answer["nextCursor"])

    assert talk(options(shell), conversation, mode=mode) == list(range(200))


def test_one_name_that_is_too_long_for_an_answer_is_cut(shell, mode):
    async def conversation(agent):
        return await agent.call(
            "plan_actions", actions=[{"action": "noop", "id": "x" * 9000}], capabilities=[]
        )

    (step,) = talk(options(shell), conversation, mode=mode)["steps"]
    assert 100 < len(step["actionId"]) < 1000


def test_values_that_start_with_a_dash_are_values(skill, mode):
    """CVE-2025-68144: nothing that an agent says becomes an option."""
    skill.make({"--force/a.txt": "A", "-rf.txt": "B"})

    async def conversation(agent):
        done = await agent.call("skill_run", name="tidy", params={"folder": str(skill.root / "--force")})
        plan = await agent.call(
            "plan_actions", actions=[move("-rf.txt", "--help")], capabilities=CAPABILITIES
        )
        return done["status"], (await agent.call("plan_apply", plan_id=plan["planId"]))["status"]

    assert talk(options(skill), conversation, mode=mode) == ("ok", "applied")
    assert (skill.root / "--force/done/a.txt").exists()
    assert (skill.root / "--help").read_text() == "B"


def test_relative_paths_lie_in_the_servers_folder_wherever_it_was_started(shell, mode, tmp_path, monkeypatch):
    """F45."""
    monkeypatch.chdir("/")

    async def conversation(agent):
        plan = await agent.call("plan_actions", actions=[write("note", "x")], capabilities=CAPABILITIES)
        assert plan["cwd"] == str(shell.root)
        assert plan["steps"][0]["target"] == str(shell.root / "note")
        done = await agent.call("plan_apply", plan_id=plan["planId"])
        await agent.call("undo_check", task_id=done["taskId"])
        return (await agent.call("task_show", task_id=done["taskId"]))["steps"][0]["target"]

    assert talk(options(shell), conversation, mode=mode) == str(shell.root / "note")


LOGIN = """
name = "login"
version = "1"
summary = "write a token"
[params.token]
type = "secret"
help = "the token"
[[capabilities]]
name = "fs.write"
scope = ["."]
reason = "write it"
[[steps]]
action = "fs.write"
path = "token"
text = "{token}"
"""


@pytest.fixture
def login(shell):
    folder = shell.root.parent / "skills" / "login"
    folder.mkdir(parents=True)
    (folder / "skill.toml").write_text(LOGIN)
    return shell


def test_a_secret_is_a_reference_everywhere(login, mode):
    """F41: neither plan file nor journal nor an answer has its value."""
    answers = []

    async def conversation(agent):
        assert "hunter2" not in await agent.refused("skill_run", name="login", params={"token": "hunter2"})
        plan = await agent.call("skill_plan", name="login")
        answers.append(plan)
        answers.append(await agent.call("plan_apply", plan_id=plan["planId"]))

    talk(options(login, secrets={"token": "hunter2"}), conversation, mode=mode)

    assert (login.root / "token").read_text() == "hunter2"
    assert "hunter2" not in json.dumps(answers)
    kept = [path for path in login.state.rglob("*") if path.is_file()]
    assert kept
    assert not any(b"hunter2" in path.read_bytes() for path in kept)


def test_a_missing_secret_is_named_and_leaves_the_plan_open(login, mode):
    async def conversation(agent):
        plan = await agent.call("skill_plan", name="login")
        assert "DESKSHELL_SECRET_TOKEN" in await agent.refused("plan_apply", plan_id=plan["planId"])
        return (await agent.call("plan_show", plan_id=plan["planId"]))["status"]

    assert talk(options(login), conversation, mode=mode) == "open"


def test_two_servers_and_a_command_share_one_state_folder(shell, mode):
    """Concurrency: each waits a moment, and the journal stays whole."""
    shell.make({"a.txt": "A"})

    async def conversation(agent):
        plan = await agent.call("plan_actions", actions=[move("a.txt", "b.txt")], capabilities=CAPABILITIES)
        return plan["planId"]

    plan_id = talk(options(shell), conversation, mode=mode)

    async def other(agent):
        return (await agent.call("plan_apply", plan_id=plan_id))["status"]

    assert talk(options(shell), other, mode=mode) == "applied"
    assert shell.apply(plan_id).status == "already_applied"
    assert shell.app().journal_verify().ok


def test_redo_takes_the_newest_undo_of_the_callers_own(shell, mode, tmp_path):
    """Another key's undo, however new, is none of the caller's business: it is not tried, and not named."""
    stranger = Shell(tmp_path, owner="key:0123456789ab")

    def theirs(name):
        task_id = stranger.apply(stranger.plan(write(name, "x"))).report.task_id
        stranger.app().undo(task=task_id)
        return task_id

    async def conversation(agent):
        foreign = theirs("theirs")
        nothing = await agent.refused("redo")
        assert "no task of yours is undone" in nothing
        assert foreign not in nothing
        plan = await agent.call("plan_actions", actions=[write("mine", "x")], capabilities=CAPABILITIES)
        done = await agent.call("plan_apply", plan_id=plan["planId"])
        await agent.call("undo")
        theirs("theirs too")
        redone = await agent.call("redo")
        assert (redone["status"], redone["taskId"]) == ("redone", done["taskId"])

    talk(options(shell), conversation, mode=mode)

    assert os.listdir(shell.root) == ["mine"]


def test_a_foreign_plan_and_task_answer_like_unknown_ones(shell, mode, tmp_path):
    stranger = Shell(tmp_path, owner="key:0123456789ab")
    plan = stranger.plan(write("theirs", "x"))
    done = stranger.apply(stranger.plan(write("done", "x"))).report.task_id
    plan_id = plan.stored.plan_id

    async def conversation(agent):
        assert (await agent.call("journal_query"))["tasks"] == []
        return [
            *[
                [await agent.refused(tool, plan_id=each) for each in (plan_id, "0" * 16)]
                for tool in ("plan_show", "plan_apply")
            ],
            *[
                [await agent.refused(tool, task_id=each) for each in (done, "task-1")]
                for tool in ("task_show", "undo", "undo_check", "redo")
            ],
        ]

    for mine, none in talk(options(shell), conversation, mode=mode):
        assert mine.replace(plan_id, "ID").replace(done, "ID") == none.replace("0" * 16, "ID").replace(
            "task-1", "ID"
        )


def test_progress_of_a_long_task_is_told(shell, mode):
    shell.make({f"in/{n}": "" for n in range(50)})
    actions = [
        {
            "action": "fs.move",
            "for_each": {"files": "in/*"},
            "from": "{file.path}",
            "to": "out/{file.name}",
        }
    ]
    told = []

    async def progress(done, total, message):
        told.append((done, total, message))

    async def conversation(agent):
        plan = await agent.call("plan_actions", actions=actions, capabilities=CAPABILITIES)
        await agent.client.call_tool("plan_apply", {"plan_id": plan["planId"]}, progress_callback=progress)

    talk(options(shell), conversation, mode=mode)

    assert told
    assert told[-1][:2] == (50.0, 50.0)
    assert "step 50 of 50" in told[-1][2]
    assert len(list((shell.root / "out").iterdir())) == 50
    assert os.listdir(shell.root / "in") == []
