"""A request as a step: what a failed one leaves behind is told as far as it is known, and no further."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deskshell import config
from deskshell.actions.fs_write import FsWrite
from deskshell.actions.http_request import HttpRequest
from deskshell.app.core import App
from deskshell.app.prepared import Prepared
from deskshell.kernel.action import Action
from deskshell.kernel.capability import FS_WRITE, NET_REQUEST, Grant, Scope
from deskshell.kernel.plan import Origin, Plan, Step, Terms
from tests.contract.harness import World

TOKEN = "t0ken"


@pytest.fixture
def app(world: World) -> App:
    """An app on the world's state folder."""
    return App(config.load({"DESKSHELL_HOME": str(world.state), "HOME": str(world.root)}))


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A port of this machine that takes connections, for the system does that, and says nothing."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def port_of(server: socket.socket) -> int:
    return int(server.getsockname()[1])


def run(app: App, world: World, port: int) -> dict[str, Any]:
    """Write a note, then send a form to `port`; the report as JSON."""
    url = f"http://127.0.0.1:{port}/form"
    request = HttpRequest.build(
        {"method": "POST", "url": f"{url}?q={TOKEN}", "body": f"a={TOKEN}", "timeout_s": 1}
    )
    note = FsWrite.build({"path": world.path("note.txt"), "text": "sent"})
    actions: list[Action] = [note, request]
    steps = tuple(
        Step(n, f"step{n}", each, terms=Terms(irreversible=n == 1)) for n, each in enumerate(actions)
    )
    grants = (
        Grant(FS_WRITE, (Scope(os.fsencode(world.root), "here"),)),
        Grant(NET_REQUEST, (Scope(url, url),)),
    )
    report = app.run(Prepared(Plan(Origin("submit"), steps, grants)), allow_irreversible=True)
    return {**report.to_json(), "exitCode": report.exit_code}


def test_a_request_that_reached_nobody_is_rolled_back_whole(
    app: App, world: World, listener: socket.socket
) -> None:
    """Nothing was sent, so nothing remains: exit 1, and the note is gone."""
    port = port_of(listener)
    listener.close()

    report = run(app, world, port)

    assert (report["exitCode"], report["status"], report["left"]) == (1, "rolled-back", [])
    assert "was not sent: Connection refused" in report["error"]
    assert os.listdir(world.root) == []


def test_a_request_without_an_answer_is_left_and_said_to_be(
    app: App, world: World, listener: socket.socket
) -> None:
    """It may have been carried out: exit 3, and the report does not claim otherwise."""
    report = run(app, world, port_of(listener))

    assert (report["exitCode"], report["status"]) == (3, "incomplete")
    assert [left["actionId"] for left in report["left"]] == ["step1"]
    assert [step["status"] for step in report["steps"]] == ["rolled-back", "failed"]
    assert os.listdir(world.root) == []


def test_what_is_sent_is_in_no_file_of_the_state_folder(
    app: App, world: World, listener: socket.socket
) -> None:
    """F41: the journal keeps where a request went, and neither its body nor its query."""
    run(app, world, port_of(listener))

    for path in Path(world.state).rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes(), path


def test_what_to_do_about_a_request_without_an_answer_is_said(
    app: App, world: World, listener: socket.socket
) -> None:
    """It may have been carried out, so trying again is not what to do first; and no undo will ever help."""
    report = run(app, world, port_of(listener))

    assert report["hint"] == "it may have been carried out; ask the server before trying again"
    assert report["left"][0]["final"] is True
