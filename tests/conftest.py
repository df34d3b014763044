"""Fixtures of all tests: a home of one's own, a folder to work on, deskshell as a command."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.leftovers import Leftovers, left_since
from tests.support.privileges import NORMAL_GID, NORMAL_UID, is_root
from tests.support.process import Completed, Home, run_deskshell
from tests.support.trees import remove_closed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# No test judges speed: a busy machine must not fail one. The examples are the same in every run, so that a failure
# is the change's; `--hypothesis-profile=explore` looks for new ones (`print_blob` lets one be repeated elsewhere).
_ALL = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("deskshell", derandomize=True, **_ALL)
settings.register_profile("explore", derandomize=False, **_ALL)
settings.load_profile("deskshell")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `root` are left out for a normal user, and say so in the summary."""
    if is_root():
        return
    for item in items:
        if item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason="needs root"))


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a descriptor open or a process running: the kernel works with both by hand."""
    before = Leftovers.now()
    yield
    assert left_since(before) == []


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A fresh HOME and state folder (not made yet), also as this process's environment, in UTC, without colour."""
    fresh = Home.below(tmp_path)
    for name in list(os.environ):
        if name.startswith(("XDG_", "DESKSHELL_")):
            monkeypatch.delenv(name)
    for name in ("HOME", "DESKSHELL_HOME", "TZ", "NO_COLOR"):
        monkeypatch.setenv(name, fresh.environment()[name])
    time.tzset()
    yield fresh
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to work on, apart from the home and the state folder."""
    path = tmp_path / "folder"
    path.mkdir()
    return path


@pytest.fixture
def normal_folder() -> Iterator[Path]:
    """An empty folder that belongs to the user of `as_normal_user`, reachable for them."""
    path = Path(tempfile.mkdtemp(prefix="deskshell-test-"))
    if is_root():
        os.chown(path, NORMAL_UID, NORMAL_GID)
    yield path
    remove_closed(path)


@pytest.fixture
def cli(home: Home, folder: Path) -> Callable[..., Completed]:
    """`cli("run", "downloads-cleanup", …)`: deskshell as a process in `home`, working in `folder`."""
    return functools.partial(run_deskshell, home=home, cwd=folder)
