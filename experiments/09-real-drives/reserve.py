"""The last step of a fit alone, for a drive that was fitted before: `python reserve.py NAME`.

A fit that has found a drive tries if it comes closer where it holds writes back in phases. This does the same with the
drive of `NAME.toml`, and prints each load's latencies, measured / simulated without / simulated, in us.
"""

import sys
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cmaes import CMA  # type: ignore[import-untyped]

from flashweir.fitting import evaluation, held, measurements, trials
from flashweir.fitting.trials import Evaluated
from flashweir.fitting.workers import Prediction, Workers

HERE = Path(__file__).parent
SEED = 1
METRICS = ("write_mean", "write_p50", "write_p99", "write_p999", "read_mean", "read_p50", "read_p99", "read_p999")


def settings(drive: Mapping[str, Any]) -> dict[str, object]:
    """Keys of a device file with dots, but its capacity and what holds writes back."""
    found: dict[str, object] = {}
    for name, value in drive.items():
        found |= {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, Mapping) else {name: value}
    own = {"capacity", *held.names()}
    return {name: value for name, value in found.items() if name not in own}


def main(name: str) -> None:
    """Prints the settings that were chosen, and the table."""
    data = measurements.read(HERE / "measured.toml", name)
    task = trials.full(data, None, SEED)
    plain = settings(tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8")))
    made: list[Evaluated] = []
    with Workers() as workers:

        def simulate(drive: Mapping[str, object]) -> Evaluated:
            asked = Prediction(None, task.points, data.capacity, task.effort, SEED)
            predicted = workers.predict(asked, drive)
            made.append(Evaluated(drive, evaluation.error(task.points, predicted), predicted))
            own = {key.removeprefix("buffer."): drive[key] for key in held.names()[1:] if key in drive}
            print(f"error {made[-1].error:.3f} {own}", flush=True)
            return made[-1]

        first, model = simulate(plain), held.fluid(data)
        began = time.process_time()
        chosen = first.settings if model is None else held.choose(CMA, model, task, first, simulate)
        print(f"{time.process_time() - began:.0f} s of CPU time of the model; {len(made) - 1} simulations")
    best = next(one for one in made if one.settings == chosen)
    print(f"\n| writes/s | {' | '.join(METRICS)} |\n|---{'|---' * len(METRICS)}|")
    for point in task.points:
        if point.measured.keys() >= set(METRICS):
            there, here = (one.predicted.get(point.id, {}) for one in (first, best))
            cells = (f"{point.measured[one]:,.0f} / {there[one]:,.0f} / {here[one]:,.0f}" for one in METRICS)
            print(f"| {point.load} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1])
