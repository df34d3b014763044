"""Small records that never change once written: stored plans."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from deskshell.errors import NotFound, PlanConflict, StateFolderError
from deskshell.store.atomic import sync_folder, write_atomically

_NAME = re.compile(r"[0-9a-z-]{1,64}")
_SUFFIX = ".json"


class Records:
    """Records by name in one folder. Making a `Records` touches nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, data: bytes) -> None:
        """Store `data` under `name`, durably; the folder must exist.

        Raises:
            PlanConflict: there is a record of that name.
            ValueError: `name` is not 1 to 64 of `0-9a-z-`.
            StateFolderError: the record could not be written or made durable.
        """
        path = self._path(name)
        try:
            write_atomically(path, data, replace=False)
        except FileExistsError as exc:
            raise PlanConflict(f"`{name}` exists already") from exc
        except OSError as exc:
            raise StateFolderError(f"`{name}` cannot be stored: {exc.strerror or exc}") from exc

    def get(self, name: str) -> bytes | None:
        """The data under `name`, or None.

        Raises:
            StateFolderError: there is something under the name that cannot be read, or a link.
            ValueError: `name` is not 1 to 64 of `0-9a-z-`.
        """
        try:
            fd = os.open(self._path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise StateFolderError(f"`{name}` cannot be read: {exc.strerror}") from exc
        with open(fd, "rb") as file:
            return file.read()

    def names(self) -> list[str]:
        """All names, sorted; none when the folder does not exist."""
        try:
            entries = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        stems = (entry.removesuffix(_SUFFIX) for entry in entries if entry.endswith(_SUFFIX))
        return sorted(stem for stem in stems if _NAME.fullmatch(stem))

    def remove(self, name: str) -> None:
        """Remove the record, durably.

        Raises:
            NotFound: there is none of that name.
            ValueError: `name` is not 1 to 64 of `0-9a-z-`.
        """
        try:
            os.unlink(self._path(name))
        except FileNotFoundError as exc:
            raise NotFound(f"there is no `{name}`") from exc
        with contextlib.suppress(FileNotFoundError):
            sync_folder(self.folder)

    def _path(self, name: str) -> Path:
        # Names come from users and agents: no name may reach outside of the folder.
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a record name: {name!r}")
        return self.folder / (name + _SUFFIX)
