"""NVMeVirt's ssd_config.h (Kim et al., FAST 2023), by what its code does with each macro."""

from flashweir._native import ConfigError
from flashweir.importing import header
from flashweir.importing.model import Entry, Value, plain, shown
from flashweir.importing.source import Source, read, size, time, times
from flashweir.quantity import number_of

# The model and the memory of the drive where none is given.
MODEL, MEMORY = "SAMSUNG_970PRO", "64GiB"
# A core for each of so many requests: a delay of NVMeVirt's firmware holds up no other request.
_CORES = 64
_MEMORY_PAGE = 4096
_KEEPS = 1 << 20
_MAX_NS = 10**12
_CELLS = {"CELL_MODE_SLC": ("LSB",), "CELL_MODE_MLC": ("LSB", "MSB"), "CELL_MODE_TLC": ("LSB", "MSB", "CSB")}
# Cells by the pages of a program of all types of a word line.
_ONE_SHOT = {2: "mlc", 3: "tlc", 4: "qlc"}
_ZONES = (
    "DIES_PER_ZONE",
    "ZONE_SIZE",
    "ZONE_WB_SIZE",
    "MAX_ZRWA_ZONES",
    "ZRWAFG_SIZE",
    "ZRWA_SIZE",
    "ZRWA_BUFFER_SIZE",
)
_NAMES = ("INTEL_OPTANE", "SAMSUNG_970PRO", "ZNS_PROTOTYPE", "KV_PROTOTYPE", "WD_ZN540")
_DEFAULTS = {"PLNS_PER_LUN": "1", "SSD_PARTITIONS": "1", "FW_READ_LATENCY": "0", "FW_4KB_READ_LATENCY": "0",
             "FW_WBUF_LATENCY0": "0", "FW_WBUF_LATENCY1": "0", "FW_CH_XFER_LATENCY": "0", "MDTS": "0",
             "WRITE_EARLY_COMPLETION": "1", "GLOBAL_WB_SIZE": "0", "OP_AREA_PERCENT": "0", "BLK_SIZE": "0"}  # fmt: skip


def convert(file: str, model: str, memory: str | int) -> list[Entry]:
    """The table of a header's macros, where `BASE_SSD` is a model and the drive lies in so much memory."""
    macros = header.macros(file, read(file), model)
    if "NAND_CHANNELS" not in macros:
        raise ConfigError(f"{plain(file)}: no NAND_CHANNELS for {shown(model)}: expected NVMeVirt's ssd_config.h, and a"
                          " model with flash")  # fmt: skip
    given = {key: _plain(value, macros) for key, value in macros.items() if _is_setting(key, value)}
    source = Source(file, given, _DEFAULTS)
    room = number_of(memory)
    if room is None or not _KEEPS <= room < 1 << 60:
        raise ConfigError(f"--memory {shown(memory)}: expected a size such as 64GiB, 1MiB at least")
    _kind(source, macros)
    reads = _times(source, macros)
    _geometry(source, int(room), reads)
    _firmware(source)
    _host(source)
    return source.finish()


def _is_setting(key: str, value: str) -> bool:
    """False for guards of the header and for names of choices."""
    return bool(value) and key not in _NAMES and not key.startswith(("SSD_TYPE_", "CELL_MODE_", "_"))


def _plain(value: str, macros: dict[str, str]) -> str:
    found = header.number(value, macros)
    if found is None or value.strip("() ").startswith(("CELL_MODE", "SSD_TYPE", "NS_")):
        return value
    return str(int(found)) if found == int(found) else str(found)


