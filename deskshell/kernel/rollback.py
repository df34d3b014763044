"""Taking a task back from what the journal says of it: rollback in a run, and recovery after a crash.

Both read the task's intents from the newest back and let each effect look at the disk: what is there
is taken back, what never happened is passed over (I9). So it does not matter where the task stopped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from deskshell.errors import Conflict, DeskshellError
from deskshell.files import names
from deskshell.files.identity import Identity, Stat, same_object, stat_at
from deskshell.files.paths import is_within
from deskshell.kernel import record
from deskshell.kernel.context import Context
from deskshell.kernel.desk import Desk
from deskshell.kernel.displaced import Displaced
from deskshell.kernel.effects import Drop, Effect, Move
from deskshell.kernel.folder_time import FolderTime
from deskshell.kernel.ground import Ground
from deskshell.kernel.history import numbers
from deskshell.kernel.report import Left, ranges, text
from deskshell.kernel.sequence import as_now, moved_on
from deskshell.kernel.sequence import take_back as take_effects_back
from deskshell.slotted import field, slotted
from deskshell.store.segments import Place

_EDIT_NS = 1_000_000_000  # an edit sets mtime and ctime together, a rename ctime alone


@slotted()
class TakenBack:
    """What taking a task back came to.

    `back` are numbers of steps whose effects were there and are gone, `never` of those that had none
    on disk, `left` what remains by number; `done` and `failed` are what the journal said of them.
    `countered` are those whose counter-action an earlier attempt was about to send.
    `not_restored` lists folder times that were kept; `after` has the times of folders as they
    are now; `claims` what an undo or redo had already written about its task: (task, status) → numbers.
    """

    back: set[int] = field(default_factory=set)
    never: set[int] = field(default_factory=set)
    left: dict[int, Left] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    countered: set[int] = field(default_factory=set)
    not_restored: list[str] = field(default_factory=list)
    after: dict[bytes, FolderTime] = field(default_factory=dict)
    claims: dict[tuple[str, str], set[int]] = field(default_factory=dict)


def take_back(desk: Desk, ground: Ground, task_id: str, begin: Place, *, since_ms: int) -> TakenBack:
    """Take back every step of the task that began at `begin`, going on past those that cannot be.

    `since_ms` is when it began: a folder gets its time back unless somebody else's entry is newer.
    """
    found = TakenBack()
    before: dict[bytes, FolderTime] = {}
    named: set[bytes] = set()
    ours = _Ours()
    displaced = Displaced(ground)
    ground.heirs.on_back = partial(record_back, desk, task_id)
    for line in _lines_back(desk, task_id, begin):
        kind = line.get("type")
        if kind == "batch":
            before.update(record.read_folder_times(line["folders"]))
        elif kind == "counter":
            found.countered.add(int(line["n"]))
        elif kind == "back":
            record.read_back(line, ground.heirs.know)
        elif kind == "stage":
            # Now, while the folders still have the names of that time, and before any is to be empty.
            folders = record.read_folder_list(line["folders"])
            found.not_restored += remove_temporaries(ground, line["token"], folders, named)
        elif kind is None and line["taskId"] != task_id:
            found.claims.setdefault((line["taskId"], line["status"]), set()).update(numbers(line))
        elif kind is None and line["status"] == "intent":
            given = record.read_effects(line)
            effects = as_now(given, ground)
            n = int(line["n"])
            if _take_back_step(desk, ground, task_id, line, effects=effects, found=found):
                displaced.wait(n, effects)
            for settled in displaced.passed(n, effects, left=n in found.left):
                del found.left[settled]
                found.never.add(settled)
            ours.add(effects)
            named.update(name for effect in effects for name in effect.temporaries())
            if n not in found.left:
                _note_copies(ground, given, effects)
            if n not in found.left or displaced.waits(n):
                _follow(before, effects, keep=n in found.left)
        elif kind is None and line["status"] == "ok":
            found.done.update(numbers(line))
        elif kind is None and line["status"] == "failed":
            found.failed[line["n"]] = line.get("error", "")
            if line.get("takenBack"):
                found.never.add(line["n"])
    _restore_times(ground, before, since_ms, found, ours)
    found.not_restored += ground.lost
    return found


def _note_copies(ground: Ground, given: tuple[Effect, ...], known: tuple[Effect, ...]) -> None:
    """Of copies that went back out of a folder which had come back itself, it is put on record what they stand for."""
    for path, was, copy in moved_on(given, known):
        with suppress(
            DeskshellError, OSError
        ):  # without it a later undo asks for `--force`, and nothing is lost
            here = ground.look(path)
            if path[:1] == b"/" and here is not None and same_object(here, copy):
                ground.note_back(path, was)


class _Ours:
    """The objects and names of a task: an entry that is none of them is somebody else's."""

    def __init__(self) -> None:
        self._paths: set[bytes] = set()
        self._objects: set[tuple[int, int]] = set()

    def add(self, effects: tuple[Effect, ...]) -> None:
        """Learn what `effects` are about."""
        for effect in effects:
            self._paths.update(effect.paths())
            for name in ("id", "new", "old"):
                found = getattr(effect, name, None)
                if found is not None and found.ino:
                    self._objects.add((found.ino, found.birth_ns))

    def has(self, path: bytes, stat: Stat) -> bool:
        """True for one of our names, or another name of one of our objects (hard links share their ctime)."""
        return path in self._paths or (stat.ino, stat.birth_ns) in self._objects


