"""The lines that a task leaves in the journal, as bodies for `store.journal.Journal.append`.

    begin    who, what, where: role (run, undo, redo), skill, params, grants, anchors
    stage    folders in which temporaries with this token may lie; durable before the first is made
    batch    folders about to change, with their times; then one `intent` a step
    intent   a step's effects: what recovery and undo need (I1)
    result   the line of a finished step, in the form of the contract
    folders  the same folders' times afterwards
    counter  a rollback is about to send a counter-action: what is in doubt is not sent twice
    back     a copy that a rollback has put in the place of what was dropped (an undo says so in its intents)
    end      how it ended, and where it began

A body is the text of a JSON object without its closing brace. Steps (`taskId`, `n`) are lines
without `type`. Paths that are not UTF-8 are written twice, see `names.put_path`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from json import encoder
from typing import Any

from deskshell.files import identity as ids
from deskshell.files import names
from deskshell.files.identity import Identity
from deskshell.files.names import get_path, put_path
from deskshell.kernel.effects import Drop, Effect, Mode, Move, Swap, from_json
from deskshell.kernel.folder_time import FolderTime
from deskshell.kernel.heirs import Tell
from deskshell.kernel.report import Left

_plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
# `JSONEncoder.encode` makes one of these for every line, which takes as long as the line itself.
_make = getattr(encoder, "c_make_encoder", None)
_chunks = _make and _make(None, _plain.default, encoder.encode_basestring, None, ":", ",", False, False, True)
_quote = encoder.encode_basestring


def _encode(line: Mapping[str, Any]) -> str:
    return _plain.encode(line) if _chunks is None else "".join(_chunks(line, 0))


def body(line: Mapping[str, Any]) -> str:
    """The text of `line` without its closing brace."""
    return _encode(line)[:-1]


# Two lines a step are written, so these are put together as text: what `_encode` would make of the same objects,
# without making the objects (`tests/kernel/test_record.py` compares the two).


def _head(ts: int, task_id: str, n: int, action_id: str, kind: str) -> str:
    step = f'"n":{n},"actionId":{_quote(action_id)},"kind":{_quote(kind)}'
    return f'{{"ts":{ts},"taskId":{_quote(task_id)},{step}'


def _more(extra: Mapping[str, Any]) -> str:
    return "," + _encode(extra)[1:-1] if extra else ""


def intent(
    ts: int,
    task_id: str,
    n: int,
    action_id: str,
    kind: str,
    effects: Sequence[Effect],
    *,
    reversible: bool,
    summary: str | None = None,
    extra: Mapping[str, Any],
) -> str:
    """A step's intent; `extra` are facts, arguments and the compensation of kinds that have them.

    `summary` is for an undo, whose steps have no result lines.
    """
    fx = ",".join([_effect(effect) for effect in effects])
    final = "" if reversible else ',"irreversible":true'
    told = "" if summary is None else f',"summary":{_quote(summary)}'
    return (
        f'{_head(ts, task_id, n, action_id, kind)},"status":"intent","fx":[{fx}]{final}{told}{_more(extra)}'
    )


def _effect(effect: Effect) -> str:
    if type(effect) is Move and not (effect.made or effect.sha256 or effect.empty):
        try:
            paths = f'"from":{_quote(effect.src.decode())},"to":{_quote(effect.dst.decode())}'
        except UnicodeDecodeError:
            pass
        else:
            return f'{{"op":"move",{paths},"id":{ids.to_text(effect.id)}}}'
    return _encode(effect.to_json())


def result(
    ts: int,
    task_id: str,
    n: int,
    action_id: str,
    kind: str,
    summary: str,
    undo: str | None,
    *,
    sha256: str | None = None,
    ctime_ns: int | None = None,
    extra: Mapping[str, Any],
) -> str:
    """The line of a step that is done, in the contract's form.

    `undo` is `undo_text` or the text of a counter-action, None for what is final; `sha256` and `ctime_ns` are
    those of the object that the step left.
    """
    final = "" if undo is not None else ',"irreversible":true'
    left = "" if not sha256 else f',"sha256":{_quote(sha256)}'
    if ctime_ns is not None:
        left += f',"ctime":{ctime_ns}'
    told = f',"summary":{_quote(summary)},"status":"ok","undo":{undo or "null"}'
    return f"{_head(ts, task_id, n, action_id, kind)}{told}{final}{left}{_more(extra)}"


def steps_status(ts: int, task_id: str, span: Sequence[int], status: str, by: str | None) -> str:
    """The status of steps `span` = [first, last] of a task, by a rollback (None) or another task."""
    line: dict[str, Any] = {"ts": ts, "taskId": task_id, "steps": list(span), "status": status}
    if by is not None:
        line["by"] = by
    return _encode(line)[:-1]


def failed(
    ts: int,
    task_id: str,
    n: int,
    action_id: str,
    kind: str,
    error: str,
    *,
    taken_back: bool,
    summary: str = "",
) -> str:
    """The line of the step that failed; `taken_back` once its own effects are gone."""
    line: dict[str, Any] = {
        "ts": ts,
        "taskId": task_id,
        "n": n,
        "actionId": action_id,
        "kind": kind,
        "status": "failed",
        "error": error,
    }
    if summary:
        line["summary"] = summary
    if taken_back:
        line["takenBack"] = True
    return _encode(line)[:-1]


def folder_times(times: Mapping[bytes, FolderTime]) -> list[list[Any]]:
    """Folders with their times: ``[path, mtime_ns, ino, birth_ns]``, after that base64 where `path` is for display."""
    found: list[list[Any]] = []
    for path, time in times.items():
        text, b64 = names.plain(path)
        found.append([text, *time] if b64 is None else [text, *time, b64])
    return found


def read_folder_times(data: Iterable[Sequence[Any]]) -> dict[bytes, FolderTime]:
    """Read `folder_times`'s form."""
    return {
        names.from_json(each[0], each[4] if len(each) > 4 else None): FolderTime(*each[1:4]) for each in data
    }


