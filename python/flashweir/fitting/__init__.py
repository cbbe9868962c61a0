"""Fits a model to what a drive measures, and says how well it predicts (docs/guide/fit.md)."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from flashweir import whole
from flashweir._native import ConfigError
from flashweir.arguments import check_file, in_python
from flashweir.budget import read_budget
from flashweir.options import search as option
from flashweir.options.option import checked, declared

if TYPE_CHECKING:
    from flashweir.fitting.load import Effort
    from flashweir.fitting.outcome import Fit, KeyFound

__all__ = ["fit"]

AnyPath = str | os.PathLike[str]
# Evaluations: at most 20 minutes on two cores.
DEFAULT_BUDGET = 100


@declared
@in_python
def fit(
    path: AnyPath,
    *,
    output: option.Output = None,
    check: option.Check = None,
    base: option.Base = None,
    drive: option.DriveName = None,
    leave_out: option.LeaveOut = False,
    budget: option.Evaluations = DEFAULT_BUDGET,
    seed: option.FitSeed = 1,
    effort: "Effort | None" = None,
    progress: Callable[[int, int | None, float], None] | None = None,
) -> "Fit":
    """Searches the drive whose simulation comes closest to measurements.

    Args:
        path: a TOML file of measurements.
        effort: length of the simulations of the last prediction; the full one if not given.
        progress: called after each batch with evaluations so far, the budget, and the lowest error.

    Raises:
        ConfigError: measurements, base or budget are none that can be used, or the package cmaes is missing.
        FlashweirError: a simulation failed.
    """
    checked(fit, locals())
    check_file("path", path)
    # Numpy is imported here: the command line needs the options alone.
    from flashweir.fitting import ensemble, evaluation, load, measurements, trials
    from flashweir.fitting.outcome import Fit, compared
    from flashweir.fitting.points import every_other
    from flashweir.fitting.search import Search
    from flashweir.fitting.workers import Prediction, Workers

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
            raise ConfigError(f"{data.source}: no point that a drive can be fitted to{evaluation.reasons(data)}")
        kept = None if output is None or str(output) == whole.STANDARD else Path(f"{os.fspath(output)}.runs.jsonl")
        search = Search(data, base, seed, kept, progress)
        search.run(DEFAULT_BUDGET if count is None else count, limit_s)
        best = ensemble.simplest(search.finals)
        if best.error >= trials.IMPOSSIBLE:
            size = f"a capacity of {data.capacity:,} bytes" if data.capacity else "these measurements"
            raise ConfigError(f"{data.source}: none of {len(search.trials)} drives with {size} is possible: expected "
                              "a block for each die at least, and spare ones")  # fmt: skip
        settings, keys = dict(search.best), ensemble.keys(best, search.trials, search.varied, search.best)
        runs = len(search.trials) + len(search.varied)
    shown = other or data
    asked = Prediction(base, tuple(shown.points), shown.capacity, effort or load.FULL, seed)
    with Workers() as workers:
        predicted = workers.predict(asked, settings)
    whole_settings = {**settings, **({"capacity": data.capacity} if data.capacity and settings else {})}
    found = Fit(shown.drive, base, compared(shown, predicted), keys, whole_settings, data.source, runs, seed)
    if output is not None:
        whole.write(output, found.device_file)
    return found
