"""Forms of a fit: JSON, a device file, tables."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from flashweir.fitting.evaluation import Values
from flashweir.fitting.points import KNEE, UNITS, Measurements
from flashweir.plain import setting

if TYPE_CHECKING:
    from rich.console import Console

FORMAT = 1
_TOP = "# Fitted to "


@dataclass(frozen=True)
class KeyFound:
    """A key of the fitted drive; low and high are the ends of what fits almost as well, None where not searched."""

    key: str
    value: object
    low: float | None
    high: float | None
    determined: bool
    source: str


@dataclass(frozen=True)
class Compared:
    """A measured value beside the predicted one; None where it is not predicted."""

    id: str
    what: str
    metric: str
    unit: str
    measured: float
    predicted: float | None
    below_knee: bool

    @property
    def error(self) -> float | None:
        """Predicted / measured - 1."""
        return None if self.predicted is None else self.predicted / self.measured - 1


@dataclass(frozen=True)
class Fit:
    """A fitted or given drive, and how well it predicts.

    Attributes:
        points: measured values beside predicted ones.
        keys: settings of the drive, each with where it comes from.
        settings: keys of the drive at its real capacity, over `base`.
        runs: evaluated drives.
    """

    drive: str
    base: str | None
    points: Sequence[Compared]
    keys: Sequence[KeyFound]
    settings: Mapping[str, object]
    source: str
    runs: int
    seed: int

    @property
    def medians(self) -> dict[str, dict[str, float]]:
        """Median absolute error by metric, over points below the knee."""
        found: dict[str, dict[str, float]] = {}
        for metric in UNITS:
            errors = [abs(one.error) for one in self.points
                      if one.metric == metric and one.below_knee and one.error is not None]  # fmt: skip
            if errors:
                found[metric] = {"error": median(errors), "n": len(errors)}
        return found

    def to_dict(self) -> dict[str, object]:
        """The form of `--json`."""
        names = ("id", "what", "metric", "unit", "measured", "predicted", "error")
        return {
            "format": FORMAT,
            "drive": self.drive,
            "points": [{name: getattr(one, name) for name in names} for one in self.points],
            "medians": self.medians,
            "keys": [vars(one) for one in self.keys],
            "runs": self.runs,
            "seed": self.seed,
        }

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Writes a report with measured and predicted curves; a file that exists is replaced.

        Raises:
            FlashweirError: the file can't be written.
        """
        from flashweir.fitting import showing

        showing.write(self, path)

    @property
    def device_file(self) -> str:
        """The drive as a TOML file that `--device` takes, with the source of each key."""
        top = f"{_TOP}{self.drive}, measurements of {self.source}: {self.runs} drives evaluated, seed {self.seed}."
        # A comment ends with its line.
        lines = ["".join(one if one.isprintable() else " " for one in top)]
        by_key = {one.key: one for one in self.keys}
        nested = sorted(self.settings.items(), key=lambda item: ("." in item[0], item[0].rpartition(".")[0]))
        section = ""
        for key, value in nested:
            table, _, name = key.rpartition(".")
            if table != section:
                lines += ["", f"[{table}]"]
                section = table
            note = by_key[key].source if key in by_key else ""
            lines.append(f"{name} = {json.dumps(value)}" + (f"  # {note}" if note else ""))
        return "\n".join(lines) + "\n"


def compared(measurements: Measurements, predicted: Mapping[str, Values]) -> list[Compared]:
    """Every measured value beside the predicted one."""
    found = []
    for point in measurements.points:
        below = point.kind != "saturated" and (point.saturation is None or point.saturation <= KNEE)
        for metric, value in point.measured.items():
            is_flow = metric in ("iops", "mib_s", "waf")
            found.append(
                Compared(
                    id=f"{point.id}:{metric}",
                    what=f"{metric}@{point.load}",
                    metric=metric,
                    unit=UNITS[metric],
                    measured=value,
                    predicted=predicted.get(point.id, {}).get(metric),
                    below_knee=below or is_flow,
                )
            )
    return found


def show(fit: Fit, console: "Console") -> None:
    """The finding, every value, and the keys."""
    from rich.table import Table

    errors = ", ".join(f"{name} {value['error']:.1%}" for name, value in fit.medians.items())
    console.print(f"{fit.drive}: median errors below saturation: {errors or 'no point was predicted'}",
                  highlight=False, markup=False, soft_wrap=True)  # fmt: skip
    table = Table("value", "unit", "measured", "predicted", "error", box=None, pad_edge=False)
    for one in fit.points:
        cells = (
            ("-", "-") if one.predicted is None or one.error is None else (f"{one.predicted:,.4g}", f"{one.error:+.1%}")
        )
        table.add_row(one.what, one.unit, f"{one.measured:,.4g}", *cells)
    console.print(table, highlight=False, markup=False)
    if not fit.runs:
        return
    keys = Table("key", "value", "interval", "from", box=None, pad_edge=False)
    for key in fit.keys:
        between = (
            "" if key.low is None else f"{key.low:,.4g} to {key.high:,.4g}" if key.determined else "not determined"
        )
        keys.add_row(key.key, setting(key.value), between, key.source)
    console.print(keys, highlight=False, markup=False)
    console.print(f"{fit.runs} drives evaluated, seed {fit.seed}", highlight=False)
