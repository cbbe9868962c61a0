"""Scores of suites, and of all: geometric means, so that no workload counts more because its numbers are larger."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

# The suites that the score of all is made of.
COUNTED = ("transfer", "buffer", "mapping", "gc", "overall")
GRADES = ("score", "speed", "steadiness")
SUITES = (*COUNTED, "linux", "plain")
STATES = ("empty", "filled", "as-is")
# A workload that writes less than this may fit into a drive's write buffer, bytes.
LITTLE = 16_000_000


def mean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def of_suites(workloads: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Score, speed and steadiness of each suite with graded workloads, in their order; plain sweeps have none."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in workloads:
        if one["suite"] != "plain":
            found.setdefault(one["suite"], []).append(one)
    return {suite: {grade: mean([one[grade] for one in all_]) for grade in GRADES} for suite, all_ in found.items()}


def of_all(suites: Mapping[str, Mapping[str, float]]) -> dict[str, float] | None:
    """The same of the five suites together; None until all are there."""
    if any(suite not in suites for suite in COUNTED):
        return None
    return {grade: mean([suites[suite][grade] for suite in COUNTED]) for grade in GRADES}


def warnings(workloads: Sequence[Mapping[str, Any]], scale: float) -> list[str]:
    """Warnings about these scores: workloads that fit into a write buffer."""
    little = [one for one in workloads if one["bytes"] < LITTLE]
    if not little:
        return []
    graded = [f"{one['name']} ({one['bytes'] / 1e6:.1f} MB)" for one in little if one["suite"] != "plain"]
    names = [*graded, *(["plain sweeps"] if len(graded) < len(little) else [])]
    less = f"at scale {scale} these write less than {LITTLE // 10**6} MB: {', '.join(names)}"
    return [f"{less}; what a write buffer holds may decide, and garbage collection may not be seen"]
