"""Lists of drives: JSON arrays of README.md, and lines of JSON as the models of `research/models` write them."""

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from research.active.truth import Drive

# Depth of the random writes behind the labels of each model (its README.md).
_DEPTHS = {"arrays": 8, "processes": 1}
_LITTLE_NOISE = 0.1


def read(path: Path) -> list[Drive]:
    """The drives of a list.

    Raises:
        OSError: it can't be read.
        ValueError: it is no list of drives.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [_of_model(json.loads(line)) for line in text.splitlines() if line.strip()]
    return [Drive.of(one) for one in json.loads(text)]


def mixed(drives: list[Drive], seed: int) -> Iterator[Drive]:
    """The drives in random order, so that the first ones of an unfinished run are a fair sample."""
    order = list(drives)
    random.Random(seed).shuffle(order)  # noqa: S311 - an order
    yield from order


def _of_model(line: Mapping[str, Any]) -> Drive:
    """A drive of `research.models`, with groups by model, depth of the truth, state, noise, hiccups and discards."""
    target, parameters = str(line["target"]), line["parameters"]
    model = next((name for name in _DEPTHS if f"/{name}/" in target), "")
    depth = _DEPTHS.get(model, 8)
    noise = max(float(parameters.get(name, 0)) for name in ("noise", "jitter"))
    level = "none" if noise == 0 else "below 0.1" if noise < _LITTLE_NOISE else "0.1 and more"
    # Models leave out parameters that have their default: both are new by default, and discard.
    groups = (
        f"model {model}, depth {depth}",
        f"state {parameters.get('state', 'new')}",
        f"noise {level}",
        f"discards {'no' if parameters.get('discard', 'yes') in ('no', 'false') else 'yes'}",
    )
    return Drive(target, line["labels"], {}, None, depth, groups[0], groups[1:])
