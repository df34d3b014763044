"""Progress of a task, forwarded to the client that asked for it; never a reason for the task to stop or wait."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from anyio import from_thread
from mcp.server.mcpserver import Context

_EVERY_S = 0.25
_LAST_WAIT_S = 1.0


class Forwarded:
    """Tells the client of `ctx` how far a task is. Called in the worker thread that runs the tool.

    At most one message is under way; while a client does not read, the others are dropped.
    """

    def __init__(self, ctx: Context[Any, Any]) -> None:
        self._ctx = ctx
        self._what = ""
        self._total = 0
        self._done = 0
        self._told_s = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._under_way: Future[None] | None = None

    def start(self, what: str, total: int) -> None:
        """A task of `total` steps begins."""
        self._what, self._total, self._done, self._told_s = what, total, 0, time.monotonic()
        with suppress(RuntimeError):  # not in a worker thread: nobody to tell
            self._loop = from_thread.run_sync(asyncio.get_running_loop)

    def advance(self, count: int) -> None:
        """So many more steps are done."""
        self._done += count
        now_s = time.monotonic()
        free = self._under_way is None or self._under_way.done()
        if (
            self._loop is not None
            and free
            and (now_s - self._told_s >= _EVERY_S or self._done == self._total)
        ):
            self._told_s = now_s
            message = f"{self._what}: step {self._done:,} of {self._total:,}"
            told = self._ctx.report_progress(float(self._done), float(self._total) or None, message)
            self._under_way = asyncio.run_coroutine_threadsafe(told, self._loop)

    def finish(self) -> None:
        """Let the last message out before the answer, within a second: after it, none may follow."""
        if self._under_way is not None:
            with suppress(Exception):  # whatever became of the client, the task is done
                self._under_way.result(_LAST_WAIT_S)
            self._under_way.cancel()
