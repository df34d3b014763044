"""Logs, retention, dates and files that are still being written: F27, F28, F38, F47."""

from __future__ import annotations

import gzip
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from deskshell.kernel.contents import Contents
from deskshell.skills.pictures import picture
from tests.support.shell import Shell, compress, copy, delete, write

DAY_S = 86400


def archive(shell: Shell, *, code: int | None = 0) -> Any:
    """Run `log-archive` on the folder."""
    return shell.json("run", "log-archive", "--set", f"folder={shell.folder}", "--mode", "apply", code=code)


def test_f27_no_content_goes_without_an_archive_that_reads_back(shell: Shell) -> None:
    shell.make({"app.log": "one\n" * 100, "empty.log": "", "fresh.log": "f"})
    os.utime(shell.folder / "fresh.log")
    before = shell.listing()

    archive(shell)

    packed = {
        path.name: gzip.decompress(path.read_bytes()) for path in (shell.folder / "archive").rglob("*.gz")
    }
    assert packed == {"app.log.gz": b"one\n" * 100, "empty.log.gz": b""}
    assert shell.read("fresh.log") == "f"
    shell.undo()
    assert shell.changes(before) == []


def test_f27_archives_are_not_archived_again(shell: Shell) -> None:
    shell.make({"app.log": "one\n", "app.log.2.gz": "is packed already"})
    archive(shell)
    names = shell.names()

    assert archive(shell)["steps"] == []

    assert shell.names() == names


def test_f27_an_archive_that_differs_keeps_the_log(shell: Shell) -> None:
    shell.make({"app.log": "one\n" * 100})
    before = shell.listing()
    real = Contents.chunks

    def spoiled(self: Contents, path: bytes) -> Iterator[bytes]:
        for chunk in real(self, path):
            yield chunk[:-4]

    with mock.patch.object(Contents, "chunks", spoiled):
        archive(shell, code=1)

    assert shell.changes(before) == []


@contextmanager
def written_meanwhile(path: Path) -> Iterator[None]:
    """A program that opens `path`, appends a line and closes it again, whenever the content is read."""
    real = Contents.chunks

    def chunks(self: Contents, *args: Any) -> Iterator[bytes]:
        for chunk in real(self, *args):
            yield chunk
            subprocess.run(["sh", "-c", f"echo meanwhile >> '{path}'"], check=True)

    with mock.patch.object(Contents, "chunks", chunks):
        yield


def test_f27_a_log_that_is_written_to_meanwhile_stays(shell: Shell) -> None:
    shell.make({"app.log": "one\n" * 100})

    with written_meanwhile(shell.folder / "app.log"):
        report = archive(shell, code=1)

    assert report["status"] == "rolled-back"
    assert (shell.folder / "app.log").read_bytes().startswith(b"one\n" * 100 + b"meanwhile\n")
    assert b"\0" not in (shell.folder / "app.log").read_bytes()


@pytest.mark.parametrize("way", ["hashed", "read whole"])
def test_f47_a_file_that_never_stops_growing_is_not_read_forever(shell: Shell, way: str) -> None:
    shell.make({"endless": "x"})
    check = (
        {"sha256": "0" * 64, "path": "endless"} if way == "hashed" else {"contains": "y", "path": "endless"}
    )
    real = os.pread, os.read

    def more(read: Any) -> Any:
        def grown(*args: Any) -> bytes:
            with open(shell.folder / "endless", "ab") as file:
                file.write(b"more")
            data: bytes = read(*args)
            return data

        return grown

    with mock.patch.object(os, "pread", more(real[0])), mock.patch.object(os, "read", more(real[1])):
        report = shell.run({"action": "noop", "assert": [check]}, code=1)

    assert "grew while it was read" in report["error"]


def test_f27_a_log_that_a_program_has_open_stays(shell: Shell) -> None:
    """What it is about to write would go into holding, where nobody looks for it."""
    shell.make({"app.log": "one\n"})

    with open(shell.folder / "app.log", "ab", buffering=0) as log:
        report = archive(shell, code=1)
        log.write(b"two\n")

    assert "open for writing" in report["error"]
    assert shell.read("app.log") == "one\ntwo\n"


