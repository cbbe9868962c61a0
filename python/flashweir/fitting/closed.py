"""Latencies of a drive in closed form, in a thousandth of the time of a simulation.

Reads go first, so that a read waits for the command that its die is busy with and hardly for other reads (the residual
life of renewal theory): for the rest of it, or for the time to suspend it. A die is busy for the share of the highest
rate that is written; where that rate was not measured, the time of a program says it. Reads and writes wait for the
firmware, which takes the same time for each (queues.py); a write is complete in the buffer, whose room this form does
not know. A search goes on in this form; simulations correct and judge it, and know queues of dies, front ends and
collections that this form does not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from flashweir._native import ConfigError, FlashweirError
from flashweir.fitting import amplification, evaluation, queues, small
from flashweir.fitting.points import Measurements, Point, Stream, Workload
from flashweir.fitting.space import SPREAD, Solved, by_page_type
from flashweir.fitting.traffic import writes

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]

METRICS = ("read_mean", "read_p50", "read_p99", "read_p999", "write_mean", "write_p50", "write_p99")
_QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
# The grid of latencies: 2 us up to 6 ms.
_STEP_NS, _CELLS = 2_000, 3_000
# Data and commands of 4 KiB on the link.
_READ_LINK_NS, _WRITE_LINK_NS = 1_100.0, 570.0
_SECOND_NS = 1e9
_SPARES = (0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.8, 1.2)


@dataclass(frozen=True)
class Die:
    """Commands that keep a die busy, for each page that the host writes.

    Attributes:
        per_page_ns: time of all of them.
        kinds: length, share of the time, and from which rest on a read suspends it (infinite: never).
    """

    per_page_ns: float
    kinds: Sequence[tuple[float, float, float]]


class Form:
    """Predictions for the loads of measurements that have a rate, below saturation.

    Attributes:
        points: those that it can predict.
    """

    def __init__(self, measurements: Measurements, base: str | None, solved: Solved, seed: int) -> None:
        full = evaluation.saturated(measurements)
        self._solved = solved
        self._base = base
        self._seed = seed
        self._requests = (full.throughput or 0.0) if full is not None else 0.0
        self._highest = writes(full, self._requests) if full is not None else 0.0
        self.points = [
            point
            for point in evaluation.fitted(measurements)
            if point.kind == "rate" and set(METRICS) & point.measured.keys() and point.workload.size == _page(point)
        ]
        # Requests a second of the highest load.
        self._fastest = max((point.value for point in self.points), default=0.0)

    @property
    def applies(self) -> bool:
        """True where there are several loads below saturation."""
        return len(self.points) > 1

    def predict(self, settings: Mapping[str, object]) -> dict[str, dict[str, float]]:
        """Metrics by the id of each point; nothing for a drive that can't do the highest rate."""
        die, read_ns = self._die(settings)
        firmware_ns = _number(settings, "firmware.write_time")
        if die is None or max(self._requests, self._fastest) * firmware_ns >= _SECOND_NS:
            return {}
        highest = self._highest or _units(settings) * _SECOND_NS / die.per_page_ns
        if not self._highest and any(writes(point, point.value) > highest for point in self.points):
            return {}
        around = _number(settings, "host.complete_time") + _number(settings, "firmware.read_time")
        base_ns = around + _READ_LINK_NS + small_page_ns(settings)
        waits = _waits(die, _number(settings, "sched.suspend_time"))
        starts, after = np.zeros(_CELLS), np.zeros(_CELLS)
        for one in read_ns:
            cell = min(_CELLS - 1, round((one + base_ns) / _STEP_NS))
            starts[cell] += 1 / len(read_ns)
            after[cell:] += waits[: _CELLS - cell] / len(read_ns)
        found: dict[str, dict[str, float]] = {}
        write_ns = _number(settings, "host.complete_time") + firmware_ns + _WRITE_LINK_NS
        places = np.arange(_CELLS) * _STEP_NS / 1000
        for point in self.points:
            busy = min(1.0, writes(point, point.value) / highest)
            shares = (1 - busy) * starts + busy * after
            sums = np.cumsum(shares)
            load = point.value * firmware_ns / _SECOND_NS
            queue_us = queues.mean_wait(load) * firmware_ns / 1000
            found[point.id] = {"read_mean": float((shares * places).sum()) + queue_us}
            for name, at in _QUANTILES.items():
                place = places[min(_CELLS - 1, int(np.searchsorted(sums, at * sums[-1])))]
                found[point.id][f"read_{name}"] = float(place) + queue_us
                if f"write_{name}" in METRICS:
                    wait_ns = queues.wait_quantile(load, at) * firmware_ns
                    found[point.id][f"write_{name}"] = (write_ns + wait_ns) / 1000
            found[point.id]["write_mean"] = write_ns / 1000 + queue_us
        return found

    def program(self, settings: Mapping[str, object]) -> float | None:
        """The time of a program with which the dies are busy all the time at saturation."""
        amplified, pages = self._amplified(settings), _number(settings, "pages_per_block")
        bus = small_page_ns(settings)
        reads = (amplified - 1) * (float(np.mean(_times(settings, "timing.read"))) + 2 * bus)
        erases = amplified / pages * _number(settings, "timing.erase")
        middle = (_SECOND_NS * _units(settings) / self._highest - reads - bus - erases) / amplified
        spread = _number(settings, SPREAD + self._solved.key.name, 1.0)
        value = middle * 3 / (1 / spread + 1 + spread)
        return value if self._solved.key.low <= value <= self._solved.key.high else None

    def _programs(self, settings: Mapping[str, object]) -> list[float] | None:
        """Times of programs by page type: of the settings, or those with which the highest rate is as measured."""
        name = self._solved.key.name
        if name in settings:
            found = _times(settings, name)
            return found * 3 if len(found) == 1 else found
        if not self._highest or (middle := self.program(settings)) is None:
            return None
        return [float(one) for one in by_page_type(middle, _number(settings, SPREAD + name, 1.0))]

    def _amplified(self, settings: Mapping[str, object]) -> float:
        spare = min(_SPARES[-1], max(_SPARES[0], _number(settings, "op_ratio", 0.25)))
        shape = {key: settings[key] for key in ("page", "pages_per_block", "gc.frontiers") if key in settings}
        table = _amplification(self._base, tuple(sorted(shape.items())), self._seed)
        return float(np.interp(np.log(spare), np.log(_SPARES), table))

    def _die(self, settings: Mapping[str, object]) -> tuple[Die | None, list[float]]:
        read_ns, programs = _times(settings, "timing.read"), self._programs(settings)
        if programs is None:
            return None, read_ns
        amplified, bus = self._amplified(settings), small_page_ns(settings)
        suspends = settings.get("sched.kind") == "suspend"
        batch = int(_number(settings, "gc.batch", 1.0))
        protected = _number(settings, "sched.protected_end")
        kinds: list[tuple[float, float, float]] = []
        for at, one in enumerate(programs):
            limit = protected * one if suspends else np.inf
            kinds.append((one + bus, (one + bus) / 3, limit))
            copy = read_ns[at % len(read_ns)] + 2 * bus + one
            limit = protected * copy if suspends and batch == 1 else np.inf
            kinds.append((copy * batch, (amplified - 1) * copy / 3, limit))
        erase = _number(settings, "timing.erase")
        kinds.append((erase, erase * amplified / _number(settings, "pages_per_block"), np.inf))
        total = sum(time for _, time, _ in kinds)
        return Die(total, [(length, time / total, limit) for length, time, limit in kinds]), read_ns


