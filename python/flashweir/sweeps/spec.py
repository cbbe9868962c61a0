"""Specs of sweeps in TOML or as a mapping, read and checked. docs/reference/sweep.md describes the language."""

import functools
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashweir import _native
from flashweir._native import ConfigError
from flashweir.importing.device import converted, note
from flashweir.names import hint
from flashweir.settings import flat
from flashweir.sweeps import life
from flashweir.sweeps.axes import Axis, Label, axis
from flashweir.sweeps.derived import Expression
from flashweir.sweeps.include import read_toml, with_included
from flashweir.sweeps.numbers import declared, numbers, of_streams
from flashweir.sweeps.options import RUN_OPTIONS, read_options, read_seeds
from flashweir.sweeps.recorded import TracesMissingError, require
from flashweir.tenants import file_of, place, tenant, texts

KEYS = ("name", "workloads", "device", "set", "set_for", "axes", "only", "zip", "seeds", "once", "life", "derived",
        "metrics", "compare", "baseline", *RUN_OPTIONS, "traces")  # fmt: skip
# Columns that every sweep has: no axis and no derived column may have their names.
RESERVED = ("key", "point", "seed", "workload", "error", "result")
# Columns of summaries and comparisons.
TAKEN = ("runs", "failed", "metric", "alternative", "baseline", "n", "mean", "mean_baseline", "difference", "low",
         "high", "relative", "relative_low", "relative_high", "p", "p_holm", "significant", "verdict")  # fmt: skip
# Options about the reading of traces: the workload that suits every drive has none.
_OF_TRACES = ("format", "columns", "skip_bad", "hint")
# A workload that suits every drive and every warm-up.
PROBE = {"name": None, "spec": "random:span=4KiB,count=1000000000000"}
# Drives whose results have numbers of their own.
PROBED = (
    {"clock": "lock-step", "ftl.kind": "log-block"},
    {"ftl.kind": "fast"},
    {"sched.kind": "suspend", "host.queue_depth": 2},
    {"tenants.channels": "shared", "alloc.kind": "dynamic"},
    {"energy.read_uj": 1.0},
)
PROBE_ALL = "random:span=1MiB,count=100,write=0.4,trim=0.1,flush=0.1"
# A workload: its streams by name, each with a spec and options.
Streams = Mapping[str | None, Mapping[str, Any]]
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.]*)\}")


@dataclass(frozen=True)
class SweepSpec:
    """A sweep. `groups` are axes that advance together; every group is crossed with the others and the workloads.

    `set_for` are settings for one workload each, `once` the workloads that run with the first seed alone; `about` is
    what sweep.json says besides.
    """

    name: str
    workloads: Mapping[str, Streams]
    device: str | None
    settings: Mapping[str, object]
    groups: Sequence[Sequence[Axis]]
    seeds: Sequence[int]
    derived: Mapping[str, Expression]
    metrics: Sequence[str] = ()
    compare: str | None = None
    baseline: object = None
    run: Mapping[str, object] = field(default_factory=dict)
    placeholders: frozenset[str] = frozenset()
    source: Mapping[str, Any] = field(default_factory=dict)
    set_for: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    once: frozenset[str] = frozenset()
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, type]:
        """The columns of its rows that hold settings or numbers, with their types."""
        axes = {axis.name: _kind(axis.labels) for axis in self.axes if axis.name != "workload"}
        metrics = {name: kind for name, kind in _result_columns().items() if self.run.get("warmup") or
                   not name.startswith("warmup.")}  # fmt: skip
        return {**axes, **dict.fromkeys((*self.derived, *of_streams(self.metrics)), float), **metrics}

    @property
    def axes(self) -> list[Axis]:
        """All axes, the workload first where there is more than one."""
        found = [axis for group in self.groups for axis in group]
        if len(self.workloads) > 1:
            names = tuple(self.workloads)
            found.insert(0, Axis("workload", names, tuple({} for _ in names)))
        return found


def load(given: str | Path | Mapping[str, Any], folder: Path | None = None) -> SweepSpec:
    """Reads a spec from a TOML file or a mapping.

    Paths in a file are relative to its folder, in a mapping to `folder` or the current one.

    Raises:
        ConfigError: the file can't be read, a key is unknown, or a value is not what it should be.
    """
    if isinstance(given, Mapping):
        where = folder or Path()
        return _read(_plain(with_included(_plain(given), where)), "sweep", where)
    path = Path(given)
    table = read_toml(path)
    try:
        return _read(_plain(with_included(table, path.parent, (path.resolve(),))), path.stem, path.parent)
    except (ConfigError, TracesMissingError) as error:
        raise type(error)(f"{path}: {error}") from error


