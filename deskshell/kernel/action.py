"""The contract of an action on one page: one reversible change of one kind.

A new kind is one file in `actions/` with one subclass of `Action`. It says what it takes
(`params`: one field each, from which `build` and both JSON forms follow), what it
may touch (`needs`, `touches`), what it will make of the tree (`simulate`), and secures and
describes the change (`prepare`). Kinds that change files describe it as effects (`ctx.move`,
`ctx.create_file`, `ctx.hold`, `ctx.replace_file`, `ctx.set_mode`) and inherit `do` and `undo`; a
kind whose world is not the file system overrides both.

The order that the kernel keeps, for every step:

    prepare   looks, stages new objects under temporary names, secures what undo needs; the
              target does not change. What it returns is durable in the journal before `do` (I1).
    do        acts; compares identities again at the moment of acting (I7).
    undo      takes back; works twice in a row, after half a `do`, and after none (I9).

`tests/contract` tries all of this for every kind that the registry finds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from deskshell.kernel import params as convert
from deskshell.kernel.capability import Need
from deskshell.kernel.params import Param
from deskshell.kernel.prior import Prior
from deskshell.slotted import slotted

if TYPE_CHECKING:
    from deskshell.kernel.context import Context
    from deskshell.kernel.ground import Ground
    from deskshell.kernel.room import Copy
    from deskshell.kernel.view import View

__all__ = ["Action", "Example", "Param", "Prior", "Reversibility"]


class Reversibility(StrEnum):
    """What the kernel's own undo of a kind can promise."""

    EXACT = "exact"  # brings back the closed list of I6
    COMPENSATED = "compensated"  # only by a counter-action that the manifest gives
    NONE = "none"


@slotted(frozen=True)
class Example:
    """A small world for the contract suite: files to make, and arguments for `build`.

    `files` maps a relative name to text or bytes (a file), None (a folder), or ("->", target) (a link);
    `args` values may hold "{root}", which the suite replaces by the world's folder.
    """

    files: Mapping[str, Any]
    args: Mapping[str, Any]
    name: str = "plain"


class Action(ABC):
    """One reversible change. Subclasses are frozen and made of their fields (`slotted`); paths are bytes."""

    __slots__ = ()

    kind: ClassVar[str]
    reversibility: ClassVar[Reversibility] = Reversibility.EXACT
    #: The keys of a manifest, in the order of the fields.
    params: ClassVar[tuple[Param, ...]] = ()
    #: Fields that no manifest sets: `replace` and `more` carry out `on_conflict`, others come from `settled`.
    planned: ClassVar[tuple[Param, ...]] = ()
    #: The parameter whose name may be taken already; "" where there is no such thing.
    conflict_param: ClassVar[str] = ""
    #: The values of `on_conflict` that the kind knows, its default first.
    on_conflict: ClassVar[tuple[str, ...]] = ("refuse",)
    #: The effect cannot be read from the disk: a batch of its own, its result synced at once.
    alone: ClassVar[bool] = False
    #: What `target` names, for trees and counts: a "file", a "folder", the "same" as what it is made of, or ""
    #: where it is no path.
    makes: ClassVar[str] = "file"

    @classmethod
    def build(cls, args: Mapping[str, Any]) -> Self:
        """Make the action from manifest values, already rendered and of the types in `params`.

        Paths are bytes whose parent is resolved. Raises ManifestError for values that do not fit.
        """
        return convert.build(cls, args)

    def to_json(self) -> dict[str, Any]:
        """The values of `build` as JSON, for stored plans; paths as in `names.put_path`."""
        return convert.to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read `to_json`'s form. Raises ManifestError on anything else."""
        return convert.from_json(cls, data)

    @abstractmethod
    def needs(self) -> Sequence[Need]:
        """Every target read or written, with the capability that it takes."""

    @abstractmethod
    def touches(self) -> Sequence[bytes]:
        """Paths that this step changes or depends on; steps of one batch share none of them."""

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        """Folders in which `prepare` will make temporaries, known before it starts; changes nothing.

        The kernel records them first, so that recovery knows where to look for leftovers.
        """
        del ground
        return ()

    def copies(self, ground: Ground) -> Sequence[Copy]:
        """What it will have to copy, as the disk is now (`room.check` asks before the first change)."""
        del ground
        return ()

    def settled(self, view: View) -> Self:
        """The action with what only the view can tell filled in; the planner asks before `simulate`."""
        del view
        return self

    @abstractmethod
    def summary(self) -> str:
        """One line for people, such as ``move a.txt → docs/a.txt``; names escaped."""

    @abstractmethod
    def target(self) -> bytes | str:
        """The one path (or URL) that reports name for this step."""

    @abstractmethod
    def simulate(self, view: View, step: str) -> None:
        """Play the change on the planner's view, under the name `step`.

        Raises PlanConflict when the view does not allow it (source missing, target taken).
        """

    @abstractmethod
    def prepare(self, ctx: Context) -> Prior:
        """Look, stage, secure. Changes no target. Raises Conflict when the disk is not as planned."""

    def do(self, ctx: Context, prior: Prior) -> None:
        """Act out `prior.effects`. Raises Conflict when the disk changed since `prepare`."""
        ctx.act(prior.effects)

    def undo(self, ctx: Context, prior: Prior) -> bool:
        """Take back whatever part of `prior.effects` is on disk; True if there was anything."""
        return ctx.take_back(prior.effects)

    @classmethod
    @abstractmethod
    def examples(cls) -> Iterable[Example]:
        """Worlds for the contract suite: at least one, and one for each special case."""
