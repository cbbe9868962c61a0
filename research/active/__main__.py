"""`python -m research.active [DRIVES.json ...] [--sim N] [--model N] [--logs]` grades `flashweir diagnose`."""

import argparse
import json
import sys
from pathlib import Path

from research.active import drives, grading
from research.active.truth import Drive

SEED = 20261


def main(arguments: list[str]) -> int:
    """Grades the drives of lists and simulated ones, and prints the scores."""
    parser = argparse.ArgumentParser(prog="python -m research.active", description=__doc__)
    parser.add_argument("lists", nargs="*", type=Path, metavar="DRIVES.json", help="lists of drives (README.md)")
    parser.add_argument("--sim", type=int, default=0, metavar="N", help="so many simulated drives as well")
    parser.add_argument("--model", type=int, default=0, metavar="N", help="so many drives of the tests' model as well")
    parser.add_argument("--logs", action="store_true", help="grade diagnosis of logs, instead of --active")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="drives at a time")
    given = parser.parse_args(arguments)
    chosen = [*drives.simulated(given.sim, SEED), *drives.modelled(given.model, SEED)]
    for path in given.lists:
        try:
            chosen += [Drive.of(one) for one in json.loads(path.read_text(encoding="utf-8"))]
        except (OSError, ValueError, TypeError) as error:
            print(f"error: {path}: {error}; expected a list of drives (research/active/README.md)", file=sys.stderr)
            return 2
    found = []
    for one in grading.graded(chosen, given.processes, logs=given.logs):
        found.append(one)
        if sys.stderr.isatty():
            print(f"{len(found)} of {len(chosen)}", end="\r", file=sys.stderr)
    for line in grading.lines(found):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
