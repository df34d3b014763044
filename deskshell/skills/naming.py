"""The names that templates may use: which there are in a step, and what they stand for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from deskshell.errors import ManifestError, PlanConflict, StepFailed
from deskshell.skills.subject import FILE_FIELDS, Found, Subject, Value
from deskshell.skills.suggest import unknown
from deskshell.skills.template import Lookup
from deskshell.slotted import slotted

if TYPE_CHECKING:
    from deskshell.skills.model import ForEach

FILE_SOURCES = ("files", "folders", "paths")


@slotted(frozen=True)
class Available:
    """The names that one step has; checked when a manifest is read, before any value is known."""

    params: frozenset[str]
    source: str = ""  # the selector of its for_each, "" without one
    groups: frozenset[str] = frozenset()  # of `match`
    keys: frozenset[str] = frozenset()  # of the step itself, for its asserts

    @classmethod
    def of(cls, params: Iterable[str], for_each: ForEach | None, keys: Iterable[str] = ()) -> Available:
        """The names of a step with this `for_each`."""
        groups: set[str] = set()
        if for_each is not None and for_each.name is not None:
            pattern = re.compile(for_each.name)
            groups = {*pattern.groupindex, *(str(n) for n in range(pattern.groups + 1))}
        source = "" if for_each is None else for_each.source
        return cls(frozenset(params), source, frozenset(groups), frozenset(keys))

    def check(self, name: str) -> None:
        """Raise ManifestError unless `name` is available, saying why it is not."""
        if name in self.params or name in self.keys or name == "now":
            return
        head, dot, rest = name.partition(".")
        if name == "n" and self.source:
            return
        if head == "file" and dot:
            _need(self.source in FILE_SOURCES, name, "for_each with files, folders or paths")
            _known(rest in FILE_FIELDS, "name", name, [f"file.{each}" for each in FILE_FIELDS])
        elif head == "match" and dot:
            _need(bool(self.groups), name, "for_each with a regular expression in `name`")
            _known(rest in self.groups, "group", rest, self.groups)
        elif head == "row" and dot:
            _need(self.source == "rows", name, "for_each with rows")
        elif name in ("value", "n"):
            _need(name == "n" or self.source == "values", name, "for_each with values")
            _need(name != "n", name, "for_each")
        else:
            known = [*self.params, *self.keys, "now", *(f"file.{each}" for each in FILE_FIELDS)]
            _known(False, "name", name, known)


def _need(holds: bool, name: str, what: str) -> None:
    if not holds:
        raise ManifestError(f"`{{{name}}}` needs a {what}")


def _known(holds: bool, what: str, name: str, known: Iterable[str]) -> None:
    if not holds:
        raise ManifestError(
            unknown(what, name, known), hint="see `deskshell skills schema` for what there is"
        )


class Values:
    """The names of one step with their values; see `template.Names`."""

    def __init__(
        self, params: Mapping[str, Value], now: datetime, keys: Mapping[str, Lookup | Value] | None = None
    ) -> None:
        self._params = params
        self._now = now
        self._keys = keys or {}

    def with_keys(self, keys: Mapping[str, Lookup | Value]) -> Values:
        """The same, plus the step's own keys (which go before parameters)."""
        return Values(self._params, self._now, keys)

    def resolve(self, name: str) -> Value | Lookup:
        """The value of `name`, or how to read it from a subject."""
        if name in self._keys:
            return self._keys[name]
        if name in self._params:
            return self._params[name]
        if name == "now":
            return self._now
        head, _, rest = name.partition(".")
        if head == "file":
            return _of_file(FILE_FIELDS[rest])
        if head == "match":
            group: str | int = int(rest) if rest.isdigit() else rest
            return lambda subject: None if subject.match is None else subject.match[group]
        if head == "row":
            return lambda subject: _cell(subject, rest)
        if name == "value":
            return lambda subject: subject.value
        return lambda subject: subject.n

    def describe(self, item: Subject) -> str:
        """See `template.Names`."""
        return item.show()


def _of_file(read: Callable[[Found], Value | None]) -> Lookup:
    def lookup(subject: Subject) -> Value | None:
        file = subject.file
        try:
            return None if file is None else read(file)
        except OSError as exc:
            raise PlanConflict(
                f"{subject.show()} cannot be read: {os.strerror(exc.errno or 0)}",
                hint="check its permissions, or leave it out with `skip`",
            ) from exc
        except StepFailed as exc:
            raise PlanConflict(f"{subject.show()} cannot be read: {exc.message}") from exc

    return lookup


def _cell(subject: Subject, column: str) -> str | None:
    if subject.row is None:
        return None
    if column not in subject.row:
        raise ManifestError(
            unknown("column", column, subject.row), hint="names of columns are in the first line"
        )
    return subject.row[column]
