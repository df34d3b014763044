"""Options that several commands share, and the end of every help text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

SETTINGS = {"help_option_names": ["--help", "-h"]}

Json = Annotated[bool, typer.Option("--json", help="print one JSON object instead of text")]

#: What each exit code means; a command lists its own.
EXIT_CODES = {
    "0": "done: everything asked for happened",
    "1": "failed: all is as before, or not all could be undone",
    "2": "refused before anything happened",
    "3": "stopped part way: changes remain, and the report lists them",
    "4": "another task holds the lock",
    "70": "a fault in deskshell",
    "130": "interrupted; 129 and 143 for HUP and TERM",
}


def ending(examples: Iterable[str], codes: Iterable[str] | dict[str, str]) -> str:
    """The last part of a help text: examples, then the exit codes of that command.

    Args:
        examples: command lines, as typed.
        codes: codes of `EXIT_CODES`, or with a meaning of the command's own.
    """
    meanings = codes if isinstance(codes, dict) else {code: EXIT_CODES[code] for code in codes}
    blocks = [
        ["Examples:", *(f"  {each}" for each in examples)],
        [
            "Exit codes:",
            *(f"  {code.ljust(3)}  {meaning or EXIT_CODES[code]}" for code, meaning in meanings.items()),
        ],
    ]
    # A paragraph that starts with a backspace is not filled.
    return "\n\n".join("\b\n" + "\n".join(lines) for lines in blocks)


def command(
    examples: Iterable[str], codes: Iterable[str] | dict[str, str], *, short: str | None = None
) -> dict[str, Any]:
    """Arguments for `Typer.command` that every command has; `short` describes it in the list of its group."""
    return {"epilog": ending(examples, codes), "context_settings": SETTINGS, "short_help": short}


def single() -> typer.Typer:
    """A typer application for one command, cheap to make."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def several(help_text: str) -> typer.Typer:
    """A typer application for a group of commands, such as `skills`."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help=help_text,
        context_settings=SETTINGS,
    )
