"""Renames that never replace, exchanges, and syncs."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deskshell.files import moving, syscalls
from deskshell.files.identity import stat_at
from deskshell.files.moving import (
    can_exchange,
    exchange,
    rename,
    renameable,
    sync_file,
    sync_filesystem,
    sync_folder,
)
from tests.support.listing import listing
from tests.support.mounts import has_mkfs, in_own_mounts, mount_image
from tests.support.privileges import as_normal_user
from tests.support.trees import Content, make_files

Open = Callable[[Path | bytes], int]


def _no_flags(src_fd: int, src: bytes, dst_fd: int, dst: bytes, flags: int) -> int:
    """As answered by a file system that knows no flags."""
    return errno.EINVAL


@pytest.fixture(params=["renameat2", "without flags"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs with the system's own call, and as on a file system that has no such call."""
    if request.param == "without flags":
        monkeypatch.setattr(syscalls, "rename_with_flags", _no_flags)


def test_a_rename_changes_the_name_and_nothing_else(way: None, folder: Path, fd: int) -> None:
    (folder / "a").write_text("x")
    os.utime(folder / "a", ns=(5, 5))
    before = stat_at(fd, b"a")

    rename(fd, b"a", fd, b"b")

    after = stat_at(fd, b"b")
    assert before is not None
    assert after is not None
    assert os.listdir(folder) == ["b"]
    assert (after.ino, after.mtime_ns, after.nlink) == (before.ino, before.mtime_ns, 1)


def test_any_kind_of_object_is_renamed_into_another_folder(way: None, folder: Path, opened: Open) -> None:
    make_files(
        folder,
        {"from/f": "x", "from/d/sub/f": "y", "from/l": ("->", "nowhere"), "from/p": ("|",), "to/": None},
    )
    before = listing(folder / "from")
    src, dst = opened(folder / "from"), opened(folder / "to")

    for name in (b"f", b"d", b"l", b"p"):
        rename(src, name, dst, name)

    assert os.listdir(folder / "from") == []
    after = listing(folder / "to")
    assert {n: e for n, e in after.items() if n != "."} == {n: e for n, e in before.items() if n != "."}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "taken, content",
    [("t", ""), ("t", "text"), ("t", ("->", "nowhere")), ("t/", None), ("t/full", "x"), ("t", ("|",))],
)
@pytest.mark.parametrize("source", ["file", "dir"])
def test_a_name_that_is_taken_is_never_replaced(
    folder: Path, fd: int, source: str, taken: str, content: Content
) -> None:
    """F06: by an empty file, an empty folder or a dangling link neither."""
    make_files(folder, {taken: content, "file": "mine", "dir/in": "mine"})
    before = listing(folder)

    with pytest.raises(FileExistsError) as caught:
        rename(fd, source.encode(), fd, b"t")

    assert listing(folder) == before
    assert (caught.value.filename, caught.value.filename2) == (source.encode(), b"t")


def test_two_names_of_one_file_are_both_kept(way: None, folder: Path, fd: int) -> None:
    """Plain rename(2) would do nothing and report success."""
    make_files(folder, {"a": "x", "b": ("=", "a")})

    with pytest.raises(FileExistsError):
        rename(fd, b"a", fd, b"b")

    assert sorted(os.listdir(folder)) == ["a", "b"]


def test_what_is_not_there_cannot_be_renamed(way: None, folder: Path, fd: int) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        rename(fd, b"missing", fd, b"b")

    assert (caught.value.filename, caught.value.filename2) == (b"missing", b"b")


def test_another_device_is_reported_as_such(
    way: None, folder: Path, opened: Open, other_device: Path
) -> None:
    (folder / "a").write_text("x")
    (folder / "d").mkdir()
    src, dst = opened(folder), opened(other_device)

    for name in (b"a", b"d"):
        with pytest.raises(OSError, match="cross-device") as caught:
            rename(src, name, dst, b"b")
        assert caught.value.errno == errno.EXDEV
    assert os.listdir(other_device) == []


