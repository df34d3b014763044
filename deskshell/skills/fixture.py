"""`fixture.toml`: a sample world for a skill's own test, built, looked at, and compared.

    [params]                      values for the run; "{root}" is the folder that the world is built in
    [[files]]                     path, and one of: text · base64 · size (sparse = true: a hole) · taken · same_as
    [[folders]] [[links]] [[fifos]]   path, and for a link its target (or hard = "another file")

Every entry may have `mode` ("0644") and `mtime` ("2h ago", "2024-05-06 07:08:09" in local time); without one
it is a day old. `taken` makes a picture of the ending's format with that EXIF date ("none": without one).
`path_base64` is for names that are not UTF-8. `skip = "reason"` at the top says why a skill cannot be tried.
"""

from __future__ import annotations

import base64
import binascii
import os
import time
import tomllib
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskshell.errors import DeskshellError, ManifestError
from deskshell.files import metadata, names, reading, tree
from deskshell.skills import library, pictures
from deskshell.skills.suggest import unknown
from deskshell.skills.units import parse_duration
from deskshell.slotted import slotted

if TYPE_CHECKING:
    from deskshell.skills.library import Skill

_DAY_NS = 86_400 * 1_000_000_000
# No file of the real world is a whole second old: an undo that rounds times would go unnoticed.
_FRACTION_NS = 123_456_789

_COMMON = ("path", "path_base64", "mode", "mtime")
_KEYS = {
    "files": (*_COMMON, "text", "base64", "size", "sparse", "taken", "same_as"),
    "folders": _COMMON,
    "links": (*_COMMON, "target", "hard"),
    "fifos": _COMMON,
}


@slotted(frozen=True)
class Entry:
    """One object of a world: its table (`files`, …), relative path, and the keys as read."""

    table: str
    path: bytes
    keys: Mapping[str, Any]


@slotted(frozen=True)
class World:
    """A fixture as read. `skip_reason` says why its skill cannot be tried here, "" when it can."""

    source: str
    params: Mapping[str, Any]
    entries: tuple[Entry, ...]
    skip_reason: str = ""


@slotted(frozen=True)
class Snapshot:
    """A folder as a value: `files.tree` entries with hashes, and the extended attributes of each path."""

    entries: tuple[tree.Entry, ...]
    xattrs: Mapping[bytes, Mapping[bytes, bytes]]


def load(skill: Skill) -> World:
    """Read the fixture of a skill; without one, the world is empty and has a reason to skip.

    Raises:
        ManifestError: it is no TOML, or says something unknown.
    """
    path = os.fsencode(skill.folder / library.FIXTURE)
    shown = f"`{names.show(path)}`"
    try:
        data = tomllib.loads(reading.read_file(-100, path, 1 << 20).decode("utf-8"))
    except FileNotFoundError:
        return World(shown, {}, (), f"has no {library.FIXTURE}")
    except (ValueError, OSError, DeskshellError) as exc:
        raise ManifestError(f"{shown}: {' '.join(str(exc).split())}") from exc
    for key in data:
        if key not in ("params", "skip", *_KEYS):
            raise ManifestError(f"{shown}: {unknown('key', key, ('params', 'skip', *_KEYS))}")
    entries = [
        _entry(table, keys, f"{shown}: [[{table}]] {n}")
        for table in ("folders", "files", "links", "fifos")
        for n, keys in enumerate(data.get(table, ()), 1)
    ]
    return World(shown, data.get("params", {}), tuple(entries), data.get("skip") or _why_not(skill))


def _why_not(skill: Skill) -> str:
    """A step that cannot be undone is never run by a test."""
    for step in skill.manifest.steps:
        kind = skill.kinds[step.action]
        if step.irreversible or step.undo != "derived" or kind.reversibility != "exact":
            return "irreversible"
    return ""


def _entry(table: str, keys: Any, where: str) -> Entry:
    if not isinstance(keys, Mapping):
        raise ManifestError(f"{where}: is a table")
    for key in keys:
        if key not in _KEYS[table]:
            raise ManifestError(f"{where}: {unknown('key', key, _KEYS[table])}")
    try:
        path = (
            base64.b64decode(keys["path_base64"], validate=True)
            if "path_base64" in keys
            else keys["path"].encode()
        )
    except (KeyError, AttributeError, TypeError, binascii.Error) as exc:
        raise ManifestError(f"{where}: needs `path` (or `path_base64`)") from exc
    if not path or any(part in (b"", b".", b"..") for part in path.split(b"/")):
        raise ManifestError(f"{where}: `path` is relative to the world's folder, and stays in it")
    return Entry(table, path, keys)


