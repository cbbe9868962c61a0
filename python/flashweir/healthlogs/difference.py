"""Health of a drive before and after: bytes of host and media, measured write amplification, wear, heat, throttling."""

from collections.abc import Sequence
from typing import Any

from flashweir._native import ConfigError
from flashweir.healthlogs.logs import Amount, Log

# Logs whose media bytes are held against the host bytes of others, the finest unit first.
_COUNTS = ("media_errors", "warning_minutes", "critical_minutes", "light_throttles", "heavy_throttles", "light_seconds",
           "heavy_seconds", "throttling_events")  # fmt: skip
_STATES = ("percent_used", "spare_percent", "temperature_c", "critical_warning", "throttling_status")
_SIDES = ("host_written", "host_read", "media_written", "media_read")


def difference(before: Sequence[Log], after: Sequence[Log]) -> dict[str, Any]:
    """The health of a drive over a run, as JSON; null where no log says it.

    Raises:
        ConfigError: the logs are of two drives, of different kinds, or the later one has less.
    """
    pairs = _pairs(before, after)
    moved: dict[str, list[Amount]] = {side: [] for side in _SIDES}
    counts: dict[str, int] = {}
    for old, new in pairs:
        for side in new.amounts.keys() & old.amounts.keys():
            moved[side].append(_grown(old, new, side))
        for name, value in new.counts.items():
            if name in old.counts:
                counts[name] = max(counts.get(name, 0), _counted(old, new, name, value))
    best = {side: min(found, key=lambda one: one.unit) for side, found in moved.items() if found}
    return {
        "before": [log.kind for log, _ in pairs],
        "after": [log.kind for _, log in pairs],
        **{f"{side}_bytes": best[side].bytes if side in best else None for side in _SIDES},
        "write_amplification": _amplification(pairs, best),
        **{name: _states(pairs, name) for name in _STATES},
        "throttling": _throttling(counts),
        "media_errors": counts.get("media_errors"),
    }


def _pairs(before: Sequence[Log], after: Sequence[Log]) -> list[tuple[Log, Log]]:
    kinds = {log.kind: log for log in before}
    missing = [log for log in after if log.kind not in kinds]
    later = {log.kind for log in after}
    missing += [log for log in before if log.kind not in later]
    if missing:
        raise ConfigError(f"{missing[0].file}: {missing[0].kind}: expected this log before and after")
    found = [(kinds[log.kind], log) for log in after]
    for old, new in found:
        if old.serial and new.serial and old.serial != new.serial:
            raise ConfigError(f"{new.file}: of drive {new.serial}; expected {old.serial}, as in {old.file}")
    return found


def _grown(old: Log, new: Log, side: str) -> Amount:
    change = new.amounts[side].bytes - old.amounts[side].bytes
    if change < 0:
        raise ConfigError(f"{new.file}: {side}: {new.amounts[side].bytes:,} bytes; expected at least"
                          f" {old.amounts[side].bytes:,}, as in {old.file}")  # fmt: skip
    return Amount(change, new.amounts[side].unit)


def _counted(old: Log, new: Log, name: str, value: int) -> int:
    """Growth of a counter. OCP's count of throttling events has 8 bits, and begins again."""
    change = value - old.counts[name]
    if name == "throttling_events":
        return change % 256
    if change < 0:
        raise ConfigError(f"{new.file}: {name}: {value:,}; expected at least {old.counts[name]:,}, as in {old.file}")
    return change


def _amplification(pairs: Sequence[tuple[Log, Log]], best: dict[str, Amount]) -> dict[str, Any] | None:
    """Media bytes over host bytes, with the range that the units leave; of one log where it has both."""
    for old, new in pairs:
        if new.kind == "FDP statistics":
            host, media = _grown(old, new, "host_written"), _grown(old, new, "media_written")
            return _ratio(media, host, new.kind)
    if "media_written" in best and "host_written" in best:
        kinds = [_kind_of(pairs, side, best[side]) for side in ("media_written", "host_written")]
        return _ratio(best["media_written"], best["host_written"], " over ".join(dict.fromkeys(kinds)))
    for old, new in pairs:
        if {"host_pages", "ftl_pages"} <= old.counts.keys() & new.counts.keys():
            host_pages, ftl = (_counted(old, new, name, new.counts[name]) for name in ("host_pages", "ftl_pages"))
            return _ratio(Amount(host_pages + ftl, 1), Amount(host_pages, 1), new.kind)
    return None


def _kind_of(pairs: Sequence[tuple[Log, Log]], side: str, amount: Amount) -> str:
    """The log that says an amount."""
    return next(new.kind for _, new in pairs if side in new.amounts and new.amounts[side].unit == amount.unit)


def _ratio(media: Amount, host: Amount, by: str) -> dict[str, Any] | None:
    if not host.bytes:
        return None
    # A counter in units of N bytes may be N off at either end.
    low = max(media.bytes - media.unit, 0) / (host.bytes + host.unit)
    least = host.bytes - host.unit
    high = (media.bytes + media.unit) / least if least > 0 else None
    return {"value": media.bytes / host.bytes, "low": low, "high": high, "by": by}


def _states(pairs: Sequence[tuple[Log, Log]], name: str) -> dict[str, float] | None:
    found = next(((old, new) for old, new in pairs if name in old.states and name in new.states), None)
    return None if found is None else {"before": found[0].states[name], "after": found[1].states[name]}


def _throttling(counts: dict[str, int]) -> dict[str, int | None] | None:
    """Transitions into throttling, and time spent so; None if no log counts either."""
    events = [counts[name] for name in ("throttling_events", "light_throttles", "heavy_throttles") if name in counts]
    seconds = [counts[name] for name in ("light_seconds", "heavy_seconds") if name in counts]
    minutes = [counts[name] for name in ("warning_minutes", "critical_minutes") if name in counts]
    if not (events or seconds or minutes):
        return None
    by_controller = counts.get("light_throttles", 0) + counts.get("heavy_throttles", 0)
    return {
        "events": max(counts.get("throttling_events", 0), by_controller) if events else None,
        "seconds": sum(seconds) if seconds else None,
        "too_hot_minutes": sum(minutes) if minutes else None,
    }
