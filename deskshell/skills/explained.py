"""The model of `skill.toml` for pydantic, which says what is wrong with a manifest and makes its JSON Schema.

`model` reads manifests that are right, by the same rules and in a tenth of the time that importing pydantic takes;
a test holds the two against each other. Only this module imports pydantic.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from deskshell.errors import ManifestError
from deskshell.skills import manifest_errors
from deskshell.skills.model import ASSERTS, SOURCES

Texts = StrictStr | list[StrictStr]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ParamSpec(_Model):
    """`[params.NAME]`: one value that the user may set; required when it has no default."""

    type: Literal["path", "text", "int", "bool", "choice", "duration", "secret"]
    default: StrictStr | StrictInt | StrictBool | None = None
    help: StrictStr = ""
    choices: list[StrictStr] = []

    @model_validator(mode="after")
    def _fits(self) -> ParamSpec:
        if (self.type == "choice") != bool(self.choices):
            raise ValueError("`choices` belongs to the type `choice`, which needs it")
        if self.type == "secret" and self.default is not None:
            raise ValueError("a secret has no default: everyone can read this file")
        return self


class CapabilitySpec(_Model):
    """`[[capabilities]]`: what the skill asks for, where, and why."""

    name: Literal["fs.read", "fs.write", "fs.delete", "net.request"]
    scope: list[StrictStr]
    reason: Annotated[StrictStr, Field(min_length=1)]


class ForEach(_Model):
    """`for_each`: what to repeat a step for; exactly one of files, folders, paths, rows and values."""

    files: Texts | None = None
    folders: Texts | None = None
    paths: Texts | None = None
    rows: StrictStr | None = None
    values: list[StrictStr] | None = None
    skip: Texts = []
    ext: Texts = []
    category: Texts = []
    name: StrictStr | None = None
    larger_than: StrictStr | None = None
    smaller_than: StrictStr | None = None
    unless_beside: Texts = []
    older_than: StrictStr | None = None
    newer_than: StrictStr | None = None
    taken: StrictBool | None = None
    empty: StrictBool | None = None
    duplicates: Literal["content"] | None = None
    sort: (
        Literal["path", "-path", "name", "-name", "size", "-size", "mtime", "-mtime", "taken", "-taken"]
        | None
    ) = None
    limit: StrictInt | StrictStr | None = None

    @model_validator(mode="after")
    def _one_source(self) -> ForEach:
        given = [key for key in SOURCES if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"needs exactly one of {', '.join(f'`{key}`' for key in SOURCES)}")
        filters = [key for key in self.model_fields_set if key not in (*SOURCES, "limit")]
        if given[0] in ("rows", "values") and filters:
            raise ValueError(f"`{filters[0]}` filters files; it does not go with `{given[0]}`")
        if self.name is not None:
            try:
                re.compile(self.name)
            except re.error as exc:
                raise ValueError(f"`name` is no regular expression: {exc}") from exc
        return self


class AssertSpec(_Model):
    """One post-condition of a step."""

    exists: StrictStr | None = None
    missing: StrictStr | None = None
    is_folder: StrictStr | None = None
    sha256: StrictStr | None = None
    contains: StrictStr | None = None
    path: StrictStr | None = None
    count: StrictInt | None = None
    files: StrictStr | None = None
    status: StrictInt | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> AssertSpec:
        given = {key for key in type(self).model_fields if getattr(self, key) is not None}
        if not any(given == {kind, *others} for kind, others in ASSERTS.items()):
            shapes = " · ".join(" + ".join((kind, *others)) for kind, others in ASSERTS.items())
            raise ValueError(f"needs one of: {shapes}")
        return self


class ActionSpec(_Model):
    """A kind of action and the values of its keys, templates not filled in."""

    action: StrictStr
    args: dict[str, Any]


class StepSpec(_Model):
    """`[[steps]]`: one action, or one for each selected item."""

    id: StrictStr = ""
    for_each: ForEach | None = None
    on_conflict: Literal["refuse", "skip", "number", "replace"] | None = None
    asserts: Annotated[list[AssertSpec], Field(alias="assert")] = []
    undo: ActionSpec | Literal["derived", "none"] = "derived"
    irreversible: StrictBool = False
    action: StrictStr
    args: dict[str, Any]


class Manifest(_Model):
    """A whole `skill.toml`."""

    name: Annotated[StrictStr, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    version: StrictStr
    summary: StrictStr
    params: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], ParamSpec] = {}
    capabilities: list[CapabilitySpec] = []
    steps: Annotated[list[StepSpec], Field(min_length=1)]


def explain(data: Any, source: str) -> ManifestError:
    """What is wrong with the manifest in `data`, whose steps are prepared (`manifest`)."""
    try:
        Manifest.model_validate(data)
    except ValidationError as exc:
        return manifest_errors.translate(exc, source)
    return ManifestError(f"{source}: cannot be read")  # the two models would have to differ
