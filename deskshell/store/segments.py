"""The files that make up a journal, in order, and reading lines out of one of them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from deskshell.errors import JournalDamaged, StateFolderError
from deskshell.slotted import NamedTuple, slotted
from deskshell.store.lines import HEADER_START, Header, parse, read_header, read_seal

LIVE = "journal.jsonl"

#: A segment under way; its name matches no segment's.
UNDER_WAY = "journal.new"

DAMAGE_HINT = "nothing was changed; `deskshell journal verify` says what is wrong"

_ROTATED = r"journal-(.+)\.jsonl"
_FIRST_SEQ = r"journal-[0-9]{8}T[0-9]{6}Z-([1-9][0-9]*)\.jsonl"

_HEADER_BLOCK = 512
_SMALL_BLOCK = 4096
_BLOCK = 256 * 1024

#: Plain segments have no seq; their number is the time of their first line, moved below every seq.
_PLAIN_BASE = -(10**15)


class Place(NamedTuple):
    """Where a line is: the first seq of its segment, and the byte offset there.

    It stays right when the segment is rotated, for a rotated file keeps its bytes and its first seq.
    Places compare in the order of the lines. Segments without a header have negative numbers.
    """

    segment: int
    offset: int


@slotted(frozen=True)
class Segment:
    """One file of the journal; `number` is its first seq (negative: a plain file without header)."""

    folder: Path
    name: str
    number: int

    @property
    def path(self) -> Path:
        """Where the file is, unless it was rotated since."""
        return self.folder / self.name

    @property
    def is_live(self) -> bool:
        """True for the one that is appended to."""
        return self.name == LIVE

    @property
    def is_plain(self) -> bool:
        """True for a file without header, as older versions wrote it."""
        return self.number < 0

    def size_bytes(self) -> int:
        """Size of the file; 0 when it has gone."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0


