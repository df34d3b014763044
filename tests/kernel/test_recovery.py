"""The recovery table of the design, row by row: what the next start finds, and what it makes of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deskshell.errors import Conflict
from deskshell.files.identity import identity, stat_path
from deskshell.files.scope import Places
from deskshell.kernel.effects import Mode, Move, Swap
from deskshell.kernel.ground import Ground


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The user's folder."""
    (tmp_path / "held/task-1").mkdir(parents=True)
    (tmp_path / "kept").mkdir()
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def look(root: Path) -> Callable[[], Ground]:
    """Opens a ground on the folder, as a new process would."""
    return lambda: Ground(
        Places([os.fsencode(root)]),
        held=os.fsencode(root.parent / "held"),
        kept=os.fsencode(root.parent / "kept"),
        key=lambda: b"k" * 32,
    )


def at(root: Path, name: str) -> bytes:
    return os.fsencode(root / name)


def make(root: Path, name: str, text: str) -> bytes:
    """A file; its path."""
    (root / name).write_text(text)
    return at(root, name)


def move_of(root: Path, name: str, to: str, **more: bool) -> Move:
    """The move of the file `name`, still to be done."""
    found = stat_path(at(root, name))
    assert found is not None
    return Move(at(root, name), at(root, to), identity(found), **more)


def taken_back(look: Callable[[], Ground], effect: Move | Swap | Mode) -> bool:
    """What taking back says; twice, for it may run again (I9)."""
    ground = look()
    try:
        anything = effect.take_back(ground)
        assert not effect.take_back(ground) or anything
    finally:
        ground.close()
    return anything


def test_a_move_that_never_happened(root: Path, look: Callable[[], Ground]) -> None:
    """Only the source: nothing."""
    make(root, "a", "a")
    effect = move_of(root, "a", "b")

    assert not taken_back(look, effect)

    assert os.listdir(root) == ["a"]


def test_a_move_that_happened(root: Path, look: Callable[[], Ground]) -> None:
    """Only the target, ours: rename back."""
    make(root, "a", "a")
    effect = move_of(root, "a", "b")
    (root / "a").rename(root / "b")

    assert taken_back(look, effect)

    assert os.listdir(root) == ["a"]


def test_one_object_under_both_names(root: Path, look: Callable[[], Ground]) -> None:
    """Both, one inode (btrfs after a power cut): the target's name goes."""
    make(root, "a", "a")
    effect = move_of(root, "a", "b")
    os.link(root / "a", root / "b")

    assert taken_back(look, effect)

    assert os.listdir(root) == ["a"]


@pytest.mark.parametrize("have_source", [True, False])
def test_a_stranger_at_the_target(root: Path, look: Callable[[], Ground], have_source: bool) -> None:
    """Both, different: the source is ours and was never moved; without it, nothing is claimed (I7)."""
    make(root, "a", "a")
    effect = move_of(root, "a", "b")
    if not have_source:
        (root / "a").rename(root / "elsewhere")
    make(root, "b", "stranger")

    if have_source:
        assert not taken_back(look, effect)
    else:
        with pytest.raises(Conflict, match="is another file now"):
            taken_back(look, effect)

    assert (root / "b").read_text() == "stranger"


def test_an_object_under_neither_name(root: Path, look: Callable[[], Ground]) -> None:
    """Neither: a conflict, and never a claim of success."""
    make(root, "a", "a")
    effect = move_of(root, "a", "b")
    (root / "a").unlink()

    with pytest.raises(Conflict, match="is gone: neither") as refusal:
        taken_back(look, effect)

    assert refusal.value.verdict == "failed"


def test_a_target_whose_source_was_taken_again(root: Path, look: Callable[[], Ground]) -> None:
    make(root, "a", "a")
    effect = move_of(root, "a", "b")
    (root / "a").rename(root / "b")
    make(root, "a", "stranger")

    with pytest.raises(Conflict) as refusal:
        taken_back(look, effect)

    assert refusal.value.verdict == "blocked"
    assert ((root / "a").read_text(), (root / "b").read_text()) == ("stranger", "a")


def test_a_new_file_that_is_still_a_temporary(root: Path, look: Callable[[], Ground]) -> None:
    """Temporary: remove."""
    make(root, ".deskshell-1-0", "new")
    effect = move_of(root, ".deskshell-1-0", "n", made=True)

    assert not taken_back(look, effect)

    assert os.listdir(root) == []


def test_a_new_file_in_its_place(root: Path, look: Callable[[], Ground]) -> None:
    """Target ours: gone again."""
    make(root, ".deskshell-1-0", "new")
    effect = move_of(root, ".deskshell-1-0", "n", made=True)
    (root / ".deskshell-1-0").rename(root / "n")

    assert taken_back(look, effect)

    assert os.listdir(root) == []


