"""Batches are independent steps, in order, and as few as that allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from deskshell.kernel.batch import split


@dataclass(frozen=True)
class Touch:
    """All that `split` asks of an item."""

    n: int
    paths: tuple[bytes, ...]
    alone: bool = False

    def touches(self) -> tuple[bytes, ...]:
        return self.paths


names = st.sampled_from([b"a", b"b", b"ab", b"c"])
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: b"/" + b"/".join(parts))
items = st.lists(st.tuples(st.lists(paths, max_size=3).map(tuple), st.booleans().map(bool)), max_size=30).map(
    lambda found: [Touch(n, touched, alone and n % 5 == 0) for n, (touched, alone) in enumerate(found)]
)


def batches(of: list[Touch], most: int = 1000) -> list[list[Touch]]:
    return cast("list[list[Touch]]", list(split(cast("Any", of), most)))


def related(one: bytes, two: bytes) -> bool:
    return one == two or one.startswith(two + b"/") or two.startswith(one + b"/")


@given(items)
def test_order_is_kept_and_nothing_is_lost(found: list[Touch]) -> None:
    assert [item for batch in batches(found) for item in batch] == found


@given(items)
def test_no_two_paths_of_different_steps_in_a_batch_are_related(found: list[Touch]) -> None:
    """A dependent step is prepared after the one before it has acted (I1): else it secures the wrong thing."""
    for batch in batches(found):
        for number, one in enumerate(batch):
            for two in batch[number + 1 :]:
                assert not any(related(a, b) for a in one.paths for b in two.paths)


@given(items)
def test_a_new_batch_has_a_reason(found: list[Touch]) -> None:
    """Few syncs are what batches are for."""
    for one, two in zip(batches(found), batches(found)[1:], strict=False):
        first = two[0]
        meets = any(related(a, b) for each in one for a in each.paths for b in first.paths)
        assert meets or first.alone or one[-1].alone


@given(items, st.integers(1, 4))
def test_a_batch_has_at_most_so_many_steps(found: list[Touch], most: int) -> None:
    assert all(1 <= len(batch) <= most for batch in batches(found, most))


@given(items)
def test_a_step_that_the_disk_does_not_show_is_a_batch_of_its_own(found: list[Touch]) -> None:
    for batch in batches(found):
        assert len(batch) == 1 or not any(item.alone for item in batch)


def test_a_step_with_a_path_inside_another_of_its_own_is_kept_apart() -> None:
    """A folder that was free when it was looked at is taken by the very step that asked."""
    for paths in ((b"/a", b"/a/b/c"), (b"/a/b/c", b"/a")):
        assert len(batches([Touch(0, paths), Touch(1, (b"/a/b/d",))])) == 2


def test_steps_in_one_folder_share_a_batch() -> None:
    """Parents that exist may be shared."""
    assert len(batches([Touch(n, (b"/d/%d" % n,)) for n in range(500)])) == 1
