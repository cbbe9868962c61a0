"""Specs that stand on others: `include` lays files under a spec, so that sweeps share what they have in common."""

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError
from flashweir.tenants import FIO, MIX, place
from flashweir.whole import STANDARD


def read_toml(path: Path, expected: str = "a sweep in TOML") -> dict[str, Any]:
    """A TOML file as it stands; `expected` says in errors what it should be.

    Raises:
        ConfigError: it can't be read, or is no TOML.
    """
    try:
        text = sys.stdin.read() if str(path) == STANDARD else path.read_text(encoding="utf-8")
        return tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: expected {expected}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text: expected {expected}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}: expected {expected}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply: expected {expected}") from error


def with_included(table: Mapping[str, Any], folder: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """A spec with everything that it includes, and without the key `include`.

    Files are laid one over the other in their order, and the spec over all of them. Tables are joined key by key;
    anything else replaces what was there.

    Args:
        table: the spec.
        folder: what its paths are relative to.
        above: the files that include it, for the message about a circle.

    Raises:
        ConfigError: `include` is no list of files, a file can't be read, or includes itself.
    """
    given = table.get("include", [])
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"include: {given!r}: expected a file or a list of files, relative to this one")
    found: dict[str, Any] = {}
    for name in names:
        path = folder / name
        if path.resolve() in above:
            raise ConfigError(f"include: {name}: includes itself")
        part = with_included(read_toml(path), path.parent, (*above, path.resolve()))
        found = joined(found, _with_places(part, path.parent))
    return joined(found, {key: value for key, value in table.items() if key != "include"})


def joined(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables as one: what both have is joined if both are tables, else that of `over`."""
    found = dict(under)
    for key, value in over.items():
        before = found.get(key)
        found[key] = joined(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return found


def _with_places(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The same table with the files of its devices and workloads as the including spec finds them."""
    found = {**table}
    for key in ("device", "workloads"):
        if key in found:
            found[key] = _placed(found[key], folder)
    axes = found.get("axes")
    if isinstance(axes, Mapping) and "device" in axes:
        found["axes"] = {**axes, "device": _placed(axes["device"], folder)}
    return found


def _placed(value: Any, folder: Path) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        # An absolute path stays what it is wherever the including spec stands.
        found = place(value, folder)
        if found == value or found is None:
            return value
        start = next((prefix for prefix in (MIX, FIO) if value.startswith(prefix)), "")
        return f"{start}{Path(found.removeprefix(start)).absolute()}"
    if isinstance(value, Mapping):
        return {key: _placed(inner, folder) for key, inner in value.items()}
    return [_placed(inner, folder) for inner in value] if isinstance(value, list) else value
