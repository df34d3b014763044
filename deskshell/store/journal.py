"""The journal: an append-only log in segments, each line sealed to the one before it.

Writing is for the holder of the lock; reading is for everybody and needs none. The form of a line is in
`lines.py`, the torn-tail rule in `tail.py`. Where this page says *segment* it means one file: `journal.jsonl`,
or a retired one, `journal-<UTC time>-<first seq>.jsonl`, which never changes again.

A segment is retired when it is large (`rotated`), when its end was torn by a crash (`torn`), and when a sync
failed (`failed-sync`). Its successor's header says how many of its bytes are good; what lies behind them
is kept, and no reader looks at it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from deskshell.errors import JournalDamaged, StateFolderError
from deskshell.store.atomic import rename_no_replace, sync_data, sync_folder, write_synced
from deskshell.store.folder import StateFolder
from deskshell.store.lines import CHECK_BYTES, Previous, build_header, check_of
from deskshell.store.reader import Reader
from deskshell.store.segments import (
    LIVE,
    UNDER_WAY,
    Place,
    Segment,
    header_at,
    list_segments,
    open_file,
    rotated_name,
)
from deskshell.store.tail import Tail, examine
from deskshell.store.verify import VerifyReport, verify_journal

DEFAULT_MAX_BYTES = 5 * 2**20
RESERVE_BYTES = 64 * 1024


class Journal:
    """The journal of one state folder. Making one touches nothing; reading needs no `open`.

    Attributes:
        last_seq: seq of the last line written, 0 in a new journal.
        durable_seq: the highest seq known to be synced.
        size: bytes in the live segment.
        set_aside: after `open`, what was found torn and set aside, as a sentence; else None.
    """

    def __init__(
        self,
        folder: StateFolder,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.last_seq = 0
        self.durable_seq = 0
        self.size = 0
        self.set_aside: str | None = None
        self._clock = clock
        self._fd = -1
        self._uid = ""
        self._first = 0
        self._check = b""
        self._durable_size = 0
        self._durable_check = b""
        self._spent = 0  # the highest seq given out, when lines were lost: seqs are never used twice
        self._failed = ""  # why nothing may be appended to this segment any more
        self._reader = Reader(folder.path, self._written_end)

    # -- writing: the caller holds the lock --------------------------------------------------------

    def open(self) -> None:
        """Make the journal ready to append; create it, finish a rotation cut short, set a torn tail aside.

        Call it each time after the lock was taken: others may have written meanwhile.

        Raises:
            JournalDamaged: what was synced once is not as it was; nothing was changed.
            StateFolderError: the folder is not safe, not writable, or holds a newer format.
        """
        self.close()
        self.folder.check()
        self.set_aside = None
        try:
            self._open()
            self._restore_reserve()
        except OSError as exc:
            self.close()
            raise StateFolderError(
                f"the journal in `{self.folder.path}` cannot be written: {exc.strerror or exc}",
                hint="see that the disk is not full or read-only, or choose another with `DESKSHELL_HOME=/path/to/folder`",
            ) from exc
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the live segment; syncs nothing. Reading goes on working."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def append(self, bodies: Iterable[str | bytes]) -> range:
        """Write one line for each body, all with one write; durable only after `sync`.

        Args:
            bodies: JSON objects without their closing brace, not empty, without newline:
                `{"ts":1,"taskId":"task-1","n":0`.

        Returns:
            The seqs of the lines, in order.

        Raises:
            OSError: nothing was added. After a short write, and after a failed sync, each append
                raises until `retire` has started a new segment.
            ValueError: a body is empty or holds a newline.
        """
        if self._failed:
            raise OSError(errno.EIO, f"this journal segment takes no more entries: {self._failed}")
        seq, durable, check = self.last_seq, self.durable_seq, self._check
        end = b',"durable":%d' % durable
        lines = []
        for body in bodies:
            seq += 1
            data = body.encode() if isinstance(body, str) else body
            content = b'%b,"seq":%d%b' % (data, seq, end)
            check = check_of(check, content)
            lines.append(b'%b,"check":"%b"}\n' % (content, check))
        if not lines:
            return range(0)
        data = b"".join(lines)
        if data.count(b"\n") != len(lines) or b"{,\"seq\":" in data:
            raise ValueError("a journal line is a JSON object with a key and without newline")
        written = os.write(self._fd, data)
        if written != len(data):
            self._failed = "it was cut short by a full disk"
            self._spent = seq
            raise OSError(errno.ENOSPC, "the journal entry was written in part only")
        first, self.last_seq = self.last_seq + 1, seq
        self._check = check
        self.size += written
        return range(first, seq + 1)

    def append_object(self, value: dict[str, Any]) -> int:
        """Write one line holding `value` (not empty) and return its seq; errors as `append`."""
        return self.append([json.dumps(value, separators=(",", ":"), ensure_ascii=False)[:-1]])[0]

    def sync(self) -> None:
        """Make all lines durable; free when they are already.

        Raises:
            OSError: the sync failed. No line after `durable_seq` counts from now on; nothing can be appended
                until `retire("failed-sync")` has started a new segment, in which the caller writes again
                what it still needs (the `begin` of its task, if that was among them).
        """
        if self._failed:
            raise OSError(errno.EIO, f"this journal segment takes no more entries: {self._failed}")
        if self.durable_seq == self.last_seq:
            return
        self._sync_segment()

    def place(self) -> Place:
        """Where the next line will be."""
        return Place(self._first, self.size)

    def rotate_if_needed(self) -> bool:
        """Start a new segment when this one has reached `max_bytes`; only between tasks. True if it did."""
        if self.size < self.max_bytes or self.last_seq == self._first:
            return False
        self.retire("rotated")
        return True

    def retire(self, why: str) -> None:
        """End this segment and start a new one, also inside a task.

        Args:
            why: `rotated`, `torn` or `failed-sync`. After a failed sync only the lines up to
                `durable_seq` remain part of the journal.

        Raises:
            OSError: the new segment could not be made durable; the old one stays closed for appending.
        """
        if why != "failed-sync" and self.durable_seq != self.last_seq:
            self._sync_segment()
        if self.durable_seq != self.last_seq:
            self._spent = max(self._spent, self.last_seq)
            self.last_seq, self._check, self.size = self.durable_seq, self._durable_check, self._durable_size
        name = rotated_name(self._clock(), self._first)
        self._start_segment(Previous(name, self._first, self.last_seq, self._check, self.size, why), LIVE)

    def preallocate(self, size_bytes: int) -> None:
        """Ask the file system to keep room for `size_bytes` more; best effort, the size stays."""
        allocate_behind(self._fd, self.size, size_bytes)

    def release_reserve(self) -> bool:
        """Delete the reserve file to make room for the end of a task; True if there was one."""
        try:
            os.unlink(self.folder.reserve_path)
        except FileNotFoundError:
            return False
        return True

    # -- reading: no lock, creates nothing ---------------------------------------------------------

    def forward(
        self, start: Place | None = None, stop: Place | None = None
    ) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Yield (place, line) in order; see `Reader.forward`."""
        return self._reader.forward(start, stop)

    def raw_forward(
        self, start: Place | None = None, stop: Place | None = None, *, containing: bytes = b""
    ) -> Iterator[tuple[Place, bytes]]:
        """Yield (place, bytes of the line), neither parsed nor tested; see `Reader.raw_forward`."""
        return self._reader.raw_forward(start, stop, containing=containing)

    def backward(self, start: Place | None = None) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Yield (place, line), newest first; see `Reader.backward`."""
        return self._reader.backward(start)

    def line_at(self, place: Place) -> dict[str, Any]:
        """The line at `place`; see `Reader.line_at`."""
        return self._reader.line_at(place)

    def lines_at(self, places: Iterable[Place]) -> Iterator[dict[str, Any]]:
        """Yield the lines at `places`; see `Reader.lines_at`."""
        return self._reader.lines_at(places)

    def is_empty(self) -> bool:
        """True when nothing but headers was ever written."""
        return self._reader.is_empty()

    def segments(self) -> list[Segment]:
        """The files of the journal, in the order of their lines."""
        return self._reader.segments()

    def verify(self) -> VerifyReport:
        """Test every line of every segment; see `verify_journal`."""
        return verify_journal(self.folder.path)
