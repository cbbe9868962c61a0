"""A run's row: where it stands in the grid, the numbers of its result as columns, and the result as JSON text."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from flashweir._native import ConfigError
from flashweir.sweeps.points import Run
from flashweir.sweeps.spec import SweepSpec

# Parts of a result that are no single numbers, or repeat what the row says already.
NOT_METRICS = ("config", "streams", "channels", "latency_histogram_ns", "workloads", "series", "activity", "seed")
# Columns before the axes.
FIRST = ("key", "point", "seed", "workload")
LAST = ("error", "result")


def metrics(result: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """The numbers of a result by dotted name."""
    for name, value in result.items():
        if name not in NOT_METRICS:
            yield from _numbers(name, value)


def _numbers(name: str, value: object) -> Iterator[tuple[str, float | None]]:
    if isinstance(value, Mapping):
        for part, inner in value.items():
            yield from _numbers(f"{name}.{part}", inner)
    elif value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        yield name, value


def finished(spec: SweepSpec, run: Run, key: str | None, text: str) -> dict[str, Any]:
    """The row of a run that gave the result `text`. A derived column over what is not there makes it a failed one."""
    result = json.loads(text)
    row = _start(run, key)
    columns = {**result, **row}
    try:
        for name, expression in spec.derived.items():
            row[name] = columns[name] = expression.value(columns)
    except ConfigError as error:
        return failed(spec, run, key, error)
    for name, value in metrics(result):
        row.setdefault(name, value)
    return {**row, "error": None, "result": text}


def failed(spec: SweepSpec, run: Run, key: str | None, error: Exception | str) -> dict[str, Any]:
    """The row of a run that gave none."""
    text = " ".join(str(error).split()) or type(error).__name__
    return {**_start(run, key), **dict.fromkeys(spec.derived), "error": text, "result": None}


def _start(run: Run, key: str | None) -> dict[str, Any]:
    return {"key": key, "point": run.point, "seed": run.seed, "workload": run.workload, **run.axes}


def line(row: Mapping[str, Any]) -> bytes:
    """The row as a line of JSON, in which the result is an object."""
    rest = {name: value for name, value in row.items() if name != "result"}
    head = json.dumps(rest, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f'{head[:-1]},"result":{row["result"] or "null"}}}\n'.encode()
