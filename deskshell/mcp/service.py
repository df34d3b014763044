"""What the tools share: settings, roots, sessions, and plans on their way from a question to its answer."""

from __future__ import annotations

import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote_to_bytes, urlsplit

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ListRootsResult

from deskshell.app import App, Prepared
from deskshell.app.desktop import owner_id
from deskshell.config import Settings
from deskshell.files import paths
from deskshell.kernel import history, roots
from deskshell.mcp.callers import Caller, Sessions, caller_of
from deskshell.mcp.progress import Forwarded

if TYPE_CHECKING:
    from deskshell.kernel.history import Head
    from deskshell.store.journal import Journal

_MOST_KEPT = 32
_KEPT_S = 600.0


@dataclass(frozen=True, slots=True)
class Options:
    """How a server was started.

    Attributes:
        settings: see `config.load`.
        cwd: what relative paths lie in, absolute.
        roots: resolved folders that limit every plan, undo and redo; None: no limit.
        secrets: values of secret parameters, by name.
        log_dir: the folder of the `app.log` that `log_rotate_plan` is about; None: there is none.
        log_ttl_s: seconds for which a plan of a log rotation may be applied.
    """

    settings: Settings
    cwd: Path
    roots: tuple[bytes, ...] | None
    secrets: Mapping[str, str]
    log_dir: Path | None = None
    log_ttl_s: float = 600.0


class Service:
    """One server's state. Tools reach it through their context (`service_of`)."""

    def __init__(self, options: Options, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.options = options
        self.local_owner = owner_id()
        self.sessions = Sessions(self.last_seq, clock_s)
        self.waiting = Waiting(clock_s)
        self.sessions.seen(Caller(self.local_owner, None, "local"))

    def caller(self, ctx: Context[Any, Any]) -> Caller:
        """Who sent this request."""
        return caller_of(ctx, self.local_owner)

    def app(self, ctx: Context[Any, Any]) -> App:
        """The app for this request: its owner, its progress."""
        progress = Forwarded(ctx)
        return App(self.options.settings, progress=progress, front="mcp", owner=self.caller(ctx).owner)

    def within(self, client: ListRootsResult | None) -> tuple[bytes, ...] | None:
        """The server's roots, narrowed by the client's where it has some; None: no limit."""
        given = () if client is None else tuple(_path_of(str(root.uri)) for root in client.roots)
        folders = tuple(paths.resolve(path) for path in given if path is not None)
        return roots.both(self.options.roots, folders or None)

    def prepare(
        self,
        ctx: Context[Any, Any],
        name: str,
        params: Mapping[str, Any],
        grants: Iterable[str] | None,
        within: roots.Roots | None,
    ) -> Prepared:
        """Plan a skill within `within`, with the capabilities that are granted. Raises Refused in all its forms."""
        return self.app(ctx).prepare(name, params, cwd=self.options.cwd, grants=grants, within=within)

    def own_task(
        self, ctx: Context[Any, Any], journal: Journal, task_id: str, within: roots.Roots | None
    ) -> Head:
        """The caller's task of that id. Raises NotFound, for a foreign id as for an unknown one."""
        head = history.find(journal, task_id)
        if not self.sees(ctx, head, within):
            raise history.unknown(task_id)
        return head

    def sees(self, ctx: Context[Any, Any], head: Head, within: roots.Roots | None) -> bool:
        """Whether the task is the caller's own, and within what it may touch."""
        return head.begin.get("owner") == self.caller(ctx).owner and roots.covers(within, head.begin)

    def is_recent(self, ctx: Context[Any, Any], head: Head) -> bool:
        """Whether the task began in the caller's session."""
        return int(head.begin.get("seq", 0)) > self.sessions.seen(self.caller(ctx))

    def last_seq(self) -> int:
        """The number of the journal's last line."""
        from deskshell.app.plans import last_seq

        app = App(self.options.settings, front="mcp")
        return last_seq(app.desktop.reading().journal)


class DeskServer(MCPServer[Any]):
    """An `MCPServer` that knows its `Service`."""

    def __init__(self, service: Service, **given: Any) -> None:
        super().__init__(**given)
        self.service = service


def service_of(ctx: Context[Any, Any]) -> Service:
    """The service of the server that handles this request."""
    return cast("DeskServer", ctx.mcp_server).service


@dataclass(frozen=True, slots=True)
class Waited:
    """A plan about which a person may be asked; `nonce` makes each question a new one."""

    prepared: Prepared
    nonce: str


class Waiting:
    """Plans about which a person is being asked: what they approve is what runs, once, and no second planning of it."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[float, Waited]] = OrderedDict()  # by nonce
        self._latest: dict[str, str] = {}  # what was asked for → nonce

    def put(self, key: str, prepared: Prepared) -> Waited:
        """Keep `prepared`, made for what `key` asks for, until the answer comes."""
        waited = Waited(prepared, secrets.token_hex(8))
        with self._lock:
            self._kept[waited.nonce] = (self._clock_s(), waited)
            self._latest[key] = waited.nonce
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            self._latest = {each: nonce for each, nonce in self._latest.items() if nonce in self._kept}
        return waited

    def get(self, key: str) -> Waited | None:
        """The plan that the newest question for `key` was about, unless it was answered or is long past."""
        with self._lock:
            found = self._kept.get(self._latest.get(key, ""))
        return found[1] if found is not None and self._clock_s() - found[0] < _KEPT_S else None

    def take(self, waited: Waited) -> bool:
        """Use up a question's answer; False when it was used before."""
        with self._lock:
            return self._kept.pop(waited.nonce, None) is not None


def _path_of(uri: str) -> bytes | None:
    """The path of a `file:` URI of this machine, else None."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote_to_bytes(parts.path)
    return path if path.startswith(b"/") and b"\0" not in path else None


def resolved_roots(folders: list[Path]) -> tuple[bytes, ...] | None:
    """The folders of `--root`, resolved once; None when none was given."""
    return tuple(paths.resolve(os.fsencode(folder.absolute())) for folder in folders) or None
