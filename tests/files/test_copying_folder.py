"""Verified copies of whole folders."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deskshell.errors import Conflict, StepFailed
from deskshell.files import copying_folder, copying_one
from deskshell.files.copying import copy_object
from deskshell.files.identity import identity, stat_at
from deskshell.files.metadata import ACL_ACCESS, ACL_DEFAULT
from deskshell.files.tree import digest, walk
from tests.files.making import ONE_MORE_READER, make_anything, make_deep, set_xattr
from tests.support.listing import difference, listing
from tests.support.mounts import has_mkfs, in_own_mounts, mount_image
from tests.support.privileges import NORMAL_UID, as_normal_user
from tests.support.trees import make_files

MIB = 1 << 20
Open = Callable[[Path | bytes], int]


class Stopped(Exception):
    """What a caller raises out of `tick`."""


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
