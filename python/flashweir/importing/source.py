"""Keys and values of a foreign file, read with errors that name file, key, value and what was expected."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flashweir._native import ConfigError
from flashweir.importing.model import Entry, Status, Value, plain, shown
from flashweir.whole import STANDARD, read_standard

# Configurations are a few KiB; a larger file is something else.
_MAX_BYTES = 1 << 20
_MAX_WHOLE = 1 << 53


def read(path: str) -> str:
    """The text of a configuration; `-` is standard input.

    Raises:
        ConfigError: it can't be read, or is no text of at most a MiB.
    """
    file = Path(path)
    try:
        if path == STANDARD:
            content = read_standard(_MAX_BYTES)
        elif not file.exists() or file.is_dir():
            what = "that is a folder" if file.is_dir() else "there is no such file"
            raise ConfigError(f"{path}: {what}; expected a configuration of another simulator")
        else:
            with file.open("rb") as stream:
                content = stream.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or error}; expected a file") from error
    if len(content) > _MAX_BYTES:
        raise ConfigError(f"{path}: larger than 1 MiB; expected a configuration of another simulator")
    if b"\0" in content:
        raise ConfigError(f"{path}: no text; expected a configuration of another simulator")
    # Comments of SSDsim's files are in several encodings; keys and values are ASCII.
    return content.decode("utf-8-sig", errors="replace")


@dataclass
class Source:
    """Values by key; `add` records what becomes of each. Keys that are absent have the simulator's own defaults."""

    file: str
    given: Mapping[str, str]
    defaults: Mapping[str, str] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def text(self, key: str) -> str:
        """The value of a key.

        Raises:
            ConfigError: it is not given, and has no default.
        """
        found = self.given.get(key, self.defaults.get(key))
        if found is None:
            raise ConfigError(f"{plain(self.file)}: {key} is missing: expected it among the keys")
        return found

    def number(self, key: str, low: float = 0.0, high: float = float(_MAX_WHOLE)) -> float:
        """A number within bounds.

        Raises:
            ConfigError: it is none, or out of them.
        """
        try:
            found = float(self.text(key))
        except ValueError:
            found = math.nan
        if not low <= found <= high:
            raise self.wrong(key, f"a number from {low:g} to {high:g}")
        return found

    def whole(self, key: str, low: int = 0, high: int = _MAX_WHOLE) -> int:
        """A whole number within bounds.

        Raises:
            ConfigError: it is none, or out of them.
        """
        text = self.text(key).strip()
        if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_WHOLE)) and low <= int(text) <= high):
            raise self.wrong(key, f"a whole number from {low} to {high}")
        return int(text)

    def flag(self, key: str) -> bool:
        """True or false.

        Raises:
            ConfigError: it is neither.
        """
        text = self.text(key).strip().lower()
        if text not in ("true", "false"):
            raise self.wrong(key, "true or false")
        return text == "true"

    def wrong(self, key: str, expected: str) -> ConfigError:
        """The error of a value."""
        return ConfigError(f"{plain(self.file)}: {key} = {shown(self.text(key))!r}: expected {expected}")

    def add(self, key: str, status: Status, ours: Mapping[str, Value] | None = None, reason: str = "") -> None:
        """Records a key; one that is not given and sets nothing is left out."""
        if key in self.given:
            self.entries.append(Entry(key, self.given[key].strip(), status, ours or {}, reason))
        elif ours:
            note = f"the simulator's default{f'; {reason}' if reason else ''}"
            self.entries.append(Entry(key, self.text(key), status, ours, note))

    def same(self, key: str, ours: Mapping[str, Value] | None = None, reason: str = "") -> None:
        """Records a key of which the drive has the same."""
        self.add(key, "set", ours, reason)

    def part(self, key: str, ours: Mapping[str, Value] | None, reason: str) -> None:
        """Records a key of which the drive has a part."""
        self.add(key, "part", ours, reason)

    def none(self, key: str, reason: str) -> None:
        """Records a key without a counterpart."""
        self.add(key, "none", None, reason)

    def finish(self) -> list[Entry]:
        """All entries in the order of the file; keys that nobody knows are named, too."""
        known = {entry.key for entry in self.entries}
        for key in self.given:
            if key not in known:
                self.none(key, "not a key of this simulator that is known here")
        order = {key: place for place, key in enumerate(self.given)}
        return sorted(self.entries, key=lambda entry: order.get(entry.key, len(order)))


def size(count: int) -> str:
    """Bytes in the largest unit that divides them."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and count % scale == 0:
            return f"{count // scale}{unit}"
    return f"{count}B"


def time(ns: int) -> str:
    """A time in ns or, where that is whole, in us."""
    return f"{ns // 1000}us" if ns and ns % 1000 == 0 else f"{ns}ns"


def times(all_ns: list[int]) -> str | list[str]:
    """Times by page type; one, where all are the same."""
    return time(all_ns[0]) if len(set(all_ns)) == 1 else [time(ns) for ns in all_ns]
