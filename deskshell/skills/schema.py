"""The JSON Schema of `skill.toml`: the model's own, with the keys of every kind of action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskshell.kernel.action import Action
from deskshell.kernel.params import Param
from deskshell.skills.explained import Manifest

_TYPES: Mapping[str, dict[str, Any]] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "mode": {"type": ["string", "integer"]},
    "table": {"type": "object", "additionalProperties": {"type": "string"}},
    "bytes": {"type": "string", "contentEncoding": "base64"},
}


def schema(kinds: Mapping[str, type[Action]]) -> dict[str, Any]:
    """A schema (draft 2020-12) that editors can complete and check a manifest with."""
    whole = Manifest.model_json_schema(by_alias=True)
    definitions = whole["$defs"]
    shared = definitions.pop("StepSpec")["properties"]
    for key in ("action", "args", "undo"):
        shared.pop(key, None)
    definitions.pop("ActionSpec", None)
    definitions["Undo"] = {
        "description": 'Left out: the undo that the kernel derives. "none" or null: there is none. A table: a compensation.',
        "oneOf": [
            {"enum": ["none", None]},
            *({"$ref": f"#/$defs/{_title(kind)}.args"} for kind in sorted(kinds)),
        ],
    }
    for kind, action in sorted(kinds.items()):
        properties = {param.name: _property(param) for param in action.params}
        required = ["action", *(param.name for param in action.params if param.required)]
        constant = {"const": kind, "description": _first_line(action)}
        definitions[f"{_title(kind)}.args"] = _table({"action": constant, **properties}, required)
        own = dict(shared)
        own["on_conflict"] = {
            "enum": list(action.on_conflict),
            "default": action.on_conflict[0],
            "description": "What to do when the target's name is taken.",
        }
        undo = {"$ref": "#/$defs/Undo"}
        definitions[_title(kind)] = _table({**own, "undo": undo, "action": constant, **properties}, required)
    whole["properties"]["steps"] = {
        "type": "array",
        "minItems": 1,
        "items": {"oneOf": [{"$ref": f"#/$defs/{_title(kind)}"} for kind in sorted(kinds)]},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "skill.toml",
        **{key: value for key, value in whole.items() if key != "title"},
    }


def _table(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }


def _property(param: Param) -> dict[str, Any]:
    found = dict(_TYPES.get(param.type, {"type": "string"}))
    found["description"] = param.help
    if param.choices:
        found["anyOf"] = [{"enum": list(param.choices)}, {"pattern": r"\{"}]  # or a template
    return found


def _title(kind: str) -> str:
    return kind.replace(".", "_")


def _first_line(action: type[Action]) -> str:
    return (action.__doc__ or "").strip().partition("\n")[0].replace("`", "")
