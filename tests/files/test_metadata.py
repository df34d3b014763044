"""Mode, owner, times, attributes and ACLs: read, set, and the truth about what could not be set."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import pytest

from deskshell.files import metadata, syscalls
from deskshell.files.identity import stat_at
from deskshell.files.metadata import (
    ACL_ACCESS,
    ACL_DEFAULT,
    Metadata,
    apply_metadata,
    read_metadata,
    read_metadata_at,
    set_mode_at,
)
from tests.files.making import ONE_MORE_READER, set_xattr
from tests.support.listing import difference, listing
from tests.support.privileges import NORMAL_UID, as_normal_user
from tests.support.trees import make_files


def test_all_metadata_of_a_file_is_carried_to_another(folder: Path, fd: int) -> None:
    make_files(folder, {"a": "x", "b": "x"})
    set_xattr(folder / "a", b"user.note", b"\0\xff")
    set_xattr(folder / "a", ACL_ACCESS, ONE_MORE_READER)
    os.chmod(folder / "a", 0o2640)
    os.utime(folder / "a", ns=(3, 1_234_567_890_123_456_789))

    assert apply_metadata(fd, b"b", read_metadata_at(fd, b"a")) == []

    found = listing(folder)
    assert found["b"] == found["a"]
    assert dict(found["b"].xattrs)["user.note"] == "00ff"
    assert dict(found["b"].xattrs)[ACL_ACCESS.decode()] == ONE_MORE_READER.hex()


def test_attributes_that_the_original_does_not_have_are_removed(folder: Path, fd: int) -> None:
    """A new file inherits its folder's default ACL: people would read the copy who cannot read the original."""
    make_files(folder, {"a": "x"})
    set_xattr(folder, ACL_DEFAULT, ONE_MORE_READER)
    meta = read_metadata_at(fd, b"a")
    (folder / "b").write_text("x")
    os.setxattr(folder / "b", b"user.extra", b"1")
    assert ACL_ACCESS.decode() in dict(listing(folder)["b"].xattrs)

    assert apply_metadata(fd, b"b", meta) == []

    assert listing(folder)["b"] == listing(folder)["a"]


def test_a_folder_s_default_acl_is_carried(folder: Path, fd: int) -> None:
    make_files(folder, {"a/": None, "b/": None})
    set_xattr(folder / "a", ACL_DEFAULT, ONE_MORE_READER)

    assert apply_metadata(fd, b"b", read_metadata_at(fd, b"a")) == []

    assert listing(folder)["b"] == listing(folder)["a"]


def test_a_link_is_changed_itself_and_never_what_it_points_to(folder: Path, fd: int) -> None:
    make_files(folder, {"target": "x", "link": ("->", "target")}, mtime=1000)
    before = listing(folder)["target"]

    assert apply_metadata(fd, b"link", Metadata(0o777, os.getuid(), os.getgid(), 5, 6)) == []
    with pytest.raises(OSError, match="not supported"):
        set_mode_at(fd, b"link", 0o600)

    assert listing(folder)["target"] == before
    assert os.lstat(folder / "link").st_mtime_ns == 5


@pytest.mark.root
def test_the_owner_of_a_link_is_its_own(folder: Path, fd: int) -> None:
    make_files(folder, {"target": "x", "link": ("->", "target")})

    assert apply_metadata(fd, b"link", Metadata(0o777, 4321, 4321, 5, 6)) == []
    assert (os.lstat(folder / "link").st_uid, os.stat(folder / "target").st_uid) == (4321, 0)


def test_a_fifo_s_metadata_is_read_and_set_without_opening_it(folder: Path, fd: int) -> None:
    """Opening a fifo would wait for somebody at its other end."""
    os.mkfifo(folder / "p", 0o600)

    assert apply_metadata(fd, b"p", Metadata(0o640, os.getuid(), os.getgid(), 5, 6)) == []

    meta = read_metadata_at(fd, b"p")
    assert (meta.mode, meta.mtime_ns) == (0o640, 5)


def test_metadata_of_an_unreadable_file_is_read_and_set(normal_folder: Path, normal_fd: int) -> None:
    def trial() -> tuple[Metadata, list[str], int]:
        (normal_folder / "a").touch(mode=0o000)
        os.utime(normal_folder / "a", ns=(1, 2))
        meta = read_metadata_at(normal_fd, b"a")
        lost = apply_metadata(normal_fd, b"a", Metadata(0o200, meta.uid, meta.gid, 3, 4, {b"user.k": b"v"}))
        set_mode_at(normal_fd, b"a", 0o000)
        return meta, lost, os.stat(normal_folder / "a").st_mtime_ns

    meta, lost, mtime_ns = as_normal_user(trial)
    assert (meta.mode, meta.mtime_ns, lost, mtime_ns) == (0o000, 2, [], 3)


def test_a_read_only_file_takes_attributes(normal_folder: Path, normal_fd: int) -> None:
    """The system asks for write permission by mode, so the mode has to come last."""

    def trial() -> tuple[list[str], int, bytes]:
        (normal_folder / "a").touch(mode=0o444)
        meta = read_metadata_at(normal_fd, b"a")
        lost = apply_metadata(normal_fd, b"a", Metadata(0o444, meta.uid, meta.gid, 3, 4, {b"user.k": b"v"}))
        return (
            lost,
            os.stat(normal_folder / "a").st_mode & 0o7777,
            os.getxattr(normal_folder / "a", b"user.k"),
        )

    try:
        assert as_normal_user(trial) == ([], 0o444, b"v")
    except OSError as exc:
        if exc.errno == errno.ENODATA:
            pytest.skip("this file system keeps no user attributes")
        raise


