"""Checks of claims about curves, each with the numbers that show it: pure functions of curves.

Every check looks at all points of the curves it is given, of which there is at least one; who claims something of a
part of a curve cuts it first. A difference of `slack` is not held against a claim: no curve is free of noise.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from flashweir.quantity import shortened
from flashweir.reproduction.curves import Curve, same

# Up to so many points are said one by one.
_FEW = 6
_THOUSAND = 1000


class Finding(NamedTuple):
    """Result of a check, and the numbers that show it; `brief` is shorter, for claims about many curves.

    `ok` is None where it can't be decided.
    """

    ok: bool | None
    said: str
    brief: str = ""


def rising(curve: Curve, *, slack: float = 0.0, gain: float = 0.0) -> Finding:
    """No point lies more than `slack` below the one before; the last is at least `gain` above the first."""
    for (_, before), (name, after) in pairwise(_points(curve)):
        if after < before - slack * abs(before):
            return Finding(False, f"falls from {number(before)} to {number(after)} at {_x(name)}")
    return Finding(_change(curve) >= gain, listed(curve), _ends(curve))


def falling(curve: Curve, *, slack: float = 0.0, loss: float = 0.0) -> Finding:
    """No point lies more than `slack` above the one before; the last is at least `loss` below the first."""
    for (_, before), (name, after) in pairwise(_points(curve)):
        if after > before + slack * abs(before):
            return Finding(False, f"rises from {number(before)} to {number(after)} at {_x(name)}")
    return Finding(-_change(curve) >= loss, listed(curve), _ends(curve))


def flat(curve: Curve, *, within: float) -> Finding:
    """Highest and lowest point differ by at most `within` of the lowest."""
    low, high = min(curve.y), max(curve.y)
    return Finding(high - low <= within * abs(low), f"{number(low)} to {number(high)}{_range(curve)}")


def concave(curve: Curve, *, slack: float = 0.0, steps: str = "axis") -> Finding:
    """Each stretch is less steep than the one before.

    Args:
        curve: at least three points.
        slack: what it may be steeper by, in units of the steepest stretch.
        steps: how far apart places are: as on their `axis` (not on its logarithm), or `even`, as words are drawn.
    """
    return _bends(curve, slack, steps, upwards=False)


def convex(curve: Curve, *, slack: float = 0.0, steps: str = "axis") -> Finding:
    """Each stretch is steeper than the one before; otherwise as `concave`."""
    return _bends(curve, slack, steps, upwards=True)


def changes(curve: Curve, *, least: float = -math.inf, most: float = math.inf) -> Finding:
    """From its first to its last point it changes by `least` to `most` of the first: 1.0 is a doubling, -0.1 a loss."""
    change = _change(curve)
    return Finding(
        least <= change <= most, f"{change:+.1%}{_range(curve)} ({number(curve.y[0])} to {number(curve.y[-1])})"
    )


def reached(curve: Curve, *, by: object, share: float) -> Finding:
    """At the place `by` at least this share of the whole change from first to last point is reached."""
    there = curve.at(by)
    whole = curve.y[-1] - curve.y[0]
    if there is None or not whole:
        return Finding(False, f"no change, or no value at {_x(by)}")
    found = (there - curve.y[0]) / whole
    return Finding(
        found >= share, f"{found:.0%} of the change from {number(curve.y[0])} to {number(curve.y[-1])} at {_x(by)}"
    )


def diminishing(curve: Curve, *, slack: float = 0.0) -> Finding:
    """Each step changes less than the one before, whatever its width; `slack` is in units of the first step."""
    steps = [abs(after - before) for before, after in pairwise(curve.y)]
    ok = all(after <= before + slack * steps[0] for before, after in pairwise(steps))
    return Finding(ok, f"steps of {', '.join(map(number, steps))}{_range(curve)}")


def goes_on(curve: Curve, *, step: float) -> Finding:
    """Each step changes it in the same direction, by at least `step` of its value."""
    sign = math.copysign(1.0, curve.y[-1] - curve.y[0])
    steps = [after / before - 1 for before, after in pairwise(curve.y)]
    said = f"steps of {', '.join(f'{change:+.1%}' for change in steps)}{_range(curve)}"
    return Finding(min(sign * change for change in steps) >= step, said)


def bounded(curve: Curve, *, least: float = -math.inf, most: float = math.inf) -> Finding:
    """Every point lies between `least` and `most`."""
    for name, value in _points(curve):
        if not least <= value <= most:
            return Finding(False, f"{number(value)} at {_x(name)}" if name else number(value))
    return Finding(True, listed(curve), f"{number(min(curve.y))} to {number(max(curve.y))}")


def complete(curve: Curve, *, first: int, last: int) -> Finding:
    """There is a value at every whole number from `first` to `last`."""
    lacking = [str(place) for place in range(first, last + 1) if curve.at(place) is None]
    if lacking:
        return Finding(False, f"none at {', '.join(lacking)}")
    return Finding(True, f"all from {first} to {last}")


def above(curve: Curve, other: Curve, *, margin: float = 0.0) -> Finding:
    """Wherever both have a value, it lies above the other by at least `margin` of it; below by that, if negative."""
    places = [(name, y, there) for name, y in _points(curve) if (there := other.at(name)) is not None]
    if not places:
        return Finding(False, "no place that both have")
    for name, y, there in places:
        if y < there + margin * abs(there):
            return Finding(False, f"{number(y)} against {number(there)}{_where(name)}")
    name, y, there = min(places, key=lambda place: place[1] / place[2] if place[2] else math.inf)
    closest = f"{number(y)} against {number(there)}{_where(name)}"
    return Finding(True, f"at least {y / there - 1:+.1%} ({closest})" if there else closest)


def alike(curve: Curve, other: Curve, *, within: float) -> Finding:
    """At every place that both have, they differ by at most `within` of the other."""
    places = [(name, y, there) for name, y in _points(curve) if (there := other.at(name))]
    if not places:
        return Finding(False, "no place that both have")
    name, y, there = max(places, key=lambda place: abs(place[1] / place[2] - 1))
    return Finding(
        abs(y / there - 1) <= within, f"at most {y / there - 1:+.1%} ({number(y)} and {number(there)}{_where(name)})"
    )


def follows(curve: Curve, other: Curve, *, least: float) -> Finding:
    """Over the places that both have, the correlation (Pearson's) with the other is at least this."""
    places = [(y, there) for name, y in _points(curve) if (there := other.at(name)) is not None]
    if len(places) < 3:  # noqa: PLR2004 - any two points lie on a line
        return Finding(False, f"{len(places)} places that both have: expected at least 3")
    try:
        found = statistics.correlation(*zip(*places, strict=True))
    except statistics.StatisticsError:
        return Finding(False, "one of them does not change")
    return Finding(found >= least, f"correlation {found:.2f} over {len(places)} places")


def gains_more(curve: Curve, other: Curve, *, margin: float = 0.0) -> Finding:
    """From first to last point it grows by a larger factor than the other, by at least `margin` of it."""
    one, two = _factor(curve), _factor(other)
    return Finding(one >= two * (1 + margin) and one > two, f"x {one:.3g} against x {two:.3g}")


def ranked(family: Sequence[Curve], *, axis: str, order: Sequence[str], reach: float | None = None) -> Finding:
    """The curves of an axis' values stand in this order, the largest first.

    Args:
        family: the curves; each of `order` has to be among them once.
        axis: the axis that tells them apart.
        order: values of it.
        reach: they are ordered by the factor from first to last point; with `reach`, by how far along the axis this
            share of the whole change is reached.
    """
    found = []
    for name in order:
        curves = [curve for curve in family if same(curve.of.get(axis), name)]
        if len(curves) != 1:
            return Finding(False, f"{len(curves)} curves of {name}")
        found.append((name, _factor(curves[0]) if reach is None else _reach(curves[0], reach)))
    ok = all(before > after for (_, before), (_, after) in pairwise(found))
    sign = "x " if reach is None else f"{reach:.0%} at "
    return Finding(ok, ", ".join(f"{name} {sign}{number(value)}" for name, value in found))


def listed(curve: Curve) -> str:
    """Its points, or its ends where they are many."""
    points = _points(curve)
    if len(points) > _FEW:
        points = [points[0], points[len(points) // 2], points[-1]]
        return " ... ".join(f"{number(y)}{_where(name)}" for name, y in points)
    return ", ".join(f"{number(y)}{_where(name)}" for name, y in points)


def _ends(curve: Curve) -> str:
    return f"{number(curve.y[0])} to {number(curve.y[-1])}"


def _bends(curve: Curve, slack: float, steps: str, *, upwards: bool) -> Finding:
    x = tuple(map(float, range(len(curve.y)))) if steps == "even" else curve.x
    slopes = [(b - a) / (right - left) for (a, b), (left, right) in zip(pairwise(curve.y), pairwise(x), strict=True)]
    if len(slopes) < 2:  # noqa: PLR2004 - a bend is between two stretches
        return Finding(False, f"{len(curve.y)} points: expected at least 3")
    room = slack * max(map(abs, slopes))
    sign = 1 if upwards else -1
    ok = all(sign * (after - before) >= -room for before, after in pairwise(slopes))
    return Finding(ok, f"{'steps' if steps == 'even' else 'slopes'} of {', '.join(map(number, slopes))}{_range(curve)}")


def _points(curve: Curve) -> list[tuple[str, float]]:
    return list(zip(curve.names, curve.y, strict=True))


def _change(curve: Curve) -> float:
    first, last = curve.y[0], curve.y[-1]
    return (last - first) / abs(first) if first else math.inf * (last - first) if last else 0.0


def _factor(curve: Curve) -> float:
    return curve.y[-1] / curve.y[0] if curve.y[0] else math.inf


def _reach(curve: Curve, share: float) -> float:
    """Where along its axis a share of the whole change is reached, between places in proportion."""
    wanted = share * (curve.y[-1] - curve.y[0])
    places = list(zip(curve.x, (y - curve.y[0] for y in curve.y), strict=True))
    for (left, low), (right, high) in pairwise(places):
        if (high - wanted) * math.copysign(1.0, wanted) >= 0 and high != low:
            return left + (right - left) * max(0.0, (wanted - low) / (high - low))
    return places[-1][0]


def number(value: float) -> str:
    """A number as evidence needs it: three digits, and all before the point."""
    return f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:.3g}"


def _x(name: object) -> str:
    return shortened(str(name))


def _where(name: str) -> str:
    return f" at {_x(name)}" if name else ""


def _range(curve: Curve) -> str:
    return f" from {_x(curve.names[0])} to {_x(curve.names[-1])}" if len(curve.names) > 1 else ""


Check = Callable[..., Finding]
# By what they look at: one curve, two that belong together, or a whole family.
OF_ONE: Mapping[str, Check] = {check.__name__.replace("_", "-"): check for check in (
    rising, falling, flat, concave, convex, changes, reached, diminishing, goes_on, bounded,
    complete)}  # fmt: skip
OF_TWO: Mapping[str, Check] = {check.__name__.replace("_", "-"): check for check in (above, alike, follows, gains_more)}
OF_ALL: Mapping[str, Check] = {"ranked": ranked}
