"""`python -m research.diagnosis learn MODEL.json` makes the detectors; `... measure` says how good they are."""

import sys
from pathlib import Path

from research.diagnosis import bench, measure, training

LEARN, MEASURE = (1240, 11), (210, 4021)
"""Number of drives, from which seed."""


def main(arguments: list[str]) -> int:
    """Runs the bench and prints what it found."""
    task, *rest = arguments or ["measure"]
    if task == "learn" and len(rest) in (1, 2):
        count = int(rest[1]) if rest[1:] else LEARN[0]
        model, found = training.train(list(bench.cases("learn", count, LEARN[1])), 1)
        training.write(model, Path(rest[0]))
        print(found)
        return 0
    if task == "measure" and len(rest) <= 1:
        count = int(rest[0]) if rest else MEASURE[0]
        cases = list(bench.cases("measure", count, MEASURE[1]))
        print(f"{count} drives, {sum(not case.ill for case in cases)} healthy")
        for alone in (False, True):
            print("the log alone:" if alone else "the log and what the drive holds:")
            for score in measure.scores(cases, alone):
                print(f"  {score.name}: precision {score.precision}, recall {score.recall}")
        slight = [case for case in cases if any(fault not in case.ill for fault in case.drive.faults)]
        print(f"without the {len(slight)} drives that have a fault which costs less than it has to:")
        for score in measure.scores([case for case in cases if case not in slight], alone=False):
            print(f"  {score.name}: precision {score.precision}, recall {score.recall}")
        return 0
    print("error: expected `learn MODEL.json [DRIVES]` or `measure [DRIVES]`", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
