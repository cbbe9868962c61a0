"""Results of benchmarks, read back and side by side."""

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from flashweir import jsontext
from flashweir._native import ConfigError
from flashweir.benchmark import scores

FORMAT = "flashweir-bench-1"
# Characters of a wrong value that are repeated.
_LONG = 60


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
        """Drive with the highest score; None if only one has any."""
        known = [(score, at) for at, score in enumerate(self.scores) if score is not None]
        return max(known)[1] if len(known) > 1 else None


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A result of `bench`, complete or not, of which every value is what it has to be.

    Raises:
        ConfigError: it can't be read, or is something else.
    """
    try:
        found = jsontext.loads(Path(path).read_text(encoding="utf-8"))
    except jsontext.TwiceError as error:
        raise ConfigError(f"{path}: {error}; expected each key once") from error
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "no JSON"
        raise ConfigError(f"{path}: {reason}; expected a result of flashweir bench") from error
    return checked(found, os.fspath(path))


def checked(found: object, path: str) -> dict[str, Any]:
    """The JSON of a file as a result of `bench`.

    Raises:
        ConfigError: it is something else; names the file and the key.
    """
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ConfigError(f"{path}: expected a result of flashweir bench ({FORMAT})")
    _check(found, f"{path}: ")
    return found


class _Rule(NamedTuple):
    """Expected kind of a value: the check, and its words in a message."""

    holds: Callable[[Any], bool]
    expected: str


def _number(least: float, most: float) -> _Rule:
    # No bool, and nothing that is not finite: comparisons with NaN fail.
    return _Rule(lambda v: type(v) in (int, float) and least <= v <= most, f"a number from {least:g} to {most:g}")


def _count(least: int) -> _Rule:
    return _Rule(lambda v: type(v) is int and least <= v <= _MOST, f"a whole number from {least} to 2^63")


def _matching(pattern: str, expected: str) -> _Rule:
    return _Rule(lambda v: isinstance(v, str) and re.fullmatch(pattern, v) is not None, expected)


def _one_of(names: Sequence[str]) -> _Rule:
    return _Rule(lambda v: isinstance(v, str) and v in names, f"one of {', '.join(names)}")


_MOST = 2**63
# Nothing counts as more than a hundred times as fast as the reference (docs/concepts/scores.md), but for rounding.
_GRADE = _number(1e-12, 10_001)
_TIME = _number(0, 1e18)
_SHARE = _number(0, 1)
_TEXT = _matching(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,8192}", "a text without control characters")
_LIST = _Rule(lambda v: isinstance(v, list) and len(v) > 0, "a list that is not empty")
_OBJECT = _Rule(lambda v: isinstance(v, dict), "an object")
_GRADES = dict.fromkeys(scores.GRADES, _GRADE)
_RESPONSES = dict.fromkeys(("mean", "p50", "p99", "max"), _TIME)
_RESULT = {
    "version": _TEXT,
    "target": _TEXT,
    "size_bytes": _count(1),
    "state": _one_of(scores.STATES),
    "scale": _number(0.01, 1),
    "seed": _count(0),
    "complete": _Rule(lambda v: isinstance(v, bool), "true or false"),
    "workloads": _LIST,
    "suites": _OBJECT,
    "all": _Rule(lambda v: v is None or isinstance(v, dict), "an object or null"),
}
_OPTIONAL = {"name": _TEXT, "device_file_sha256": _matching("[0-9a-f]{64}", "64 digits of SHA-256")}
_WORKLOAD = {
    "suite": _one_of(scores.SUITES),
    # Files of figures are named so.
    "name": _matching(r"[a-z0-9-]{1,64}", "small letters, digits and -"),
    "spec": _TEXT,
    "setup": _Rule(lambda v: v is None or _TEXT.holds(v), "a text or null"),
    **_GRADES,
    "requests": _count(1),
    "bytes": _count(1),
    "time_s": _number(1e-12, 1e18),
    "mb_s": _GRADE,
    "response_us": _OBJECT,
    "slow_requests": _SHARE,
    "time_lost": _SHARE,
    "course_mb_s": _Rule(lambda v: _LIST.holds(v) and len(v) <= 60 and all(map(_GRADE.holds, v)), "a list of MB/s"),  # noqa: PLR2004
}


def _check(found: Mapping[str, Any], where: str) -> None:
    """Refuses, with its key, the first value that no benchmark has written."""
    _check_object(found, _RESULT, where)
    _check_object(found, {key: rule for key, rule in _OPTIONAL.items() if key in found}, where)
    known = set()
    for at, one in enumerate(found["workloads"]):
        place = f"{where}workloads[{at}]."
        _check_object(one, _WORKLOAD, place)
        _check_object(one["response_us"], _RESPONSES, f"{place}response_us.")
        key = one["suite"], one["name"]
        if key in known:
            raise ConfigError(f"{place}name: {one['name']} again, expected each workload once")
        known.add(key)
        _check_grades(one, {"score": math.sqrt(one["speed"] * one["steadiness"])}, place)
    suites = scores.of_suites(found["workloads"])
    if list(found["suites"]) != list(suites):
        raise ConfigError(f"{where}suites: expected {', '.join(suites) or 'none'}, those of its workloads")
    for suite, grades in suites.items():
        _check_grades(found["suites"][suite], grades, f"{where}suites.{suite}.")
    of_all = scores.of_all(suites)
    if (of_all is None) != (found["all"] is None):
        raise ConfigError(f"{where}all: expected {'null' if of_all is None else 'grades'}, as its suites are")
    if of_all is not None:
        _check_grades(found["all"], of_all, f"{where}all.")


def _check_object(value: object, rules: Mapping[str, _Rule], where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where.rstrip('.')}: {_said(value)}, expected an object")
    for key, rule in rules.items():
        if key not in value:
            raise ConfigError(f"{where}{key}: is missing, expected {rule.expected} in a result of flashweir bench")
        if not rule.holds(value[key]):
            raise ConfigError(f"{where}{key}: {_said(value[key])}, expected {rule.expected}")
    return value


def _check_grades(value: object, expected: Mapping[str, float], where: str) -> None:
    """Grades are what they are made of; only the last digits may depend on the machine."""
    found = _check_object(value, dict.fromkeys(expected, _GRADE), where)
    for key, number in expected.items():
        if not math.isclose(found[key], number, rel_tol=1e-6):
            raise ConfigError(f"{where}{key}: {_said(found[key])}, expected {number:.6g}, as of what it is made of")


def _said(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."


def compare(results: Sequence[Mapping[str, Any]]) -> list[Row]:
    """A row a suite and workload that any of the results has, and one for all.

    Raises:
        ConfigError: they are of different scales, states or seeds, or a workload is another one: of another version of
            flashweir, whose version alone may differ.
    """
    for name in ("scale", "state", "seed"):
        values = list(dict.fromkeys(str(result[name]) for result in results))
        if len(values) > 1:
            raise ConfigError(f"{name} {' and '.join(values)}: expected results of the same {name}")
    _check_same_workloads(results)
    rows: list[Row] = []
    overall = [None if result["all"] is None else result["all"]["score"] for result in results]
    if any(score is not None for score in overall):
        rows.append(Row("all", "all suites", overall, _nothing(results), _nothing(results)))
    suites = dict.fromkeys(one["suite"] for result in results for one in result["workloads"])
    for suite in suites:
        if suite != "plain":
            grades = [result["suites"].get(suite) for result in results]
            of_suite = [None if one is None else one["score"] for one in grades]
            rows.append(Row("suite", suite, of_suite, _nothing(results), _nothing(results)))
        names = dict.fromkeys(one["name"] for r in results for one in r["workloads"] if one["suite"] == suite)
        for name in names:
            found = [_workload(result, suite, name) for result in results]
            rows.append(Row("workload", name, *(_of(found, key) for key in ("score", "mb_s", "time_lost"))))
    return rows


def warnings(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Warnings about these results together; see `scores.warnings`."""
    most = {(one["suite"], one["name"]): one for result in results for one in result["workloads"]}
    found = scores.warnings([*most.values()], results[0]["scale"])
    versions = list(dict.fromkeys(result["version"] for result in results))
    if len(versions) > 1:
        found.append(
            f"results of flashweir {' and '.join(versions)}: the same workloads, but what is simulated may differ"
        )
    return found


def _check_same_workloads(results: Sequence[Mapping[str, Any]]) -> None:
    first: dict[tuple[str, str, str], Any] = {}
    for result in results:
        for one in result["workloads"]:
            for key in ("spec", "setup"):
                other = first.setdefault((one["suite"], one["name"], key), one[key])
                if other != one[key]:
                    what = f"{one['suite']} {one['name']}: {key} {other} and {one[key]}"
                    raise ConfigError(f"{what}: expected results of the same workloads")


def _nothing(results: Sequence[object]) -> list[float | None]:
    return [None] * len(results)


def _workload(result: Mapping[str, Any], suite: str, name: str) -> Mapping[str, Any] | None:
    of = (one for one in result["workloads"] if (one["suite"], one["name"]) == (suite, name))
    return next(of, None)


def _of(found: Sequence[Mapping[str, Any] | None], key: str) -> list[float | None]:
    return [None if one is None else float(one[key]) for one in found]
