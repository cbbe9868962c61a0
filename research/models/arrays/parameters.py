"""Parameters of the drive: text in, checked values out. README.md has a row for each."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

KIB = 1024
SECTOR = 4 * KIB  # the smallest unit of addresses

CHOICES: dict[str, tuple[object, ...]] = {
    "ftl": ("page", "cached", "bast", "fast"),
    "victims": ("greedy", "fifo", "random", "poor"),
    "collect": ("die", "block", "paced"),
    "destage": ("eager", "full", "idle"),
    "state": ("new", "full", "used", "fragmented"),
    "page_kib": (4, 8, 16),
    "mapping_kib": (4, 8, 16, 32, 64),
}
RANGES: dict[str, tuple[float, float]] = {
    "capacity_mib": (1, 4096),
    "spare": (0.01, 1),
    "channels": (1, 16),
    "dies": (1, 16),
    "block_pages": (1, 1024),
    "map_cache_kib": (1, 1 << 20),
    "logs": (0, 1 << 20),
    "reserve": (1, 1 << 20),
    "idle_blocks": (0, 1 << 20),
    "buffer_kib": (0, 64 * KIB),
    "read_us": (0, 1e6),
    "program_us": (0, 1e6),
    "erase_us": (0, 1e6),
    "bus_mbps": (1, 1e6),
    "link_mbps": (1, 1e6),
    "overhead_us": (0, 1e6),
    "idle_us": (0, 1e9),
    "noise": (0, 0.5),
    "hiccup_rate": (0, 0.1),
    "hiccup_ms": (0, 1000),
}


@dataclass(frozen=True)
class Parameters:
    """A drive. A *stripe* is a block of every die: the unit of collection and of merges."""

    ftl: str = "page"
    victims: str = "greedy"
    capacity_mib: int = 64
    page_kib: int = 4
    mapping_kib: int = 4
    spare: float = 0.1
    channels: int = 2
    dies: int = 2  # a channel
    block_pages: int = 16
    map_cache_kib: int = 64
    logs: int = 0  # log blocks; 0: all spare stripes
    reserve: int = 1  # free stripes below which collection starts
    idle_blocks: int = 0  # free stripes above the reserve that idle time collects
    collect: str = "die"
    buffer_kib: int = 1024
    destage: str = "eager"
    flush_waits: bool = True
    discard: bool = True
    read_us: float = 50.0
    program_us: float = 400.0
    erase_us: float = 2000.0
    bus_mbps: float = 400.0
    link_mbps: float = 1000.0
    overhead_us: float = 8.0
    idle_us: float = 2000.0  # pause after which the drive works for itself
    noise: float = 0.0
    hiccup_rate: float = 0.0
    hiccup_ms: float = 10.0
    state: str = "new"
    seed: int = 1

    @classmethod
    def read(cls, texts: Mapping[str, str]) -> "Parameters":
        """The parameters of a target's settings.

        Raises:
            ValueError: an unknown name, or a value that is no number or out of its range.
        """
        known = {field.name: type(field.default) for field in dataclasses.fields(cls)}
        values: dict[str, object] = {}
        for name, text in texts.items():
            if name not in known:
                raise ValueError(f"{name}: expected one of {', '.join(known)}")
            values[name] = _value(name, str(text), known[name])
        return cls(**values)  # type: ignore[arg-type] # each value has the type of its field

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)}: expected one of {', '.join(map(str, choices))}")
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name}={getattr(self, name)}: expected {low} to {high}")
        if self.stripe_bytes % self.unit_bytes or self.size_bytes % self.stripe_bytes:
            raise ValueError(
                f"a stripe has {self.stripe_bytes} bytes (channels x dies x block_pages x page_kib): expected a"
                f" multiple of the mapping unit that divides the capacity"
            )
        if self.spare_stripes < self.reserve + 2:
            raise ValueError(f"{self.spare_stripes} spare stripes: expected at least reserve + 2 = {self.reserve + 2}")

    @property
    def size_bytes(self) -> int:
        """Capacity that the host sees."""
        return self.capacity_mib * KIB * KIB

    @property
    def unit_bytes(self) -> int:
        """Bytes of an entry of the map. A log-block FTL keeps pages, whatever `mapping_kib` says."""
        return (self.page_kib if self.ftl in ("bast", "fast") else self.mapping_kib) * KIB

    @property
    def lanes(self) -> int:
        """Dies of the drive."""
        return self.channels * self.dies

    @property
    def stripe_bytes(self) -> int:
        """Bytes of a block of every die."""
        return self.lanes * self.block_pages * self.page_kib * KIB

    @property
    def slots(self) -> int:
        """Mapping units of a stripe."""
        return self.stripe_bytes // self.unit_bytes

    @property
    def group(self) -> int:
        """Mapping units that one program writes: those of a page, or one that has several pages."""
        return max(1, self.page_kib * KIB // self.unit_bytes)

    @property
    def stripes(self) -> int:
        """Stripes of data that the host sees."""
        return self.size_bytes // self.stripe_bytes

    @property
    def spare_stripes(self) -> int:
        """Stripes beyond them."""
        return int(self.stripes * self.spare + 1e-9)


def _value(name: str, text: str, kind: type) -> object:
    """One value of its type."""
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError(f"{name}={text}: expected true or false")
        return text == "true"
    if kind is str:
        return text
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{name}={text}: expected a {'whole ' if kind is int else ''}number") from None
