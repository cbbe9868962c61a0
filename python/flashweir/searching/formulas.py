"""Goals and constraints of a search: arithmetic over keys, metrics, costs and life."""

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashweir._native import ConfigError
from flashweir.quantity import number_of
from flashweir.sweeps.derived import Expression

DIRECTIONS = {"min": 1.0, "max": -1.0}
_OPERATORS: dict[type, tuple[str, bool, float]] = {
    ast.LtE: ("<=", False, 1.0),
    ast.Lt: ("<", True, 1.0),
    ast.GtE: (">=", False, -1.0),
    ast.Gt: (">", True, -1.0),
}
_QUANTITY = re.compile(r"(?<![\w.\"'])\d+(?:\.\d+)?[A-Za-z]+\b")
# A strict constraint that is met with equality is missed by so much.
_HAIR = 1e-12
_LIMIT = "expected a comparison, such as latency_us.write.p99 <= 500"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _geomean(values: Sequence[float]) -> float:
    return math.exp(_mean([math.log(value) for value in values])) if min(values) > 0 else 0.0


# Several workloads as one number, by name: values and sign of the goal.
OVER: Mapping[str, Callable[[Sequence[float], float], float]] = {
    "mean": lambda values, _: _mean(values),
    "geomean": lambda values, _: _geomean(values),
    "worst": lambda values, sign: max(values) if sign > 0 else min(values),
}


@dataclass(frozen=True)
class Goal:
    """A number that shall be small (`sign` 1) or large (-1); `over` says how workloads become one."""

    name: str
    expression: Expression
    sign: float
    over: str

    @property
    def direction(self) -> str:
        """`min` or `max`."""
        return "min" if self.sign > 0 else "max"

    def of(self, values: Sequence[float]) -> float:
        """The number of several workloads."""
        return OVER[self.over](values, self.sign)


@dataclass(frozen=True)
class Constraint:
    """A comparison of two expressions."""

    text: str
    left: Expression
    right: Expression
    strict: bool
    sign: float

    def names(self) -> list[str]:
        """Columns that it takes."""
        return [*self.left.names(), *self.right.names()]

    def miss(self, columns: Mapping[str, Any]) -> float | None:
        """Amount by which it is missed, relative where both sides are above 0; 0 or less where it holds.

        None where a side has no value.
        """
        left, right = self.left.value(columns), self.right.value(columns)
        if left is None or right is None:
            return None
        away = math.log(left / right) if left > 0 and right > 0 else (left - right) / max(1.0, abs(right))
        found = self.sign * away
        return _HAIR if self.strict and found == 0 else found


def read_goals(given: object) -> list[Goal]:
    """The `[goals]` of a spec.

    Raises:
        ConfigError: none, more than four, or one that is no expression with a direction.
    """
    if not isinstance(given, Mapping) or not given:
        raise ConfigError("goals: expected a table of metrics and min or max, such as iops = 'max'")
    found = []
    for name, how in _flat(given).items():
        goal = {"goal": how} if isinstance(how, str) else how
        direction, over = goal.get("goal"), goal.get("over", "mean")
        if direction not in DIRECTIONS or set(goal) - {"goal", "over"}:
            raise ConfigError(f"goals.{name}: {how!r}: expected min or max, or a table with goal and over")
        if over not in OVER:
            raise ConfigError(f"goals.{name}.over: {over!r}: expected one of {', '.join(OVER)}")
        found.append(Goal(name, Expression(name, name, "goals"), DIRECTIONS[direction], over))
    if len(found) > 4:  # noqa: PLR2004 - the volume has as many dimensions
        raise ConfigError(f"goals: {len(found)} goals: expected at most 4")
    return found


def _flat(given: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Goals by dotted name: TOML reads `latency_us.write.p99 = "min"` as nested tables."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        if isinstance(value, Mapping) and "goal" not in value:
            found |= _flat(value, f"{prefix}{key}.")
        else:
            if not isinstance(value, str | Mapping):
                raise ConfigError(f"goals.{prefix}{key}: {value!r}: expected min or max")
            found[f"{prefix}{key}"] = value
    return found


def read_constraints(given: object) -> list[Constraint]:
    """The `constraints` of a spec.

    Raises:
        ConfigError: no list of comparisons.
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ConfigError(f"constraints: {given!r}: expected a list of comparisons, such as ['cost.total_usd <= 50']")
    return [_constraint(number, text) for number, text in enumerate(given, 1)]


def _constraint(number: int, text: object) -> Constraint:
    where = f"constraints, {number}"
    if not isinstance(text, str):
        raise ConfigError(f"{where}: {text!r}: {_LIMIT}")
    plain = _QUANTITY.sub(lambda found: _in_numbers(found[0]), text.strip())
    try:
        tree = ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{where}: {text!r}: {_LIMIT}") from error
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or type(tree.ops[0]) not in _OPERATORS:
        raise ConfigError(f"{where}: {text!r}: {_LIMIT}")
    _, strict, sign = _OPERATORS[type(tree.ops[0])]
    left, right = (
        Expression(str(number), _source(plain, side), "constraints") for side in (tree.left, tree.comparators[0])
    )
    return Constraint(text.strip(), left, right, strict, sign)


def _source(text: str, node: ast.expr) -> str:
    return ast.get_source_segment(text, node) or ast.unparse(node)


def _in_numbers(quantity: str) -> str:
    """A size in bytes, a time in ns; anything else as it is."""
    number = number_of(quantity)
    return quantity if number is None else f"{number:.17g}"
