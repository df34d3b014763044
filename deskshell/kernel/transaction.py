"""One transaction: run, undo and redo of any length, in one order of writes.

    begin, and the names of temporaries to come            → fdatasync   (only when something is staged)
    prepare: secure what undo needs, stage new objects     → one sync
    begin/batch line and the batch's intents               → fdatasync   (I1: now, and only now, act)
    per step: compare again → act → verify
    folders touched                                        → fsync each, or one syncfs
    results                                                (need no sync of their own)
    … next batch …
    end                                                    → fdatasync   (the commit)

On a failure a run takes itself back (`rollback.take_back`, the same code as recovery); an undo goes on
past entries that cannot be undone. A failed sync is never retried into a success: of intents, nothing
is acted on and the abort goes into a new segment; of the end, the outcome is `unknown`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from deskshell.errors import Conflict, DeskshellError, Interrupted
from deskshell.files import names
from deskshell.kernel import history, record
from deskshell.kernel.batch import split
from deskshell.kernel.context import Context
from deskshell.kernel.desk import Desk
from deskshell.kernel.folder_time import FolderTime
from deskshell.kernel.ground import Ground
from deskshell.kernel.item import Item
from deskshell.kernel.outcome import Closing, Outcome, as_conflict
from deskshell.kernel.prior import Prior
from deskshell.kernel.report import hint, text
from deskshell.kernel.times import FolderTimes
from deskshell.store.segments import Place

BYTES_PER_STEP = 1024  # what a finished step's lines take at most: room asked for at `begin`
_MOST_ROOM = 64 * 2**20

_Prepared = tuple[Item, Context, Prior]


class _Failed(Exception):
    """A step failed; `cause` is why."""

    def __init__(self, item: Item | None, cause: Exception, *, acted: bool) -> None:
        super().__init__(str(cause))
        self.item = item
        self.cause = cause
        self.acted = acted


class Transaction:
    """One task, from its first look to its end. The caller holds the lock (I3).

    Args:
        begin: facts for the `begin` line: role, skill, grants, …; what is true of every task is added.
        go_on: an entry that cannot be done is refused alone (undo, redo); else it fails the task (run).
        closing: asked before the end of a task that is not rolled back; see `Closing`.
        refused: told of each entry that was refused, with why.
    """

    def __init__(
        self,
        desk: Desk,
        ground: Ground,
        begin: Mapping[str, Any],
        *,
        go_on: bool = False,
        closing: Callable[[Transaction], Closing] | None = None,
        refused: Callable[[Any, Conflict], None] | None = None,
    ) -> None:
        self.desk = desk
        self.ground = ground
        last_ms = history.last_id_ms(desk.journal)
        self.task_id = f"task-{max(desk.clock_ms(), last_ms + 1)}"
        self.started_ms = desk.clock_ms()
        self.times = FolderTimes()
        self.outcome = Outcome(None, "ok")
        self._begin_facts = begin
        self._go_on = go_on
        self._closing = closing
        self._refused = refused
        self._begin_place: Place | None = None
        self._token = os.urandom(6).hex()
        self._results: list[str] = []
        self._changed = 0  # visible steps that changed something: a task without any is nothing to undo
        self._staging: dict[bytes, None] = {}  # folders in which this batch makes temporaries
        self._staged: dict[bytes, None] = {}  # … and all batches

    # the way forward

    def run(self, items: Iterable[Item]) -> Outcome:
        """Work off `items`. Raises what the first look finds, before anything is written (nothing happened)."""
        try:
            with self.ground.ticking(lambda _: self._heed()):  # and off again for the way back
                for batch in split(items):
                    self._do_batch(batch)
            return self._commit()
        except _Failed as exc:
            failed = exc
        except (
            DeskshellError,
            OSError,
        ) as exc:  # outside of any step: a folder or the journal cannot be read
            failed = _Failed(None, exc, acted=False)
        if self._begin_place is None:
            self.desk.forget(self.task_id)
            raise failed.cause
        return self._roll_back(failed)

    def _do_batch(self, batch: list[Item]) -> None:
        checked = [(item, ctx) for item in batch if (ctx := self._check(item)) is not None]
        self._announce_temporaries()
        prepared = [
            (item, ctx, prior) for item, ctx in checked if (prior := self._prepare(item, ctx)) is not None
        ]
        if not prepared:
            return
        folders = _folders(prepared)
        self._write_intents(prepared, folders)
        try:
            for item, ctx, prior in prepared:
                self._act(item, ctx, prior)
            self._guard(self.ground.sync)
        finally:
            self._flush_results(folders)

    def _check(self, item: Item) -> Context | None:
        """Compare with what it was planned for, and note where it stages; None for an entry that is refused."""
        ctx = Context(
            self.ground,
            task_id=self.task_id,
            n=item.n,
            token=self._token,
            secrets=self.desk.secrets,
            stop=self._heed,
        )
        try:
            item.check(ctx)
            staging = item.staged_in(self.ground)
        except (DeskshellError, OSError) as exc:
            self._turn_down(item, exc)
            return None
        if staging:
            self._staging.update(dict.fromkeys(staging))
        return ctx

    def _announce_temporaries(self) -> None:
        folders, self._staging = self._staging, {}
        if not folders:
            return
        self._staged.update(folders)
        # Their names are durable before they exist, so a crash leaves no file that nobody knows of.
        times = self._note_times(folders)
        lines = self._begin_lines()
        line = {
            "type": "stage",
            "ts": self.desk.clock_ms(),
            "taskId": self.task_id,
            "token": self._token,
            "folders": record.folder_list(folders),
        }
        self._write([*lines, record.body(line), self._batch_line(times)], sync=True)

    def _prepare(self, item: Item, ctx: Context) -> Prior | None:
        try:
            self._heed()
            prior = item.prepare(ctx)
        except (DeskshellError, OSError) as exc:
            self._turn_down(item, exc)
            return None
        if self._go_on and not prior.effects and not item.alone:
            self.outcome.already.append(item.n)
            return None
        return prior

    def _write_intents(self, prepared: Sequence[_Prepared], folders: Iterable[bytes]) -> None:
        new = self._note_times(folders)
        self._guard(self.ground.sync_staged)  # I2: what is kept is durable before a record names it
        ts = self.desk.clock_ms()
        lines = self._begin_lines()
        lines.append(self._batch_line(new))
        lines += [item.intent(ts, self.task_id, prior) for item, _, prior in prepared]
        self._write(lines, sync=True)  # I1: durable before the target changes

    def _act(self, item: Item, ctx: Context, prior: Prior) -> None:
        try:
            self._heed()
        except DeskshellError as exc:
            raise _Failed(item, exc, acted=False) from exc
        try:
            item.do(ctx, prior)
            item.confirm(ctx)
        except (DeskshellError, OSError) as exc:
            if not self._go_on:
                if item.alone:
                    self._record_failure(item, ctx, prior, exc)
                raise _Failed(item, exc, acted=True) from exc
            self._refuse_late(item, ctx, prior, exc)
            return
        line = item.result(self.desk.clock_ms(), self.task_id, prior, ctx)
        if line is not None:
            self._results.append(line)
        self.outcome.state[item.n] = "ok"
        self._changed += bool(prior.effects or item.alone) and item.n >= 0
        self.times.moved(prior.effects)
        if ctx.not_kept:
            self.outcome.not_restored += ctx.not_kept
        if item.alone:  # the disk does not show it: only this line does
            self._write(self._results, sync=True)
            self._results = []
        if item.n >= 0:
            self.desk.progress.advance(1)

    def _record_failure(self, item: Item, ctx: Context, prior: Prior, exc: Exception) -> None:
        """Put on record what the disk does not show: a step failed, and maybe is known to have done nothing."""
        nothing = False
        with suppress(DeskshellError, OSError), self.ground.ticking(None):
            nothing = not item.take_back(ctx, prior)
        who = (self.task_id, item.n, item.action_id, item.kind)
        line = record.failed(self.desk.clock_ms(), *who, text(exc), taken_back=nothing, summary=item.summary)
        self._write([line], sync=True)

    def _refuse_late(self, item: Item, ctx: Context, prior: Prior, exc: Exception) -> None:
        """An undo's entry met somebody else's work while acting: take this entry back, go on."""
        from deskshell.kernel import rollback

        self.ground.heirs.on_back = partial(rollback.record_back, self.desk, self.task_id)
        try:
            item.take_back(ctx, prior)
        except (DeskshellError, OSError) as second:
            self.outcome.left.append(item.left(text(second)))
        self._refuse(item, exc)

    def _turn_down(self, item: Item, exc: Exception) -> None:
        """What came before acting failed: the task fails, or an undo goes on without this entry."""
        if not self._go_on:
            raise _Failed(item, exc, acted=False) from exc
        self._refuse(item, exc)

    def _refuse(self, item: Item, exc: Exception) -> None:
        if self._refused is not None:
            self._refused(item, as_conflict(exc))

    def _commit(self) -> Outcome:
        if self._begin_place is None:
            if not self.outcome.already:
                return self.outcome
            self._write(self._begin_lines(), sync=False)  # all was taken back by hand: let it be on record
        if self._go_on:
            self._remove_leftovers()
        closing = Closing({}, [], {}) if self._closing is None else self._closing(self)
        self._guard(lambda: self._set_times(closing.times))
        self._guard(self.ground.sync)
        self.outcome.status = "incomplete" if self.outcome.left else "ok"
        self._end(closing.lines, self.outcome.status, closing.facts)
        return self.outcome

    def _remove_leftovers(self) -> None:
        """What was staged for entries that were then refused; an entry that is left may need its own."""
        if not self.outcome.left:
            from deskshell.kernel import rollback

            lost = rollback.remove_temporaries(self.ground, self._token, self._staged)
            self.outcome.not_restored += lost
        if self._staged:  # removing them was our own change of these folders, too
            self._results.append(self._folders_line(self._folder_times(self._staged)))

    def _set_times(self, times: Mapping[bytes, int]) -> None:
        for folder in sorted(times, key=lambda path: path.count(b"/"), reverse=True):
            if not self.ground.set_folder_time(folder, times[folder]):
                self.outcome.not_restored.append(f"folder time of `{names.show(folder)}`: not permitted")
        if self._go_on:  # the last word on all folders: those of the batches hold in between only
            self._results.append(self._folders_line(self._folder_times({*times, *self.times.known})))

    # the way back

    def _roll_back(self, failed: _Failed) -> Outcome:
        out = self.outcome
        self.desk.progress.finish()
        out.error, out.hint = text(failed.cause), hint(failed.cause)
        out.signum = failed.cause.signum if isinstance(failed.cause, Interrupted) else 0
        assert self._begin_place is not None
        from deskshell.kernel import rollback

        try:
            found = rollback.take_back(
                self.desk, self.ground, self.task_id, self._begin_place, since_ms=self.started_ms
            )
            self.ground.sync()
        except (DeskshellError, OSError) as exc:  # the next start reads the disk, and goes on from there
            out.status, out.error = "unknown", f"{out.error}; and taking it back failed: {text(exc)}"
            self._close_segment()
            return out
        culprit = failed.item
        done = {*out.state.ok(), *found.back}
        for n in found.back:
            out.state[n] = "rolled-back"
        lines = []
        if culprit is not None:
            taken_back = culprit.n not in found.left
            out.state[culprit.n] = "failed"
            out.errors[culprit.n] = out.error
            if taken_back:
                out.taken_back.add(culprit.n)
                if failed.acted:
                    done.add(culprit.n)
            found.failed[culprit.n] = out.error
            lines.append(
                record.failed(
                    self.desk.clock_ms(),
                    self.task_id,
                    culprit.n,
                    culprit.action_id,
                    culprit.kind,
                    out.error,
                    taken_back=taken_back,
                    summary=culprit.summary,
                )
            )
        out.rolled_back = len({n for n in done if n >= 0 and n not in found.left})
        out.left = list(found.left.values())
        out.not_restored = found.not_restored
        out.status = "incomplete" if found.left else "rolled-back"
        lines += rollback.result_lines(self.desk.clock_ms(), self.task_id, found)
        self._end(lines, out.status)
        if out.status == "rolled-back":
            self.desk.forget(self.task_id)
        return out

    def _end(self, lines: list[str], status: str, facts: Mapping[str, Any] | None = None) -> None:
        """Write the end, whatever it takes; what cannot be made durable is `unknown`, never a success."""
        out = self.outcome
        assert self._begin_place is not None
        end: dict[str, Any] = {
            "type": "end",
            "ts": self.desk.clock_ms(),
            "taskId": self.task_id,
            "status": status,
            "begin": list(self._begin_place),
            "steps": out.state.planned,
            "changed": self._changed,
            "rolledBack": out.rolled_back,
            **(facts or {}),
        }
        if out.error:
            end["error"] = out.error
        if out.left:
            end["left"] = record.left_list(out.left)
        if out.not_restored:
            end["notRestored"] = out.not_restored[:100]
        bodies = [*self._results, *lines, record.body(end)]
        self._results = []
        try:
            write_surely(self.desk, bodies)
        except OSError as exc:
            out.status = "unknown"
            out.error = f"{out.error}; " if out.error else ""
            out.error += f"the journal's last sync failed: {text(exc)}"
            self._close_segment()

    def _close_segment(self) -> None:
        try:
            self.desk.journal.retire("failed-sync")
        except OSError:
            pass  # the next writer finds the task open, reads the disk and writes its end

    # helpers

    def _heed(self) -> None:
        signum = self.desk.stop.signum
        if signum and not self._go_on:  # an undo finishes the task in hand
            raise Interrupted("interrupted", signum=signum)

    def _guard(self, action: Callable[[], None]) -> None:
        try:
            action()
        except (DeskshellError, OSError) as exc:
            raise _Failed(None, exc, acted=False) from exc

    def _note_times(self, folders: Iterable[bytes]) -> dict[bytes, FolderTime]:
        """Remember the times of folders about to change for the first time; returns the new ones."""
        new: dict[bytes, FolderTime] = {}
        for folder in folders:
            if self.times.is_new(folder):
                found = self.ground.folder_time(folder)
                if found is not None:
                    new[folder] = found
                    self.times.note(folder, found)
        return new

    def _begin_lines(self) -> list[str]:
        if self._begin_place is not None:
            return []
        self._begin_place = self.desk.journal.place()
        steps = int(self._begin_facts.get("planned", 0))
        self.desk.journal.preallocate(min(steps * BYTES_PER_STEP, _MOST_ROOM))
        self.outcome.task_id = self.task_id
        line = {
            "type": "begin",
            "ts": self.started_ms,
            "taskId": self.task_id,
            "uid": os.urandom(16).hex(),
            "host": self.desk.host,
            "pid": os.getpid(),
            "landlock": self.ground.wall or False,
            **self._begin_facts,
        }
        return [record.body(line)]

    def _batch_line(self, times: Mapping[bytes, FolderTime]) -> str:
        line = {"type": "batch", "taskId": self.task_id, "folders": record.folder_times(times)}
        return record.body(line)

    def _folders_line(self, times: Mapping[bytes, FolderTime]) -> str:
        line = {"type": "folders", "taskId": self.task_id, "folders": record.folder_times(times)}
        return record.body(line)

    def _write(self, lines: list[str], *, sync: bool) -> None:
        """Append; on failure nothing may be acted on: the task ends in a new segment, or never began."""
        journal = self.desk.journal
        began_here = bool(lines) and journal.place() == self._begin_place
        try:
            journal.append(lines)
            if sync:
                journal.sync()
        except OSError as exc:
            self.desk.journal.release_reserve()
            self._close_segment()
            if began_here:  # the begin itself is lost, and nothing was acted on: this task never began
                self._begin_place = None
                self.outcome.task_id = None
            raise _Failed(None, exc, acted=False) from exc

    def _folder_times(self, folders: Iterable[bytes]) -> dict[bytes, FolderTime]:
        found: dict[bytes, FolderTime] = {}
        for folder in folders:
            with suppress(DeskshellError, OSError):  # a failure that led here matters more
                time = self.ground.folder_time(folder) if folder[:1] == b"/" else None
                if time is not None:
                    found[folder] = time
        return found

    def _flush_results(self, folders: Iterable[bytes]) -> None:
        self._results.append(self._folders_line(self._folder_times(folders)))
        try:
            self.desk.journal.append(self._results)
        except (
            OSError
        ):  # they stand before the end then: rollback and recovery read the disk, but undo does not
            self.desk.journal.release_reserve()
            self._close_segment()
        else:
            self._results = []


def write_surely(desk: Desk, bodies: list[str]) -> None:
    """Append and sync, giving up the reserve and starting a new segment where that is what it takes.

    Raises OSError when even that fails, or when the sync itself did.
    """
    journal = desk.journal
    try:
        journal.append(bodies)
    except OSError:
        journal.release_reserve()
        journal.retire("failed-sync")
        journal.append(bodies)
    journal.sync()


def _folders(prepared: Iterable[_Prepared]) -> dict[bytes, None]:
    """The folders in which the effects of these steps change names."""
    found: dict[bytes, None] = {}
    for _, _, prior in prepared:
        for effect in prior.effects:
            for path in effect.paths():
                found[path.rpartition(b"/")[0]] = None
    return found
