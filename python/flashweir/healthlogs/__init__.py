"""Health logs of drives before and after a run, and what changed between them.

`logs` reads the JSON of nvme-cli and smartctl, `drives` asks a drive that is here, `difference`
compares. docs/reference/health.md has fields and units.
"""

import os
from collections.abc import Sequence

from flashweir.arguments import check_files, in_python
from flashweir.healthlogs.difference import difference
from flashweir.healthlogs.logs import read
from flashweir.results.section import Section

__all__ = ["health"]

_Path = str | os.PathLike[str]


@in_python
def health(before: _Path | Sequence[_Path], after: _Path | Sequence[_Path]) -> Section:
    """Changes in a drive's health logs: host and media bytes, write amplification, wear, temperature, throttling.

    Args:
        before: a file of nvme-cli (smart-log, ocp smart-add-log, fdp stats, endurance-log) or smartctl, in JSON, or
            several of one drive.
        after: the same logs later.

    Returns:
        The fields of docs/reference/health.md; None where no log says it.

    Raises:
        ConfigError: a file is no such log, is of another drive, or is the earlier one.
    """
    check_files("before", before)
    check_files("after", after)
    sides = [[given] if isinstance(given, str | os.PathLike) else list(given) for given in (before, after)]
    old, new = ([read(os.fspath(file)) for file in files] for files in sides)
    return Section(difference(old, new))
