"""The numbers of a result, which are the metrics of a sweep."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flashweir.results.run import Run
from flashweir.results.section import Section, fields_of, structure_in

# Parts of a result that are no single numbers, or that a row says already.
NOT_METRICS = ("config", "streams", "channels", "latency_histogram_ns", "workloads", "series", "activity", "explain",
               "seed", "no_effect")  # fmt: skip
# Parts that are no numbers where a run has none of theirs.
OBJECTS = ("fairness", "allocation")
STREAMS = "streams."


def of_streams(metrics: Iterable[str]) -> list[str]:
    """Those of some metrics that are numbers of streams: `streams.web.latency_us.read.p99`."""
    return [name for name in metrics if name.startswith(STREAMS)]


def number_of_stream(result: Mapping[str, Any], metric: str) -> float | None:
    """The number of a stream by its dotted name; None if the result has no such stream or number."""
    rest = metric.removeprefix(STREAMS)
    for name, stream in (result.get("streams") or {}).items():
        if rest.startswith(f"{name}."):
            values: dict[str, float | None] = {}
            _gather(values, "", stream)
            found = values.get(rest.removeprefix(name))
            if found is not None:
                return found
    return None


def declared(structure: type[Section] = Run, prefix: str = "") -> Iterator[str]:
    """Dotted names of the numbers that a result may have, as it is declared; without those below keys that are data."""
    for key, one in fields_of(structure).items():
        inner, by_key = structure_in(one.type)
        if (not prefix and key in NOT_METRICS) or by_key or one.field.each:
            continue
        if inner is not None:
            yield from declared(inner, f"{prefix}{key}.")
        elif one.type in (int, float):
            yield f"{prefix}{key}"


def numbers(result: Mapping[str, Any]) -> dict[str, float | None]:
    """The numbers of a result by their dotted names; None where the result has null."""
    found: dict[str, float | None] = {}
    for name, value in result.items():
        if name not in NOT_METRICS and not (value is None and name in OBJECTS):
            _gather(found, name, value)
    return found


def _gather(found: dict[str, float | None], name: str, value: object) -> None:
    """Adds the numbers in `value`, which stands under `name`."""
    # A sweep does this for every run, and the check of an abstract type takes as long as all else.
    kind = type(value)
    if kind is float or kind is int or value is None:
        found[name] = value  # type: ignore[assignment]
    elif kind is dict or isinstance(value, Mapping):
        for part, inner in value.items():  # type: ignore[attr-defined]
            _gather(found, f"{name}.{part}", inner)
    elif isinstance(value, int | float) and kind is not bool:
        found[name] = value