def record_back(desk: Desk, task_id: str, path: bytes, dropped: Identity, copy: Identity) -> None:
    """A copy took the place of what was dropped: its identity is known before anything is done to it (I9)."""
    line = {"type": "back", "taskId": task_id, **record.back_form(path, dropped, copy)}
    with suppress(OSError):  # it is only for a recovery that is cut short, and the journal may be what failed
        desk.journal.append([record.body(line)])
        desk.journal.sync()


def _follow(before: dict[bytes, FolderTime], effects: tuple[Effect, ...], *, keep: bool) -> None:
    """Folders noted under the name that a step gave to them, or to one above them, are back under the old one.

    With `keep` that is not sure, and they are looked for under both.
    """
    for effect in reversed(effects):
        if isinstance(effect, Move):
            old, new = effect.src, effect.dst
        elif isinstance(effect, Drop):  # to another file system: it came back as a copy of the copy
            old, new = effect.path, effect.copy
        else:
            continue
        if effect.id.kind != "folder" or old[:1] != b"/":
            continue
        for folder in [each for each in before if is_within(each, new)]:
            before[old + folder[len(new) :]] = before[folder] if keep else before.pop(folder)


def _lines_back(desk: Desk, task_id: str, begin: Place) -> Iterator[dict[str, Any]]:
    for place, line in desk.journal.backward():
        if place == begin:
            return
        if line.get("taskId") == task_id or line.get("by") == task_id:
            yield line


def _take_back_step(
    desk: Desk,
    ground: Ground,
    task_id: str,
    line: Mapping[str, Any],
    *,
    effects: tuple[Effect, ...],
    found: TakenBack,
) -> bool:
    """Note what became of a step; True when its objects are not where it had put them (see `displaced`)."""
    n = int(line["n"])
    if n in found.back or n in found.never or n in found.left:
        return False
    try:
        if "args" in line:
            _refuse_unknown(n, found)
            anything = _take_back_outside(desk, ground, task_id, line)
        elif line.get("irreversible"):
            anything = _refuse_final(ground, effects)
        else:
            anything = take_effects_back(effects, ground)
    except (DeskshellError, OSError) as exc:
        final = bool(line.get("irreversible"))
        found.left[n] = Left(str(line["actionId"]), _target(line, effects, exc), text(exc), final)
        return isinstance(exc, Conflict) and "args" not in line
    if anything or n in found.done:
        found.back.add(n)
    else:
        found.never.add(n)
    return False


def _refuse_final(ground: Ground, effects: tuple[Effect, ...]) -> bool:
    """A step that its plan declared final stays, when it happened; its temporaries go."""
    for effect in effects:
        if effect.happened(ground):
            raise Conflict("this step cannot be undone", verdict="no-undo")
    for effect in reversed(effects):
        effect.take_back(ground)
    return False


def _refuse_unknown(n: int, found: TakenBack) -> None:
    """Claim nothing of a step that the disk does not show and that has no result."""
    if n in found.failed:
        raise Conflict("it was not done as asked, and what came of it cannot be undone", verdict="no-undo")
    if n not in found.done:
        raise Conflict("it may have been sent: no result was recorded", verdict="failed")
    if n in found.countered:  # once, and never twice because it is not known
        raise Conflict("its counter-action may have been sent: no result was recorded", verdict="failed")


def _take_back_outside(desk: Desk, ground: Ground, task_id: str, line: Mapping[str, Any]) -> bool:
    """A step whose effect the disk does not show: by its counter-action, if one was given."""
    given = line.get("undo")
    if given is None or line.get("irreversible"):
        raise Conflict("this step cannot be undone", verdict="no-undo")
    args = {key: value for key, value in given.items() if key != "kind"}
    action = desk.kinds[given["kind"]].from_json(args)
    n = int(line["n"])
    ctx = Context(ground, task_id=task_id, n=n, token="", secrets=desk.secrets, stop=_never)
    prior = action.prepare(ctx)
    desk.journal.append([record.body({"type": "counter", "taskId": task_id, "n": n})])
    desk.journal.sync()  # a recovery that finds this line does not send it a second time
    action.do(ctx, prior)
    return True


def _never() -> None:
    """A rollback is not to be interrupted."""


