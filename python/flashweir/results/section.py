"""Parts of a result as mappings with attributes; their fields, declared as annotations and walked through."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

T = TypeVar("T")

# Keys of mappings whose keys are data.
OPERATION, TENANT, PURPOSE = "OP", "NAME", "PURPOSE"


class Section(Mapping[str, Any]):
    """A part of a result: a mapping whose keys are attributes too, and whose keys may be dotted paths.

    `section["read.p99"]`, `section["read"]["p99"]` and `section.read.p99` are the same value. Objects come out as
    sections, lists as they are. A key that is not there raises `KeyError`, or `AttributeError` as an attribute.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - JSON holds anything
        if key in self._values:
            return self._wrapped(key)
        head, dot, rest = key.partition(".")
        inner = self._wrapped(head) if dot and head in self._values else None
        try:
            if isinstance(inner, Section):
                return inner[rest]
        except KeyError:
            pass
        new = self._new_name(key)
        raise KeyError(key if new is None else f"{key}: it is now {new}")

    def _new_name(self, key: str) -> str | None:
        """The name that a field of this section has now, if `key` is an old one."""
        from flashweir.names import now

        return now(key, self._values)

    def _wrapped(self, key: str) -> Any:  # noqa: ANN401 - JSON holds anything
        value = self._values[key]
        return (self._structure_of(key) or Section)(value) if isinstance(value, Mapping) else value

    @classmethod
    def _structure_of(cls, key: str) -> "type[Section] | None":
        """The class of the section under a key, where one is declared."""
        if cls is Section:
            return None
        return structure_of(cls, key)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - JSON holds anything
        # An object that is being copied or unpickled has no values yet.
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        if name not in self._values:
            if (new := self._new_name(name)) is not None:
                raise AttributeError(f"{type(self).__name__} has no {name!r}: it is now {new!r}")
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(self._values)}")
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self._values)!r})"

    def __eq__(self, other: object) -> bool:
        """Equal to a mapping of the same keys and values."""
        if isinstance(other, Section):
            other = other._values
        return dict(self._values) == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a mapping, and its values may be lists

    def to_dict(self) -> dict[str, Any]:
        """The section as plain dictionaries and lists: a copy of its own."""
        copy: dict[str, Any] = json.loads(json.dumps(self._values))
        return copy


class Each(Section, Generic[T]):
    """A part of a result whose keys are data, such as names of tenants or operations: values are of one kind."""

    # Of the sections in it; None for other values.
    _inner: ClassVar[type[Section] | None] = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Its class is made when it is needed.
        return _unpickled_each, (self._inner, self._values)

    @classmethod
    def _structure_of(cls, key: str) -> type[Section] | None:
        del key  # all are alike
        return cls._inner

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> T: ...


def _unpickled_each(inner: type[Section], values: Mapping[str, Any]) -> Section:
    return each_of(inner)(values)


@dataclass(frozen=True)
class Field:
    """A field of a result: meaning in Markdown, unit, and more where the type does not say it.

    `each` is the structure of the elements of a list. `keys` names the keys of a mapping. `key` is the key where an
    attribute can't have its name. `optional`: only some runs have it. `below` is the heading of a table of its own.
    """

    meaning: str
    unit: str = ""
    each: type[Section] | None = None
    keys: str = OPERATION
    key: str = ""
    optional: bool = False
    below: str = ""


class Declared(NamedTuple):
    """A field as a class declares it: key, declaration, type without null, and if it may be null."""

    key: str
    field: Field
    type: Any
    null: bool


@cache
def fields_of(structure: type[Section]) -> Mapping[str, Declared]:
    """The fields that a structure declares, by key."""
    found = {}
    for name, hint in get_type_hints(structure, include_extras=True).items():
        if get_origin(hint) is Annotated and isinstance(field := get_args(hint)[1], Field):
            kind = get_args(hint)[0]
            parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
            rest = [part for part in parts if part is not NoneType]
            found[field.key or name] = Declared(field.key or name, field, rest[0], len(rest) < len(parts))
    return found


def structure_in(kind: object) -> tuple[type[Section] | None, bool]:
    """The structure of a type, and True if the type is a mapping of it by keys that are data."""
    if isinstance(kind, type) and issubclass(kind, Section):
        return kind, False
    if get_origin(kind) is Each:
        inner = get_args(kind)[0]
        return (inner if isinstance(inner, type) and issubclass(inner, Section) else None), True
    return None, False


def structure_of(structure: type[Section], key: str) -> type[Section] | None:
    """The class of the section under a key; None where nothing is declared."""
    one = fields_of(structure).get(key)
    if one is None:
        return None
    inner, by_key = structure_in(one.type)
    return each_of(inner) if by_key and inner is not None else inner


@cache
def each_of(inner: type[Section]) -> type[Section]:
    """The class of a mapping whose values are sections of a class."""
    return type(f"Each{inner.__name__}", (Each,), {"_inner": inner})


def unit_of(path: str, structure: type[Section]) -> str:
    """The unit of a field by its dotted path, such as `latency_us.read.p99`; empty without one, or without a field.

    A part without a unit of its own has that of the structure that it lies in.
    """
    head, _, rest = path.partition(".")
    one = fields_of(structure).get(head)
    if one is None:
        return ""
    inner, by_key = structure_in(one.type)
    if by_key:
        rest = rest.partition(".")[2]
    below = unit_of(rest, inner) if rest and inner is not None else ""
    return below or one.field.unit


def declares(path: str, structure: type[Section]) -> bool:
    """True if the structure, or one in it, has a field at a dotted path, such as `latency_us.read.p99`."""
    head, _, rest = path.partition(".")
    one = fields_of(structure).get(head)
    if one is None:
        return False
    inner, by_key = structure_in(one.type)
    if by_key:
        rest = rest.partition(".")[2]
    return not rest or (inner is not None and declares(rest, inner))


class Place(NamedTuple):
    """A field at its place: path, declaration, and the deepest structure that declares it."""

    path: str
    one: Declared


def places(structure: type[Section], prefix: str = "") -> Iterator[Place]:
    """Every field of a structure and of those in it, by path: lists have `[]`, mappings the name of their keys."""
    for one in fields_of(structure).values():
        path = f"{prefix}{one.key}"
        yield Place(path, one)
        inner, by_key = structure_in(one.type)
        if by_key:
            path = f"{path}.{one.field.keys}"
        if one.field.each is not None:
            inner, path = one.field.each, f"{path}[]"
        if inner is not None:
            yield from places(inner, f"{path}.")


def kinds_of(structure: type[Section]) -> dict[str, tuple[type, ...]]:
    """The Python types that the JSON of each field may have, by key."""
    return {key: json_types(one) for key, one in fields_of(structure).items()}


def json_types(one: Declared) -> tuple[type, ...]:
    """The Python types that the JSON of a field may have."""
    origin = get_origin(one.type) or one.type
    kinds: tuple[type, ...]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        kinds = (dict,)
    elif origin is float:
        kinds = (int, float)
    else:
        kinds = (origin,)
    return (*kinds, NoneType) if one.null else kinds
