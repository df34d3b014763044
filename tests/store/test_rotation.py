"""Retiring segments: by size, killed at any point, and over files of older versions."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from deskshell.errors import JournalDamaged
from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal
from tests.store.samples import Cut, bytes_of, cut_before, start_anew, texts


def test_a_segment_over_the_limit_is_retired_between_tasks(state: StateFolder) -> None:
    journal = Journal(state, max_bytes=1000, clock=lambda: 1_793_201_985.0)
    journal.open()
    journal.append_object({"text": "x" * 2000})
    journal.append_object({"text": "a task may exceed the limit"})

    assert journal.rotate_if_needed()
    assert not journal.rotate_if_needed()
    journal.append_object({"text": "next"})
    journal.close()

    assert [segment.name for segment in journal.segments()] == [
        "journal-20261028T153945Z-1.jsonl",
        "journal.jsonl",
    ]
    assert texts(journal.forward())[1:] == ["a task may exceed the limit", "next"]


def test_a_segment_with_nothing_but_its_header_is_never_retired(state: StateFolder) -> None:
    journal = Journal(state, max_bytes=1)
    journal.open()

    assert not journal.rotate_if_needed()
    journal.close()


def test_a_retired_segment_keeps_its_bytes(journal: Journal, state: StateFolder) -> None:
    """I4: a rotation is a rename."""
    journal.append_object({"text": "x"})
    journal.sync()
    before = state.journal_path.read_bytes()

    journal.retire("rotated")
    journal.append_object({"text": "y"})

    assert journal.segments()[0].path.read_bytes() == before


def test_the_new_header_names_the_segment_before(journal: Journal) -> None:
    journal.append_object({"text": "x"})
    journal.retire("rotated")
    first, second = journal.segments()
    last_line = json.loads(first.path.read_bytes().splitlines()[-1])

    header = journal.line_at(journal.place()._replace(offset=0))

    assert header["previous"] == {
        "name": first.name,
        "first": 1,
        "seq": 2,
        "check": last_line["check"],
        "good": first.size_bytes(),
        "why": "rotated",
    }
    assert (header["seq"], header["durable"], second.number) == (3, 2, 3)


def test_a_clock_that_goes_back_changes_no_order(state: StateFolder) -> None:
    """F37: the newest was chosen by wall clock."""
    times = iter([5e8, 4e8, 3e8, 2e8, 1e8, 1e8, 1e8, 1e8])
    journal = Journal(state, clock=lambda: next(times))
    journal.open()
    for number in range(3):
        journal.append_object({"text": str(number)})
        journal.retire("rotated")
    journal.close()

    assert texts(journal.forward()) == ["0", "1", "2"]
    assert texts(journal.backward()) == ["2", "1", "0"]
    assert journal.verify().ok


def prepared(state: StateFolder) -> Journal:
    """A journal with one retired segment and three lines, the last not synced."""
    journal = Journal(state)
    journal.open()
    journal.append_object({"text": "0"})
    journal.retire("rotated")
    journal.append_object({"text": "1"})
    journal.sync()
    journal.append_object({"text": "2"})
    return journal


def changes_of_a_rotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all changes one rotation makes, in order."""
    state = StateFolder(tmp_path / "whole")
    state.create()
    journal = prepared(state)
    with cut_before(monkeypatch, 1000) as made:
        journal.retire("rotated")
    journal.close()
    return made


