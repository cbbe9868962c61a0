"""The table that an import yields, and the device file made of it."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

Value: TypeAlias = str | int | float | bool | list[str]
Status: TypeAlias = Literal["set", "part", "none"]

# Columns of comments, the sign included.
_WIDTH = 118
# Signs of a value in comments and messages: that of a damaged file may be long.
_MAX_SIGNS = 60
# Begins every device file of an import, by which --force knows it.
MARK = "# Imported from "


@dataclass(frozen=True)
class Entry:
    """A key of another simulator: its value there, the keys of ours that it sets, and what differs."""

    key: str
    value: str
    status: Status
    ours: Mapping[str, Value] = field(default_factory=dict)
    reason: str = ""

    def to_dict(self) -> dict[str, object]:
        """The entry as JSON has it."""
        return {"key": self.key, "value": self.value, "status": self.status, "ours": dict(self.ours),
                "reason": self.reason}  # fmt: skip


@dataclass(frozen=True)
class ImportedDrive:
    """A drive made of another simulator's configuration.

    `settings` is what `simulate(device=...)` takes; `entries` is the table of its keys, in the order of the file, and
    `device_file` the same as the text of a TOML file. With a file of workloads, `mix` is the text of a mix.
    """

    kind: str
    simulator: str
    file: str
    entries: Sequence[Entry]
    mix: str | None = None

    @property
    def settings(self) -> dict[str, Value]:
        """The keys of the drive, by dotted name."""
        return {key: value for entry in self.entries for key, value in entry.ours.items()}

    @property
    def counts(self) -> dict[str, int]:
        """Keys by status: `set`, `part`, `none`."""
        statuses = [entry.status for entry in self.entries]
        return {status: statuses.count(status) for status in ("set", "part", "none")}

    @property
    def summary(self) -> str:
        """The counts in words."""
        counts = self.counts
        return f"{counts['set']} keys set, {counts['part']} in part, {counts['none']} not imported"

    @property
    def device_file(self) -> str:
        """The text of a device file; a comment at each key names its source."""
        lines = [*_comment(f"{MARK[2:]}{shown(Path(self.file).name)} of {self.simulator} by flashweir import."),
                 *_comment(f"{self.summary}.")]  # fmt: skip
        settings = self.settings
        tables: dict[str, list[str]] = {}
        for key in settings:
            tables.setdefault(key.partition(".")[0] if "." in key else "", []).append(key)
        for table in sorted(tables):
            lines += ["", f"[{table}]"] if table else [""]
            for key in tables[table]:
                lines += [line for entry in self.entries if key in entry.ours for line in _comment(_source(entry))]
                lines.append(f"{key.removeprefix(f'{table}.')} = {json.dumps(settings[key])}")
        lines += self._others("Without a key of their own, and the drive is the same:", "set")
        lines += self._others("In part, by other keys of this file:", "part")
        lines += self._others("Not imported:", "none")
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, object]:
        """The import as JSON: `kind`, `file`, `counts`, `settings` and the table `keys`."""
        return {
            "imported": self.kind,
            "file": self.file,
            "counts": self.counts,
            "settings": self.settings,
            "keys": [entry.to_dict() for entry in self.entries],
        }

    def _others(self, title: str, status: Status) -> list[str]:
        found = [entry for entry in self.entries if entry.status == status and not entry.ours]
        return ["", f"# {title}", *(line for entry in found for line in _comment(_source(entry)))] if found else []


def plain(text: object) -> str:
    """A text on one line, without signs that a terminal or TOML would take for commands."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in str(text)).split())


def shown(text: object) -> str:
    """The same, cut where it is long."""
    joined = plain(text)
    return joined if len(joined) <= _MAX_SIGNS else f"{joined[:_MAX_SIGNS]}..."


def _source(entry: Entry) -> str:
    marked = "in part: " if entry.status == "part" else ""
    note = f" ({marked}{entry.reason})" if entry.reason or marked else ""
    return f"{shown(entry.key)} = {shown(entry.value)}{note}"


def _comment(text: str) -> list[str]:
    wrapped = textwrap.wrap(text, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return [f"# {line}" if not number else f"#   {line}" for number, line in enumerate(wrapped)]
