"""The journal: an append-only log in segments, each line sealed to the one before it.

Writing is for the holder of the lock; reading is for everybody and needs none. The form of a line is in
`lines.py`, the torn-tail rule in `tail.py`. Where this page says *segment* it means one file: `journal.jsonl`,
or a retired one, `journal-<UTC time>-<first seq>.jsonl`, which never changes again.

A segment is retired when it is large (`rotated`), when its end was torn by a crash (`torn`), and when a sync
failed (`failed-sync`). Its successor's header says how many of its bytes are good; what lies behind them
is kept, and no reader looks at it.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from deskshell.errors import StateFolderError
from deskshell.store.atomic import sync_folder
from deskshell.store.folder import StateFolder
from deskshell.store.lines import SEAL_KEYS, Previous, build_header
from deskshell.store.live import NOT_OPEN, LiveSegment
from deskshell.store.reader import Reader
from deskshell.store.rotation import finish_rotation, set_plain_aside, start_segment
from deskshell.store.segments import LIVE, Place, list_segments, open_segment, rotated_name
from deskshell.store.space import allocate, restore_reserve

if TYPE_CHECKING:
    from deskshell.store.verify import VerifyReport

DEFAULT_MAX_BYTES = 5 * 2**20


class Journal(Reader):
    """The journal of one state folder. Making one touches nothing; reading needs neither `open` nor the lock.

    Args:
        folder: the state folder.
        max_bytes: size from which `rotate_if_needed` starts a new segment.
        clock: seconds since 1970, for the names of retired segments and `ts` of headers.
    """

    def __init__(
        self,
        folder: StateFolder,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(folder.path)
        self.folder = folder
        self.max_bytes = max_bytes
        self._clock = clock
        self._live: LiveSegment | None = None

    @property
    def last_seq(self) -> int:
        """The seq of the last line written; 0 before the first `open`."""
        return 0 if self._live is None else self._live.written.seq

    @property
    def durable_seq(self) -> int:
        """The highest seq known to be synced; 0 before the first `open`."""
        return 0 if self._live is None else self._live.durable.seq

    @property
    def size(self) -> int:
        """Bytes in the live segment; 0 before the first `open`."""
        return 0 if self._live is None else self._live.written.size

    def open(self) -> None:
        """Make the journal ready to append; create it, finish a rotation cut short, set a torn tail aside.

        The caller holds the lock, and calls this each time after taking it: others may have written meanwhile.

        Raises:
            JournalDamaged: what was synced once is not as it was; nothing was changed.
            StateFolderError: the folder is not safe, not writable, or holds a newer format.
        """
        self.close()
        self.folder.check()
        try:
            self._open()
            restore_reserve(self.folder.reserve_path)
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
        if self._live is not None:
            self._live.close()

    def append(self, bodies: Iterable[str | bytes]) -> range:
        """Write one line for each body, all with one write; durable only after `sync`.

        Args:
            bodies: JSON objects without their closing brace, not empty, without newline:
                `{"ts":1,"taskId":"task-1","n":0`.

        Returns:
            The seqs of the lines, in order.

        Raises:
            OSError: nothing was added. After a short write, and after a failed sync, each append raises until
                `retire` has started a new segment; when another process wrote since `open`, until `open`.
            ValueError: a body is empty, holds a newline or is not UTF-8 (a lone surrogate in a `str`).
        """
        return self._opened().append(bodies)

    def append_object(self, value: dict[str, Any]) -> int:
        """Write one line holding `value` and return its seq.

        Raises:
            OSError: as `append`.
            ValueError: `value` is empty, has a key of the seal, or holds what JSON or UTF-8 cannot.
        """
        if not SEAL_KEYS.isdisjoint(value):
            raise ValueError("`seq`, `durable` and `check` are the journal's own")
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return self.append([text[:-1]])[0]

    def sync(self) -> None:
        """Make all lines durable; free when they are already.

        Raises:
            OSError: the sync failed. No line after `durable_seq` counts from now on; nothing can be appended
                until `retire("failed-sync")` has started a new segment, in which the caller writes again
                what it still needs (the `begin` of its task, if that was among them).
        """
        live = self._opened()
        live.check_usable()
        if live.durable != live.written:
            live.sync()

    def place(self) -> Place:
        """Where the next line will be."""
        live = self._opened()
        return Place(live.header.seal.seq, live.written.size)

    def rotate_if_needed(self) -> bool:
        """Start a new segment when this one has reached `max_bytes`; only between tasks. True if it did."""
        live = self._opened()
        if live.written.size < self.max_bytes or live.written.seq == live.header.seal.seq:
            return False
        self.retire("rotated")
        return True

    def retire(self, why: str) -> None:
        """End this segment and start a new one, also inside a task. May be called again after it failed.

        Args:
            why: `rotated`, `torn` or `failed-sync`; goes into the header. After a sync that failed only the lines
                up to `durable_seq` remain part of the journal; else all lines are synced first and remain.

        Raises:
            OSError: the new segment could not be made durable; the old one stays closed for appending.
        """
        live = self._opened()
        name = rotated_name(self._clock(), live.header.seal.seq)
        self._start_segment(live.as_previous(name, why))

    def drop_before(self, number: int) -> list[str]:
        """Delete the segments before the one with that `number` (never the live one), on the record.

        The record names range, last check and the sha256 of each file, and is durable before the first
        file goes; `verify` accepts the gap by it. The caller has made sure that nobody needs these lines.

        Returns:
            The names of the files deleted.

        Raises:
            OSError: the record could not be made durable, or a file could not be deleted.
        """
        segments = self.segments()
        number = min(number, self._opened().header.seal.seq)
        going = [segment for segment in segments if segment.number < number]
        if not going:
            return []
        fd, header = open_segment(segments[len(going)])
        os.close(fd)
        from deskshell.store.dropped import record_of

        self.append_object(record_of(going, None if header is None else header.previous))
        self.sync()
        for segment in going:
            segment.path.unlink()
        sync_folder(self.folder.path)
        return [segment.name for segment in going]

    def preallocate(self, size_bytes: int) -> None:
        """Ask the file system to keep room for `size_bytes` more; best effort, the size stays."""
        live = self._opened()
        allocate(live.fd, live.written.size, size_bytes)

    def release_reserve(self) -> bool:
        """Delete the reserve file to make room for the end of a task; True if there was one."""
        try:
            os.unlink(self.folder.reserve_path)
        except FileNotFoundError:
            return False
        return True

    def verify(self) -> VerifyReport:
        """Test every line of every segment; see `verify_journal`."""
        from deskshell.store.verify import verify_journal

        return verify_journal(self.folder.path)

    def _opened(self) -> LiveSegment:
        if self._live is None:
            raise OSError(errno.EBADF, f"the journal takes no entries: {NOT_OPEN}")
        return self._live

    def _open(self) -> None:
        path = self.folder.path
        finish_rotation(path)
        segments = [segment for segment in list_segments(path) if not segment.is_plain]
        if os.path.lexists(path / LIVE) and not (segments and segments[-1].is_live):
            set_plain_aside(path / LIVE, self._clock())
        if not segments:
            self._live = None
            self._start_segment(None)
            return
        newest = segments[-1]
        self._live = live = LiveSegment(newest.path, read_only=not newest.is_live)
        if newest.is_live and not live.lost_bytes:
            return
        name = rotated_name(self._clock(), newest.number) if newest.is_live else newest.name
        self._start_segment(live.as_previous(name, "torn" if live.lost_bytes else "rotated"))

    def _start_segment(self, previous: Previous | None) -> None:
        """Make the segment after `previous` the live one; a live one there is gets the name in `previous`."""
        old = self._live
        line = build_header(
            1 if old is None else old.spent + 1,
            0 if previous is None else previous.seq,
            uid=os.urandom(8).hex() if old is None else old.header.uid,
            ts_ms=int(self._clock() * 1000),
            previous=previous,
        )
        old_fd, retire_as = (-1, "") if old is None or previous is None else (old.fd, previous.name)
        try:
            start_segment(self.folder.path, line, old_fd, retire_as)
        except OSError as exc:
            if exc.errno not in (errno.ENOSPC, errno.EDQUOT) or not self.release_reserve():
                raise
            start_segment(self.folder.path, line, old_fd, retire_as)
        self._live = LiveSegment(self.folder.journal_path, is_synced=True)
        if old is not None:
            old.close()

    def _known_end(self) -> Place | None:
        return None if self._live is None else self._live.known_end()
