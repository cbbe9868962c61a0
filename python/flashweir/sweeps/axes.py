"""Axes of a sweep: what values a key takes, from a list, a range, or named groups of settings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashweir._native import ConfigError
from flashweir.quantity import kind_of, number_of, unit_of, write_like
from flashweir.settings import flat

Label = bool | int | float | str

# More than anyone waits for; a slip in a range is found before it fills the memory.
MAX_VALUES = 1_000_000
# More values are not counted in a message.
_SAID = 1_000_000_000_000_000
# Range of a column of whole numbers.
MAX_INTEGER = 2**63 - 1
_RANGE_KEYS = {"from", "to", "step", "factor", "count", "scale"}


@dataclass(frozen=True)
class Axis:
    """One axis: its name, what its values are called, and the settings that each value stands for."""

    name: str
    labels: Sequence[Label]
    settings: Sequence[Mapping[str, object]]

    def only(self, labels: object) -> "Axis":
        """The axis with some of its values, in the order in which they are given.

        Raises:
            ConfigError: `labels` is no list of values of this axis.
        """
        every = ", ".join(str(label) for label in self.labels)
        if not isinstance(labels, list) or not labels:
            raise ConfigError(f"only.{self.name}: {labels!r}: expected a list of values: some of {every}")
        ranks = []
        for label in labels:
            alike = [rank for rank, own in enumerate(self.labels) if own == label and type(own) is type(label)]
            alike = alike or [rank for rank, own in enumerate(self.labels) if str(own) == str(label)]
            if not alike:
                raise ConfigError(f"only.{self.name}: {label!r} is no value of this axis: expected some of {every}")
            ranks.append(alike[0])
        if len(set(ranks)) < len(ranks):
            raise ConfigError(f"only.{self.name}: {labels!r}: expected each value once")
        kept = tuple(self.labels[rank] for rank in ranks)
        return Axis(self.name, kept, tuple(self.settings[rank] for rank in ranks))


def axis(name: str, given: object) -> Axis:
    """Reads an axis as the spec gives it.

    Args:
        name: a dotted key of the drive, `device`, a placeholder of a workload, or any name over named groups.
        given: a list of values; a range `{from, to, step}`, `{from, to, factor}` or `{from, to, count, scale}`; or a
            table of tables, the names of settings and the keys that each sets.

    Raises:
        ConfigError: no values, or values that are no numbers, texts or booleans.
    """
    if isinstance(given, Mapping):
        _check_leaves(name, given)
        if given and all(isinstance(value, Mapping) for value in given.values()):
            return Axis(name, tuple(given), tuple(flat(value) for value in given.values()))
        labels = _range(name, given)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        labels = list(given)
    else:
        expected = "expected a list, a range such as {from=1, to=8, step=1}, or tables of settings"
        raise ConfigError(f"axes.{name}: {given!r}: {expected}")
    if not labels:
        raise ConfigError(f"axes.{name}: expected at least one value")
    for label in labels:
        if not isinstance(label, (bool, int, float, str)) or (isinstance(label, float) and not math.isfinite(label)):
            raise ConfigError(f"axes.{name}: {label!r}: expected numbers, texts or booleans")
        if isinstance(label, int) and not -MAX_INTEGER <= label <= MAX_INTEGER:
            raise ConfigError(
                f"axes.{name}: {label}: expected at most {MAX_INTEGER} as a number; as a text it may be more"
            )
    if len({(type(label) is bool, label) for label in labels}) < len(labels):
        twice = next(label for rank, label in enumerate(labels) if label in labels[:rank])
        raise ConfigError(f"axes.{name}: {twice!r} is listed twice")
    return Axis(name, _of_one_kind(labels), tuple({name: label} for label in labels))


def _check_leaves(name: str, given: Mapping[str, Any]) -> None:
    """Says of `gc.victim = "fifo"` that a list is expected: it is neither a range nor a group of settings."""
    if _RANGE_KEYS & set(given):
        return
    for part, value in given.items():
        if not isinstance(value, Mapping):
            raise ConfigError(f"axes.{name}.{part}: {value!r}: expected a list, a range with from and to, or tables")


def _of_one_kind(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Labels make a column: texts, if they are not all booleans or all numbers."""
    kinds = {bool if isinstance(label, bool) else str if isinstance(label, str) else float for label in labels}
    return tuple(labels) if len(kinds) == 1 else tuple(str(label) for label in labels)


