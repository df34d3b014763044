"""The error boundary: every error becomes a message, a hint and an exit code, in this one place."""

from __future__ import annotations

import re
from typing import Any

from deskshell.cli import output
from deskshell.cli.output import Styled
from deskshell.errors import DeskshellError, Interrupted

FAULT = 70
INTERRUPTED = 130


def report(exc: BaseException, *, json: bool, command: str = "deskshell") -> int:
    """Say what `exc` means and return the exit code; `command` is whose help a usage error points to.

    A `DeskshellError` speaks for itself, an error of the option parser is put into the same words, and anything
    else is a fault in deskshell: its traceback goes to a file.
    """
    if isinstance(exc, DeskshellError):
        code = 128 + exc.signum if isinstance(exc, Interrupted) else exc.exit_code
        return _tell(exc.code, exc.message, exc.hint, code, json=json)
    if isinstance(exc, KeyboardInterrupt):
        return _tell("interrupted", "interrupted", None, INTERRUPTED, json=json)
    if hasattr(exc, "format_message"):  # typer's own, whichever click it carries
        return _tell("usage", *_usage(exc, command), 2, json=json)
    where = _write_traceback(exc)
    message = f"a fault in deskshell: {type(exc).__name__}: {exc}".removesuffix(": ")
    hint = f"please report it, with what is in `{where}`" if where else "please report it"
    return _tell("fault", message, hint, FAULT, json=json)


def _tell(code: str, message: str, hint: str | None, exit_code: int, *, json: bool) -> int:
    if json:
        output.json_object({"error": {"code": code, "message": message, "hint": hint}})
    else:
        tell(message, hint)
    return exit_code


def tell(message: str, hint: str | None = None, *, label: str = "error", style: str = "red") -> None:
    """`error: …` and, where there is one, `hint: …`, to standard error."""
    output.tell(Styled(f"{label}:", style), " ", message)
    if hint:
        output.tell(Styled("hint:", "cyan"), " ", hint)


def _usage(exc: Any, command: str) -> tuple[str, str]:
    """Message and hint of a usage error, in lower case and with names in backticks.

    ``Missing argument 'SKILL'.`` → ``missing argument `SKILL```
    """
    message = " ".join(str(exc.format_message()).split())
    message, near = _without_guess(message)
    message = re.sub(r"'([^']*)'", r"`\1`", message).removesuffix(".")
    message = re.sub(r"(?i)no such (option|command):? `?([^`\s]+)`?\.?", r"no such \1: `\2`", message)
    message = re.sub(
        r"(?i)got unexpected extra arguments?(\(s\))? \((.*)\)", r"unexpected argument: `\2`", message
    )
    message = re.sub(r"is not a valid (int(eger)?|float)( range)?", "is no number", message)
    message = message[:1].lower() + message[1:]
    context = getattr(exc, "ctx", None)
    help_text = f"see `{command if context is None else context.command_path} --help`"
    return message, f"did you mean `{near}`? {help_text}" if near else help_text


def _without_guess(message: str) -> tuple[str, str | None]:
    """The message without what the parser thinks was meant, and the first of those guesses."""
    for mark in (" Did you mean ", " (Did you mean one of: ", " (Possible options: "):
        message, found, guess = message.partition(mark)
        if found:
            near = re.findall(r"[\w-]{2,}", guess)
            return message, near[0] if near else None
    return message, None


def _write_traceback(exc: BaseException) -> str | None:
    """Keep the traceback of `exc` in the state folder if there is one, else among temporary files; the file's name."""
    import os
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(exc))
    for folder in (_state_folder(), None):
        try:
            fd, name = tempfile.mkstemp(prefix="deskshell-fault-", suffix=".txt", dir=folder)
            with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError:
            continue
        return name
    return None


def _state_folder() -> str | None:
    import os

    from deskshell import config

    try:
        home = config.load(os.environ).home
    except DeskshellError:
        return None
    return str(home) if home.is_dir() else None
