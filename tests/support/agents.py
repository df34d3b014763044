"""An agent: the SDK's own client, talking to a server in this process, over a pipe, or over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from deskshell.mcp.server import build
from deskshell.mcp.service import Options
from tests.support.planning import Shell

MODES = ("auto", "legacy")


class Refusal(Exception):
    """A tool's answer that is an error; its text is what the model reads."""


@dataclass
class Agent:
    """A connected client. `asked` collects the questions that were put to its person."""

    client: Client
    asked: list[str] = field(default_factory=list)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; its structured answer. Raises Refusal."""
        result = await self.client.call_tool(tool, arguments)
        text = "".join(each.text for each in result.content if isinstance(each, types.TextContent))
        if result.is_error:
            raise Refusal(text)
        size = len(text) + len(str(result.structured_content))
        assert size < 25_000, f"{tool} answered {size} characters"
        found = result.structured_content
        assert isinstance(found, dict)
        return found

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The text with which a call is refused."""
        try:
            answer = await self.call(tool, **arguments)
        except Refusal as exc:
            return str(exc)
        raise AssertionError(f"{tool} was not refused: {answer}")


Answer = str | Callable[[str], str] | None


@contextlib.asynccontextmanager
async def connected(
    server: Any,
    *,
    mode: str = "auto",
    answer: Answer = None,
    roots: list[Path] | None = None,
) -> AsyncIterator[Agent]:
    """Connect to `server` (whatever `Client` takes).

    `answer` is what the person says when asked: yes, no, decline or cancel, or a function of the question;
    None: the client cannot ask. `roots` are the client's; None: it has none.
    """
    asked: list[str] = []

    async def elicit(_: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        word = answer(params.message) if callable(answer) else answer
        if word in ("yes", "no"):
            return types.ElicitResult(action="accept", content={"approve": word == "yes"})
        return types.ElicitResult(action="decline" if word == "decline" else "cancel")

    async def list_roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(
            roots=[types.Root.model_validate({"uri": path.as_uri()}) for path in roots or []]
        )

    callbacks: dict[str, Any] = {}
    if answer is not None:
        callbacks["elicitation_callback"] = elicit
    if roots is not None:
        callbacks["list_roots_callback"] = list_roots
    client = Client(server, mode=mode, **callbacks)
    async with client:
        yield Agent(client, asked)


def options(shell: Shell, **given: Any) -> Options:
    """How a server on `shell`'s folders is started; no roots unless given."""
    values: dict[str, Any] = {"cwd": shell.root, "roots": None, "secrets": {}, **given}
    return Options(settings=shell.settings, **values)


def talk(
    server: Any, conversation: Callable[[Agent], Awaitable[Any]], *, mode: str = "auto", **more: Any
) -> Any:
    """Connect, let the conversation happen, hang up; returns what it returned, or raises what it raised."""

    async def run() -> tuple[Any, Exception | None]:
        target = build(server) if isinstance(server, Options) else server
        async with connected(target, mode=mode, **more) as agent:
            try:
                return await conversation(agent), None
            except Exception as exc:  # not through the client's task groups, which would wrap it
                return None, exc

    found, failure = asyncio.run(run())
    if failure is not None:
        raise failure
    return found


def over_stdio(environment: Mapping[str, str], *args: str, cwd: Path) -> StdioServerParameters:
    """A server process on standard input and output."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "deskshell", "mcp", *args],
        env=dict(environment),
        cwd=os.fspath(cwd),
    )


@contextlib.asynccontextmanager
async def over_http(url: str, key: str) -> AsyncIterator[Any]:
    """A transport to an HTTP server, with a bearer key."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams
