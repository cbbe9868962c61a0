"""Characterization of workloads: `characterize` of one, `characterize_all` of every trace of a folder."""

from flashweir.character.api import characterize
from flashweir.character.volumes import characterize_all

__all__ = ["characterize", "characterize_all"]
