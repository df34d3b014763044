"""Worlds are made in memory where there is a file system for it: nothing here cuts the power."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.seam import without_syncs

_MEMORY = "/dev/shm"


@pytest.fixture
def ram(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, or an ordinary one."""
    if not os.access(_MEMORY, os.W_OK):
        yield tmp_path
        return
    path = Path(tempfile.mkdtemp(prefix="deskshell-test-", dir=_MEMORY))
    yield path
    shutil.rmtree(path)


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """The system closes what a dead process had open; a simulated death leaves that to this fixture."""
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    yield
    gc.collect()
    for name in set(os.listdir("/proc/self/fd")) - before if before else ():
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith(
                ("/dev/shm/deskshell-test-", tempfile.gettempdir())
            ):
                os.close(int(name))


@pytest.fixture(autouse=True)
def no_syncs() -> Iterator[None]:
    """Syncs are counted by the seam, and never done."""
    with without_syncs():
        yield
