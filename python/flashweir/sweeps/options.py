"""Options of a sweep's spec that hold for every run: seeds and options."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashweir._native import ConfigError
from flashweir.api import simulate
from flashweir.options.option import is_whole, options_of

MAX_SEED = 2**64 - 1
# Options of every run, as keys of a spec.
RUN_OPTIONS = {name: one for name, one in options_of(simulate).items() if one.option.in_sweeps}


def read_seeds(given: object) -> list[int]:
    """The seeds that a spec asks for: how many, a list, or a first one and how many.

    Raises:
        ConfigError: it is none of these, or a seed is out of range or given twice.
    """
    if isinstance(given, Mapping) and set(given) == {"first", "count"}:
        first, count = given["first"], given["count"]
    elif isinstance(given, int) and not isinstance(given, bool):
        first, count = 1, given
    elif isinstance(given, Sequence) and not isinstance(given, str):
        seeds = list(given)
        if not seeds or not all(is_whole(seed, 0, MAX_SEED) for seed in seeds) or len(set(seeds)) < len(seeds):
            raise ConfigError(f"seeds: expected different whole numbers from 0 to {MAX_SEED}")
        return seeds
    else:
        raise ConfigError("seeds: expected how many, a list, or {first = 1, count = 10}")
    if not is_whole(count, 1, 10_000_000) or not is_whole(first, 0, MAX_SEED + 1 - count):
        raise ConfigError(f"seeds: expected a count of at least 1, and seeds from 0 to {MAX_SEED}")
    return list(range(first, first + count))


def read_options(table: Mapping[str, Any]) -> dict[str, object]:
    """Options of every run, checked for their types; what they mean is the engine's to say.

    Raises:
        ConfigError: an option of another type.
    """
    found: dict[str, object] = {key: table[key] for key in RUN_OPTIONS if key in table}
    for key, value in found.items():
        if expected := RUN_OPTIONS[key].option.refusal(value):
            raise ConfigError(f"{key}: {value!r}: {expected.replace('True or False', 'true or false')}")
    return found
