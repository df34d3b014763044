"""The four changes that everything is made of, each with its way back.

    Move   `src` gets the name `dst`; creating is a move out of a temporary, deleting one into holding
    Swap   the object at `path` and the one in `slot` (in holding) change places: replacing
    Drop   `path` goes away where it cannot be held by rename; a verified `copy` is kept
    Mode   permission bits of one object

An effect is a value: it names objects by identity, never by name alone, and its JSON form is what
the journal keeps before it happens. `act` does it once. `take_back` undoes whatever part of it is
on disk, may run twice and after half an `act` (I9), and is what rollback and recovery use. The
table of what each state on disk means is in `take_back` itself. `inverse` gives the effect that an
undo task acts out later; an inverse is an effect like any other, so redo is the inverse of it.

A path starting with `held:` or `kept:` lies in the state folder; see `ground.Ground`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from deskshell.errors import Conflict
from deskshell.files import identity as ids
from deskshell.files import names
from deskshell.files.identity import Identity, Stat, identity, same_content, same_object
from deskshell.files.names import get_path, put_path
from deskshell.slotted import NamedTuple

if TYPE_CHECKING:
    from deskshell.kernel.ground import Ground
    from deskshell.kernel.inverse import Inverter


class Effect(Protocol):
    """One change of one object."""

    def act(self, ground: Ground) -> Stat | None:
        """Do it; returns the object as it is now. Raises Conflict, and then nothing has changed."""

    def happened(self, ground: Ground) -> bool:
        """True when the disk shows it done."""

    def take_back(self, ground: Ground) -> bool:
        """Undo what of it is on disk; True if there was anything.

        Raises Conflict when somebody else's work is in the way; that work is then untouched.
        """

    def inverse(self, inverter: Inverter) -> list[Effect]:
        """What takes it back later, as effects of a new task. Raises Conflict with the verdict."""

    def paths(self) -> tuple[bytes, ...]:
        """Paths in the user's tree that it changes."""

    def temporaries(self) -> tuple[bytes, ...]:
        """Temporary names beside them that it uses."""

    def to_json(self) -> dict[str, Any]:
        """The journal form."""


