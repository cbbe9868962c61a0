"""The numbers of a result, which are the metrics of a sweep."""

from collections.abc import Iterator, Mapping
from typing import Any

# Parts of a result that are no single numbers, or that a row says already.
NOT_METRICS = ("config", "streams", "channels", "latency_histogram_ns", "workloads", "series", "activity", "seed")


def numbers(result: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Each number of a result with its dotted name; None where the result has null."""
    for name, value in result.items():
        if name not in NOT_METRICS:
            yield from _within(name, value)


def _within(name: str, value: object) -> Iterator[tuple[str, float | None]]:
    if isinstance(value, Mapping):
        for part, inner in value.items():
            yield from _within(f"{name}.{part}", inner)
    elif value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        yield name, value
