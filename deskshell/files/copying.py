"""Verified copies of any object, with all that section "exact" of the kernel's promise lists.

A copy is made under a name that does not exist, never readable by more people than the original, made durable,
read back from the disk and compared. What a failed copy made is taken away again, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from deskshell.files.copying_folder import FolderCopy
from deskshell.files.copying_one import copy_one
from deskshell.files.identity import stat_at
from deskshell.files.reading import hash_file, read_file
from deskshell.files.removing import Measured, measure, object_bytes, remove_object
from deskshell.files.writing import Copied, write_file

__all__ = [
    "Copied",
    "Measured",
    "copy_object",
    "hash_file",
    "measure",
    "object_bytes",
    "read_file",
    "remove_object",
    "write_file",
]

Tick = Callable[[int], None]


def copy_object(src_fd: int, src: bytes, dst_fd: int, dst: bytes, *, tick: Tick | None = None) -> Copied:
    """Copy `src` in the folder `src_fd`, a whole folder too, to the new name `dst` in the folder `dst_fd`.

    Keeps bytes, types, modes, owners, mtimes, extended attributes, ACLs, link texts, holes, and hard links among
    the files of one folder. The content is durable on return; the name `dst` only after a sync of `dst_fd`.

    Args:
        src_fd: the open folder that the original lies in.
        src: its name; a link is copied as a link.
        dst_fd: the open folder for the copy.
        dst: must not exist.
        tick: called with a number of bytes every few MiB; may raise to stop, and then nothing is left behind.

    Raises:
        FileNotFoundError, FileExistsError: `src` is not there, or `dst` is.
        StepFailed: a socket; a device unless root copies; another mount inside the folder; the original changed
            while it was read; the copy read back differs.
        OSError: ENOSPC, EACCES, EIO, …
    """
    found = stat_at(src_fd, src)
    if found is not None and found.kind == "folder":
        return FolderCopy(src_fd, src, dst_fd, dst, tick=tick).run()
    return copy_one(src_fd, src, dst_fd, dst, tick=tick)
