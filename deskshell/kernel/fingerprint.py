"""The state that a plan was made for, and what of it has changed since (I8).

Compared as a whole (type, inode, birth time, size, modification and change time) is what a step reads,
moves, replaces or removes. A folder that merely contains a target is compared as an object only, for its
size and times change with every neighbour. What a step reads is hashed as well, and so is the listing of
a folder that goes away: neither shows in the identity of one object.
"""

from __future__ import annotations

from collections.abc import Iterable

from deskshell.errors import DeskshellError, PlanConflict
from deskshell.files import names, tree
from deskshell.files.identity import Identity, Stat, same_content, same_object, untouched
from deskshell.kernel.capability import FS_DELETE, FS_READ, PathTarget
from deskshell.kernel.ground import Ground
from deskshell.kernel.plan import Plan, Step
from deskshell.kernel.report import text

#: Paths with what their content was: sha256 hex of a file, `t:` or `l:` and the digest of a folder's listing.
Marks = tuple[tuple[bytes, str], ...]


def marks(plan: Plan, ground: Ground) -> Marks:
    """What the contents that the plan depends on are now: (path, mark), each path once.

    Raises PlanConflict when one cannot be read, Conflict, ScopeError.
    """
    found: dict[bytes, str] = {}
    touched = _Touched(plan)
    for step in plan.ordered():
        on_disk = {path: seen for path, seen in step.seen if not touched.before(step, path)}
        for need in step.action.needs():
            if not isinstance(need.target, PathTarget):
                continue
            path = need.target.path
            seen = on_disk.get(path)
            if seen is not None and path not in found:
                try:
                    mark = _mark(ground, path, seen.kind, need.capability)
                except OSError as exc:
                    raise PlanConflict(
                        f"step `{step.action_id}`: `{names.show(path)}` cannot be read: {text(exc)}",
                        hint="make it readable, or leave it out",
                    ) from exc
                if mark:
                    found[path] = mark
    return tuple(found.items())


def changes(plan: Plan, known: Marks, ground: Ground) -> list[str]:
    """Every difference between the disk and the state that `plan` was made for, a line each.

    `known` is what `marks` said then. Paths are escaped; each is named once.
    """
    found: dict[bytes, str] = {}
    touched = _Touched(plan)
    for step in plan.ordered():
        for path, wanted in step.seen or _to_be_made(step):
            if path in found or (wanted is not None and ground.is_still(path, wanted)):
                continue
            whole = wanted is not None and (path in step.action.touches() or path in _targets(step))
            difference = _difference(ground, path, wanted, whole=whole)
            if difference and not touched.before(step, path):
                found[path] = difference
    for path, mark in known:
        if path not in found:
            difference = _content_difference(ground, path, mark)
            if difference:
                found[path] = difference
    return list(found.values())


class _Touched:
    """Paths of earlier steps: at and below them a path leads elsewhere now than when its step acts and looks itself.

    They are taken in when that is asked: of a disk that is as it was, it never is.
    """

    def __init__(self, plan: Plan) -> None:
        self._steps = plan.ordered()
        self._next = next(self._steps, None)
        self._paths: set[bytes] = set()
        self._clear: set[bytes] = set()  # folders, and all above them, that are known to be no such path

    def before(self, step: Step, path: bytes) -> bool:
        """True at or below a path of a step before `step`; asked for the plan's steps in their order."""
        while self._next is not None and self._next is not step:
            self._add(self._next.action.touches())
            self._next = next(self._steps, None)
        return self._has(path)

    def _add(self, paths: Iterable[bytes]) -> None:
        for path in paths:
            self._paths.add(path)
            if path in self._clear:
                self._clear.clear()

    def _has(self, path: bytes) -> bool:
        if path in self._paths:
            return True
        folder = path.rpartition(b"/")[0]
        if folder in self._clear:
            return False
        passed = []
        while folder:
            if folder in self._paths:
                return True
            passed.append(folder)
            folder = folder.rpartition(b"/")[0]
        self._clear.update(passed)
        return False


def _to_be_made(step: Step) -> tuple[tuple[bytes, None], ...]:
    """An implied folder was not there when the plan was made, or it would be no step."""
    target = step.action.target()
    return ((target, None),) if step.implied and isinstance(target, bytes) else ()


def _targets(step: Step) -> set[bytes]:
    """Paths that the step itself acts on, as opposed to folders around them."""
    return {need.target.path for need in step.action.needs() if isinstance(need.target, PathTarget)}


def _mark(ground: Ground, path: bytes, kind: str, capability: str) -> str:
    if kind == "file":
        return ground.hash(path) if capability == FS_READ else ""
    if kind == "folder" and capability in (FS_READ, FS_DELETE):
        hashes = capability == FS_READ
        return ("t:" if hashes else "l:") + tree.digest(ground.entries(path, hashes=hashes))
    return ""


def _difference(ground: Ground, path: bytes, wanted: Identity | None, *, whole: bool) -> str:
    try:
        here = ground.look(path)
    except (DeskshellError, OSError) as exc:
        return f"`{names.show(path)}` cannot be looked at: {text(exc)}"
    if wanted is None:
        return "" if here is None else f"`{names.show(path)}` exists now; it did not when planned"
    if here is None:
        return f"`{names.show(path)}` is gone"
    if not whole:
        return "" if same_object(here, wanted) else f"`{names.show(path)}` is another {here.kind} now"
    return "" if untouched(here, wanted) else f"`{names.show(path)}` {_how(here, wanted)}"


def _how(here: Stat, wanted: Identity) -> str:
    if here.kind != wanted.kind:
        return f"is a {here.kind} now; it was a {wanted.kind}"
    if not same_object(here, wanted):
        return f"is another {here.kind} now"
    if here.kind != "folder" and here.size != wanted.size:
        return f"changed: {wanted.size:,} → {here.size:,} bytes"
    if not same_content(here, wanted) or here.mtime_ns != wanted.mtime_ns:
        return "was modified"
    return "was touched: its mode, owner, names or times changed"


def _content_difference(ground: Ground, path: bytes, mark: str) -> str:
    try:
        if mark.startswith(("t:", "l:")):
            entries = ground.entries(path, hashes=mark.startswith("t:"))
            same = mark[2:] == tree.digest(entries)
        else:
            same = mark == ground.hash(path)
    except (DeskshellError, OSError) as exc:
        return f"`{names.show(path)}` cannot be read: {text(exc)}"
    if same:
        return ""
    inside = "something inside" if mark.startswith(("t:", "l:")) else "the content of"
    return f"{inside} `{names.show(path)}` changed"