def _target(line: Mapping[str, Any], effects: tuple[Effect, ...], exc: Exception) -> bytes | str:
    if isinstance(exc, Conflict) and exc.path[:1] == b"/":
        return exc.path
    for effect in effects:
        if effect.paths():
            return effect.paths()[-1]
    return str((line.get("args") or {}).get("url", ""))


def remove_temporaries(
    ground: Ground, token: str, folders: Iterable[bytes], named: Collection[bytes] = ()
) -> list[str]:
    """Remove what a prepare left under this token, which was recorded before it was used; says what stays.

    What an intent names is left to its effect: it may be the user's own object, on its way.
    """
    stays: list[str] = []
    prefix = names.temp_name(token, 0).rpartition(b"-")[0]
    for folder in folders:
        try:
            fd = ground.folder_fd(folder)
            for name in () if fd is None else os.listdir(fd):
                raw = os.fsencode(name)
                if raw.startswith(prefix) and folder + b"/" + raw not in named:
                    ground.remove(folder + b"/" + raw)
        except (DeskshellError, OSError) as exc:
            stays.append(f"temporaries in `{names.show(folder)}`: {text(exc)}")
    return stays


def _restore_times(
    ground: Ground,
    before: Mapping[bytes, FolderTime],
    since_ms: int,
    found: TakenBack,
    ours: _Ours,
) -> None:
    remaining = {path.rpartition(b"/")[0] for path in _left_paths(found)}
    for folder in sorted(before, key=lambda path: path.count(b"/"), reverse=True):
        shown = names.show(folder)
        try:
            now = ground.folder_time(folder)
            if now is None:
                continue
            found.after[folder] = now
            was = before[folder]
            if folder in remaining or now.mtime_ns == was.mtime_ns:
                continue
            if _is_of_another(ground, folder, was, now):
                continue  # noted of a folder that the task itself made, and that is gone
            if _has_strangers(ground, folder, since_ms, ours, before):
                found.not_restored.append(f"folder time of `{shown}` kept (changed by others)")
            elif ground.set_folder_time(folder, was.mtime_ns):
                found.after[folder] = now._replace(mtime_ns=was.mtime_ns)
            else:
                found.not_restored.append(f"folder time of `{shown}`: not permitted")
        except (DeskshellError, OSError) as exc:
            found.not_restored.append(f"folder time of `{shown}`: {text(exc)}")


def _is_of_another(ground: Ground, folder: bytes, was: FolderTime, now: FolderTime) -> bool:
    """True when `was` is not about the folder that is there now, nor about one of which it is the copy."""
    if any(is_within(folder, top) for top in ground.heirs.by_path):
        return False
    if was.ino and now.ino:
        return was.folder != now.folder
    return now.mtime_ns < was.mtime_ns <= time.time_ns()


def _left_paths(found: TakenBack) -> Iterator[bytes]:
    for left in found.left.values():
        if isinstance(left.target, bytes):
            yield left.target


def _has_strangers(
    ground: Ground, folder: bytes, since_ms: int, ours: _Ours, timed: Collection[bytes]
) -> bool:
    """True when `folder` holds an entry that somebody else put there since the task began.

    Such an entry was born since, or was renamed since: its ctime is new and its mtime is not. So it is with
    the folders `timed`, too, but it was this rollback that gave them their earlier times.
    """
    if any(is_within(folder, top) for top in ground.heirs.by_path):
        return False  # all in it was born just now, with the copy that it is
    since_ns = (since_ms + 1) * 1_000_000  # the clock was cut to whole milliseconds
    fd = ground.folder_fd(folder)
    for name in () if fd is None else os.listdir(fd):
        raw = os.fsencode(name)
        stat = None if fd is None else stat_at(fd, raw)
        if stat is None or stat.ctime_ns <= since_ns or ours.has(folder + b"/" + raw, stat):
            continue
        if stat.kind == "folder" and folder + b"/" + raw in timed:
            continue
        if stat.birth_ns > since_ns or stat.mtime_ns + _EDIT_NS < stat.ctime_ns:
            return True
    return False


def result_lines(ts: int, task_id: str, found: TakenBack) -> list[str]:
    """The lines that say what taking back came to, but for the step that failed; see `record`.

    A step that is left has a line, so that an undo can try it again.
    """
    lines = [
        record.steps_status(ts, task_id, span, "rolled-back", None)
        for span in ranges(found.back - set(found.failed))
    ]
    lines += [
        record.failed(ts, task_id, n, left.action_id, "", left.reason, taken_back=False)
        for n, left in found.left.items()
        if n not in found.done and n not in found.failed
    ]
    if found.left:  # an undo that tries again has to know them
        times = record.folder_times(found.after)
        lines.append(record.body({"type": "folders", "taskId": task_id, "folders": times}))
    for (other, status), claimed in found.claims.items():  # taken back together with what was claimed
        was = "ok" if status == "rolled-back" else "rolled-back"
        spans = ranges(claimed - set(found.left))
        lines += [record.steps_status(ts, other, span, was, task_id) for span in spans]
    return lines
