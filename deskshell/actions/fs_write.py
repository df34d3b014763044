"""`fs.write`: a file with the content given; one that is there already is replaced, and kept for undo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from deskshell.errors import ManifestError, PlanConflict
from deskshell.files import names
from deskshell.kernel import room
from deskshell.kernel.action import Action, Example, Param, Prior
from deskshell.kernel.capability import FS_READ, FS_WRITE, Need, path_need
from deskshell.kernel.context import Context
from deskshell.kernel.ground import Ground
from deskshell.kernel.params import MORE, REPLACE, parent
from deskshell.kernel.secrets import SecretText
from deskshell.kernel.summary import name
from deskshell.kernel.view import View
from deskshell.slotted import field, slotted


@slotted(frozen=True)
class FsWrite(Action):
    """`path` gets the content of exactly one of `text`, `data` (given as base64) and the file `src`.

    A new file has mode 0666 less the umask, or 0600 when the text holds a secret; a replaced one keeps
    owner, mode, ACL and xattrs but for setuid and setgid. `mode` says otherwise.
    """

    kind: ClassVar[str] = "fs.write"
    params: ClassVar[tuple[Param, ...]] = (
        Param("path", "path", "the file to write"),
        Param("text", "template", "its content as text", required=False),
        Param("base64", "bytes", "its content as base64", required=False, attr="data"),
        Param("from_file", "path", "a file to take the content from", required=False, attr="src"),
        Param("mode", "mode", 'permission bits, octal, such as "0644"', required=False),
    )
    planned: ClassVar[tuple[Param, ...]] = (REPLACE, MORE)
    conflict_param: ClassVar[str] = "path"
    on_conflict: ClassVar[tuple[str, ...]] = ("replace", "refuse", "skip", "number")

    path: bytes
    text: SecretText | None = None
    data: bytes | None = field(default=None, repr=False)
    src: bytes | None = None
    mode: int | None = None
    replace: bool = False
    more: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.text, self.data, self.src)) != 1:
            raise ManifestError("`fs.write` needs one of `text`, `base64` and `from_file`")

    def needs(self) -> Sequence[Need]:
        reads = [] if self.src is None else [path_need(FS_READ, self.src)]
        return [*(path_need(FS_WRITE, path) for path in (self.path, *self.more)), *reads]

    def touches(self) -> Sequence[bytes]:
        return (self.path, *self.more, *(() if self.src is None else (self.src,)))

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        if self.replace and ground.look(self.path) is not None and ground.can_hold(self.path):
            return ()
        return tuple(dict.fromkeys(parent(path) for path in (self.path, *self.more)))

    def copies(self, ground: Ground) -> Sequence[room.Copy]:
        held = room.of_hold(ground, self.path) if self.replace else []
        return held if self.src is None else [*held, room.Copy(self.src, self.path, asked=True)]

    def summary(self) -> str:
        return f"write {name(self.path)}"

    def target(self) -> bytes | str:
        return self.path

    def simulate(self, view: View, step: str) -> None:
        size = self._size(view, step)
        if self.replace:
            view.replace(self.path, "file", step, size=size)
        else:
            view.create(self.path, "file", step, size=size)
        if self.more:
            view.forget_seen((self.path, *self.more))

    def _size(self, view: View, step: str) -> int | None:
        """Bytes that will be written, as far as that is known without secrets."""
        if self.src is not None:
            node = view.source(self.src, step)
            if node.kind != "file":
                raise PlanConflict(
                    f"step `{step}`: `{names.show(self.src)}` is a {node.kind}, not a file",
                    hint="`from_file` takes a regular file; links are not followed",
                )
            return node.size
        return len(self.data if self.data is not None else _text(self).masked().encode())

    def prepare(self, ctx: Context) -> Prior:
        content: bytes | SecretText | Iterable[bytes]
        if self.src is not None:
            ctx.source(self.src)
            content = ctx.ground.chunks(self.src)
        else:
            content = self.data if self.data is not None else _text(self)
        if self.replace and ctx.look(self.path) is not None:
            return Prior(ctx.replace_file(self.path, content, self.mode))
        return Prior(ctx.create_file(ctx.first_free(self.path, *self.more), content, self.mode))

    @classmethod
    def examples(cls) -> Iterable[Example]:
        to_a = {"path": "{root}/a.txt"}
        yield Example({}, {**to_a, "text": "hello\n"})
        yield Example({}, {**to_a, "text": ""}, "an empty file")
        yield Example({}, {**to_a, "base64": "AP/+gA=="}, "bytes")
        yield Example({"b": "x" * 5000}, {**to_a, "from_file": "{root}/b"}, "another file's content")
        yield Example({}, {"path": "{root}/caf\udce9\n", "text": "é"}, "a name that is not UTF-8")
        yield Example({}, {**to_a, "text": "x", "mode": "0640"}, "with a mode")
        yield Example({"a.txt": "old"}, {**to_a, "text": "new", "replace": True}, "over a file")
        yield Example({"a.txt": ""}, {**to_a, "text": "new", "replace": True}, "over an empty file")
        yield Example({"a.txt": "same"}, {**to_a, "text": "same", "replace": True}, "over the same content")
        yield Example(
            {"a.txt": "old"}, {**to_a, "text": "x", "mode": "0600", "replace": True}, "over, with a mode"
        )
        yield Example(
            {"keep": "k", "a.txt": ("->", "keep")}, {**to_a, "text": "x", "replace": True}, "over a link"
        )
        yield Example(
            {"keep": "k", "a.txt": ("=", "keep")}, {**to_a, "text": "x", "replace": True}, "over a hard link"
        )
        yield Example({"a.txt": "a"}, {**to_a, "from_file": "{root}/a.txt", "replace": True}, "over itself")
        yield Example({}, {**to_a, "text": "x", "more": ["{root}/a (2).txt"]}, "with a further name")


def _text(action: FsWrite) -> SecretText:
    assert action.text is not None  # one of the three is given
    return action.text
