"""The keys that a kind of action adds to a step: known, complete, and of the right types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from deskshell.errors import ManifestError
from deskshell.kernel.action import Action
from deskshell.skills.suggest import nearest, unknown


def check(
    kind: Any, args: Mapping[str, Any], kinds: Mapping[str, type[Action]], where: str, others: Iterable[str]
) -> None:
    """Refuse what the kind named `kind` does not take, and what it needs and was not given.

    Args:
        kind: the value of `action` as read.
        args: the keys that belong to the kind, templates not filled in.
        kinds: all kinds by name.
        where: file and table, for messages.
        others: the keys that do not depend on the kind, for "did you mean".

    Raises:
        ManifestError: one line, with the nearest known name where one is unknown.
    """
    if not isinstance(kind, str):
        raise ManifestError(f"{where}: needs the key `action`", hint=f"one of {', '.join(sorted(kinds))}")
    if kind not in kinds:
        raise ManifestError(
            f"{where}: {unknown('action', kind, kinds)}", hint=f"one of {', '.join(sorted(kinds))}"
        )
    params = {param.name: param for param in kinds[kind].params}
    for key, value in args.items():
        param = params.get(key)
        if param is None:
            known = ", ".join(f"`{name}`" for name in params) or "no keys of its own"
            raise ManifestError(
                f"{where}: unknown key `{key}`{nearest(key, (*params, *others))}",
                hint=f"`{kind}` takes {known}",
            )
        problem = _SHAPES[param.type](value) if param.type in _SHAPES else _is_text(value)
        if problem is None and param.choices and "{" not in value and value not in param.choices:
            problem = f"is one of {', '.join(f'`{choice}`' for choice in param.choices)}"
        if problem is not None:
            raise ManifestError(f"{where}: `{key}` {problem}", hint=param.help)
    for param in params.values():
        if param.required and param.name not in args:
            raise ManifestError(f"{where}: `{kind}` needs the key `{param.name}` ({param.help})")


def _is_text(value: Any) -> str | None:
    return None if isinstance(value, str) else "is text"


def _is_bool(value: Any) -> str | None:
    return None if isinstance(value, bool) else "is true or false"


def _is_int(value: Any) -> str | None:
    return None if isinstance(value, int) and not isinstance(value, bool) else "is a whole number"


def _is_mode(value: Any) -> str | None:
    return None if isinstance(value, str) or _is_int(value) is None else 'is a mode such as "0644"'


def _is_table(value: Any) -> str | None:
    fits = isinstance(value, Mapping) and all(isinstance(each, str) for each in (*value, *value.values()))
    return None if fits else "is a table of texts"


_SHAPES: Mapping[str, Callable[[Any], str | None]] = {
    "bool": _is_bool,
    "int": _is_int,
    "mode": _is_mode,
    "table": _is_table,
}


def templates(value: Any) -> Iterable[str]:
    """The texts in a value that may hold templates."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value.values()
