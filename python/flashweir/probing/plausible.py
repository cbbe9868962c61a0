"""Answers that can't be: they are withdrawn, and the key keeps its default."""

from typing import Any

_PAGES = (512, 128 << 10)
# A block has the pages of its strings: cells of a bit to four, times word lines, times strings. That is a power of two,
# or a multiple of 8 such as 768, 1152 or 1408; not 69.
_PAGES_STEP, _BLOCK_PAGES = 8, (4, 1 << 14)
_DEFAULTS = {"page": 4096, "pages_per_block": 128, "op_ratio": 0.1}
_PAGES_OF_A_BLOCK = "block has: expected a power of two or a multiple of 8"


def withdrawn(known: dict[str, dict[str, Any]]) -> None:
    """Puts the default in the place of what can't be."""
    for key, reason in (("page", _page), ("pages_per_block", _block), ("op_ratio", _spare)):
        answer = known.get(key)
        if answer is not None and (why := reason(answer["value"])):
            answer["how"] = f"not shown: {why}; the default"
            answer["value"], answer["sure"] = _DEFAULTS[key], 0.0


def is_power_of_two(value: float) -> bool:
    """If a number is one of 1, 2, 4..."""
    return value >= 1 and value == int(value) and int(value) & (int(value) - 1) == 0


def _page(value: float) -> str:
    fits = is_power_of_two(value) and _PAGES[0] <= value <= _PAGES[1]
    return "" if fits else f"{value:g} bytes were found, and no page has that size"


def _block(value: float) -> str:
    low, high = _BLOCK_PAGES
    fits = low <= value <= high and (is_power_of_two(value) or value % _PAGES_STEP == 0)
    return "" if fits else f"{value:g} pages were found, which no {_PAGES_OF_A_BLOCK}"


def _spare(value: float) -> str:
    return "" if 0 <= value <= 1 else f"{value:.0%} were found, and no drive has more spare than logical space"
