"""The table of commands, and the shortest way from a command line to what it means.

To add a command: a module with a `single()` or `several()` of `options` under the command's name, and a line in
`COMMANDS`.
"""

from __future__ import annotations

import os

from deskshell.slotted import NamedTuple


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


def invoke(args: list[str]) -> int:
    """Run the command line `args` and return the exit code.

    Raises:
        DeskshellError: as the command raises it.
        Exception: the option parser's usage error, which has `format_message`.
    """
    if is_command(args) and "_DESKSHELL_COMPLETE" not in os.environ:
        from deskshell.cli import arguments

        name, *rest = args
        call = arguments.read(arguments.load(COMMANDS[name].module, name), rest)
        if call is not None:
            return call.run()
    from deskshell.cli import parser

    return parser.invoke(args)


def is_command(args: list[str]) -> bool:
    """Whether `args` start with the name of a command."""
    return bool(args) and args[0] in COMMANDS


def acts(args: list[str]) -> bool:
    """Whether the command that `args` name may change something."""
    return is_command(args) and COMMANDS[args[0]].acts
