"""Workloads as the native module takes them: a text, or a table of one with options for its requests."""

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError
from flashweir.arguments import place as place_of

AnyPath = str | os.PathLike[str]
Tenant = AnyPath | Mapping[str, Any]
# Options of a workload.
OPTIONS = (
    "time_scale",
    "duration",
    "start",
    "align",
    "volume",
    "offset",
    "ops",
    "limit",
    "format",
    "columns",
    "skip_bad",
    "hint",
)
MIX = "mix:"
FIO = "fio:"
_WHOLE = ("limit", "skip_bad")


def tenant(name: str | None, given: Tenant, where: str) -> dict[str, Any]:
    """One workload of a run.

    Args:
        name: of its stream; None where it is the only one.
        given: a trace file or a generator, or a mapping with one as `workload` and with options.
        where: what messages call it.

    Raises:
        ConfigError: it is neither, or has an unknown key.
    """
    if isinstance(given, (str, os.PathLike)):
        return {"name": name, "spec": place_of(given)}
    if not isinstance(given, Mapping) or not isinstance(given.get("workload"), (str, os.PathLike)):
        raise ConfigError(f"{where}: expected a trace file, a generator, or a table with one as workload")
    found: dict[str, Any] = {"name": name, "spec": place_of(given["workload"])}
    for key, value in given.items():
        if key == "workload" or value is None:
            continue
        if key not in OPTIONS:
            near = difflib.get_close_matches(str(key), OPTIONS, 1)
            raise ConfigError(f"{where}: {key}: unknown key{f'; did you mean {near[0]}?' if near else ''}")
        found[key] = _value(value, f"{where}.{key}", whole=key in _WHOLE)
    return found


def _value(value: object, where: str, *, whole: bool) -> str | int | float:
    is_number = isinstance(value, int) if whole else isinstance(value, (int, float, str))
    if is_number and not isinstance(value, bool):
        if whole and isinstance(value, int) and not 0 <= value < 1 << 64:
            raise ConfigError(f"{where}: {value}: expected a whole number from 0 on")
        return value  # type: ignore[return-value]
    raise ConfigError(f"{where}: {value!r}: expected {'a whole number' if whole else 'a text or a number'}")


def texts(stream: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a workload, in which placeholders may be."""
    return (value for key, value in stream.items() if key != "name" and isinstance(value, str))


def file_of(text: str) -> str:
    """The name of a workload without the prefix of a mix or of a job file."""
    return text.removeprefix(MIX).removeprefix(FIO)


def place(text: str | None, folder: Path) -> str | None:
    """A path relative to a spec's folder, where there is such a file; any other text as it is."""
    for prefix in (MIX, FIO):
        if text is not None and text.startswith(prefix):
            return f"{prefix}{place(text.removeprefix(prefix), folder)}"
    if text is not None and not Path(text).is_absolute() and (folder / text).exists():
        return str(folder / text)
    return text
