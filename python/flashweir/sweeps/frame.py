"""What a sweep gives back: a polars frame that knows the directory it came from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from flashweir._native import ConfigError
from flashweir.sweeps import store


class SweepFrame(pl.DataFrame):
    """A row a run: `key`, `point`, `seed`, `workload`, the axes, the derived columns, the result's numbers, `error`.

    Any operation of polars works; what comes out of one (`filter`, `group_by`) is a plain frame of polars.
    """

    directory: Path | None = None
    meta: dict[str, Any] | None = None

    @property
    def axes(self) -> list[str]:
        """Names of the axes, in the order of the spec."""
        return [axis["name"] for axis in (self.meta or {}).get("axes", [])]

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

    def _repr_html_(self, **options: bool) -> str:
        """What a notebook shows: what was swept, then the table."""
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
