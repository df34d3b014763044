"""The tree as the steps planned so far will leave it: disk below, planned changes above.

The planner reads the tree only through a `View`, so that selectors see what earlier steps will have
done, and chains, swaps and colliding targets are found before anything happens. The view also
remembers what it saw on disk for each step (`take_seen`): the state a plan was made for (I8).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn, TypeAlias

from deskshell.errors import PlanConflict
from deskshell.files import names
from deskshell.files.identity import stat_path
from deskshell.files.paths import is_within
from deskshell.kernel.seen import Packed, Seen, Sight, Size, bytes_of, kind_of, linked, pack
from deskshell.slotted import NamedTuple


class Node(NamedTuple):
    """One object in the view.

    `sized` is what it is on disk, or how big it will be where it is not there yet (None: not known);
    `origin` is the path at which its bytes can be read from disk now, None for what a step will make; `by`
    is the step that put it here, None for what stands on disk.
    """

    kind: str
    sized: Size | None
    origin: bytes | None
    by: str | None = None

    @property
    def id(self) -> Packed | None:
        """What it is on disk, None for what is not there yet."""
        return None if isinstance(self.sized, int) else self.sized

    @property
    def size(self) -> int | None:
        """Bytes; None when that is not known before it is made."""
        return None if self.sized is None else bytes_of(self.sized)


class Entry(NamedTuple):
    """One name in a folder: `kind` is file, folder, link or special (fifo, socket, device).

    `origin` and `node` as in `Node` (`node` is None for what stands on disk as it is); `ino` is a
    folder's inode number, 0 when not known.
    """

    name: bytes
    kind: str
    origin: bytes | None
    node: Node | None
    ino: int


Change: TypeAlias = Node | Seen | str
"""What a path stands for after the planned steps: an object, or none since the step of this id took it away.

