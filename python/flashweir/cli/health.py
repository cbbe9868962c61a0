"""Options `--health-before` and `--health-after`, and what is printed of a drive's health logs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashweir._native import ConfigError
from flashweir.notices import say

if TYPE_CHECKING:
    from rich.console import Console

    from flashweir.healthlogs.logs import Log

HealthBefore = Annotated[
    list[Path] | None,
    typer.Option(
        "--health-before", metavar="FILE", help="Health log before the run: JSON of nvme-cli or smartctl; repeatable."
    ),
]
HealthAfter = Annotated[
    list[Path] | None,
    typer.Option("--health-after", metavar="FILE", help="The same log after it; read at the end of the run."),
]


class Health:
    """Health logs around a run: of files, or of the target itself where it is a drive with such logs."""

    def __init__(self, target: str, before: list[Path] | None, after: list[Path] | None) -> None:
        """Reads the logs before the run.

        Raises:
            ConfigError: a file is no health log, or only one side is given.
        """
        if bool(before) != bool(after):
            given, missing = ("before", "after") if before else ("after", "before")
            raise ConfigError(f"--health-{given}: expected --health-{missing} with it")
        self._target = target
        self._after = after or []
        self._before: list[Log] = []
        if before:
            from flashweir.healthlogs.logs import read

            self._before = [_named("before", file, read) for file in before]
        elif target.startswith("/dev/"):
            from flashweir.healthlogs.drives import read_drive

            self._before = read_drive(target)

    def end(self) -> dict[str, Any] | None:
        """Changes in the logs; None if there are none. A bad log after the run is a warning: the run is done."""
        if not self._before:
            return None
        from flashweir.healthlogs.difference import difference
        from flashweir.healthlogs.drives import read_drive
        from flashweir.healthlogs.logs import read

        try:
            later = [_named("after", file, read) for file in self._after] or read_drive(self._target)
            if not self._after:
                # A log that was not given the second time is left out.
                kinds = {log.kind for log in later} & {log.kind for log in self._before}
                self._before = [log for log in self._before if log.kind in kinds]
                later = [log for log in later if log.kind in kinds]
            return difference(self._before, later)
        except ConfigError as error:
            say(f"warning: health: {error}")
            return None


def _named(side: str, file: Path, read: Any) -> "Log":  # noqa: ANN401 - a function of a later import
    try:
        found: Log = read(file)
    except ConfigError as error:
        raise ConfigError(f"--health-{side} {error}") from error
    return found


def print_health(health: Mapping[str, Any] | None, out: "Console") -> None:
    """Prints what health logs say of a run."""
    for label, text in lines(health) if health else ():
        out.print(f"{label:<14}  {text}", highlight=False, markup=False, soft_wrap=True)


def lines(health: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Labels and texts."""
    found = []
    if (ratio := health["write_amplification"]) is not None:
        high = "any" if ratio["high"] is None else f"{ratio['high']:.3f}"
        found.append(("amplification", f"{ratio['value']:.3f} measured ({ratio['low']:.3f} to {high}), {ratio['by']}"))
    for side in ("host", "media"):
        parts = [f"{health[f'{side}_{way}_bytes'] / 1e6:,.1f} MB {way}" for way in ("written", "read")
                 if health[f"{side}_{way}_bytes"] is not None]  # fmt: skip
        if parts:
            found.append((side, ", ".join(parts)))
    for label, name, unit in (("wear", "percent_used", "% used"), ("spare", "spare_percent", "%"),
                              ("temperature", "temperature_c", "C")):  # fmt: skip
        if (state := health[name]) is not None:
            found.append((label, f"{state['before']:g} to {state['after']:g} {unit}"))
    if (throttling := health["throttling"]) is not None:
        words = {"events": "events", "seconds": "s throttled", "too_hot_minutes": "min too hot"}
        parts = [f"{throttling[name]:,} {word}" for name, word in words.items() if throttling[name] is not None]
        found.append(("throttling", ", ".join(parts)))
    if health["media_errors"]:
        found.append(("media errors", f"{health['media_errors']:,}"))
    return found
