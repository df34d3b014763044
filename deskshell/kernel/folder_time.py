"""The modification times of folders, known by the folder itself: one path may have belonged to several."""

from __future__ import annotations

from deskshell.kernel.heirs import Heirs
from deskshell.slotted import NamedTuple


class FolderTime(NamedTuple):
    """When a folder last changed (`mtime_ns`), and its inode number, 0 where those are not stable."""

    mtime_ns: int
    ino: int


class KnownTimes:
    """Times of folders, looked up by object first, and by path where only one folder had it."""

    def __init__(self) -> None:
        self._by_ino: dict[int, int] = {}
        self._by_path: dict[bytes, FolderTime | None] = {}

    def note(self, path: bytes, time: FolderTime, *, over: bool) -> None:
        """The folder at `path` had this time; what is known of it already holds unless `over`."""
        if time.ino and (over or time.ino not in self._by_ino):
            self._by_ino[time.ino] = time.mtime_ns
        known = self._by_path.setdefault(path, time)
        if known is not None and known.ino != time.ino:
            self._by_path[path] = None
        elif known is not None and over:
            self._by_path[path] = time

    def of(self, path: bytes, ino: int, heirs: Heirs) -> int | None:
        """What is known of the folder `ino`, or of one for which it stands, at `path` now; None for nothing."""
        found = self.of_object(ino, heirs)
        if found is None and (known := self._by_path.get(path)) is not None:
            return known.mtime_ns
        return found

    def of_object(self, ino: int, heirs: Heirs) -> int | None:
        """The same, but not by path."""
        if ino in self._by_ino:
            return self._by_ino[ino]
        return next((self._by_ino[each] for each in heirs.stands_for(ino) if each in self._by_ino), None)
