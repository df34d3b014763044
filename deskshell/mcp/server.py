"""The server: every tool, the instructions, and nothing else."""

from __future__ import annotations

import functools
from typing import Any

from mcp.server.mcpserver.tools import Tool

from deskshell import __version__
from deskshell.mcp import tools_history, tools_plans, tools_rotation, tools_skills
from deskshell.mcp.hints import INSTRUCTIONS
from deskshell.mcp.service import DeskServer, Options, Service
from deskshell.mcp.tooling import tools_of


@functools.cache
def _tools() -> tuple[Tool, ...]:
    """All tools; they know no server, so one process makes them once."""
    return tuple(tools_of(tools_skills, tools_plans, tools_history, tools_rotation))


def build(options: Options, **given: Any) -> DeskServer:
    """A server that is not running yet.

    Args:
        options: how it was started.
        given: more for the SDK, such as the check of bearer keys.
    """
    return DeskServer(
        Service(options),
        name="deskshell",
        title="deskshell",
        version=__version__,
        instructions=INSTRUCTIONS,
        tools=list(_tools()),
        log_level="WARNING",
        subscriptions=False,
        **given,
    )
