"""A failure takes the whole task back, and says what could not be taken back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deskshell.app import desktop
from deskshell.files import copying_one
from deskshell.kernel.assertion import Missing
from deskshell.kernel.desk import StopFlag
from tests.support.desk import Bench, Do, chmod, copy, delete, mkdir, move, over, symlink, verdicts, write


def failing(desk: Bench, name: str = "last") -> Do:
    """A step that acts, and then does not hold."""
    return write(name, "x").then(Missing(desk.path(name)))


class Watching:
    """Progress that does something after the step number `at`, as another program would."""

    def __init__(self, at: int, act: object) -> None:
        self.at, self.act, self.count = at, act, 0

    def start(self, what: str, total: int) -> None:
        self.count = 0

    def advance(self, count: int) -> None:
        self.count += count
        if self.count == self.at:
            assert callable(self.act)
            self.act()

    def finish(self) -> None:
        return


def test_a_failing_step_takes_all_of_them_back(desk: Bench) -> None:
    """F03: old bytes, modes and times, for text, binary and empty originals (I6)."""
    desk.make({"a": "a", "empty": "", "bin": b"\x00\xff", "d/x": "x", "l": ("->", "a"), "m": "m"})
    before = desk.listing()

    report = desk.run(
        over("a", "A"),
        over("empty", "E"),
        over("bin", "B"),
        delete("d"),
        move("l", "new/l"),
        chmod("m", 0o600),
        mkdir("made"),
        symlink("s", "x"),
        copy("m", "m2"),
        failing(desk),
    )

    assert (report.status, report.exit_code) == ("rolled-back", 1)
    assert desk.changes(before) == []
    assert [step.status for step in report.steps] == ["rolled-back"] * 9 + ["failed"]
    assert report.steps[-1].taken_back
    assert report.rolled_back == 10, "the failing step counts: its own effect was taken back, too"
    assert desk.held() == []
    assert desk.statuses() == [("run", "rolled-back")]


def test_steps_after_the_failure_never_happen(desk: Bench) -> None:
    """A step of a later batch is skipped, and the report says so."""
    report = desk.run(failing(desk, "first"), over("first", "never"))

    assert [step.status for step in report.steps] == ["failed", "skipped"]
    assert (report.status, desk.names()) == ("rolled-back", [])


def test_what_cannot_be_taken_back_is_left_and_named(desk: Bench) -> None:
    """F04: the rest goes on being taken back, and the report claims no more than the disk shows (I5)."""
    desk.make({"a": "a", "b": "b", "c": "c"})
    edited = desk.root / "a"
    desk.progress = Watching(2, lambda: edited.write_text("by another program"))

    report = desk.run(over("a", "A"), over("b", "B"), failing(desk))

    assert (report.status, report.exit_code) == ("incomplete", 3)
    assert [(left.action_id, left.target) for left in report.left] == [("fs.write:0", desk.path("a"))]
    assert "content changed since" in report.left[0].reason
    assert report.rolled_back == 2
    assert (desk.read("a"), desk.read("b")) == ("by another program", "b")
    assert "last" not in desk.names()
    desk.progress = None
    assert verdicts(desk.check()) == ["changed"], "it stays visible"
    assert verdicts(desk.undo(force=True)) == ["undone"]
    assert desk.read("a") == "a"


def test_final_steps_are_left_standing_and_named(desk: Bench) -> None:
    desk.make({"a": "a"})

    report = desk.run(over("a", "A").final(), write("b", "b"), failing(desk), allow_irreversible=True)

    assert report.status == "incomplete"
    assert [left.reason for left in report.left] == ["this step cannot be undone"]
    assert desk.names() == ["a"]
    assert desk.read("a") == "A"


def test_a_failure_before_anything_changed_is_a_refusal(desk: Bench) -> None:
    """I8: the disk is not as it was planned for, so nothing begins."""
    desk.make({"a": "a"})
    plan = desk.plan(over("a", "A"), write("b", "b"))
    (desk.root / "a").write_text("changed")

    with pytest.raises(Exception, match="the disk changed since the plan was made") as refused:
        desk.run_plan(plan)

    assert getattr(refused.value, "exit_code", 0) == 2
    assert (desk.read("a"), desk.statuses()) == ("changed", [])
    assert desk.held() == []


def test_a_plan_applied_twice_finds_its_own_work(desk: Bench) -> None:
    """I8: at most once, and only to the state it was made from."""
    desk.make({"a": "a"})
    plan = desk.plan(move("a", "b"))
    assert desk.run_plan(plan).status == "ok"

    with pytest.raises(Exception, match="is gone"):
        desk.run_plan(plan)

    assert desk.names() == ["b"]


def test_a_file_that_appears_in_between_is_never_replaced(desk: Bench) -> None:
    """F06: the last look is the rename itself, which cannot replace (I7)."""
    desk.make({"a": "a", "d/": None})
    desk.progress = Watching(1, lambda: (desk.root / "d/b").write_text("newcomer"))

    report = desk.run(write("first", "x"), move("a", "d/b"))

    desk.progress = None
    assert report.status == "rolled-back"
    assert desk.read("d/b") == "newcomer"
    assert desk.names() == ["a", "d", "d/b"]


def test_a_moved_file_whose_old_name_was_taken_keeps_its_only_copy(far: Path, desk: Bench) -> None:
    """Over file systems a rollback copies back, and must not remove the copy when it cannot."""
    desk.make({"a": "precious"})
    desk.declared = desk.grants(roots=[".", str(far)])
    desk.progress = Watching(1, lambda: (desk.root / "a").write_text("newcomer"))

    report = desk.run(move("a", str(far / "a")), failing(desk))

    assert report.status == "incomplete"
    assert desk.read("a") == "newcomer"
    assert (far / "a").read_text() == "precious"


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> StopFlag:
    """The flag that the signal handlers of a task set, for a signal at a moment of the test's choice."""
    flag = StopFlag()

    @contextmanager
    def handlers(given: StopFlag) -> Iterator[None]:
        monkeypatch.setattr(flag, "set", given.set)
        yield

    monkeypatch.setattr(desktop, "heeding_signals", handlers)
    return flag


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("signum", SIGNALS)
def test_a_signal_between_steps_rolls_a_run_back(desk: Bench, stop: StopFlag, signum: signal.Signals) -> None:
    desk.make({"a": "a", "d/x": "x"})
    before = desk.listing()
    desk.progress = Watching(1, lambda: stop.set(signum))

    report = desk.run(over("a", "A"), delete("d"), write("n", "n"))

    assert (report.status, report.exit_code) == ("rolled-back", 128 + signum)
    assert desk.changes(before) == []