def build_world(world: World, root: Path, *, now_ns: int | None = None) -> dict[str, Any]:
    """Make the world in the empty folder `root`; returns the values of parameters for the run.

    Raises:
        ManifestError: an entry cannot be made, with the reason.
    """
    now = time.time_ns() if now_ns is None else now_ns
    top = os.fsencode(root)
    folders: dict[bytes, int] = {}
    for entry in world.entries:
        try:
            _make(entry, top, folders, now)
        except (OSError, ValueError, KeyError, TypeError, DeskshellError) as exc:
            raise ManifestError(f"{world.source}: `{names.show(entry.path)}`: {exc}") from exc
    # Last, deepest first: a closed folder takes nothing more in, and making anything inside sets its time.
    for entry in sorted(world.entries, key=lambda each: -each.path.count(b"/")):
        if entry.table == "folders" and "mode" in entry.keys:
            os.chmod(top + b"/" + entry.path, int(entry.keys["mode"], 8))
    for path in sorted(folders, key=lambda each: -each.count(b"/")):
        os.utime(path, ns=(folders[path], folders[path]))
    return {
        name: value.replace("{root}", os.fspath(root)) if isinstance(value, str) else value
        for name, value in world.params.items()
    }


def _make(entry: Entry, top: bytes, folders: dict[bytes, int], now_ns: int) -> None:
    path = top + b"/" + entry.path
    parent = os.path.dirname(path)
    os.makedirs(parent, exist_ok=True)
    while len(parent) >= len(top):
        folders.setdefault(parent, now_ns - _DAY_NS - _FRACTION_NS)
        parent = os.path.dirname(parent)
    keys = entry.keys
    match entry.table:
        case "folders":
            os.makedirs(path, exist_ok=True)
            folders[path] = _time(keys.get("mtime"), now_ns)
        case "files":
            with open(path, "xb") as file:
                if keys.get("sparse"):
                    file.truncate(keys["size"])
                else:
                    file.write(_content(entry, top))
        case "links" if "hard" in keys:
            os.link(top + b"/" + keys["hard"].encode(), path)
            return
        case "links":
            os.symlink(keys["target"].encode(), path)
        case "fifos":
            os.mkfifo(path)
    if "mode" in keys and entry.table != "folders":
        os.chmod(path, int(keys["mode"], 8))
    if path not in folders:
        when = _time(keys.get("mtime"), now_ns)
        os.utime(path, ns=(when, when), follow_symlinks=False)


def _content(entry: Entry, top: bytes) -> bytes:
    keys = entry.keys
    given = [key for key in ("text", "base64", "size", "taken", "same_as") if key in keys]
    if len(given) != 1:
        raise ValueError("needs one of text, base64, size, taken and same_as")
    match given[0]:
        case "text":
            return str(keys["text"]).encode("utf-8")
        case "base64":
            return base64.b64decode(keys["base64"], validate=True)
        case "size":
            line, size = entry.path + b"\n", int(keys["size"])
            return (line * (size // len(line) + 1))[:size]
        case "same_as":
            with open(top + b"/" + keys["same_as"].encode(), "rb") as file:
                return file.read()
    taken = None if keys["taken"] == "none" else datetime.strptime(keys["taken"], "%Y-%m-%d %H:%M:%S")
    ending = os.path.splitext(entry.path)[1][1:].decode()
    # A comment of its own keeps two pictures of one moment apart; readers of EXIF stop before it.
    return pictures.picture(ending, taken) + b"\0" + entry.path


def _time(text: str | None, now_ns: int) -> int:
    if text is None:
        return now_ns - _DAY_NS - _FRACTION_NS
    if text.endswith(" ago"):
        return now_ns - parse_duration(text.removesuffix(" ago")).ns - _FRACTION_NS
    return int(datetime.strptime(text, "%Y-%m-%d %H:%M:%S").timestamp()) * 1_000_000_000 + _FRACTION_NS


def snapshot(root: Path) -> Snapshot:
    """Everything below `root` and itself: kinds, modes, owners, times, links, content and attributes."""
    parent = os.open(root.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        entries = tuple(tree.walk(parent, os.fsencode(root.name), hashes=True))
    finally:
        os.close(parent)
    top = os.fsencode(root)
    xattrs = {}
    for entry in entries:
        folder, _, name = (top + b"/" + entry.path if entry.path else top).rpartition(b"/")
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            xattrs[entry.path] = metadata.read_metadata_at(fd, name).xattrs
        finally:
            os.close(fd)
    return Snapshot(entries, xattrs)


def compare(before: Snapshot, after: Snapshot) -> list[str]:
    """What differs, a line a path and property; empty when the two are equal byte for byte."""
    lines = [
        f"`{names.show(path or b'.')}`: {word}"
        for path, word in tree.differences(before.entries, after.entries)
    ]
    return lines + list(_changed_attributes(before.xattrs, after.xattrs))


def _changed_attributes(
    before: Mapping[bytes, Mapping[bytes, bytes]], after: Mapping[bytes, Mapping[bytes, bytes]]
) -> Iterable[str]:
    for path, kept in before.items():
        if path in after and after[path] != kept:
            yield f"`{names.show(path or b'.')}`: extended attributes"
