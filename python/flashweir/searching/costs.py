"""Costs of a drive by the prices of a spec: bytes of flash and DRAM from its keys, and what they cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flashweir._native import ConfigError
from flashweir.endurance.cells import rating
from flashweir.quantity import number_of

PRICES = ("flash_per_gib", "dram_per_gib", "channel", "drive")
BYTES = ("cost.flash_bytes", "cost.dram_bytes")
USD = ("cost.flash_usd", "cost.dram_usd", "cost.controller_usd", "cost.total_usd", "cost.usd_per_gib")
_CELLS = ("slc", "mlc", "tlc", "qlc")
_GIB = 1 << 30
# Bytes of an entry of the map.
_ENTRY = 4


@dataclass(frozen=True)
class Prices:
    """Prices in USD: of flash by kind of cell (`None` is any), of DRAM, of each channel, and of the rest of a drive."""

    flash_per_gib: Mapping[str | None, float] = field(default_factory=dict)
    dram_per_gib: float = 0.0
    channel: float = 0.0
    drive: float = 0.0


def read_prices(given: object) -> Prices | None:
    """The `[prices]` of a spec; None without any.

    Raises:
        ConfigError: an unknown price, or one that is no number from 0.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ConfigError(f"prices: {given!r}: expected a table")
    for key in given:
        if key not in PRICES:
            raise ConfigError(f"prices.{key}: unknown key: expected some of {', '.join(PRICES)}")
    flash = given.get("flash_per_gib", 0.0)
    if isinstance(flash, Mapping):
        for key in flash:
            if key not in _CELLS:
                raise ConfigError(f"prices.flash_per_gib.{key}: expected kinds of cells: some of {', '.join(_CELLS)}")
        by_cell: dict[str | None, float] = {key: _price(flash[key], f"flash_per_gib.{key}") for key in flash}
    else:
        by_cell = {None: _price(flash, "flash_per_gib")}
    rest = {key: _price(given.get(key, 0.0), key) for key in PRICES[1:]}
    return Prices(by_cell, **rest)


def cell_of(run: Mapping[str, Any]) -> str | None:
    """The kind of cell that the settings of a run name; where times say it, the engine's configuration does not."""
    named = run["overrides"].get("nand.cell")
    return named if named in _CELLS else None


def costs(plan: Mapping[str, Any], run: Mapping[str, Any], prices: Prices | None) -> dict[str, float]:
    """Costs by name, such as `cost.total_usd`.

    Args:
        plan: of a run, as the engine resolves it.
        run: device and settings of the run, which may say the kind of its cells.
        prices: those of the spec; without any only the bytes are known.

    Raises:
        ConfigError: no price is given for the drive's kind of cell.
    """
    config = plan["config"]
    capacity = number_of(config["capacity"]) or 0.0
    page = int(capacity) // int(plan["logical_pages"])
    flash = float(int(plan["physical_pages"]) * page)
    dram = (number_of(config["buffer"]["bytes"]) or 0.0) + _map_bytes(config, plan, page)
    found = {"cost.flash_bytes": flash, "cost.dram_bytes": dram}
    if prices is None:
        return found
    cell = rating(run["device"], config, cell_of(run), None).cell.key
    price = prices.flash_per_gib.get(cell, prices.flash_per_gib.get(None))
    if price is None:
        raise ConfigError(f"prices.flash_per_gib: expected a price of {cell}, the cells of this drive")
    flash_usd, dram_usd = flash / _GIB * price, dram / _GIB * prices.dram_per_gib
    controller = float(config["channels"]) * prices.channel
    total = flash_usd + dram_usd + controller + prices.drive
    return {
        **found,
        "cost.flash_usd": flash_usd,
        "cost.dram_usd": dram_usd,
        "cost.controller_usd": controller,
        "cost.total_usd": total,
        "cost.usd_per_gib": total / (capacity / _GIB),
    }


def _map_bytes(config: Mapping[str, Any], plan: Mapping[str, Any], page: int) -> float:
    """Bytes of the map in DRAM: an entry a mapping unit, the cache of `dftl`, or an entry a block."""
    ftl = config["ftl"]
    if ftl["kind"] == "dftl":
        return number_of(ftl.get("cache_bytes")) or 0.0
    logical = int(plan["logical_pages"])
    if ftl["kind"] == "page":
        unit = number_of(ftl.get("map_unit")) or page
        return _ENTRY * logical * page / unit
    return _ENTRY * logical / float(config["pages_per_block"])


def _price(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ConfigError(f"prices.{key}: {value!r}: expected a price in USD, a number from 0")
    return float(value)
