"""Reading a journal over all its segments, without lock and without creating anything.

Every line that is handed out parsed has been tested against its check (the chain to the line before), so a
flipped bit is an error here and never a wrong path in an undo. Lines of plain files have no check; those
that hold no JSON object are passed over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deskshell.errors import JournalDamaged
from deskshell.slotted import NamedTuple
from deskshell.store.lines import CHECK_BYTES, Header, check_of, is_true, parse
from deskshell.store.segments import (
    DAMAGE_HINT,
    Place,
    Segment,
    lines_backward,
    lines_forward,
    list_segments,
    open_segment,
    wanted_backward,
)
from deskshell.store.tail import check_before, examine

_LINE_BYTES = 1024  # hardly a line is longer
_BLOCK_BYTES = 4096


class Span(NamedTuple):
    """The part of one open segment that is to be read: bytes `start` to `end`."""

    segment: Segment
    fd: int
    header: Header | None
    start: int
    end: int


class Reader:
    """Reads the journal in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _known_end(self) -> Place | None:
        """Where the good lines of the live segment end, for the one who writes it; None: look at the file."""
        return None

    def forward(
        self, start: Place | None = None, stop: Place | None = None
    ) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Yield (place, line) from `start` (the first line) up to, not including, `stop` (the last complete line).

        Headers are lines too. Memory does not grow with the journal.

        Raises:
            JournalDamaged: a line is not as it was written, or a segment is missing; after all lines before it.
        """
        for span in self._spans(start, stop):
            number, name = span.segment.number, span.segment.name
            if span.header is None:
                for offset, line in lines_forward(span.fd, span.start, span.end):
                    if (value := parse(line)) is not None:
                        yield Place(number, offset), value
                continue
            check = check_before(span.fd, span.start, span.header)
            for offset, line in lines_forward(span.fd, span.start, span.end):
                check = check_of(check, line[:-CHECK_BYTES])
                value = parse(line) if line[-CHECK_BYTES:] == b',"check":"%b"}' % check else None
                if value is None:
                    raise _damaged(name, offset)
                yield Place(number, offset), value

    def raw_forward(
        self, start: Place | None = None, stop: Place | None = None, *, containing: bytes = b""
    ) -> Iterator[tuple[Place, bytes]]:
        """Yield (place, bytes of the line without newline) like `forward`, neither parsed nor tested.

        Args:
            start: place of the first line; None: of the journal's first.
            stop: place of the first line to leave out; None: read to the last complete line.
            containing: only lines that hold these bytes.
        """
        for span in self._spans(start, stop):
            number = span.segment.number
            for offset, line in lines_forward(span.fd, span.start, span.end):
                if containing in line:
                    yield Place(number, offset), line

    def backward(self, start: Place | None = None) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Yield (place, line) from just before `start` (the end) to the first line; reads small blocks first.

        Raises:
            JournalDamaged: as `forward`, after all lines behind it.
        """
        segments = list_segments(self._folder)
        last = len(segments) - 1 if start is None else _index(segments, start)
        after: Header | None = None
        for index in range(last, -1, -1):
            # What lies before a place needs no look at the end of its segment.
            known_end = start.offset if start is not None and index == last else None
            with self._opened_span(segments, index, known_end) as span:
                if after is not None and span.header is not None:
                    self._check_link(span.header, after, segments[index + 1])
                yield from _lines_back(span, _BLOCK_BYTES if known_end is None else _LINE_BYTES)
                after = span.header

    def raw_backward(self, wanted: Callable[[bytes], bool]) -> Iterator[tuple[Place, bytes]]:
        """Yield (place, bytes of the line without newline) of the lines that are `wanted`, from the end to the first.

        `wanted` is asked about whole blocks of lines first, and about each line of those it wants; it may come to
        want more with each line that it was given. The lines are neither parsed nor tested (`lines_at` does both).

        Raises:
            JournalDamaged: a segment is missing.
        """
        segments = list_segments(self._folder)
        after: Header | None = None
        for index in range(len(segments) - 1, -1, -1):
            with self._opened_span(segments, index) as span:
                if after is not None and span.header is not None:
                    self._check_link(span.header, after, segments[index + 1])
                for offset, line in wanted_backward(span.fd, span.end, wanted):
                    yield Place(span.segment.number, offset), line
                after = span.header

    def line_at(self, place: Place) -> dict[str, Any]:
        """The line at `place`.

        Raises:
            JournalDamaged: no line begins there, or it is not as it was written.
        """
        return next(self.lines_at([place]))

    def lines_at(self, places: Iterable[Place]) -> Iterator[dict[str, Any]]:
        """Yield the lines at `places`, in the order given; neighbours of one segment share its descriptor.

        Raises:
            JournalDamaged: no line begins at a place, or it is not as it was written.
        """
        segments: list[Segment] = []
        fd, opened, header = -1, None, None
        try:
            for place in places:
                if opened != place.segment:
                    segments = segments or list_segments(self._folder)
                    index = _index(segments, place)
                    if fd >= 0:
                        os.close(fd)
                        fd = -1
                    fd, header = open_segment(segments[index])
                    opened = place.segment
                yield _line_at(fd, place, header)
        finally:
            if fd >= 0:
                os.close(fd)

    def is_empty(self) -> bool:
        """True when nothing but headers was ever written."""
        return all(place.segment >= 0 and place.offset == 0 for place, _ in self.raw_forward())

    def segments(self) -> list[Segment]:
        """The files of the journal in the order of their lines."""
        return list_segments(self._folder)

    def _spans(self, start: Place | None, stop: Place | None) -> Iterator[Span]:
        segments = list_segments(self._folder)
        first = 0 if start is None else _index(segments, start)
        before: Header | None = None
        for index in range(first, len(segments)):
            if stop is not None and segments[index].number > stop.segment:
                return
            with self._opened_span(segments, index) as span:
                if before is not None and span.header is not None:
                    self._check_link(before, span.header, segments[index])
                begin = start.offset if start is not None and index == first else 0
                end = span.end
                if stop is not None and segments[index].number == stop.segment:
                    end = min(end, stop.offset)
                yield span._replace(start=begin, end=end)
                before = span.header

    def _check_link(self, before: Header, header: Header, segment: Segment) -> None:
        """Refuse a gap between two segments unless a record in the journal says that the rest was dropped."""
        previous = header.previous
        if previous is not None and previous.first == before.seal.seq:
            return
        from deskshell.store.dropped import is_accounted

        if previous is None or not is_accounted(self._folder, previous):
            raise JournalDamaged(f"the journal file before `{segment.name}` is missing", hint=DAMAGE_HINT)

    @contextmanager
    def _opened_span(
        self, segments: list[Segment], index: int, known_end: int | None = None
    ) -> Iterator[Span]:
        segment = segments[index]
        fd, header = open_segment(segment)
        try:
            size = os.fstat(fd).st_size
            end = size if known_end is None else min(size, known_end)
            if header is not None and known_end is None:
                end = self._good_end(segments, index, fd, size, header)
            yield Span(segment, fd, header, 0, end)
        finally:
            os.close(fd)

    def _good_end(self, segments: list[Segment], index: int, fd: int, size: int, header: Header) -> int:
        if index + 1 < len(segments):
            next_fd, next_header = open_segment(segments[index + 1])
            os.close(next_fd)
            previous = None if next_header is None else next_header.previous
            if previous is not None and previous.first == header.seal.seq:
                if previous.good > size:
                    raise _damaged(segments[index].name, size)
                return previous.good
        written = self._known_end()
        if written is not None and written.segment == header.seal.seq:
            return written.offset
        return examine(fd, size, header, segments[index].name).end


