"""The modification times of folders, known by the folder itself: one path may have belonged to several."""

from __future__ import annotations

from itertools import chain

from deskshell.files.identity import ObjectKey
from deskshell.kernel.heirs import Heirs
from deskshell.slotted import NamedTuple


class FolderTime(NamedTuple):
    """When a folder last changed (`mtime_ns`), and which it is: inode number (0 where not stable) and birth time."""

    mtime_ns: int
    ino: int
    birth_ns: int

    @property
    def folder(self) -> ObjectKey | None:
        """The folder itself, to look it up by; None where it cannot be told by number."""
        return (self.ino, self.birth_ns) if self.ino else None


class KnownTimes:
    """Times of folders, looked up by object first, and by path where only one folder had it."""

    def __init__(self) -> None:
        self._by_folder: dict[ObjectKey, int] = {}
        self._by_path: dict[bytes, FolderTime | None] = {}

    def note(self, path: bytes, time: FolderTime, *, over: bool) -> None:
        """The folder at `path` had this time; what is known of it already holds unless `over`."""
        folder = time.folder
        if folder is not None and (over or folder not in self._by_folder):
            self._by_folder[folder] = time.mtime_ns
        known = self._by_path.setdefault(path, time)
        if known is not None and known.folder != folder:
            self._by_path[path] = None
        elif known is not None and over:
            self._by_path[path] = time

    def of(self, path: bytes, folder: ObjectKey | None, heirs: Heirs) -> int | None:
        """What is known of `folder`, or of one for which it stands, at `path` now; None for nothing."""
        found = self.of_object(folder, heirs)
        if found is None and (known := self._by_path.get(path)) is not None:
            return known.mtime_ns
        return found

    def of_object(self, folder: ObjectKey | None, heirs: Heirs) -> int | None:
        """The same, but not by path."""
        if folder is None:
            return None
        every = chain((folder,), heirs.stands_for(folder))
        return next((self._by_folder[each] for each in every if each in self._by_folder), None)
