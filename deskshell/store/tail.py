"""Where the good part of the last segment ends: the torn-tail rule.

After a power cut the lines written since the last sync may be missing, cut, or zeros with whole lines
behind them (one large append may reach the disk out of order). The rule:

- D is the highest `durable` that a whole line near the end claims: lines up to D were synced.
- The good part ends before the first bad line, the one that should have been seq k.
- k <= D: that line was synced once and is bad now. This is damage; nothing may be changed.
- k > D: it and all behind it were never synced, so nothing was ever acted on them. They are set aside.

How far back this reads: from the end to the nearest line with seq <= D (the *anchor*) and the line before it,
that is over the lines written since the last sync but one, and not over the whole segment. The chain is
tested from the anchor to the end. What lies further back is tested by `verify`, and by reading it.
"""

from __future__ import annotations

import os

from deskshell.errors import JournalDamaged
from deskshell.slotted import slotted
from deskshell.store.lines import START, Header, Seal, is_true, parse, read_seal
from deskshell.store.segments import DAMAGE_HINT, lines_backward, lines_forward


@slotted(frozen=True)
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
    anchor, last, durable, spent = _find_anchor(fd, size, header)
    end = anchor
    whole = True
    for offset, line in lines_forward(fd, anchor, size):
        seal = read_seal(line)
        whole = (
            seal is not None
            and offset + len(line) < size  # the newline is part of the line
            and is_true(line, last.check)
            and (offset == 0 or seal.seq == last.seq + 1)
            and seal.durable < seal.seq
        )
        if not whole or seal is None:
            break
        last, end = seal, offset + len(line) + 1
    if not whole and last.seq < durable:
        raise JournalDamaged(
            f"`{name}` is damaged near byte {end}: what was synced is not as it was", hint=DAMAGE_HINT
        )
    return Tail(end, last, max(spent, last.seq), size - end)


def _find_anchor(fd: int, size: int, header: Header) -> tuple[int, Seal, int, int]:
    """Return the offset of the anchor line, the seal of the line before it, D, and the highest seq seen."""
    durable = spent = 0
    candidate: int | None = None
    for offset, line in lines_backward(fd, size):
        seal = read_seal(line)
        if seal is None or seal.durable >= seal.seq:
            candidate = None
            continue
        if candidate is not None:
            return candidate, seal, durable, spent
        # A line behind zeros can end like a whole one, so a claim counts only when the line parses.
        # Lines of one sync claim the same, so few are parsed.
        if seal.durable > durable and parse(line) is not None:
            durable = seal.durable
        spent = max(spent, seal.seq)
        candidate = offset if seal.seq <= durable else None
    previous = header.previous
    before = Seal(0, 0, START) if previous is None else Seal(previous.seq, 0, previous.check)
    return 0, before, durable, spent


def check_before(fd: int, offset: int, header: Header) -> bytes:
    """The check that the line at `offset` follows, as written at the end of the line before it."""
    if offset == 0:
        return START if header.previous is None else header.previous.check
    return os.pread(fd, 32, offset - 35)
