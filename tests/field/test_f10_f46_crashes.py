"""Kills at any moment, torn journals, several processes, clocks that go back: F10, F11, F26, F37, F46."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.support.seam import Kill, seam
from tests.support.shell import Shell, Step, delete, move, write

MOST_POINTS = 200


def killed_at(point: int, call: Callable[[], object]) -> bool:
    """Call in a child that is killed for real right before its change number `point`; False when it made fewer."""
    pid = os.fork()
    if pid == 0:
        with seam(Kill(point, for_real=True)):
            call()
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


FILES = {"a": "A", "b": "B", "d/c": "C", "d/e": "E"}
PLANS: dict[str, list[Step]] = {
    "moves and writes": [move("a", "new/a"), write("b", "B2"), delete("d")],
    "a swap": [move("a", "b"), move("b", "a")],
}


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS)
def test_f10_f46_a_kill_at_any_change_is_put_right_by_the_next_command(tmp_path: Path, plan: str) -> None:
    """F10: nothing older is undone in its place. F46: no object of the user's stays under a foreign name."""
    for point in range(MOST_POINTS):
        top = tmp_path / str(point)
        top.mkdir()
        shell = Shell.below(top)
        shell.make(FILES)
        older = shell.run(write("older", "older"))["taskId"]
        before = shell.listing()
        skill = shell.skill(*PLANS[plan])
        killed = killed_at(point, lambda: shell("run", skill, "--mode", "apply", code=None))  # noqa: B023 - called at once
        if killed:
            _everything_is_somewhere(shell)

        pending = shell.tasks()[0]["status"] == "recovery pending"

        report = shell.undo("--last", "1")

        named = [task["taskId"] for task in report["recovered"] + report["tasks"]]
        assert len(named) == 1
        assert bool(report["recovered"]) == pending
        if named == [older]:  # the kill came before the new task was on record
            assert not (shell.folder / "older").exists()
        else:
            assert shell.changes(before) == [], point
        if not killed:
            return
    pytest.fail("the plan makes more changes than this test has points")


def _everything_is_somewhere(shell: Shell) -> None:
    """Every content that was there is still in the folder or held."""
    kept = [path for place in (shell.folder, shell.home.state / "held") for path in place.rglob("*")]
    texts = {path.read_text(errors="replace") for path in kept if path.is_file()}
    assert texts >= set(FILES.values())


def test_f10_readers_say_that_a_task_was_interrupted(shell: Shell) -> None:
    shell.make({"a": "A"})
    skill = shell.skill(move("a", "d/e/f"))
    for point in range(MOST_POINTS):
        if not killed_at(point, lambda: shell("run", skill, "--mode", "apply", code=None)):
            pytest.fail("no kill left a task open")
        if shell.tasks() and shell.tasks()[0]["status"] == "recovery pending":
            break

    for command in (("log",), ("show", shell.tasks()[0]["taskId"]), ("undo", "--check")):
        assert "was interrupted" in shell(*command, code=None).err


def test_f11_half_a_line_at_the_end_costs_only_itself(shell: Shell) -> None:
    shell.make({"a": "A", "b": "B"})
    old = shell.run(write("a", "A2"))["taskId"]
    torn = shell.run(write("b", "B2"))["taskId"]
    path = Path(shell.json("journal", "path")["paths"][-1])
    data = path.read_bytes()
    path.write_bytes(data[: -len(data.rstrip(b"\n").rpartition(b"\n")[2]) // 2 - 1])

    new = shell.run(write("c", "C"))

    listed = [task["taskId"] for task in shell.tasks()]
    assert listed[0] == new["taskId"]
    assert set(listed) == {old, torn, new["taskId"]}
    assert any(
        torn in note for note in new["notes"]
    )  # its end was torn off: it was interrupted, and taken back
    verified = shell.json("journal", "verify")
    assert verified["ok"]
    assert len(verified["torn"]) == 1
    shell.undo("--task", new["taskId"])
    shell.undo("--task", old)
    assert (shell.read("a"), shell.read("b")) == ("A", "B")


@pytest.mark.slow
def test_f26_eight_processes_rotate_one_journal_and_lose_nothing(shell: Shell) -> None:
    """Each of 40 tasks is there once, in order, over many files; and all of it is undone in one go."""
    shell.env |= {"DESKSHELL_JOURNAL_MAX_BYTES": "2000", "DESKSHELL_LOCK_WAIT": "120s"}
    before = shell.listing()
    children = []
    for worker in range(8):
        pid = os.fork()
        if pid == 0:
            for n in range(5):
                step = write(f"{worker}-{n}", "x")
                shell("run", shell.skill(step, name=f"w{worker}"), "--mode", "apply")
            os._exit(0)
        children.append(pid)
    for pid in children:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    ids = [line["taskId"] for line in shell.lines() if line.get("type") == "begin"]
    assert len(ids) == len(set(ids)) == 40
    numbers = [int(each.removeprefix("task-")) for each in ids]
    assert numbers == sorted(numbers)
    assert len(shell.json("journal", "path")["paths"]) > 10
    assert shell.json("journal", "verify")["ok"]
    assert len(shell.names()) == 40
    report = shell.undo("--since", "1h")
    assert report["rolledBack"] == 40
    assert [line for line in shell.changes(before) if "mtime" not in line] == []


def test_f37_the_order_is_that_of_the_journal_not_of_the_clock(shell: Shell) -> None:
    shell.make({"a": "0"})
    noon_ns = time.time_ns()

    def at(hours: float, call: Callable[[], Any]) -> Any:
        now_ns = round(noon_ns + hours * 3600e9)
        with mock.patch.object(time, "time_ns", return_value=now_ns):
            return call()

    first = at(0, lambda: shell.run(write("a", "1")))["taskId"]
    second = at(-1, lambda: shell.run(write("a", "2")))["taskId"]

    assert [task["taskId"] for task in shell.tasks()] == [second, first]
    assert int(second.removeprefix("task-")) > int(first.removeprefix("task-"))
    report = at(-0.5, lambda: shell.undo("--last", "1"))
    assert [task["taskId"] for task in report["tasks"]] == [second]
    assert shell.read("a") == "1"
    # `--since` goes by the honest clock, and does not stop at the first task that is too old.
    third = at(-3, lambda: shell.run(write("b", "3")))["taskId"]
    report = at(0.1, lambda: shell.undo("--since", "30m"))
    assert [task["taskId"] for task in report["tasks"]] == [first]
    assert third in [task["taskId"] for task in shell.tasks()]
    assert shell.read("a") == "0"


def test_f37_a_clock_that_went_back_does_not_expire_the_newest(shell: Shell) -> None:
    shell.make({"a": "0", "b": "0"})
    shell.run(delete("a"))
    now_ns = time.time_ns()
    with mock.patch.object(time, "time_ns", return_value=now_ns - 90 * 86400 * 10**9):
        newest = shell.run(delete("b"))["taskId"]

    shell("gc", "--keep", "30d")

    assert [entry["verdict"] for entry in shell.undo("--check", "--task", newest)["tasks"][0]["entries"]] == [
        "undoable"
    ]
