"""Endurance of a drive under a workload: bytes that the host can write, and the end that comes first."""

from flashweir.endurance.api import lifetime

__all__ = ["lifetime"]
