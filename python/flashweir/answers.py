"""Checks of the answers of policies in Python: a wrong one is refused in a line that shows it and what was expected."""

import operator
import re
from collections import Counter
from collections.abc import Iterable, Mapping

# Kinds of background work, by their number in the engine.
WORK = {"collect": 0, "level": 1, "write_back": 2}
# Numbers of units, blocks and groups in the engine.
_MAX_U32 = (1 << 32) - 1
_MAX_TIME_NS = (1 << 63) - 1
_MAX_SHOWN = 60
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def one_line(text: str) -> str:
    """A text in one line; control characters, which a terminal would obey, as escapes of Python."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", " ".join(text.split()))


def shown(answer: object) -> str:
    """An answer in a few words; an array by its type and shape."""
    dtype, shape = getattr(answer, "dtype", None), getattr(answer, "shape", None)
    if dtype is not None and shape:
        return f"an array of {dtype} of shape {shape}"
    text = one_line(repr(answer))
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def number(value: object, expected: str, limit: int = _MAX_U32) -> int:
    """A whole number from 0 to `limit`, numpy's included."""
    try:
        found = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:  # a number with a fraction, an array of several
        found = None
    if found is None:
        raise TypeError(f"{shown(value)}: expected {expected}")
    if not 0 <= found <= limit:
        raise ValueError(f"{shown(value)}: expected {expected}")
    return found


def time_ns(value: object, expected: str) -> int:
    """A time in ns."""
    return number(value, expected, _MAX_TIME_NS)


def numbers(answer: object, each: str, expected: str) -> list[int]:
    """Whole numbers from 0 on: a list, an array of one dimension, or anything else that has them in order."""
    import numpy as np

    if isinstance(answer, np.ndarray):
        if (answer.dtype.kind not in "iu" and answer.size) or answer.ndim != 1 or np.ma.is_masked(answer):
            raise TypeError(f"{shown(answer)}: expected {expected}")
        found: list[int] = answer.tolist()
        if found and not 0 <= min(found) <= max(found) <= _MAX_U32:
            raise ValueError(f"{min(found) if min(found) < 0 else max(found)}: expected {each}")
        return found
    if not isinstance(answer, Iterable) or isinstance(answer, (str, bytes)):
        raise TypeError(f"{shown(answer)}: expected {expected}")
    return [number(one, each) for one in answer]


# Steps by unit, number of the work and urgency, and when to ask again: a time, a number of spare blocks, and a time of
# idleness.
Steps = tuple[list[tuple[int, int, bool]], int | None, int | None, int | None]
_ASK = {
    "ask_again_ns": ("ask_again_ns, a time in ns", _MAX_TIME_NS),
    "ask_spare_below": ("ask_spare_below, a number of blocks", _MAX_U32),
    "ask_idle_ns": ("ask_idle_ns, a time in ns", _MAX_TIME_NS),
}


def steps(answer: object) -> Steps:
    """Steps of background work, and when to ask again."""
    asks: dict[str, int | None] = dict.fromkeys(_ASK)
    if isinstance(answer, Mapping):
        for key in answer:
            if key != "steps" and key not in _ASK:
                raise TypeError(f"{shown(key)}: expected steps, {', '.join(_ASK)}")
        asks = {key: _asked(answer.get(key), *form) for key, form in _ASK.items()}
        answer = answer.get("steps", ())
    if not isinstance(answer, Iterable) or isinstance(answer, (str, bytes)):
        raise TypeError(f"{shown(answer)}: expected steps, as (unit, work) or (unit, work, 'should')")
    again_ns, spare_below, idle_ns = asks.values()
    found = [_step(step) for step in answer]
    if len(set(found)) < len(found):
        unit, work, should = next(step for step, count in Counter(found).items() if count > 1)
        twice = (unit, next(name for name, number in WORK.items() if number == work), *(["should"] if should else []))
        raise ValueError(f"{twice} twice: expected each step once")
    return found, again_ns, spare_below, idle_ns


def _asked(value: object, expected: str, limit: int) -> int | None:
    return None if value is None else number(value, expected, limit)


def _step(step: object) -> tuple[int, int, bool]:
    if isinstance(step, (tuple, list)) and len(step) in (2, 3):
        work, should = step[1], step[2:]
        known = isinstance(work, str) and work in WORK and all(isinstance(word, str) for word in should)
        if known and should in ((), [], ("should",), ["should"]):
            return number(step[0], "the number of a unit"), WORK[work], bool(should)
    expected = "(unit, work) or (unit, work, 'should'), with work 'collect', 'level' or 'write_back'"
    raise TypeError(f"{shown(step)}: expected {expected}")
