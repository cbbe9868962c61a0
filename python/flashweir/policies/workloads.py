"""Workloads of a comparison: names that they are given, and files that are not there."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from flashweir._native import ConfigError
from flashweir.whole import STANDARD

# A generator, or a file behind `fio:` or `mix:`.
_GENERATOR = re.compile(r"[\w-]+:")
_NAMED = re.compile(r"([\w-]+)=(.+)", re.DOTALL)


def named(workload: str) -> tuple[str | None, str]:
    """The name of `NAME=WORKLOAD` and the workload; a file that is called so has no name."""
    found = None if Path(workload).exists() else _NAMED.fullmatch(workload)
    return (None, workload) if found is None else (found[1], found[2])


def by_name(workloads: object) -> object:
    """Names to workloads where one of a list has a name; those without one keep their text as name.

    Raises:
        ConfigError: two have one name.
    """
    if not isinstance(workloads, Iterable) or isinstance(workloads, str | Mapping):
        return workloads
    given = list(workloads)
    pairs = [named(one) if isinstance(one, str) else (None, one) for one in given]
    if not any(name for name, _ in pairs):
        return given
    found: dict[str, object] = {}
    for name, workload in pairs:
        label = name or str(workload)
        if label in found:
            raise ConfigError(
                f"workload {label}={workload}: another workload is named {label}: expected a name of its own"
            )
        found[label] = workload
    return found


def check_files(workloads: object) -> None:
    """Says at once that a trace is not there: a text without options that is no file.

    Raises:
        ConfigError: it is not there.
    """
    given = workloads.values() if isinstance(workloads, Mapping) else workloads
    for one in given if isinstance(given, Iterable) and not isinstance(given, str) else []:
        if one == STANDARD:
            raise ConfigError(
                f"workload {one}: what runs several times reads its traces several times: expected a file"
            )
        if isinstance(one, str) and not _GENERATOR.match(one) and not Path(one).exists():
            raise ConfigError(
                f"workload {one!r}: there is no such file, and a generator has options, as in random:count=1000"
            )