def test_f27_a_rotated_log_loses_no_line_of_a_program_that_has_it_open(shell: Shell) -> None:
    shell.make({"app.log": "one\n"})

    with open(shell.folder / "app.log", "ab", buffering=0) as log:
        log.write(b"two\n")
        shell.run({"action": "log.rotate", "path": "app.log"})
        log.write(b"three\n")

    assert shell.read("app.log") == ""
    assert shell.read("app.log.2") == "one\ntwo\nthree\n"


def test_f28_what_has_expired_says_so_everywhere(shell: Shell) -> None:
    """Never listed as undoable with its data gone."""
    now_ns = time.time_ns()
    shell.make({"a": "a", "b": "b", "c": "c"})
    with mock.patch.object(time, "time_ns", return_value=now_ns - 40 * DAY_S * 10**9):
        old = shell.run(delete("a"))["taskId"]
    with mock.patch.object(time, "time_ns", return_value=now_ns - 20 * DAY_S * 10**9):
        kept = shell.run(delete("b"))["taskId"]

    report = shell.run(delete("c"))  # gc runs at a task's end, too

    assert any(old in note and "undo" in note for note in report["notes"])
    check = shell.undo("--task", old, "--check", code=1)
    assert [entry["verdict"] for entry in check["tasks"][0]["entries"]] == ["expired"]
    assert "expired" in shell("show", old).out + shell("log").out
    refused = shell.undo("--task", old, code=1)
    assert [entry["verdict"] for entry in refused["tasks"][0]["entries"]] == ["expired"]
    shell.undo("--task", kept)
    assert shell.names() == ["b"]


def test_f28_the_newest_task_is_kept_however_little_room_there_is(shell: Shell) -> None:
    shell.env["DESKSHELL_MAX_BYTES"] = "1"
    shell.make({"a": "a" * 9000, "b": "b" * 9000})
    first = shell.run(delete("a"))["taskId"]

    report = shell.run(delete("b"))

    assert any(first in note for note in report["notes"])
    assert shell.undo("--task", first, code=1)["rolledBack"] == 0
    shell.undo("--task", report["taskId"])
    assert shell.names() == ["b"]


def test_f28_equal_contents_are_kept_each_for_its_own_task(shell: Shell, elsewhere: Path) -> None:
    """Copies kept for two tasks share nothing, so that one may go without the other."""
    shell.home = type(shell.home)(shell.home.user, elsewhere / "state")
    shell.make({"a": "same" * 3000, "b": "same" * 3000})
    first = shell.run(delete("a"))["taskId"]
    second = shell.run(delete("b"))["taskId"]

    freed = shell.json("gc", "--task", first)

    assert freed["expired"][0]["taskId"] == first
    assert freed["freedBytes"] > 0
    shell.undo("--task", second)
    assert shell.read("b") == "same" * 3000


def test_f28_gc_says_beforehand_what_it_would_end(shell: Shell) -> None:
    shell.make({"a": "a", "b": "b"})
    first = shell.run(delete("a"))["taskId"]
    shell.run(delete("b"))
    before = sorted(path.name for path in (shell.home.state / "held").rglob("*"))

    told = shell("gc", "--keep", "0s", "--dry-run").out

    assert first in told
    assert "no undo after this" in told
    assert sorted(path.name for path in (shell.home.state / "held").rglob("*")) == before


@contextmanager
def zone(shell: Shell, name: str) -> Iterator[None]:
    """Let the shell, and this process, be in a time zone."""
    shell.env["TZ"] = name
    with mock.patch.dict(os.environ, {"TZ": name}):
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(("minutes", "count"), [(-1, 1), (1, 0)])
def test_f38_a_date_has_the_offset_that_was_valid_on_it(shell: Shell, minutes: int, count: int) -> None:
    """Asked in July, a night in January begins an hour later by the clock of the world."""
    with zone(shell, "Europe/Berlin"):
        january = datetime(2026, 1, 15, 0, 0).timestamp()
        with mock.patch.object(time, "time_ns", return_value=round((january - minutes * 60) * 10**9)):
            shell.run(write("a", "a"))
        july = datetime(2026, 7, 15, 12, 0).timestamp()
        with mock.patch.object(time, "time_ns", return_value=round(july * 10**9)):
            report = shell.undo("--since", "2026-01-15 00:00")

    assert len(report["tasks"]) == count


