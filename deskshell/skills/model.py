"""The model of `skill.toml`: what a manifest says, as values; read only from one that is right.

`explained` is the same model for pydantic. It says what is wrong with the others, and takes four times as long to
import as a preview takes altogether.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from deskshell.slotted import field, slotted

SOURCES = ("files", "folders", "paths", "rows", "values")
ASSERTS: Mapping[str, tuple[str, ...]] = {
    "exists": (),
    "missing": (),
    "is_folder": (),
    "sha256": ("path",),
    "contains": ("path",),
    "count": ("files",),
    "status": (),
}
Texts = str | list[str]


@slotted(frozen=True)
class ParamSpec:
    """`[params.NAME]`: one value that the user may set; required when it has no default."""

    type: str
    default: str | int | bool | None = None
    help: str = ""
    choices: list[str] = field(default_factory=list)


@slotted(frozen=True)
class CapabilitySpec:
    """`[[capabilities]]`: what the skill asks for, where, and why."""

    name: str
    scope: list[str]
    reason: str


@slotted(frozen=True)
class ForEach:
    """`for_each`: what to repeat a step for; exactly one of files, folders, paths, rows and values."""

    files: Texts | None = None
    folders: Texts | None = None
    paths: Texts | None = None
    rows: str | None = None
    values: list[str] | None = None
    skip: Texts = field(default_factory=list)
    ext: Texts = field(default_factory=list)
    category: Texts = field(default_factory=list)
    name: str | None = None
    larger_than: str | None = None
    smaller_than: str | None = None
    unless_beside: Texts = field(default_factory=list)
    older_than: str | None = None
    newer_than: str | None = None
    taken: bool | None = None
    empty: bool | None = None
    duplicates: str | None = None
    sort: str | None = None
    limit: int | str | None = None

    @property
    def source(self) -> str:
        """The one selector that is given."""
        return next(key for key in SOURCES if getattr(self, key) is not None)


@slotted(frozen=True)
class AssertSpec:
    """One post-condition of a step."""

    exists: str | None = None
    missing: str | None = None
    is_folder: str | None = None
    sha256: str | None = None
    contains: str | None = None
    path: str | None = None
    count: int | None = None
    files: str | None = None
    status: int | None = None

    @property
    def kind(self) -> str:
        """The key that says what is asserted."""
        return next(key for key in ASSERTS if getattr(self, key) is not None)


@slotted(frozen=True)
class ActionSpec:
    """A kind of action and the values of its keys, templates not filled in."""

    action: str
    args: dict[str, Any]


@slotted(frozen=True)
class StepSpec:
    """`[[steps]]`: one action, or one for each selected item. `asserts` is called `assert` in the file."""

    action: str
    args: dict[str, Any]
    id: str = ""
    for_each: ForEach | None = None
    on_conflict: str | None = None
    asserts: list[AssertSpec] = field(default_factory=list)
    undo: ActionSpec | str = "derived"
    irreversible: bool = False


@slotted(frozen=True)
class Manifest:
    """A whole `skill.toml`."""

    name: str
    version: str
    summary: str
    steps: list[StepSpec]
    params: dict[str, ParamSpec] = field(default_factory=dict)
    capabilities: list[CapabilitySpec] = field(default_factory=list)


def given(spec: Any) -> dict[str, Any]:
    """The fields of `spec` that say anything, by name."""
    found = ((name, getattr(spec, name)) for name in type(spec).__match_args__)
    return {name: value for name, value in found if value is not None}


def to_json(spec: Any) -> dict[str, Any]:
    """`spec` as the file has it, without what is left to its default."""
    plain = {each.name: each for each in type(spec).__slotted__}
    found: dict[str, Any] = {}
    for name, value in given(spec).items():
        default = plain[name].default_factory() if plain[name].default_factory else plain[name].default
        if value != default:
            found[_ALIAS.get(name, name)] = _json(value)
    return found


def _json(value: Any) -> Any:
    if hasattr(value, "__slotted__"):
        return to_json(value)
    if isinstance(value, list):
        return [_json(each) for each in value]
    return {key: _json(each) for key, each in value.items()} if isinstance(value, dict) else value


# --- reading ----------------------------------------------------------------------------------------------------

_ALIAS = {"asserts": "assert"}
_NAMES = {alias: name for name, alias in _ALIAS.items()}


class _WrongError(Exception):
    """Something is not as it has to be; what, `explained` finds out."""


Read = Callable[[Any], Any]


def read(data: Any) -> Manifest | None:
    """The manifest in `data`, whose steps are prepared (`manifest`); None when anything in it is wrong."""
    try:
        found: Manifest = _manifest(data)
    except _WrongError:
        return None
    return found


def _of(*types: type) -> Read:
    """A value of one of `types` exactly: True is no number here."""

    def check(value: Any) -> Any:
        if type(value) not in types:
            raise _WrongError
        return value

    return check


def _one_of(*words: str) -> Read:
    def check(value: Any) -> Any:
        if type(value) is not str or value not in words:
            raise _WrongError
        return value

    return check


def _list(each: Read, least: int = 0) -> Read:
    def check(value: Any) -> Any:
        if type(value) is not list or len(value) < least:
            raise _WrongError
        return [each(one) for one in value]

    return check


def _dict(key_pattern: str, each: Read) -> Read:
    def check(value: Any) -> Any:
        if type(value) is not dict:
            raise _WrongError
        return {_matching(key_pattern)(key): each(one) for key, one in value.items()}

    return check


def _matching(pattern: str, most: int = 1 << 20) -> Read:
    def check(value: Any) -> Any:
        if type(value) is not str or len(value) > most or re.fullmatch(pattern, value) is None:
            raise _WrongError
        return value

    return check


def _table(
    cls: Any, shape: Mapping[str, Read], fits: Callable[[Any, Mapping[str, Any]], bool] | None = None
) -> Read:
    """A table with keys of `shape` only; a field without default has to be there; `fits` judges the whole."""
    required = {each.name for each in cls.__slotted__ if each.required}

    def check(value: Any) -> Any:
        if type(value) is not dict or not shape.keys() >= value.keys():
            raise _WrongError
        fields: dict[str, Any] = {_NAMES.get(key) or str(key): shape[key](one) for key, one in value.items()}
        if not fields.keys() >= required:
            raise _WrongError
        made = cls(**fields)
        if fits is not None and not fits(made, fields):
            raise _WrongError
        return made

    return check


def _or_none(check: Read) -> Read:
    return lambda value: None if value is None else check(value)


def _param_fits(param: ParamSpec, _: Mapping[str, Any]) -> bool:
    return (param.type == "choice") == bool(param.choices) and not (
        param.type == "secret" and param.default is not None
    )


def _for_each_fits(for_each: ForEach, fields: Mapping[str, Any]) -> bool:
    sources = [key for key in SOURCES if getattr(for_each, key) is not None]
    if len(sources) != 1:
        return False
    filters = [key for key in fields if key not in (*SOURCES, "limit")]
    if sources[0] in ("rows", "values") and filters:
        return False
    try:
        re.compile(for_each.name or "")
    except re.error:
        return False
    return True


def _assert_fits(condition: AssertSpec, _: Mapping[str, Any]) -> bool:
    return any(given(condition).keys() == {kind, *others} for kind, others in ASSERTS.items())


_text, _flag = _of(str), _of(bool)


def _texts(value: Any) -> Any:
    return value if type(value) is str else _list(_text)(value)


_SORTS = tuple(sign + key for key in ("path", "name", "size", "mtime", "taken") for sign in ("", "-"))
_PARAM = {
    "type": _one_of("path", "text", "int", "bool", "choice", "duration", "secret"),
    "default": _or_none(_of(str, int, bool)),
    "help": _text,
    "choices": _list(_text),
}
_CAPABILITY = {
    "name": _one_of("fs.read", "fs.write", "fs.delete", "net.request"),
    "scope": _list(_text),
    "reason": _matching(r"(?s).+"),
}
_FOR_EACH = {
    **dict.fromkeys(("files", "folders", "paths"), _or_none(_texts)),
    "rows": _or_none(_text),
    "values": _or_none(_list(_text)),
    **dict.fromkeys(("skip", "ext", "category", "unless_beside"), _texts),
    **dict.fromkeys(("name", "larger_than", "smaller_than", "older_than", "newer_than"), _or_none(_text)),
    **dict.fromkeys(("taken", "empty"), _or_none(_flag)),
    "duplicates": _or_none(_one_of("content")),
    "sort": _or_none(_one_of(*_SORTS)),
    "limit": _or_none(_of(int, str)),
}
_ASSERT = {
    **dict.fromkeys(
        ("exists", "missing", "is_folder", "sha256", "contains", "path", "files"), _or_none(_text)
    ),
    **dict.fromkeys(("count", "status"), _or_none(_of(int))),
}
_action = _table(ActionSpec, {"action": _text, "args": _dict(r"(?s).*", lambda value: value)})


def _undo(value: Any) -> Any:
    return _one_of("derived", "none")(value) if type(value) is str else _action(value)


_STEP = {
    "id": _text,
    "for_each": _or_none(_table(ForEach, _FOR_EACH, _for_each_fits)),
    "on_conflict": _or_none(_one_of("refuse", "skip", "number", "replace")),
    "assert": _list(_table(AssertSpec, _ASSERT, _assert_fits)),
    "undo": _undo,
    "irreversible": _flag,
    "action": _text,
    "args": _dict(r"(?s).*", lambda value: value),
}
_manifest = _table(
    Manifest,
    {
        "name": _matching(r"[a-z0-9]+(-[a-z0-9]+)*", 64),
        "version": _text,
        "summary": _text,
        "params": _dict(r"[a-z][a-z0-9_]*", _table(ParamSpec, _PARAM, _param_fits)),
        "capabilities": _list(_table(CapabilitySpec, _CAPABILITY)),
        "steps": _list(_table(StepSpec, _STEP), 1),
    },
)
