"""A job of fio as numbers: operations, sizes, addresses, arrivals. One for each clone of `numjobs`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from flashweir.fio.jobfile import Option, Section
from flashweir.fio.values import (
    OPS,
    READ,
    TRIM,
    WRITE,
    Share,
    by_op,
    bytes_of,
    flag_of,
    number_of,
    split_of,
    time_of,
    zones_of,
)

_DIRECTIONS = {"read": (READ,), "write": (WRITE,), "trim": (TRIM,), "rw": (READ, WRITE), "readwrite": (READ, WRITE),
               "trimwrite": (TRIM, WRITE)}  # fmt: skip
_KINDS = (*_DIRECTIONS, *(f"rand{name}" for name in ("read", "write", "trim", "rw", "trimwrite")))
_DISTRIBUTIONS = {"zipf": 1.1, "pareto": 0.2, "normal": 0.0}
_BLOCK = "4k"
_MAX = 1 << 62
_UINT = (1 << 32) - 1
_MAX_HANDLE = 255


@dataclass(frozen=True)
class Sizes:
    """Lengths of the requests of an operation: one, a range, or a list with shares."""

    low: int
    high: int
    split: tuple[Share, ...] = ()
    unaligned: bool = False


@dataclass(frozen=True)
class Distribution:
    """Popularity of blocks. `zones` are shares of the accesses with the extent of each: of the range, or bytes."""

    kind: str = "random"
    value: float = 0.0
    center: float | None = None
    zones: tuple[tuple[Fraction, Fraction], ...] = ()


@dataclass(frozen=True)
class Job:
    """One job. Sizes, alignments and rates are by operation; `total` are the bytes after which it ends.

    `rates` are requests a second (0: none), `offset` counts from the start of its file, `to_the_end` is True of a
    range that ends with the drive.
    """

    name: str
    clone: int
    file: str
    ops: tuple[int, ...]
    trim_write: bool
    random: bool
    offset: int
    span: int
    total: int
    to_the_end: bool
    limit: int | None
    sizes: tuple[Sizes, Sizes, Sizes]
    align: tuple[int, int, int]
    depth: int
    rates: tuple[float, float, float]
    poisson: bool
    thinktime_ns: int
    thinktime_blocks: int
    distribution: Distribution
    percentage_random: tuple[int, int, int]
    random_map: bool
    seed: int
    runtime_ns: int
    time_based: bool
    delay_ns: int
    flush_every: int
    flush_at_end: bool
    read_share: Fraction
    sequence: int
    hole: int
    identical: bool
    # Placement handles of writes, in turn or drawn; none where the job places nothing.
    handles: tuple[int, ...] = ()
    handles_in_turn: bool = False

    @property
    def steps(self) -> int:
        """Requests of one size from the start of the range to its end, over which the last may reach as in fio."""
        size = self.sizes[self.ops[0]].low
        return self.span // size if self.to_the_end else -(-self.span // size)

    @property
    def extent(self) -> int:
        """Bytes of the range that requests may touch."""
        return self.span if self.random else max(self.span, self.steps * self.sizes[self.ops[0]].low)

    @property
    def timed(self) -> bool:
        """True if its requests have times: it is an open loop."""
        return any(self.rates[op] for op in self.ops) or bool(self.thinktime_ns)


class Reader:
    """Reads the options of one section. `capacity` is what percentages and a missing size are of."""

    def __init__(self, section: Section, options: Mapping[str, Option], capacity: int | None) -> None:
        self.section = section
        self._given = capacity
        self.options = options
        base = options.get("kb_base")
        self.kb_base = 1024 if base is None else number_of(base, 1000, 1024)
        if base is not None and self.kb_base not in (1000, 1024):
            raise base.refused("expected 1000 or 1024")

    @property
    def capacity(self) -> int:
        """Bytes of the drive."""
        if self._given is None:
            raise self._whose("size").refused("expected a size in bytes: no drive is known here")
        return self._given

    def _percent(self, name: str) -> int | None:
        """The whole of a percentage, where the option is one."""
        return self.capacity if name in self.options and self.options[name].value.endswith("%") else None

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A switch."""
        return flag_of(self.options[name]) if name in self.options else default

    def number(self, name: str, default: int, low: int = 0, high: int = _UINT) -> int:
        """A whole number."""
        return number_of(self.options[name], low, high) if name in self.options else default

    def time(self, name: str, default_unit: str = "s") -> int:
        """A time in ns; 0 if not given."""
        return time_of(self.options[name], default_unit) if name in self.options else 0

    def bytes(self, name: str, default: int, whole: int | None = None) -> int:
        """A size; percentages are of `whole`."""
        option = self.options.get(name)
        found = default if option is None else bytes_of(option, option.value, self.kb_base, whole)
        if option is not None and found < 0:
            raise option.refused("expected a size that is not negative")
        return found

    def jobs(self) -> list[Job]:
        """The job, once for each of its clones.

        Raises:
            ConfigError: a value is none, or does not go with another.
        """
        count = self.number("numjobs", 1, 1, 1024)
        return [self._job(clone, count) for clone in range(count)]

    def _job(self, clone: int, count: int) -> Job:
        ops, is_random, sequence, hole = self._direction()
        sizes = self._sizes()
        step = clone * self.bytes("offset_increment", 0, self._percent("offset_increment"))
        start = self.bytes("offset", 0, self._percent("offset")) + step
        span = self.bytes("size", 0, self._percent("size")) or max(self.capacity - start, 0)
        distribution = self._distribution()
        smallest = tuple(one.low for one in sizes)
        align = self._align(smallest) if is_random else smallest
        if span < max(smallest[op] for op in ops):
            raise self._whose("size", "rw").refused("expected room for one request at least")
        file = self.options.get("filename")
        if file is not None and ":" in file.value.replace("\\:", ""):
            raise file.refused("expected one file or device")
        if self.number("nrfiles", 1, 1) > 1:
            raise self.options["nrfiles"].refused("expected 1: a job here has one range of addresses")
        return Job(
            name=self.section.name if count == 1 else f"{self.section.name}.{clone}",
            clone=clone,
            file=f"{self.section.name}.{clone}" if file is None else file.value,
            ops=ops,
            trim_write=ops == (TRIM, WRITE),
            random=is_random,
            offset=start,
            span=span,
            total=self._total(span) * (2 if ops == (TRIM, WRITE) else 1),
            to_the_end="size" not in self.options or self.options["size"].value.endswith("%"),
            limit=self.number("number_ios", 0, 0, _MAX) * (2 if ops == (TRIM, WRITE) else 1) or None,
            sizes=sizes,
            align=(align[0], align[1], align[2]),
            depth=self.number("iodepth", 1, 1),
            rates=self._rates(ops, sizes),
            poisson=self._word("rate_process", ("linear", "poisson")) == "poisson",
            thinktime_ns=self.time("thinktime", "us"),
            thinktime_blocks=self.number("thinktime_blocks", 1, 1),
            distribution=distribution,
            percentage_random=self._percentages(),
            random_map=is_random and not self.flag("norandommap") and distribution.kind == "random"
            and "blockalign" not in self.options,
            seed=self.number("randseed", 0, 0, _MAX),
            runtime_ns=self.time("runtime"),
            time_based=self.flag("time_based"),
            delay_ns=self._delay(),
            flush_every=self.number("fsync", 0) or self.number("fdatasync", 0),
            flush_at_end=self.flag("end_fsync"),
            read_share=self._read_share(),
            sequence=sequence,
            hole=hole,
            identical=self._word("rw_sequencer", ("sequential", "identical")) == "identical",
            handles=self._handles(),
            handles_in_turn=self._word("plid_select", ("random", "roundrobin")) == "roundrobin",
        )  # fmt: skip

    def _handles(self) -> tuple[int, ...]:
        """Placement handles: the indices of fio's placement identifiers."""
        placed = self._word("dataplacement", ("none", "fdp", "streams")) != "none"
        if not placed and not self.flag("fdp"):
            return ()
        option = self.options.get("plids")
        if option is None:
            raise self._whose("dataplacement", "fdp").refused("expected plids=... (fdp_pli) with it: those of a drive"
                                                              " are not known here")  # fmt: skip
        parts = option.value.split(",")
        if not all(re.fullmatch(r"\s*\d{1,3}\s*", one) and int(one) <= _MAX_HANDLE for one in parts):
            raise option.refused(f"expected whole numbers from 0 to {_MAX_HANDLE} between commas")
        return tuple(int(one) for one in parts)

    def _whose(self, *names: str) -> Option:
        found = next((self.options[name] for name in names if name in self.options), None)
        return found or Option(names[0], "", self.section.file, self.section.line)

    def _word(self, name: str, choices: tuple[str, ...]) -> str:
        option = self.options.get(name)
        if option is None:
            return choices[0]
        if option.value not in choices:
            raise option.refused(f"expected {' or '.join(choices)}")
        return option.value

    def _direction(self) -> tuple[tuple[int, ...], bool, int, int]:
        """Operations, whether addresses are random, requests from one random address to the next, and a hole."""
        option = self.options.get("rw")
        kind, _, more = (option.value if option else "read").partition(":")
        if option is not None and kind not in _KINDS:
            raise option.refused(f"expected one of {', '.join(_KINDS)}")
        is_random = kind.startswith("rand")
        number = bytes_of(option, more, self.kb_base) if more and option else 0
        if option is not None and more and is_random and not 0 < number <= _UINT:
            raise option.refused("expected a number of requests above 0")
        if option is not None and number < 0:
            raise option.refused("expected requests in rising order: backwards is not supported")
        return _DIRECTIONS[kind.removeprefix("rand")], is_random, number if is_random and more else 1, (
            0 if is_random else number)  # fmt: skip

    def _sizes(self) -> tuple[Sizes, Sizes, Sizes]:
        found = [Sizes(4096, 4096)] * len(OPS)
        unaligned = self.flag("bs_unaligned")
        for name in ("bs", "bsrange", "bssplit"):
            option = self.options.get(name)
            for op, text in enumerate(by_op(option) if option else ()):
                if text and option:
                    found[op] = self._size(name, option, text, unaligned=unaligned)
        return found[0], found[1], found[2]

    def _size(self, name: str, option: Option, text: str, *, unaligned: bool) -> Sizes:
        if name == "bssplit":
            split = tuple(one for one in split_of(option, text, self.kb_base) if one[1])
            sizes = Sizes(min(size for size, _ in split), max(size for size, _ in split), split)
        elif name == "bsrange":
            low, separator, high = text.replace(":", "-").partition("-")
            if not separator:
                raise option.refused("expected LOW-HIGH, such as 4k-64k")
            bounds = sorted((bytes_of(option, low, self.kb_base), bytes_of(option, high, self.kb_base)))
            sizes = Sizes(bounds[0], bounds[1], (), unaligned)
        else:
            size = bytes_of(option, text, self.kb_base)
            sizes = Sizes(size, size)
        if not 0 < sizes.low <= sizes.high <= _UINT:
            raise option.refused("expected sizes above 0 and below 4 GiB")
        return sizes

    def _align(self, smallest: tuple[int, ...]) -> tuple[int, ...]:
        option = self.options.get("blockalign")
        if option is None:
            return smallest
        found = tuple(bytes_of(option, text, self.kb_base) if text else smallest[op]
                      for op, text in enumerate(by_op(option)))  # fmt: skip
        if min(found) < 1:
            raise option.refused("expected alignments above 0")
        return found

    def _total(self, span: int) -> int:
        """Bytes after which the job ends; loops repeat it."""
        total = self.bytes("io_size", 0, span) or span
        return total * self.number("loops", 1, 1)

    def _rates(self, ops: tuple[int, ...], sizes: tuple[Sizes, Sizes, Sizes]) -> tuple[float, float, float]:
        if "rate" in self.options and "rate_iops" in self.options:
            raise self.options["rate"].refused("expected rate or rate_iops, not both")
        option = self.options.get("rate_iops", self.options.get("rate"))
        found = [0.0, 0.0, 0.0]
        for op, text in enumerate(by_op(option) if option else ()):
            if text and option is not None:
                rate = bytes_of(option, text, self.kb_base)
                if rate < 0:
                    raise option.refused("expected a rate that is not negative")
                found[op] = float(rate) if option.name == "rate_iops" else rate / mean_size(sizes[op])
        has = [bool(found[op]) for op in ops]
        if option is not None and any(has) and not all(has):
            raise option.refused("expected a rate for reads and for writes: a job here is an open loop or a closed one")
        return found[0], found[1], found[2]

    def _distribution(self) -> Distribution:
        option = self.options.get("random_distribution")
        if option is None:
            return Distribution()
        kind, _, more = option.value.partition(":")
        if kind == "random":
            return Distribution()
        if kind in ("zoned", "zoned_abs"):
            if "," in more:
                raise option.refused("expected the same zones for all operations")
            return Distribution(kind, zones=zones_of(option, more, self.kb_base, absolute=kind == "zoned_abs"))
        if kind not in _DISTRIBUTIONS:
            raise option.refused("expected random, zipf, pareto, normal, zoned or zoned_abs")
        text, _, center = more.partition("/")
        try:
            value = float(text) if text else _DISTRIBUTIONS[kind]
            middle = float(center) if center else None
        except ValueError as error:
            raise option.refused("expected numbers such as zipf:1.2") from error
        limits = {"zipf": value > 0 and value != 1 and value <= 5, "pareto": 0 < value < 1, "normal": 0 <= value < 100}  # noqa: PLR2004
        if not limits[kind] or not (middle is None or 0 <= middle <= 1):
            raise option.refused("expected zipf above 0 to 5 but not 1, pareto between 0 and 1, normal from 0 to 100")
        return Distribution(kind, value, middle)

    def _percentages(self) -> tuple[int, int, int]:
        option = self.options.get("percentage_random")
        found = [100, 100, 100]
        for op, text in enumerate(by_op(option) if option else ()):
            if text and option:
                if not text.isdecimal() or int(text) > 100:  # noqa: PLR2004 - percent
                    raise option.refused("expected percentages from 0 to 100")
                found[op] = int(text)
        return found[0], found[1], found[2]

    def _delay(self) -> int:
        option = self.options.get("startdelay")
        if option is not None and ("-" in option.value or "," in option.value):
            raise option.refused("expected one time: a random delay is not supported")
        return self.time("startdelay")

    def _read_share(self) -> Fraction:
        if "rwmixwrite" in self.options and "rwmixread" not in self.options:
            return Fraction(100 - self.number("rwmixwrite", 50, 0, 100), 100)
        return Fraction(self.number("rwmixread", 50, 0, 100), 100)


def mean_size(sizes: Sizes) -> float:
    """Mean length of requests."""
    if sizes.split:
        return float(sum(size * share for size, share in sizes.split))
    if sizes.low == sizes.high or sizes.unaligned:
        return (sizes.low + sizes.high) / 2
    steps = sizes.high // sizes.low
    # Multiples of the smallest, as far as the largest.
    return sum(min(sizes.low * (1 + k), sizes.high) for k in range(steps)) / steps if steps else sizes.low
