"""The option parser: help, usage errors and completion, made from the declarations of `options`.

It imports a command's module when that command is called; typer itself takes longer than most commands.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from deskshell.cli.arguments import load
from deskshell.cli.commands import COMMANDS, GROUPS
from deskshell.cli.options import SETTINGS, Commands, Declared, ending
from deskshell.errors import UsageError

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
        return typer.main.get_command(_app(load(entry.module, cmd_name)))

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


class _BareOptions(TyperCommand):
    """Lets an option stand without its value where it was declared with `bare`."""

    bare: dict[str, str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse `args` with its value put behind each option that has none."""
        full: list[str] = []
        for i, arg in enumerate(args):
            full.append(arg)
            if arg in self.bare and (i + 1 == len(args) or args[i + 1].startswith("-")):
                full.append(self.bare[arg])
        return super().parse_args(ctx, full)


def _app(commands: Commands) -> typer.Typer:
    """A typer application of what a module declares."""
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help=commands.help or None,
        context_settings=SETTINGS if commands.help else None,
    )
    for name, entry in commands.entries.items():
        body, bare = _typed(entry.body)
        cls = type("_Command", (_BareOptions,), {"bare": bare}) if bare else None
        app.command(name or None, cls=cls, **entry.facts)(body)
    if commands.callback_entry is not None:
        app.callback(**commands.callback_entry.facts)(_typed(commands.callback_entry.body)[0])
    return app


def _typed(body: Any) -> tuple[Callable[..., Any], dict[str, str]]:
    """The function with typer's own declarations, and the options that may stand bare: name → value."""
    bare: dict[str, str] = {}
    hints = get_type_hints(body, include_extras=True)
    for name, hint in hints.items():
        for declared in getattr(hint, "__metadata__", ()):
            if isinstance(declared, Declared):
                make = typer.Option if declared.is_option else typer.Argument
                hints[name] = Annotated[hint.__origin__, make(*declared.names, **declared.facts)]
                if declared.bare:
                    bare[declared.typed(name)[0]] = declared.bare
    typed = FunctionType(body.__code__, body.__globals__, body.__name__, body.__defaults__, body.__closure__)
    typed.__kwdefaults__, typed.__doc__, typed.__annotations__ = body.__kwdefaults__, body.__doc__, hints
    return typed, bare


def invoke(args: list[str]) -> int:
    """Run the command line `args`; see `commands.invoke`."""
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