def test_a_new_file_whose_name_is_somebody_elses(root: Path, look: Callable[[], Ground]) -> None:
    """Temporary there and the target another: the temporary goes, the stranger stays (I7)."""
    make(root, ".deskshell-1-0", "new")
    effect = move_of(root, ".deskshell-1-0", "n", made=True)
    make(root, "n", "stranger")

    ground = look()
    assert not effect.take_back(ground)
    ground.close()

    assert (os.listdir(root), (root / "n").read_text()) == (["n"], "stranger")


def test_a_new_folder_that_is_not_empty(root: Path, look: Callable[[], Ground]) -> None:
    """A folder only when empty."""
    (root / ".deskshell-1-0").mkdir()
    effect = move_of(root, ".deskshell-1-0", "d", made=True, empty=True)
    (root / ".deskshell-1-0").rename(root / "d")
    make(root, "d/mine", "mine")

    with pytest.raises(Conflict, match="is not empty"):
        taken_back(look, effect)

    assert (root / "d/mine").read_text() == "mine"


def swap_of(root: Path) -> Swap:
    """`a` to be replaced by the file staged in holding."""
    make(root, "a", "old")
    slot = root.parent / "held/task-1/0"
    slot.write_text("new")
    new, old = stat_path(os.fsencode(slot)), stat_path(at(root, "a"))
    assert new is not None
    assert old is not None
    return Swap(b"held:task-1/0", at(root, "a"), identity(new), identity(old))


def exchange(root: Path, ground: Ground) -> None:
    ground.exchange(b"held:task-1/0", at(root, "a"))
    ground.close()


def test_a_replacement_that_never_happened(root: Path, look: Callable[[], Ground]) -> None:
    """Old in place: nothing."""
    effect = swap_of(root)

    assert not taken_back(look, effect)

    assert (root / "a").read_text() == "old"


def test_a_replacement_that_happened(root: Path, look: Callable[[], Ground]) -> None:
    """New in place, old held: exchange back."""
    effect = swap_of(root)
    exchange(root, look())
    assert (root / "a").read_text() == "new"

    assert taken_back(look, effect)

    assert (root / "a").read_text() == "old"


def test_a_third_object_in_place_of_a_replacement(root: Path, look: Callable[[], Ground]) -> None:
    """A third object: conflict, and both others are still there."""
    effect = swap_of(root)
    exchange(root, look())
    (root / "a").rename(root / "aside")
    make(root, "a", "third")

    with pytest.raises(Conflict, match="is another file now"):
        taken_back(look, effect)

    assert (root / "a").read_text() == "third"
    assert (root.parent / "held/task-1/0").read_text() == "old"


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_an_exchange_by_three_renames_cut_anywhere(root: Path, look: Callable[[], Ground], done: int) -> None:
    """Where the system has no exchange: the old object waits beside the slot."""
    effect = swap_of(root)
    slot = root.parent / "held/task-1/0"
    out = slot.with_name("0.out")
    for src, dst in [(root / "a", out), (slot, root / "a"), (out, slot)][:done]:
        src.rename(dst)

    ground = look()
    effect.take_back(ground)
    ground.close()

    assert (root / "a").read_text() == "old"
    assert sorted(os.listdir(slot.parent)) == ["0"]


def test_a_deletion_is_taken_back_out_of_holding(root: Path, look: Callable[[], Ground]) -> None:
    """In place: nothing; held: rename back, never over anything."""
    make(root, "a", "a")
    found = stat_path(at(root, "a"))
    assert found is not None
    effect = Move(at(root, "a"), b"held:task-1/0", identity(found))
    assert not taken_back(look, effect)
    (root / "a").rename(root.parent / "held/task-1/0")

    assert taken_back(look, effect)

    assert (root / "a").read_text() == "a"


@pytest.mark.parametrize(
    "mode,replaced,outcome",
    [(0o644, False, False), (0o600, False, True), (0o640, False, None), (0o600, True, None)],
    ids=["never set", "set", "set by others", "another object"],
)
def test_a_mode_is_given_back_to_the_same_object_only(
    root: Path, look: Callable[[], Ground], mode: int, replaced: bool, outcome: bool | None
) -> None:
    """The old value is in the intent, and applied to the same object only."""
    make(root, "a", "a")
    found = stat_path(at(root, "a"))
    assert found is not None
    effect = Mode(at(root, "a"), identity(found), 0o644, 0o600)
    if replaced:
        (root / "a").rename(root / "old")
        make(root, "a", "b")
    os.chmod(root / "a", mode)

    if outcome is None:
        with pytest.raises(Conflict):
            taken_back(look, effect)
        assert os.stat(root / "a").st_mode & 0o7777 == mode
    else:
        assert taken_back(look, effect) is outcome
        assert os.stat(root / "a").st_mode & 0o7777 == 0o644
