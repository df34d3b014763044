"""Templates: `{name}`, `{name:format}`, `{a|b:format}`, and `{{`, `}}` for the braces themselves.

A template is parsed once and compiled against the names of its step: what is the same for every
item (parameters, `now`) is filled in at once, the rest becomes calls that read one item. There is
no attribute access beyond the fixed names, no indexing and no code.

Values by type: `bytes` is a path (`{file.path}`, a path parameter) and may bring folders with it;
`str` comes from a file's name, a match, a row or the user and never adds path parts (F40);
`datetime` is local time; `Secret` marks a secret parameter, which only text may hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeAlias

from deskshell.errors import ManifestError, PlanConflict, UsageError
from deskshell.files import names
from deskshell.kernel.secrets import SecretText
from deskshell.skills.subject import Secret, Subject, Value
from deskshell.skills.units import Duration
from deskshell.slotted import slotted

Lookup: TypeAlias = Callable[[Subject], Value | None]
"""Reads one name of one item; None when the item has no such value."""


class Names(Protocol):
    """The names a template may use."""

    def resolve(self, name: str) -> Value | Lookup:
        """The value where it is the same for all items, else how to read it. Raises ManifestError."""

    def describe(self, item: Subject) -> str:
        """How a message names the item, such as `` `a.jpg` ``."""


@slotted(frozen=True)
class Field:
    """One `{…}`: the names to try in order, and the format ("" when there is none)."""

    names: tuple[str, ...]
    format: str

    def __str__(self) -> str:
        return "{" + "|".join(self.names) + (f":{self.format}" if self.format else "") + "}"


@slotted(frozen=True)
class Template:
    """A parsed template: text and fields in order."""

    source: str
    pieces: tuple[str | Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name used, each once."""
        fields = [piece for piece in self.pieces if isinstance(piece, Field)]
        return tuple(dict.fromkeys(name for field in fields for name in field.names))


_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
# A column of a table may be called anything that does not end the name.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[^|{}:]+)?")
_INT_FORMAT = re.compile(r"0?[1-9]?[0-9]?d?")


def parse(source: str) -> Template:
    """Read a template. Raises ManifestError for a lone brace or a name that cannot be one."""
    pieces: list[str | Field] = []
    for token in _TOKEN.finditer(source):
        text = token.group()
        if text in ("{{", "}}"):
            text = text[0]
        elif text in ("{", "}"):
            raise ManifestError(
                f"`{source}` has a single `{text}`", hint=f"write `{text}{text}` for the brace itself"
            )
        elif token.group(1) is not None:
            pieces.append(_field(token.group(1), source))
            continue
        if pieces and isinstance(pieces[-1], str):
            pieces[-1] += text
        else:
            pieces.append(text)
    return Template(source, tuple(pieces))


def _field(inner: str, source: str) -> Field:
    names_part, _, form = inner.partition(":")
    found = tuple(name.strip() for name in names_part.split("|"))
    for name in found:
        if not _NAME.fullmatch(name):
            raise ManifestError(
                f"`{{{inner}}}` in `{source}` is no name to fill in",
                hint="write {name}, {name:format} or {first|second}; {{ and }} are the braces themselves",
            )
    return Field(found, form)


Part: TypeAlias = str | bytes | Secret | Callable[[Subject], str | bytes | Secret]


def compile_parts(template: Template, scope: Names) -> list[Part]:
    """Constants, and readers of one item, in the template's order."""
    return [
        piece if isinstance(piece, str) else _compile_field(piece, scope, template.source)
        for piece in template.pieces
    ]


def _compile_field(field: Field, scope: Names, source: str) -> Part:
    options = [scope.resolve(name) for name in field.names]
    form = field.format
    if not callable(options[0]):
        return format_value(options[0], form, field)
    readers = [each if callable(each) else _constant(each) for each in options]
    first = readers[0]

    def read(item: Subject) -> str | bytes | Secret:
        value = first(item)
        if value is None:
            value = fall_back(item)
        kind = type(value)
        if (kind is str or kind is bytes) and not form:
            return value  # type: ignore[return-value]
        return format_value(value, form, field)

    def fall_back(item: Subject) -> Value:
        for reader in readers[1:]:
            value = reader(item)
            if value is not None:
                return value
        raise PlanConflict(
            f"{scope.describe(item)} has no {' or '.join(f'`{name}`' for name in field.names)}, which `{source}` needs",
            hint=f"give it another name to fall back to, such as `{{{field.names[0]}|file.mtime}}`"
            if field.names == ("file.taken",)
            else "leave such items out with a filter of for_each, or add a name to fall back to: {first|second}",
        )

    return read