def _kind(source: Source, macros: dict[str, str]) -> None:
    kind = macros.get("NS_SSD_TYPE_0", "SSD_TYPE_CONV").strip("() ")
    if kind == "SSD_TYPE_CONV":
        source.same("NS_SSD_TYPE_0", None, "a drive with a page map")
    else:
        source.none("NS_SSD_TYPE_0", "zones and keys are not imported: a conventional drive of the same flash")
    for key in _ZONES:
        source.none(key, "zones are not imported: a drive without zones")
    for key in ("NR_NAMESPACES", "NS_CAPACITY_0", "NS_SSD_TYPE_1", "NS_CAPACITY_1"):
        source.same(key, None, "one namespace")
    if (sector := source.given.get("LBA_BITS", "9")) == "9":
        for key in ("LBA_BITS", "LBA_SIZE"):
            source.same(key, None, "sectors of 512 bytes")
    else:
        source.none("LBA_BITS", f"sectors of 2^{shown(sector)} bytes: 512 here")
    source.part("SSD_PARTITIONS", None, "NVMeVirt collects a block of all dies of a partition at once, here each plane"
                " collects by itself")  # fmt: skip


def _geometry(source: Source, memory: int, reads: int) -> None:
    page = source.whole("FLASH_PAGE_SIZE", 512, 256 << 10)
    if page % 512:
        raise source.wrong("FLASH_PAGE_SIZE", "a multiple of 512")
    planes = source.whole("PLNS_PER_LUN", 1, 1 << 16)
    dies, channels = source.whole("LUNS_PER_NAND_CH", 1, 1 << 16), source.whole("NAND_CHANNELS", 1, 1 << 16)
    unit: dict[str, Value] = {"ftl.map_unit": size(_MEMORY_PAGE)} if page > _MEMORY_PAGE else {}
    source.same("FLASH_PAGE_SIZE", {"page": size(page)} | unit, "mapped in units of 4 KiB")
    source.same("NAND_CHANNELS", {"channels": channels})
    source.same("LUNS_PER_NAND_CH", {"dies": dies})
    source.same("PLNS_PER_LUN", {"planes": planes})
    units, blocks = planes * dies * channels, source.whole("BLKS_PER_PLN", 0, 1 << 31)
    # Blocks are of whole programs there.
    oneshot = source.whole("ONESHOT_PAGE_SIZE", page, 1 << 30)
    program = oneshot // page
    if blocks:
        pages = -(-memory // (units * blocks * oneshot)) * program
        ours = {"blocks_per_unit": blocks, "pages_per_block": pages}
        source.same("BLKS_PER_PLN", ours, f"blocks as large as {size(memory)} of memory make them")
        source.same("BLK_SIZE", None, "no effect with BLKS_PER_PLN")
    else:
        block = source.whole("BLK_SIZE", page, 1 << 40)
        pages = -(-block // oneshot) * program
        ours = {"blocks_per_unit": max(2, -(-memory // (units * block))), "pages_per_block": pages}
        source.same("BLK_SIZE", ours, f"as many as {size(memory)} of memory have")
        source.same("BLKS_PER_PLN", None, "0: BLK_SIZE says")
    _programs(source, page, oneshot, reads)
    ratio = source.number("OP_AREA_PERCENT", 0, 100)
    if ratio:
        # Rounded down to a percent there: 1.07 is 107 / 100.
        source.same("OP_AREA_PERCENT", {"op_ratio": ratio}, "a share of logical")
    else:
        source.part("OP_AREA_PERCENT", {"op_ratio": 0.07}, "0, as of zones; a conventional drive needs some")


def _programs(source: Source, page: int, oneshot: int, reads: int) -> None:
    """Pages of a program; `reads`: different times of reads."""
    pages = oneshot / page
    if pages == 1:
        source.same("ONESHOT_PAGE_SIZE", None, "a program is of one page")
    elif pages in _ONE_SHOT and reads in (1, pages):
        ours: dict[str, Value] = {"nand.cell": _ONE_SHOT[int(pages)], "nand.programs": "one-shot"}
        source.same("ONESHOT_PAGE_SIZE", ours, f"a program is of {pages:g} pages")
    else:
        source.none("ONESHOT_PAGE_SIZE", f"a program of {pages:g} pages: 1 to 4 here, as many as page types")


def _times(source: Source, macros: dict[str, str]) -> int:
    """Times of the flash. Returns the number of different times of reads."""
    cell = macros.get("CELL_MODE", "CELL_MODE_MLC").strip("() ")
    if cell not in _CELLS:
        raise ConfigError(f"{plain(source.file)}: CELL_MODE = {shown(cell)!r}: expected one of {', '.join(_CELLS)}")
    types = _CELLS[cell]
    reads = times([source.whole(f"NAND_READ_LATENCY_{name}", 0, _MAX_NS) for name in types])
    source.same("CELL_MODE", None, f"page types: {len(types)}")
    for name in ("LSB", "MSB", "CSB"):
        key, small = f"NAND_READ_LATENCY_{name}", f"NAND_4KB_READ_LATENCY_{name}"
        if name in types:
            source.same(key, {"timing.read": reads})
            source.part(small, None, "reads of 4 KiB take as long as others here")
        else:
            source.same(key, None, f"no effect with {cell}")
            source.same(small, None, f"no effect with {cell}")
    source.same("NAND_PROG_LATENCY", {"timing.program": time(source.whole("NAND_PROG_LATENCY", 0, _MAX_NS))})
    source.same("NAND_ERASE_LATENCY", {"timing.erase": time(source.whole("NAND_ERASE_LATENCY", 0, _MAX_NS))})
    bandwidth = source.whole("NAND_CHANNEL_BANDWIDTH", 1, 10**6)
    bus: dict[str, Value] = {"timing.bus": 1000 / bandwidth}
    asked: dict[str, Value] = {"nand.transfer": "codeword", "nand.codeword": size(_MEMORY_PAGE)}
    if "MAX_CH_XFER_SIZE" in source.given:
        source.part("MAX_CH_XFER_SIZE", asked, "what is asked for crosses the bus in one piece, in units of 4 KiB")
    else:
        bus |= asked
    source.same("NAND_CHANNEL_BANDWIDTH", bus, "MB/s")
    delay = source.whole("FW_CH_XFER_LATENCY", 0, 10**9)
    page = source.whole("FLASH_PAGE_SIZE", 512)
    if delay:
        source.same("FW_CH_XFER_LATENCY", {"timing.command": time(delay * page // _MEMORY_PAGE)}, "a page; there for"
                    " each 4 KiB")  # fmt: skip
    else:
        source.same("FW_CH_XFER_LATENCY", None, "none")
    return 1 if isinstance(reads, str) else len(reads)


def _firmware(source: Source) -> None:
    large, small = (source.whole(key, 0, _MAX_NS) for key in ("FW_READ_LATENCY", "FW_4KB_READ_LATENCY"))
    ours: dict[str, Value] = {"firmware.read_time": time(small), "firmware.cores": _CORES}
    source.part("FW_4KB_READ_LATENCY", ours, f"a delay of each read; {_CORES} cores, so that none waits for another")
    source.part("FW_READ_LATENCY", {"firmware.long_read_time": time(large)}, "a delay of each read above 4 KiB")
    first, each = (source.whole(key, 0, _MAX_NS) for key in ("FW_WBUF_LATENCY0", "FW_WBUF_LATENCY1"))
    source.part("FW_WBUF_LATENCY0", {"firmware.write_time": time(first + each)}, "of a write of 4 KiB")
    source.part("FW_WBUF_LATENCY1", {"firmware.write_time": time(first + each)}, "for each 4 KiB there, once here")


def _host(source: Source) -> None:
    source.same("PCIE_BANDWIDTH", {"host.link": f"{source.whole('PCIE_BANDWIDTH', 1, 10**6)}MB/s"})
    power = source.whole("MDTS", 0, 20)
    ours = {"host.max_transfer": size(_MEMORY_PAGE << power) if power else "0B"}
    source.same("MDTS", ours, "a power of two of 4 KiB")
    source.same("GLOBAL_WB_SIZE", {"buffer.bytes": size(source.whole("GLOBAL_WB_SIZE", 0, 1 << 42))})
    early = source.whole("WRITE_EARLY_COMPLETION", 0, 1)
    source.same("WRITE_EARLY_COMPLETION", {"buffer.ack": "buffer" if early else "flash"})
    if source.given.get("WRITE_UNIT_SIZE", "512") == "512":
        source.same("WRITE_UNIT_SIZE", None, "a sector")
    else:
        source.none("WRITE_UNIT_SIZE", "writes are of any number of sectors here")
