"""Worlds for the contract suite, on each layout of file systems that changes how an action acts."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskshell.files import moving
from tests.contract.harness import World

OTHER_FILE_SYSTEM = "/dev/shm"
LAYOUTS = ("one file system", "no exchange", "state elsewhere")


@pytest.fixture(params=LAYOUTS)
def new_world(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], World]]:
    """Makes fresh worlds: holding reached by rename, without RENAME_EXCHANGE, or only by copies."""
    numbers = itertools.count()
    state = tmp_path
    elsewhere: Path | None = None
    if request.param == "no exchange":
        monkeypatch.setattr(moving, "can_exchange", lambda fd: False)
    elif request.param == "state elsewhere":
        if (
            not os.path.isdir(OTHER_FILE_SYSTEM)
            or os.stat(OTHER_FILE_SYSTEM).st_dev == os.stat(tmp_path).st_dev
        ):
            pytest.skip("needs a second file system at /dev/shm")
        elsewhere = state = Path(tempfile.mkdtemp(prefix="deskshell-test-", dir=OTHER_FILE_SYSTEM))

    def make() -> World:
        number = next(numbers)
        return World(tmp_path / f"world{number}", state / f"state{number}")

    yield make
    if elsewhere is not None:
        shutil.rmtree(elsewhere)
