"""Copies that took the place of dropped objects: the same content under the same name, yet other objects.

Where nothing can be held by rename (another file system), what was deleted comes back as a verified copy. Records of
earlier steps know the object that was; here they learn which copy stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from deskshell.files.identity import Identity, ObjectKey, Stat, identity, object_key, same_object
from deskshell.files.paths import is_within

Tell = Callable[[bytes, Identity, Identity], None]  # path, the object that was dropped, the copy


class Heirs:
    """Who stands for whom.

    `by_path` has the copies by the path at which they came back. `on_back` is told of each one that takes its
    place from now on. `ask` is called once, and only when something is not what it was: it tells (`know`) of
    those that came back in later tasks, the newest first.
    """

    def __init__(self) -> None:
        self.by_path: dict[bytes, Identity] = {}
        self.on_back: Tell | None = None
        self.ask: Callable[[Tell], None] | None = None
        self._copies: dict[ObjectKey, Identity] = {}
        self._stands_for: dict[ObjectKey, ObjectKey] = {}  # a copy → what was dropped

    def __bool__(self) -> bool:
        return bool(self.by_path) or self.ask is not None

    def take_place(self, path: bytes, dropped: Identity, copy: Identity) -> None:
        """`copy` takes the place of `dropped` at `path` now, whatever did before."""
        self.by_path[path] = self._copies[object_key(dropped)] = copy
        self._stands_for[object_key(copy)] = object_key(dropped)

    def know(self, path: bytes, dropped: Identity, copy: Identity) -> None:
        """`copy` once took the place of `dropped` at `path`; a newer one may be known to have."""
        self.by_path.setdefault(path, copy)
        self._copies.setdefault(object_key(dropped), copy)
        self._stands_for.setdefault(object_key(copy), object_key(dropped))

    def of(self, path: bytes, here: Stat, wanted: Identity) -> Identity:
        """What stands for the object `wanted`, of which `here` is looked at under the name `path`.

        The copy that took its place; what has its name, size and time in a folder that came back as a copy;
        or, mostly, itself.
        """
        if same_object(here, wanted):
            return wanted
        self._ask_once()
        copy = self._last_copy(wanted)
        if copy is not None and same_object(here, copy):
            return copy
        if _unchanged(here, wanted) and any(path != top and is_within(path, top) for top in self.by_path):
            return identity(here)
        return wanted

    def stands_for(self, copy: ObjectKey) -> Iterator[ObjectKey]:
        """The objects of which `copy` is the copy, or the copy of the copy, and so on."""
        self._ask_once()
        here: ObjectKey | None = copy
        for _ in self._stands_for:  # no more than there are, should the records go round in a circle
            here = self._stands_for.get(here) if here else None
            if here is None:
                return
            yield here

    def _ask_once(self) -> None:
        if self.ask is not None:
            ask, self.ask = self.ask, None
            ask(self.know)

    def _last_copy(self, of: Identity) -> Identity | None:
        """The copy of the copy of …; None when `of` never came back."""
        found = self._copies.get(object_key(of))
        for _ in self._copies:  # no more than there are, should the records go round in a circle
            further = None if found is None else self._copies.get(object_key(found))
            if further is None:
                break
            found = further
        return found


def _unchanged(here: Stat, wanted: Identity) -> bool:
    if here.kind != wanted.kind:
        return False
    return here.kind == "folder" or (here.size, here.mtime_ns) == (wanted.size, wanted.mtime_ns)
