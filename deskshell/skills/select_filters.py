"""Filters of `for_each`, cheapest first: names, then one look, then content."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from deskshell.errors import ManifestError, StepFailed
from deskshell.files import reading
from deskshell.kernel.view import View
from deskshell.skills import media
from deskshell.skills.subject import AT_CWD, Found
from deskshell.skills.suggest import unknown
from deskshell.skills.template import encode
from deskshell.skills.units import parse_duration, parse_size
from deskshell.skills.walk import Notes

if TYPE_CHECKING:
    from deskshell.skills.model import ForEach

Test: TypeAlias = Callable[[Found], bool]
Fill: TypeAlias = Callable[[str], str]

_HEAD_BYTES = 64 << 10


def by_name(spec: ForEach, fill: Fill) -> list[Test]:
    """Tests that need no look at the object: `ext` and `category`. `fill` fills in parameters."""
    tests: list[Test] = []
    if spec.ext:
        endings = frozenset(encode(fill(each)).lower().removeprefix(b".") for each in _list(spec.ext))
        tests.append(lambda found: media.extension(found.name) in endings)
    if spec.category:
        wanted = frozenset(fill(each) for each in _list(spec.category))
        for each in wanted:
            if each not in media.CATEGORIES:
                raise ManifestError(
                    unknown("category", each, media.CATEGORIES), hint=", ".join(media.CATEGORIES)
                )
        tests.append(lambda found: media.category(found.name) in wanted)
    return tests


def by_look(spec: ForEach, fill: Fill, now: datetime, view: View, notes: Notes) -> list[Test]:
    """Tests that look at the object once: size, age, emptiness; then the date taken, which is read from it."""
    tests: list[Test] = []
    if spec.unless_beside:
        endings = [encode(fill(each)) for each in _list(spec.unless_beside)]
        tests.append(_alone(endings, view, notes))
    if spec.larger_than is not None:
        floor = parse_size(fill(spec.larger_than))
        tests.append(lambda found: found.kind == "file" and found.size > floor)
    if spec.smaller_than is not None:
        ceiling = parse_size(fill(spec.smaller_than))
        tests.append(lambda found: found.kind == "file" and found.size < ceiling)
    if spec.older_than is not None:
        tests.append(_older(fill(spec.older_than), now, notes))
    if spec.newer_than is not None:
        since = _ns(now) - parse_duration(fill(spec.newer_than)).ns
        tests.append(lambda found: found.mtime_ns > since)
    if spec.empty is not None:
        wanted = spec.empty
        tests.append(lambda found: _is_empty(found, view) is wanted)
    if spec.taken is not None:
        tests.append(_taken(spec.taken, notes))
    return tests


def _alone(endings: list[bytes], view: View, notes: Notes) -> Test:
    beside: dict[bytes, set[bytes]] = {}  # folder → names: read once, not asked for each file

    def test(found: Found) -> bool:
        folder, _, name = found.path.rpartition(b"/")
        names = beside.get(folder)
        if names is None:
            names = beside[folder] = {entry.name for entry in view.entries(folder)}
        if not any(name + ending in names for ending in endings):
            return True
        notes.add("a part of it is still beside it", found.path)
        return False

    return test


def _older(text: str, now: datetime, notes: Notes) -> Test:
    duration = parse_duration(text)
    before = _ns(now) - duration.ns

    def test(found: Found) -> bool:
        if found.mtime_ns <= before:
            return True
        notes.add(f"changed within the last {duration.text}", found.path)
        return False

    return test


def _taken(wanted: bool, notes: Notes) -> Test:
    def test(found: Found) -> bool:
        if found.kind != "file":
            return not wanted
        try:
            return (found.taken is not None) is wanted
        except (OSError, StepFailed):
            notes.add("cannot be read", found.path)
            return False

    return test


def _is_empty(found: Found, view: View) -> bool:
    if found.kind == "folder":
        return next(iter(view.entries(found.path)), None) is None
    return found.kind == "file" and found.size == 0


def _ns(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1000


def match_of(spec: ForEach) -> Callable[[str], re.Match[str] | None] | None:
    """The search of `name` in a file's name, None when there is no such filter."""
    return None if spec.name is None else re.compile(spec.name).search


def duplicates(found: Sequence[Found], notes: Notes) -> list[Found]:
    """All but the oldest of each set of files with one content; empty files are nobody's duplicates.

    Only files of equal size are read: the first 64 KiB by xxh3, which is quick and tells most apart, and those
    still equal whole by sha256, since a false match would cost somebody a file. Equal ages: the first path stays.
    """
    doubled: list[Found] = []
    for same_size in _groups(found, lambda each: each.size if each.kind == "file" else 0):
        if same_size[0].kind != "file" or same_size[0].size == 0:
            continue
        for same_head in _groups(same_size, lambda each: _read(each, _head, notes)):
            for same in _groups(same_head, lambda each: _read(each, Found.sha256, notes)):
                same.sort(key=lambda each: (each.mtime_ns, each.path))
                doubled += same[1:]
    chosen = {each.path for each in doubled}
    return [each for each in found if each.path in chosen]


def _groups(found: Iterable[Found], key: Callable[[Found], int | str | None]) -> list[list[Found]]:
    """Those that share a key with another; None is no key."""
    sets: dict[int | str, list[Found]] = {}
    for each in found:
        value = key(each)
        if value is not None:
            sets.setdefault(value, []).append(each)
    return [each for each in sets.values() if len(each) > 1]


def _read(found: Found, how: Callable[[Found], str], notes: Notes) -> str | None:
    try:
        return how(found)
    except (OSError, StepFailed):
        notes.add("cannot be read", found.path)
        return None


def _head(found: Found) -> str:
    import xxhash

    fd, _ = reading.open_file(AT_CWD, found.readable("content"))
    with os.fdopen(fd, "rb", buffering=0) as file:
        return xxhash.xxh3_128_hexdigest(file.read(_HEAD_BYTES))


SORTS: dict[str, Callable[[Found], tuple[object, ...]]] = {
    "path": lambda found: (found.path,),
    "name": lambda found: (found.name,),
    "size": lambda found: (found.size,),
    "mtime": lambda found: (found.mtime_ns,),
    # Those without a date come last, as those of which least is known.
    "taken": lambda found: (found.taken is None, found.taken.isoformat() if found.taken else ""),
}


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