def _waits(die: Die, suspend_ns: float) -> "Numbers":
    """Distribution of the wait of a read that finds its die busy, by cells of the grid."""
    edges = np.arange(_CELLS + 1, dtype=float) * _STEP_NS
    found = np.zeros(_CELLS)
    for length, share, limit in die.kinds:
        longest = min(length, limit)
        found += share * np.diff(np.minimum(edges, longest)) / length
        if length > longest:
            found[min(_CELLS - 1, round(suspend_ns / _STEP_NS))] += share * (length - longest) / length
    return found


@cache
def _amplification(base: str | None, shape: tuple[tuple[str, object], ...], seed: int) -> list[float]:
    point = Point("", "", Workload((Stream(1.0),)), "saturated", 0.0, 1, True, "issue", {})
    found = []
    for spare in _SPARES:
        try:
            found.append(amplification.waf(base, {**dict(shape), "op_ratio": spare}, point, seed))
        except (ConfigError, FlashweirError):
            found.append((1 + spare) / (2 * spare))
    return found


def _page(point: Point) -> int:
    return min(point.workload.size, 4096)


def small_page_ns(settings: Mapping[str, object]) -> float:
    """Transfer of a page over the bus."""
    return small.page(None, settings) * _number(settings, "timing.bus", 0.8)


def _units(settings: Mapping[str, object]) -> float:
    return _number(settings, "channels") * _number(settings, "chips")


def _number(settings: Mapping[str, object], name: str, default: float = 0.0) -> float:
    return float(str(settings.get(name, default)))


def _times(settings: Mapping[str, object], name: str) -> list[float]:
    value = settings[name]
    return [float(one) for one in value] if isinstance(value, list) else [float(str(value))]
