"""What a transaction works off: steps going forward (a run) or backward (undo, redo).

Both are the same to the transaction: something with a number that is prepared, acted out, and taken
back by its effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from deskshell.errors import Conflict, StepFailed
from deskshell.files.identity import Identity
from deskshell.kernel import record
from deskshell.kernel.context import Context
from deskshell.kernel.effects import Drop, Effect, Move
from deskshell.kernel.ground import Ground
from deskshell.kernel.inverse import Inverter, Sight, plain_inverse
from deskshell.kernel.prior import Prior
from deskshell.kernel.report import Left, show_target
from deskshell.slotted import NamedTuple

if TYPE_CHECKING:
    from deskshell.kernel.action import Action
    from deskshell.kernel.plan import Step


class Item(Protocol):
    """One numbered unit of work; see `Forward` and `Backward`."""

    n: int
    action_id: str
    kind: str

    @property
    def summary(self) -> str:
        """What the step does, in a line."""

    @property
    def alone(self) -> bool:
        """Its effect cannot be read from the disk: a batch of its own, synced at once."""

    def touches(self) -> Sequence[bytes]:
        """Paths that it changes or depends on."""

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        """Folders in which `prepare` makes temporaries."""

    def check(self, ctx: Context) -> None:
        """Compare the disk with what this was planned for. Raises Conflict."""

    def prepare(self, ctx: Context) -> Prior:
        """Look, stage, secure; change nothing."""

    def do(self, ctx: Context, prior: Prior) -> None:
        """Act."""

    def confirm(self, ctx: Context) -> None:
        """Raise StepFailed when a post-condition does not hold."""

    def take_back(self, ctx: Context, prior: Prior) -> bool:
        """Undo what is on disk of it; True if there was anything."""

    def intent(self, ts: int, task_id: str, prior: Prior) -> str:
        """The journal line before acting."""

    def result(self, ts: int, task_id: str, prior: Prior, ctx: Context) -> str | None:
        """The journal line after acting; None when it is written later, as a range."""

    def left(self, reason: str) -> Left:
        """How a report names this when it remains."""


class Forward:
    """A step of a plan, being done."""

    __slots__ = ("_reversible", "action_id", "alone", "kind", "n", "step")

    def __init__(self, step: Step) -> None:
        self.step = step
        self.n = step.n
        self.action_id = step.action_id
        self.kind = step.action.kind
        self.alone = step.action.alone
        self._reversible = step.reversible

    @property
    def summary(self) -> str:
        return self.step.action.summary()

    def touches(self) -> Sequence[bytes]:
        return self.step.action.touches()

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        return self.step.action.staged_in(ground)

    def check(self, ctx: Context) -> None:
        ctx.check_seen(self.step.seen)

    def prepare(self, ctx: Context) -> Prior:
        prior = self.step.action.prepare(ctx)
        ctx.check_rest()
        return prior

    def do(self, ctx: Context, prior: Prior) -> None:
        self.step.action.do(ctx, prior)

    def confirm(self, ctx: Context) -> None:
        for assertion in self.step.terms.asserts:
            problem = assertion.check(ctx)
            if problem is not None:
                raise StepFailed(f"post-condition failed: {problem}")

    def take_back(self, ctx: Context, prior: Prior) -> bool:
        return self.step.action.undo(ctx, prior)

    def intent(self, ts: int, task_id: str, prior: Prior) -> str:
        extra: dict[str, Any] = {}
        if prior.facts:
            extra["facts"] = dict(prior.facts)
        if not prior.effects and self.step.action.alone:
            extra["args"] = _outside(self.step.action)
        if self.step.terms.compensation is not None and self._reversible:
            extra["undo"] = compensation_form(self.step.terms.compensation)
        return record.intent(
            ts,
            task_id,
            self.n,
            self.action_id,
            self.kind,
            prior.effects,
            reversible=self._reversible,
            extra=extra,
        )

    def result(self, ts: int, task_id: str, prior: Prior, ctx: Context) -> str | None:
        undo: str | None = None
        if self._reversible:
            given = self.step.terms.compensation
            if given is None:
                undo = record.undo_text(prior.effects)
            else:
                undo = record.object_text(compensation_form(given))
        extra: dict[str, Any] = {}
        if ctx.outcome:
            extra["outcome"] = dict(ctx.outcome)
        if ctx.not_kept:
            extra["notKept"] = list(ctx.not_kept)
        return record.result(
            ts,
            task_id,
            self.n,
            self.action_id,
            self.kind,
            self.summary,
            undo,
            sha256=prior.sha256 or _content_of(prior.effects),
            ctime_ns=None if ctx.left is None else ctx.left.ctime_ns,
            extra=extra,
        )

    def left(self, reason: str) -> Left:
        return Left(self.action_id, self.step.action.target(), reason)


class Backing(NamedTuple):
    """What the entries of one undo or redo have in common.

    `of` is the task that they are about, `redo` says that its undo is taken back, `half` is as in
    `inverse.Inverter`; `sight` is None where they are only to
    be told of; `free` refuses an entry (Conflict) for the sake of others; `done` is told once it has acted.
    """

    of: str
    sight: Sight | None
    redo: bool
    half: bool
    force: bool
    kinds: Mapping[str, type[Action]]
    free: Callable[[Backward], None]
    done: Callable[[Backward, Sequence[Effect]], None]


class Backward:
    """A recorded step, being taken back (by an undo) or put back (by a redo).

    `line` is the intent that describes it as it is on disk; `turn` counts from the step that is taken back
    first; `summary` is the original step's; `ctime_ns` and `unsure` as in `walk.Recorded`.
    """

    __slots__ = (
        "_args", "_backing", "_brought", "_ctime_ns", "_effects", "_final", "_undo", "_unknown", "_unsure",
        "action_id", "kind", "n", "notes", "summary", "turn",
    )  # fmt: skip

    def __init__(
        self,
        line: Mapping[str, Any],
        backing: Backing,
        turn: int,
        *,
        summary: str,
        ctime_ns: int | None,
        unsure: bool,
    ) -> None:
        self.n = int(line["n"])
        self.action_id = str(line["actionId"])
        self.kind = str(line["kind"])
        self.turn = turn
        self.summary = summary
        self.notes: Sequence[str] = ()
        self._backing = backing
        self._ctime_ns = ctime_ns
        self._unsure = unsure
        self._brought: Sequence[tuple[bytes, Identity, Identity]] = ()
        # Not the line itself: a thousand of them are held until their batch is done.
        self._effects = record.read_effects(line)
        self._undo = line.get("undo")
        self._args = line.get("args")
        self._final = bool(line.get("irreversible"))
        self._unknown = bool(line.get("unknown"))

    @property
    def alone(self) -> bool:
        return self._undo is not None

    @property
    def target(self) -> bytes | str:
        """The path or URL that a report names."""
        for effect in self._effects:
            paths = effect.paths()
            if paths:
                return paths[-1] if len(paths) > 1 else paths[0]
        return str((self._args or {}).get("url", ""))

    def touches(self) -> Sequence[bytes]:
        return [path for effect in self._effects for path in effect.paths()]

    def stands_at(self) -> list[bytes]:
        """The paths at which what it did stands, without temporary names."""
        return [
            path for effect in self._effects for path in effect.paths() if path not in effect.temporaries()
        ]

    def staged_in(self, ground: Ground) -> Sequence[bytes]:
        """The folders of what cannot be renamed between tree and holding: copies are staged there."""
        force = self._backing.force
        return [
            path.rpartition(b"/")[0]
            for effect in self._effects
            if force or type(effect) is not Move or effect.made  # else it goes back by rename, or not at all
            for path in effect.paths()
            if isinstance(effect, Drop) or not ground.can_hold(path)
        ]

    def look_ahead(self) -> Sequence[Effect]:
        """What taking back would do; stages nothing. Raises Conflict with the verdict."""
        self._refuse_early()
        effects = self._inverse("check", None)
        self._sight.need_permission(effects)
        return effects

    @property
    def _sight(self) -> Sight:
        assert self._backing.sight is not None
        return self._backing.sight

    def _inverse(self, task_id: str, ctx: Context | None) -> tuple[Effect, ...]:
        """The effects that take this back. Raises Conflict with the verdict."""
        plain = plain_inverse(self._effects, self._sight, self._ctime_ns)
        if plain is not None:
            return (plain,)
        half, force = self._backing.half, self._backing.force
        inverter = Inverter(self._sight, task_id=task_id, n=self.n, force=force, half=half, ctx=ctx)
        effects = inverter.invert(self._effects)
        self.notes, self._brought = inverter.notes, inverter.brought
        return tuple(effects)

    def check(self, ctx: Context) -> None:
        self._refuse_early()

    def _refuse_early(self) -> None:
        if self._final and self._backing.redo:
            raise Conflict("a counter-action undid it, which cannot be taken back", verdict="no-undo")
        if self._final:
            raise Conflict("this step cannot be undone", verdict="no-undo")
        if self._unknown:
            raise Conflict("it is not known whether this was done", verdict="failed")
        if self._unsure and not self._backing.force:
            raise Conflict(
                "its counter-action may have been sent, no result was recorded; `--force` sends it once more",
                verdict="failed",
            )
        self._backing.free(self)

    def prepare(self, ctx: Context) -> Prior:
        if self._undo is not None:
            return self._compensation().prepare(ctx)
        return Prior(self._inverse(ctx.task_id, ctx))

    def do(self, ctx: Context, prior: Prior) -> None:
        if self._undo is not None:
            self._compensation().do(ctx, prior)
        else:
            ctx.act(prior.effects)

    def confirm(self, ctx: Context) -> None:
        """An undo has no post-conditions: acting compares identities itself."""

    def take_back(self, ctx: Context, prior: Prior) -> bool:
        return ctx.take_back(prior.effects)

    def intent(self, ts: int, task_id: str, prior: Prior) -> str:
        extra: dict[str, Any] = {}
        if self._undo is not None:
            extra["args"] = _outside(self._compensation())
        if self._brought:
            extra["back"] = [record.back_form(*each) for each in self._brought]
        return record.intent(
            ts,
            task_id,
            self.n,
            self.action_id,
            self.kind,
            prior.effects,
            reversible=self._undo is None,
            summary=self.summary,
            extra=extra,
        )

    def result(self, ts: int, task_id: str, prior: Prior, ctx: Context) -> str | None:
        self._backing.done(self, prior.effects)
        if self._undo is None:
            return None  # the disk shows it, and the undo's end says it for all
        return record.steps_status(ts, self._backing.of, (self.n, self.n), "rolled-back", task_id)

    def redone(self, ts: int, of: str, by: str, effects: Sequence[Effect]) -> str:
        """The line for the original step once a redo has put it back: a new `ok`, a new undo."""
        return record.result(
            ts,
            of,
            self.n,
            self.action_id,
            self.kind,
            self.summary,
            record.undo_text(effects),
            extra={"by": by},
        )

    def left(self, reason: str) -> Left:
        return Left(self.action_id, self.target, reason)

    @property
    def compensates(self) -> bool:
        """True when taking back means a counter-action that the manifest gave."""
        return self._undo is not None

    def _compensation(self) -> Action:
        given = dict(self._undo or {})
        kind = self._backing.kinds.get(str(given.pop("kind", "")))
        if kind is None:
            raise Conflict("the counter-action's kind is not known here", verdict="failed")
        return kind.from_json(given)


def compensation_form(action: Action) -> dict[str, Any]:
    """A counter-action as a journal line has it: its kind and arguments, secrets as references."""
    return {"kind": action.kind, **action.to_json()}


def _content_of(effects: Sequence[Effect]) -> str | None:
    """The mark of the content that a step left, without the place of a folder's listing."""
    for effect in effects:
        found = getattr(effect, "sha256", None)
        if found:
            return str(found).partition("@")[0]
    return None


def _outside(action: Action) -> dict[str, str]:
    """What an intent keeps of an action beyond the file system: where it goes, never what it sends."""
    return {"url": show_target(action.target())}
