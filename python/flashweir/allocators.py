"""Allocators of channels in Python: asked once a window who gets which channels (docs/guide/allocators.md)."""

import importlib.util
import inspect
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from flashweir._native import ConfigError


class TenantFeatures(TypedDict):
    """What one tenant asked for in a window."""

    reads: int
    writes: int
    read_sectors: int
    write_sectors: int


class Features(TypedDict):
    """What was in a window of requests.

    `window` counts from 0; `start_s` and `end_s` are the arrivals of its first and last request (0 in a closed loop);
    `level` is `requests / tenants.level_requests`, rounded up; `channels` are those of the drive; `tenants` has the
    features of each tenant by its name. A sector has 512 bytes.
    """

    window: int
    start_s: float
    end_s: float
    requests: int
    reads: int
    writes: int
    level: int
    channels: int
    tenants: dict[str, TenantFeatures]


Share = Iterable[int] | Mapping[str, Any]
Allocation = Mapping[str, Share]
Allocator = Callable[[Features], Allocation]


def load(place: str) -> Allocator:
    """The allocator at `FILE.py:FUNCTION`. Runs the file.

    Raises:
        ConfigError: there is no such file or function, or the file does not run.
    """
    file, _, name = place.rpartition(":")
    path = Path(file)
    if not file or not name.isidentifier() or not path.is_file():
        raise ConfigError(f"allocator {place!r}: expected FILE.py:FUNCTION, with a file that is there")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"allocator {place!r}: {file} is no Python file (expected a name that ends in .py)")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # `sys.exit` among them: it would end the command without a word
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(f"allocator {place!r}: {file} does not run: {why}") from error
    found = getattr(module, name, None)
    if not callable(found):
        known = "no function" if found is None else f"{type(found).__name__}, not a function,"
        raise ConfigError(f"allocator {place!r}: {file} has {known} {name}")
    allocator: Allocator = found
    return allocator


def as_native(allocator: Allocator | str) -> Callable[[str], str]:
    """The allocator as the engine asks it: from features as JSON to an allocation as JSON."""
    decide = load(allocator) if isinstance(allocator, str) else allocator

    def ask(features: str) -> str:
        try:
            answer = decide(json.loads(features))
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # `sys.exit` among them: it would end the command without a word
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        if inspect.iscoroutine(answer):
            answer.close()
            raise TypeError("an async function: expected one that returns channels")
        return json.dumps(answer, default=_plain, allow_nan=False)

    return ask


def _plain(value: object) -> object:
    """What JSON has no form for: ranges, sets, other mappings, and numbers and arrays of numpy."""
    if isinstance(value, (range, set, frozenset)):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike) or not hasattr(value, "tolist"):
        raise TypeError(f"{type(value).__name__} in an allocation: expected lists of channel numbers")
    return value.tolist()
