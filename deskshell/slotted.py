"""Classes made of their annotated fields, as `dataclasses` makes them, at a fraction of the cost of starting.

`@dataclass(slots=True)` writes and compiles six methods a class when the module is imported: 0.5 to 1 ms, times
sixty classes, and `dataclasses` itself imports `inspect`. A command such as `deskshell undo` has to be there in the
time of a few such classes. Here `__init__` is compiled when the first object is made, and what is seldom called
(`==`, `hash`, `repr`) is shared by all classes. Type checkers know it for what it is (PEP 681).

`NamedTuple` is that of `typing`, made the same way: 10 µs a class instead of 200.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

T = TypeVar("T")


class _Missing:
    """Stands for "no default"."""

    def __repr__(self) -> str:
        return "MISSING"


_MISSING: Any = _Missing()


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - it is this module that others take it from
else:

    class _NamedTupleType(type):
        """Makes a subclass of `tuple` of the annotations in a class body."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = {each: body[each] for each in fields if each in body}
            body |= {each: property(itemgetter(at)) for at, each in enumerate(fields)}
            body |= {
                "__slots__": (),
                "__match_args__": fields,
                "__new__": _first_new(fields, defaults),
                "_fields": fields,
                "_field_defaults": defaults,
            }
            return type(name, (_Tuple,), body)

    class NamedTuple(metaclass=_NamedTupleType):
        """Base of named tuples; see `typing.NamedTuple`."""


class _Tuple(tuple[Any, ...]):
    """What all named tuples can do."""

    __slots__ = ()

    _fields: tuple[str, ...] = ()

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Any:
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"{cls.__name__} takes {len(cls._fields)} values, not {len(made)}")
        return made

    def _replace(self, **changes: Any) -> Any:
        made = self._make(map(changes.pop, self._fields, self))
        if changes:
            raise ValueError(f"{type(self).__name__} has no {', '.join(changes)}")
        return made

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


def _first_new(fields: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., Any]:
    """A `__new__` that puts a compiled one in its place when the first tuple is made."""

    def new(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        names = {"_new": tuple.__new__, **{f"_default_{name}": value for name, value in defaults.items()}}
        heads = "".join(f", {name}" + (f"=_default_{name}" if name in defaults else "") for name in fields)
        values = "".join(f"{name}, " for name in fields)
        exec(f"def __new__(_cls{heads}): return _new(_cls, ({values}))", names)  # made of names only
        owner = next(each for each in cls.__mro__ if vars(each).get("_fields") is fields)
        owner.__new__ = names["__new__"]
        return names["__new__"](cls, *args, **kwargs)

    return new


class Field(NamedTuple):
    """One field: its name, its default or what makes one, and whether `repr` shows it."""

    name: str
    default: Any
    default_factory: Callable[[], Any] | None
    repr: bool

    @property
    def required(self) -> bool:
        """True when there is neither a default nor what makes one."""
        return self.default is _MISSING and self.default_factory is None


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
        body.setdefault("__reduce__", _reduce)
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
        made = _compile_init(cls, frozen=frozen)
        if cls.__init__ is init:  # a test may have put its own around this one
            cls.__init__ = made
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


def _reduce(self: Any) -> tuple[Any, ...]:
    """For `copy` and `pickle`, which would set the fields one by one."""
    return type(self), tuple(getattr(self, each.name) for each in self.__slotted__)


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise AttributeError(f"`{name}` of a frozen {type(self).__qualname__} cannot be changed")
