"""What an action may use in `prepare`: looking, staging, and the effects that describe a change.

Every maker returns a tuple of effects, to be joined with `+` into `Prior.effects`. Each chooses by
itself between renaming and a verified copy, by what the file systems at hand allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from deskshell.errors import Conflict, StepFailed
from deskshell.files import names
from deskshell.files.identity import Identity, Stat, identity, same_content
from deskshell.kernel.effects import Drop, Effect, Mode, Move, Swap
from deskshell.kernel.ground import Ground
from deskshell.kernel.sequence import make_movable, take_back
from deskshell.slotted import replace

if TYPE_CHECKING:
    from deskshell.files import metadata
    from deskshell.kernel.secrets import SecretText


class Progress(Protocol):
    """Told what is being done; a front end draws it. `total` 0 means not known."""

    def start(self, what: str, total: int) -> None: ...

    def advance(self, count: int) -> None: ...

    def finish(self) -> None: ...


class Context:
    """One step's world. `key` names the step in holding: `<task>/<n>`."""

    __slots__ = (
        "_looks", "_planned", "_slots", "_temps", "_token",
        "ground", "left", "n", "not_kept", "outcome", "secrets", "stop", "task_id",
    )  # fmt: skip

    def __init__(
        self,
        ground: Ground,
        *,
        task_id: str,
        n: int,
        token: str,
        secrets: Mapping[str, str],
        stop: Callable[[], None],
    ) -> None:
        self.ground = ground
        self.task_id = task_id
        self.n = n
        self.secrets = secrets
        self.stop = stop
        self._token = token
        self._temps = 0
        self._slots = 0
        self._looks: dict[bytes, Stat | None] = {}
        self._planned: dict[bytes, tuple[bytes, Identity]] = {}  # not looked at yet: where it is, what it was
        self.left: Stat | None = None  # the object as the last effect left it
        self.not_kept: tuple[str, ...] = ()  # metadata that a copy could not keep
        self.outcome: Mapping[str, Any] = {}  # what `do` learned, for kinds beyond the file system

    # looking

    def check_seen(self, seen: Iterable[tuple[bytes, Identity | None]]) -> None:
        """Compare with what the plan was made for (I8). Raises Conflict, naming what differs.

        Of files it only takes note: they are compared when looked at, or when they are renamed, by acting.
        """
        for path, wanted in seen:
            if wanted is None or wanted.kind == "folder":
                _refuse_other(path, self.look(path), wanted)
            else:
                self._planned[path] = (path, wanted)

    def check_rest(self) -> None:
        """Compare what `check_seen` took note of, and nothing has come back to."""
        for path, (origin, _) in tuple(self._planned.items()):
            if path == origin:
                self.look(path)

    def look(self, path: bytes) -> Stat | None:
        """What stands at `path`, None when nothing; looked up once a step.

        Once an effect on `path` was made by this context: what that effect will leave there.
        Raises Conflict when it is not what the plan was made for.
        """
        looks = self._looks
        if path not in looks:
            origin, wanted = self._planned.pop(path, (path, None))
            found = self.ground.look(origin, wanted)
            if wanted is not None:
                _refuse_other(origin, found, wanted)
            looks[path] = found
        return looks[path]

    def source(self, path: bytes) -> Stat:
        """What stands at `path`; raises Conflict when nothing does."""
        found = self.look(path)
        if found is None:
            raise Conflict(f"`{names.show(path)}` does not exist", path=path, verdict="failed")
        return found

    def free(self, path: bytes) -> None:
        """Raise Conflict when `path` is taken."""
        if self.look(path) is not None:
            raise Conflict(f"`{names.show(path)}` is taken", path=path, verdict="blocked")

    def first_free(self, *paths: bytes) -> bytes:
        """The first of `paths` where nothing stands. Raises Conflict when all are taken."""
        for path in paths:
            if self.look(path) is None:
                return path
        more = f", and {len(paths) - 1} names instead of it" if len(paths) > 1 else ""
        raise Conflict(f"`{names.show(paths[0])}` is taken{more}", path=paths[0], verdict="blocked")

    def replaceable(self, path: bytes) -> Stat:
        """What stands at `path`; raises Conflict unless it is a file or a link."""
        found = self.source(path)
        if found.kind not in ("file", "link"):
            raise Conflict(
                f"`{names.show(path)}` is a {found.kind}, not a file", path=path, verdict="blocked"
            )
        return found

    def read(self, path: bytes) -> bytes:
        """The content of a regular file. Raises Conflict when there is none."""
        self.source(path)
        content = self.ground.read(path)
        return b"" if content is None else content

    # names

    def temporary(self, beside: bytes) -> bytes:
        """A fresh temporary path in the folder of `beside`; the kernel has recorded that folder (`staged_in`)."""
        folder = beside.rpartition(b"/")[0]
        if not self.ground.may_stage_in(folder):  # the scope is this one file: staged in holding
            return self.slot()
        self._temps += 1
        # Implied folders have negative numbers, which are no part of a temporary name.
        token = self._token + ("F" if self.n < 0 else "") + _letters(self._temps)
        return folder + b"/" + names.temp_name(token, abs(self.n))

    def slot(self) -> bytes:
        """A fresh name in holding."""
        self._slots += 1
        return f"held:{self.task_id}/{self._key(self._slots)}".encode("ascii")

    def kept(self, what: str = "copy") -> bytes:
        """A name among the kept copies."""
        self._slots += 1
        return f"kept:{self.task_id}/{self._key(self._slots)}.{what}".encode("ascii")

    def _key(self, count: int) -> str:
        return str(self.n) if count == 1 else f"{self.n}.{count}"

    def can_hold(self, path: bytes) -> bool:
        """True when the object at `path` can be renamed into holding."""
        return self.ground.can_hold(path)

    # making: each looks at what the effects before it will leave, so they can be joined with `+`

    def create_file(
        self, path: bytes, content: bytes | SecretText | Iterable[bytes], mode: int | None = None
    ) -> tuple[Effect, ...]:
        """A new file at `path`; mode None is 0666 less the umask, or 0600 for content with a secret."""
        self.free(path)
        temp = self.temporary(path)
        chunks, keyed = self._chunks(content)
        made = self.ground.write(temp, chunks, 0o600 if keyed and mode is None else mode)
        sha256 = self.ground.mark(temp, "file", keyed=True) if keyed else made.sha256
        return self._created(temp, path, made.stat, sha256)

    def create_folder(self, path: bytes, mode: int = 0o777) -> tuple[Effect, ...]:
        """A new empty folder at `path`."""
        self.free(path)
        temp = self.temporary(path)
        return self._created(temp, path, self.ground.make_folder(temp, mode), empty=True)

    def create_link(self, path: bytes, target: bytes) -> tuple[Effect, ...]:
        """A new symbolic link at `path`."""
        self.free(path)
        temp = self.temporary(path)
        return self._created(temp, path, self.ground.make_link(temp, target))

    def create_copy(self, src: bytes, path: bytes) -> tuple[Effect, ...]:
        """A verified copy of the object at `src` (a folder with all that is in it) at `path`."""
        found = self.source(src)
        self.free(path)
        temp = self.temporary(path)
        stat, mark = self._copy(src, found, temp, path)
        return self._created(temp, path, stat, mark)

    def create_like(self, path: bytes, content: bytes | Iterable[bytes], like: bytes) -> tuple[Effect, ...]:
        """A new file at `path` with the owner, mode, ACL and xattrs of the one now on disk at `like`."""
        found = self.ground.look(like)
        self.free(path)
        temp = self.temporary(path)
        stat, mark = self._stage(temp, like, content, found, None)
        return self._created(temp, path, stat, mark)

    def move(self, src: bytes, dst: bytes) -> tuple[Effect, ...]:
        """`src` gets the name `dst`; over file systems by a verified copy, and only then the source goes."""
        if src in self._planned and self.ground.renameable(src, dst):
            self.free(dst)
            return (self._renamed(src, dst),)
        found = self.source(src)
        self.free(dst)
        if self.ground.renameable(src, dst):
            self._looks[src], self._looks[dst] = None, found
            moved = Move(src, dst, identity(found))
            loosen = make_movable(src, found, dst)
            if not loosen:
                return (moved,)
            tighten = tuple(Mode(dst, each.id, each.after, each.before) for each in loosen)
            return (*loosen, moved, *tighten)
        self._refuse_parting(src, found)
        effects = self.create_copy(src, dst)
        self._refuse_parting(src, found, _staged_at(effects))
        mark = self._mark(src, found)
        self._looks[src] = None
        return (*effects, Drop(src, identity(found), self.temporary(src), dst, mark))

    def hold(self, path: bytes) -> tuple[Effect, ...]:
        """The object at `path` goes into holding, or away with a verified copy kept."""
        if path in self._planned and self.can_hold(path):
            return (self._renamed(path, self.slot()),)
        found = self.source(path)
        self._looks[path] = None
        if self.can_hold(path):
            slot = self.slot()
            return (*make_movable(path, found, slot), Move(path, slot, identity(found)))
        self._refuse_parting(path, found)
        copy = self.kept()
        made = self.ground.copy(path, copy)
        if made.not_kept:
            raise StepFailed(
                f"a copy of `{names.show(path)}` would lose {', '.join(made.not_kept)}, "
                "and it cannot be held by rename on this file system",
                hint="put the state folder on the same file system (DESKSHELL_HOME)",
            )
        self._refuse_parting(path, found, copy)
        return (Drop(path, identity(found), self.temporary(path), copy, self._mark(copy, found)),)

    def replace_file(
        self, path: bytes, content: bytes | SecretText | Iterable[bytes], mode: int | None = None
    ) -> tuple[Effect, ...]:
        """Another file at `path`, with the owner, mode, ACL and xattrs of the one that is there.

        What was there is held (or kept), and put back by undo as the very object it was.
        """
        found = self.replaceable(path)
        if self.can_hold(path):
            slot = self.slot()
            stat, mark = self._stage(slot, path, content, found, mode)
            return self._swapped(slot, path, stat, found, mark)
        held = self.hold(path)
        temp = self.temporary(path)
        stat, mark = self._stage(temp, path, content, found, mode)
        return held + self._created(temp, path, stat, mark)

    def replace_copy(self, src: bytes, path: bytes) -> tuple[Effect, ...]:
        """A verified copy of the object at `src` takes the place of what is at `path`, which is held."""
        source, found = self.source(src), self.replaceable(path)
        if not self.can_hold(path):
            return self.hold(path) + self.create_copy(src, path)
        slot = self.slot()
        stat, mark = self._copy(src, source, slot, path)
        return self._swapped(slot, path, stat, found, mark)

    def set_mode(self, path: bytes, mode: int) -> tuple[Effect, ...]:
        """Permission bits of the object at `path` (not of a link)."""
        found = self.source(path)
        if found.kind == "link":
            raise Conflict(
                f"`{names.show(path)}` is a link; its mode cannot be set", path=path, verdict="failed"
            )
        if found.kind != "folder" and found.nlink > 1:
            raise Conflict(
                f"`{names.show(path)}` has {found.nlink} names; another may lie outside the scope",
                path=path,
                verdict="blocked",
            )
        return (Mode(path, identity(found), found.mode, mode),)

    # acting, for kinds that inherit `do` and `undo`

    def act(self, effects: Iterable[Effect]) -> None:
        """Act them out in order; the object as the last one left it is remembered in `left`."""
        for effect in effects:
            self.left = effect.act(self.ground)

    def take_back(self, effects: Iterable[Effect]) -> bool:
        """Take back what is on disk of them, last first; True if there was anything.

        Goes on past one that cannot be taken back, and raises its Conflict at the end.
        """
        return take_back(tuple(effects), self.ground)

    # helpers

    def _renamed(self, src: bytes, dst: bytes) -> Move:
        """A rename of a file by what the plan knows of it: acting compares that, so there is no look in between."""
        origin, known = self._planned.pop(src)
        self._looks[src] = None
        self._looks.pop(dst, None)
        self._planned[dst] = (origin, known)
        return Move(src, dst, known)

    def _created(
        self, temp: bytes, path: bytes, stat: Stat, mark: str | None = None, *, empty: bool = False
    ) -> tuple[Effect, ...]:
        self._looks[path] = stat
        return (Move(temp, path, identity(stat), True, mark, empty),)

    def _swapped(
        self, slot: bytes, path: bytes, stat: Stat, found: Stat, mark: str | None
    ) -> tuple[Effect, ...]:
        self._looks[path] = stat
        return (Swap(slot, path, identity(stat), identity(found), mark),)

    def _copy(self, src: bytes, found: Stat, at: bytes, path: bytes) -> tuple[Stat, str | None]:
        """Stage a copy of `src`, which will be at `path`, as `at`."""
        made = self.ground.copy(src, at)
        self.note_lost(path, made.not_kept)
        mark = made.sha256 if found.kind == "file" else None
        if found.kind == "folder":
            mark = self.ground.mark(at, "folder", listing=self.kept("tree"))
        return self._staged(at), mark

    def _stage(
        self,
        at: bytes,
        path: bytes,
        content: bytes | SecretText | Iterable[bytes],
        like: Stat | None,
        mode: int | None,
    ) -> tuple[Stat, str]:
        """Stage a file, which will be at `path`, as `at`, with the metadata of the file at `path` now."""
        from deskshell.files import metadata

        chunks, keyed = self._chunks(content)
        is_file = like is not None and like.kind == "file"
        by_default = mode is None and not is_file and not keyed
        made = self.ground.write(at, chunks, None if by_default else 0o600)
        fd, name = self.ground.at(at)
        if is_file:
            old_fd, old_name = self.ground.at(path)
            kept = _of_data(metadata.read_metadata_at(old_fd, old_name))
            self.note_lost(path, tuple(metadata.apply_metadata(fd, name, kept, times=False)))
        if mode is not None:
            metadata.set_mode_at(fd, name, mode)
        mark = self.ground.mark(at, "file", keyed=True) if keyed else made.sha256
        return self._staged(at), mark

    def _staged(self, at: bytes) -> Stat:
        stat = self.ground.look(at)
        if stat is None:
            raise Conflict(f"`{names.show(at)}` vanished right after it was made", path=at)
        return stat

    def _mark(self, path: bytes, found: Stat) -> str:
        listing = self.kept("tree") if found.kind == "folder" else b""
        return self.ground.mark(path, found.kind, listing=listing)

    def _chunks(self, content: bytes | SecretText | Iterable[bytes]) -> tuple[Iterable[bytes], bool]:
        if isinstance(content, bytes):
            return (content,), False
        from deskshell.kernel.secrets import SecretText

        if isinstance(content, SecretText):
            return (content.reveal(self.secrets).encode("utf-8"),), content.has_secret
        return content, False

    def _refuse_parting(self, path: bytes, found: Stat, copy: bytes | None = None) -> None:
        """Refuse to part the names of one file: for a file before it is copied, for a folder once `copy` is."""
        parted = found.kind != "folder" and found.nlink > 1
        if found.kind == "folder" and copy is not None:
            from deskshell.files import tree

            changes = tree.differences(self.ground.entries(path), self.ground.entries(copy))
            parted = any(word == "links" for _, word in changes)
        if parted:
            raise Conflict(
                f"`{names.show(path)}` has files with other names elsewhere (hard links), which a copy "
                "to another file system would part",
                path=path,
                verdict="blocked",
                hint="copy it instead, or stay within its file system (DESKSHELL_HOME says where undo data is)",
            )

    def note_lost(self, path: bytes, lost: tuple[str, ...]) -> None:
        """What a copy at `path` could not be given of its original is said in the report."""
        self.not_kept += tuple(f"{names.show(path)}: {each}" for each in lost)


def _refuse_other(path: bytes, here: Stat | None, wanted: Identity | None) -> None:
    """Raise Conflict unless `here`, at `path`, is what was `wanted` when the plan was made."""
    if wanted is None:
        if here is not None:
            raise Conflict(f"`{names.show(path)}` exists now; it did not when planned", path=path)
    elif here is None:
        raise Conflict(f"`{names.show(path)}` is gone since it was planned", path=path)
    elif not same_content(here, wanted):
        raise Conflict(f"`{names.show(path)}` changed since it was planned", path=path)


def _staged_at(effects: tuple[Effect, ...]) -> bytes:
    (made,) = effects
    assert isinstance(made, Move)
    return made.src


def _of_data(kept: metadata.Metadata) -> metadata.Metadata:
    """Metadata for other content: what lets a program run with somebody else's rights is not passed on."""
    xattrs = {name: value for name, value in kept.xattrs.items() if name != b"security.capability"}
    return replace(kept, mode=kept.mode & ~0o6000, xattrs=xattrs)


def _letters(count: int) -> str:
    return chr(ord("a") + count - 1) if count <= 26 else f"z{count}"
