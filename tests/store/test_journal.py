"""Writing lines and reading them back, over segments."""

from __future__ import annotations

import json
import os
import stat
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deskshell.errors import JournalDamaged, StateFolderError
from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal
from deskshell.store.segments import Place
from tests.store.samples import texts


def test_what_was_appended_is_read_back_in_order(journal: Journal) -> None:
    seqs = journal.append(['{"text":"one"', b'{"text":"two"'])
    last = journal.append_object({"text": "three"})

    assert texts(journal.forward()) == ["one", "two", "three"]
    assert (list(seqs), last, journal.last_seq) == ([2, 3], 4, 4)


def test_a_line_ends_with_its_seal(journal: Journal, state: StateFolder) -> None:
    """The format on disk is a promise to the next version."""
    journal.sync()
    journal.append(['{"ts":1,"taskId":"task-1","n":0'])

    line = state.journal_path.read_bytes().splitlines()[1]

    body, _, check = line.partition(b',"check":"')
    assert body == b'{"ts":1,"taskId":"task-1","n":0,"seq":2,"durable":1'
    assert len(check) == 34
    assert check.endswith(b'"}')


def test_the_first_line_is_a_header(journal: Journal) -> None:
    _, header = next(journal.forward())

    assert (header["type"], header["format"], header["previous"], header["seq"]) == ("header", 1, None, 1)


def test_a_check_is_the_hash_of_the_line_and_the_check_before(journal: Journal, state: StateFolder) -> None:
    journal.append(['{"a":1', '{"a":2'])
    lines = state.journal_path.read_bytes().splitlines()

    checks = ["0" * 32, *(json.loads(line)["check"] for line in lines)]
    expected = [
        sha256(before.encode() + line[:-44]).hexdigest()[:32]
        for before, line in zip(checks, lines, strict=False)
    ]

    assert checks[1:] == expected


def test_a_line_says_what_was_durable_when_it_was_written(journal: Journal) -> None:
    journal.append(['{"a":1', '{"a":2'])
    journal.sync()
    journal.append(['{"a":3'])

    assert [line["durable"] for _, line in journal.forward()] == [0, 1, 1, 3]
    assert (journal.last_seq, journal.durable_seq) == (4, 3)


def test_reading_backward_is_reading_forward_reversed(journal: Journal) -> None:
    for number in range(300):
        journal.append_object({"text": "x" * number})
        if number % 100 == 50:
            journal.retire("rotated")

    assert list(journal.backward()) == list(journal.forward())[::-1]


def test_a_line_larger_than_any_block_is_read_both_ways(journal: Journal) -> None:
    values = ["a", "b" * 2_000_000, "c"]
    for value in values:
        journal.append_object({"text": value})

    assert texts(journal.forward()) == values
    assert texts(journal.backward()) == values[::-1]
    assert [
        line["text"] for line in journal.lines_at([place for place, _ in journal.forward()][1:])
    ] == values


def test_a_place_finds_its_line_after_rotation(journal: Journal) -> None:
    """`end` lines name the place of their `begin`, and the segment is renamed later."""
    journal.append_object({"text": "before"})
    place = journal.place()
    journal.append_object({"text": "here"})
    journal.retire("rotated")
    journal.retire("rotated")

    assert journal.line_at(place)["text"] == "here"
    assert texts(journal.forward(place)) == ["here"]
    assert texts(journal.backward(place)) == ["before"]


def test_a_part_is_read_from_a_place_to_before_another(journal: Journal) -> None:
    places = []
    for number in range(6):
        places.append(journal.place())
        journal.append_object({"text": str(number)})
        if number == 2:
            journal.retire("rotated")

    assert texts(journal.forward(places[1], places[2])) == ["1"]
    assert texts(journal.forward(places[1], places[5])) == ["1", "2", "3", "4"]
    assert texts(journal.forward(stop=places[2])) == ["0", "1"]


def test_places_compare_in_the_order_of_their_lines(journal: Journal) -> None:
    for _ in range(3):
        journal.append(['{"a":1', '{"a":2'])
        journal.retire("rotated")

    places = [place for place, _ in journal.forward()]

    assert places == sorted(places)


