"""The tables of a manifest in order, and moves that are meant to happen at once (F05)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from deskshell.errors import DeskshellError, PlanConflict
from deskshell.files import names
from deskshell.skills import moves
from deskshell.skills.builder import Builder, Skipped
from deskshell.skills.naming import Values
from deskshell.skills.rendering import CompiledStep, Rendered
from deskshell.skills.select import World, select
from deskshell.skills.subject import Subject

_MOVE = "fs.move"
_TOLD_EVERY = 100
T = TypeVar("T")


class Sequencer:
    """Goes through the tables of a manifest in order."""

    def __init__(self, steps: Sequence[CompiledStep], values: Values, world: World, builder: Builder) -> None:
        self._steps = steps
        self._values = values
        self._world = world
        self._builder = builder

    def run(self) -> None:
        """Plan all tables. Raises PlanConflict and whatever selectors and templates raise."""
        at = 0
        while at < len(self._steps):
            step = self._steps[at]
            if step.spec.action == _MOVE:
                at += self._moves(at)
                continue
            for item in self._told(self._items(step)):
                self._add(item)
            at += 1

    def _items(self, step: CompiledStep) -> list[Rendered]:
        """The actions of one table, over the tree as the steps so far will leave it."""
        for_each = step.spec.for_each
        subjects = [Subject()] if for_each is None else select(for_each, self._values, self._world, step.name)
        items = [_named(step, subject) for subject in _consume(subjects)]
        if len(items) > 1 and step.one_target:
            one, two = items[0].action_id, items[1].action_id
            target = items[0].args[step.kind.conflict_param]
            raise PlanConflict(
                f"steps `{one}` and `{two}` have one target, `{names.show(target)}`",
                hint="end it with a slash to mean the folder, or name each with {file.name} or {n}",
            )
        return items

    def _add(self, item: Rendered, *, hop: bytes | None = None, from_hop: bool = False) -> None:
        try:
            self._builder.add(item, hop=hop, from_hop=from_hop)
        except Skipped as skipped:
            self._world.notes.add(skipped.reason, skipped.path)

    def _told(self, items: list[Rendered]) -> Iterator[Rendered]:
        """Each item in turn, given up by the list, and who watches is told of every hundred."""
        progress = self._world.progress
        progress.start("planning", len(items))
        for count, item in enumerate(_consume(items), 1):
            yield item
            if not count % _TOLD_EVERY:
                progress.advance(_TOLD_EVERY)

    # moves

    def _moves(self, at: int) -> int:
        """Plan the moves of a table, and of those after it that have to happen at once with it (F05).

        Returns how many tables that were.
        """
        group = self._items(self._steps[at])
        tables = 1
        while (more := self._entangled_with(group, at + tables)) is not None:
            group += more
            tables += 1
        pairs = [(item.args["from"], item.args["to"]) for item in group]
        if not moves.entangled(pairs):
            del pairs
            for item in self._told(group):
                self._add_move(item)
            return tables
        _refuse_shared(group)
        hops: dict[int, bytes] = {}
        for leg in moves.order(pairs):
            item = group[leg.move]
            if leg.to_hop:
                hops[leg.move] = self._builder.hop(item.args["from"])
                self._add(item, hop=hops[leg.move])
            elif leg.from_hop:
                self._add(item, hop=hops[leg.move], from_hop=True)
            else:
                self._add_move(item)
        return tables

    def _add_move(self, item: Rendered) -> None:
        src, dst = item.args["from"], item.args["to"]
        if src == dst:
            self._world.notes.add("already in its place", src)
        elif self._builder.is_respelling(src, dst):
            hop = self._builder.hop(src)
            self._add(item, hop=hop)
            self._add(item, hop=hop, from_hop=True)
        else:
            self._add(item)

    def _entangled_with(self, group: Sequence[Rendered], at: int) -> list[Rendered] | None:
        """The moves of table `at`, if one of them is to vacate what a move of `group` finds taken."""
        if at >= len(self._steps):
            return None
        step = self._steps[at]
        if step.spec.action != _MOVE or any(
            each.conflict != "refuse" for each in (step, *(i.step for i in group))
        ):
            return None
        sources = {item.args["from"] for item in group}
        targets = [item.args["to"] for item in group]
        taken = {target for target in targets if target not in sources and self._world.view.exists(target)}
        items = self._items(step) if taken else []
        self._world.view.take_seen()
        return items if any(item.args["from"] in taken for item in items) else None


def _consume(items: list[T]) -> Iterator[T]:
    """Each item in turn, given up by the list: what was rendered or planned need not be kept twice."""
    items.reverse()
    while items:
        yield items.pop()


def _refuse_shared(group: Sequence[Rendered]) -> None:
    """Two moves of one object, or to one target, cannot both happen."""
    for key, what in (("from", "both move"), ("to", "both have the target")):
        seen: dict[bytes, str] = {}
        for item in group:
            path = item.args[key]
            other = seen.setdefault(path, item.action_id)
            if other != item.action_id and (key == "from" or item.step.conflict == "refuse"):
                raise PlanConflict(
                    f"steps `{other}` and `{item.action_id}` {what} `{names.show(path)}`",
                    hint="change one of them",
                )


def _named(step: CompiledStep, subject: Subject) -> Rendered:
    """Render, with the step's name in front of whatever is wrong."""
    try:
        return step.render(subject)
    except DeskshellError as exc:
        if step.name not in exc.message:
            exc.message = f"step `{step.name}`: {exc.message}"
            exc.args = (exc.message,)
        raise
