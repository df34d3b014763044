"""Undo and redo: a task made from the journal, never from the manifest.

The steps of a recorded task are read from the newest back and each is turned into the effects that
take it back (`inverse`). Entries that cannot be undone are refused one by one, with their cause; the
others go on. A redo is the same over the steps of an undo.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing as closes
from typing import Any

from deskshell.errors import Conflict, DeskshellError, NotFound
from deskshell.files import names
from deskshell.files.identity import Identity, Stat, stat_path
from deskshell.files.names import get_path
from deskshell.files.paths import PathIndex
from deskshell.kernel import history, record, rollback, select
from deskshell.kernel.capability import FS_WRITE, Grant, Scope, path_roots
from deskshell.kernel.desk import Desk
from deskshell.kernel.effects import Effect
from deskshell.kernel.ground import Ground
from deskshell.kernel.heirs import Heirs, Tell
from deskshell.kernel.history import Head
from deskshell.kernel.inverse import Expected, Sight
from deskshell.kernel.item import Backing, Backward
from deskshell.kernel.outcome import Closing, Outcome, as_conflict
from deskshell.kernel.plain import plain_roots
from deskshell.kernel.report import EntryReport, UndoneTask, ranges, show_target, text
from deskshell.kernel.transaction import Transaction
from deskshell.kernel.walk import Walk, note_times_after, put_back_since
from deskshell.slotted import slotted


@slotted(frozen=True)
class Wish:
    """How to undo: only `steps` (action ids, empty for all), and whether to go over later changes."""

    steps: tuple[str, ...] = ()
    force: bool = False
    owner: str = ""
    front: str = "cli"


def undo_task(desk: Desk, head: Head, wish: Wish) -> UndoneTask:
    """Take back one task. Refused entries are in the report; nothing of theirs is touched."""
    work = _Work(desk, head, wish)
    return work.carry_out("undo", {}, work.close_undo)


def redo_task(desk: Desk, undo: Head, wish: Wish) -> UndoneTask:
    """Take back an undo exactly: what it held goes back as the very object it was."""
    original = history.find(desk.journal, str(undo.of))
    work = _Work(desk, undo, wish, original, put_back_since(desk.journal, original, undo))
    return work.carry_out("redo", {"undoes": undo.task_id}, work.close_redo)


def check_task(desk: Desk, head: Head, wish: Wish, expected: Expected) -> UndoneTask:
    """What `undo_task` would do now. Changes nothing; `expected` carries what earlier checks would undo."""
    return _Work(desk, head, wish).look_ahead(expected)


class _Work:
    """One recorded task being taken back: the steps chosen, and what became of them.

    `head` is the task whose effects are inverted (an undo, for a redo); `original` the one that
    reports name. Steps that are `settled` need nothing.
    """

    def __init__(
        self,
        desk: Desk,
        head: Head,
        wish: Wish,
        original: Head | None = None,
        settled: Collection[int] = (),
    ) -> None:
        self._desk = desk
        self._head = head
        self._wish = wish
        self._original = original or head
        self._walk = Walk(desk.journal, head, settled)
        self._entries: dict[int, EntryReport] = {}
        self._compensated: set[int] = set()
        self._notes: list[str] = []
        self._lost: list[str] = []
        self._kept_in: set[bytes] = set()  # folders in which something of the task remains
        self._stand: dict[bytes, tuple[str, int]] = {}  # where entries remain → the step, and its turn
        self._standing = PathIndex()  # the same places
        self._redone: list[str] = []
        self._by = ""  # the task that does it, once it has an id
        self._wanted = self._named() if wish.steps else None

    def _named(self) -> set[int]:
        """Numbers of the steps asked for. Raises NotFound for one that the task does not have."""
        by_id: dict[str, int] = {}
        for _, line in self._desk.journal.forward(self._head.begin_place, self._head.end_place):
            if line.get("taskId") == self._head.task_id and line.get("n", -1) >= 0:
                by_id[str(line.get("actionId"))] = by_id[str(line["n"])] = line["n"]
        for name in self._wish.steps:
            if name not in by_id:
                raise NotFound(
                    f"task `{self._head.task_id}` has no step `{names.show(name.encode())}`",
                    hint=f"see its steps with `deskshell show {self._head.task_id}`",
                )
        return {by_id[name] for name in self._wish.steps}

    def items(self, sight: Sight | None) -> Iterator[Backward]:
        """The chosen steps, last done first; without `sight` only to be told of."""
        backing = Backing(
            of=self._original.task_id,
            sight=sight,
            redo=self._head is not self._original,
            half=self._head.status == "incomplete",
            force=self._wish.force,
            kinds=self._desk.kinds,
            free=self._refuse_below_others,
            done=self._note_done,
        )
        for turn, step in enumerate(self._walk):
            item = Backward(
                step.line, backing, turn, summary=step.summary, ctime_ns=step.ctime_ns, unsure=step.unsure
            )
            if self._wanted is not None and step.n >= 0 and step.n not in self._wanted:
                self._keep(item, asked=True)
                continue
            if self._shows(item.n):
                self._entries[item.n] = EntryReport(item.n, item.action_id, "failed", item.target)
                if item.compensates:
                    self._compensated.add(item.n)
            yield item

    def _shows(self, n: int) -> bool:
        """Folders that a step needed are no entries, unless they are what an incomplete run left."""
        return n >= 0 or (self._head.role == "run" and self._head.status == "incomplete")

    def _keep(self, item: Backward, *, asked: bool = False) -> None:
        """`item` stays: because it was refused, or because others were `asked` for."""
        self._kept_in.update(path.rpartition(b"/")[0] for path in item.touches())
        if not (asked and self._wish.force):
            for path in item.stands_at():
                self._stand[path] = (item.action_id, item.turn)
                self._standing.add(path)

    def _refuse_below_others(self, item: Backward) -> None:
        """Refuse what a later step of the task stands on: an entry that stays could never be undone then."""
        if item.n < 0:
            return
        for path in item.stands_at() if self._stand else ():
            for stands in self._standing.related(path):
                action_id, turn = self._stand[stands]
                # Those with a later turn came before it: they are known already, for items are taken ahead in batches.
                if turn < item.turn:
                    raise Conflict(
                        f"step `{action_id}`, which stays, came after it at `{names.show(stands)}`",
                        path=stands,
                        verdict="blocked",
                    )

    def _note_done(self, item: Backward, effects: Sequence[Effect]) -> None:
        self._notes += item.notes
        if self._shows(item.n) and item.notes:
            self._entries[item.n].reason = "; ".join(item.notes)
        if self._head is not self._original:
            ts = self._desk.clock_ms()
            self._redone.append(item.redone(ts, self._original.task_id, self._by, effects))

    # doing

    def carry_out(
        self, role: str, facts: Mapping[str, Any], close: Callable[[Transaction], Closing]
    ) -> UndoneTask:
        """Take the steps back as one task with the role `undo` or `redo`."""
        try:
            ground = self._open()
        except (DeskshellError, OSError) as exc:
            return self._refuse_all(as_conflict(exc))
        steps = int((self._head.end or {}).get("steps", 0)) or len(self._head.lines)
        begin = self._begin(role, {**facts, "planned": steps})
        with closes(ground):
            self._desk.progress.start(f"{role}ing {self._original.task_id}", steps)
            outcome = self._desk.walled(ground, lambda: self._work(ground, begin, close), own=self._own())
            self._desk.progress.finish()
        return self._report(outcome)

    def _work(
        self, ground: Ground, begin: Mapping[str, Any], close: Callable[[Transaction], Closing]
    ) -> Outcome:
        work = Transaction(self._desk, ground, begin, go_on=True, closing=close, refused=self._refuse)
        self._by = work.task_id
        items = self.items(Sight(ground))
        try:
            outcome = work.run(items)
        except (DeskshellError, OSError) as exc:  # nothing was begun: the journal takes no entries
            outcome = Outcome(None, "rolled-back", error=text(exc))
        for _ in items:
            pass  # entries that were not reached are reported, too
        return outcome

    def look_ahead(self, expected: Expected) -> UndoneTask:
        """Verdicts without acting; `expected` is told what would have happened."""
        try:
            ground = self._open(expected.roots)
        except (DeskshellError, OSError) as exc:
            return self._refuse_all(as_conflict(exc))
        expected.roots = tuple(anchor.root for anchor in ground.places.anchors)
        expected.heirs.ask, ground.heirs = ground.heirs.ask, expected.heirs
        with closes(ground):
            return self._check(Sight(ground, expected))

    def _check(self, sight: Sight) -> UndoneTask:
        for item in self.items(sight):
            try:
                effects = item.look_ahead()
            except (DeskshellError, OSError) as exc:
                self._refuse(item, as_conflict(exc))
                continue
            sight.play(effects)
            if self._shows(item.n):
                entry = self._entries[item.n]
                entry.verdict = "undoable" if effects or item.compensates else "already"
                entry.reason = "; ".join(item.notes)
        good = all(entry.good for entry in self._entries.values())
        return self._task(("undone" if good else "refused") if self._entries else "nothing", 0)

    def _open(self, more: Iterable[bytes] = ()) -> Ground:
        """The ground within the task's recorded scopes: an undo acts within them (I10); `more` roots are for a look.

        Raises Conflict when a folder is not the one that the task acted in, OSError.
        """
        self._compare_anchors()
        own = path_roots(Grant.from_json(each) for each in self._grants())
        ground = self._desk.ground(tuple(dict.fromkeys((*own, *more))))
        ground.heirs.ask = self._tell_of_heirs
        return ground

    def _tell_of_heirs(self, tell: Tell) -> None:
        """Tell which copies took the place of objects that were dropped since the task began, the newest first."""
        journal = self._desk.journal
        # Few lines say so, and in a string the quotes would be escaped: the others need not be parsed.
        found = [place for place, _ in journal.raw_forward(self._head.begin_place, containing=b'"was":[')]
        for line in journal.lines_at(reversed(found)):
            for form in (line,) if line.get("type") == "back" else line.get("back", ()):
                record.read_back(form, tell)

    def _grants(self) -> list[dict[str, Any]]:
        if self._head.plain:  # lines of an older version record no scope: nothing but their own paths
            scopes = tuple(Scope(root, names.show(root)) for root in plain_roots(self._head.lines))
            return [Grant(FS_WRITE, scopes, "to undo").to_json()]
        return list(self._head.begin.get("grants", ()))

    def _own(self) -> list[bytes]:
        """The roots that the task itself renamed or removed."""
        if self._head.plain:
            return plain_roots(self._head.lines)
        return record.read_folder_list(self._head.begin.get("own", ()))

    def _compare_anchors(self) -> None:
        own = self._own()
        for anchor in self._head.begin.get("anchors", ()):
            path = get_path(anchor, "path")
            if path in own:  # the task replaced it itself: its steps compare what they left there
                continue
            kind, ino, birth_ns = anchor["id"]
            here = stat_path(path)
            if here is None:
                continue  # the task may have moved or deleted it itself; each entry finds out
            other_birth = here.birth_ns and birth_ns and here.birth_ns != birth_ns
            another = here.ino and ino and (here.ino != ino or other_birth)
            if another and not self._came_back(path, here, Identity(kind, ino, birth_ns, 0, 0, 0)):
                raise Conflict(f"`{names.show(path)}` is another {kind} than the task acted in", path=path)

    def _came_back(self, folder: bytes, here: Stat, wanted: Identity) -> bool:
        """True when the folder `here` is the copy of the one that the task acted in."""
        heirs = Heirs()
        heirs.ask = self._tell_of_heirs
        return heirs.of(folder, here, wanted) is not wanted

    def _begin(self, role: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "role": role,
            "of": self._original.task_id,
            "skill": self._original.skill,
            "grants": self._grants(),
            "anchors": list(self._head.begin.get("anchors", ())),
            "own": list(self._head.begin.get("own", ())),
            "owner": self._wish.owner,
            "front": self._wish.front,
            "force": self._wish.force,
            **facts,
        }

    # closing

    def close_undo(self, done: Transaction) -> Closing:
        """An undo's last words: the task's steps are `rolled-back`, its folders have their earlier times."""
        gone = self._gone(done)
        lines = [
            record.steps_status(
                self._desk.clock_ms(), self._original.task_id, span, "rolled-back", done.task_id
            )
            for span in ranges(gone)
        ]
        status = self._walk.status
        left = any(n >= 0 and status[n] in ("ok", "failed") and n not in gone for n in status)
        left = left or bool(self._lost)  # a folder that a failing disk kept can be tried again
        if not left and self._head.status == "incomplete":
            self._clear_up(done)
        facts = {"of": self._original.task_id, "state": "partly" if left else "undone"}
        return Closing(self._times(done), lines, facts)

    def _clear_up(self, done: Transaction) -> None:
        """Remove temporaries that the task could not take away itself, now that no step needs them."""
        for _, line in self._desk.journal.forward(self._head.begin_place, self._head.end_place):
            if line.get("type") == "stage" and line.get("taskId") == self._head.task_id:
                folders = record.read_folder_list(line["folders"])
                lost = rollback.remove_temporaries(done.ground, line["token"], folders)
                done.outcome.not_restored += lost

    def close_redo(self, done: Transaction) -> Closing:
        """A redo's last words: each step is `ok` again, with a new undo."""
        for later in self._original.later:
            note_times_after(self._desk.journal, later, self._walk.after)
        state = "partly" if self._stand else "redone"
        facts = {"of": self._original.task_id, "state": state}
        return Closing(self._times(done), self._redone, facts)

    @staticmethod
    def _gone(done: Transaction) -> set[int]:
        return {*done.outcome.state.ok(), *done.outcome.already}

    def _times(self, done: Transaction) -> dict[bytes, int]:
        """Folder times to give back: of folders that nobody changed since, and that nothing is left in."""
        times, others = done.times.to_set(
            self._walk.before, self._walk.after, self._kept_in, done.ground.heirs
        )
        done.outcome.notes += [
            f"folder time of `{names.show(each)}` kept (changed by others)" for each in others
        ]
        return times

    # reporting

    def _refuse(self, item: Backward, conflict: Conflict) -> None:
        self._keep(item)
        if not self._shows(item.n):
            if conflict.verdict == "failed":
                self._lost.append(f"folder `{show_target(item.target)}` stays: {conflict.message}")
            elif self._wanted is None:  # else it is the other steps that it stays for
                self._notes.append(f"{conflict.message}; it stays")
        else:
            entry = self._entries[item.n]
            entry.verdict, entry.path, entry.reason = conflict.verdict, conflict.path, conflict.message

    def _refuse_all(self, conflict: Conflict) -> UndoneTask:
        """Nothing of the task can be taken back, for one reason."""
        for item in self.items(None):
            self._refuse(item, conflict)
        return self._task("refused" if self._entries else "nothing", 0)

    def _report(self, outcome: Outcome) -> UndoneTask:
        for n in outcome.already:
            if self._shows(n):
                self._entries[n].verdict = "already"
        undone = 0
        for n in outcome.state.ok():
            if self._shows(n):
                undone += n >= 0
                self._entries[n].verdict = "compensated" if n in self._compensated else "undone"
        for entry in self._entries.values():
            if entry.verdict == "failed" and not entry.reason:
                entry.reason = outcome.error or "not done"
        good = all(entry.good for entry in self._entries.values())
        status = "undone" if good else ("partly" if undone else "refused")
        task = self._task(status if self._entries else "nothing", undone)
        task.undo_id = outcome.task_id
        task.unknown = outcome.status == "unknown"
        task.incomplete = outcome.status == "incomplete"
        task.notes += outcome.notes + self._still_undone()
        task.not_restored += self._lost + outcome.not_restored
        return task

    def _still_undone(self) -> list[str]:
        """What a redo says when another undo had taken back other steps of the task."""
        task_id, journal = self._original.task_id, self._desk.journal
        others = any(
            each.role == "undo" and each.task_id != self._head.task_id for each in self._original.later
        )
        if self._head is self._original or not others:
            return []
        steps = history.fold(journal, history.find(journal, task_id)).steps
        undone = sum(n >= 0 and step.undone_by is not None for n, step in steps.items())
        if not undone:
            return []
        return [
            f"steps still undone, by another undo: {undone}; go on with `deskshell redo --task {task_id}`"
        ]

    def _name_who_changed(self) -> None:
        """Say which later task it was that changed what, or is in the way, where one was."""
        refused = [
            entry
            for entry in self._entries.values()
            if entry.path and entry.verdict in ("changed", "blocked")
        ]
        if not refused or self._head.end_place is None:
            return
        own = {self._original.task_id, self._by, *(each.task_id for each in self._original.later)}
        by = select.who_changed(
            self._desk.journal, self._head.end_place, (entry.path for entry in refused if entry.path), own
        )
        for entry in refused:
            entry.by_task = by.get(entry.path or b"")

    def _task(self, status: str, undone: int) -> UndoneTask:
        self._name_who_changed()
        task = UndoneTask(
            self._original.task_id,
            self._original.skill,
            status,
            undone,
            self._walk.total,
            list(self._entries.values()),
        )
        task.notes = list(self._notes)
        return task
