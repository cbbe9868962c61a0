"""The function `lifetime`: fast-forward over seeds, and the ends of a drive's life."""

import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir import _native, api
from flashweir._native import ConfigError
from flashweir.api import Progress, Workload, as_json, device_name, name_device, simulate
from flashweir.arguments import check_path, in_python, shown
from flashweir.endurance import ends, latency, outcome, retiring
from flashweir.endurance.aged import aged
from flashweir.endurance.cells import Rating, rating
from flashweir.endurance.errors import CODEWORD, Code, Stress, strength_for
from flashweir.endurance.running import Run, Simulated, host_bytes, raw_bytes, simulated
from flashweir.endurance.streams import Streams
from flashweir.external import split
from flashweir.fio.resolving import resolve
from flashweir.options import lifetime as option
from flashweir.options import reading
from flashweir.options import run as run_options
from flashweir.options.option import checked, declared
from flashweir.quantity import number_of
from flashweir.result import Result
from flashweir.results.section import Section
from flashweir.settings import chosen
from flashweir.tenants import AnyPath

if TYPE_CHECKING:
    from collections.abc import Callable

    from flashweir.endurance.ends import Limits
    from flashweir.endurance.running import Judge, JudgeAll

SEEDS = 3
# Cycles at which a block is retired, as a multiple of the rating.
BLOCK_MARGIN = 1.25
# Conditions of the data that is read, and those that a default code is made for.
DAYS, CELSIUS = 30.0, 30.0
_PROBED = 2000
# The least and the most of an argument; None is above 0. Cycles and days as of ageing.rated_cycles and
# ageing.retention; drive writes a day over more years say nothing.
_RANGES: Mapping[str, tuple[float | None, float]] = {
    "years": (None, 10_000.0),
    "cycles": (1.0, 1e9),
    "block_cycles": (1.0, 1e9),
    "retention_days": (None, 1e5),
    "tolerance": (None, 1.0),
}


@declared
@in_python
def lifetime(
    workload: Workload,
    device: AnyPath | Mapping[str, Any] | None = None,
    *,
    years: option.Years = 5.0,
    temperature: option.Temperature = None,
    cycles: option.Cycles = None,
    cell: option.Cell = None,
    block_cycles: option.BlockCycles = None,
    retention_days: option.Retention = DAYS,
    ecc: option.Ecc = None,
    per_day: option.PerDay = None,
    price: option.Price = None,
    seeds: int | Sequence[int] | None = None,
    seed: option.Seed = None,
    tolerance: option.Tolerance = 0.01,
    full: option.Full = False,
    format: reading.Format = None,
    columns: reading.Columns = None,
    skip_bad: reading.SkipBad = 0,
    hint: reading.Hint = None,
    wrap: run_options.Wrap = False,
    progress: Progress | None = None,
    set: Mapping[str, object] | None = None,
    **overrides: object,
) -> Section:
    """Time and bytes written until a drive's rated cycles or spare blocks are used up, or a read fails.

    The workload is repeated. Stretches of it are simulated until the wear is steady; the rest of life is extrapolated
    (docs/concepts/wear.md).

    Args:
        workload: as of `simulate`; it is repeated without end.
        device: as of `simulate`.
        seeds: how many (`3` is 1 to 3, the default), or a list. A run that draws nothing is run once.
        progress: likewise.
        set: keys of the drive, as of `simulate`.
        overrides: the same as keyword arguments.

    Returns:
        `tbw_bytes`, `years`, `ended_by`, `curve` and more (docs/reference/lifetime.md).

    Raises:
        ConfigError: an argument, key or workload that makes no life.
        TraceError: the workload can't be read, or does not fit the drive.
        FlashweirError: a run failed, or `progress` stopped it.
    """
    options = checked(lifetime, locals())
    check_path("device", device)
    _check_numbers(
        {"years": years, "cycles": cycles, "block_cycles": block_cycles, "retention_days": retention_days,
         "price": price, "tolerance": tolerance}
    )  # fmt: skip
    if temperature is not None and not (_is_number(temperature) and -55 <= temperature <= 125):  # noqa: PLR2004 - flash works in no other
        raise ConfigError(f"temperature {temperature}: expected degrees Celsius from -55 to 125")
    daily = None if per_day is None else _size(per_day, "per_day")
    code = None if ecc is None else _code(ecc)
    settings = chosen(set, overrides)
    read = {name: options[name] for name in ("format", "columns", "skip_bad", "hint")}
    with tempfile.TemporaryDirectory(prefix="flashweir-") as folder:
        scratch = Path(folder)
        plan, settings = _plan(workload, device, settings, {**read, "wrap": wrap}, scratch)
        streams = Streams(plan, read, scratch)
        config = plan["config"]
        rated = rating(device, config, cell, cycles)
        used = _used(config, rated, ecc)
        ages = config["ageing"]["kind"] != "none"
        if ages and temperature is not None:
            settings = {**settings, "ageing.temperature": temperature}
        celsius = config["ageing"]["temperature"] if temperature is None else temperature
        chosen_seeds = _seeds(seeds, seed, seeded=plan["seeded"])

        own = retiring.retires(config)
        if own and block_cycles is not None:
            raise ConfigError(f"block_cycles {block_cycles:g}: the drive retires its blocks itself: use ageing.retire")
        stretches = dict.fromkeys(chosen_seeds, 0)

        def run(count: float, seed: int, more: Mapping[str, object]) -> Result:
            stretches[seed] += 1
            place = f"seed {len([one for one in stretches.values() if one])} of {len(stretches)}"
            noted = _noted(progress, f"{place}, stretch {stretches[seed]}")
            keys = {**settings, **more}
            return simulate(streams.cycles(count), device, seed=seed, wrap=wrap, progress=noted, set=keys)

        stress = Stress(retention_days, celsius)
        request = outcome.Request(years, daily, price, chosen_seeds, plan["seeded"], tolerance)

        limits_of = partial(_limits, rated=rated, block_cycles=block_cycles, stress=stress, code=code, config=config)

        def judges_of(result: Result) -> "tuple[Judge, JudgeAll]":
            limits = limits_of(result)
            return partial(outcome.judged, limits=limits, request=request), partial(outcome.others, limits=limits)

        def of_seed(seed: int) -> Simulated:
            left, keys = rated.cycles - used, retiring.WITHOUT if own else {}
            lasting = partial(run, seed=seed, more=keys)
            found = _of_seed(lasting, judges_of, streams, rated=left, tolerance=tolerance, full=full)
            if own:
                drive = retiring.Drive(lambda count, more: run(count, seed, more), config, rated.cycles, streams.whole)
                found = replace(found, spare=retiring.spare(drive, found.written, full=full))
            if not ages:
                return found
            wear = outcome.wear_at_end(found, limits_of(found.result), request)
            lives = _Conditions(partial(run, seed=seed), keys, streams, used, retention_days, daily)
            return replace(found, ages=_ages(found, lives, wear))

        found = [of_seed(seed) for seed in chosen_seeds]
    result = found[0].result
    limits = limits_of(result)
    named = ", ".join(shown(str(one.get("path", one["spec"]))) for one in plan["workloads"])
    return Section(outcome.combined(found, limits, request, raw_bytes(result), named, _name(device), streams.traces))


