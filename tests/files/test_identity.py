"""One look at an object, and whether two looks saw the same one."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskshell.files import identity, syscalls
from deskshell.files.identity import (
    KINDS,
    Identity,
    Stat,
    from_json,
    fs_id,
    same_content,
    same_object,
    stat_again,
    stat_at,
    stat_fd,
    stat_path,
    to_json,
    untouched,
)
from tests.support.privileges import as_normal_user

NUMBERS = st.integers(min_value=0, max_value=2**64 - 1)
TIMES = st.integers(min_value=-(2**62), max_value=2**62)
IDENTITIES = st.builds(Identity, st.sampled_from(KINDS), NUMBERS, TIMES, NUMBERS, TIMES, TIMES)


def look(fd: int, name: bytes) -> Stat:
    found = stat_at(fd, name)
    assert found is not None
    return found


def test_a_look_tells_what_os_stat_tells(folder: Path, fd: int) -> None:
    (folder / "a").write_bytes(b"text")
    os.link(folder / "a", folder / "b")
    os.chmod(folder / "a", 0o4751)
    os.utime(folder / "a", ns=(-1, 1_600_000_000_123_456_789))  # before 1970 too
    expected = os.lstat(folder / "a")

    found = look(fd, b"a")

    assert (found.kind, found.size, found.mode, found.nlink) == ("file", 4, 0o4751, 2)
    assert (found.ino, found.dev) == (expected.st_ino, expected.st_dev)
    assert (found.uid, found.gid) == (expected.st_uid, expected.st_gid)
    assert (found.mtime_ns, found.ctime_ns) == (expected.st_mtime_ns, expected.st_ctime_ns)
    assert found.atime_ns == -1


def test_every_kind_is_recognised(folder: Path, fd: int) -> None:
    (folder / "file").touch()
    (folder / "folder").mkdir()
    (folder / "link").symlink_to("folder")
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(".", os.O_RDONLY)
        os.fchdir(fd)  # a socket's path may be 107 bytes long at most
        server.bind("socket")
        os.fchdir(here)
        os.close(here)

    assert {name: look(fd, name.encode()).kind for name in os.listdir(folder)} == {
        "file": "file",
        "folder": "folder",
        "link": "link",
        "fifo": "fifo",
        "socket": "socket",
    }
    assert stat_path(b"/dev/null").kind == "char"  # type: ignore[union-attr]


def test_what_is_not_there_is_none(folder: Path, fd: int) -> None:
    (folder / "file").touch()

    assert stat_at(fd, b"missing") is None
    assert stat_at(fd, b"file/below") is None
    assert stat_path(os.fsencode(folder / "missing" / "deeper")) is None


def test_a_link_is_looked_at_itself(folder: Path, fd: int) -> None:
    (folder / "dangling").symlink_to("nowhere")

    assert look(fd, b"dangling").kind == "link"
    assert look(fd, b"dangling").size == len("nowhere")
    assert stat_path(os.fsencode(folder / "dangling")).kind == "link"  # type: ignore[union-attr]


def test_a_name_that_is_too_long_is_an_error_and_not_an_absence(fd: int) -> None:
    """Reading "cannot be" as "is not there" would let a create go ahead."""
    with pytest.raises(OSError, match="too long"):
        stat_at(fd, b"n" * 256)


def test_a_folder_that_may_not_be_searched_is_an_error_and_not_an_absence(normal_folder: Path) -> None:
    def trial() -> str:
        (normal_folder / "closed").mkdir()
        (normal_folder / "closed" / "file").touch()
        (normal_folder / "closed").chmod(0o600)
        try:
            return str(stat_path(os.fsencode(normal_folder / "closed" / "file")))
        except PermissionError:
            return "refused"

    assert as_normal_user(trial) == "refused"


def test_names_are_any_bytes(folder: Path, fd: int) -> None:
    for name in (b"\xff\xfe", b"new\nline", b"-rf", b"n" * 255, "é".encode(), "e\u0301".encode()):
        (Path(os.fsdecode(os.fsencode(folder) + b"/" + name))).write_bytes(name)
        assert look(fd, name).size == len(name)


def test_an_open_object_is_looked_at_by_its_descriptor(folder: Path, fd: int) -> None:
    (folder / "link").symlink_to("nowhere")
    pinned = os.open(folder / "link", os.O_PATH | os.O_NOFOLLOW)
    os.unlink(folder / "link")
    try:
        assert stat_fd(pinned).kind == "link"
        assert stat_fd(fd).kind == "folder"
    finally:
        os.close(pinned)


def test_an_edited_file_is_the_same_object_with_other_content(folder: Path, fd: int) -> None:
    (folder / "a").write_text("one")
    before = look(fd, b"a")
    (folder / "a").write_text("three")
    after = look(fd, b"a")

    assert same_object(before, after)
    assert not same_content(before, after)
    assert not untouched(before, after)


def test_a_changed_mode_touches_but_keeps_the_content(folder: Path, fd: int) -> None:
    (folder / "a").write_text("one")
    before = look(fd, b"a")
    while look(fd, b"a").ctime_ns == before.ctime_ns:  # the file system's clock ticks every few ms
        os.chmod(folder / "a", 0o600)

    assert same_content(before, look(fd, b"a"))
    assert not untouched(before, look(fd, b"a"))


def test_an_inode_number_used_again_is_another_object(folder: Path, fd: int) -> None:
    """F09: the newcomer got the number and time of the file that was moved, and was taken for it."""
    (folder / "a").write_text("one")
    os.utime(folder / "a", ns=(1, 1))
    before = look(fd, b"a")
    if not before.birth_ns:
        pytest.skip("this file system keeps no birth time")
    for _ in range(1000):
        os.unlink(folder / "a")
        (folder / "a").write_text("two")
        os.utime(folder / "a", ns=(1, 1))
        after = look(fd, b"a")
        assert not same_object(before, after) or after.birth_ns == before.birth_ns
        if after.ino == before.ino and after.birth_ns != before.birth_ns:
            break
    else:
        pytest.skip("no inode number came back within 1000 tries")

    assert (before.size, before.mtime_ns) == (after.size, after.mtime_ns)
    assert not same_object(before, after)


def test_a_folder_keeps_its_content_identity_while_things_are_put_in(folder: Path, fd: int) -> None:
    (folder / "sub").mkdir()
    before = look(fd, b"sub")
    (folder / "sub" / "new").touch()

    assert same_content(before, look(fd, b"sub"))


def test_another_kind_under_the_same_number_is_another_object() -> None:
    file = Identity("file", 7, 0, 0, 1, 1)

    assert same_object(file, file._replace(size=9))
    assert not same_object(file, file._replace(kind="fifo"))


def test_birth_times_count_only_where_both_are_known() -> None:
    a = Identity("file", 7, 100, 3, 1, 1)

    assert same_object(a, a._replace(birth_ns=0))
    assert not same_object(a, a._replace(birth_ns=101))


def test_without_stable_numbers_size_and_time_decide() -> None:
    a = Identity("file", 0, 0, 3, 1, 1)

    assert same_object(a, a._replace(ctime_ns=9))
    assert not same_object(a, a._replace(size=4))
    assert not same_object(a, a._replace(mtime_ns=2))
    assert same_object(a, a._replace(ino=7))  # the file system was learnt to be unstable in between


def test_a_file_system_with_passing_inode_numbers_reports_none(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_text("x")
    monkeypatch.setattr(identity, "_devices", {})
    monkeypatch.setattr(syscalls, "fstatfs", lambda fd: (0x65735546, bytes(8), b""))  # FUSE

    assert (look(fd, b"a").ino, look(fd, b"a").birth_ns) == (0, 0)
    assert stat_fd(fd).ino == 0


def test_without_statx_python_s_own_stat_is_used(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_text("x")
    full = look(fd, b"a")
    monkeypatch.setattr(identity, "_one_look", identity._look_by_os)

    assert look(fd, b"a") == full._replace(birth_ns=0, mnt=0)
    assert stat_fd(fd) == stat_path(os.fsencode(folder))
    assert stat_at(fd, b"missing") is None


@given(IDENTITIES)
def test_an_identity_survives_its_record(value: Identity) -> None:
    assert from_json(json.loads(json.dumps(to_json(value)))) == value


@pytest.mark.parametrize(
    "fields",
    [
        [],
        ["f", 1, 2, 3, 4],
        ["x", 1, 2, 3, 4, 5],
        ["f", 1, 2, 3, 4, "5"],
        ["f", 1, 2, 3, 4, True],
        [None, 1, 2, 3, 4, 5],
    ],
)
def test_a_record_that_is_no_identity_is_refused(fields: list[str | int]) -> None:
    with pytest.raises(ValueError, match="not a"):
        from_json(fields)


def test_the_id_of_a_file_system_tells_two_apart(fd: int, other_device: Path) -> None:
    other = os.open(other_device, os.O_RDONLY)
    try:
        assert fs_id(fd) != fs_id(other)
        assert fs_id(other) == "1021994"  # tmpfs: its own id does not outlive the mount
    finally:
        os.close(other)


def test_looks_from_several_threads_do_not_mix(folder: Path, fd: int) -> None:
    """The buffer that the kernel fills belongs to one thread each."""
    from concurrent.futures import ThreadPoolExecutor

    for size in range(8):
        (folder / str(size)).write_bytes(b"x" * size)
    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(lambda n: look(fd, b"%d" % (n % 8)).size, range(4000)))

    assert sizes == [n % 8 for n in range(4000)]


def test_looking_again_at_what_stayed_tells_the_same(folder: Path, fd: int) -> None:
    """A step looks at a file it knows: that must tell no less than the first look."""
    (folder / "file").write_text("x")
    (folder / "folder").mkdir()
    (folder / "link").symlink_to("file")
    for name in (b"file", b"folder", b"link"):
        known = look(fd, name)
        for given_ in (known, identity.identity(known)):
            assert stat_again(fd, name, given_) == known._replace(mnt=0)


@pytest.mark.parametrize("what", ["edited", "touched", "mode", "replaced", "copied over", "a folder", "gone"])
def test_looking_again_at_what_changed_is_a_look_like_any_other(folder: Path, fd: int, what: str) -> None:
    """Least of all does something new pass for the old because it has its size and time."""
    path = folder / "a"
    path.write_text("x")
    known = look(fd, b"a")
    if what == "edited":
        path.write_text("more")
    elif what == "touched":
        os.utime(path)
    elif what == "mode":
        path.chmod(0o600)
    else:
        path.unlink()
        if what == "a folder":
            path.mkdir()
        elif what != "gone":  # mostly with the same inode number
            path.write_text("y")
            if what == "copied over":
                os.utime(path, ns=(known.atime_ns, known.mtime_ns))

    assert stat_again(fd, b"a", known) == stat_at(fd, b"a")


def test_looking_again_goes_by_no_inode_number_that_is_not_stable(
    folder: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "_devices", {})
    monkeypatch.setattr(syscalls, "fstatfs", lambda fd: (0x4D44, bytes(8), b""))
    (folder / "a").write_text("x")
    known = look(fd, b"a")
    assert known.ino == 0

    again = stat_again(fd, b"a", known)

    assert again == known
