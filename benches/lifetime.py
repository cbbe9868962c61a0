"""Fast-forward of `flashweir lifetime` against the full run, on small drives of many policies.

    python benches/lifetime.py [NAME ...]

For each drive: bytes at the end of life against those of the full run, bounds of the extrapolation, and simulated
shares. The last lines count the drives beyond 2% and beyond their bounds.
"""

import sys
from typing import Any

from flashweir import lifetime

# Difference from the full run that is permitted.
PERMITTED = 0.02

BASE: dict[str, Any] = {"pages_per_block": 16, "op_ratio": 0.25, "precondition": "full", "channels": 1}
RANDOM = "random:span=16MiB,size=4KiB,count=20000"
HOT = "hotcold:span=16MiB,size=4KiB,count=20000,hot_share=0.2,hot_writes=0.8"
HOTTER = "hotcold:span=16MiB,size=4KiB,count=20000,hot_share=0.1,hot_writes=0.9"
ZIPF = "zipf:span=16MiB,size=4KiB,count=20000,theta=0.99"
SUPERBLOCK = {"alloc.kind": "superblock", "ftl.classifier": "stream"}
CACHE = "cachelib:span=16MiB,region=256KiB,small_writes=0.2,count=10000,write=1,request=64KiB"
# Drives of 16 MiB that are rated for 300 cycles and retire a block at 330.
SHORT: dict[str, tuple[str, dict[str, Any]]] = {
    "random": (RANDOM, {}),
    "random, an eighth": ("random:span=2MiB,size=4KiB,count=20000", {}),
    "random, a quarter": ("random:span=4MiB,size=4KiB,count=20000", {}),
    "random, three quarters": ("random:span=12MiB,size=4KiB,count=20000", {}),
    "random, half, two channels": ("random:span=8MiB,size=4KiB,count=20000", {"channels": 2}),
    "random, four channels": (RANDOM, {"channels": 4}),
    "random, TRIM": ("random:span=16MiB,size=4KiB,count=20000,trim=0.3,write=0.7", {}),
    "random, TRIM, buffer": ("random:span=16MiB,size=4KiB,count=20000,trim=0.2,write=0.6", {"buffer.bytes": "1MiB"}),
    "sequential": ("sequential:span=16MiB,size=64KiB,count=2000", {}),
    "sequential, half": ("sequential:span=8MiB,size=64KiB,count=2000", {}),
    "hot and cold": ("hotcold:span=16MiB,size=4KiB,count=20000", {}),
    "hot and very cold": ("hotcold:span=16MiB,size=4KiB,count=20000,hot_share=0.05,hot_writes=0.995", {}),
    "steady": (HOTTER, {"precondition": "steady"}),
    "empty": (ZIPF, {"precondition": "empty"}),
    "fifo": (HOT, {"gc.victim": "fifo"}),
    "d-choices": (HOT, {"gc.victim": "d-choices"}),
    "cost-benefit": (ZIPF, {"gc.victim": "cost-benefit"}),
    "random victims": (RANDOM, {"gc.victim": "random"}),
    "two frontiers": (HOTTER, {"gc.frontiers": 2}),
    "dynamic levelling": (HOTTER, {"wear.dynamic": True}),
    "static levelling": (HOTTER, {"wear.static_gap": 32}),
    "levelling": (HOTTER, {"wear.dynamic": True, "wear.static_gap": 8}),
    "buffer": (ZIPF, {"buffer.bytes": "256KiB"}),
    "superblocks": (HOT, {"channels": 4, "alloc.kind": "superblock"}),
    "streams, B-tree": ("btree:span=16MiB,page=8KiB,count=20000", SUPERBLOCK),
    "streams, cache": (CACHE, SUPERBLOCK),
    "host and collected": (ZIPF, {"ftl.classifier": "host-and-collected"}),
    "generations": (ZIPF, {"ftl.classifier": "generations"}),
    "frequency": (HOTTER, {"ftl.classifier": "frequency"}),
    "death time": (ZIPF, {"ftl.classifier": "death-time"}),
    "learned": ("zipf:span=16MiB,size=4KiB,count=20000,theta=1.2", {"ftl.classifier": "learned"}),
    "age groups": (HOTTER, {"ftl.classifier": "age-groups"}),
    "zones, log": (RANDOM, {"ftl.kind": "zones", "alloc.kind": "superblock"}),
    "dftl": (ZIPF, {"ftl.kind": "dftl"}),
    "fast": ("random:span=16MiB,size=4KiB,count=4000", {"ftl.kind": "fast"}),
}
# Drives of 8 MiB with 3,000 rated cycles, a block at 3,750.
LONG: dict[str, tuple[str, dict[str, Any]]] = {
    "long: sequential, half": ("sequential:span=4MiB,size=64KiB,count=2000", {}),
    "long: random, a quarter": ("random:span=2MiB,size=4KiB,count=20000", {}),
    "long: random": ("random:span=8MiB,size=4KiB,count=20000", {}),
    "long: hot and cold": ("hotcold:span=8MiB,size=4KiB,count=20000,hot_share=0.1,hot_writes=0.9", {}),
    "long: streams, B-tree": ("btree:span=8MiB,page=8KiB,count=20000", SUPERBLOCK),
}


def main(names: list[str]) -> None:
    """Compares the named drives, or all of them."""
    drives = [
        (name, drive, {"capacity": "16MiB"}, {"cycles": 300, "block_cycles": 330}) for name, drive in SHORT.items()
    ]
    drives += [(name, drive, {"capacity": "8MiB"}, {}) for name, drive in LONG.items()]
    wrong = outside = other = 0
    print(f"{'drive':28} {'end':8} {'bytes':>7} {'bounds':>14} {'first block':>11} {'simulated':>9} settled")
    for name, (workload, settings), size, options in drives:
        if names and name not in names:
            continue
        keys = {**BASE, **size, **settings}
        fast, full = (lifetime(workload, seeds=1, full=whole, set=keys, **options) for whole in (False, True))
        error = fast.tbw_bytes / full.tbw_bytes - 1
        low, high = (fast.check[side] / fast.tbw_bytes - 1 for side in ("tbw_low", "tbw_high"))
        block = fast.ends.first_block / full.ends.first_block - 1
        print(f"{name:28} {fast.ended_by:8} {error:+7.2%} {low:+6.1%} {high:+6.1%} {block:+11.1%} "
              f"{fast.simulated_share:9.1%} {fast.settled}", flush=True)  # fmt: skip
        wrong += abs(error) > PERMITTED
        outside += not fast.check.tbw_low <= 1.0001 * full.tbw_bytes <= 1.0002 * fast.check.tbw_high
        other += fast.ended_by != full.ended_by
    print(f"beyond 2%: {wrong}; beyond the bounds: {outside}; another end: {other}")


if __name__ == "__main__":
    main(sys.argv[1:])
