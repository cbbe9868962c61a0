"""SSDsim's page.parameters (Hu et al., ICS 2011), by what its code does with each key."""

import re
from typing import TYPE_CHECKING

from flashweir._native import ConfigError
from flashweir.importing.model import Entry, Value, plain
from flashweir.importing.source import Source, read, size, time

if TYPE_CHECKING:
    from collections.abc import Mapping

_LINE = re.compile(r"^(?P<key>[A-Za-z][\w \[\]]*?)\s*=\s*(?P<value>[^;#]*)")
_CHIPS = re.compile(r"^chip number\s*\[(\d+)\]$")
# Parameters of the flash's data sheet that SSDsim reads and never uses.
_UNUSED_TIMES = ("t_CLS", "t_CLH", "t_CS", "t_CH", "t_WP", "t_ALS", "t_ALH", "t_DS", "t_DH", "t_WH", "t_ADL", "t_AR",
                 "t_CLR", "t_RR", "t_RP", "t_REA", "t_CEA", "t_RHZ", "t_CHZ", "t_RHOH", "t_RLOH", "t_COH", "t_REH",
                 "t_IR", "t_RHW", "t_WHR", "t_RST")  # fmt: skip
_UNUSED = ("address mapping", "wear leveling", "gc", "gc threshold", "buffer management", "scheduling algorithm",
           "advanced command priority", "clean in background", "quick table radio", "related mapping", "striping",
           "interleaving", "pipelining", "time_step", "small large write", "active write threshold", "threshold value",
           "cpu sdram", "flash operating current", "flash supply voltage", "dram active current",
           "dram standby current", "dram refresh current", "dram voltage", "erase limit")  # fmt: skip
_ENERGY = ("flash operating current", "flash supply voltage", "dram active current", "dram standby current",
           "dram refresh current", "dram voltage")  # fmt: skip
# Static allocation by number: the digit of the page number that varies fastest first.
_ORDERS = ("WDPC", "CWDP", "CPWD", "CDWP", "CPDW", "CDPW")
# Cycles of a command and its address.
_COMMAND_CYCLES = 7
_COPYBACK, _PLANE_PROGRAM, _INTERLEAVE, _PLANE_READ = 2, 4, 8, 16
_MAX_COUNT = (1 << 32) - 1
_MAX_NS = 10**12
_DEFAULTS = {"t_WC": "25", "t_RC": "25", "dram capacity": "0", "allocation": "0", "dynamic_allocation": "0",
             "static_allocation": "0", "advanced command": "0", "aged": "0", "aged ratio": "0", "queue_length": "5",
             "gc hard threshold": "0", "active write": "0"}  # fmt: skip


def convert(file: str) -> list[Entry]:
    """The table of a parameter file."""
    given: dict[str, str] = {}
    for line in read(file).splitlines():
        if found := _LINE.match(line):
            given[" ".join(found["key"].split())] = found["value"].strip()
    if not {"page capacity", "t_PROG"} & set(given):
        raise ConfigError(f"{plain(file)}: neither `page capacity` nor `t_PROG`: expected SSDsim's page.parameters")
    source = Source(file, given, _DEFAULTS)
    _geometry(source)
    _times(source)
    _capacity(source)
    _allocation(source)
    _commands(source)
    _rest(source)
    return source.finish()


