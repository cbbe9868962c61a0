"""Calibration of the probe: of answers that are so sure, how many are right, on drives of three models.

Drives are drawn by a seed: `work` is the half on which the probe is made and its calibration learned, `held` the half
that grades it. Of the drives of `research/models` every second one has no noise.
"""

import dataclasses
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from flashweir import api
from flashweir._native import FlashweirError
from flashweir.probing import probe
from flashweir.quantity import number_of
from research.diagnosis.measure import Share
from research.models.arrays import drives as arrays
from research.models.arrays import page_map
from research.models.arrays.parameters import Parameters
from research.models.processes import drives as processes
from research.models.processes import map_cache
from research.models.processes.settings import Settings
from research.probing.bench import KEYS
from research.probing.drives import draw

KIB, MIB = 1 << 10, 1 << 20
SEEDS = {"work": 1807, "held": 27182}
"""Seed of each half."""
MODELS = ("arrays", "processes", "simulated")
# Bytes of a map entry, by model.
_ENTRY_BYTES = {"arrays": page_map.ENTRY_BYTES, "processes": map_cache.ENTRY_BYTES}
# Ends of the bins of `sure`.
BINS = ((0.0, 0.5), (0.5, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1.01))
_SURE = 0.8
# Least rate of an SLC cache, over that of the flash behind it, that the first fill shows.
_MIN_SLC_RATIO = 1.5
# Error within which the size of an SLC cache counts as right.
_WIDE = {"slc_cache_bytes": 0.3}
# Factor within which the size of a map cache counts as right: its entries have 4 to 8 bytes.
_MAP_CACHE_FACTOR = 2.0
_EXACT = ("page", "mapping_unit_bytes", "channels", "dies", "planes", "pages_per_block")
_MAX_BYTES = 256 * MIB
# Keys that requests show on any drive; `_independent` has the conditions of others.
_SHOWN = ("mapping_unit_bytes", "buffer.bytes", "flush_waits", "map_cache_bytes", "slc_cache_bytes", "timing.read")


@dataclass(frozen=True)
class Drive:
    """A drive, the truth by key, and the keys that requests can show."""

    model: str
    number: int
    target: str
    truth: Mapping[str, object]
    noiseless: bool
    shown: frozenset[str]


@dataclass(frozen=True)
class Answered:
    """An answer to a key whose truth is known."""

    key: str
    sure: float
    right: bool
    noiseless: bool
    shown: bool
    model: str
    value: object = None
    truth: object = None
    how: str = ""
    evidence: str = ""
    target: str = ""


def drawn(half: str, model: str, number: int) -> Drive:
    """The drive of a number: the same for the same arguments."""
    quiet = number % 2 == 0
    if model == "arrays":
        return _array(arrays.draw(SEEDS[half], number), number, quiet=quiet)
    if model == "processes":
        return _process(SEEDS[half], number, quiet=quiet)
    return _simulated(SEEDS[half], number)


