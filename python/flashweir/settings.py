"""Settings of a drive as mappings: nested, or by dotted key."""

import json
import os
from collections.abc import Mapping

from flashweir import _native
from flashweir._native import ConfigError

# A workload that fits every drive.
ANY_REQUEST = "random:span=4KiB,size=512B,count=1"
_PLAIN = frozenset({str, int, float, bool})


def flat(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Dotted keys from nested mappings; None leaves a key as it is, a path becomes text."""
    found: dict[str, object] = {}
    for name, value in values.items():
        kind = type(value)
        # The values of a planned drive, some hundred each time: `isinstance` of an abstract class is slow.
        if kind in _PLAIN:
            found[f"{prefix}{name}"] = value
        elif kind is dict or isinstance(value, Mapping):
            found.update(flat(value, f"{prefix}{name}."))  # type: ignore[arg-type]
        elif value is not None:
            found[f"{prefix}{name}"] = os.fspath(value) if isinstance(value, os.PathLike) else value
    return found


def refusal(settings: Mapping[str, object]) -> str | None:
    """The engine's words on settings, by dotted key, that make no drive; None if they make one."""
    try:
        _native.plan(json.dumps({"workloads": [{"spec": ANY_REQUEST}], "overrides": dict(settings)}))
    except ConfigError as error:
        return str(error).removeprefix("--set: ")
    return None


def chosen(settings: Mapping[str, object] | None, overrides: Mapping[str, object]) -> dict[str, object]:
    """Settings by dotted key: those of a mapping, then keyword arguments, in which `__` stands for a dot."""
    if settings is not None and not isinstance(settings, Mapping):
        raise ConfigError(f"set: {settings!r}: expected a mapping of keys to values")
    return {**flat(settings or {}), **flat({key.replace("__", "."): value for key, value in overrides.items()})}
