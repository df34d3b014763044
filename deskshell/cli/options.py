"""How a command declares what it takes: its function's signature, with an `option` or `argument` for each parameter.

    undo = single()

    @undo.command(**command(["deskshell undo"], ["0", "1"]))
    def _undo(*, task: Annotated[str | None, option(metavar="ID", help="undo this task")] = None) -> int:

Nothing here imports typer, which takes as long as everything else that `deskshell undo` does: `parser` makes its
commands from these declarations for help, usage errors and completion, and `arguments` reads plain command lines by
the same declarations alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar

from deskshell.slotted import NamedTuple

Body = TypeVar("Body", bound=Callable[..., Any])

SETTINGS = {"help_option_names": ["--help", "-h"]}

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


class Declared(NamedTuple):
    """One option (else an argument): the names it is typed by, and what typer is told of it.

    `bare` is the value of an option that is given without one; "" where it needs one.
    """

    is_option: bool
    names: tuple[str, ...]
    facts: dict[str, Any]
    bare: str = ""

    def typed(self, parameter: str) -> tuple[str, ...]:
        """What is typed for the option of this `parameter`."""
        return self.names or ("--" + parameter.replace("_", "-"),)


def option(*names: str, bare: str = "", **facts: Any) -> Declared:
    """An option; without `names` it is called like the parameter. `facts` as for `typer.Option`."""
    return Declared(True, names, facts, bare)


def argument(**facts: Any) -> Declared:
    """A positional argument. `facts` as for `typer.Argument`."""
    return Declared(False, (), facts)


Json = Annotated[bool, option("--json", help="print one JSON object instead of text")]


class Entry(NamedTuple):
    """A command: its function, and what typer is told of it beyond the signature."""

    body: Callable[..., Any]
    facts: dict[str, Any]


class Commands:
    """What one module offers under one word: a single command, or a group of named ones.

    `help` is that of a group; `callback` what a group does by itself.
    """

    def __init__(self, help_text: str = "") -> None:
        self.help = help_text
        self.entries: dict[str, Entry] = {}
        self.callback_entry: Entry | None = None

    def command(self, name: str = "", **facts: Any) -> Callable[[Body], Body]:
        """Register the function as the command `name` ("" for a single one); `facts` as for `Typer.command`."""

        def register(body: Body) -> Body:
            self.entries[name] = Entry(body, facts)
            return body

        return register

    def callback(self, **facts: Any) -> Callable[[Body], Body]:
        """Register what the group does by itself; `facts` as for `Typer.callback`."""

        def register(body: Body) -> Body:
            self.callback_entry = Entry(body, facts)
            return body

        return register


def single() -> Commands:
    """For one command."""
    return Commands()


def several(help_text: str) -> Commands:
    """For a group of commands, such as `skills`."""
    return Commands(help_text)


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
    """Facts for `Commands.command` that every command has; `short` describes it in the list of its group."""
    return {"epilog": ending(examples, codes), "context_settings": SETTINGS, "short_help": short}
