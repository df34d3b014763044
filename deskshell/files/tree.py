"""A folder as a value: its listing, whose digests and differences tell whether anything inside changed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from deskshell.errors import Conflict, StepFailed
from deskshell.files.identity import KINDS, Stat, stat_at
from deskshell.files.names import show
from deskshell.files.opening import Descent
from deskshell.files.reading import hash_file
from deskshell.slotted import NamedTuple

Tick = Callable[[int], None]


class Entry(NamedTuple):
    """One object of a listing.

    `path` is relative to the listed object, which is itself `b""`. `mode` holds the bits of 0o7777, `target` a
    link's text; `sha256` is that of a file's content, or "" when it was not hashed.
    """

    path: bytes
    kind: str
    mode: int
    uid: int
    gid: int
    size: int
    mtime_ns: int
    nlink: int
    target: bytes
    sha256: str


def entry_of(path: bytes, found: Stat, *, target: bytes = b"", sha256: str = "") -> Entry:
    """The entry of an object that was just looked at."""
    return Entry(
        path,
        found.kind,
        found.mode,
        found.uid,
        found.gid,
        found.size,
        found.mtime_ns,
        found.nlink,
        target,
        sha256,
    )


def walk(
    dir_fd: int, name: bytes, *, hashes: bool = False, whole: bool = False, tick: Tick | None = None
) -> Iterator[Entry]:
    """List `name` in the folder `dir_fd` and everything below it.

    Links are listed and never followed; a folder on another mount is listed and not entered. Goes by
    descriptors and keeps one open, so neither depth nor the length of paths is limited. Close the iterator
    (or exhaust it) before closing `dir_fd`.

    Args:
        dir_fd: the open folder that the object lies in.
        name: its name; it may be of any kind.
        hashes: whether to read every file for its sha256.
        whole: whether to refuse a mount point, of which nothing would be listed but its name.
        tick: called with the number of bytes read every few MiB, and with 0 for each entry; may raise.

    Returns:
        Entries, a folder before its content, siblings in byte order. Nothing when there is no such object.

    Raises:
        OSError: a folder or file cannot be read.
        Conflict: a folder was moved, or an object replaced, while it was listed.
        StepFailed: there is a mount point, and `whole` was asked for.
    """
    found = stat_at(dir_fd, name)
    if found is None:
        return
    yield _finish(dir_fd, name, entry_of(b"", found), hashes, tick)
    if found.kind != "folder":
        return
    at = Descent(dir_fd, name)
    try:
        # One level: the folder's relative path with a slash, and its names yet to come, last first.
        levels = [(b"", _names(at.fd))]
        while levels:
            prefix, names = levels[-1]
            if not names:
                levels.pop()
                if levels:
                    at.leave()
                continue
            child = names.pop()
            below = stat_at(at.fd, child)
            if below is None:
                continue  # removed since the folder was read: as if it had been before
            path = prefix + child
            yield _finish(at.fd, child, entry_of(path, below), hashes, tick)
            if below.kind == "folder" and below.mnt != found.mnt and whole:
                raise StepFailed(f"`{show(path)}` is a mount point, which is not entered")
            if below.kind == "folder" and below.mnt == found.mnt:
                enter(at, child)
                levels.append((path + b"/", _names(at.fd)))
    finally:
        at.close()


def enter(at: Descent, name: bytes) -> None:
    """Go down into a folder that was there an instant ago.

    Raises:
        Conflict: it is gone or something else by now.
    """
    try:
        at.enter(name)
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise Conflict(f"`{show(name)}` was replaced while its folder was read") from exc


def _names(fd: int) -> list[bytes]:
    return sorted(map(os.fsencode, os.listdir(fd)), reverse=True)


def _finish(dir_fd: int, name: bytes, entry: Entry, hashes: bool, tick: Tick | None) -> Entry:
    """Add what a look alone does not give."""
    if tick is not None:
        tick(0)
    if entry.kind == "link":
        return entry._replace(target=os.readlink(name, dir_fd=dir_fd))
    if entry.kind == "file" and hashes:
        return entry._replace(sha256=hash_file(dir_fd, name, tick))
    return entry


# --- values -----------------------------------------------------------------------------------------------------


def _key(entry: Entry) -> list[bytes]:
    return entry.path.split(b"/")


def _order(entries: Iterable[Entry]) -> list[Entry]:
    """Sorted as `walk` gives them: the root, then component by component."""
    return sorted(entries, key=lambda entry: [b"", *_key(entry)] if entry.path else [])


def digest(entries: Iterable[Entry]) -> str:
    """sha256 over the listing in a canonical form, whatever the order of `entries`.

    Covers all fields but two that a faithful copy cannot keep: a folder's size, and the number of links, which
    counts names outside of the listing too.
    """
    total = hashlib.sha256()
    for entry in _order(entries):
        total.update(_line(_canonical(entry)))
    return total.hexdigest()


def _canonical(entry: Entry) -> Entry:
    return entry._replace(size=0 if entry.kind == "folder" else entry.size, nlink=0)


def differences(old: Iterable[Entry], new: Iterable[Entry]) -> list[tuple[bytes, str]]:
    """What changed between two listings, as (path, word), in the order of the paths.

    Words: `added`, `removed`, `kind`; `content` (by hash where both have one, else by size), `target`, `mode`,
    `owner`, `mtime`, `links`, of which one path may have several. Sizes and link counts of folders do not count.
    """
    before = {entry.path: entry for entry in old}
    after = {entry.path: entry for entry in new}
    found: list[tuple[bytes, str]] = []
    for entry in _order((before | after).values()):
        a, b = before.get(entry.path), after.get(entry.path)
        if a is None:
            found.append((entry.path, "added"))
        elif b is None:
            found.append((entry.path, "removed"))
        else:
            found.extend((entry.path, word) for word in _changes(a, b))
    return found


def _changes(a: Entry, b: Entry) -> Iterator[str]:
    if a.kind != b.kind:
        yield "kind"
        return
    if a.kind != "folder":
        hashed = bool(a.sha256 and b.sha256)
        if a.kind != "link" and (a.sha256 != b.sha256 if hashed else a.size != b.size):
            yield "content"
        if a.target != b.target:
            yield "target"
    if a.mode != b.mode:
        yield "mode"
    if (a.uid, a.gid) != (b.uid, b.gid):
        yield "owner"
    if a.mtime_ns != b.mtime_ns:
        yield "mtime"
    if a.kind != "folder" and a.nlink != b.nlink:
        yield "links"


# --- storing ----------------------------------------------------------------------------------------------------


def dump(entries: Iterable[Entry]) -> bytes:
    """A listing as JSON lines: one array an entry, its fields in order; see `load`."""
    return b"".join(_line(entry) for entry in entries)


def _line(entry: Entry) -> bytes:
    fields = [_text(entry.path), *entry[1:8], _text(entry.target), entry.sha256]
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"


def _text(value: bytes) -> str | list[str]:
    """UTF-8 as it is; other bytes as a list of their base64, which no text can be mistaken for."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return [base64.b64encode(value).decode("ascii")]


def load(data: bytes) -> list[Entry]:
    """The inverse of `dump`.

    Raises:
        ValueError: a line is not an entry.
    """
    return [_parse(line) for line in data.split(b"\n") if line]


def _parse(line: bytes) -> Entry:
    fields = json.loads(line)
    if not isinstance(fields, list) or len(fields) != len(Entry._fields):
        raise ValueError(f"not an entry of a listing: {line[:200]!r}")
    path, kind, mode, uid, gid, size, mtime_ns, nlink, target, sha256 = fields
    numbers = (mode, uid, gid, size, mtime_ns, nlink)
    if any(type(number) is not int for number in numbers) or kind not in KINDS or type(sha256) is not str:
        raise ValueError(f"not an entry of a listing: {line[:200]!r}")
    return Entry(_bytes(path), kind, *numbers, _bytes(target), sha256)


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return base64.b64decode(value[0], validate=True)
    raise ValueError(f"not a name: {value!r}")
