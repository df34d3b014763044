"""Grouping steps into batches, so that many steps need few syncs.

A batch is a run of independent steps: no path of one is a path, an ancestor or a descendant of a path
of another. Parents that exist may be shared. A dependent step opens the next batch, because its
`prepare` must see what the steps before it left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deskshell.kernel.item import Item

MAX_STEPS = 2000  # what one sync of intents covers; also what is prepared ahead and held in memory


def split(items: Iterable[Item], most: int = MAX_STEPS) -> Iterator[list[Item]]:
    """Yield `items` in order, in batches of at most `most` independent ones."""
    batch: list[Item] = []
    taken = _Taken()
    for item in items:
        paths = tuple(item.touches())
        if batch and (item.alone or len(batch) == most or taken.meets(paths)):
            yield batch
            batch, taken = [], _Taken()
        batch.append(item)
        if item.alone:
            yield batch
            batch, taken = [], _Taken()
        else:
            taken.add(paths)
    if batch:
        yield batch


class _Taken:
    """Paths of a batch, and all folders above them."""

    def __init__(self) -> None:
        self._paths: set[bytes] = set()
        self._above: set[bytes] = set()
        self._clear: set[bytes] = set()  # folders known to have no batch path at or above them

    def meets(self, paths: tuple[bytes, ...]) -> bool:
        """True when one of `paths` is, contains or lies in a path of the batch."""
        for path in paths:
            if path in self._paths or path in self._above:
                return True
            folder = path.rpartition(b"/")[0]
            if folder not in self._clear and self._lies_in(folder):
                return True
        return False

    def _lies_in(self, folder: bytes) -> bool:
        here = folder
        while here:
            if here in self._paths:
                return True
            here = here.rpartition(b"/")[0]
        # A path added later is not in `_above`, so it never is one of these folders: the answer stays.
        self._clear.add(folder)
        return False

    def add(self, paths: tuple[bytes, ...]) -> None:
        """Take `paths` (which `meets` found free) into the batch."""
        for path in paths:
            self._paths.add(path)
            above = path.rpartition(b"/")[0]
            while above and above not in self._above:
                self._above.add(above)
                above = above.rpartition(b"/")[0]
        if not self._above.isdisjoint(paths):  # a step with a path inside another of its own
            self._clear.clear()
