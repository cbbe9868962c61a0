"""What a workload is like: `characterize` says it of one."""

from flashweir.character.api import characterize

__all__ = ["characterize"]
