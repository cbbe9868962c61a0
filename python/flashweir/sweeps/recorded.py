"""Recorded traces that runs need and that do not ship: a sweep or trial names their folder under `traces`."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError, FlashweirError


class TracesMissingError(FlashweirError):
    """Runs need recorded traces that are not there."""

    exit_code = 3


def require(table: Mapping[str, Any], folder: Path) -> None:
    """Checks that the folder `traces` of a spec is there, relative to `folder`. A spec without the key needs none.

    Raises:
        ConfigError: `traces` is no name of a folder.
        TracesMissingError: there is no such folder.
    """
    given = table.get("traces")
    if given is None:
        return
    if not isinstance(given, str) or not given:
        raise ConfigError(f"traces: {given!r}: expected the folder of the recorded traces, relative to this file")
    place = folder / given
    if not place.is_dir():
        where = os.path.normpath(place)
        raise TracesMissingError(f"needs recorded traces, which do not ship: expected them in {where} "
                                 "(docs/reference/recorded-traces.md names where to get them)")  # fmt: skip
