"""A thread that may change nothing outside of some folders; what Landlock does not cover is stated here, too."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from deskshell.files import landlock, moving, syscalls

pytestmark = pytest.mark.skipif(not landlock.abi(), reason="this system has no Landlock")


def restricted(folders: list[Path], *calls: Callable[[], object]) -> list[str]:
    """What each of `calls` comes to in a thread walled in by `folders`: `done`, or the name of the error."""
    found: list[str] = []

    def run() -> None:
        fds = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY) for folder in folders]
        try:
            assert landlock.restrict_thread(fds) >= 2
        finally:
            for fd in fds:
                os.close(fd)
        for call in calls:
            try:
                call()
            except OSError as exc:
                found.append(type(exc).__name__)
            else:
                found.append("done")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found


@pytest.fixture
def world(folder: Path) -> tuple[Path, Path, Path]:
    """Two folders inside the wall, one outside of it, a file `f` in each."""
    for name in ("in", "also", "out"):
        (folder / name).mkdir()
        (folder / name / "f").write_text(name)
    return folder / "in", folder / "also", folder / "out"


def test_every_change_outside_is_refused_by_the_system(world: tuple[Path, Path, Path]) -> None:
    inside, also, out = world
    (out / "d").mkdir()

    found = restricted(
        [inside, also],
        lambda: (out / "new").write_text("x"),
        lambda: (out / "f").write_text("x"),
        lambda: os.truncate(out / "f", 0),
        (out / "f").unlink,
        (out / "d").rmdir,
        (out / "e").mkdir,
        lambda: (out / "l").symlink_to("f"),
        lambda: os.mkfifo(out / "p"),
        lambda: os.rename(out / "f", out / "g"),
    )

    assert set(found) == {"PermissionError"}
    assert sorted(path.name for path in out.iterdir()) == ["d", "f"]
    assert (out / "f").read_text() == "out"


def test_inside_all_is_allowed_and_reading_is_everywhere(world: tuple[Path, Path, Path]) -> None:
    inside, also, out = world

    found = restricted(
        [inside, also],
        (out / "f").read_text,
        lambda: (inside / "new").write_text("x"),
        lambda: os.rename(inside / "f", also / "g"),
        lambda: os.link(also / "g", inside / "h"),
        (inside / "h").unlink,
        (also / "d").mkdir,
        lambda: os.rename(also / "d", inside / "d"),
    )

    assert found == ["done"] * 7


def test_objects_are_exchanged_between_two_folders_inside(world: tuple[Path, Path, Path]) -> None:
    """Replacing a file is an exchange with holding: equal rights on both sides keep it from failing with EXDEV."""
    inside, also, _ = world
    one, two = (os.open(each, os.O_RDONLY | os.O_DIRECTORY) for each in (inside, also))

    found = restricted([inside, also], lambda: moving.exchange(one, b"f", two, b"f"))

    os.close(one)
    os.close(two)
    assert found == ["done"]
    assert ((inside / "f").read_text(), (also / "f").read_text()) == ("also", "in")


def test_a_rename_out_is_refused_also_by_a_descriptor_from_before(world: tuple[Path, Path, Path]) -> None:
    """A folder that was moved out of the scope keeps working by its descriptor; the wall looks at where it is."""
    inside, _, out = world
    fd = os.open(out, os.O_RDONLY | os.O_DIRECTORY)

    found = restricted([inside], lambda: os.rename(inside / "f", b"g", dst_dir_fd=fd))

    os.close(fd)
    assert found in (["PermissionError"], ["OSError"])  # EACCES, or EXDEV for unequal rights
    assert (inside / "f").exists()


def test_modes_and_times_are_not_covered(world: tuple[Path, Path, Path]) -> None:
    """As the README says: for these there is the first wall only."""
    inside, _, out = world

    found = restricted([inside], lambda: os.chmod(out / "f", 0o600), lambda: os.utime(out / "f", (1, 1)))

    assert found == ["done", "done"]


def test_only_the_thread_itself_is_restricted(world: tuple[Path, Path, Path]) -> None:
    inside, _, out = world

    restricted([inside])

    (out / "new").write_text("x")


def test_without_landlock_nothing_is_restricted(
    world: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syscalls, "numbered", lambda *args: -38)

    assert landlock.abi() == 0
    assert landlock.restrict_thread([]) == 0


def test_the_first_version_is_no_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 refuses every rename from one folder into another."""
    monkeypatch.setattr(syscalls, "numbered", lambda *args: 1)

    assert landlock.abi() == 0
