"""Trials: a file with a frozen policy, its rivals, the workloads it was designed on, and others."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError
from flashweir.policies.grammar import default, read
from flashweir.policies.setup import SEEDS, spec_of
from flashweir.sweeps.include import read_toml
from flashweir.sweeps.options import RUN_OPTIONS
from flashweir.sweeps.recorded import TracesMissingError, require
from flashweir.sweeps.spec import SweepSpec

# A difference of IOPS that counts.
LIMIT = 0.02
# Workloads by the table that lists them, with what they are called.
PARTS = (("seen", "Workloads that it was designed on"), ("unseen", "Workloads that it never saw"))
_OWN = ("name", "candidate", "rivals", "limit", "sources", "policies", "seen", "unseen", "traces")
_OF_SWEEPS = ("device", "set", "seeds", *RUN_OPTIONS)


@dataclass(frozen=True)
class Trial:
    """A trial as read from its file: the sweep, the candidate and its rivals. `unseen` are the workloads held out."""

    file: Path
    candidate: str
    rivals: Sequence[str]
    unseen: frozenset[str]
    limit: float
    sources: Sequence[Path]
    spec: SweepSpec


def load(file: str | os.PathLike[str]) -> Trial:
    """Reads a trial from its file; paths in it are relative to its folder.

    Raises:
        ConfigError: the file can't be read, a key is unknown, or a value is not what it should be.
    """
    path = Path(file)
    table = read_toml(path, "a trial in TOML")
    try:
        return _read(table, path)
    except (ConfigError, TracesMissingError) as error:
        raise type(error)(f"{path}: {error}") from error


def _read(table: dict[str, Any], path: Path) -> Trial:
    if unknown := next((key for key in table if key not in (*_OWN, *_OF_SWEEPS)), None):
        raise ConfigError(f"{unknown}: unknown key; expected {', '.join((*_OWN, *_OF_SWEEPS))}")
    require(table, path.parent)
    candidate, names = _sides(table)
    policies = {name: settings_in(table, name) for name in [candidate, *names]}
    limit = table.get("limit", LIMIT)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit < 1:
        raise ConfigError(f"limit: {limit!r}: expected a share from 0 to 1, such as 0.02")
    workloads, set_for = _workloads(table)
    more = {key: table[key] for key in _OF_SWEEPS if key in table and key != "set"}
    more = {"name": str(table.get("name", path.stem)), "seeds": SEEDS, **more}
    if set_for:
        more["set_for"] = set_for
    common = table.get("set", {})
    if not isinstance(common, Mapping):
        raise ConfigError(f"set: {common!r}: expected a table")
    spec = spec_of(workloads, policies, common, baseline=candidate, folder=path.parent, **more)
    kept = [name for name in names if name not in spec.about["refused"]]
    if not kept:
        name, reason = next(iter(spec.about["refused"].items()))
        raise ConfigError(f"rivals: none makes a drive; {name}: {reason}")
    unseen = frozenset(table.get("unseen", {}))
    sources = [path.parent / source for source in _texts(table, "sources")]
    for source in sources:
        if not source.exists():
            raise ConfigError(f"sources: {source}: there is no such file")
    return Trial(path, candidate, kept, unseen, float(limit), sources, spec)


def _sides(table: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The names of the candidate and of its rivals."""
    expected = "a name in [policies], or words such as fast+forwarding"
    candidate = table.get("candidate")
    if not isinstance(candidate, str) or not candidate:
        raise ConfigError(f"candidate: expected a policy: {expected}")
    names = [name for text in _texts(table, "rivals") for name in (default() if text == "default" else (text,))]
    if not names:
        raise ConfigError(f"rivals: expected a list of policies, each {expected}")
    if candidate in names:
        raise ConfigError(f"rivals: {candidate} is the candidate")
    if twice := next((name for place, name in enumerate(names) if name in names[:place]), None):
        raise ConfigError(f"rivals: {twice!r} is listed twice")
    return candidate, names


def settings_in(table: Mapping[str, Any], name: str) -> dict[str, object]:
    """The settings of a policy: those of its table where it has one, else those of its words."""
    named = table.get("policies", {})
    if not isinstance(named, Mapping):
        raise ConfigError("policies: expected [policies.NAME] tables with the settings of each policy")
    return read({name: named[name]})[name] if name in named else read({name: name})[name]


def _workloads(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """All workloads by name, and the settings of those that have some of their own."""
    workloads: dict[str, Any] = {}
    set_for: dict[str, Any] = {}
    for part, name, value in _entries(table):
        if name in workloads:
            raise ConfigError(f"{part}.{name}: there is a workload of that name already")
        if isinstance(value, Mapping):
            if set(value) - {"workload", "set"} or "workload" not in value:
                raise ConfigError(f"{part}.{name}: expected a trace file, a generator, or a table of workload and set")
            workloads[name] = value["workload"]
            if "set" in value:
                set_for[name] = value["set"]
        else:
            workloads[name] = value
    if not workloads:
        raise ConfigError("seen, unseen: expected tables of names and workloads")
    return workloads, set_for


def _entries(table: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for part, _ in PARTS:
        given = table.get(part, {})
        if not isinstance(given, Mapping):
            raise ConfigError(f"{part}: {given!r}: expected a table of names and workloads")
        for name, value in given.items():
            yield part, name, value


def _texts(table: Mapping[str, Any], key: str) -> list[str]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ConfigError(f"{key}: {found!r}: expected a list of texts")
    return found
