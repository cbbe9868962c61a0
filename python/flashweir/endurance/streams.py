"""A workload that goes on: as many cycles of it as a stretch takes.

A generator that counts its requests is given a larger count: it then begins with the same requests and goes on without
repeating itself. A trace, and a generator that ends by itself, is repeated: written once to a scratch file, then as
often as asked, each cycle later than the one before by its duration and a mean inter-arrival time.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir import api
from flashweir._native import ConfigError

if TYPE_CHECKING:
    import polars as pl

_COUNT = re.compile(r"(?<=[:,])count=(\d+)")
_COLUMNS = "time=time_ns:ns,op=op,lba=lba,size=sectors,handle=handle"
# Options whose meaning depends on the length of the workload.
_LENGTHS = ("duration", "align", "limit")
# Options of reading a trace, which its scratch file does without.
_READING = ("format", "columns", "skip_bad", "hint", "ops")
_ALONE = "workload"


@dataclass
class _Stream:
    """One workload: the spec of a generator that counts, or a table of requests."""

    name: str | None
    spec: str
    options: Mapping[str, Any]
    count: int = 0
    requests: "pl.DataFrame | None" = None
    trace: Mapping[str, Any] | None = None
    path: str | None = None

    @property
    def shown(self) -> str:
        """Name of the file, or the spec of a generator."""
        return self.spec if self.path is None else Path(self.path).name


class Streams:
    """The workloads of a run, repeatable."""

    def __init__(self, plan: Mapping[str, Any], reading: Mapping[str, Any], scratch: Path) -> None:
        """Reads what has to be repeated.

        Args:
            plan: of the run, as the native module resolves it.
            reading: `format`, `columns`, `skip_bad` and `hint` of the run.
            scratch: a folder.

        Raises:
            ConfigError: a workload can't be repeated.
            TraceError: a trace can't be read.
        """
        self._scratch = scratch
        self._streams = [self._read(one, reading, len(plan["workloads"]) == 1) for one in plan["workloads"]]

    @property
    def whole(self) -> bool:
        """True if stretches are whole cycles, because a cycle is a recording with parts of its own."""
        return any(one.requests is not None for one in self._streams)

    @property
    def traces(self) -> list[dict[str, Any]]:
        """Each workload with the report of its reading, which says what was assumed; null of a generator."""
        return [{"workload": one.name or one.shown, "trace": one.trace} for one in self._streams]

    def share_of(self, requests: int) -> float:
        """Share of a cycle with at most so many requests of each generator; 1 where there is a recording."""
        if self.whole:
            return 1.0
        return min(1.0, requests / max(one.count for one in self._streams))

    def cycles(self, count: float) -> dict[str, dict[str, Any]]:
        """So many cycles as the workloads of a run, by name."""
        return {one.name or _ALONE: self._extended(one, count) for one in self._streams}

    def _extended(self, one: _Stream, count: float) -> dict[str, Any]:
        if one.requests is None:
            text = _COUNT.sub(f"count={max(1, round(one.count * count))}", one.spec)
            return {"workload": text, **one.options}
        path = self._scratch / f"{one.name or _ALONE}-cycles.parquet"
        _repeated(one.requests, max(1, round(count))).write_parquet(path)
        return {"workload": os.fspath(path), "columns": _COLUMNS, **one.options}

    def _read(self, one: Mapping[str, Any], reading: Mapping[str, Any], alone: bool) -> _Stream:
        options = dict(one["options"])
        if (long := next((name for name in _LENGTHS if name in options), None)) is not None:
            raise ConfigError(f"workload {one['name']}: {long}: a workload that is repeated can't have it")
        # The canonical spec names the seed; each run replaces it.
        spec = str(one["spec"])
        canonical = str(one.get("workload", ""))
        counted = _COUNT.search(canonical)
        if "path" not in one and counted is not None and "written=" not in spec:
            return _Stream(one["name"], canonical, options, int(counted[1]))
        if "path" not in one and not alone:
            raise ConfigError(f"workload {one['name']}: {spec}: among others only traces and generators with a count "
                              "can be repeated")  # fmt: skip
        import polars as pl

        target = self._scratch / f"{one['name'] or _ALONE}.parquet"
        report = None
        if "path" in one:
            read = {name: options.get(name, reading.get(name)) for name in ("format", "columns", "skip_bad", "hint")}
            options_read = {name: value for name, value in read.items() if value}
            report = api.trace_convert(one["path"], target, **options_read).to_dict()
        else:
            api.trace_generate(canonical, target)
        requests = pl.read_parquet(target, columns=["time_ns", "op", "lba", "sectors", "handle"])
        if kept := options.get("ops"):
            requests = requests.filter(pl.col("op").is_in(str(kept).split(",")))
        target.unlink()
        rest = {name: value for name, value in options.items() if name not in _READING}
        return _Stream(one["name"], spec, rest, requests.height, requests, report, one.get("path"))


def _repeated(requests: "pl.DataFrame", cycles: int) -> "pl.DataFrame":
    """So many cycles, one after the other."""
    import polars as pl

    first, last = requests["time_ns"].min(), requests["time_ns"].max()
    if not isinstance(first, int) or not isinstance(last, int):
        return requests
    period = last - first + (last - first) // max(1, requests.height - 1)
    return pl.concat([requests.with_columns(pl.col("time_ns") - first + turn * period) for turn in range(cycles)])