def test_attributes_that_cannot_be_read_are_named(normal_folder: Path, normal_fd: int) -> None:
    set_xattr(normal_folder, b"user.note", b"x")

    def trial() -> tuple[tuple[bytes, ...], list[str]]:
        normal_folder.chmod(0o300)
        (normal_folder / "b").mkdir()
        meta = read_metadata_at(normal_fd, b".")
        return meta.unread, apply_metadata(normal_fd, b"b", meta)

    assert as_normal_user(trial) == ((b"user.note",), ["xattr user.note"])


def test_a_foreign_owner_is_reported_and_takes_the_setuid_bit_with_it(
    normal_folder: Path, normal_fd: int
) -> None:
    """A setuid copy that belongs to whoever copied it would run as them."""

    def trial() -> tuple[list[str], int]:
        (normal_folder / "a").touch()
        lost = apply_metadata(normal_fd, b"a", Metadata(0o6755, 0, 0, 3, 4))
        return lost, os.stat(normal_folder / "a").st_mode & 0o7777

    assert as_normal_user(trial) == (["owner", "mode"], 0o755)


@pytest.mark.root
def test_root_keeps_owner_and_setuid(folder: Path, fd: int) -> None:
    (folder / "a").touch()

    assert apply_metadata(fd, b"a", Metadata(0o6755, NORMAL_UID, 1234, 3, 4)) == []

    found = os.stat(folder / "a")
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (NORMAL_UID, 1234, 0o6755)


@pytest.mark.root
def test_capabilities_survive_a_change_of_owner(folder: Path, fd: int) -> None:
    """Chown clears them, so they are set after it."""
    capability = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)  # VFS_CAP_REVISION_2, cap_net_bind_service
    make_files(folder, {"a": "x", "b": "x"})
    os.chown(folder / "a", NORMAL_UID, NORMAL_UID)
    set_xattr(folder / "a", b"security.capability", capability)

    assert apply_metadata(fd, b"b", read_metadata_at(fd, b"a")) == []

    assert os.getxattr(folder / "b", b"security.capability") == capability


def test_attributes_that_a_file_system_cannot_hold_are_reported(folder: Path, fd: int) -> None:
    os.mkfifo(folder / "p")  # fifos and links hold no user attributes anywhere
    meta = Metadata(
        0o600,
        os.getuid(),
        os.getgid(),
        3,
        4,
        {b"user.a": b"", b"user.b\n": b"", ACL_DEFAULT: ONE_MORE_READER},
    )

    assert apply_metadata(fd, b"p", meta) == ["acl", "xattr user.a", r"xattr user.b\n"]


def test_times_are_left_alone_on_request(folder: Path, fd: int) -> None:
    (folder / "a").touch()
    os.utime(folder / "a", ns=(1, 2))

    assert apply_metadata(fd, b"a", Metadata(0o600, os.getuid(), os.getgid(), 8, 9), times=False) == []

    assert (os.stat(folder / "a").st_atime_ns, os.stat(folder / "a").st_mtime_ns) == (1, 2)


def test_a_failing_disk_is_not_a_detail(folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EIO, "the disk failed")

    (folder / "a").touch()
    monkeypatch.setattr(os, "utime", fail)

    with pytest.raises(OSError, match="the disk failed"):
        apply_metadata(fd, b"a", Metadata(0o600, os.getuid(), os.getgid(), 8, 9))


def test_what_is_not_there_has_no_metadata(fd: int) -> None:
    for call in (
        lambda: read_metadata_at(fd, b"missing"),
        lambda: set_mode_at(fd, b"missing", 0o600),
        lambda: apply_metadata(fd, b"missing", Metadata(0, 0, 0, 0, 0)),
    ):
        with pytest.raises(FileNotFoundError):
            call()


def test_an_open_object_s_metadata_is_that_of_its_name(folder: Path, fd: int) -> None:
    make_files(folder, {"a": "x"})
    set_xattr(folder / "a", b"user.k", b"v")
    pinned = os.open(folder / "a", os.O_PATH)
    opened = os.open(folder / "a", os.O_RDONLY)
    try:
        assert read_metadata(pinned) == read_metadata(opened) == read_metadata_at(fd, b"a")
        assert read_metadata(pinned).xattrs[b"user.k"] == b"v"
    finally:
        os.close(pinned)
        os.close(opened)


def test_without_proc_the_calls_go_by_name_and_still_follow_nothing(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "_PINS", False)
    make_files(folder, {"target": "x", "link": ("->", "target")}, mtime=1000)
    (folder / "target").chmod(0o644)
    before = listing(folder)
    if syscalls.fchmodat2(fd, b"target", 0o644, syscalls.AT_SYMLINK_NOFOLLOW) == errno.ENOSYS:
        pytest.skip("needs fchmodat2 (Linux 6.6)")

    assert apply_metadata(fd, b"link", Metadata(0o777, os.getuid(), os.getgid(), 5, 5)) == []
    with pytest.raises(OSError):
        set_mode_at(fd, b"link", 0o600)
    with pytest.raises(FileNotFoundError):
        read_metadata_at(fd, b"missing")
    meta = Metadata(0o604, os.getuid(), os.getgid(), 8, 9, {b"user.k": b"v"})
    lost = apply_metadata(fd, b"target", meta)

    assert difference(before, listing(folder)) == [
        "link: mtime_ns 1000000000000 → 5",
        "target: mode 0o644 → 0o604",
        "target: mtime_ns 1000000000000 → 8",
    ]
    assert lost == ["xattr user.k"]
    found = stat_at(fd, b"target")
    assert found is not None
    assert read_metadata_at(fd, b"target").mode == found.mode == 0o604
