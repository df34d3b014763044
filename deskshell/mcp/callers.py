"""Who calls a tool, what their key opens, and since when they have been here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

#: A key that was silent for so long comes back to a new session, where the transport has none of its own.
IDLE_S = 30 * 60


@dataclass(frozen=True, slots=True)
class Caller:
    """One client: `owner` as journal and plans name it; `scopes` None when all tools are open (the local user).

    `session` names the connection, where the transport tells them apart.
    """

    owner: str
    scopes: frozenset[str] | None
    session: str


def caller_of(ctx: Context[Any, Any], local_owner: str) -> Caller:
    """Who sent the request: over HTTP the key that came with it, else the local user.

    Raises ToolError for an HTTP request without a key, which the transport should have refused.
    """
    request = ctx.request_context.request
    if request is None:
        return Caller(local_owner, None, "local")
    user = request.scope.get("user")
    if not isinstance(user, AuthenticatedUser):
        raise ToolError("no key: this server takes a bearer key (`deskshell keys new`)")
    session = request.headers.get("mcp-session-id", "")
    return Caller(user.access_token.client_id, frozenset(user.scopes), session)


class Sessions:
    """Since when each caller has been here, as the number of the journal's last line at that moment.

    An agent may take back what was done since; older history is a person's decision. A number, for clocks go back.

    Args:
        last_seq: reads the number of the journal's last line.
    """

    def __init__(self, last_seq: Callable[[], int], clock_s: Callable[[], float] = time.monotonic) -> None:
        self._last_seq = last_seq
        self._clock_s = clock_s
        self._lock = Lock()
        self._began: dict[tuple[str, str], tuple[int, float]] = {}

    def seen(self, caller: Caller) -> int:
        """Note that the caller is here; returns the number of the journal's last line when its session began."""
        key = (caller.owner, caller.session)
        now_s = self._clock_s()
        with self._lock:
            found = self._began.get(key)
            began = found[0] if found is not None and not self._is_over(caller, found[1], now_s) else None
            if began is None:
                self._drop_old(now_s)
                began = self._last_seq()
            self._began[key] = (began, now_s)
            return began

    def _is_over(self, caller: Caller, last_s: float, now_s: float) -> bool:
        return not caller.session and now_s - last_s > IDLE_S

    def _drop_old(self, now_s: float) -> None:
        for key, (_, last_s) in list(self._began.items()):
            if key[1] != "local" and now_s - last_s > 24 * 3600:
                del self._began[key]
