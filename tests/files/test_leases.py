"""A file that somebody writes to is told from one that nobody does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deskshell.files.leases import is_being_written

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="leases are Linux's")


def test_a_file_open_for_writing_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with open(path, "w"), open(path, "rb") as reader:
        assert is_being_written(reader.fileno())


def test_a_file_open_for_reading_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    with open(path, "rb"), open(path, "rb") as reader:
        assert not is_being_written(reader.fileno())
        assert not is_being_written(reader.fileno())


def test_asking_leaves_nothing_that_would_stop_a_writer(tmp_path: Path) -> None:
    """A lease that stayed would make the next open for writing wait."""
    path = tmp_path / "a"
    path.write_text("x")
    with open(path, "rb") as reader:
        assert not is_being_written(reader.fileno())
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        os.close(fd)
