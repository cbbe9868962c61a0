"""Fits a model to what a drive measures, and says how well it predicts (docs/guide/fit.md)."""

import os
from collections.abc import Callable
from pathlib import Path

from flashweir import whole
from flashweir._native import ConfigError
from flashweir.arguments import in_python
from flashweir.budget import read_budget
from flashweir.fitting import ensemble, evaluation, load, measurements
from flashweir.fitting.outcome import Compared, Fit, KeyFound, compared
from flashweir.fitting.points import every_other
from flashweir.fitting.search import Search

__all__ = ["Compared", "Fit", "KeyFound", "fit"]

AnyPath = str | os.PathLike[str]
# Evaluations: 20 minutes on two cores.
DEFAULT_BUDGET = 100


@in_python
def fit(
    path: AnyPath,
    *,
    output: AnyPath | None = None,
    check: AnyPath | None = None,
    base: str | None = None,
    drive: str | None = None,
    leave_out: bool = False,
    budget: int | str = DEFAULT_BUDGET,
    seed: int = 1,
    effort: load.Effort = load.FULL,
    progress: Callable[[int, int | None, float], None] | None = None,
) -> Fit:
    """Searches the drive whose simulation comes closest to measurements.

    Args:
        path: a TOML file of measurements.
        output: a device file to write; evaluations are kept beside it in `OUTPUT.runs.jsonl`, from where a search that
            was stopped goes on.
        check: other measurements, which the drive then predicts; the outcome's points are these.
        base: a preset or device file below the searched keys.
        drive: the drive to take, of a file that has several.
        leave_out: True: every second rate is left out of the fit, and is what the outcome's points are.
        budget: evaluations, or a time such as `"10min"`. 0 searches nothing and predicts `base` as it is.
        seed: of everything random.
        effort: length of the simulations of the last prediction.
        progress: called after each batch with evaluations so far, the budget, and the lowest error.

    Raises:
        ConfigError: measurements, base or budget are none that can be used, or the package cmaes is missing.
        FlashweirError: a simulation failed.
    """
    count, limit_s = read_budget(budget)
    data = measurements.read(path, drive)
    other = None if check is None else measurements.read(check, None if check != path else drive)
    if leave_out:
        if check is not None:
            raise ConfigError("leave_out: expected no other measurements to check beside it")
        data, other = every_other(data)
        if not other.points:
            raise ConfigError(f"{data.source}: expected at least 3 rates below saturation, to leave some out")
    if count == 0:
        if base is None:
            raise ConfigError("budget 0: expected a base, the drive whose measurements are predicted")
        settings: dict[str, object] = {}
        keys: list[KeyFound] = []
        runs = 0
    else:
        if not evaluation.fitted(data):
            raise ConfigError(f"{data.source}: no point that a drive can be fitted to")
        kept = None if output is None or str(output) == whole.STANDARD else Path(f"{os.fspath(output)}.runs.jsonl")
        search = Search(data, base, seed, kept, progress)
        search.run(DEFAULT_BUDGET if count is None else count, limit_s)
        best = ensemble.simplest(search.finals)
        settings, keys = dict(best.settings), ensemble.keys(best, search.trials, search.varied)
        runs = len(search.trials) + len(search.varied)
    shown = other or data
    candidate = evaluation.Candidate(base, settings)
    predicted = evaluation.predict(candidate, shown.points, shown.capacity, effort, seed)
    whole_settings = {**settings, **({"capacity": data.capacity} if data.capacity and settings else {})}
    found = Fit(shown.drive, base, compared(shown, predicted), keys, whole_settings, data.source, runs, seed)
    if output is not None:
        whole.write(output, found.device_file)
    return found
