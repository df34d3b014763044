"""A disk that fails or is full: what was not made durable does not count, and what must be written can be."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deskshell.errors import StateFolderError
from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal
from tests.store.samples import cut_before, texts


@contextmanager
def failing(name: str, number: int, *, after: int = 0) -> Iterator[None]:
    """The system call fails with `number`; the first `after` calls do nothing and succeed."""
    left = after

    def call(*args: object, **kwargs: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(number, os.strerror(number))

    with pytest.MonkeyPatch.context() as context:
        context.setattr(os, name, call)
        yield


@contextmanager
def half_writes() -> Iterator[None]:
    """Each write takes half of what it is given."""
    write = os.write
    with pytest.MonkeyPatch.context() as context:
        context.setattr(os, "write", lambda fd, data: write(fd, data[: len(data) // 2]))
        yield


def test_a_failed_sync_is_never_retried_into_a_success(journal: Journal) -> None:
    """After a failed fsync the system may forget what it could not write, and the next one succeeds."""
    journal.append_object({"text": "durable"})
    journal.sync()
    journal.append_object({"text": "lost"})
    with failing("fdatasync", errno.EIO), pytest.raises(OSError, match="Input/output"):
        journal.sync()

    with pytest.raises(OSError, match="a sync failed"):
        journal.sync()
    with pytest.raises(OSError, match="a sync failed"):
        journal.append_object({"text": "refused"})

    assert (journal.last_seq, journal.durable_seq) == (3, 2)


def test_after_a_failed_sync_a_new_segment_starts_from_what_is_durable(
    journal: Journal, state: StateFolder
) -> None:
    journal.append_object({"text": "durable"})
    journal.sync()
    journal.append_object({"text": "lost"})
    with failing("fdatasync", errno.EIO), pytest.raises(OSError, match="Input/output"):
        journal.sync()
    old = state.journal_path.read_bytes()

    journal.retire("failed-sync")
    assert journal.append_object({"text": "new"}) == 5, "the seq of a lost line is not used again"

    assert texts(journal.forward()) == ["durable", "new"]
    assert texts(journal.backward()) == ["new", "durable"]
    assert journal.segments()[0].path.read_bytes() == old
    report = journal.verify()
    assert report.ok
    assert "failed-sync" in report.torn[0]
    assert (report.verified_to_seq, report.lines) == (5, 4)


def test_lines_lost_to_a_failed_sync_stay_lost_when_the_retiring_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the new header is durable, it is what counts, and not a second look at the old segment."""
    found = set()
    for number in range(12):
        state = StateFolder(tmp_path / str(number))
        state.create()
        journal = Journal(state)
        journal.open()
        journal.append_object({"text": "lost"})
        with failing("fdatasync", errno.EIO), pytest.raises(OSError, match="Input/output"):
            journal.sync()
        with cut_before(monkeypatch, number) as made:
            journal.retire("failed-sync")
        journal.close()
        journal.open()
        journal.close()
        found.add(("link" in made, tuple(texts(journal.forward()))))
        assert journal.verify().ok

    assert found == {(False, ("lost",)), (True, ())}


def test_another_reason_given_after_a_failed_sync_does_not_bring_lines_back(journal: Journal) -> None:
    journal.append_object({"text": "lost"})
    with failing("fdatasync", errno.EIO), pytest.raises(OSError, match="Input/output"):
        journal.sync()

    journal.retire("rotated")

    assert texts(journal.forward()) == []


def test_a_segment_closed_without_a_failed_sync_keeps_its_lines(journal: Journal) -> None:
    """A caller that only saw an append fail may fear the worst; what could be synced still counts."""
    journal.append_object({"text": "kept"})
    with failing("write", errno.ENOSPC), pytest.raises(OSError, match="No space"):
        journal.append_object({"text": "refused"})

    journal.retire("failed-sync")

    assert texts(journal.forward()) == ["kept"]
    assert journal.verify().torn == []


def test_a_short_write_and_a_failed_sync_leave_what_is_durable(journal: Journal) -> None:
    journal.append_object({"text": "durable"})
    journal.sync()
    journal.append_object({"text": "lost"})
    with half_writes(), pytest.raises(OSError, match="in part"):
        journal.append_object({"text": "half"})
    with failing("fdatasync", errno.EIO), pytest.raises(OSError, match="Input/output"):
        journal.retire("torn")

    journal.retire("torn")
    journal.append_object({"text": "new"})

    assert texts(journal.forward()) == ["durable", "new"]
    assert journal.verify().ok


