"""What is wrong with a manifest, as one line that names file, table and key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deskshell.errors import ManifestError
from deskshell.skills.suggest import nearest

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

_WORDS = {
    "string_type": "is text",
    "int_type": "is a whole number",
    "bool_type": "is true or false",
    "list_type": "is a list",
    "dict_type": "is a table",
    "model_type": "is a table",
    "model_attributes_type": "is a table",
    "string_too_short": "is empty",
    "string_too_long": "is too long",
    "too_short": "needs at least one entry",
}


def step_name(source: str, n: int, step_id: Any) -> str:
    """``skill.toml: [[steps]] 2 (`note`)``."""
    return f"{source}: [[steps]] {n}" + (f" (`{step_id}`)" if isinstance(step_id, str) and step_id else "")


def translate(exc: ValidationError, source: str) -> ManifestError:
    """The first of pydantic's complaints, in the words of the file."""
    # A union complains once for each of its types; what comes first is what the author most likely meant.
    first = exc.errors(include_url=False)[0]
    where, key = _place(first["loc"])
    prefix = f"{source}: {where}: " if where else f"{source}: "
    kind = first["type"]
    if kind == "missing":
        return ManifestError(f"{prefix}needs the key `{key}`")
    if kind == "extra_forbidden":
        return ManifestError(f"{prefix}unknown key `{key}`{nearest(key, _known(first['loc']))}")
    if kind == "literal_error":
        return ManifestError(f"{prefix}`{key}` is one of {first['ctx']['expected']}")
    if kind == "string_pattern_mismatch":
        return ManifestError(
            f"{prefix}`{first['input']}` is no name for `{key}`"
            if key != "[key]"
            else f"{prefix}`{first['input']}` is no name",
            hint="small letters, digits, and - for skills or _ for parameters",
        )
    message = _WORDS.get(kind, first["msg"].removeprefix("Value error, "))
    return ManifestError(
        f"{prefix}`{key}` {message}" if key and kind != "value_error" else f"{prefix}{message}"
    )


def _place(loc: tuple[int | str, ...]) -> tuple[str, str]:
    """The table, and the key in it, that pydantic's location leads to."""
    parts = [part for part in loc if not (isinstance(part, str) and part in _UNION_BRANCHES)]
    if not parts:
        return "", ""
    head, *rest = parts
    if not rest:
        return "", str(head)
    if head == "params":
        return f"[params.{rest[0]}]", ".".join(str(part) for part in rest[1:])
    if isinstance(rest[0], int):
        inner = [str(part + 1 if isinstance(part, int) else part) for part in rest[1:]]
        where = f"[[{head}]] {rest[0] + 1}"
        key = inner.pop() if inner and not isinstance(rest[-1], int) else ""
        return ", ".join([where, " ".join(inner)] if inner else [where]), key
    return f"[{head}]", ".".join(str(part) for part in rest)


# pydantic names the branch of a union in the location.
_UNION_BRANCHES = ("str", "list[str]", "int", "bool", "ActionSpec", "list[constrained-str]")


def _known(loc: tuple[int | str, ...]) -> tuple[str, ...]:
    from deskshell.skills import explained as model

    found: type[BaseModel] = model.Manifest
    if loc[0] == "params":
        found = model.ParamSpec
    elif loc[0] == "capabilities":
        found = model.CapabilitySpec
    elif "for_each" in loc:
        found = model.ForEach
    elif "assert" in loc:
        found = model.AssertSpec
    return tuple(found.model_fields)
