"""Turning the effects of a finished step into those that take it back, with every refusal explained.

The same code answers `undo --check` (looking through a `Sight` that shows the disk as the undos
before it would leave it, staging nothing) and the undo itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NoReturn

from deskshell.errors import Conflict, DeskshellError
from deskshell.files import names
from deskshell.files.identity import Identity, Stat, identity, same_content, same_object
from deskshell.kernel.contents import LISTING
from deskshell.kernel.context import Context
from deskshell.kernel.effects import Drop, Effect, Mode, Move, Swap
from deskshell.kernel.ground import Ground
from deskshell.kernel.heirs import Heirs
from deskshell.kernel.sequence import as_now, make_movable, moved_on
from deskshell.slotted import field, slotted

_EFFECTIVE = os.access in os.supports_effective_ids


@slotted()
class Expected:
    """Changes that are expected to have happened: shared by the checks of several tasks in a row.

    `moved` maps a path to where its object stands on disk (None: nothing will), `modes` to bits; `heirs` are
    the copies that will have come back. `roots` are those of the tasks so far: there what was moved stands.
    """

    moved: dict[bytes, bytes | None] = field(default_factory=dict)
    modes: dict[bytes, int] = field(default_factory=dict)
    heirs: Heirs = field(default_factory=Heirs)
    roots: tuple[bytes, ...] = ()

    def copy(self) -> Expected:
        """The same expectations, to be added to on their own."""
        return Expected(dict(self.moved), dict(self.modes), self.heirs, self.roots)


class Sight:
    """What stands where, were what is expected carried out. Reads the disk, changes nothing."""

    __slots__ = ("_looks", "_modes", "_moved", "_writable", "expected", "ground")

    def __init__(self, ground: Ground, expected: Expected | None = None) -> None:
        self.ground = ground
        self.expected = Expected() if expected is None else expected
        self._moved = self.expected.moved
        self._modes = self.expected.modes
        self._writable: dict[bytes, bool] = {}
        self._looks: dict[bytes, Stat | None] | None = None

    def ahead(self, *, playing: bool) -> Sight:
        """The same sight for one step, `playing` on by itself or not; it looks at each place once."""
        found = Sight(self.ground, self.expected.copy() if playing else self.expected)
        found._looks = {}
        return found

    def origin(self, path: bytes) -> bytes | None:
        """Where the object that will stand at `path` stands now; None when nothing will."""
        if not self._moved:
            return path
        rest = b""
        here = path
        while here:
            if here in self._moved:
                found = self._moved[here]
                return None if found is None else found + rest
            above, slash, name = here.rpartition(b"/")
            rest = slash + name + rest
            here = above
        return path

    def look(self, path: bytes) -> Stat | None:
        """The object that will stand at `path`, as it is now."""
        origin = self.origin(path)
        found = None if origin is None else self._look_once(origin)
        if found is not None and path in self._modes:
            found = found._replace(mode=self._modes[path])
        return found

    def is_still(self, path: bytes, known: Identity) -> bool:
        """True when `known` stands at `path` just as it was; False when that takes a `look` to tell."""
        return not self._moved and not self._modes and self.ground.is_still(path, known)

    def is_free(self, path: bytes) -> bool:
        """True when nothing stands at `path`, in a folder that is there; False when that takes a `look` to tell."""
        return not self._moved and self.ground.is_free(path)

    def _look_once(self, origin: bytes) -> Stat | None:
        looks = self._looks
        if looks is None:
            return self.ground.look(origin)
        if origin not in looks:
            looks[origin] = self.ground.look(origin)
        return looks[origin]

    def first_names(self, path: bytes, count: int) -> list[bytes]:
        """Up to `count` names that will be in the folder at `path`."""
        gone = {key.rpartition(b"/")[2] for key, at in self._moved.items() if at is None and _in(key, path)}
        come = [
            key.rpartition(b"/")[2] for key, at in self._moved.items() if at is not None and _in(key, path)
        ]
        origin = self.origin(path)
        on_disk = [] if origin is None else self.ground.first_names(origin, count + len(gone))
        return [name for name in dict.fromkeys([*come, *on_disk]) if name not in gone][:count]

    def need_permission(self, effects: Iterable[Effect]) -> None:
        """Raise Conflict when `effects` take a name out of, or into, a folder that may not be written."""
        for effect in effects:
            for path in () if isinstance(effect, Mode) else effect.paths():
                folder = path.rpartition(b"/")[0]
                if folder not in self._writable:
                    self._writable[folder] = self._may_write(path, folder)
                if not self._writable[folder]:
                    raise Conflict(
                        f"the folder `{names.show(folder or b'/')}` may not be written",
                        path=folder,
                        verdict="failed",
                    )

    def _may_write(self, path: bytes, folder: bytes) -> bool:
        if self.origin(folder) != folder or folder in self._modes:  # not there yet, or not as it is now
            return True
        try:
            return os.access(
                b".", os.W_OK | os.X_OK, dir_fd=self.ground.at(path)[0], effective_ids=_EFFECTIVE
            )
        except (DeskshellError, OSError):  # said already, by what looked there
            return True

    def play(self, effects: Iterable[Effect]) -> None:
        """Let `effects` have happened."""
        for effect in effects:
            if isinstance(effect, Move):
                self._rename(effect.src, effect.dst)
            elif isinstance(effect, Swap):
                one, two = self.origin(effect.slot), self.origin(effect.path)
                self._moved[effect.slot], self._moved[effect.path] = two, one
                self._modes.pop(effect.path, None)  # of the object that leaves; what comes is as it was
            elif isinstance(effect, Drop):
                self._moved[effect.path] = None
                self._modes.pop(effect.path, None)
            else:
                self._modes[effect.paths()[0]] = getattr(effect, "after", 0)

    def _rename(self, src: bytes, dst: bytes) -> None:
        origin = self.origin(src)
        below = src + b"/"
        for key in [key for key in self._moved if key.startswith(below)]:
            self._moved[dst + key[len(src) :]] = self._moved.pop(key)
        self._moved[src] = None
        self._moved[dst] = origin
        # Bits that are expected to have changed go along with the object that has them.
        for key in [key for key in self._modes if key == src or key.startswith(below)]:
            self._modes[dst + key[len(src) :]] = self._modes.pop(key)


def _in(path: bytes, folder: bytes) -> bool:
    return path.rpartition(b"/")[0] == folder


def plain_inverse(effects: Sequence[Effect], sight: Sight, ctime_ns: int | None) -> Move | None:
    """The way back of one mere move whose object is as it was left and whose old name is free; None for all else.

    `ctime_ns` is the change time that the object had then, if known. Most steps of long tasks are such: an
    `Inverter` would come to the same, in five times as long.
    """
    if len(effects) != 1:
        return None
    effect = effects[0]
    if type(effect) is not Move or effect.made or effect.sha256 or effect.empty:
        return None
    src, dst, known = effect.src, effect.dst, effect.id
    if known.kind == "folder" and _is_stored(dst):  # gets a mark
        return None
    left = known if ctime_ns is None else Identity(*known[:5], ctime_ns)
    if not sight.is_still(dst, left):
        here = sight.look(dst)
        if here is None or not same_content(here, known):
            return None
        left = identity(here)
    return Move(dst, src, left) if sight.is_free(src) else None


class Inverter:
    """Works out how one step is taken back.

    With `ctx` copies are staged where an object cannot come back by rename; without, nothing is
    written. `notes` collects what the report should say of objects that go back as they are now, and
    `brought` the copies that come back: path, the object that was dropped, and the copy. `half` says that a
    rollback may have taken back a part of the step already.
    """

    __slots__ = (
        "_ctx",
        "_edited",
        "_effects",
        "_name",
        "_slots",
        "brought",
        "dropped",
        "force",
        "half",
        "notes",
        "sight",
    )

    def __init__(
        self, sight: Sight, *, task_id: str, n: int, force: bool, half: bool, ctx: Context | None
    ) -> None:
        self.sight = sight
        self.force = force
        self.half = half
        self.dropped: set[bytes] = set()
        self.notes: list[str] = []
        self.brought: list[tuple[bytes, Identity, Identity]] = []
        self._ctx = ctx
        self._name = f"{task_id}/{n}"
        self._slots = 0
        self._edited = False
        self._effects: tuple[Effect, ...] = ()

    def invert(self, effects: Iterable[Effect]) -> list[Effect]:
        """Effects that take `effects` back, in the order to act them out; empty when all are back already.

        Raises Conflict with the verdict when one cannot be taken back; then none is.
        """
        given = known = tuple(effects)
        if self.half:
            known = as_now(given, self.sight.ground, self.look)
            self.dropped = {effect.path for effect in known if isinstance(effect, Drop)}
        try:
            found = self._invert(known)
        except Conflict:
            # Only now: a copy may stand for an object that was dropped since. It is rare, and costs looks.
            known, tried = as_now(given, self.sight.ground, self.look), known
            if known == tried:
                raise
            found = self._invert(known)
        if found:
            self.brought += moved_on(given, known)
        for each in self.brought:
            self.sight.ground.heirs.take_place(*each)
        return found

    def _invert(self, effects: tuple[Effect, ...]) -> list[Effect]:
        found: list[Effect] = []
        self._effects = effects
        self.brought.clear()
        # Each sees what those after it will have taken back.
        outer, self.sight = self.sight, self.sight.ahead(playing=len(effects) > 1)
        try:
            for at in range(len(effects) - 1, -1, -1):
                if already_back(effects[at], self):
                    continue
                inverse = effects[at].inverse(self)
                found += inverse
                if at:
                    self.sight.play(inverse)
        finally:
            self.sight = outer
        return found

    # what effects ask

    def look(self, path: bytes) -> Stat | None:
        """What stands at `path`, with the inverses so far carried out."""
        return self.sight.look(path)

    def own(self, path: bytes, wanted: Identity, *, force: bool = False) -> Stat:
        """The object at `path`, which must be the one this step left there.

        With `force` (and `--force`) another object is accepted, for it is held first.
        """
        here = self.look(path)
        self._edited = False
        if here is None:
            if _is_stored(path):
                self._refuse_expired(path)
            self.refuse(path, "is gone")
        if not same_content(here, wanted):
            if not same_object(here, wanted) and not (force and self.force):
                self.refuse(path, f"is another {here.kind} now")
            self._edited = True
        return here

    def _refuse_expired(self, slot: bytes) -> NoReturn:
        """Say that the object is no longer held, by the path it had: nobody knows the names in holding."""
        path = next((each.src for each in self._effects if isinstance(each, Move) and each.dst == slot), slot)
        what = "what this step took away" if _is_stored(path) else f"what stood at `{names.show(path)}`"
        raise Conflict(f"{what} is no longer held", path=path, verdict="expired")

    def verify(self, path: bytes, sha256: str | None, *, leaves: bool = False) -> None:
        """The content at `path` must have the mark `sha256`; without one, an edit is only noted.

        Unless the object `leaves` the tree: then the edit would leave with it.
        """
        stored = _is_stored(path)
        if not sha256:
            if self._edited and not stored:
                if leaves and not self.force:
                    self.refuse(path, "was edited since")
                self.notes.append(f"`{names.show(path)}` was edited since; it goes back as it is now")
            return
        if self._edited and self.force and not stored:
            return
        origin = self.sight.origin(path)
        try:
            differing = [(path, "gone")] if origin is None else self.sight.ground.differences(origin, sha256)
        except PermissionError:
            if sha256.startswith("t:") or (self._edited and not stored):
                raise
            return  # not even its owner may read it: the object, its size and time have to do
        differing = [each for each in differing if not self._is_expected(path, origin or path, *each)]
        if not differing:
            self._edited = False
            return
        if stored:
            self.refuse(path, "is damaged: what is held is not what was put there", verdict="damaged")
        self._edited = True
        if self.force:
            return
        shown = ", ".join(f"`{names.show(each)}` ({how})" for each, how in differing[:3])
        more = f" and {len(differing) - 3} more" if len(differing) > 3 else ""
        raise Conflict(f"changed since: {shown}{more}", path=differing[0][0])

    def _is_expected(self, path: bytes, origin: bytes, differs: bytes, how: str) -> bool:
        """True for a difference that the inverses so far will have made good."""
        inside = path + differs[len(origin) :]
        moved, modes = self.sight.expected.moved, self.sight.expected.modes
        return (
            how in ("added", "removed") and inside in moved and (moved[inside] is None) == (how == "added")
        ) or (how == "mode" and inside in modes)

    def still(self, sha256: str | None) -> str | None:
        """The mark to expect next time: none for content that `--force` takes along as it is."""
        return None if self._edited else sha256

    def mark_of_move(self, move: Move, here: Stat) -> str | None:
        """The mark that the way back of `move` leaves on the object `here`.

        A folder that comes back out of holding is marked by its listing, for if it goes there once more, in a redo,
        what was done in it since must not go along. In holding nobody works on it.
        """
        sha256 = move.sha256 or ""
        comes_back = move.src[:1] == b"/" and _is_stored(move.dst)
        if here.kind == "folder" and comes_back and not (sha256 or move.empty) and self._ctx is not None:
            try:
                return self.sight.ground.listing_mark(move.dst)
            except OSError:  # what may not be read cannot be compared
                return None
        return None if sha256.startswith(LISTING) else self.still(move.sha256)

    def held(self, slot: bytes, wanted: Identity, path: bytes) -> Stat:
        """The object in holding that goes back to `path`."""
        here = self.look(slot)
        if here is None:
            raise Conflict(
                f"what stood at `{names.show(path)}` is no longer held", path=path, verdict="expired"
            )
        if not same_object(here, wanted):
            raise Conflict(
                f"what is held for `{names.show(path)}` is not what was put there",
                path=path,
                verdict="damaged",
            )
        return here

    def clear(self, path: bytes) -> list[Effect]:
        """Make `path` free: nothing to do, or with `--force` hold what is there; else refuse."""
        here = self.look(path)
        if here is None:
            if not _is_stored(path) and not self._parent_is_there(path):
                self.refuse(path.rpartition(b"/")[0], "is not there any more", verdict="blocked")
            return []
        if not self.force:
            self.refuse(path, f"is taken by another {here.kind}", verdict="blocked")
        return self.put_away(path, here, None, empty=False)

    def _parent_is_there(self, path: bytes) -> bool:
        parent = path.rpartition(b"/")[0]
        if not parent:
            return True
        if self.sight.origin(parent) != parent:
            found = self.look(parent)
            return found is not None and found.kind == "folder"
        try:
            return self.sight.ground.folder_fd(parent) is not None
        except Conflict:  # a file or link in its place
            return False

    def need_empty(self, path: bytes) -> None:
        """The folder at `path` must be empty, unless `--force` takes it along as it is."""
        inside = self.sight.first_names(path, 3)
        if inside and not self.force and not _is_stored(path):
            shown = ", ".join(f"`{names.show(path + b'/' + name)}`" for name in inside)
            self.refuse(path, f"is not empty: {shown}", verdict="blocked")

    def put_away(self, path: bytes, here: Stat, sha256: str | None, *, empty: bool) -> list[Effect]:
        """`path` goes into holding, or where that cannot be, away with a verified copy kept."""
        ground = self.sight.ground
        slot = self._slot("held")
        empty = empty and not self.force
        if ground.can_hold(path):
            moved = Move(path, slot, identity(here), False, self.still(sha256), empty)
            return [*make_movable(path, here, slot), moved]
        if self._ctx is None:
            return [Drop(path, identity(here), path, slot, "")]
        copy = self._slot("kept")
        copied = ground.copy(self.sight.origin(path) or path, copy)
        self._ctx.note_lost(path, copied.not_kept)
        listing = copy + b".tree" if here.kind == "folder" else b""
        mark = ground.mark(copy, here.kind, listing=listing) if here.kind in ("file", "folder") else ""
        return [Drop(path, identity(here), self._ctx.temporary(path), copy, mark)]

    def bring_back(self, copy: bytes, path: bytes, sha256: str, dropped: Identity) -> Effect:
        """A verified copy of the kept `copy` takes the name `path` again, and stands for the object `dropped`."""
        found = self.look(copy)
        if found is None:
            raise Conflict(f"the copy kept of `{names.show(path)}` is gone", path=path, verdict="expired")
        ground = self.sight.ground
        origin = self.sight.origin(copy) or copy
        if sha256 and ground.differences(origin, sha256):
            if _is_stored(copy):
                raise Conflict(
                    f"the copy kept of `{names.show(path)}` is damaged", path=path, verdict="damaged"
                )
            if not self.force:
                raise Conflict(f"`{names.show(copy)}` changed since", path=copy)
        if self._ctx is None:
            self.brought.append((path, dropped, identity(found)))
            return Move(copy, path, identity(found))
        temp = self._ctx.temporary(path)
        copied = ground.copy(origin, temp)
        self._ctx.note_lost(path, copied.not_kept)
        made = ground.look(temp)
        assert made is not None
        self.brought.append((path, dropped, identity(made)))
        return Move(temp, path, identity(made), True, sha256 or None)

    def refuse(self, path: bytes, what: str, *, verdict: str = "changed") -> NoReturn:
        """Raise Conflict for `path`."""
        raise Conflict(f"`{names.show(path)}` {what}", path=path, verdict=verdict)

    def _slot(self, store: str) -> bytes:
        self._slots += 1
        more = "" if self._slots == 1 else f".u{self._slots}"
        return f"{store}:{self._name}{more}".encode("ascii")


def _is_stored(path: bytes) -> bool:
    return path[:1] != b"/"


def _is_taken_back(made: Move, inverter: Inverter) -> bool:
    """True when a rollback has removed what was made: it is nowhere, and at most what it replaced has its name."""
    there, here = inverter.look(made.dst), inverter.look(made.src)
    if any(each is not None and same_object(each, made.id) for each in (there, here)):
        return False
    return there is None or made.dst in inverter.dropped


def already_back(effect: Effect, inverter: Inverter) -> bool:
    """True when the disk shows the state before `effect`: taken back already, or never done."""
    look = inverter.look
    if isinstance(effect, Move):
        if effect.made:
            return inverter.half and _is_taken_back(effect, inverter)
        there = look(effect.dst)
        if there is not None and same_object(there, effect.id):
            return False
        here = look(effect.src)
        return here is not None and same_object(here, effect.id)
    if isinstance(effect, Swap):
        here = look(effect.path)
        return here is not None and same_object(here, effect.old)
    if isinstance(effect, Drop):
        here = look(effect.path)
        if here is None or same_object(here, effect.id):
            return here is not None
        return inverter.half and inverter.sight.ground.is_copy(effect.path, effect.copy, effect.sha256)
    if isinstance(effect, Mode) and effect.before != effect.after:
        here = look(effect.path)
        return here is not None and same_object(here, effect.id) and here.mode == effect.before
    return False
