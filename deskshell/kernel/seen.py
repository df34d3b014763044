"""What the planner found on disk for one step, kept small: a plan may hold hundreds of thousands of them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
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


def bytes_of(size: Size) -> int:
    """The number of bytes that `size` tells."""
    if isinstance(size, int):
        return size
    return unpack(size).size


class Seen(Sequence[Sight]):
    """Sights in the order of looking, never none: the first one, and the others as a `Seen` of their own.

    Most steps look at one path or two, and such a chain is the smallest object that holds them.
    """

    __slots__ = ("_found", "_others", "_path")

    def __init__(self, path: bytes, found: Packed | None, others: Seen | None) -> None:
        self._path = path
        self._found = found
        self._others = others

    def __iter__(self) -> Iterator[Sight]:
        here: Seen | None = self
        while here is not None:
            yield here._path, None if here._found is None else unpack(here._found)
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


def chained(sights: dict[bytes, Packed | None]) -> Sequence[Sight]:
    """What stood at paths, identities packed, as a step of a plan keeps it."""
    chain: Seen | None = None
    for path in reversed(sights):
        chain = Seen(path, sights[path], chain)
    return () if chain is None else chain