@pytest.mark.parametrize("name", ["Etc/GMT-2", "Etc/GMT+8", "UTC", "Asia/Kolkata"])
def test_f38_a_photo_goes_to_the_day_on_its_own_clock(shell: Shell, name: str) -> None:
    """EXIF has local time; the file's own time is that of the zone one is in."""
    shell.make(
        {
            "new-year.jpg": picture("jpg", datetime(2024, 12, 31, 23, 59, 58)),
            "plain.png": picture("png", None),
        }
    )
    with zone(shell, name):
        midnight = datetime(2023, 3, 1, 0, 0, 5).timestamp()
        os.utime(shell.folder / "plain.png", (midnight, midnight))
        os.utime(shell.folder / "new-year.jpg", (midnight, midnight))
        shell.json("run", "photo-sort", "--set", f"folder={shell.folder}", "--mode", "apply")

    assert [each for each in shell.names() if "." in each] == [
        "2023/2023-03/plain.png",
        "2024/2024-12/new-year.jpg",
    ]


PARTIAL = ["x.zip.part", "y.crdownload", "z.download", "w.tmp", "v.aria2"]


def test_f47_what_is_still_coming_in_is_left_alone_with_a_reason(shell: Shell) -> None:
    shell.make({**dict.fromkeys(PARTIAL, "half"), "x.zip": "placeholder", "done.zip": "whole"})
    shell.make({"fresh.zip": "just changed"}, mtime=None)
    os.utime(shell.folder / "fresh.zip")

    preview = shell.json("run", "downloads-cleanup", "--set", f"folder={shell.folder}")

    assert [step["actionId"] for step in preview["steps"]] == ["move:done.zip"]
    notes = "\n".join(preview["notes"])
    for name in ("fresh.zip", "x.zip"):
        assert name in notes


def test_f47_a_file_that_grows_while_it_is_copied_is_not_taken(shell: Shell) -> None:
    """A rename takes it along whatever its writer does; what reads content notices."""
    shell.make({"x.zip": "half" * 1000})
    before = shell.listing()["x.zip"].sha256

    with written_meanwhile(shell.folder / "x.zip"):
        report = shell.run(compress("x.zip", "x.zip.gz"), code=None)

    assert "changed" in str(report.get("error"))
    assert shell.listing()["x.zip"].sha256 != before
    assert shell.names() == ["x.zip"]


def test_f47_the_hash_on_record_is_never_of_half_a_file(shell: Shell) -> None:
    shell.make({"x": "whole" * 1000})

    task = shell.run(copy("x", "y"))["taskId"]

    (step,) = shell.json("show", task)["steps"]
    assert step["sha256"] == shell.listing()["y"].sha256


def test_show_tells_what_keeping_each_undo_costs(shell: Shell) -> None:
    shell.make({"big": "b" * 100_000, "small": "s", "folder/x": "x" * 50_000})

    task = shell.run(delete("big"), write("small", "new"), delete("folder"), write("new", "n"))["taskId"]

    costs = [step["costBytes"] for step in shell.json("show", task)["steps"]]
    assert costs[0] >= 100_000
    assert 0 < costs[1] <= 16_384
    assert costs[2] >= 50_000
    assert costs[3] == 0
    assert "kept for undo" in shell("show", task).out


@pytest.mark.parametrize("spoil", ["content", "gone"])
def test_a_kept_copy_is_verified_before_it_is_used(shell: Shell, elsewhere: Path, spoil: str) -> None:
    """A disk rots, and people tidy: what comes back is what was there, or it is said that it cannot."""
    shell.home = type(shell.home)(shell.home.user, elsewhere / "state")
    shell.make({"a": "the content", "b": "b"})
    shell.run(delete("a"), delete("b"))
    (kept,) = [
        path for path in (elsewhere / "state/kept").rglob("*") if path.is_file() and path.stat().st_size == 11
    ]
    if spoil == "content":
        kept.write_text("THE CONTENT")
    else:
        kept.unlink()

    check = shell.undo("--check", code=1)
    report = shell.undo(code=1)

    word = "damaged" if spoil == "content" else "expired"
    for each in (check, report):
        verdicts = {entry["target"][-1]: entry["verdict"] for entry in each["tasks"][0]["entries"]}
        assert verdicts["a"] == word
    assert shell.names() == ["b"]
