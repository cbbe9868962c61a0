"""Values of fio's options: bytes and times with fio's units, values by operation, splits and ranges."""

import re
from fractions import Fraction

from flashweir.fio.jobfile import Option

READ, WRITE, TRIM, FLUSH = range(4)
OPS = (READ, WRITE, TRIM)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_NS = {"us": 1000, "usec": 1000, "ms": 10**6, "msec": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
       "d": 86400 * 10**9}  # fmt: skip
_MAX = 1 << 63
_SIZE = "expected a size such as 4k, 1m or 1g"
Share = tuple[int, Fraction]


def bytes_of(option: Option, text: str, kb_base: int, whole: int | None = None) -> int:
    """A size in bytes. `k` is 1024 and `kib` 1000 under fio's default `kb_base=1024`, and the reverse under 1000.

    Args:
        option: named in errors.
        text: the size, or a percentage where `whole` is given.
        kb_base: 1024 or 1000.
        whole: size that percentages are of.
    """
    found = re.fullmatch(r"([+-]?)(0x[0-9a-f]+|\d+)([kmgtp]?)(i?b?)(%?)", text.strip().lower())
    if found is None or (found[4] == "ib" and not found[3]) or (found[5] and (found[3] or found[4])):
        raise option.refused(_SIZE + ("" if whole is None else ", or a percentage"))
    number = int(found[2], 16 if found[2].startswith("0x") else 10) * (-1 if found[1] == "-" else 1)
    if found[5]:
        if whole is None or not 0 <= number <= 100:  # noqa: PLR2004 - percent
            raise option.refused(_SIZE if whole is None else "expected 0% to 100%")
        return whole * number // 100
    base = (2024 - kb_base) if found[4] == "ib" else kb_base
    size: int = number * base ** _POWERS.get(found[3], 0)
    if abs(size) >= _MAX:
        raise option.refused("expected a size below 2^63 bytes")
    return size


def time_of(option: Option, default: str) -> int:
    """A time in ns; `default` is the unit of a number without one."""
    found = re.fullmatch(r"(\d+)([a-z]*)", option.value.strip().lower())
    if found is None or (found[2] or default) not in _NS:
        raise option.refused("expected a time such as 10s, 5m or 100ms")
    time = int(found[1]) * _NS[found[2] or default]
    if time >= _MAX:
        raise option.refused("expected a time below 292 years")
    return time


def number_of(option: Option, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    text = option.value.strip()
    if not re.fullmatch(r"\d{1,20}", text) or not low <= int(text) <= high:
        raise option.refused(f"expected a whole number from {low} to {high}")
    return int(text)


def flag_of(option: Option) -> bool:
    """True for `1`, `true`, or an option without a value."""
    if option.value.lower() not in ("", "0", "1", "true", "false"):
        raise option.refused("expected 0 or 1")
    return option.value.lower() in ("", "1", "true")


def by_op(option: Option) -> tuple[str, str, str]:
    """Texts for reads, writes, discards; one value is of all, two are of reads and the rest. Empty ones are unset."""
    parts = [part.strip() for part in option.value.split(",")]
    if len(parts) > len(OPS):
        raise option.refused("expected at most three values, of reads, writes and discards")
    parts += parts[-1:] * (len(OPS) - len(parts))
    return parts[0], parts[1], parts[2]


def split_of(option: Option, text: str, kb_base: int) -> tuple[Share, ...]:
    """`4k/60:64k/40` as sizes with their shares; sizes without one share what is left."""
    sizes: list[tuple[int, Fraction | None]] = []
    for part in text.split(":"):
        size, _, share = part.partition("/")
        sizes.append((bytes_of(option, size, kb_base), _percent(option, share)))
    given = sum((share for _, share in sizes if share is not None), Fraction())
    missing = sum(share is None for _, share in sizes)
    if given > 1 or (given != 1 and not missing):
        raise option.refused("expected percentages that add up to 100")
    return tuple((size, (1 - given) / missing if share is None else share) for size, share in sizes)


def zones_of(option: Option, text: str, kb_base: int, *, absolute: bool) -> tuple[tuple[Fraction, Fraction], ...]:
    """`60/10:30/20:10/70` as shares of the accesses with their part: of the range, or bytes."""
    zones: list[tuple[Fraction, Fraction | None]] = []
    for part in text.split(":"):
        access, _, size = part.partition("/")
        accesses = _percent(option, access)
        if accesses is None:
            raise option.refused("expected ACCESS%/SIZE for each zone")
        extent = Fraction(bytes_of(option, size, kb_base)) if absolute else _percent(option, size)
        zones.append((accesses, extent))
    given = sum((size for _, size in zones if size is not None), Fraction())
    missing = sum(size is None for _, size in zones)
    if sum(access for access, _ in zones) != 1 or (not absolute and (given > 1 or (given != 1 and not missing))):
        raise option.refused("expected accesses and sizes that add up to 100 each")
    return tuple((access, (1 - given) / missing if size is None else size) for access, size in zones)


def _percent(option: Option, text: str) -> Fraction | None:
    text = text.strip().removesuffix("%")
    if not text:
        return None
    if not text.isdecimal() or int(text) > 100:  # noqa: PLR2004 - percent
        raise option.refused("expected percentages from 0 to 100")
    return Fraction(int(text), 100)
