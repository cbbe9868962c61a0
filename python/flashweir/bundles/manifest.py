"""MANIFEST.json: what a bundle holds, with hashes, and how it was made (docs/reference/bundle.md)."""

import platform
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from flashweir import _native, jsontext
from flashweir._native import ConfigError

FORMAT = "flashweir-bundle-1"
MANIFEST = "MANIFEST.json"
KINDS = ("result", "sweep")
MAX_MANIFEST_BYTES = 64 << 20
# Libraries that make numbers or pages of results.
_LIBRARIES = ("polars", "plotly")
# A path within a bundle: plain characters, no component that begins with a dot.
_NAME = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9._+-]*(?:/[A-Za-z0-9_+-][A-Za-z0-9._+-]*){0,3}")
_MAX_NAME = 100
_SHA256 = re.compile(r"[0-9a-f]{64}")
_OTHER = re.compile(r"[^A-Za-z0-9._+-]")


@dataclass(frozen=True)
class Listed:
    """A file as a manifest lists it."""

    sha256: str
    bytes: int


def is_name(path: str) -> bool:
    """True if a path may be that of a file in a bundle."""
    return len(path) <= _MAX_NAME and _NAME.fullmatch(path) is not None


def plain(name: str) -> str:
    """The name of a file with plain characters alone; its end, which may say its format, is kept."""
    return _OTHER.sub("_", name)[-60:].lstrip(".") or "file"


def versions() -> dict[str, str]:
    """Versions of all that may change a result or a page."""
    return {
        "flashweir": _native.__version__,
        "build": _native.__build__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        **{name: version(name) for name in _LIBRARIES},
    }


def parse(text: bytes, where: str) -> dict[str, Any]:
    """Reads a manifest.

    Raises:
        ConfigError: it is none.
    """
    try:
        found = jsontext.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: {MANIFEST}: no JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        given = found.get("format") if isinstance(found, dict) else None
        raise ConfigError(f"{where}: {MANIFEST}: format {given!r}: expected {FORMAT}")
    for key, (said, right) in _FIELDS.items():
        if not right(found.get(key)):
            raise ConfigError(f"{where}: {MANIFEST}: key {key}: expected {said}")
    if bool(found["runs"]) == (found["kind"] == "sweep"):
        raise ConfigError(f"{where}: {MANIFEST}: key runs: expected one of each result, and none of a sweep")
    files = listed(found)
    places = [one["path"] for one in found["traces"]]
    if len(set(places)) < len(places) or not all(place.startswith("traces/") for place in places) or "traces" in files:
        raise ConfigError(f"{where}: {MANIFEST}: key traces: expected different paths in traces/")
    named = [*(run["result"] for run in found["runs"]), *(run["device"] for run in found["runs"])]
    named.append(found["report"] or "README.md")
    named += ["sweep.toml", "results/sweep.json"] if found["kind"] == "sweep" else []
    named += [one["path"] for one in found["traces"] if one["included"]]
    if present := [one["path"] for one in found["traces"] if not one["included"] and one["path"] in files]:
        raise ConfigError(f"{where}: {MANIFEST}: {present[0]}: is listed as a file, and as not included")
    if missing := [name for name in named if name not in files]:
        raise ConfigError(f"{where}: {MANIFEST}: key files: expected {missing[0]} among them")
    return found


def listed(manifest: Mapping[str, Any]) -> dict[str, Listed]:
    """The files of a manifest by path."""
    return {one["path"]: Listed(one["sha256"], one["bytes"]) for one in manifest["files"]}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_path(value: object) -> bool:
    return isinstance(value, str) and is_name(value)


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _all(fields: Mapping[str, Callable[[object], bool]]) -> Callable[[object], bool]:
    """Check of a list of objects with these fields."""

    def right(value: object) -> bool:
        return isinstance(value, list) and all(
            isinstance(one, dict) and all(is_right(one.get(key)) for key, is_right in fields.items()) for one in value
        )

    return right


def _are_distinct_files(value: object) -> bool:
    fields = {"path": _is_path, "sha256": _is_hash, "bytes": _is_count}
    if not isinstance(value, list) or not _all(fields)(value):
        return False
    paths = {one["path"] for one in value}
    folders = {parent for path in paths for parent in _above(path)}
    return len(paths) == len(value) and MANIFEST not in paths and not paths & folders


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _is_table_of_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


# Fields by name: the expected kind in words, and its check.
_FIELDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "kind": ("result or sweep", lambda value: value in KINDS),
    "created": ("a date as text", _is_text),
    "versions": ("an object of texts", _is_table_of_texts),
    "files": ("different paths within the bundle, each with sha256 and bytes", _are_distinct_files),
    "traces": (
        "objects with path, name, sha256, bytes and included",
        _all(
            {
                "path": _is_path,
                "name": _is_text,
                "sha256": _is_hash,
                "bytes": _is_count,
                "included": lambda value: isinstance(value, bool),
            }
        ),
    ),
    "runs": (
        "objects with name, result, workload, device and options",
        _all(
            {
                "name": _is_text,
                "result": _is_path,
                "workload": _is_text,
                "device": _is_path,
                "options": lambda value: isinstance(value, dict),
            }
        ),
    ),
    "report": ("a path or null", lambda value: value is None or _is_path(value)),
}