def test_a_place_where_no_line_begins_is_an_error(journal: Journal) -> None:
    place = journal.place()
    journal.append_object({"text": "x"})

    with pytest.raises(JournalDamaged):
        journal.line_at(Place(place.segment, place.offset + 1))
    with pytest.raises(JournalDamaged, match="is missing"):
        journal.line_at(Place(99, 0))


def test_raw_lines_are_the_bytes_of_the_file(journal: Journal, state: StateFolder) -> None:
    journal.append(['{"text":"one"', '{"text":"two"'])

    lines = list(journal.raw_forward())

    assert [line for _, line in lines] == state.journal_path.read_bytes().splitlines()
    assert [place for place, _ in lines] == [place for place, _ in journal.forward()]


def test_raw_lines_can_be_searched(journal: Journal) -> None:
    journal.append([f'{{"path":"/home/{name}"' for name in ("ann", "bob", "bobby")])

    found = [json.loads(line)["path"] for _, line in journal.raw_forward(containing=b"/bob")]

    assert found == ["/home/bob", "/home/bobby"]


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\x00"])
def test_only_a_newline_byte_ends_a_line(journal: Journal, odd: str) -> None:
    """F12: text splitting also breaks at U+2028 and U+0085, and made two broken lines of a valid one."""
    journal.append_object({"text": f"a{odd}b"})

    assert texts(journal.forward()) == [f"a{odd}b"]
    assert texts(journal.backward()) == [f"a{odd}b"]
    assert journal.verify().ok


@pytest.mark.parametrize("body", ['{"a":"x\ny"', "{", b"{"])
def test_a_body_that_would_break_a_line_is_refused(journal: Journal, body: str | bytes) -> None:
    with pytest.raises(ValueError, match="journal line"):
        journal.append(['{"text":"good"', body])

    assert texts(journal.forward()) == []
    assert journal.append_object({"text": "next"}) == 2


@pytest.mark.parametrize("key", ["seq", "durable", "check"])
def test_a_value_that_would_hide_behind_the_seal_is_refused(journal: Journal, key: str) -> None:
    with pytest.raises(ValueError, match="journal's own"):
        journal.append_object({"text": "x", key: 1})


@pytest.mark.parametrize("value", [{"text": "\udcff"}, {"size": float("nan")}, {"size": float("inf")}])
def test_a_value_that_strict_readers_refuse_is_refused(journal: Journal, value: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"surrogates|JSON"):
        journal.append_object(value)

    assert journal.append_object({"text": "next"}) == 2


def test_bytes_that_are_no_text_are_refused(journal: Journal) -> None:
    """They would be sealed like any other line, and then read as damage."""
    with pytest.raises(UnicodeDecodeError):
        journal.append([b'{"text":"\xff"'])

    assert journal.verify().lines == 1


def test_appending_nothing_writes_nothing(journal: Journal) -> None:
    size = journal.size

    assert list(journal.append([])) == []
    assert journal.size == size


def test_a_second_writer_goes_on_where_the_first_stopped(journal: Journal, state: StateFolder) -> None:
    journal.append_object({"text": "first"})
    journal.close()

    second = Journal(state)
    second.open()

    assert second.verify().torn == []
    assert second.append_object({"text": "second"}) == 3
    assert texts(Journal(state).forward()) == ["first", "second"]
    assert second.verify().ok


def test_a_writer_that_opens_again_sees_what_others_wrote(journal: Journal, state: StateFolder) -> None:
    other = Journal(state)
    other.open()
    other.append_object({"text": "by another"})
    other.retire("rotated")
    other.close()

    journal.open()

    assert journal.append_object({"text": "mine"}) == 4
    assert journal.verify().ok


