"""What to write into the configuration of an agent's host so that it starts deskshell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from deskshell.errors import UsageError
from deskshell.slotted import NamedTuple


class Stanza(NamedTuple):
    """A piece of configuration: the file it belongs into, its text, and a command that writes it, if there is one."""

    file: str
    text: str
    command: str | None = None


HOSTS = ("claude", "codex", "gemini", "cursor", "vscode")


def stanza(host: str, command: Sequence[str]) -> Stanza:
    """What `host` needs to start `command` (a program and its arguments) as the server `deskshell`.

    Raises UsageError for a host that is not known.
    """
    program, args = command[0], list(command[1:])
    entry = {"command": program, "args": args}
    line = shlex.join(command)
    match host:
        case "claude":
            return Stanza(
                ".mcp.json (of a project), or claude_desktop_config.json",
                _json({"mcpServers": {"deskshell": {"type": "stdio", **entry}}}),
                f"claude mcp add deskshell -- {line}",
            )
        case "codex":
            text = f"[mcp_servers.deskshell]\ncommand = {json.dumps(program)}\nargs = {json.dumps(args)}\n"
            return Stanza("~/.codex/config.toml", text, f"codex mcp add deskshell -- {line}")
        case "gemini":
            return Stanza("~/.gemini/settings.json", _json({"mcpServers": {"deskshell": entry}}))
        case "cursor":
            return Stanza("~/.cursor/mcp.json", _json({"mcpServers": {"deskshell": entry}}))
        case "vscode":
            return Stanza(".vscode/mcp.json", _json({"servers": {"deskshell": {"type": "stdio", **entry}}}))
    known = ", ".join(f"`{each}`" for each in HOSTS)
    raise UsageError(f"no such host: `{host}`", hint=f"deskshell knows {known}")


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"
