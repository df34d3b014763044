"""`fs.mkdir`: make a folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from deskshell.kernel.action import Action, Example, Param, Prior
from deskshell.kernel.capability import FS_WRITE, Need, path_need
from deskshell.kernel.context import Context
from deskshell.kernel.ground import Ground
from deskshell.kernel.params import parent
from deskshell.kernel.summary import name
from deskshell.kernel.view import View
from deskshell.slotted import slotted


@slotted(frozen=True)
class FsMkdir(Action):
    """A new, empty folder at `path`. Undo removes it when it is empty again, and only then."""

    kind: ClassVar[str] = "fs.mkdir"
    makes: ClassVar[str] = "folder"
    params: ClassVar[tuple[Param, ...]] = (Param("path", "path", "the folder to make"),)
    conflict_param: ClassVar[str] = "path"
    on_conflict: ClassVar[tuple[str, ...]] = ("refuse", "skip")

    path: bytes

    def needs(self) -> Sequence[Need]:
        return [path_need(FS_WRITE, self.path)]

    def touches(self) -> Sequence[bytes]:
        return (self.path,)

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        return (parent(self.path),)

    def summary(self) -> str:
        return f"make folder {name(self.path)}"

    def target(self) -> bytes | str:
        return self.path

    def simulate(self, view: View, step: str) -> None:
        view.create(self.path, "folder", step)

    def prepare(self, ctx: Context) -> Prior:
        return Prior(ctx.create_folder(self.path))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example({"a.txt": "a"}, {"path": "{root}/docs"})
        yield Example({"d/x": "x"}, {"path": "{root}/d/caf\udce9\n"}, "a name that is not UTF-8")
