"""One command ended at one change, the next start, and everything that must be true then.

A `Scenario` is a world, what was done in it before, and the command under test. `after` is what the folder
looks like when the command is left alone. The clock's times are not compared: what a run makes has the time
of that run; times of before it are compared to the nanosecond.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deskshell.errors import DeskshellError
from tests.support.desk import Bench, Listing
from tests.support.listing import difference
from tests.support.seam import Fail, Kill, Seam, seam
from tests.support.trees import Content

_LONG_AGO_NS = 1_600_000_000_000_000_000


@dataclass(frozen=True)
class Scenario:
    """`files` are made, `earlier` is run in peace, `command` is what gets ended."""

    name: str
    files: Mapping[str, Content]
    command: Callable[[Bench], object]
    earlier: Callable[[Bench], object] = lambda bench: None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


@dataclass
class World:
    """A scenario made, right before its command."""

    scenario: Scenario
    bench: Bench
    before: Listing
    tasks: frozenset[str]

    @classmethod
    def of(cls, scenario: Scenario, top: Path, elsewhere: Path | None = None) -> World:
        """A fresh one in `top`, its state folder in `elsewhere` if that is given."""
        bench = Bench(top, scenario.settings, elsewhere=None if elsewhere is None else elsewhere / top.name)
        bench.make(scenario.files)
        scenario.earlier(bench)
        return cls(
            scenario, bench, timeless(bench.listing()), frozenset(each.task_id for each in bench.app.log())
        )

    def now(self) -> Listing:
        """The folder as it is."""
        return timeless(self.bench.listing())

    def command(self) -> object:
        """Run the command under test."""
        return self.scenario.command(self.bench)

    def new_tasks(self) -> list[tuple[str, str]]:
        """(id, status) of the tasks that the command began, newest first; what `undone` means is left out."""
        return [
            (each.task_id, "ok" if each.status in ("undone", "partly undone") else each.status)
            for each in self.bench.app.log()
            if each.task_id not in self.tasks
        ]


def timeless(found: Listing) -> Listing:
    """A listing without the times of this very test."""
    return {
        name: replace(entry, mtime_ns=0) if entry.mtime_ns > _LONG_AGO_NS else entry
        for name, entry in found.items()
    }


def peaceful(scenario: Scenario, top: Path) -> tuple[Listing, int]:
    """What the command leaves when nothing happens to it, and how many changes it makes."""
    world = World.of(scenario, top)
    with seam() as found:
        world.command()
    return world.now(), len(found.calls)


def worlds(scenario: Scenario, top: Path) -> Iterator[World]:
    """Fresh worlds of `scenario`, without end."""
    return (World.of(scenario, top / f"w{number}") for number in itertools.count())


def end_at(world: World, plan: Kill | Fail) -> Seam:
    """Run the command and end it by `plan`; expected failures of a `Fail` are the command's business."""
    with seam(plan) as found:
        try:
            world.command()
        except DeskshellError:
            if isinstance(plan, Kill):
                raise
    return found


def check(world: World, after: Listing) -> str:
    """Everything that must be true once the next start has closed what was open; says which state it is.

    The tree is wholly as before or wholly as after (I5), the journal says the same, every task has one
    end, nothing of ours is left behind.
    """
    now, bench = world.now(), world.bench
    state = "before" if now == world.before else "after"
    assert now in (world.before, after), difference(world.before, now)
    assert bench.app.recover() == [], "a recovery leaves nothing open"
    assert world.now() == now
    assert_journal_is_sound(bench)
    new = world.new_tasks()
    assert len(new) <= 1 or world.before == after
    for _, status in new:
        assert status in ("ok", "rolled-back")
        if world.before != after:
            assert state == ("after" if status == "ok" else "before")
    if not new:
        assert state == "before"
    bench.app.gc()
    rolled_back = {each.task_id for each in bench.app.log() if each.status == "rolled-back"}
    assert [name for name in bench.held() if name.split("/")[1] in rolled_back] == []
    return state


def assert_journal_is_sound(bench: Bench) -> None:
    """Every line is true to its check, and every task that began has exactly one end (I5)."""
    report = bench.app.journal_verify()
    assert report.ok, report.damage
    journal = bench.app.desktop.reading().journal
    ends: dict[str, int] = {}
    for _, line in journal.forward():
        if line.get("type") == "begin":
            ends[line["taskId"]] = 0
        elif line.get("type") == "end":
            ends[line["taskId"]] += 1
    assert {task: count for task, count in ends.items() if count != 1} == {}
