"""TOML out of what JSON has: for specifications in bundles, which people read and the commands run."""

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dumps(table: Mapping[str, Any]) -> str:
    """A table as TOML: texts, numbers, booleans, lists and tables of these. Keys of None are left out."""
    return "\n".join(_lines(table, "")).strip("\n") + "\n"


def _lines(table: Mapping[str, Any], prefix: str) -> list[str]:
    """Values first, then each table under a heading of its own; below the top, where order counts, it is kept."""
    last = max((rank for rank, value in enumerate(table.values()) if not isinstance(value, Mapping)), default=-1)
    headed = {
        key: value
        for rank, (key, value) in enumerate(table.items())
        if isinstance(value, Mapping) and (rank > last or not prefix)
    }
    lines = [
        f"{_key(key)} = {_value(value)}" for key, value in table.items() if key not in headed and value is not None
    ]
    for key, inner in headed.items():
        name = f"{prefix}{_key(key)}"
        inside = _lines(inner, f"{name}.")
        has_values = not inner or (inside and inside[0] != "")
        lines += [*(["", f"[{name}]"] if has_values else []), *inside]
    return lines


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items() if one is not None) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)


def _text(text: str) -> str:
    """A basic string: that of JSON, but that TOML wants a delete character escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
