"""The result of all seeds: means, intervals and the curve over life."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashweir._native import __version__
from flashweir.endurance import ends
from flashweir.endurance.bounds import Bound, bound, near
from flashweir.endurance.course import Course
from flashweir.endurance.ends import FIRST_BLOCK, NAMES, Ends, Limits
from flashweir.endurance.errors import ACTIVATION_EV, UBER
from flashweir.endurance.latency import FIELDS, KINDS
from flashweir.endurance.retiring import Spare
from flashweir.endurance.running import Simulated

DAYS_A_YEAR = 365.0
_SECONDS_A_DAY = 86_400.0
HORIZON = "horizon"
_POINTS = 50


@dataclass(frozen=True)
class Request:
    """Options of a call: horizon, bytes a day, price, seeds, and whether they change anything."""

    years: float
    per_day: float | None
    price: float | None
    seeds: Sequence[int]
    seeded: bool
    tolerance: float


@dataclass(frozen=True)
class _Life:
    """The life of one seed: its ends, the bytes at the first one by `ended_by`, and years for each byte written."""

    run: Simulated
    ends: Ends
    ended_by: str
    tbw: Bound
    bounds: Mapping[str, Bound]
    years_a_byte: float
    tolerance: float

    def settled(self, name: str) -> bool:
        """True if an end was simulated, or is near its bounds on a drive whose wear is steady."""
        spare = self.run.spare
        if name == "spare" and spare is not None:
            return spare.settled
        if self.ends.host[name] <= self.run.course.last.host:
            return True
        is_near = name in self.bounds and self.bounds[name].error <= near(self.tolerance)
        return is_near and self.run.check is not None and self.run.check.difference <= self.tolerance

    @property
    def host(self) -> float:
        """Bytes that the host has written at the first end."""
        return self.tbw.best

    @property
    def write_amplification(self) -> float:
        """Bytes programmed until the end for each byte that the host wrote."""
        if self.ended_by == "spare" and self.run.spare is not None:
            return self.run.spare.write_amplification
        return self.run.course.at("programmed", self.host) / self.host


def combined(
    found: Sequence[Simulated],
    limits: Limits,
    request: Request,
    raw: int,
    workload: str,
    device: str,
    workloads: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The result as JSON; `workloads` are those of the run with the reports of their reading."""
    lives = [_life(one, limits, request) for one in found]
    from flashweir.statistics.intervals import mean_interval

    tbw = mean_interval([one.host for one in lives], at_least=0.0)
    alone = len(lives) == 1 and not request.seeded
    capacity = int(found[0].result["geometry.capacity_bytes"])
    names = [one.ended_by for one in lives]
    host = tbw.value
    low, high = (_mean([getattr(one.tbw, side) for one in lives]) for side in ("low", "high"))
    known = alone or tbw.low is not None
    result: dict[str, Any] = {
        "version": __version__,
        "workload": workload,
        "device": device,
        "years": _mean([one.host * one.years_a_byte for one in lives]),
        "ended_by": max(dict.fromkeys(names), key=names.count),
        "tbw_bytes": host,
        "tbw_low": min(low, host if tbw.low is None else tbw.low) if known else None,
        "tbw_high": max(high, host if tbw.high is None else tbw.high) if known else None,
        "dwpd": host / (capacity * DAYS_A_YEAR * request.years),
        "write_amplification": _mean([one.write_amplification for one in lives]),
        "rated_cycles": limits.rating.cycles,
        "raw_bytes": raw,
        "capacity_bytes": capacity,
        "curve": _curve(lives, limits, host),
        "ends": _ends(lives),
        "seeds": list(request.seeds),
        "simulated_share": _mean([min(1.0, one.run.course.last.host / one.host) for one in lives]),
        "horizon_years": request.years,
        "settled": all(one.run.settled and (one.run.spare is None or one.run.spare.settled) for one in lives),
        "check": {**_checked(lives, request), "tbw_low": low, "tbw_high": high},
        "spare_blocks": limits.spare_blocks,
        "assumptions": assumptions(limits, request, lives[0].run.spare),
        "workloads": list(workloads),
    }
    if request.price is not None:
        result["cost_per_tbw"] = request.price / (host / 1e12)
    return result


