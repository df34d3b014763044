"""Verified copies of single objects."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deskshell.errors import StepFailed
from deskshell.files import content, copying_one
from deskshell.files.copying import copy_object, object_bytes
from tests.support.listing import listing
from tests.support.privileges import as_normal_user
from tests.support.trees import make_files

MIB = 1 << 20
Open = Callable[[Path | bytes], int]


class Stopped(Exception):
    """What a caller raises out of `tick`."""


@pytest.mark.parametrize("content_", [b"", b"text", os.urandom(9 * MIB)])
def test_a_file_is_copied_with_its_bytes(folder: Path, fd: int, content_: bytes) -> None:
    (folder / "a").write_bytes(content_)
    done: list[int] = []

    copied = copy_object(fd, b"a", fd, b"b", tick=done.append)

    assert (folder / "b").read_bytes() == content_
    assert (copied.sha256, copied.bytes) == (hashlib.sha256(content_).hexdigest(), len(content_))
    assert sum(done) == 2 * len(content_)  # once copied, once read back


@pytest.mark.parametrize("in_kernel", [True, False], ids=["in the kernel", "by read and write"])
def test_holes_stay_holes(folder: Path, fd: int, in_kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_kernel:
        monkeypatch.setattr(os, "copy_file_range", _not_here)
    with open(folder / "a", "wb") as file:
        file.seek(3 * MIB + 5)
        file.write(b"x" * 5000)
        file.seek(40 * MIB)
        file.write(b"y")
        file.truncate(100 * MIB)
    if object_bytes(fd, b"a") > MIB:
        pytest.skip("this file system stores holes")

    copied = copy_object(fd, b"a", fd, b"b")

    assert (folder / "b").stat().st_size == copied.bytes == 100 * MIB
    assert object_bytes(fd, b"b") <= object_bytes(fd, b"a")
    with open(folder / "a", "rb") as a, open(folder / "b", "rb") as b:
        assert hashlib.file_digest(a, "sha256").hexdigest() == copied.sha256
        assert hashlib.file_digest(b, "sha256").hexdigest() == copied.sha256


def _not_here(*args: object) -> int:
    raise OSError(errno.EXDEV, "not between these two")


def test_where_the_kernel_moves_nothing_the_bytes_are_written(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some pseudo file systems answer 0 to copy_file_range at a place where there are bytes."""
    (folder / "a").write_bytes(b"bytes")
    monkeypatch.setattr(os, "copy_file_range", lambda *args: 0)

    copy_object(fd, b"a", fd, b"b")

    assert (folder / "b").read_bytes() == b"bytes"


def test_a_link_is_copied_as_a_link(folder: Path, fd: int) -> None:
    make_files(folder, {"a": ("->", "nowhere")}, mtime=1000)

    copied = copy_object(fd, b"a", fd, b"b")

    assert os.readlink(folder / "b") == "nowhere"
    assert copied.sha256 == hashlib.sha256(b"nowhere").hexdigest()
    assert listing(folder)["a"] == listing(folder)["b"]


def test_a_fifo_is_copied_without_being_opened(folder: Path, fd: int) -> None:
    os.mkfifo(folder / "a", 0o640)
    os.chmod(folder / "a", 0o646)

    copied = copy_object(fd, b"a", fd, b"b")

    assert (copied.stat.kind, copied.stat.mode, copied.sha256) == ("fifo", 0o646, "")


def test_a_socket_is_refused_alone_and_inside_a_folder(folder: Path, fd: int) -> None:
    make_files(folder, {"d/before": "x"})
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder / "d")
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("s")
    finally:
        os.fchdir(here)
        os.close(here)
    inside = os.open(folder / "d", os.O_RDONLY)

    with pytest.raises(StepFailed, match="`s` is a socket"):
        copy_object(inside, b"s", fd, b"copy")
    with pytest.raises(StepFailed, match="`s` is a socket"):
        copy_object(fd, b"d", fd, b"copy")

    os.close(inside)
    assert os.listdir(folder) == ["d"]


@pytest.mark.root
def test_root_copies_devices(folder: Path, fd: int) -> None:
    os.mknod(folder / "a", 0o020640, os.makedev(1, 3))

    copied = copy_object(fd, b"a", fd, b"b")

    assert copied.stat.kind == "char"
    assert os.stat(folder / "b").st_rdev == os.makedev(1, 3)


