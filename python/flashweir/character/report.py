"""Report of a characterization."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashweir.character.summary import percent, size, sizes_of
from flashweir.character.volumes import row_of
from flashweir.charts.model import Axis, Chart, Plot, Series
from flashweir.reports import about
from flashweir.reports.finding import TITLE, first
from flashweir.reports.model import Block, Cell, Content, Facts, Figure, Section, Table, Text

Json = Mapping[str, Any]

# Sections of figures, by how their names begin.
_FIGURES = (
    ("First writes, overwrites, sizes", ("classes", "sizes")),
    ("Over time", ("requests-over-time", "bytes-over-time", "mix-over-time", "working-set")),
    ("Addresses and seek distance", ("where-", "seek-")),
    ("Hot and cold data", ("life-", "rewrite-interval", "reread-interval")),
    ("Caches", ("miss-ratio", "reuse-distance")),
    ("Arrivals", ("request-rate", "pauses")),
)
# The picture of a workload, the first that there is.
_LEADS = ("where-writes", "where-", "requests-over-time", "")
_SHARES = (
    ("sequential", "sequential_share"),
    ("aligned", "aligned_share"),
    ("small", "small_share"),
    ("64 KiB and more", "long_share"),
    ("short, random, near", "local_share"),
    ("short, random, far", "scattered_share"),
    ("first access, sequential", "first_sequential_share"),
    ("first access, random", "first_random_share"),
    ("overwritten or read again", "*_share"),
    ("overwritten or read again, sequential", "*_sequential_share"),
    ("overwritten or read again, random", "*_random_share"),
)
_SUITES = {
    "transfer": "the write bandwidth of the drive",
    "buffer": "the write buffer, which gathers adjacent writes,",
    "mapping": "the granularity of the mapping",
    "gc": "garbage collection",
    "overall": "no single part of the drive",
}


def title_of(character: Json) -> str:
    """Title of the page."""
    return f"Characterization of {character['workload']}"


def sections(character: Json, charts: Sequence[Chart]) -> list[Section]:
    """The report of one workload: verdict, numbers, figures, segments."""
    lead = first(charts, _LEADS)
    text, *facts = _short(character)
    opening: list[Block] = [text, *([Figure(lead)] if lead is not None else []), *facts]
    parts = [Section(TITLE, opening), Section("In numbers", [_numbers(character)])]
    left = [chart for chart in charts if chart is not lead]
    for title, starts in _FIGURES:
        found = [chart for chart in left if chart.name.startswith(starts)]
        left = [chart for chart in left if chart not in found]
        if found:
            parts.append(Section(title, [Figure(chart) for chart in found]))
    if character["segments"]:
        parts.append(Section("Segments", [_segments(character)]))
    return [*parts, Section("Definitions", [_settings(character)]), about.section()]


def _short(character: Json) -> list[Block]:
    suite = character["suite"]
    name = suite["name"]
    verdict = f"Suite {name}: {_SUITES[name]} decides. " if name else ""
    writes, reads = character["writes"], character["reads"]
    facts: list[tuple[str, str | Sequence[str]]] = [
        ("workload", str(character["workload"])),
        ("requests", f"{character['requests']:,} in {character['duration_s']:,.3f} s"),
        ("written", _moved(writes, "rewritten", "rewrite_share")),
        ("read", _moved(reads, "read again", "reread_share")),
    ]
    if micro := character.get("microscopic"):
        life = micro["writes"]["life"]
        if life["mixing"] is not None:
            facts.append(("hot and cold data", f"{percent(life['mixing'])} mixed within units of space"))
        if hottest := life["hottest"]:
            facts.append(("the hottest tenth", f"of what is written takes {percent(hottest['percent_10'])} of it"))
    return [Text(f"{verdict}{suite['reason']}", lead=True), Facts(facts)]


def _moved(side: Json, again: str, key: str) -> str:
    if not side["requests"]:
        return "nothing"
    return (
        f"{size(side['bytes'])} in {side['requests']:,} requests to {size(side['footprint_bytes'])} of distinct space; "
        f"{percent(side['sequential_share'])} sequential, {percent(side[key])} {again}; most often {sizes_of(side)}"
    )


def _numbers(character: Json) -> Table:
    sides = ((character["writes"], "rewrite"), (character["reads"], "reread"))
    rows: list[list[Content]] = [
        ["requests", *(side["requests"] for side, _ in sides)],
        ["bytes", *(_bytes(side["bytes"]) for side, _ in sides)],
        ["distinct bytes", *(_bytes(side["footprint_bytes"]) for side, _ in sides)],
        ["bytes touched before", *(_bytes(side["covered_bytes"]) for side, _ in sides)],
        ["mean request size", *(_bytes(side["mean_bytes"]) for side, _ in sides)],
    ]
    rows += [
        [f"{label}: bytes", *(_share(side[key.replace("*", again)]) for side, again in sides)] for label, key in _SHARES
    ]
    rows += [
        [f"{label}: requests", *(_share(side["by_requests"][key.replace("*", again)]) for side, again in sides)]
        for label, key in _SHARES[:6]
    ]
    return Table(
        "Counts, and shares of the bytes and of the requests", ["quantity", "writes", "reads"], rows, fits=True
    )


def _segments(character: Json) -> Table:
    rows: list[list[Content]] = [
        [
            float(segment["from_s"]),
            float(segment["to_s"]),
            segment["writes"]["requests"],
            _bytes(segment["writes"]["bytes"]),
            _share(segment["writes"]["sequential_share"]),
            _share(segment["writes"]["rewrite_share"]),
            segment["reads"]["requests"],
            _bytes(segment["reads"]["bytes"]),
            segment["suite"]["name"] or "-",
        ]
        for segment in character["segments"]
    ]
    columns = ["from, s", "to, s", "writes", "written", "sequential", "rewritten", "reads", "read", "suite alone"]
    return Table(f"Parts of equal {character['segments_by']}", columns, rows)


def _settings(character: Json) -> Facts:
    settings = character["settings"]
    facts: list[tuple[str, str | Sequence[str]]] = [
        ("sequential", f"starts where one of the last {settings['gap'] + 1} requests of its kind ended"),
        ("overwritten or read again", "shares a sector with an earlier request of its kind"),
        ("aligned", f"starts and ends on multiples of {size(settings['align_bytes'])}"),
        ("small", f"{size(settings['small_bytes'])} or less"),
        ("near", f"less than {size(settings['chunk_bytes'])} from where one of those ended"),
        ("unit of space", size(settings["unit_bytes"])),
        ("version", f"flashweir {character['flashweir']}"),
    ]
    trace = character.get("trace") or {}
    if trace.get("assumptions"):
        facts.append(("assumed in reading", trace["assumptions"]))
    return Facts(facts)


def _bytes(number: float | None) -> Content:
    return None if number is None else Cell(size(number), float(number))


def _share(share: float | None) -> Content:
    return None if share is None else Cell(percent(share), share)


def table_sections(rows: Sequence[Json]) -> list[Section]:
    """The report of many traces: a table, where they stand in two figures, and what could not be read."""
    found = [row_of(row) for row in rows]
    good, bad = [row for row in found if row["error"] is None], [row for row in found if row["error"] is not None]
    columns = ["trace", "requests", "read", "written", "sequential", "rewrites", "aligned", "small", "suite"]
    cells: list[list[Content]] = [
        [
            row["trace"],
            row["requests"],
            _bytes(row["read"]),
            _bytes(row["written"]),
            *(_share(row[name]) for name in ("sequential", "rewrites", "aligned", "small")),
            row["suite"] or "-",
        ]
        for row in good
    ]
    parts = [Section("Traces", [Table("Written data, by trace; shares are of the bytes", columns, cells, fits=True)])]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in good:
        if row["suite"]:
            groups.setdefault(row["suite"], []).append(row)
    if groups:
        series = [
            Series(
                suite,
                [float(row["sequential"]) for row in found],
                [float(row["rewrites"]) for row in found],
                labels=[row["trace"] for row in found],
                style="points",
            )
            for suite, found in sorted(groups.items())
        ]
        chart = Plot(
            "points-suites",
            "Writes of the traces, and the suite that each belongs to",
            Axis("sequential in written bytes", from_zero=True),
            Axis("rewrites in written bytes", from_zero=True),
            series,
        )
        counts = ", ".join(f"{len(found)} {suite}" for suite, found in sorted(groups.items()))
        lead = Text(f"{len(good):,} traces by the suite that decides: {counts}.", lead=True)
        parts.insert(0, Section(TITLE, [lead, Figure(chart)]))
    if bad:
        failures: list[list[Content]] = [[row["trace"], row["error"]] for row in bad]
        parts.append(
            Section("Not read", [Table("Traces that can't be read", ["trace", "reason"], failures, fits=True)])
        )
    return parts
