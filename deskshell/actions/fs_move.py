"""`fs.move`: give a file, a folder or a link another path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from deskshell.kernel import room
from deskshell.kernel.action import Action, Example, Param, Prior
from deskshell.kernel.capability import FS_WRITE, Need, path_need
from deskshell.kernel.context import Context
from deskshell.kernel.ground import Ground
from deskshell.kernel.params import MORE, REPLACE, parent
from deskshell.kernel.summary import arrow
from deskshell.kernel.view import View
from deskshell.slotted import slotted


@slotted(frozen=True)
class FsMove(Action):
    """`src` gets the path `dst`, or the first of `more` that is free when `dst` is taken.

    Within a file system nothing is read: whatever it is, a rename does it. To another one a verified
    copy is made, and only then the source goes.
    """

    kind: ClassVar[str] = "fs.move"
    makes: ClassVar[str] = "same"
    params: ClassVar[tuple[Param, ...]] = (
        Param("from", "path", "what to move", attr="src"),
        Param("to", "path", "its new path", attr="dst"),
    )
    planned: ClassVar[tuple[Param, ...]] = (REPLACE, MORE)
    conflict_param: ClassVar[str] = "to"
    on_conflict: ClassVar[tuple[str, ...]] = ("refuse", "skip", "number", "replace")

    src: bytes
    dst: bytes
    replace: bool = False
    more: tuple[bytes, ...] = ()

    def needs(self) -> Sequence[Need]:
        needs = [path_need(FS_WRITE, self.src), path_need(FS_WRITE, self.dst)]
        return [*needs, *[path_need(FS_WRITE, path) for path in self.more]] if self.more else needs

    def touches(self) -> Sequence[bytes]:
        return (self.src, self.dst, *self.more)

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        if not ground.renameable(self.src, self.dst):
            return (parent(self.src), parent(self.dst))
        return (parent(self.dst),) if self.replace and not ground.can_hold(self.dst) else ()

    def copies(self, ground: Ground) -> Sequence[room.Copy]:
        held = room.of_hold(ground, self.dst) if self.replace else []
        return [*held, *room.of_move(ground, self.src, self.dst)]

    def summary(self) -> str:
        return f"move {arrow(self.src, self.dst)}"

    def target(self) -> bytes | str:
        return self.dst

    def simulate(self, view: View, step: str) -> None:
        view.move(self.src, self.dst, step, replace=self.replace)
        if self.more:
            view.forget_seen((self.dst, *self.more))

    def prepare(self, ctx: Context) -> Prior:
        if self.replace and self.src != self.dst and ctx.look(self.dst) is not None:
            ctx.replaceable(self.dst)
            return Prior(ctx.hold(self.dst) + ctx.move(self.src, self.dst))
        return Prior(ctx.move(self.src, ctx.first_free(self.dst, *self.more)))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        to_b = {"from": "{root}/a.txt", "to": "{root}/b.txt"}
        yield Example({"a.txt": "a", "docs": None}, {"from": "{root}/a.txt", "to": "{root}/docs/a.txt"})
        yield Example({"a.txt": ""}, to_b, "an empty file")
        yield Example({"a.txt": ("->", "nowhere")}, to_b, "a dangling link")
        yield Example(
            {"d/x": "x", "d/in/y": "y"}, {"from": "{root}/d", "to": "{root}/e"}, "a folder with all in it"
        )
        yield Example(
            {"caf\udce9\n.txt": "x"},
            {"from": "{root}/caf\udce9\n.txt", "to": "{root}/-\udcff"},
            "names that are not UTF-8",
        )
        yield Example({"a.txt": "a", "b.txt": "b"}, {**to_b, "replace": True}, "over a file")
        yield Example({"a.txt": "a", "b.txt": ("->", "a.txt")}, {**to_b, "replace": True}, "over a link")
        yield Example({"a.txt": "a"}, {**to_b, "replace": True}, "replacing what is not there")
        yield Example(
            {"a.txt": "a"}, {**to_b, "more": ["{root}/b (2).txt"]}, "with a further name that is not needed"
        )