def judged(course: Course, limits: Limits, request: Request, spare: Spare | None = None) -> Bound:
    """Bytes that the host has written at the end of life, the horizon included."""
    if course.slope("mean", float("inf")) <= 0:
        return Bound(float("inf"), float("inf"), float("inf"))
    horizon = _horizon(request, _years_a_byte(course, request))
    best, *others = (min(ends.first(one, limits, spare), horizon) for one in (course, *course.bounds))
    return _bound_of_life(best, others, course, horizon)


def others(course: Course, limits: Limits) -> list[Bound]:
    """Bounds of the ends by wear."""
    hosts = [ends.by_wear(one, limits) for one in (course, *course.bounds)]
    return list(_bounds(course, hosts[0], hosts[1:]).values())


def _bounds(
    course: Course, host: Mapping[str, float], others: Sequence[Mapping[str, float]], spare: Spare | None = None
) -> dict[str, Bound]:
    """Bounds of ends by name, of those which each bound of the course has; `spare` is simulated by itself."""
    return {
        name: bound(
            best,
            [one[name] for one in others],
            math.inf if name == "spare" and spare is not None else course.last.host,
        )
        for name, best in host.items()
        if all(name in one for one in others)
    }


def _bound_of_life(best: float, others: Sequence[float], course: Course, horizon: float) -> Bound:
    """Bounds of the end of life: the horizon is where it is."""
    return bound(best, others, course.last.host if best < horizon else math.inf)


def _horizon(request: Request, years_a_byte: float) -> float:
    """Bytes written by the horizon; infinite if writing takes no time."""
    return request.years / years_a_byte if years_a_byte > 0 else float("inf")


def wear_at_end(run: Simulated, limits: Limits, request: Request) -> float:
    """Mean erases of a block at the end of life."""
    return run.course.at("mean", judged(run.course, limits, request, run.spare).best)


def _years_a_byte(course: Course, request: Request) -> float:
    """Years for each byte written: as asked, or those of a steady piece. What came before is as short as new drives."""
    if request.per_day is not None:
        return 1 / (request.per_day * DAYS_A_YEAR)
    return course.slope("seconds", float("inf")) / (_SECONDS_A_DAY * DAYS_A_YEAR)


def _life(run: Simulated, limits: Limits, request: Request) -> _Life:
    there = ends.found(run.course, limits, run.spare)
    name, host = there.first
    years_a_byte = _years_a_byte(run.course, request)
    others = [ends.found(one, limits, run.spare) for one in run.course.bounds]
    bounds = _bounds(run.course, there.host, [one.host for one in others], run.spare)
    horizon = _horizon(request, years_a_byte)
    firsts = [min(one.first[1], horizon) for one in others]
    tbw = _bound_of_life(min(host, horizon), firsts, run.course, horizon)
    if host > horizon:
        name = HORIZON
    return _Life(run, _known(run, there, name), name, tbw, bounds, years_a_byte, request.tolerance)


def _known(run: Simulated, there: Ends, ended_by: str) -> Ends:
    """The ends without those that lie beyond what was simulated, where that was too short for its wear to be steady."""
    if run.check is not None:
        return there
    simulated = {"spare"} if run.spare is not None else set()
    far = [
        name
        for name, host in there.host.items()
        if host > run.course.last.host and name != ended_by and name not in simulated
    ]
    why = "what was simulated is too short for the wear to be steady: nothing beyond is known"
    return Ends(
        {name: host for name, host in there.host.items() if name not in far},
        {**there.reasons, **dict.fromkeys(far, why)},
    )


def _ends(lives: Sequence[_Life]) -> dict[str, Any]:
    """Years until each end; null where it is not known, with the reason."""
    found: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name in (*NAMES, FIRST_BLOCK):
        years = [one.ends.host[name] * one.years_a_byte for one in lives if name in one.ends.host]
        found[name] = _mean(years) if len(years) == len(lives) else None
        if found[name] is None:
            reasons[name] = next(one.ends.reasons[name] for one in lives if name in one.ends.reasons)
    bounds: dict[str, list[float]] = {}
    for name, years in found.items():
        if years is not None and all(name in one.bounds for one in lives):
            bounds[name] = [
                _mean([getattr(one.bounds[name], side) * one.years_a_byte for one in lives]) for side in ("low", "high")
            ]
    settled = {name: all(one.settled(name) for one in lives) for name, years in found.items() if years is not None}
    return {**found, "bounds": bounds, "settled": settled, "reasons": reasons}


