"""`journal verify`: every line of every segment against its check, and every segment against the next one.

No line is parsed unless something is wrong with it: a line whose check is true is the line that was written.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

from deskshell.errors import JournalDamaged
from deskshell.slotted import field, slotted
from deskshell.store.dropped import MARK, Dropped, read_dropped
from deskshell.store.lines import CHECK_BYTES, Header, Previous, parse, read_seal
from deskshell.store.segments import Segment, lines_forward, list_segments, open_segment
from deskshell.store.tail import check_before


@slotted()
class VerifyReport:
    """What `verify` found.

    Attributes:
        lines: all lines that were read and are good, headers and lines of plain files included.
        segments: number of files.
        verified_to_seq: every line up to this seq is as it was written, those dropped on purpose left out.
        unverified_lines: lines of plain files, which have no check.
        torn: sentences on what was never finished and does not count; no damage.
        damage: sentences on what is not as it was written, or missing.
        dropped: what was dropped on purpose, as the journal says.
    """

    lines: int = 0
    segments: int = 0
    verified_to_seq: int = 0
    unverified_lines: int = 0
    torn: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when nothing is damaged or missing."""
        return not self.damage

    def to_json(self) -> dict[str, Any]:
        """The object of `journal verify --json`."""
        return {
            "ok": self.ok,
            "lines": self.lines,
            "segments": self.segments,
            "verifiedToSeq": self.verified_to_seq,
            "unverifiedLines": self.unverified_lines,
            "torn": self.torn,
            "damage": self.damage,
            "dropped": [each._asdict() for each in self.dropped],
        }


def verify_journal(folder: Path) -> VerifyReport:
    """Test the whole journal in `folder`. Reads only, in constant memory.

    Raises:
        StateFolderError: a segment is in a newer format.
    """
    lost: list[str] = []
    segments = list_segments(folder, lost=lost)
    report = VerifyReport(segments=len(segments) + len(lost))
    report.damage += [f"`{name}` has lost its first line" for name in lost]
    gaps: list[tuple[str, Previous | None]] = []
    before: Header | None = None
    for index, segment in enumerate(segments):
        try:
            fd, header = open_segment(segment)
        except JournalDamaged as exc:
            report.damage.append(exc.message)
            continue
        try:
            if header is None:
                _verify_plain(fd, segment, report)
                continue
            _verify_link(before, header, segment, report, gaps)
            link = _next_link(segments, index, header)
            is_last = index == len(segments) - 1
            _verify_segment(fd, header, segment, link=link, is_last=is_last, report=report)
            before = header
        finally:
            os.close(fd)
    for name, previous in gaps:
        if previous is None or not any(record.covers(previous) for record in report.dropped):
            report.damage.append(f"the journal file before `{name}` is missing")
    return report


def _verify_plain(fd: int, segment: Segment, report: VerifyReport) -> None:
    for offset, line in lines_forward(fd, 0, os.fstat(fd).st_size):
        if parse(line) is None:
            report.torn.append(f"`{segment.name}`: {len(line)} bytes at byte {offset} are no entry")
        else:
            report.lines += 1
            report.unverified_lines += 1


def _verify_link(
    before: Header | None,
    header: Header,
    segment: Segment,
    report: VerifyReport,
    gaps: list[tuple[str, Previous | None]],
) -> None:
    """Compare a header with the segment before; a gap is judged later, when all records have been read."""
    previous = header.previous
    if before is None:
        if previous is not None:
            gaps.append((segment.name, previous))
        return
    if header.uid != before.uid:
        report.damage.append(f"`{segment.name}` belongs to another journal")
    if previous is None or previous.first != before.seal.seq:
        gaps.append((segment.name, previous))


def _next_link(segments: list[Segment], index: int, header: Header) -> Previous | None:
    """What the next segment says of this one."""
    if index + 1 == len(segments):
        return None
    try:
        fd, follower = open_segment(segments[index + 1])
    except JournalDamaged:
        return None
    os.close(fd)
    previous = None if follower is None else follower.previous
    return previous if previous is not None and previous.first == header.seal.seq else None


def _verify_segment(
    fd: int, header: Header, segment: Segment, *, link: Previous | None, is_last: bool, report: VerifyReport
) -> None:
    size = os.fstat(fd).st_size
    end = size
    if link is not None:
        end = min(size, link.good)
        if size < link.good:
            report.damage.append(f"`{segment.name}` is {link.good - size} bytes shorter than it was")
        elif size > link.good and link.why == "rotated":
            report.damage.append(f"`{segment.name}` has {size - link.good} bytes more than it had")
        elif size > link.good:
            report.torn.append(
                f"`{segment.name}`: {size - link.good} bytes after entry {link.seq} ({link.why})"
            )
    was_good = not report.damage
    found = _verify_lines(fd, header, end, report)
    report.lines += found.good
    if found.bad and is_last and found.claimed < found.bad[0][1]:
        report.torn.append(
            f"`{segment.name}`: {size - found.bad[0][0]} bytes after entry {found.last_seq} (torn)"
        )
    else:
        report.damage += [f"`{segment.name}` is damaged at byte {at}: entry {seq}" for at, seq in found.bad]
        if (
            link is not None
            and not found.bad
            and (found.last_seq, found.last_check) != (link.seq, link.check)
        ):
            report.damage.append(
                f"`{segment.name}` ends with entry {found.last_seq}, not with {link.seq} as it did"
            )
    if was_good:
        report.verified_to_seq = found.last_seq


@slotted()
class _Found:
    """What one segment holds.

    `good` counts the good lines and `last_seq` and `last_check` are of the last one, all before the first bad
    line. `bad` has (offset, seq that should be there) of each run of bad lines, and `claimed` is the highest
    `durable` behind the first.
    """

    good: int = 0
    last_seq: int = 0
    last_check: bytes = b""
    bad: list[tuple[int, int]] = field(default_factory=list)
    claimed: int = 0


def _verify_lines(fd: int, header: Header, end: int, report: VerifyReport) -> _Found:
    found = _Found()
    check = check_before(fd, 0, header)
    seq = header.seal.seq
    durable = header.seal.durable
    middle = b',"durable":%d' % durable
    after_bad = False
    for offset, line in lines_forward(fd, 0, end):
        content = line[:-CHECK_BYTES]
        own = sha256(check + content).hexdigest()[:32].encode()
        is_own = line[-CHECK_BYTES:] == b',"check":"%b"}' % own and offset + len(line) < end
        if not (is_own and content.endswith(b',"seq":%d%b' % (seq, middle))):
            seal = read_seal(line) if offset + len(line) < end else None
            # Behind a bad line the chain cannot be tested, so a line counts when it parses.
            fits = is_own or (after_bad and parse(line) is not None)
            if seal is None or not fits or (is_own and seal.seq != seq) or seal.durable >= seal.seq:
                if not after_bad:
                    if not found.bad:
                        found.last_seq, found.last_check = seq - 1, check
                    found.bad.append((offset, seq))
                after_bad = True
                continue
            own, seq, durable = seal.check, seal.seq, seal.durable
            middle = b',"durable":%d' % durable
            after_bad = False
        check = own
        seq += 1
        if found.bad:
            found.claimed = max(found.claimed, durable)
        else:
            found.good += 1
        if MARK in content and (record := read_dropped(parse(line) or {})) is not None:
            report.dropped.append(record)
    if not found.bad:
        found.last_seq, found.last_check = seq - 1, check
    return found
