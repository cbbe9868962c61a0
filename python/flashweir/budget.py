"""Budgets of searches: a number of evaluations, or a time."""

from flashweir._native import ConfigError
from flashweir.quantity import kind_of, number_of, unit_of

_MAX = 1_000_000
_NS_PER_S = 1e9


def read_budget(value: int | str) -> tuple[int | None, float | None]:
    """A number, or seconds; one of them is None. A time is read as every quantity is: `1.5h`, `100ms`.

    Raises:
        ConfigError: it is neither.
    """
    number, unit = number_of(value), unit_of(value)
    if number is not None and kind_of(unit) == "time" and 0 < number <= _MAX * 3600 * _NS_PER_S:
        return None, number / _NS_PER_S
    if number is not None and not unit and number.is_integer() and 0 <= number <= _MAX:
        return int(number), None
    raise ConfigError(f"budget: {value!r}: expected a number of evaluations, or a time such as 10min")
