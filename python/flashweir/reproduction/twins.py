"""Wrong twins: measurements as a plausible bug would make them, which a check has to reject.

A twin stands beside its check, as data: it changes measured curves (two of them exchanged, a setting without effect, a
constant halved), and what is worked out of them follows. A check that holds for its twin says nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flashweir._native import ConfigError
from flashweir.quantity import number_of
from flashweir.reproduction.curves import AnyCurve, Curve, Family, Pick, Runs, same
from flashweir.reproduction.fields import Fields

Families = Mapping[str, Family]
_NUMBER = (int, float)


@dataclass(frozen=True)
class Twin:
    """A wrong measurement: changes of curves, by the names of their families.

    `swap` exchanges pairs of families; `take` gives a family the values of another; `scale` multiplies values, `places`
    the places of the axis; `flat` has everywhere the value of the first place, as if the axis had no effect; `reverse`
    has the values in reverse order; `level` has one value everywhere; `exchange` gives the curves of one value of an
    axis the values of another, and the other way round.
    """

    says: str
    swap: tuple[str, ...] = ()
    take: Mapping[str, str] = field(default_factory=dict)
    scale: Mapping[str, float] = field(default_factory=dict)
    places: Mapping[str, float] = field(default_factory=dict)
    level: Mapping[str, float] = field(default_factory=dict)
    flat: tuple[str, ...] = ()
    reverse: tuple[str, ...] = ()
    exchange: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)

    def names(self) -> set[str]:
        """Every family that it names."""
        changed = {*self.swap, *self.take, *self.scale, *self.places, *self.level, *self.flat, *self.reverse}
        return {*changed, *self.take.values(), *self.exchange}


def read(fields: Fields) -> Twin | None:
    """The twin of a check; None if it has none."""
    table = fields.take("twin", dict)
    if table is None:
        return None
    inner = Fields(fields.path, table, f"{fields.where}.twin")
    found = Twin(
        inner.text("says"),
        _names(inner, "swap"),
        {name: str(other) for name, other in inner.take("take", dict, {}).items()},
        _numbers(inner, "scale"),
        _numbers(inner, "places"),
        _numbers(inner, "level"),
        _names(inner, "flat"),
        _names(inner, "reverse"),
        _exchanges(inner),
    )
    inner.done()
    if not found.names():
        raise fields.wrong("twin", "expected a change: swap, take, scale, places, level, flat, reverse or exchange")
    if len(found.swap) % 2:
        raise inner.wrong("swap", f"{list(found.swap)!r}: expected pairs of curves")
    return found


def applied(twin: Twin, curves: Mapping[str, AnyCurve], measured: Families) -> dict[str, list[Curve]]:
    """Every family as the twin has it.

    Args:
        twin: the changes.
        curves: of the experiment, by name, in their order.
        measured: the families as they are, those of picks at least.
    """
    as_is: dict[str, list[Curve]] = {}
    known: dict[str, list[Curve]] = {}
    for name, one in curves.items():
        as_is[name] = list(measured[name]) if isinstance(one, Pick) else one.family(as_is)
    for name, one in curves.items():
        family = as_is[name] if isinstance(one, Pick) else one.family(known)
        known[name] = _changed(name, family, twin, as_is)
    return known


def _changed(name: str, family: list[Curve], twin: Twin, measured: Families) -> list[Curve]:
    pairs_ = list(zip(twin.swap[::2], twin.swap[1::2], strict=True))
    others = {**twin.take, **dict(pairs_), **{other: one for one, other in pairs_}}
    if name in others:
        family = [_valued_as(curve, _like(curve, measured[others[name]], twin, name)) for curve in family]
    if name in twin.exchange:
        axis, one, other = twin.exchange[name]
        turned = {one: other, other: one}
        family = [
            curve if (wanted := _other(curve.of.get(axis), turned)) is None
            else _valued_as(curve, _like(replace(curve, of={**curve.of, axis: wanted}), family, twin, name))
            for curve in family
        ]  # fmt: skip
    changes: list[tuple[bool, Callable[[Curve], Curve]]] = [
        (name in twin.scale, lambda curve: _each(curve, lambda value: value * twin.scale[name])),
        (name in twin.level, lambda curve: _each(curve, lambda _: twin.level[name])),
        (name in twin.places, lambda curve: _moved(curve, twin.places[name])),
        (name in twin.flat, lambda curve: _picked(curve, [0] * len(curve.y))),
        (name in twin.reverse, lambda curve: _picked(curve, list(reversed(range(len(curve.y)))))),
    ]
    for wanted_, change in changes:
        if wanted_:
            family = [change(curve) for curve in family]
    return family


def _other(value: str | None, turned: Mapping[str, str]) -> str | None:
    return next((other for one, other in turned.items() if value is not None and same(one, value)), None)


def _like(curve: Curve, family: Family, twin: Twin, name: str) -> Curve:
    """The curve of the same settings in another family."""
    found = [
        one for one in family if all(same(one.of[axis], value) for axis, value in curve.of.items() if axis in one.of)
    ]
    if len(found) != 1:
        raise ConfigError(f"twin {twin.says!r}: {len(found)} curves for {name} of {curve.label!r}: expected one")
    return found[0]


def _valued_as(curve: Curve, other: Curve) -> Curve:
    """The curve with the values of another one, at the places that both have."""
    kept = [name for name in curve.names if other.at(name) is not None]
    runs = tuple(other.runs_at(name) for name in kept) if other.runs else ()
    return replace(curve, names=tuple(kept), y=tuple(other.at(name) or 0.0 for name in kept), runs=runs)


def _each(curve: Curve, change: Callable[[float], float]) -> Curve:
    runs: tuple[Runs, ...] = tuple({run: change(value) for run, value in one.items()} for one in curve.runs)
    return replace(curve, y=tuple(map(change, curve.y)), runs=runs)


def _moved(curve: Curve, factor: float) -> Curve:
    names = tuple(name if (place := number_of(name)) is None else f"{place * factor:.9g}" for name in curve.names)
    return replace(curve, names=names)


def _picked(curve: Curve, order: Sequence[int]) -> Curve:
    runs = tuple(curve.runs[at] for at in order) if curve.runs else ()
    return replace(curve, y=tuple(curve.y[at] for at in order), runs=runs)


def _names(fields: Fields, key: str) -> tuple[str, ...]:
    return tuple(str(name) for name in fields.take(key, list, []))


def _numbers(fields: Fields, key: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in fields.take(key, dict, {}).items():
        if isinstance(value, bool) or not isinstance(value, _NUMBER):
            raise fields.wrong(f"{key}.{name}", f"{value!r}: expected a number")
        found[name] = float(value)
    return found


def _exchanges(fields: Fields) -> dict[str, tuple[str, str, str]]:
    found: dict[str, tuple[str, str, str]] = {}
    for name, value in fields.take("exchange", dict, {}).items():
        if not isinstance(value, list) or len(value) != 3:  # noqa: PLR2004 - an axis and two of its values
            raise fields.wrong(f"exchange.{name}", f"{value!r}: expected an axis and two of its values")
        axis, one, other = (_text(part) for part in value)
        found[name] = (axis, one, other)
    return found


def _text(value: Any) -> str:  # noqa: ANN401 - any TOML value
    return str(value)
