"""A shell, and a folder outside of every scope that must stay as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.field.conftest import as_user, elsewhere, no_syncs, shell, wide  # noqa: F401 - fixtures
from tests.support.listing import difference, listing
from tests.support.shell import Shell


@pytest.fixture
def outside(shell: Shell) -> Iterator[Path]:  # noqa: F811 - the fixture of that name
    """A folder beside the scope with a `victim` in it; a test that changes anything in there fails."""
    path = shell.folder.parent / "folder-outside"
    path.mkdir()
    (path / "victim").write_text("precious")
    (path / "t").write_text("precious, too")
    before = listing(path)
    yield path
    assert difference(before, listing(path)) == []
