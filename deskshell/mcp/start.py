"""Starting a server, as `deskshell mcp` does."""

from __future__ import annotations

import signal
from types import FrameType

import anyio

from deskshell.mcp import http
from deskshell.mcp.server import build
from deskshell.mcp.service import Options, resolved_roots
from deskshell.mcp.stdin import EndableInput

__all__ = ["Options", "listen", "over_http", "over_stdio", "resolved_roots"]

listen = http.listen
over_http = http.serve

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def over_stdio(options: Options) -> int:
    """Serve one client on standard input and output until it hangs up; returns the signal that ended it, or 0.

    While it serves, file descriptor 1 leads to standard error: nothing but the protocol gets out (F49).
    A task in hand is finished first; a second signal does not wait for it, and recovery decides.
    """
    server = build(options)
    client = EndableInput()
    ended_by = 0

    def end(signum: int, frame: FrameType | None) -> None:
        nonlocal ended_by
        del frame
        ended_by = signum
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        client.end()

    for each in _SIGNALS:
        signal.signal(each, end)
    anyio.run(server.run_stdio_async)
    return ended_by
