"""`fs.delete`: take a file, a folder with all that is in it, or a link away, into holding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from deskshell.kernel import room
from deskshell.kernel.action import Action, Example, Param, Prior
from deskshell.kernel.capability import FS_DELETE, Need, path_need
from deskshell.kernel.context import Context
from deskshell.kernel.ground import Ground
from deskshell.kernel.params import parent
from deskshell.kernel.summary import name
from deskshell.kernel.view import View
from deskshell.slotted import slotted


@slotted(frozen=True)
class FsDelete(Action):
    """`path` goes. It is held by rename, or where that cannot be, after a verified copy was kept."""

    kind: ClassVar[str] = "fs.delete"
    params: ClassVar[tuple[Param, ...]] = (Param("path", "path", "what to delete"),)

    path: bytes

    def needs(self) -> Sequence[Need]:
        return [path_need(FS_DELETE, self.path)]

    def touches(self) -> Sequence[bytes]:
        return (self.path,)

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        return () if ground.can_hold(self.path) else (parent(self.path),)

    def copies(self, ground: Ground) -> Sequence[room.Copy]:
        return room.of_hold(ground, self.path)

    def summary(self) -> str:
        return f"delete {name(self.path)}"

    def target(self) -> bytes | str:
        return self.path

    def simulate(self, view: View, step: str) -> None:
        view.remove(self.path, step)

    def prepare(self, ctx: Context) -> Prior:
        return Prior(ctx.hold(self.path))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example({"a.txt": "a"}, {"path": "{root}/a.txt"})
        yield Example({"a.txt": ""}, {"path": "{root}/a.txt"}, "an empty file")
        yield Example({"d": None}, {"path": "{root}/d"}, "an empty folder")
        yield Example(
            {
                "keep/k": "k",
                "d/x": "x",
                "d/link": ("->", "../keep"),
                "d/pipe": ("|",),
                "d/hard": ("=", "keep/k"),
            },
            {"path": "{root}/d"},
            "a folder with links and a fifo",
        )
        yield Example({"keep/k": "k", "l": ("->", "keep")}, {"path": "{root}/l"}, "a link to a folder")
        yield Example({"caf\udce9\n": "x"}, {"path": "{root}/caf\udce9\n"}, "a name that is not UTF-8")
        yield Example({"pipe": ("|",)}, {"path": "{root}/pipe"}, "a fifo")
