"""The console blocks of a README, run as they stand and compared with the output they show.

A fenced block that starts with ```console holds commands (`$ …`, continued by `> …`) each followed by
what it prints, standard error included. The blocks below one heading share a fresh home and working
directory, and run in order. Comparison is after `Normaliser`; a line `…` or `...` stands for any lines.
Where the shown output holds `… [y/N] y`, the `y` is what a person types: it is given on standard input.
A command must succeed, unless a line of its output starts with `error:` or `echo $?` follows it.

An HTML comment before a block instructs this harness and is invisible to readers:

    <!-- test: setup COMMAND -->    run first, in the same place, for its effect alone
    <!-- test: skip REASON -->      the block is not run; the test run reports it as left out, with the reason
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.normalise import Normaliser
from tests.support.process import CHECKOUT, Home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HEADING = re.compile(r"#{1,6} +(.*)")
_DIRECTIVE = re.compile(r"<!-- *test: *(\w+) +(.*?) *-->")
_ANSWER = re.compile(r"(\[y/N\]) (\S*)$")
_ANY_LINES = ("…", "...")
# Keeps the working directory and `$?` from one command to the next.
_WRAPPER = """cd "$(cat "$PLACE")" || exit 99
(exit "$LAST")
{command}
status=$?
pwd > "$PLACE"
exit "$status"
"""


@dataclass
class Command:
    """One `$ ` line with the output shown below it."""

    line: str
    shown: list[str] = field(default_factory=list)

    def answers(self) -> str:
        """What a person types at the questions shown, a line each."""
        found = [match[2] for line in self.shown if (match := _ANSWER.search(line))]
        return "".join(answer + "\n" for answer in found)

    def expected(self) -> list[str]:
        """The lines shown, without what a person typed."""
        return [_ANSWER.sub(r"\1", line) for line in self.shown]

    def may_fail(self) -> bool:
        """Whether an error is what is shown."""
        return any(line.startswith("error:") for line in self.shown)


@dataclass
class Block:
    """One fenced block: where it stands, what comes before it, its commands."""

    number: int
    commands: list[Command]
    setup: list[str] = field(default_factory=list)
    skip: str | None = None


@dataclass
class Section:
    """A heading and the console blocks below it, up to the next heading."""

    title: str
    blocks: list[Block] = field(default_factory=list)


def sections(text: str) -> list[Section]:
    """The sections of a Markdown text that hold console blocks.

    Raises:
        ValueError: a block holds text before its first command, or an unknown `test:` comment stands before it.
    """
    found = [Section("(top)")]
    setup: list[str] = []
    skip = None
    lines = enumerate(text.splitlines(), 1)
    for number, line in lines:
        if line.startswith("```"):
            body = list(_until_fence(lines))
            if line == "```console":
                found[-1].blocks.append(Block(number, _commands(number, body), setup, skip))
                setup, skip = [], None
        elif heading := _HEADING.fullmatch(line):
            found.append(Section(heading[1]))
        elif directive := _DIRECTIVE.search(line):
            match directive.groups():
                case ("setup", command):
                    setup.append(command)
                case ("skip", reason):
                    skip = reason
                case (word, _):
                    raise ValueError(f"line {number}: unknown instruction `{word}`")
    return [section for section in found if section.blocks]


def problems(section: Section, place: Path) -> list[str]:
    """What differs between the section as shown and as it runs; empty when it is true.

    Args:
        section: what to run.
        place: an empty folder, in which a home is made.

    `deskshell` is the one of this checkout, and the state folder is where it is without `DESKSHELL_HOME`.
    """
    home = Home.below(place)
    shell = _Shell(home)
    as_shown = Normaliser({str(home.user): "~"})
    as_run = Normaliser({str(home.user): "~"})
    found = []
    for block in section.blocks:
        if block.skip:
            continue
        found += [
            f"line {block.number}: setup `{line}` failed or printed:\n{shell.output}"
            for line in block.setup
            if shell.run(line, "") or shell.status
        ]
        for index, command in enumerate(block.commands):
            printed = as_run(shell.run(command.line, command.answers()))
            shown = [as_shown(line) for line in command.expected()]
            if not _matches(shown, printed):
                diff = difflib.unified_diff(
                    shown, printed.splitlines(), "shown", "printed", lineterm="", n=99
                )
                found.append("\n".join([f"line {block.number}: $ {command.line}", *diff]))
            told = block.commands[index + 1 : index + 2]
            code_is_shown = bool(told) and told[0].line == "echo $?"
            if not code_is_shown and command.may_fail() != bool(shell.status):
                found.append(f"line {block.number}: $ {command.line}\nexit code {shell.status}")
    return found


class _Shell:
    """Runs commands one after the other as a person at a prompt would."""

    def __init__(self, home: Home) -> None:
        programs = home.user.parent / "bin"
        programs.mkdir()
        program = programs / "deskshell"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deskshell "$@"\n')
        program.chmod(0o755)
        self._place = home.user.parent / "place"
        self._place.write_text(f"{home.user}\n")
        self._environment = home.environment() | {"PLACE": str(self._place), "CHECKOUT": str(CHECKOUT)}
        self._environment["PATH"] = f"{programs}{os.pathsep}{self._environment['PATH']}"
        del self._environment["DESKSHELL_HOME"]
        self.status = 0
        self.output = ""

    def run(self, command: str, typed: str) -> str:
        """Both outputs of the command as one text; its exit code is in `status` afterwards."""
        done = subprocess.run(
            ["bash", "-c", _WRAPPER.format(command=command)],
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment | {"LAST": str(self.status)},
            timeout=120,
            check=False,
        )
        self.status = done.returncode
        # A person ends the line of a question by typing the answer.
        self.output = re.sub(r"(\[y/N\]) ?\n?", r"\1\n", done.stdout)
        return self.output


def _until_fence(lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    for _, line in lines:
        if line.startswith("```"):
            return
        yield line


def _commands(number: int, body: list[str]) -> list[Command]:
    commands: list[Command] = []
    for line in body:
        if line.startswith("$ "):
            commands.append(Command(line.removeprefix("$ ")))
        elif not commands:
            raise ValueError(f"line {number}: a console block starts with a command")
        elif line.startswith("> ") and not commands[-1].shown:
            commands[-1].line += "\n" + line.removeprefix("> ")
        else:
            commands[-1].shown.append(line)
    return commands


def _matches(shown: list[str], printed: str) -> bool:
    """Whether the lines shown are those printed; blank lines at the end are for the eye."""
    text = "\n".join(shown).rstrip("\n").split("\n")
    pattern = "".join("(?:.*\n)*?" if line.strip() in _ANY_LINES else re.escape(line) + "\n" for line in text)
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None
