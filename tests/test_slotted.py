"""`slotted` makes what `dataclasses` would, only sooner."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import ClassVar

import pytest

from deskshell.slotted import NamedTuple, as_dict, field, replace, slotted


@slotted(frozen=True)
class Point:
    """A value."""

    kind: ClassVar[str] = "point"

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    key: str = field(default="k", repr=False)


@slotted()
class Box:
    """A thing that changes."""

    size: int = 1


class Pair(NamedTuple):
    """Two things."""

    left: int
    right: str = ""

    def both(self) -> str:
        """One after the other."""
        return f"{self.left}{self.right}"


@slotted(frozen=True)
class Named(Point):
    """With a field more, which is checked."""

    name: str = ""

    def __post_init__(self) -> None:
        if self.name == "bad":
            raise ValueError(self.name)


def test_fields_come_from_the_annotations_with_their_defaults() -> None:
    assert as_dict(Point(1)) == {"x": 1, "y": 0, "tags": [], "key": "k"}
    assert as_dict(Point(1, 2, ["a"], key="q")) == {"x": 1, "y": 2, "tags": ["a"], "key": "q"}
    assert Point.kind == "point"


def test_a_default_that_is_made_is_made_for_each_object() -> None:
    assert Point(1).tags is not Point(1).tags


@pytest.mark.parametrize(
    "args, kwargs", [((), {}), ((1, 2, [], "k", 5), {}), ((1,), {"x": 1}), ((1,), {"z": 1})]
)
def test_arguments_that_are_missing_or_too_many_are_refused(
    args: tuple[int, ...], kwargs: dict[str, int]
) -> None:
    with pytest.raises(TypeError):
        Point(*args, **kwargs)  # type: ignore[arg-type]


def test_a_frozen_value_cannot_be_changed_and_has_a_hash() -> None:
    point = Point(1, tags=())  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.x
    assert {point: "here"}[Point(1, tags=())] == "here"  # type: ignore[arg-type]


def test_one_that_is_not_frozen_can_be_changed_has_no_hash_and_takes_no_other_attribute() -> None:
    box = Box()
    box.size = 2
    assert box == Box(2)
    with pytest.raises(TypeError):
        hash(box)
    with pytest.raises(AttributeError):
        box.colour = "red"  # type: ignore[attr-defined]


def test_equal_means_one_class_and_equal_fields() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert Point(1, 2) != Point(1, 3)
    assert Point(1) != Named(1)


def test_fields_of_the_base_come_first_and_a_check_runs_after_them() -> None:
    assert Named(1, 2, ["t"], "k", "n").name == "n"
    assert repr(Named(1, name="n")) == "Named(x=1, y=0, tags=[], name='n')"
    with pytest.raises(ValueError, match="bad"):
        Named(1, name="bad")


def test_a_copy_differs_in_what_was_asked_for_only() -> None:
    assert replace(Point(1, 2, ["a"], "q"), y=5) == Point(1, 5, ["a"], "q")


def test_values_survive_copying_and_pickling() -> None:
    for value in (Point(1, 2, ["a"], "q"), Box(3), Pair(1)):
        assert copy.copy(value) == value
        assert pickle.loads(pickle.dumps(value)) == value


def test_a_named_tuple_is_a_tuple_with_names() -> None:
    pair = Pair(1, right="r")
    assert (pair.left, pair.right, pair.both()) == (1, "r", "1r")
    assert pair == (1, "r")
    assert hash(pair) == hash((1, "r"))
    assert Pair._make([1, "r"]) == pair
    assert pair._replace(left=2) == Pair(2, "r")
    assert pair._asdict() == {"left": 1, "right": "r"}
    assert repr(Pair(1)) == "Pair(left=1, right='')"
    assert Pair.__doc__ == "Two things."
    with pytest.raises(AttributeError):
        pair.left = 3  # type: ignore[misc]


@pytest.mark.parametrize("args, kwargs", [((), {}), ((1, "a", 3), {}), ((1,), {"left": 2}), ((1,), {"z": 2})])
def test_a_named_tuple_takes_its_fields_and_nothing_else(
    args: tuple[int, ...], kwargs: dict[str, int]
) -> None:
    with pytest.raises(TypeError):
        Pair(*args, **kwargs)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Pair._make([1])
    with pytest.raises(ValueError, match="z"):
        Pair(1)._replace(z=1)  # type: ignore[call-arg]


def test_it_agrees_with_dataclasses() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Theirs:
        x: int
        y: int = 0

    @slotted(frozen=True)
    class Ours:
        x: int
        y: int = 0

    assert repr(Ours(1)).rpartition("Ours")[2] == repr(Theirs(1)).rpartition("Theirs")[2]
    assert Ours.__slots__ == Theirs.__slots__  # type: ignore[attr-defined]
    assert Ours.__match_args__ == Theirs.__match_args__


def test_neither_inspect_nor_dataclasses_is_imported() -> None:
    """They are what it is there to avoid."""
    program = (
        "import deskshell.slotted, sys; print([m for m in ('dataclasses', 'inspect') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_an_init_that_was_put_around_the_first_one_stays() -> None:
    """A test that gives every object its own clock, say: the compiled `__init__` must not push it out."""

    @slotted()
    class Thing:
        size: int = 1

    first = Thing.__init__

    def twice(self: Thing, size: int = 1) -> None:
        first(self, 2 * size)

    Thing.__init__ = twice  # type: ignore[method-assign]

    assert [Thing(1).size, Thing(2).size] == [2, 4]
