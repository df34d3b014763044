"""What a crash or a bad disk does to the end of a journal: set aside, or refused, never believed."""

from __future__ import annotations

from itertools import combinations

import pytest

from deskshell.errors import JournalDamaged
from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal
from deskshell.store.lines import seal_line
from tests.store.samples import Readable, bytes_of, readable, sample, start_anew, texts

SECTOR_BYTES = 512


def check_against(state: StateFolder, damaged: bytes, expected: Readable) -> None:
    """Read and write over `damaged`, and compare with what may be read of it."""
    start_anew(state, damaged)
    reader = Journal(state)
    if expected.is_damage:
        check_refused(state, damaged, expected)
        return
    assert [line for _, line in reader.raw_forward()] == [line[:-1] for line in expected.lines]
    whole = list(reader.forward())
    assert len(whole) == len(expected.lines)
    assert list(reader.backward()) == whole[::-1]
    assert reader.verify().ok
    check_goes_on(state, damaged, expected)


def check_refused(state: StateFolder, damaged: bytes, expected: Readable) -> None:
    """No reader may hand out a line behind the damage, or call it the end."""
    reader = Journal(state)
    read: list[object] = []
    with pytest.raises(JournalDamaged):
        read.extend(reader.forward())
    assert len(read) <= len(expected.lines)
    with pytest.raises(JournalDamaged):
        list(reader.backward())
    assert reader.verify().damage
    assert reader.verify().verified_to_seq <= len(expected.lines)
    assert bytes_of(state.path) == {"journal.jsonl": damaged}


def check_goes_on(state: StateFolder, damaged: bytes, expected: Readable) -> None:
    """A writer sets the rest aside whole, and its lines stand on their own."""
    good = sum(map(len, expected.lines))
    writer = Journal(state)
    writer.open()
    writer.append_object({"text": "after the crash"})
    writer.close()

    assert (writer.verify().torn != []) == (len(damaged) > good)
    first, *_ = Journal(state).segments()
    assert first.path.read_bytes()[: len(damaged)] == damaged
    lines = [line for _, line in Journal(state).forward()]
    assert [line["seq"] for line in lines[: len(expected.lines)]] == list(range(1, len(expected.lines) + 1))
    assert texts((0, line) for line in lines)[-1] == "after the crash"
    seqs = [line["seq"] for line in lines]
    assert seqs == sorted(set(seqs))
    assert writer.verify().ok


def test_every_cut_leaves_the_lines_before_it(state: StateFolder, no_sync: None) -> None:
    """I4: whatever is cut off, the lines before it stay as they are."""
    whole = sample(state, lines=8)
    header_bytes = whole.index(b"\n") + 1

    for size in range(header_bytes, len(whole) + 1):
        check_against(state, whole[:size], readable(whole, whole[:size]))


@pytest.mark.parametrize("size", [1, 10, 30, -1])
def test_a_cut_in_the_header_is_damage(state: StateFolder, no_sync: None, size: int) -> None:
    """A header is synced before its segment gets its name, so no crash does that."""
    whole = sample(state, lines=1)
    header_bytes = whole.index(b"\n") + 1

    start_anew(state, whole[: size % header_bytes])

    with pytest.raises(JournalDamaged, match="lost its first line"):
        Journal(state).open()
    with pytest.raises(JournalDamaged):
        list(Journal(state).forward())
    assert not Journal(state).verify().ok


@pytest.mark.parametrize("flip", [0x01, 0x80, 0x20])
def test_every_flipped_bit_is_seen(state: StateFolder, no_sync: None, flip: int) -> None:
    whole = sample(state, lines=7)

    for offset in range(len(whole)):
        damaged = bytearray(whole)
        damaged[offset] ^= flip
        expected = readable(whole, bytes(damaged))
        check_against(state, bytes(damaged), expected)


def test_every_byte_made_a_newline_is_seen(state: StateFolder, no_sync: None) -> None:
    whole = sample(state, lines=6)

    for offset in range(len(whole)):
        if whole[offset] != 10:
            damaged = whole[:offset] + b"\n" + whole[offset + 1 :]
            check_against(state, damaged, readable(whole, damaged))


