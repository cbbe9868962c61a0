"""`python -m research.allocators MODEL.json [MIXES [SEED]]`: the model of `tenants.channels=learned`."""

import os
import sys
from pathlib import Path

from flashweir import ConfigError
from research.allocators import training

MIXES, SEED = 120, 1
MAX_SEED = 2**31 - 1
"""Of the library, which takes 31 bits."""


def main(arguments: list[str]) -> int:
    """Learns from the mixes of a seed, writes the model, and prints how good it is on mixes that were held back."""
    numbers = arguments[1:]
    if not 1 <= len(arguments) <= 3 or not all(map(str.isdecimal, numbers)):  # noqa: PLR2004
        return _refuse("expected `MODEL.json [MIXES [SEED]]`, with whole numbers")
    mixes, seed = (*map(int, numbers), *(MIXES, SEED)[len(numbers) :])
    if seed > MAX_SEED:
        return _refuse(f"seed {seed}: expected at most {MAX_SEED}")
    try:
        learned = training.train(mixes, seed, threads=os.cpu_count() or 1)
        training.write(learned, Path(arguments[0]))
    except (ConfigError, OSError) as error:
        return _refuse(str(error))
    print(learned.model["about"])
    return 0


def _refuse(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
