"""Runs that are on a cluster together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from flashweir.sweeps.points import Planned

# A `distributed.Future`: what it takes and gives is not typed there.
Future: TypeAlias = Any


@dataclass
class Batch:
    """Runs that are on the cluster together."""

    runs: Sequence[Planned]
    future: Future = None
    # A run that a worker may have died of: only one such is tried at a time.
    suspect: bool = False
    # Workers that it may or should go to.
    workers: Sequence[str] = ()
    only_there: bool = False
    # Digests of the traces that its worker does not have.
    needs: Sequence[str] = ()
    losses: int = 0
