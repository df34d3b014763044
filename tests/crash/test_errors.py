"""A disk that fails or fills up at one call, once or for good: no lie in the report, nothing lost."""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from deskshell.errors import DeskshellError, NotFound, OutcomeUnknown
from deskshell.kernel.assertion import Exists
from deskshell.kernel.report import TaskReport, UndoReport
from tests.crash.scenarios import COMMANDS
from tests.crash.sweep import Scenario, World, assert_journal_is_sound, peaceful, worlds
from tests.support.desk import Bench, Listing, delete, move, over, verdicts, write
from tests.support.listing import difference, listing
from tests.support.seam import Fail, seam

PLACES = 14  # of each scenario and number, drawn with a seed of its own


def plans(scenario: Scenario, number: int, count: int) -> Iterator[Fail]:
    rng = random.Random(f"{scenario} {number}")
    for _ in range(PLACES):
        yield Fail(rng.randrange(count), number, sticky=rng.random() < 0.5)


def contents(world: World) -> set[str | None]:
    """Hashes of all files that are still somewhere: in the folder, held or kept."""
    tops = [world.bench.root, world.bench.state / "held", world.bench.state / "kept"]
    return {
        entry.sha256
        for top in tops
        if top.exists()
        for entry in listing(top).values()
        if entry.type == "file"
    }


def run_with(world: World, plan: Fail) -> object:
    """What the command returned or raised; nothing but an expected failure may come out of it."""
    with seam(plan):
        try:
            return world.command()
        except DeskshellError as exc:
            return exc


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EACCES], ids=errno.errorcode.get)
@pytest.mark.parametrize("scenario", COMMANDS, ids=str)
def test_a_failing_call_is_reported_as_it_is(scenario: Scenario, number: int, ram: Path) -> None:
    """I5 and I6: ok is the state after, rolled-back the one before; what is left or not kept is listed."""
    after, count = peaceful(scenario, ram / "peaceful")
    for plan, world in zip(plans(scenario, number, count), worlds(scenario, ram), strict=False):
        had = contents(world)

        result = run_with(world, plan)

        assert claim_is_true(result, world, after), (plan, result, difference(world.before, world.now()))
        world.bench.app.recover()
        assert had <= contents(world), f"{plan}: content is nowhere any more"
        assert_journal_is_sound(world.bench)
        if getattr(result, "status", "") == "unknown":
            assert world.now() in (world.before, after)


def claim_is_true(result: object, world: World, after: Listing) -> bool:
    """True when what a command said is what the disk shows."""
    now = world.now()
    if isinstance(result, TaskReport):
        match result.status:
            case "ok":
                return now == after or _only_listed(result.not_restored, after, now)
            case "rolled-back":
                return now == world.before or _only_listed(result.not_restored, world.before, now)
            case "incomplete":
                return bool(result.left)
            case _:
                return result.status == "unknown"
    if isinstance(result, UndoReport):
        if result.exit_code == 0:
            return now == after
        lost = [line for task in result.tasks for line in task.not_restored]
        return result.exit_code == 3 or not result.complete or bool(lost)
    return isinstance(result, OutcomeUnknown) or now == world.before


def _only_listed(lost: list[str], wanted: Listing, now: Listing) -> bool:
    """True when metadata alone differs, and the report says that some was lost."""
    lines = difference(wanted, now)
    return bool(lost) and all(": mode " in line or ": mtime_ns " in line for line in lines)


@pytest.mark.parametrize("scenario", COMMANDS[2:], ids=str)
def test_what_a_failing_disk_left_undone_is_done_by_asking_again(scenario: Scenario, ram: Path) -> None:
    """I9: an undo or redo that got half way goes on from there."""
    after, count = peaceful(scenario, ram / "peaceful")
    for plan, world in zip(plans(scenario, errno.EIO, count), worlds(scenario, ram), strict=False):
        result = run_with(world, plan)
        world.bench.app.recover()
        lost = [line for task in getattr(result, "tasks", ()) for line in task.not_restored]
        if world.now() == after or lost:  # done, or what is missing is no entry of its own
            continue

        world.command()

        # Over others' work a second try may know a folder's time again that the first had to leave.
        now = world.now() if scenario.name != "forced undo" else world.now() | {".": after["."]}
        assert difference(after, now) == [], plan


def test_an_incomplete_run_can_be_undone_later(ram: Path) -> None:
    """Left entries stay visible to undo, were they only a folder that a step needed (I5)."""
    scenario = COMMANDS[0]
    _, count = peaceful(scenario, ram / "peaceful")
    tried = 0
    for at, world in zip(range(5, count, 3), worlds(scenario, ram), strict=False):
        result = run_with(world, Fail(at, errno.EIO, sticky=True))
        if not isinstance(result, TaskReport) or result.status != "incomplete":
            continue
        tried += 1

        report = world.bench.undo()

        assert report.complete
        assert report.tasks[0].entries
        assert difference(world.before, world.now()) == []
    assert tried


@pytest.mark.parametrize("apart", [False, True], ids=["held", "kept as copies"])
@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES], ids=errno.errorcode.get)
def test_what_a_rollback_could_not_take_back_whole_is_left_and_an_undo_goes_on(
    ram: Path, tmp_path: Path, number: int, apart: bool
) -> None:
    """I5: a temporary that stays is no `rolled-back`; folder times that could not be set are named."""
    for at in range(200):
        bench = Bench(ram / str(at), elsewhere=tmp_path / str(at) if apart else None)
        bench.make({"a": "a", "b": "b", "c": "c"})
        before = bench.listing()
        plan = bench.plan(
            delete("c"),
            move("a", "new/deep/a"),
            over("b", "x"),
            write("n", "x").then(Exists(bench.path("m"))),
        )
        with seam(Fail(at, number)) as failing:
            try:
                result: object = bench.run_plan(plan)
            except DeskshellError as exc:
                result = exc
        if not failing.came:
            return
        bench.app.recover()
        if bench.statuses()[:1] == [("run", "incomplete")]:
            bench.undo()
        lost = list(getattr(result, "not_restored", ()))
        assert bench.changes(before) == [] or _only_listed(lost, before, bench.listing()), (at, result)
    pytest.fail("the run never got to its end")


@pytest.mark.parametrize("apart", [False, True], ids=["held", "kept as copies"])
def test_a_redo_that_a_failing_disk_stopped_part_way_goes_on_when_asked_again(
    ram: Path, tmp_path: Path, apart: bool
) -> None:
    """What it had put back is not tried twice; what it took back itself is known, were it another copy."""
    for at in range(200):
        bench = Bench(ram / str(at), elsewhere=tmp_path / str(at) if apart else None)
        bench.make({"b": "b", "c": "c", "sub/d": "d"})
        before = bench.listing()
        bench.run(over("b", "x"), delete("c"), delete("sub"))
        after = bench.listing()
        bench.undo()
        with seam(Fail(at, errno.EIO)) as failing, suppress(DeskshellError):
            bench.redo()
        if not failing.came:
            return
        bench.app.recover()
        if bench.changes(after):
            with suppress(NotFound):  # folder times alone may have failed: then all is redone
                assert set(verdicts(bench.redo())) == {"undone"}, at
        assert _only_times(bench.changes(after)), at
        bench.undo()
        assert _only_times(bench.changes(before)), at
    pytest.fail("the redo never got to its end")


def _only_times(changes: list[str]) -> bool:
    return all("mtime" in each for each in changes)
