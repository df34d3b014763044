"""Where the good part of the last segment ends: the torn-tail rule.

After a power cut the lines written since the last sync may be missing, cut, or zeros with whole lines
behind them (one large append may reach the disk out of order). The rule:

- D is the highest `durable` that a whole line near the end claims: lines up to D were synced.
- The good part ends before the first bad line, the one that should have been seq k.
- k <= D: that line was synced once and is bad now. This is damage; nothing may be changed.
- k > D: it and all behind it were never synced, so nothing was ever acted on them. They are set aside.

How far back this reads: from the end to the nearest line with seq <= D (the *anchor*), that is over the
lines written since the last sync but one, and not over the whole segment. The chain is tested from the line
before the anchor to the end. What lies further back is tested by `verify`, and by reading it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from deskshell.errors import JournalDamaged
from deskshell.store.lines import Header, Seal, is_true, parse, read_seal
from deskshell.store.segments import lines_backward, lines_forward

_HINT = "nothing was changed; `deskshell journal verify` says what is wrong"


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a segment: `end` is the size of its good part, the rest of the facts are of its last good line.

    `spent` is the highest seq that was ever given out as far as the file shows; above `seal.seq` when lines
    were lost. `lost_bytes` is what lies behind the good part.
    """

    end: int
    seal: Seal
    spent: int
    lost_bytes: int


def examine(fd: int, size: int, header: Header, name: str) -> Tail:
    """Find the good end of the segment at `fd`, of which `size` bytes count.

    Raises:
        JournalDamaged: a line is bad that was synced once.
    """
    anchor, durable, spent = _find_anchor(fd, size)
    last, end = _before(fd, anchor, header)
    whole = True
    for offset, line in lines_forward(fd, anchor, size):
        seal = read_seal(line)
        whole = (
            seal is not None
            and offset + len(line) < size  # the newline is part of the line
            and is_true(line, last.check)
            and (offset == 0 or seal.seq == last.seq + 1)
        )
        if not whole or seal is None:
            break
        last, end = seal, offset + len(line) + 1
    if not whole and last.seq < durable:
        raise JournalDamaged(
            f"`{name}` is damaged near byte {end}: what was synced is not as it was", hint=_HINT
        )
    return Tail(end, last, max(spent, last.seq), size - end)


def _find_anchor(fd: int, size: int) -> tuple[int, int, int]:
    """Return the offset of the anchor line, D, and the highest seq seen behind the anchor."""
    durable = spent = 0
    for offset, line in lines_backward(fd, size):
        seal = read_seal(line)
        if seal is None or not line.startswith(b"{"):
            continue
        # A line behind zeros can end like a whole one, so a claim counts only when the line parses.
        # Lines of one sync claim the same, so few are parsed.
        if seal.durable > durable and parse(line) is not None:
            durable = seal.durable
        spent = max(spent, seal.seq)
        if seal.seq <= durable:
            return offset, durable, spent
    return 0, durable, spent


def _before(fd: int, anchor: int, header: Header) -> tuple[Seal, int]:
    """The seal that the line at `anchor` follows, and where the line before it ends."""
    if anchor == 0:
        previous = header.previous
        if previous is None:
            return Seal(0, 0, check_before(fd, 0, header)), 0
        return Seal(previous.seq, 0, previous.check), 0
    for _, line in lines_backward(fd, anchor - 1):
        seal = read_seal(line)
        if seal is not None:
            return seal, anchor
        break
    # The line before the anchor is bad and older than a synced line: the chain test fails at the anchor.
    return Seal(0, 0, b""), anchor


def check_before(fd: int, offset: int, header: Header) -> bytes:
    """The check that the line at `offset` follows, as written at the end of the line before it."""
    if offset == 0:
        return b"0" * 32 if header.previous is None else header.previous.check
    return os.pread(fd, 32, offset - 35)
