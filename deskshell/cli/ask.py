"""Questions to the person in front: asked on standard error, answered by one line of standard input each."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from deskshell.cli import output
from deskshell.errors import Cancelled

_YES = ("y", "yes")


def all_agreed(questions: Iterable[str]) -> None:
    """Ask each question in turn, on a terminal or through a pipe.

    Raises:
        Cancelled: an answer was not y or yes, or there was none; the rest is not asked.
    """
    for question in questions:
        output.ask_line(f"{question} [y/N] ")
        try:
            answer = _answer()
        except KeyboardInterrupt:
            output.tell("")
            raise
        if not output.is_terminal(sys.stdin):
            output.tell("")  # the end of line that a person would have typed
        if answer is None or answer.lower() not in _YES:
            reason = "no answer" if answer is None else "not agreed"
            raise Cancelled(
                f"cancelled ({reason}): nothing was done", hint="answer each question with y or yes"
            )


def _answer() -> str | None:
    """One line of standard input without blanks at its ends; None at the end of input."""
    if sys.stdin is None:
        return None
    try:
        line = sys.stdin.buffer.readline()
    except (OSError, ValueError):  # closed, or a folder
        return None
    return line.decode("utf-8", "replace").strip() if line else None
