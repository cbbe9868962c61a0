"""Raw bit errors of a block, and reads that the error-correcting code can't correct.

The rate is the power law of cells.toml. Days at another temperature count by Arrhenius with an activation energy of
1.1 eV (JESD22-A117: detrapping of charge). Cycles are scaled to the rating: a block at half of its rated cycles has the
errors of the measured chip at half of its own. A codeword fails with more errors than the code corrects; its errors are
independent.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flashweir.endurance.cells import Errors

ACTIVATION_EV = 1.1
REFERENCE_CELSIUS = 25.0
_BOLTZMANN_EV = 8.617333e-5
_ZERO_CELSIUS = 273.15
# Data of a codeword for which a default strength is found, in bytes.
CODEWORD = 1024
# Errors for each bit read that the code leaves, at the end of a block's life: JESD218, enterprise class.
UBER = 1e-16
_WORST = 0.5


@dataclass(frozen=True)
class Code:
    """An error-correcting code: `bits` that it corrects in a codeword of `size` bytes of data."""

    bits: int
    size: int
    source: str

    def failure(self, rate: float) -> float:
        """Probability that a codeword with bit error rate `rate` can't be corrected: the tail of the binomial."""
        return float(self.failures(np.array([rate]))[0])

    def failures(self, rates: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The same of many rates."""
        from scipy import special  # type: ignore[import-untyped]

        length = 8 * self.size
        lost = rates >= _WORST
        if self.bits >= length:
            return np.where(lost, 1.0, 0.0)
        return np.where(lost, 1.0, special.betainc(self.bits + 1, length - self.bits, np.minimum(rates, _WORST)))


@dataclass(frozen=True)
class Stress:
    """Conditions of the data that is read: age in days, temperature in degrees Celsius, reads between two erases."""

    days: float
    celsius: float
    block_reads: float = 0.0
    page_reads: float = 0.0


def acceleration(celsius: float) -> float:
    """Days at 25 degrees Celsius that a day at another temperature counts for."""
    there, here = (1 / (_ZERO_CELSIUS + at) for at in (celsius, REFERENCE_CELSIUS))
    return math.exp(ACTIVATION_EV / _BOLTZMANN_EV * (here - there))


def rate(errors: Errors, share: float, stress: Stress) -> float:
    """Raw bit error rate of a block at `share` of its rated cycles; at most one half."""
    cycles = share * errors.measured_cycles
    days = stress.days * acceleration(stress.celsius)
    reads = stress.block_reads if errors.per == "block" else stress.page_reads
    wear = errors.alpha * math.pow(cycles, errors.k)
    retention = errors.beta * math.pow(cycles, errors.m) * math.pow(days, errors.n)
    disturb = errors.gamma * math.pow(cycles, errors.p) * math.pow(reads, errors.q)
    return min(errors.epsilon + wear + retention + disturb, _WORST)


def strength_for(errors: Errors, share: float, stress: Stress) -> Code | None:
    """The weakest code that leaves `UBER` at `share` of the rated cycles; None if no code does."""
    there = rate(errors, share, stress)
    low, high = 0, 4 * CODEWORD
    if Code(high, CODEWORD, "").failure(there) / (8 * CODEWORD) > UBER:
        return None
    while low < high:
        middle = (low + high) // 2
        if Code(middle, CODEWORD, "").failure(there) / (8 * CODEWORD) > UBER:
            low = middle + 1
        else:
            high = middle
    return Code(low, CODEWORD, "derived")
