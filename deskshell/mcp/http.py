"""HTTP on the loopback address only, with bearer keys, and Host and Origin checked."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette

from deskshell.app.keys import Keys
from deskshell.errors import UsageError
from deskshell.kernel.desk import now_ms
from deskshell.mcp.server import build
from deskshell.mcp.service import Options
from deskshell.store.folder import StateFolder

ADDRESS = "127.0.0.1"
PATH = "/mcp"


class KeyVerifier:
    """The SDK's question whether a bearer token is good, answered by `app.keys`; asked with every request."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who comes with `token`: `client_id` is the owner of what they do."""
        key = self._keys.check(token, now_ms())
        if key is None:
            return None
        return AccessToken(
            token="",  # nothing needs it any more
            client_id=key.owner,
            scopes=list(key.scopes),
            expires_at=key.expires_ms // 1000,
        )


def application(options: Options, port: int) -> Starlette:
    """The ASGI application for `port`, which the Host and Origin headers have to name."""
    keys = Keys(StateFolder(options.settings.home))
    hosts = [f"{name}:{port}" for name in (ADDRESS, "localhost")]
    server = build(
        options,
        token_verifier=KeyVerifier(keys),
        auth=AuthSettings(issuer_url=AnyHttpUrl(f"http://{ADDRESS}:{port}"), resource_server_url=None),
    )
    return server.streamable_http_app(
        streamable_http_path=PATH,
        host=ADDRESS,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=[f"http://{host}" for host in hosts],
        ),
    )


def listen(port: int) -> socket.socket:
    """A socket on the loopback address; port 0 takes a free one. Raises UsageError when it is taken."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((ADDRESS, port))
        made.listen()  # now, so that who reads where it is can come at once
    except OSError as exc:
        made.close()
        raise UsageError(
            f"port {port} cannot be used: {(exc.strerror or str(exc)).lower()}", hint="choose another"
        ) from exc
    return made


def serve(options: Options, listening: socket.socket) -> None:
    """Serve until a signal comes; requests in hand are finished."""
    port = int(listening.getsockname()[1])
    config: Any = uvicorn.Config(
        application(options, port), log_level="warning", access_log=False, lifespan="on", ws="none"
    )
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
