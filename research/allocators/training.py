"""Training of the model behind `tenants.channels=learned`: what look-ahead found over generated mixes, as trees.

The mixes are drawn from one seed, and so is everything that the library draws, so the same seed gives the same model.
Traces are not used: every real trace is one that the model has not seen.

The model that ships was trained when, in mixes with `precondition=on-read`, pages read before they were written lay on
the channels of their tenant's reads. They now lie by address over all channels, so training again gives another model.
"""

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashweir import api, whole
from flashweir._native import ConfigError

MIB = 1 << 20
WINDOW_REQUESTS = 500
WINDOWS = 8
"""Windows of a mix: of the first nothing is known before."""

HELD_BACK = 5
"""One mix of so many is held back, to measure with."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Mix:
    """A mix to learn from: generators by the names of their tenants, and the drive under them."""

    workloads: Mapping[str, str]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Learned:
    """A model and how good it is on the mixes held back.

    The three numbers are means over windows of the logarithm of a cost, over that of `all` in the order of arrival:
    of what the model picks, of the best candidate, and how many windows that was.
    """

    model: dict[str, Any]
    picked: float
    best: float
    windows: int


def draw_mixes(count: int, seed: int) -> Iterator[Mix]:
    """So many mixes of two to four tenants, on drives of 4 to 8 channels, new or full."""
    draw = random.Random(seed)  # noqa: S311  (nothing secret)
    for _ in range(count):
        tenants = draw.choice([2, 3, 4, 4])
        capacity = draw.choice([256, 512]) * MIB
        share = capacity // tenants // MIB * MIB
        channels = draw.choice([4, 8, 8])
        # Total load of all tenants on a channel, pages a second: from nearly none to more than its capacity.
        load = 10 ** draw.uniform(2.5, 4.1) * channels
        weights = [10 ** draw.uniform(-1.0, 1.0) for _ in range(tenants)]
        workloads = {}
        for number, weight in enumerate(weights):
            pages = draw.choice([1, 2, 4, 8, 32])
            sizes = f"{2 * pages}KiB|{8 * pages}KiB:0.2" if draw.choice([True, False]) else f"{2 * pages}KiB"
            rate = max(1.0, load * weight / sum(weights) / pages)
            burst = draw.choice([0, 0, 8, 64])
            arrivals = f"period={int(burst / rate * 1e9) + 1}ns,burst={burst}" if burst else f"rate={rate:.3f}"
            kind = draw.choice(["random", "random", "zipf", "sequential"])
            write = draw.choice([0.05, 0.3, 0.6, 0.9, 1.0])
            text = f"{kind}:span={share},offset={number * share},size={sizes},write={write},{arrivals}"
            workloads[f"t{number}"] = f"{text},count={WINDOW_REQUESTS * WINDOWS},seed={draw.randrange(1 << 30)}"
        settings = {
            "capacity": capacity,
            "channels": channels,
            "precondition": draw.choice(["on-read", "full"]),
            "host.mode": "open",
            "alloc.kind": "dynamic",
            "tenants.channels": "look-ahead",
            "tenants.window_requests": WINDOW_REQUESTS,
        }
        yield Mix(workloads, settings)


def look_ahead(mix: Mix) -> list[dict[str, Any]]:
    """The windows of a mix with what each candidate cost; only the first of them, while all tenants have requests."""
    result = api.simulate(mix.workloads, "ssdsim", windows=True, set=mix.settings).to_dict()
    windows: list[dict[str, Any]] = result["allocation"]["each"]
    return windows[1:WINDOWS]


def train(mixes: int, seed: int, *, threads: int = 1, progress: Progress | None = None) -> Learned:
    """Learns from so many mixes; every fifth is held back to measure with: how good it is, and its margin.

    Raises:
        ConfigError: there are too few mixes, or the library is not installed.
    """
    if mixes < HELD_BACK:
        raise ConfigError(f"{mixes} mixes: expected at least {HELD_BACK}, of which one is held back")
    try:
        import lightgbm
        import numpy as np
    except ImportError as error:
        raise ConfigError(f"training needs LightGBM ({error}): pip install 'flashweir[learn]'") from error
    with ThreadPoolExecutor(threads) as pool:
        found = []
        for windows in pool.map(look_ahead, draw_mixes(mixes, seed)):
            found.append(windows)
            if progress:
                progress(len(found), mixes)
    kept = [window for number, windows in enumerate(found) if number % HELD_BACK for window in windows]
    held = [window for windows in found[::HELD_BACK] for window in windows]
    rows = [candidate["inputs"] for window in kept for candidate in window["candidates"]]
    costs = [cost for window in kept for cost in _costs(window)]
    settings = {
        "objective": "regression",
        "num_leaves": 12,
        "learning_rate": 0.15,
        "min_data_in_leaf": 40,
        "seed": seed % (1 << 31),
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(np.array(rows), np.array(costs))
    booster = lightgbm.train(settings, data, num_boost_round=60)
    predictions = [booster.predict(np.array([one["inputs"] for one in window["candidates"]])) for window in held]
    margin = math.sqrt(
        np.mean(
            [
                np.mean((np.asarray(found) - np.array(_costs(window))) ** 2)
                for found, window in zip(predictions, held, strict=True)
            ]
        )
    )
    picked = best = 0.0
    for predicted, window in zip(predictions, held, strict=True):
        window_costs = _costs(window)
        divided = np.array([not one["candidate"].startswith("all") for one in window["candidates"]])
        picked += window_costs[int(np.argmin(predicted + margin * divided))]
        best += min(window_costs)
    about = (
        f"just learn-allocator MODEL.json {mixes} {seed}: LightGBM {lightgbm.__version__}, "
        f"{len(kept)} windows; on {len(held)} held back it is {picked / len(held):+.4f} "
        f"in the logarithm of cost against all channels for everybody, and the best candidate {best / len(held):+.4f}; "
        f"predictions are off by {margin:.4f}"
    )
    model = {
        "about": about,
        "inputs": _inputs(),
        "margin": margin,
        "trees": [tree_lists(tree) for tree in booster.dump_model()["tree_info"]],
    }
    return Learned(model, picked / len(held), best / len(held), len(held))


def write(learned: Learned, path: Path) -> None:
    """Writes the model as JSON, under a temporary name first."""
    whole.write(path, json.dumps(learned.model) + "\n")


def _costs(window: Mapping[str, Any]) -> list[float]:
    """Logarithms of what the candidates cost, over that of the first one. A drive that could not go on costs a lot."""
    first = window["candidates"][0]["latency_s"]
    return [min(5.0, math.log(max(candidate["latency_s"], 1e-12) / first)) for candidate in window["candidates"]]


def _inputs() -> list[str]:
    schema = api.schema()
    names: list[str] = schema["x-model-inputs"]
    return names


def tree_lists(info: Mapping[str, Any]) -> dict[str, Sequence[float]]:
    """A tree as four lists, each node before its children."""
    feature: list[int] = []
    threshold: list[float] = []
    left: list[int] = []
    right: list[int] = []

    def add(node: Mapping[str, Any]) -> int:
        number = len(feature)
        leaf = "leaf_value" in node
        feature.append(-1 if leaf else node["split_feature"])
        threshold.append(node["leaf_value"] if leaf else node["threshold"])
        left.append(0)
        right.append(0)
        if not leaf:
            left[number] = add(node["left_child"])
            right[number] = add(node["right_child"])
        return number

    add(info["tree_structure"])
    return {"feature": feature, "threshold": threshold, "left": left, "right": right}
