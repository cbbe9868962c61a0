"""Required fields of a result (docs/reference/result.md): checked before a report is made of a file from anywhere."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flashweir.parts import LABELS
from flashweir.results import course, drive
from flashweir.results import parts as structures
from flashweir.results.run import Run
from flashweir.results.section import kinds_of

_PAIR = 2
_NUMBER = (int, float)
_NUMBER_OR_NULL = (int, float, type(None))
_KINDS: dict[type, str] = {
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
    type(None): "null",
}

_RUN = kinds_of(Run)
_REQUIRED = ("version", "requests", "simulated_s", "iops", "latency_us", "latency_histogram_ns", "write_amplification",
             "flash", "time_share", "channels", "workloads", "config")  # fmt: skip
_EXPECTED = {key: _RUN[key] for key in _REQUIRED}
# Those that a result may lack, as those of earlier versions, and what they hold.
_OPTIONAL = {key: (*_RUN[key], type(None)) for key in (
    "wall_s", "preconditioning_capacities", "streams", "warmup", "series", "activity", "explain", "collections",
    "power_cuts", "latency_parts_us", "sched", "host", "fairness", "drain", "energy",
)} | {"no_effect": _RUN["no_effect"]}  # fmt: skip
# Parts whose fields are as the structure of a result declares them.
_WARMUP, _ACTIVITY = kinds_of(course.Warmup), kinds_of(course.Activity)
_SERIES = {key: kinds for key, kinds in kinds_of(course.Series).items() if key != "requests_per_window"}
_BINS = kinds_of(course.ChannelCourse)
_TAIL, _WAITED, _EXAMPLE = (kinds_of(one) for one in (structures.Tail, structures.Waited, structures.Example))
_COMMAND = kinds_of(structures.Command)
_COLLECTIONS = {key: kinds for key, kinds in kinds_of(drive.Collections).items() if key != "merged"}
# Fields of a stream that results of earlier versions lack.
_STREAM = {key: kinds for key, kinds in kinds_of(structures.Stream).items() if not key.startswith("latency_")}


def difference(result: object) -> str:
    """Description of the first required field that `result` lacks; empty if it lacks none."""
    if not isinstance(result, dict):
        return "an object"
    return next(_differences(result), "")


# Fields of the result of a replay that a run is made of.
_REPLAY: dict[str, tuple[type, ...]] = {
    "trace": (str,), "target": (dict,), "timing": (str,), "requests": (int,), "elapsed_s": _NUMBER, "iops": _NUMBER,
    "mb_per_s": _NUMBER, "by_op": (dict,), "latency_us": (dict,)}  # fmt: skip


def difference_of_replay(replay: Mapping[str, Any]) -> str:
    """Description of the first required field that the result of a replay lacks; empty if it lacks none."""
    return next(_differences_of_replay(replay), "")


def _differences_of_replay(replay: Mapping[str, Any]) -> Iterator[str]:
    yield from _keys(replay, _REPLAY)
    yield from _keys(replay["by_op"], dict.fromkeys(replay["by_op"], (int,)), "by_op.")
    happened = {operation: latencies for operation, latencies in replay["latency_us"].items() if latencies is not None}
    yield from _objects(list(happened.values()), "latency_us")
    for operation, latencies in happened.items():
        yield from _numbers(latencies, f"latency_us.{operation}")


def _differences(result: Mapping[str, Any]) -> Iterator[str]:
    """One after the other; what comes later relies on what came before being right."""
    yield from _keys(result, _EXPECTED)
    yield from _keys(result, {key: kinds for key, kinds in _OPTIONAL.items() if key in result})
    yield from _numbers(result["time_share"], "time_share")
    yield from _objects(result["channels"], "channels")
    for channel in result["channels"]:
        yield from _numbers(channel, "channels")
    yield from _latencies(result, "")
    streams = result.get("streams") or {}
    yield from _objects(list(streams.values()), "streams")
    for name, stream in streams.items():
        both = dict.fromkeys(("latency_us", "latency_histogram_ns"), (dict,))
        yield from _keys(stream, both, f"streams.{name}.")
        yield from _latencies(stream, f"streams.{name}.")
        yield from _tenant(stream, f"streams.{name}.")
    yield from _numbers(result.get("fairness") or {}, "fairness")
    if result.get("warmup") is not None:
        yield from _keys(result["warmup"], _WARMUP, "warmup.")
    if result.get("series") is not None:
        yield from _series(result["series"])
    if result.get("activity") is not None:
        yield from _activity(result["activity"])
    if result.get("latency_parts_us") is not None:
        yield from _objects(list(result["latency_parts_us"].values()), "latency_parts_us")
        for operation, parts in result["latency_parts_us"].items():
            yield from _keys(parts, dict.fromkeys(LABELS, _NUMBER), f"latency_parts_us.{operation}.")
    if result.get("explain") is not None:
        yield from _explain(result["explain"])
    if result.get("collections") is not None:
        yield from _collections(result["collections"])


def _keys(part: Mapping[str, Any], expected: Mapping[str, tuple[type, ...]], where: str = "") -> Iterator[str]:
    for key, kinds in expected.items():
        if key not in part:
            yield f"key {where}{key}"
        elif not _is(part[key], kinds):
            yield f"key {where}{key} to be {' or '.join(dict.fromkeys(_KINDS[kind] for kind in kinds))}"


def _objects(parts: Sequence[object], where: str) -> Iterator[str]:
    if not all(isinstance(part, dict) for part in parts):
        yield f"key {where} to hold objects"


def _numbers(part: Mapping[str, Any], where: str) -> Iterator[str]:
    for key, value in part.items():
        if not _is(value, _NUMBER_OR_NULL):
            yield f"key {where}.{key} to be a number or null"


def _latencies(part: Mapping[str, Any], where: str) -> Iterator[str]:
    yield from _objects(list(part["latency_us"].values()), f"{where}latency_us")
    for operation, latencies in part["latency_us"].items():
        yield from _numbers(latencies, f"{where}latency_us.{operation}")
    for pairs in part["latency_histogram_ns"].values():
        if not isinstance(pairs, list) or not all(map(_is_pair, pairs)):
            yield f"key {where}latency_histogram_ns to hold pairs of numbers from 0 on"


def _tenant(stream: Mapping[str, Any], where: str) -> Iterator[str]:
    yield from _keys(stream, {key: kinds for key, kinds in _STREAM.items() if key in stream}, where)
    for key in ("bytes", "slowdown"):
        yield from _numbers(stream.get(key) or {}, f"{where}{key}")
    for operation, latencies in (stream.get("alone_latency_us") or {}).items():
        yield from _objects([latencies], f"{where}alone_latency_us")
        yield from _numbers(latencies, f"{where}alone_latency_us.{operation}")


def _series(series: Mapping[str, Any]) -> Iterator[str]:
    yield from _keys(series, _SERIES, "series.")
    windows = len(series["end_s"])
    yield from _list(series["end_s"], _NUMBER, windows, "series.end_s")
    for key in ("requests", "iops", "write_amplification"):
        yield from _list(series[key], _NUMBER_OR_NULL, windows, f"series.{key}")
    for operation, values in series["latency_us"].items():
        yield from _list(values, _NUMBER_OR_NULL, windows, f"series.latency_us.{operation}")


def _activity(activity: Mapping[str, Any]) -> Iterator[str]:
    yield from _keys(activity, _ACTIVITY, "activity.")
    bins = len(activity["dirty_pages"])
    yield from _list(activity["dirty_pages"], _NUMBER, bins, "activity.dirty_pages")
    yield from _objects(activity["channels"], "activity.channels")
    for number, channel in enumerate(activity["channels"]):
        where = f"activity.channels[{number}]."
        yield from _keys(channel, _BINS, where)
        for key in _BINS:
            yield from _list(channel[key], _NUMBER, bins, f"{where}{key}")


def _explain(explain: Mapping[str, Any]) -> Iterator[str]:
    yield from _keys(explain, {"percentile": (str,)}, "explain.")
    for operation in (name for name in explain if name != "percentile"):
        where, tail = f"explain.{operation}.", explain[operation]
        yield from _objects([tail], f"explain.{operation}")
        yield from _keys(tail, _TAIL, where)
        yield from _keys(tail["parts_us"], dict.fromkeys(LABELS, _NUMBER), f"{where}parts_us.")
        if not tail["causes"] or not tail["causes"].keys() <= LABELS.keys():
            yield f"key {where}causes to hold parts of latencies"
        yield from _rows(tail["waited_for"], _WAITED, f"{where}waited_for")
        yield from _rows(tail["examples"], _EXAMPLE, f"{where}examples")
        for example in tail["examples"]:
            yield from _keys(example["parts_us"], dict.fromkeys(LABELS, _NUMBER), f"{where}examples.parts_us.")
            yield from _rows(example["commands"], _COMMAND, f"{where}examples.commands")


def _rows(rows: Sequence[Any], kinds: Mapping[str, tuple[type, ...]], where: str) -> Iterator[str]:
    yield from _objects(rows, where)
    for row in rows:
        yield from _keys(row, kinds, f"{where}.")


def _collections(collections: Mapping[str, Any]) -> Iterator[str]:
    yield from _keys(collections, _COLLECTIONS, "collections.")
    bins = len(collections["max"])
    for key in ("max", "mean"):
        yield from _list(collections[key], _NUMBER, bins, f"collections.{key}")


def _list(values: object, kinds: tuple[type, ...], length: int, where: str) -> Iterator[str]:
    if not isinstance(values, list) or len(values) != length or not all(_is(value, kinds) for value in values):
        yield f"key {where} to be a list of {length} numbers{' or nulls' if type(None) in kinds else ''}"


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == _PAIR and all(_is(part, _NUMBER) and part >= 0 for part in pair)


def _is(value: object, kinds: tuple[type, ...]) -> bool:
    """True if a value is of these kinds: true is no number, and neither is what is infinite as a float."""
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, int | float):
        try:
            return isinstance(value, kinds) and math.isfinite(value)
        except OverflowError:
            return False
    return isinstance(value, kinds)
