"""What the field cases work with: a shell of one's own, a second file system, and a normal user's shell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.mounts import folder_elsewhere
from tests.support.privileges import as_normal_user
from tests.support.seam import without_syncs
from tests.support.shell import Shell

Result = TypeVar("Result")


@pytest.fixture(autouse=True)
def no_syncs() -> Iterator[None]:
    """No test here cuts the power, and a killed process loses nothing that it wrote: syncs would only take time."""
    with without_syncs():
        yield


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A fresh home and folder; see `Shell`."""
    return Shell.below(tmp_path)


@pytest.fixture
def as_user(normal_folder: Path) -> Callable[[Callable[[Shell], Result]], Result]:
    """`as_user(trial)`: what `trial(shell)` returns, as a normal user in a shell of their own."""

    def call(trial: Callable[[Shell], Result]) -> Result:
        return as_normal_user(lambda: trial(Shell.below(normal_folder)))

    return call


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """An empty folder on another file system, open to everybody."""
    with folder_elsewhere(tmp_path) as path:
        path.chmod(0o777)
        yield path


@pytest.fixture
def wide(shell: Shell, elsewhere: Path) -> Shell:
    """A shell whose skills may work on the other file system, too."""
    shell.also = (elsewhere,)
    return shell
