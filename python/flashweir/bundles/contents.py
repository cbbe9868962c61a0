"""Files of a bundle while it is made: each has a place in it, and a folder holds them as the bundle will."""

import hashlib
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashweir import jsontext
from flashweir._native import ConfigError, FlashweirError
from flashweir.arguments import shown
from flashweir.bundles import toml
from flashweir.bundles.archive import Member
from flashweir.bundles.manifest import plain
from flashweir.tenants import FIO, MIX

CODE = "runs Python code ({key}), and a bundle holds none: nobody should have to run code of others to check a result"
# Keys of a drive that name a file with code, and those whose value `external` asks for code.
_FILES = (
    "gc.victim_file",
    "gc.planner_file",
    "background.file",
    "buffer.destage_file",
    "ftl.classifier_file",
    "tenants.channels_file",
)
_CHOICES = ("gc.victim", "gc.planner", "background.kind", "buffer.destage", "ftl.classifier", "tenants.channels")


@dataclass
class Trace:
    """A trace that a bundle knows by its hash, and may hold; `requests` is the number that results count in it."""

    path: str
    name: str
    source: Path
    sha256: str
    bytes: int
    requests: int | None = None


class Contents:
    """The files of a bundle, in a folder `stage`: traces are links there."""

    def __init__(self, stage: Path) -> None:
        """Takes an empty folder."""
        self.stage = stage
        self.traces: dict[Path, Trace] = {}
        self._files: dict[str, bytes | Path] = {}
        self._known: dict[tuple[str, Path], str] = {}

    def add(self, path: str, content: str | bytes) -> str:
        """Adds a file with this content."""
        data = content.encode() if isinstance(content, str) else content
        self._files[path] = data
        self._place(path).write_bytes(data)
        return path

    def add_file(self, path: str, source: Path) -> str:
        """Adds a file as it is."""
        self._files[path] = source.resolve()
        self._place(path).symlink_to(source.resolve())
        return path

    def _place(self, path: str) -> Path:
        place = self.stage / path
        place.parent.mkdir(exist_ok=True)
        return place

    def free(self, folder: str, name: str) -> str:
        """A path for a file of this name that no other has."""
        taken = {*self._files, *(trace.path for trace in self.traces.values())}
        start, end = (folder, plain(name)) if folder.endswith("-") else (f"{folder}/", plain(name))
        path, count = f"{start}{end}", 1
        while path in taken:
            count += 1
            path = f"{start}{count}-{end}"
        return path

    def trace(self, source: Path) -> str:
        """Place of a trace; it is hashed when it is first met."""
        real = source.resolve()
        if real not in self.traces:
            path = self.free("traces", source.name)
            sha256, size = digest(real)
            self._place(path).symlink_to(real)
            self.traces[real] = Trace(path, shown(source.name), real, sha256, size)
        return self.traces[real].path

    def device(self, source: Path) -> str:
        """Place of a device file, which is copied as it is."""
        return self._once("devices", source, lambda path: self.add(path, _read(source)))

    def mix(self, source: Path) -> str:
        """Place of a mix, whose traces are those of the bundle."""

        def write(path: str) -> None:
            table = read_table(source)
            tenants = table.get("tenants")
            if not isinstance(tenants, Mapping):
                raise ConfigError(f"{source}: expected a mix, with tables [tenants.NAME]")
            table["tenants"] = {name: self._tenant(one, source) for name, one in tenants.items()}
            self.add(path, toml.dumps(table))

        return self._once("mix-", source, write, Path(plain(source.name)).with_suffix(".toml").name)

    def _tenant(self, tenant: object, mix: Path) -> object:
        if not isinstance(tenant, Mapping) or not isinstance(tenant.get("workload"), str):
            return tenant
        text = tenant["workload"]
        file = mix.parent / text
        return {**tenant, "workload": self.trace(file) if file.is_file() else text}

    def _once(self, folder: str, source: Path, write: Callable[[str], object], name: str | None = None) -> str:
        key = (folder, source.resolve())
        if key not in self._known:
            self._known[key] = self.free(folder, name or source.name)
            write(self._known[key])
        return self._known[key]

    def workload(self, text: str) -> str:
        """A workload as the bundle has it: its place if it is a file, or a generator as it is."""
        if text.startswith(FIO):
            raise ConfigError(
                f"{text}: expected a trace, a generator or a mix; trace convert {text} F.parquet makes a trace"
            )
        if text.startswith(MIX):
            file = Path(text.removeprefix(MIX))
            return f"{MIX}{self.mix(file)}" if file.is_file() else text
        return self.trace(Path(text)) if Path(text).is_file() else text

    def members(self, *, traces: bool) -> list[Member]:
        """All files, sorted by path, with traces if they are to be in the bundle."""
        found = [
            Member(path, source, *(digest(source) if isinstance(source, Path) else _digest(source)))
            for path, source in self._files.items()
        ]
        if traces:
            found += [Member(one.path, one.source, one.sha256, one.bytes) for one in self.traces.values()]
        return sorted(found, key=lambda member: member.path)


def digest(path: Path) -> tuple[str, int]:
    """SHA-256 and size of a file.

    Raises:
        FlashweirError: it can't be read.
    """
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            return sha256, file.tell()
    except OSError as error:
        raise FlashweirError(f"{path}: {error.strerror}") from error


def _digest(data: bytes) -> tuple[str, int]:
    return hashlib.sha256(data).hexdigest(), len(data)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def read_table(path: Path) -> dict[str, Any]:
    """A TOML or JSON file: a mix, a device or a specification.

    Raises:
        ConfigError: it is neither.
    """
    try:
        text = _read(path).decode("utf-8-sig")
        found = jsontext.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}: expected TOML or JSON") from error
    return dict(found)


def code_in(table: Mapping[str, Any]) -> str:
    """The first key that makes a run need Python code, of a drive's settings or a specification; empty if none does."""
    settings = {key: value for key, value in table.items() if key != "workloads"}
    return next(_code(settings, ""), "")


def _code(table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        values = value if isinstance(value, list) else [value]
        if any(values) and any(f".{name}".endswith(f".{file}") for file in _FILES):
            yield name
        if "external" in values and any(f".{name}".endswith(f".{choice}") for choice in _CHOICES):
            yield name
        for one in values:
            if isinstance(one, Mapping):
                yield from _code(one, f"{name}.")
