"""Every template of a manifest: its form, and the names it uses, before any value is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from deskshell.errors import ManifestError
from deskshell.kernel.action import Action
from deskshell.skills import step_args, template
from deskshell.skills.manifest_errors import step_name
from deskshell.skills.model import given
from deskshell.skills.naming import Available

if TYPE_CHECKING:
    from deskshell.skills.model import ForEach, Manifest, StepSpec

Kinds = Mapping[str, type[Action]]


def check(manifest: Manifest, kinds: Kinds, source: str) -> None:
    """Raise ManifestError, with file, table and key, for the first template that is wrong."""
    params = Available(frozenset(manifest.params))
    for n, capability in enumerate(manifest.capabilities, 1):
        for text in capability.scope:
            _check(text, params, f"{source}: [[capabilities]] {n}: `scope`")
    for n, step in enumerate(manifest.steps, 1):
        where = step_name(source, n, step.id)
        if step.for_each is not None:
            for key, text in _for_each_texts(step.for_each):
                _check(text, params, f"{where}: for_each: `{key}`")
        _check_step(step, manifest.params, kinds, where)


def _check_step(step: StepSpec, params: Iterable[str], kinds: Kinds, where: str) -> None:
    available = Available.of(params, step.for_each)
    _check(step.id, available, f"{where}: `id`")
    for key, text in _arg_texts(kinds[step.action], step.args):
        _check(text, available, f"{where}: `{key}`")
    own = Available.of(params, step.for_each, (param.name for param in kinds[step.action].params))
    for condition in step.asserts:
        for key, value in given(condition).items():
            if isinstance(value, str):
                _check(value, own, f"{where}: assert: `{key}`")
    if not isinstance(step.undo, str):
        for key, text in _arg_texts(kinds[step.undo.action], step.undo.args):
            _check(text, own, f"{where}: undo: `{key}`")


def _arg_texts(kind: type[Action], args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for param in kind.params:
        for text in step_args.templates(args.get(param.name)):
            yield param.name, text


def _for_each_texts(for_each: ForEach) -> Iterator[tuple[str, str]]:
    for key, value in given(for_each).items():
        if key == "name":  # a regular expression, in which braces mean something else
            continue
        for text in [value] if isinstance(value, str) else value if isinstance(value, list) else ():
            yield key, text


def _check(text: str, available: Available, where: str) -> None:
    try:
        for name in template.parse(text).names:
            available.check(name)
    except ManifestError as exc:
        raise ManifestError(f"{where}: {exc.message}", hint=exc.hint) from exc
