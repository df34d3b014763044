"""Other file systems: a folder on one that is there already; and, as root, mounts that nobody else sees, and images."""

from __future__ import annotations

import ctypes
import os
import pickle
import shutil
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.trees import remove_closed

Result = TypeVar("Result")
_CLONE_NEWNS = 0x20000


@contextmanager
def folder_elsewhere(than: Path) -> Iterator[Path]:
    """An empty folder on another file system than the folder `than`, gone afterwards.

    Skips the test on a machine where the shared memory of Linux is no such thing: two file systems cannot be made up.
    """
    memory = "/dev/shm"
    if not os.path.isdir(memory) or os.stat(memory).st_dev == os.stat(than).st_dev:
        pytest.skip(f"no second file system: {memory} is missing or the same")
    path = Path(tempfile.mkdtemp(prefix="deskshell-test-", dir=memory))
    try:
        yield path
    finally:
        remove_closed(path)


def in_own_mounts(call: Callable[[], Result]) -> Result:
    """What `call()` returns, called in a child that may mount without anybody else seeing it (needs root).

    The mounts end with the child. An error there is raised here as an AssertionError with its text.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS) != 0:
                raise OSError(ctypes.get_errno(), "unshare")
            subprocess.run(["mount", "--make-rprivate", "/"], check=True)
            answer: tuple[object, str] = (call(), "")
        except BaseException as exc:
            answer = (None, "".join(traceback.format_exception(exc)))
        with os.fdopen(writer, "wb") as file:
            pickle.dump(answer, file)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        result, error = pickle.load(file)
    os.waitpid(pid, 0)
    assert not error, error
    return result  # type: ignore[no-any-return]  # it came through pickle


def mount_tmpfs(place: Path, *, size: str, options: str = "") -> None:
    """Mount an empty tmpfs of `size` (such as `1m`) on the new folder `place`, inside `in_own_mounts`."""
    place.mkdir()
    more = f",{options}" if options else ""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}{more}", "tmpfs", place], check=True)


def mount_image(
    kind: str, image: Path, place: Path, size_mib: int = 160, *, make: tuple[str, ...] = ()
) -> None:
    """Make a file system of `kind` (ext4, xfs, btrfs) in the file `image` and mount it, inside `in_own_mounts`.

    `make` are further arguments of mkfs.
    """
    with open(image, "xb") as file:
        file.truncate(size_mib << 20)
    quiet = "-q" if kind != "btrfs" else "--quiet"
    subprocess.run([f"mkfs.{kind}", quiet, *make, str(image)], check=True, capture_output=True)
    place.mkdir()
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)


def remount_read_only(place: Path) -> None:
    """Make the mount on `place` read-only, as a failing disk does."""
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)


def stop_taking_writes(place: Path) -> None:
    """Make the ext4 on `place` refuse every write from now on, files open for writing or not: its journal aborts."""
    subprocess.run(["mount", "-o", "remount,abort", str(place)], check=True)


def bind(source: Path, place: Path) -> None:
    """Let the folder `place` show `source`, inside `in_own_mounts`."""
    subprocess.run(["mount", "--bind", str(source), str(place)], check=True)


def has_mkfs(kind: str) -> bool:
    """Whether this machine can make a file system of `kind`."""
    return shutil.which(f"mkfs.{kind}", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is not None