class Move(NamedTuple):
    """Rename `src` to `dst`, never over anything.

    `made` says that the object was created by this step (`src` is a temporary): its inverse puts it
    into holding. `sha256` (a mark of `ground.Ground.mark`) is checked before the object is moved
    again: for what was written or copied, and for what is known of a held object. `empty` demands
    that the object is an empty folder when it is moved, and on the way back.
    """

    src: bytes
    dst: bytes
    id: Identity
    made: bool = False
    sha256: str | None = None
    empty: bool = False

    def act(self, ground: Ground) -> Stat | None:
        _expect(ground, self.src, self.id)
        if self.empty:
            _refuse_full(ground, self.src)
        try:
            ground.rename(self.src, self.dst)
        except FileExistsError:
            _taken(self.dst)
        after = ground.look(self.dst)
        if after is None or not same_object(after, self.id):
            _give_back(ground, self.dst, self.src)
            _differs(self.src, after, self.id)
        if self.empty and not ground.is_empty(self.dst):
            _give_back(ground, self.dst, self.src)
            _refuse_full(ground, self.src)
        return after

    def happened(self, ground: Ground) -> bool:
        return _is(ground.look(self.dst), self.id)

    def take_back(self, ground: Ground) -> bool:
        before, after = ground.look(self.src), ground.look(self.dst)
        at_src = before is not None and same_object(before, self.id)
        at_dst = after is not None and same_object(after, self.id)
        if at_src and at_dst:  # one object, two names: a power cut between two folders (btrfs)
            ground.drop_name(self.dst)
            if self.made:
                ground.remove(self.src)
            return True
        if at_src:  # never happened, or taken back already
            if self.made:
                ground.remove(self.src)
            return False
        if at_dst:
            self._return(ground, before)
            return True
        if self.made and after is None:  # the temporary never got as far as the disk, or is gone again
            return False
        if before is None and after is None:
            raise Conflict(
                f"`{names.show(self.dst)}` is gone: neither it nor `{names.show(self.src)}` leads to the object",
                path=self.dst,
                verdict="failed",
            )
        # Where nothing has the new name, it was replaced before it was moved, or after it was moved back.
        here = (self.src, before) if after is None else (self.dst, after)
        raise _difference(*here, self.id)

    def _return(self, ground: Ground, before: Stat | None) -> None:
        if before is not None:
            _taken(self.src)
        if self.made:
            ground.verify(self.dst, self.sha256, self.id)
        if self.made and self.empty:
            _refuse_full(ground, self.dst)
        try:
            ground.rename(self.dst, self.src)
        except FileExistsError:
            _taken(self.src)
        ours = _is(ground.look(self.src), self.id)
        if not ours or (self.made and self.empty and not ground.is_empty(self.src)):
            _give_back(ground, self.src, self.dst)
            _differs(self.dst, ground.look(self.dst), self.id)
        if self.made:
            ground.remove(self.src)

    def inverse(self, inverter: Inverter) -> list[Effect]:
        path = self.dst
        if self.made and not _is(inverter.look(path), self.id) and _is(inverter.look(self.src), self.id):
            path = self.src  # a rollback could not remove the temporary
        here = inverter.own(path, self.id)
        inverter.verify(path, self.sha256, leaves=self.src[:1] != b"/")
        if self.empty:
            inverter.need_empty(path)
        if self.made:
            return inverter.put_away(path, here, self.sha256, empty=self.empty)
        sha256 = inverter.mark_of_move(self, here)
        return [
            *inverter.clear(self.src),
            Move(self.dst, self.src, identity(here), False, sha256, self.empty and not inverter.force),
        ]

    def paths(self) -> tuple[bytes, ...]:
        src, dst = self.src, self.dst
        if src[:1] != b"/":
            return (dst,) if dst[:1] == b"/" else ()
        return (src, dst) if dst[:1] == b"/" else (src,)

    def temporaries(self) -> tuple[bytes, ...]:
        return (self.src,) if self.made else ()

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"op": "move"}
        put_path(data, "from", self.src)
        put_path(data, "to", self.dst)
        data["id"] = ids.to_json(self.id)
        if self.made:
            data["made"] = True
        if self.sha256:
            data["sha256"] = self.sha256
        if self.empty:
            data["empty"] = True
        return data


class Swap(NamedTuple):
    """Exchange the object at `path` (`old`) with the one staged in `slot` (`new`)."""

    slot: bytes
    path: bytes
    new: Identity
    old: Identity
    sha256: str | None = None
    old_sha256: str | None = None

    def act(self, ground: Ground) -> Stat | None:
        _expect(ground, self.path, self.old)
        ground.exchange(self.slot, self.path)
        if not _is(ground.look(self.slot), self.old):
            ground.exchange(self.slot, self.path)
            _differs(self.path, ground.look(self.path), self.old)
        return ground.look(self.path)

    def happened(self, ground: Ground) -> bool:
        return _is(ground.look(self.path), self.new)

    def take_back(self, ground: Ground) -> bool:
        ground.settle_exchange(self.slot, self.path, self.old, self.new)
        here, held = ground.look(self.path), ground.look(self.slot)
        if here is not None and same_object(here, self.old):
            return False
        if here is None or not same_object(here, self.new):
            _differs(self.path, here, self.new)
        if held is None or not same_object(held, self.old):
            raise Conflict(
                f"what stood at `{names.show(self.path)}` is no longer held",
                path=self.path,
                verdict="damaged",
            )
        ground.verify(self.path, self.sha256, self.new)
        ground.exchange(self.slot, self.path)
        if not _is(ground.look(self.slot), self.new):
            ground.exchange(self.slot, self.path)
            _differs(self.path, ground.look(self.path), self.new)
        return True

    def inverse(self, inverter: Inverter) -> list[Effect]:
        held = inverter.held(self.slot, self.old, self.path)
        here = inverter.own(self.path, self.new, force=True)
        inverter.verify(self.path, self.sha256, leaves=True)
        inverter.verify(self.slot, self.old_sha256)
        return [
            Swap(
                self.slot,
                self.path,
                identity(held),
                identity(here),
                self.old_sha256,
                inverter.still(self.sha256),
            )
        ]

    def paths(self) -> tuple[bytes, ...]:
        return (self.path,)

    def temporaries(self) -> tuple[bytes, ...]:
        return ()

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"op": "swap"}
        put_path(data, "slot", self.slot)
        put_path(data, "path", self.path)
        data["new"] = ids.to_json(self.new)
        data["old"] = ids.to_json(self.old)
        if self.sha256:
            data["sha256"] = self.sha256
        if self.old_sha256:
            data["oldSha256"] = self.old_sha256
        return data


