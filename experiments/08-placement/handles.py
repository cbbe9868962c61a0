"""Placement by handle against none, on a flash cache and on a merge tree, under the conditions of `handles.toml`.

Run `python handles.py`; it prints two tables and writes `handles.json`.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flashweir

HERE = Path(__file__).parent
SPEC: dict[str, Any] = tomllib.loads((HERE / "handles.toml").read_text(encoding="utf-8"))
PAGE = 4096
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}


def size(text: str) -> int:
    """A size such as `256KiB` in bytes."""
    return int(text[:-3]) * UNITS[text[-3:]]


def drive(op_ratio: float, handles: int) -> dict[str, Any]:
    """A drive whose superblocks span all dies; with handles, a group of them each."""
    own = SPEC["drive"]
    shape = {"channels": own["dies"], "chips": 1, "dies": 1, "planes": 1, "page": PAGE}
    sizes = {"pages_per_block": size(own["unit"]) // PAGE // own["dies"], "capacity": own["capacity"]}
    placed = {"ftl.classifier": "stream", "ftl.groups": handles} if handles else {}
    rules = {"op_ratio": op_ratio, "alloc.kind": "superblock", "precondition": "empty"}
    return {**shape, **sizes, **rules, **placed}


def amplification(workload: str, count: int, settings: dict[str, Any], ops: str = "read,write,trim,flush") -> float:
    """Write amplification of the second half of so many requests, of those with these operations."""
    asked = {"tree": {"workload": f"{workload},count={count}", "ops": ops}}
    measured = flashweir.simulate(asked, set=settings, warmup=f"requests={count // 2}").write_amplification
    if measured is None:
        raise ValueError(f"{workload}: nothing is written in the second half of {count} requests")
    return measured


def cachelib() -> Iterator[dict[str, Any]]:
    """The cache, by spare space, share of the bytes that small objects take, and share of the drive in use."""
    own = SPEC["cachelib"]
    region, request = size(own["region"]), size(own["request"])
    for op_ratio in own["op_ratio"]:
        for small in own["small_writes"]:
            for used in own["used"]:
                span = int(size(SPEC["drive"]["capacity"]) * used) // region * region
                count = int(own["overwrites"] * span * (small / PAGE + (1 - small) / request))
                keys = f"span={span},region={region},request={request},small={own['small']},small_writes={small}"
                found = [amplification(f"cachelib:{keys},write=1", count, drive(op_ratio, n)) for n in (0, 2)]
                yield {"op_ratio": op_ratio, "small_writes": small, "used": used, "none": found[0], "handles": found[1]}


def lsm() -> Iterator[dict[str, Any]]:
    """The merge tree, by spare space, with and without discards: by handles of the drive."""
    own = SPEC["lsm"]
    span = int(size(SPEC["drive"]["capacity"]) * own["used"]) // PAGE * PAGE
    workload = f"lsm:span={span},fill={own['fill']},table={own['table']},request={own['request']}"
    count = own["overwrites"] * span // size(own["request"])
    for op_ratio in own["op_ratio"]:
        for ops in own["ops"]:
            found = {n: amplification(workload, count, drive(op_ratio, n), ops) for n in own["handles"]}
            yield {"op_ratio": op_ratio, "discards": "trim" in ops, "handles": found}


def main() -> None:
    """Prints the tables and writes them as JSON."""
    print("| spare | small objects | in use | none | handles |\n|---|---|---|---|---|")
    caches = []
    for row in cachelib():
        caches.append(row)
        shares = f"{row['op_ratio']:.0%} | {row['small_writes']:.0%} | {row['used']:.0%}"
        print(f"| {shares} | {row['none']:.3f} | {row['handles']:.3f} |", flush=True)
    print("\n| spare | discards | amplification by handles |\n|---|---|---|")
    trees = []
    for row in lsm():
        trees.append(row)
        shown = ", ".join(f"{n}: {value:.3f}" for n, value in row["handles"].items())
        print(f"| {row['op_ratio']:.0%} | {row['discards']} | {shown} |", flush=True)
    text = json.dumps({"cachelib": caches, "lsm": trees}, indent=1)
    (HERE / "handles.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
