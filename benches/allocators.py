"""Cost of an allocator of channels: the speed of runs with one, over that of dynamic allocation just before.

    python benches/allocators.py [--rounds N] [--requests N]

Each round runs all of them in turn, each with the same requests of two tenants; the ratio of a round is to its own run
without allocator, and the median of the rounds is printed. `all channels` is a function that gives everybody
everything, so that its run does what the one without allocator does, and the ratio is what asking it costs. Speed is
flash operations a second of wall time, on a drive large enough that nothing is collected.
benches/HISTORY.md keeps them.
"""

import argparse
import statistics
from typing import Any

import flashweir
from flashweir.allocators import Allocator, Features

DRIVE = {
    "capacity": "4GiB",
    "channels": 8,
    "op_ratio": 0.5,
    "precondition": "on-read",
    "alloc.kind": "dynamic",
    "host.mode": "open",
}


def everything(features: Features) -> dict[str, Any]:
    """All channels for everybody."""
    return {name: range(features["channels"]) for name in features["tenants"]}


def by_writes(features: Features) -> dict[str, Any]:
    """Channels in proportion to the sectors written."""
    count, weights = features["channels"], {name: one["write_sectors"] for name, one in features["tenants"].items()}
    first, *_ = weights
    own = min(max(1, round(count * weights[first] / max(1, sum(weights.values())))), count - 1)
    return {name: range(own) if name == first else range(own, count) for name in weights}


CASES: dict[str, tuple[dict[str, Any], Allocator | None]] = {
    "shared": ({"tenants.channels": "shared"}, None),
    "isolated": ({"tenants.channels": "isolated"}, None),
    "ssdkeeper": ({"tenants.channels": "ssdkeeper"}, None),
    "learned": ({"tenants.channels": "learned"}, None),
    "learned, windows of 500": ({"tenants.channels": "learned", "tenants.window_requests": 500}, None),
    "Python, all channels": ({}, everything),
    "Python, all channels, windows of 500": ({"tenants.window_requests": 500}, everything),
    "Python, by writes": ({}, by_writes),
}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=400_000)
    options = parser.parse_args()
    tenants = {
        name: f"random:span=512MiB,offset={offset},size=4KiB,count={options.requests // 2},write={write},rate=2000"
        for name, offset, write in (("web", 0, 0.3), ("db", "512MiB", 0.7))
    }

    def run(settings: dict[str, Any], allocator: Allocator | None) -> flashweir.Result:
        return flashweir.simulate(tenants, set={**DRIVE, **settings}, allocator=allocator)

    def speed(result: flashweir.Result) -> float:
        flash = result.to_dict()["flash"]
        return float(sum(sum(part.values()) for part in flash.values() if isinstance(part, dict)) / result["wall_s"])

    ratios: dict[str, list[float]] = {name: [] for name in CASES}
    longest: dict[str, float] = dict.fromkeys(CASES, 0.0)
    for _ in range(options.rounds):
        plain = speed(run({}, None))
        for name, case in CASES.items():
            result = run(*case)
            ratios[name].append(speed(result) / plain)
            longest[name] = max(longest[name], result["allocation"].get("longest_wall_s", 0.0))
    for name, found in ratios.items():
        took = f", longest window {longest[name] * 1e6:.0f} us" if longest[name] else ""
        print(f"{name:<38} {statistics.median(found):.3f} ({min(found):.3f} to {max(found):.3f}){took}")


if __name__ == "__main__":
    main()