def test_a_signal_lets_an_undo_finish_the_task_in_hand_and_start_no_other(
    desk: Bench, stop: StopFlag
) -> None:
    desk.make({"a": "a", "b": "b"})
    older = desk.run(over("a", "A"))
    desk.run(over("b", "B"), write("n", "n"))
    desk.progress = Watching(1, lambda: stop.set(signal.SIGINT))

    report = desk.undo(last=2)

    assert verdicts(report) == ["undone", "undone"]
    assert (report.exit_code, report.error) == (130, f"stopped before {older.task_id}")
    assert (desk.read("a"), desk.read("b")) == ("A", "b")
    assert "n" not in desk.names()


def watched(monkeypatch: pytest.MonkeyPatch, at_start: Callable[[], None]) -> list[str]:
    """Has `at_start` called at the start of each file's copy; the list gets the mark of each that is copied whole."""
    whole: list[str] = []
    real = copying_one.copy_content

    def copy_content(*args: Any) -> str:
        at_start()
        whole.append(real(*args))
        return whole[-1]

    monkeypatch.setattr(copying_one, "copy_content", copy_content)
    return whole


def test_a_signal_stops_a_copy_part_way(desk: Bench, stop: StopFlag, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for gigabytes after Ctrl-C."""
    desk.make({"a": "a", "d/x": "x", "d/y": "y"})
    before = desk.listing()
    whole = watched(monkeypatch, lambda: stop.set(signal.SIGINT))

    report = desk.run(write("n", "n"), copy("d", "e"))

    assert whole == []
    assert (report.status, report.exit_code) == ("rolled-back", 130)
    assert desk.changes(before) == []
    assert desk.held() == []


def test_a_signal_from_outside_stops_a_copy_part_way(desk: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The handlers are those of the process, and the copy is made in a thread of its own."""
    desk.make({"a": "a"})
    os.truncate(desk.root / "a", 1 << 30)
    before = desk.names()
    whole = watched(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGTERM))

    report = desk.run(copy("a", "b"))

    assert whole == []
    assert report.exit_code == 143
    assert desk.names() == before


