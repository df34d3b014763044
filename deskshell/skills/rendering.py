"""A step of a manifest, compiled: for each item its id, the values of its keys, its asserts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from deskshell.errors import PlanConflict, ScopeError, UsageError
from deskshell.files import names, paths
from deskshell.kernel.action import Action
from deskshell.kernel.params import Param
from deskshell.kernel.plan import PLAIN, Terms
from deskshell.kernel.secrets import SecretText
from deskshell.skills import conditions, template, template_path
from deskshell.skills.naming import FILE_SOURCES, Values
from deskshell.skills.params import Where
from deskshell.skills.subject import Subject, Value
from deskshell.slotted import replace, slotted

if TYPE_CHECKING:
    from deskshell.skills.model import StepSpec

Kinds = Mapping[str, type[Action]]
Render = Callable[[Subject], Any]

#: Keys whose trailing slash means "into this folder, under the name it has" (F40).
_INTO = {"to": "from"}
_ENDINGS = {"gzip": b".gz", "zip": b".zip", "tar.gz": b".tar.gz"}


class Targets:
    """Resolves targets: links on the way are followed, the last name never; parents are remembered."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._parents: dict[bytes, bytes] = {}

    def __call__(self, path: bytes) -> bytes:
        """Raises ScopeError, NotFound, UsageError as `paths.resolve_target` and `Where.absolute`."""
        parent, _, name = path.rpartition(b"/")
        if not parent or name in _NO_NAMES:
            return self._where.target(path)
        known = self._parents.get(parent)
        if known is None:
            known = self._parents[parent] = paths.resolve(self._where.absolute(parent))
        if len(name) > names.NAME_MAX:
            raise ScopeError(
                f"`{names.show(name)}` is too long for a name: {len(name)} bytes, {names.NAME_MAX} at most"
            )
        if known == parent != b"/":
            return path
        return paths.join(known, name)


_NO_NAMES = frozenset((b"", b".", b"..", b"~"))


@slotted()
class Rendered:
    """One action to be: its table, its id, its kind's values, and what it is about, where that is asked for again."""

    step: CompiledStep
    action_id: str
    args: dict[str, Any]
    subject: Subject


_NOBODY = Subject()


class CompiledStep:
    """One `[[steps]]` with its templates compiled against parameters and `now`.

    Raises (when made, and when rendering) ManifestError, PlanConflict, UsageError.
    """

    def __init__(self, spec: StepSpec, name: str, kinds: Kinds, values: Values, targets: Targets) -> None:
        self.spec = spec
        self.name = name
        self.kind = kinds[spec.action]
        self.conflict = spec.on_conflict or self.kind.on_conflict[0]
        self._targets = targets
        self._args: Mapping[str, Any] = {}
        self._id = template.compile_id(template.parse(spec.id or _default_id(spec)), values)
        self._render = _Args(self.kind, spec.args, values, targets, name)
        own = values.with_keys({param.name: self._own(param.name) for param in self.kind.params})
        self._asserts = [conditions.compile_assert(each, own, targets, name) for each in spec.asserts]
        self.undo_kind: type[Action] | None = None
        if not isinstance(spec.undo, str):
            self.undo_kind = kinds[spec.undo.action]
            self._undo = _Args(self.undo_kind, spec.undo.args, own, targets, f"{name}, undo")
        plain = Terms(spec.irreversible, spec.undo == "none")
        self._terms = PLAIN if plain == PLAIN else plain
        param = self.kind.conflict_param
        text = spec.args.get(param)
        #: Nothing in its actions can hold a secret.
        self.only_paths = self._render.only_paths and self.undo_kind is None and not self._asserts
        #: Every item gets the same target: nothing in it depends on the item (F40).
        self.one_target = isinstance(text, str) and not text.endswith("/") and _is_fixed(text, values)

    def render(self, subject: Subject) -> Rendered:
        """The id and the values for one item."""
        kept = subject if self._asserts or self.undo_kind is not None else _NOBODY
        return Rendered(self, self._id(subject), self._render(subject), kept)

    def terms(self, rendered: Rendered, *, final: bool) -> Terms:
        """The counter-action and the post-conditions, in which the step's own keys can be named.

        Without `final` no post-conditions: more is to come before they can hold.
        """
        if not self._asserts and self.undo_kind is None:
            return self._terms
        self._args = rendered.args
        return replace(
            self._terms,
            compensation=None
            if self.undo_kind is None
            else self.undo_kind.build(self._undo(rendered.subject)),
            asserts=tuple(make(rendered.subject) for make in self._asserts) if final else (),
        )

    def _own(self, key: str) -> template.Lookup:
        def read(_: Subject) -> Value | None:
            value = self._args.get(key)
            if isinstance(value, SecretText):
                if value.has_secret:
                    raise UsageError(f"{self.name}: `{key}` holds a secret and cannot be named here")
                return value.masked()
            return value if isinstance(value, str | bytes | int) else None

        return read


def _default_id(spec: StepSpec) -> str:
    source = "" if spec.for_each is None else spec.for_each.source
    if source in FILE_SOURCES:
        return spec.action.rpartition(".")[2] + ":{file.name}"
    return spec.action + (":{n}" if source else "")


def _is_fixed(text: str, values: Values) -> bool:
    return not any(callable(values.resolve(name)) for name in template.parse(text).names)


class _Args:
    """Renders the keys of one kind."""

    def __init__(
        self, kind: type[Action], given: Mapping[str, Any], values: Values, targets: Targets, where: str
    ) -> None:
        self._targets = targets
        self._where = where
        self._paths: list[tuple[str, Callable[[Subject], bytes]]] = []
        self._others: list[tuple[str, Render]] = []
        for param in kind.params:
            if param.name not in given:
                continue
            what = f"`{param.name}` of {where}"
            if param.type == "path":
                self._paths.append(
                    (param.name, template_path.compile_path(template.parse(given[param.name]), values, what))
                )
            else:
                self._others.append((param.name, _compile_value(param, given[param.name], values, what)))

    @property
    def only_paths(self) -> bool:
        """True when no other keys are given."""
        return not self._others

    def __call__(self, subject: Subject) -> dict[str, Any]:
        args: dict[str, Any] = {}
        for key, render in self._others:
            args[key] = render(subject)
        for key, render_path in self._paths:
            path = render_path(subject)
            if path.endswith(b"/"):
                path = self._into(key, path, args)
            args[key] = self._targets(path)
        return args

    def _into(self, key: str, folder: bytes, args: Mapping[str, Any]) -> bytes:
        """What a path with a slash at its end means for `key`."""
        src = args.get(_INTO.get(key, ""))
        if not isinstance(src, bytes):
            if key == "path" and "text" not in args and "base64" not in args and "from_file" not in args:
                return folder.rstrip(b"/") or b"/"
            raise PlanConflict(f"{self._where}: `{key}` ends in a slash, but it has to name a file")
        ending = _ENDINGS.get(str(args["format"]), b"") if "format" in args else b""
        return folder + src[src.rfind(b"/") + 1 :] + ending


def _compile_value(param: Param, given: Any, values: Values, what: str) -> Render:
    if isinstance(given, Mapping):
        cells = {key: template.compile_text(template.parse(text), values) for key, text in given.items()}
        return lambda subject: {key: render(subject) for key, render in cells.items()}
    if not isinstance(given, str):
        return lambda _: given
    parsed = template.parse(given)
    if param.type == "template":
        return template.compile_text(parsed, values)
    if param.type == "target":
        return template_path.compile_path(parsed, values, what)
    return template.compile_plain(parsed, values, what)
