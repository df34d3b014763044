"""The record by which old segments are dropped: what is missing on purpose, and what was in it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from deskshell.slotted import NamedTuple
from deskshell.store.lines import START, Previous, parse
from deskshell.store.segments import Segment, lines_forward, list_segments, open_file

MARK = b'"type":"dropped"'


class Dropped(NamedTuple):
    """Lines `first_seq` to `last_seq` were dropped with their `files` (name, sha256); `last_check` is the last one's."""

    seq: int
    first_seq: int
    last_seq: int
    last_check: str
    files: tuple[tuple[str, str], ...]

    def covers(self, previous: Previous) -> bool:
        """True when this accounts for the segment that a header calls its previous one."""
        if not self.first_seq <= previous.first <= previous.seq <= self.last_seq:
            return False
        return self.last_seq != previous.seq or self.last_check == previous.check.decode()


def read_dropped(value: dict[str, Any]) -> Dropped | None:
    """The record in the journal line `value`, or None."""
    if value.get("type") != "dropped":
        return None
    try:
        files = tuple((str(file["name"]), str(file["sha256"])) for file in value["files"])
        return Dropped(
            int(value["seq"]), int(value["firstSeq"]), int(value["lastSeq"]), str(value["lastCheck"]), files
        )
    except (KeyError, TypeError, ValueError):
        return None


def record_of(segments: list[Segment], last: Previous | None) -> dict[str, Any]:
    """The record to be written before `segments`, the first of the journal, are deleted.

    Args:
        segments: those to be dropped, in order.
        last: what the header of the first segment that stays says of the one before it.
    """
    files = []
    for segment in segments:
        with open(segment.path, "rb") as file:
            files.append({"name": segment.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()})
    return {
        "type": "dropped",
        "firstSeq": next((segment.number for segment in segments if not segment.is_plain), 0),
        "lastSeq": 0 if last is None else last.seq,
        "lastCheck": (START if last is None else last.check).decode(),
        "files": files,
    }


def is_accounted(folder: Path, previous: Previous) -> bool:
    """True when a record anywhere in the journal in `folder` accounts for the missing segment `previous`."""
    for segment in list_segments(folder):
        if segment.is_plain:
            continue
        fd = open_file(segment.path)
        try:
            for _, line in lines_forward(fd, 0, os.fstat(fd).st_size):
                record = read_dropped(parse(line) or {}) if MARK in line else None
                if record is not None and record.covers(previous):
                    return True
        finally:
            os.close(fd)
    return False
