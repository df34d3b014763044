"""A kill at any point of an apply: the plan is then applied whole, or failed and taken back, or still open."""

from __future__ import annotations

import os
import signal

import pytest

from deskshell.files import moving
from deskshell.store import atomic
from tests.support.listing import difference, listing
from tests.support.planning import Shell, move, write

pytestmark = pytest.mark.slow


def _die_at(count: int, calls: list[str]) -> None:
    """Kill this process at the `count`-th durable change: a rename of the user's, or a sync of the journal."""
    left = [count]

    def counted(real):
        def call(*args, **more):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **more)

        return call

    moving.rename = counted(moving.rename)
    os.fdatasync = counted(os.fdatasync)
    os.fsync = counted(os.fsync)


def _killed(shell: Shell, plan_id: str, count: int) -> bool:
    """Apply in a process of its own that dies at its `count`-th durable change; False when it ended first."""
    pid = os.fork()
    if pid == 0:
        try:
            _die_at(count, [])
            shell.apply(plan_id)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def _plan(shell: Shell):
    shell.make({"a.txt": "A", "b.txt": "B"})
    return shell.plan(move("a.txt", "new/a.txt"), write("b.txt", "other"), write("new/c.txt", "C"))


@pytest.fixture(scope="module")
def after(tmp_path_factory):
    """The folder as it is after the plan, contents only."""
    shell = Shell(tmp_path_factory.mktemp("whole"))
    shell.apply(_plan(shell))
    return {name: (entry.type, entry.sha256) for name, entry in shell.listing().items()}


def test_a_kill_at_each_durable_change_leaves_all_or_nothing(tmp_path, after):
    counts = iter(range(1, 100))
    seen = set()
    for count in counts:
        top = tmp_path / str(count)
        top.mkdir()
        shell = Shell(top)
        plan_id = _plan(shell).stored.plan_id
        before = shell.listing()
        if not _killed(shell, plan_id, count):
            break

        outcome = shell.apply(plan_id)

        seen.add(outcome.status)
        again = shell.apply(plan_id)
        if outcome.status == "failed":
            assert difference(before, shell.listing()) == []
            assert again.status == "failed"
        else:
            assert outcome.status in ("applied", "already_applied")
            contents = {name: (entry.type, entry.sha256) for name, entry in listing(shell.root).items()}
            assert contents == after
            assert again.status == "already_applied"
        assert len(shell.begins()) == 1
    assert count > 8
    assert seen == {"applied", "failed", "already_applied"}


def test_a_kill_between_claim_and_first_change_uses_the_plan_up(tmp_path):
    """The begin without an end is decided by recovery: taken back, and never tried again."""
    shell = Shell(tmp_path)
    shell.make({"a.txt": "A"})
    plan_id = shell.plan(move("a.txt", "b.txt")).stored.plan_id
    pid = os.fork()
    if pid == 0:
        moving.rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        try:
            shell.apply(plan_id)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert shell.app().plan_show(plan_id).status == "running"

    outcome = shell.apply(plan_id)

    assert outcome.status == "failed"
    assert "interrupted" in outcome.report.error
    assert (shell.root / "a.txt").read_text() == "A"


def test_a_kill_while_the_plan_is_stored_leaves_no_plan(tmp_path):
    shell = Shell(tmp_path)
    pid = os.fork()
    if pid == 0:
        atomic.rename_no_replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        try:
            shell.plan(write("note", "x"))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)

    assert shell.app().plans() == []