def _array(texts: dict[str, str], number: int, *, quiet: bool) -> Drive:
    if quiet:
        texts |= {"noise": "0", "hiccup_rate": "0"}
    one = Parameters.read(texts)
    pages = one.ftl in ("page", "cached")
    found: dict[str, object] = {"mapping_unit_bytes": one.unit_bytes} if pages else {}
    cache = one.map_cache_kib * KIB if one.ftl == "cached" else 0
    found["map_cache_bytes"] = _shown_cache(cache, one.capacity_mib * MIB // one.unit_bytes * _ENTRY_BYTES["arrays"])
    found |= {"buffer.bytes": one.buffer_kib * KIB, "slc_cache_bytes": 0, "flush_waits": one.flush_waits}
    flash = (one.page_kib * KIB, one.channels, one.dies, one.block_pages, one.spare)
    times = (one.read_us, one.program_us, one.erase_us)
    waits = one.flush_waits or not one.buffer_kib
    target, found = arrays.target(texts), found | _flash(flash, times, one.bus_mbps)
    return _independent(
        Drive("arrays", number, target, found, quiet, frozenset()), waits=waits, hides_us=one.overhead_us
    )


def _process(seed: int, number: int, *, quiet: bool) -> Drive:
    intent = processes.INTENTS[number % len(processes.INTENTS)]
    for attempt in range(processes.MAX_ATTEMPTS):
        try:
            one = processes.draw(Random(f"{seed} {number} {attempt}"), intent)  # noqa: S311 - no secret
        except ValueError:
            continue
        if one.capacity <= _MAX_BYTES:
            break
    texts = one.texts()
    if quiet:
        texts = {name: text for name, text in texts.items() if name not in ("noise", "jitter", "hiccup_s")}
        one = Settings.parse(texts)
    found: dict[str, object] = {"mapping_unit_bytes": one.unit_bytes} if one.mapping in ("page", "cached") else {}
    cache = one.map_cache if one.mapping == "cached" else 0
    found["map_cache_bytes"] = _shown_cache(cache, one.capacity // one.unit_bytes * _ENTRY_BYTES["processes"])
    found |= {"buffer.bytes": one.buffer, "slc_cache_bytes": one.slc, "flush_waits": not one.protected}
    flash = (one.page, one.channels, one.dies, one.pages_per_block, one.spare)
    times = (one.read_us, one.program_us, one.erase_us)
    target = ",".join([processes.TARGET, *(f"{key}={value}" for key, value in texts.items())])
    # A cache does not show if it, or the link, is hardly faster than the flash behind it.
    dies = one.channels * one.dies
    behind, cached = (1e6 * one.page * dies / us for us in (one.program_us, one.slc_program_us))
    if min(cached, one.link_mbps * 1e6) < _MIN_SLC_RATIO * behind:
        found["slc_cache_bytes"] = 0
    waits = not one.protected or one.buffer < one.frame_bytes
    still = not (one.noise or one.jitter or one.hiccup_s)
    drive = Drive("processes", number, target, found | _flash(flash, times, one.channel_mbps), still, frozenset())
    return _independent(drive, waits=waits, hides_us=one.controller_us)


def _shown_cache(cache_bytes: int, map_bytes: int) -> int:
    """Size of a map cache; 0 if it holds the whole map, as it never misses."""
    return cache_bytes if cache_bytes < map_bytes else 0


def _independent(drive: Drive, *, waits: bool, hides_us: float) -> Drive:
    """The drive with the keys that requests show. `hides_us`: time of a command, which hides shorter ones."""
    truth = drive.truth
    shown = {key for key in _SHOWN if key in truth}
    if waits and not truth["slc_cache_bytes"]:
        shown.add("timing.program")
    if float(str(truth["timing.read"])) < hides_us * 1e3:
        shown.remove("timing.read")
    elif truth["channels"] != 1 or truth["dies"] != 1:
        # Reads of one die wait for each other, and those of two dies do not.
        shown.add("page")
    return dataclasses.replace(drive, shown=frozenset(shown))


def _flash(flash: tuple[float, ...], times: tuple[float, ...], bus_mbps: float) -> dict[str, object]:
    names = ("page", "channels", "dies", "pages_per_block", "op_ratio")
    timed = {f"timing.{name}": us * 1e3 for name, us in zip(("read", "program", "erase"), times, strict=True)}
    return {**dict(zip(names, flash, strict=True)), **timed, "planes": 1, "timing.bus": 1e3 / bus_mbps}


def _simulated(seed: int, number: int) -> Drive:
    one = draw("measure", number, seed)
    config: Mapping[str, Any] = {}
    while not config:
        try:
            if int(one.settings["capacity"]) <= _MAX_BYTES:
                result = api.simulate("random:span=1MiB,count=1", one.device, set=one.settings)
                config = result.config
        except FlashweirError:
            pass
        if not config:
            one = draw("measure", one.number + 1000, seed)
    timing = config["timing"]
    truth: dict[str, object] = {f"timing.{name}": timing[name] for name in ("read", "program", "erase", "bus")}
    truth |= {key: config[key] for key in ("channels", "planes", "pages_per_block", "op_ratio")}
    truth |= {"page": number_of(config["page"]), "dies": config["chips"] * config["dies"]}
    truth |= {"buffer.bytes": number_of(config["buffer"]["bytes"]), "map_cache_bytes": 0}
    truth["slc_cache_bytes"] = _slc_bytes(result.to_dict(), int(one.settings["capacity"]))
    truth["mapping_unit_bytes"] = max(4096, int(number_of(config["page"]) or 0))
    return Drive("simulated", number, one.target, truth, True, frozenset(truth))


def _slc_bytes(result: Mapping[str, Any], capacity: int) -> int:
    """Size of the SLC cache of a simulated drive; 0 if it is larger than what the probe fills, so that none shows."""
    cache = result.get("slc")
    size = 0 if cache is None else cache["room_pages"] * int(number_of(result["config"]["page"]) or 0)
    return size if size <= capacity / 2 else 0


def numbers(value: object) -> list[float]:
    """Times and sizes of an answer, or of a truth."""
    listed = value if isinstance(value, list) else [value]
    found = [number_of(one) for one in listed]
    return [one for one in found if one is not None]


def is_right(key: str, value: object, truth: object) -> bool:
    """If an answer is within its error."""
    if isinstance(truth, bool) or isinstance(value, bool) or value is None:
        return value == truth
    found, true = numbers(value), numbers(truth)
    if not found or not true:
        return False
    mine, its = sum(found) / len(found), sum(true) / len(true)
    if key == "map_cache_bytes":
        return its / _MAP_CACHE_FACTOR <= mine <= its * _MAP_CACHE_FACTOR
    return abs(mine - its) <= (0 if key in _EXACT else _WIDE.get(key, KEYS) * its)


def answers(drive: Drive) -> list[Answered]:
    """The answers of the probe on a drive."""
    try:
        said = probe(drive.target).to_dict()
    except FlashweirError as error:
        print(f"failed: {drive.target}: {error}", file=sys.stderr)
        return []
    found = []
    chips = next((one["value"] for one in said["answers"] if one["key"] == "chips"), 1)
    for one in said["answers"]:
        key = one["key"]
        if key not in drive.truth:
            continue
        value = one["value"] * chips if key == "dies" else one["value"]
        found.append(
            Answered(
                key,
                one["sure"],
                is_right(key, value, drive.truth[key]),
                drive.noiseless,
                key in drive.shown,
                drive.model,
                value,
                drive.truth[key],
                one["how"],
                one.get("evidence", ""),
                drive.target,
            )
        )
    return found


def lines(found: Iterable[Answered]) -> Iterator[str]:
    """Share that is right by `sure`, in all and by key, and the share answered of what requests show."""
    found = [one for one in found if one.value is not None]
    for low, high in BINS:
        band = [one.right for one in found if low <= one.sure < high]
        yield f"sure {low:.2f} to {min(high, 1):.2f}: right {Share(sum(band), len(band))}"
    head = "  ".join(f"{low:.2f}-{min(high, 1):.2f}" for low, high in BINS)
    yield f"{'question':<20} {'answers':>7}  {head}"
    for key in sorted({one.key for one in found}):
        mine = [one for one in found if one.key == key]
        bands = [[one.right for one in mine if low <= one.sure < high] for low, high in BINS]
        cells = "  ".join(f"{f'{sum(band)}/{len(band)}' if band else '-':>9}" for band in bands)
        yield f"{key:<20} {len(mine):>7}  {cells}"
    for name, models in (("models of research", MODELS[:2]), ("simulated drives", MODELS[2:])):
        shown = [one for one in found if one.noiseless and one.shown and one.model in models]
        sure = [one.sure >= _SURE for one in shown]
        yield f"noiseless {name}, of what requests show answered at {_SURE} or more: {Share(sum(sure), len(sure))}"


def measure(half: str, counts: Mapping[str, int], workers: int = 2) -> Iterator[Answered]:
    """Answers on so many drives of each model."""
    drives = [drawn(half, model, number) for model, count in counts.items() for number in range(count)]
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(answers, drives):
            yield from found


def main(arguments: list[str]) -> int:
    """Probes drives: `python -m research.probing.calibration work|held [COUNT [FILE.jsonl]]`."""
    if not arguments or arguments[0] not in SEEDS or not all(text.isdecimal() for text in arguments[1:2]):
        print("error: expected `work` or `held`, a number of drives of each model, and a file", file=sys.stderr)
        return 2
    count = int(arguments[1]) if len(arguments) > 1 else 30
    found = list(measure(arguments[0], dict.fromkeys(MODELS, count)))
    if len(arguments) > 2:  # noqa: PLR2004
        text = "".join(json.dumps(asdict(one)) + "\n" for one in found)
        Path(arguments[2]).write_text(text, encoding="utf-8")
    for line in lines(found):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
