"""Write amplification of a drive: of two of its dies, without its times, on which it does not depend.

It is a matter of spare space and of blocks, so that two dies tell it within 1% in a twentieth of a second.
"""

import math
from collections.abc import Mapping

from flashweir._native import ConfigError, FlashweirError
from flashweir.fitting import small, space
from flashweir.fitting.points import Measurements, Point

_NARROW: Mapping[str, object] = {
    "channels": 1, "chips": 2, "dies": 1, "timing.read": 1000, "timing.program": 1000, "timing.erase": 1000,
    "timing.bus": 0.001, "buffer.destage": "full", "host.mode": "closed", "host.slots": "none",
}  # fmt: skip
# Logical blocks of a unit: amplification of fewer is more than 2% too high.
_BLOCKS = 96
# Bytes written, in capacities; a quarter of it comes before what is counted.
_TURNS = 4
_STEPS = 9
_GOLDEN = (math.sqrt(5) - 1) / 2


def is_simulated(point: Point) -> bool:
    """True for a point whose amplification this can tell: uniform writes of one size."""
    only_writes = all(stream.write == 1 for stream in point.workload.streams)
    return only_writes and point.workload.pattern == "uniform" and small.unsupported(point) is None


def waf(base: str | None, settings: Mapping[str, object], point: Point, seed: int) -> float:
    """Write amplification of uniform writes to the used share of a drive, what it writes for itself included.

    Raises:
        ConfigError: a drive that can't be.
        FlashweirError: a simulation failed.
    """
    from flashweir.api import simulate

    own: dict[str, object] = {**settings, **_NARROW, "precondition": "steady"}
    if small.has_buffer(base, settings):
        # As small a part of the space as in a whole drive.
        own["buffer.bytes"] = 8 * small.page(base, own)
    units, block = small.units(base, own)
    own["capacity"] = units * block * _BLOCKS
    share = point.workload.used_share
    if share < 1:
        own["fill"] = share
    size = point.workload.size
    span = int(units * block * _BLOCKS * share) // size * size
    count = _TURNS * units * block * _BLOCKS // size
    workload = f"random:span={span},size={size},write=1,count={count}"
    result = simulate(workload, base, set=own, seed=seed, warmup=f"requests={count // 4}")
    return float(result.to_dict()["write_amplification"]) * point.sequential_waf


def settle(measurements: Measurements, base: str | None, seed: int) -> dict[str, object]:
    """The over-provisioning that comes closest to the measured amplification; nothing where none is measured."""
    points = [
        point for point in measurements.points if "waf" in point.measured and point.weight > 0 and is_simulated(point)
    ]
    key, fixed = space.settled(), space.starts()[0].settings
    if not points:
        return {}

    def off(place: float) -> float:
        settings = {**fixed, key.name: key.at(place)}
        try:
            found = [waf(base, settings, one, seed) / one.measured["waf"] for one in points]
        except (ConfigError, FlashweirError):
            return math.inf
        return sum(abs(math.log(ratio)) for ratio in found) if min(found) > 0 else math.inf

    low, high = 0.0, 1.0
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = off(left), off(right)
    for _ in range(_STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = off(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = off(right)
    return {key.name: key.setting(key.at((low + high) / 2))}
