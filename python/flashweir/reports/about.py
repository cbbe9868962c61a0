"""Last section of a report: the machine that wrote it, the versions, and the command."""

import re
from collections.abc import Mapping
from typing import Any

from flashweir._native import __build__, __version__
from flashweir.arguments import command_line
from flashweir.machine import machine
from flashweir.reports import cells
from flashweir.reports.model import Facts, Section

TITLE = "Machine and versions"
# The section in a page: texts alone.
_SECTION = re.compile(
    '<section id="machine-and-versions" aria-labelledby="machine-and-versions-title">\n'
    f'<h2 id="machine-and-versions-title">{TITLE}</h2>\n'
    r"<dl>\n(?:<dt>[^<]*</dt>(?:<dd>(?:<bdi>[^<]*</bdi>|[^<]*)</dd>)+\n)+</dl>\n</section>"
)


def section() -> Section:
    """The last section of a page that this process writes; with the command, where one is what calls."""
    facts: list[tuple[str, str | list[str]]] = [
        ("version", version(__version__, __build__)),
        ("machine", lines(machine())),
    ]
    if command := command_line():
        facts.append(("command", command))
    return Section(TITLE, [Facts(facts)])


def without(page: str) -> str:
    """A page without this section, if it has one: the rest depends on the results alone."""
    return _SECTION.sub("", page, count=1)


def version(number: str, build: str | None = None, commit: str | None = None) -> str:
    """The versions in one line; what is unknown is left out."""
    parts = [f"flashweir {number}", *([f"build {build}"] if build else []), *([f"commit {commit}"] if commit else [])]
    return ", ".join(parts)


def lines(known: Mapping[str, Any]) -> list[str]:
    """Facts of a machine, a line each."""
    return [f"{key.replace('_', ' ')}: {cells.plain(value)}" for key, value in known.items()] or ["unknown"]
