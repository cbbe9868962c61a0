"""Counters of a drive around a phase: bytes of the host and of the flash, and so the amplification without inference.

A block device has health logs (docs/reference/health.md). A drive in Python may have the attributes
`host_written_bytes` and `media_written_bytes`.
"""

from dataclasses import dataclass

from flashweir import targets
from flashweir._native import ConfigError
from flashweir.diagnosis.active.ratios import Span
from flashweir.healthlogs import drives
from flashweir.healthlogs.difference import difference
from flashweir.healthlogs.logs import Amount, Log

# Counters that may be off by more say less than what is inferred.
_WIDEST = 1.5
_HOST, _MEDIA = "host_written_bytes", "media_written_bytes"


@dataclass
class Counters:
    """Counters of the target of a name."""

    target: str

    def read(self) -> list[Log]:
        """The counters now; none if the target has none."""
        model = targets.current()
        if model is None:
            return drives.read_drive(self.target) if self.target.startswith("/dev/") else []
        counts = [getattr(model, name, None) for name in (_HOST, _MEDIA)]
        if None in counts:
            return []
        for name, count in zip((_HOST, _MEDIA), counts, strict=True):
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise ConfigError(f"{type(model).__name__}.{name} is {count!r}: expected a whole number of bytes")
        host, media = (Amount(int(count or 0), 1) for count in counts)
        return [Log("counters", self.target, amounts={"host_written": host, "media_written": media})]

    def amplification(self, before: list[Log]) -> Span | None:
        """Write amplification since then; None if no counter says it, or only within a wide range."""
        if not before:
            return None
        now = self.read()
        kinds = {log.kind for log in before} & {log.kind for log in now}
        sides = ([log for log in logs if log.kind in kinds] for logs in (before, now))
        found = difference(*sides)["write_amplification"]
        if found is None or found["high"] is None or found["high"] > _WIDEST * max(found["low"], 1e-9):
            return None
        return Span(found["value"], found["low"], found["high"])
