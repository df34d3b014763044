"""Templates of paths: a value stays inside its component, whatever it is (F40)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from deskshell.errors import PlanConflict
from deskshell.files import names
from deskshell.skills.subject import Secret, Subject
from deskshell.skills.template import Names, Part, Template, compile_parts, encode, secret_in

_Component: TypeAlias = list[tuple[bool, Part]]  # (is a value, part)


def compile_path(
    template: Template, scope: Names, what: str, *, quote: Callable[[bytes], bytes] | None = None
) -> Callable[[Subject], bytes]:
    """For paths: each value stays inside its own path component, but a path brings its folders (F40).

    Args:
        template: the parsed path.
        scope: the names it may use.
        what: names the key in errors.
        quote: applied to each value, not to the template's own text (glob patterns).

    Compiling and rendering raise PlanConflict when a value holds a slash or a NUL byte, or makes a component
    empty, `.` or `..`; UsageError when one is a secret.
    """
    components: list[_Component] = [[]]
    for piece, part in zip(template.pieces, compile_parts(template, scope), strict=True):
        if isinstance(piece, str):  # only the template's own text is cut at slashes
            first, *others = piece.encode("utf-8").split(b"/")
            components[-1].append((False, first))
            components.extend([(False, each)] for each in others)
        else:
            components[-1].append((True, part))

    def fill(value: str | bytes | Secret, is_value: bool, item: Subject | None) -> bytes:
        if isinstance(value, str):
            value = encode(value)
            if value.find(b"/") >= 0:
                raise refuse(f"the value `{names.show(value)}` would add path parts", item)
        elif isinstance(value, Secret):
            raise secret_in(what, value)
        return quote(value) if quote is not None and is_value else value

    def finish(whole: bytes, filled: bool, item: Subject | None) -> bytes:
        if filled and whole in _NO_NAMES:
            raise refuse(f"a part of the path would be `{names.show(whole)}`", item)
        if whole.find(b"\0") >= 0:
            raise refuse("a value holds a NUL byte", item)
        return whole

    def refuse(why: str, item: Subject | None) -> PlanConflict:
        where = "" if item is None else f" ({scope.describe(item)})"
        return PlanConflict(
            f"`{template.source}`: {why}{where}",
            hint="only path parameters, {file.path} and {file.folder} may bring folders with them",
        )

    def render_component(component: _Component, item: Subject | None) -> bytes:
        filled = False
        done = []
        for is_value, part in component:
            value = part(item) if callable(part) else part  # type: ignore[arg-type]
            filled = filled or type(value) is str
            done.append(fill(value, is_value, item))
        return finish(b"".join(done), filled, item)

    def compile_component(component: _Component) -> bytes | Callable[[Subject], bytes]:
        component = [each for each in component if each != (False, b"")] or component[:1]
        if not any(callable(part) for _, part in component):
            return render_component(component, None)  # the same for every item: rendered once
        read = component[0][1]
        if len(component) > 1 or not callable(read):
            return lambda item: render_component(component, item)

        def render_one(item: Subject) -> bytes:  # most components are one value, and there are many items
            value = read(item)
            if type(value) is bytes and quote is None and value.find(b"\0") < 0:
                return value
            return finish(fill(value, True, item), type(value) is str, item)

        return render_one

    return _joined([compile_component(each) for each in components])


def _joined(components: list[bytes | Callable[[Subject], bytes]]) -> Callable[[Subject], bytes]:
    """One call for all components; what does not depend on the item is joined beforehand."""
    before = b""
    readers: list[tuple[Callable[[Subject], bytes], bytes]] = []  # each with what is constant after it
    for at, each in enumerate(components):
        constant = (b"/" if at else b"") + (each if isinstance(each, bytes) else b"")
        if readers:
            read, after = readers[-1]
            readers[-1] = (read, after + constant)
        else:
            before += constant
        if callable(each):
            readers.append((each, b""))
    if len(readers) == 1 and not before and not readers[0][1]:
        return readers[0][0]
    if len(readers) == 1:
        ((only, end),) = readers
        return lambda item: before + only(item) + end
    return lambda item: before + b"".join([read(item) + after for read, after in readers])


_NO_NAMES = frozenset((b"", b".", b".."))
