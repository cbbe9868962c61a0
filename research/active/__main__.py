"""`python -m research.active [DRIVES.json ...] [--sim N] [--model N] [--logs]` grades `flashweir diagnose`."""

import argparse
import sys
from pathlib import Path

from research.active import drives, grading, lists

SEED = 20261


def main(arguments: list[str]) -> int:
    """Grades the drives of lists and simulated ones, and prints the scores."""
    parser = argparse.ArgumentParser(prog="python -m research.active", description=__doc__)
    parser.add_argument("lists", nargs="*", type=Path, metavar="DRIVES", help="lists of drives (README.md)")
    parser.add_argument("--sim", type=int, default=0, metavar="N", help="so many simulated drives as well")
    parser.add_argument("--model", type=int, default=0, metavar="N", help="so many drives of the tests' model as well")
    parser.add_argument("--logs", action="store_true", help="grade diagnosis of logs, instead of --active")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="drives at a time")
    parser.add_argument("--kept", type=Path, metavar="F.jsonl", help="keep results there; a run goes on from them")
    given = parser.parse_args(arguments)
    chosen = [*drives.simulated(given.sim, SEED), *drives.modelled(given.model, SEED)]
    for path in given.lists:
        try:
            chosen += lists.read(path)
        except (OSError, ValueError, TypeError, KeyError) as error:
            print(f"error: {path}: {error}; expected a list of drives (research/active/README.md)", file=sys.stderr)
            return 2
    kept = grading.Kept(given.kept)
    found = kept.of(chosen)
    known = {one.drive.target for one in found}
    rest = [one for one in lists.mixed(chosen, SEED) if one.target not in known]
    for one in grading.graded(rest, given.processes, logs=given.logs):
        kept.add(one)
        found.append(one)
        if sys.stderr.isatty():
            print(f"{len(found)} of {len(chosen)}", end="\r", file=sys.stderr)
    for line in grading.lines(found):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
