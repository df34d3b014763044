"""Room for the copies that a plan has to make where a rename cannot help, looked at before its first change.

A copy is made when something goes to another file system, when what is deleted or replaced cannot be held by
rename, and when a step asks for one. Only the last may be of any size: the others are limited by `max_copy`,
for nobody expects a deletion to fill the disk.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import closing as closes
from contextlib import suppress
from typing import TYPE_CHECKING

from deskshell.errors import Conflict, PlanRefused, ScopeError
from deskshell.files import names
from deskshell.kernel.capability import path_roots
from deskshell.slotted import NamedTuple

if TYPE_CHECKING:
    from deskshell.files import copying
    from deskshell.kernel.desk import Desk
    from deskshell.kernel.ground import Ground
    from deskshell.kernel.plan import Plan, Step

MAX_COPY = 10 << 30
_SHARE = 0.95  # of the free space: other programs need some, too
KEPT = b"kept:"


class Copy(NamedTuple):
    """One copy to come: of `src`, to the folder of `to` (or `KEPT`); `asked` when the step is about copying."""

    src: bytes
    to: bytes
    asked: bool = False


def of_move(ground: Ground, src: bytes, dst: bytes) -> list[Copy]:
    """What moving `src` to `dst` copies."""
    return [] if ground.renameable(src, dst) else [Copy(src, dst)]


def of_hold(ground: Ground, path: bytes) -> list[Copy]:
    """What taking the object at `path` away copies, if there is one."""
    return [] if ground.can_hold(path) or ground.look(path) is None else [Copy(path, KEPT)]


def check(plan: Plan, ground: Ground, max_copy: int) -> None:
    """Refuse `plan` when a copy is larger than `max_copy` bytes, or all of them than the free space less 5 %.

    Or when a copy would part the names of a file, and what it is made of then goes; or when it has no place to
    be made in (`check_places`).

    What an earlier step will have made is not there to be measured; its own copying is.

    Raises PlanRefused, naming what is too large, for where, and the way out.
    """
    wanted: dict[int, int] = {}
    roots = {anchor.root for anchor in ground.places.anchors}
    for step in plan.ordered():
        _refuse_apart(step, ground, roots)
        for copy in step.action.copies(ground):
            size, parted = _measure(ground, copy.src)
            if parted and not copy.asked:
                _refuse_parting(copy.src)
            if size > max_copy and not copy.asked:
                _refuse(copy, f"{_shown(size)}, more than `max_copy` ({_shown(max_copy)})")
            device, free = ground.free_bytes(copy.to)
            wanted[device] = wanted.get(device, 0) + size
            if free is not None and wanted[device] > free * _SHARE:
                _refuse(copy, f"{_shown(wanted[device])} in all, and {_shown(free)} are free there")


def check_places(plan: Plan, desk: Desk) -> None:
    """Refuse `plan` when a step would make a new object where nothing may be made. Changes nothing.

    A path that is granted alone gets what is new from holding, since its folder is not granted: by rename, and
    that leads to no other file system. Raises PlanRefused, naming the path and the way out.
    """
    roots = path_roots(plan.declared)
    steps = [step for step in plan.ordered() if any(path in roots for path in step.action.touches())]
    if not steps:
        return
    with suppress(Conflict, ScopeError, OSError), closes(desk.ground(roots)) as ground:  # a run says these
        for step in steps:
            _refuse_apart(step, ground, roots)


def _refuse_apart(step: Step, ground: Ground, roots: Collection[bytes]) -> None:
    for path in step.action.touches():
        if path not in roots:
            continue
        folder = path.rpartition(b"/")[0]
        if (
            ground.may_stage_in(folder)
            or ground.can_hold(path)
            or folder not in step.action.staged_in(ground)
        ):
            continue
        raise PlanRefused(
            f"`{names.show(path)}` is granted alone, and its folder is on another file system than the state folder",
            status="refused",
            hint="grant its folder, or set DESKSHELL_HOME to a folder on that file system",
        )


def _measure(ground: Ground, path: bytes) -> copying.Measured:
    """What is at `path`, with all below it; nothing when nothing is there (yet)."""
    from deskshell.files import copying  # most plans copy nothing

    try:
        return copying.measure(*ground.at(path))
    except (FileNotFoundError, NotADirectoryError):
        return copying.Measured(0, False)


def _refuse_parting(path: bytes) -> None:
    raise PlanRefused(
        f"`{names.show(path)}` has files with other names elsewhere (hard links), which a copy to another file "
        "system would part",
        status="refused",
        hint="copy it instead, or stay within its file system (DESKSHELL_HOME says where undo data is)",
    )


def _refuse(copy: Copy, why: str) -> None:
    src = names.show(copy.src)
    if copy.to == KEPT:
        raise PlanRefused(
            f"`{src}` cannot be held by rename on its file system, and a copy for undo takes {why}",
            status="refused",
            hint="put the state folder on that file system (DESKSHELL_HOME), free some space, or raise `max_copy`",
        )
    raise PlanRefused(
        f"`{src}` has to be copied to `{names.show(os.path.dirname(copy.to))}`, which takes {why}",
        status="refused",
        hint="choose a target on the same file system, free some space there, or raise `max_copy` in the config file",
    )


def _shown(size: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024 * 10:
            return f"{size:,} {unit}"
        size //= 1024
    return f"{size:,} GiB"
