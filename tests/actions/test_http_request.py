"""Requests: sent once, to where it was granted, telling secrets to nobody but the server."""

from __future__ import annotations

import json
import socket
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from deskshell.actions.http_request import HttpRequest
from deskshell.errors import Conflict, DeskshellError, Interrupted, ManifestError, StepFailed
from deskshell.kernel.action import Prior
from deskshell.kernel.capability import NET_REQUEST, Scope, UrlTarget
from deskshell.kernel.context import Context
from deskshell.kernel.secrets import SecretText
from tests.contract.harness import World, context

SECRET = "s3cr3t"
TOKEN = SecretText(("Bearer ", ("api",)))


@dataclass
class Server:
    """A server on this machine: what it was asked, and what it answers by path."""

    url: str = ""
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    answers: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Answers 200 unless told otherwise; a proxy of the person who runs the tests is not asked."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    found = Server()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found.asked.append((self.command, self.path, dict(self.headers), body))
            status, headers = found.answers.get(self.path, (200, {}))
            if status == 0:  # hang up without a word
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - the library's names

        def log_message(self, *_: Any) -> None:
            """Nothing on the terminal."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = False
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        found.url = f"http://127.0.0.1:{http.server_port}"
        yield found
        http.shutdown()
        thread.join()


@pytest.fixture
def ctx(world: World) -> Iterator[Context]:
    """A context that knows the secret `api`."""
    with world.recorded() as ground:
        yield context(ground, {"api": SECRET})


def send(ctx: Context, method: str, url: str, **more: Any) -> HttpRequest:
    """Prepare and do."""
    action = HttpRequest.build({"method": method, "url": url, **more})
    action.do(ctx, action.prepare(ctx))
    return action


def test_a_form_is_sent_as_it_was_planned(server: Server, ctx: Context) -> None:
    send(ctx, "POST", f"{server.url}/form?x=1", body="a=1&b=é", headers={"X-Kind": "test"})

    ((method, path, headers, body),) = server.asked
    assert (method, path, body) == ("POST", "/form?x=1", "a=1&b=é".encode())
    assert headers["X-Kind"] == "test"
    assert headers["User-Agent"] == "deskshell"
    assert ctx.outcome == {"sent": True, "status": 200}


@pytest.mark.parametrize(
    "status, expect, fails",
    [
        (204, None, False),
        (201, 201, False),
        (200, 201, True),
        (404, None, True),
        (500, None, True),
        (404, 404, False),
    ],
)
def test_the_status_decides(
    server: Server, ctx: Context, status: int, expect: int | None, fails: bool
) -> None:
    """And it is recorded either way."""
    server.answers["/form"] = (status, {})

    if fails:
        with pytest.raises(StepFailed, match=f"was answered with {status}, not {expect or '2xx'}"):
            send(ctx, "POST", f"{server.url}/form", expect=expect)
    else:
        send(ctx, "POST", f"{server.url}/form", expect=expect)

    assert ctx.outcome == {"sent": True, "status": status}
    assert len(server.asked) == 1


# --- redirects ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "to", ["/other", "/form/../other", "/form/%2e%2e/other", "http://localhost:{port}/form/x"]
)
def test_a_redirect_out_of_the_url_is_not_followed(server: Server, ctx: Context, to: str) -> None:
    """I10: what was granted is this URL, not what a server makes of it."""
    server.answers["/form"] = (302, {"Location": to.replace("{port}", server.url.rpartition(":")[2])})

    with pytest.raises(StepFailed, match="was answered with 302") as failure:
        send(ctx, "GET", f"{server.url}/form")

    assert [path for _, path, _, _ in server.asked] == ["/form"]
    assert failure.value.hint == "redirects are not followed"


def test_a_redirect_below_the_url_is_followed_for_reading(server: Server, ctx: Context) -> None:
    server.answers["/form"] = (302, {"Location": f"{server.url}/form/done"})

    send(ctx, "GET", f"{server.url}/form")

    assert [path for _, path, _, _ in server.asked] == ["/form", "/form/done"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_what_changes_something_is_not_sent_twice(server: Server, ctx: Context, status: int) -> None:
    """Not even to below the URL."""
    server.answers["/form"] = (status, {"Location": f"{server.url}/form/again"})

    with pytest.raises(StepFailed, match=f"was answered with {status}"):
        send(ctx, "POST", f"{server.url}/form", body="a=1")

    assert len(server.asked) == 1


# --- what is known of a request that failed -----------------------------------------------------------------------


def test_a_request_that_reached_nobody_leaves_nothing_to_take_back(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    action = HttpRequest.build({"method": "POST", "url": f"http://127.0.0.1:{port}/form"})

    with pytest.raises(StepFailed, match=r"`POST http://.*/form` was not sent: Connection refused"):
        action.do(ctx, Prior())

    assert ctx.outcome == {"sent": False}
    assert action.undo(ctx, Prior()) is False


def test_a_request_without_an_answer_may_have_been_carried_out(server: Server, ctx: Context) -> None:
    """So neither the report nor an undo says otherwise."""
    server.answers["/form"] = (0, {})

    with pytest.raises(StepFailed, match="got no answer") as failure:
        send(ctx, "POST", f"{server.url}/form", body="a=1")

    assert failure.value.hint == "it may have been carried out; ask the server before trying again"
    assert ctx.outcome == {"sent": True}
    with pytest.raises(Conflict, match="cannot be undone") as refusal:
        HttpRequest.build({"method": "POST", "url": f"{server.url}/form"}).undo(ctx, Prior())
    assert refusal.value.verdict == "no-undo"


def test_a_server_that_says_nothing_is_not_waited_for_forever(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/form"
        with pytest.raises(StepFailed, match="got no answer: timed out"):
            send(ctx, "GET", url, timeout_s=1)

    assert ctx.outcome == {"sent": True}


def test_a_signal_before_sending_is_obeyed(server: Server, ctx: Context) -> None:
    def stop() -> None:
        raise Interrupted("SIGINT", signum=2)

    ctx.stop = stop
    action = HttpRequest.build({"method": "POST", "url": f"{server.url}/form"})

    with pytest.raises(Interrupted):
        action.do(ctx, Prior())

    assert server.asked == []
    assert action.undo(ctx, Prior()) is False


# --- secrets ------------------------------------------------------------------------------------------------------


def test_a_secret_goes_to_the_server_and_nowhere_else(server: Server, ctx: Context) -> None:
    """F41: not into the plan, the outcome, the summary, or an error."""
    server.answers["/form"] = (500, {})
    action = HttpRequest.build(
        {"method": "POST", "url": f"{server.url}/form", "headers": {"Authorization": TOKEN}, "body": TOKEN}
    )
    with pytest.raises(StepFailed) as failure:
        action.do(ctx, action.prepare(ctx))

    assert server.asked[0][2]["Authorization"] == f"Bearer {SECRET}"
    assert server.asked[0][3] == f"Bearer {SECRET}".encode()
    told = [
        json.dumps(action.to_json()),
        repr(action),
        action.summary(),
        str(ctx.outcome),
        *told_by(failure.value),
    ]
    assert SECRET not in "".join(told)
    assert HttpRequest.from_json(json.loads(json.dumps(action.to_json()))) == action


def told_by(error: DeskshellError) -> list[str]:
    return [error.message, error.hint or "", *traceback.format_exception(error)]


@pytest.mark.parametrize("value", [f"{SECRET}\r\nX-Evil: 1", f"{SECRET}\n", f"{SECRET}\0", f"{SECRET}ł"])
def test_a_secret_that_is_no_header_stops_it_untold(server: Server, ctx: Context, value: str) -> None:
    """The library's own error would quote it."""
    ctx.secrets = {"api": value}
    action = HttpRequest.build({"method": "GET", "url": server.url, "headers": {"X-Token": TOKEN}})

    with pytest.raises(StepFailed, match="header `X-Token` would hold more than one line") as failure:
        action.prepare(ctx)

    assert SECRET not in "".join(told_by(failure.value))
    assert server.asked == []


