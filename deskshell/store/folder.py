"""The state folder: where it is, whether it is safe to use, and how it is made."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from deskshell.errors import StateFolderError
from deskshell.store.atomic import sync_folder

_HINT = "choose another folder with `DESKSHELL_HOME=/path/to/folder`"


class StateFolder:
    """The folder with journal, lock, held and kept objects and plans. Making one touches nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal_path = path / "journal.jsonl"
        self.lock_path = path / "lock"
        self.reserve_path = path / "reserve"
        self.held = path / "held"
        self.kept = path / "kept"
        self.plans = path / "plans"

    def __repr__(self) -> str:
        return f"StateFolder({str(self.path)!r})"

    def exists(self) -> bool:
        """True when anything is there under the folder's name, a broken link included."""
        return os.path.lexists(self.path)

    def check(self) -> None:
        """Refuse a state folder that others could have prepared or could change.

        A folder that does not exist passes: there is nothing to read from it.

        Raises:
            StateFolderError: it is a link or no folder, belongs to another user, or its group or
                everybody may write to it; the same for `held`, `kept` and `plans`.
        """
        for path in (self.path, self.held, self.kept, self.plans):
            _check_folder(path)

    def create(self) -> None:
        """Make the folder and its subfolders (mode 0700), durably, and check what is there.

        Raises:
            StateFolderError: it cannot be made (read-only, full, a file in the way), or `check` failed.
        """
        self.check()
        try:
            _make_folders(self.path)
            for path in (self.held, self.kept, self.plans):
                _make_folders(path)
        except OSError as exc:
            raise StateFolderError(
                f"the state folder `{self.path}` cannot be made: {exc.strerror or exc}", hint=_HINT
            ) from exc
        self.check()


def _make_folders(path: Path) -> None:
    """Make `path` and its missing parents; sync the folder above each one made."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another first start was faster
            os.mkdir(folder, 0o700)
        # I2: what is kept in here must still be found after a power cut.
        sync_folder(folder.parent)


def _check_folder(path: Path) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    except OSError as exc:
        raise StateFolderError(
            f"the state folder `{path}` cannot be looked at: {exc.strerror}", hint=_HINT
        ) from exc
    if stat.S_ISLNK(status.st_mode):
        raise StateFolderError(f"the state folder `{path}` is a link", hint=_HINT)
    if not stat.S_ISDIR(status.st_mode):
        raise StateFolderError(f"the state folder `{path}` is not a folder", hint=_HINT)
    if status.st_uid != os.geteuid():
        raise StateFolderError(f"the state folder `{path}` belongs to user {status.st_uid}", hint=_HINT)
    if status.st_mode & 0o022:
        raise StateFolderError(
            f"the state folder `{path}` can be written by others (mode {stat.S_IMODE(status.st_mode):04o})",
            hint=f"take that right away with `chmod go-w {path}`, or {_HINT}",
        )
