"""Retiring a segment and putting the next one in place, so that a kill in between loses nothing.

    1  the new segment, its header alone, under the name `journal.new`; sync it and the folder
    2  journal.jsonl → journal-<UTC time>-<first seq>.jsonl, no-replace
    3  journal.new → journal.jsonl, no-replace
    4  sync the folder

A kill after 1 leaves a `journal.new` that nobody needs. A kill after 2 leaves no `journal.jsonl`: readers end with
the newest retired one, and the next writer does 3 and 4. Where a rename is done by link and unlink, a kill
can leave one file under two names; readers take it once, and the next writer removes the older name.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from deskshell.errors import JournalDamaged
from deskshell.store.atomic import rename_no_replace, sync_folder, write_synced
from deskshell.store.lines import Header, read_header
from deskshell.store.segments import (
    LIVE,
    UNDER_WAY,
    Segment,
    first_line,
    list_segments,
    open_file,
    rotated_name,
)


def start_segment(folder: Path, header_line: bytes, old_fd: int, retire_as: str) -> None:
    """Put a new segment in place, durably; the live one, if there is one, is renamed to `retire_as`.

    May be called again after it failed. A segment that the failed call had put in place stays.

    Args:
        folder: the state folder.
        header_line: the new segment's content.
        old_fd: the segment before, -1 for the first one of a journal.
        retire_as: its new name, if it is still the live one.

    Raises:
        OSError: a step failed; what was written before is as it was.
    """
    live = folder / LIVE
    is_old = os.path.lexists(live) and old_fd >= 0 and os.path.samestat(os.fstat(old_fd), os.lstat(live))
    if os.path.lexists(live) and not is_old:
        sync_folder(folder)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(folder / UNDER_WAY)
    write_synced(folder / UNDER_WAY, header_line)
    sync_folder(folder)
    if is_old:
        rename_no_replace(live, folder / retire_as)
    rename_no_replace(folder / UNDER_WAY, live)
    sync_folder(folder)


def finish_rotation(folder: Path) -> None:
    """Do what a killed rotation left undone.

    Raises:
        JournalDamaged: two different files claim to be the same segment.
    """
    segments = list_segments(folder)
    live = folder / LIVE
    if os.path.lexists(live) and (twin := _retired_twin(folder, segments)) is not None:
        if not os.path.samefile(live, twin.path):
            raise JournalDamaged(
                f"`{LIVE}` and `{twin.name}` are different files that begin with the same entry",
                hint="move one of them away; nothing was changed",
            )
        os.unlink(live)
        sync_folder(folder)
    new = folder / UNDER_WAY
    if not os.path.lexists(new):
        return
    if not os.path.lexists(live) and _follows(_header_of(new), segments):
        rename_no_replace(new, live)
        sync_folder(folder)
    else:
        os.unlink(new)


def set_plain_aside(live: Path, ts_s: float) -> None:
    """Rename a `journal.jsonl` without header, as older versions wrote it, untouched."""
    for segment in list_segments(live.parent):
        if segment.is_plain and not segment.is_live and os.path.samefile(segment.path, live):
            os.unlink(live)  # a kill between link and unlink
            break
    while os.path.lexists(live):
        with contextlib.suppress(FileExistsError):
            rename_no_replace(live, live.parent / rotated_name(ts_s, None))
        ts_s += 1  # the name is for people; what counts is the first line's time
    sync_folder(live.parent)


def _retired_twin(folder: Path, segments: list[Segment]) -> Segment | None:
    header = _header_of(folder / LIVE)
    if header is None:
        return None
    for segment in segments:
        if segment.number == header.seal.seq and not segment.is_live:
            return segment
    return None


def _header_of(path: Path) -> Header | None:
    fd = open_file(path)
    try:
        return read_header(first_line(fd))
    finally:
        os.close(fd)


def _follows(header: Header | None, segments: list[Segment]) -> bool:
    """True when the segment with `header` is the one to come after all of `segments`."""
    if header is None:
        return False
    numbers = [segment.number for segment in segments if not segment.is_plain]
    if header.previous is None:
        return not numbers
    return bool(numbers) and header.previous.first == numbers[-1]
