"""A diagnosis as a report and as a picture."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from flashweir.charts.model import Axis, Cloud, Heat
from flashweir.reports import about, page
from flashweir.reports.finding import section
from flashweir.reports.model import Block, Facts, Figure, Section, Text

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10
NAMES = {"mapping": "address mapping", "collection": "garbage collection", "buffer": "write buffer"}
_COLUMNS, _ROWS = 48, 24


def write(diagnosis: Mapping[str, Any], name: str, path: str | os.PathLike[str]) -> None:
    """Writes the report as one HTML file that needs no network."""
    page.write(path, f"Diagnosis of {name}", sections(diagnosis))


def cloud(diagnosis: Mapping[str, Any]) -> Cloud:
    """Request number x address x PBR, the picture by which a drive is read."""
    picture = diagnosis["picture"]
    scale, unit = _unit(picture["address_bytes"])
    points = zip(
        picture["request"], (at / scale for at in picture["address_bytes"]), picture["pbr_ns_per_byte"], strict=True
    )
    return Cloud(
        "pbr",
        "Response time of each write per byte",
        Axis("request number"),
        Axis(f"address ({unit})"),
        Axis("PBR (ns/byte)", "log"),
        list(points),
        picture["writes"],
        "writes here",
        note="Each point is the slowest write, per byte, of those near it. A healthy drive is flat, with few points "
        "that stand out.",
    )


def above(diagnosis: Mapping[str, Any]) -> Heat | None:
    """The same seen from above: how slow the slowest write of each part of the addresses was, over time."""
    picture = diagnosis["picture"]
    requests, addresses = picture["request"], picture["address_bytes"]
    if not requests:
        return None
    scale, unit = _unit(addresses)
    columns, rows = _edges(requests, _COLUMNS), _edges(addresses, _ROWS)
    cells: list[list[float | None]] = [[None] * _COLUMNS for _ in range(_ROWS)]
    for request, address, pbr in zip(requests, addresses, picture["pbr_ns_per_byte"], strict=True):
        row, column = _place(address, rows), _place(request, columns)
        cells[row][column] = max(cells[row][column] or 0.0, pbr)
    least = min((pbr for pbr in picture["pbr_ns_per_byte"] if pbr > 0), default=1.0)
    shown = [[None if value is None else max(value, least) for value in row] for row in cells]
    return Heat(
        "pbr-above",
        "Slow writes, per byte, by address and time",
        Axis("request number"),
        Axis(f"address ({unit})"),
        [f"{edge:,.0f}" for edge in columns[:-1]],
        [f"{edge / scale:,.4g}" for edge in rows[:-1]],
        shown,
        "ns/byte",
        note="The slowest write in each cell. Labels are the starts of cells.",
    )


def sections(diagnosis: Mapping[str, Any]) -> list[Section]:
    """Contents of the report."""
    picture = diagnosis["picture"]["request"]
    lead = cloud(diagnosis) if picture else None
    ill: list[Block] = [Text("A part of the drive is bad.", alert=True)] if diagnosis["verdict"] == "ill" else []
    parts = diagnosis["symptoms"].items()
    said = [(NAMES[name], [one["verdict"], one["reason"].replace("`", "")]) for name, one in parts]
    found = [section([diagnosis["sentence"]], lead, ill), Section("Parts of the drive", [Facts(said)])]
    if symptoms := _symptoms(diagnosis):
        found.append(Section("Signs in the log", symptoms))
    if picture and (seen := above(diagnosis)):
        found.append(Section("From above", [Figure(seen)]))
    found.append(Section("The log", [Facts(facts(diagnosis)), Text(f"Detectors: {diagnosis['detectors']}.")]))
    return [*found, about.section()]


def facts(diagnosis: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Requests of the log, and the usual response times of the drive."""
    return [
        ("requests", f"{diagnosis['requests']:,}"),
        ("writes with a response time", f"{diagnosis['writes']:,}"),
        ("written", amount(diagnosis["written_bytes"])),
        ("different addresses written", amount(diagnosis["distinct_bytes"])),
        ("outstanding requests", f"{diagnosis['depth']:.2f}"),
        ("usual PBR", f"{diagnosis['usual_pbr_ns_per_byte']:.4g} ns/byte"),
        ("mean PBR", f"{diagnosis['mean_pbr_ns_per_byte']:.4g} ns/byte"),
        ("anomalies", f"{100 * diagnosis['anomalies']:.3g} % of the writes"),
        ("time lost in them", f"{100 * diagnosis['lost_share']:.3g} %"),
    ]


def evidence(finding: Mapping[str, Any]) -> tuple[str, str, str]:
    """Where, when and how strongly."""
    seen = finding["evidence"]
    where = f"{amount(seen['from_bytes'])} to {amount(seen['to_bytes'])}"
    when = (
        f"requests {seen['first_request']:,} to {seen['last_request']:,} ({seen['from_s']:.4g} to {seen['to_s']:.4g} s)"
    )
    strong = f"{seen['times_usual']:.3g} times the usual, {100 * seen['lost_share']:.3g} % of the time"
    return where, when, strong


def amount(number: float) -> str:
    """Bytes in a unit that suits them."""
    for unit, size in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if number >= size:
            return f"{number / size:.4g} {unit}"
    return f"{number:.0f} B"


def _symptoms(diagnosis: Mapping[str, Any]) -> Sequence[Facts]:
    if not diagnosis["findings"]:
        return []
    found = []
    for finding in diagnosis["findings"]:
        shown = "bad" if finding["shown"] else "good"
        said = [f"{shown} (probability of being bad {finding['probability']:.2f})", finding["sentence"]]
        found.append((NAMES[finding["symptom"]], [*said, *(evidence(finding) if finding["shown"] else ())]))
    return [Facts(found)]


def _unit(addresses: Sequence[int]) -> tuple[int, str]:
    return (GIB, "GiB") if max(addresses, default=0) >= 4 * GIB else (MIB, "MiB")


def _edges(values: Sequence[int], count: int) -> list[float]:
    low, high = min(values), max(values) + 1
    return [low + (high - low) * at / count for at in range(count + 1)]


def _place(value: float, edges: Sequence[float]) -> int:
    low, high = edges[0], edges[-1]
    return min(len(edges) - 2, int((value - low) / (high - low) * (len(edges) - 1)))
