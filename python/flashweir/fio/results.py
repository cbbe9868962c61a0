"""Results of fio, JSON or JSON+ of versions 2 and 3, as results of runs: a run for each job.

Times in fio 3 are ns (`clat_ns`), in fio 2 us (`clat`); bandwidths are bytes a second (`bw_bytes`) or KiB a second
(`bw`). Completion latencies are taken, or total ones where fio kept percentiles of these alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashweir import jsontext
from flashweir._native import ConfigError
from flashweir.arguments import check_file, in_python
from flashweir.result import Result
from flashweir.results.measured import MIB, measured, nothing

VERSION = "fio version"
_OPS = ("read", "write", "trim")
_QUANTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9, "p9999": 99.99}
_KIB = 1 << 10
_ALL_CLIENTS = "All clients"
_NEAR = 1e-6
_MAX = 1e30
# Latencies, those that are wanted first, and what makes them us.
_SCALES = {"clat_ns": 1e-3, "clat": 1.0, "lat_ns": 1e-3, "lat": 1.0}
Json = dict[str, Any]


@dataclass(frozen=True)
class Jobs:
    """The JSON of fio, not yet checked."""

    data: Json


@in_python
def read_fio(file: "str | Path") -> dict[str, Result]:
    """Results of fio by job, in the form of those of `simulate`, for `report` and for reading beside others.

    Args:
        file: what `fio --output-format=json` or `json+` wrote, by fio 2 or 3.

    Returns:
        `latency_us`, `iops`, `bandwidth_mib_s`, `requests` and `measured` of each job; `latency_histogram_ns` of JSON+.
        Fields that only a simulation has are None or empty.

    Raises:
        ConfigError: the file can't be read, or is no result of fio.
    """
    check_file("file", file)
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: {getattr(error, 'strerror', None) or error}; expected a result of fio") from error
    try:
        data = parsed(text)
    except jsontext.TwiceError as error:
        raise ConfigError(f"{file}: {error}; expected each key once") from error
    if data is None:
        raise ConfigError(f"{file}: no result of fio: expected what fio --output-format=json+ writes")
    return {name: Result(json.dumps(result)) for name, result in runs(data, str(file)).items()}


def parsed(text: str) -> Json | None:
    """The result of fio in a text, before which fio may have written notes; None if there is none.

    Raises:
        TwiceError: a key is there twice, with different values.
    """
    if f'"{VERSION}"' not in text:
        return None
    start = text.find("{") if text.lstrip().startswith("{") else text.find("\n{") + 1
    try:
        value, _ = json.JSONDecoder(object_pairs_hook=jsontext.of_pairs).raw_decode(text, start)
    except jsontext.TwiceError:
        raise
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and VERSION in value else None


def runs(data: Json, file: str) -> dict[str, Json]:
    """A result for each job, by its name.

    Raises:
        ConfigError: a field is missing or of another kind.
    """
    jobs = data.get("jobs", data.get("client_stats"))
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise ConfigError(f"{file}: jobs: expected a list of jobs, as fio --output-format=json writes")
    jobs = [job for job in jobs if job.get("jobname") != _ALL_CLIENTS]
    if not jobs:
        raise ConfigError(f"{file}: jobs: expected one job at least")
    found: dict[str, Json] = {}
    for number, job in enumerate(jobs):
        name = str(job.get("jobname", f"job{number + 1}"))
        name += f"@{job['hostname']}" if "hostname" in job else ""
        count, base = 1, name
        while name in found:
            count += 1
            name = f"{base}-{count}"
        found[name] = _Job(job, f"{file}: jobs[{number}]").result(str(data[VERSION]), name)
    return found


class _Job:
    """One job of a result of fio."""

    def __init__(self, job: Mapping[str, Any], where: str) -> None:
        self._job = job
        self._where = where
        if "mixed" in job:
            raise ConfigError(f"{where}.mixed: expected a job without unified_rw_reporting: reads and writes apart")

    def result(self, version: str, name: str) -> Json:
        """The result of a run, with nothing that only a simulation has."""
        sides = {op: self._object(self._job, op) for op in _OPS if isinstance(self._job.get(op), dict)}
        if not sides:
            raise ConfigError(f"{self._where}: expected read, write or trim with latencies and rates")
        latencies = {op: self._latencies(side, op) for op, side in sides.items()}
        sync = self._job.get("sync")
        latencies["flush"] = self._latencies(sync, "sync") if isinstance(sync, dict) else nothing()
        counts = {op: latencies[op]["count"] for op in sides}
        seconds = max(self._number(side, op, "runtime") for op, side in sides.items()) / 1000
        options = self._job.get("job options")
        return measured(
            version,
            requests=sum(counts.values()),
            seconds=seconds,
            iops=sum(self._number(side, op, "iops") for op, side in sides.items()),
            mib_s=sum(self._bandwidth(side, op) for op, side in sides.items()) / MIB,
            latencies=latencies,
            histograms={op: bins for op, side in sides.items() if (bins := _bins(side))},
            config=options if isinstance(options, dict) else {},
            more={
                "job": name,
                "latency": self._kind(sides),
                "error": self._job.get("error", 0),
                "by_op": {op: {"iops": self._number(side, op, "iops"), "requests": counts[op],
                               "bandwidth_mib_s": self._bandwidth(side, op) / MIB} for op, side in sides.items()},
            },
        )  # fmt: skip

    def _object(self, holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        value = holder.get(name)
        if not isinstance(value, dict):
            raise ConfigError(f"{self._where}.{name}: expected an object")
        return value

    def _number(self, side: Mapping[str, Any], op: str, name: str) -> float:
        value = side.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX:
            raise ConfigError(f"{self._where}.{op}.{name}: expected a number, found {json.dumps(value)[:40]}")
        return float(value)

    def _bandwidth(self, side: Mapping[str, Any], op: str) -> float:
        """Bytes a second."""
        return self._number(side, op, "bw_bytes") if "bw_bytes" in side else self._number(side, op, "bw") * _KIB

    def _latencies(self, side: Mapping[str, Any], op: str) -> Json:
        found = _times(side)
        if found is None:
            raise ConfigError(f"{self._where}.{op}: expected latencies, clat_ns (fio 3) or clat (fio 2)")
        times, scale, kind = found
        bins = _bins(side)
        count = times.get("N", side.get("total_ios"))
        count = int(self._number({"N": count}, f"{op}.{kind}", "N")) if count is not None else 0
        if not count:
            return nothing()
        row: Json = {"count": count}
        for name in ("mean", "max"):
            row[name] = self._number(times, f"{op}.{kind}", name) * scale
        given = times.get("percentile")
        for name, percent in _QUANTILES.items():
            row[name] = _quantile(given, percent, scale)
            if row[name] is None and bins:
                row[name] = _quantile_of(bins, percent)
        return {name: row[name] for name in ("count", "mean", *_QUANTILES, "max")}

    def _kind(self, sides: Mapping[str, Mapping[str, Any]]) -> str:
        kinds = [times[2] for side in sides.values() if (times := _times(side)) is not None]
        return "total" if kinds and all(kind.startswith("lat") for kind in kinds) else "completion"


def _times(side: Mapping[str, Any]) -> tuple[Mapping[str, Any], float, str] | None:
    """Latencies of an operation, the factor that makes them us, and their name: those with percentiles first."""
    there = [(side[name], scale, name) for name, scale in _SCALES.items() if isinstance(side.get(name), dict)]
    return next((one for one in there if one[0].get("percentile")), there[0] if there else None)


def _quantile(given: object, percent: float, scale: float) -> float | None:
    """A percentile that fio wrote, in us."""
    for key, value in given.items() if isinstance(given, dict) else ():
        try:
            if abs(float(key) - percent) < _NEAR and isinstance(value, int | float) and 0 <= value < _MAX:
                return float(value) * scale
        except ValueError:
            continue
    return None


def _bins(side: Mapping[str, Any]) -> list[list[int]]:
    """The histogram of JSON+: pairs of ns and count; empty of plain JSON and of fio 2, which numbers its bins."""
    found = _times(side)
    bins = found[0].get("bins") if found is not None and found[1] < 1 else None
    if not isinstance(bins, dict) or not all(
        str(key).isdecimal() and isinstance(one, int) for key, one in bins.items()
    ):
        return []
    return sorted([int(key), count] for key, count in bins.items() if count)


def _quantile_of(bins: list[list[int]], percent: float) -> float:
    left = sum(count for _, count in bins) * percent / 100
    for time, count in bins:
        left -= count
        if left <= _NEAR:
            return time / 1000
    return bins[-1][0] / 1000
