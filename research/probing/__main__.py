"""`python -m research.probing [design|measure] [DRIVES]`: how well probing works, on simulated drives."""

import sys

from research.probing import bench

DRIVES = 60
SEEDS = {"design": 5, "measure": 2009}


def main(arguments: list[str]) -> int:
    """Probes drives and prints the shares of keys and workloads that are right."""
    purpose, *rest = arguments or ["measure"]
    if purpose not in SEEDS or len(rest) > 1 or not all(text.isdecimal() for text in rest):
        print("error: expected `design` or `measure`, and a number of drives", file=sys.stderr)
        return 2
    count = int(rest[0]) if rest else DRIVES
    found = []
    for case in bench.cases(purpose, count, SEEDS[purpose]):  # type: ignore[arg-type]  # checked above
        found.append(case)
        wrong = [
            f"{key} {truth:g} not {value:g}"
            for key, (value, truth) in case.keys.items()
            if key not in case.unseen and bench.error(value, truth) > bench.KEYS
        ]
        wrong += [f"{name} {error:.0%}" for name, error in case.workloads.items() if error > bench.WORKLOADS]
        print(f"drive {case.drive.number}: {'; '.join(wrong) or 'right'}", flush=True)
    keys, held = bench.rows(found)
    print(f"\n{len(found)} drives; keys within {bench.KEYS:.0%}")
    for row in keys:
        print(row)
    print(f"\nworkloads within {bench.WORKLOADS:.0%}")
    for row in held:
        print(row)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
