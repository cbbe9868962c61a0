"""Runs drives with and without their faults, and notes what each fault costs and what the log of the drive shows.

A drive is *ill* with a symptom if its fault costs at least 20% of the throughput, or makes the 99th percentile of the
response times at least 20% longer, against its twin: the same drive and workload with that fault, and nothing else,
taken away.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir import _native, api
from flashweir._native import FlashweirError
from research.diagnosis.drives import SYMPTOMS, Drive, Purpose, draw

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

COSTS = 0.2
"""Share of throughput, or of the 99th percentile, that a fault costs at least if it makes a drive ill."""


@dataclass(frozen=True)
class Case:
    """A drive, the symptoms that it is ill with, what each fault costs, and what diagnosis says of its log.

    `said` is what is said if the drive's capacity is given, `alone` what the log alone says.
    """

    drive: Drive
    ill: frozenset[str]
    costs: Mapping[str, tuple[float, float]]
    said: Mapping[str, Any]
    alone: Mapping[str, Any]


@cache
def jitter() -> "np.ndarray[Any, Any]":
    """Quantiles of how long a real device took for writes of up to 4 KiB, ns (see the file)."""
    import numpy as np

    text = Path(__file__).with_name("jitter.json").read_text(encoding="utf-8")
    return np.array(json.loads(text)["response_us"]) * 1e3


def cases(purpose: Purpose, count: int, seed: int, threads: int = 2) -> Iterator[Case]:
    """So many drives in the order of their numbers. What no simulation accepts is left out and another one drawn."""
    with ThreadPoolExecutor(threads) as pool:
        number, done = 0, 0
        while done < count:
            batch = range(number, number + max(threads, min(64, count - done)))
            number = batch.stop
            for found in pool.map(lambda number: case(draw(purpose, number, seed)), batch):
                if found is not None and done < count:
                    done += 1
                    yield found


def case(drive: Drive) -> Case | None:
    """Runs a drive with all its faults, and without each; None if it makes no drive."""
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"

        def run(*faults: str) -> "pl.DataFrame":
            settings = drive.with_faults(*faults)
            api.simulate(drive.workload, drive.device, set=settings, requests=log, wrap=True)
            return pl.read_parquet(log)

        try:
            shown = run(*drive.faults)
            costs = {
                fault: _cost(shown, run(*(other for other in drive.faults if other != fault))) for fault in drive.faults
            }
        except FlashweirError:
            return None
        noisy = Path(folder) / "log.msr.csv"
        _write(_noisy(shown, drive), noisy)
        said = json.loads(_native.diagnose(str(noisy), capacity_bytes=drive.settings["capacity"]))
        alone = json.loads(_native.diagnose(str(noisy)))
    ill = frozenset(symptom for symptom in SYMPTOMS if max(costs.get(symptom, (0.0, 0.0))) >= COSTS)
    return Case(drive, ill, costs, said, alone)


def _cost(ill: "pl.DataFrame", well: "pl.DataFrame") -> tuple[float, float]:
    """Share of the throughput that is lost, and by which the 99th percentile is longer (0.2: a fifth)."""

    def measured(log: "pl.DataFrame") -> tuple[float, float]:
        response = (log["completion_ns"] - log["issue_ns"]).quantile(0.99) or 0.0
        return float(log["completion_ns"].max()), max(float(response), 1e3)  # type: ignore[arg-type]

    (ill_ns, ill_p99), (well_ns, well_p99) = measured(ill), measured(well)
    return 1.0 - well_ns / ill_ns, ill_p99 / well_p99 - 1.0


def _noisy(log: "pl.DataFrame", drive: Drive) -> "pl.DataFrame":
    """The log as a real device's jitter would have left it: every response longer by a drawn one, and scaled a bit.

    With one outstanding request at a time each then starts later by what those before it took longer.
    """
    import numpy as np
    import polars as pl

    if drive.noise == 0.0:
        return log
    random = np.random.default_rng(drive.seed)
    response = (log["completion_ns"] - log["issue_ns"]).to_numpy()
    steps = jitter()
    drawn = np.interp(random.random(len(response)), np.linspace(0, 1, len(steps)), steps)
    factor = np.exp(0.1 * drive.noise * random.standard_normal(len(response)))
    longer = (response * factor + drive.noise * drawn).astype(np.int64) - response
    before = np.cumsum(longer) - longer if drive.settings.get("host.queue_depth", 1) == 1 else 0
    issue = log["issue_ns"].to_numpy() + before
    return log.with_columns(
        time_ns=pl.Series(issue), issue_ns=pl.Series(issue), completion_ns=pl.Series(issue + response + longer)
    )


def _write(log: "pl.DataFrame", path: Path) -> None:
    """The log in MSR's format, which has response times, in steps of 100 ns."""
    import polars as pl

    log.select(
        (pl.col("issue_ns") // 100 + 128_166_372_000_000_000).alias("at"),
        pl.lit("drive").alias("host"),
        pl.lit(0).alias("disk"),
        pl.col("op").str.to_titlecase(),
        pl.col("lba") * 512,
        pl.col("sectors") * 512,
        ((pl.col("completion_ns") - pl.col("issue_ns")) // 100).alias("response"),
    ).write_csv(path, include_header=False)
