"""Figures of a characterization (docs/reference/characterize.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from flashweir.charts.model import Axis, Bars, Chart, Heat, Plot, Series

Json = Mapping[str, Any]

# Cells of a heat map at most: more than a page or a phone can show only make it heavy.
_COLUMNS, _ROWS = 96, 48
_MIB = 1 << 20
_SIDES = (("writes", "rewrite"), ("reads", "reread"))
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB")
_STEP = 1024
_NS_PER_S = 1e9


def figures(character: Json) -> list[Chart]:
    """All figures that there is the data for; those of an operation that does not occur are left out."""
    sides = [(name, again) for name, again in _SIDES if character[name]["requests"]]
    charts: list[Chart] = [*_macroscopic(character, sides)]
    if "over_time" in character:
        charts += [*_over_time(character)]
        for name, again in sides:
            charts += [*_microscopic(name, again, character["microscopic"][name])]
        if sides:
            charts += [*_spreads(character, sides), *_reuse(character)]
        charts += [*_rates(character["rate"])]
    return charts


def size(number: float) -> str:
    """Bytes that are a power of two, or nearly, as text: `4 KiB`."""
    sign, value, unit = "-" if number < 0 else "", abs(float(number)), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{sign}{value:.4g} {_UNITS[unit]}"


def _macroscopic(character: Json, sides: Sequence[tuple[str, str]]) -> Iterable[Chart]:
    if not sides:
        return
    classes = (("first", "sequential"), ("first", "random"), ("again", "sequential"), ("again", "random"))
    parts = []
    for when, how in classes:
        key = f"{{}}_{how}_share"
        values = [character[name][key.format(again if when == "again" else "first")] for name, again in sides]
        parts.append((f"{when}, {how}", values))
    yield Bars(
        "classes",
        "First writes and overwrites, sequential and random",
        Axis("share of the bytes"),
        [name for name, _ in sides],
        parts,
        note=f"Sequential: starts where one of the last {character['settings']['gap'] + 1} requests of its kind ended.",
    )
    bins = sorted({part["from_bytes"] for name, _ in sides for part in character[name]["sizes"]})
    counts = {name: {part["from_bytes"]: part["requests"] for part in character[name]["sizes"]} for name, _ in sides}
    yield Bars(
        "sizes",
        "Request sizes",
        Axis("requests"),
        [f"{size(least)} and more" for least in bins],
        [(name, [counts[name].get(least, 0) for least in bins]) for name, _ in sides],
        note="Each row goes up to the next one's size.",
    )


def _over_time(character: Json) -> Iterable[Chart]:
    over = character["over_time"]
    x = _axis(over["by"])
    if not over["from"]:
        return
    widths = [to - since for since, to in zip(over["from"], over["to"], strict=True)]
    timed = over["by"] == "time"

    def rate(counts: Sequence[float], scale: float = 1.0) -> list[float | None]:
        return [count / width * scale for count, width in zip(counts, widths, strict=True)]

    def steps(name: str, values: Sequence[float | None]) -> Series:
        edges = [*over["from"], over["to"][-1]]
        return Series(name, edges, [*values, values[-1]], style="steps")

    kinds = [kind for kind in ("reads", "writes") if any(over[kind])]
    if timed:
        yield Plot(
            "requests-over-time",
            "Requests over time",
            x,
            Axis("requests per second", from_zero=True),
            [steps(kind, rate(over[kind])) for kind in kinds],
        )
        yield Plot(
            "bytes-over-time",
            "Data over time",
            x,
            Axis("MiB/s", from_zero=True),
            [steps(kind, rate(over[f"{kind[:-1]}_bytes"], 1 / _MIB)) for kind in kinds],
        )
    counts = list(zip(over["reads"], over["writes"], strict=True))
    mix = [reads / (reads + writes) if reads + writes else None for reads, writes in counts]
    shares = [("reads in all requests", mix)]
    if "writes" in kinds:
        shares += [("sequential in written bytes", over["sequential_share"])]
        shares += [("rewrites in written bytes", over["rewrite_share"])]
    yield Plot(
        "mix-over-time",
        "Read/write mix, sequential and overwritten shares over time",
        x,
        Axis("share", from_zero=True),
        [steps(name, values) for name, values in shares],
    )
    working = character["working_set"]
    places = [number * working["window"] for number in range(len(working["bytes"]) + 1)]
    if len(places) > 1:
        series = [
            Series(name, places, [*values, values[-1]], style="steps")
            for name, values in (
                ("in the window", [value / _MIB for value in working["bytes"]]),
                ("since the beginning", [value / _MIB for value in working["so_far_bytes"]]),
            )
        ]
        width = f"{working['window']:.4g} s" if timed else f"{working['window']:,.0f} requests"
        yield Plot(
            "working-set",
            "Working set: distinct 4 KiB blocks",
            x,
            Axis("MiB", from_zero=True),
            series,
            note=f"Windows of {width}.{_sampled(working)}",
        )


def _microscopic(name: str, again: str, found: Json) -> Iterable[Chart]:
    one = name[:-1]
    requests = Axis(f"{one} number", "category")
    where = found["map"]
    if where["cells"]:
        yield _heat(
            f"where-{name}",
            f"Start addresses of {name} over time",
            requests,
            Axis("address", "category"),
            where["cells"],
            [f"{at * where['column_requests']:,}" for at in range(where["columns"])],
            [size(where["from_bytes"] + at * where["row_bytes"]) for at in range(where["rows"])],
            name,
        )
    seek = found["seek"]
    if seek["cells"]:
        yield _heat(
            f"seek-{name}",
            f"Seek distance of {name} over time",
            requests,
            Axis("distance from the end of the previous one", "category"),
            seek["cells"],
            [f"{window['from']:,}" for window in seek["over_requests"]],
            [_distance(part) for part in seek["histogram"]],
            name,
            most_rows=len(seek["histogram"]),
        )
    life = found["life"]
    if life["cells"]:
        yield _heat(
            f"life-{name}",
            f"Hot and cold data by address: {name}",
            Axis("address", "category"),
            Axis(f"{name} from one {again} to the next", "category"),
            life["cells"],
            [size(row["from_bytes"]) for row in life["over_space"]],
            ["never" if not part["to"] else f"{part['from']:,}" for part in life["cycles"]],
            "bytes",
            note=_mixing(life),
            most_rows=len(life["cycles"]),
        )
    intervals = [
        ("requests", f"{name} later", life["interval_requests"], 1.0),
        ("time", "seconds later", life["interval_ns"], _NS_PER_S),
    ]
    for by, label, bins, unit in intervals:
        if sum(part["count"] for part in bins):
            yield Plot(
                f"{again}-interval-{by}",
                f"{'Overwrites' if again == 'rewrite' else 'Repeated reads'} by interval: {by}",
                Axis(label, "log"),
                Axis("share of the bytes, at most", from_zero=True),
                [_cumulated(name, bins, unit)],
            )


def _spreads(character: Json, sides: Sequence[tuple[str, str]]) -> Iterable[Chart]:
    series = []
    for name, _ in sides:
        windows = character["microscopic"][name]["seek"]["over_requests"]
        kept = [window for window in windows if window["spread_bytes"] > 0]
        if kept:
            spreads = [window["spread_bytes"] / _MIB for window in kept]
            series.append(Series(name, [window["from"] for window in kept], spreads))
    if series:
        yield Plot(
            "seek-spread",
            "Spread of seek distances over time",
            Axis("number of the write or read"),
            Axis("standard deviation, MiB", "log"),
            series,
            note="Low where requests stay together, high where they are scattered over a wide range.",
        )


def _reuse(character: Json) -> Iterable[Chart]:
    reuse = character["reuse"]
    curves = []
    for name, points in (("reads and writes", reuse["miss_ratios"]), ("reads", reuse["read_miss_ratios"])):
        if points and not (name == "reads" and not character["writes"]["requests"]):
            x = [point["cache_bytes"] / _MIB for point in points]
            y = [point["miss_ratio"] for point in points]
            low = [max(0.0, point["miss_ratio"] - 2 * point["error"]) for point in points]
            high = [min(1.0, point["miss_ratio"] + 2 * point["error"]) for point in points]
            exact = not any(point["error"] for point in points)
            curves.append(Series(name, x, y, None if exact else low, None if exact else high))
    if curves:
        yield Plot(
            "miss-ratio",
            "Miss ratio of an LRU cache",
            Axis("size of the cache, MiB", "log"),
            Axis("miss ratio", from_zero=True),
            curves,
            note=f"Of 4 KiB blocks.{_sampled(reuse)}",
        )
    bins = [part for part in reuse["distances"] if part["touches"] and part["from_bytes"]]
    if bins:
        yield Plot(
            "reuse-distance",
            "Reuse distance",
            Axis("MiB of other blocks", "log"),
            Axis("uses of 4 KiB blocks", from_zero=True),
            [Series("uses", [part["from_bytes"] / _MIB for part in bins], [part["touches"] for part in bins])],
            note=f"{reuse['first_touches']:,.0f} uses are the first of their block.{_sampled(reuse)}",
        )


def _rates(rate: Json) -> Iterable[Chart]:
    series = []
    for windows in rate["windows"]:
        total, seen = sum(part["count"] for part in windows["requests"]), 0
        x, y = [], []
        for part in windows["requests"]:
            seen += part["count"]
            if part["to"]:
                x.append(part["to"] / windows["window_s"])
                y.append(seen / total)
        if x:
            series.append(Series(f"in windows of {windows['window_s']:g} s", x, y))
    if series:
        yield Plot(
            "request-rate",
            "Arrival rate",
            Axis("requests per second", "log"),
            Axis("share of the windows, at most", from_zero=True),
            series,
        )
    if sum(part["count"] for part in rate["pause_ns"]):
        yield Plot(
            "pauses",
            "Inter-arrival time",
            Axis("seconds", "log"),
            Axis("share of the requests, at most", from_zero=True),
            [_cumulated("requests", rate["pause_ns"], _NS_PER_S)],
        )


def _axis(by: str) -> Axis:
    return Axis("time, s") if by == "time" else Axis("number of the request")


def _sampled(found: Json) -> str:
    """Sentence on the sample, unless it is everything."""
    share = found["followed_share"]
    if share >= 1:
        return ""
    error = f"; the standard error is at most {found['error']:.2g}" if found.get("error") else ""
    return f" Estimated from {share:.2%} of the blocks{error}."


def _mixing(life: Json) -> str:
    followed = "" if life["followed_share"] >= 1 else f" Of {life['followed_share']:.2%} of the space."
    if life["mixing"] is None:
        return f"All data is equally hot.{followed}"
    return (
        f"{life['mixing']:.0%} of the differences between hot and cold lie within units of space, where they mix; "
        f"the rest is between units, which keeps them apart.{followed}"
    )


def _distance(part: Json) -> str:
    if not part["to_bytes"]:
        return "0"
    return f"+{size(part['from_bytes'])}" if part["from_bytes"] > 0 else size(part["to_bytes"])


def _cumulated(name: str, bins: Sequence[Json], unit: float) -> Series:
    total, seen = sum(part["count"] for part in bins), 0
    x, y = [], []
    # A logarithmic axis has no zero: what takes no time is in the first point, a step before the next.
    first = next((at for at, part in enumerate(bins) if part["to"] and part["count"]), 0)
    for at, part in enumerate(bins):
        seen += part["count"]
        if part["to"] and at >= first - 1:
            x.append(part["to"] / unit)
            y.append(seen / total)
    return Series(name, x or [1.0 / unit], y or [1.0])


def _heat(
    name: str,
    title: str,
    x: Axis,
    y: Axis,
    cells: Sequence[Sequence[int]],
    columns: Sequence[str],
    rows: Sequence[str],
    unit: str,
    *,
    note: str = "",
    most_rows: int = _ROWS,
) -> Heat:
    """A heat map of counts by column and row, with neighbours joined where there are too many."""
    across, up = -(-len(columns) // _COLUMNS), -(-len(rows) // most_rows)
    kept_columns, kept_rows = columns[::across], rows[::up]
    values: list[list[float | None]] = [[None] * len(kept_columns) for _ in kept_rows]
    for column, row, count in cells:
        line = values[row // up]
        line[column // across] = (line[column // across] or 0) + count
    unique: Callable[[Sequence[str]], list[str]] = _distinct
    labels = unique(kept_columns), unique(kept_rows)
    return Heat(name, title, x, y, *labels, values, unit, "none", note=note)


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of categories, which have to differ: those that come again get a mark that shows nowhere."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        unique.append(name + "\u200b" * count)
    return unique
