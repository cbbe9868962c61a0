"""Differences of two results: fields with both values. Times that the computation took are no part of a result."""

from collections.abc import Iterator, Mapping
from typing import Any

# Fields of a result that say what made it, or how it was asked for: settings without effect are left out of the
# complete configuration, so a run of it has none.
_ABOUT = ("version", "no_effect")
ABSENT = object()
_TRACE = "<trace>"

Difference = tuple[str, object, object]


def of_results(packed: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[Difference]:
    """Fields that differ between two results of one run: dotted path, both values, `ABSENT` where there is none."""
    left, right = (
        {key: value for key, value in without_paths(result).items() if key not in _ABOUT} for result in (packed, here)
    )
    return _of(left, right, "")


def _of(packed: object, here: object, where: str) -> Iterator[Difference]:
    if isinstance(packed, Mapping) and isinstance(here, Mapping):
        for key in {**packed, **here}:
            if not str(key).endswith("wall_s"):
                yield from _of(packed.get(key, ABSENT), here.get(key, ABSENT), f"{where}.{key}" if where else str(key))
    elif isinstance(packed, list) and isinstance(here, list) and len(packed) == len(here):
        for rank, (one, other) in enumerate(zip(packed, here, strict=True)):
            yield from _of(one, other, f"{where}[{rank}]")
    elif isinstance(packed, bool) != isinstance(here, bool) or packed != here:
        yield where, packed, here


def without_paths(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result whose traces have no paths: these say where a file was, and not what was in it."""
    workloads = result.get("workloads")
    if not isinstance(workloads, list):
        return {**result}
    return {**result, "workloads": [_without_path(one) for one in workloads]}


def _without_path(workload: object) -> object:
    if not isinstance(workload, Mapping) or "trace" not in workload:
        return workload
    path = str(workload.get("workload"))
    return {key: _replaced(value, path) for key, value in workload.items()}


def _replaced(value: Any, path: str) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return value.replace(path, _TRACE)
    if isinstance(value, Mapping):
        return {key: _replaced(one, path) for key, one in value.items()}
    return [_replaced(one, path) for one in value] if isinstance(value, list) else value
