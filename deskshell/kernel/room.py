"""Room for the copies that a plan has to make where a rename cannot help, looked at before its first change.

A copy is made when something goes to another file system, when what is deleted or replaced cannot be held by
rename, and when a step asks for one. Only the last may be of any size: the others are limited by `max_copy`,
for nobody expects a deletion to fill the disk.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from deskshell.errors import PlanRefused
from deskshell.files import names
from deskshell.slotted import NamedTuple

if TYPE_CHECKING:
    from deskshell.files import copying
    from deskshell.kernel.ground import Ground
    from deskshell.kernel.plan import Plan

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

    Or when a copy would part the names of a file, and what it is made of then goes.

    What an earlier step will have made is not there to be measured; its own copying is.

    Raises PlanRefused, naming what is too large, for where, and the way out.
    """
    wanted: dict[int, int] = {}
    for step in plan.ordered():
        for copy in step.action.copies(ground):
            size, parted = _measure(ground, copy.src)
            if parted and not copy.asked:
                _refuse_parting(copy.src)
            if size > max_copy and not copy.asked:
                _refuse(copy, f"{_shown(size)}, more than `max_copy` ({_shown(max_copy)})")
            device, free = ground.free_bytes(copy.to)
            wanted[device] = wanted.get(device, 0) + size
            if wanted[device] > free * _SHARE:
                _refuse(copy, f"{_shown(wanted[device])} in all, and {_shown(free)} are free there")


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
