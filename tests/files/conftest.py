"""Fixtures of the file tests: open folders, other file systems, mounts of one's own."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskshell.files import syscalls, whereabouts
from deskshell.files.scope import Places
from tests.support.mounts import folder_elsewhere

OpenPlaces = Callable[..., Places]


@pytest.fixture
def fd(folder: Path) -> Iterator[int]:
    """The empty folder to work on, opened."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def normal_fd(normal_folder: Path) -> Iterator[int]:
    """`normal_folder`, opened; a call by `as_normal_user` inherits it."""
    descriptor = os.open(normal_folder, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def opened() -> Iterator[Callable[[Path | bytes], int]]:
    """`opened(path)`: a folder opened until the test ends."""
    descriptors: list[int] = []

    def open_folder(path: Path | bytes) -> int:
        descriptors.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        return descriptors[-1]

    yield open_folder
    for descriptor in descriptors:
        os.close(descriptor)


@pytest.fixture
def deep(folder: Path) -> Iterator[Path]:
    """`folder`, for trees so deep that Python's own rmtree (and so pytest's clean-up) gives up on them."""
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)


@pytest.fixture
def other_device(folder: Path) -> Iterator[Path]:
    """An empty folder on another file system than `folder`."""
    with folder_elsewhere(folder) as path:
        yield path


@pytest.fixture(params=["openat2", "by component", "no /proc"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test runs with all that Linux has, without openat2, and without /proc."""
    if request.param == "by component":
        monkeypatch.setattr(syscalls, "openat2", lambda *args: -errno.ENOSYS)
    elif request.param == "no /proc":
        monkeypatch.setattr(whereabouts, "_PROC_MAGIC", 0)
    return str(request.param)


@pytest.fixture
def top(folder: Path, way: str) -> bytes:
    """The folder as it is really called."""
    return os.path.realpath(os.fsencode(folder))


@pytest.fixture
def places() -> Iterator[OpenPlaces]:
    """`places(*roots, …)`: `Places` closed when the test ends."""
    made: list[Places] = []

    def make(*roots: bytes, **options: object) -> Places:
        made.append(Places(roots, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()
