"""Which tasks an undo or redo is about: candidates in journal order, newest first."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator

from deskshell.errors import NotFound
from deskshell.files import names
from deskshell.files.paths import PathIndex, is_within
from deskshell.kernel import history, record
from deskshell.kernel.history import Head
from deskshell.store.journal import Journal
from deskshell.store.segments import Place

_COUNTS = ("ok", "incomplete")


def candidates(journal: Journal) -> Iterator[Head]:
    """Tasks that changed something of which at least one entry is not undone, newest first.

    A redone task counts from its redo. Reads one line for each task that it passes over.
    """
    settled: set[str] = set()
    for head in history.heads(journal):
        if head.end is None or head.status not in _COUNTS:
            continue
        if head.role == "run":
            if head.task_id not in settled and _changed_something(head):
                yield head
            continue
        of = head.of
        if of is None or of in settled:
            continue
        if head.role == "undo" and head.end.get("state") == "undone":
            settled.add(of)
        elif head.role == "redo":
            settled.add(of)
            yield history.find(journal, of)


def _changed_something(head: Head) -> bool:
    end = head.end or {}
    return head.plain or int(end.get("changed", end.get("steps", 0))) > 0 or bool(end.get("left"))


def newest(journal: Journal, count: int) -> list[Head]:
    """The `count` newest candidates."""
    found: list[Head] = []
    for head in candidates(journal):
        if len(found) == count:
            break
        found.append(head)
    return found


def since(journal: Journal, since_ms: int) -> list[Head]:
    """Candidates that started at or after `since_ms`; reads on past a clock that went back."""
    return [head for head in candidates(journal) if head.started_ms >= since_ms]


def undo_to_redo(journal: Journal, task_id: str | None, wanted: Callable[[Head], bool] | None = None) -> Head:
    """The undo that a redo takes back: of `task_id` (or that undo itself), or the newest that may be.

    Without an id an undo is passed over when it was redone, when a later task stands on one of its targets, or when
    `wanted` says no to it; others' work stands in the way all the same. Raises NotFound when there is none.
    """
    redone: set[str] = set()
    later: list[Head] = []
    passed: Head | None = None
    for head in history.heads(journal):
        if head.end is None or head.status not in _COUNTS:
            continue
        if head.role == "redo":
            if head.end.get("state") != "partly":  # else the rest may be redone, too
                redone.add(str(head.begin.get("undoes", "")))
            later.append(head)
        elif head.role == "run":
            if task_id == head.task_id:
                break
            later.append(head)
        elif head.task_id not in redone:
            if task_id is None:
                if wanted is None or wanted(head):
                    if not _in_the_way(journal, head, later):
                        return head
                    passed = passed or head
                later.append(head)
            elif task_id in (head.task_id, head.of):
                return head
    if task_id is None:
        if passed is None:
            whose = "task" if wanted is None else "task of yours"
            raise NotFound(f"nothing to redo: no {whose} is undone", hint="see `deskshell log`")
        raise NotFound(
            f"nothing to redo: a later task changed what `{passed.of}` had changed",
            hint=f"see `deskshell log`; `deskshell redo --task {passed.of}` tries it all the same",
        )
    history.find(journal, task_id)
    raise NotFound(
        f"nothing to redo: task `{names.show(task_id.encode())}` is not undone", hint="see `deskshell log`"
    )


def _in_the_way(journal: Journal, undo: Head, later: list[Head]) -> bool:
    if not later:
        return False
    targets = _targets(journal, undo)
    return any(
        is_within(one, two) or is_within(two, one)
        for head in later
        if not _leads_to(head, undo)
        for one in _targets(journal, head)
        for two in targets
    )


def _leads_to(later: Head, undo: Head) -> bool:
    """True when `later` is about the same task, or is the redo of an earlier one: the way to where that task began."""
    if later.of == undo.of:
        return True
    redone, undone = str(later.of), str(undo.of)
    return later.role == "redo" and (len(redone), redone) < (len(undone), undone)  # ids are times


def _targets(journal: Journal, head: Head) -> set[bytes]:
    found: set[bytes] = set()
    for _, line in journal.forward(head.begin_place, head.end_place):
        if line.get("status") == "intent" and line.get("taskId") == head.task_id:
            for effect in record.read_effects(line):
                found.update(effect.paths())
    return found


def who_changed(
    journal: Journal, after: Place, paths: Iterable[bytes], but: Collection[str]
) -> dict[bytes, str]:
    """The newest task since `after` that acted on each of `paths`, for those on which one did.

    Tasks whose ids are in `but` do not count.
    """
    wanted = PathIndex()
    for path in paths:
        wanted.add(path)
    found: dict[bytes, str] = {}
    for _, raw in journal.raw_forward(after, containing=b'"status":"intent"') if wanted else ():
        try:
            line = json.loads(raw)
            task_id = str(line["taskId"])
            touched = [path for effect in record.read_effects(line) for path in effect.paths()]
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
        ):  # not checked, and no more than a hint is at stake
            continue
        if task_id not in but:
            found.update((path, task_id) for each in touched for path in wanted.related(each))
    return found
