r"""The form of one journal line: a JSON object that ends with its seal.

    BODY,"seq":N,"durable":M,"check":"<32 hex>"}\n

`seq` counts lines from 1 over all segments. `durable` is the highest seq known to be synced when the line was
written. `check` is the first half of the sha256 over the previous line's check and this line's bytes
before `,"check":"`. The very first line of a journal follows the check `START`.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from deskshell.errors import StateFolderError
from deskshell.slotted import NamedTuple

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Callable

FORMAT = 1
START = b"0" * 32

#: Bytes of `,"check":"<32 hex>"}`, with which every line ends.
CHECK_BYTES = 44

_LONGEST_SEAL = CHECK_BYTES + 60

HEADER_START = b'{"type":"header",'


#: Keys that no body may have: the seal's come last and win.
SEAL_KEYS = frozenset(("seq", "durable", "check"))


class Seal(NamedTuple):
    """What the end of a line claims."""

    seq: int
    durable: int
    check: bytes


class Previous(NamedTuple):
    """What a header says of the segment before: how far it is good, and why it ended.

    `good` is the size of the good part in bytes, `seq` and `check` are those of the last good line.
    """

    name: str
    first: int
    seq: int
    check: bytes
    good: int
    why: str


class Header(NamedTuple):
    """The first line of a segment; `size` in bytes with the newline."""

    seal: Seal
    uid: str
    previous: Previous | None
    size: int


def check_of(previous: bytes, content: bytes) -> bytes:
    """The check of a line: `content` is the line up to `,"check":"`."""
    return _sha256()(previous + content).hexdigest()[:32].encode()


@cache
def _sha256() -> Callable[[bytes], hashlib._Hash]:
    """Imported with the first line that is sealed or verified: it takes a twentieth of a `log`."""
    from hashlib import sha256

    return sha256


def seal_line(body: bytes, seq: int, durable: int, previous: bytes) -> tuple[bytes, bytes]:
    """Return the line of `body` (a JSON object without its closing brace), with newline, and its check."""
    content = b'%b,"seq":%d,"durable":%d' % (body, seq, durable)
    check = check_of(previous, content)
    return b'%b,"check":"%b"}\n' % (content, check), check


def read_seal(line: bytes) -> Seal | None:
    """The seal at the end of `line` (without newline), or None; whether it is true is not tested."""
    _, key, numbers = line[-_LONGEST_SEAL:-CHECK_BYTES].rpartition(b',"seq":')
    seq, middle, durable = numbers.partition(b',"durable":')
    check = line[-34:-2]
    if not (key and middle and line[-CHECK_BYTES:-34] == b',"check":"' and line[-2:] == b'"}'):
        return None
    if not (seq.isdigit() and durable.isdigit() and len(seq) < 20 and len(durable) < 20):
        return None
    if len(check) != 32 or check.strip(b"0123456789abcdef"):
        return None
    return Seal(int(seq), int(durable), check)


def is_true(line: bytes, previous: bytes) -> bool:
    """True when the check at the end of `line` is the one of its bytes after `previous`."""
    content = line[:-CHECK_BYTES]
    return line[-CHECK_BYTES:] == b',"check":"%b"}' % check_of(previous, content)


# What `json.loads` calls in the end, without looking for white space around the one value, which no line has.
_scan = vars(json.JSONDecoder())["scan_once"]


def parse(line: bytes) -> dict[str, Any] | None:
    """The JSON object in `line`, or None when it holds none."""
    try:
        text = line.decode("utf-8")
        try:
            value, end = _scan(text, 0)
        except StopIteration:  # white space in front, or no JSON
            value, end = None, -1
        if end != len(text):
            value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def build_header(seq: int, durable: int, *, uid: str, ts_ms: int, previous: Previous | None) -> bytes:
    """Return the header line of a new segment, with newline."""
    link = None
    if previous is not None:
        link = {**previous._asdict(), "check": previous.check.decode()}
    body = json.dumps(
        {"type": "header", "format": FORMAT, "uid": uid, "ts": ts_ms, "previous": link},
        separators=(",", ":"),
        ensure_ascii=False,
    ).encode()
    return seal_line(body[:-1], seq, durable, START if previous is None else previous.check)[0]


def read_header(line: bytes) -> Header | None:
    """The header in `line` (without newline), or None when it is none or is not as it was written.

    Raises:
        StateFolderError: it is the header of a newer format.
    """
    if not line.startswith(HEADER_START):
        return None
    values = parse(line)
    if values is None:
        return None
    number = values.get("format")
    if isinstance(number, int) and number > FORMAT:
        raise StateFolderError(
            f"the journal is in format {number}; this deskshell reads format {FORMAT}",
            hint="use the newer deskshell that wrote it",
        )
    seal = read_seal(line)
    if seal is None:
        return None
    link = values.get("previous")
    before = START
    try:
        previous = None
        if link is not None:
            before = str(link["check"]).encode("ascii")
            previous = Previous(
                str(link["name"]),
                int(link["first"]),
                int(link["seq"]),
                before,
                int(link["good"]),
                str(link["why"]),
            )
        uid = str(values["uid"])
    except (KeyError, TypeError, ValueError):
        return None
    if not is_true(line, before):
        return None
    return Header(seal, uid, previous, len(line) + 1)