class Drop(NamedTuple):
    """Remove `path` where holding cannot be reached by rename; `copy` (verified) stays.

    It is renamed to `aside` first and compared again, so that what goes is what was copied.
    """

    path: bytes
    id: Identity
    aside: bytes
    copy: bytes
    sha256: str

    def act(self, ground: Ground) -> Stat | None:
        _expect(ground, self.path, self.id)
        ground.rename(self.path, self.aside)
        moved = ground.look(self.aside)
        if moved is None or not same_content(moved, self.id):
            _give_back(ground, self.aside, self.path)
            _differs(self.path, moved, self.id)
        ground.sync()  # the copy's name is durable before the last name of the original goes (I2)
        ground.remove(self.aside)
        return None

    def happened(self, ground: Ground) -> bool:
        return not _is(ground.look(self.path), self.id)

    def take_back(self, ground: Ground) -> bool:
        here, aside = ground.look(self.path), ground.look(self.aside)
        if here is not None and same_object(here, self.id):
            return False
        if here is not None:
            known = ground.heirs.by_path.get(self.path)
            if known is not None and same_object(here, known):
                return True  # an earlier recovery had put it back already, and others have changed it since
            if aside is None and ground.is_copy(self.path, self.copy, self.sha256):
                ground.note_back(self.path, self.id)  # … and had no time to say so
                return True
            _taken(self.path)
        if aside is not None and same_object(aside, self.id) and ground.is_whole(self.aside, self.sha256):
            ground.rename(self.aside, self.path)
            return True
        if aside is not None:  # our own name: half removed, or a copy that a crash cut short
            ground.remove(self.aside)
        copied = ground.copy(self.copy, self.aside, self.sha256)
        ground.lost += [f"{names.show(self.path)}: {each}" for each in copied.not_kept]
        ground.rename(self.aside, self.path)
        ground.note_back(self.path, self.id)
        return True

    def inverse(self, inverter: Inverter) -> list[Effect]:
        clear = inverter.clear(self.path)
        return [*clear, inverter.bring_back(self.copy, self.path, self.sha256, self.id)]

    def paths(self) -> tuple[bytes, ...]:
        return (self.path,)

    def temporaries(self) -> tuple[bytes, ...]:
        return (self.aside,)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"op": "drop"}
        put_path(data, "path", self.path)
        put_path(data, "aside", self.aside)
        put_path(data, "copy", self.copy)
        data["id"] = ids.to_json(self.id)
        data["sha256"] = self.sha256
        return data


class Mode(NamedTuple):
    """Permission bits of the object at `path`: `before` → `after` (ints, 0o7777)."""

    path: bytes
    id: Identity
    before: int
    after: int

    def act(self, ground: Ground) -> Stat | None:
        here = ground.look(self.path)
        if here is None or not same_object(here, self.id) or here.mode != self.before:
            _differs(self.path, here, self.id)
        ground.set_mode(self.path, self.after, self.id)
        after = ground.look(self.path)
        if after is not None and after.mode != self.after:  # such as setgid for a group that is not ours
            ground.set_mode(self.path, self.before, self.id)
            raise Conflict(
                f"the system gives `{names.show(self.path)}` mode {after.mode:04o}, not {self.after:04o}",
                path=self.path,
                verdict="failed",
            )
        return after

    def happened(self, ground: Ground) -> bool:
        here = ground.look(self.path)
        return here is not None and same_object(here, self.id) and here.mode == self.after

    def take_back(self, ground: Ground) -> bool:
        here = ground.look(self.path)
        if here is None or not same_object(here, self.id):
            _differs(self.path, here, self.id)
        if here.mode == self.before:
            return False
        if here.mode != self.after:
            _mode_differs(self.path, here.mode, self.after)
        ground.set_mode(self.path, self.before, self.id)
        return True

    def inverse(self, inverter: Inverter) -> list[Effect]:
        here = inverter.own(self.path, self.id)
        if here.mode != self.after and not inverter.force:
            _mode_differs(self.path, here.mode, self.after)
        return [Mode(self.path, identity(here), here.mode, self.before)]

    def paths(self) -> tuple[bytes, ...]:
        return (self.path,)

    def temporaries(self) -> tuple[bytes, ...]:
        return ()

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"op": "mode"}
        put_path(data, "path", self.path)
        data["id"] = ids.to_json(self.id)
        data["before"], data["after"] = f"{self.before:04o}", f"{self.after:04o}"
        return data


