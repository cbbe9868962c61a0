"""A run's row: where it stands in the grid, the numbers of its result as columns, and the result as JSON text."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError
from flashweir.arguments import SET
from flashweir.results.run import Run as Structure
from flashweir.results.section import unit_of
from flashweir.sweeps.numbers import number_of_stream, numbers, of_streams
from flashweir.sweeps.points import Run
from flashweir.sweeps.spec import SweepSpec

if TYPE_CHECKING:
    import polars as pl

# Metrics shown of a sweep whose author named none.
USUAL_METRICS = (
    "iops",
    "latency_us.read.mean",
    "latency_us.read.p99",
    "latency_us.write.mean",
    "latency_us.write.p99",
    "write_amplification",
)
OPERATIONS = ("write", "read")
# Columns before the axes.
FIRST = ("key", "point", "seed", "workload")
LAST = ("error", "result")
# Before the result of a line. Quotes within a text are escaped, and no other value is an object: the first one is it.
_RESULT = b',"result":'
_EXPECTED = "expected a run with key, point, seed, workload, error and result"


def shown_metrics(frame: "pl.DataFrame", meta: Mapping[str, Any]) -> list[str]:
    """Columns to show of a sweep: what its author named, else the usual ones that differ; and what it derives."""
    named = list(meta.get("metrics") or ())
    has = {name for name in frame.columns if name != "error" and frame[name].drop_nulls().len()}
    there = [name for name in named or USUAL_METRICS if name in has]
    if not any(map(_operation, there)):
        # Runs without the operation that was named have latencies of the other one.
        there += [other for name in named if (other := _of_other_operation(name)) in has]
    if not named:
        there = [name for name in there if frame[name].drop_nulls().n_unique() > 1] or there
    derived = [name for name in meta.get("derived") or () if name in has]
    # In a run that takes no time, nothing else has a value.
    return list(dict.fromkeys([*there, *derived])) or [name for name in ("requests",) if name in has]


def _operation(metric: str) -> str:
    """The operation whose latency a metric is; empty if it is none."""
    return next((name for name in OPERATIONS if metric.startswith(f"latency_us.{name}.")), "")


def _of_other_operation(metric: str) -> str:
    """The same latency of reads instead of writes, or the other way round."""
    operation = _operation(metric)
    other = OPERATIONS[1 - OPERATIONS.index(operation)] if operation else ""
    return metric.replace(f"latency_us.{operation}.", f"latency_us.{other}.") if operation else ""


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
    for name in of_streams(spec.metrics):
        row.setdefault(name, number_of_stream(result, name))
    # Columns of the row keep their place and their value.
    return {**row, **numbers(result), **row, "error": None, "result": text}


def failed(spec: SweepSpec, run: Run, key: str | None, error: Exception | str) -> dict[str, Any]:
    """The row of a run that gave none."""
    text = " ".join(str(error).removeprefix(SET).split()) or type(error).__name__
    return {
        **_start(run, key),
        **dict.fromkeys((*spec.derived, *of_streams(spec.metrics))),
        "error": text,
        "result": None,
    }


def _start(run: Run, key: str | None) -> dict[str, Any]:
    return {"key": key, "point": run.point, "seed": run.seed, "workload": run.workload, **run.axes}


def line(row: Mapping[str, Any]) -> bytes:
    """The row as a line of JSON, in which the result is an object."""
    rest = {name: value for name, value in row.items() if name != "result"}
    head = json.dumps(rest, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f'{head[:-1]},"result":{row["result"] or "null"}}}\n'.encode()


def of_line(text: bytes) -> tuple[dict[str, Any] | None, str]:
    """A line as a row, with its result as text; or what is wrong with it."""
    try:
        # From bytes JSON would take any encoding of Unicode.
        row = json.loads(text.decode())
        right = (
            all(isinstance(row[name], int) for name in ("point", "seed"))
            and all(isinstance(row[name], str | None) for name in ("key", "error", "workload"))
            and isinstance(row["result"], dict | None)
            and all(isinstance(value, str | int | float | None) for name, value in row.items() if name != "result")
        )
        result = _result_text(text, row) if right and row["result"] is not None else None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return None, " ".join(str(error).split()) if isinstance(error, ValueError) else _EXPECTED
    if not right:
        return None, _EXPECTED
    return {**row, "result": result}, ""


def _result_text(text: bytes, row: dict[str, Any]) -> str:
    """The result of a line as JSON text: as it stands there if it stands last, which is where `line` writes it."""
    _, found, rest = text.partition(_RESULT)
    if found and next(reversed(row)) == "result":
        return rest.rstrip()[:-1].decode()
    return json.dumps(row["result"], separators=(",", ":"))


def units(columns: Iterable[str]) -> dict[str, str]:
    """Metadata of a Parquet file: `units`, JSON with the unit of every column that has one."""
    return {"units": json.dumps({name: unit for name in columns if (unit := unit_of(name, Structure))})}
