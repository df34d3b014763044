"""`log.rotate`: give a log the first free of five archive names, and start a new, empty one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from deskshell.errors import PlanConflict
from deskshell.files import names
from deskshell.kernel.action import Action, Example, Param, Prior
from deskshell.kernel.capability import FS_WRITE, Need, path_need
from deskshell.kernel.context import Context
from deskshell.kernel.ground import Ground
from deskshell.kernel.params import parent
from deskshell.kernel.summary import arrow, name
from deskshell.kernel.view import View
from deskshell.slotted import replace, slotted

_NUMBERS = range(2, 7)  # app.log.2 … app.log.6


@slotted(frozen=True)
class LogRotate(Action):
    """`path` becomes `archive`; a new, empty file with the same owner, mode and ACL takes its name.

    Archives are never removed: with all five names taken the plan is refused. A program that has the
    log open goes on writing into the archive, so no line is lost.
    """

    kind: ClassVar[str] = "log.rotate"
    params: ClassVar[tuple[Param, ...]] = (Param("path", "path", "the log to rotate"),)
    planned: ClassVar[tuple[Param, ...]] = (
        Param("archive", "path", "the archive's path", required=False, default=None),
    )

    path: bytes
    archive: bytes | None = None

    def archives(self) -> tuple[bytes, ...]:
        """The paths it may give to the old log, in the order of trying."""
        if self.archive is not None:
            return (self.archive,)
        return tuple(self.path + b".%d" % number for number in _NUMBERS)

    def needs(self) -> Sequence[Need]:
        return [path_need(FS_WRITE, path) for path in self.touches()]

    def touches(self) -> Sequence[bytes]:
        return (self.path, *self.archives())

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        return (parent(self.path),)

    def settled(self, view: View) -> LogRotate:
        free = next((path for path in self.archives() if not view.exists(path)), None)
        return self if free is None else replace(self, archive=free)

    def summary(self) -> str:
        if self.archive is None:
            return f"rotate {name(self.path)}"
        return f"rotate {arrow(self.path, self.archive)}"

    def target(self) -> bytes | str:
        return self.path

    def simulate(self, view: View, step: str) -> None:
        node = view.source(self.path, step)
        if node.kind != "file":
            raise PlanConflict(
                f"step `{step}`: `{names.show(self.path)}` is a {node.kind}, not a file",
                hint="a link is not followed; name the log itself",
            )
        settled = self.settled(view)
        if settled.archive is None:
            last = self.archives()[-1]
            raise PlanConflict(
                f"step `{step}`: all five archive names are taken, up to `{names.show(last)}`",
                hint="archives are never deleted here; move one away first",
            )
        view.move(self.path, settled.archive, step)
        view.create(self.path, "file", step)

    def prepare(self, ctx: Context) -> Prior:
        archive = ctx.first_free(*self.archives())
        return Prior(ctx.move(self.path, archive) + ctx.create_like(self.path, b"", like=self.path))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        path = {"path": "{root}/app.log"}
        yield Example({"app.log": "one\ntwo\n"}, path)
        yield Example({"app.log": ""}, path, "an empty log")
        yield Example({"app.log": "3", "app.log.2": "2", "app.log.3": "1"}, path, "the first free name")
        yield Example({"caf\udce9.log": "x"}, {"path": "{root}/caf\udce9.log"}, "a name that is not UTF-8")