@dataclass(frozen=True)
class _Conditions:
    """A drive whose cells age: its runs with keys of their own, cycles used, days of its data, and bytes a day."""

    run: "Callable[..., Result]"
    keys: Mapping[str, object]
    streams: Streams
    used: float
    days: float
    per_day: float | None


def _ages(found: Simulated, of: _Conditions, wear: float) -> latency.Ages | None:
    """Latencies of a drive at points of its life, up to a mean wear."""
    drive = latency.Ageing(
        run=lambda host, more: of.run(_cycles(host / found.written, of.streams), more={**of.keys, **more}),
        used=of.used,
        days=of.days,
        raw=raw_bytes(found.result),
        seconds=found.course.slope("seconds", math.inf),
        per_day=of.per_day,
    )
    return latency.measured(drive, wear)


def _cycles(count: float, streams: Streams) -> float:
    """So many cycles of the workload, whole ones where it is a recording."""
    return math.ceil(count) if streams.whole else count


def _used(config: Mapping[str, Any], rated: Rating, ecc: str | None) -> float:
    """Cycles that the blocks of a drive have at the beginning.

    Raises:
        ConfigError: as many as the rated ones, or another code than that of a drive whose cells age.
    """
    if config["ageing"]["kind"] == "none":
        return 0.0
    if ecc is not None:
        raise ConfigError(f"ecc {ecc}: the drive has its own code: use ageing.ecc_bits and ageing.soft_bits")
    used = float(config["ageing"]["cycles"])
    if used >= rated.cycles:
        raise ConfigError(f"ageing.cycles = {used:g}: blocks are at their {rated.cycles:g} rated cycles")
    return used


def _noted(progress: Progress | None, note: str) -> Progress | None:
    """Progress whose states have a note: the place of a run among others."""
    return None if progress is None else lambda state: progress({**state, "note": note})


def _plan(
    workload: Workload, device: object, settings: Mapping[str, object], options: Mapping[str, Any], scratch: Path
) -> tuple[dict[str, Any], dict[str, object]]:
    """The run of one cycle as the native module resolves it, and the settings with those that a job file asks for."""
    drive, functions = split(settings)
    if functions:
        raise ConfigError(f"{next(iter(functions))}: a life is simulated without policies in Python")
    name = device_name(device, scratch)  # type: ignore[arg-type]
    try:
        jobs = resolve(api._workloads(workload), name, drive)  # noqa: SLF001
        spec = {"workloads": jobs.workloads, "device": name, "overrides": {**jobs.settings, **drive}, **options}
        found: dict[str, Any] = json.loads(_native.plan(as_json(spec)))
    except ConfigError as error:
        name_device(error, scratch)
        raise
    for asked, one in zip(jobs.workloads, found["workloads"], strict=False):
        # The plan names files in text, which not all names are.
        if "path" in one and isinstance(asked["spec"], Mapping):
            one["path"] = os.fsdecode(bytes(asked["spec"]["bytes"]))
    return found, {**jobs.settings, **settings}


