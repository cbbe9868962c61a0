"""Training of the detectors behind `flashweir diagnose`: what the logs of drives with known faults look like, as trees.

Everything is drawn from one seed, so the same seed gives the same model. Drives to "measure" on are not used here.
The log of every third drive is learned from twice: with what the drive holds and without.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flashweir import whole
from flashweir._native import ConfigError
from research.allocators.training import tree_lists
from research.diagnosis.bench import Case
from research.diagnosis.drives import SYMPTOMS

ROUNDS = 200
FOLDS = 10
ALONE = 3
"""Of every so many drives one is learned from without its capacity too."""


def train(cases: Sequence[Case], seed: int) -> tuple[dict[str, Any], str]:
    """The model, and how well models of the same kind do on drives left out: ten-fold cross-validation, capacity known.

    Raises:
        ConfigError: the library is not installed.
    """
    try:
        import lightgbm
        import numpy as np
    except ImportError as error:
        raise ConfigError(f"training needs LightGBM ({error}): pip install 'flashweir[learn]'") from error
    names = sorted(cases[0].said["features"])
    learned = [(case, case.said) for case in cases]
    learned += [(case, case.alone) for case in cases if case.drive.number % ALONE == 0]
    rows = np.array([[said["features"][name] for name in names] for _, said in learned])
    told_apart = np.array([case.drive.number % FOLDS for case, _ in learned])
    first = np.arange(len(learned)) < len(cases)
    settings = {
        "objective": "binary",
        "num_leaves": 6,
        "learning_rate": 0.06,
        "min_data_in_leaf": 8,
        "feature_fraction": 0.15,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    models, said = [], []
    for symptom in SYMPTOMS:
        truth = np.array([symptom in case.ill for case, _ in learned])
        predicted = np.zeros(len(learned), dtype=bool)
        for fold in range(FOLDS):
            held = told_apart == fold
            booster = lightgbm.train(settings, lightgbm.Dataset(rows[~held], truth[~held]), num_boost_round=ROUNDS)
            predicted[held] = np.asarray(booster.predict(rows[held])) >= 0.5  # noqa: PLR2004
        right = int((truth & predicted & first).sum())
        shares = right / max(1, (predicted & first).sum()), right / max(1, (truth & first).sum())
        said.append(f"{symptom} {shares[0]:.3f} and {shares[1]:.3f}")
        booster = lightgbm.train(settings, lightgbm.Dataset(rows, truth), num_boost_round=ROUNDS)
        models.append([_rounded(tree_lists(tree)) for tree in booster.dump_model()["tree_info"]])
    found = f"precision and recall in ten-fold cross-validation: {', '.join(said)}"
    about = f"LightGBM {lightgbm.__version__}, {len(cases)} simulated drives, seed {seed}; {found}"
    return {"about": about, "inputs": names, "symptoms": models}, found


def write(model: Mapping[str, Any], path: Path) -> None:
    """Writes the model as JSON, under a temporary name first."""
    whole.write(path, json.dumps(model, separators=(",", ":")) + "\n")


def _rounded(tree: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """A tree whose numbers have seven digits: what is lost is less than what two runs of a drive differ in."""
    short = [float(f"{number:.7g}") if math.isfinite(number) else 0.0 for number in tree["threshold"]]
    return {**tree, "threshold": short}
