"""The helpers the other tests rely on: a listing that misses a change would pass everything."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.leftovers import Leftovers
from tests.support.listing import UNREADABLE, difference, listing
from tests.support.privileges import as_normal_user, is_root
from tests.support.trees import make_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def changed_mode(top: Path) -> None:
    (top / "a.txt").chmod(0o600)


def changed_content_alone(top: Path) -> None:
    status = (top / "a.txt").stat()
    (top / "a.txt").write_text("TEXT")
    os.utime(top / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))


def changed_time_by_one_nanosecond(top: Path) -> None:
    status = (top / "d").stat()
    os.utime(top / "d", ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def changed_link_target(top: Path) -> None:
    time = (top / "l").lstat().st_mtime_ns
    (top / "l").unlink()
    (top / "l").symlink_to("b.txt")
    os.utime(top / "l", ns=(time, time), follow_symlinks=False)


def cut_hard_link(top: Path) -> None:
    (top / "same").unlink()
    (top / "same").write_text("text")


@pytest.mark.parametrize(
    "change,told",
    [
        (changed_mode, "a.txt: mode 0o644 → 0o600"),
        (changed_content_alone, "a.txt: sha256 "),
        (changed_time_by_one_nanosecond, "d: mtime_ns "),
        (changed_link_target, "l: target a.txt → b.txt"),
        (cut_hard_link, "a.txt: links ('same',) → ()"),
    ],
)
def test_a_listing_tells_every_kind_of_change(
    folder: Path, change: Callable[[Path], None], told: str
) -> None:
    make_files(folder, {"a.txt": "text", "d/": None, "l": ("->", "a.txt"), "same": ("=", "a.txt")}, mtime=1e9)
    (folder / "a.txt").chmod(0o644)
    before = listing(folder)

    change(folder)

    assert [line for line in difference(before, listing(folder)) if line.startswith(told)]


def test_a_listing_tells_what_came_and_went(folder: Path) -> None:
    make_files(folder, {"a.txt": ""}, mtime=1e9)
    before = listing(folder)
    (folder / "a.txt").rename(folder / "b.txt")
    os.utime(folder, (1e9, 1e9))

    assert difference(before, listing(folder)) == ["gone: a.txt", "new: b.txt (file)"]


def test_a_listing_tells_extended_attributes(folder: Path) -> None:
    make_files(folder, {"a.txt": ""})
    try:
        os.setxattr(folder / "a.txt", "user.tag", b"\x01")
    except OSError as exc:
        pytest.skip(f"the file system of the tests keeps no extended attributes: {exc}")

    assert listing(folder)["a.txt"].xattrs == (("user.tag", "01"),)


def test_a_listing_neither_follows_links_nor_opens_a_fifo(folder: Path) -> None:
    make_files(folder, {"up": ("->", ".."), "gone": ("->", "nowhere"), "pipe": ("|",), b"\xff": b"x"})

    found = listing(folder)

    assert {name: entry.type for name, entry in found.items()} == {
        ".": "folder",
        "up": "link",
        "gone": "link",
        "pipe": "fifo",
        "\udcff": "file",
    }


def test_a_listing_says_what_it_may_not_read(normal_folder: Path) -> None:
    def closed() -> str | None:
        make_files(normal_folder, {"a.txt": "text"})
        (normal_folder / "a.txt").chmod(0)
        return listing(normal_folder)["a.txt"].sha256

    assert as_normal_user(closed) == UNREADABLE


def test_make_files_never_writes_over_anything(folder: Path) -> None:
    make_files(folder, {"a.txt": "one"})

    with pytest.raises(FileExistsError):
        make_files(folder, {"a.txt": "two"})

    assert (folder / "a.txt").read_text() == "one"


def test_a_normal_user_has_neither_the_id_nor_the_groups_of_root() -> None:
    assert 0 not in as_normal_user(lambda: (os.geteuid(), os.getegid(), *os.getgroups()))


def test_what_a_normal_user_meets_is_raised_in_the_test(normal_folder: Path) -> None:
    (normal_folder / "a.txt").touch(mode=0)

    def read() -> str:
        return (normal_folder / "a.txt").read_text()

    with pytest.raises(PermissionError):
        as_normal_user(read)


def test_an_error_that_cannot_travel_keeps_its_story() -> None:
    class LocalError(Exception):
        pass

    def fail() -> None:
        raise LocalError("the story")

    with pytest.raises(AssertionError if is_root() else LocalError, match="the story"):
        as_normal_user(fail)


def test_a_descriptor_left_open_is_found(folder: Path) -> None:
    before = Leftovers.now()
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        found = Leftovers.now().since(before)
    finally:
        os.close(descriptor)

    assert found == [f"descriptor {descriptor} is still open: {folder}"]


def test_a_process_left_running_is_found() -> None:
    before = Leftovers.now()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        found = Leftovers.now().since(before)
        child.communicate(b"\n")

    assert found == [f"process {child.pid} still runs"]


@given(st.binary())
def test_a_listing_has_the_digest_of_any_content(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as top:
        make_files(top, {"a": content})
        entry = listing(top)["a"]

    assert (entry.size, entry.sha256) == (len(content), hashlib.sha256(content).hexdigest())