@pytest.mark.parametrize("text_bytes", [20, 300, 700])
def test_any_lost_sectors_are_seen(state: StateFolder, no_sync: None, text_bytes: int) -> None:
    """A large append may reach the disk out of order: zeros in front, whole lines behind."""
    lines = {20: 18, 300: 8, 700: 5}[text_bytes]
    whole = sample(state, lines=lines, text_bytes=text_bytes, sync_each=4)
    sectors = range(-(-len(whole) // SECTOR_BYTES))
    assert 4 <= len(sectors) <= 9

    for count in range(1, len(sectors) + 1):
        for lost in combinations(sectors, count):
            damaged = bytearray(whole)
            for sector in lost:
                part = damaged[sector * SECTOR_BYTES : (sector + 1) * SECTOR_BYTES]
                damaged[sector * SECTOR_BYTES : (sector + 1) * SECTOR_BYTES] = bytes(len(part))
            check_against(state, bytes(damaged), readable(whole, bytes(damaged)))


def test_unsynced_lines_behind_zeros_are_set_aside_whole(state: StateFolder, no_sync: None) -> None:
    writer = Journal(state)
    writer.open()
    writer.append_object({"text": "synced"})
    writer.sync()
    lost = writer.size
    writer.append(['{"text":"zeros"', '{"text":"whole"', '{"text":"whole too"'])
    writer.close()
    data = state.journal_path.read_bytes()
    end = data.index(b"\n", lost)
    damaged = data[:lost] + bytes(end - lost) + data[end:]
    start_anew(state, damaged)

    writer.open()

    assert texts(writer.forward()) == ["synced"]
    assert writer.verify().torn != []
    assert writer.append_object({"text": "new"}) > 5, "seqs of lost lines are not used again"
    assert damaged in bytes_of(state.path).values()


def test_a_synced_line_that_is_lost_closes_the_journal(state: StateFolder, no_sync: None) -> None:
    """The same zeros one sync later: now something may have been done on the strength of that line."""
    writer = Journal(state)
    writer.open()
    place = writer.place()
    writer.append(['{"text":"zeros"', '{"text":"whole"'])
    end = writer.size
    writer.sync()
    writer.append_object({"text": "says that the others were synced"})
    writer.close()
    data = state.journal_path.read_bytes()
    damaged = data[: place.offset] + bytes(40) + data[place.offset + 40 :]
    start_anew(state, damaged)

    with pytest.raises(JournalDamaged) as caught:
        writer.open()

    assert end > place.offset + 40
    assert "nothing was changed" in str(caught.value.hint)
    assert bytes_of(state.path) == {"journal.jsonl": damaged}


def test_a_torn_line_that_claims_nonsense_is_still_only_torn(state: StateFolder, no_sync: None) -> None:
    whole = sample(state, lines=4, sync_each=10)
    last = whole.rindex(b'"durable":1')
    start_anew(state, whole[:last] + b'"durable":9' + whole[last + len(b'"durable":9') :])
    journal = Journal(state)

    journal.open()
    journal.close()

    assert len(texts(journal.forward())) == 3


def test_a_bad_line_in_front_of_one_with_a_false_seq_is_found(state: StateFolder, no_sync: None) -> None:
    """The place to start from must fit to the line before it, or what is bad there would be believed."""
    whole = sample(state, lines=4, sync_each=10)
    damaged = whole.replace(b'"text":"line 3', b'"text":"lime 3').replace(b'"seq":5', b'"seq":1')

    check_against(state, damaged, readable(whole, damaged))

    assert len(texts(Journal(state).forward())) == 3, "line 1, line 2 and the one after the crash"


@pytest.mark.parametrize("seq,durable", [(4, 1), (2, 1), (1, 0), (3, 3), (3, 9)])
def test_a_line_with_a_true_check_and_a_false_number_is_not_believed(
    state: StateFolder, no_sync: None, seq: int, durable: int
) -> None:
    whole = sample(state, lines=1)
    before = whole.splitlines()[-1][-34:-2]
    false, _ = seal_line(b'{"text":"false"', seq, durable, before)
    start_anew(state, whole + false)
    journal = Journal(state)

    assert texts(journal.forward()) == ["line 1 "]
    assert journal.verify().lines == 2
    journal.open()
    journal.close()
    assert journal.verify().torn != []


def test_a_record_after_a_torn_one_stands_on_its_own_line(state: StateFolder) -> None:
    """F11: the next good record was glued to half a line, and both were lost."""
    whole = sample(state, lines=4, sync_each=10)
    start_anew(state, whole[:-60])
    writer = Journal(state)
    writer.open()
    writer.append_object({"text": "new"})

    assert [text.split("x")[0].strip() for text in texts(writer.forward())] == [
        "line 1",
        "line 2",
        "line 3",
        "new",
    ]
    assert writer.verify().torn != []


def test_garbage_behind_the_last_line_is_set_aside(state: StateFolder) -> None:
    """I4: set aside, not overwritten."""
    whole = sample(state, lines=3)
    damaged = whole + b"\0" * 5000
    start_anew(state, damaged)
    writer = Journal(state)

    writer.open()

    assert damaged in bytes_of(state.path).values()
    assert writer.verify().torn != []
    assert len(texts(writer.forward())) == 3


def test_a_tail_torn_twice_is_set_aside_twice(state: StateFolder) -> None:
    writer = Journal(state)
    writer.open()
    for number in range(3):
        writer.append_object({"text": str(number)})
        writer.close()
        with state.journal_path.open("ab") as file:
            file.write(b'{"text":"half')
        writer.open()

    assert texts(writer.forward()) == ["0", "1", "2"]
    assert len(writer.verify().torn) == 3
    assert writer.verify().ok
