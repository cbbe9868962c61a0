"""Life of a drive as columns of a sweep, by the arithmetic of mean wear: no stretch of its life is simulated.

Bytes that the host can write are raw bytes x rated cycles / write amplification. Left out are differences between
blocks, blocks that are retired, uncorrectable reads, and amplification that goes on to change after the run:
`flashweir lifetime` has them (docs/concepts/wear.md).
"""

from collections.abc import Mapping
from typing import Any

from flashweir._native import ConfigError
from flashweir.names import hint
from flashweir.quantity import number_of

# Columns: bytes in 10^12, years, and the price of 10^12 bytes.
TBW, YEARS, COST = "tbw", "years", "cost_per_tbw"
NAMES = (TBW, YEARS, COST)
LEFT_OUT = (
    "TBW, years and cost are those of mean wear at the amplification of the runs: differences between blocks, retired "
    "blocks and uncorrectable reads are left out; flashweir lifetime has them."
)
KEYS = ("cycles", "price", "price_per_gb", "per_day", "metrics")
_PAGE = "geometry.capacity_bytes / geometry.logical_pages"
_RAW = f"({_PAGE} * geometry.physical_pages)"
_SECONDS_A_YEAR = 365 * 86_400


def columns(table: Mapping[str, Any]) -> dict[str, str]:
    """Derived columns by name, of the table `life` of a spec; none if it is empty.

    Args:
        table: `cycles`, a number or an expression over columns; `price` of the drive or `price_per_gb` of its flash in
            10^9 raw bytes, likewise; `per_day`, bytes that the host writes a day; `metrics`, the columns wanted.

    Raises:
        ConfigError: a key is unknown, or one is missing.
    """
    if not table:
        return {}
    for key in table:
        if key not in KEYS:
            raise ConfigError(f"life.{key}: unknown key{hint(key, KEYS)}")
    if "cycles" not in table:
        raise ConfigError("life.cycles: missing: the rated cycles of a block, such as 3000")
    if "price" in table and "price_per_gb" in table:
        raise ConfigError("life.price and life.price_per_gb exclude each other")
    cycles = _term(table, "cycles")
    found = {TBW: f"{_RAW} * {cycles} / write_amplification / 1e12"}
    if "per_day" in table:
        daily = number_of(table["per_day"])
        if daily is None or daily <= 0:
            raise ConfigError(f"life.per_day: {table['per_day']!r}: expected a size such as 500GB")
        found[YEARS] = f"{TBW} * 1e12 / {float(daily)!r} / 365"
    else:
        # Programs have the appends to zones, which counters.bytes.write has not.
        found[YEARS] = f"geometry.physical_pages * {cycles} / flash.programs * simulated_s / {_SECONDS_A_YEAR}"
    if "price" in table:
        found[COST] = f"{_term(table, 'price')} / {TBW}"
    elif "price_per_gb" in table:
        found[COST] = f"{_term(table, 'price_per_gb')} * {_RAW} / 1e9 / {TBW}"
    return _wanted(found, table.get("metrics"))


def _wanted(found: dict[str, str], metrics: object) -> dict[str, str]:
    if metrics is None:
        return found
    names = [metrics] if isinstance(metrics, str) else metrics
    if not isinstance(names, list) or not names:
        raise ConfigError(f"life.metrics: {metrics!r}: expected names of {', '.join(NAMES)}")
    for name in names:
        if name not in NAMES:
            raise ConfigError(f"life.metrics: {name!r}: expected {', '.join(NAMES)}")
        if name not in found:
            raise ConfigError(f"life.metrics: {name}: needs price or price_per_gb")
    # Others are worked out of TBW.
    return {name: text for name, text in found.items() if name in names or name == TBW}


def _term(table: Mapping[str, Any], key: str) -> str:
    """A number above 0, or an expression in brackets."""
    value = table[key]
    if isinstance(value, str) and value.strip():
        return f"({value})"
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return repr(float(value))
    raise ConfigError(f"life.{key}: {value!r}: expected a number above 0, or an expression over columns")
