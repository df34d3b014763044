"""A plain command line means the same to the quick reader as to the option parser; all else is the parser's."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer

from deskshell.cli import arguments, parser
from deskshell.cli.commands import COMMANDS

PLAIN = [
    "undo",
    "undo --last",
    "undo --last 3",
    "undo --last --json",
    "undo --last=3 --force",
    "undo --task task-1 --step a --step=b --check",
    "undo --since '2026-01-15 09:30' --all-or-nothing",
    "redo --task task-1 --json",
    "log",
    "log --limit 10 --status ok --json",
    "log --path '~/a b.txt' --since 2h --entries",
    "show task-1 --diff",
    "show --json task-1",
    "recover",
    "gc --dry-run --keep 7d --max-bytes 5GB --journal",
    "doctor --json",
    "run tidy",
    "run ./skills/tidy --set a=b --set 'c=d e' --mode apply --allow-irreversible",
    "run tidy --mode=preview --grant fs.read --grant fs.write",
    "plan tidy --set folder=~/x",
    "plans --json",
    "approve 0123456789abcdef",
    "apply 0123456789abcdef --allow-irreversible",
    "story --fail",
    "skills list --json",
    "skills show tidy",
    "skills test one two",
    "journal verify",
    "keys new laptop --scope read --scope plan --expires 7d",
]
#: Help, mistakes, and what only looks like a value: none of it is read here.
NOT_PLAIN = [
    "undo --help",
    "undo -h",
    "undo --las",
    "undo extra",
    "undo --last x",
    "undo --last 0",
    "undo --last -1",
    "undo --task",
    "undo --task --json",
    "undo --task ''",
    "undo --json=yes",
    "undo --last 1 --last 2",
    "undo -- --last",
    "show",
    "show a b",
    "run tidy --mode dance",
    "log --limit 1_0",
    "log --limit ٣",
    "skills",
    "skills dance",
    "skills new tidy --in /tmp",
    "keys",
    "mcp",
]


def quickly(line: str) -> arguments.Call | None:
    name, *rest = shlex.split(line)
    return arguments.read(arguments.load(COMMANDS[name].module, name), rest)


def parsed(line: str) -> dict[str, Any]:
    """The values that the option parser finds, of the command itself."""
    name, *rest = shlex.split(line)
    command: Any = typer.main.get_command(parser._app(arguments.load(COMMANDS[name].module, name)))
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    given = command.make_context(name, rest).params
    # What may be repeated comes as a tuple, which typer hands on as a list, or None for none.
    return {key: (list(value) or None) if isinstance(value, tuple) else value for key, value in given.items()}


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_line_means_what_the_parser_says(line: str) -> None:
    call = quickly(line)
    assert call is not None
    assert {**_defaults(call.body), **call.values} == parsed(line)


def _defaults(body: Any) -> dict[str, Any]:
    defaults = body.__defaults__ or ()
    count = body.__code__.co_argcount
    names = body.__code__.co_varnames[count - len(defaults) : count]
    return {**dict(zip(names, defaults, strict=True)), **(body.__kwdefaults__ or {})}


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_the_parser(line: str) -> None:
    assert quickly(line) is None


def test_every_command_but_those_that_serve_can_be_read_without_the_parser() -> None:
    """An option of a new type would make its command slow without anybody noticing."""
    slow = set()
    for name, entry in COMMANDS.items():
        for word, each in arguments.load(entry.module, name).entries.items():
            if arguments._params(each.body) is None:
                slow.add(f"{name} {word}".strip())
    assert slow == {"skills new", "mcp config"}
