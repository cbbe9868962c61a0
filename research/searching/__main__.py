"""`python -m research.searching [traces] [DESIGNS]`: searches beside grids, or the best for recorded traces."""

import sys

from research.searching import recorded
from research.searching.measure import BUDGET, PROBLEMS, SEEDS, Outcome, measured

# A search counts as worse where it loses more than this.
WORSE = 0.02


def main(arguments: list[str]) -> int:
    """Measures all problems, prints a row for each as it is done, and the verdict."""
    if arguments[:1] == ["traces"] and len(arguments) <= 2 and all(map(str.isdecimal, arguments[1:])):  # noqa: PLR2004
        return _traces(int(arguments[1]) if len(arguments) > 1 else BUDGET)
    if len(arguments) > 1 or not all(text.isdecimal() and int(text) > 0 for text in arguments):
        print("error: expected a number of designs, or `traces`", file=sys.stderr)
        return 2
    budget = int(arguments[0]) if arguments else BUDGET
    print(f"| problem | designs | runs | grid | search, seeds {SEEDS[0]} to {SEEDS[-1]} | median | against the grid |")
    print("|---|---|---|---|---|---|---|")
    found: list[Outcome] = []
    for path in sorted(PROBLEMS.glob("*.toml")):
        one = measured(path, budget)
        found.append(one)
        seeds = " ".join(f"{value:.3f}" for value in one.searches)
        print(
            f"| [{one.problem}](problems/{one.problem}.toml) | {one.designs:,} | {one.runs} | {one.grid:.3f} "
            f"| {seeds} | {one.median:.3f} | {one.gain:+.1%} |",
            flush=True,
        )
    better = sum(one.gain > 0 for one in found)
    worse = sum(one.gain < -WORSE for one in found)
    print(f"\nBetter than the grid on {better} of {len(found)} problems, worse by more than {WORSE:.0%} on {worse}.")
    return 0


def _traces(budget: int) -> int:
    """Prints the best combination for each recorded trace."""
    print(recorded.HEADER)
    for name, found, plain in recorded.searches(budget):
        print(recorded.row(name, found, plain), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