def _constant(value: Value) -> Lookup:
    def read(_: Subject, /) -> Value | None:
        return value

    return read


def format_value(value: Value, form: str, field: Field) -> str | bytes | Secret:
    """`value` as text, or as it is when it is a path or secret. Raises ManifestError for a format that does not fit."""
    if isinstance(value, datetime):
        # As bytes, like a path: the slashes of `%Y/%m` are the manifest's own, not the value's.
        return value.strftime(form or "%Y-%m-%d").encode("utf-8")
    if not form:
        if isinstance(value, str | bytes | Secret):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        return value.text if isinstance(value, Duration) else str(value)
    if isinstance(value, int) and not isinstance(value, bool) and _INT_FORMAT.fullmatch(form):
        return format(value, form)
    raise ManifestError(
        f"the format `{form}` in `{field}` does not fit the value",
        hint="dates take strftime formats (%Y-%m-%d), numbers a width (03); other values take none",
    )


def compile_text(template: Template, scope: Names) -> Callable[[Subject], SecretText]:
    r"""For text: values as people read them; a name that is not UTF-8 appears with `\xNN`."""
    parts = compile_parts(template, scope)

    def render(item: Subject) -> SecretText:
        done: list[str | tuple[str]] = []
        for part in parts:
            value = part(item) if callable(part) else part
            if isinstance(value, Secret):
                done.append((value.name,))
                continue
            text = readable(value)
            if done and isinstance(done[-1], str):
                done[-1] += text
            else:
                done.append(text)
        return SecretText(tuple(done) or ("",))

    return render


def compile_plain(template: Template, scope: Names, what: str) -> Callable[[Subject], str]:
    """For text that may hold no secret; `what` names it in the error (UsageError)."""
    parts = compile_parts(template, scope)
    for part in parts:
        if isinstance(part, Secret):
            raise secret_in(what, part)

    def render(item: Subject) -> str:
        return "".join([readable(part(item) if callable(part) else part, what) for part in parts])

    return render


def compile_id(template: Template, scope: Names) -> Callable[[Subject], str]:
    """For the id of a step: one printable line, whatever is in a name (F30). Raises UsageError for a secret."""
    parts = compile_parts(template, scope)
    for part in parts:
        if isinstance(part, Secret):
            raise secret_in("an id", part)

    texts = [part if callable(part) else _raw(part) for part in parts]

    def render(item: Subject) -> str:
        text = "".join([part if type(part) is str else _raw(part(item)) for part in texts])  # type: ignore[operator]
        return text if text.isprintable() and "\\" not in text else names.show(encode(text))

    return render


def _raw(value: str | bytes | Secret) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return decode(value)
    raise secret_in("an id", value)


def readable(value: str | bytes | Secret, what: str = "text") -> str:
    """A value as text that is always valid Unicode."""
    if isinstance(value, Secret):
        raise secret_in(what, value)
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return names.show(value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return names.show(encode(value))
    return value


def encode(text: str) -> bytes:
    """A name as bytes: the inverse of how names are decoded here, whatever the locale."""
    return text.encode("utf-8", "surrogateescape")


def decode(name: bytes) -> str:
    """A name as text, with bytes that are not UTF-8 as lone surrogates."""
    return name.decode("utf-8", "surrogateescape")


def secret_in(what: str, secret: Secret) -> UsageError:
    """The error for a secret in a place that is printed or recorded."""
    return UsageError(
        f"the secret `{secret.name}` is used in {what}, where it would be printed and recorded",
        hint="secrets may be used in the text of a file, and in the URL, headers and body of a request",
    )
