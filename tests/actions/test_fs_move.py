"""Moving: never over anything, never through a copy that loses something, never waiting on a fifo."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from deskshell.actions.fs_move import FsMove
from deskshell.errors import Conflict, PlanConflict
from deskshell.kernel.view import TargetTaken, View
from tests.contract.harness import World, context
from tests.support.listing import difference, listing
from tests.support.privileges import as_normal_user
from tests.support.trees import Content, make_files


def move(world: World, src: str, dst: str, **more: object) -> FsMove:
    return FsMove.build({"from": world.path(src), "to": world.path(dst), **more})


@pytest.mark.parametrize(
    "taken", ["b", "", ("->", "nowhere"), None], ids=["file", "empty", "dangling", "folder"]
)
def test_a_name_that_is_taken_refuses_the_plan(world: World, taken: Content) -> None:
    """F06: a dangling link and an empty file are something, too."""
    make_files(world.root, {"a": "a", "b/" if taken is None else "b": taken})

    with pytest.raises(TargetTaken, match=r"`.*/b` exists already"):
        move(world, "a", "b").simulate(View(), "move:a")


def test_a_file_that_appears_between_look_and_act_is_left_alone(world: World) -> None:
    """F06: the last word has the rename, which replaces nothing."""
    make_files(world.root, {"a": "a"})
    action = move(world, "a", "b")
    prior = world.prepare(action)
    make_files(world.root, {"b": "theirs"})

    with pytest.raises(Conflict, match=r"`.*/b` is taken"):
        world.do(action, prior)

    assert (world.root / "a").read_text() == "a"
    assert (world.root / "b").read_text() == "theirs"


def test_a_source_that_was_edited_after_the_look_is_not_moved(world: World) -> None:
    """I7: what is moved is what was planned."""
    make_files(world.root, {"a": "a"}, mtime=1_500_000_000)
    action = move(world, "a", "b")
    prior = world.prepare(action)
    (world.root / "a").write_text("edited")

    with pytest.raises(Conflict, match=r"`.*/a` was changed"):
        world.do(action, prior)

    assert sorted(os.listdir(world.root)) == ["a"]


def test_the_first_free_of_several_names_is_taken_when_the_time_comes(world: World) -> None:
    """Planned as `b (2)`; by now somebody has that name, and the one after."""
    make_files(world.root, {"a": "a", "b": "b"})
    names = (world.path("b (3)"), world.path("b (4)"))
    action = move(world, "a", "b (2)", more=names)
    view = View()
    action.simulate(view, "move:a")
    seen = dict(view.take_seen())
    make_files(world.root, {"b (2)": "theirs", "b (3)": "theirs"})

    world.do(action, world.prepare(action))

    assert (world.root / "b (4)").read_text() == "a"
    # The plan is made for the source as it was, and for whichever of the names is free by then.
    assert world.path("a") in seen
    assert not {world.path("b (2)"), *names} & seen.keys()


def test_when_all_names_are_taken_nothing_happens(world: World) -> None:
    make_files(world.root, {"a": "a", "b": "b", "b (2)": "b"})

    with pytest.raises(Conflict, match=r"`.*/b` is taken, and 1 names instead of it") as refusal:
        world.prepare(move(world, "a", "b", more=(world.path("b (2)"),)))

    assert refusal.value.verdict == "blocked"


def test_a_folder_is_not_moved_into_itself(world: World) -> None:
    """F39."""
    make_files(world.root, {"d/x": "x"})

    with pytest.raises(PlanConflict, match=r"lies inside `.*/d` itself"):
        move(world, "d", "d/in/d").simulate(View(), "move:d")


def test_a_folder_is_neither_merged_nor_replaced(world: World) -> None:
    """F25: undoing a merge cannot tell whose file was whose."""
    make_files(world.root, {"d/x": "x", "e/x": "theirs"})

    with pytest.raises(TargetTaken):
        move(world, "d", "e").simulate(View(), "move:d")
    with pytest.raises(PlanConflict, match="is a folder, which is not replaced"):
        move(world, "d", "e", replace=True).simulate(View(), "move:d")
    with pytest.raises(Conflict, match="is a folder, not a file"):
        world.prepare(move(world, "d", "e", replace=True))


def test_what_is_replaced_comes_back_as_the_very_object(world: World) -> None:
    """Not a copy: other programs may have it open, other names may lead to it."""
    make_files(world.root, {"a": "a", "b": "b", "other name of b": ("=", "b")})
    inode = os.stat(world.root / "b").st_ino
    action = move(world, "a", "b", replace=True)
    prior = world.prepare(action)

    world.do(action, prior)
    assert (world.root / "b").read_text() == "a"
    world.undo(action, prior)

    assert os.stat(world.root / "b").st_ino == inode
    assert os.stat(world.root / "b").st_nlink == 2


def test_case_alone_may_change(world: World) -> None:
    """F31."""
    make_files(world.root, {"readme.md": "x"})
    action = move(world, "readme.md", "README.md")
    prior = world.prepare(action)

    world.do(action, prior)
    assert os.listdir(world.root) == ["README.md"]
    world.undo(action, prior)
    assert os.listdir(world.root) == ["readme.md"]


def test_two_names_of_one_file_are_not_moved_onto_each_other(world: World) -> None:
    """F31: the system call would do nothing and report success."""
    make_files(world.root, {"a": "a", "b": ("=", "a")})

    with pytest.raises(TargetTaken):
        move(world, "a", "b").simulate(View(), "move:a")
    with pytest.raises(Conflict, match="is taken"):
        world.prepare(move(world, "a", "b"))


def test_fifos_and_sockets_are_renamed_without_being_opened(world: World) -> None:
    """F36: opening a fifo waits until somebody writes."""
    make_files(world.root, {"pipe": ("|",)})
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(world.root)  # a socket's path is short
        server.bind("sock")
        os.chdir(here)
        before = world.listing()
        for name in ("pipe", "sock"):
            action = move(world, name, f"{name} 2")
            prior = world.prepare(action)
            world.do(action, prior)
            assert sorted(os.listdir(world.root)) != ["pipe", "sock"]
            world.undo(action, prior)

    assert difference(before, world.listing()) == []


def test_a_name_of_250_bytes_is_no_problem(world: World) -> None:
    """F44: temporaries have names of their own, not the target's with something added."""
    name = "é" * 127
    make_files(world.root, {"a": "a", name: "old"})
    before = world.listing()
    action = move(world, "a", name, replace=True)
    prior = world.prepare(action)

    world.do(action, prior)
    world.undo(action, prior)

    assert difference(before, world.listing()) == []


