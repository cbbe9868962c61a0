"""Last section of a report: the machine that wrote it, and the versions."""

from collections.abc import Mapping
from typing import Any

from flashweir._native import __build__, __version__
from flashweir.machine import machine
from flashweir.reports import cells
from flashweir.reports.model import Facts, Section

TITLE = "Machine and versions"


def section() -> Section:
    """The last section of a page that this process writes."""
    return Section(TITLE, [Facts([("version", version(__version__, __build__)), ("machine", lines(machine()))])])


def version(number: str, build: str | None = None, commit: str | None = None) -> str:
    """The versions in one line; what is unknown is left out."""
    parts = [f"flashweir {number}", *([f"build {build}"] if build else []), *([f"commit {commit}"] if commit else [])]
    return ", ".join(parts)


def lines(known: Mapping[str, Any]) -> list[str]:
    """Facts of a machine, a line each."""
    return [f"{key.replace('_', ' ')}: {cells.plain(value)}" for key, value in known.items()] or ["unknown"]
