"""`verify` finds what is not as it was written, and tells it from what was never finished or dropped on purpose."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from deskshell.errors import JournalDamaged
from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal
from tests.store.samples import texts


@pytest.fixture
def four(state: StateFolder) -> Journal:
    """A journal of four segments, a text in each: 0, 1, 2, 3."""
    journal = Journal(state)
    journal.open()
    for number in range(4):
        journal.append_object({"text": str(number)})
        if number < 3:
            journal.retire("rotated")
    journal.sync()
    journal.close()
    return journal


def files(journal: Journal) -> list[Path]:
    return [segment.path for segment in journal.segments()]


def test_a_whole_journal_is_verified_to_its_last_line(four: Journal) -> None:
    report = four.verify()

    assert (report.segments, report.lines, report.verified_to_seq) == (4, 8, 8)
    assert (report.torn, report.damage, report.dropped, report.unverified_lines) == ([], [], [], 0)


@pytest.mark.parametrize("segment", range(3))
def test_a_flipped_bit_in_a_retired_segment_is_damage(four: Journal, segment: int) -> None:
    path = files(four)[segment]
    data = path.read_bytes()
    for offset in range(0, len(data), 3):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 4]) + data[offset + 1 :])

        report = four.verify()

        assert report.damage, offset
        assert report.verified_to_seq <= 2 * segment + 1
        with pytest.raises(JournalDamaged):
            list(four.forward())


def test_damage_is_told_with_file_place_and_entry(four: Journal) -> None:
    path = files(four)[1]
    data = path.read_bytes()
    at = data.index(b'{"text":"1"')
    path.write_bytes(data.replace(b'"text":"1"', b'"text":"7"'))

    report = four.verify()

    assert report.damage == [f"`{path.name}` is damaged at byte {at}: entry 4"]
    assert (report.verified_to_seq, report.segments) == (3, 4)


def test_a_missing_segment_in_the_middle_is_damage(four: Journal) -> None:
    files(four)[1].unlink()
    after = files(four)[1].name

    assert four.verify().damage == [f"the journal file before `{after}` is missing"]
    for read in (four.forward, four.backward):
        with pytest.raises(JournalDamaged, match="is missing"):
            list(read())


def test_a_missing_first_segment_is_damage_but_the_rest_can_be_read(four: Journal) -> None:
    files(four)[0].unlink()

    assert len(four.verify().damage) == 1
    assert texts(four.forward()) == ["1", "2", "3"]
    assert texts(four.backward()) == ["3", "2", "1"]


def test_a_retired_segment_that_was_cut_is_damage(four: Journal) -> None:
    path = files(four)[1]
    path.write_bytes(path.read_bytes()[:-1])

    assert "1 bytes shorter" in four.verify().damage[0]
    with pytest.raises(JournalDamaged):
        list(four.forward())


def test_a_retired_segment_that_grew_is_damage_and_the_growth_is_not_read(four: Journal) -> None:
    path = files(four)[1]
    path.write_bytes(path.read_bytes() + b'{"text":"added"}\n')

    assert "17 bytes more" in four.verify().damage[0]
    assert texts(four.forward()) == ["0", "1", "2", "3"]


def test_a_segment_of_another_journal_is_damage(four: Journal, tmp_path: Path) -> None:
    other = Journal(StateFolder(tmp_path / "other"))
    other.folder.create()
    other.open()
    other.append_object({"text": "0"})
    other.retire("rotated")
    other.close()
    files(four)[0].write_bytes(files(other)[0].read_bytes())

    assert any("belongs to another journal" in line for line in four.verify().damage)


def test_lines_taken_out_of_the_end_of_a_segment_are_damage(four: Journal) -> None:
    path = files(four)[2]
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"\n", 0, -1) + 1])

    assert any("shorter" in line for line in four.verify().damage)
    assert any("ends with entry" in line for line in four.verify().damage)


def test_segments_dropped_on_the_record_are_no_damage(four: Journal) -> None:
    first, second, third, _ = four.segments()
    data = [first.path.read_bytes(), second.path.read_bytes()]
    four.open()

    names = four.drop_before(third.number)
    four.close()

    assert names == [first.name, second.name]
    assert texts(four.forward()) == ["2", "3"]
    report = four.verify()
    assert (report.ok, report.segments, report.verified_to_seq) == (True, 2, 9)
    [record] = report.dropped
    assert (record.first_seq, record.last_seq) == (1, 4)
    assert record.files == tuple(
        (name, sha256(part).hexdigest()) for name, part in zip(names, data, strict=True)
    )


def test_what_was_dropped_twice_is_accounted_for_by_the_later_record(four: Journal) -> None:
    four.open()
    four.drop_before(four.segments()[1].number)
    four.retire("rotated")
    four.drop_before(four.segments()[-1].number)
    four.close()

    assert len(four.segments()) == 1
    assert four.verify().ok
    assert texts(four.forward()) == []


def test_the_live_segment_is_never_dropped(four: Journal, state: StateFolder) -> None:
    four.open()
    four.drop_before(10**9)
    four.close()

    assert texts(four.forward()) == ["3"]
    assert state.journal_path.exists()
    assert four.verify().ok


def test_dropping_nothing_writes_nothing(four: Journal) -> None:
    four.open()

    assert four.drop_before(1) == []
    assert four.last_seq == 8
    four.close()


def test_a_record_of_other_segments_accounts_for_nothing(four: Journal) -> None:
    four.open()
    four.append_object({"type": "dropped", "firstSeq": 1, "lastSeq": 2, "lastCheck": "0" * 32, "files": []})
    four.close()
    files(four)[0].unlink()

    assert len(four.verify().damage) == 1, "the check is not that of line 2"


def test_a_gap_in_the_middle_that_is_on_the_record_can_be_read_over(four: Journal) -> None:
    gone = files(four)[1]
    third = files(four)[2]
    link = json.loads(third.read_bytes().splitlines()[0])["previous"]
    four.open()
    four.append_object(
        {"type": "dropped", "firstSeq": 3, "lastSeq": 4, "lastCheck": link["check"], "files": []}
    )
    four.close()
    gone.unlink()

    assert four.verify().ok
    assert texts(four.forward()) == ["0", "2", "3"]
    assert texts(four.backward()) == ["3", "2", "0"]


def test_an_unfinished_end_is_torn_and_no_damage(four: Journal, state: StateFolder) -> None:
    """While a task runs, or after a crash: reading is right either way, and changes nothing."""
    with state.journal_path.open("ab") as file:
        file.write(b'{"text":"ha')
    data = state.journal_path.read_bytes()

    report = four.verify()

    assert report.ok
    assert report.torn == ["`journal.jsonl`: 11 bytes after entry 8 (torn)"]
    assert (report.lines, report.verified_to_seq) == (8, 8)
    assert state.journal_path.read_bytes() == data
