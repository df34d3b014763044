"""A server process on standard input and output: three revisions, only protocol lines, clients that die."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from tests.support.agents import over_stdio, talk
from tests.support.planning import final, move, write
from tests.support.protocol import Wire

pytestmark = pytest.mark.slow

CAPABILITIES = [{"name": "fs.read", "scope": ["."]}, {"name": "fs.write", "scope": ["."]}]
REVISIONS = ["2025-06-18", "2025-11-25"]
NEWEST = "2026-07-28"


@pytest.fixture
def wire(home, folder):
    """`wire(*options)`: a server process in the folder; `code` replaces `python -m deskshell`."""
    opened = []

    def start(*args, **more):
        opened.append(Wire(home.environment(), *args, cwd=folder, **more))
        return opened[-1]

    yield start
    for each in opened:
        each.kill()


def _plan(server, *actions):
    result = server.call("plan_actions", actions=list(actions), capabilities=CAPABILITIES)
    assert not result.get("isError"), result
    return result["structuredContent"]["planId"]


def test_a_client_of_the_sdk_does_a_days_work(home, folder, mode):
    (folder / "a.txt").write_text("A")

    async def conversation(agent):
        plan = await agent.call("plan_actions", actions=[move("a.txt", "b.txt")], capabilities=CAPABILITIES)
        first = await agent.call("plan_apply", plan_id=plan["planId"])
        second = await agent.call("plan_apply", plan_id=plan["planId"])
        undone = await agent.call("undo", task_id=first["taskId"])
        return first["status"], second["status"], undone["status"]

    server = over_stdio(home.environment(), "--root", str(folder), cwd=folder)
    assert talk(server, conversation, mode=mode) == ("applied", "already_applied", "undone")
    assert (folder / "a.txt").read_text() == "A"


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("answer", ["accept", "decline", "cancel"])
def test_a_question_reaches_clients_of_every_revision_with_a_handshake(wire, folder, revision, answer):
    server = wire()
    assert server.start(revision, {"elicitation": {}}) == revision
    content = {"content": {"approve": True}} if answer == "accept" else {}
    server.answer = lambda _: {"action": answer, **content}
    plan_id = _plan(server, final(write("note", "x")))

    result = server.call("plan_apply", plan_id=plan_id, allowIrreversible=True)

    assert "CANNOT BE UNDONE" in server.asked[0]
    wanted = "applied" if answer == "accept" else "declined"
    assert result["structuredContent"]["status"] == wanted
    assert (folder / "note").exists() == (answer == "accept")
    assert server.close() == (0, "")


def test_a_question_reaches_clients_of_the_newest_revision(wire, folder):
    """There it is an answer of its own kind, and the client calls again with what the person said."""
    server = wire()
    meta = {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": NEWEST,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        }
    }

    def call(tool, arguments, **more):
        return server.request("tools/call", {"name": tool, "arguments": arguments, **meta, **more})

    plan = call("plan_actions", {"actions": [final(write("note", "x"))], "capabilities": CAPABILITIES})
    arguments = {"plan_id": plan["structuredContent"]["planId"], "allowIrreversible": True}
    asked = call("plan_apply", arguments)
    ((key, question),) = asked["inputRequests"].items()
    assert "CANNOT BE UNDONE" in question["params"]["message"]
    assert not (folder / "note").exists()
    yes = {"inputResponses": {key: {"action": "accept", "content": {"approve": True}}}}
    statuses = [
        call("plan_apply", arguments, requestState=asked["requestState"], **yes)["structuredContent"][
            "status"
        ]
        for _ in range(2)
    ]

    assert statuses == ["applied", "already_applied"]


def test_a_client_that_cannot_ask_is_told_the_command_of_the_terminal(wire, tmp_path, home, folder):
    (home.user / "config.toml").write_text('irreversible = "person"\n')
    environment = home.environment() | {"DESKSHELL_CONFIG": str(home.user / "config.toml")}
    with Wire(environment, cwd=folder) as server:
        server.start(REVISIONS[0])
        plan_id = _plan(server, final(write("note", "x")))
        result = server.call("plan_apply", plan_id=plan_id, allowIrreversible=True)
    assert result["isError"]
    assert f"deskshell approve {plan_id}" in result["content"][0]["text"]


NOISY = """
import os, subprocess, sys, warnings
from deskshell.actions.noop import Noop
def noisy(self, ctx):
    print("printed by a library")
    os.write(1, b"written to descriptor 1\\n")
    subprocess.run(["echo", "said by a child"])
    warnings.warn("a warning")
    sys.stdout.flush()
    return real(self, ctx)
real, Noop.prepare = Noop.prepare, noisy
from deskshell.cli.main import main
main()
"""


def test_only_protocol_lines_get_out(wire, folder):
    """F49: a failing step, a warning, a print, a child, a name with a newline, Ctrl-C."""
    server = wire(code=NOISY)
    server.start(REVISIONS[0])
    (folder / 'a\n{"jsonrpc":"2.0"}\n.txt').write_text("A")
    done = server.call("plan_apply", plan_id=_plan(server, {"action": "noop"}))
    assert done["structuredContent"]["status"] == "applied"
    step = {"action": "fs.move", "for_each": {"files": "*"}, "from": "{file.path}", "to": "b/{file.name}"}
    moved = server.call("plan_apply", plan_id=_plan(server, step))
    assert moved["structuredContent"]["status"] == "applied"
    failing = write("note", "x", **{"assert": [{"missing": "note"}]})
    failed = server.call("plan_apply", plan_id=_plan(server, failing))
    assert failed.get("structuredContent", failed)["status"] == "failed"
    assert server.call("plan_apply", plan_id="0" * 16)["isError"]

    code, error = server.interrupt()

    assert code == 130
    assert "printed by a library" in error
    assert "said by a child" in error
    assert len(server.lines) == server._number


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_an_idle_server(wire, signum):
    server = wire()
    server.start(REVISIONS[0])
    assert server.interrupt(signum) == (128 + signum, "")


def test_a_closed_input_ends_the_server(wire):
    server = wire()
    server.start(REVISIONS[0])
    assert server.close() == (0, "")


SLOW = """
import sys, threading
from deskshell.files import moving
def held(*args):
    moving.rename = real
    sys.stderr.write("held\\n"); sys.stderr.flush()
    {hold}
    return real(*args)
