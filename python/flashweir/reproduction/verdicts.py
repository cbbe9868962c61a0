"""Measured against published: a row for every value, and a row for every claim."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flashweir.reproduction import shapes, shapes_over_time
from flashweir.reproduction.checks import Claim, Part, Value
from flashweir.reproduction.curves import Curve, Family, matches, pairs, point, runs_of
from flashweir.reproduction.shapes import Check, Finding

Families = Mapping[str, Family]

OF_ONE: Mapping[str, Check] = {**shapes.OF_ONE, "peaks-that-flatten": shapes_over_time.peaks_that_flatten}
OF_TWO: Mapping[str, Check] = {
    **shapes.OF_TWO,
    "higher-first-peak": shapes_over_time.higher_first_peak,
    "more-periods": shapes_over_time.more_periods,
}
OF_ALL: Mapping[str, Check] = {**shapes.OF_ALL, "roles-swap": shapes_over_time.roles_swap}
# Of two whole families.
OF_BOTH: Mapping[str, Check] = {"mean-where": shapes_over_time.mean_where}
# These say something of a single point.
_OF_POINTS = ("bounded", "above", "alike")
# Of so many curves each is said; of more, those that fail.
_SAID = 8
# Of more than so many, less of each.
_FEW = 3
SHARE = "share"
# Rounding error of a deviation that is exactly at the limit.
_HAIR = 1e-9


def row(value: Value, families: Families, *, quick: bool = False, failed: str = "") -> dict[str, Any]:
    """A published value beside the measured one.

    `deviation` is relative to the published value, or the plain difference where the unit is a share (0.03 is 3
    points); of a range, from its nearest end, and 0 inside; None beside a published 0. `ok` is None where there is
    nothing to judge by, and where the runs are `quick` and the value needs those of full size: `undecided` says why.

    Where the value is judged by the runs, it has to lie between two of their quantiles: `range`. `percentile` is the
    share of the runs below it, of those equal to it a half.

    `failed` is the reason where runs of the experiment failed: a value that was to be judged and that no run gave has
    `ok` None and this reason as `not_run`.
    """
    measured = point(families[value.of], value.at)
    deviation = None if measured is None else _deviation(value, measured)
    tolerance = 0.0 if isinstance(value.published, tuple | str) else value.tolerance
    found: dict[str, Any] = {
        "name": value.name,
        "where": value.where,
        "published": list(value.published) if isinstance(value.published, tuple) else value.published,
        "measured": measured,
        "deviation": deviation,
        "unit": value.unit,
        "ok": None,
        "tolerance": tolerance,
    }
    if value.quantiles is not None and isinstance(value.published, float | int):
        runs = sorted(runs_of(families[value.of], value.at).values())
        low, high = (quantile(runs, share) if measured is not None and runs else None for share in value.quantiles)
        place = _below(runs, value.published) if low is not None else None
        found["ok"] = low is not None and high is not None and low <= value.published <= high
        found |= {"range": [low, high], "percentile": place, **({"ok": None} if value.variant else {})}
    elif value.published is not None and tolerance is not None:
        found["ok"] = deviation is not None and abs(deviation) <= tolerance + _HAIR
    if failed and measured is None and found["ok"] is not None:
        return found | {"ok": None, "not_run": failed}
    if quick and value.needs_full and found["ok"] is not None:
        found |= {"ok": None, "undecided": value.needs_full}
    return found


def quantile(ascending: Sequence[float], share: float) -> float:
    """A quantile, between two values in proportion (definition 7 of Hyndman and Fan, 1996)."""
    place = share * (len(ascending) - 1)
    below = int(place)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (place - below) * (ascending[above] - ascending[below])


def _below(values: Sequence[float], wanted: float) -> float:
    return sum(1.0 if value < wanted else 0.5 if value == wanted else 0.0 for value in values) / len(values)


def _deviation(value: Value, measured: float) -> float | None:
    if value.published is None:
        return None
    if isinstance(value.published, str):
        low, high = float("-inf"), float(value.most or 0.0)
    elif isinstance(value.published, tuple):
        low, high = value.published
    else:
        low = high = float(value.published)
    nearest = min(max(measured, low), high)
    difference = measured - nearest
    if value.unit == SHARE or not difference:
        return difference
    return difference / abs(nearest) if nearest else None


def shape(claim: Claim, families: Families, *, quick: bool = False, failed: str = "") -> dict[str, Any]:
    """A claim with the verdict of its parts: `{"where", "claim", "ok", "evidence"}`, and `by` whom if not the paper.

    `ok` is None, and `undecided` says why, where no part fails and at least one can't be decided. `failed` is the
    reason where runs of the experiment failed: `ok` is None and `not_run` this reason, where a part lacks their values
    and no other part fails.
    """
    findings = [(part, found(part, families)) for part in claim.parts]
    not_run = [part.says for part in claim.parts if failed and _lacks(part, families)]
    reasons = {part.says: _reason(part, finding, quick=quick) for part, finding in findings}
    evidence = "; ".join(
        f"{part.says}: {'UNDECIDED, ' if reasons[part.says] else '' if finding.ok else 'NO, '}{finding.said}"
        for part, finding in findings
    )
    fails = any(
        finding.ok is False and not reasons[part.says] and part.says not in not_run for part, finding in findings
    )
    undecided = "; ".join(f"{says}: {reason}" for says, reason in reasons.items() if reason)
    return {
        "where": claim.where,
        "claim": claim.claim,
        "ok": False if fails else None if undecided or not_run else True,
        "evidence": evidence,
        **({"undecided": undecided} if undecided and not fails and not not_run else {}),
        **({"not_run": failed} if not_run and not fails else {}),
        **({"by": claim.by} if claim.by else {}),
    }


def _reason(part: Part, finding: Finding, *, quick: bool) -> str:
    """Why a part can't be decided; empty if it can."""
    if quick and part.needs_full:
        return part.needs_full
    return f"the difference is within the {part.noise:.1%} that seeds make" if finding.ok is None else ""


