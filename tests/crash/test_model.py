"""Random plans over random folders: run, undo and redo do what a dictionary says, cut short or not."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.crash import model
from tests.crash.sweep import assert_journal_is_sound
from tests.support.desk import Bench, Do, move, verdicts, write
from tests.support.listing import difference
from tests.support.seam import Kill, seam

quick = settings(
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def fresh(ram: Path, before: model.Model, apart: Path | None = None) -> Bench:
    """A folder in `ram`; with `apart` its state folder lies there, on another file system."""
    bench = Bench(Path(tempfile.mkdtemp(dir=ram)), elsewhere=apart and Path(tempfile.mkdtemp(dir=apart)))
    model.make(bench, before)
    return bench


@quick
@given(world=model.worlds(), apart=st.booleans())
def test_run_undo_and_redo_do_what_the_model_says(
    ram: Path, tmp_path: Path, world: tuple[model.Model, list[Do], model.Model], apart: bool
) -> None:
    """I6: undo brings back bytes, modes, times and links, redo puts the very objects back.

    Copies of them, when the state folder lies `apart`.
    """
    before, plan, after = world
    bench = fresh(ram, before, tmp_path if apart else None)
    was = bench.listing()

    done = bench.run(*plan)

    assert done.status == "ok"
    assert model.read(bench.root) == after
    if plan:
        now = bench.listing()
        assert set(verdicts(bench.undo())) <= {"undone", "already"}
        assert bench.changes(was) == []
        bench.redo()
        assert bench.changes(now) == []
        bench.undo()
        assert bench.changes(was) == []
    shutil.rmtree(bench.top)


@quick
@given(
    world=model.worlds(),
    at=st.integers(0, 90),
    command=st.sampled_from(["run", "undo", "redo"]),
    apart=st.booleans(),
)
def test_a_cut_anywhere_leaves_a_state_that_the_model_knows(
    ram: Path,
    tmp_path: Path,
    world: tuple[model.Model, list[Do], model.Model],
    at: int,
    command: str,
    apart: bool,
) -> None:
    """I1, I5 and I9: and whatever it was, undo then leads back to the start."""
    before, plan, after = world
    bench = fresh(ram, before, tmp_path if apart else None)
    was = bench.listing()
    if command != "run" and plan:
        bench.run(*plan)
    if command == "redo" and plan:
        bench.undo()
    with seam(Kill(at)):
        if command == "run":
            bench.run(*plan)
        elif plan:
            bench.undo() if command == "undo" else bench.redo()

    bench.app.recover()

    assert model.read(bench.root) in (before, after)
    assert_journal_is_sound(bench)
    bench.undo()
    assert difference(was, bench.listing()) == []
    shutil.rmtree(bench.top)


@pytest.mark.slow
@settings(quick, max_examples=300)
@given(world=model.worlds(), at=st.integers(0, 90), again=st.integers(0, 60), apart=st.booleans())
def test_two_cuts_anywhere(
    ram: Path,
    tmp_path: Path,
    world: tuple[model.Model, list[Do], model.Model],
    at: int,
    again: int,
    apart: bool,
) -> None:
    """The same, with the recovery cut as well; many examples."""
    before, plan, after = world
    bench = fresh(ram, before, tmp_path if apart else None)
    was = bench.listing()
    with seam(Kill(at)):
        bench.run(*plan)
    with seam(Kill(again)):
        bench.app.recover()

    bench.app.recover()

    assert model.read(bench.root) in (before, after)
    bench.undo()
    assert difference(was, bench.listing()) == []
    shutil.rmtree(bench.top)


def test_a_folder_in_the_place_of_one_that_moved_leaves_it_its_time(ram: Path) -> None:
    """A recovery cut short, run again, noted the new folder's time for the one that came back (found above)."""
    plan = [move("b", "a"), write("b/a/c", "")]
    for at in range(30, 45):
        for again in range(14):
            bench = fresh(ram, {"b": None})
            was = bench.listing()
            with seam(Kill(at)):
                bench.run(*plan)
            with seam(Kill(again)):
                bench.app.recover()

            bench.app.recover()

            bench.undo()
            assert difference(was, bench.listing()) == []
            shutil.rmtree(bench.top)
