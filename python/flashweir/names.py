"""Names that were not found: the name of today for an old one, or the nearest known one."""

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache

from flashweir import _native


@cache
def _new_names() -> Mapping[str, str]:
    """Names of today of keys and result fields, by their old ones."""
    return {one["old"]: one["new"] for one in json.loads(_native.renamed()) if one["kind"] in ("key", "field")}


def now(name: str, known: Iterable[str] | None = None) -> str | None:
    """The name of today of a key or result field that was renamed; None if it never was.

    With `known`, the names of a section, `name` may be the end of an old path, and the new name is one of `known`.
    """
    found = _new_names()
    if known is None:
        return found.get(name)
    parts = name.count(".") + 1
    ends = (new.split(".")[-parts:] for old, new in found.items() if f".{old}".endswith(f".{name}"))
    there = set(known)
    return next((".".join(end) for end in ends if end[0] in there), None)


def hint(name: str, known: Iterable[str]) -> str:
    """`; it is now ...` for an old name, `; did you mean ...?` with the nearest of the known ones, or nothing."""
    if (new := now(name)) is not None:
        return f"; it is now {new}"
    near = get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""
