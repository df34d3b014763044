"""Finding lines from the end back, by what they hold, without splitting what holds nothing."""

from __future__ import annotations

import pytest

from deskshell.store import segments
from deskshell.store.journal import Journal
from deskshell.store.segments import Place


def written(journal: Journal, count: int) -> list[str]:
    """Append lines of different lengths over two segments; returns their texts."""
    texts = [f"line {n} " + "ab"[n % 2] * (n * 7 % 40) for n in range(count)]
    for n, text in enumerate(texts):
        if n == count // 2:
            journal.retire("rotated")
        journal.append_object({"text": text})
    journal.sync()
    return texts


@pytest.mark.parametrize("block", [1, 7, 64, 300, 1 << 20])
@pytest.mark.parametrize("needle", ["line 3", "line", "b", "no such thing", '"type":"header"'])
def test_the_same_lines_are_found_as_by_looking_at_each(
    journal: Journal, block: int, needle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a block happens to end."""
    written(journal, 30)
    every = [(place, line) for place, line in journal.raw_forward() if needle.encode() in line]
    monkeypatch.setattr(segments, "_BLOCK", block)

    found = list(journal.raw_backward(lambda data: needle.encode() in data))

    assert found == every[::-1]


def test_what_is_wanted_may_grow_with_what_is_found(journal: Journal) -> None:
    """A file is followed from its present name back to earlier ones."""
    for text in ("c → d", "a → b", "b → c", "x → y"):
        journal.append_object({"text": text})
    wanted = [b"c \\u2192 d", "c → d".encode()]
    found = []

    for _, line in journal.raw_backward(lambda data: any(each in data for each in wanted)):
        found.append(line)
        wanted.append("a → b".encode())

    assert len(found) == 1  # what it came to want lies after it: the way is back
    journal.append_object({"text": "c → d"})
    journal.sync()
    found = [line for _, line in journal.raw_backward(lambda data: any(each in data for each in wanted))]
    assert len(found) == 3


def test_places_are_those_of_the_lines(journal: Journal) -> None:
    texts = written(journal, 12)

    places = [place for place, _ in journal.raw_backward(lambda data: b"line" in data)]

    assert all(isinstance(place, Place) for place in places)
    assert [line["text"] for line in journal.lines_at(places)] == texts[::-1]


def test_an_empty_journal_has_nothing(journal: Journal) -> None:
    assert list(journal.raw_backward(lambda data: b"text" in data)) == []