real, moving.rename = moving.rename, held
from deskshell.cli.main import main
main()
"""


def _held(server):
    """Wait until the server stands right before its first rename."""
    assert server.process.stderr.readline() == b"held\n"


def test_a_client_that_dies_in_mid_call_finds_the_outcome_by_asking_again(wire, folder):
    """The task goes on to its end; a new client asks for the same plan and gets the first result."""
    (folder / "a.txt").write_text("A")
    gate = folder.parent / "gate"
    hold = f"import os, time\n    while not os.path.exists({str(gate)!r}): time.sleep(0.01)"
    server = wire(code=SLOW.format(hold=hold))
    server.start(REVISIONS[0])
    plan_id = _plan(server, move("a.txt", "b.txt"), write("note", "x"))
    server.post("tools/call", {"name": "plan_apply", "arguments": {"plan_id": plan_id}})
    _held(server)
    server.process.stdin.close()
    server.process.stdout.close()
    gate.touch()
    server.process.wait(60)

    again = wire()
    again.start(REVISIONS[0])
    result = again.call("plan_apply", plan_id=plan_id)["structuredContent"]

    assert result["status"] == "already_applied"
    assert (folder / "b.txt").read_text() == "A"
    assert (folder / "note").exists()
    again.close()


def test_a_server_that_is_killed_in_mid_call_leaves_all_or_nothing(wire, folder):
    (folder / "a.txt").write_text("A")
    server = wire(code=SLOW.format(hold="threading.Event().wait()"))
    server.start(REVISIONS[0])
    plan_id = _plan(server, move("a.txt", "b.txt"), write("note", "x"))
    server.post("tools/call", {"name": "plan_apply", "arguments": {"plan_id": plan_id}})
    _held(server)
    server.kill()

    again = wire()
    again.start(REVISIONS[0])
    result = again.call("plan_apply", plan_id=plan_id)["structuredContent"]

    assert (result["status"], result["taskStatus"]) == ("failed", "rolled-back")
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt"]
    again.close()


def test_a_second_server_waits_a_moment_and_is_then_told_who_holds_the_lock(wire, home, folder):
    (folder / "a.txt").write_text("A")
    one = wire(code=SLOW.format(hold="threading.Event().wait()"))
    one.start(REVISIONS[0])
    plan_id = _plan(one, move("a.txt", "b.txt"))
    other_id = _plan(one, write("note", "x"))
    one.post("tools/call", {"name": "plan_apply", "arguments": {"plan_id": plan_id}})
    _held(one)

    two = Wire(home.environment() | {"DESKSHELL_LOCK_WAIT": "0.1"}, cwd=folder)
    two.start(REVISIONS[0])
    busy = two.call("plan_apply", plan_id=other_id)["structuredContent"]
    two.close()
    one.kill()

    assert busy["status"] == "busy"
    assert f"pid {one.process.pid} `apply {plan_id}`" in busy["message"]


def test_what_is_no_message_is_answered_and_the_server_goes_on(wire):
    server = wire()
    server.start(REVISIONS[0])
    server.process.stdin.write(b"this is no JSON\n\n\xff\xfe\n[]\n")
    server.process.stdin.flush()
    assert server.request("ping") == {}


def test_options_are_checked_before_anything_is_served(cli, folder):
    assert cli("mcp", "--root", "nowhere").code == 2
    assert cli("mcp", "--http", "70000").code == 2
    assert cli("mcp", env={"MCP_LAB_PLAN_TTL": "soon"}).code == 2


def test_the_log_folder_and_its_ttl_come_from_options_or_the_environment(home, folder):
    (folder / "app.log").write_text("x")
    environment = home.environment() | {"DESKSHELL_LOG_DIR": str(folder), "MCP_LAB_PLAN_TTL": "7"}
    with Wire(environment, cwd=folder) as server:
        server.start(REVISIONS[0])
        assert server.call("log_rotate_plan")["structuredContent"]["expires_in_s"] == 7
    with Wire(home.environment(), "--log-dir", ".", cwd=folder) as server:
        server.start(REVISIONS[0])
        assert server.call("log_rotate_plan")["structuredContent"]["expires_in_s"] == 600


@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "cursor", "vscode"])
def test_the_stanza_of_each_host_starts_a_server(cli, home, folder, host):
    found = cli("mcp", "config", "--host", host, "--root", ".", "--json").json
    if host == "codex":
        import tomllib

        entry = tomllib.loads(found["text"])["mcp_servers"]["deskshell"]
    else:
        data = json.loads(found["text"])
        entry = data["servers" if host == "vscode" else "mcpServers"]["deskshell"]
    assert entry["command"] == sys.executable
    assert entry["args"] == ["-m", "deskshell", "mcp", "--root", str(folder)]
    assert found["text"].splitlines() == cli("mcp", "config", "--host", host, "--root", ".").out.splitlines()


def test_an_unknown_host_is_refused(cli):
    assert "claude" in cli("mcp", "config", "--host", "netscape").err
