"""`fs.compress`: an archive of a file or folder, read back and compared before the original goes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from deskshell.actions import _archive
from deskshell.errors import Conflict, ManifestError, PlanConflict, StepFailed
from deskshell.files import names, tree
from deskshell.files.identity import Stat
from deskshell.files.leases import is_being_written
from deskshell.kernel import room
from deskshell.kernel.action import Action, Example, Param, Prior
from deskshell.kernel.capability import FS_DELETE, FS_READ, FS_WRITE, Need, path_need
from deskshell.kernel.context import Context
from deskshell.kernel.effects import Effect, Move
from deskshell.kernel.ground import Ground
from deskshell.kernel.params import MORE, REPLACE, parent
from deskshell.kernel.summary import arrow
from deskshell.kernel.view import View
from deskshell.slotted import slotted

_BY_ENDING = ((b".tar.gz", "tar.gz"), (b".tgz", "tar.gz"), (b".gz", "gzip"), (b".zip", "zip"))


@slotted(frozen=True)
class FsCompress(Action):
    """`dst` becomes an archive of `src`; unless `keep` is true, `src` is then held.

    The archive keeps names from `src` on, modes and times. It holds files, folders and links; anything
    else in a folder refuses the step, and so does a file that a program still writes to. It is readable
    by nobody who may not read all that is in it.
    """

    kind: ClassVar[str] = "fs.compress"
    params: ClassVar[tuple[Param, ...]] = (
        Param("from", "path", "the file or folder to compress", attr="src"),
        Param("to", "path", "the archive to make", attr="dst"),
        Param(
            "format",
            "choice",
            "gzip (a file only), zip or tar.gz; by the ending of `to` when left out",
            required=False,
            choices=_archive.FORMATS,
        ),
        Param("keep", "bool", "leave the original where it is", required=False, default=False),
    )
    planned: ClassVar[tuple[Param, ...]] = (REPLACE, MORE)
    conflict_param: ClassVar[str] = "to"
    on_conflict: ClassVar[tuple[str, ...]] = ("refuse", "skip", "number", "replace")

    src: bytes
    dst: bytes
    format: str | None = None
    keep: bool = False
    replace: bool = False
    more: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if self.format is None and _by_ending(self.dst) is None:
            raise ManifestError(
                f"the ending of `{names.show(self.dst)}` names no format",
                hint='use .gz, .zip or .tar.gz, or set format = "…"',
            )

    @property
    def how(self) -> str:
        """The format, as given or by the ending."""
        return self.format or _by_ending(self.dst) or ""

    def needs(self) -> Sequence[Need]:
        gone = [] if self.keep else [path_need(FS_DELETE, self.src)]
        made = [path_need(FS_WRITE, path) for path in (self.dst, *self.more)]
        return [path_need(FS_READ, self.src), *made, *gone]

    def touches(self) -> Sequence[bytes]:
        return (self.src, self.dst, *self.more)

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        folders = [parent(path) for path in (self.dst, *self.more)]
        if not self.keep and not ground.can_hold(self.src):
            folders.append(parent(self.src))
        return tuple(dict.fromkeys(folders))

    def copies(self, ground: Ground) -> Sequence[room.Copy]:
        held = room.of_hold(ground, self.dst) if self.replace else []
        return held if self.keep else [*held, *room.of_hold(ground, self.src)]

    def summary(self) -> str:
        return f"compress {arrow(self.src, self.dst)}"

    def target(self) -> bytes | str:
        return self.dst

    def simulate(self, view: View, step: str) -> None:
        node = view.whole(self.src, step)
        if node.kind not in (("file",) if self.how == "gzip" else ("file", "folder")):
            raise PlanConflict(
                f"step `{step}`: `{names.show(self.src)}` is a {node.kind}, which {self.how} does not take",
                hint='a folder takes format "zip" or "tar.gz"' if node.kind == "folder" else "leave it out",
            )
        if self.replace and self.dst != self.src:
            view.need_replaceable(self.dst, step)
        else:
            view.need_free(self.dst, step)
        view.refuse_inside(self.src, self.dst, node, step)
        view.replace(self.dst, "file", step, size=None)
        if self.more:
            view.forget_seen((self.dst, *self.more))
        if not self.keep:
            view.remove(self.src, step)

    def prepare(self, ctx: Context) -> Prior:
        found = ctx.source(self.src)
        held: tuple[Effect, ...] = ()
        dst = self.dst
        if self.replace and self.dst != self.src and ctx.look(self.dst) is not None:
            ctx.replaceable(self.dst)
            held = ctx.hold(self.dst)
        else:
            dst = ctx.first_free(self.dst, *self.more)
        made, listing = self._make(ctx, found, dst)
        if self.keep:
            return Prior(held + made)
        return Prior(held + made + ctx.hold(self.src), {"listing": listing} if listing else {})

    def do(self, ctx: Context, prior: Prior) -> None:
        last = len(prior.effects) - 1
        ctx.act(prior.effects[:last])
        wanted = prior.facts.get("listing")
        # A folder's identity says nothing of what is in it, and only what is in the archive may go.
        if wanted is not None and tree.digest(ctx.ground.entries(self.src)) != wanted:
            raise Conflict(f"`{names.show(self.src)}` changed since it was compressed", path=self.src)
        ctx.act(prior.effects[last:])

    def _make(self, ctx: Context, found: Stat, dst: bytes) -> tuple[tuple[Effect, ...], str]:
        """Stage the archive and compare it; also the digest of the listing of a folder."""
        entries = ctx.ground.entries(self.src, whole=True)
        _refuse_special(self.src, entries)
        if not self.keep:
            _refuse_written(ctx.ground, self.src, entries)
        inside: list[_archive.Held] = []
        chunks = _archive.pack(self.how, _members(ctx.ground, self.src, entries), inside)
        if found.kind == "file":
            effects = ctx.create_like(dst, chunks, like=self.src)
        else:
            effects = ctx.create_file(dst, chunks, _narrowest(entries))
        (made,) = effects
        assert isinstance(made, Move)
        fd, _ = ctx.ground.open(made.src)
        with os.fdopen(fd, "rb") as file:
            if list(_archive.unpack(self.how, file)) != inside:
                raise StepFailed(f"the archive of `{names.show(self.src)}` differs from it when read back")
        if found.kind == "file":
            return effects, ""
        if ctx.ground.entries(self.src) != entries:
            raise StepFailed(
                f"`{names.show(self.src)}` changed while it was compressed",
                hint="try again when nothing writes to it any more",
            )
        return effects, tree.digest(entries)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        log = {"from": "{root}/app.log", "to": "{root}/app.log.gz"}
        folder = {"d/x": "x" * 3000, "d/in/y": "", "d/l": ("->", "../caf\udce9"), "d/none": None}
        yield Example({"app.log": "line\n" * 9000}, log)
        yield Example({"app.log": "x"}, {**log, "keep": True}, "the original kept")
        yield Example({"app.log": ""}, log, "an empty file")
        yield Example({"app.log": "x"}, {"from": "{root}/app.log", "to": "{root}/a.zip"}, "a file as zip")
        yield Example(folder, {"from": "{root}/d", "to": "{root}/d.zip"}, "a folder with a link as zip")
        yield Example(
            {**folder, "d/caf\udce9\n": "x"},
            {"from": "{root}/d", "to": "{root}/d.tgz"},
            "a folder with names that are not UTF-8",
        )
        yield Example(
            {"d": None}, {"from": "{root}/d", "to": "{root}/x", "format": "tar.gz"}, "an empty folder"
        )
        yield Example({"app.log": "x", "app.log.gz": "old"}, {**log, "replace": True}, "over a file")
        yield Example(
            {"app.log": "x", "app.log.gz": ("->", "old")}, {**log, "replace": True}, "over a dangling link"
        )
        yield Example({"app.log": "x"}, {**log, "more": ["{root}/app (2).log.gz"]}, "with a further name")


def _by_ending(path: bytes) -> str | None:
    lower = path.lower()
    return next((how for ending, how in _BY_ENDING if lower.endswith(ending)), None)


def _refuse_special(path: bytes, entries: Iterable[tree.Entry]) -> None:
    for entry in entries:
        if entry.kind not in ("file", "folder", "link"):
            where = path + b"/" + entry.path if entry.path else path
            raise StepFailed(
                f"`{names.show(where)}` is a {entry.kind}, which no archive brings back",
                hint="move it out of the folder first",
            )


def _refuse_written(ground: Ground, path: bytes, entries: Iterable[tree.Entry]) -> None:
    """A program that has a file open for writing would go on writing to what is held, where nobody looks."""
    for entry in entries:
        if entry.kind != "file":
            continue
        where = path + b"/" + entry.path if entry.path else path
        fd, _ = ground.open(where)
        try:
            if is_being_written(fd):
                raise StepFailed(
                    f"`{names.show(where)}` is open for writing in another program",
                    hint="rotate a log first, or set keep = true",
                )
        finally:
            os.close(fd)


def _narrowest(entries: Iterable[tree.Entry]) -> int:
    mode = 0o666
    for entry in entries:
        if entry.kind != "link":
            mode &= entry.mode | 0o600
    return mode


def _members(ground: Ground, path: bytes, entries: Iterable[tree.Entry]) -> Iterator[_archive.Member]:
    top = path.rpartition(b"/")[2]
    for entry in entries:
        at = path + b"/" + entry.path if entry.path else path
        yield _archive.Member(
            top + b"/" + entry.path if entry.path else top,
            entry.kind,
            entry.mode,
            entry.size,
            entry.mtime_ns,
            entry.target,
            partial(ground.chunks, at),
        )
