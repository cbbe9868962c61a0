"""Tables of an experiment's files: each key is taken with its kind, and what is left is an error."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError

# Names of these keys in a message.
_KINDS: Mapping[type | tuple[type, ...], str] = {
    str: "a text",
    dict: "a table",
    list: "a list",
    (int, float): "a number",
    (int, float, list, str): "a number, a range [low, high], or a word",
}


class Fields:
    """A table of a file: its keys are taken one by one, what is left at the end is unknown."""

    def __init__(self, path: Path, table: Mapping[str, Any], where: str = "") -> None:
        self.path, self.table, self.where = path, dict(table), where

    def wrong(self, key: str, message: str) -> ConfigError:
        """The error of a key that is not what it should be."""
        return ConfigError(f"{self.path}: {self.where}{'.' if self.where and key else ''}{key}: {message}")

    def take(self, key: str, kind: Any, default: Any = None, *, needed: bool = False) -> Any:  # noqa: ANN401
        """The value of a key, which is then taken."""
        value = self.table.pop(key, None)
        if value is None and not needed:
            return default
        if value is None or isinstance(value, bool) or not isinstance(value, kind):
            raise self.wrong(key, f"{value!r}: expected {_KINDS[kind]}" if value is not None else "expected this key")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A text; needed if there is no default."""
        return str(self.take(key, str, default, needed=default is None))

    def flag(self, key: str) -> bool:
        """True or false; false if it is not there."""
        value = self.table.pop(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{value!r}: expected true or false")
        return value

    def tables(self, key: str) -> list[tuple[str, dict[str, Any]]]:
        """The tables of a table, by name."""
        found = self.take(key, dict, {})
        for name, value in found.items():
            if not isinstance(value, dict):
                raise self.wrong(f"{key}.{name}", f"{value!r}: expected a table")
        return list(found.items())

    def listed(self, key: str) -> list["Fields"]:
        """The tables of a list."""
        found = self.take(key, list, [])
        for place, value in enumerate(found):
            if not isinstance(value, dict):
                raise self.wrong(f"{key}[{place}]", f"{value!r}: expected a table")
        prefix = f"{self.where}." if self.where else ""
        return [Fields(self.path, value, f"{prefix}{key}[{place}]") for place, value in enumerate(found)]

    def done(self) -> None:
        """Refuses what was not taken."""
        for key in self.table:
            raise self.wrong(key, "unknown key")
