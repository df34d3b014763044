"""`fs.chmod`: set the permission bits of a file or folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from deskshell.errors import PlanConflict
from deskshell.files import names
from deskshell.kernel.action import Action, Example, Param, Prior
from deskshell.kernel.capability import FS_WRITE, Need, path_need
from deskshell.kernel.context import Context
from deskshell.kernel.summary import name
from deskshell.kernel.view import View
from deskshell.slotted import slotted


@slotted(frozen=True)
class FsChmod(Action):
    """The object at `path` gets the permission bits `mode`. It must have one name only.

    A file's other name may lie outside the scope, and a link has no mode of its own.
    """

    kind: ClassVar[str] = "fs.chmod"
    params: ClassVar[tuple[Param, ...]] = (
        Param("path", "path", "the file or folder"),
        Param("mode", "mode", 'permission bits, octal, such as "0644"'),
    )

    path: bytes
    mode: int

    def needs(self) -> Sequence[Need]:
        return [path_need(FS_WRITE, self.path)]

    def touches(self) -> Sequence[bytes]:
        return (self.path,)

    def summary(self) -> str:
        return f"set mode of {name(self.path)} to {self.mode:04o}"

    def target(self) -> bytes | str:
        return self.path

    def simulate(self, view: View, step: str) -> None:
        node = view.change(self.path, step)
        if node.kind == "link":
            raise PlanConflict(
                f"step `{step}`: `{names.show(self.path)}` is a link, which has no mode of its own",
                hint="name what it points to, inside the scope",
            )
        if node.kind != "folder" and (count := view.names_of(node)) > 1:
            raise PlanConflict(
                f"step `{step}`: `{names.show(self.path)}` has {count} names, of which another "
                "may lie outside the scope",
                hint="replace it by a copy first",
            )

    def prepare(self, ctx: Context) -> Prior:
        return Prior(ctx.set_mode(self.path, self.mode))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example({"a.txt": "a"}, {"path": "{root}/a.txt", "mode": "0600"})
        yield Example({"a.sh": "a"}, {"path": "{root}/a.sh", "mode": "4755"}, "setuid")
        yield Example({"a.txt": "a"}, {"path": "{root}/a.txt", "mode": "0000"}, "nothing allowed")
        yield Example({"d/x": "x"}, {"path": "{root}/d", "mode": "0555"}, "a folder")
        yield Example(
            {"caf\udce9": ""}, {"path": "{root}/caf\udce9", "mode": "0640"}, "a name that is not UTF-8"
        )
        yield Example({"pipe": ("|",)}, {"path": "{root}/pipe", "mode": "0600"}, "a fifo, never opened")