def test_a_new_segment_that_cannot_be_synced_can_be_tried_again(journal: Journal) -> None:
    journal.append_object({"text": "durable"})
    journal.sync()
    journal.append_object({"text": "lost"})
    with failing("fdatasync", errno.EIO):
        for use in (journal.sync, lambda: journal.retire("failed-sync")):
            with pytest.raises(OSError, match="Input/output"):
                use()
        with pytest.raises(OSError, match="takes no entries"):
            journal.append_object({"text": "refused"})

    journal.retire("failed-sync")
    journal.append_object({"text": "new"})

    assert texts(journal.forward()) == ["durable", "new"]
    assert journal.verify().ok


@pytest.mark.parametrize("again", ["open", "retire"])
@pytest.mark.parametrize("failing_sync", range(3))
def test_a_folder_that_cannot_be_synced_stops_the_rotation(
    journal: Journal, failing_sync: int, again: str
) -> None:
    journal.append_object({"text": "x"})
    journal.sync()
    with failing("fsync", errno.EIO, after=failing_sync):
        if failing_sync == 2:
            journal.retire("rotated")
        else:
            with pytest.raises(OSError, match="Input/output"):
                journal.retire("rotated")
            with pytest.raises(OSError, match="takes no entries"):
                journal.append_object({"text": "refused"})

    if again == "open":
        journal.open()
    else:
        journal.retire("rotated")
    journal.append_object({"text": "y"})

    assert texts(journal.forward()) == ["x", "y"]
    assert journal.verify().ok
    assert journal.verify().segments == len(list(journal.folder.path.glob("journal*")))


def test_a_short_write_is_no_write(journal: Journal) -> None:
    journal.append_object({"text": "good"})
    with half_writes(), pytest.raises(OSError, match="in part") as caught:
        journal.append(['{"text":"whole"', '{"text":"half"'])
    assert caught.value.errno == errno.ENOSPC
    assert texts(journal.forward()) == ["good"]
    with pytest.raises(OSError, match="cut short"):
        journal.append_object({"text": "refused"})

    journal.retire("torn")
    assert journal.append_object({"text": "new"}) == 6, "the seqs of half-written lines are not used again"

    assert texts(journal.forward()) == ["good", "new"]
    assert journal.verify().ok
    assert len(journal.verify().torn) == 1


def test_a_full_disk_refuses_a_line_and_takes_it_later(journal: Journal) -> None:
    with failing("write", errno.ENOSPC), pytest.raises(OSError, match="No space"):
        journal.append_object({"text": "refused"})

    assert journal.release_reserve()
    assert journal.append_object({"text": "taken"}) == 2
    assert texts(journal.forward()) == ["taken"]


def test_the_reserve_comes_back_when_there_is_room(journal: Journal, state: StateFolder) -> None:
    assert state.reserve_path.stat().st_size == 64 * 1024
    assert state.reserve_path.stat().st_blocks * 512 >= 64 * 1024, "not a hole"

    assert journal.release_reserve()
    assert not journal.release_reserve()
    assert not state.reserve_path.exists()

    journal.open()
    assert state.reserve_path.stat().st_size == 64 * 1024


def test_a_rotation_on_a_full_disk_uses_the_reserve(
    journal: Journal, state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append_object({"text": "x"})
    write = os.write

    def no_room(fd: int, data: bytes) -> int:
        if state.reserve_path.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    monkeypatch.setattr(os, "write", no_room)
    journal.retire("torn")
    journal.append_object({"text": "y"})

    assert texts(journal.forward()) == ["x", "y"]


def test_room_for_lines_is_taken_in_advance_without_changing_the_size(
    journal: Journal, state: StateFolder
) -> None:
    before = state.journal_path.stat()

    journal.preallocate(1_000_000)

    after = state.journal_path.stat()
    assert after.st_size == before.st_size
    assert after.st_blocks * 512 >= 1_000_000
    journal.append_object({"text": "x"})
    assert texts(journal.forward()) == ["x"]


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EIO])
def test_a_journal_that_cannot_be_made_says_what_to_do(state: StateFolder, number: int) -> None:
    journal = Journal(state)

    with failing("write", number), pytest.raises(StateFolderError) as caught:
        journal.open()

    assert os.strerror(number) in str(caught.value)
    assert "DESKSHELL_HOME" in str(caught.value.hint)


def test_a_disk_that_fails_at_open_keeps_writing_closed(journal: Journal) -> None:
    journal.append_object({"text": "x"})

    with failing("fdatasync", errno.EIO), pytest.raises(StateFolderError, match="Input/output"):
        journal.open()
    with pytest.raises(OSError, match="not open"):
        journal.append_object({"text": "y"})

    assert texts(journal.forward()) == ["x"]
