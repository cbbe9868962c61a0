"""Kinds of cells: rated cycles, and parameters of their error rate (cells.toml has the sources)."""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flashweir._native import ConfigError

# Without any hint: the cell of most drives that are sold.
_USUAL = "tlc"
_BY_PAGE_TYPES = {2: "mlc", 3: "tlc", 4: "qlc"}


@dataclass(frozen=True)
class Errors:
    """Parameters of the raw bit error rate; `per` says which reads count, those of a block or of a page."""

    source: str
    measured_cycles: float
    epsilon: float
    alpha: float
    k: float
    beta: float
    m: float
    n: float
    gamma: float
    p: float
    q: float
    per: str


@dataclass(frozen=True)
class Cell:
    """A kind of cell. `errors` is None where no parameters are known."""

    key: str
    name: str
    cycles: float
    errors: Errors | None


@dataclass(frozen=True)
class Rating:
    """Rated cycles with their source, the kind of cell, and how it is known."""

    cycles: float
    source: str
    cell: Cell
    cell_source: str


def rating(device: object, config: Mapping[str, Any], cell: str | None, cycles: float | None) -> Rating:
    """The rating of a drive: as given, or typical of its cells.

    The cell is the one given, else that of the preset, else that of `nand.cell`, else by the number of page types with
    times of their own, else TLC.

    Args:
        device: as given to a run; a text may be a preset's name.
        config: the complete configuration.
        cell: `slc`, `mlc`, `tlc` or `qlc`.
        cycles: rated cycles.

    Raises:
        ConfigError: there is no such cell, or the cycles are no number above 0.
    """
    kinds, presets = _table()
    own = config.get("ageing", {})
    if own.get("kind", "none") != "none":
        cell, cycles = _of_ageing(own, cell, cycles)
    if cell is not None and cell not in kinds:
        raise ConfigError(f"cell {cell}: expected {', '.join(kinds)}")
    types = _page_types(config)
    named = config.get("nand", {}).get("cell")
    if cell is not None:
        found, why = kinds[cell], "given"
    elif isinstance(device, str) and device in presets:
        found, why = kinds[presets[device]], f"of the preset {device}"
    elif named in kinds:
        found, why = kinds[named], "by nand.cell"
    elif types in _BY_PAGE_TYPES:
        found, why = kinds[_BY_PAGE_TYPES[types]], f"by its {types} page types"
    else:
        found, why = kinds[_USUAL], "assumed: the drive does not say its cells"
    if cycles is not None:
        return Rating(cycles, "given", found, why)
    return Rating(found.cycles, f"typical of {found.name}", found, why)


def _of_ageing(own: Mapping[str, Any], cell: str | None, cycles: float | None) -> tuple[str | None, float | None]:
    """Cell and rated cycles as the keys of ageing have them, or as they are given.

    Raises:
        ConfigError: both say something else.
    """
    for key, given in (("cell", cell), ("rated_cycles", cycles)):
        if given is not None and own[key] not in ("auto", given):
            raise ConfigError(f"{key} {given}: the drive has ageing.{key} = {own[key]}")
    of_drive = None if own["cell"] == "auto" else str(own["cell"])
    rated = None if own["rated_cycles"] == "auto" else float(own["rated_cycles"])
    return cell or of_drive, cycles if rated is None else rated


def _page_types(config: Mapping[str, Any]) -> int:
    times = config.get("timing", {})
    # Where word lines are programmed as one, the times of programs are those of passes.
    by_page = config.get("nand", {}).get("programs", "page") == "page"
    lists = (times.get("read"), times.get("program") if by_page else None)
    return max(len(value) if isinstance(value, list) else 1 for value in lists)


@functools.cache
def _table() -> tuple[dict[str, Cell], dict[str, str]]:
    from importlib import resources

    table = tomllib.loads(resources.files("flashweir.endurance").joinpath("cells.toml").read_text("utf-8"))
    presets = table.pop("presets")
    kinds = {
        key: Cell(key, one["name"], float(one["cycles"]), Errors(**one["errors"]) if "errors" in one else None)
        for key, one in table.items()
    }
    return kinds, presets
