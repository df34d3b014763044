"""Values of a skill's parameters: from `--set NAME=VALUE`, an agent's JSON, or their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deskshell.errors import UsageError
from deskshell.files import names, paths
from deskshell.skills.subject import Secret, Value
from deskshell.skills.suggest import unknown
from deskshell.skills.template import encode
from deskshell.skills.units import Duration, parse_duration
from deskshell.slotted import slotted

if TYPE_CHECKING:
    from deskshell.skills.model import Manifest, ParamSpec

_BOOLS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


@slotted(frozen=True)
class Where:
    """What paths are relative to: the one rule for parameters, scopes, selectors and targets (F45).

    `~` is `home`, anything else that does not start with a slash lies in `cwd`.
    """

    cwd: bytes
    home: bytes

    def absolute(self, path: bytes) -> bytes:
        """`path` as an absolute one, nothing resolved. Raises UsageError for an empty path or `~user`."""
        if not path:
            raise UsageError("a path is empty")
        if path == b"~" or path.startswith(b"~/"):
            return self.home + path[1:]
        if path.startswith(b"~"):
            raise UsageError(
                f"`{names.show(path)}`: only `~` is known, no other user's home",
                hint="write ./~name for a name",
            )
        return path if path.startswith(b"/") else self.cwd + b"/" + path

    def target(self, path: bytes) -> bytes:
        """`path` with its parent resolved and the last name as it is; see `paths.resolve_target`."""
        absolute = self.absolute(path)
        if absolute.endswith((b"/", b"/.", b"/..")):
            return paths.resolve(absolute)
        return paths.resolve_target(absolute)

    def shorten(self, path: bytes) -> str:
        """`path` for people: below home with `~`."""
        if self.home != b"/" and paths.is_within(path, self.home):
            return "~" + names.show(path[len(self.home) :])
        return names.show(path)


def parse(manifest: Manifest, given: Mapping[str, Any], where: Where) -> dict[str, Value]:
    """Every parameter's value, in the manifest's order.

    Args:
        manifest: declares them.
        given: text as on the command line, or numbers and booleans as in JSON; bytes for a path.
        where: what paths are relative to.

    Raises:
        UsageError: a name is unknown, a value is missing or does not fit its type.
    """
    for name in given:
        if name not in manifest.params:
            hint = ", ".join(f"`{each}`" for each in manifest.params)
            raise UsageError(
                unknown("parameter", name, manifest.params),
                hint=f"`{manifest.name}` takes {hint}" if hint else f"`{manifest.name}` takes no parameters",
            )
    values: dict[str, Value] = {}
    for name, spec in manifest.params.items():
        if spec.type == "secret":
            if name in given:
                raise UsageError(
                    f"the secret `{name}` is not set on the command line, where others can read it",
                    hint=f"set DESKSHELL_SECRET_{name.upper()}, or answer the prompt",
                )
            values[name] = Secret(name)
            continue
        value = given.get(name, spec.default)
        if value is None:
            what = f" ({spec.help})" if spec.help else ""
            raise UsageError(f"the parameter `{name}` is needed{what}", hint=f"give it with --set {name}=…")
        try:
            values[name] = _value(spec, value, where)
        except UsageError as exc:
            raise UsageError(
                f"parameter `{name}`: {exc.message}", hint=exc.hint or spec.help or None
            ) from exc
    return values


def _value(spec: ParamSpec, value: Any, where: Where) -> Value:
    match spec.type:
        case "int":
            return _int(value)
        case "bool":
            return _bool(value)
        case "path" if isinstance(value, bytes):
            return where.target(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UsageError(f"`{value!r}` is not text")
    text = str(value)
    match spec.type:
        case "path":
            return where.target(encode(text))
        case "choice":
            if text not in spec.choices:
                raise UsageError(
                    f"`{text}` is not one of the choices",
                    hint="one of " + ", ".join(f"`{c}`" for c in spec.choices),
                )
        case "duration":
            return parse_duration(text)
    return text


def _int(value: Any) -> int:
    if isinstance(value, bool):
        raise UsageError("true and false are no numbers")
    try:
        return int(value)
    except (TypeError, ValueError) as exc:
        raise UsageError(f"`{value}` is no whole number") from exc


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    found = _BOOLS.get(str(value).strip().lower())
    if found is None:
        raise UsageError(f"`{value}` is neither true nor false")
    return found


def to_json(values: Mapping[str, Value]) -> dict[str, Any]:
    """What a task's record holds: paths absolute, secrets as ``{"secret": name}``."""
    done: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, bytes):
            text, b64 = names.plain(value)
            done[name] = text
            if b64 is not None:
                done[f"{name}Bytes"] = b64
        elif isinstance(value, Secret):
            done[name] = {"secret": value.name}
        elif isinstance(value, Duration):
            done[name] = value.text
        elif isinstance(value, str):
            done[name] = names.plain(encode(value))[0]
        else:
            done[name] = value
    return done
