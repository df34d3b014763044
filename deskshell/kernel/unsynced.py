"""What was changed and is not durable yet, and the syncs that make it so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

from deskshell.errors import Conflict
from deskshell.files import moving
from deskshell.files.identity import stat_at

MANY = 32  # above it one syncfs costs less than an fsync each (`kernel.md`, section 3)


class Unsynced:
    """Objects with new content or metadata, and folders with changed names, in the order of changing.

    Args:
        at: open folder and last name of a path.
        folder_fd: the open folder at a path, None when it is not there.
    """

    def __init__(
        self, at: Callable[[bytes], tuple[int, bytes]], folder_fd: Callable[[bytes], int | None]
    ) -> None:
        self._at = at
        self._folder_fd = folder_fd
        self._objects: dict[bytes, None] = {}
        self._folders: dict[bytes, None] = {}

    def object(self, path: bytes) -> None:
        """The content or metadata of what is at `path` is new."""
        self._objects[path] = None

    def names(self, *paths: bytes) -> None:
        """The names `paths` are new or gone; of a rename the target comes first, and is synced first."""
        for path in paths:
            self._folders[path.rpartition(b"/")[0]] = None

    def folder(self, folder: bytes) -> None:
        """The metadata of `folder` is new."""
        self._folders[folder] = None

    @property
    def folders(self) -> tuple[bytes, ...]:
        """Folders that wait for a sync."""
        return tuple(self._folders)

    def sync(self) -> None:
        """Make it all durable, objects before names: an fsync each for a few, else one syncfs a file system.

        Raises OSError (EIO, ENOSPC, EDQUOT), never to be retried into a success; a folder that does not
        know fsync has its file system synced.
        """
        objects, self._objects = self._objects, {}
        if len(objects) > MANY:
            self._sync_filesystems(path.rpartition(b"/")[0] for path in objects)
        else:
            for path in objects:
                with suppress(FileNotFoundError, NotADirectoryError, Conflict):  # gone with its folder
                    self._sync_object(*self._at(path))
        folders, self._folders = self._folders, {}
        if len(folders) > MANY:
            self._sync_filesystems(folders)
            return
        for folder in folders:
            fd = self._open(folder)
            # Without one: made and taken back, or moved on; then its parent waits for a sync too.
            if fd is not None and not moving.sync_folder(fd):
                moving.sync_filesystem(fd)

    def _open(self, folder: bytes) -> int | None:
        try:
            return self._folder_fd(folder)
        except Conflict:  # somebody put something else in its place
            return None

    def _sync_object(self, fd: int, name: bytes) -> None:
        found = stat_at(fd, name)
        if found is not None and found.kind in (
            "file",
            "folder",
        ):  # opening a fifo or device may wake someone
            try:
                inner = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
            except OSError:  # not readable by us
                pass
            else:
                try:
                    moving.sync_file(inner)
                finally:
                    os.close(inner)
                return
        moving.sync_filesystem(fd)

    def _sync_filesystems(self, folders: Iterable[bytes]) -> None:
        done: set[int] = set()
        for folder in folders:
            fd = self._open(folder)
            if fd is None:
                continue
            dev = os.fstat(fd).st_dev
            if dev not in done:
                done.add(dev)
                moving.sync_filesystem(fd)
