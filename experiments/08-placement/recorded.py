"""Write amplification of every classifier on recorded traces under the conditions of `spec.toml`.

Run `python recorded.py made` or `held`, the half of the traces by hash of their names, `generated`, or `spare`, which
is generated workloads on drives with more spare space.
"""

import json
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import flashweir

HERE = Path(__file__).parent
SPEC: dict[str, Any] = tomllib.loads((HERE / "spec.toml").read_text(encoding="utf-8"))
PAGE = 4096


def half(name: str) -> str:
    """The half that a trace belongs to, by the FNV-1a hash of its name: `made` on, or `held` out."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return ("made", "held")[state >> 32 & 1]


def pages_written(trace: Path) -> NDArray[np.uint32]:
    """Pages of 4 KiB that a trace writes, in order, numbered by their first write."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "trace.msr.csv"
        flashweir.trace_convert(trace, table, skip_bad=100_000)
        rows = [line.split(",") for line in table.read_text(encoding="utf-8").splitlines()]
    writes = [(int(row[4]), int(row[5])) for row in rows if row[3] == "Write" and int(row[5]) > 0]
    if not writes:
        return np.empty(0, np.uint32)
    pages = [np.arange(at // PAGE, (at + size - 1) // PAGE + 1) for at, size in writes]
    _, first, dense = np.unique(np.concatenate(pages), return_index=True, return_inverse=True)
    return first.argsort().argsort()[dense].astype(np.uint32)


def drive(pages: int, settings: dict[str, Any]) -> dict[str, Any]:
    """A drive of one unit on which so many pages fill the share that `spec.toml` says."""
    own = SPEC["drive"]
    logical = int(np.ceil(pages / own["fill"]))
    per_block = max(int(logical * (1 + own["op_ratio"]) / own["blocks"]), own["least_pages_per_block"])
    shape = dict.fromkeys(("channels", "chips", "dies", "planes"), 1)
    sizes = {"page": PAGE, "pages_per_block": per_block, "capacity": logical * PAGE, "op_ratio": own["op_ratio"]}
    return {**shape, **sizes, "precondition": "empty", **settings}


def amplification(writes: NDArray[np.uint32], settings: dict[str, Any]) -> float:
    """Write amplification of pages written one after the other, repeated to so many overwrites of their number."""
    pages = int(writes.max()) + 1
    simulated = flashweir.Drive(set=drive(pages, settings))
    order = np.resize(writes, SPEC["drive"]["overwrites"] * pages).astype(np.int64)
    for part in np.array_split(order, max(len(order) // 100_000, 1)):
        simulated.submit(op="write", offset=part * PAGE, length=PAGE)
        simulated.drain()
    flash = simulated.stats().flash
    return float(flash.programs / flash.host.programs)


def generated() -> Iterator[tuple[str, NDArray[np.uint32]]]:
    """Name and pages of generated workloads: each page once, then random ones by skew."""
    own = SPEC["generated"]
    pages, count = own["pages"], (SPEC["drive"]["overwrites"] - 1) * own["pages"]
    rng = np.random.default_rng(own["seed"])
    for theta in own["zipf"]:
        weights = np.arange(1, pages + 1, dtype=float) ** -theta
        skewed = rng.permutation(pages)[rng.choice(pages, count, p=weights / weights.sum())]
        yield f"zipf {theta}" if theta else "uniform", np.concatenate((np.arange(pages), skewed)).astype(np.uint32)
    for hot in own["hot_shares"]:
        is_hot = rng.random(count) < 1 - hot
        low, high = np.where(is_hot, 0, int(hot * pages)), np.where(is_hot, int(hot * pages), pages)
        yield f"{hot:.0%} hot", np.concatenate((np.arange(pages), rng.integers(low, high))).astype(np.uint32)


def recorded(wanted: str) -> Iterator[tuple[str, NDArray[np.uint32]]]:
    """Name and pages of the traces of a half."""
    folder = (HERE / SPEC["traces"]).resolve()
    for trace in sorted(folder.glob("*.zst")):
        name = trace.name.removesuffix(".zst")
        if half(name) != wanted or name in SPEC["copies"]:
            continue
        try:
            yield name, pages_written(trace)
        except flashweir.FlashweirError as error:
            print(f"{name}: {error}", file=sys.stderr)


def measured(wanted: str) -> Iterator[tuple[str, int, dict[str, float]]]:
    """Name, pages and amplifications of each workload on which two generations give enough."""
    for name, writes in generated() if wanted == "generated" else recorded(wanted):
        pages = int(writes.max(initial=0)) + 1
        if not SPEC["least_pages"] <= pages <= SPEC["most_pages"]:
            continue
        found = {"generations": amplification(writes, SPEC["classifiers"]["generations"])}
        if found["generations"] < SPEC["least_amplification"]:
            continue
        others = {key: value for key, value in SPEC["classifiers"].items() if key not in found}
        found |= {key: amplification(writes, settings) for key, settings in others.items()}
        yield name, pages, found


def with_more_spare() -> None:
    """Prints a row for each generated workload and spare space, and writes them as JSON."""
    names = list(SPEC["classifiers"])
    print(f"| workload | spare | {' | '.join(names)} |\n|{'---|' * (len(names) + 2)}")
    rows = []
    for name, writes in generated():
        for op_ratio in SPEC["generated"]["op_ratios"]:
            SPEC["drive"]["op_ratio"] = op_ratio
            found = {key: amplification(writes, settings) for key, settings in SPEC["classifiers"].items()}
            rows.append({"workload": name, "op_ratio": op_ratio, **found})
            cells = " | ".join(f"{found[key]:.3f}" for key in names)
            print(f"| {name} | {op_ratio:.0%} | {cells} |", flush=True)
    (HERE / "spare.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Prints a row for each workload of those that are named, `made` if none are, and writes them as JSON."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else "made"
    if wanted == "spare":
        with_more_spare()
        return
    names = list(SPEC["classifiers"])
    print(f"| trace | pages | {' | '.join(names)} | excess | best other |\n|{'---|' * (len(names) + 4)}")
    rows, all_excess = [], []
    for name, pages, found in measured(wanted):
        excess = (found["interval"] - 1) / (found["generations"] - 1) - 1
        against = (
            found["interval"] / min(value for key, value in found.items() if key not in ("interval", "learned")) - 1
        )
        rows.append({"trace": name, "pages": pages, **found, "excess": excess, "against_best": against})
        all_excess.append(excess)
        cells = " | ".join(f"{found[key]:.3f}" for key in names)
        print(f"| {name} | {pages:,} | {cells} | {excess:+.0%} | {against:+.1%} |", flush=True)
    (HERE / f"{wanted}.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if rows:
        print(f"\nMedian excess against two generations: {statistics.median(all_excess):+.1%}")


if __name__ == "__main__":
    main()
