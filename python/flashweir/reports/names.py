"""Names of results by their files."""

from collections.abc import Sequence
from pathlib import Path


def names_of(files: Sequence[Path]) -> list[str]:
    """Each file's name without its suffix; with its folder, and then a number, where several have the same."""
    names: list[str] = []
    for file in files:
        alike = [other for other in files if other.stem == file.stem]
        base = name = file.stem if len(alike) == 1 else str(file.with_suffix(""))
        count = 1
        while name in names:
            count += 1
            name = f"{base} ({count})"
        names.append(name)
    return names
