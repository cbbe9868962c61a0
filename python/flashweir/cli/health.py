"""Health logs around a run, as lines."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


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
