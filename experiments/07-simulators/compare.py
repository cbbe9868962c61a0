"""Runs flashweir beside MQSim and SSDsim on equal drives and requests (`cases.toml`), and writes `results.json`.

`python compare.py --mqsim PATH --ssdsim PATH [-o FILE] [--only GROUP]`: programs that were built from their sources.
A simulator without a path is left as `results.json` has it. `tables.py` makes the tables of the README of it.
"""

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import mqsim
import numpy as np
import polars as pl
import ssdsim
import to_mqsim
from to_mqsim import Request, Settings, quantity

import flashweir

HERE = Path(__file__).parent
SPEC: dict[str, Any] = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))
REQUESTS = 5_000
# Requests whose data do not collide with collections: a share of the drive.
SHARE = 0.25


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    """Keys with dots of tables in tables."""
    found: dict[str, object] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def drive_of(case: Mapping[str, Any]) -> dict[str, object]:
    """The drive of a case. Dynamic allocation has no order."""
    drive = flat(SPEC[case["of"]]) | dict(case.get("drive", {}))
    if drive["alloc.kind"] == "dynamic":
        del drive["alloc.order"]
    return drive


def capacity(drive: Settings) -> int:
    """Bytes that the host sees, in whole pages."""
    counts = ("channels", "chips", "dies", "planes", "pages_per_block", "blocks_per_unit")
    pages = int(np.prod([int(str(drive[key])) for key in counts]) * (1 - float(str(drive["op_raw"]))))
    return pages * round(quantity(drive["page"]))


