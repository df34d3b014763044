"""The one object that front ends call."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deskshell.app.desktop import Desktop, owner_id
from deskshell.app.planning import Planning
from deskshell.config import Settings
from deskshell.errors import PlanRefused, StepFailed, UsageError
from deskshell.kernel import history, select
from deskshell.kernel.desk import Desk
from deskshell.kernel.history import Head
from deskshell.kernel.report import TaskReport, UndoReport, text

if TYPE_CHECKING:
    from pathlib import Path

    from deskshell.app import log as journal_log
    from deskshell.app.diff import StepDiff
    from deskshell.app.doctor import Check
    from deskshell.app.prepared import Prepared
    from deskshell.app.skillset import SkillTest
    from deskshell.kernel.action import Action
    from deskshell.kernel.context import Progress
    from deskshell.kernel.gc import GcReport
    from deskshell.kernel.roots import Roots
    from deskshell.skills.check import Finding
    from deskshell.skills.library import Skill
    from deskshell.store.verify import VerifyReport


class App(Planning):
    """deskshell on one state folder, for one front end.

    Args:
        settings: see `config.load`.
        progress: told about long work; None: nobody watches.
        front: `cli`, `mcp`, …: goes into the journal.
        owner: who asks; None is the local user.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        progress: Progress | None = None,
        front: str = "cli",
        owner: str | None = None,
    ) -> None:
        self.settings = settings
        self.front = front
        self.owner = owner or owner_id()
        self.desktop = Desktop(settings, LazyKinds(), progress)
        self._progress = progress

    # skills

    def skills(self) -> list[Skill]:
        """All skills that can be named, the user's first."""
        from deskshell.skills import library

        return library.all_skills(self.settings.skills_folder, self.kinds())

    def skill(self, name: str, cwd: Path | None = None) -> Skill:
        """One skill, by name or path. Raises NotFound, ManifestError."""
        from deskshell.skills import library

        return library.find(name, self.settings.skills_folder, self.kinds(), cwd=cwd)

    def skill_new(self, name: str, folder: Path | None = None) -> Path:
        """Write a working skeleton; returns its folder. Raises UsageError when there is one."""
        from deskshell.skills import library

        return library.new(name, folder or self.settings.skills_folder)

    def skill_check(self, name: str, cwd: Path | None = None) -> list[Finding]:
        """What an author should mend. Raises NotFound, ManifestError."""
        from pathlib import Path

        from deskshell.skills import check

        return check.check_skill(self.skill(name, cwd), kinds=self.kinds(), home=Path.home())

    def skill_test(self, name: str, cwd: Path | None = None) -> SkillTest:
        """Run a skill on its own fixture and undo it, in a folder made for that."""
        from deskshell.app import skillset

        return skillset.test_skill(self.skill(name, cwd), self.settings)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of skill.toml, with the keys of every kind."""
        from deskshell.skills import manifest

        return manifest.schema(self.kinds())

    def kinds(self) -> Mapping[str, type[Action]]:
        """All kinds of action, by name."""
        from deskshell import registry

        return registry.kinds()

    # running

    def prepare(
        self,
        skill: str,
        values: Mapping[str, Any],
        *,
        cwd: Path,
        grants: Iterable[str] | None = None,
        within: Roots | None = None,
    ) -> Prepared:
        """Plan a skill. Reads, changes nothing, creates nothing. Raises Refused in all its forms.

        `grants` are names of capabilities; None grants all that the skill declares. Nothing outside of `within`
        (folders; None: everywhere) is read or planned. A plan holds no secret: `run` takes them.
        """
        from datetime import datetime
        from pathlib import Path

        from deskshell.app.prepared import Prepared
        from deskshell.kernel import room, roots
        from deskshell.skills import planner
        from deskshell.skills.params import Where

        self.desktop.folder.check()
        plan = planner.plan_skill(
            self.skill(skill, cwd),
            values,
            kinds=self.kinds(),
            where=Where(cwd=os.fsencode(cwd), home=os.fsencode(Path.home())),
            now=datetime.now().astimezone(),
            state_folder=os.fsencode(self.settings.home),
            within=within,
            front=self.front,
            owner=self.owner,
            progress=self._progress if self.front == "cli" else None,  # a client counts the steps of the run
        )
        room.check_places(plan, self.desktop.reading())
        return Prepared(roots.restrict(plan, within)).granting(grants)

    def close_interrupted(self) -> list[str]:
        """Close what a crash left open, before a plan is made for a disk that is about to change; notes on it.

        Creates and changes nothing when there is no such task, or when it is still running.
        """
        if history.find_open(self.desktop.reading().journal) is None or self.desktop.holder() is not None:
            return []
        return _recovery_notes(self.recover())

    def run(
        self,
        prepared: Prepared,
        *,
        allow_irreversible: bool = False,
        secrets: Mapping[str, str] | None = None,
    ) -> TaskReport:
        """Run a plan as one task; a failure is rolled back and reported.

        Args:
            prepared: what `prepare` gave, with the grants that it runs under.
            allow_irreversible: the explicit consent to steps that cannot be undone.
            secrets: values of secret parameters by name.

        Raises:
            Refused: nothing happened. Busy: another task holds the lock.
        """
        from deskshell.app import running
        from deskshell.kernel.secrets import missing

        plan = prepared.plan
        running.admit(plan, plan.declared, consent=allow_irreversible)
        if not plan.steps:
            report = prepared.report()
            report.mode, report.status = "apply", "ok"
            return report
        for name in missing(plan.secrets, secrets or {}):
            raise UsageError(
                f"the secret `{name}` is needed",
                hint=f"set DESKSHELL_SECRET_{name.upper()}, or answer the prompt on a terminal",
            )
        with self.desktop.writing(f"run {plan.origin.skill}", secrets) as (desk, recovered):
            try:
                report = running.run_plan(desk, plan, plan.declared)
            except PlanRefused as exc:
                if recovered:  # the plan was made for the disk that the crash had left
                    exc.hint = f"{_recovery_notes(recovered)[0]}; run it again"
                raise
            report.notes += self.finish(desk, recovered)
            return report

    def finish(self, desk: Desk, recovered: list[TaskReport]) -> list[str]:
        """What belongs at a task's end: undo data that is too old or too much goes; returns notes."""
        return _recovery_notes(recovered) + self._expire(desk)

    # undo and redo

    def undo(
        self,
        *,
        task: str | None = None,
        last: int | None = None,
        since_ms: int | None = None,
        steps: Sequence[str] = (),
        force: bool = False,
        all_or_nothing: bool = False,
        secrets: Mapping[str, str] | None = None,
        allowed: Callable[[Head], None] | None = None,
    ) -> UndoReport:
        """Take back tasks, from the newest to the oldest; without a selection the newest.

        `allowed` may refuse a task (by raising) before anything is undone.
        """
        if not self.desktop.folder.exists():  # nothing was ever done, and nothing is made for saying so
            _choose(self.desktop.reading(), task, last, since_ms, [])
            return UndoReport()
        with self.desktop.writing("undo", secrets) as (desk, recovered):
            chosen = _choose(desk, task, last, since_ms, recovered)
            _refuse_steps_of_several(chosen, steps)
            if allowed is not None:
                for head in chosen:
                    allowed(head)
            report = UndoReport(recovered=recovered)
            if chosen:
                from deskshell.app import undoing

                wish = undoing.Wish(tuple(steps), force, self.owner, self.front)
                if all_or_nothing and not undoing.all_good(desk, chosen, wish, report):
                    return report
                undoing.take_back(desk, chosen, wish, report)
            report.notes += self._expire(desk)
            return report

    def undo_check(
        self,
        *,
        task: str | None = None,
        last: int | None = None,
        since_ms: int | None = None,
        steps: Sequence[str] = (),
        force: bool = False,
        secrets: Mapping[str, str] | None = None,
    ) -> UndoReport:
        """What `undo` would do now with each entry. Takes no lock and changes nothing."""
        desk = self.desktop.reading()
        desk.secrets = secrets or {}
        chosen = _choose(desk, task, last, since_ms, [])
        _refuse_steps_of_several(chosen, steps)
        report = UndoReport(checked=True)
        if chosen:
            from deskshell.app import undoing

            wish = undoing.Wish(tuple(steps), force, self.owner, self.front)
            report.tasks = undoing.check_all(desk, chosen, wish)
        return report

    def redo(self, task: str | None = None, *, allowed: Callable[[Head], None] | None = None) -> UndoReport:
        """Take an undo back: of `task`, or of the newest undone task that nothing later stands on."""
        if not self.desktop.folder.exists():
            select.undo_to_redo(self.desktop.reading().journal, task)
        with self.desktop.writing("redo") as (desk, recovered):
            undo = select.undo_to_redo(desk.journal, task)
            if allowed is not None:
                allowed(history.find(desk.journal, str(undo.of)))
            from deskshell.kernel.undo import Wish, redo_task

            report = UndoReport(recovered=recovered)
            report.add(redo_task(desk, undo, Wish((), False, self.owner, self.front)))
            report.notes += self._expire(desk)
            return report

    # history

    def log(
        self,
        *,
        since_ms: int | None = None,
        path: bytes | None = None,
        status: str | None = None,
        limit: int | None = None,
    ) -> Iterator[journal_log.TaskSummary]:
        """Tasks, newest first; with `path` only those that touched that file under any of its names."""
        for _, summary in self._selected(since_ms, path, status, limit):
            yield summary

    def entries(
        self,
        *,
        since_ms: int | None = None,
        path: bytes | None = None,
        status: str | None = None,
        limit: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The folded state of the same tasks' steps, in the source's shape; undos and redos have none of their own."""
        from deskshell.app import log as journal_log

        journal = self.desktop.reading().journal
        for head, _ in self._selected(since_ms, path, status, limit, role="run"):
            yield from journal_log.entries(journal, history.fold(journal, head))

    def _selected(
        self,
        since_ms: int | None,
        path: bytes | None,
        status: str | None,
        limit: int | None,
        role: str | None = None,
    ) -> Iterator[tuple[Head, journal_log.TaskSummary]]:
        from deskshell.app import log as journal_log

        journal = self.desktop.reading().journal
        wanted = None if path is None else journal_log.tasks_on(journal, path)
        count = 0
        for head, summary in journal_log.summaries(journal, self.desktop.holder()):
            if limit is not None and count >= limit:
                return
            if since_ms is not None and summary.started_ms < since_ms:
                continue
            if status is not None and summary.status != status:
                continue
            if wanted is not None and summary.task_id not in wanted:
                continue
            if role is not None and summary.role != role:
                continue
            count += 1
            yield head, summary

    def show(self, task_id: str) -> journal_log.TaskDetail:
        """One task with all its steps. Raises NotFound."""
        from deskshell.app import log as journal_log
        from deskshell.store.kept import Kept

        desk = self.desktop.reading()
        return journal_log.detail(desk.journal, task_id, self.desktop.holder(), Kept(desk.folder).step_sizes)

    def diff(self, task_id: str) -> Iterator[StepDiff]:
        """What each step of a task changed in content, as far as both sides can still be read."""
        from deskshell.app import diff

        yield from diff.diffs(self.desktop.reading(), task_id)

    def pending(self) -> str | None:
        """What a reader should know first: a task that is running, or one that a crash left open."""
        head = history.find_open(self.desktop.reading().journal)
        if head is None:
            return None
        holder = self.desktop.holder()
        if holder is not None:
            return f"running: {head.task_id} ({holder})"
        return f"{head.task_id} was interrupted; the next command closes it, or `deskshell recover` now"

    # upkeep

    def recover(self) -> list[TaskReport]:
        """Close what a crash left open."""
        if not self.desktop.folder.exists():
            return []
        with self.desktop.writing("recover") as (_, recovered):
            return recovered

    def gc(
        self,
        *,
        keep_s: float | None = None,
        max_bytes: int | None = None,
        task: str | None = None,
        dry_run: bool = False,
        journal: bool = False,
    ) -> GcReport:
        """Let undo data expire, by age and size or of one task; `journal` drops whole expired segments."""
        from deskshell.kernel import gc

        if not self.desktop.folder.exists():
            return gc.GcReport(dry_run)
        keep = self.settings.keep_s if keep_s is None else keep_s
        most = self._max_bytes() if max_bytes is None else max_bytes
        if dry_run:
            chosen, kept = gc.plan_gc(self.desktop.reading(), keep_s=keep, max_bytes=most, task_id=task)
            return gc.report(chosen, kept, dry_run=True)
        with self.desktop.writing("gc") as (desk, _):
            try:
                chosen, kept = gc.plan_gc(desk, keep_s=keep, max_bytes=most, task_id=task)
                report = gc.expire(desk, chosen, kept)
                if journal:
                    report.warnings += gc.drop_segments(desk)
            except OSError as exc:
                raise StepFailed(
                    f"undo data stays: {text(exc)}", hint="try again when the disk works"
                ) from exc
            return report

    def _expire(self, desk: Desk) -> list[str]:
        from deskshell.kernel import gc

        try:
            chosen, kept = gc.plan_gc(desk, keep_s=self.settings.keep_s, max_bytes=self._max_bytes())
            return gc.expire(desk, chosen, kept).warnings
        except OSError as exc:  # the task itself is done and on record
            return [f"old undo data stays: {text(exc)}"]

    def _max_bytes(self) -> int:
        if self.settings.max_bytes is not None:
            return self.settings.max_bytes
        if hasattr(os, "statvfs"):  # what `shutil.disk_usage` asks; its import takes longer than an undo
            found = os.statvfs(self.settings.home)
            # A file system that tells no size (ramfs) is no reason for all undo data to expire.
            return found.f_blocks * found.f_frsize // 10 if found.f_blocks else sys.maxsize
        import shutil

        return shutil.disk_usage(self.settings.home).total // 10

    def journal_verify(self) -> VerifyReport:
        """Test every line of the journal."""
        return self.desktop.reading().journal.verify()

    def journal_paths(self) -> list[Path]:
        """The journal's files, oldest first."""
        return [segment.path for segment in self.desktop.reading().journal.segments()]

    def doctor(self) -> list[Check]:
        """What is well and what is not: state folder, permissions, file system, space, journal."""
        from deskshell.app import doctor

        return doctor.examine(self.desktop, time.time())


class LazyKinds(Mapping[str, "type[Action]"]):
    """The registry's kinds, imported when one is asked for: most undos need none."""

    def __getitem__(self, kind: str) -> type[Action]:
        from deskshell import registry

        return registry.kinds()[kind]

    def __iter__(self) -> Iterator[str]:
        from deskshell import registry

        return iter(registry.kinds())

    def __len__(self) -> int:
        from deskshell import registry

        return len(registry.kinds())


def _choose(
    desk: Desk, task: str | None, last: int | None, since_ms: int | None, recovered: list[TaskReport]
) -> list[Head]:
    if sum(each is not None for each in (task, last, since_ms)) > 1:
        raise UsageError("choose by task, by number or by time, not by several", hint="give one of them")
    if task is not None:
        head = history.find(desk.journal, task)
        if head.role == "undo":
            raise UsageError(
                f"`{task}` is itself an undo of `{head.of}`",
                hint=f"take an undo back with `deskshell redo --task {head.of}`",
            )
        if head.role == "redo":
            raise UsageError(
                f"`{task}` is a redo of `{head.of}`",
                hint=f"undo it with `deskshell undo --task {head.of}`",
            )
        return [head]
    if since_ms is not None:
        return select.since(desk.journal, since_ms)
    count = 1 if last is None else last
    # A run that a crash left open counts as the newest: it is reported, nothing older goes in its place.
    closed = sum(1 for each in recovered if each.role == "run" and each.status == "rolled-back")
    return select.newest(desk.journal, max(0, count - closed))


def _refuse_steps_of_several(chosen: list[Head], steps: Sequence[str]) -> None:
    """A step is one of its task: found out in the middle of several, some would be undone already."""
    if steps and len(chosen) > 1:
        raise UsageError(
            f"`--step` names steps of one task, and these are {len(chosen):,}",
            hint="say which with `--task ID`",
        )


def _recovery_notes(recovered: list[TaskReport]) -> list[str]:
    notes = []
    for each in recovered:
        what = "taken back" if each.status == "rolled-back" else f"taken back but for {len(each.left)}"
        notes.append(f"{each.task_id} had been interrupted and was {what}")
    return notes
