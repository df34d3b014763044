"""`fs.copy`: a verified copy of a file, a folder with all that is in it, or a link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from deskshell.errors import PlanConflict
from deskshell.files import names
from deskshell.kernel import room
from deskshell.kernel.action import Action, Example, Param, Prior
from deskshell.kernel.capability import FS_READ, FS_WRITE, Need, path_need
from deskshell.kernel.context import Context
from deskshell.kernel.ground import Ground
from deskshell.kernel.params import MORE, REPLACE, parent
from deskshell.kernel.summary import arrow
from deskshell.kernel.view import View
from deskshell.slotted import slotted

_COPIED = ("file", "folder", "link")


@slotted(frozen=True)
class FsCopy(Action):
    """`dst` becomes a copy of `src`, metadata included; or the first of `more` that is free does."""

    kind: ClassVar[str] = "fs.copy"
    makes: ClassVar[str] = "same"
    params: ClassVar[tuple[Param, ...]] = (
        Param("from", "path", "what to copy", attr="src"),
        Param("to", "path", "the path of the copy", attr="dst"),
    )
    planned: ClassVar[tuple[Param, ...]] = (REPLACE, MORE)
    conflict_param: ClassVar[str] = "to"
    on_conflict: ClassVar[tuple[str, ...]] = ("refuse", "skip", "number", "replace")

    src: bytes
    dst: bytes
    replace: bool = False
    more: tuple[bytes, ...] = ()

    def needs(self) -> Sequence[Need]:
        return [
            path_need(FS_READ, self.src),
            *(path_need(FS_WRITE, path) for path in (self.dst, *self.more)),
        ]

    def touches(self) -> Sequence[bytes]:
        return (self.src, self.dst, *self.more)

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        if self.replace and ground.look(self.dst) is not None and ground.can_hold(self.dst):
            return ()
        return tuple(dict.fromkeys(parent(path) for path in (self.dst, *self.more)))

    def copies(self, ground: Ground) -> Sequence[room.Copy]:
        held = room.of_hold(ground, self.dst) if self.replace else []
        return [*held, room.Copy(self.src, self.dst, asked=True)]

    def summary(self) -> str:
        return f"copy {arrow(self.src, self.dst)}"

    def target(self) -> bytes | str:
        return self.dst

    def simulate(self, view: View, step: str) -> None:
        kind = view.source(self.src, step).kind
        if kind not in _COPIED:
            raise PlanConflict(
                f"step `{step}`: `{names.show(self.src)}` is a {kind}, which has no content to copy",
                hint="leave it out, or move it",
            )
        view.copy(self.src, self.dst, step, replace=self.replace)
        if self.more:
            view.forget_seen((self.dst, *self.more))

    def prepare(self, ctx: Context) -> Prior:
        if self.replace and ctx.look(self.dst) is not None:
            return Prior(ctx.replace_copy(self.src, self.dst))
        return Prior(ctx.create_copy(self.src, ctx.first_free(self.dst, *self.more)))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        to_b = {"from": "{root}/a.txt", "to": "{root}/b.txt"}
        yield Example({"a.txt": "a" * 5000}, to_b)
        yield Example({"a.txt": ""}, to_b, "an empty file")
        yield Example({"a.txt": ("->", "/nowhere")}, to_b, "a dangling link")
        yield Example(
            {"d/x": "x", "d/in/y": "y", "d/hard": ("=", "d/x"), "d/link": ("->", "x"), "d/pipe": ("|",)},
            {"from": "{root}/d", "to": "{root}/e"},
            "a folder with links and a fifo",
        )
        yield Example({"d": None}, {"from": "{root}/d", "to": "{root}/e"}, "an empty folder")
        yield Example(
            {"caf\udce9.txt": "x"},
            {"from": "{root}/caf\udce9.txt", "to": "{root}/-\udcff\n"},
            "names that are not UTF-8",
        )
        yield Example({"a.txt": "a", "b.txt": "b"}, {**to_b, "replace": True}, "over a file")
        yield Example(
            {"d/x": "x", "b": "b"},
            {"from": "{root}/d", "to": "{root}/b", "replace": True},
            "a folder over a file",
        )
        yield Example({"a.txt": "a"}, {**to_b, "more": ["{root}/b (2).txt"]}, "with a further name")