def _geometry(source: Source) -> None:
    channels = source.whole("channel number", 1, _MAX_COUNT)
    source.same("channel number", {"channels": channels})
    all_chips = source.whole("chip number", 1, _MAX_COUNT)
    by_channel = {int(found[1]): source.whole(key) for key in source.given if (found := _CHIPS.match(key))}
    counts = [count for channel, count in sorted(by_channel.items()) if channel < channels]
    chips = counts[0] if counts and counts[0] else max(1, all_chips // channels)
    ours: Mapping[str, Value] = {"chips": chips}
    if len(set(counts)) > 1 or chips * channels != all_chips:
        source.part("chip number", ours, f"every channel has {chips}: as many as the first")
    else:
        source.same("chip number", ours, "of all channels")
    for key in source.given:
        found = _CHIPS.match(key)
        if found and int(found[1]) < channels and source.whole(key) != chips:
            source.none(key, f"channels are alike here: {chips} chips each")
        elif found:
            source.same(key, None, "as chips" if int(found[1]) < channels else "there is no such channel")
    names = {"die number": "dies", "plane number": "planes", "block number": "blocks_per_unit",
             "page number": "pages_per_block"}  # fmt: skip
    for key, name in names.items():
        source.same(key, {name: source.whole(key, 1, _MAX_COUNT)})
    page = source.whole("page capacity", 512, 256 << 10)
    if page % 512:
        raise source.wrong("page capacity", "a multiple of 512")
    source.same("page capacity", {"page": size(page)})
    for key in ("subpage page", "subpage capacity"):
        if key == "subpage capacity" and source.given.get(key, "512") != "512":
            source.none(key, "sectors are of 512 bytes here")
        else:
            source.same(key, None, "sectors of 512 bytes")


def _times(source: Source) -> None:
    for key, name in (("t_R", "timing.read"), ("t_PROG", "timing.program"), ("t_BERS", "timing.erase")):
        source.same(key, {name: time(source.whole(key, 0, _MAX_NS))})
    write, read_out = source.whole("t_WC", 0, 10**6), source.whole("t_RC", 0, 10**6)
    bus = (write + read_out) / 2
    command = time(_COMMAND_CYCLES * write)
    ours: Mapping[str, Value] = {"timing.bus": bus, "timing.command": command}
    if write == read_out:
        source.same("t_WC", ours, "a byte to the chip; a command takes 7 cycles")
        source.same("t_RC", {"timing.bus": bus}, "a byte from the chip")
    else:
        source.part("t_WC", ours, "a byte to the chip: the mean of both ways, since the bus has one time")
        source.part("t_RC", {"timing.bus": bus}, "a byte from the chip: the mean of both ways")
    source.part("t_DBSY", None, "of commands of several planes: they take no more time here")
    source.part("t_WB", None, "of some commands: not added here")
    for key in _UNUSED_TIMES:
        source.same(key, None, "no effect in SSDsim")


def _capacity(source: Source) -> None:
    blocks, ratio = source.whole("block number", 2), source.number("overprovide", 1e-6, 0.99)
    source.same("overprovide", {"op_raw": ratio}, "a share of all blocks")
    wanted = int(source.number("gc hard threshold", 0, 1) * blocks)
    spare = int(ratio * blocks)
    if wanted < spare:
        source.part("gc hard threshold", {"gc.free_blocks": max(1, wanted)}, "SSDsim counts free pages, here blocks")
    else:
        source.none("gc hard threshold", f"{wanted} free blocks of {spare} spare ones: SSDsim would always collect")
    bytes_ = source.whole("dram capacity", 0, 1 << 42)
    source.part("dram capacity", {"buffer.bytes": f"{bytes_}B", "buffer.replacement": "lru"}, "for writes; SSDsim"
                " also finds what was read there, and a hit takes 1000 ns, which is none here")  # fmt: skip


def _allocation(source: Source) -> None:
    is_static = source.whole("allocation", 0, 1) == 1
    mode, order = source.whole("dynamic_allocation", 0, 1), source.whole("static_allocation")
    if not is_static:
        source.same("allocation", {"alloc.kind": "dynamic"}, "dynamic")
        source.part("dynamic_allocation", {"alloc.mode": mode}, "channels in turn, here the next idle one" if mode == 0
                    else "the channel by the page number, the rest in turn")  # fmt: skip
        source.same("static_allocation", None, "no effect in SSDsim with dynamic allocation")
        return
    source.same("allocation", {"alloc.kind": "striped"}, "static")
    source.same("dynamic_allocation", None, "no effect in SSDsim with static allocation")
    if order < len(_ORDERS):
        source.same("static_allocation", {"alloc.order": _ORDERS[order]})
    else:
        source.none("static_allocation", f"SSDsim has 0 to {len(_ORDERS) - 1}; the default instead")


def _commands(source: Source) -> None:
    bits = source.whole("advanced command", 0, 31)
    planes = bool(bits & (_PLANE_PROGRAM | _PLANE_READ))
    dies = "" if bits & _INTERLEAVE else "; dies of a chip work at a time here, always"
    source.part("advanced command", {"timing.multi_plane": planes}, "planes of one request go together; SSDsim also"
                f" joins those of several, and copies without the bus{dies}")  # fmt: skip
    for key in ("advanced command priority2", "greed CB command", "greed MPW command"):
        source.none(key, "no choice among commands of several planes: waits for such commands across requests")


def _rest(source: Source) -> None:
    source.whole("queue_length", 0)
    source.part("queue_length", None, "requests that the host queues: use --set host.queue_depth, or host.slots")
    if source.whole("aged", 0, 1):
        source.number("aged ratio", 0, 1)
        source.part("aged", {"precondition": "steady"}, "SSDsim marks pages as written and invalid, here they are"
                    " written")  # fmt: skip
        source.none("aged ratio", "share of invalid pages: steady overwrites until write amplification has settled")
    else:
        source.same("aged", {"precondition": "on-read"}, "what is read was there before")
        source.same("aged ratio", None, "no effect in SSDsim without aged")
    if source.given.get("active write", "0") == "0":
        source.same("active write", None, "collections only when they must")
    else:
        source.none("active write", "collections that stop for requests: background.collect is the nearest")
    for key in _UNUSED:
        source.same(key, None, "no effect in SSDsim" if key not in _ENERGY else "energy alone; no effect on times")
