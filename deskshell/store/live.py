"""The segment that is appended to: the chain's end, what of it is durable, and why it may take no more."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from deskshell.errors import JournalDamaged
from deskshell.slotted import NamedTuple
from deskshell.store.atomic import sync_data
from deskshell.store.lines import Header, Previous, check_of
from deskshell.store.segments import DAMAGE_HINT, Place, header_at
from deskshell.store.tail import examine

FAILED_SYNC = "a sync failed"
NOT_OPEN = "it is not open"
CUT_SHORT = "its last entry was cut short by a full disk"
ENDED = "its end was begun"


class End(NamedTuple):
    """Where a part of a segment ends: its last line's seq and check, and its size in bytes."""

    seq: int
    check: bytes
    size: int


class LiveSegment:
    """One open segment. All of it that is good is durable when it has been opened.

    Attributes:
        header: its first line.
        written: the end of what was appended.
        durable: the end of what is known to be synced.
        spent: the highest seq given out; above `written.seq` when lines were lost, for none is used twice.
        lost_bytes: what stood behind the good part when it was opened.
        failed: why nothing may be appended any more; empty when all is well.
    """

    def __init__(self, path: Path, *, read_only: bool = False, is_synced: bool = False) -> None:
        """Open the segment at `path`, examine its end and, unless it is known to be synced, sync it.

        Raises:
            JournalDamaged: what was synced once is not as it was.
            OSError: it cannot be opened or synced.
            StateFolderError: it is in a newer format.
        """
        mode = os.O_RDONLY if read_only else os.O_RDWR | os.O_APPEND
        self._path = os.fspath(path)
        self._fd = os.open(path, mode | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            header = header_at(self._fd, path.name)
            if header is None:
                raise JournalDamaged(f"`{path.name}` has lost its first line", hint=DAMAGE_HINT)
            status = os.fstat(self._fd)
            tail = examine(self._fd, status.st_size, header, path.name)
            # Its last writer may have been killed before its sync, and the next lines will claim that
            # all of this is durable.
            if not is_synced:
                sync_data(self._fd)
        except BaseException:
            self.close()
            raise
        self._inode = status.st_ino
        self.header: Header = header
        self.written = self.durable = End(tail.seal.seq, tail.seal.check, tail.end)
        self.spent = tail.spent
        self.lost_bytes = tail.lost_bytes
        self.failed = ""

    @property
    def fd(self) -> int:
        """The descriptor; -1 once closed."""
        return self._fd

    def close(self) -> None:
        """Let go of the file; syncs nothing."""
        fd, self._fd = self._fd, -1
        self.failed = NOT_OPEN
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()

    def append(self, bodies: Iterable[str | bytes]) -> range:
        """Write one line for each body with one write; see `Journal.append`."""
        self._check_ours()
        seq, check, size = self.written
        seal_middle = b',"durable":%d' % self.durable.seq
        lines = []
        for body in bodies:
            seq += 1
            if isinstance(body, str):
                data = body.encode()
            else:
                data = body
                data.decode()  # what is not UTF-8 could never be read back
            content = b'%b,"seq":%d%b' % (data, seq, seal_middle)
            check = check_of(check, content)
            lines.append(b'%b,"check":"%b"}\n' % (content, check))
        if not lines:
            return range(0)
        data = b"".join(lines)
        if data.count(b"\n") != len(lines) or b'{,"seq":' in data:
            raise ValueError("a journal line is a JSON object with a key and without newline")
        written = os.write(self._fd, data)
        if written != len(data):
            self.failed = CUT_SHORT
            self.spent = seq
            raise OSError(errno.ENOSPC, "the journal entry was written in part only")
        self.written = End(seq, check, size + written)
        return range(seq - len(lines) + 1, seq + 1)

    def sync(self) -> None:
        """Make what was written durable; after a failure nothing behind `durable` counts any more.

        Raises:
            OSError: the sync failed.
        """
        try:
            sync_data(self._fd)
        except OSError:
            # What the system could not write it may forget: a later sync that succeeds proves nothing.
            self.failed = FAILED_SYNC
            raise
        self.durable = self.written

    def check_usable(self) -> None:
        """Refuse to go on with a segment that takes no more.

        Raises:
            OSError: always with the reason in it.
        """
        if self.failed:
            raise OSError(errno.EIO, f"the journal takes no entries: {self.failed}")

    def as_previous(self, name: str, why: str) -> Previous:
        """End the segment: all that was written counts, or after a failed sync what is durable.

        What really happened wins over `why`.

        Raises:
            OSError: what was written could not be synced, and `why` is not `failed-sync`.
        """
        if self.failed != FAILED_SYNC and self.durable != self.written:
            was_cut_short = self.failed == CUT_SHORT
            try:
                self.sync()
            except OSError:
                if why != "failed-sync" and not was_cut_short:
                    raise
        if self.failed == FAILED_SYNC:
            why = "failed-sync"
        elif self.failed == CUT_SHORT:
            why = "torn"
        elif why == "failed-sync":
            why = "rotated"
        self.spent = max(self.spent, self.written.seq)
        self.written = self.durable
        self.failed = self.failed or ENDED
        return Previous(name, self.header.seal.seq, *self.written, why)

    def known_end(self) -> Place | None:
        """Where the good lines end, unless others have appended since: then the file itself tells."""
        if self._fd < 0 or self.failed or os.fstat(self._fd).st_size != self.written.size:
            return None
        return Place(self.header.seal.seq, self.written.size)

    def _check_ours(self) -> None:
        """Refuse to append to what another writer appended to or retired: it would break the chain."""
        self.check_usable()
        try:
            status = os.lstat(self._path)
        except FileNotFoundError:
            status = None
        if status is None or (status.st_ino, status.st_size) != (self._inode, self.written.size):
            raise OSError(errno.ESTALE, "another process wrote the journal since it was opened")