def at_random(case: Mapping[str, Any], drive: Settings, rate: float, seed: int) -> list[Request]:
    """Poisson arrivals at uniformly random starts: reads in the first half of the span, writes in the second."""
    size = round(quantity(case["size"]))
    span = round(quantity(case.get("span", SHARE * capacity(drive))))
    draw = np.random.default_rng(seed)
    times = np.cumsum(draw.exponential(1e9 / rate, REQUESTS)).astype(np.int64)
    starts = draw.integers(0, span // 2 // size, REQUESTS) * size
    writes = draw.random(REQUESTS) >= case["reads"]
    half = capacity(drive) // 2 // size * size
    starts += np.where(writes & (0 < case["reads"] < 1), half, 0)
    return list(zip(times.tolist(), starts.tolist(), [size] * REQUESTS, writes.tolist(), strict=True))


def overwritten(case: Mapping[str, Any], drive: Settings, seed: int) -> list[Request]:
    """Every page once in order, then pages at random, one at a time."""
    page = round(quantity(drive["page"]))
    pages = capacity(drive) // page
    random = np.random.default_rng(seed).integers(0, pages, pages * int(case["overwrites"]))
    order = np.concatenate((np.arange(pages), random)) * page
    return [(round(number * 1e9 / case["rate"]), int(start), page, True) for number, start in enumerate(order)]


def ours(drive: Settings, requests: Sequence[Request], folder: Path) -> dict[str, Any]:
    """Means in microseconds and flash operations of flashweir."""
    path = folder / "all.mqsim"
    path.write_text(to_mqsim.trace(requests), encoding="ascii")
    found = flashweir.simulate(path, format="mqsim", set=dict(drive))
    latency = found.latency_us
    means = {name: side.mean if side else None for name, side in (("read", latency.read), ("write", latency.write))}
    flash = found.flash
    return {**means, "reads": flash.reads, "programs": flash.programs, "erases": flash.erases}


def by_mqsim(program: Path, drive: Settings, requests: Sequence[Request], folder: Path) -> dict[str, Any]:
    """Means in microseconds, cut to whole ones, and flash operations of MQSim; reads and writes are a flow each."""
    half = capacity(drive) // 2
    reads = [request for request in requests if not request[3]]
    writes = [request for request in requests if request[3]]
    mixed = bool(reads and writes)
    if mixed:
        size = requests[0][2]
        writes = [(at, start - half // size * size, length, is_write) for at, start, length, is_write in writes]
    flows = [flow for flow in (reads, writes) if flow]
    answer = mqsim.run(program, drive, flows, folder)
    means = iter(answer.means_us)
    return {
        "read": next(means) if reads else None, "write": next(means) if writes else None, "cut": True,
        "reads": answer.reads + answer.plane_reads, "programs": answer.programs + answer.plane_programs,
        "erases": answer.erases, "plane_commands": answer.plane_reads + answer.plane_programs,
    }  # fmt: skip


def by_ssdsim(program: Path, drive: Settings, requests: Sequence[Request], folder: Path) -> dict[str, Any]:
    """Means in microseconds and flash operations of SSDsim, whose pages exist from the start when they are read."""
    answer = ssdsim.run(program, drive, requests, folder)
    times: dict[str, list[int]] = {"read": [], "write": []}
    for time, request in zip(answer.times_ns, requests, strict=True):
        times["write" if request[3] else "read"].append(time)
    means = {op: sum(all_) / len(all_) / 1000 if all_ else None for op, all_ in times.items()}
    return means | {name: answer.counts[name] for name in ("reads", "erases", "copybacks")}


def one_by_one(name: str, program: Path, drive: Settings, requests: Sequence[Request], folder: Path) -> dict[str, Any]:
    """Response times of single requests. MQSim says that of the last one alone, in whole microseconds."""
    log = folder / "requests.parquet"
    path = folder / "all.mqsim"
    path.write_text(to_mqsim.trace(requests), encoding="ascii")
    flashweir.simulate(path, format="mqsim", set=dict(drive), requests=log)
    table = pl.read_parquet(log)
    own = (table["completion_ns"] - table["time_ns"]).to_list()
    if name == "ssdsim":
        return {"theirs_ns": ssdsim.run(program, drive, requests, folder).times_ns, "ours_ns": own}
    answer = mqsim.run(program, drive, [requests], folder)
    return {"theirs_max_us": answer.max_us, "theirs_min_us": answer.min_us, "ours_ns": own}


def micros(programs: Mapping[str, Path], only: str) -> Iterator[dict[str, Any]]:
    """Answers to the few requests of each micro test: microseconds, page, sectors of it, `r` or `w`."""
    for case in SPEC["micro"]:
        if case["of"] not in programs or only not in "micro":
            continue
        drive = drive_of(case)
        page = round(quantity(drive["page"]))
        requests = [
            (round(at * 1000), number * page + first * to_mqsim.SECTOR, sectors * to_mqsim.SECTOR, op == "w")
            for at, op, number, first, sectors in case["requests"]
        ]
        with tempfile.TemporaryDirectory() as folder:
            found = one_by_one(case["of"], programs[case["of"]], drive, requests, Path(folder))
        yield {"of": case["of"], "group": "micro", "name": case["name"], **found}


RUNNERS = {"mqsim": by_mqsim, "ssdsim": by_ssdsim}


def cases(names: Sequence[str], only: str) -> Iterator[tuple[dict[str, Any], dict[str, object], list[Request]]]:
    """Identity, drive and requests of every run."""
    for case in SPEC["case"]:
        if case["of"] not in names or only not in case["group"]:
            continue
        drive = drive_of(case)
        for load, rate in case["rates"].items():
            for seed in SPEC["seeds"]:
                which = {"of": case["of"], "group": case["group"], "size": case["size"], "load": int(load)}
                yield which | {"seed": seed}, drive, at_random(case, drive, rate, seed)
    for case in SPEC["steady"]:
        if case["of"] not in names or only not in "steady":
            continue
        for victim in case["victims"]:
            drive = drive_of(case) | {"gc.victim": victim}
            if victim == "d-choices":
                drive["gc.choices"] = int(np.log2(int(str(drive["blocks_per_unit"]))))
            for seed in SPEC["seeds"]:
                which = {"of": case["of"], "group": "steady", "blocks": drive["blocks_per_unit"], "victim": victim}
                yield which | {"seed": seed}, drive, overwritten(case, drive, seed)


def spare_of(which: Mapping[str, Any]) -> Settings:
    """Settings with which a run in steady state is made here once more, if any."""
    return next((case.get("spare", {}) for case in SPEC["steady"]
                 if which["group"] == "steady" and which["victim"] == "greedy" and case["of"] == which["of"]
                 and case["drive"]["blocks_per_unit"] == which["blocks"]), {})  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Runs what has a path and merges it with what the file has."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    for name in RUNNERS:
        parser.add_argument(f"--{name}", type=Path, metavar="PATH", help=f"a built {name}")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results.json")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose group has this text")
    parser.add_argument("--seeds", type=int, default=len(SPEC["seeds"]), metavar="N", help="the first N seeds alone")
    given = parser.parse_args(arguments)
    programs = {name: path for name in RUNNERS if (path := getattr(given, name))}
    for name, path in programs.items():
        if not path.is_file():
            parser.error(f"--{name} {path}: no such file; expected a built program")
    rows = json.loads(given.output.read_text(encoding="utf-8")) if given.output.exists() else []
    rows = [row for row in rows if row["of"] not in programs or given.only not in row["group"]]
    for which, drive, requests in cases(tuple(programs), given.only):
        if which["seed"] not in SPEC["seeds"][: given.seeds]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            theirs = RUNNERS[which["of"]](programs[which["of"]], drive, requests, Path(folder))
            rows.append({**which, "theirs": theirs, "ours": ours(drive, requests, Path(folder))})
            if spare := spare_of(which):
                rows[-1]["ours_spare"] = ours({**drive, **spare}, requests, Path(folder))
        print(rows[-1], file=sys.stderr, flush=True)
    rows += micros(programs, given.only)
    text = ",\n".join(json.dumps(row) for row in rows)
    given.output.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
