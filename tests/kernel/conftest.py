"""A folder and a state folder of one's own; no test here cuts the power, so syncs do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.desk import Bench
from tests.support.mounts import folder_elsewhere
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
    with folder_elsewhere(tmp_path) as path:
        yield path
