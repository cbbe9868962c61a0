"""Budgets of searches: a number of evaluations, or a time."""

import re

from flashweir._native import ConfigError

_BUDGET = re.compile(r"(\d+)(s|min|h)?")
_SECONDS = {"s": 1, "min": 60, "h": 3600}
_MAX = 1_000_000


def read_budget(value: int | str) -> tuple[int | None, float | None]:
    """A number, or seconds; one of them is None.

    Raises:
        ConfigError: it is neither.
    """
    found = _BUDGET.fullmatch(str(value).strip())
    if found is None or (found[2] and int(found[1]) == 0) or int(found[1]) > _MAX:
        raise ConfigError(f"budget: {value!r}: expected a number of evaluations, or a time such as 10min")
    if found[2]:
        return None, float(int(found[1]) * _SECONDS[found[2]])
    return int(found[1]), None
