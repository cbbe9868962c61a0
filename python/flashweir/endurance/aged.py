"""Cells of a drive whose blocks age (`ageing.kind`): their law and their code, as its runs have them.

A page is read again, each time with a share of its errors, and decoded softly after the last retry: there is one error
rate beyond which it can't be read (docs/concepts/ageing.md). Nothing is drawn, so the first uncorrectable read is the
first one of a block that passes that rate: of the most erased block, or of the weakest one (`ageing.spread`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from flashweir.endurance.cells import Errors
from flashweir.quantity import number_of

_LAW = ("epsilon", "alpha", "k", "beta", "m", "n", "gamma", "p", "q")
# Bits of soft decoding for each of hard decoding; data of the codeword that a cell's strength is of, in bytes.
_SOFT, _KIB = 5 / 3, 1024
# As in crates/ssd/src/ageing, which python/tests/theory/test_ageing_constants.py compares.
_ECC_BITS = {"slc": 8, "mlc": 40, "tlc": 72, "qlc": 120}
_BISECTIONS = 64


@dataclass(frozen=True)
class Aged:
    """Bit errors of a drive's blocks, and the largest error rate of a page that can be read.

    `used` are the cycles of each block at the beginning, `weakest` is the factor of the errors of the weakest block.
    """

    errors: Errors
    used: float
    limit: float
    weakest: float


def aged(config: Mapping[str, Any], cell: str, errors: Errors | None, blocks: int) -> Aged | None:
    """The cells of a drive as its configuration has them; None if no parameters of their errors are known."""
    own = config["ageing"]
    if errors is None:
        return None
    given: dict[str, Any] = {name: float(own[name]) for name in _LAW if own[name] != "auto"}
    if own["reads_of"] != "auto":
        given["per"] = own["reads_of"]
    errors = replace(errors, **given)
    weakest = math.exp(own["spread"] * _largest_of(blocks)) if own["spread"] > 0 else 1.0
    return Aged(errors, float(own["cycles"]), _limit(config, cell), weakest)


def _limit(config: Mapping[str, Any], cell: str) -> float:
    """The largest error rate of a page that its last step corrects."""
    own = config["ageing"]
    size = float(number_of(config["nand"]["codeword"]) or _KIB)
    hard = own["ecc_bits"]
    hard = _ECC_BITS[cell] * size / _KIB if hard == "auto" else float(hard)
    soft = hard * _SOFT if own["soft_bits"] == "auto" else float(own["soft_bits"])
    last = _rate_of(8 * size, max(hard, soft), own["margin"])
    return min(float(last / own["retry_gain"] ** own["retries"]), 1.0)


def _rate_of(bits: float, corrected: float, margin: float) -> float:
    """The largest error rate with at most so many errors in a codeword, `margin` standard deviations included."""
    low, high = 0.0, 0.5
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if bits * middle + margin * math.sqrt(bits * middle * (1 - middle)) <= corrected:
            low = middle
        else:
            high = middle
    return low


def _largest_of(blocks: int) -> float:
    """Median of the largest of so many numbers with a normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 ** (1 / blocks))
