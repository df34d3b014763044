"""`fs.symlink`: make a symbolic link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from deskshell.files import names
from deskshell.kernel import room
from deskshell.kernel.action import Action, Example, Param, Prior
from deskshell.kernel.capability import FS_WRITE, Need, path_need
from deskshell.kernel.context import Context
from deskshell.kernel.ground import Ground
from deskshell.kernel.params import MORE, REPLACE, parent
from deskshell.kernel.summary import name
from deskshell.kernel.view import View
from deskshell.slotted import slotted


@slotted(frozen=True)
class FsSymlink(Action):
    """`path` becomes a link with the text `link`, which is neither resolved nor followed."""

    kind: ClassVar[str] = "fs.symlink"
    params: ClassVar[tuple[Param, ...]] = (
        Param("path", "path", "the link to make"),
        Param("target", "target", "what it points to, as it is written", attr="link"),
    )
    planned: ClassVar[tuple[Param, ...]] = (REPLACE, MORE)
    conflict_param: ClassVar[str] = "path"
    on_conflict: ClassVar[tuple[str, ...]] = ("refuse", "skip", "number", "replace")

    path: bytes
    link: bytes
    replace: bool = False
    more: tuple[bytes, ...] = ()

    def needs(self) -> Sequence[Need]:
        return [path_need(FS_WRITE, path) for path in self.touches()]

    def touches(self) -> Sequence[bytes]:
        return (self.path, *self.more)

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        return tuple(dict.fromkeys(parent(path) for path in self.touches()))

    def copies(self, ground: Ground) -> Sequence[room.Copy]:
        return room.of_hold(ground, self.path) if self.replace else ()

    def summary(self) -> str:
        return f"link {name(self.path)} → {names.shorten(names.show(self.link), 80)}"

    def target(self) -> bytes | str:
        return self.path

    def simulate(self, view: View, step: str) -> None:
        if self.replace:
            view.replace(self.path, "link", step, size=len(self.link))
        else:
            view.create(self.path, "link", step, size=len(self.link))
        if self.more:
            view.forget_seen(self.touches())

    def prepare(self, ctx: Context) -> Prior:
        if self.replace and ctx.look(self.path) is not None:
            ctx.replaceable(self.path)
            return Prior(ctx.hold(self.path) + ctx.create_link(self.path, self.link))
        return Prior(ctx.create_link(ctx.first_free(*self.touches()), self.link))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        yield Example({"a.txt": "a"}, {"path": "{root}/l", "target": "a.txt"})
        yield Example(
            {"d": None}, {"path": "{root}/d/caf\udce9", "target": "/caf\udce9\n"}, "bytes, dangling"
        )
        yield Example(
            {"a.txt": "a", "l": ("->", "old")},
            {"path": "{root}/l", "target": "a.txt", "replace": True},
            "over another link",
        )
        yield Example(
            {}, {"path": "{root}/l", "target": "a", "more": ["{root}/l (2)"]}, "with a further name"
        )
        yield Example({"a.txt": "a"}, {"path": "{root}/a.txt", "target": "b", "replace": True}, "over a file")