def _plain(value: Any, where: str = "") -> Any:  # noqa: ANN401 - any JSON value
    """A spec in which there is nothing but what JSON has: paths become texts, numbers of numpy numbers.

    Raises:
        ConfigError: a value of another kind, such as a date.
    """
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ConfigError(f"{where or 'sweep'}: {key!r}: expected names as texts")
        return {key: _plain(inner, f"{where}.{key}" if where else key) for key, inner in value.items()}
    if isinstance(value, (str, bool, int, float)) or value is None:
        if isinstance(value, str) and not value.isprintable() and any("\ud800" <= sign <= "\udfff" for sign in value):
            raise ConfigError(f"{where}: {value!r}: expected a name in UTF-8")
        return value
    if isinstance(value, os.PathLike):
        return _plain(os.fspath(value), where)
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [_plain(inner, where) for inner in value]
    item = getattr(value, "item", None)
    if callable(item):
        return _plain(item(), where)
    raise ConfigError(f"{where}: {value!r}: expected numbers, texts, booleans, lists or tables")


def _read(table: dict[str, Any], name: str, folder: Path) -> SweepSpec:
    for key in table:
        if key not in KEYS:
            raise ConfigError(f"{key}: unknown key{hint(key, KEYS)}")
    require(table, folder)
    workloads = _workloads(table.get("workloads"), folder)
    axes = _axes(table)
    settings = flat(_table(table, "set"))
    set_for = _set_for(_table(table, "set_for"), workloads)
    placeholders = _check_names(axes, settings, workloads)
    texts_of = {**life.columns(_table(table, "life")), **_table(table, "derived")}
    derived = {str(key): Expression(str(key), text) for key, text in texts_of.items()}
    for column in derived:
        if column in axes or _is_taken(column):
            raise ConfigError(f"derived.{column}: that is a column already: expected another name")
    device = table.get("device")
    if device is not None and not isinstance(device, str):
        raise ConfigError(f"device: {device!r}: expected a preset or a file; single keys go under [set]")
    spec = SweepSpec(
        name=str(table.get("name", name)),
        workloads=workloads,
        device=place(device, folder),
        settings=settings,
        groups=_groups(axes, table.get("zip", []), folder),
        seeds=read_seeds(table.get("seeds", 1)),
        derived=derived,
        metrics=_texts(table, "metrics"),
        compare=table.get("compare"),
        baseline=table.get("baseline"),
        run=read_options(table),
        placeholders=placeholders,
        source=table,
        set_for=set_for,
        once=frozenset(_workload_names(_texts(table, "once"), "once", workloads)),
    )
    _check_comparison(spec)
    _check_columns(spec)
    _check_run(spec)
    return spec


def _axes(table: Mapping[str, Any]) -> dict[str, Axis]:
    """The axes, of each the values that `only` leaves."""
    axes = {str(key): axis(str(key), given) for key, given in _table(table, "axes").items()}
    for name, labels in _dotted(_table(table, "only")).items():
        if name not in axes:
            raise ConfigError(f"only: {name!r} is no axis{hint(name, list(axes))}")
        axes[name] = axes[name].only(labels)
    return axes


def _workloads(given: object, folder: Path) -> dict[str, Streams]:
    """Name to streams: a stream without a name where the workload is a single text."""
    if isinstance(given, str):
        given = {"workload": given}
    elif isinstance(given, Sequence):
        given = _named([str(text) for text in given], folder)
    if not isinstance(given, Mapping) or not given:
        raise ConfigError("workloads: expected a table of names and workloads, such as random = 'random:count=100000'")
    found: dict[str, Streams] = {}
    for name, workload in given.items():
        streams = {None: workload} if isinstance(workload, str) else workload
        if not isinstance(streams, Mapping) or not streams:
            raise ConfigError(f"workloads.{name}: expected a trace file, a generator, or a table of such by stream")
        read = {stream: tenant(stream, one, f"workloads.{name}{f'.{stream}' if stream else ''}")
                for stream, one in streams.items()}  # fmt: skip
        found[str(name)] = {stream: {**one, "spec": place(one["spec"], folder)} for stream, one in read.items()}
    return found


