"""The lock between real processes: it goes with its holder, and asking who holds it disturbs nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deskshell.errors import Busy, StateFolderError
from deskshell.store.folder import StateFolder
from deskshell.store.lock import TaskLock
from tests.support.process import CHECKOUT

HOLD = """
import sys
from pathlib import Path
from deskshell.store.lock import TaskLock

with TaskLock(Path(sys.argv[1])).acquire(what="run downloads-cleanup"):
    print("held", flush=True)
    sys.stdin.readline()
"""

FORK_AND_DIE = """
import os, sys
from pathlib import Path
from deskshell.store.lock import TaskLock

with TaskLock(Path(sys.argv[1])).acquire(what="run a"):
    if os.fork() == 0:
        print("forked", flush=True)
        sys.stdin.readline()  # outlives the holder
        os._exit(0)
    os.kill(os.getpid(), 9)
"""


@contextmanager
def process(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        yield child
        child.kill()


def said(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


@pytest.fixture
def lock(state: StateFolder) -> TaskLock:
    return TaskLock(state.lock_path)


def test_a_second_process_is_told_who_holds_the_lock(lock: TaskLock) -> None:
    """I3: one writer; the other learns whom it waits for."""
    with process(HOLD, lock.path) as other:
        assert said(other) == "held"

        with pytest.raises(Busy) as caught, lock.acquire(what="undo", wait_s=0):
            pytest.fail("two holders")

    message = str(caught.value)
    assert message.startswith(f"another task holds the lock: pid {other.pid} `run downloads-cleanup` on ")
    assert ", since " in message
    assert caught.value.exit_code == 4


def test_the_lock_of_a_killed_process_is_free(lock: TaskLock) -> None:
    """I3: a dead holder holds nothing."""
    with process(HOLD, lock.path) as other:
        assert said(other) == "held"
        other.send_signal(signal.SIGKILL)
        other.wait()

        with lock.acquire(what="undo", wait_s=0):
            holder = lock.holder()

    assert holder is not None
    assert (holder.pid, holder.command) == (os.getpid(), "undo")


def test_a_writer_waits_a_moment(lock: TaskLock) -> None:
    with process(HOLD, lock.path) as other:
        assert said(other) == "held"
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()

        with lock.acquire(what="undo", wait_s=30):
            holder = lock.holder()

    assert holder is not None
    assert holder.command == "undo"


def test_asking_for_the_holder_creates_nothing(tmp_path: Path) -> None:
    assert TaskLock(tmp_path / "lock").holder() is None
    assert os.listdir(tmp_path) == []


def test_there_is_no_holder_before_and_after(lock: TaskLock) -> None:
    with lock.acquire(what="run"):
        assert lock.holder() is not None

    assert lock.holder() is None
    assert lock.path.exists(), "deleting it would let two processes lock two files of one name"


def test_asking_for_the_holder_never_makes_a_writer_wait(lock: TaskLock) -> None:
    with lock.acquire(what="run"):
        pass
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            lock.holder()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(300):
            with lock.acquire(what="run", wait_s=0):
                pass
    finally:
        done.set()
        asking.join()


def test_two_holders_within_one_process_exclude_each_other(lock: TaskLock) -> None:
    """The MCP server has several threads; locks by process would let both in."""
    with (
        lock.acquire(what="run a"),
        pytest.raises(Busy, match="`run a`"),
        TaskLock(lock.path).acquire(what="run b", wait_s=0),
    ):
        pytest.fail("two holders")


def test_an_error_in_the_block_releases_the_lock(lock: TaskLock) -> None:
    with pytest.raises(ZeroDivisionError), lock.acquire(what="run"):
        raise ZeroDivisionError

    assert lock.holder() is None


def test_a_forked_child_does_not_keep_the_lock_of_a_killed_holder(lock: TaskLock) -> None:
    with process(FORK_AND_DIE, lock.path) as other:
        assert said(other) == "forked"
        other.wait()

        with lock.acquire(what="undo", wait_s=10):
            assert lock.holder() is not None
        assert other.stdin is not None
        other.stdin.close()


def test_a_forked_child_that_leaves_the_block_does_not_unlock(lock: TaskLock) -> None:
    in_child = "    import os\n    if os.fork() == 0:\n        sys.exit()\n    assert os.wait()[1] == 0\n"
    program = HOLD.replace("    print(", in_child + "    print(")
    with process(program, lock.path) as other:
        assert said(other) == "held"

        holder = lock.holder()

    assert holder is not None
    assert holder.pid == other.pid


def test_a_program_started_by_the_holder_does_not_inherit_the_lock(lock: TaskLock) -> None:
    with lock.acquire(what="run"):
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    try:
        assert lock.holder() is None
    finally:
        assert child.stdin is not None
        child.stdin.close()
        child.wait()


def test_the_record_of_an_earlier_holder_is_not_taken_for_the_present_one(lock: TaskLock) -> None:
    with process(HOLD, lock.path) as other:
        assert said(other) == "held"
    stale = lock.path.read_bytes()
    with lock.acquire(what="run"):
        lock.path.write_bytes(stale)  # as if this process had not come to write its own yet

        holder = lock.holder()

    assert holder is not None
    assert holder.pid == 0
    assert "has not said who it is" in str(holder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]\n", b'{"pid":"x"}\n', b"\xff\n", b"null\n"])
def test_a_broken_record_is_no_error(lock: TaskLock, content: bytes) -> None:
    with lock.acquire(what="run"):
        lock.path.write_bytes(content)

        holder = lock.holder()
        with pytest.raises(Busy), lock.acquire(what="undo", wait_s=0):
            pytest.fail("two holders")

    assert holder is not None
    assert holder.pid == 0


def test_a_link_in_place_of_the_lock_is_refused(lock: TaskLock, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep")
    lock.path.symlink_to(victim)

    with pytest.raises(StateFolderError, match="cannot be opened"), lock.acquire(what="run"):
        pytest.fail("followed a link")

    assert victim.read_text() == "keep"
