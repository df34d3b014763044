"""Names are bytes; this is how they are shown, carried in JSON, and made up."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

NAME_MAX = 255

# Control, format (bidi marks among them), lone surrogate, private, unassigned; line and paragraph separator.
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
# Joiners: needed to spell several scripts and most compound emoji; they move nothing on the screen.
_JOINERS = "\u200c\u200d"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_DOUBLE_ENDING = rb"(?i)\.tar\.[A-Za-z0-9]{1,5}\Z"


def show(path: bytes) -> str:
    r"""`path` as text that is safe to print on a terminal: one line, no control or direction characters.

    Bytes that are not UTF-8 appear as `\xNN`, unsafe characters as `\n`, `\x1b`, `\u202e`, and a backslash as
    `\\`, so that two different names never look alike by escaping. For display only, never read back.
    """
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        # surrogateescape marks the byte N as U+DC00+N; a valid text cannot contain those
        return "".join(_escape(char) for char in path.decode("utf-8", "surrogateescape"))
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(_escape(char) for char in text)


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if char in _SHORT:
        return _SHORT[char]
    if char in _JOINERS or unicodedata.category(char) not in _UNSAFE:
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def plain(path: bytes) -> tuple[str, str | None]:
    """`path` for JSON: `(text, None)` when it is UTF-8, else `(text for display, base64 that alone counts)`.

    The text never holds a lone surrogate, which strict JSON readers refuse.
    """
    try:
        return path.decode("utf-8"), None
    except UnicodeDecodeError:
        import base64  # few names need it

        return show(path), base64.b64encode(path).decode("ascii")


def from_json(text: str, b64: str | None) -> bytes:
    """The inverse of `plain`.

    Raises:
        ValueError: `b64` is no base64, or `text` cannot be a path (lone surrogates).
    """
    if b64 is not None:
        import base64

        return base64.b64decode(b64, validate=True)
    return text.encode("utf-8")  # UnicodeEncodeError is a ValueError


def put_path(data: dict[str, Any], key: str, path: bytes) -> None:
    """Write `path` under `key`; one that is not UTF-8 also as base64 under `keyBytes`, which counts."""
    text, b64 = plain(path)
    data[key] = text
    if b64 is not None:
        data[key + "Bytes"] = b64


def get_path(data: Mapping[str, Any], key: str) -> bytes:
    """Read a path written by `put_path`."""
    text, b64 = data[key], data.get(key + "Bytes")
    return text.encode() if b64 is None and type(text) is str else from_json(text, b64)


def _cells(char: str) -> int:
    """Columns that a terminal gives to `char`."""
    if unicodedata.combining(char) or char in _JOINERS or unicodedata.category(char) == "Mn":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width(text: str) -> int:
    """Columns that a terminal gives to `text`: wide characters take two, combining ones none."""
    return sum(map(_cells, text)) if not text.isascii() else len(text)


def shorten(text: str, width: int) -> str:
    """`text` in at most `width` terminal columns, cut in the middle with `…` so that start and end stay."""
    if len(text) * 2 <= width or (len(text) <= width and text.isascii()):
        return text  # no character takes more than two columns, and ASCII takes one
    cells = [_cells(char) for char in text]
    if sum(cells) <= width:
        return text
    if width <= 1:
        return "…"[: max(width, 0)]
    tail_width = (width - 1) // 2
    head_width = width - 1 - tail_width
    head = used = 0
    while used + cells[head] <= head_width:
        used += cells[head]
        head += 1
    tail, used = len(text), 0
    while used + cells[tail - 1] <= tail_width:
        tail -= 1
        used += cells[tail]
    return text[:head] + "…" + text[tail:]


def temp_name(token: str, n: int) -> bytes:
    """The name under which a new object waits beside its target; under 60 bytes whatever the target's name.

    Raises:
        ValueError: `token` is too long or holds anything but ASCII letters and digits, or `n` is negative.
    """
    if not re.fullmatch(r"[A-Za-z0-9]{1,32}", token) or not 0 <= n < 10**12:
        raise ValueError(f"no part of a temporary name: {token!r}, {n}")
    return f".deskshell-{token}-{n}".encode("ascii")


def numbered(name: bytes, k: int) -> bytes:
    """`name` made different by a number: `report.txt`, 2 → `report (2).txt`; at most 255 bytes.

    The ending stays (`.tar.gz` counts as one); a leading dot is no ending. The stem is cut between UTF-8
    characters when the whole would get too long.
    """
    stem, ending = _split_ending(name)
    mark = b" (%d)" % k
    room = NAME_MAX - len(mark) - len(ending)
    if room < 1:  # the ending alone fills the name: treat it as part of the stem
        stem, ending, room = name, b"", NAME_MAX - len(mark)
    return _cut(stem, room) + mark + ending


def _split_ending(name: bytes) -> tuple[bytes, bytes]:
    double = re.search(_DOUBLE_ENDING, name)
    if double and double.start() > 0:
        return name[: double.start()], double.group()
    dot = name.rfind(b".")
    if dot <= 0 or not name[:dot].strip(b"."):  # `.profile`, `..a`: hidden names, not endings
        return name, b""
    return name[:dot], name[dot:]


def _cut(stem: bytes, room: int) -> bytes:
    if len(stem) <= room:
        return stem
    cut = room
    # A continuation byte (10xxxxxx) right behind the cut means that it splits a character: go back to its start.
    while cut > 0 and room - cut < 3 and stem[cut] & 0xC0 == 0x80:
        cut -= 1
    return stem[:cut] if stem[cut] & 0xC0 != 0x80 else stem[:room]  # not UTF-8 at all: any byte will do