def test_without_hard_links_a_file_is_looked_for_and_renamed(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on FAT."""

    def no_links(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EPERM, "links are not known here")

    monkeypatch.setattr(syscalls, "rename_with_flags", _no_flags)
    monkeypatch.setattr(os, "link", no_links)
    make_files(folder, {"a": "x", "taken": "y"})

    with pytest.raises(FileExistsError):
        rename(fd, b"a", fd, b"taken")
    rename(fd, b"a", fd, b"b")

    assert (folder / "b").read_text() == "x"
    assert (folder / "taken").read_text() == "y"


def test_a_failing_disk_is_no_reason_to_try_another_way(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_text("x")
    monkeypatch.setattr(syscalls, "rename_with_flags", lambda *args: errno.EIO)

    with pytest.raises(OSError, match="Input/output") as caught:
        rename(fd, b"a", fd, b"b")

    assert caught.value.errno == errno.EIO
    assert os.listdir(folder) == ["a"]


def test_objects_of_any_kinds_are_exchanged(folder: Path, fd: int) -> None:
    make_files(folder, {"a": "x", "d/in": "y"})

    exchange(fd, b"a", fd, b"d")

    assert (folder / "d").read_text() == "x"
    assert (folder / "a" / "in").read_text() == "y"


def test_an_exchange_with_nothing_changes_nothing(folder: Path, fd: int) -> None:
    (folder / "a").write_text("x")

    with pytest.raises(FileNotFoundError) as caught:
        exchange(fd, b"a", fd, b"missing")

    assert (caught.value.filename, caught.value.filename2) == (b"a", b"missing")
    assert os.listdir(folder) == ["a"]


def test_the_answer_about_exchange_holds_on_this_file_system(folder: Path, fd: int, opened: Open) -> None:
    make_files(folder, {"a": "x", "b": "y"})
    if can_exchange(fd):
        exchange(fd, b"a", fd, b"b")
        assert (folder / "a").read_text() == "y"
    assert not can_exchange(opened(b"/proc"))


def test_folders_of_one_mount_are_renameable_and_the_question_changes_nothing(
    folder: Path, opened: Open
) -> None:
    make_files(folder, {"a/": None, "b/": None})
    before = listing(folder)

    assert renameable(opened(folder / "a"), opened(folder / "b"))
    assert listing(folder) == before


def test_folders_of_two_devices_are_not_renameable(folder: Path, opened: Open, other_device: Path) -> None:
    assert not renameable(opened(folder), opened(other_device))


@pytest.mark.root
def test_a_bind_mount_of_the_same_device_is_not_renameable(folder: Path) -> None:
    """st_dev is equal on both sides, and yet rename answers EXDEV."""

    def trial() -> tuple[bool, bool]:
        make_files(folder, {"real/": None, "bound/": None})
        assert os.system(f"mount --bind {folder}/real {folder}/bound") == 0
        a, b = os.open(folder / "real", os.O_RDONLY), os.open(folder / "bound", os.O_RDONLY)
        return os.fstat(a).st_dev == os.fstat(b).st_dev, renameable(a, b)

    assert in_own_mounts(trial) == (True, False)


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.skipif(not has_mkfs("btrfs"), reason="mkfs.btrfs is missing")
def test_subvolumes_of_btrfs_are_not_renameable(folder: Path) -> None:
    def trial() -> tuple[bool, bool]:
        mount_image("btrfs", folder / "image", folder / "b")
        assert os.system(f"cd {folder}/b && btrfs subvolume create sub >/dev/null && mkdir plain") == 0
        top, sub = os.open(folder / "b", os.O_RDONLY), os.open(folder / "b" / "sub", os.O_RDONLY)
        plain = os.open(folder / "b" / "plain", os.O_RDONLY)
        return renameable(top, sub), renameable(top, plain)

    assert in_own_mounts(trial) == (False, True)


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs"])
def test_each_large_file_system_renames_and_exchanges(folder: Path, kind: str) -> None:
    if not has_mkfs(kind):
        pytest.skip(f"mkfs.{kind} is missing")

    def trial() -> list[str]:
        place = folder / "m"
        mount_image(kind, folder / "image", place, 320)
        make_files(place, {"a": "x", "b": "y"})
        fd = os.open(place, os.O_RDONLY)
        assert can_exchange(fd)
        exchange(fd, b"a", fd, b"b")
        rename(fd, b"a", fd, b"c")
        with pytest.raises(FileExistsError):
            rename(fd, b"b", fd, b"c")
        assert sync_folder(fd)
        sync_filesystem(fd)
        return [(place / name).read_text() for name in ("b", "c")]

    assert in_own_mounts(trial) == ["x", "y"]


def test_folders_and_files_are_synced(folder: Path, fd: int) -> None:
    assert sync_folder(fd) is True
    with open(folder / "a", "wb") as file:
        file.write(b"x")
        sync_file(file.fileno())
    sync_filesystem(fd)


def test_a_folder_that_may_not_be_read_is_not_syncable(normal_folder: Path, normal_fd: int) -> None:
    def trial() -> bool:
        (normal_folder / "drop").mkdir(mode=0o300)
        descriptor = os.open(normal_folder / "drop", os.O_PATH | os.O_DIRECTORY)
        try:
            sync_filesystem(descriptor)  # the way out: it cannot be told apart, so everything is synced
            return sync_folder(descriptor)
        finally:
            os.close(descriptor)

    assert as_normal_user(trial) is False


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
def test_a_failed_sync_is_never_a_detail(fd: int, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def fail(*args: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    monkeypatch.setattr(moving.syscalls, "syncfs", lambda fd: code)

    for call in (sync_folder, sync_file, sync_filesystem):
        with pytest.raises(OSError, match=os.strerror(code)):
            call(fd)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EACCES, errno.EBADF, errno.ENOTSUP])
def test_a_file_system_that_syncs_no_folders_says_so(
    fd: int, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def unknown(*args: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", unknown)

    assert sync_folder(fd) is False
