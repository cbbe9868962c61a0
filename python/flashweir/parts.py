"""Where latency goes: the parts of a mean latency, their names, and results' accounts of them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

# Label of each part, in the order in which a request meets them.
LABELS = {
    "host_queue": "host queue",
    "link": "link",
    "firmware": "firmware",
    "buffer": "buffer",
    "mapping": "mapping",
    "wait_read": "wait for read",
    "wait_write": "wait for write",
    "wait_erase": "wait for erase",
    "wait_gc": "wait for gc",
    "wait_bus": "wait for bus",
    "bus": "bus",
    "flash": "flash",
}


@dataclass(frozen=True)
class LatencyParts:
    """Where the latency of an operation goes: means over its requests, in us, which add up to the mean latency.

    Attributes:
        host_queue: before any part of the drive worked at the request.
        link: on the host's link: submission, waiting for it and on it, and completion.
        firmware: waiting for a core of the firmware, and on it.
        buffer: waiting for room in the write buffer, or in it.
        mapping: waiting for the map on flash, or in the host's memory.
        wait_read: waiting for the die while it read for the host, or suspended for such reads.
        wait_write: waiting for the die while it wrote for the host.
        wait_erase: waiting for the die while it erased.
        wait_gc: waiting for the die while it copied pages of a collection.
        wait_bus: waiting for the channel's bus.
        bus: on the bus.
        flash: the flash array itself.
    """

    host_queue: float
    link: float
    firmware: float
    buffer: float
    mapping: float
    wait_read: float
    wait_write: float
    wait_erase: float
    wait_gc: float
    wait_bus: float
    bus: float
    flash: float

    @property
    def total(self) -> float:
        """The mean latency, in us."""
        return sum(self.by_name().values())

    @property
    def waits(self) -> float:
        """Time waiting for dies and buses, in us."""
        return self.wait_read + self.wait_write + self.wait_erase + self.wait_gc + self.wait_bus

    def by_name(self) -> dict[str, float]:
        """The parts by name, in us, in the order in which a request meets them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def shares(self) -> dict[str, float]:
        """The parts as shares of the mean latency; all 0 if it is 0."""
        total = self.total
        return {name: us / total if total else 0.0 for name, us in self.by_name().items()}


def parts_of(result: Mapping[str, Any]) -> dict[str, LatencyParts]:
    """The parts of each operation that took time; none if the run kept no account of them."""
    kept = result.get("latency_parts_us") or {}
    names = [field.name for field in fields(LatencyParts)]
    found = {operation: LatencyParts(**{name: float(parts.get(name, 0)) for name in names})
             for operation, parts in kept.items()}  # fmt: skip
    return {operation: parts for operation, parts in found.items() if parts.total > 0}


def occurring(parts: Mapping[str, LatencyParts]) -> list[str]:
    """Names of the parts that are not 0 for all operations."""
    return [name for name in LABELS if any(getattr(one, name) > 0 for one in parts.values())]
