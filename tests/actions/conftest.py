"""One world to act in, and a folder on another file system."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import OTHER_FILE_SYSTEM
from tests.contract.harness import World


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Path]:
    """An empty folder on another file system than `tmp_path`."""
    if not os.path.isdir(OTHER_FILE_SYSTEM) or os.stat(OTHER_FILE_SYSTEM).st_dev == os.stat(tmp_path).st_dev:
        pytest.skip(f"needs a second file system at {OTHER_FILE_SYSTEM}")
    folder = Path(tempfile.mkdtemp(prefix="deskshell-test-", dir=OTHER_FILE_SYSTEM))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """The user's folder and the state folder on one file system."""
    return World(tmp_path / "world", tmp_path / "state")
