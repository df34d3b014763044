"""What has no place in a listing of names: ACLs, attributes, link groups, setuid, closed folders."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deskshell.actions.fs_chmod import FsChmod
from deskshell.actions.fs_copy import FsCopy
from deskshell.actions.fs_delete import FsDelete
from deskshell.actions.fs_move import FsMove
from deskshell.actions.fs_write import FsWrite
from deskshell.actions.log_rotate import LogRotate
from deskshell.errors import Conflict, PlanConflict
from deskshell.kernel.action import Action
from deskshell.kernel.view import View
from tests.contract.harness import World
from tests.support.listing import difference
from tests.support.privileges import NORMAL_GID, NORMAL_UID, as_normal_user
from tests.support.trees import make_files

ACL = "system.posix_acl_access"


def acl(mode: int, uid: int, bits: int) -> bytes:
    """An access ACL as the kernel keeps it: `mode`, and rights `bits` for the user `uid` (acl(5))."""
    entries = [(0x01, mode >> 6, -1), (0x02, bits, uid), (0x04, mode >> 3, -1), (0x10, bits | mode >> 3, -1)]
    entries.append((0x20, mode, -1))
    packed = b"".join(struct.pack("<HHI", tag, perm & 7, who & 0xFFFFFFFF) for tag, perm, who in entries)
    return struct.pack("<I", 2) + packed


def dress(path: Path) -> None:
    """Give the file an attribute, an ACL, an unusual mode and a time to the nanosecond."""
    try:
        os.setxattr(path, "user.note", b"mine\0\xff")
        os.setxattr(path, ACL, acl(0o640, 12345, 6))
    except OSError as exc:
        pytest.skip(f"needs attributes and ACLs: {exc}")
    os.utime(path, ns=(1_500_000_000_123_456_789, 1_500_000_000_123_456_789))


def there_and_back(world: World, action: Action) -> tuple[list[str], Mapping[str, Any]]:
    """Do and undo; returns what differs then, and the listing in between."""
    before = world.listing()
    prior = world.prepare(action)
    world.do(action, prior)
    between = world.listing()
    world.undo(action, prior)
    return difference(before, world.listing()), between


@pytest.fixture(params=["one file system", "state elsewhere"])
def dressed(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    """A world with the file `a`, dressed, whose state can or cannot be reached by rename."""
    elsewhere = request.param == "state elsewhere"
    state = request.getfixturevalue("far") / "state" if elsewhere else tmp_path / "state"
    world = World(tmp_path / "world", state)
    make_files(world.root, {"a": "old"})
    dress(world.root / "a")
    return world


def test_a_moved_file_keeps_attributes_and_acl(dressed: World) -> None:
    action = FsMove.build({"from": dressed.path("a"), "to": dressed.path("b")})

    differs, between = there_and_back(dressed, action)

    assert differs == []
    assert [name for name, _ in between["b"].xattrs] == [ACL, "user.note"]


def test_a_deleted_file_comes_back_with_attributes_and_acl(dressed: World) -> None:
    differs, between = there_and_back(dressed, FsDelete.build({"path": dressed.path("a")}))

    assert differs == []
    assert "a" not in between


def test_a_copy_has_attributes_acl_and_time_of_the_original(dressed: World) -> None:
    action = FsCopy.build({"from": dressed.path("a"), "to": dressed.path("b")})

    differs, between = there_and_back(dressed, action)

    assert differs == []
    assert between["b"] == between["a"]


def test_a_replaced_file_keeps_mode_attributes_and_acl_but_not_its_time(dressed: World) -> None:
    """Other people's access to it must not change because its content did."""
    action = FsWrite.build({"path": dressed.path("a"), "text": "new", "replace": True})
    was = dressed.listing()["a"]

    differs, between = there_and_back(dressed, action)

    assert differs == []
    now = between["a"]
    assert (now.mode, now.xattrs, now.size) == (was.mode, was.xattrs, 3)
    assert now.mtime_ns > was.mtime_ns


def test_a_new_log_has_mode_attributes_and_acl_of_the_old(dressed: World) -> None:
    was = dressed.listing()["a"]

    differs, between = there_and_back(dressed, LogRotate.build({"path": dressed.path("a")}))

    assert differs == []
    assert (between["a"].mode, between["a"].xattrs, between["a"].size) == (was.mode, was.xattrs, 0)
    assert between["a.2"] == was


def test_a_mode_set_on_a_file_with_an_acl_is_taken_back(dressed: World) -> None:
    """The middle bits are the ACL's mask; setting them back restores it."""
    differs, between = there_and_back(dressed, FsChmod.build({"path": dressed.path("a"), "mode": "0600"}))

    assert differs == []
    assert between["a"].mode == "0o600"


@pytest.mark.root
def test_a_replaced_file_keeps_its_owner(world: World) -> None:
    make_files(world.root, {"a": "old"})
    os.chown(world.root / "a", 12345, 54321)
    action = FsWrite.build({"path": world.path("a"), "text": "new", "replace": True})

    differs, between = there_and_back(world, action)

    assert differs == []
    assert (between["a"].uid, between["a"].gid) == (12345, 54321)


def test_new_content_does_not_run_with_the_rights_of_the_old(world: World) -> None:
    """A plain write clears setuid; replacing must not be a way around that."""
    make_files(world.root, {"tool": "old"})
    os.chmod(world.root / "tool", 0o6755)
    action = FsWrite.build({"path": world.path("tool"), "text": "new", "replace": True})

    differs, between = there_and_back(world, action)

    assert differs == []
    assert between["tool"].mode == "0o755"


