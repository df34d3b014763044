"""Which tasks an undo is about: journal order, whatever the clock says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from deskshell.kernel import history
from deskshell.kernel.desk import Desk
from tests.support.desk import Bench, Clock, over, verdicts, write


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """The clock of every task."""
    found = Clock()
    made = Desk.__init__

    def with_clock(self: Desk, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **{"clock_ms": found, **kwargs})

    monkeypatch.setattr(Desk, "__init__", with_clock)
    return found


def ids(desk: Bench, **options: int) -> list[str]:
    return [task.task_id for task in desk.check(**options).tasks]


def test_the_newest_is_the_last_in_the_journal_though_the_clock_went_back(desk: Bench, clock: Clock) -> None:
    """F37: ids grow, `ts` is the honest clock."""
    first = desk.run(write("a", "a"))
    clock.now_ms -= 3_600_000
    second = desk.run(write("b", "b"))

    assert ids(desk) == [second.task_id]
    assert ids(desk, last=2) == [second.task_id, first.task_id]
    assert int(str(second.task_id)[5:]) > int(str(first.task_id)[5:])
    log = list(desk.app.log())
    assert log[0].started_ms < log[1].started_ms


def test_since_reads_on_past_a_clock_that_went_back(desk: Bench, clock: Clock) -> None:
    early = desk.run(write("a", "a"))
    clock.now_ms -= 3_600_000
    back = desk.run(write("b", "b"))
    clock.now_ms += 3_600_000 + 10_000
    late = desk.run(write("c", "c"))

    assert ids(desk, since_ms=clock.now_ms - 60_000) == [late.task_id, early.task_id]
    assert ids(desk, since_ms=clock.now_ms - 7_200_000) == [late.task_id, back.task_id, early.task_id]


def test_a_redone_task_counts_from_its_redo(desk: Bench) -> None:
    first = desk.run(write("a", "a"))
    second = desk.run(write("b", "b"))
    desk.undo(task=first.task_id)
    desk.redo(first.task_id)

    assert ids(desk, last=9) == [first.task_id, second.task_id]


def test_undone_tasks_are_passed_over(desk: Bench) -> None:
    tasks = [desk.run(write(name, name)).task_id for name in "abc"]
    desk.undo(task=tasks[1])

    assert ids(desk, last=9) == [tasks[2], tasks[0]]


def test_a_batch_goes_from_the_newest_to_the_oldest(desk: Bench) -> None:
    desk.make({"a": "0"})
    for number in range(1, 4):
        desk.run(over("a", str(number)))

    report = desk.undo(last=2)

    assert verdicts(report) == ["undone", "undone"]
    assert desk.read("a") == "1"


def test_a_task_that_was_rolled_back_is_nothing_to_undo(desk: Bench) -> None:
    from deskshell.kernel.assertion import Missing

    done = desk.run(write("a", "a"))
    desk.run(write("b", "b").then(Missing(desk.path("b"))))

    assert ids(desk, last=9) == [done.task_id]


def test_nothing_is_undone_where_nothing_was_done(desk: Bench) -> None:
    report = desk.undo()

    assert (report.tasks, report.exit_code) == ([], 0)
    assert not desk.state.exists()


def test_one_line_is_read_for_each_finished_task(desk: Bench) -> None:
    """The newest task is found as fast in a journal of a million entries."""
    for number in range(5):
        desk.run(*(write(f"{number}-{each}", "") for each in range(20)))
    journal = desk.app.desktop.reading().journal
    seen = []
    backward = journal.backward

    def counting(*args: object) -> Iterator[object]:
        for item in backward(*args):  # type: ignore[arg-type]
            seen.append(item)
            yield item

    journal.backward = counting  # type: ignore[method-assign,assignment]

    assert len(list(history.heads(journal))) == 5
    assert len(seen) <= 2 * 5 + 2