def test_a_missing_secret_is_found_before_anything_is_sent(server: Server, ctx: Context) -> None:
    ctx.secrets = {}
    action = HttpRequest.build({"method": "POST", "url": server.url, "body": TOKEN})

    with pytest.raises(Conflict) as refusal:
        action.prepare(ctx)

    assert refusal.value.verdict == "needs-secret"


# --- what a manifest may say --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/x",
        "file:///etc/passwd",
        "/relative",
        "http://",
        "http://[::1",
        "http://host:port/",
        "http://user:pass@host/",
        "http://host/a b",
        "http://host/a\nb",
        "http://host/é",
        "http://host\\@other/",
        "http://host/#part",
    ],
)
def test_a_url_is_http_plain_and_without_user_information(url: str) -> None:
    """What two readers could take for two hosts is refused."""
    with pytest.raises(ManifestError, match=r"`url` of `http\.request`"):
        HttpRequest.build({"method": "GET", "url": url})


def test_a_secret_in_the_url_is_refused() -> None:
    """URLs are printed, logged and recorded."""
    with pytest.raises(ManifestError, match=r"`url` of `http\.request`: not a text"):
        HttpRequest.build({"method": "GET", "url": SecretText(("http://host/?key=", ("api",)))})


@pytest.mark.parametrize(
    "more",
    [
        {"method": "get"},
        {"method": "CONNECT"},
        {"headers": {"Bad Name": "x"}},
        {"headers": {"X": "a\nb"}},
        {"headers": ["X"]},
        {"timeout_s": 0},
        {"expect": "200"},
    ],
)
def test_what_is_no_request_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ManifestError):
        HttpRequest.build({"method": "GET", "url": "http://host/", **more})


def test_it_needs_its_url_and_shows_it_without_the_query() -> None:
    """A query may hold what is not to be printed."""
    action = HttpRequest.build({"method": "GET", "url": "http://host/form?key=1"})
    (need,) = action.needs()

    assert need.capability == NET_REQUEST
    assert need.target.within(Scope("http://host/form", ""))
    assert action.summary() == "GET http://host/form"
    assert action.target() == "http://host/form"


@pytest.mark.parametrize(
    "url, within",
    [
        ("http://host/form", True),
        ("http://host/form/x", True),
        ("http://HOST:80/form/x", True),
        ("http://host/formula", False),
        ("https://host/form", False),
        ("http://host:81/form", False),
        ("http://host/form/../x", False),
        ("http://host/form/%2e%2E/x", False),
        ("http://host/form%2f..%2fx", False),
        ("http://host@other/form", False),
    ],
)
def test_a_scope_is_a_prefix_by_whole_components(url: str, within: bool) -> None:
    """Also for servers that decode before they resolve."""
    assert UrlTarget(url).within(Scope("http://host/form", "")) is within
