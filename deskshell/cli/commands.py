"""The table of commands, and the group that imports a command's module when it is called.

To add a command: a module with a `typer.Typer` under the command's name, and a line in `COMMANDS`.
"""

from __future__ import annotations

import importlib
import os
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from deskshell.cli.options import SETTINGS, ending
from deskshell.errors import UsageError


class Command(NamedTuple):
    """Where a command is, how the list of commands describes it, and whether it changes anything."""

    module: str
    help: str
    section: str
    acts: bool = False


_DO, _PLAN, _BACK = "Act and take back", "Decide now, act later", "Look back"
_SKILLS, _CARE, _AGENTS = "Skills", "Upkeep", "Agents"

COMMANDS = {
    "run": Command("run", "show what a skill would do, or do it", _DO, acts=True),
    "undo": Command("undo", "take tasks back", _DO, acts=True),
    "redo": Command("undo", "take an undo back", _DO, acts=True),
    "plan": Command("plans", "store what a skill would do, to be applied later", _PLAN, acts=True),
    "plans": Command("plans", "list the stored plans", _PLAN),
    "approve": Command("plans", "approve a stored plan, as a person at a terminal", _PLAN, acts=True),
    "apply": Command("plans", "carry out a stored plan, once", _PLAN, acts=True),
    "log": Command("history", "what has been done, newest first", _BACK),
    "show": Command("history", "one task with its steps", _BACK),
    "skills": Command("skills", "list, show, write, check and test skills", _SKILLS),
    "story": Command("story", "see a run, or a failure and its rollback, on a throw-away folder", _SKILLS),
    "recover": Command("maintenance", "close what a crash left open", _CARE, acts=True),
    "gc": Command("maintenance", "drop undo data that is old or too large", _CARE, acts=True),
    "journal": Command("journal", "check the journal, or say where it is", _CARE),
    "doctor": Command("maintenance", "is everything in order here?", _CARE),
    "mcp": Command(
        "serve", "serve agents over MCP, on standard input and output or HTTP", _AGENTS, acts=True
    ),
    "keys": Command("keys", "keys for agents that come over HTTP", _AGENTS, acts=True),
}
GROUPS = ("skills", "journal", "keys")

_HELP = """Do things to your files that can be undone, and know what was done.

Begin with `deskshell skills list`. A run without --mode shows what would happen and changes nothing."""


class LazyGroup(TyperGroup):
    """Knows its commands by `COMMANDS`; converts only the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the parser's signature
        """All names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - idem
        """The command itself, None when there is no such one."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(f"deskshell.cli.{entry.module}")
        return typer.main.get_command(getattr(module, cmd_name))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` name. Raises UsageError with the nearest known name."""
        if args and args[0] not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            guess = f"did you mean `{near[0]}`? " if near else ""
            raise UsageError(f"no such command: `{args[0]}`", hint=f"{guess}see `deskshell --help`")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - idem
        """The list of commands, by what one wants; no module is imported for it."""
        width = max(map(len, COMMANDS))
        for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
            with formatter.section(section):
                rows = [
                    (n.ljust(width), entry.help) for n, entry in COMMANDS.items() if entry.section == section
                ]
                formatter.write_dl(rows)


def invoke(args: list[str]) -> int:
    """Run the command line `args` and return the exit code.

    Raises:
        DeskshellError: as the command raises it.
        Exception: the option parser's usage error, which has `format_message`.
    """
    completing = "_DESKSHELL_COMPLETE" in os.environ
    # The options for installing completion take time to make, and only the root's help and parser know them.
    group = _group(add_completion=completing or not args or args[0].startswith("-"))
    if completing:
        group.main(args=args, prog_name="deskshell")  # answers, and ends with SystemExit
    if not args or args in [[name] for name in GROUPS]:
        args = [*args, "--help"]
    try:
        with group.make_context("deskshell", list(args)) as context:
            code = group.invoke(context)
    except typer.Exit as exc:
        return exc.exit_code
    return code if isinstance(code, int) else 0


def is_command(args: list[str]) -> bool:
    """Whether `args` start with the name of a command."""
    return bool(args) and args[0] in COMMANDS


def acts(args: list[str]) -> bool:
    """Whether the command that `args` name may change something."""
    return is_command(args) and COMMANDS[args[0]].acts


def _group(*, add_completion: bool) -> Any:
    app = typer.Typer(
        cls=LazyGroup,
        help=_HELP,
        epilog=ending(
            [
                "deskshell run downloads-cleanup --set folder=~/Downloads",
                "deskshell run downloads-cleanup --set folder=~/Downloads --ask",
                "deskshell undo",
            ],
            ["0", "1", "2", "3", "4", "70", "130"],
        ),
        add_completion=add_completion,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=SETTINGS,
    )
    app.callback()(_root)
    return typer.main.get_command(app)


def _root(
    version: Annotated[bool, typer.Option("--version", help="print the version and end")] = False,
) -> None:
    if version:
        from deskshell import __version__
        from deskshell.cli import output

        output.say(f"deskshell {__version__}")
        raise typer.Exit
