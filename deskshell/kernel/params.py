"""Parameters of actions: what a manifest may say, and the two ways from there to fields and back.

A kind lists one `Param` a field. `build` takes rendered manifest values; `to_json` and `from_json`
are the form in stored plans, where a path that is not UTF-8 and a reference to a secret survive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from deskshell.errors import ManifestError
from deskshell.files import names
from deskshell.files.names import get_path, put_path
from deskshell.kernel.secrets import SecretText, plain
from deskshell.slotted import slotted

if TYPE_CHECKING:
    from deskshell.kernel.action import Action

    A = TypeVar("A", bound=Action)


@slotted(frozen=True)
class Param:
    """One key of an action in a manifest.

    `type` is one of (the form in a manifest → the field's type):

        path      a path → bytes, absolute, its parent resolved
        target    the text of a link, not resolved → bytes
        text      → str
        template  text that may hold secrets → SecretText
        bytes     base64 → bytes
        mode      octal text such as "0644" → int
        bool, int, choice
        table     text to text that may hold secrets → tuple of (str, SecretText), in order
        paths     several paths → tuple of bytes (only set by the planner)

    `attr` is the field, where `name` cannot be one (`from`). A parameter that is not
    required and not given has the value `default`.
    """

    name: str
    type: str
    help: str
    required: bool = True
    default: Any = None
    choices: tuple[str, ...] = ()
    attr: str = ""

    @property
    def field(self) -> str:
        """The name of the field."""
        return self.attr or self.name


#: For `Action.planned`, by what `on_conflict` says: what stands at the target is held and replaced …
REPLACE = Param("replace", "bool", "replace what stands there", required=False, default=False)
#: … or further targets, of which the act takes the first free one.
MORE = Param("more", "paths", "further names to try", required=False, default=())


def build(cls: type[A], args: Mapping[str, Any]) -> A:
    """See `Action.build`."""
    return _make(cls, args)


def to_json(action: Action) -> dict[str, Any]:
    """See `Action.to_json`; values that are the default are left out."""
    data: dict[str, Any] = {}
    for param in (*action.params, *action.planned):
        value = getattr(action, param.field)
        if value != param.default or param.required:
            _put(data, param, value)
    return data


def from_json(cls: type[A], data: Mapping[str, Any]) -> A:
    """See `Action.from_json`."""
    try:
        values = {
            param.name: _get(data, param) for param in (*cls.params, *cls.planned) if param.name in data
        }
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise ManifestError(f"`{cls.kind}` in the stored plan cannot be read: {exc!r}") from exc
    return _make(cls, values)


def clean(path: bytes) -> bool:
    """True for an absolute path without empty, `.` or `..` components and without a slash at its end."""
    return _is_clean()(path) is not None


@cache
def _is_clean() -> Callable[[bytes], object]:
    """Compiled when first asked for, and then once: there are two paths in each step."""
    return re.compile(rb"(?:/(?!\.{1,2}(?:/|\Z))[^/\0]+)+").fullmatch


def parent(path: bytes) -> bytes:
    """The folder that `path` lies in; ``b""`` is the root folder."""
    return path.rpartition(b"/")[0]


_known: dict[Any, dict[str, tuple[Param, Callable[[Any], Any]]]] = {}  # of a kind, by name


def _make(cls: type[A], args: Mapping[str, Any]) -> A:
    known = _known.get(cls)
    if known is None:
        known = _known[cls] = _fields(cls)
    if not known.keys() >= args.keys():
        key = next(each for each in args if each not in known)
        raise ManifestError(f"`{cls.kind}` takes no `{key}`", hint=_hint(key, known))
    values: list[Any] = []
    for name, (param, convert) in known.items():
        given = args.get(name)
        if given is None:
            if param.required:
                raise ManifestError(f"`{cls.kind}` needs `{param.name}` ({param.help})")
            values.append(param.default)
            continue
        try:
            values.append(convert(given))
        except (TypeError, ValueError) as exc:
            raise ManifestError(f"`{param.name}` of `{cls.kind}`: {exc}") from exc
    make: Callable[..., A] = cls
    return make(*values)


def _fields(cls: type[A]) -> dict[str, tuple[Param, Callable[[Any], Any]]]:
    """The parameters of a kind in the order of its fields, each with what makes a field of its value."""
    every = {param.field: param for param in (*cls.params, *cls.planned)}
    fields: tuple[str, ...] = cls.__match_args__  # type: ignore[attr-defined]
    return {every[field].name: (every[field], _converter(every[field])) for field in fields}


def _converter(param: Param) -> Callable[[Any], Any]:
    convert = _FIELD_OF[param.type]
    if not param.choices:
        return convert

    def choose(value: Any) -> Any:
        chosen = convert(value)
        if chosen not in param.choices:
            raise ValueError(f"not one of {', '.join(param.choices)}")
        return chosen

    return choose


def _hint(key: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(key, known, 1)
    return f"did you mean `{near[0]}`?" if near else f"it takes {', '.join(f'`{name}`' for name in known)}"


def _put(data: dict[str, Any], param: Param, value: Any) -> None:
    if value is None:
        return
    match param.type:
        case "path" | "target":
            put_path(data, param.name, value)
        case "paths":
            each: list[dict[str, Any]] = []
            data[param.name] = each
            for path in value:
                each.append({})
                put_path(each[-1], "path", path)
        case "template":
            data[param.name] = value.to_json()
        case "table":
            data[param.name] = {key: text.to_json() for key, text in value}
        case "bytes":
            import base64

            data[param.name] = base64.b64encode(value).decode("ascii")
        case "mode":
            data[param.name] = f"{value:04o}"
        case _:
            data[param.name] = value


def _get(data: Mapping[str, Any], param: Param) -> Any:
    """The value of a field's JSON form, paths and texts with secrets already as the field has them."""
    match param.type:
        case "path" | "target":
            return get_path(data, param.name)
        case "paths":
            return tuple(get_path(each, "path") for each in data[param.name])
        case "template":
            return SecretText.from_json(data[param.name])
        case "table":
            return {key: SecretText.from_json(text) for key, text in data[param.name].items()}
        case _:
            return data[param.name]


# A value of the manifest, or of the JSON form as `_get` reads it → the field. ValueError says what is wrong.


def _path(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("not a path")
    if not clean(value):
        raise ValueError(f"`{names.show(value)}` is no resolved path of a file or folder")
    return value


def _target(value: Any) -> bytes:
    found = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    if not isinstance(found, bytes) or not found or b"\0" in found:
        raise ValueError("not the text of a link")
    return found


def _paths(value: Any) -> tuple[bytes, ...]:
    return tuple(_path(each) for each in value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _template(value: Any) -> SecretText:
    return value if isinstance(value, SecretText) else plain(_text(value))


def _table(value: Any) -> tuple[tuple[str, SecretText], ...]:
    if not isinstance(value, Mapping):
        raise ValueError("not a table of texts")
    return tuple((_text(key), _template(text)) for key, text in value.items())


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    import base64

    try:
        return base64.b64decode(_text(value), validate=True)
    except ValueError as exc:
        raise ValueError("not base64") from exc


def _mode(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError('not a mode such as "0644"')
    try:
        mode = value if isinstance(value, int) else int(value, 8)
    except ValueError as exc:
        raise ValueError(f'`{value}` is no mode such as "0644"') from exc
    if not 0 <= mode <= 0o7777:
        raise ValueError(f"mode {mode:o} is not between 0000 and 7777")
    return mode


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("not true or false")
    return value


def _int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("not a whole number")
    return value


_FIELD_OF: Mapping[str, Callable[[Any], Any]] = {
    "path": _path,
    "target": _target,
    "text": _text,
    "template": _template,
    "bytes": _bytes,
    "mode": _mode,
    "bool": _bool,
    "int": _int,
    "choice": _text,
    "table": _table,
    "paths": _paths,
}
