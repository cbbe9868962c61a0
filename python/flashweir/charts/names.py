"""Names short enough for a legend, and still different where the names differ."""

import re
from collections.abc import Sequence

# Overrides and embeddings of bidirectional text, and what ends them: a name that opens one need not close it.
_DIRECTED = re.compile("[\u202a-\u202e\u2066\u2067]")
_ISOLATES = re.compile("[\u2068\u2069]")
# Length to which the value of a setting is cut if a name is too long.
_VALUE = 20


def apart(names: Sequence[str], longest: int) -> list[str]:
    """The names, none longer than `longest` if that leaves those that differ different.

    Of settings (`gc.victim=fifo, workload=web`), those that all names share go first, then the middles of values.
    """
    if all(len(name) <= longest for name in names):
        return list(names)
    parts = [name.split(", ") for name in names]
    if len(set(names)) > 1 and all("=" in part for row in parts for part in row):
        shared = set(parts[0]).intersection(*parts)
        if all(set(row) - shared for row in parts):
            parts = [[part for part in row if part not in shared] for row in parts]
        parts = _shortened_values(parts)
    return _cut([", ".join(row) for row in parts], longest)


def isolated(name: object) -> str:
    """A name for a sentence or beside another one: its direction of writing turns nothing round but itself."""
    return str(name) if str(name).isascii() else f"\u2068{_ISOLATES.sub('', undirected(str(name)))}\u2069"


def undirected(text: str) -> str:
    """Without marks that turn round what stands behind them; those around a whole name are well closed, and stay."""
    return _DIRECTED.sub("", text)


def _shortened_values(parts: Sequence[Sequence[str]]) -> list[list[str]]:
    values: dict[str, dict[str, str]] = {}
    for row in parts:
        for part in row:
            axis, _, value = part.partition("=")
            values.setdefault(axis, {})[value] = value
    for axis, found in values.items():
        values[axis] = dict(zip(found, _cut(list(found), _VALUE), strict=True))
    return [
        [f"{axis}={values[axis][value]}" for axis, _, value in (part.partition("=") for part in row)] for row in parts
    ]


def _cut(names: Sequence[str], longest: int) -> list[str]:
    """Each name with its middle left out, or where that makes some the same, what they share at both ends."""
    whole = list(dict.fromkeys(names))
    short = {name: _middle(name, longest) for name in whole}
    groups: dict[str, list[str]] = {}
    for name in whole:
        groups.setdefault(short[name], []).append(name)
    taken = {text for text, group in groups.items() if len(group) == 1}
    for group in (group for group in groups.values() if len(group) > 1):
        before, after = _common(group), _common([name[::-1] for name in group])
        after = min(after, min(map(len, group)) - before)
        for name in group:
            part = _middle(name[before : len(name) - after], max(longest - 2 - longest // 3, 1))
            lead = name[: min(before, longest // 3)]
            text = f"{lead}{'…' if len(lead) < before else ''}{part}{'…' if after else ''}"
            number, once = 1, text
            while once in taken:
                number += 1
                once = f"{text} ({number})"
            taken.add(once)
            short[name] = once
    return [short[name] for name in names]


def _middle(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    return f"{name[: longest - longest // 2]}…{name[len(name) - longest // 2 + 1 :]}"


def _common(names: Sequence[str]) -> int:
    """Length of the common prefix."""
    return next(
        (at for at, characters in enumerate(zip(*names, strict=False)) if len(set(characters)) > 1),
        min(map(len, names)),
    )