def folder_list(folders: Iterable[bytes]) -> list[list[Any]]:
    """Paths as ``[path]`` or ``[display, base64]``."""
    found: list[list[Any]] = []
    for path in folders:
        text, b64 = names.plain(path)
        found.append([text] if b64 is None else [text, b64])
    return found


def read_folder_list(data: Iterable[Sequence[Any]]) -> list[bytes]:
    """Read `folder_list`'s form."""
    return [names.from_json(each[0], each[1] if len(each) > 1 else None) for each in data]


def left_list(left: Iterable[Left]) -> list[dict[str, Any]]:
    """What an `end` line says of changes that remain."""
    return [each.to_json() for each in left]


def read_left(data: Iterable[Mapping[str, Any]]) -> list[Left]:
    """Read `left_list`'s form."""
    found = []
    for each in data:
        target = each["target"]
        path: bytes | str = (
            get_path(each, "target") if target.startswith("/") or "targetBytes" in each else target
        )
        found.append(Left(each["actionId"], path, each["reason"], bool(each.get("final"))))
    return found


def read_effects(line: Mapping[str, Any]) -> tuple[Effect, ...]:
    """The effects of an intent line."""
    return tuple([from_json(each) for each in line.get("fx", ())])


def undo_text(effects: Sequence[Effect]) -> str:
    """The `undo` of a result line: what takes the step back, for readers of the journal.

    One effect gives one object (`fs.move` from/to, `fs.remove`, `fs.restore`, `fs.chmod`); several
    give ``{"kind": "steps", "steps": [...]}`` in the order of undoing; none gives `noop`.
    """
    parts = [_undo_text(effect) for effect in reversed(effects)]
    if not parts:
        return '{"kind":"noop"}'
    return parts[0] if len(parts) == 1 else f'{{"kind":"steps","steps":[{",".join(parts)}]}}'


def _undo_text(effect: Effect) -> str:
    if type(effect) is Move and not effect.made:
        src, dst = effect.src, effect.dst
        if src[:1] == dst[:1] == b"/":
            try:
                return f'{{"kind":"fs.move","from":{_quote(dst.decode())},"to":{_quote(src.decode())}}}'
            except UnicodeDecodeError:
                pass
    return _encode(_undo_of(effect))


def object_text(value: Mapping[str, Any]) -> str:
    """`value` as text, for `result`."""
    return _encode(value)


def _undo_of(effect: Effect) -> dict[str, Any]:
    form: dict[str, Any]
    if isinstance(effect, Move):
        if effect.made:
            form = {"kind": "fs.remove"}
            put_path(form, "path", effect.dst)
        elif effect.dst[:1] != b"/":
            form = {"kind": "fs.restore"}
            put_path(form, "path", effect.src)
            put_path(form, "from", effect.dst)
        elif effect.src[:1] != b"/":
            form = {"kind": "fs.remove"}
            put_path(form, "path", effect.dst)
        else:
            form = {"kind": "fs.move"}
            put_path(form, "from", effect.dst)
            put_path(form, "to", effect.src)
    elif isinstance(effect, Swap):
        form = {"kind": "fs.restore"}
        put_path(form, "path", effect.path)
        put_path(form, "from", effect.slot)
    elif isinstance(effect, Drop):
        form = {"kind": "fs.restore"}
        put_path(form, "path", effect.path)
        put_path(form, "from", effect.copy)
    else:
        assert isinstance(effect, Mode)
        form = {"kind": "fs.chmod"}
        put_path(form, "path", effect.path)
        form["mode"] = f"{effect.before:04o}"
    return form


def back_form(path: bytes, dropped: Identity, copy: Identity) -> dict[str, Any]:
    """How the journal says that at `path` a copy took the place of an object that was dropped."""
    form: dict[str, Any] = {}
    put_path(form, "path", path)
    form["was"], form["id"] = ids.to_json(dropped), ids.to_json(copy)
    return form


def read_back(form: Mapping[str, Any], tell: Tell) -> None:
    """Tell of what `back_form` wrote. Raises KeyError and ValueError on anything else."""
    tell(get_path(form, "path"), ids.from_json(form["was"]), ids.from_json(form["id"]))
