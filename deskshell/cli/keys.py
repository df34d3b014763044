"""`deskshell keys new`, `list` and `revoke`: who may come over HTTP, and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from deskshell.cli.options import Json, argument, command, option, several

if TYPE_CHECKING:
    from deskshell.app.keys import Keys

keys = several("Keys for agents that come over HTTP (`deskshell mcp --http`).")


def _keys() -> Keys:
    from deskshell.app.keys import Keys
    from deskshell.cli.session import open_app

    return Keys(open_app().desktop.folder)


@keys.command(
    "new",
    **command(
        ["deskshell keys new laptop-agent", "deskshell keys new reader --scope read --expires 7d"],
        ["0", "2", "70"],
        short="make a key and print it, this once",
    ),
)
def _new(
    name: Annotated[str, argument(metavar="NAME", help="for your own memory", show_default=False)] = "",
    *,
    scope: Annotated[
        list[str] | None,
        option(metavar="SCOPE", help="read, plan, apply or undo; may be repeated; all when left out"),
    ] = None,
    expires: Annotated[str, option(metavar="D", help="how long it is good for: 12h, 7d, 4w")] = "90d",
    json: Json = False,
) -> int:
    """Make a key and print it. It is shown this once: only a hash of it is kept."""
    from deskshell import config
    from deskshell.app.keys import SCOPES
    from deskshell.cli import output
    from deskshell.cli.wording import when
    from deskshell.errors import UsageError
    from deskshell.kernel.desk import now_ms

    try:
        ttl_s = config.duration_s(expires)
    except ValueError as exc:
        raise UsageError(f"`--expires {expires}` is no duration", hint=str(exc)) from exc
    key, text = _keys().new(name, scope or list(SCOPES), ttl_s=ttl_s, now_ms=now_ms())
    if json:
        output.json_object({**key.to_json(), "key": text})
        return 0
    output.say(text)
    output.tell(f"good for {', '.join(key.scopes)} until {when(key.expires_ms)}; it is not shown again")
    return 0


@keys.command(
    "list", **command(["deskshell keys list"], ["0", "2", "70"], short="list them, without secrets")
)
def _list(*, json: Json = False) -> int:
    """List the keys, the newest first: id, name, scopes, expiry. Their secret parts are not known here."""
    from deskshell.cli import output
    from deskshell.cli.wording import when
    from deskshell.kernel.desk import now_ms

    found, now = _keys().all(), now_ms()
    if json:
        output.json_object({"keys": [{**key.to_json(), "expired": key.expired(now)} for key in found]})
        return 0
    for key in found:
        state = "expired" if key.expired(now) else f"until {when(key.expires_ms)}"
        output.say(f"{key.key_id}  {', '.join(key.scopes)}  {state}  {key.name}")
    if not found:
        output.say("no keys; make one with `deskshell keys new NAME`")
    return 0


@keys.command(
    "revoke",
    **command(
        ["deskshell keys revoke 0f3a9c2b7d41"], ["0", "2", "70"], short="make a key good for nothing, at once"
    ),
)
def _revoke(
    key_id: Annotated[str, argument(metavar="ID", help="as listed", show_default=False)],
    *,
    json: Json = False,
) -> int:
    """Revoke a key. A server that runs refuses the next request that comes with it."""
    from deskshell.cli import output

    _keys().revoke(key_id)
    if json:
        output.json_object({"id": key_id, "revoked": True})
    else:
        output.say(f"revoked {key_id}")
    return 0
