"""Glob patterns over paths: `*`, `?`, `[…]` within a name, and `**` for any number of folders.

`*` matches hidden names too; leave them out with `skip = [".*"]`. A pattern that ends in `**` means
everything below.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from deskshell.errors import ManifestError
from deskshell.slotted import slotted

DEEP = "**"
_MAGIC = re.compile(rb"[*?\[]")
_QUOTED = re.compile(rb"\[([*?\[])\]")

Matcher: TypeAlias = Callable[[bytes], bool]
Part: TypeAlias = bytes | str | Matcher
"""A literal name, `DEEP`, or a test of one name."""


@slotted(frozen=True)
class Pattern:
    """`base` is the folder to start from (no magic in it), `parts` what follows, one a path component."""

    source: bytes
    base: bytes
    parts: tuple[Part, ...]


def quote(text: bytes) -> bytes:
    """`text` as a pattern that matches only itself."""
    return re.sub(rb"([*?\[])", rb"[\1]", text)


def literal(component: bytes) -> bytes | None:
    """The one name that `component` matches, or None when it may match several."""
    if _MAGIC.search(_QUOTED.sub(b"", component)):
        return None
    return _QUOTED.sub(rb"\1", component)


def parse(source: bytes) -> Pattern:
    """Read an absolute pattern. The last component is always a part, so that something is matched.

    Raises:
        ManifestError: `**` is glued to other text, or the pattern names no object.
    """
    components = [part for part in source.split(b"/") if part not in (b"", b".")]
    if not components:
        raise ManifestError(f"`{source.decode('utf-8', 'replace')}` selects nothing", hint="end it with /*")
    base: list[bytes] = []
    for component in components[:-1]:
        name = literal(component)
        if name is None:
            break
        base.append(name)
    rest = components[len(base) :]
    if rest[-1] == b"**":
        rest.append(b"*")
    return Pattern(source, b"/" + b"/".join(base), tuple(_part(each) for each in rest))


def _part(component: bytes) -> Part:
    if component == b"**":
        return DEEP
    name = literal(component)
    if name is not None:
        return name
    if b"**" in _QUOTED.sub(b"", component):
        raise ManifestError(
            f"`**` in `{component.decode('utf-8', 'replace')}` must be a whole path component",
            hint="write folder/**/*.txt",
        )
    return matcher(component)


def matcher(component: bytes) -> Matcher:
    """A test whether a name matches `component`, a pattern without slashes."""
    if component == b"*":
        return lambda _name: True
    if component.startswith(b"*") and not _MAGIC.search(component[1:]):
        ending = component[1:]
        return lambda name: name.endswith(ending)
    if component.endswith(b"*") and not _MAGIC.search(component[:-1]):
        start = component[:-1]
        return lambda name: name.startswith(start)
    # On text, so that `?` is one character and not one byte of it.
    match = re.compile(fnmatch.translate(_decode(component))).match
    return lambda name: match(_decode(name)) is not None


def any_name(patterns: Iterable[bytes]) -> Matcher | None:
    """A test whether a name matches one of `patterns`; None when there are none."""
    endings: list[bytes] = []
    starts: list[bytes] = []
    whole: list[bytes] = []
    others: list[Matcher] = []
    for each in patterns:
        name = literal(each)
        if name is not None:
            whole.append(name)
        elif each.startswith(b"*") and not _MAGIC.search(each[1:]):
            endings.append(each[1:])
        elif each.endswith(b"*") and not _MAGIC.search(each[:-1]):
            starts.append(each[:-1])
        else:
            others.append(matcher(each))
    if not endings and not starts and not whole and not others:
        return None
    # One call each, whatever their number.
    with_ending, with_start, known = tuple(endings), tuple(starts), frozenset(whole)

    def matches(name: bytes) -> bool:
        if name.endswith(with_ending) or name.startswith(with_start) or name in known:
            return True
        return bool(others) and any(test(name) for test in others)

    return matches


def any_path(patterns: Iterable[bytes]) -> Matcher | None:
    """A test whether a relative path matches one of `patterns` (with slashes); None when there are none."""
    found = [tuple(_part(each) for each in pattern.strip(b"/").split(b"/")) for pattern in patterns]
    if not found:
        return None
    return lambda path: any(_matches(parts, path.split(b"/")) for parts in found)


def _matches(parts: tuple[Part, ...], components: list[bytes]) -> bool:
    if not parts:
        return not components
    head, rest = parts[0], parts[1:]
    if head is DEEP:
        return not rest or any(_matches(rest, components[skip:]) for skip in range(len(components) + 1))
    return bool(components) and part_matches(head, components[0]) and _matches(rest, components[1:])


def part_matches(part: Part, name: bytes) -> bool:
    """Whether `name` fits one component of a pattern (not `DEEP`)."""
    return part(name) if callable(part) else part == name


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
