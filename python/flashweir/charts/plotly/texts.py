"""Texts and numbers as plotly has to get them.

Plotly reads some HTML, entities, `$...$` and `%{...}` in every text; `text` turns what would be read so into what is
shown as it stands.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

from flashweir.charts.names import apart, undirected

Json = dict[str, Any]

LONGEST_NAME = 60
LONGEST_TICK = 24
# Characters of a line of a hover text, and how many lines a name has there.
_LINE, _LINES = 44, 6
# Number formats of hover texts, for d3-format.
NUMBER = ",.6~r"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def text(plain: str, longest: int | None = None) -> str:
    """`plain` as plotly has to get it to show it as it stands; of a longer one the middle is left out."""
    plain = undirected(_CONTROL.sub(" ", plain)).encode("utf-8", "replace").decode("utf-8")
    if longest and len(plain) > longest:
        plain = f"{plain[: longest - longest // 2]}…{plain[len(plain) - longest // 2 + 1 :]}"
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;"), ("%", "&#37;")):
        plain = plain.replace(character, entity)
    return plain


def names(plain: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    """Names as plotly has to get them, short enough for a legend and different where they differ."""
    return [text(name) for name in apart(plain, longest)]


def wrapped(plain: str) -> str:
    """A whole name for a hover text, which has no other way to break lines; one of more than six lines is cut."""
    lines: list[str] = [""]
    for part in re.findall(r".*?, |.+", _CONTROL.sub(" ", plain)):
        rest = part
        while len(lines[-1]) + len(rest.rstrip()) > _LINE:
            room = _LINE - len(lines[-1]) if len(rest) > _LINE and not lines[-1] else 0
            lines[-1] += rest[:room]
            rest = rest[room:]
            lines.append("")
        lines[-1] += rest
    if len(lines) > _LINES:
        lines = [*lines[: _LINES // 2], "…", *lines[-_LINES // 2 :]]
    return "<br>".join(text(line.rstrip()) for line in lines if line)


def number(value: float | None, digits: int = 6) -> float | None:
    """The value with so many significant digits, as JSON can have it: None where it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def short(value: float | None) -> str:
    """The value in at most about six characters, for a cell of a heat map."""
    if value is None or not math.isfinite(value):
        return ""
    for scale, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= scale:
            return f"{value / (1e3 if suffix == 'k' else scale):.3g}{suffix}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004 - four digits fit