def test_a_folder_that_its_owner_may_not_write_is_moved_and_comes_back(normal_folder: Path) -> None:
    """F32: the system asks for the right to write in a folder that gets another parent."""

    def trial() -> tuple[list[str], list[str], str]:
        world = World(normal_folder / "world", normal_folder / "state")
        make_files(world.root, {"d/x": "x", "e/": None}, mtime=1_500_000_000)
        os.chmod(world.root / "d", 0o555)
        before = world.listing()
        action = move(world, "d", "e/d")
        prior = world.prepare(action)
        world.do(action, prior)
        mode = oct(os.stat(world.root / "e/d").st_mode)
        world.undo(action, prior)
        once = difference(before, world.listing())
        world.undo(action, prior)
        return once, difference(before, world.listing()), mode

    assert as_normal_user(trial) == ([], [], "0o40555")


# --- to another file system ---------------------------------------------------------------------------------------


@pytest.fixture
def wide(tmp_path: Path, far: Path) -> World:
    """A world whose user has a second folder, `far`, on another file system."""
    return World(tmp_path / "world", tmp_path / "state", far)


def to_far(wide: World, name: str, **more: object) -> FsMove:
    return FsMove.build({"from": wide.path(name), "to": os.fsencode(wide.also[0] / name), **more})


def test_to_another_file_system_all_goes_along_and_comes_back(wide: World) -> None:
    """F33, F34: modes, times, links among each other, a fifo; nothing is left at either end."""
    make_files(
        wide.root,
        {"d/x": "x", "d/hard": ("=", "d/x"), "d/link": ("->", "x"), "d/pipe": ("|",), "d/none/": None},
        mtime=1_500_000_000.25,
    )
    os.chmod(wide.root / "d/x", 0o640)
    os.chmod(wide.root / "d/none", 0o555)
    before, far_before = listing(wide.root / "d"), os.listdir(wide.also[0])
    action = to_far(wide, "d")
    prior = wide.prepare(action)

    wide.do(action, prior)
    assert not os.path.lexists(wide.root / "d")
    assert difference(before, listing(wide.also[0] / "d")) == []
    wide.undo(action, prior)

    assert difference(before, listing(wide.root / "d")) == []
    assert os.listdir(wide.also[0]) == far_before


def test_to_another_file_system_names_of_one_file_are_not_parted(wide: World) -> None:
    """The other name would be left with a file of its own, and nobody told."""
    make_files(wide.root, {"a": "a", "b": ("=", "a"), "d/x": ("=", "a")})
    before = wide.listing()

    for name in ("a", "d"):
        with pytest.raises(Conflict, match="hard links") as refusal:
            wide.prepare(to_far(wide, name))
        assert refusal.value.verdict == "blocked"

    assert difference(before, wide.listing()) == []
    assert not [name for name in os.listdir(wide.also[0]) if not name.startswith(".deskshell-")]


def test_to_another_file_system_a_copy_that_was_edited_is_not_thrown_away(wide: World) -> None:
    """F02: undo compares what was written, all of it."""
    make_files(wide.root, {"d/x": "x"})
    action = to_far(wide, "d")
    prior = wide.prepare(action)
    wide.do(action, prior)
    make_files(wide.also[0] / "d", {"new": "theirs"})

    with pytest.raises(Conflict, match=r"content changed since: .*`[^`]*/d/new` \(added\)"):
        wide.undo(action, prior)

    assert sorted(os.listdir(wide.also[0] / "d")) == ["new", "x"]


def test_temporaries_on_both_sides_are_told_beforehand(wide: World) -> None:
    make_files(wide.root, {"a": "a"})
    action = to_far(wide, "a")

    with wide.recorded() as ground:
        said = set(action.staged_in(ground))
        action.prepare(context(ground))

    assert said == {os.fsencode(wide.root), os.fsencode(wide.also[0])}
