"""fio's job files as sections of options: comments, `[global]`, `include` and `${VARIABLE}` as fio reads them."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from flashweir._native import ConfigError

# Bytes of a job file; more is none.
MAX_BYTES = 1 << 20
_MAX_INCLUDES = 16
_GLOBAL = "global"
_INCLUDE = "include"
_VARIABLE = re.compile(r"\$\{([^}]*)\}")


@dataclass(frozen=True)
class Option:
    """An option of a section, with the line that gave it."""

    name: str
    value: str
    file: str
    line: int

    def refused(self, expected: str) -> ConfigError:
        """The error for this option."""
        shown = f"{self.name}={self.value}" if self.value else self.name
        return ConfigError(f"{self.file}: line {self.line}: {shown}: {expected}")


@dataclass
class Section:
    """A job: its own options over those of the global sections before it, by name."""

    name: str
    file: str
    line: int
    options: dict[str, Option] = field(default_factory=dict)


def read(file: str) -> list[Section]:
    """The jobs of a file, in its order.

    Raises:
        ConfigError: it can't be read, has a line outside of a section, or no job.
    """
    shared: dict[str, Option] = {}
    found: list[Section] = []
    section: Section | None = None
    is_global = False
    for number, text in _lines(file):
        if text.startswith("["):
            name = text[1:].removesuffix("]").strip()
            if not text.endswith("]") or not name:
                raise ConfigError(f"{file}: line {number}: {text}: expected a section such as [job]")
            is_global = name.startswith(_GLOBAL)
            section = Section(name, file, number, {} if is_global else dict(shared))
            found += [] if is_global else [section]
            continue
        if section is None:
            raise ConfigError(f"{file}: line {number}: {text}: expected a section such as [job] before it")
        for option in _options(text, file, number, 0):
            (shared if is_global else section.options)[option.name] = option
    if not found:
        raise ConfigError(f"{file}: no job: expected a section such as [job] beside [global]")
    return found


def _options(text: str, file: str, number: int, depth: int) -> list[Option]:
    """The option of a line, or those of the file that it includes."""
    if not text.startswith(_INCLUDE):
        name, _, value = text.partition("=")
        return [Option(name.strip().lower(), _expanded(value.strip(), file, number), file, number)]
    name = text[len(_INCLUDE) + 1 :].strip()
    place = Path(name) if Path(name).exists() else Path(file).parent / name
    if not name or not place.is_file():
        raise ConfigError(f"{file}: line {number}: {text}: expected a file, here or beside {Path(file).name}")
    if depth == _MAX_INCLUDES:
        raise ConfigError(f"{file}: line {number}: {text}: expected at most {_MAX_INCLUDES} files within each other")
    found = []
    for inner, line in _lines(str(place)):
        if line.startswith("["):
            raise ConfigError(f"{place}: line {inner}: {line}: expected options alone in an included file")
        found += _options(line, str(place), inner, depth + 1)
    return found


def _lines(file: str) -> list[tuple[int, str]]:
    """Lines that say something, by their numbers from 1 on; a comment begins with `;` or `#`, anywhere."""
    try:
        with Path(file).open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"fio:{file}: {reason}; expected a job file of fio") from error
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{file}: more than {MAX_BYTES >> 20} MiB; expected a job file of fio")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: byte {error.start} is no UTF-8; expected a job file of fio") from error
    stripped = (
        (number, re.split("[;#]", line, maxsplit=1)[0].strip()) for number, line in enumerate(text.split("\n"), 1)
    )
    return [(number, line) for number, line in stripped if line]


def _expanded(value: str, file: str, number: int) -> str:
    def variable(found: re.Match[str]) -> str:
        if found[1] not in os.environ:
            raise ConfigError(f"{file}: line {number}: {found[0]}: expected the environment to have {found[1]}")
        return os.environ[found[1]]

    return _VARIABLE.sub(variable, value)