def rotated_name(ts_s: float, first_seq: int | None) -> str:
    """The name of a retired segment; the time in it is for people, the order is that of the seqs."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(ts_s))
    return f"journal-{stamp}.jsonl" if first_seq is None else f"journal-{stamp}-{first_seq}.jsonl"


def list_segments(folder: Path, *, lost: list[str] | None = None) -> list[Segment]:
    """All segments in the order of their lines; reads no more than the first line of those it must.

    Args:
        folder: the state folder; it may be missing.
        lost: takes the names of files that begin neither with a header nor with a plain line, which are
            then left out instead of raising.

    Raises:
        JournalDamaged: there is such a file.
        StateFolderError: a segment cannot be read, or is in a newer format.
    """
    # The live one first: if it is rotated meanwhile, it is found a second time under its new name.
    numbers: dict[int, str] = {}
    plain: dict[tuple[int, int], tuple[int, str]] = {}
    _classify(folder, LIVE, numbers, plain, lost)
    try:
        names = sorted(
            name for name in os.listdir(folder) if name[:8] == "journal-" and re.fullmatch(_ROTATED, name)
        )
    except (FileNotFoundError, NotADirectoryError):
        return []
    for name in names:
        found = re.fullmatch(_FIRST_SEQ, name)
        if found is not None:
            numbers[int(found[1])] = name
        else:
            _classify(folder, name, numbers, plain, lost)
    segments = []
    number = _PLAIN_BASE
    for ts_ms, name in sorted(plain.values()):
        number = max(number + 1, _PLAIN_BASE + ts_ms)
        segments.append(Segment(folder, name, number))
    segments += [Segment(folder, name, number) for number, name in sorted(numbers.items())]
    return segments


def _classify(
    folder: Path,
    name: str,
    numbers: dict[int, str],
    plain: dict[tuple[int, int], tuple[int, str]],
    lost: list[str] | None,
) -> None:
    try:
        fd = open_file(folder / name)
    except FileNotFoundError:
        return
    try:
        header = header_at(fd, name)
        if header is not None:
            numbers.setdefault(header.seal.seq, name)
        else:
            values = parse(first_line(fd)) or {}
            ts = values.get("ts")
            # By inode: a kill while the file was renamed can leave it under two names.
            status = os.fstat(fd)
            plain[status.st_dev, status.st_ino] = (int(ts) if isinstance(ts, int | float) else 0, name)
    except JournalDamaged:
        if lost is None:
            raise
        lost.append(name)
    finally:
        os.close(fd)


def open_file(path: Path) -> int:
    """Open a segment for reading, never through a link.

    Raises:
        FileNotFoundError: there is none.
        StateFolderError: it cannot be opened, or is a link.
    """
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise StateFolderError(f"the journal file `{path}` cannot be read: {exc.strerror}") from exc


def open_segment(segment: Segment) -> tuple[int, Header | None]:
    """Open `segment`, also when it was rotated since it was listed; return descriptor and header.

    Raises:
        JournalDamaged: it has gone, or has lost its first line.
        StateFolderError: it is in a newer format.
    """
    for _ in range(3):
        try:
            fd = open_file(segment.path)
        except FileNotFoundError:
            fd = -1
        if fd >= 0:
            try:
                header = header_at(fd, segment.name)
            except BaseException:
                os.close(fd)
                raise
            if (header is None and segment.is_plain) or (header and header.seal.seq == segment.number):
                return fd, header
            os.close(fd)
        if segment.name != LIVE:
            break
        same = [found for found in list_segments(segment.folder) if found.number == segment.number]
        if not same:
            break
        segment = same[0]
    raise JournalDamaged(f"the journal file `{segment.name}` is missing", hint=DAMAGE_HINT)


def first_line(fd: int) -> bytes:
    """The first line, without newline."""
    data = os.pread(fd, _HEADER_BLOCK, 0)
    while b"\n" not in data and (more := os.pread(fd, _BLOCK, len(data))):
        data += more
    return data.partition(b"\n")[0]


def header_at(fd: int, name: str) -> Header | None:
    """The header of the segment, or None for a plain file.

    Raises:
        JournalDamaged: the first line is no header although the file is no plain one. A header is synced
            before its segment gets a name, so no power cut does that.
        StateFolderError: the segment is in a newer format.
    """
    line = first_line(fd)
    header = read_header(line)
    size = os.fstat(fd).st_size
    if header is not None and header.size <= size:  # with its newline
        return header
    ends = os.pread(fd, _SMALL_BLOCK, 0), os.pread(fd, _SMALL_BLOCK, max(0, size - _SMALL_BLOCK))
    was_sealed = any(read_seal(part) for end in ends for part in end.split(b"\n"))
    was_header = size > 0 and HEADER_START.startswith(line[: len(HEADER_START)].strip(b"\0"))
    no_entry = bool(line) and len(line) < size and parse(line) is None  # no journal of an older version
    if was_sealed or was_header or no_entry:
        raise JournalDamaged(
            f"`{name}` has lost its first line",
            hint="nothing was changed; bring the file back from a backup, or move it away to start anew",
        )
    return None


def lines_forward(fd: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without newline) from `start` to `end`; what follows the last newline too."""
    pending: list[bytes] = []
    offset = start
    position = start
    while position < end:
        chunk = os.pread(fd, min(_BLOCK, end - position), position)
        if not chunk:
            break
        position += len(chunk)
        first, *rest = chunk.split(b"\n")
        pending.append(first)
        if not rest:
            continue
        line = b"".join(pending) if len(pending) > 1 else first
        yield offset, line
        offset += len(line) + 1
        pending = [rest.pop()]
        for line in rest:
            yield offset, line
            offset += len(line) + 1
    line = b"".join(pending)
    if line:
        yield offset, line


def lines_backward(fd: int, end: int, *, block: int = _SMALL_BLOCK) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without newline) from before `end` to the start of the file.

    What follows the last newline before `end` comes first, when it is not empty. The first read is of `block`
    bytes, and each is twice the one before: mostly the last few lines are wanted.
    """
    pending: list[bytes] = []  # pieces of the line under way, last piece first
    position = end
    at_end = True
    while position > 0:
        size = min(block, position)
        position -= size
        block = min(block * 2, _BLOCK)
        *rest, last = os.pread(fd, size, position).split(b"\n")
        pending.append(last)
        if not rest:
            continue
        offset = position + size - len(last)
        line = b"".join(reversed(pending))
        if line or not at_end:
            yield offset, line
        at_end = False
        for line in reversed(rest[1:]):
            offset -= len(line) + 1
            yield offset, line
        pending = [rest[0]]
    line = b"".join(reversed(pending))
    if line or not at_end:
        yield 0, line


def wanted_backward(fd: int, end: int, wanted: Callable[[bytes], bool]) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line without newline) of the lines before `end` that are `wanted`, last first.

    A block in which nothing is wanted is not even split into lines.
    """
    position, rest = end, b""  # `rest`: the end of a line whose start lies before `position`
    while position > 0:
        size = min(_BLOCK, position)
        position -= size
        data = os.pread(fd, size, position) + rest
        cut = data.find(b"\n") + 1 if position else 0
        if position and not cut:
            rest = data
            continue
        rest = data[:cut]
        if not wanted(data):
            continue
        lines = data[cut:].split(b"\n")
        offset = position + len(data)
        for line in reversed(lines):
            offset -= len(line)
            if line and wanted(line):
                yield offset, line
            offset -= 1
