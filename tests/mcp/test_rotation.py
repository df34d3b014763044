"""`log_rotate_plan` and `log_rotate_apply`: the eight checks of their source, on the general mechanism."""

from __future__ import annotations

import asyncio
import threading

import pytest

from deskshell.files import moving
from tests.support.agents import Refusal, options, talk

TEXT = "one\ntwo\nthree\n"
ALL_TAKEN = {f"app.log.{n}": str(n) for n in range(2, 7)}


@pytest.fixture
def log(shell):
    shell.make({"logs/app.log": TEXT})
    return shell.root / "logs"


def _server(shell, **more):
    return options(shell, log_dir=shell.root / "logs", **more)


def _archives(log):
    return sorted(path.name for path in log.iterdir() if path.name != "app.log")


def test_1_a_plan_changes_nothing(shell, log, mode):
    before = shell.listing()

    async def conversation(agent):
        return await agent.call("log_rotate_plan")

    plan = talk(_server(shell), conversation, mode=mode)

    assert set(plan) == {"plan_id", "log_size", "archive_name", "action", "expires_in_s"}
    assert (plan["log_size"], plan["archive_name"], plan["expires_in_s"]) == (len(TEXT), "app.log.2", 600)
    assert "app.log.2" in plan["action"]
    assert shell.listing() == before


def test_2_applying_gives_an_archive_of_the_same_size_and_an_empty_log(shell, log, mode):
    async def conversation(agent):
        plan = await agent.call("log_rotate_plan")
        return plan, await agent.call("log_rotate_apply", plan_id=plan["plan_id"])

    plan, result = talk(_server(shell), conversation, mode=mode)

    assert result == {
        "plan_id": plan["plan_id"],
        "status": "applied",
        "archive_name": "app.log.2",
        "archived_bytes": len(TEXT),
    }
    assert (log / "app.log.2").read_text() == TEXT
    assert (log / "app.log").read_bytes() == b""


def test_3_a_repeat_is_already_applied_without_a_second_archive(shell, log, mode):
    async def conversation(agent):
        plan = await agent.call("log_rotate_plan")
        return [await agent.call("log_rotate_apply", plan_id=plan["plan_id"]) for _ in range(2)]

    first, second = talk(_server(shell), conversation, mode=mode)

    assert second == first | {"status": "already_applied"}
    assert _archives(log) == ["app.log.2"]


def test_4_a_log_that_changed_after_the_plan_is_refused(shell, log, mode):
    async def conversation(agent):
        plan = await agent.call("log_rotate_plan")
        with (log / "app.log").open("a") as out:
            out.write("four\n")
        return await agent.refused("log_rotate_apply", plan_id=plan["plan_id"])

    text = talk(_server(shell), conversation, mode=mode)

    assert "the log changed after the plan was made" in text
    assert _archives(log) == []


def test_5_an_unknown_plan_is_refused(shell, log, mode):
    async def conversation(agent):
        return [
            await agent.refused("log_rotate_apply", plan_id="0123456789abcdef"),
            await agent.refused("log_rotate_apply", plan_id="app.log.2"),
        ]

    unknown, malformed = talk(_server(shell), conversation, mode=mode)
    assert "no plan" in unknown
    assert "does not have the right form" in malformed


class Gate:
    """Holds the first caller right before its first rename of a file, until it is let go."""

    def __init__(self, monkeypatch):
        self.reached, self.open = threading.Event(), threading.Event()
        self._first = threading.Lock()
        real = moving.rename

        def rename(*args):
            if self._first.acquire(blocking=False):
                self.reached.set()
                assert self.open.wait(60)
            return real(*args)

        monkeypatch.setattr(moving, "rename", rename)


def test_6_and_7_a_controlled_race_rotates_once_and_a_repeat_gives_the_whole_first_result(
    shell, log, mode, monkeypatch
):
    """The first call is held right before its first rename, while the second runs to its end."""
    gate = Gate(monkeypatch)

    async def conversation(agent):
        plan = await agent.call("log_rotate_plan")
        first = asyncio.create_task(agent.call("log_rotate_apply", plan_id=plan["plan_id"]))
        assert await asyncio.to_thread(gate.reached.wait, 60)
        try:
            second = await agent.call("log_rotate_apply", plan_id=plan["plan_id"])
        except Refusal as exc:
            second = str(exc)
        assert not first.done()
        gate.open.set()
        return await first, second, await agent.call("log_rotate_apply", plan_id=plan["plan_id"])

    first, second, again = talk(_server(shell), conversation, mode=mode)

    assert first["status"] == "applied"
    assert second.startswith("busy: another task is at work right now")
    assert again == first | {"status": "already_applied"}
    assert _archives(log) == ["app.log.2"]
    assert (log / "app.log.2").read_text() == TEXT
    assert (log / "app.log").read_bytes() == b""


@pytest.mark.parametrize("ttl_s", [0.0, -1.0])
def test_8_an_expired_plan_is_refused(shell, log, mode, ttl_s):
    async def conversation(agent):
        plan = await agent.call("log_rotate_plan")
        return await agent.refused("log_rotate_apply", plan_id=plan["plan_id"])

    assert "expired" in talk(_server(shell, log_ttl_s=ttl_s), conversation, mode=mode)
    assert _archives(log) == []


def test_the_first_free_name_is_taken(shell, log, mode):
    shell.make({"logs/app.log.2": "", "logs/app.log.4": ""})

    async def conversation(agent):
        return (await agent.call("log_rotate_plan"))["archive_name"]

    assert talk(_server(shell), conversation, mode=mode) == "app.log.3"


def test_an_archive_is_never_deleted(shell, log, mode):
    shell.make({f"logs/{name}": text for name, text in ALL_TAKEN.items()})

    async def conversation(agent):
        return await agent.refused("log_rotate_plan")

    assert "all five" in talk(_server(shell), conversation, mode=mode)


def test_an_archive_that_appeared_since_is_refused(shell, log, mode):
    async def conversation(agent):
        plan = await agent.call("log_rotate_plan")
        (log / "app.log.2").write_text("somebody else's")
        return await agent.refused("log_rotate_apply", plan_id=plan["plan_id"])

    assert "app.log.2" in talk(_server(shell), conversation, mode=mode)
    assert (log / "app.log.2").read_text() == "somebody else's"


def test_without_a_log_or_a_folder_for_it_there_is_no_plan(shell, mode):
    async def conversation(agent):
        return await agent.refused("log_rotate_plan")

    assert "--log-dir" in talk(options(shell), conversation, mode=mode)
    (shell.root / "logs").mkdir()
    assert "does not exist" in talk(_server(shell), conversation, mode=mode)


def test_another_kind_of_plan_is_not_applied_by_it(shell, log, mode):
    async def conversation(agent):
        plan = await agent.call("plan_actions", actions=[{"action": "noop"}], capabilities=[])
        return await agent.refused("log_rotate_apply", plan_id=plan["planId"])

    assert "no plan of a log rotation" in talk(_server(shell), conversation, mode=mode)


def test_a_rotation_can_be_undone(shell, log, mode):
    async def conversation(agent):
        plan = await agent.call("log_rotate_plan")
        await agent.call("log_rotate_apply", plan_id=plan["plan_id"])
        await agent.call("undo")

    talk(_server(shell), conversation, mode=mode)
    assert (log / "app.log").read_text() == TEXT
    assert _archives(log) == []