def _named(given: Sequence[str], folder: Path) -> dict[str, str]:
    """Names for a list of workloads: of files their names, where these differ."""
    if len(set(given)) < len(given):
        twice = next(text for rank, text in enumerate(given) if text in given[:rank])
        raise ConfigError(f"workloads: {twice!r} is listed twice")
    bare = [file_of(text) for text in given]
    names = [Path(path).name if (folder / path).is_file() else text for path, text in zip(bare, given, strict=True)]
    return dict(zip(names if len(set(names)) == len(names) else given, given, strict=True))


def _set_for(given: Mapping[str, Any], workloads: Mapping[str, Streams]) -> dict[str, dict[str, object]]:
    """Settings of the drive for one workload each."""
    known = {key["name"] for key in json.loads(_native.schema())["x-keys"]}
    found: dict[str, dict[str, object]] = {}
    for name in _workload_names(given, "set_for", workloads):
        found[name] = flat(_table(given, name))
        for key in found[name]:
            if key not in known:
                raise ConfigError(f"set_for.{name}.{key}: no key of a drive{hint(key, sorted(known))}")
    return found


def _workload_names(names: Iterable[str], where: str, workloads: Mapping[str, Streams]) -> Iterable[str]:
    for name in names:
        if name not in workloads:
            raise ConfigError(f"{where}: {name!r} is no workload{hint(name, list(workloads))}")
    return names


def _is_taken(name: str) -> bool:
    """True if a name is that of another column, of the rows or of their statistics."""
    return name in (*RESERVED, *TAKEN, *_result_columns()) or name.endswith((" low", " high"))


def _groups(axes: Mapping[str, Axis], zipped: object, folder: Path) -> list[list[Axis]]:
    """Axes by group, in the order of the spec."""
    if "device" in axes:
        labels = axes["device"].labels
        places = tuple({**given, "device": place(str(given.get("device", "")), folder)} if "device" in given else given
                       for given in axes["device"].settings)  # fmt: skip
        axes = {**axes, "device": Axis("device", labels, places)}
    if not isinstance(zipped, Sequence) or not all(isinstance(g, Sequence) and not isinstance(g, str) for g in zipped):
        raise ConfigError('zip: expected a list of lists of axes, such as [["channels", "dies"]]')
    group_of: dict[str, int] = {}
    for rank, group in enumerate(zipped):
        for name in group:
            if not isinstance(name, str) or name not in axes:
                raise ConfigError(f"zip: {name!r} is no axis{hint(str(name), list(axes))}")
            if name in group_of:
                raise ConfigError(f"zip: {name!r} is listed twice")
            group_of[name] = rank
        sizes = {name: len(axes[name].labels) for name in group}
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{name} has {size}" for name, size in sizes.items())
            raise ConfigError(f"zip: expected axes with equally many values: {counts}")
    groups: dict[object, list[Axis]] = {}
    for name, found in axes.items():
        groups.setdefault(group_of.get(name, name), []).append(found)
    return list(groups.values())


def _check_names(
    axes: Mapping[str, Axis], settings: Mapping[str, object], workloads: Mapping[str, Streams]
) -> frozenset[str]:
    """Every name must act: on a key, on the device, or on a placeholder; and every placeholder needs a value.

    Returns the placeholders that are no keys of the drive as well.
    """
    keys = {key["name"] for key in json.loads(_native.schema())["x-keys"]}
    placeholders = {name for streams in workloads.values() for one in streams.values() for text in texts(one)
                    for name in PLACEHOLDER.findall(text)}  # fmt: skip
    always = set(settings).union(*(set.intersection(*map(set, found.settings)) for found in axes.values()))
    if missing := sorted(placeholders - always):
        raise ConfigError(f"workloads: {{{missing[0]}}} has no value: expected axes.{missing[0]} or set.{missing[0]}")
    known = keys | placeholders
    if unknown := sorted(set(settings) - known):
        raise ConfigError(f"set.{unknown[0]}: no key of a drive{hint(unknown[0], sorted(known))}")
    for name, found in axes.items():
        if _is_taken(name):
            raise ConfigError(f"axes.{name}: that is a column already: expected another name")
        for key in set().union(*found.settings) - known - {"device"}:
            raise ConfigError(f"axes.{name}: {key} is no key of a drive, no placeholder of a workload"
                              f"{hint(key, sorted(known))}")  # fmt: skip
    setters: dict[str, str] = {}
    for name, found in axes.items():
        for key in set().union(*found.settings):
            if setters.setdefault(key, name) != name:
                raise ConfigError(f"axes.{name}: sets {key}, as axes.{setters[key]} does: expected one axis a key")
    return frozenset(placeholders - keys)


