"""Charts of every kind and names that try to be more than names, for the tests of reports."""

import math
from typing import Any

from flashweir.charts.model import Axis, Bars, Chart, Heat, Plot, Series, Strips
from flashweir.reports.model import Cell, Details, Facts, Figure, Section, Table, Text

HOSTILE = (
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<b>bold</b><br>&lt;",
    '<a href="javascript:window.pwned=1">link</a>',
    r"$\alpha$ and %{x}",
    "\"quotes' & &amp; <!-- ]]> \u2028",
    "שלום \u202eעולם",  # noqa: RUF001 - Hebrew
    "😀 {{title}}",
)
STATES = ("host", "gc", "mapping", "waiting", "idle")


def curves(name: str = "curve-iops", names: tuple[str, ...] = ("greedy", "fifo"), points: int = 6) -> Plot:
    """Curves with intervals over a log axis with given marks."""
    x = [float(2**at) for at in range(points)]
    series = []
    for at, called in enumerate(names):
        y = [1000.0 * (at + 1) * (1 - math.exp(-value / 9)) for value in x]
        series.append(Series(called, x, y, [value * 0.9 for value in y], [value * 1.1 for value in y]))
    ticks = tuple((value, f"{value:.0f}") for value in x)
    return Plot(
        name, "IOPS by queue depth", Axis("queue depth", "log", ticks), Axis("IOPS"), series, note="Five seeds."
    )


def banded(name: str = "over-time-iops", points: int = 400) -> Plot:
    """Curves of many points, with bands and a gap."""
    x = [at * 0.5 for at in range(points)]
    series = []
    for called, base in (("greedy", 40_000.0), ("fifo", 30_000.0)):
        y = [None if 100 < at < 110 else base + 5_000 * math.sin(at / 20) for at in range(points)]
        low, high = ([None if value is None else value * by for value in y] for by in (0.9, 1.1))
        series.append(Series(called, x, y, low, high))
    return Plot(name, "IOPS over time", Axis("simulated time, s"), Axis("IOPS", "log"), series)


def distribution(name: str = "latency-cdf-read") -> Plot:
    x = [10 * 1.06**at for at in range(140)]
    series = [Series("greedy", x, [1 / (1 + math.exp(4.6 - math.log(value))) for value in x], style="steps")]
    return Plot(name, "Read latency", Axis("latency, us", "log"), Axis("share of requests"), series)


def categories(name: str = "curve-victim") -> Plot:
    x = ["greedy", "fifo", "random"]
    series = [
        Series(called, x, [by * value for value in (9, 14, 15)], [8.0, 13.0, 14.0], [19.0, 20.0, 21.0], style="points")
        for called, by in (("small", 1.0), ("large", 1.2))
    ]
    return Plot(name, "p99 by victim", Axis("gc.victim", "category"), Axis("p99, ms"), series)


def front(name: str = "pareto-wa-p99") -> Plot:
    points = Series("settings", [1.2, 2.0, 3.1], [900.0, 400.0, 350.0], labels=HOSTILE[:3], style="points")
    line = Series("front", [1.2, 2.0, 3.1], [900.0, 400.0, 350.0], style="steps")
    return Plot(name, "Trade-off", Axis("write amplification"), Axis("p99, us", "log"), [points, line])


def bars(name: str = "channel-time", rows: tuple[str, ...] = ("greedy", "fifo")) -> Bars:
    shares = (("host", 0.5), ("gc", 0.2), ("mapping", 0.05), ("idle", 0.25))
    parts = [(state, [share] * len(rows)) for state, share in shares]
    return Bars(name, "What dies did", Axis("share of die time"), rows, parts)


def heat(name: str = "heat-iops", columns: int = 4, rows: int = 3) -> Heat:
    values = [[None if (x, y) == (1, 1) else 1000.0 * x + 7 * y for x in range(columns)] for y in range(rows)]
    names = [[f"{2**at % 997}KiB" for at in range(count)] for count in (columns, rows)]
    return Heat(name, "IOPS by both", Axis("buffer.bytes"), Axis("op_ratio"), *names, values, "requests/s")


