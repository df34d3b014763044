"""Verified copies of single objects and whole folders."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deskshell.errors import Conflict, StepFailed
from deskshell.files import content, copying_folder, copying_one
from deskshell.files.copying import copy_object, object_bytes
from deskshell.files.identity import identity, stat_at
from deskshell.files.metadata import ACL_ACCESS, ACL_DEFAULT
from deskshell.files.tree import digest, walk
from tests.files.conftest import has_mkfs, in_own_mounts, mount_image
from tests.files.test_metadata import ONE_MORE_READER, set_xattr
from tests.support.listing import difference, listing
from tests.support.privileges import NORMAL_UID, as_normal_user
from tests.support.trees import make_files

MIB = 1 << 20
Open = Callable[[Path | bytes], int]


def make_anything(folder: Path) -> None:
    """`a`: a folder with all that a copy has to keep."""
    make_files(
        folder,
        {
            b"a/file": b"text\n",
            b"a/empty": b"",
            b"a/\xff\n name": b"x",
            b"a/" + b"n" * 255: b"long",
            b"a/-rf": b"dash",
            b"a/sub/deeper/f": b"deep",
            b"a/none/": None,
            b"a/pipe": ("|",),
            b"a/dangling": ("->", b"/nowhere/\xff"),
            b"a/loop": ("->", "loop"),
            b"a/out": ("->", "../.."),
            b"a/first": b"linked",
            b"a/sub/second": ("=", b"a/first"),
            b"a/sub/deeper/third": ("=", b"a/first"),
        },
        mtime=1_500_000_000.25,
    )
    os.link(folder / "a" / "dangling", folder / "a" / "sub" / "dangling", follow_symlinks=False)
    for name, mode in (
        ("file", 0o4755),
        ("empty", 0o400 if os.geteuid() else 0o000),
        ("sub/deeper/f", 0o444),
        ("sub/deeper", 0o2555),
    ):
        os.chmod(folder / "a" / name, mode)
    os.chmod(folder / "a" / "none", 0o500 if os.geteuid() else 0o000)
    os.setxattr(folder / "a" / "sub", b"user.note", b"kept")
    os.utime(folder / "a" / "sub", ns=(7, 1_400_000_000_000_000_007))


def test_a_folder_is_copied_with_all_that_is_in_it(folder: Path, fd: int) -> None:
    make_anything(folder)

    copied = copy_object(fd, b"a", fd, b"b")

    assert listing(folder / "b") == listing(folder / "a")
    found = stat_at(fd, b"b")
    assert found is not None
    assert identity(copied.stat) == identity(found)
    assert copied.sha256 == digest(walk(fd, b"a", hashes=True)) == digest(walk(fd, b"b", hashes=True))
    assert copied.bytes == len("text\n" + "x" + "long" + "dash" + "deep" + "linked")
    assert copied.not_kept == ()


def test_a_folder_is_copied_to_another_device(folder: Path, fd: int, other_device: Path) -> None:
    make_anything(folder)
    other = os.open(other_device, os.O_RDONLY)

    copied = copy_object(fd, b"a", other, b"b")

    os.close(other)
    lines = difference(listing(folder / "a"), listing(other_device / "b"))
    if copied.not_kept:  # tmpfs keeps user attributes only since Linux 6.6
        assert copied.not_kept == ("xattr user.note",)
        assert [line.split(":")[0] for line in lines] == ["sub"]
    else:
        assert lines == []


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


def test_a_folder_is_not_copied_into_itself(folder: Path, fd: int) -> None:
    make_files(folder, {"a/sub/f": "x"})
    inside = os.open(folder / "a" / "sub", os.O_RDONLY)
    before = sorted(listing(folder))

    with pytest.raises(StepFailed, match="`a` cannot be copied into itself"):
        copy_object(fd, b"a", inside, b"b")

    os.close(inside)
    assert sorted(listing(folder)) == before


def test_a_copy_is_never_readable_by_more_people_than_the_original(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, {"a/secret": "x"})
    set_xattr(folder, ACL_DEFAULT, ONE_MORE_READER)  # what is new here would let user 1234 read
    os.chmod(folder / "a" / "secret", 0o604)
    os.chmod(folder / "a", 0o705)
    old = os.umask(0)
    seen: list[tuple[int, int]] = []
    real = copying_one.copy_content

    def spy(*args: object) -> str:
        seen.append(
            (os.stat(folder / "b").st_mode & 0o7777, os.stat(folder / "b" / "secret").st_mode & 0o7777)
        )
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(copying_one, "copy_content", spy)
    try:
        copy_object(fd, b"a", fd, b"b")
    finally:
        os.umask(old)

    assert seen == [(0o700, 0o600)]
    assert listing(folder / "b") == listing(folder / "a")
    assert ACL_ACCESS.decode() not in dict(listing(folder / "b")["secret"].xattrs)


def test_another_owner_that_cannot_be_kept_is_reported(normal_folder: Path, normal_fd: int) -> None:
    if os.geteuid():
        pytest.skip("needs root to make a file of somebody else")
    make_files(normal_folder, {"a/f": "x", "a/g": "y"})

    def trial() -> tuple[tuple[str, ...], int]:
        return copy_object(normal_fd, b"a", normal_fd, b"b").not_kept, os.stat(
            normal_folder / "b" / "f"
        ).st_uid

    assert as_normal_user(trial) == (("owner",), NORMAL_UID)


def test_what_cannot_be_read_cannot_be_copied_and_leaves_nothing(normal_folder: Path, normal_fd: int) -> None:
    def trial() -> list[str]:
        make_files(normal_folder, {"a/before": "x", "a/closed": "y", "a/sub/in": "z"})
        (normal_folder / "a" / "closed").chmod(0o200)
        with pytest.raises(PermissionError):
            copy_object(normal_fd, b"a", normal_fd, b"b")
        (normal_folder / "a" / "closed").chmod(0o600)
        (normal_folder / "a" / "sub").chmod(0o300)
        with pytest.raises(OSError):
            copy_object(normal_fd, b"a", normal_fd, b"b")
        (normal_folder / "a" / "sub").chmod(0o700)
        return os.listdir(normal_folder)

    assert as_normal_user(trial) == ["a"]


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


@pytest.mark.parametrize("what", ["new file", "gone file", "renamed folder"])
def test_a_folder_that_changes_meanwhile_is_no_copy(
    folder: Path, fd: int, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, {"a/1": "x", "a/2/in": "y", "a/3": "z"})
    real = copying_folder.copy_one
    meddled: list[bytes] = []

    def meddling(src_fd: int, src: bytes, dst_fd: int, dst: bytes, **more: object) -> object:
        if src == b"in":
            meddled.append(src)
            if what == "new file":
                (folder / "a" / "new").write_text("x")
            elif what == "gone file":
                (folder / "a" / "3").unlink()
            else:
                (folder / "a" / "2").rename(folder / "moved")
        return real(src_fd, src, dst_fd, dst, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(copying_folder, "copy_one", meddling)

    with pytest.raises((StepFailed, Conflict), match=r"changed while|was moved"):
        copy_object(fd, b"a", fd, b"b")

    assert meddled == [b"in"]
    assert "b" not in os.listdir(folder)


class Stopped(Exception):
    """What a caller raises out of `tick`."""


@pytest.mark.parametrize("after", range(12))
def test_a_stopped_copy_leaves_nothing_behind_and_the_original_as_it_was(
    folder: Path, fd: int, after: int
) -> None:
    make_anything(folder)
    before = listing(folder)
    ticks = iter(range(100))

    def tick(count: int) -> None:
        if next(ticks) == after:
            raise Stopped

    with pytest.raises(Stopped):
        copy_object(fd, b"a", fd, b"b", tick=tick)

    assert difference(before, listing(folder)) == [
        f".: mtime_ns {before['.'].mtime_ns} → {os.stat(folder).st_mtime_ns}"
    ]


def test_a_failure_in_the_last_pass_leaves_nothing_behind(normal_folder: Path, normal_fd: int) -> None:
    """By then folders have become read-only like their originals."""

    def trial() -> tuple[int, list[str]]:
        make_files(normal_folder, {"a/1/2/3/f": "x"})
        for name in ("1/2/3", "1/2", "1"):
            (normal_folder / "a" / name).chmod(0o555)
        real, calls = copying_folder.sync_folder, 0

        def fail_late(descriptor: int) -> bool:
            nonlocal calls
            calls += 1
            if calls == 4:
                raise OSError(errno.EIO, "the disk failed")
            return real(descriptor)

        copying_folder.sync_folder = fail_late
        try:
            with pytest.raises(OSError, match="the disk failed"):
                copy_object(normal_fd, b"a", normal_fd, b"b")
        finally:
            copying_folder.sync_folder = real
        found = os.listdir(normal_folder)
        for name in ("1", "1/2", "1/2/3"):
            (normal_folder / "a" / name).chmod(0o755)
        return calls, found

    assert as_normal_user(trial) == (4, ["a"])


def test_a_failed_copy_leaves_what_somebody_else_put_into_it(folder: Path, fd: int) -> None:
    """F07: clean-up may only delete what this very call made."""
    make_files(folder, {"a/1": "x", "a/2": "y"})

    def tick(count: int) -> None:
        if (folder / "b" / "1").exists():
            (folder / "b" / "theirs").write_text("precious")
            raise Stopped

    with pytest.raises(Stopped):
        copy_object(fd, b"a", fd, b"b", tick=tick)

    assert os.listdir(folder / "b") == ["theirs"]
    assert (folder / "b" / "theirs").read_text() == "precious"


def test_a_failed_copy_leaves_what_took_its_name(folder: Path, fd: int) -> None:
    (folder / "a").write_bytes(b"x" * MIB)

    def tick(count: int) -> None:
        (folder / "b").unlink()
        (folder / "b").write_text("theirs")
        raise Stopped

    with pytest.raises(Stopped):
        copy_object(fd, b"a", fd, b"b", tick=tick)

    assert (folder / "b").read_text() == "theirs"


def test_something_put_into_the_copy_meanwhile_is_noticed(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, {"a/1": "x"})
    real = copying_folder.copy_one

    def meddling(src_fd: int, src: bytes, dst_fd: int, dst: bytes, **more: object) -> object:
        (folder / "b" / "theirs").write_text("precious")
        return real(src_fd, src, dst_fd, dst, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(copying_folder, "copy_one", meddling)

    with pytest.raises(StepFailed, match="does not hold the same names"):
        copy_object(fd, b"a", fd, b"b")

    assert os.listdir(folder / "b") == ["theirs"]


def test_where_hard_links_are_not_known_the_files_are_copied_apart(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, {"a/1": "x", "a/2": ("=", "a/1")})

    def no_links(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EPERM, "not known here")

    monkeypatch.setattr(os, "link", no_links)

    copied = copy_object(fd, b"a", fd, b"b")

    assert copied.not_kept == ("hard links",)
    assert (folder / "b" / "2").read_text() == "x"
    assert (folder / "b" / "2").stat().st_nlink == 1


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


def make_deep(top: Path, depth: int) -> None:
    here = os.open(top, os.O_RDONLY)
    for level in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
        if level % 100 == 0:
            os.close(os.open("f", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=here))
    os.close(here)


@pytest.mark.slow
def test_a_folder_1000_deep_is_copied(deep: Path, fd: int) -> None:
    """Deeper than Python recurses, and no path may be longer than the system takes at once."""
    (deep / "a").mkdir()
    make_deep(deep / "a", 1000)

    copied = copy_object(fd, b"a", fd, b"b")

    assert copied.sha256 == digest(walk(fd, b"a", hashes=True)) == digest(walk(fd, b"b", hashes=True))
    assert sum(1 for _ in walk(fd, b"b")) == 1 + 1000 + 10


def test_long_names_nested_beyond_the_longest_path_are_copied(deep: Path, fd: int) -> None:
    here = os.dup(fd)
    for _ in range(30):  # 30 × 251 bytes: nearly twice PATH_MAX
        os.mkdir("n" * 250, dir_fd=here)
        below = os.open("n" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("f", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=here))
    os.close(here)

    copied = copy_object(fd, b"n" * 250, fd, b"b")

    assert copied.sha256 == digest(walk(fd, b"b", hashes=True))
    assert sum(1 for _ in walk(fd, b"b")) == 31


@pytest.mark.root
def test_a_mount_inside_a_folder_is_not_copied(folder: Path) -> None:
    def trial() -> tuple[str, list[str]]:
        make_files(folder, {"a/f": "x", "a/m/": None, "src/big": "y"})
        assert os.system(f"mount --bind {folder}/src {folder}/a/m") == 0
        fd = os.open(folder, os.O_RDONLY)
        with pytest.raises(StepFailed) as caught:
            copy_object(fd, b"a", fd, b"b")
        return str(caught.value), sorted(os.listdir(folder))

    assert in_own_mounts(trial) == (
        "`m` is a mount point, and copies do not cross mounts",
        ["a", "src"],
    )


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_each_large_file_system_keeps_all_and_clones_where_it_can(folder: Path, kind: str) -> None:
    if not has_mkfs(kind):
        pytest.skip(f"mkfs.{kind} is missing")

    def trial() -> tuple[list[str], tuple[str, ...], bool]:
        place = folder / "m"
        mount_image(kind, folder / "image", place, 320)
        make_anything(place)
        (place / "a" / "big").write_bytes(os.urandom(40 * MIB))
        fd = os.open(place, os.O_RDONLY)
        os.sync()
        free = os.statvfs(place)
        copied = copy_object(fd, b"a", fd, b"b")
        os.sync()
        taken = (free.f_bfree - os.statvfs(place).f_bfree) * free.f_frsize
        return difference(listing(place / "a"), listing(place / "b")), copied.not_kept, taken < 20 * MIB

    assert in_own_mounts(trial) == ([], (), kind != "ext4")


@pytest.mark.root
def test_reading_for_a_copy_leaves_no_access_time(folder: Path) -> None:
    def trial() -> tuple[int, int]:
        make_files(folder, {"m/": None})
        assert os.system(f"mount -t tmpfs -o strictatime none {folder}/m") == 0
        make_files(folder / "m", {"a/f": "x"})
        for name in ("a/f", "a"):
            os.utime(folder / "m" / name, ns=(1, 2))
        fd = os.open(folder / "m", os.O_RDONLY)
        copy_object(fd, b"a", fd, b"b")
        return os.stat(folder / "m/a/f").st_atime_ns, os.stat(folder / "m/a").st_atime_ns

    assert in_own_mounts(trial) == (1, 1)


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