def _curve(lives: Sequence[_Life], limits: Limits, host: float) -> list[dict[str, Any]]:
    """Points over life, each the mean over seeds when the host has written as much."""
    points: list[dict[str, Any]] = []
    for place in range(_POINTS + 1):
        at = host * place / _POINTS
        before = host * max(0, place - 1) / _POINTS
        after = at if place else host / _POINTS
        courses = [one.run.course for one in lives]
        most = [_most(one, at) for one in courses]
        points.append(
            {
                "years": _mean([at * one.years_a_byte for one in lives]),
                "host_bytes": at,
                "write_amplification": _mean(
                    [(one.at("programmed", after) - one.at("programmed", before)) / (after - before) for one in courses]
                ),
                "wear_mean": _mean([one.at("mean", at) for one in courses]),
                "wear_max": _mean([one.best for one in most]),
                "wear_max_low": _mean([one.low for one in most]),
                "wear_max_high": _mean([one.high for one in most]),
                "spare_share": _mean_known(
                    [ends.spare_share(one.run.course, limits, at, one.run.spare) for one in lives]
                ),
                **_latencies(lives, at, after),
            }
        )
    return points


def _most(course: Course, host: float) -> Bound:
    """Erases of the most erased block with their bounds, equal where it was simulated."""
    best = course.most(host)
    if host <= course.last.host:
        return Bound(best, best, best)
    return bound(best, [one.most(host) for one in course.bounds], course.last.most)


def _latencies(lives: Sequence[_Life], at: float, after: float) -> dict[str, float | None]:
    """Latencies at a point of the curve: of the piece there, or of the drive with cells of that age."""
    found: dict[str, float | None] = {}
    for kind in KINDS:
        numbers = [
            one.run.course.latencies(kind, after).numbers()
            if one.run.ages is None
            else one.run.ages.at(one.run.course.at("mean", at), kind)
            for one in lives
        ]
        found |= {f"{kind}_{name}": _mean_known([one[name] for one in numbers]) for name in FIELDS}
    return found


def _checked(lives: Sequence[_Life], request: Request) -> dict[str, Any]:
    """The check of the extrapolation: the seed that it suits least."""
    checks = [one.run.check for one in lives if one.run.check is not None]
    if not checks:
        return {"tolerance": request.tolerance, "predicted_wear": None, "simulated_wear": None, "difference": None}
    worst = max(checks, key=lambda one: one.difference)
    return {
        "tolerance": request.tolerance,
        "predicted_wear": worst.predicted,
        "simulated_wear": worst.simulated,
        "difference": worst.difference,
    }


def assumptions(limits: Limits, request: Request, spare: Spare | None = None) -> list[str]:
    """Statements that the result rests on; `spare` is that of a drive which retires its blocks itself."""
    rated, code, stress = limits.rating, limits.code, limits.stress
    found = [
        f"Rated cycles {rated.cycles:,.0f}: {rated.source}.",
        f"Cells {rated.cell.name}: {rated.cell_source}.",
        *_retirement(limits, spare),
        "Blocks keep the rates at which they are erased; beyond these chance decides, as in the simulated stretches.",
    ]
    if limits.aged is not None:
        found += [
            "Bit errors and code are those of ageing.*: the most erased block or the weakest one decides.",
            f"Data is {stress.days:g} days old when it is read, at {stress.celsius:g} C.",
        ]
    elif code is not None and rated.cell.errors is not None:
        source = "given" if code.source == "given" else f"leaves {UBER:g} errors a bit at that age, 30 days, 30 C"
        found += [
            f"Bit errors: {rated.cell.errors.source}; cycles scaled to the rating, Arrhenius with {ACTIVATION_EV} eV.",
            f"The code corrects {code.bits} bits in {code.size} bytes: {source}.",
            f"Data is {stress.days:g} days old when it is read, at {stress.celsius:g} C.",
        ]
    if request.per_day is not None:
        found.append(f"The host writes {request.per_day:,.0f} bytes a day.")
    else:
        found.append("The host writes at the pace of the workload; in a closed loop, as fast as the drive takes it.")
    return found


def _retirement(limits: Limits, spare: Spare | None) -> list[str]:
    if spare is None:
        at = f"A block is retired at {limits.block_cycles:,.0f} cycles."
        if limits.spare_blocks <= 0:
            return [at]
        return [at, "Spare blocks serve the whole drive, and write amplification does not change with them."]
    by = f"Blocks are retired by ageing.retire, simulated with {spare.cycles:,} rated cycles up to the last write"
    return [f"{by}." if spare.settled else f"{by}; with half as many the end is over 2% elsewhere."]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _mean_known(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return _mean(known) if known else None
