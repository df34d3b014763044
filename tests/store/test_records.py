"""Records are written once, and their names reach nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deskshell.errors import NotFound, PlanConflict, StateFolderError
from deskshell.store.records import Records
from tests.store.samples import cut_before

BAD_NAMES = ["", "..", ".", "a/b", "../a", "A", "a.b", "a\n", "a\0", "ä", "-" * 65, "a b", "/etc/passwd"]


@pytest.fixture
def records(folder: Path) -> Records:
    return Records(folder)


def test_a_record_comes_back_as_it_was_put(records: Records) -> None:
    records.put("plan-2", b"\x00two\n")
    records.put("plan-1", b"one")

    assert (records.get("plan-1"), records.get("plan-2")) == (b"one", b"\x00two\n")
    assert records.names() == ["plan-1", "plan-2"]


def test_a_record_is_never_written_over(records: Records) -> None:
    records.put("a", b"one")

    with pytest.raises(PlanConflict, match="`a` exists already"):
        records.put("a", b"two")

    assert records.get("a") == b"one"


def test_what_was_removed_is_gone(records: Records) -> None:
    records.put("a", b"one")
    records.remove("a")

    assert records.get("a") is None
    assert records.names() == []
    with pytest.raises(NotFound, match="no `a`"):
        records.remove("a")


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_could_reach_outside_is_refused(records: Records, name: str) -> None:
    for use in (records.get, records.remove, lambda name: records.put(name, b"x")):
        with pytest.raises(ValueError, match="not a record name"):
            use(name)
    assert os.listdir(records.folder) == []


def test_reading_where_nothing_is_creates_nothing(folder: Path) -> None:
    records = Records(folder / "plans")

    assert records.get("a") is None
    assert records.names() == []
    assert os.listdir(folder) == []


def test_a_put_killed_anywhere_leaves_a_whole_record_or_none(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for number in range(8):
        with cut_before(monkeypatch, number):
            records.put(f"a{number}", b"whole")
        found.add(records.get(f"a{number}"))
        assert set(records.names()) <= {f"a{n}" for n in range(8)}, "no half-written file is listed"

    assert found == {None, b"whole"}


def test_a_put_that_fails_says_so(folder: Path) -> None:
    with pytest.raises(StateFolderError, match="`a` cannot be stored: No such file"):
        Records(folder / "missing").put("a", b"x")


def test_a_link_is_not_read_as_a_record(records: Records, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (records.folder / "a.json").symlink_to(tmp_path / "secret")

    with pytest.raises(StateFolderError):
        records.get("a")
