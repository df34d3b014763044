"""`for_each`: the items a step is repeated for, chosen when planned, in a stable order."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from deskshell.errors import NotFound, UsageError
from deskshell.files import names, paths
from deskshell.kernel.capability import FS_READ, Checker, path_need
from deskshell.kernel.view import View
from deskshell.skills import glob, select_filters, table, template, template_path, walk
from deskshell.skills.naming import FILE_SOURCES, Values
from deskshell.skills.params import Where
from deskshell.skills.subject import Found, Subject
from deskshell.skills.walk import Notes, StateFolder
from deskshell.slotted import slotted

if TYPE_CHECKING:
    from deskshell.kernel.context import Progress
    from deskshell.skills.model import ForEach

_WANTED = {"files": ("file",), "folders": ("folder",), "paths": ("file", "folder", "link", "special")}
_NOTES = {"link": "a link", "special": "no regular file"}


@slotted(frozen=True)
class World:
    """What a plan's selectors read, and what they may."""

    view: View
    checker: Checker
    where: Where
    now: datetime
    state: StateFolder
    notes: Notes
    progress: Progress


def select(spec: ForEach, values: Values, world: World, step: str) -> list[Subject]:
    """The items of one `for_each`, numbered from 1.

    `files` are regular files only: links and special files are left out with a note, for what a link
    leads to may lie anywhere, and a fifo would keep a reader waiting. `paths` are objects of all kinds.

    Raises:
        CapabilityError, ScopeError: it would read outside the declared and granted `fs.read`.
        NotFound: a folder that a parameter names does not exist.
        PlanConflict: it asks for the content of what an earlier step will make.
    """
    if spec.source in FILE_SOURCES:
        chosen = _files(spec, values, world, step)
    elif spec.rows is not None:
        chosen = [Subject(row=row) for row in table.read(_table_path(spec.rows, values, world, step))]
    else:
        fill = _filler(values, "values")
        chosen = [Subject(value=fill(each)) for each in spec.values or ()]
    limit = _limit(spec, values)
    if limit is not None:
        del chosen[limit:]
    for n, subject in enumerate(chosen, 1):
        subject.n = n
    world.view.take_seen()  # what was looked at here is looked at again by the steps that use it
    return chosen


def _files(spec: ForEach, values: Values, world: World, step: str) -> list[Subject]:
    fill = _filler(values, "for_each")
    by_name = select_filters.by_name(spec, fill)
    by_look = select_filters.by_look(spec, fill, world.now, world.view, world.notes)
    search = select_filters.match_of(spec)
    wanted = _WANTED[spec.source]
    chosen: list[Subject] = []
    for found in _find(spec, values, world, step):
        if by_name and not all(test(found) for test in by_name):
            continue
        match = None
        if search is not None:
            match = search(template.decode(found.name))
            if match is None:
                continue
        if found.kind not in wanted:
            if spec.source == "files" and found.kind in _NOTES:
                world.notes.add(_NOTES[found.kind], found.path)
            continue
        if found.kind == "folder" and world.state.is_below(found.path):
            world.notes.add("deskshell's own folder is in it", found.path)
            continue
        if by_look and not all(test(found) for test in by_look):
            continue
        chosen.append(Subject(file=found, match=match))
    ordered = _each_once(chosen)
    if spec.duplicates is not None:
        kept = {each.path for each in select_filters.duplicates(_found(ordered), world.notes)}
        ordered = [subject for subject in ordered if subject.file is not None and subject.file.path in kept]
    if spec.sort is not None:
        key = select_filters.SORTS[spec.sort.removeprefix("-")]
        ordered.sort(key=lambda subject: key(_file(subject)), reverse=spec.sort.startswith("-"))
    return ordered


def _each_once(chosen: list[Subject]) -> list[Subject]:
    """In the order of the paths; what several patterns found, once."""
    chosen.sort(key=_path)
    return chosen[:1] + [two for one, two in pairwise(chosen) if _path(one) != _path(two)]


def _find(spec: ForEach, values: Values, world: World, step: str) -> Iterable[Found]:
    skip = _skip(spec, values)
    given = getattr(spec, spec.source)
    for text in [given] if isinstance(given, str) else given:
        parsed = template.parse(text)
        what = f"`{spec.source}` of step `{step}`"
        rendered = template_path.compile_path(parsed, values, what, quote=glob.quote)(Subject())
        pattern = glob.parse(world.where.absolute(rendered))
        base = paths.resolve(pattern.base)
        world.checker.check(step, [path_need(FS_READ, _read_root(pattern, base))])
        _need_folders(parsed, values, world)
        if walk.check_base(world.view, base, f"`{names.show(base)}`"):
            world.progress.start("looking", 0)
            yield from walk.find(
                world.view,
                pattern,
                base,
                skip=skip,
                state=world.state,
                notes=world.notes,
                progress=world.progress,
            )


def _read_root(pattern: glob.Pattern, base: bytes) -> bytes:
    """What must be in scope: all below the base, or only the one object that the pattern can mean."""
    path = base
    for part in pattern.parts:
        if not isinstance(part, bytes):
            return base
        path = paths.join(path, part)
    return path


def _need_folders(parsed: template.Template, values: Values, world: World) -> None:
    """A parameter that names no folder is a mistake; a folder below it that is not there yet is just empty."""
    for name in parsed.names:
        value = values.resolve(name)
        if isinstance(value, bytes) and world.view.look(paths.resolve(value)) is None:
            raise NotFound(
                f"folder `{world.where.shorten(value)}` does not exist",
                hint=f"make it, or name another with --set {name}=…",
            )


def _skip(spec: ForEach, values: Values) -> walk.Skip:
    given = [spec.skip] if isinstance(spec.skip, str) else spec.skip
    patterns = [
        template_path.compile_path(template.parse(each), values, "`skip`", quote=glob.quote)(Subject())
        for each in given
    ]
    return walk.Skip(
        glob.any_name([each for each in patterns if b"/" not in each]),
        glob.any_path([each for each in patterns if b"/" in each]),
    )


def _table_path(text: str, values: Values, world: World, step: str) -> bytes:
    path = world.where.target(
        template_path.compile_path(template.parse(text), values, f"`rows` of step `{step}`")(Subject())
    )
    world.checker.check(step, [path_need(FS_READ, path)])
    return path


def _limit(spec: ForEach, values: Values) -> int | None:
    if spec.limit is None or isinstance(spec.limit, int):
        limit = spec.limit
    else:
        text = _filler(values, "`limit`")(spec.limit)
        if not text.isdecimal():
            raise UsageError(f"`limit` is a whole number, not `{text}`")
        limit = int(text)
    if limit is not None and limit < 0:
        raise UsageError(f"`limit` is {limit}, less than nothing")
    return limit


def _filler(values: Values, what: str) -> select_filters.Fill:
    return lambda text: template.compile_plain(template.parse(text), values, what)(Subject())


def _found(subjects: Iterable[Subject]) -> list[Found]:
    return [_file(subject) for subject in subjects]


def _path(subject: Subject) -> bytes:
    return _file(subject).path


def _file(subject: Subject) -> Found:
    assert subject.file is not None  # made by `_files`
    return subject.file