def test_replacing_one_name_of_a_file_leaves_the_other_as_it_was(world: World) -> None:
    """And undo makes them one file again."""
    make_files(world.root, {"a": "old", "d/b": ("=", "a")})
    action = FsWrite.build({"path": world.path("a"), "text": "new", "replace": True})

    differs, between = there_and_back(world, action)

    assert differs == []
    assert between["d/b"].size == 3
    assert between["d/b"].links == ()


def test_a_mode_is_not_set_on_a_file_with_two_names(world: World) -> None:
    """The other name may lie outside of what was granted."""
    make_files(world.root, {"a": "a", "b": ("=", "a")})
    action = FsChmod.build({"path": world.path("a"), "mode": "0600"})

    with pytest.raises(PlanConflict, match="has 2 names"):
        action.simulate(View(), "chmod")
    with pytest.raises(Conflict, match="has 2 names"):
        world.prepare(action)


def test_a_second_name_made_after_the_look_stops_a_change_of_mode(world: World) -> None:
    make_files(world.root, {"a": "a"})
    action = FsChmod.build({"path": world.path("a"), "mode": "0600"})
    prior = world.prepare(action)
    os.link(world.root / "a", world.root / "b")
    before = world.listing()

    with pytest.raises(Conflict, match="has 2 names"):
        world.do(action, prior)

    assert difference(before, world.listing()) == []


def test_a_link_has_no_mode_to_set(world: World) -> None:
    make_files(world.root, {"l": ("->", "a"), "a": "a"})
    action = FsChmod.build({"path": world.path("l"), "mode": "0600"})

    with pytest.raises(PlanConflict, match="is a link, which has no mode of its own"):
        action.simulate(View(), "chmod")
    with pytest.raises(Conflict, match="is a link"):
        world.prepare(action)


def test_a_mode_changed_by_somebody_else_is_not_set_back(world: World) -> None:
    """Undo knows what it left; anything else is somebody's decision."""
    make_files(world.root, {"a": "a"})
    action = FsChmod.build({"path": world.path("a"), "mode": "0600"})
    prior = world.prepare(action)
    world.do(action, prior)
    os.chmod(world.root / "a", 0o444)

    with pytest.raises(Conflict, match=r"mode of `.*/a` is 0444, not 0600 as left"):
        world.undo(action, prior)

    assert os.stat(world.root / "a").st_mode & 0o7777 == 0o444


@pytest.mark.root
def test_a_mode_that_the_system_does_not_give_is_a_failure(normal_folder: Path) -> None:
    """Setgid for a group that one is not in is dropped without an error; reporting it as set would be a lie."""
    world = World(normal_folder / "world", normal_folder / "state")
    make_files(world.root, {"a": "a"})
    os.chmod(world.root / "a", 0o640)
    for path in (world.root, world.state, world.state / "held", world.state / "kept"):
        os.chown(path, NORMAL_UID, NORMAL_GID)
    os.chown(world.root / "a", NORMAL_UID, 54321)

    def trial() -> str:
        action = FsChmod.build({"path": world.path("a"), "mode": "2755"})
        prior = world.prepare(action)
        with pytest.raises(Conflict) as refusal:
            world.do(action, prior)
        world.undo(action, prior)
        return refusal.value.message

    assert as_normal_user(trial).endswith("mode 0755, not 2755")
    assert os.stat(world.root / "a").st_mode & 0o7777 == 0o640


def test_a_closed_folder_is_deleted_with_its_content_and_comes_back_closed(normal_folder: Path) -> None:
    """F32: a folder of mode 0555 with files and folders inside, deleted by its owner."""

    def trial() -> tuple[list[str], list[str]]:
        world = World(normal_folder / "world", normal_folder / "state")
        make_files(world.root, {"d/x": "x", "d/in/y": "y"}, mtime=1_500_000_000)
        os.chmod(world.root / "d/in", 0o500)
        os.chmod(world.root / "d", 0o555)
        differs, between = there_and_back(world, FsDelete.build({"path": world.path("d")}))
        return differs, list(between)

    assert as_normal_user(trial) == ([], ["."])


def test_an_unreadable_file_is_moved_and_deleted_all_the_same(normal_folder: Path) -> None:
    """A rename reads nothing."""

    def trial() -> list[list[str]]:
        world = World(normal_folder / "world", normal_folder / "state")
        make_files(world.root, {"a": "a"})
        os.chmod(world.root / "a", 0)
        move = FsMove.build({"from": world.path("a"), "to": world.path("b")})
        delete = FsDelete.build({"path": world.path("a")})
        return [there_and_back(world, action)[0] for action in (move, delete)]

    assert as_normal_user(trial) == [[], []]


def test_the_umask_does_not_touch_a_mode_that_was_asked_for(world: World) -> None:
    old = os.umask(0o077)
    try:
        for name, args, mode in (
            ("given", {"text": "x", "mode": "0664"}, 0o664),
            ("default", {"text": "x"}, 0o600),
        ):
            action = FsWrite.build({"path": world.path(name), **args})
            world.do(action, world.prepare(action))
            assert os.stat(world.root / name).st_mode & 0o7777 == mode
    finally:
        os.umask(old)