def _range(name: str, given: Mapping[str, Any]) -> list[Label]:
    where = f"axes.{name}"
    if unknown := set(given) - _RANGE_KEYS:
        raise ConfigError(f"{where}.{min(unknown)}: expected from and to with step, factor, or count and scale")
    ways = [way for way in ("step", "factor", "count") if way in given]
    if not {"from", "to"} <= set(given) or len(ways) != 1 or ("scale" in given and ways != ["count"]):
        raise ConfigError(f"{where}: a range needs from, to, and one of step, factor, or count (with scale)")
    first, last = given["from"], given["to"]
    start, end = _number(where, "from", first), _number(where, "to", last)
    kinds = {kind_of(unit_of(value)) for value in (first, last, given.get("step", first))}
    if len(kinds) > 1:
        raise ConfigError(f"{where}: {first!r} to {last!r}: expected sizes, times or plain numbers, not a mixture")
    if unit_of(given.get("factor", 2)):
        raise ConfigError(f"{where}.factor: {given['factor']!r}: expected a plain number")
    if ways == ["count"]:
        values = _counted(where, start, end, given["count"], given.get("scale", "linear"))
    else:
        values = _stepped(where, start, end, ways[0], given[ways[0]])
    whole = isinstance(first, int) and isinstance(last, int) and not isinstance(given.get("step", 0), float)
    if isinstance(first, str) or isinstance(last, str):
        example = first if isinstance(first, str) else last
        return _distinct(write_like(value, example) for value in values)
    return _distinct(round(value) for value in values) if whole else _distinct(_tidy(value) for value in values)


def _stepped(where: str, start: float, end: float, way: str, by: object) -> list[float]:
    amount = _number(where, way, by)
    grows = amount > 1 and 0 < start <= end if way == "factor" else amount > 0 and start <= end
    if not grows:
        limits = "a factor above 1 and from above 0" if way == "factor" else "a step above 0"
        raise ConfigError(f"{where}: expected {limits}, and from not above to")
    count = math.log(end / start, amount) if way == "factor" else (end - start) / amount
    if not count < MAX_VALUES:
        many = f"{count + 1:,.0f}" if count < _SAID else f"over {_SAID:,}"
        raise ConfigError(f"{where}: that is {many} values: expected at most {MAX_VALUES:,}")
    # The last value is meant even if rounding puts it a hair beyond the end.
    steps = math.floor(count + 1e-9)
    return [start * amount**step if way == "factor" else start + step * amount for step in range(steps + 1)]


def _counted(where: str, start: float, end: float, count: object, scale: object) -> list[float]:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 < count <= MAX_VALUES:
        raise ConfigError(f"{where}.count: {count!r}: expected a whole number from 2 to {MAX_VALUES:,}")
    if scale not in ("linear", "log"):
        raise ConfigError(f"{where}.scale: {scale!r}: expected linear or log")
    if scale == "linear":
        return [start + (end - start) * rank / (count - 1) for rank in range(count)]
    if start <= 0 or end <= 0:
        raise ConfigError(f"{where}: a log range needs from and to above 0")
    return [start * (end / start) ** (rank / (count - 1)) for rank in range(count)]


def _number(where: str, key: str, value: object) -> float:
    number = number_of(value)
    if number is None:
        raise ConfigError(f"{where}.{key}: {value!r}: expected a number, a size such as 64KiB or a time such as 10us")
    return number


def _tidy(value: float) -> float:
    """A value without the noise of adding floats: 0.1 + 0.2 is 0.3."""
    return float(f"{value:.12g}")


def _distinct(values: Any) -> list[Label]:  # noqa: ANN401 - any iterable of labels
    """Rounding may give a value twice; each stands once, in order."""
    return list(dict.fromkeys(values))