def from_json(data: Mapping[str, Any]) -> Effect:
    """Read an effect from its journal form. Raises KeyError or ValueError on anything else."""
    op = data["op"]
    if op == "move":
        return Move(
            get_path(data, "from"),
            get_path(data, "to"),
            ids.from_json(data["id"]),
            data.get("made", False),
            data.get("sha256"),
            data.get("empty", False),
        )
    if op == "swap":
        return Swap(
            get_path(data, "slot"),
            get_path(data, "path"),
            ids.from_json(data["new"]),
            ids.from_json(data["old"]),
            data.get("sha256"),
            data.get("oldSha256"),
        )
    if op == "drop":
        return Drop(
            get_path(data, "path"),
            ids.from_json(data["id"]),
            get_path(data, "aside"),
            get_path(data, "copy"),
            data["sha256"],
        )
    if op == "mode":
        return Mode(
            get_path(data, "path"), ids.from_json(data["id"]), int(data["before"], 8), int(data["after"], 8)
        )
    raise ValueError(f"unknown effect `{op}`")


def _expect(ground: Ground, path: bytes, wanted: Identity) -> None:
    """Raise Conflict unless `wanted` stands at `path`, with the content that it had."""
    if ground.is_still(path, wanted):
        return
    here = ground.look(path)
    if here is None or not same_content(here, wanted):
        _differs(path, here, wanted)


def _is(stat: Stat | None, wanted: Identity) -> bool:
    return stat is not None and same_object(stat, wanted)


def _give_back(ground: Ground, src: bytes, dst: bytes) -> None:
    """Put a stranger's object back under its name; if even that name is taken, leave it and say so."""
    try:
        ground.rename(src, dst)
    except OSError as exc:
        raise Conflict(
            f"`{names.show(dst)}` was changed by another program while it was moved; "
            f"what stood there is now `{names.show(src)}`",
            path=src,
            verdict="failed",
        ) from exc


def _differs(path: bytes, here: Stat | None, wanted: Identity) -> NoReturn:
    raise _difference(path, here, wanted)


def _difference(path: bytes, here: Stat | None, wanted: Identity) -> Conflict:
    """What is at `path` instead of `wanted`, as a conflict to raise."""
    if here is None:
        what = "is gone"
    elif not same_object(here, wanted):
        what = f"is another {here.kind} now"
    else:
        what = "was changed"
    return Conflict(f"`{names.show(path)}` {what} (by another program)", path=path)


def _taken(path: bytes) -> NoReturn:
    raise Conflict(f"`{names.show(path)}` is taken by something else", path=path, verdict="blocked")


def _mode_differs(path: bytes, mode: int, wanted: int) -> NoReturn:
    raise Conflict(f"mode of `{names.show(path)}` is {mode:04o}, not {wanted:04o} as left", path=path)


def _refuse_full(ground: Ground, path: bytes) -> None:
    inside = ground.first_names(path, 3)
    if inside:
        shown = ", ".join(f"`{names.show(path + b'/' + name)}`" for name in inside)
        raise Conflict(f"folder `{names.show(path)}` is not empty: {shown}", path=path, verdict="blocked")
