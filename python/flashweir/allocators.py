"""Allocators of channels in Python: called once a window of requests (docs/guide/allocators.md)."""

import inspect
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from flashweir._native import ConfigError
from flashweir.functions import called_exit, load_function


class TenantFeatures(TypedDict):
    """Requests of one tenant in a window."""

    reads: int
    writes: int
    read_sectors: int
    write_sectors: int


class Features(TypedDict):
    """Features of a window of requests.

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


def use_allocator(settings: dict[str, object], functions: Mapping[str, object]) -> None:
    """Has the allocator asked: `settings` without another choice get `tenants.channels=external`.

    Raises:
        ConfigError: `functions`, of settings, have one that chooses channels, too.
    """
    if "tenants.channels" in functions:
        raise ConfigError("allocator: tenants.channels is a function, too: expected one of them")
    settings.setdefault("tenants.channels", "external")


def as_native(allocator: Allocator | str) -> Callable[[str], str]:
    """The allocator as the engine asks it: from features as JSON to an allocation as JSON."""
    decide = load_function(allocator, "allocator") if isinstance(allocator, str) else allocator

    def ask(features: str) -> str:
        try:
            answer = decide(json.loads(features))
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # `sys.exit` among them: it would end the command without a message
            raise RuntimeError(f"the allocator {called_exit(error)}: expected an answer") from error
        if inspect.iscoroutine(answer):
            answer.close()
            raise TypeError("an async function: expected one that returns channels")
        return json.dumps(answer, default=_plain, allow_nan=False)

    return ask


def _plain(value: object) -> object:
    """Converts values without a form in JSON: ranges, sets, other mappings, and numbers and arrays of numpy."""
    if isinstance(value, (range, set, frozenset)):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike) or not hasattr(value, "tolist"):
        raise TypeError(f"{type(value).__name__} in an allocation: expected lists of channel numbers")
    return value.tolist()
