"""Each mechanism of a fitted drive left out, the others refitted: `python without.py NAME DRIVE.toml [MECHANISM ...]`.

A mechanism is left out by a setting or by an end of its key's range. The other keys are then searched by the closed
form in a region around the fitted drive, corrected by a simulation, twice; the best of the three simulated drives
counts. The program time follows from the throughput at saturation in each. Simulations are those of a search, with
1,500 reads a load. Errors are medians over loads below 97% of saturation, and those at saturation.
"""

import math
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from cmaes import CMA  # type: ignore[import-untyped]

from flashweir.fitting import frontend, held, measurements, space, trials
from flashweir.fitting.closed import Form
from flashweir.fitting.forms import Corrected
from flashweir.fitting.points import Measurements
from flashweir.fitting.search import given

HERE = Path(__file__).parent
BELOW = ("read_mean", "read_p50", "read_p99", "read_p999", "write_mean", "write_p50", "write_p99")
AT = ("read_p50", "read_p99", "write_p50", "write_p99")
SEED, REGION, ROUNDS, TURNS = 1, 0.3, 50, 2


@dataclass(frozen=True)
class Without:
    """A mechanism: settings and keys without it, and alternatives of the scheduler and the front end.

    Attributes:
        holds: False where the drive holds no writes back, if it did.
    """

    name: str
    settings: Mapping[str, object] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    scheduler: str | None = None
    front_end: str | None = None
    holds: bool = True


MECHANISMS = (
    Without("nothing"),
    Without("suspension of programs", scheduler="reads first"),
    Without("limit of fetched commands", front_end="no limit"),
    Without("turns of queues", front_end="limited, first come first served"),
    Without("bursts of a queue", {frontend.BURST: 1}, (frontend.BURST,)),
    Without(
        "time of the firmware",
        {"firmware.write_time": 0, "firmware.read_time": 0},
        ("firmware.write_time",),
    ),
    Without("page types of reads", without=("spread of timing.read",)),
    Without("page types of programs", without=("spread of timing.program",)),
    Without("ends of programs that can't be suspended", {"sched.protected_end": 0.0}, ("sched.protected_end",)),
    Without("erases that reads can't interrupt", {"timing.erase": 0}, ("timing.erase",)),
    Without("destage ahead", {"buffer.destage": "full"}),
    Without("writes held back in phases", holds=False),
)


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Keys with dots."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def places_of(start: space.Start, drive: Mapping[str, Any]) -> tuple[float, ...]:
    """Places of the keys of a drive; the middle where it has none."""
    found = []
    for key in start.keys:
        of_types = key.name.startswith(space.SPREAD)
        value = drive.get(key.name.removeprefix(space.SPREAD))
        if value is None:
            found.append(key.place(1) if key.name == frontend.BURST else 0.5)
        elif of_types:
            found.append(key.place(math.sqrt(value[2] / value[0])) if isinstance(value, list) else 0.0)
        else:
            found.append(key.place(value[1] if isinstance(value, list) else value))
    return tuple(found)


def alternatives(drive: Mapping[str, Any]) -> tuple[str, str]:
    """Scheduler and front end of a drive."""
    batches = " but in batches of copies" if drive.get("gc.batch", 1) > 1 else ""
    scheduler = f"suspension{batches}" if drive["sched.kind"] == "suspend" else "reads first"
    if frontend.SLOTS not in drive:
        return scheduler, "no limit"
    return (
        scheduler,
        f"limited, {'round robin' if drive['host.arbitration'] == 'round-robin' else 'first come first served'}",
    )


def _has(drive: Mapping[str, Any], own: tuple[str, str], start: space.Start, mechanism: Without) -> bool:
    """True if a drive has a mechanism; `start` has the alternatives without it."""
    if mechanism.name == "nothing":
        return True
    if not mechanism.holds:
        return held.POLICY in drive
    if mechanism.front_end and own[1] == "no limit":
        return False
    known = bool(set(mechanism.without) & {key.name for key in start.keys})
    return known if mechanism.without else start.names != own or bool(mechanism.settings)


def _without(drive: Mapping[str, Any], start: space.Start, mechanism: Without) -> space.Start:
    """The keys and settings that a drive has without a mechanism."""
    keys = tuple(key for key in start.keys if key.name not in mechanism.without)
    holding = {name: drive[name] for name in held.names() if name in drive} if mechanism.holds else {}
    return replace(start, keys=keys, settings={**start.settings, **mechanism.settings, **holding})


def rows(data: Measurements, drive: Mapping[str, Any], wanted: Sequence[str]) -> Iterator[tuple[str, trials.Evaluated]]:
    """The best drive without each mechanism that the fitted one has, or of these the wanted ones; itself first."""
    parts = given(data)
    starts, own = space.starts(parts), alternatives(drive)
    settled = {} if "waf" not in parts else {"op_ratio": drive["op_ratio"]}
    form, task = Form(data, None, space.solved(), SEED), trials.middle(data, None, SEED)
    ratios: Mapping[str, Mapping[str, float]] = {}
    for mechanism in MECHANISMS:
        if wanted and mechanism.name not in ("nothing", *wanted):
            continue
        names = (mechanism.scheduler or own[0], mechanism.front_end or own[1])
        start = next(one for one in starts if one.names == names)
        if not _has(drive, own, start, mechanism):
            continue
        start = _without(drive, start, mechanism)
        corrected, places = Corrected(form, start, settled, ratios=ratios), places_of(start, drive)
        made = [task.evaluate(start.drive(places) | settled)]
        if mechanism.name == "nothing":
            corrected.learn(places, made[0].predicted)
            ratios = corrected.ratios
        else:
            for turn in range(TURNS):
                corrected.learn(places, made[-1].predicted)
                places = corrected.search(CMA, SEED + turn, ROUNDS, places, REGION)
                made.append(task.evaluate(start.drive(places) | settled))
        yield mechanism.name, min(made, key=lambda one: one.error)


def line(name: str, data: Measurements, one: trials.Evaluated) -> str:
    """A row of the table."""
    cells = [name, f"{one.error:.3f}"]
    for metric in BELOW:
        errors = [
            abs(one.predicted[point.id][metric] / point.measured[metric] - 1)
            for point in data.points
            if point.kind == "rate" and not point.is_knee and metric in one.predicted.get(point.id, {})
        ]
        cells.append(f"{median(errors):.1%}" if errors else "-")
    full = trials.saturation(data, None, SEED).points[0]
    at = one.predicted.get(full.id, {})
    cells += [f"{at[metric] / full.measured[metric] - 1:+.0%}" if metric in at else "-" for metric in AT]
    return f"| {' | '.join(cells)} |"


def main(name: str, path: str, wanted: list[str]) -> None:
    """Prints the table, row by row."""
    data = measurements.read(HERE / "measured.toml", name)
    drive = flat(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    heads = ["without", "error", *BELOW, *(f"{metric} at saturation" for metric in AT)]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for mechanism, one in rows(data, drive, wanted):
        print(line(mechanism, data, one), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