A file that was merely moved is what its step has seen and keeps anyway: there may be a hundred thousand of them.
"""


class View:
    """A folder tree as planned. Paths are absolute bytes whose parents are resolved."""

    def __init__(self) -> None:
        self._over: dict[bytes, dict[bytes, Change]] = {}  # folder → path in it → what is planned for it
        self._folders_made: list[tuple[bytes, bool]] = []
        self._early: set[bytes] = set()
        self._read_whole: dict[bytes, None] = {}  # folders that a step reads with all that is in them
        self._standing: set[bytes] = set()  # folders that are there, till one changes
        self._seen: dict[bytes, Seen] = {}
        self._traces: dict[
            bytes, tuple[bytes | None, str | None]
        ] = {}  # `_trace` of folders, till one changes

    # looking

    def look(self, path: bytes) -> Node | None:
        """The object at `path` (a link is the link), or None."""
        parent, _, name = path.rpartition(b"/")
        over = self._over.get(parent)
        planned = None if over is None else over.get(path)
        if planned is not None:
            return _object(planned)
        if not self._over:
            return self._from_disk(path, path, None)
        origin, by = self._trace(parent)
        if origin is None:
            return None
        return self._from_disk(path, path if origin == parent else origin + b"/" + name, by)

    def exists(self, path: bytes) -> bool:
        """True when anything, a dangling link included, has this name."""
        return self.look(path) is not None

    def is_folder(self, path: bytes) -> bool:
        """True for a folder (not for a link to one)."""
        node = self.look(path)
        return node is not None and node.kind == "folder"

    def origin_of(self, folder: bytes) -> bytes | None:
        """Where the entries of `folder` stand on disk now; None when it is not on disk yet, or gone."""
        return self._trace(folder)[0]

    def _trace(self, folder: bytes) -> tuple[bytes | None, str | None]:
        """`origin_of`, and the step that will have copied the entries from there, if one will."""
        known = self._traces.get(folder)
        if known is None:
            known = self._traces[folder] = self._trace_up(folder)
        return known

    def _trace_up(self, folder: bytes) -> tuple[bytes | None, str | None]:
        if not folder:
            return b"", None
        parent, _, name = folder.rpartition(b"/")
        node = self._over.get(parent, {}).get(folder)
        if node is not None:
            if not isinstance(node, Node) or node.kind != "folder":
                return None, None
            return node.origin, node.by if node.id is None else None
        above, by = self._trace(parent)
        return (None if above is None else above + b"/" + name), by

    def names_of(self, node: Node) -> int:
        """How many names the object has on disk; 1 for what is not there yet."""
        found = stat_path(node.origin) if node.origin is not None and node.id is not None else None
        return 1 if found is None else found.nlink

    def entries(self, folder: bytes) -> Iterator[Entry]:
        """What is directly in `folder`, in no order and without looking at each: for selectors.

        Nothing when there is no such folder. Raises OSError (EACCES) when it cannot be read.
        """
        folder = folder.rstrip(b"/")
        over = self._over.get(folder, {})
        origin, by = self._trace(folder)
        for path, planned in over.items():
            node = _object(planned)
            if node is not None:
                yield Entry(path.rpartition(b"/")[2], node.kind, node.origin, node, 0)
        if origin is None:
            return
        try:
            listing = os.scandir(origin or b"/")
        except (FileNotFoundError, NotADirectoryError):
            return
        with listing:
            for entry in listing:
                name = entry.name
                if over and folder + b"/" + name in over:
                    continue
                where = origin + b"/" + name
                copied = self._from_disk(None, where, by) if by else None  # comes along with a copy
                if entry.is_file(follow_symlinks=False):
                    yield Entry(name, "file", where, copied, 0)
                elif entry.is_dir(follow_symlinks=False):
                    yield Entry(name, "folder", where, copied, entry.inode())
                else:
                    yield Entry(name, "link" if entry.is_symlink() else "special", where, copied, 0)

    def _from_disk(self, path: bytes | None, origin: bytes, by: str | None) -> Node | None:
        found = stat_path(origin)
        packed = None if found is None else pack(found)
        if path is not None and not by and path not in self._seen:
            self._seen[path] = Seen(path, packed)
        if found is None or packed is None:
            return None
        return Node(found.kind, found.size if by else packed, origin, by)  # a copy is another

    def take_seen(self) -> Sequence[Sight]:
        """What was looked at on disk since the last call: the state that a step is planned for."""
        seen = linked(self._seen.values())
        self._seen.clear()
        return seen

    def forget_seen(self, paths: Iterable[bytes]) -> None:
        """Leave `paths` out of the state that the plan is made for: the step takes them as it finds them."""
        for path in paths:
            self._seen.pop(path, None)

    # changing

    def create(self, path: bytes, kind: str, step: str, *, size: int | None = 0) -> None:
        """A new object at `path`, of `size` bytes (None: not known yet); its parents are made when missing.

        Raises PlanConflict when taken.
        """
        self.need_free(path, step)
        self.need_parent(path, step)
        self._put(path, Node(kind, size, None, step), kind == "folder")

    def replace(self, path: bytes, kind: str, step: str, *, size: int | None = 0) -> None:
        """Another object at `path`, where there may be one already (not a folder); `size` None: not known yet."""
        self.need_replaceable(path, step)
        self.need_parent(path, step)
        self._put(path, Node(kind, size, None, step), kind == "folder")

    def copy(self, src: bytes, dst: bytes, step: str, *, replace: bool = False) -> None:
        """A copy of `src`, with all that is in it, at `dst`.

        Raises PlanConflict (source missing, target taken or inside the source).
        """
        node = self.whole(src, step)
        if replace:
            self.need_replaceable(dst, step)
        else:
            self.need_free(dst, step)
        self.refuse_inside(src, dst, node, step)
        self.need_parent(dst, step)
        self._put(dst, _copied(node, step), node.kind == "folder")
        if node.kind == "folder":
            self._copy_below(src, dst, step)

    def move(self, src: bytes, dst: bytes, step: str, *, replace: bool = False) -> None:
        """`src` gets the name `dst`. Raises PlanConflict (source missing, target taken or inside)."""
        node = self.source(src, step)
        if replace and dst != src:
            self.need_replaceable(dst, step)
        else:
            self.need_free(dst, step)
        kind, sized, origin, _ = node
        is_folder = kind == "folder"
        if is_folder:
            self.refuse_inside(src, dst, node, step)
        self.need_parent(dst, step)
        if is_folder and self._parted(node, dst):
            sized = 0
        self._put(src, step, is_folder)
        seen = self._seen.get(src)
        if seen is not None and seen.found is sized and origin == src and not is_folder:
            seen.mover = step
            self._put(dst, seen, is_folder)
        else:  # written out: `_replace` takes longer than all the rest of this
            self._put(dst, Node(kind, sized, origin, step), is_folder)
        if is_folder:
            self._rekey(src, dst)

    def _parted(self, node: Node, dst: bytes) -> bool:
        """True when what moves to `dst` gets to another file system: a copy, of which all in it are other objects."""
        folder, here = dst, None if node.origin is None else stat_path(node.origin)
        while here is not None and folder:
            folder = folder.rpartition(b"/")[0]
            origin = self.origin_of(folder)
            around = None if origin is None else stat_path(origin or b"/")
            if around is not None:
                return around.dev != here.dev
        return False

    def remove(self, path: bytes, step: str) -> Node:
        """`path` goes away; returns what it was. Raises PlanConflict when there is nothing."""
        node = self.look(path)
        if node is None:
            self._missing(path, step)
        is_folder = node.kind == "folder"
        self._put(path, step, is_folder)
        if is_folder:
            self._drop_below(path)
        return node

    def change(self, path: bytes, step: str) -> Node:
        """`path` stays and changes in itself (mode, content); returns it. Raises PlanConflict."""
        node = self.look(path)
        if node is None:
            self._missing(path, step)
        self._put(path, node._replace(by=step), node.kind == "folder")
        return node

    def source(self, path: bytes, step: str) -> Node:
        """The object that `step` reads at `path`. Raises PlanConflict when there is none."""
        node = self.look(path)
        if node is None:
            self._missing(path, step)
        return node

    def whole(self, path: bytes, step: str) -> Node:
        """The object that `step` reads at `path` with all that is in it. Raises PlanConflict when there is none."""
        node = self.source(path, step)
        if node.kind == "folder":
            self._read_whole[path] = None
        return node

    def need_free(self, path: bytes, step: str) -> None:
        """Raise TargetTaken when anything has the name `path`."""
        taken = self.look(path)
        if taken is not None:
            self._taken(path, taken, step)

    def need_replaceable(self, path: bytes, step: str) -> None:
        """Raise PlanConflict when `path` is there and neither a file nor a link."""
        taken = self.look(path)
        if taken is not None and taken.kind not in ("file", "link"):
            raise PlanConflict(
                f"step `{step}`: `{names.show(path)}` is a {taken.kind}, which is not replaced",
                hint="only files and links are; move it away first, or choose another target",
            )

    def need_parent(self, path: bytes, step: str) -> None:
        """Plan the missing folders above `path`, shallowest first (see `take_folders`).

        Raises PlanConflict when something that is no folder stands in the way.
        """
        parent = path.rpartition(b"/")[0]
        if not parent or parent in self._standing:
            return
        node = self.look(parent)
        if node is None:
            self._seen.pop(parent, None)  # that it is free is looked at again by the step that makes it
            self.need_parent(parent, step)
            above = parent.rpartition(b"/")[0]
            free = parent not in self._over.get(above, ())  # the disk, no planned change, says so
            early = free and (above in self._early or self.origin_of(above) == above)
            early = early and not any(is_within(parent, whole) for whole in self._read_whole)
            if early:
                self._early.add(parent)
            self._put(parent, Node("folder", 0, None, step), True)
            self._folders_made.append((parent, early))
        elif node.kind != "folder":
            raise PlanConflict(
                f"step `{step}`: `{names.show(parent)}` is a {node.kind}, not a folder",
                hint="choose another target",
            )
        else:
            self._standing.add(parent)  # asked for once a folder, not once a step

    def take_folders(self) -> Sequence[tuple[bytes, bool]]:
        """Folders planned by `need_parent` since the last call, parents first.

        With each: True when no earlier step has to act before it can be made.
        """
        if not self._folders_made:
            return ()
        made, self._folders_made = self._folders_made, []
        return made

    def drop_spelling(self, path: bytes) -> None:
        """`path` is only another spelling of a name that a step gives up (folders that fold case)."""
        self._put(path, "", True)

    # helpers

    def refuse_inside(self, src: bytes, dst: bytes, node: Node, step: str) -> None:
        """Refuse to put a folder into itself (F39)."""
        if node.kind == "folder" and dst.startswith(src + b"/"):
            raise PlanConflict(
                f"step `{step}`: `{names.show(dst)}` lies inside `{names.show(src)}` itself",
                hint="choose a target outside the folder",
            )

    def _put(self, path: bytes, planned: Change, is_folder: bool) -> None:
        """`is_folder` says that a folder comes, goes or changes there, for that moves what is below it."""
        parent = path.rpartition(b"/")[0]
        over = self._over.get(parent)
        if over is None:
            over = self._over[parent] = {}
        over[path] = planned
        if is_folder:
            self._traces.clear()
            self._standing.clear()

    def _rekey(self, src: bytes, dst: bytes) -> None:
        below = src + b"/"
        self._forget_early(src)
        for parent in [each for each in self._over if each == src or each.startswith(below)]:
            inner = self._over.pop(parent)
            self._over.setdefault(dst + parent[len(src) :], {}).update(
                {dst + path[len(src) :]: each for path, each in inner.items()}
            )

    def _copy_below(self, src: bytes, dst: bytes, step: str) -> None:
        """What earlier steps will have done inside `src` comes along with its copy."""
        for parent, inner in list(self._over.items()):
            if parent == src or parent.startswith(src + b"/"):
                self._over[dst + parent[len(src) :]] = {
                    dst + path[len(src) :]: each if (node := _object(each)) is None else _copied(node, step)
                    for path, each in inner.items()
                }

    def _forget_early(self, path: bytes) -> None:
        """What is made there from now on belongs to another folder, which cannot be made before this step."""
        self._early = {each for each in self._early if not is_within(each, path)}

    def _drop_below(self, path: bytes) -> None:
        below = path + b"/"
        self._forget_early(path)
        for parent in [each for each in self._over if each == path or each.startswith(below)]:
            del self._over[parent]

    def _missing(self, path: bytes, step: str) -> NoReturn:
        by = self._over.get(path.rpartition(b"/")[0], {}).get(path)
        why = f": step `{by}` has moved or removed it" if by else ""
        raise PlanConflict(
            f"step `{step}`: `{names.show(path)}` does not exist{why}",
            hint="two rules may name the same file; change one of them" if by else "check the path",
        )

    def _taken(self, path: bytes, node: Node, step: str) -> NoReturn:
        by = f", put there by step `{node.by}`" if node.by else ""
        raise TargetTaken(
            f"step `{step}`: `{names.show(path)}` exists already (a {node.kind}{by})",
            hint='nothing is overwritten by default; set on_conflict = "number", "skip" or "replace"',
            path=path,
            by=node.by,
        )


def _object(planned: Change) -> Node | None:
    """The object that a path will stand for, None where there will be none."""
    if type(planned) is Seen and planned.found is not None:
        return Node(kind_of(planned.found), planned.found, planned.path, planned.mover)
    return planned if type(planned) is Node else None


def _copied(node: Node, step: str) -> Node:
    """What a copy that `step` makes of `node` will be."""
    return Node(node.kind, node.size, node.origin, step)


class TargetTaken(PlanConflict):
    """A target's name is in use; `by` is the step that will have put something there, if one did."""

    def __init__(self, message: str, *, hint: str, path: bytes, by: str | None) -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.by = by
