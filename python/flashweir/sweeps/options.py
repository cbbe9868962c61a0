"""Options of a sweep's spec that hold for every run: seeds and options."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashweir._native import ConfigError

MAX_SEED = 2**64 - 1


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
        if not seeds or not all(_is_whole(seed, 0, MAX_SEED) for seed in seeds) or len(set(seeds)) < len(seeds):
            raise ConfigError(f"seeds: expected different whole numbers from 0 to {MAX_SEED}")
        return seeds
    else:
        raise ConfigError("seeds: expected how many, a list, or {first = 1, count = 10}")
    if not _is_whole(count, 1, 10_000_000) or not _is_whole(first, 0, MAX_SEED + 1 - count):
        raise ConfigError(f"seeds: expected a count of at least 1, and seeds from 0 to {MAX_SEED}")
    return list(range(first, first + count))


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def read_options(table: Mapping[str, Any]) -> dict[str, object]:
    """Options of every run, checked for their types; what they mean is the engine's to say.

    Raises:
        ConfigError: an option of another type.
    """
    kinds = {
        "verify": bool,
        "latency_parts": bool,
        "wrap": bool,
        "alone": bool,
        "format": str,
        "columns": str,
        "skip_bad": int,
        "warmup": str,
        "activity": str,
        "explain": str,
    }
    found: dict[str, object] = {}
    for key, kind in kinds.items():
        if key in table:
            value = table[key]
            if not (_is_whole(value, 0, MAX_SEED) if kind is int else isinstance(value, kind)):
                names = {bool: "true or false", str: "a text", int: "a whole number of at least 0"}
                raise ConfigError(f"{key}: {value!r}: expected {names[kind]}")
            found[key] = value
    return found
