"""Durable changes to single files and folder entries of the state folder."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

#: Errors by which a file system says that it has no hard links.
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)

#: Errors by which a folder says that it cannot be synced at all, as opposed to having failed to.
_NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


def sync_data(fd: int) -> None:
    """Make the bytes and the size of the file at `fd` durable.

    Raises:
        OSError: the sync failed. What was written since the last sync may be lost, now or later;
            a second call that succeeds proves nothing.
    """
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # fsync alone leaves the data in the drive's cache
    else:
        os.fdatasync(fd)


def sync_folder(path: str | Path) -> None:
    """Make the entries of the folder `path` durable.

    Raises:
        OSError: the sync failed, or the folder cannot be opened. A file system without folder
            syncs is no failure.
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as exc:
        if exc.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(fd)


def rename_no_replace(source: str | Path, target: str | Path) -> None:
    """Rename the file `source` to `target`, which must not exist.

    A kill in the middle can leave one file under both names, never a file under none. On a file
    system without hard links the test for `target` and the rename are two calls: such folders rely
    on the lock alone.

    Raises:
        FileExistsError: `target` exists; nothing was changed.
    """
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as exc:
        if exc.errno not in _NO_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from exc
        os.rename(source, target)
    else:
        os.unlink(source)


def write_synced(path: str | Path, data: bytes) -> None:
    """Create the file `path` (mode 0600) with `data` and sync it; not its folder.

    Raises:
        FileExistsError: `path` exists.
        OSError: the data could not be written or synced; nothing is left under `path`.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            sync_data(fd)
        finally:
            os.close(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise


def write_atomically(path: str | Path, data: bytes, *, replace: bool = True) -> None:
    """Give the file `path` (mode 0600) the content `data`, wholly or not at all, and durably.

    Args:
        path: the file; its folder must exist.
        data: all of the new content.
        replace: with False an existing `path` is refused and stays as it is.

    Raises:
        FileExistsError: `replace` is False and `path` exists.
        OSError: the content could not be made durable. `path` is as before, unless the sync of the
            folder itself failed.
    """
    folder, name = os.path.split(os.fspath(path))
    # The leading dot keeps half-written files out of every listing; the random part keeps two
    # writers that share no lock apart.
    temporary = os.path.join(folder, f".{name}.{os.urandom(4).hex()}.new")
    write_synced(temporary, data)
    try:
        if replace:
            os.rename(temporary, path)
        else:
            rename_no_replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder or ".")
