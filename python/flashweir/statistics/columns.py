"""Contents of a sweep's frame: the columns that are axes, metrics and seeds, and its runs by setting."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError
from flashweir.names import now
from flashweir.statistics.intervals import is_number

if TYPE_CHECKING:
    import polars as pl

Setting = tuple[Any, ...]


@dataclass
class Group:
    """The runs of one setting: how many there are, how many failed, and the others' rows by seed, lowest first.

    Rows of one `key` are one run, whatever their seeds: a trace on a drive that draws nothing.
    """

    runs: int = 0
    failed: int = 0
    seeds: set[Any] = field(default_factory=set)
    rows: dict[Any, list[dict[str, Any]]] = field(default_factory=dict)

    def by_seed(self, metric: str) -> dict[Any, float]:
        """The metric's value for each seed that has one.

        Runs that share a seed are averaged: they are one replication, however many there are.
        """
        return self._means(metric, self.distinct())

    def by_every_seed(self, metric: str) -> dict[Any, float]:
        """The same, with each seed of a run that has several: what it pairs with in another setting."""
        return self._means(metric, self.rows)

    def distinct(self) -> dict[Any, list[dict[str, Any]]]:
        """The rows by seed, of seeds with the same runs the first only."""
        found: dict[Any, list[dict[str, Any]]] = {}
        known: set[Any] = set()
        for seed, rows in self.rows.items():
            keys = self.keys(seed)
            if keys is None or keys not in known:
                known.add(keys)
                found[seed] = rows
        return found

    def keys(self, seed: Any) -> frozenset[Any] | None:  # noqa: ANN401 - a column's value
        """Keys of the runs of a seed; None if the frame has none."""
        keys = frozenset(row.get("key") for row in self.rows[seed])
        return None if None in keys else keys

    def _means(self, metric: str, by_seed: Mapping[Any, list[dict[str, Any]]]) -> dict[Any, float]:
        values: dict[Any, float] = {}
        for seed, rows in by_seed.items():
            found = [float(row[metric]) for row in rows if is_number(row.get(metric))]
            if found:
                values[seed] = math.fsum(found) / len(found)
        return values


def axis_names(frame: "pl.DataFrame", by: Sequence[str] | str | None) -> list[str]:
    """The columns that make a setting: `by`, or else all axes of the sweep.

    Raises:
        ConfigError: no such column, or `by` is None and the frame does not know its axes.
    """
    if by is not None:
        names = [by] if isinstance(by, str) else list(dict.fromkeys(by))
        for name in names:
            check_column(frame, name, "column")
        return names
    meta = sweep_meta(frame)
    if meta is None:
        if not frame.height:
            return []
        raise ConfigError("by: this frame does not say which columns are axes (filtering drops that); name them")
    return [axis["name"] for axis in meta.get("axes", []) if axis["name"] in frame.columns]


def sweep_meta(frame: "pl.DataFrame") -> Mapping[str, Any] | None:
    """Description of the sweep, if the frame is one of a sweep."""
    meta = getattr(frame, "meta", None)
    return meta if isinstance(meta, Mapping) else None


def check_metrics(frame: "pl.DataFrame", metrics: Sequence[str] | str) -> list[str]:
    """The metrics, each once.

    Raises:
        ConfigError: none is named, a column is not there or holds no numbers. Where no run finished no metric is known,
            so any name will do.
    """
    names = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    if not names:
        raise ConfigError("metrics: at least one is expected, such as iops")
    finished = frame.height and ("error" not in frame.columns or frame["error"].null_count())
    for name in names:
        if finished:
            check_column(frame, name, "metric")
        if name in frame.columns and not (frame.schema[name].is_numeric() or frame[name].null_count() == frame.height):
            raise ConfigError(f"metric `{name}`: holds {frame.schema[name]}, where numbers are expected")
    return names


def check_column(frame: "pl.DataFrame", name: str, kind: str) -> None:
    """Refuses a column that a frame with rows does not have, and names those that may be meant."""
    if frame.height and name not in frame.columns:
        raise ConfigError(f"{kind} `{name}`: the frame has none of that name{hint(name, frame.columns)}")


def hint(name: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` with up to three of the known names, or nothing; the new name of an old one."""
    if (new := now(name)) is not None:
        return f"; it is now `{new}`"
    known = list(known)
    near = get_close_matches(name, known, n=3)
    near += [other for other in known if name in other.split(".") and other not in near]
    return f"; did you mean {' or '.join(f'`{other}`' for other in near[:3])}?" if near else ""


def groups(frame: "pl.DataFrame", by: Sequence[str], metrics: Sequence[str]) -> dict[Setting, Group]:
    """The runs of each setting, in the order of the axes' values.

    Raises:
        ConfigError: the frame has rows, but no column `seed`.
    """
    check_column(frame, "seed", "column")
    found: dict[Setting, Group] = {}
    wanted = [name for name in dict.fromkeys([*by, *metrics, "seed", "key", "error"]) if name in frame.columns]
    # By seed, so that nothing depends on the order in which runs finished.
    for row in frame.select(wanted).sort("seed", maintain_order=True).iter_rows(named=True) if frame.height else ():
        group = found.setdefault(tuple(row[name] for name in by), Group())
        group.runs += 1
        group.seeds.add(row["seed"])
        if row.get("error") is None:
            group.rows.setdefault(row["seed"], []).append(row)
        else:
            group.failed += 1
    ranks = [_ranks(frame, name, (setting[place] for setting in found)) for place, name in enumerate(by)]
    order = sorted(found, key=lambda setting: [rank[value] for rank, value in zip(ranks, setting, strict=True)])
    return {setting: found[setting] for setting in order}


def ordered(frame: "pl.DataFrame", axis: str) -> list[Any]:
    """The values of an axis in its order."""
    return list(_ranks(frame, axis, frame[axis].to_list())) if axis in frame.columns else []


def _ranks(frame: "pl.DataFrame", axis: str, values: Iterator[Any] | list[Any]) -> dict[Any, int]:
    """The place of each value: that of the sweep's axes, then that of first appearance."""
    seen = dict.fromkeys(values)
    meta = sweep_meta(frame) or {}
    given = [value for named in meta.get("axes", []) if named["name"] == axis for value in named["values"]]
    # JSON writes 2.0 where the column holds 2, and a value that is no scalar never is in a column.
    first = [value for value in given if isinstance(value, str | int | float) and value in seen]
    return {value: place for place, value in enumerate(dict.fromkeys([*first, *seen]))}
