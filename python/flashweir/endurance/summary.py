"""A drive's life in words: the finding first."""

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]
NAMES = {
    "cycles": "mean wear at the rated cycles",
    "spare": "spare blocks used up",
    "uncorrectable": "first uncorrectable read",
    "first_block": "first block at the rated cycles",
}
_WHY = {
    "cycles": "its mean wear reaches the {rated:,.0f} rated cycles",
    "spare": "its spare blocks are used up",
    "uncorrectable": "a read can't be corrected",
}
_HOURS, _DAYS = 24 * 365.0, 365.0


def finding(found: Json) -> list[str]:
    """The finding in sentences."""
    tbw, low, high = (found[name] for name in ("tbw_bytes", "tbw_low", "tbw_high"))
    interval = "" if low is None or low == high else f" (95 % interval {amount(low)} to {amount(high)})"
    if found["ended_by"] == "horizon":
        start = f"The drive outlives {found['horizon_years']:g} years: the host writes {amount(tbw)}{interval} by then."
    else:
        why = _WHY[found["ended_by"]].format(rated=found["rated_cycles"])
        start = f"The drive takes {amount(tbw)}{interval} from the host, in {span(found['years'])}: then {why}."
    daily = f"{found['dwpd']:.3g} drive writes a day over {found['horizon_years']:g} years"
    sentences = [start, f"That is {daily}, at a write amplification of {found['write_amplification']:.4g}."]
    if not found["settled"]:
        low, high = (amount(found["check"][name]) for name in ("tbw_low", "tbw_high"))
        sentences.append(f"The wear did not become steady in what was simulated: by extrapolation {low} to {high}.")
    if "cost_per_tbw" in found:
        sentences.append(f"A terabyte written costs {found['cost_per_tbw']:.4g}.")
    return sentences


def lines(found: Json) -> list[tuple[str, str]]:
    """Terms and values."""
    ends, check = found["ends"], found["check"]
    rows = [(title, _end(ends, name)) for name, title in NAMES.items()]
    rows.append(("flash", f"{amount(found['raw_bytes'])}, {found['rated_cycles']:,.0f} rated cycles"))
    rows.append(("spare blocks", f"{found['spare_blocks']:,}"))
    rows.append(("seeds", ", ".join(str(seed) for seed in found["seeds"])))
    rows.append(("simulated", f"{100 * found['simulated_share']:.3g} % of the bytes written"))
    if check["difference"] is not None:
        error = f"{100 * check['difference']:.2g} %"
        rows.append(("extrapolation", f"wear of the last stretch predicted with an error of {error}"))
    return rows


def _end(ends: Json, name: str) -> str:
    """Time until an end, with bounds where they are wide, or why it is not known."""
    if ends[name] is None:
        return f"not known: {ends['reasons'][name]}"
    if ends["settled"][name] or name not in ends["bounds"]:
        return span(ends[name])
    low, high = ends["bounds"][name]
    return f"{span(ends[name])}, by extrapolation {span(low)} to {span(high)}"


def amount(number: float) -> str:
    """Bytes in decimal units, as endurance is rated."""
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:.4g} {unit}"
    return f"{number:.0f} B"


def span(years: float) -> str:
    """Years, or days and hours where they are few."""
    if years >= 1:
        return f"{years:.3g} years"
    if years * _DAYS >= 1:
        return f"{years * _DAYS:.3g} days"
    return f"{years * _HOURS:.3g} hours"