def test_a_rotation_killed_anywhere_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers and the next writer find each line once, whatever was done and whatever not."""
    changes = changes_of_a_rotation(tmp_path, monkeypatch)
    assert changes.count("link") == 2
    for number in range(len(changes) + 1):
        state = StateFolder(tmp_path / f"cut-{number}")
        state.create()
        journal = prepared(state)
        with cut_before(monkeypatch, number):
            journal.retire("rotated")
        journal.close()

        assert texts(Journal(state).forward()) == ["0", "1", "2"], changes[:number]
        assert texts(Journal(state).backward()) == ["2", "1", "0"]
        assert Journal(state).verify().ok
        after = Journal(state)
        after.open()
        after.append_object({"text": "3"})
        after.close()

        assert after.verify().torn == []
        assert texts(after.forward()) == ["0", "1", "2", "3"]
        assert after.verify().ok
        assert after.verify().torn == []
        assert not (state.path / "journal.new").exists()
        inodes = [segment.path.stat().st_ino for segment in after.segments()]
        assert len(set(inodes)) == len(list(state.path.glob("journal*")))


def test_a_killed_rotation_is_finished_by_a_writer_that_is_killed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = changes_of_a_rotation(tmp_path, monkeypatch)
    for first in range(len(changes)):
        for second in range(12):
            state = StateFolder(tmp_path / f"cut-{first}-{second}")
            state.create()
            journal = prepared(state)
            with cut_before(monkeypatch, first):
                journal.retire("rotated")
            journal.close()
            again = Journal(state)
            with cut_before(monkeypatch, second):
                again.open()
            again.close()

            assert texts(Journal(state).forward()) == ["0", "1", "2"]
            again.open()
            again.close()
            assert texts(Journal(state).forward()) == ["0", "1", "2"]
            assert again.verify().ok
            shutil.rmtree(state.path)


def test_a_first_start_killed_anywhere_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        state = StateFolder(tmp_path / f"cut-{number}")
        journal = Journal(state)
        with cut_before(monkeypatch, number) as made:
            state.create()
            journal.open()
        journal.close()

        assert Journal(state).is_empty()
        state.create()
        journal.open()
        journal.append_object({"text": "x"})
        journal.close()
        assert texts(journal.forward()) == ["x"]
        assert journal.verify().lines == 2
        if len(made) < number:
            break
    else:
        pytest.fail("the first start makes more changes than were cut")


def test_setting_a_torn_tail_aside_can_be_killed_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        state = StateFolder(tmp_path / f"cut-{number}")
        state.create()
        journal = prepared(state)
        journal.close()
        with state.journal_path.open("ab") as file:
            file.write(b'{"half')
        with cut_before(monkeypatch, number) as made:
            journal.open()
        journal.close()

        assert texts(Journal(state).forward()) == ["0", "1", "2"]
        journal.open()
        journal.append_object({"text": "3"})
        journal.close()
        assert texts(journal.forward()) == ["0", "1", "2", "3"]
        assert journal.verify().ok
        assert len(journal.verify().torn) == 1
        if len(made) < number:
            break
    else:
        pytest.fail("setting aside makes more changes than were cut")


def test_a_name_in_the_way_is_not_replaced(journal: Journal, state: StateFolder) -> None:
    journal.append_object({"text": "x"})
    journal._clock = lambda: 0.0
    stranger = state.path / "journal-19700101T000000Z-1.jsonl"
    stranger.write_text("a stranger's")

    with pytest.raises(FileExistsError):
        journal.retire("rotated")

    assert stranger.read_text() == "a stranger's"


def test_two_different_files_of_one_segment_are_damage(journal: Journal, state: StateFolder) -> None:
    """A restored backup beside the journal it was made from: which one is right is not for us to say."""
    journal.append_object({"text": "x"})
    shutil.copy(state.journal_path, state.path / "journal-20260101T000000Z-1.jsonl")
    journal.append_object({"text": "y"})
    before = bytes_of(state.path)

    with pytest.raises(JournalDamaged, match="begin with the same entry"):
        journal.open()

    assert bytes_of(state.path) == before


def test_a_copy_beside_the_journal_is_not_taken_for_it(journal: Journal, state: StateFolder) -> None:
    """`cp journal.jsonl journal-backup.jsonl` is what careful people do."""
    journal.append_object({"text": "x"})
    copy = shutil.copy(state.journal_path, state.path / "journal-backup.jsonl")
    before = Path(copy).read_bytes()
    journal.append_object({"text": "y"})

    assert texts(journal.forward()) == ["x", "y"]
    journal.open()
    journal.append_object({"text": "z"})
    journal.retire("rotated")
    assert texts(journal.forward()) == ["x", "y", "z"]
    assert journal.verify().ok
    assert Path(copy).read_bytes() == before


OLD_LINE = {
    "ts": 1793201985000,
    "taskId": "task-1793201984999",
    "actionId": "move:a",
    "kind": "fs.move",
    "summary": "move a.txt → docs/a.txt",
    "status": "ok",
    "undo": {"kind": "fs.move", "from": "docs/a.txt", "to": "a.txt"},
}


def old_lines(*texts_: str, ts: int) -> bytes:
    return b"".join(
        json.dumps(OLD_LINE | {"ts": ts + n, "text": text}).encode() + b"\n" for n, text in enumerate(texts_)
    )


def test_a_plain_file_of_an_older_version_is_read(state: StateFolder) -> None:
    start_anew(state, old_lines("a", "b", ts=1_700_000_000_000))
    journal = Journal(state)

    lines = list(journal.forward())

    assert lines[0][1] == OLD_LINE | {"ts": 1_700_000_000_000, "text": "a"}
    assert list(journal.backward()) == lines[::-1]
    assert list(journal.lines_at(place for place, _ in lines)) == [line for _, line in lines]
    assert not journal.is_empty()
    report = journal.verify()
    assert (report.ok, report.unverified_lines, report.verified_to_seq) == (True, 2, 0)


def test_a_writer_moves_a_plain_file_away_untouched(state: StateFolder) -> None:
    data = old_lines("a", "b", ts=1_700_000_000_000)
    start_anew(state, data)
    journal = Journal(state)
    place = [place for place, _ in journal.forward()][1]

    journal.open()
    journal.append_object({"text": "new"})
    journal.close()

    old, new = journal.segments()
    assert re.fullmatch(r"journal-\d{8}T\d{6}Z\.jsonl", old.name)
    assert old.path.read_bytes() == data
    assert texts(journal.forward()) == ["a", "b", "new"]
    assert journal.line_at(place)["text"] == "b", "a place survives this too"
    assert (old.is_plain, new.is_plain) == (True, False)
    assert journal.verify().ok


def test_plain_files_are_read_in_the_order_of_their_first_lines(state: StateFolder) -> None:
    (state.path / "journal-2026-01-01.jsonl").write_bytes(old_lines("third", ts=3000))
    (state.path / "journal-2026-01-02.jsonl").write_bytes(old_lines("first", ts=1000))
    start_anew_live = old_lines("fourth", ts=4000)
    state.journal_path.write_bytes(start_anew_live)
    (state.path / "journal-2026-01-03.jsonl").write_bytes(old_lines("second", ts=2000))
    journal = Journal(state)

    assert texts(journal.forward()) == ["first", "second", "third", "fourth"]
    assert texts(journal.backward()) == ["fourth", "third", "second", "first"]


def test_half_a_line_in_a_plain_file_is_passed_over(state: StateFolder) -> None:
    start_anew(state, old_lines("a", "b", ts=1000)[:-30] + b"\n" + old_lines("c", ts=2000) + b'{"half')
    journal = Journal(state)

    assert texts(journal.forward()) == ["a", "c"]
    assert texts(journal.backward()) == ["c", "a"]
    assert len(journal.verify().torn) == 2
    assert journal.verify().ok


def test_two_plain_files_moved_away_in_one_second_keep_both(state: StateFolder) -> None:
    for ts in (1000, 2000):
        journal = Journal(state, clock=lambda: 0.0)
        state.journal_path.unlink(missing_ok=True)
        state.journal_path.write_bytes(old_lines(str(ts), ts=ts))
        journal.open()
        journal.close()
        os.unlink(state.journal_path)

    assert texts(Journal(state).forward()) == ["1000", "2000"]


def test_moving_a_plain_file_away_can_be_killed_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        state = StateFolder(tmp_path / f"cut-{number}")
        state.create()
        state.journal_path.write_bytes(old_lines("old", ts=1000))
        journal = Journal(state)
        with cut_before(monkeypatch, number) as made:
            journal.open()
        journal.close()

        assert texts(Journal(state).forward()) == ["old"]
        journal.open()
        journal.append_object({"text": "new"})
        journal.close()
        assert texts(journal.forward()) == ["old", "new"]
        assert len(list(state.path.glob("journal*"))) == 2
        if len(made) < number:
            break
    else:
        pytest.fail("moving away makes more changes than were cut")


def test_a_cut_is_a_cut() -> None:
    """The tests above rely on it that no clean-up of ours swallows it."""
    assert not issubclass(Cut, Exception)


def test_a_file_of_something_else_is_no_empty_journal(state: StateFolder) -> None:
    """A journal that was overwritten must not read as a history in which nothing happened."""
    state.create()
    state.journal_path.write_bytes(b"garbage\n")

    with pytest.raises(JournalDamaged):
        list(Journal(state).backward())
    with pytest.raises(JournalDamaged):
        Journal(state).open()
    assert state.journal_path.read_bytes() == b"garbage\n"
    assert Journal(state).verify().damage