def _of_seed(
    run: Run,
    judges_of: "Callable[[Result], tuple[Judge, JudgeAll]]",
    streams: Streams,
    *,
    rated: float,
    tolerance: float,
    full: bool,
) -> Simulated:
    """The course of one seed, with the judges of a first short run's drive: that says how much a cycle writes."""
    share = streams.share_of(_PROBED)
    probe = run(share)
    written = host_bytes(probe) / share
    if written <= 0:
        probe = run(1.0)
        written = host_bytes(probe)
    if written <= 0:
        raise ConfigError("the workload writes nothing to the drive: it does not wear")
    raw = raw_bytes(probe)
    return simulated(
        run,
        *judges_of(probe),
        written=written,
        whole=streams.whole,
        raw=raw,
        rated=rated,
        tolerance=tolerance,
        full=full,
    )


def _limits(
    result: Result,
    rated: Rating,
    block_cycles: float | None,
    stress: Stress,
    code: Code | None,
    config: Mapping[str, Any],
) -> "Limits":
    """The drive's limits; `config` is its complete configuration."""
    geometry = result.geometry
    blocks, pages = int(geometry.blocks), int(geometry.pages_per_block)
    used = -(-int(geometry.logical_pages) // pages)
    at_most = block_cycles if block_cycles is not None else BLOCK_MARGIN * rated.cycles
    errors, why = rated.cell.errors, ""
    if errors is None:
        why, code = f"no parameters of errors are known for {rated.cell.name}", None
    elif code is None:
        code = strength_for(errors, at_most / rated.cycles, Stress(DAYS, CELSIUS))
        why = "" if code is not None else "no code corrects the errors of a block at the end of its life"
    spare, more = blocks - used - int(geometry.reserved_blocks), {}
    if retiring.of_zones(config):
        spare, more = 0, {"no_spare": "zones have their blocks for good: a worn block is a zone less"}
    ages = config["ageing"]["kind"] != "none"
    return ends.Limits(
        rating=rated,
        block_cycles=at_most,
        blocks=blocks,
        spare_blocks=spare,
        page=raw_bytes(result) // int(geometry.physical_pages),
        pages_per_block=pages,
        stress=stress,
        code=code,
        why=why,
        aged=aged(config, rated.cell.key, errors, blocks) if ages else None,
        **more,
    )


def _seeds(seeds: object, seed: int | None, *, seeded: bool) -> list[int]:
    if seed is not None and seeds is not None:
        raise ConfigError("--seed and --seeds exclude each other")
    seeds = [seed] if seed is not None else SEEDS if seeds is None else seeds
    if isinstance(seeds, int) and not isinstance(seeds, bool) and seeds > 0:
        found = list(range(1, seeds + 1))
    elif isinstance(seeds, Sequence) and seeds and all(isinstance(one, int) and one >= 0 for one in seeds):
        found = list(seeds)
    else:
        raise ConfigError(f"seeds: {seeds!r}: expected how many, or a list of whole numbers")
    return found if seeded else found[:1]


def _name(device: object) -> str:
    if device is None:
        return "default drive"
    return "device" if isinstance(device, Mapping) else Path(str(device)).name


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _check_numbers(given: Mapping[str, object]) -> None:
    for name, value in given.items():
        if value is not None and not (_is_number(value) and float(str(value)) > 0):
            raise ConfigError(f"{name} {value}: expected a number above 0")
        if value is None or name not in _RANGES:
            continue
        least, most = _RANGES[name]
        if float(str(value)) > most or (least is not None and float(str(value)) < least):
            expected = f"at most {most:,.0f}" if least is None else f"{least:,.0f} to {most:,.0f}"
            raise ConfigError(f"{name} {value:g}: expected {expected}")


def _size(given: str | float, name: str) -> float:
    number = number_of(given)
    if number is None or not 0 < number < float("inf"):
        raise ConfigError(f"{name} {given}: expected a size such as 500GB")
    return float(number)


def _code(text: str) -> Code:
    bits, slash, size = str(text).partition("/")
    number = number_of(size) if slash else float(CODEWORD)
    if not bits.isdigit() or number is None or number < 1 or not 0 < int(bits) < 8 * number:
        raise ConfigError(f"ecc {text}: expected bits that are corrected in a codeword, such as 120/1KiB")
    return Code(int(bits), int(number), "given")
