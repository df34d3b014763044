"""Tasks that changed nothing are no candidates for undo."""

from __future__ import annotations

from pathlib import Path

from tests.support.desk import Bench, Do, write


def test_undo_passes_over_a_task_that_changed_nothing(tmp_path: Path) -> None:
    """A task of `noop` steps only must not stand between the user and the task to be taken back."""
    desk = Bench(tmp_path)
    desk.make({})
    desk.run(write("a.txt", "one"))
    desk.run(Do("noop", {}))

    report = desk.undo()

    assert report.rolled_back == 1
    assert "a.txt" not in desk.listing()
