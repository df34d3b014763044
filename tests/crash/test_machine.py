"""Tasks, undos and redos in any order, with somebody working on the same files in between."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deskshell.errors import NotFound
from tests.crash import model
from tests.crash.sweep import assert_journal_is_sound
from tests.support.desk import Bench, Listing, verdicts
from tests.support.listing import listing
from tests.support.seam import Kill, seam, without_syncs

_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class People(RuleBasedStateMachine):
    """deskshell and a person in one folder.

    `mine` holds every content that the person wrote and did not take away; `done` the tasks that can be
    undone with the folder before each; `undone` those that can be redone, with the folder after each. What
    the person does makes these folders unknown (None).
    """

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="deskshell-test-", dir=_MEMORY))
        self.far = Path(tempfile.mkdtemp(prefix="deskshell-test-"))
        self.bench = Bench(self.top)
        self.quiet = without_syncs()
        self.mine: set[str] = set()
        self.done: list[Listing | None] = []
        self.undone: list[Listing | None] = []
        self.numbers = itertools.count()

    def teardown(self) -> None:
        self.quiet.close()
        shutil.rmtree(self.top)
        shutil.rmtree(self.far)

    @initialize(start=model.models(), apart=st.booleans())
    def begin(self, start: model.Model, apart: bool) -> None:
        """`apart`: the state folder lies on another file system, so what goes is kept as a copy."""
        if apart:
            self.bench = Bench(self.top, elsewhere=self.far)
        model.make(self.bench, start)

    # deskshell

    @rule(data=st.data())
    def run(self, data: st.DataObject) -> None:
        now = model.read(self.bench.root)
        before = self.bench.listing()
        plan = [step for _ in range(data.draw(st.integers(1, 4))) if (step := data.draw(model.steps(now)))]
        if not plan:
            return
        report = self.bench.run(*plan)
        assert report.status == "ok"
        assert model.read(self.bench.root) == now
        self.done.append(before)
        self.undone.clear()

    @precondition(lambda self: self.done)
    @rule()
    def undo(self) -> None:
        promised = self.bench.check()
        now = self.bench.listing()
        report = self.bench.undo()
        assert verdicts(report) == [word.replace("undoable", "undone") for word in verdicts(promised)]
        if report.complete:
            before = self.done.pop()
            self.undone.append(now)
            assert before is None or self.bench.changes(before) == []
        else:
            self._lose_track()

    @precondition(lambda self: self.done)
    @rule()
    def undo_by_force(self) -> None:
        now = self.bench.listing()
        report = self.bench.undo(force=True)
        if report.complete:
            self.done.pop()
            self.undone.append(now)
        else:
            self._lose_track()

    @precondition(lambda self: self.undone)
    @rule()
    def redo(self) -> None:
        try:
            report = self.bench.redo()
        except NotFound:
            self._lose_track()
            return
        after = self.undone.pop()
        if report.complete:
            assert after is None or self.bench.changes(after) == []
        self._lose_track()

    @rule(at=st.integers(0, 60), data=st.data())
    def be_killed(self, at: int, data: st.DataObject) -> None:
        now = model.read(self.bench.root)
        plan = [step for _ in range(3) if (step := data.draw(model.steps(dict(now))))][:1]
        before = self.bench.listing()
        with seam(Kill(at)) as cut:
            self.bench.run(*plan)
        if not cut.came:
            self._lose_track()
            return
        self.bench.app.recover()
        newest = next(iter(self.bench.app.log()), None)
        if newest is None or newest.status != "ok":
            assert self.bench.changes(before) == []
        self._lose_track()

    def _lose_track(self) -> None:
        self.done.clear()
        self.undone.clear()

    # the person

    def _touch(self) -> None:
        self.done = [None] * len(self.done)
        self.undone = [None] * len(self.undone)

    def _files(self) -> list[str]:
        return [path for path, content in model.read(self.bench.root).items() if isinstance(content, str)]

    @rule(path=model.paths)
    def make(self, path: str) -> None:
        if model.is_free(model.read(self.bench.root), path):
            text = f"mine {next(self.numbers)}"
            self.bench.make({path: text}, mtime=None)
            self.mine.add(text)
            self._touch()

    @precondition(lambda self: self._files())
    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        file = self.bench.root / data.draw(st.sampled_from(self._files()))
        self.mine.discard(file.read_text())
        text = f"mine {next(self.numbers)}"
        file.chmod(0o600)
        file.write_text(text)
        self.mine.add(text)
        self._touch()

    @precondition(lambda self: self._files())
    @rule(data=st.data())
    def throw_away(self, data: st.DataObject) -> None:
        file = self.bench.root / data.draw(st.sampled_from(self._files()))
        self.mine.discard(file.read_text())
        file.unlink()
        self._touch()

    # what always holds

    @invariant()
    def nothing_of_mine_is_lost(self) -> None:
        tops = [self.bench.root, self.bench.state / "held", self.bench.state / "kept"]
        there = {
            path.read_text(errors="replace") for top in tops if top.exists() for path in _files_below(top)
        }
        assert self.mine <= there

    @invariant()
    def nothing_of_deskshell_lies_about(self) -> None:
        assert [name for name in self.bench.names() if ".deskshell-" in name] == []
        if self.bench.state.exists():
            assert_journal_is_sound(self.bench)


def _files_below(top: Path) -> list[Path]:
    return [top / name for name, entry in listing(top).items() if entry.type == "file"]


@pytest.mark.parametrize("examples,steps", [(25, 12), pytest.param(60, 30, marks=pytest.mark.slow)])
def test_people_and_tasks_share_a_folder(examples: int, steps: int) -> None:
    """I7: work done by hand is never overwritten or lost, and `--check` says what an undo will do."""
    People.TestCase.settings = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),  # shrinking a folder takes minutes: do that by hand
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    case = People.TestCase()
    case.runTest()
