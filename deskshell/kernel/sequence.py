"""The effects of one step together: taken back in order, and what a rename needs around it.

Each effect knows the disk before and after itself only. A step may free a name and take it again, or
change what it has just moved; what that means for a second undo is known here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from deskshell.errors import Conflict
from deskshell.files.identity import Identity, Stat, identity, object_key, same_object
from deskshell.kernel.effects import Drop, Effect, Mode, Move, Swap
from deskshell.kernel.ground import Ground


def take_back(effects: Sequence[Effect], ground: Ground) -> bool:
    """Take back the effects of one step, last first; True if anything of them was on disk.

    Goes on past one that cannot be taken back, and raises its error at the end. A name that an
    effect before it has got back already is no conflict: then this runs for the second time (I9).
    """
    anything, first = False, None
    needed: set[bytes] = set()  # copies that are all there is of an object that could not be put back
    for count in range(len(effects) - 1, -1, -1):
        (effect,) = as_now(effects[count : count + 1], ground)  # later ones may have brought copies back
        before = effects[:count]
        if _is_nowhere(effect, ground) and any(_has_back(each, effect, ground) for each in before):
            continue
        if any(_never_came(each, effect, ground) for each in before) or needed.intersection(effect.paths()):
            continue
        try:
            anything |= effect.take_back(ground)
        except (Conflict, OSError) as exc:
            first = first or exc
            if isinstance(effect, Drop):
                needed.add(effect.copy)
    if first is not None:
        raise first
    return anything


def as_now(
    effects: Sequence[Effect], ground: Ground, look: Callable[[bytes], Stat | None] | None = None
) -> tuple[Effect, ...]:
    """`effects` on the copies that stand for objects which later effects had dropped, and which came back.

    `look` says what stands at a path, the ground itself when not given.
    """
    if not ground.heirs:
        return tuple(effects)
    heirs: dict[tuple[int, int], Identity] = {}
    for effect in effects:
        for path, wanted in _objects(effect):
            here = (look or ground.look)(path)
            if here is not None and (heir := ground.heirs.of(path, here, wanted)) is not wanted:
                heirs[object_key(wanted)] = heir
    return tuple(_on_heirs(effect, heirs) for effect in effects) if heirs else tuple(effects)


def moved_on(given: Sequence[Effect], known: Sequence[Effect]) -> Iterator[tuple[bytes, Identity, Identity]]:
    """Where moves take objects back to for which copies stand: path, the object that was, and the copy.

    `known` is `as_now` of `given`. Away from the folder that came back nothing else tells of them.
    """
    for old, new in zip(given, known, strict=True):
        if isinstance(old, Move) and isinstance(new, Move) and not old.made and old.id != new.id:
            yield old.src, old.id, new.id


def _objects(effect: Effect) -> list[tuple[bytes, Identity]]:
    """Where the objects of an effect stand that a copy may stand for. A `Drop` looks for its own."""
    if isinstance(effect, Move):
        return (
            [(effect.dst, effect.id)] if effect.made else [(effect.dst, effect.id), (effect.src, effect.id)]
        )
    if isinstance(effect, Mode):
        return [(effect.path, effect.id)]
    return [(effect.path, effect.new)] if isinstance(effect, Swap) else []


def _on_heirs(effect: Effect, heirs: Mapping[tuple[int, int], Identity]) -> Effect:
    if isinstance(effect, Move | Mode):
        return effect._replace(id=heirs.get(object_key(effect.id), effect.id))
    if isinstance(effect, Swap):
        return effect._replace(new=heirs.get(object_key(effect.new), effect.new))
    return effect


def make_movable(path: bytes, found: Stat, dst: bytes) -> tuple[Mode, ...]:
    """What the folder `found` needs before it is renamed to `dst`, in another folder, by its owner.

    The system rewrites `..` inside it then, and refuses that in a folder one may not write (EACCES).
    """
    if found.kind != "folder" or found.mode & 0o200:
        return ()
    stays = path.rpartition(b"/")[0] == dst.rpartition(b"/")[0]
    me = os.geteuid()
    if stays or me == 0 or found.uid != me:
        return ()
    return (Mode(path, identity(found), found.mode, found.mode | 0o200),)


def _never_came(before: Effect, effect: Effect, ground: Ground) -> bool:
    """True when `effect` is on an object that `before` was to bring there, and did not (or took back)."""
    return (
        isinstance(effect, Mode)
        and isinstance(before, Move)
        and before.dst == effect.path
        and not before.happened(ground)
    )


def _is_nowhere(effect: Effect, ground: Ground) -> bool:
    """True when `effect` made an object that is gone again."""
    if not isinstance(effect, Move) or not effect.made:
        return False
    return ground.look(effect.src) is None and not _is_at(ground, effect.dst, effect.id)


def _has_back(before: Effect, effect: Effect, ground: Ground) -> bool:
    """True when `before` made the name for `effect` free, and what stood there stands there again."""
    path = effect.paths()[-1]
    if isinstance(before, Move):
        return before.src == path and _is_at(ground, path, before.id)
    if isinstance(before, Drop) and before.path == path:
        return _is_at(ground, path, before.id) or ground.is_copy(path, before.copy, before.sha256)
    return False


def _is_at(ground: Ground, path: bytes, wanted: Identity) -> bool:
    found = ground.look(path)
    return found is not None and same_object(found, wanted)