def test_a_normal_user_is_told_that_devices_need_root(
    normal_folder: Path, normal_fd: int, opened: Open
) -> None:
    def trial() -> str:
        dev = opened(b"/dev")
        try:
            copy_object(dev, b"null", normal_fd, b"copy")
        except StepFailed as exc:
            return str(exc) + str(os.listdir(normal_folder))
        return "copied"

    assert as_normal_user(trial) == "`null` is a device, which only root can copy[]"


@pytest.mark.parametrize("name", [b"taken", b"taken folder", b"dangling"])
@pytest.mark.parametrize("source", [b"f", b"d", b"l", b"p"])
def test_a_name_that_is_taken_is_left_as_it_is(folder: Path, fd: int, source: bytes, name: bytes) -> None:
    make_files(
        folder,
        {
            "f": "x",
            "d/in": "x",
            "l": ("->", "x"),
            "p": ("|",),
            "taken": "mine",
            "taken folder/": None,
            "dangling": ("->", "?"),
        },
    )
    before = listing(folder)

    with pytest.raises(FileExistsError):
        copy_object(fd, source, fd, name)

    assert listing(folder) == before


def test_what_is_not_there_cannot_be_copied(fd: int) -> None:
    with pytest.raises(FileNotFoundError):
        copy_object(fd, b"missing", fd, b"b")


def test_a_file_that_is_written_to_meanwhile_is_no_copy(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"one")
    real = copying_one.copy_content

    def meddled(*args: object) -> str:
        result = real(*args)  # type: ignore[arg-type]
        (folder / "a").write_bytes(b"two")
        return result

    monkeypatch.setattr(copying_one, "copy_content", meddled)

    with pytest.raises(StepFailed, match="`a` changed while it was copied"):
        copy_object(fd, b"a", fd, b"b")

    assert os.listdir(folder) == ["a"]


def test_a_file_that_hides_its_length_is_not_copied_as_empty(folder: Path, fd: int, opened: Open) -> None:
    with pytest.raises(StepFailed, match="more bytes than it says"):
        copy_object(opened(b"/proc/self"), b"status", fd, b"b")

    assert os.listdir(folder) == []


def test_a_file_that_shrinks_meanwhile_is_no_copy(folder: Path, fd: int) -> None:
    (folder / "a").write_bytes(b"x" * (9 * MIB))

    def shrink(count: int) -> None:
        os.truncate(folder / "a", 10)

    with pytest.raises(StepFailed, match=r"got shorter|changed"):
        copy_object(fd, b"a", fd, b"b", tick=shrink)

    assert os.listdir(folder) == ["a"]


def test_a_copy_that_reads_back_differently_is_no_copy(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, {"a/f": "good"})
    real = copying_one.hash_fd

    def rotten(descriptor: int, tick: object = None) -> str:
        os.pwrite(descriptor, b"bad", 0)
        return real(descriptor)

    monkeypatch.setattr(copying_one, "hash_fd", rotten)

    with pytest.raises(StepFailed, match="differs from it when read back"):
        copy_object(fd, b"a", fd, b"b")

    assert os.listdir(folder) == ["a"]


def test_a_failed_copy_leaves_what_took_its_name(folder: Path, fd: int) -> None:
    (folder / "a").write_bytes(b"x" * MIB)

    def tick(count: int) -> None:
        (folder / "b").unlink()
        (folder / "b").write_text("theirs")
        raise Stopped

    with pytest.raises(Stopped):
        copy_object(fd, b"a", fd, b"b", tick=tick)

    assert (folder / "b").read_text() == "theirs"


def test_a_full_disk_stops_the_copy_and_leaves_nothing(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, {"a/1": "x" * 100, "a/2": "y" * 100})

    def full(*args: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "copy_file_range", full)
    monkeypatch.setattr(content, "_clone", lambda source, copy: False)

    with pytest.raises(OSError, match="No space left"):
        copy_object(fd, b"a", fd, b"b")

    assert os.listdir(folder) == ["a"]


def test_a_copy_survives_being_asked_for_by_relative_descriptor_after_its_folder_moved(
    folder: Path, opened: Open
) -> None:
    make_files(folder, {"x/a": "text", "y/": None})
    src, dst = opened(folder / "x"), opened(folder / "y")
    (folder / "x").rename(folder / "moved")

    copy_object(src, b"a", dst, b"b")

    assert (folder / "y" / "b").read_text() == "text"


def test_this_suite_runs_on_linux() -> None:
    """The ways for other systems are written but not tried here; this line is the place that says so."""
    assert sys.platform == "linux"
