"""What the planner found on disk for one step, kept small: a plan may hold hundreds of thousands of them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Reversible, Sequence
from typing import Any, TypeAlias

from deskshell.files.identity import KINDS, Identity, Stat, identity

Sight: TypeAlias = tuple[bytes, Identity | None]
"""A path and the object that stood there, None where it was free."""

Packed: TypeAlias = bytes | Identity
"""An identity in a quarter of its memory, or as it is where a number does not fit."""

Size: TypeAlias = int | Packed
"""A number of bytes, or the object that has so many: there it is kept already."""

_FORM = struct.Struct("=BQqQqq")
_pack, _unpack = _FORM.pack, _FORM.unpack
_NUMBER = {kind: number for number, kind in enumerate(KINDS)}


def pack(found: Stat | Identity) -> Packed:
    """The identity in `found`."""
    try:
        return _pack(_NUMBER[found[0]], *found[1:6])
    except struct.error:  # a time after 2262, where the file system has such
        return identity(found)


def unpack(packed: Packed) -> Identity:
    """The inverse of `pack`."""
    if isinstance(packed, Identity):
        return packed
    kind, ino, birth_ns, size, mtime_ns, ctime_ns = _unpack(packed)
    return Identity(KINDS[kind], ino, birth_ns, size, mtime_ns, ctime_ns)


def kind_of(packed: Packed) -> str:
    """The kind of the object, without unpacking the rest."""
    return packed.kind if isinstance(packed, Identity) else KINDS[packed[0]]


def bytes_of(size: Size) -> int:
    """The number of bytes that `size` tells."""
    if isinstance(size, int):
        return size
    return unpack(size).size


class Seen(Sequence[Sight]):
    """Sights in the order of looking, never none: the first one, and the others as a `Seen` of their own.

    Most steps look at one path or two, and such a chain is the smallest object that holds them. What the first
    one saw can be read alone: `path`, `found` (packed), and `mover`, the step that gives it another name, if one
    does; so the view needs no second object for it.
    """

    __slots__ = ("_others", "found", "mover", "path")

    def __init__(self, path: bytes, found: Packed | None) -> None:
        self.path = path
        self.found = found
        self.mover: str | None = None
        self._others: Seen | None = None

    def before(self, others: Seen | None) -> Seen:
        """The chain of this one and `others`."""
        self._others = others
        return self

    def __iter__(self) -> Iterator[Sight]:
        here: Seen | None = self
        while here is not None:
            yield here.path, None if here.found is None else unpack(here.found)
            here = here._others

    def __len__(self) -> int:
        return 1 if self._others is None else 1 + len(self._others)

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def chained(sights: Mapping[bytes, Packed | None]) -> Sequence[Sight]:
    """What stood at paths, identities packed, as a step of a plan keeps it."""
    return linked([Seen(path, found) for path, found in sights.items()])


def linked(sights: Reversible[Seen]) -> Sequence[Sight]:
    """Single sights as a step of a plan keeps them."""
    chain: Seen | None = None
    for each in reversed(sights):
        chain = each.before(chain)
    return () if chain is None else chain
