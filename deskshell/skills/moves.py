"""The order of moves that are meant to happen at once: chains, shifts, swaps and cycles (F05)."""

from __future__ import annotations

from collections.abc import Sequence

from deskshell.slotted import NamedTuple


class Leg(NamedTuple):
    """One rename of the move number `move`: whole, or only to the temporary name of a hop, or only from there."""

    move: int
    to_hop: bool = False
    from_hop: bool = False


def order(pairs: Sequence[tuple[bytes, bytes]]) -> list[Leg]:
    """Legs so that no rename meets a name which another of the moves is still to vacate.

    Args:
        pairs: (source, target) of each move; sources are distinct.

    Returns:
        One leg a move, as early as its target is free, else in the order given. Of each cycle the first move is
        split: out to a temporary name before the others, in from there after them. A move inside a folder that is
        moved too goes before that folder.
    """
    mover = {src: index for index, (src, _) in enumerate(pairs)}
    legs: list[Leg] = []
    done: set[int] = set()
    for start in _inner_first(pairs):
        chain: list[int] = []  # each one waits for the next
        place: dict[int, int] = {}  # move → where it is in the chain
        here: int | None = start
        while here is not None and here not in done and here not in place:
            place[here] = len(chain)
            chain.append(here)
            blocker = mover.get(pairs[here][1])
            here = None if blocker == here else blocker
        if here is not None and here in place:
            legs += _cycle(chain[place[here] :])
            done.update(chain[place[here] :])
            del chain[place[here] :]
        for index in reversed(chain):
            legs.append(Leg(index))
            done.add(index)
    return legs


def _cycle(members: Sequence[int]) -> list[Leg]:
    """Each member waits for the next, the last one for the first."""
    first, *others = members
    return [Leg(first, to_hop=True), *(Leg(index) for index in reversed(others)), Leg(first, from_hop=True)]


def _inner_first(pairs: Sequence[tuple[bytes, bytes]]) -> list[int]:
    """The order given, unless a source lies inside another: then deeper ones first."""
    sources = {src for src, _ in pairs}
    every = list(range(len(pairs)))
    if not any(above in sources for src, _ in pairs for above in _above(src)):
        return every
    return sorted(every, key=lambda index: -pairs[index][0].count(b"/"))


def _above(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:end]) for end in range(2, len(parts))]


def entangled(pairs: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether the order matters at all: a target, or a folder above a source, is a source too."""
    folders = {src.rpartition(b"/")[0] for src, _ in pairs}
    # Only what stands where sources stand can be one: mostly nothing, and no set of all sources is needed.
    met = {dst for _, dst in pairs if dst.rpartition(b"/")[0] in folders}
    for folder in folders:
        met.update(above for above in (folder, *_above(folder)) if above.rpartition(b"/")[0] in folders)
    return bool(met) and any(src in met for src, _ in pairs)
