"""The report of a fit: measured and predicted curves over load, every value, and the keys of the drive."""

import os
from collections.abc import Sequence

from flashweir._native import FlashweirError
from flashweir.api import schema
from flashweir.charts.from_curves import Measured, lines
from flashweir.charts.model import Plot
from flashweir.fitting.outcome import Compared, Fit
from flashweir.fitting.points import UNITS
from flashweir.plain import setting
from flashweir.quantity import number_of
from flashweir.reports import about, finding, page
from flashweir.reports.model import Block, Content, Details, Figure, Section, Table, Text

_NOTE = "Loads as the measurements name them; a load that is no number is in the table only."


def write(fit: Fit, path: str | os.PathLike[str]) -> None:
    """Writes the report as one HTML file that needs no network.

    Raises:
        FlashweirError: the file can't be written.
    """
    try:
        page.write(path, f"Fit: {fit.drive}", sections(fit))
    except OSError as error:
        raise FlashweirError(f"{os.fspath(path)}: can't be written: {error.strerror or error}") from error


def sections(fit: Fit) -> list[Section]:
    """The finding, a figure for each metric, every value, the keys and the device file, machine and versions."""
    figures = [chart for metric in UNITS if (chart := curve(fit.points, metric)) is not None]
    found = [
        finding.section([_found(fit)], figures[0] if figures else None, _missing(fit)),
        *([Section("Curves", [Figure(chart) for chart in figures[1:]])] if figures[1:] else []),
        Section("Values", [_values(fit)]),
    ]
    if fit.keys:
        found.append(Section("Drive", [_keys(fit), Details("Device file", fit.device_file)]))
    return [*found, about.section()]


def curve(points: Sequence[Compared], metric: str) -> Plot | None:
    """Measured and predicted values of a metric over load; None if fewer than two loads have it.

    Loads that are no numbers, such as `saturated`, are left out where there are two numbers.
    """
    mine = [(one.what.partition("@")[2], one) for one in points if one.metric == metric]
    numbers = [(load, one) for load, one in mine if number_of(load) is not None]
    shown = numbers if len(numbers) > 1 else mine
    places = [load for load, _ in shown]
    if len(set(places)) < 2 or len(set(places)) < len(places):  # noqa: PLR2004 - a curve has two
        return None
    predicted = [(load, one.predicted) for load, one in shown if one.predicted is not None]
    curves = [Measured("measured", places, [one.measured for _, one in shown])]
    if predicted:
        curves.append(Measured("predicted", [load for load, _ in predicted], [value for _, value in predicted]))
    title = metric.replace("_", " ")
    label = f"{title} ({UNITS[metric]})"
    return lines(f"fit-{metric}".replace("_", "-"), title, ("load", label), curves,
                 note=_NOTE if len(shown) < len(mine) else "")  # fmt: skip


def _found(fit: Fit) -> str:
    errors = ", ".join(f"{name.replace('_', ' ')} {value['error']:.1%}" for name, value in fit.medians.items())
    if not errors:
        return f"{fit.drive}: no point was predicted."
    made = f" {fit.runs} drives were evaluated." if fit.runs else ""
    return f"{fit.drive}: median errors below saturation: {errors}.{made}"


def _missing(fit: Fit) -> list[Block]:
    count = sum(one.predicted is None for one in fit.points)
    return [Text(f"{count} of {len(fit.points)} values are not predicted.", alert=True)] if count else []


def _values(fit: Fit) -> Table:
    rows: list[list[Content]] = [
        [one.what, one.unit, one.measured, one.predicted, None if one.error is None else 100 * one.error]
        for one in fit.points
    ]
    columns = ["value", "unit", "measured", "predicted", "error, %"]
    return Table("Measured and predicted", columns, [[_rounded(cell) for cell in row] for row in rows])


def _rounded(cell: Content) -> Content:
    return float(f"{cell:.4g}") if isinstance(cell, float) else cell


def _keys(fit: Fit) -> Table:
    units = {str(key["name"]): str(key.get("unit", "")) for key in schema()["x-keys"]}
    rows: list[list[Content]] = []
    for key in fit.keys:
        between = "" if key.low is None or key.high is None else f"{page.said(key.low)} to {page.said(key.high)}"
        unit = "" if isinstance(key.value, (bool, str)) else units.get(key.key, "")
        found = between if key.determined or not between else "not determined"
        rows.append([key.key, setting(key.value), found, unit, key.source])
    return Table("Keys", ["key", "value", "interval", "unit", "from"], rows, fits=True)
