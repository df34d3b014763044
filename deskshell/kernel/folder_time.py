"""The modification times of folders, known by the folder itself: one path may have belonged to several."""

from __future__ import annotations

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

    def of(self, path: bytes, time: FolderTime) -> int | None:
        """What is known of the folder that has `time` now and stands at `path`; None for nothing."""
        if time.ino in self._by_ino:
            return self._by_ino[time.ino]
        known = self._by_path.get(path)  # it may have come back as a copy, which is another object
        return None if known is None else known.mtime_ns

    def has(self, ino: int) -> bool:
        """True when this very folder is known."""
        return ino in self._by_ino
