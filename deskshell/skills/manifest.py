"""Reading `skill.toml`, and the same as JSON, as agents send it.

Whatever is wrong becomes one ManifestError of one line that names file, table and key.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from deskshell.errors import IrreversibleError, ManifestError, NotFound, StepFailed
from deskshell.files import names, reading
from deskshell.kernel.action import Action
from deskshell.kernel.report import text as reason
from deskshell.skills import manifest_errors, model, step_args, template_check
from deskshell.skills.model import Manifest, StepSpec
from deskshell.skills.suggest import one_line

MAX_BYTES = 1 << 20
RESERVED = ("file", "match", "row", "value", "n", "now")

Kinds = Mapping[str, type[Action]]


#: Keys of a step that are the same for every kind.
STEP_KEYS = ("id", "for_each", "on_conflict", "assert", "undo", "irreversible", "action")


def load(path: bytes, kinds: Kinds) -> Manifest:
    """Read a manifest file: JSON when it is called `*.json`, else TOML.

    Raises:
        NotFound: there is no such file, or it cannot be read.
        ManifestError, IrreversibleError: see `from_data`.
    """
    shown = f"`{names.show(path)}`"
    try:
        content = reading.read_file(-100, path, MAX_BYTES)
    except FileNotFoundError as exc:
        raise NotFound(f"{shown} does not exist") from exc
    except (OSError, StepFailed) as exc:
        raise NotFound(f"{shown} cannot be read: {reason(exc)}") from exc
    try:
        text = content.decode("utf-8")
        data = json.loads(text) if path.endswith(b".json") else tomllib.loads(text)
    except (
        ValueError,
        RecursionError,
    ) as exc:  # UnicodeDecodeError and both decoders' errors are ValueErrors
        raise ManifestError(f"{shown}: {_one_line(exc)}", hint="see `deskshell skills check`") from exc
    return from_data(data, kinds, shown)


def from_data(data: Any, kinds: Kinds, source: str) -> Manifest:
    """Check a manifest given as plain values; `source` names it in messages.

    Raises:
        ManifestError: something is unknown, missing or of the wrong type.
        IrreversibleError: an `fs.delete` that could not be undone.
    """
    try:
        return _checked(data, kinds, source)
    except (ManifestError, IrreversibleError) as exc:
        exc.message = one_line(exc.message)
        raise


def _checked(data: Any, kinds: Kinds, source: str) -> Manifest:
    if not isinstance(data, Mapping):
        raise ManifestError(f"{source}: a table is needed at the top")
    _refuse_surrogates(data, source)
    steps = data.get("steps")
    prepared = dict(data)
    if isinstance(steps, list):
        prepared["steps"] = [_prepare_step(step, n, kinds, source) for n, step in enumerate(steps, 1)]
    manifest = model.read(prepared)
    if manifest is None:
        from deskshell.skills import explained

        raise explained.explain(prepared, source)
    for name in manifest.params:
        if name in RESERVED:
            raise ManifestError(f"{source}: [params.{name}]: this name is taken", hint="call it otherwise")
    for n, step in enumerate(manifest.steps, 1):
        _check_step(step, manifest_errors.step_name(source, n, step.id), kinds)
    template_check.check(manifest, kinds, source)
    return manifest


def _prepare_step(step: Any, n: int, kinds: Kinds, source: str) -> Any:
    """Set the keys of the step's kind apart from those that all steps share."""
    if not isinstance(step, Mapping):
        return step
    where = manifest_errors.step_name(source, n, step.get("id"))
    args = {key: value for key, value in step.items() if key not in STEP_KEYS}
    done = {key: value for key, value in step.items() if key in STEP_KEYS}
    step_args.check(step.get("action"), args, kinds, where, STEP_KEYS)
    done["args"] = args
    if "undo" in step:
        done["undo"] = _prepare_undo(step["undo"], kinds, where)
    return done


def _prepare_undo(undo: Any, kinds: Kinds, where: str) -> Any:
    if undo is None or undo == "none":
        return "none"
    if not isinstance(undo, Mapping):
        raise ManifestError(
            f'{where}: `undo` is "none", null, or a table with an action of its own',
            hint="leave it out for the undo that the kernel derives",
        )
    args = {key: value for key, value in undo.items() if key != "action"}
    step_args.check(undo.get("action"), args, kinds, f"{where}, undo", ("action",))
    return {"action": undo["action"], "args": args}


def _check_step(step: StepSpec, where: str, kinds: Kinds) -> None:
    kind = kinds[step.action]
    if step.on_conflict is not None and step.on_conflict not in kind.on_conflict:
        known = ", ".join(f"`{each}`" for each in kind.on_conflict)
        raise ManifestError(
            f"{where}: `on_conflict` of `{step.action}` is one of {known}, not `{step.on_conflict}`"
        )
    if step.action == "fs.delete" and (step.irreversible or step.undo != "derived"):
        raise IrreversibleError(
            f"{where}: `fs.delete` must keep its undo; a deletion that cannot be taken back is always refused",
            hint="leave out `undo` and `irreversible`: what is deleted is held, and `undo` puts it back",
        )


def _refuse_surrogates(data: Any, source: str) -> None:
    """JSON can spell half characters, which no file, journal or terminal takes."""
    try:
        json.dumps(data, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeEncodeError as exc:
        raise ManifestError(f"{source}: holds a lone surrogate, which is no character") from exc
    except (RecursionError, TypeError, ValueError) as exc:
        raise ManifestError(f"{source}: is nested too deeply, or not of plain values") from exc


def _one_line(exc: BaseException) -> str:
    return " ".join(str(exc).split()) or type(exc).__name__


def schema(kinds: Kinds) -> dict[str, Any]:
    """The JSON Schema of skill.toml, with the keys of every kind."""
    from deskshell.skills import schema as schemas

    return schemas.schema(kinds)
