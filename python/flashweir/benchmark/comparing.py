"""Results of benchmarks, read back and side by side."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError

FORMAT = "flashweir-bench-1"
_NUMBERS = ("score", "speed", "steadiness", "mb_s", "time_lost", "slow_requests", "time_s", "requests", "bytes")


@dataclass(frozen=True)
class Row:
    """A workload or suite, and what each drive has there; None where it was not run."""

    kind: str
    name: str
    scores: Sequence[float | None]
    mb_s: Sequence[float | None]
    time_lost: Sequence[float | None]

    @property
    def best(self) -> int | None:
        """Which drive has the highest score; None if only one has any."""
        known = [(score, at) for at, score in enumerate(self.scores) if score is not None]
        return max(known)[1] if len(known) > 1 else None


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A result of `bench`, complete or not.

    Raises:
        ConfigError: it can't be read, or is something else.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "no JSON"
        raise ConfigError(f"{path}: {reason}; expected a result of flashweir bench") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ConfigError(f"{path}: expected a result of flashweir bench ({FORMAT})")
    workloads = found.get("workloads")
    whole = (
        isinstance(workloads, list)
        and all(isinstance(one, dict) and _is_whole(one) for one in workloads)
        and all(name in found for name in ("target", "state", "scale", "seed", "suites", "all", "complete"))
        and isinstance(found["suites"], dict)
    )
    if not whole:
        raise ConfigError(f"{path}: lacks what a result of flashweir bench has")
    return found


def _is_whole(workload: Mapping[str, Any]) -> bool:
    texts = all(isinstance(workload.get(name), str) for name in ("suite", "name", "spec"))
    numbers = all(isinstance(workload.get(name), int | float) for name in _NUMBERS)
    return texts and numbers and isinstance(workload.get("course_mb_s"), list)


def compare(results: Sequence[Mapping[str, Any]]) -> list[Row]:
    """A row a suite and workload that any of the results has, and one for all.

    Raises:
        ConfigError: they are of different scales or states, and so of different workloads.
    """
    for name in ("scale", "state"):
        values = list(dict.fromkeys(str(result[name]) for result in results))
        if len(values) > 1:
            raise ConfigError(f"{name} {' and '.join(values)}: expected results of the same {name}")
    rows: list[Row] = []
    overall = [None if result["all"] is None else result["all"]["score"] for result in results]
    if any(score is not None for score in overall):
        rows.append(Row("all", "all suites", overall, _nothing(results), _nothing(results)))
    suites = dict.fromkeys(one["suite"] for result in results for one in result["workloads"])
    for suite in suites:
        if suite != "plain":
            grades = [result["suites"].get(suite) for result in results]
            scores = [None if one is None else one["score"] for one in grades]
            rows.append(Row("suite", suite, scores, _nothing(results), _nothing(results)))
        names = dict.fromkeys(one["name"] for r in results for one in r["workloads"] if one["suite"] == suite)
        for name in names:
            found = [_workload(result, suite, name) for result in results]
            rows.append(Row("workload", name, *(_of(found, key) for key in ("score", "mb_s", "time_lost"))))
    return rows


def labels(results: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """What each drive is called: its name, with that of its file where two have the same."""
    targets = [str(result["target"]) for result in results]
    both = zip(targets, names, strict=True)
    return [target if targets.count(target) == 1 else f"{target} ({Path(name).stem})" for target, name in both]


def _nothing(results: Sequence[object]) -> list[float | None]:
    return [None] * len(results)


def _workload(result: Mapping[str, Any], suite: str, name: str) -> Mapping[str, Any] | None:
    of = (one for one in result["workloads"] if (one["suite"], one["name"]) == (suite, name))
    return next(of, None)


def _of(found: Sequence[Mapping[str, Any] | None], key: str) -> list[float | None]:
    return [None if one is None else float(one[key]) for one in found]
