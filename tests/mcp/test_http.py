"""A server over HTTP: on this machine only, with a key, for hosts and origins that are its own."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys

import httpx2
import pytest

from tests.support.agents import over_http, talk
from tests.support.planning import move, write

pytestmark = pytest.mark.slow

CAPABILITIES = [{"name": "fs.read", "scope": ["."]}, {"name": "fs.write", "scope": ["."]}]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}


@pytest.fixture
def url(home, folder):
    """A server process on a port of its own, in the folder."""
    process = subprocess.Popen(
        [sys.executable, "-m", "deskshell", "mcp", "--http", "0", "--root", "."],
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=home.environment(),
        cwd=folder,
    )
    line = process.stderr.readline().decode()
    found = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
    assert found, line + process.stderr.read().decode()
    yield found[0]
    process.send_signal(signal.SIGTERM)
    error = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) in (0, -signal.SIGTERM, 143), error
    assert "Traceback" not in error


@pytest.fixture
def key(cli):
    """`key("read", …)`: a new key with these scopes; with all of them without any."""

    def make(*scopes):
        return cli("keys", "new", *[word for scope in scopes for word in ("--scope", scope)]).out.strip()

    return make


def _post(url, key=None, **headers):
    given = {"Accept": "application/json, text/event-stream", **headers}
    if key is not None:
        given["Authorization"] = f"Bearer {key}"
    return httpx2.post(url, json=INITIALIZE, headers=given, timeout=30)


def test_a_client_with_a_key_does_a_days_work(url, key, folder, mode, cli):
    (folder / "a.txt").write_text("A")

    async def conversation(agent):
        plan = await agent.call("plan_actions", actions=[move("a.txt", "b.txt")], capabilities=CAPABILITIES)
        first = await agent.call("plan_apply", plan_id=plan["planId"])
        second = await agent.call("plan_apply", plan_id=plan["planId"])
        undone = await agent.call("undo", task_id=first["taskId"])
        assert (await agent.call("redo", task_id=first["taskId"]))["status"] == "redone"
        return first["status"], second["status"], undone["status"]

    mine = key()
    found = talk(over_http(url, mine), conversation, mode=mode)

    assert found == ("applied", "already_applied", "undone")
    assert (folder / "b.txt").read_text() == "A"
    owners = {task["owner"] for task in cli("log", "--json").json["tasks"]}
    assert owners == {f"key:{mine[4:16]}"}


def test_a_question_reaches_the_person_over_http_too(url, key, folder, mode):
    async def conversation(agent):
        step = {**write("note", "x"), "irreversible": True}
        plan = await agent.call("plan_actions", actions=[step], capabilities=CAPABILITIES)
        outcome = await agent.call("plan_apply", plan_id=plan["planId"], allowIrreversible=True)
        return outcome["status"], len(agent.asked)

    assert talk(over_http(url, key()), conversation, mode=mode, answer="yes") == ("applied", 1)


def test_without_a_good_key_there_is_nothing(url, key, cli):
    good = key()
    assert _post(url, good).status_code == 200
    for bad in (None, "x", "dsk_000000000000_" + "A" * 43, good[:-1], good + "x"):
        assert _post(url, bad).status_code == 401
    cli("keys", "revoke", good[4:16])
    assert _post(url, good).status_code == 401, "a revoked key is refused by a server that runs"


def test_the_host_has_to_be_this_machine(url, key):
    """CVE-2025-66416: without the check any web page could reach the server by a name of its own (DNS rebinding)."""
    good = key()
    port = url.split(":")[2].split("/")[0]
    assert _post(url, good, Host=f"localhost:{port}").status_code == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{int(port) + 1}"):
        assert _post(url, good, Host=host).status_code == 421


def test_the_origin_has_to_be_its_own(url, key):
    good = key()
    port = url.split(":")[2].split("/")[0]
    assert _post(url, good, Origin=f"http://localhost:{port}").status_code == 200
    for origin in (
        "https://evil.example",
        "null",
        f"http://127.0.0.1:{port}.evil.example",
        "http://localhost",
    ):
        assert _post(url, good, Origin=origin).status_code == 403


def test_only_the_loopback_address_is_served(url):
    port = int(url.split(":")[2].split("/")[0])
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        with socket.socket() as probe:
            probe.settimeout(5)
            assert probe.connect_ex((address, port)) != 0


def test_a_key_opens_only_the_tools_of_its_scopes(url, key, folder, mode):
    async def conversation(agent):
        assert len((await agent.client.list_tools()).tools) == 15
        await agent.call("skill_list")
        return [
            await agent.refused("plan_actions", actions=[write("x", "")], capabilities=CAPABILITIES),
            await agent.refused("skill_run", name="first-skill"),
            await agent.refused("plan_apply", plan_id="0" * 16),
            await agent.refused("undo"),
            await agent.refused("redo"),
            await agent.refused("log_rotate_plan"),
        ]

    for text in talk(over_http(url, key("read")), conversation, mode=mode):
        assert "has no scope" in text


def test_keys_do_not_see_each_others_plans_and_tasks(url, key, folder, mode):
    async def make(agent):
        plan = await agent.call("plan_actions", actions=[write("one", "x")], capabilities=CAPABILITIES)
        other = await agent.call("plan_actions", actions=[write("two", "x")], capabilities=CAPABILITIES)
        return plan["planId"], (await agent.call("plan_apply", plan_id=other["planId"]))["taskId"]

    plan_id, task_id = talk(over_http(url, key()), make, mode=mode)

    async def look(agent):
        assert (await agent.call("journal_query"))["tasks"] == []
        return [
            await agent.refused("plan_show", plan_id=plan_id),
            await agent.refused("plan_apply", plan_id=plan_id),
            await agent.refused("task_show", task_id=task_id),
            await agent.refused("undo", task_id=task_id),
            await agent.refused("undo"),
        ]

    assert all("not-found" in text for text in talk(over_http(url, key()), look, mode=mode))
    assert (folder / "two").exists()


def test_a_session_belongs_to_the_key_that_began_it(url, key):
    one, two = key(), key()
    session = _post(url, one).headers["mcp-session-id"]

    stolen = httpx2.post(
        url,
        json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        headers={
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {two}",
            "Mcp-Session-Id": session,
        },
        timeout=30,
    )
    assert stolen.status_code == 404


def test_two_agents_apply_one_key_s_plan_once(url, key, folder, mode):
    (folder / "a.txt").write_text("A")
    mine = key()

    async def make(agent):
        plan = await agent.call("plan_actions", actions=[move("a.txt", "b.txt")], capabilities=CAPABILITIES)
        found = await asyncio.gather(*[agent.call("plan_apply", plan_id=plan["planId"]) for _ in range(4)])
        return sorted(each["status"] for each in found)

    statuses = talk(over_http(url, mine), make, mode=mode)
    assert statuses.count("applied") == 1
    assert set(statuses) <= {"applied", "already_applied", "busy"}


def test_a_port_that_is_taken_is_said(cli, url):
    port = url.split(":")[2].split("/")[0]
    refused = cli("mcp", "--http", port)
    assert refused.code == 2
    assert port in refused.err


def test_the_person_at_the_terminal_may_approve_a_keys_plan(url, key, folder, cli, home):
    """The state folder is theirs; the plan's owner is the key."""

    async def make(agent):
        step = {**write("note", "x"), "irreversible": True}
        return (await agent.call("plan_actions", actions=[step], capabilities=CAPABILITIES))["planId"]

    mine = key()
    plan_id = talk(over_http(url, mine), make)
    (listed,) = cli("plans", "--json").json["plans"]
    assert (listed["planId"], listed["owner"]) == (plan_id, f"key:{mine[4:16]}")
    assert cli("apply", plan_id, "--allow-irreversible").code == 2, "applying is for its owner"

    code = "import os, sys; from deskshell import config; from deskshell.app import App; "
    code += "app = App(config.load(os.environ)); app.approve(app.plan_show(sys.argv[1], everyone=True))"
    subprocess.run(
        [sys.executable, "-c", code, plan_id], env=home.environment(), check=True, cwd=os.fspath(folder)
    )

    async def apply(agent):
        return (await agent.call("plan_apply", plan_id=plan_id))["status"]

    assert talk(over_http(url, mine), apply) == "applied"