def _lines_back(span: Span, block: int) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the lines of one span from its end to the start, each tested against the one before it."""
    number, name, header = span.segment.number, span.segment.name, span.header
    at, line = -1, b""
    for offset, before in lines_backward(span.fd, span.end, block=block):
        if header is None:
            if (value := parse(before)) is not None:
                yield Place(number, offset), value
            continue
        if at >= 0:
            yield Place(number, at), _tested(line, before[-34:-2], name, at)
        at, line = offset, before
    if at >= 0 and header is not None:
        yield Place(number, at), _tested(line, check_before(span.fd, at, header), name, at)


def _tested(line: bytes, previous: bytes, name: str, offset: int) -> dict[str, Any]:
    value = parse(line) if is_true(line, previous) else None
    if value is None:
        raise _damaged(name, offset)
    return value


def _line_at(fd: int, place: Place, header: Header | None) -> dict[str, Any]:
    name = f"segment {place.segment}"
    # One read holds the check of the line before and, mostly, the whole line.
    begin = max(0, place.offset - 35)
    data = os.pread(fd, _LINE_BYTES, begin)
    at = place.offset - begin
    while b"\n" not in data[at:] and (more := os.pread(fd, 32 * _LINE_BYTES, begin + len(data))):
        data += more
    line = data[at:].partition(b"\n")[0]
    if header is None:
        value = parse(line)
        if value is None:
            raise _damaged(name, place.offset)
        return value
    return _tested(line, check_before(fd, 0, header) if at == 0 else data[:32], name, place.offset)


def _index(segments: list[Segment], place: Place) -> int:
    for index in range(len(segments) - 1, -1, -1):
        if segments[index].number == place.segment:
            return index
    raise JournalDamaged(
        f"the journal file that began with entry {place.segment} is missing", hint=DAMAGE_HINT
    )


def _damaged(name: str, offset: int) -> JournalDamaged:
    return JournalDamaged(f"`{name}` is damaged at byte {offset}", hint=DAMAGE_HINT)
