"""One writer at a time: the lock that the system drops with the process.

The lock is an open-file-description lock (Linux) on a file that is never deleted. Deleting it would let
two processes lock two files of one name. What is written in the file is for messages only; whether
the lock is held is what the system says.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import struct
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from deskshell.errors import Busy, StateFolderError
from deskshell.slotted import as_dict, slotted

# struct flock: type, whence, (padding), start, length, pid, (padding to the alignment of off_t)
_FLOCK = struct.Struct("hhqqi0q")
_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.05
_RECORD_BYTES = 4096


@slotted(frozen=True)
class Holder:
    """Who holds the lock: for messages. `pid` is 0 when it has not been written down (yet)."""

    pid: int
    host: str
    boot_id: str
    process_start: int  # clock ticks after boot; 0 where the system does not say
    command: str
    since_ms: int

    def __str__(self) -> str:
        if not self.pid:
            return "a process that has not said who it is"
        since = time.strftime("%H:%M:%S", time.localtime(self.since_ms / 1000))
        return f"pid {self.pid} `{self.command}` on {self.host}, since {since}"


_UNKNOWN = Holder(0, "", "", 0, "", 0)


class TaskLock:
    """The lock at `path`. Making one touches nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def acquire(self, *, what: str, wait_s: float = 2.0) -> Iterator[None]:
        """Hold the lock while the block runs.

        Args:
            what: the command, for others' messages: "run downloads-cleanup".
            wait_s: how long to wait for another holder, in seconds.

        Raises:
            Busy: another process, or another part of this one, held the lock all that time.
            StateFolderError: the lock file cannot be opened.
        """
        fd = self._open()
        _HELD_IN_THIS_PROCESS.add(handle := _Handle(fd))
        try:
            self._wait(fd, wait_s)
            _write_holder(fd, what)
            try:
                yield
            finally:
                if handle.fd >= 0:  # not in a forked child, where unlocking would be the parent's
                    _release(fd)
        finally:
            handle.close()

    def holder(self) -> Holder | None:
        """Who holds the lock now, or None. Creates nothing and never makes a writer wait.

        Where the system has no query for locks (not Linux), the answer takes a shared lock for an instant.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            # Between taking the lock and writing its name a holder is unknown for some microseconds.
            for _ in range(3):
                if not _is_locked(fd):
                    return None
                holder = _read_holder(fd)
                if holder is not None and not _has_ended(holder):
                    return holder
                time.sleep(_FIRST_PAUSE_S)
            return _UNKNOWN
        finally:
            os.close(fd)

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise StateFolderError(
                f"the lock `{self.path}` cannot be opened: {exc.strerror}",
                hint="choose another state folder with `DESKSHELL_HOME=/path/to/folder`",
            ) from exc

    def _wait(self, fd: int, wait_s: float) -> None:
        # Polling, since a blocking F_OFD_SETLKW could only be ended by a signal of our own.
        deadline = time.monotonic() + wait_s
        pause_s = _FIRST_PAUSE_S
        while not _try_lock(fd):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                holder = _read_holder(fd)
                if holder is None or _has_ended(holder):
                    holder = _UNKNOWN
                raise Busy(
                    f"another task holds the lock: {holder}",
                    hint="wait until it is done and try again; the lock goes with the process",
                )
            time.sleep(min(pause_s, left_s))
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


class _Handle:
    """One descriptor of a lock file, closed once, in a forked child too."""

    __slots__ = ("__weakref__", "fd")

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


_HELD_IN_THIS_PROCESS: weakref.WeakSet[_Handle] = weakref.WeakSet()


def _close_in_child() -> None:
    # A forked child shares the open file description: as long as it lived, the lock would outlive
    # its holder. (An exec closes the descriptor by O_CLOEXEC.) Closing here does not unlock.
    for handle in list(_HELD_IN_THIS_PROCESS):
        handle.close()


os.register_at_fork(after_in_child=_close_in_child)


if sys.platform == "linux":

    def _request(kind: int) -> bytes:
        return _FLOCK.pack(kind, os.SEEK_SET, 0, 0, 0)  # the whole file; pid must be 0

    def _take(fd: int) -> None:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _request(fcntl.F_WRLCK))

    def _release(fd: int) -> None:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _request(fcntl.F_UNLCK))

    def _is_locked(fd: int) -> bool:
        answer = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _request(fcntl.F_WRLCK))
        return bool(_FLOCK.unpack(answer)[0] != fcntl.F_UNLCK)

else:

    def _take(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)

    def _is_locked(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        fcntl.flock(fd, fcntl.LOCK_UN)
        return False


def _try_lock(fd: int) -> bool:
    try:
        _take(fd)
    except OSError as exc:
        if exc.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _write_holder(fd: int, what: str) -> None:
    holder = Holder(
        pid=os.getpid(),
        host=os.uname().nodename,
        boot_id=_boot_id(),
        process_start=_process_start(os.getpid()),
        command=what,
        since_ms=time.time_ns() // 1_000_000,
    )
    record = json.dumps(as_dict(holder)).encode() + b"\n"
    # A full disk must not stop a task for the sake of a message.
    with contextlib.suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, record, 0)


def _read_holder(fd: int) -> Holder | None:
    try:
        record = os.pread(fd, _RECORD_BYTES, 0)
        if not record.endswith(b"\n"):
            return None
        values = json.loads(record)
        return Holder(
            pid=int(values["pid"]),
            host=str(values["host"]),
            boot_id=str(values["boot_id"]),
            process_start=int(values["process_start"]),
            command=str(values["command"]),
            since_ms=int(values["since_ms"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _has_ended(holder: Holder) -> bool:
    """True when the record is certainly of an earlier holder: its process is gone."""
    if holder.host != os.uname().nodename:
        return False
    if holder.boot_id != _boot_id():
        return True
    return holder.process_start != _process_start(holder.pid)


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _process_start(pid: int) -> int:
    """Start of the process in clock ticks after boot, or 0 (no such process, or no /proc)."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    # proc(5): field 22; the name in field 2 is in parentheses and may hold spaces and parentheses.
    return int(status.rpartition(b")")[2].split()[19])
