"""A folder and a state folder of one's own; no test here cuts the power, so syncs do nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.desk import Bench
from tests.support.seam import without_syncs


@pytest.fixture(autouse=True)
def no_syncs() -> Iterator[None]:
    """Syncs do nothing."""
    with without_syncs():
        yield


@pytest.fixture
def desk(tmp_path: Path) -> Bench:
    """An empty folder and no state folder yet."""
    return Bench(tmp_path)


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Path]:
    """An empty folder on another file system."""
    if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(tmp_path).st_dev:
        pytest.skip("no second file system: /dev/shm is missing or the same")
    path = Path(tempfile.mkdtemp(prefix="deskshell-test-", dir="/dev/shm"))
    yield path
    shutil.rmtree(path)
