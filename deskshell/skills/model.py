"""The model of `skill.toml` in full. Only this module and `manifest` import pydantic, and only where one is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

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

    @property
    def source(self) -> str:
        """The one selector that is given."""
        return next(key for key in SOURCES if getattr(self, key) is not None)

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


SOURCES = ("files", "folders", "paths", "rows", "values")


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

    @property
    def kind(self) -> str:
        """The key that says what is asserted."""
        return next(key for key in _ASSERTS if getattr(self, key) is not None)

    @model_validator(mode="after")
    def _one_kind(self) -> AssertSpec:
        given = {key for key in type(self).model_fields if getattr(self, key) is not None}
        if not any(given == {kind, *others} for kind, others in _ASSERTS.items()):
            shapes = " · ".join(" + ".join((kind, *others)) for kind, others in _ASSERTS.items())
            raise ValueError(f"needs one of: {shapes}")
        return self


_ASSERTS: Mapping[str, tuple[str, ...]] = {
    "exists": (),
    "missing": (),
    "is_folder": (),
    "sha256": ("path",),
    "contains": ("path",),
    "count": ("files",),
    "status": (),
}


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
