"""Tables by drive: `[latency_under_load.NAME]` and `[write_amplification]`, as studies of several drives print them.

Latency under load: open arrivals, uniform over the drive; six threads of depth 64 with 99% writes, and one that is
measured, 10,000 requests a second, half of them reads. Write amplification: four threads of depth 128.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from flashweir._native import ConfigError
from flashweir.fitting.fields import Fields, size_of
from flashweir.fitting.points import KNEE, Measurements, Point, Stream, Workload

GIB = 1 << 30
# Columns of a row: writes and reads a second, then latencies.
_COLUMNS = tuple(f"{op}_{name}" for op in ("read", "write") for name in ("p50", "p99", "p999", "mean"))
_MEASURED_RATE = 10_000.0
_LOADED = (Stream(0.99, threads=6, measured=False), Stream(0.5, rate=_MEASURED_RATE))
_LOADED_CAP, _WRITERS, _WRITERS_CAP = 64, 4, 128
_ZONE = 8 * GIB
_SECTIONS = ("latency_under_load", "write_amplification")
_EXPONENT = re.compile(r"\d+(\.\d+)?$")
_ASIDE = (".zones", ".zone_length")


def is_tables(values: Mapping[str, object]) -> bool:
    """True if a file has this form."""
    return any(name in values for name in _SECTIONS)


def drives(values: Mapping[str, object]) -> list[str]:
    """Names of the drives of a file, in its order."""
    found: dict[str, None] = {}
    for section in _SECTIONS:
        table = values.get(section, {})
        for name in table if isinstance(table, Mapping) else ():
            if not name.endswith(_ASIDE):
                found[name] = None
    return list(found)


def read(values: Mapping[str, object], drive: str, source: str) -> Measurements:
    """The points of one drive.

    Raises:
        ConfigError: a field is missing or is none that was expected.
    """
    points: list[Point] = []
    sizes: list[int | None] = []
    unused: list[str] = [f"[{name}]" for name in values if name not in _SECTIONS]
    raw, name = None, drive
    loaded = _table(values, "latency_under_load", drive, source)
    if loaded is not None:
        name = loaded.text("name", drive)
        sizes += [_gib(loaded, "capacity_gib"), _in_name(name)]
        raw = _gib(loaded, "raw_gib")
        points += _latencies(loaded)
    written = _table(values, "write_amplification", drive, source)
    if written is not None:
        sizes.insert(0, _gib(written, "capacity_gib"))
        if "used_gib" in written.values:
            sizes.append(round(max(written.numbers("used_gib"), default=0) * GIB) or None)
    capacity = next((size for size in sizes if size), None)
    if written is not None:
        found, left = _amplification(written, capacity)
        points += found
        unused += left
    zones = _table(values, "write_amplification", f"{drive}.zones", source)
    if zones is not None:
        points += _zones(zones)
    if f"{drive}.zone_length" in Fields(values, source).values.get("write_amplification", {}):  # type: ignore[operator]
        unused.append(f"{drive}.zone_length")
    if not points:
        raise ConfigError(f"{source}: {drive}: expected points of latency under load or write amplification")
    return Measurements(name, capacity, raw, tuple(points), source, tuple(unused))


def _table(values: Mapping[str, object], section: str, name: str, source: str) -> Fields | None:
    tables = values.get(section, {})
    if not isinstance(tables, Mapping):
        raise ConfigError(f"{source}: [{section}]: expected a table for each drive")
    if name not in tables:
        return None
    return Fields(tables, f"{source}: {section}").table(name)


def _gib(table: Fields, key: str) -> int | None:
    return round(table.number(key, low=0.001, high=1 << 30) * GIB) if key in table.values else None


def _in_name(name: str) -> int | None:
    """Capacity that the name of a drive ends with, such as `960 GB`."""
    found = re.search(r"(\d+(?:\.\d+)?) ?([GT]B)\b", name)
    return size_of("".join(found.groups())) if found else None


def _latencies(table: Fields) -> list[Point]:
    table.only(("name", "capacity_gib", "raw_gib", "points", "saturated"))
    rows = table.values.get("points", [])
    if not isinstance(rows, list):
        raise table.refuse("points", "a list of rows")
    parsed = [_row(table, f"points, row {at + 1}", row, _MEASURED_RATE) for at, row in enumerate(rows)]
    parsed.sort(key=lambda row: row[0] + row[1])
    full = _row(table, "saturated", table.values["saturated"]) if "saturated" in table.values else None
    highest = max(full[0] + full[1] if full else 0.0, *(row[0] + row[1] for row in parsed), 0.0)
    found: list[Point] = []
    before = 0.0
    for at, row in enumerate(parsed):
        total = row[0] + row[1]
        offered = total
        if full and total > highest * KNEE and len(found) > 1:
            # Held back: the ladder of rates goes on by the step before.
            offered = max(total, 2 * found[-1].value - before)
        before = found[-1].value if found else 0.0
        # Without the highest rate no load is known to be near it.
        share = total / highest if full else None
        found.append(_loaded(f"{at + 1}", f"{row[0]:.0f}", offered, share, _named(row)))
    if full:
        measured = {**_named(full), "iops": full[0] + full[1]}
        found.append(_loaded("saturated", "saturated", None, 1.0, measured))
    return found


def _row(table: Fields, name: str, row: object, slowest: float = 1.0) -> list[float]:
    """The numbers of a row, with nan where a latency was not measured; its rates are at least `slowest` together."""
    count, place = 2 + len(_COLUMNS), f"{table.place}: {name}"
    try:
        found = Fields({"row": row}, table.place).numbers("row", count, gaps=True)
    except ConfigError:
        columns = "writes a second, reads a second, and four latencies in us of each (nan: not measured)"
        raise ConfigError(f"{place}: {row!r}: expected {count} numbers: {columns}") from None
    total = found[0] + found[1]
    if not total >= slowest:
        raise ConfigError(f"{place}: {total:g} requests a second: expected at least {slowest:,.0f}, those of the "
                          "thread that is measured")  # fmt: skip
    if 0 in found[2:]:
        raise ConfigError(f"{place}: a latency of 0: expected more, or nan where it was not measured")
    return found


def _named(row: Sequence[float]) -> dict[str, float]:
    """Latencies of a row by metric."""
    return {name: value for name, value in zip(_COLUMNS, row[2:], strict=True) if not math.isnan(value)}


def _loaded(name: str, load: str, rate: float | None, share: float | None, measured: Mapping[str, float]) -> Point:
    return Point(
        id=name,
        load=load,
        workload=Workload(_LOADED),
        kind="saturated" if rate is None else "rate",
        value=rate or 0.0,
        cap=_LOADED_CAP,
        closed=False,
        latency_from="issue",
        measured=measured,
        saturation=share,
    )


def _written(name: str, workload: Workload, measured: Mapping[str, float], weight: float = 1.0) -> Point:
    cap = _WRITERS_CAP
    return Point(name, name, workload, "saturated", 0.0, cap, True, "issue", measured, weight, saturation=1.0)


def _amplification(table: Fields, capacity: int | None) -> tuple[list[Point], list[str]]:
    """Points of one drive, and what was left out."""
    known = ("program", "used_gib", "waf", "mib_s", "sequential_waf", "capacity_gib", "fill", "writes")
    table.only(known)
    wafs = table.numbers("waf")
    rates = table.numbers("mib_s", len(wafs)) if "mib_s" in table.values else []
    writers = (Stream(1.0, threads=_WRITERS),)
    found: list[Point] = []
    left: list[str] = []
    sequential = _sequential(table, len(wafs))
    used = table.numbers("used_gib", len(wafs)) if "used_gib" in table.values else None
    order = table.values.get("writes", ["uniform"] * len(wafs))
    if not isinstance(order, list) or len(order) != len(wafs):
        raise table.refuse("writes", f"a list of {len(wafs)} texts, such as 'uniform' and 'zipf 0.8'")
    fills = table.values.get("fill", ["sequential"] * len(wafs))
    if not isinstance(fills, list) or len(fills) != len(wafs):
        raise table.refuse("fill", f"a list of {len(wafs)} texts, 'sequential' or 'shuffled'")
    for at, (waf, writes, fill) in enumerate(zip(wafs, order, fills, strict=True)):
        measured = {"waf": waf, **({"mib_s": rates[at]} if rates else {})}
        pattern, _, skew = str(writes).partition(" ")
        if (
            pattern not in ("uniform", "zipf")
            or bool(skew) != (pattern == "zipf")
            or (skew and not _EXPONENT.match(skew))
        ):
            raise table.refuse("writes", "texts such as 'uniform' and 'zipf 0.8'")
        if fill != "sequential":
            left.append(f"{table.place}: number {at + 1}, after a {fill} fill")
            continue
        share, name = 1.0, pattern if pattern == "uniform" else f"zipf {skew}"
        if used is not None:
            if capacity is None:
                raise ConfigError(f"{table.place}: expected capacity_gib beside used_gib")
            share, name = min(1.0, used[at] * GIB / capacity), f"{used[at]:g}"
        workload = Workload(writers, pattern="zipf" if pattern == "zipf" else "uniform", used_share=share,
                            skew=float(skew) if skew else 0.0)  # fmt: skip
        # The exponent says little of the skew of another generator: shown, not fitted.
        point = _written(name, workload, measured, 0.0 if pattern == "zipf" else 1.0)
        found.append(replace(point, sequential_waf=sequential[at]))
    return found, left


def _sequential(table: Fields, count: int) -> list[float]:
    """Amplification of a sequential fill beside each measured value: one number for all of them, or a list."""
    given = table.values.get("sequential_waf", 1.0)
    if isinstance(given, list):
        values = table.numbers("sequential_waf", count)
        if min(values, default=1.0) < 1:
            raise table.refuse("sequential_waf", "numbers from 1")
        return values
    return [table.number("sequential_waf", 1.0, low=1.0, high=10.0)] * count


def _zones(table: Fields) -> list[Point]:
    table.only(("open_zones", "waf", "mib_s"))
    counts = table.numbers("open_zones")
    wafs = table.numbers("waf", len(counts))
    rates = table.numbers("mib_s", len(counts)) if "mib_s" in table.values else []
    found = []
    for at, (count, waf) in enumerate(zip(counts, wafs, strict=True)):
        streams = (Stream(1.0, threads=1),)
        workload = Workload(streams, size=512 << 10, pattern="sequential", open_zones=max(1, int(count)))
        measured = {"waf": waf, **({"mib_s": rates[at]} if rates else {})}
        found.append(_written(f"zones {count:g}", workload, measured))
    return found