def found(part: Part, families: Families) -> Finding:
    """Result of a part's check, for all its curves; `ok` is None where it depends on less than seeds differ by."""
    as_is = _found(part, families)
    if not part.noise:
        return as_is
    verdicts = {as_is.ok, *(_found(part, families, sign * part.noise).ok for sign in (-1, 1))}
    return as_is._replace(ok=verdicts.pop() if len(verdicts) == 1 else None)


def _found(part: Part, families: Families, shift: float = 0.0) -> Finding:
    """Result of a check with its curves shifted by this share, those they are compared with the other way."""
    family = [_shifted(curve, shift, part.check) for curve in _chosen(families[part.of], part)]
    if lacking := _lacking(family, part):
        return Finding(False, lacking)
    if part.check in OF_ALL:
        return OF_ALL[part.check](family, **part.options)
    if part.check in OF_ONE:
        return _together([(curve.label, OF_ONE[part.check](curve, **part.options)) for curve in family])
    others = [_shifted(curve, -shift, part.check) for curve in _chosen(families[str(part.than)], part)]
    if lacking := _lacking(others, part):
        return Finding(False, lacking)
    if part.check in OF_BOTH:
        return OF_BOTH[part.check](family, others, **part.options)
    checked = [
        (_both(one, other), OF_TWO[part.check](one, other, **part.options)) for one, other in pairs(family, others)
    ]
    return _together(checked) if checked else Finding(False, "no curves that belong together")


def _shifted(curve: Curve, shift: float, check: str) -> Curve:
    """The curve, higher by a share of itself; where its course is checked, tilted from its first to its last point."""
    if not shift:
        return curve
    last = len(curve.y) - 1
    tilts = [1.0 if check in _OF_POINTS or not last else 2 * at / last - 1 for at in range(len(curve.y))]
    return replace(curve, y=tuple(y * (1 + shift * tilt) for y, tilt in zip(curve.y, tilts, strict=True)))


def check_part(part: Part) -> str:
    """First error in a part's check or options; empty if there is none."""
    known = {**OF_ONE, **OF_TWO, **OF_ALL, **OF_BOTH}
    check = known.get(part.check)
    if check is None:
        return f"{part.check!r} is no check: expected one of {', '.join(sorted(known))}"
    if (part.check in {**OF_TWO, **OF_BOTH}) != (part.than is not None):
        return (
            f"{part.check}: {'expected than, the curve it is compared with' if part.than is None else 'takes no than'}"
        )
    takes = {name: one for name, one in inspect.signature(check).parameters.items() if one.kind is one.KEYWORD_ONLY}
    for name in part.options:
        if name not in takes:
            return f"{part.check}: {name} is no option: expected {', '.join(takes) or 'none'}"
    missing = [name for name, one in takes.items() if one.default is one.empty and name not in part.options]
    return f"{part.check}: expected {missing[0]}" if missing else ""


def _chosen(family: Family, part: Part) -> list[Curve]:
    """The curves at the settings that a part is about, from its start to its end."""
    fitting = [
        curve
        for curve in family
        if all(matches(curve.of[axis], value) for axis, value in part.at.items() if axis in curve.of)
    ]
    return [curve.cut(part.start, part.end, part.only) for curve in fitting]


def _lacks(part: Part, families: Families) -> bool:
    """True if a part lacks values of runs: of its curves, or of those that they are compared with."""
    names = [part.of, *([part.than] if part.than else [])]
    return any(_lacking(_chosen(families[name], part), part) for name in names)


def _lacking(family: Sequence[Curve], part: Part) -> str:
    """Result without data: a claim about runs that do not exist does not hold."""
    if not family:
        return "no runs of these settings"
    for curve in family:
        name = f"{curve.label}: " if curve.label else ""
        if curve.missing:
            return f"{name}{curve.missing} runs gave no value"
        if len(curve.y) < (1 if part.check in _OF_POINTS else 2):
            return f"{name}{len(curve.y)} points are too few"
    return ""


def _both(one: Curve, other: Curve) -> str:
    """The settings that two curves have, once."""
    return Curve({**other.of, **one.of}, (), ()).label


def _together(findings: Sequence[tuple[str, Finding]]) -> Finding:
    """All have to hold; those that do not are said first."""
    wrong = [(label, finding) for label, finding in findings if not finding.ok]
    shown = wrong or list(findings)
    texts = [(label, finding.brief or finding.said if len(shown) > _FEW else finding.said) for label, finding in shown]
    said = "; ".join(f"{label}: {text}" if label else text for label, text in texts[:_SAID])
    rest = len(shown) - _SAID
    more = f"; and {rest} more" if rest > 0 else ""
    fine = f"; the other {len(findings) - len(wrong)} hold" if wrong and len(wrong) < len(findings) else ""
    return Finding(not wrong, f"{said}{more}{fine}")
