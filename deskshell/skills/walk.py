"""Finding the objects of a pattern in the planned tree, never through a link, deskshell's own left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deskshell.errors import NotFound, ScopeError
from deskshell.files import names
from deskshell.files.paths import is_within
from deskshell.kernel.seen import unpack
from deskshell.kernel.view import Entry, View
from deskshell.skills.glob import DEEP, Matcher, Part, Pattern
from deskshell.skills.subject import Found
from deskshell.slotted import field, slotted

if TYPE_CHECKING:
    from deskshell.kernel.context import Progress

_TOLD_EVERY = 1000
_OWN = b".deskshell-"  # temporaries and hops of a task that runs, or that a crash left to recovery


@slotted()
class Notes:
    """What was left out, for the reader of a preview: reason → the first few names, and how many."""

    _first: dict[str, list[bytes]] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, path: bytes) -> None:
        """One more object left out for `reason`."""
        self._count[reason] = self._count.get(reason, 0) + 1
        first = self._first.setdefault(reason, [])
        first.append(path)
        first.sort()  # folders are read in no order; two previews of one tree say the same
        del first[_NAMED:]

    def lines(self) -> tuple[str, ...]:
        """One line a reason: ``left out, a link: `a`, `b` and 3 more``."""
        done = []
        for reason, first in sorted(self._first.items()):
            shown = ", ".join(f"`{names.show(path)}`" for path in first)
            more = self._count[reason] - len(first)
            done.append(f"left out, {reason}: {shown}" + (f" and {more} more" if more else ""))
        return tuple(done)


_NAMED = 3


class StateFolder:
    """Recognises deskshell's own folder, by path and by identity; it need not exist."""

    def __init__(self, path: bytes) -> None:
        self.path = path
        self._below = path + b"/"
        self._from_the_top = frozenset(_and_above(path))
        try:
            found = os.stat(path)
            self._id: tuple[int, int] | None = (found.st_dev, found.st_ino)
        except OSError:
            self._id = None

    def is_at(self, path: bytes, entry: Entry) -> bool:
        """True for the folder itself, under whatever name (a bind mount, say)."""
        if path == self.path:
            return True
        if (
            self._id is None
            or entry.origin is None
            or (entry.ino != self._id[1] and not os.path.ismount(entry.origin))
        ):
            return False
        found = os.lstat(entry.origin)
        return (found.st_dev, found.st_ino) == self._id

    def is_below(self, path: bytes) -> bool:
        """True when it lies somewhere below the folder `path`."""
        return self.path != path and is_within(self.path, path)

    def is_near(self, path: bytes) -> bool:
        """True for the folder, everything in it, and the folders above it."""
        return path in self._from_the_top or path.startswith(self._below)


def _and_above(path: bytes) -> Iterator[bytes]:
    """`path` and the folders above it, but for the root folder."""
    while path:
        yield path
        path = path.rpartition(b"/")[0]


@slotted(frozen=True)
class Skip:
    """What is not wanted: names (folders with all they hold, too) and paths relative to the pattern's base."""

    name: Matcher | None = None
    path: Matcher | None = None


def find(
    view: View,
    pattern: Pattern,
    base: bytes,
    *,
    skip: Skip,
    state: StateFolder,
    notes: Notes,
    progress: Progress,
) -> Iterator[Found]:
    """Objects of every kind that `pattern` matches below `base` (its base, resolved), in no order.

    `progress` is told of every thousand objects looked at.

    Raises:
        NotFound, ScopeError: `base` is no folder, or cannot be read. A folder below it that cannot be read is noted.
    """
    automaton = _Automaton(pattern.parts)
    todo = [(base, automaton.start)]
    cut = len(base) + (0 if base.endswith(b"/") else 1)
    looked = 0
    while todo:
        folder, states = todo.pop()
        prefix = folder if folder.endswith(b"/") else folder + b"/"
        tests, deep = automaton.tests(states)
        try:
            for entry in _entries(view, prefix, pattern.parts, states):
                looked += 1
                if not looked % _TOLD_EVERY:
                    progress.advance(_TOLD_EVERY)
                name = entry.name
                if name.startswith(_OWN) or (skip.name is not None and skip.name(name)):
                    continue
                path = prefix + name
                is_folder = entry.kind == "folder"
                if skip.path is not None and skip.path(path[cut:]):
                    continue
                if is_folder and state.is_at(path, entry):
                    continue
                accepted, onward = False, deep
                for fits, is_last, then in tests:
                    if fits(name):
                        accepted = accepted or is_last
                        onward |= then
                if onward and is_folder:
                    todo.append((path, onward))
                if accepted:
                    yield Found(path, entry.kind, entry.origin, entry.node)
        except PermissionError as exc:
            if folder == base:
                raise ScopeError(
                    f"`{names.show(base)}` may not be read", hint="check its permissions"
                ) from exc
            notes.add("a folder that may not be read", folder)


class _Automaton:
    """Which components of a pattern the next name may match: sets of positions, so that each folder is read once."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self._parts = parts
        self._tests: dict[
            frozenset[int], tuple[list[tuple[Matcher, bool, frozenset[int]]], frozenset[int]]
        ] = {}
        self.start = self._closure(0)

    def tests(
        self, states: frozenset[int]
    ) -> tuple[list[tuple[Matcher, bool, frozenset[int]]], frozenset[int]]:
        """For each position: the test of a name, whether it ends the pattern, the positions after it.

        Second, the positions that stay for every folder (`**`).
        """
        known = self._tests.get(states)
        if known is None:
            tests: list[tuple[Matcher, bool, frozenset[int]]] = []
            deep: frozenset[int] = frozenset()
            for i in sorted(states):
                part = self._parts[i]
                if isinstance(part, str):  # DEEP
                    deep |= self._closure(i)
                else:
                    is_last = i == len(self._parts) - 1
                    fits = part if callable(part) else part.__eq__
                    tests.append((fits, is_last, frozenset() if is_last else self._closure(i + 1)))
            known = self._tests[states] = (tests, deep)
        return known

    def _closure(self, i: int) -> frozenset[int]:
        """`**` also matches no folder at all."""
        done = {i}
        while self._parts[i] is DEEP:
            i += 1
            done.add(i)
        return frozenset(done)


def _entries(view: View, prefix: bytes, parts: tuple[Part, ...], states: frozenset[int]) -> Iterator[Entry]:
    """The entries to test: only the one that is named where the pattern names it."""
    if len(states) == 1:
        (only,) = states
        part = parts[only]
        if isinstance(part, bytes):
            node = view.look(prefix + part)
            if node is not None:
                kind = node.kind if node.kind in ("file", "folder", "link") else "special"
                ino = unpack(node.id).ino if node.id is not None else 0
                yield Entry(part, kind, node.origin, node if node.by else None, ino)
            return
    yield from view.entries(prefix[:-1] or b"/")


def check_base(view: View, base: bytes, shown: str) -> bool:
    """Whether the folder `base` is there to be searched. Raises NotFound when it is something else."""
    if base == b"/":
        return True
    node = view.look(base)
    if node is None:
        return False
    if node.kind != "folder":
        raise NotFound(f"{shown} is a {node.kind}, not a folder")
    return True
