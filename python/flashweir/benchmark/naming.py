"""Names of drives as their owner calls them: as given, by the model of a block device, or by the file of a result."""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError
from flashweir.reports.names import names_of

_BLOCK_DEVICES = Path("/sys/class/block")


def named(target: str, name: str | None) -> dict[str, str]:
    """The field `name` of a result: the name that was given, or the model of a block device; nothing of others.

    Raises:
        ConfigError: the name is empty, or has control characters.
    """
    if name is not None and not (name.strip() and name.isprintable()):
        raise ConfigError(f"--name {name!r}: expected a name without control characters")
    found = name or model_of(target)
    return {"name": found} if found else {}


def model_of(target: str, devices: Path = _BLOCK_DEVICES) -> str | None:
    """The model of the drive that a block device is, or is a partition of; None of anything else.

    Args:
        target: as of `bench`.
        devices: the kernel's folder of block devices.
    """
    if not target.startswith("/"):
        return None
    place = Path(os.path.realpath(target))
    try:
        if not stat.S_ISBLK(place.stat().st_mode):
            return None
        entry = Path(os.path.realpath(devices / place.name))
        drive = entry.parent if (entry / "partition").exists() else entry
        text = (drive / "device" / "model").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return words or None


def labels(results: Sequence[Mapping[str, Any]], files: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Name of each drive: its own, or that of its file without the suffix; with both where two have the same."""
    of_files = names_of([Path(file) for file in files])
    own = [str(result.get("name", "")) for result in results]

    def is_alone(at: int) -> bool:
        others = [*own[:at], *own[at + 1 :], *of_files[:at], *of_files[at + 1 :]]
        return own[at] not in others

    named = zip(own, of_files, strict=True)
    return [file if not name else name if is_alone(at) else f"{name} ({file})" for at, (name, file) in enumerate(named)]


def label(result: Mapping[str, Any]) -> str:
    """Name of the one drive of a page: its own with its target, or its target."""
    return f"{result['name']} ({result['target']})" if "name" in result else str(result["target"])
