"""Several processes at one journal."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal
from deskshell.store.lock import TaskLock
from tests.store.samples import texts
from tests.support.process import CHECKOUT

WRITE = """
import sys
from pathlib import Path
from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal
from deskshell.store.lock import TaskLock

state = StateFolder(Path(sys.argv[1]))
state.create()
journal = Journal(state, max_bytes=700)
for number in range(int(sys.argv[3])):
    with TaskLock(state.lock_path).acquire(what="append", wait_s=120):
        journal.open()
        journal.append_object({"text": f"{sys.argv[2]}-{number}"})
        journal.sync()
        journal.rotate_if_needed()
        journal.close()
    print(number, flush=True)
"""


def writer(state: StateFolder, name: str, lines: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITE, str(state.path), name, str(lines)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_many_writers_and_rotations_lose_no_line_and_double_none(state: StateFolder) -> None:
    """I3 and I4. F26: processes rotated the same log, and some went on writing into the renamed file."""
    writers = [writer(state, str(number), 50) for number in range(8)]
    seen = 0
    while any(child.poll() is None for child in writers):
        lines = [line["seq"] for _, line in Journal(state).forward()]  # a reader takes no lock
        assert lines == list(range(1, len(lines) + 1))
        assert len(lines) >= seen, "what was read once is there for good"
        seen = len(lines)
    for child in writers:
        child.communicate()
    assert [child.returncode for child in writers] == [0] * 8

    journal = Journal(state)

    found = texts(journal.forward())
    assert sorted(found) == sorted(f"{name}-{number}" for name in range(8) for number in range(50))
    for name in range(8):
        assert [text for text in found if text.startswith(f"{name}-")] == [f"{name}-{n}" for n in range(50)]
    assert len(journal.segments()) > 50
    assert journal.verify().ok
    assert journal.verify().torn == []


@pytest.mark.slow
def test_a_writer_killed_at_any_time_leaves_a_journal_that_goes_on(state: StateFolder) -> None:
    """I3 and I4."""
    acknowledged: list[str] = []
    for name in range(12):
        child = writer(state, str(name), 1000)
        assert child.stdout is not None
        acknowledged += [f"{name}-{child.stdout.readline().strip()}" for _ in range(3 + name)]
        child.send_signal(signal.SIGKILL)
        child.communicate()

        with TaskLock(state.lock_path).acquire(what="test"):
            journal = Journal(state)
            journal.open()
            journal.close()
        assert set(acknowledged) <= set(texts(journal.forward()))
        assert journal.verify().ok
