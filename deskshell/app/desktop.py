"""Access to one state folder: reading without a trace, writing under the lock."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from deskshell.config import Settings
from deskshell.kernel import history
from deskshell.kernel.desk import Desk, Quiet, StopFlag
from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal
from deskshell.store.lock import Holder, TaskLock

if TYPE_CHECKING:
    from deskshell.kernel.action import Action
    from deskshell.kernel.context import Progress
    from deskshell.kernel.report import TaskReport

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Desktop:
    """One state folder, opened for reading or for writing."""

    def __init__(
        self, settings: Settings, kinds: Mapping[str, type[Action]], progress: Progress | None
    ) -> None:
        self.settings = settings
        self.folder = StateFolder(settings.home)
        self._kinds = kinds
        self._progress = progress or Quiet()
        self._lock = TaskLock(self.folder.lock_path)

    def reading(self) -> Desk:
        """For readers: no lock, nothing created. Raises StateFolderError when the folder is not safe."""
        self.folder.check()
        return Desk(self.folder, Journal(self.folder), self._kinds)

    @contextmanager
    def writing(
        self, what: str, secrets: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Desk, list[TaskReport]]]:
        """For the one writer (I3): lock taken, journal open, anything a crash left closed first.

        Yields the desk and the reports of tasks that were closed.

        Raises:
            Busy: another task holds the lock.
            JournalDamaged: the journal contradicts itself.
            StateFolderError: the state folder cannot be used.
        """
        self.folder.create()
        with self._lock.acquire(what=what, wait_s=self.settings.lock_wait_s):
            journal = Journal(self.folder, max_bytes=self.settings.journal_max_bytes)
            journal.open()
            try:
                desk = Desk(
                    self.folder,
                    journal,
                    self._kinds,
                    progress=self._progress,
                    secrets=secrets or {},
                    max_copy=self.settings.max_copy,
                    landlock=self.settings.landlock,
                )
                with heeding_signals(desk.stop):
                    recovered = _recover(desk)
                    yield desk, recovered
                with suppress(OSError):  # what was done is done and on record; the next writer rotates
                    journal.rotate_if_needed()
            finally:
                journal.close()

    def holder(self) -> Holder | None:
        """Who is writing now."""
        return self._lock.holder()


def _recover(desk: Desk) -> list[TaskReport]:
    """Close what a crash left open, which is seldom anything."""
    if history.find_open(desk.journal) is None:
        return []
    from deskshell.kernel import recovery

    return recovery.recover(desk)


@contextmanager
def heeding_signals(stop: StopFlag) -> Iterator[None]:
    """Let INT, TERM and HUP only set `stop` for the time of a task; they act at its next safe point."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(signum: int, frame: FrameType | None) -> None:
        del frame
        stop.set(signum)

    before = {each: signal.getsignal(each) for each in _SIGNALS}
    for each, handler in before.items():
        if handler is not signal.SIG_IGN:  # `nohup` asked for it to be ignored
            signal.signal(each, note)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def owner_id() -> str:
    """The local user as journal and plans name it: `uid:1000`."""
    return f"uid:{os.getuid()}" if hasattr(os, "getuid") else f"user:{os.getlogin()}"
