"""The result of a run: its JSON as mappings with attributes, and the per-request log as a frame."""

import json
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir._native import FlashweirError
from flashweir.parts import LatencyParts, parts_of
from flashweir.results.section import Section, structure_of

if TYPE_CHECKING:
    import polars as pl

    from flashweir.results.run import Run as _Run

# Values that a notebook shows first, in this order: path in the result, label, format.
_HEADLINES = (
    ("requests", "requests", "{:,}"),
    ("simulated_s", "simulated", "{:.3f} s"),
    ("iops", "IOPS", "{:,.0f}"),
    ("bandwidth_mib_s", "bandwidth", "{:,.1f} MiB/s"),
    ("latency_us.read.mean", "read latency, mean", "{:,.1f} us"),
    ("latency_us.read.p99", "read latency, p99", "{:,.1f} us"),
    ("latency_us.write.mean", "write latency, mean", "{:,.1f} us"),
    ("latency_us.write.p99", "write latency, p99", "{:,.1f} us"),
    ("write_amplification", "write amplification", "{:.4f}"),
)


class RequestLog:
    """The Parquet file of a per-request log. All copies of a result share it; it is pickled with its content.

    A temporary one is deleted when the last result that reads it is gone.
    """

    def __init__(self, path: Path, scratch: Path | None = None) -> None:
        """Takes the file `path`; `scratch` is the folder to delete with it, None for a file that the caller named."""
        self.path, self._scratch = path, scratch
        if scratch is not None:
            weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)

    def __copy__(self) -> "RequestLog":
        return self

    def __deepcopy__(self, _: object) -> "RequestLog":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._scratch is None:
            return RequestLog, (self.path,)
        return _unpickled_log, (self.path.read_bytes(),)


def _unpickled_log(content: bytes) -> RequestLog:
    scratch = Path(tempfile.mkdtemp(prefix="flashweir-"))
    path = scratch / "requests.parquet"
    path.write_bytes(content)
    return RequestLog(path, scratch)


if not TYPE_CHECKING:
    # The structure is imported where a part of a result is first looked at.
    _Run = Section


class Result(_Run):
    """The result of one run. Its keys are those of the JSON result (docs/reference/result.md).

    `result["requests"]` is the number of requests, as in the JSON; `result.requests` is the per-request log.

    Results can be copied, pickled (with their log) and compared: two are equal if the drive did the same. How long the
    computation took (`wall_s` and the others that end so) does not count.
    """

    def __init__(self, text: str, log: RequestLog | None = None) -> None:
        """Wraps the JSON `text` of a run.

        Args:
            text: the result as JSON.
            log: the per-request log, if one was asked for.
        """
        super().__init__(json.loads(text))
        self._log = log
        self._frame: pl.DataFrame | None = None

    @classmethod
    def _structure_of(cls, key: str) -> type[Section] | None:
        from flashweir.results.run import Run

        return structure_of(Run, key)

    def __eq__(self, other: object) -> bool:
        """Equal to a result of the same values, and to a mapping of them; wall times don't count."""
        if not isinstance(other, Mapping):
            return NotImplemented
        values = other._values if isinstance(other, Section) else other
        return bool(_without_wall_times(self._values) == _without_wall_times(values))

    __hash__ = None  # type: ignore[assignment]  # as of any mapping

    def __getstate__(self) -> dict[str, Any]:
        # The frame is read again from the log.
        return {**self.__dict__, "_frame": None}

    @property
    def config(self) -> dict[str, Any]:
        """The complete configuration of the run; `simulate(..., device=result.config)` repeats it."""
        return Section(self._values["config"]).to_dict()

    @property
    def requests(self) -> "pl.DataFrame":
        """The per-request log, a row a request (docs/reference/result.md has the columns); read once, then kept.

        Raises:
            FlashweirError: the run was not asked for a log with `requests=`.
        """
        if self._log is None:
            raise FlashweirError("this run kept no per-request log: simulate(..., requests=True) does")
        if self._frame is None:
            # Polars takes 60 MB and a quarter of a second, which only this needs.
            import polars as pl

            # As an open file: its name need not be text.
            with self._log.path.open("rb") as file:
                self._frame = pl.read_parquet(file)
        return self._frame

    @property
    def latency_parts(self) -> dict[str, LatencyParts]:
        """Where the latency of each operation goes, by operation; those that took no time are left out.

        `result.latency_parts["read"].wait_erase` is how long reads waited for erases, in us on average.

        Raises:
            FlashweirError: the run kept no account of it, as `latency_parts=True` asks for.
        """
        if self._values.get("latency_parts_us") is None:
            raise FlashweirError("this run kept no account of latencies: simulate(..., latency_parts=True) does")
        return parts_of(self._values)

    def to_json(self, indent: int | None = 2) -> str:
        """The result as JSON text, which `flashweir simulate --json` writes."""
        return json.dumps(self._values, indent=indent)

    def _headlines(self) -> list[tuple[str, str]]:
        """Label and formatted value of what a reader wants first; what this run has not is left out."""
        found = []
        for path, label, layout in _HEADLINES:
            try:
                value = self[path]
            except KeyError:
                continue
            if isinstance(value, (int, float)):
                found.append((label, layout.format(value)))
        return found

    def __repr__(self) -> str:
        return f"<Result: {', '.join(f'{label} {value}' for label, value in self._headlines())}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(label)}</th><td>{escape(value)}</td></tr>"
            for label, value in self._headlines()
        )
        config = escape(json.dumps(self._values.get("config", {}), indent=2))
        return f"<table>{rows}</table><details><summary>configuration</summary><pre>{config}</pre></details>"


def _without_wall_times(value: Any) -> Any:  # noqa: ANN401 - JSON holds anything
    """JSON values less the times that the computation took, at any depth."""
    if isinstance(value, Mapping):
        return {name: _without_wall_times(part) for name, part in value.items() if not str(name).endswith("wall_s")}
    return [_without_wall_times(part) for part in value] if isinstance(value, list) else value
