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
            found = dict(_within("", stream)).get(rest.removeprefix(name))
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


def numbers(result: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Each number of a result with its dotted name; None where the result has null."""
    for name, value in result.items():
        if name not in NOT_METRICS and not (value is None and name in OBJECTS):
            yield from _within(name, value)


def _within(name: str, value: object) -> Iterator[tuple[str, float | None]]:
    if isinstance(value, Mapping):
        for part, inner in value.items():
            yield from _within(f"{name}.{part}", inner)
    elif value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        yield name, value
