"""Probes drives of which everything is known, and holds what was found against what they are.

That is done key by key, and by simulating the probed device file under workloads that the probe knows nothing of.

Some keys can't be known of some drives, because no request shows them: a die alone on its channel does not show how its
reads split into array and transfer, for instance. A row says of how many drives a key can be known.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

from flashweir import api
from flashweir._native import ConfigError, FlashweirError
from flashweir.probing import probe
from flashweir.quantity import number_of
from flashweir.result import Result
from research.probing.drives import Drive, Purpose, draw

KEYS, WORKLOADS = 0.10, 0.15
"""Errors within which a key and a workload count as right."""

_COUNT = 12_000


@dataclass(frozen=True)
class Held:
    """A workload that the probe knows nothing of: what it does (`{span}`), the drive's state before, and its host."""

    name: str
    spec: str
    state: str
    host: Mapping[str, Any]


HELD = (
    Held("random write", f"random:span={{span}},size=4KiB,count={_COUNT}", "steady", {"host.queue_depth": 8}),
    Held(
        "sequential write", f"sequential:span={{span}},size=64KiB,count={_COUNT // 4}", "full", {"host.queue_depth": 4}
    ),
    Held("random read", f"random:span={{span}},size=8KiB,write=0,count={_COUNT}", "full", {"host.queue_depth": 16}),
    Held(
        "mixed", f"random:span={{span}},size=4KiB|32KiB:0.3,write=0.4,count={_COUNT}", "steady", {"host.queue_depth": 4}
    ),
    Held("hot and cold", f"hotcold:span={{span}},size=8KiB,count={_COUNT}", "steady", {"host.queue_depth": 8}),
    Held(
        "bursts",
        f"random:span={{span}},size=4KiB,write=0.7,period={{period}}us,burst=64,count={_COUNT}",
        "full",
        {"host.mode": "open"},
    ),
)


@dataclass(frozen=True)
class Case:
    """A drive and what probing it came to.

    `keys` has true and found values, `unseen` those that no request shows on this drive, `workloads` the largest error
    of throughput and mean latencies under each, as a share.
    """

    drive: Drive
    keys: Mapping[str, tuple[float, float]]
    unseen: frozenset[str]
    workloads: Mapping[str, float]
    requests: int
    device_file: str = field(repr=False)


def cases(purpose: Purpose, count: int, seed: int, threads: int = 2) -> Iterator[Case]:
    """So many drives in the order of their numbers. What is no drive is left out and another one drawn."""
    with ThreadPoolExecutor(threads) as pool:
        number, done = 0, 0
        while done < count:
            batch = range(number, number + max(threads, min(16, count - done)))
            number = batch.stop
            for found in pool.map(lambda number: case(draw(purpose, number, seed)), batch):
                if found is not None and done < count:
                    done += 1
                    yield found


