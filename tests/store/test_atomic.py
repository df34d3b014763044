"""A file has the old content or the new one, whatever is killed or fails."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from deskshell.store.atomic import rename_no_replace, sync_folder, write_atomically
from tests.store.samples import cut_before


def test_a_file_is_written_and_written_over(folder: Path) -> None:
    write_atomically(folder / "a", b"one")
    write_atomically(folder / "a", b"two")

    assert (folder / "a").read_bytes() == b"two"
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o600
    assert os.listdir(folder) == ["a"]


def test_an_existing_file_is_kept_when_it_must_not_be_replaced(folder: Path) -> None:
    (folder / "a").write_bytes(b"one")

    with pytest.raises(FileExistsError):
        write_atomically(folder / "a", b"two", replace=False)

    assert (folder / "a").read_bytes() == b"one"
    assert os.listdir(folder) == ["a"]


@pytest.mark.parametrize("replace", [True, False])
def test_a_write_killed_anywhere_leaves_the_old_or_the_new(
    folder: Path, monkeypatch: pytest.MonkeyPatch, replace: bool
) -> None:
    path = folder / "a"
    contents = set()
    for number in range(12):
        if replace:
            path.write_bytes(b"old")
        else:
            path.unlink(missing_ok=True)
        with cut_before(monkeypatch, number) as made:
            write_atomically(path, b"new", replace=replace)
        contents.add(path.read_bytes() if path.exists() else b"none")
        if made[-2:] == ["fsync"] or len(made) < number:
            break
    else:
        pytest.fail("a write makes more changes than were cut")

    assert contents == {b"new", b"old" if replace else b"none"}


def test_the_content_is_synced_before_it_gets_the_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename without it is an empty file after a power cut."""
    with cut_before(monkeypatch, 1000) as made:
        write_atomically(folder / "a", b"x")

    assert made == ["open", "write", "fdatasync", "rename", "fsync"]


def test_a_write_in_small_pieces_is_completed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))

    write_atomically(folder / "a", b"0123456789")

    assert (folder / "a").read_bytes() == b"0123456789"


@pytest.mark.parametrize("call", ["write", "fdatasync", "rename"])
def test_a_failed_write_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (folder / "a").write_bytes(b"old")

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as context:
        context.setattr(os, call, full)
        with pytest.raises(OSError, match="No space"):
            write_atomically(folder / "a", b"new")

    assert (folder / "a").read_bytes() == b"old"
    assert os.listdir(folder) == ["a"]


@pytest.mark.parametrize("links", [True, False], ids=["with hard links", "without hard links"])
def test_a_rename_never_replaces(folder: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def no_links(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    (folder / "a").write_text("a")
    (folder / "b").write_text("b")
    (folder / "broken").symlink_to("nowhere")

    for target in ("b", "broken"):
        with pytest.raises(FileExistsError):
            rename_no_replace(folder / "a", folder / target)
    rename_no_replace(folder / "a", folder / "c")

    assert sorted(os.listdir(folder)) == ["b", "broken", "c"]
    assert ((folder / "b").read_text(), (folder / "c").read_text()) == ("b", "a")


def test_a_folder_that_knows_no_sync_is_no_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = iter([errno.EINVAL, errno.EIO])

    def fsync(fd: int) -> None:
        number = next(errors)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)

    sync_folder(folder)
    with pytest.raises(OSError, match="Input/output"):
        sync_folder(folder)
