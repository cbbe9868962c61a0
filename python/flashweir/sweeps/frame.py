"""Result of a sweep: a polars frame that knows the directory it came from."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from flashweir._native import ConfigError
from flashweir.sweeps import store
from flashweir.sweeps.rows import shown_metrics

if TYPE_CHECKING:
    from flashweir.charts.model import Chart


# Histograms of more runs take too much memory: some 30 KB each.
MAX_POOLED = 5000


class SweepFrame(pl.DataFrame):
    """A row a run: `key`, `point`, `seed`, `workload`, the axes, the derived columns, the result's numbers, `error`.

    Any operation of polars works; what comes out of one (`filter`, `group_by`) is a plain frame of polars.
    """

    directory: Path | None = None
    meta: dict[str, Any] | None = None
    _found: dict[str, Any] | None = None
    # A summary by its metrics, with the frame it was made of: the bootstrap takes its time, and report and figures ask.
    _summaries: dict[tuple[str, ...], tuple[pl.DataFrame, pl.DataFrame]] | None = None

    @property
    def axes(self) -> list[str]:
        """Names of the axes, in the order of the spec."""
        return [axis["name"] for axis in (self.meta or {}).get("axes", [])]

    @property
    def pooled(self) -> bool:
        """True if latency quantiles of `summary` are those of all requests: not so of very many runs."""
        return self.height <= MAX_POOLED

    def results(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Every run that gave a result: its row, and the whole result as `Result.to_dict()` has it.

        They are read from the directory one after the other, in the order in which they were written.

        Raises:
            ConfigError: the frame has no directory.
        """
        if self.directory is None:
            raise ConfigError("this frame has no directory: take results() of what sweep() returned")
        for row in store.rows(self.directory):
            text = row.pop("result")
            if text is not None:
                yield row, json.loads(text)

    def summary(self, metrics: Sequence[str] | None = None) -> pl.DataFrame:
        """A row a setting: how many runs, and mean, `low` and `high` of each metric over the seeds.

        Latency quantiles are those of all seeds' requests together (docs/concepts/statistics.md); of sweeps with over
        5,000 runs they are means of the seeds' quantiles, for which the histograms need not be in memory.

        Args:
            metrics: columns; those that the spec names, or the usual ones, if not given.
        """
        from flashweir import statistics

        wanted = self._metrics(metrics)
        self._summaries = self._summaries or {}
        of, found = self._summaries.get(tuple(wanted), (None, None))
        if found is None or of is None or not of.equals(self):
            found = statistics.summarize(self, wanted, histograms=self._histograms if self.pooled else None)
            self._summaries[tuple(wanted)] = pl.DataFrame(self), found
        return found.clone()

    def compare(
        self, axis: str | None = None, metrics: Sequence[str] | None = None, baseline: object = None
    ) -> pl.DataFrame:
        """Each value of an axis against the baseline, runs of the same seed and setting paired.

        Args:
            axis: what is compared; the spec's `compare` if not given.
            metrics: columns; those that the spec names, or the usual ones, if not given.
            baseline: the value that the others are compared with; the spec's, or the first one.

        Raises:
            ConfigError: no axis is given and the spec names none, or there is no such axis, metric or value.
        """
        from flashweir import statistics

        meta = self._described()
        axis = axis or meta["compare"]
        if axis is None:
            raise ConfigError(
                f"compare: expected an axis: one of {', '.join(self.axes) or 'none, this sweep has none'}"
            )
        if baseline is None and axis == meta["compare"]:
            baseline = meta["baseline"]
        # Axes that advance with this one don't stay the same; and where it does not act, nothing differs.
        together = {name for group in meta.get("zipped", []) if axis in group for name in group}
        others = [name for name in self.axes if name == axis or name not in together]
        acting = self.filter(self[axis].is_not_null()) if axis in self.columns else self
        return statistics.compare(acting, axis, self._metrics(metrics), baseline, by=others)

    def figures(self) -> "list[Chart]":
        """All figures that the sweep has the data for (docs/reference/figures.md)."""
        from flashweir import charts

        return charts.figures(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the report of the sweep as one HTML file (docs/reference/report.md)."""
        from flashweir.reports import page, sweep

        meta = self._described()
        page.write(Path(path), f"Sweep {meta['name']}", sweep.report_of_sweep(self, meta))

    def _described(self) -> dict[str, Any]:
        if self.meta is None:
            raise ConfigError("this frame is no sweep: take what sweep() or read_sweep() returned")
        return self.meta

    def _metrics(self, given: Sequence[str] | None) -> list[str]:
        return shown_metrics(self, self._described()) if given is None else list(given)

    def _histograms(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        """Latency histograms of runs, by their keys: read once, since a setting's runs may lie in any file."""
        import numpy as np

        if self._found is None:
            self._found = {}
            for row, result in self.results():
                histograms = result["latency_histogram_ns"].items()
                self._found[row["key"]] = {op: np.asarray(pairs, dtype=np.int64) for op, pairs in histograms}
        return [self._found[key] for key in keys]

    def _repr_html_(self, **options: bool) -> str:
        """HTML of a notebook: the axes of the sweep, then the table."""
        table: str = super()._repr_html_(**options)
        if self.meta is None:
            return table
        from html import escape

        axes = ", ".join(f"{axis['name']} ({len(axis['values'])})" for axis in self.meta["axes"]) or "no axes"
        failed = self["error"].is_not_null().sum()
        text = (
            f"{self.meta['name']}: {self.height:,} of {self.meta['runs']:,} runs over {axes} and "
            f"{len(self.meta['seeds'])} seeds; {failed:,} failed"
        )
        return f"<p>{escape(text)}</p>{table}"


def read(directory: Path) -> SweepFrame:
    """Reads a sweep, finished or not.

    Raises:
        ConfigError: the directory holds no sweep.
        FlashweirError: a file of it is damaged.
    """
    meta = store.read_meta(directory)
    found = SweepFrame(store.frame(directory))
    found.directory = directory
    found.meta = meta
    return found