def strips(name: str = "channel-activity", rows: int = 4, bins: int = 100) -> Strips:
    shares = [
        [[0.6 if (row + at // 10) % 5 == state else 0.1 for at in range(bins)] for row in range(rows)]
        for state in range(len(STATES))
    ]
    called = [f"channel {row}" for row in range(rows)]
    edges = [at * 0.01 for at in range(bins + 1)]
    return Strips(name, "Channel activity", Axis("simulated time, s"), called, edges, STATES, shares)


def every_kind() -> list[Chart]:
    return [distribution(), curves(), categories(), banded(), front(), bars(), heat(), strips()]


def hostile_charts() -> list[Chart]:
    """Every kind, with hostile text wherever a chart has text."""
    first, second = HOSTILE[0], HOSTILE[1]
    axis = Axis(HOSTILE[4])
    points = [Series(name, [1.0, 2.0], [at, at + 1.0], labels=[first, second]) for at, name in enumerate(HOSTILE)]
    given = Axis(first, "linear", ((1.0, second), (2.0, HOSTILE[3])))
    named: list[Series] = [Series(name, list(HOSTILE), [float(at)] * len(HOSTILE)) for at, name in enumerate(HOSTILE)]
    one = [[1.0] * len(HOSTILE)] * len(HOSTILE)
    return [
        Plot("hostile-plot", "".join(HOSTILE), given, axis, points, note=second),
        Plot(first, second, Axis(first, "category"), axis, named, note=first),
        Bars("hostile-bars", first, axis, HOSTILE, [(name, [1.0] * len(HOSTILE)) for name in HOSTILE], note=first),
        Heat("hostile-heat", first, axis, axis, HOSTILE, HOSTILE, one, second, note=first),
        Strips("hostile-strips", first, axis, HOSTILE, [0.0, 1.0], HOSTILE, [[[0.5]] * len(HOSTILE)] * len(HOSTILE)),
    ]


def hostile_sections() -> list[Section]:
    every = "\n\n".join(HOSTILE)
    return [
        Section(
            HOSTILE[0],
            [
                Text(every),
                Text(every, alert=True),
                Facts([(name, [name, name]) for name in HOSTILE]),
                Table(HOSTILE[1], HOSTILE, [HOSTILE, [Cell(name, 1.0) for name in HOSTILE]], rest=HOSTILE[0]),
                Details(HOSTILE[0], every),
                *(Figure(chart) for chart in hostile_charts()),
            ],
        )
    ]


def sections() -> list[Section]:
    rows: list[list[Any]] = [[f"{at % 7}KiB", at, at / 3, Cell(f"{at} ± 1", at), None] for at in range(450)]
    return [
        Section("Runs", [Text("2 of 450 runs failed.", alert=True), Facts([("version", "0.1.0")])]),
        Section("Figures", [Figure(chart) for chart in every_kind()]),
        Section(
            "All settings",
            [Table("Settings", ["buffer", "runs", "mean", "with interval", "nothing"], rows), Details("spec", "{}")],
        ),
    ]


def with_recordings(result: dict[str, Any], channels: int = 2, bins: int = 50) -> dict[str, Any]:
    """A result with the optional parts that a run has on demand."""
    one = {"host": 0.5, "gc": 0.1, "mapping": 0.0, "waiting": 0.1, "idle": 0.3}
    columns = {state: [share] * bins for state, share in one.items()}
    rows = [{**columns, "dirty_pages": [float(number)] * bins} for number in range(channels)]
    windows = {
        "end_s": [float(place + 1) for place in range(bins)],
        "requests": [10] * bins,
        "iops": [100.0 + place for place in range(bins)],
        "latency_us": {"read": [None, *[5.0] * (bins - 1)], "write": [None] * bins},
        "write_amplification": [None, *[1.0 + place for place in range(bins - 1)]],
    }
    return {
        **result,
        "activity": {"from_s": 0.0, "to_s": 9.7, "bin_s": 0.2, "channels": rows, "dirty_pages": [1.0] * bins},
        "series": {"requests_per_window": 10, **windows},
        "warmup": {"method": "mser-5", "found": True, "requests": 50, "of_requests": 500, "simulated_s": 5.0},
    }
