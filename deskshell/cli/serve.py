"""`deskshell mcp`: serve agents, and say what their hosts have to be told."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deskshell.cli.options import EXIT_CODES, Json, command, several
from deskshell.errors import UsageError

if TYPE_CHECKING:
    from deskshell.config import Settings

mcp = several("Serve agents over MCP, on standard input and output or over HTTP.")

_ROOT = typer.Option("--root", metavar="DIR", help="nothing outside of DIR is touched; may be repeated")
_LOG_DIR = typer.Option(
    "--log-dir", metavar="DIR", help="the folder of the app.log that log_rotate_plan is about"
)


@mcp.callback(
    invoke_without_command=True,
    **command(
        [
            "deskshell mcp --root ~/Documents",
            "deskshell mcp --http 8765",
            "deskshell mcp config --host claude",
        ],
        {
            "0": "the client hung up",
            "2": EXIT_CODES["2"],
            "70": EXIT_CODES["70"],
            "130": EXIT_CODES["130"],
        },
    ),
)
def _serve(
    context: typer.Context,
    *,
    root: Annotated[list[Path] | None, _ROOT] = None,
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="serve HTTP on this machine only; takes keys (`deskshell keys`)",
        ),
    ] = None,
    log_dir: Annotated[Path | None, _LOG_DIR] = None,
) -> int:
    """Serve agents over MCP: one on standard input and output, or with --http any number that come with a key.

    They preview, plan, apply and undo as on the command line. What they may not decide alone is put to a person.
    """
    if context.invoked_subcommand is not None:
        return 0
    if http is not None and not 0 <= http <= 65535:
        raise UsageError(
            f"`--http {http}` is no port", hint="a port is a number up to 65535; 0 takes a free one"
        )
    start = _server()
    options = start.Options(**_options(start, root or [], log_dir))
    if http is None:
        signum: int = start.over_stdio(options)
        return 128 + signum if signum else 0
    from deskshell.cli import output

    listening = start.listen(http)
    output.tell(f"serving http://127.0.0.1:{listening.getsockname()[1]}/mcp to whoever has a key")
    output.flush()
    start.over_http(options, listening)
    return 0


@mcp.command(
    "config",
    **command(
        ["deskshell mcp config --host claude", "deskshell mcp config --host codex --root ~/Documents"],
        ["0", "2", "70"],
        short="print what a host needs to start this server",
    ),
)
def _config(
    *,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="claude, codex, gemini, cursor or vscode", show_default=False)
    ],
    root: Annotated[list[Path] | None, _ROOT] = None,
    log_dir: Annotated[Path | None, _LOG_DIR] = None,
    json: Json = False,
) -> int:
    """Print the piece of configuration that makes an agent's host start deskshell."""
    from deskshell.cli import hosts, output

    words = [*_program(), "mcp"]
    for folder in root or []:
        words += ["--root", str(_existing(folder))]
    if log_dir is not None:
        words += ["--log-dir", str(_existing(log_dir))]
    found = hosts.stanza(host, words)
    if json:
        output.json_object({"host": host, "file": found.file, "text": found.text, "command": found.command})
        return 0
    output.tell(f"into {found.file}:")
    for line in found.text.splitlines():
        output.say(line)
    if found.command:
        output.tell(f"or run: {found.command}")
    return 0


def _program() -> list[str]:
    """How to start this very deskshell from anywhere."""
    name = Path(sys.argv[0])
    if name.name == "deskshell" and name.is_file():
        return [str(name.absolute())]
    return [sys.executable, "-m", "deskshell"]


def _server() -> Any:
    """`deskshell.mcp`: by name, for the command line is its sibling, and only this command needs it (half a second).

    Raises UsageError when the extra is not installed.
    """
    try:
        return importlib.import_module("deskshell.mcp.start")
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.startswith("deskshell"):
            raise
        raise UsageError(
            f"serving agents needs the package `{exc.name}`, which is not installed",
            hint="install the extra: pip install 'deskshell[mcp]'",
        ) from exc


def _options(start: Any, roots: list[Path], log_dir: Path | None) -> dict[str, Any]:
    from deskshell import config
    from deskshell.cli.session import Secrets, working_folder

    settings: Settings = config.load(os.environ)
    found = [_existing(folder) for folder in roots]
    if log_dir is None and os.environ.get("DESKSHELL_LOG_DIR"):
        log_dir = Path(os.environ["DESKSHELL_LOG_DIR"])
    return {
        "settings": settings,
        "cwd": found[0] if found else working_folder(),
        "roots": start.resolved_roots(found),
        "secrets": Secrets(),
        "log_dir": None if log_dir is None else log_dir.expanduser().absolute(),
        "log_ttl_s": _log_ttl_s(settings.plan_ttl_s),
    }


def _log_ttl_s(default_s: float) -> float:
    """Seconds that a log rotation's plan is good for; `MCP_LAB_PLAN_TTL` is the name its source gave it."""
    given = os.environ.get("MCP_LAB_PLAN_TTL")
    if not given:
        return default_s
    try:
        return float(given)
    except ValueError as exc:
        raise UsageError(f"`MCP_LAB_PLAN_TTL` is `{given}`, which is no number of seconds") from exc


def _existing(folder: Path) -> Path:
    """The absolute path of a folder that is there. Raises UsageError."""
    found = folder.expanduser().absolute()
    if not found.is_dir():
        raise UsageError(f"`{folder}` is no folder", hint="name one that exists")
    return found
