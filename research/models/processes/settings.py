"""Parameters of the drive, read from text."""

from dataclasses import dataclass, fields

SIZES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
CHOICES = {
    "mapping": ("page", "cached", "hybrid", "block"),
    "victims": ("greedy", "cost-benefit", "fifo", "random", "window", "worst"),
    "flushing": ("full", "watermark", "idle"),
    "order": ("reads", "arrival"),
    "collect": ("foreground", "background"),
    "state": ("new", "full", "used", "fragmented"),
}


@dataclass(frozen=True)
class Settings:
    """All parameters, with a healthy drive as default. Sizes in bytes, times as the names say."""

    capacity: int = 256 << 20
    block: int = 4096
    page: int = 16384
    unit: int = 0  # of the mapping; 0: a page
    pages_per_block: int = 32
    channels: int = 4
    dies: int = 1  # of a channel
    superblock: bool = False  # blocks of all dies work as one
    parity: bool = False  # one page in each row of a superblock
    mapping: str = "page"
    map_cache: int = 65536  # of a cached map
    log_share: int = 1  # logical blocks that share a log block; 0: any number
    chain: int = 1  # replacement blocks of a logical block
    victims: str = "greedy"
    window: int = 8
    separate: bool = True  # copies go to blocks of their own
    spare: float = 0.1  # of the capacity
    buffer: int = 4 << 20
    protected: bool = False  # the buffer survives a loss of power
    flushing: str = "watermark"
    slc: int = 0
    order: str = "reads"
    suspend: bool = False
    collect: str = "background"
    chunk: int = 4  # pages copied between which a die serves others; 0: a whole victim
    noise: float = 0.0  # of flash times
    jitter: float = 0.0  # mean of a time added to each request, as a share of program_us
    hiccup_s: float = 0.0  # mean time between long stalls; 0: none
    hiccup_ms: float = 50.0
    link_mbps: float = 500.0
    channel_mbps: float = 200.0
    read_us: float = 60.0
    program_us: float = 400.0
    erase_us: float = 2500.0
    slc_program_us: float = 120.0
    controller_us: float = 8.0
    idle_ms: float = 5.0
    discard: bool = True
    state: str = "new"
    seed: int = 1

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {', '.join(known)}")
        for name in ("capacity", "block", "page", "pages_per_block", "channels", "dies"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: expected a number above 0")
        if self.unit_bytes % self.block or max(self.unit_bytes, self.page) % min(self.unit_bytes, self.page):
            raise ValueError(f"unit={self.unit}: expected whole blocks, and a multiple or a divisor of the page")
        if self.capacity % self.frame_bytes:
            raise ValueError(f"capacity={self.capacity}: expected a multiple of {self.frame_bytes}")
        if self.parity and (not self.superblock or self.die_count == 1 or self.mapping in ("hybrid", "block")):
            raise ValueError("parity=yes: expected superblocks of a page map over at least 2 dies")

    @property
    def unit_bytes(self) -> int:
        """Bytes of a mapped unit. Maps of blocks have nothing finer than a page."""
        unit = self.unit or self.page
        return max(unit, self.page) if self.mapping in ("hybrid", "block") else unit

    @property
    def frame_bytes(self) -> int:
        """Bytes that are programmed together: a page, or the pages of a coarser unit."""
        return max(self.page, self.unit_bytes)

    @property
    def die_count(self) -> int:
        """Dies of the drive."""
        return self.channels * self.dies

    @property
    def width(self) -> int:
        """Dies of a group, that is of a block."""
        return self.die_count if self.superblock else 1

    @classmethod
    def parse(cls, texts: dict[str, str]) -> "Settings":
        """Settings from text.

        Raises:
            ValueError: an unknown name, or a value that is none of its kind.
        """
        kinds = {field.name: type(field.default) for field in fields(cls)}
        unknown = sorted(set(texts) - set(kinds))
        if unknown:
            raise ValueError(f"{unknown[0]}: no such parameter; expected one of {', '.join(kinds)}")
        return cls(**{name: _value(name, kinds[name], text) for name, text in texts.items()})  # type: ignore[arg-type]

    def texts(self) -> dict[str, str]:
        """The settings that are not the default, as text that `parse` reads."""
        default = Settings()
        changed = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = {name: value for name, value in changed.items() if value != getattr(default, name)}
        return {name: _text(value) for name, value in changed.items()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(name: str, kind: type, text: str) -> object:
    try:
        if kind is bool:
            return {"yes": True, "no": False, "1": True, "0": False}[text]
        if kind is int:
            number, size = (text[:-3], SIZES[text[-3:]]) if text[-3:] in SIZES else (text, 1)
            return int(number) * size
        return kind(text)
    except (KeyError, ValueError):
        noun = {bool: "yes or no", int: "a whole number", float: "a number"}[kind]
        raise ValueError(f"{name}={text}: expected {noun}") from None
