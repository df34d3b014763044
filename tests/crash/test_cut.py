"""A command killed before each change of the disk in turn: the next start finds the state before, or after."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.crash.scenarios import COMMANDS, FILES, UPKEEP, run_all
from tests.crash.sweep import Scenario, World, assert_journal_is_sound, check, end_at, peaceful, worlds
from tests.support.desk import Bench, delete, verdicts, write
from tests.support.listing import difference
from tests.support.seam import Kill, seam

#: Of all places to cut at, one in so many is tried in an ordinary test run; the seed makes it the same each time.
ONE_IN = 2


def places(count: int, seed: str) -> list[int]:
    """Places to cut at, out of `count`: all of the last ones, where the end is written, and a sample."""
    chosen = random.Random(seed).sample(range(count), count // ONE_IN)
    return sorted({*chosen, *range(max(0, count - 8), count)})


def each(scenarios: list[Scenario]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scenario", scenarios, ids=str)


@each(COMMANDS)
def test_a_killed_command_leaves_the_state_before_or_after(scenario: Scenario, ram: Path) -> None:
    """I1 and I5: whatever was begun is taken back from what was durable before it changed anything."""
    after, count = peaceful(scenario, ram / "peaceful")
    states = set()
    for at, world in zip(places(count, scenario.name), worlds(scenario, ram), strict=False):
        end_at(world, Kill(at))
        world.bench.app.recover()

        states.add(check(world, after))

    assert "before" in states


@each(COMMANDS)
def test_a_write_cut_in_half_counts_as_not_written(scenario: Scenario, ram: Path) -> None:
    """I4: half a line at the journal's end, or half a file, was never acknowledged."""
    after, count = peaceful(scenario, ram / "peaceful")
    tried = 0
    for at, world in zip(range(count), worlds(scenario, ram), strict=False):
        found = end_at(world, Kill(at, torn=True))
        if found.calls[-1] not in ("write", "pwrite"):
            continue
        tried += 1
        world.bench.app.recover()
        check(world, after)

    assert tried > 10


@each(COMMANDS)
def test_a_recovery_that_is_killed_itself_can_be_run_again(scenario: Scenario, ram: Path) -> None:
    """I9: taken back twice, in half, or not at all, it comes to the same."""
    after, count = peaceful(scenario, ram / "peaceful")
    rng = random.Random(f"nested {scenario}")
    for world, _ in zip(worlds(scenario, ram), range(40), strict=False):
        end_at(world, Kill(rng.randrange(count)))
        for _ in range(2):
            with seam(Kill(rng.randrange(1, 60))):
                world.bench.app.recover()
        world.bench.app.recover()

        check(world, after)


def test_what_was_rolled_back_can_be_run_again_and_undone(ram: Path) -> None:
    """A crash costs the work of the task, never the use of the tool."""
    scenario = COMMANDS[0]
    after, count = peaceful(scenario, ram / "peaceful")
    for at, world in zip(range(5, count, 12), worlds(scenario, ram), strict=False):
        end_at(world, Kill(at))
        world.bench.app.recover()

        world.command()
        assert difference(after, world.now()) == []

        assert set(verdicts(world.bench.undo())) == {"undone"}
        assert difference(world.before, world.now()) == []


def test_the_next_undo_reports_the_crash_and_undoes_nothing_older(ram: Path) -> None:
    """F10: the interrupted task counts as the newest, so an older one is not undone in its place."""
    bench = Bench(ram)
    bench.make(FILES)
    run_all(bench)
    before = bench.listing()
    with seam(Kill(26)) as cut:
        bench.run(delete("docs"), write("x/y", "z"), delete("sub"), write("x2/y", "z"))
    assert cut.came

    report = bench.undo()

    assert [each.status for each in report.recovered] == ["rolled-back"]
    assert report.tasks == []
    assert bench.changes(before) == []
    assert set(verdicts(bench.undo())) == {"undone"}


@each(UPKEEP)
def test_killed_upkeep_never_makes_a_listed_undo_impossible(scenario: Scenario, ram: Path) -> None:
    """I2 and F28: what undo needs goes after it is on record, and the files themselves are never touched."""
    after, count = peaceful(scenario, ram / "peaceful")
    for world, at in zip(worlds(scenario, ram), range(count), strict=False):
        end_at(world, Kill(at))

        assert difference(world.before, world.now()) == []
        promised = world.bench.check(last=9)
        world.bench.app.recover()
        assert_journal_is_sound(world.bench)
        done = world.bench.undo(last=9)
        assert verdicts(done) == [word.replace("undoable", "undone") for word in verdicts(promised)]
        _expired_are_on_record(world)
    assert difference(world.before, after) == []


def _expired_are_on_record(world: World) -> None:
    on_record = {line["taskId"] for line in world.bench.lines() if line.get("type") == "expired"}
    for task in world.bench.check(last=9).tasks:
        if any(entry.verdict == "expired" for entry in task.entries):
            assert task.task_id in on_record