@pytest.mark.parametrize("rotate", [False, True])
def test_a_writer_that_did_not_open_again_is_refused(
    journal: Journal, state: StateFolder, rotate: bool
) -> None:
    """F26: others rotated the log, and some went on writing into the renamed file."""
    other = Journal(state)
    other.open()
    if rotate:
        other.retire("rotated")
    other.append_object({"text": "by another"})
    other.close()

    assert texts(journal.forward()) == ["by another"]
    with pytest.raises(OSError, match="another process wrote"):
        journal.append_object({"text": "mine"})

    journal.open()
    journal.append_object({"text": "mine"})
    assert texts(journal.forward()) == ["by another", "mine"]


def test_reading_creates_nothing(tmp_path: Path) -> None:
    """A preview makes no file, not even the state folder."""
    journal = Journal(StateFolder(tmp_path / "state"))

    assert list(journal.forward()) == []
    assert list(journal.backward()) == []
    assert journal.is_empty()
    assert journal.segments() == []
    assert journal.verify().ok
    assert os.listdir(tmp_path) == []


def test_a_journal_of_headers_is_empty(journal: Journal) -> None:
    journal.retire("rotated")
    assert journal.is_empty()

    journal.append_object({"text": "x"})
    assert not journal.is_empty()


def test_all_files_are_for_the_owner_alone(journal: Journal, state: StateFolder) -> None:
    usual = os.umask(0)
    try:
        journal.retire("rotated")
    finally:
        os.umask(usual)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.path.iterdir() if path.is_file()}

    assert len(modes) == 3
    assert set(modes.values()) == {0o600}


def test_a_newer_format_is_neither_read_nor_written(journal: Journal, state: StateFolder) -> None:
    data = state.journal_path.read_bytes().replace(b'"format":1', b'"format":2')
    state.journal_path.write_bytes(data)

    for use in (
        journal.open,
        lambda: list(journal.forward()),
        lambda: list(journal.backward()),
        journal.verify,
    ):
        with pytest.raises(StateFolderError, match="format 2"):
            use()
    assert state.journal_path.read_bytes() == data


def test_a_link_in_place_of_the_journal_is_neither_read_nor_written(
    journal: Journal, state: StateFolder
) -> None:
    real = state.journal_path.rename(state.path / "elsewhere")
    state.journal_path.symlink_to(real)
    before = real.read_bytes()

    for use in (journal.open, lambda: list(journal.forward()), journal.verify):
        with pytest.raises(StateFolderError, match="cannot be read"):
            use()
    assert real.read_bytes() == before


def test_an_unsafe_folder_is_not_written(journal: Journal, state: StateFolder) -> None:
    state.path.chmod(0o777)

    with pytest.raises(StateFolderError, match="written by others"):
        journal.open()


bodies = st.dictionaries(
    st.text(min_size=1), st.text() | st.integers() | st.lists(st.none() | st.booleans()), min_size=1
)
steps = st.lists(st.lists(bodies, max_size=4) | st.sampled_from(["sync", "rotate", "reopen"]), max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_any_lines_in_any_batches_come_back(
    tmp_path_factory: pytest.TempPathFactory, no_sync: None, steps: list[list[dict[str, object]] | str]
) -> None:
    state = StateFolder(tmp_path_factory.mktemp("any") / "state")
    state.create()
    journal = Journal(state, max_bytes=1)
    journal.open()
    written: list[dict[str, object]] = []
    for step in steps:
        if step == "sync":
            journal.sync()
        elif step == "rotate":
            journal.rotate_if_needed()
        elif step == "reopen":
            journal.open()
        elif isinstance(step, list):
            journal.append([json.dumps(body, ensure_ascii=True)[:-1] for body in step])
            written += step
    journal.close()

    lines = list(Journal(state).forward())

    sealed = {"seq", "durable", "check"}
    plain = [
        {k: v for k, v in line.items() if k not in sealed}
        for _, line in lines
        if line.get("type") != "header"
    ]
    assert plain == [{k: v for k, v in body.items() if k not in sealed} for body in written]
    assert [line["seq"] for _, line in lines] == list(range(1, len(lines) + 1))
    assert list(journal.backward()) == lines[::-1]
    assert list(journal.lines_at(place for place, _ in lines)) == [line for _, line in lines]
    assert journal.verify().lines == len(lines)
    assert journal.verify().ok
