"""One action at a time on a real folder, without the transaction: a world, its ground, and where to cut.

A `World` has a folder for the user's files and one for the state. `recorded()` opens a ground that
notes what is changed and read; an effect goes through JSON before it acts, as it does in the journal.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from deskshell.files import copying, metadata, moving
from deskshell.files.scope import Places
from deskshell.kernel import effects
from deskshell.kernel.action import Action, Example, Prior
from deskshell.kernel.context import Context
from deskshell.kernel.ground import Ground
from deskshell.kernel.params import parent
from tests.support.listing import Entry, listing
from tests.support.trees import make_files

Listing = dict[str, Entry]
TEMPORARY = ".deskshell-"


class Cut(BaseException):
    """The process ends here, as far as the code under test can tell."""


class RecordingGround(Ground):
    """A ground that notes which paths of the user's tree it changed and whose content it read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.changed: list[bytes] = []
        self.read_from: list[bytes] = []

    def rename(self, src: bytes, dst: bytes) -> None:
        self.changed += [src, dst]
        super().rename(src, dst)

    def exchange(self, one: bytes, two: bytes) -> None:
        self.changed += [one, two]
        super().exchange(one, two)

    def drop_name(self, path: bytes) -> None:
        self.changed.append(path)
        super().drop_name(path)

    def remove(self, path: bytes) -> None:
        self.changed.append(path)
        super().remove(path)

    def set_mode(self, path: bytes, *args: Any) -> None:
        self.changed.append(path)
        super().set_mode(path, *args)

    def write(self, path: bytes, *args: Any, **kwargs: Any) -> Any:
        self.changed.append(path)
        return super().write(path, *args, **kwargs)

    def make_folder(self, path: bytes, *args: Any) -> Any:
        self.changed.append(path)
        return super().make_folder(path, *args)

    def make_link(self, path: bytes, *args: Any) -> Any:
        self.changed.append(path)
        return super().make_link(path, *args)

    def copy(self, src: bytes, dst: bytes, *args: Any) -> Any:
        self.changed.append(dst)
        self.read_from.append(src)
        return super().copy(src, dst, *args)

    def open(self, path: bytes) -> Any:
        self.read_from.append(path)
        return super().open(path)

    def read(self, path: bytes) -> Any:
        self.read_from.append(path)
        return super().read(path)

    def theirs(self, paths: list[bytes]) -> set[bytes]:
        """Those of `paths` that are the user's: no temporaries, nothing in the state folder."""
        return {
            path
            for path in paths
            if path.startswith(b"/") and TEMPORARY.encode() not in path.rsplit(b"/", 1)[1]
        }

    def staged_in(self) -> set[bytes]:
        """Folders in which it made or changed temporaries."""
        return {
            parent(path) for path in self.changed if path.rsplit(b"/", 1)[-1].startswith(TEMPORARY.encode())
        }


class World:
    """`root` is the user's folder, `state` deskshell's; they may lie on different file systems.

    `also` are further folders of the user's that are granted.
    """

    def __init__(self, root: Path, state: Path, *also: Path) -> None:
        self.root = root
        self.state = state
        self.also = also
        self._numbers = itertools.count()
        self.root.mkdir(parents=True)
        for name in ("held", "kept"):
            (state / name).mkdir(parents=True, mode=0o700)

    def fill(self, example: Example) -> None:
        """Make the example's files, with a time in the past, so that a time not kept is seen."""
        files = {
            name if content is not None else f"{name.rstrip('/')}/": content
            for name, content in example.files.items()
        }
        make_files(self.root, files, mtime=1_500_000_000.5)

    def path(self, name: str) -> bytes:
        """The path of `name` below the root."""
        return os.fsencode(self.root / name)

    def build(self, kind: type[Action], example: Example) -> Action:
        """The example's action, its paths and texts where this world lies."""
        types = {param.name: param.type for param in (*kind.params, *kind.planned)}
        return kind.build({name: self._value(types[name], value) for name, value in example.args.items()})

    def _value(self, kind: str, value: Any) -> Any:
        if kind == "paths":
            return tuple(self._value("path", each) for each in value)
        if not isinstance(value, str):
            return value
        text = value.replace("{root}", os.fspath(self.root))
        return os.fsencode(text) if kind in ("path", "target") else text

    @contextmanager
    def recorded(self) -> Iterator[RecordingGround]:
        """A fresh ground, as each process has one."""
        roots = [os.fsencode(path) for path in (self.root, *self.also)]
        places = Places(roots, forbidden=[os.fsencode(self.state)])
        ground = RecordingGround(
            places,
            held=os.fsencode(self.state / "held"),
            kept=os.fsencode(self.state / "kept"),
            key=lambda: b"k" * 32,
        )
        try:
            yield ground
        finally:
            ground.close()

    def listing(self, *, temporaries: bool = True) -> Listing:
        """The user's tree as it is; times of folders left out, which the transaction brings back."""
        return {
            name: dataclasses.replace(entry, mtime_ns=0) if entry.type == "folder" else entry
            for name, entry in listing(self.root).items()
            if temporaries or TEMPORARY not in name
        }

    def prepare(self, action: Action) -> Prior:
        """Prepare, sync what was staged, and let the result go through the journal's form."""
        with self.recorded() as ground:
            prior = action.prepare(context(ground, n=next(self._numbers)))
            ground.sync_staged()
        return journaled(prior)

    def do(self, action: Action, prior: Prior) -> None:
        """Act, with a ground of its own."""
        with self.recorded() as ground:
            action.do(context(ground), prior)
            ground.sync()

    def undo(self, action: Action, prior: Prior) -> bool:
        """Take back, with a ground of its own, as recovery would."""
        with self.recorded() as ground:
            anything = action.undo(context(ground), prior)
            ground.sync()
        return anything


def context(ground: Ground, secrets: Mapping[str, str] | None = None, *, n: int = 99) -> Context:
    """The context of step `n` of a task."""
    return Context(ground, task_id="task-1", n=n, token="cafe", secrets=secrets or {}, stop=lambda: None)


def journaled(prior: Prior) -> Prior:
    """`prior` as it comes back from the journal; it must be equal to what went in."""
    text = json.dumps([effect.to_json() for effect in prior.effects])
    back = tuple(effects.from_json(each) for each in json.loads(text))
    assert back == prior.effects
    facts = json.loads(json.dumps(dict(prior.facts)))
    assert facts == prior.facts
    return Prior(back, facts, prior.sha256)


#: The calls that change the disk while effects act or are taken back.
_CHANGES = (
    (moving, "rename"),
    (moving, "exchange"),
    (copying, "remove_object"),
    (copying, "copy_object"),
    (metadata, "set_mode_at"),
    (os, "unlink"),
)


@contextmanager
def cut_at(count: int, *, after: bool) -> Iterator[Callable[[], bool]]:
    """Raise Cut at the change number `count` (from 0): right before it, or right `after` it.

    Yields a function that says whether the cut came.
    """
    seen = 0

    def cutting(call: Callable[..., Any]) -> Callable[..., Any]:
        def change(*args: Any, **kwargs: Any) -> Any:
            nonlocal seen
            here, seen = seen, seen + 1
            if here == count and not after:
                raise Cut
            result = call(*args, **kwargs)
            if here == count:
                raise Cut
            return result

        return change

    with ExitStack() as stack:
        for module, name in _CHANGES:
            stack.enter_context(mock.patch.object(module, name, cutting(getattr(module, name))))
        yield lambda: seen > count
