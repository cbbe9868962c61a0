"""The result of all seeds: means, intervals and the curve over life."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashweir._native import __version__
from flashweir.endurance import ends
from flashweir.endurance.ends import FIRST_BLOCK, NAMES, Ends, Limits
from flashweir.endurance.errors import ACTIVATION_EV, UBER
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
    """The life of one seed: its ends, when it ends by which, and years for each byte written."""

    run: Simulated
    ends: Ends
    ended_by: str
    host: float
    years_a_byte: float

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
    result: dict[str, Any] = {
        "version": __version__,
        "workload": workload,
        "device": device,
        "years": _mean([one.host * one.years_a_byte for one in lives]),
        "ended_by": max(dict.fromkeys(names), key=names.count),
        "tbw_bytes": host,
        "tbw_low": host if alone else tbw.low,
        "tbw_high": host if alone else tbw.high,
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
        "check": _checked(lives, request),
        "spare_blocks": limits.spare_blocks,
        "assumptions": assumptions(limits, request, lives[0].run.spare),
        "workloads": list(workloads),
    }
    if request.price is not None:
        result["cost_per_tbw"] = request.price / (host / 1e12)
    return result


def _life(run: Simulated, limits: Limits, request: Request) -> _Life:
    there = ends.found(run.course, limits, run.spare)
    name, host = there.first
    if request.per_day is not None:
        years_a_byte = 1 / (request.per_day * DAYS_A_YEAR)
    else:
        # Seconds of a steady piece; what came before is as short as the drive is new.
        years_a_byte = run.course.slope("seconds", float("inf")) / (_SECONDS_A_DAY * DAYS_A_YEAR)
    if host * years_a_byte > request.years:
        name, host = HORIZON, request.years / years_a_byte
    return _Life(run, there, name, host, years_a_byte)


def _ends(lives: Sequence[_Life]) -> dict[str, Any]:
    """Years until each end; null where it is not known, with the reason."""
    found: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name in (*NAMES, FIRST_BLOCK):
        years = [one.ends.host[name] * one.years_a_byte for one in lives if name in one.ends.host]
        found[name] = _mean(years) if len(years) == len(lives) else None
        if found[name] is None:
            reasons[name] = next(one.ends.reasons[name] for one in lives if name in one.ends.reasons)
    return {**found, "reasons": reasons}


def _curve(lives: Sequence[_Life], limits: Limits, host: float) -> list[dict[str, Any]]:
    """Points over life, each the mean over seeds when the host has written as much."""
    points: list[dict[str, Any]] = []
    for place in range(_POINTS + 1):
        at = host * place / _POINTS
        before = host * max(0, place - 1) / _POINTS
        after = at if place else host / _POINTS
        courses = [one.run.course for one in lives]
        points.append(
            {
                "years": _mean([at * one.years_a_byte for one in lives]),
                "host_bytes": at,
                "write_amplification": _mean(
                    [(one.at("programmed", after) - one.at("programmed", before)) / (after - before) for one in courses]
                ),
                "wear_mean": _mean([one.at("mean", at) for one in courses]),
                "wear_max": _mean([one.spread(at)[1] for one in courses]),
                "spare_share": _mean_known(
                    [ends.spare_share(one.run.course, limits, at, one.run.spare) for one in lives]
                ),
                "read_us": _mean_known([one.latency_us("read", after) for one in courses]),
                "write_us": _mean_known([one.latency_us("write", after) for one in courses]),
            }
        )
    return points


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
        "Differences between blocks go on growing as in the simulated stretches.",
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
