"""What letting undo data expire reads of the journal: it runs at the end of every task."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deskshell.kernel import gc, history
from deskshell.kernel.desk import Desk
from deskshell.kernel.history import Head
from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal


@pytest.fixture
def desk(tmp_path) -> Iterator[Desk]:
    folder = StateFolder(tmp_path / "state")
    folder.create()
    journal = Journal(folder)
    journal.open()
    yield Desk(folder, journal, {})
    journal.close()


def finished_tasks(desk: Desk, count: int) -> None:
    for n in range(count):
        place = desk.journal.place()
        task = f"task-{1000 + n}"
        desk.journal.append_object(
            {"type": "begin", "taskId": task, "ts": 1000 + n, "role": "run", "skill": "s"}
        )
        end = {
            "type": "end",
            "taskId": task,
            "ts": 1000 + n,
            "status": "ok",
            "begin": list(place),
            "steps": 1,
        }
        desk.journal.append_object(end)
    desk.journal.sync()


@pytest.mark.parametrize("holding, read", [([], 1), ([1999], 1), ([1990], 10), ([1990, 1995], 10)])
def test_the_journal_is_read_back_to_the_oldest_task_that_holds_anything(
    desk: Desk, holding: list[int], read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the history, an undo at its end takes the same time."""
    finished_tasks(desk, 1000)
    for number in holding:
        (desk.folder.held / f"task-{number}").mkdir()
    heads, met = history.heads, 0

    def counted(journal: Journal) -> Iterator[Head]:
        nonlocal met
        for head in heads(journal):
            met += 1
            yield head

    monkeypatch.setattr(history, "heads", counted)

    gc.plan_gc(desk, keep_s=1e12, max_bytes=1 << 40)

    assert met == read
