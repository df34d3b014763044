"""The journal for people: tasks as summaries, one task in detail, one file through its moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from deskshell.files import names
from deskshell.files.paths import is_within
from deskshell.kernel import history, record
from deskshell.kernel.effects import Effect, Move
from deskshell.kernel.history import Fold, Head
from deskshell.kernel.report import Left, StepReport, put_target
from deskshell.slotted import field, slotted
from deskshell.store.journal import Journal
from deskshell.store.lock import Holder


@slotted(frozen=True)
class TaskSummary:
    """One task of the log.

    `status` is ok, rolled-back, incomplete, running, `recovery pending`, undone or `partly undone`;
    `role` is run, undo or redo, and `of` the task that an undo or redo is about. Times are ms.
    """

    task_id: str
    skill: str
    started_ms: int
    ended_ms: int | None
    status: str
    steps: int
    role: str
    of: str | None
    owner: str
    front: str
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The object in `log --json`."""
        return {
            "taskId": self.task_id,
            "skill": self.skill,
            "startedMs": self.started_ms,
            "endedMs": self.ended_ms,
            "status": self.status,
            "steps": self.steps,
            "role": self.role,
            "of": self.of,
            "owner": self.owner,
            "front": self.front,
            "error": self.error,
        }


@slotted()
class StepDetail:
    """One step of `show`: as `StepReport`, with its undo, content hash and what keeping its undo costs."""

    report: StepReport
    undo: Mapping[str, Any] | None
    sha256: str | None
    cost_bytes: int
    ts_ms: int
    effects: tuple[Effect, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object in `steps` of `show --json`."""
        return {
            **self.report.to_json(),
            "undo": self.undo,
            "sha256": self.sha256,
            "costBytes": self.cost_bytes,
        }


@slotted()
class TaskDetail:
    """Everything the journal says of one task. `facts` is its `begin` line without internals."""

    summary: TaskSummary
    facts: Mapping[str, Any]
    steps: list[StepDetail]
    left: list[Left] = field(default_factory=list)
    not_restored: list[str] = field(default_factory=list)
    undone_by: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object of `show --json`."""
        return {
            **self.summary.to_json(),
            "facts": dict(self.facts),
            "steps": [step.to_json() for step in self.steps],
            "left": [each.to_json() for each in self.left],
            "notRestored": self.not_restored,
            "undoneBy": list(self.undone_by),
        }


def summaries(journal: Journal, holder: Holder | None) -> Iterator[tuple[Head, TaskSummary]]:
    """Every task, newest first."""
    states: dict[str, str] = {}
    for head in history.heads(journal):
        if head.of is not None and head.end is not None and head.status != "rolled-back":
            states.setdefault(head.of, str(head.end.get("state", "")))
        yield head, _summary(head, states.get(head.task_id, ""), holder)


def _summary(head: Head, state: str, holder: Holder | None) -> TaskSummary:
    end = head.end or {}
    status = head.status
    if status == history.OPEN:
        status = "recovery pending" if holder is None else "running"
    elif head.role == "run" and status in ("ok", "incomplete"):
        status = {"undone": "undone", "partly": "partly undone"}.get(state, status)
    steps = len(head.lines) if head.plain else int(end.get("steps", 0))
    return TaskSummary(
        head.task_id,
        head.skill,
        head.started_ms,
        end.get("ts"),
        status,
        steps,
        head.role,
        head.of,
        str(head.begin.get("owner", "")),
        str(head.begin.get("front", "")),
        end.get("error"),
    )


def detail(
    journal: Journal, task_id: str, holder: Holder | None, costs: Callable[[str], Mapping[int, int]]
) -> TaskDetail:
    """One task with its steps; `costs` gives the bytes kept for each. Raises NotFound."""
    head = history.find(journal, task_id)
    state = next((str(each.end.get("state", "")) for each in head.later if each.end is not None), "")
    summary = _summary(head, state, holder)
    fold = history.fold(journal, head)
    steps = [step_detail(journal, fold, n) for n in fold.steps if n >= 0]
    kept = costs(task_id)
    for step in steps:
        step.cost_bytes = kept.get(step.report.n, 0)
    end = head.end or {}
    facts = {
        key: value
        for key, value in head.begin.items()
        if key not in ("seq", "durable", "check", "type", "anchors", "own")
    }
    return TaskDetail(
        summary,
        facts,
        steps,
        record.read_left(end.get("left", ())),
        list(end.get("notRestored", ())),
        tuple(each.task_id for each in head.later),
    )


def step_detail(journal: Journal, fold: Fold, n: int) -> StepDetail:
    """One step, folded from its intent and its latest result."""
    step = fold.steps[n]
    if fold.head.plain:
        line: Mapping[str, Any] = fold.head.lines[n]
        intent: Mapping[str, Any] = {}
    else:
        intent = {} if step.intent is None else journal.line_at(step.intent)
        line = intent if step.result is None else journal.line_at(step.result)
    effects = record.read_effects(intent)
    status = (
        "skipped"
        if step.status == "intent" and fold.head.end is not None and fold.head.role == "run"
        else step.status
    )
    if status == "intent":
        status = "ok" if fold.head.status == "ok" else "running"
    report = StepReport(
        n,
        str(line.get("actionId", n)),
        str(line.get("kind", "")),
        str(line.get("summary", intent.get("summary", ""))),
        target_of(effects, line),
        status,
        reversible=not (line.get("irreversible") or intent.get("irreversible")),
        error=line.get("error"),
        taken_back=step.taken_back,
    )
    undo = line.get("undo")
    ts_ms = int(line.get("ts", fold.head.started_ms))
    return StepDetail(
        report, undo if isinstance(undo, Mapping) else None, line.get("sha256"), 0, ts_ms, effects
    )


def target_of(effects: Sequence[Effect], line: Mapping[str, Any]) -> bytes | str:
    """The path (or URL) that a step is about."""
    for effect in effects:
        paths = effect.paths()
        if paths:
            return paths[-1]
    given = line.get("args")
    return str(given.get("url", "")) if isinstance(given, Mapping) else ""


def entries(journal: Journal, fold: Fold) -> Iterator[dict[str, Any]]:
    """A task's folded state in the source's shape, one object a step."""
    for n in fold.steps:
        if n < 0:
            continue
        found = step_detail(journal, fold, n)
        report = found.report
        entry: dict[str, Any] = {
            "ts": found.ts_ms,
            "taskId": fold.head.task_id,
            "actionId": report.action_id,
            "kind": report.kind,
            "summary": report.summary,
            "status": report.status,
            "undo": found.undo,
            "n": n,
        }
        if report.error:
            entry["error"] = report.error
        if found.sha256:
            entry["sha256"] = found.sha256
        put_target(entry, "target", report.target)
        yield entry


def tasks_on(journal: Journal, path: bytes) -> dict[str, list[int]]:
    """Tasks that touched the file now at `path`, followed back through its moves: id → step numbers.

    Goes through the journal backwards once; a line is parsed, and tested, only when it holds a path looked for.
    """
    names_of: list[bytes] = [path]
    found: dict[str, list[int]] = {}
    needles = _needles(path)

    def wanted(data: bytes) -> bool:
        return any(needle in data for needle in needles)

    for line in journal.lines_at(place for place, _ in journal.raw_backward(wanted)):
        if line.get("status") != "intent" or "check" not in line:
            continue
        for effect in record.read_effects(line):
            if not any(_touches(effect, each) for each in names_of):
                continue
            found.setdefault(str(line["taskId"]), []).append(int(line["n"]))
            for each in list(names_of):
                earlier = _earlier(effect, each)
                if earlier is not None and earlier not in names_of:
                    names_of.append(earlier)
                    needles += [needle for needle in _needles(earlier) if needle not in needles]
    return found


def _needles(path: bytes) -> list[bytes]:
    """What a line about `path`, or about a folder that it lies in, holds: one of them as JSON writes it."""
    found = []
    while path:
        text = json.dumps(names.plain(path)[0], ensure_ascii=False)
        found.append(text.encode("utf-8"))
        path = path.rpartition(b"/")[0]
    return found


def _touches(effect: Effect, path: bytes) -> bool:
    return any(is_within(path, each) for each in effect.paths())


def _earlier(effect: Effect, path: bytes) -> bytes | None:
    """The name that the object at `path` had before `effect`, if that changed it."""
    if (
        isinstance(effect, Move)
        and effect.src[:1] == b"/"
        and not effect.made
        and is_within(path, effect.dst)
    ):
        return effect.src + path[len(effect.dst) :]
    return None
