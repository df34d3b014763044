"""What one action of a step is about: a file, a row of a table or a value, with its number."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeAlias

from deskshell.errors import PlanConflict
from deskshell.files import names, reading
from deskshell.kernel.view import Node
from deskshell.skills import media
from deskshell.skills.units import Duration
from deskshell.slotted import slotted

AT_CWD = -100  # AT_FDCWD: absolute paths, no folder to start from


@slotted(frozen=True)
class Secret:
    """Stands for the value of the secret parameter `name`."""

    name: str


Value: TypeAlias = str | bytes | int | datetime | Duration | Secret


class Found:
    """An object that a selector found; facts are read when first asked for.

    `path` is where it stands in the planned tree, `origin` where its bytes can be read now (None: a
    step will make it), `node` what the plan knows of it (None: it stands on disk as it is).
    """

    # There may be a hundred thousand of them: no more is kept than is needed.
    __slots__ = ("_size", "_taken", "_time", "kind", "node", "origin", "path")

    def __init__(self, path: bytes, kind: str, origin: bytes | None, node: Node | None) -> None:
        self.path = path
        self.kind = kind
        self.origin = path if origin == path else origin
        self.node = node
        self._size = -1
        self._time = 0
        self._taken: datetime | bool | None = False

    @property
    def name(self) -> bytes:
        """The last part of the path."""
        return self.path[self.path.rfind(b"/") + 1 :]

    def show(self) -> str:
        """The path for messages, in backticks."""
        return f"`{names.show(self.path)}`"

    @property
    def size(self) -> int:
        """Bytes; known for most of what a step will make, too. Raises PlanConflict when it is not."""
        if self.node is not None and self.node.origin is None and self.node.size is not None:
            return self.node.size
        if self._size < 0:
            self._look()
        return self._size

    @property
    def mtime_ns(self) -> int:
        """When its content last changed."""
        if self._size < 0:
            self._look()
        return self._time

    def _look(self) -> None:
        """Raises PlanConflict when it is not there (any more)."""
        try:
            # A third of the cost of a full look, and nothing here is recorded.
            found = os.lstat(self.readable("size or time"))
        except FileNotFoundError as exc:
            raise PlanConflict(
                f"{self.show()} vanished while planning", hint="run the command again"
            ) from exc
        self._size, self._time = found.st_size, found.st_mtime_ns

    @property
    def taken(self) -> datetime | None:
        """The EXIF date in local time, None when there is none. Raises OSError when it cannot be read."""
        if isinstance(self._taken, bool):
            self._taken = media.date_taken(self.readable("date taken")) if self.kind == "file" else None
        return self._taken

    def sha256(self) -> str:
        """Of the content. Raises OSError, StepFailed when it cannot be read."""
        return reading.hash_file(AT_CWD, self.readable("content"))

    def readable(self, what: str) -> bytes:
        """Where its bytes are now. Raises PlanConflict when a step has to make them first."""
        if self.origin is None:
            by = f"step `{self.node.by}`" if self.node is not None and self.node.by else "an earlier step"
            raise PlanConflict(
                f"the {what} of {self.show()} is not known yet: {by} will make it",
                hint="select on its name instead, or do it in a second skill",
            )
        return self.origin


@slotted()
class Subject:
    """What the templates of one action can read. `n` counts from 1 within its step."""

    n: int = 1
    file: Found | None = None
    match: re.Match[str] | None = None
    row: Mapping[str, str] | None = None
    value: str | None = None

    def show(self) -> str:
        """How a message names it."""
        if self.file is not None:
            return self.file.show()
        if self.row is not None:
            return f"row {self.n}"
        return f"`{self.value}`" if self.value is not None else "the step"


def local_time(ns: int) -> datetime:
    """Nanoseconds since 1970 as local time, with the offset that holds on that very date (F38)."""
    return datetime.fromtimestamp(ns // 1_000_000_000).astimezone()


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


FILE_FIELDS: Mapping[str, Callable[[Found], Value | None]] = {
    "name": lambda file: _text(file.name),
    "stem": lambda file: _text(media.stem_and_ext(file.name)[0]),
    "ext": lambda file: _text(media.stem_and_ext(file.name)[1]) or None,  # none is missing, not empty (F40)
    "path": lambda file: file.path,
    "folder": lambda file: file.path.rpartition(b"/")[0] or b"/",
    "category": lambda file: media.category(file.name),
    "size": lambda file: file.size,
    "mtime": lambda file: local_time(file.mtime_ns),
    "taken": lambda file: file.taken,
    "sha256": lambda file: file.sha256(),
}