def _check_comparison(spec: SweepSpec) -> None:
    axes = {axis.name: axis for axis in spec.axes}
    if spec.compare is not None and not isinstance(spec.compare, str):
        raise ConfigError(f"compare: {spec.compare!r}: expected the name of an axis")
    if spec.compare is None and spec.baseline is not None:
        raise ConfigError("baseline: expected compare, the axis that it is a value of")
    if spec.compare is not None and spec.compare not in axes:
        raise ConfigError(f"compare: {spec.compare!r} is no axis{hint(str(spec.compare), list(axes))}")
    if spec.compare is not None and spec.baseline is not None and spec.baseline not in axes[spec.compare].labels:
        values = ", ".join(str(label) for label in axes[spec.compare].labels)
        raise ConfigError(f"baseline: {spec.baseline!r} is no value of {spec.compare}: expected one of {values}")


def _check_columns(spec: SweepSpec) -> None:
    """Metrics and derived columns have to name what a result has: better found now than after ten thousand runs."""
    # Parts whose names depend on the run are taken on trust; the run says if they are not there.
    open_parts = ("streams.",)
    columns = list(known_columns())
    known = [*columns, *(axis.name for axis in spec.axes), "seed", "point"]
    for column, expression in spec.derived.items():
        for name in expression.names():
            if name not in known and not name.startswith(open_parts):
                raise ConfigError(f"derived.{column}: {name} is no column{hint(name, known)}")
        known.append(column)
    for name in spec.metrics:
        if name not in (*columns, *spec.derived) and not name.startswith(open_parts):
            raise ConfigError(f"metrics: {name} is no number of a result{hint(name, [*columns, *spec.derived])}")


@functools.cache
def _result_columns() -> dict[str, type]:
    """Numbers of a result by dotted name, and whether they are whole, from the shortest run there is."""
    run = {"workloads": [{"name": None, "spec": "random:count=1"}], "warmup": "requests=0"}
    return {name: int if isinstance(value, int) else float for name, value in
            numbers(json.loads(_native.simulate(json.dumps(run)))).items()}  # fmt: skip


@functools.cache
def known_columns() -> dict[str, type]:
    """The same of all drives: some numbers are there with some policies only."""
    found = {**dict.fromkeys(declared(), float), **_result_columns()}
    for overrides in PROBED:
        run = {"workloads": [{"name": None, "spec": PROBE_ALL}], "overrides": overrides, "latency_parts": True,
               "alone": True}  # fmt: skip
        found |= dict.fromkeys(numbers(json.loads(_native.simulate(json.dumps(run)))), float)
    return found


def _kind(labels: Sequence[Label]) -> type:
    """The type of a column of labels, which are of one kind, or whole and other numbers."""
    return type(labels[0]) if len({type(label) for label in labels}) == 1 else float


def _check_run(spec: SweepSpec) -> None:
    """Refuses a device that is none and options that no run has: better now than in every row."""
    chosen = [settings["device"] for group in spec.groups for axis in group for settings in axis.settings
              if "device" in settings]  # fmt: skip
    options = {name: value for name, value in spec.run.items() if name not in _OF_TRACES}
    for device in dict.fromkeys([spec.device, *chosen]):
        if device:
            note(str(device))
        asked = device and converted(str(device))
        _native.plan(json.dumps({"workloads": [PROBE], "device": asked, **options}))


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, Mapping):
        raise ConfigError(f"{key}: {value!r}: expected a table")
    # TOML reads gc.victim = [...] under [axes] as nested tables; a dotted key is what was meant.
    return _dotted(value) if key == "axes" else value


def _dotted(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Axes by dotted name: tables are followed until a list, a range, or named groups of settings."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        is_range = isinstance(value, Mapping) and {"from", "to"} <= set(value)
        if isinstance(value, Mapping) and not is_range and _leads_to_axes(value):
            found.update(_dotted(value, f"{prefix}{name}."))
        else:
            found[f"{prefix}{name}"] = value
    return found


def _leads_to_axes(table: Mapping[str, Any]) -> bool:
    """True if a table holds axes by the rest of their names, rather than named groups of settings."""
    return any(isinstance(value, list) or (isinstance(value, Mapping) and {"from", "to"} <= set(value))
               for value in table.values())  # fmt: skip


def _texts(table: Mapping[str, Any], key: str) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(text, str) for text in value):
        raise ConfigError(f"{key}: {value!r}: expected a list of names")
    return list(value)
