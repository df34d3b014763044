"""Somebody who has only `--help` finds out how to tidy a folder, see what happened, and take it back."""

from __future__ import annotations

import re

import pytest

from deskshell import __version__
from deskshell.cli import main
from deskshell.cli.commands import COMMANDS, GROUPS

SUBCOMMANDS = [
    *(["skills", name] for name in ("list", "show", "new", "check", "test", "schema")),
    *(["journal", name] for name in ("verify", "path")),
    *(["keys", name] for name in ("new", "list", "revoke")),
    ["mcp", "config"],
]
ALL = [[], *([name] for name in COMMANDS), *SUBCOMMANDS]


@pytest.fixture
def help_of(capsys, monkeypatch):
    """The help text of a command in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def read(args: list[str]) -> str:
        assert main.run([*args, "--help"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return read


@pytest.mark.parametrize("args", ALL, ids=" ".join)
def test_the_help_of_each_command_is_as_agreed(help_of, golden, args):
    golden("-".join(["help", *args]), help_of(args))


@pytest.mark.parametrize(
    "args", [args for args in ALL if args not in [[name] for name in GROUPS]], ids=" ".join
)
def test_help_ends_with_an_example_and_the_exit_codes(help_of, args):
    text = help_of(args)

    examples, codes = text.split("Examples:\n")[1].split("Exit codes:\n")
    assert " ".join(["deskshell", *args]) in examples
    assert all(re.fullmatch(r"    \d+ +\S.*", line) for line in codes.strip("\n").splitlines())
    assert max(map(len, text.splitlines())) <= 80


def test_without_a_command_there_is_help(help_of, capsys):
    assert main.run([]) == 0
    assert capsys.readouterr().out == help_of([])


@pytest.mark.parametrize("args", [["--version"], ["--version", "undo"]])
def test_the_version_is_one_line(capsys, args):
    assert main.run(args) == 0
    assert capsys.readouterr().out == f"deskshell {__version__}\n"