def case(drive: Drive) -> Case | None:
    """Probes a drive and simulates what was found; None if it makes no drive."""
    try:
        truth = api.simulate("random:span=1MiB,count=1", drive.device, set=drive.settings)
    except ConfigError:
        return None
    text, requests = "", 0
    try:
        probed = probe(drive.target)
        text, requests = str(probed.device_file), int(probed.requests)
    except FlashweirError as failure:
        print(f"drive {drive.number}: {failure}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "probed.toml"
        file.write_text(text, encoding="utf-8")
        try:
            found = api.simulate("random:span=1MiB,count=1", file)
            errors = {held.name: _error(held, drive, truth, file) for held in HELD}
        except FlashweirError as refused:
            # Keys are those of the default drive, and no workload is right.
            print(f"drive {drive.number}: no device: {refused}")
            found = api.simulate("random:span=1MiB,count=1")
            errors = {held.name: float("inf") for held in HELD}
        keys, unseen = _keys(truth.config, truth.geometry, found.config, found.geometry)
    return Case(drive, keys, unseen, errors, requests, text)


def _number(value: object) -> float:
    return number_of(value) or 0.0


def _mean_us(times: object) -> float:
    listed = times if isinstance(times, (list, tuple)) else [times]
    return fmean(_number(time) / 1e3 for time in listed)


def _facts(config: Mapping[str, Any], geometry: Mapping[str, Any]) -> dict[str, float]:
    """A drive in numbers: times in us. Spare space is that of whole blocks."""
    timing = config["timing"]
    page = _number(config["page"])
    transfer = timing["bus"] * page / 1e3 + _number(timing["command"]) / 1e3
    read, program = _mean_us(timing["read"]), _mean_us(timing["program"])
    logical, per_block = geometry["logical_pages_per_unit"], geometry["pages_per_block"]
    usable = (geometry["blocks"] / geometry["units"] - 1) * per_block
    return {
        "page": page,
        "channels": config["channels"],
        "dies of a channel": config["chips"] * config["dies"],
        "dies in all": config["channels"] * config["chips"] * config["dies"],
        "planes": config["planes"],
        "pages of a block": per_block,
        "spare blocks": usable / logical - 1,
        "op_ratio as written": config["op_ratio"],
        "buffer": _number(config["buffer"]["bytes"]),
        "read and transfer": read + transfer,
        "program and transfer": program + transfer,
        "transfer": transfer,
        "read": read,
        "program": program,
        "erase": _number(timing["erase"]) / 1e3,
    }


_SPLIT = ("transfer", "read", "program")


def _keys(
    config: Mapping[str, Any], geometry: Mapping[str, Any], other: Mapping[str, Any], its: Mapping[str, Any]
) -> tuple[dict[str, tuple[float, float]], frozenset[str]]:
    """True and found values, and which of them no request shows on this drive."""
    truth, found = _facts(config, geometry), _facts(other, its)
    alone = truth["dies of a channel"] == 1
    unseen = set(_SPLIT) if alone else set()
    if truth["transfer"] == 0 and not alone:
        unseen |= {"channels", "dies of a channel", "transfer"}
    return {key: (truth[key], found[key]) for key in truth}, frozenset(unseen)


def _error(held: Held, drive: Drive, truth: Result, file: Path) -> float:
    """The largest error of throughput and mean latencies of the file against the drive."""
    span = int(truth.geometry["capacity_bytes"] * 0.9) // 65536 * 65536
    # Two bursts of 64 pages that all dies take a while for, with rest in between.
    facts = _facts(truth.config, truth.geometry)
    period = round(2 * (64 / facts["dies in all"] + 1) * (facts["read and transfer"] + facts["program and transfer"]))
    spec = held.spec.format(span=span, period=period)
    settings = {"precondition": held.state, **held.host}
    real = api.simulate(spec, drive.device, set={**drive.settings, **settings})
    twin = api.simulate(spec, file, set=settings)
    pairs = [(real.iops or 0.0, twin.iops or 0.0)]
    for op in ("read", "write"):
        latency = real.latency_us[op]["mean"], twin.latency_us[op]["mean"]
        # A mean below a microsecond is that of a buffer: nothing that anybody measures.
        if latency[0] is not None and max(latency) > 1.0:
            pairs.append((float(latency[0]), float(latency[1])))
    return max(error(*pair) for pair in pairs)


def error(truth: float, found: float) -> float:
    """Relative error of a value, as a share of the true one; 0 is only like 0."""
    if truth == 0:
        return 0.0 if found == 0 else float("inf")
    return abs(found / truth - 1)


@dataclass(frozen=True)
class Row:
    """Of so many drives so many are within the limit; and the middle error."""

    name: str
    right: int
    drives: int
    median: float
    unseen: int = 0

    def __str__(self) -> str:
        share = f"{self.right / self.drives:6.1%}" if self.drives else "     -"
        rest = f", not to be seen on {self.unseen}" if self.unseen else ""
        return f"{self.name:<22}{share}  {self.right:3} of {self.drives:3}  median error {self.median:6.2%}{rest}"


def rows(found: Sequence[Case]) -> tuple[list[Row], list[Row]]:
    """A row for each key, and for each held-out workload."""
    names = list(found[0].keys) if found else []
    keys = []
    for name in names:
        seen = [case for case in found if name not in case.unseen]
        errors = [error(*case.keys[name]) for case in seen]
        keys.append(_row(name, errors, KEYS, len(found) - len(seen)))
    held = [_row(one.name, [case.workloads[one.name] for case in found], WORKLOADS, 0) for one in HELD]
    return keys, held


def _row(name: str, errors: Sequence[float], limit: float, unseen: int) -> Row:
    within: Callable[[float], bool] = lambda one: one <= limit + 1e-9  # noqa: E731
    return Row(name, sum(map(within, errors)), len(errors), median(errors) if errors else 0.0, unseen)
