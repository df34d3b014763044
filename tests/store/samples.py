"""Small journals as bytes, what may be read of them once damaged, and cuts in the middle of a change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deskshell.store.folder import StateFolder
from deskshell.store.journal import Journal


def texts(lines: Iterable[tuple[object, dict[str, Any]]]) -> list[str]:
    """The `text` of each line that has one, which leaves headers out."""
    return [line["text"] for _, line in lines if "text" in line]


def sample(state: StateFolder, *, lines: int, text_bytes: int = 5, sync_each: int = 3) -> bytes:
    """Write `lines` lines with a sync after each `sync_each`, and return the bytes of the segment.

    The last line but one is never synced before the last, so the end has lines that may be lost.
    """
    journal = Journal(state)
    journal.open()
    for number in range(1, lines + 1):
        journal.append_object({"text": f"line {number} ".ljust(text_bytes, "x")})
        if number % sync_each == 0:
            journal.sync()
    journal.close()
    return state.journal_path.read_bytes()


def start_anew(state: StateFolder, data: bytes) -> None:
    """Make `data` the one and only segment."""
    for path in state.path.glob("journal*"):
        path.unlink()
    state.journal_path.write_bytes(data)


@dataclass(frozen=True)
class Readable:
    """What counts of a damaged segment: the good lines in front, and whether more was lost than may be."""

    lines: list[bytes]
    is_damage: bool


def readable(whole: bytes, damaged: bytes) -> Readable:
    """Apply the rule of the torn tail to `damaged`, knowing the `whole` segment: what the code can only infer.

    A line is whole when its bytes, newline included, are those that were written.
    """
    written = whole.splitlines(keepends=True)
    found = damaged.split(b"\n")
    found = [line + b"\n" for line in found[:-1]]
    good: list[bytes] = []
    for line, original in zip(found, written, strict=False):
        if line != original:
            break
        good.append(line)
    first_bad = len(good) + 1  # the seq: the header is line 1
    later = set(found[len(good) :]) & set(written[len(good) :])
    claims = [json.loads(line)["durable"] for line in later]
    return Readable(good, (bool(claims) and max(claims) >= first_bad) or not good)


class Cut(BaseException):
    """The process was killed: no error handler may do anything any more."""


CHANGES = (
    "open",
    "write",
    "pwrite",
    "link",
    "unlink",
    "rename",
    "mkdir",
    "rmdir",
    "ftruncate",
    "fsync",
    "fdatasync",
)


@contextmanager
def cut_before(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[list[str]]:
    """Kill the block before its change number `number`, counted from 0; yield the names of the changes made.

    After the cut each further change is a `Cut` too, so that no clean-up happens that a kill would prevent.
    """
    made: list[str] = []

    def watch(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            reads_only = name == "open" and not args[1] & (os.O_CREAT | os.O_TRUNC)
            if reads_only:
                return real(*args, **kwargs)
            if len(made) >= number:
                raise Cut(name)
            made.append(name)
            return real(*args, **kwargs)

        context.setattr(os, name, call)

    with monkeypatch.context() as context:
        for name in CHANGES:
            watch(name)
        try:
            yield made
        except Cut:
            return


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The content of all journal files, by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("journal*"))}
