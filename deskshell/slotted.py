"""Classes made of their annotated fields, as `dataclasses` makes them, at a fraction of the cost of starting.

`@dataclass(slots=True)` writes and compiles six methods a class when the module is imported: 0.5 to 1 ms, times
sixty classes, and `dataclasses` itself imports `inspect`. A command such as `deskshell undo` has to be there in the
time of a few such classes. Here `__init__` is compiled when the first object is made, and what is seldom called
(`==`, `hash`, `repr`) is shared by all classes. Type checkers know it for what it is (PEP 681).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, dataclass_transform

T = TypeVar("T")


class _Missing:
    """Stands for "no default"."""

    def __repr__(self) -> str:
        return "MISSING"


_MISSING: Any = _Missing()


class Field(NamedTuple):
    """One field: its name, its default or what makes one, and whether `repr` shows it."""

    name: str
    default: Any
    default_factory: Callable[[], Any] | None
    repr: bool


def field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] | None = None,
    repr: bool = True,  # noqa: A002 - as `dataclasses.field` calls it
) -> Any:
    """What a field gets in the class body that is more than a plain default."""
    return Field("", default, default_factory, repr)


@dataclass_transform(field_specifiers=(field,))
def slotted(*, frozen: bool = False) -> Callable[[type[T]], type[T]]:
    """Make a class of its annotated fields, in order, those of its bases first; it has slots and no `__dict__`.

    `ClassVar`s are no fields, and a `__post_init__` is called as in a dataclass. With `frozen` no field can be
    set afterwards, and objects that are equal have one hash.
    """

    def make(cls: type[T]) -> type[T]:
        own = _own_fields(cls)
        fields: dict[str, Field] = {}
        for base in reversed(cls.__mro__[1:]):
            fields.update((each.name, each) for each in getattr(base, "__own_fields__", ()))
        inherited = set(fields)
        fields.update((each.name, each) for each in own)
        body = {
            key: value
            for key, value in vars(cls).items()
            if key not in fields and key not in ("__dict__", "__weakref__")
        }
        body["__slots__"] = tuple(each.name for each in own if each.name not in inherited)
        body["__own_fields__"] = tuple(own)
        body["__match_args__"] = tuple(fields)
        body.setdefault("__eq__", _equal)
        body.setdefault("__repr__", _repr)
        if frozen:
            body["__hash__"] = _hash
            body["__setattr__"] = body["__delattr__"] = _refuse
        elif "__hash__" not in body:
            body["__hash__"] = None
        metaclass: Any = type(cls)  # ABCMeta, mostly
        made: Any = metaclass(cls.__name__, cls.__bases__, body)
        made.__qualname__ = cls.__qualname__
        made.__slotted__ = tuple(fields.values())
        made.__values__ = staticmethod(_reader(tuple(fields)))
        if "__init__" not in body:
            made.__init__ = _first_init(made, frozen=frozen)
        found: type[T] = made
        return found

    return make


def replace(value: T, /, **changes: Any) -> T:
    """A copy of `value` with some fields changed."""
    cls: Any = type(value)
    for name in cls.__match_args__:
        changes.setdefault(name, getattr(value, name))
    copy: T = cls(**changes)
    return copy


def as_dict(value: Any) -> dict[str, Any]:
    """The fields of `value` by name, in order."""
    return {name: getattr(value, name) for name in type(value).__match_args__}


def _own_fields(cls: type) -> list[Field]:
    found = []
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        given = vars(cls).get(name, _MISSING)
        found.append(given._replace(name=name) if type(given) is Field else Field(name, given, None, True))
    return found


def _reader(names: tuple[str, ...]) -> Callable[[Any], Any]:
    if not names:
        return lambda _: ()
    read: Callable[[Any], Any] = attrgetter(*names)
    return read


def _first_init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    """An `__init__` that puts a compiled one in its place when the first object is made."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        cls.__init__ = made = _compile_init(cls, frozen=frozen)
        made(self, *args, **kwargs)

    return init


def _compile_init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_MISSING": _MISSING}
    heads, lines = ["self"], []
    for each in cls.__slotted__:
        name = value = each.name
        if each.default_factory is not None:
            names[f"_make_{name}"] = each.default_factory
            heads.append(f"{name}=_MISSING")
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        elif each.default is not _MISSING:
            names[f"_default_{name}"] = each.default
            heads.append(f"{name}=_default_{name}")
        else:
            heads.append(name)
        if frozen:  # past `__setattr__`, which refuses
            names[f"_set_{name}"] = getattr(cls, name).__set__
            lines.append(f" _set_{name}(self, {value})")
        else:
            lines.append(f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    source = f"def __init__({', '.join(heads)}):\n" + "\n".join(lines or [" pass"])
    exec(source, names)  # made of the names of fields only
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    read = self.__values__
    return read(self) == read(other)


def _hash(self: Any) -> int:
    return hash((self.__class__, self.__values__(self)))


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in self.__slotted__ if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise AttributeError(f"`{name}` of a frozen {type(self).__qualname__} cannot be changed")
