"""The front end of a drive, from what it measures at saturation (Little 1961: requests inside = rate x time inside).

Of a drive that fetches a limited number of commands, the others wait in the queues of the host. Reads and writes wait
there alike, so that the difference of their latencies is that of their times inside, and reads are inside for as long
as at the highest load below saturation. The number of fetched commands follows without a simulation. Waits of the
threads that make the load beside those of the measured one tell arbitrations apart: simulations of the saturated load
decide.
"""

from collections.abc import Mapping, Sequence

from flashweir.fitting import evaluation
from flashweir.fitting.points import Measurements, Point
from flashweir.fitting.space import Key, Start
from flashweir.fitting.traffic import writes
from flashweir.fitting.trials import Trial

SLOTS, BURST = "host.slots", "host.arbitration_burst"
# Share of the outstanding requests from which on no limit shows.
_ALL = 0.9
# Bursts that are tried.
_BURSTS = (1, 2, 4, 8, 16, 32)
# Places of a limit that measurements don't say.
_PLACES = (0.05, 0.25, 0.45, 0.6, 0.75, 0.9)
_US = 1e-6


def fetched(measurements: Measurements) -> float | None:
    """Commands inside a drive at saturation; None where means of reads and writes, there and below, don't tell."""
    full = evaluation.saturated(measurements)
    below = [
        point
        for point in measurements.points
        if point.kind == "rate" and not point.is_knee and point.weight > 0 and "read_mean" in point.measured
    ]
    if full is None or not below or not {"read_mean", "write_mean"} <= full.measured.keys():
        return None
    inside_us = min(max(below, key=lambda point: point.value).measured["read_mean"], full.measured["read_mean"])
    return inside(full, _measured(full), inside_us)


def inside(full: Point, values: Mapping[str, float], read_us: float) -> float:
    """Commands inside a drive under a saturated load with these metrics, where a read is inside for `read_us`."""
    rate = writes(full, values["iops"])
    write_us = max(0.0, values["write_mean"] - values["read_mean"] + read_us)
    return (rate * write_us + (values["iops"] - rate) * read_us) * _US


def _measured(full: Point) -> dict[str, float]:
    """Measured metrics of a saturated point, its throughput in requests a second among them."""
    return {**full.measured, "iops": full.throughput or 0.0}


def outstanding(full: Point) -> float:
    """Requests that the threads of a saturated load, and the measured ones, have outstanding together."""
    found = 0.0
    for stream in full.workload.streams:
        if stream.rate is None:
            found += full.cap * stream.threads
        else:
            write, read = full.measured["write_mean"], full.measured["read_mean"]
            mean_us = stream.write * write + (1 - stream.write) * read
            found += min(full.cap * stream.threads, stream.rate * mean_us * _US)
    return found


def is_limited(measurements: Measurements) -> bool | None:
    """True if the drive fetches fewer commands than there are; None where the measurements don't tell."""
    full, count = evaluation.saturated(measurements), fetched(measurements)
    return None if full is None or count is None else count < _ALL * outstanding(full)


def guess(measurements: Measurements) -> dict[str, float]:
    """Values of keys of the front end to begin with."""
    count = fetched(measurements)
    return {} if count is None else {SLOTS: count, BURST: 1.0}


def settled(measurements: Measurements) -> tuple[str, ...]:
    """Keys that the saturated load settles alone: a search of all loads leaves them where they are."""
    return () if fetched(measurements) is None else (SLOTS, BURST)


def begins(measurements: Measurements, starts: Sequence[Start]) -> list[Start]:
    """Of each combination of the other alternatives, the one whose front end is the simplest that the data allow."""
    limited = is_limited(measurements)
    found: dict[tuple[str, ...], Start] = {}
    for start in starts:
        if limited is None or limited == (SLOTS in names(start)):
            found.setdefault(start.names[:-1], start)
    return list(found.values()) or list(starts)


def others(measurements: Measurements, best: Trial, starts: Sequence[Start]) -> list[tuple[Start, tuple[float, ...]]]:
    """The best drive with each front end, and with the limit and the bursts to try with it."""
    known = {key.name: place for key, place in zip(best.start.keys, best.places, strict=True)}
    count, tried = fetched(measurements), []
    for start in starts:
        if start.names[:-1] != best.start.names[:-1]:
            continue
        keys = {key.name: key for key in start.keys}
        limits = _PLACES if SLOTS in keys else (0.5,)
        if SLOTS in keys and count is not None:
            limits = (keys[SLOTS].place(max(1.0, count)),)
        bursts = [keys[BURST].place(burst) for burst in _BURSTS] if BURST in keys else [0.5]
        for limit in limits:
            for burst in bursts:
                own = {**known, SLOTS: limit, BURST: burst}
                tried.append((start, tuple(own.get(key.name, 0.5) for key in start.keys)))
    return [one for one in tried if one != (best.start, best.places)]


def mended(measurements: Measurements, trial: Trial) -> tuple[float, ...] | None:
    """Places with the limit raised by the commands that the simulated drive has too few inside; None without one."""
    full, values = evaluation.saturated(measurements), {}
    if full is not None:
        values = dict(trial.predicted.get(full.id, {}))
    needed = {"iops", "read_mean", "write_mean"}
    if full is None or SLOTS not in names(trial.start) or not needed <= values.keys() & _measured(full).keys():
        return None
    # With the same time of reads inside, their number is a matter of the difference alone.
    less = inside(full, _measured(full), values["read_mean"]) - inside(full, values, values["read_mean"])
    at = names(trial.start).index(SLOTS)
    key: Key = trial.start.keys[at]
    place = key.place(max(1.0, key.at(trial.places[at]) + less))
    return (*trial.places[:at], place, *trial.places[at + 1 :])


def names(start: Start) -> list[str]:
    """Names of the keys of a combination."""
    return [key.name for key in start.keys]