def test_a_signal_stops_no_copy_of_a_rollback(
    far: Path, desk: Bench, stop: StopFlag, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went to another file system comes back as a copy, and half of it would be a loss."""
    desk.make({"a": "precious"})
    desk.declared = desk.grants(roots=[".", str(far)])
    before = desk.listing()
    desk.progress = Watching(1, lambda: stop.set(signal.SIGINT))
    whole = watched(monkeypatch, lambda: None)

    report = desk.run(move("a", str(far / "a")), write("n", "n"))

    assert len(whole) == 2
    assert (report.status, report.exit_code) == ("rolled-back", 130)
    assert desk.changes(before) == []


def test_a_signal_stops_no_copy_of_an_undo(
    far: Path, desk: Bench, stop: StopFlag, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.make({"a": "precious"})
    desk.declared = desk.grants(roots=[".", str(far)])
    before = desk.listing()
    desk.run(move("a", str(far / "a")))
    watched(monkeypatch, lambda: stop.set(signal.SIGINT))

    report = desk.undo()

    assert verdicts(report) == ["undone"]
    assert desk.changes(before) == []


@pytest.mark.parametrize("signum", SIGNALS)
def test_a_signal_only_sets_the_flag_while_a_task_runs(signum: signal.Signals) -> None:
    inherited = signal.signal(signum, signal.SIG_DFL)  # a shell's background jobs ignore INT
    try:
        flag = StopFlag()
        with desktop.heeding_signals(flag):
            os.kill(os.getpid(), signum)

        assert flag.signum == signum
        assert signal.getsignal(signum) is signal.SIG_DFL
    finally:
        signal.signal(signum, inherited)


def test_swaps_cycles_and_shifts_come_back_from_the_middle(desk: Bench) -> None:
    """F05: a hop is a step of its own, so a failure part way leaves no name of ours behind."""
    desk.make({"a": "A", "b": "B", "f1": "1", "f2": "2", "f3": "3"})
    before = desk.listing()
    swap = [move("a", "hop"), move("b", "a"), move("hop", "b")]
    shift = [move("f3", "f4"), move("f2", "f3"), move("f1", "f2")]

    assert desk.run(*swap, *shift, failing(desk)).status == "rolled-back"
    assert desk.changes(before) == []
    assert desk.run(*swap, *shift).status == "ok"
    assert [desk.read(name) for name in ("a", "b", "f2", "f3", "f4")] == ["B", "A", "1", "2", "3"]
    desk.undo()
    assert desk.changes(before) == []


def test_a_folder_changed_by_somebody_keeps_its_time(desk: Bench) -> None:
    """What nobody else touched has its old time again; the rest is said."""
    desk.make({"d/a": "a", "e/a": "a"})
    desk.run(write("d/n", "n"), write("e/n", "n"))
    (desk.root / "d/mine").write_text("mine")

    report = desk.undo()

    assert os.stat(desk.root / "e").st_mtime_ns == 1_500_000_000_250_000_000
    assert os.stat(desk.root / "d").st_mtime_ns > 1_500_000_000_250_000_000
    assert report.tasks[0].notes == [f"folder time of `{desk.root / 'd'}` kept (changed by others)"]
    assert report.exit_code == 0


def test_a_second_name_of_a_file_is_no_strangers_work(desk: Bench) -> None:
    """Renaming one hard link changes the other's ctime: its folder still gets its time back."""
    desk.make({"d/a": "a", "d/twin": ("=", "d/a"), "o": "o"})
    before = desk.listing()

    report = desk.run(delete("d/a"), failing(desk))

    assert report.not_restored == []
    assert desk.changes(before) == []
