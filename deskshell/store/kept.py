"""What the journal's undo needs besides the journal: held objects and verified copies, a folder a task.

`held/<task id>/` has objects moved in by rename, `kept/<task id>/` has verified copies.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

from deskshell.errors import DeskshellError
from deskshell.store.atomic import sync_folder
from deskshell.store.folder import StateFolder

_TASK_ID = r"[0-9A-Za-z_-]{1,64}"
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Kept:
    """Held and kept objects of all tasks. Making one touches nothing."""

    def __init__(self, folder: StateFolder) -> None:
        self._held = folder.held
        self._kept = folder.kept

    def task_folder(self, task_id: str) -> Path:
        """The folder for objects held for the task, made durably (mode 0700) when it is missing.

        Raises:
            OSError: it cannot be made or synced.
            ValueError: not a task id.
        """
        return _make(self._held, task_id)

    def exists(self, task_id: str) -> bool:
        """True when anything may be held or kept for the task."""
        return any(os.path.lexists(_below(parent, task_id)) for parent in (self._held, self._kept))

    def sizes(self) -> dict[str, int]:
        """Bytes on disk by task id; a file with several names in a task counts once."""
        sizes: dict[str, int] = {}
        for parent in (self._held, self._kept):
            with contextlib.suppress(FileNotFoundError), os.scandir(parent) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        sizes[entry.name] = sizes.get(entry.name, 0) + _disk_bytes(entry.path)
        return sizes

    def step_sizes(self, task_id: str) -> dict[int, int]:
        """Bytes on disk that are held and kept for each step of the task, by the step's number."""
        sizes: dict[int, int] = {}
        for parent in (self._held, self._kept):
            # ValueError: an older journal may have other ids; nothing is kept for those.
            with (
                contextlib.suppress(FileNotFoundError, ValueError),
                os.scandir(_below(parent, task_id)) as entries,
            ):
                for entry in entries:
                    number = entry.name.partition(".")[0]
                    if number.lstrip("-").isdecimal():
                        size = entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            size += _disk_bytes(entry.path)
                        sizes[int(number)] = sizes.get(int(number), 0) + size
        return sizes

    def remove_task(self, task_id: str) -> None:
        """Delete all that is held and kept for the task; never follows a link, never leaves the file system.

        What can be deleted is, also when something cannot.

        Raises:
            DeskshellError: something could not be deleted (`chattr +i`, another file system below).
            ValueError: not a task id.
        """
        for parent in (self._held, self._kept):
            path = _below(parent, task_id)
            if os.path.lexists(path):
                _remove_tree(parent, task_id)
                sync_folder(parent)


def _below(parent: Path, task_id: str) -> Path:
    if not re.fullmatch(_TASK_ID, task_id):
        raise ValueError(f"not a task id: {task_id!r}")
    return parent / task_id


def _make(parent: Path, task_id: str) -> Path:
    path = _below(parent, task_id)
    for folder in (parent, path):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue
        sync_folder(folder.parent)  # I2: what undo needs is found again after a power cut
    return path


def _disk_bytes(root: str) -> int:
    """Bytes on disk of the tree at `root`, links not followed; what cannot be entered counts as itself."""
    seen: set[tuple[int, int]] = set()
    total = 0
    folders = [root]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
                    if (status.st_dev, status.st_ino) in seen:
                        continue
                    seen.add((status.st_dev, status.st_ino))
                total += status.st_blocks * 512
                if stat.S_ISDIR(status.st_mode):
                    folders.append(entry.path)
    return total


def _remove_tree(parent: Path, name: str) -> None:
    """Delete the folder `name` in `parent` and all in it, by descriptors and without recursion."""
    errors: list[OSError] = []
    top = os.open(parent, _FOLDER_FLAGS)
    try:
        device = os.fstat(top).st_dev
        _remove_below(top, name, device, errors)
    finally:
        os.close(top)
    if errors:
        raise DeskshellError(
            f"not all that was kept for {name} could be deleted: {errors[0].strerror}",
            hint=f"see what is left in `{parent / name}`",
        ) from errors[0]


def _remove_below(top: int, name: str, device: int, errors: list[OSError]) -> None:
    # One descriptor at a time, so that depth is limited by nothing: down by name, up by "..", which must
    # be the folder we came from.
    current = _enter(top, name, device, errors)
    if current < 0:
        return
    above = [(name, _identity(top))]
    todo = [_empty(current, errors)]
    try:
        while above:
            if todo[-1]:
                child = todo[-1].pop()
                fd = _enter(current, child, device, errors)
                if fd < 0:
                    continue
                above.append((child, _identity(current)))
                os.close(current)
                current = fd
                todo.append(_empty(current, errors))
                continue
            name, identity = above.pop()
            todo.pop()
            fd = os.open("..", _FOLDER_FLAGS, dir_fd=current)
            os.close(current)
            current = fd
            if _identity(current) != identity:
                errors.append(OSError(0, f"the folder around `{name}` was moved away"))
                return
            _note(errors, os.rmdir, name, current)
    finally:
        os.close(current)


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _note(errors: list[OSError], call: Callable[..., None], name: str, folder: int) -> None:
    try:
        call(name, dir_fd=folder)
    except OSError as exc:
        errors.append(exc)


def _enter(folder: int, name: str, device: int, errors: list[OSError]) -> int:
    """Open a subfolder and make it writable, whatever its mode; -1 when that cannot be."""
    try:
        if os.stat(name, dir_fd=folder, follow_symlinks=False).st_dev != device:
            raise OSError(0, f"`{name}` is on another file system")
        try:
            fd = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
        except PermissionError:
            # The folder is ours but closed (mode 0000); nobody else can put a link in its place here.
            os.chmod(name, 0o700, dir_fd=folder)
            fd = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
    except OSError as exc:
        errors.append(exc)
        return -1
    try:
        os.fchmod(fd, 0o700)
    except OSError as exc:
        errors.append(exc)
    return fd


def _empty(folder: int, errors: list[OSError]) -> list[str]:
    """Delete all in `folder` but its subfolders; return their names."""
    folders = []
    for name in os.listdir(folder):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            folders.append(name)
        else:
            _note(errors, os.unlink, name, folder)
    return folders
