"""The modification times of folders that a task changes: noted before, given back afterwards.

A folder is known by its path, and a task may rename folders: so what was noted moves along, and a path
that was freed is noted anew when it is used again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from deskshell.files.paths import is_within
from deskshell.kernel.effects import Drop, Effect, Move
from deskshell.kernel.folder_time import FolderTime, KnownTimes
from deskshell.kernel.heirs import Heirs
from deskshell.slotted import NamedTuple


class _Noted(NamedTuple):
    folder: bytes
    time: FolderTime


class _Moved(NamedTuple):
    src: bytes | None  # None: out of holding, or made
    dst: bytes | None  # None: into holding


class FolderTimes:
    """What one transaction notes of folders, in the order in which it changes them."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()
        self._events: list[_Noted | _Moved] = []

    def is_new(self, folder: bytes) -> bool:
        """True for a folder of the user's tree whose time is still to be noted."""
        return folder[:1] == b"/" and folder not in self._known

    @property
    def known(self) -> frozenset[bytes]:
        """Folders that were noted and still have the same path."""
        return frozenset(self._known)

    def note(self, folder: bytes, time: FolderTime) -> None:
        """`folder` has this time, and is about to be changed for the first time."""
        self._known.add(folder)
        self._events.append(_Noted(folder, time))

    def moved(self, effects: Iterable[Effect]) -> None:
        """Folders that `effects` renamed are elsewhere now, with all that is in them."""
        for effect in effects:
            if isinstance(effect, Move) and effect.id.kind == "folder":
                self._went(*(path if path[:1] == b"/" else None for path in (effect.src, effect.dst)))
            elif isinstance(effect, Drop) and effect.id.kind == "folder":
                self._went(effect.path, None)

    def _went(self, src: bytes | None, dst: bytes | None) -> None:
        ends = [end for end in (src, dst) if end is not None]
        self._known = {each for each in self._known if not any(is_within(each, end) for end in ends)}
        self._events.append(_Moved(src, dst))

    def to_set(
        self, before: KnownTimes, after: KnownTimes, kept_in: Collection[bytes], heirs: Heirs
    ) -> tuple[dict[bytes, int], list[bytes]]:
        """Times to give back by where the folders are now, and folders that others have changed since.

        Args:
            before: times before the recorded task's first change.
            after: times as that task left the folders.
            kept_in: folders in which something of that task remains: they keep their time.
            heirs: the copies that stand for folders which were dropped.
        """
        times: dict[bytes, int] = {}
        others: list[bytes] = []
        for event in self._events:
            if isinstance(event, _Moved):
                times = _relocated(times, event)
                continue
            folder, time = event
            if folder in times and before.of_object(time.folder, heirs) is not None:
                continue  # this very folder, under another path before
            # What it is to have, and had, but for work undone inside since.
            mtime_ns = times.pop(folder, time.mtime_ns)
            was = before.of(folder, time.folder, heirs)
            if was is None or folder in kept_in:
                continue
            if mtime_ns == after.of(folder, time.folder, heirs):
                times[folder] = was
            else:
                others.append(folder)
        return times, others


def _relocated(times: Mapping[bytes, int], event: _Moved) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for folder, mtime_ns in times.items():
        if event.src is None or not is_within(folder, event.src):
            found[folder] = mtime_ns
        elif event.dst is not None:
            found[event.dst + folder[len(event.src) :]] = mtime_ns
    return found
