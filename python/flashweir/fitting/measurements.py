"""Measurements of a drive, read from a TOML file in one of two forms: `[[point]]`, or tables by drive."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from flashweir._native import ConfigError
from flashweir.fitting import tables
from flashweir.fitting.fields import Fields
from flashweir.fitting.points import UNITS, LoadKind, Measurements, Point, Stream, Workload
from flashweir.whole import STANDARD, read_standard

_POINT = ("id", "workload", "load", "cap", "arrivals", "latency_from", "measured", "weight")
_WORKLOAD = ("write", "size", "pattern", "skew", "used_share", "open_zones")
_LOADS: tuple[LoadKind, ...] = ("rate", "depth", "saturated")
# Outstanding requests of a load that says none.
_CAP = 256
_LARGEST = 64 << 20


def read(path: str | os.PathLike[str], drive: str | None = None) -> Measurements:
    """The measurements of a file.

    Args:
        path: a TOML file; `-` is standard input.
        drive: the one to take, of a file that has several.

    Raises:
        ConfigError: it can't be read, is no TOML, or says what no measurement can be.
    """
    file = Path(path)
    try:
        values = tomllib.loads(_content(file).decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}: expected a TOML file of measurements") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not UTF-8 text: expected a TOML file of measurements") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}: expected a TOML file of measurements") from error
    if "point" in values:
        found = _general(values, str(file))
        if drive not in (None, found.drive):
            raise ConfigError(f"{file}: --drive {drive}: expected {found.drive}, the only drive of this file")
        return found
    if not tables.is_tables(values):
        expected = "[[point]], [latency_under_load.NAME] or [write_amplification]"
        raise ConfigError(f"{file}: no measurements: expected {expected}")
    names = tables.drives(values)
    if drive is None and len(names) > 1:
        raise ConfigError(f"{file}: has {len(names)} drives: expected --drive with one of {', '.join(names)}")
    if not names or (drive is not None and drive not in names):
        raise ConfigError(f"{file}: --drive {drive}: expected one of {', '.join(names) or 'none'}")
    return tables.read(values, drive or names[0], str(file))


def _content(file: Path) -> bytes:
    if str(file) == STANDARD:
        content = read_standard(_LARGEST)
    else:
        with file.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ConfigError(f"{file}: larger than 64 MiB: expected a TOML file of measurements")
    return content


def _general(values: Mapping[str, object], source: str) -> Measurements:
    top = Fields(values, source)
    top.only(("drive", "point"))
    drive = top.table("drive") if "drive" in values else Fields({}, f"{source}: drive")
    drive.only(("name", "capacity", "raw", "sequential_waf"))
    rows = values["point"]
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise top.refuse("point", "tables, [[point]]")
    if not rows:
        raise ConfigError(f"{source}: expected at least one [[point]]")
    sequential = drive.number("sequential_waf", 1.0, low=1.0, high=10.0)
    points = [
        replace(_point(Fields(row, f"{source}: point {at + 1}"), at + 1), sequential_waf=sequential)
        for at, row in enumerate(rows)
    ]
    seen: set[str] = set()
    for point in points:
        if point.id in seen:
            raise ConfigError(f"{source}: two points have the id {point.id!r}: expected one each")
        seen.add(point.id)
    capacity = drive.size("capacity") if "capacity" in drive.values else None
    raw = drive.size("raw") if "raw" in drive.values else None
    if capacity is not None and raw is not None and raw <= capacity:
        raise ConfigError(f"{source}: drive: raw: {raw}: expected more than the capacity, {capacity}")
    name = drive.text("name", Path(source).stem)
    return Measurements(name, capacity, raw, tuple(_with_saturation(points)), source)


def _point(fields: Fields, number: int) -> Point:
    fields.only(_POINT)
    load = fields.table("load")
    load.only(_LOADS)
    if len(load.values) != 1:
        raise ConfigError(f"{load.place}: expected one of {', '.join(_LOADS)}")
    kind = next(name for name in _LOADS if name in load.values)
    if kind == "saturated" and load.values["saturated"] is not True:
        raise load.refuse("saturated", "true")
    value = 0.0
    if kind == "rate":
        value = load.number("rate", low=0.001, high=1e9)
    elif kind == "depth":
        value = float(load.whole("depth", high=65536))
    cap = fields.whole("cap", int(value) if kind == "depth" else _CAP, high=65536)
    closed = fields.choice("arrivals", "poisson" if kind == "rate" else "closed", ("poisson", "closed")) == "closed"
    if closed and kind == "rate":
        raise fields.refuse("arrivals", "'poisson' where the load is a rate")
    measured = fields.table("measured")
    if not measured.values:
        raise ConfigError(f"{measured.place}: expected at least one of {', '.join(UNITS)}")
    measured.only(tuple(UNITS))
    values = {name: measured.number(name, low=1e-9) for name in measured.values}
    default = {"rate": f"{value:g}", "depth": f"depth {value:g}", "saturated": "saturated"}[kind]
    origin = "arrival" if fields.choice("latency_from", "issue", ("issue", "arrival")) == "arrival" else "issue"
    workload = _workload(fields.table("workload"))
    _check_measured(values, workload, measured)
    return Point(fields.text("id", str(number)), default, workload, kind, value, cap, closed,
                 "arrival" if origin == "arrival" else "issue", values, fields.number("weight", 1.0))  # fmt: skip


def _check_measured(values: Mapping[str, float], workload: Workload, fields: Fields) -> None:
    """Refuses latencies of operations that the workload has none of."""
    share = workload.streams[0].write
    for name in values:
        if (name.startswith("read") and share == 1) or (name.startswith(("write", "waf")) and share == 0):
            raise fields.refuse(name, f"no such metric where the share of writes is {share:g}")


def _workload(fields: Fields) -> Workload:
    fields.only(_WORKLOAD)
    words = fields.text("pattern", "uniform").split()
    pattern = words[0] if words else ""
    if pattern not in ("uniform", "sequential", "zipf") or len(words) > 1:
        raise fields.refuse("pattern", "one of uniform, sequential, zipf")
    if (pattern == "zipf") != ("skew" in fields.values):
        raise fields.refuse("skew", "an exponent where the pattern is zipf, and only there")
    size = fields.size("size", 4096)
    if size % 512:
        raise fields.refuse("size", "a multiple of 512 bytes")
    zones = fields.whole("open_zones") if "open_zones" in fields.values else None
    if zones is not None and pattern != "sequential":
        raise fields.refuse("open_zones", "a sequential pattern beside it")
    return Workload(
        streams=(Stream(fields.number("write", high=1.0)),),
        size=size,
        pattern="zipf" if pattern == "zipf" else "sequential" if pattern == "sequential" else "uniform",
        skew=fields.number("skew", 0.0, high=10.0),
        used_share=fields.number("used_share", 1.0, low=0.001, high=1.0),
        open_zones=zones,
    )


def _with_saturation(points: list[Point]) -> list[Point]:
    """Points that know at which share of the highest throughput of their workload they are, where that is measured."""
    highest: dict[Workload, float] = {}
    for point in points:
        if point.kind == "saturated" and point.throughput is not None:
            highest[point.workload] = max(highest.get(point.workload, 0.0), point.throughput)
    found = []
    for point in points:
        most = highest.get(point.workload)
        reached = point.throughput or point.value
        known = point.kind == "rate" and most is not None
        found.append(replace(point, saturation=reached / most) if known and most else point)
    return found
