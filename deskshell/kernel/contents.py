"""What is in the objects that stand on the ground: reading it, and comparing it with what it was."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deskshell.errors import Conflict, StepFailed
from deskshell.files import names
from deskshell.files.identity import Identity, Stat, same_content, stat_fd, untouched

if TYPE_CHECKING:
    from deskshell.files import copying, tree


#: How the mark of a folder's listing begins, see `Contents.listing_mark`.
LISTING = "l:"


class Contents(ABC):
    """The part of `ground.Ground` that opens files and lists folders.

    `key` gives the key for marks of content that came from a secret. What it reads with is imported when
    something is read, which most tasks do without.
    """

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._key = key
        self._tick: Callable[[int], None] | None = None

    @contextmanager
    def ticking(self, tick: Callable[[int], None] | None) -> Iterator[None]:
        """Within the block `tick` is told of bytes every few MiB that are read or copied; it may raise to stop."""
        before, self._tick = self._tick, tick
        try:
            yield
        finally:
            self._tick = before

    @abstractmethod
    def at(self, path: bytes, *, looking: bool = False) -> tuple[int, bytes]:
        """Open folder and last name for `path`."""

    @abstractmethod
    def look(self, path: bytes) -> Stat | None:
        """What stands at `path` now."""

    @abstractmethod
    def write(self, path: bytes, chunks: Iterable[bytes], mode: int | None = 0o600) -> copying.Copied:
        """Make a new file."""

    def entries(self, path: bytes, *, hashes: bool = False, whole: bool = False) -> list[tree.Entry]:
        """What stands at `path` and below it, as `tree.walk` lists it."""
        from deskshell.files import tree

        fd, name = self.at(path)
        return list(tree.walk(fd, name, hashes=hashes, whole=whole, tick=self._tick))

    def _content(self, path: bytes, *, hashes: bool = True) -> list[tree.Entry]:
        """What a folder's mark is about: a folder's time is no content, and changes with work undone in it."""
        entries = self.entries(path, hashes=hashes)
        return [each._replace(mtime_ns=0) if each.kind == "folder" else each for each in entries]

    def mark(self, path: bytes, kind: str, *, keyed: bool = False, listing: bytes = b"") -> str:
        """The mark of what stands at `path`, by which its content is recognised later.

        Sha256 hex of a file; `k:` + keyed hash when it holds a secret; `t:` + digest of a folder's
        listing, kept at `listing` so that changes can be named; "" for anything else.
        """
        if kind == "folder":
            from deskshell.files import tree

            entries = self._content(path)
            found = "t:" + tree.digest(entries)
            if listing:
                self.write(listing, [tree.dump(entries)])
                found += "@" + listing.decode("ascii")
            return found
        if kind != "file":
            return ""
        if keyed:
            import hashlib
            import hmac

            return "k:" + hmac.new(self._key(), bytes.fromhex(self.hash(path)), hashlib.sha256).hexdigest()
        return self.hash(path)

    def listing_mark(self, path: bytes) -> str:
        """The mark of a folder by the names, sizes, modes and times in it: `l:` + digest. No file is read."""
        from deskshell.files import tree

        top, *inside = self._content(path, hashes=False)  # its own mode is an effect's business
        return LISTING + tree.digest([top._replace(mode=0), *inside])

    def hash(self, path: bytes) -> str:
        """Sha256 (hex) of the regular file at `path`."""
        from deskshell.files import copying

        fd, name = self.at(path)
        return copying.hash_file(fd, name, self._tick)

    def verify(self, path: bytes, wanted: str | None, known: Identity | None = None) -> None:
        """Raise Conflict, naming what differs, when `path` no longer has the mark `wanted`.

        A file that not even its owner may read is taken for unchanged while it is `known` by object, size and time.
        """
        if not wanted:
            return
        try:
            differing = self.differences(path, wanted)
        except PermissionError:
            found = self.look(path)
            if wanted.startswith("t:") or not found or not known or not same_content(found, known):
                raise
            return
        if differing:
            shown = ", ".join(f"`{names.show(each)}` ({how})" for each, how in differing[:5])
            more = f" and {len(differing) - 5} more" if len(differing) > 5 else ""
            raise Conflict(f"content changed since: {shown}{more}", path=differing[0][0])

    def differences(self, path: bytes, wanted: str) -> list[tuple[bytes, str]]:
        """Paths that differ from the mark `wanted`, with how; empty when nothing does."""
        found = self.look(path)
        if found is None:
            return [(path, "gone")]
        if not wanted:  # a link, a fifo: nothing to go by but its identity
            return []
        if wanted.startswith(LISTING) and found.kind == "folder":
            return [] if self.listing_mark(path) == wanted else [(path, "content")]
        if not wanted.startswith("t:"):
            if found.kind != "file":
                return [(path, f"a {found.kind} now")]
            keyed = wanted.startswith("k:")
            return [] if self.mark(path, "file", keyed=keyed) == wanted else [(path, "content")]
        if found.kind != "folder":
            return [(path, f"a {found.kind} now")]
        digest, _, listing = wanted[2:].partition("@")
        from deskshell.files import tree

        entries = self._content(path)
        if tree.digest(entries) == digest:
            return []
        old = self.read(listing.encode("ascii")) if listing else None
        if old is None:
            return [(path, "content")]
        changed = tree.differences(tree.load(old), entries)
        return [(path + b"/" + inner if inner else path, how) for inner, how in changed] or [
            (path, "content")
        ]

    def is_whole(self, path: bytes, wanted: str) -> bool:
        """True when `path` has the mark `wanted` (see `mark`)."""
        return not self.differences(path, wanted)

    def is_copy(self, path: bytes, copy: bytes, wanted: str) -> bool:
        """True when `path` has the mark `wanted` of the kept `copy`."""
        here, kept = self.look(path), self.look(copy)
        if here is None or kept is None or here.kind != kept.kind:
            return False
        if here.kind == "link":
            return self.link_text(path) == self.link_text(copy)
        return self.is_whole(path, wanted)

    def link_text(self, path: bytes) -> bytes:
        """What the link at `path` points to, as it is written."""
        fd, name = self.at(path)
        return os.readlink(name, dir_fd=fd)

    def is_empty(self, path: bytes) -> bool:
        """True for a folder without entries."""
        return not self.first_names(path, 1)

    def first_names(self, path: bytes, count: int) -> list[bytes]:
        """Up to `count` names in the folder at `path`, in no order; none when it is no folder."""
        fd, name = self.at(path)
        try:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        except NotADirectoryError:
            return []
        try:
            with os.scandir(inner) as found:
                return [os.fsencode(each.name) for each, _ in zip(found, range(count), strict=False)]
        finally:
            os.close(inner)

    def read(self, path: bytes) -> bytes | None:
        """The whole content of a file, None when there is none."""
        if self.look(path) is None:
            return None
        from deskshell.files import copying

        fd, name = self.at(path)
        return copying.read_file(fd, name)

    def open(self, path: bytes) -> tuple[int, Stat]:
        """A descriptor for reading the regular file at `path`, the caller's to close, and a first look.

        Never follows a link and never waits. Raises StepFailed for anything but a file, OSError.
        """
        from deskshell.files import reading

        fd, name = self.at(path)
        return reading.open_file(fd, name)

    def chunks(self, path: bytes) -> Iterator[bytes]:
        """The content of the regular file at `path`, a few MiB at a time (errors as `open`).

        Raises StepFailed at the end when the file changed meanwhile, and does not wait for that of one that grows.
        """
        from deskshell.files.reading import CHUNK, grows

        fd, before = self.open(path)
        try:
            done = 0
            while chunk := os.read(fd, CHUNK):
                yield chunk
                done += len(chunk)
                if self._tick is not None:
                    self._tick(len(chunk))
                if grows(fd, before.size, done):
                    break
            if not untouched(before, stat_fd(fd)):
                raise StepFailed(
                    f"`{names.show(path)}` changed while it was read",
                    hint="try again when nothing writes to it any more",
                )
        finally:
            os.close(fd)
