"""The short way to take back a mere move, and the long one: they come to the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deskshell.errors import Conflict
from deskshell.files.identity import identity
from deskshell.files.scope import Places
from deskshell.kernel.effects import Effect, Move
from deskshell.kernel.ground import Ground
from deskshell.kernel.inverse import Inverter, Sight, plain_inverse


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], Ground]]:
    """Opens the ground anew, as each task does."""
    for name in ("root", "held", "kept"):
        (tmp_path / name).mkdir()
    stores = {name: os.fsencode(tmp_path / name) for name in ("held", "kept")}
    with ExitStack() as open_places:

        def make() -> Ground:
            places = open_places.enter_context(Places([os.fsencode(tmp_path / "root")]))
            return Ground(places, key=lambda: b"", **stores)

        yield make


def as_left(root: Path) -> None:
    """Nothing happens."""


def change_mode(root: Path) -> None:
    (root / "to" / "f").chmod(0o600)


def edit(root: Path) -> None:
    (root / "to" / "f").write_text("longer than before")


def replace_it(root: Path) -> None:
    (root / "to" / "g").write_text("x")
    (root / "to" / "g").replace(root / "to" / "f")


def take_its_old_name(root: Path) -> None:
    (root / "from" / "f").write_text("mine")


def put_a_dangling_link_there(root: Path) -> None:
    (root / "from" / "f").symlink_to("nowhere")


def take_its_old_folder_away(root: Path) -> None:
    (root / "from").rmdir()


def put_a_file_in_place_of_the_folder(root: Path) -> None:
    (root / "from").rmdir()
    (root / "from").write_text("")


def put_it_back_by_hand(root: Path) -> None:
    (root / "to" / "f").rename(root / "from" / "f")


def remove_it(root: Path) -> None:
    (root / "to" / "f").unlink()


UNDOABLE = (as_left, change_mode)
OTHERS = (
    edit,
    replace_it,
    take_its_old_name,
    put_a_dangling_link_there,
    take_its_old_folder_away,
    put_a_file_in_place_of_the_folder,
    put_it_back_by_hand,
    remove_it,
)


@pytest.fixture
def moved(opened: Callable[[], Ground], tmp_path: Path) -> tuple[Move, int]:
    """A move that was made, and the change time of what it left."""
    root = tmp_path / "root"
    (root / "from").mkdir()
    (root / "to").mkdir()
    (root / "from" / "f").write_text("x")
    src, dst = os.fsencode(root / "from" / "f"), os.fsencode(root / "to" / "f")
    ground = opened()
    found = ground.look(src)
    assert found is not None
    move = Move(src, dst, identity(found))
    left = move.act(ground)
    assert left is not None
    return move, left.ctime_ns


def the_long_way(ground: Ground, move: Move) -> list[Effect]:
    inverter = Inverter(Sight(ground), task_id="t", n=0, force=False, half=False, ctx=None)
    return inverter.invert((move,))


@pytest.mark.parametrize("meanwhile", UNDOABLE)
@pytest.mark.parametrize("knows_ctime", [True, False])
def test_what_is_as_it_was_left_goes_back_alike(
    opened: Callable[[], Ground],
    tmp_path: Path,
    moved: tuple[Move, int],
    meanwhile: Callable[[Path], None],
    knows_ctime: bool,
) -> None:
    move, ctime_ns = moved
    meanwhile(tmp_path / "root")
    ground = opened()

    found = plain_inverse((move,), Sight(ground), ctime_ns if knows_ctime else None)

    assert [found] == the_long_way(ground, move)


@pytest.mark.parametrize("meanwhile", OTHERS)
def test_all_else_is_left_to_the_long_way(
    opened: Callable[[], Ground], tmp_path: Path, moved: tuple[Move, int], meanwhile: Callable[[Path], None]
) -> None:
    """It knows what to say of it: refused, edited since, or back already."""
    move, ctime_ns = moved
    meanwhile(tmp_path / "root")
    ground = opened()

    assert plain_inverse((move,), Sight(ground), ctime_ns) is None
    if meanwhile is edit:
        (back,) = the_long_way(ground, move)
        assert isinstance(back, Move)
        assert (back.src, back.dst) == (move.dst, move.src)
    elif meanwhile is put_it_back_by_hand:
        assert the_long_way(ground, move) == []
    else:
        with pytest.raises(Conflict):
            the_long_way(ground, move)


def test_a_step_of_more_than_a_mere_move_is_left_to_the_long_way(
    opened: Callable[[], Ground], moved: tuple[Move, int]
) -> None:
    move, ctime_ns = moved
    ground = opened()
    more = [
        (),
        (move, move),
        *((move._replace(**each),) for each in ({"made": True}, {"sha256": "0"}, {"empty": True})),
    ]

    assert [plain_inverse(each, Sight(ground), ctime_ns) for each in more] == [None] * 5
