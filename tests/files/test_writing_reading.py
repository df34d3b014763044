"""New files written, and files read."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskshell.errors import StepFailed
from deskshell.files import writing
from deskshell.files.copying import hash_file, read_file, write_file
from deskshell.files.identity import stat_at
from deskshell.files.metadata import ACL_DEFAULT
from tests.files.making import ONE_MORE_READER, set_xattr
from tests.support.listing import listing
from tests.support.mounts import in_own_mounts
from tests.support.privileges import as_normal_user
from tests.support.trees import Content, make_files


@pytest.fixture
def umask() -> Iterator[None]:
    """A strict umask, which exact modes must not depend on."""
    old = os.umask(0o077)
    yield
    os.umask(old)


def test_a_new_file_holds_what_was_given(folder: Path, fd: int) -> None:
    written = write_file(fd, b"a", [b"one ", b"", b"two!"])

    assert written.stat == stat_at(fd, b"a")
    assert (written.bytes, written.sha256) == (8, hashlib.sha256(b"one two!").hexdigest())
    assert (folder / "a").read_bytes() == b"one two!"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o777, 0o400, 0o000, 0o4755])
def test_a_new_file_gets_exactly_the_mode_asked_for(umask: None, folder: Path, fd: int, mode: int) -> None:
    written = write_file(fd, b"a", [b"x"], mode=mode)

    assert written.stat.mode == os.stat(folder / "a").st_mode & 0o7777 == mode


def test_without_a_mode_a_new_file_gets_what_any_program_would_get(
    umask: None, folder: Path, fd: int
) -> None:
    os.umask(0o027)
    assert write_file(fd, b"a", [], mode=None).stat.mode == 0o640

    set_xattr(folder, ACL_DEFAULT, ONE_MORE_READER)
    write_file(fd, b"b", [], mode=None)
    assert dict(listing(folder)["b"].xattrs)["system.posix_acl_access"] == ONE_MORE_READER.hex()


@pytest.mark.parametrize("taken", ["text", ("->", "nowhere"), ("|",)])
def test_a_name_that_is_taken_is_left_as_it_is(folder: Path, fd: int, taken: Content) -> None:
    make_files(folder, {"a": taken})
    before = listing(folder)

    with pytest.raises(FileExistsError):
        write_file(fd, b"a", [b"x"])

    assert listing(folder) == before


def test_a_source_that_fails_leaves_no_half_file(folder: Path, fd: int) -> None:
    def failing() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("the source failed")

    with pytest.raises(RuntimeError, match="the source failed"):
        write_file(fd, b"a", failing())

    assert os.listdir(folder) == []


def test_a_failed_sync_leaves_no_file(folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "the disk failed")

    monkeypatch.setattr(writing, "sync_file", fail)

    with pytest.raises(OSError, match="the disk failed"):
        write_file(fd, b"a", [b"x"])
    assert os.listdir(folder) == []

    write_file(fd, b"a", [b"x"], sync=False)
    assert os.listdir(folder) == ["a"]


def test_a_failure_leaves_the_file_of_whoever_took_the_name(folder: Path, fd: int) -> None:
    def meddling() -> Iterator[bytes]:
        yield b"mine"
        (folder / "a").unlink()
        (folder / "a").write_text("theirs")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_file(fd, b"a", meddling())

    assert (folder / "a").read_text() == "theirs"


def test_short_writes_are_continued(folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:3]))

    write_file(fd, b"a", [b"0123456789"])

    assert (folder / "a").read_bytes() == b"0123456789"


@pytest.mark.root
def test_a_full_disk_leaves_no_half_file(folder: Path) -> None:
    def trial() -> tuple[int | None, list[str]]:
        (folder / "m").mkdir()
        assert os.system(f"mount -t tmpfs -o size=1m none {folder}/m") == 0
        fd = os.open(folder / "m", os.O_RDONLY)
        with pytest.raises(OSError) as caught:
            write_file(fd, b"a", [bytes(1 << 20)] * 2)
        return caught.value.errno, os.listdir(folder / "m")

    assert in_own_mounts(trial) == (errno.ENOSPC, [])


def test_a_file_is_read_and_hashed(folder: Path, fd: int) -> None:
    content = os.urandom(9 << 20)
    (folder / "a").write_bytes(content)
    ticks: list[int] = []

    assert read_file(fd, b"a") == content
    assert hash_file(fd, b"a", ticks.append) == hashlib.sha256(content).hexdigest()
    assert ticks == [4 << 20, 4 << 20, 1 << 20]


def test_a_limit_refuses_instead_of_cutting_off(folder: Path, fd: int) -> None:
    """A cut text, changed and written back, would lose its end."""
    (folder / "a").write_bytes(b"12345")

    assert read_file(fd, b"a", 5) == b"12345"
    with pytest.raises(StepFailed, match="`a` has 5 bytes, more than the limit of 4"):
        read_file(fd, b"a", 4)


def test_a_file_whose_size_is_not_told_is_read_up_to_the_limit() -> None:
    proc = os.open("/proc/self", os.O_RDONLY)
    try:
        assert read_file(proc, b"status").startswith(b"Name:")
        with pytest.raises(StepFailed, match="limit of 10 bytes"):
            read_file(proc, b"status", 10)
    finally:
        os.close(proc)


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a", ("->", "b"), "`a` is a link, not a file"),
        ("a/", None, "`a` is a folder, not a file"),
        ("a", ("|",), "`a` is a fifo, not a file"),
    ],
)
def test_only_regular_files_are_read(
    folder: Path, fd: int, name: str, content: Content, message: str
) -> None:
    """A fifo would block for ever, a link may lead anywhere."""
    make_files(folder, {"b": "secret", name: content})

    for call in (read_file, hash_file):
        with pytest.raises(StepFailed, match=message):
            call(fd, b"a")


def test_a_device_is_not_read() -> None:
    dev = os.open("/dev", os.O_RDONLY)
    try:
        with pytest.raises(StepFailed, match="`zero` is a char, not a file"):
            hash_file(dev, b"zero")
    finally:
        os.close(dev)


def test_what_may_not_be_read_is_refused_by_the_system(normal_folder: Path, normal_fd: int) -> None:
    def trial() -> str:
        (normal_folder / "a").touch(mode=0o000)
        try:
            hash_file(normal_fd, b"a")
        except PermissionError as exc:
            return str(exc.filename)
        return "read"

    assert as_normal_user(trial) == "b'a'"


def test_somebody_else_s_readable_file_is_read(normal_folder: Path, normal_fd: int) -> None:
    """Only an owner may ask for no access time; others read all the same."""
    (normal_folder / "a").write_text("x")
    (normal_folder / "a").chmod(0o444)

    def trial() -> bytes:
        return read_file(normal_fd, b"a")

    assert as_normal_user(trial) == b"x"
