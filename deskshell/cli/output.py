"""Standard output and standard error: the one place that writes.

Output is no part of a task: a pipe that is closed switches output off and the task goes on. Every
line is made safe here once more, so that no name of a file can forge a line or steer the terminal.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any, TextIO

from deskshell.slotted import NamedTuple

_STYLES = {"bold": "1", "dim": "2", "red": "1;31", "green": "32", "yellow": "33", "cyan": "36", "": ""}
_KEPT = "\t\u200c\u200d"  # joiners spell several scripts and most compound emoji
_ITEMS_A_PIECE = 1000
#: Any of these may stand in a JSON string, but must not reach a terminal (or, a surrogate, a strict reader) as it is.
_UNSAFE_IN_JSON = "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"


class Styled(NamedTuple):
    """A piece of a line with a style: bold, dim, red, green, yellow or cyan; plain where there is no colour."""

    text: str
    style: str


class Failure:
    """The first error in writing that was not a closed pipe, for the end of the process to report."""

    error: OSError | None = None


def say(*parts: str | Styled) -> None:
    """One line of data, to standard output."""
    _write(sys.stdout, _line(sys.stdout, parts))


def tell(*parts: str | Styled) -> None:
    """One line that is no data (errors, hints, questions, notes), to standard error.

    What was said before is written out first, so that the order stays when both go to one place.
    """
    flush()
    _write(sys.stderr, _line(sys.stderr, parts))


@contextlib.contextmanager
def data_to_stderr(redirect: bool) -> Iterator[None]:
    """With `redirect`, what is said in the block goes to standard error: under `--json`, data is one object."""
    if redirect:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    else:
        yield


def ask_line(text: str) -> None:
    """A question, to standard error; the answer is typed on the same line."""
    flush()
    _write(sys.stderr, safe(text))
    flush()


def raw(text: str) -> None:
    """Text that was already made safe and styled (by `render`), to standard output."""
    _write(sys.stdout, text)


def json_object(value: Any) -> None:
    """One value as strict JSON on one line (indented on a terminal), to standard output."""
    if is_terminal(sys.stdout):
        _write_bytes(json_text(value, indent=2).encode("utf-8") + b"\n")
        return
    for piece in json_pieces(value):
        _write_bytes(piece.encode("utf-8"))
    _write_bytes(b"\n")


def json_pieces(value: Any) -> Iterator[str]:
    """`json_text` of an object in pieces, for its lists may have hundreds of thousands of items."""
    if not isinstance(value, dict) or not value:
        yield json_text(value)
        return
    lead = "{"
    for key, each in value.items():
        yield f"{lead}{json_text(key)}: "
        lead = ", "
        if isinstance(each, list) and len(each) > _ITEMS_A_PIECE:
            for at in range(0, len(each), _ITEMS_A_PIECE):
                yield (", " if at else "[") + json_text(each[at : at + _ITEMS_A_PIECE])[1:-1]
            yield "]"
        else:
            yield json_text(each)
    yield "}"


def json_line(value: Any) -> None:
    """One value as strict JSON on one line, to standard output: for lists that are read as they come."""
    _write_bytes(json_text(value).encode("utf-8") + b"\n")


def json_text(value: Any, *, indent: int | None = None) -> str:
    r"""`value` as JSON that every reader accepts: no lone surrogate (shown as `\xNN`), no raw control character."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return re.sub(_UNSAFE_IN_JSON, _escape_in_json, text)


def _escape_in_json(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python carries it
        return f"\\\\x{code - 0xDC00:02x}"
    return "\\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"


def safe(text: str) -> str:
    """`text` on one line, without characters that steer a terminal; what `names.show` made stays as it is.

    A tab stays a tab: it can forge nothing, and a diff needs it.
    """
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or char in _KEPT or unicodedata.category(char) == "Zs"
        else _escape(ord(char))
        for char in text
    )


def _escape(code: int) -> str:
    if code in (10, 13):
        return "\\n" if code == 10 else "\\r"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def has_colour(stream: TextIO | None) -> bool:
    """Whether to colour: on a terminal that can, unless `NO_COLOR` is set."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody watches this stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def flush() -> None:
    """Write out what is buffered; a closed pipe switches that stream off."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except OSError as exc:
                _switch_off(stream, exc)
            except ValueError:  # closed
                pass


def _line(stream: TextIO | None, parts: tuple[str | Styled, ...]) -> str:
    colour = has_colour(stream)
    line = ""
    for part in parts:
        if isinstance(part, str):
            line += safe(part)
        elif colour and (code := _STYLES[part.style]):
            line += f"\x1b[{code}m{safe(part.text)}\x1b[0m"
        else:
            line += safe(part.text)
    return line + "\n"


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # closed by whoever started us
        return
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        _write(stream, text.encode(encoding, "backslashreplace").decode(encoding))
    except OSError as exc:
        _switch_off(stream, exc)
    except ValueError:  # closed
        pass


def _write_bytes(data: bytes) -> None:
    """JSON is UTF-8 whatever the terminal's encoding."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    except OSError as exc:
        _switch_off(sys.stdout, exc)


def _switch_off(stream: TextIO, exc: OSError) -> None:
    """Let all that follows go nowhere, also what Python still flushes when it ends."""
    if not isinstance(exc, BrokenPipeError) and Failure.error is None:
        Failure.error = exc
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
