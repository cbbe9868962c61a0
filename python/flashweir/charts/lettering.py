"""Texts and ticks of drawn figures: which characters can be drawn, how numbers are written, which labels fit."""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

Tick = tuple[float, str]

# Comes with matplotlib. Where a name has characters that it lacks, one of the others helps if it is installed.
FONT = "DejaVu Sans"
_FALLBACKS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Arial Unicode MS",
    "Unifont",
)
# Marks of the direction of writing have no shape, and here no effect.
_DIRECTIONS = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
_THOUSANDS = 10_000.0
_SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_DECADES_AT_MOST, _DECADES_ALONE = 8, 4


def plain(text: str) -> str:
    """A text of which every character can be drawn, in one line; what no font has becomes its code, `U+79DF`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_drawable(character) for character in " ".join(text.split()) if character not in _DIRECTIONS)


def families(texts: Iterable[str]) -> list[str]:
    """The fonts that these texts need, the usual one first."""
    rare = {ord(character) for text in texts for character in text} - _coverage(FONT)
    return [FONT, *(font for font in _fallbacks() if rare & _coverage(font))] if rare else [FONT]


def number(value: float) -> str:
    """A number as short as it can be read: 12.5, 1,000, 10k, 2.5M."""
    size = abs(value)
    if not math.isfinite(value):
        return str(value)
    for scale, suffix in _SUFFIXES:
        if size >= max(scale, _THOUSANDS) * (1 - 1e-9):
            return f"{value / scale:,.4g}{suffix}" if size < 1e15 else f"{value:.3g}"  # noqa: PLR2004 - beyond T
    text = f"{value:,.4f}".rstrip("0").rstrip(".") if size >= 1e-3 or size == 0 else f"{value:.3g}"  # noqa: PLR2004
    return text.replace("e-0", "e-")


def ticks(low: float, high: float, *, log: bool) -> list[Tick]:
    """Round numbers between two ends, with their labels."""
    places = _log_places(low, high) if log else _linear_places(low, high)
    labels = [number(place) for place in places]
    if len(set(labels)) < len(labels):
        labels = [f"{place:,.12g}" for place in places]
    return list(zip(places, labels, strict=True))


def kept(positions: Sequence[float], sizes: Sequence[float], gap: float) -> list[int]:
    """Labels, centred at ascending positions, that fit side by side; the first always does."""
    chosen: list[int] = []
    end = -math.inf
    for index, (position, size) in enumerate(zip(positions, sizes, strict=True)):
        if position - size / 2 >= end + gap or not chosen:
            chosen.append(index)
            end = position + size / 2
    return chosen


def stride(count: int, room: float, each: float) -> int:
    """Every how-manieth of `count` labels of size `each` fits into the room."""
    return max(1, math.ceil(count * each / max(room, 1.0)))


def _linear_places(low: float, high: float) -> list[float]:
    if high <= low:
        return [low]
    exact = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(exact))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= exact * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Decimal digits of the step, so that 3 x 0.1 is 0.3.
    digits = max(0, 2 - math.floor(math.log10(step)))
    return [round(position * step, digits) + 0.0 for position in range(first, last + 1)]


def _log_places(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    decades = [10.0**power for power in range(first, last + 1)]
    if len(decades) >= _DECADES_ALONE:
        return decades[:: math.ceil(len(decades) / _DECADES_AT_MOST)]
    finer = [factor * 10.0**power for power in range(first - 1, last + 1) for factor in (1, 2, 5)]
    finer = [place for place in finer if low * (1 - 1e-9) <= place <= high * (1 + 1e-9)]
    return finer if len(finer) >= 3 else [place for place in _linear_places(low, high) if place > 0]  # noqa: PLR2004


def _drawable(character: str) -> str:
    code = ord(character)
    if code in _coverage(FONT) and unicodedata.category(character)[0] != "C":
        return character
    if any(code in _coverage(font) for font in _fallbacks()):
        return character
    return f"[U+{code:04X}]"


@lru_cache
def _fallbacks() -> tuple[str, ...]:
    from matplotlib import font_manager

    installed = {entry.name for entry in font_manager.fontManager.ttflist}
    return tuple(font for font in _FALLBACKS if font in installed)


@lru_cache
def _coverage(font: str) -> frozenset[int]:
    """The characters that a font has."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    file = font_manager.findfont(font_manager.FontProperties(family=font))
    return frozenset(FT2Font(file).get_charmap())
