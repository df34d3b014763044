"""`assert` of a step, compiled: for each item the post-conditions, templates filled in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from deskshell.errors import ManifestError
from deskshell.kernel import assertion
from deskshell.kernel.assertion import Assertion
from deskshell.skills import glob, template, template_path
from deskshell.skills.naming import Values
from deskshell.skills.subject import Subject

if TYPE_CHECKING:
    from deskshell.skills.model import AssertSpec

Make: TypeAlias = Callable[[Subject], Assertion]
Resolve: TypeAlias = Callable[[bytes], bytes]

_ON_PATH: dict[str, Callable[[bytes], Assertion]] = {
    "exists": assertion.Exists,
    "missing": assertion.Missing,
    "is_folder": assertion.IsFolder,
}


def compile_assert(spec: AssertSpec, values: Values, resolve: Resolve, where: str) -> Make:
    """How to make the condition for one item.

    Args:
        spec: the condition as read.
        values: the names of the step, its own keys among them.
        resolve: makes a target of a rendered path.
        where: names the step in messages.

    Raises:
        ManifestError, PlanConflict, UsageError: now or when made, as templates do.
    """
    what = f"`{spec.kind}` of {where}"

    def path_of(text: str | None) -> Callable[[Subject], bytes]:
        render = template_path.compile_path(template.parse(text or ""), values, what)
        return lambda subject: resolve(render(subject))

    if spec.kind in _ON_PATH:
        make, path = _ON_PATH[spec.kind], path_of(getattr(spec, spec.kind))
        return lambda subject: make(path(subject))
    if spec.sha256 is not None:
        path = path_of(spec.path)
        sha256 = template.compile_plain(template.parse(spec.sha256), values, what)
        return lambda subject: assertion.Sha256(path(subject), sha256(subject))
    if spec.contains is not None:
        path, text = path_of(spec.path), template.compile_text(template.parse(spec.contains), values)
        return lambda subject: assertion.Contains(path(subject), text(subject))
    if spec.count is not None:
        return _compile_count(spec.files or "", spec.count, values, resolve, what)
    status = assertion.Status(spec.status or 0)
    return lambda _: status


def _compile_count(files: str, count: int, values: Values, resolve: Resolve, what: str) -> Make:
    render = template_path.compile_path(template.parse(files), values, what, quote=glob.quote)

    def make(subject: Subject) -> Assertion:
        folder, _, pattern = render(subject).rpartition(b"/")
        parts = [glob.literal(part) for part in folder.split(b"/")]
        if b"**" in pattern or None in parts:
            raise ManifestError(f"{what}: only the last part of `files` may be a pattern, and not `**`")
        inside = resolve(
            b"/".join(part or b"" for part in parts) + b"/x"
        )  # the folder is followed, as in selectors
        return assertion.Count(inside[:-1] + pattern, count)

    return make
