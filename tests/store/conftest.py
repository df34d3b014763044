"""A real state folder, and journals in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    """A state folder that exists."""
    folder = StateFolder(tmp_path / "state")
    folder.create()
    return folder


@pytest.fixture
def journal(state: StateFolder) -> Iterator[Journal]:
    """A journal open for writing; the tests are the only writers, so no lock is taken."""
    journal = Journal(state)
    journal.open()
    yield journal
    journal.close()


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncs do nothing: for tests that open a journal a thousand times and cut no power."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr(os, "fdatasync", lambda fd: None)
