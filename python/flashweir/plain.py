"""Values as people read them in summaries: no word of Python in them."""

import math
from collections.abc import Mapping

# From here on, more digits say nothing.
_LARGE = 10_000


def plain(value: object) -> str:
    """A value of JSON: yes and no, `-` for nothing, separators in numbers, lists and objects without brackets."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(plain(item) for item in value) or "-"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={plain(item)}" for key, item in value.items()) or "-"
    return str(value)


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "no limit"
    return f"{value:,.6g}" if abs(value) < _LARGE else f"{value:,.1f}"


def setting(value: object) -> str:
    """A value of a key as one writes it behind `--set KEY=`: `true`, `0.1`, `40us,60us`; `-` if there is none."""
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        return ",".join(map(setting, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
