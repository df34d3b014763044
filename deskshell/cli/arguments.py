"""Plain command lines, read by the declarations of `options` without the option parser.

What is plain: known options by their full names, each value in the next word or behind `=`, flags, positional words.
Everything else (help, abbreviations, a value that looks like an option, one that is wrong, one too few) is not read
here: the caller goes on to `parser`, which knows all of it and says what is wrong.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin

from deskshell.cli.options import Commands, Declared
from deskshell.slotted import NamedTuple


class _Param(NamedTuple):
    """One parameter of a command's function: `kind` is the type of one value."""

    name: str
    kind: Any
    is_list: bool
    declared: Declared
    required: bool


class Call(NamedTuple):
    """A command's function and the values for it."""

    body: Callable[..., Any]
    values: dict[str, Any]

    def run(self) -> int:
        """Carry it out; returns the exit code."""
        return int(self.body(**self.values) or 0)


def read(commands: Commands, args: Sequence[str]) -> Call | None:
    """The call that `args` (without the command's own name) mean; None when they are not plain."""
    rest = list(args)
    entry = commands.entries.get("") if not commands.help else None
    if entry is None and rest:
        entry = commands.entries.get(rest.pop(0))
    if entry is None:
        return None
    params = _params(entry.body)
    values = None if params is None else _values(params, rest)
    return None if values is None else Call(entry.body, values)


def load(module: str, name: str) -> Commands:
    """The declarations of the command `name`, from its module."""
    found: Commands = getattr(importlib.import_module(f"deskshell.cli.{module}"), name)
    return found


def _params(body: Any) -> list[_Param] | None:
    """The parameters of a command's function; None when one is beyond this reader.

    From the function itself: `inspect` takes longer to import than the command to run.
    """
    code = body.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = body.__defaults__ or ()
    optional = {*names[code.co_argcount - len(defaults) : code.co_argcount], *(body.__kwdefaults__ or ())}
    found = []
    for name in names:
        text = body.__annotations__[name]
        hint = (
            eval(text, body.__globals__) if isinstance(text, str) else text
        )  # as typing.get_type_hints does
        declared = next(
            (each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Declared)), None
        )
        if declared is None:
            return None
        kind, is_list = _kind(hint.__origin__)
        if kind not in (str, int, bool) and not (isinstance(kind, type) and issubclass(kind, Enum)):
            return None
        found.append(_Param(name, kind, is_list, declared, name not in optional))
    return found


def _kind(hint: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there may be several: `str | None`, `list[str] | None`."""
    parts = [each for each in get_args(hint) if each is not NoneType]
    if get_origin(hint) is not list and parts:
        hint = parts[0] if len(parts) == 1 else None
    if get_origin(hint) is list:
        return get_args(hint)[0], True
    return hint, False


def _values(params: list[_Param], args: list[str]) -> dict[str, Any] | None:
    options = {
        name: each for each in params if each.declared.is_option for name in each.declared.typed(each.name)
    }
    free = [each for each in params if not each.declared.is_option]
    found: dict[str, Any] = {}
    at = 0
    while at < len(args):
        word = args[at]
        at += 1
        if not word.startswith("-"):
            if not word or not free:
                return None
            param, text = free[0], word
            if not param.is_list:
                del free[0]
        else:
            name, equals, text = word.partition("=")
            known = options.get(name)
            if known is None or (known.kind is bool and equals):
                return None
            param = known
            if param.kind is not bool and not equals:
                follows = at < len(args) and not args[at].startswith("-")
                if not follows and not param.declared.bare:
                    return None
                text = args[at] if follows else param.declared.bare
                at += follows
        value = True if param.kind is bool else _converted(param, text)
        if value is None or (param.name in found and not param.is_list):
            return None
        if param.is_list:
            found.setdefault(param.name, []).append(value)
        else:
            found[param.name] = value
    missing = any(each.required and each.name not in found for each in params)
    return None if missing else found


def _converted(param: _Param, text: str) -> Any:
    """`text` as the parameter's type; None when that is for the parser to judge."""
    if param.kind is str:
        return text or None
    if param.kind is int:
        facts = param.declared.facts
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            return None
        number = int(text)
        return number if facts.get("min", number) <= number <= facts.get("max", number) else None
    return next((each for each in param.kind if each.value == text), None)
