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
from typing import Any

from deskshell.errors import JournalDamaged, StateFolderError
from deskshell.store.atomic import sync_data, sync_folder
from deskshell.store.dropped import record_of
from deskshell.store.folder import StateFolder
from deskshell.store.lines import SEAL_KEYS, START, Previous, Seal, build_header, check_of
from deskshell.store.reader import Reader
from deskshell.store.rotation import finish_rotation, set_plain_aside, start_segment
from deskshell.store.segments import (
    LIVE,
    Place,
    header_at,
    list_segments,
    open_segment,
    rotated_name,
)
from deskshell.store.space import allocate, restore_reserve
from deskshell.store.tail import examine
from deskshell.store.verify import VerifyReport, verify_journal

DEFAULT_MAX_BYTES = 5 * 2**20
FAILED_SYNC = "a sync failed"
NOT_OPEN = "it is not open"


class Journal(Reader):
    """The journal of one state folder. Making one touches nothing; reading needs neither `open` nor the lock.

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
        super().__init__(folder.path)
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
        self._failed = NOT_OPEN  # why nothing may be appended; empty when all is well

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
            self._open_live()
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
        fd, self._fd = self._fd, -1
        self._failed = NOT_OPEN
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()

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
            raise OSError(errno.EIO, f"the journal takes no entries: {self._failed}")
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
        if data.count(b"\n") != len(lines) or b'{,"seq":' in data:
            raise ValueError("a journal line is a JSON object with a key and without newline")
        written = os.write(self._fd, data)
        if written != len(data):
            self._failed = "its last entry was cut short by a full disk"
            self._spent = seq
            raise OSError(errno.ENOSPC, "the journal entry was written in part only")
        first, self.last_seq = self.last_seq + 1, seq
        self._check = check
        self.size += written
        return range(first, seq + 1)

    def append_object(self, value: dict[str, Any]) -> int:
        """Write one line holding `value` and return its seq.

        Raises:
            OSError: as `append`.
            ValueError: `value` is empty or has a key of the seal.
        """
        if not SEAL_KEYS.isdisjoint(value):
            raise ValueError("`seq`, `durable` and `check` are the journal's own")
        return self.append([json.dumps(value, separators=(",", ":"), ensure_ascii=False)[:-1]])[0]

    def sync(self) -> None:
        """Make all lines durable; free when they are already.

        Raises:
            OSError: the sync failed. No line after `durable_seq` counts from now on; nothing can be appended
                until `retire("failed-sync")` has started a new segment, in which the caller writes again
                what it still needs (the `begin` of its task, if that was among them).
        """
        if self._failed:
            raise OSError(errno.EIO, f"the journal takes no entries: {self._failed}")
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
        if self._failed == FAILED_SYNC:
            why = "failed-sync"
        if why != "failed-sync" and self.durable_seq != self.last_seq:
            self._sync_segment()
        if self.durable_seq != self.last_seq:
            self._spent = max(self._spent, self.last_seq)
            self.last_seq, self._check, self.size = self.durable_seq, self._durable_check, self._durable_size
        self._start_segment(self._previous(rotated_name(self._clock(), self._first), why))

    def drop_before(self, number: int) -> list[str]:
        """Delete the segments before the one with that `number` (never the live one), on the record.

        The record names range, last check and the sha256 of each file, and is durable before the first
        file goes; `verify` accepts the gap by it. Room is only freed, so the caller has made sure that
        nobody needs these lines.

        Returns:
            The names of the files deleted.

        Raises:
            OSError: the record could not be made durable, or a file could not be deleted.
        """
        segments = self.segments()
        going = [segment for segment in segments if segment.number < min(number, self._first)]
        if not going:
            return []
        fd, header = open_segment(segments[len(going)])
        os.close(fd)
        self.append_object(record_of(going, None if header is None else header.previous))
        self.sync()
        for segment in going:
            segment.path.unlink()
        sync_folder(self.folder.path)
        return [segment.name for segment in going]

    def preallocate(self, size_bytes: int) -> None:
        """Ask the file system to keep room for `size_bytes` more; best effort, the size stays."""
        allocate(self._fd, self.size, size_bytes)

    def release_reserve(self) -> bool:
        """Delete the reserve file to make room for the end of a task; True if there was one."""
        try:
            os.unlink(self.folder.reserve_path)
        except FileNotFoundError:
            return False
        return True

    def _open_live(self) -> None:
        path = self.folder.path
        finish_rotation(path)
        segments = [segment for segment in list_segments(path) if not segment.is_plain]
        live = path / LIVE
        if os.path.lexists(live) and not (segments and segments[-1].is_live):
            set_plain_aside(live, self._clock())
        if not segments:
            self._uid = os.urandom(8).hex()
            self._set_end(Seal(0, 0, START), 0)
            self._start_segment(None)
            return
        newest = segments[-1]
        flags = os.O_RDWR | os.O_APPEND if newest.is_live else os.O_RDONLY
        self._fd = os.open(newest.path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
        header = header_at(self._fd, newest.name)
        if header is None:
            raise JournalDamaged(f"`{newest.name}` has lost its first line")
        tail = examine(self._fd, os.fstat(self._fd).st_size, header, newest.name)
        # The last writer may have been killed before its sync, and our lines will claim that all of this is durable.
        sync_data(self._fd)
        self._uid, self._first = header.uid, header.seal.seq
        self._set_end(tail.seal, tail.end)
        self._spent = tail.spent
        if newest.is_live and not tail.lost_bytes:
            return
        name = rotated_name(self._clock(), self._first) if newest.is_live else newest.name
        if tail.lost_bytes:
            self.set_aside = f"{tail.lost_bytes} bytes after entry {tail.seal.seq} were never finished: set aside in `{name}`"
        self._start_segment(self._previous(name, "torn" if tail.lost_bytes else "rotated"))

    def _set_end(self, seal: Seal, size: int) -> None:
        """All up to the line of `seal`, `size` bytes, is written and durable."""
        self.last_seq = self.durable_seq = self._spent = seal.seq
        self._check = self._durable_check = seal.check
        self.size = self._durable_size = size
        self._failed = ""

    def _sync_segment(self) -> None:
        try:
            sync_data(self._fd)
        except OSError:
            # What the system could not write it may forget: a later sync that succeeds proves nothing.
            self._failed = FAILED_SYNC
            raise
        self.durable_seq, self._durable_size, self._durable_check = self.last_seq, self.size, self._check

    def _previous(self, name: str, why: str) -> Previous:
        return Previous(name, self._first, self.last_seq, self._check, self.size, why)

    def _start_segment(self, previous: Previous | None) -> None:
        """Make the segment after `previous` the live one; a live one there is gets the name in `previous`."""
        seq = max(self.last_seq, self._spent) + 1
        self._failed = self._failed or "its end was begun"
        line, check = build_header(
            seq, self.last_seq, uid=self._uid, ts_ms=int(self._clock() * 1000), previous=previous
        )
        try:
            start_segment(self.folder.path, line, None if previous is None else previous.name)
        except OSError as exc:
            if exc.errno not in (errno.ENOSPC, errno.EDQUOT) or not self.release_reserve():
                raise
            start_segment(self.folder.path, line, None if previous is None else previous.name)
        self.close()
        self._fd = os.open(self.folder.journal_path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._first = seq
        self._set_end(Seal(seq, seq - 1, check), len(line))

    def _written_end(self) -> Place | None:
        if self._fd < 0 or self._failed:
            return None
        return self.place()

    def verify(self) -> VerifyReport:
        """Test every line of every segment; see `verify_journal`."""
        return verify_journal(self.folder.path)
