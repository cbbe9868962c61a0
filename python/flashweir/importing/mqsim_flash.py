"""Geometry and times of the flash in MQSim's ssdconfig.xml."""

from flashweir.importing.source import Source, size, time
from flashweir.importing.source import times as by_page_type

DEFAULTS = {
    "Flash_Technology": "MLC", "Page_Read_Latency_LSB": "75000", "Page_Read_Latency_CSB": "75000",
    "Page_Read_Latency_MSB": "75000", "Page_Program_Latency_LSB": "750000", "Page_Program_Latency_CSB": "750000",
    "Page_Program_Latency_MSB": "750000", "Block_Erase_Latency": "3800000", "Die_No_Per_Chip": "2",
    "Plane_No_Per_Die": "2", "Block_No_Per_Plane": "2048", "Page_No_Per_Block": "256", "Page_Capacity": "8192",
}  # fmt: skip
COUNTS = ("Flash_Channel_Count", "Chip_No_Per_Channel", "Die_No_Per_Chip", "Plane_No_Per_Die", "Block_No_Per_Plane",
          "Page_No_Per_Block")  # fmt: skip
_MAX_COUNT = (1 << 32) - 1
# Longest time of an operation: a thousand seconds.
_MAX_NS = 10**12
_OURS = ("channels", "chips", "dies", "planes", "blocks_per_unit", "pages_per_block")
# Command and address cycles of NV-DDR2 in MQSim: of a read with its set-up for data out, and of a program.
_READ_NS, _PROGRAM_NS = 320, 361
# Page types in the order of the list of times, by technology.
_TYPES = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "CSB", "MSB")}


def geometry(source: Source) -> None:
    """Counts, the page and the bus of a channel."""
    for key, ours in zip(COUNTS, _OURS, strict=True):
        source.same(key, {ours: source.whole(key, 1, _MAX_COUNT)})
    page = source.whole("Page_Capacity", 512, 256 << 10)
    if page % 512:
        raise source.wrong("Page_Capacity", "a multiple of 512")
    transfers = {"nand.transfer": "codeword", "nand.codeword": "512"}
    source.same("Page_Capacity", {"page": size(page), **transfers}, "a read transfers the sectors that it asks for")
    source.same("Page_Metadat_Capacity", None, "no effect in MQSim: it is not transferred")
    width, rate = source.whole("Flash_Channel_Width", 1, 1024), source.number("Channel_Transfer_Rate", 1, 1e6)
    bus = {"timing.bus": int(1000 / rate) / width}
    source.same("Channel_Transfer_Rate", bus, "MT/s; MQSim cuts the time of a transfer to whole ns")
    source.same("Flash_Channel_Width", bus, "bytes of a transfer")
    command = {"timing.command": time((_READ_NS + _PROGRAM_NS) // 2)}
    if source.given.get("Flash_Comm_Protocol", "NVDDR2") != "NVDDR2":
        raise source.wrong("Flash_Comm_Protocol", "NVDDR2")
    source.part("Flash_Comm_Protocol", command, "command and address cycles: mean of a read's 320 ns and a program's"
                " 361 ns; erases have none here")  # fmt: skip


def times(source: Source) -> None:
    """Latencies by page type."""
    technology = source.text("Flash_Technology")
    if technology not in _TYPES:
        raise source.wrong("Flash_Technology", "SLC, MLC or TLC")
    types = _TYPES[technology]
    for prefix, ours in (("Page_Read_Latency", "timing.read"), ("Page_Program_Latency", "timing.program")):
        found = by_page_type([source.whole(f"{prefix}_{name}", 0, _MAX_NS) for name in types])
        for name in _TYPES["TLC"]:
            if name in types:
                source.same(f"{prefix}_{name}", {ours: found})
            else:
                source.same(f"{prefix}_{name}", None, f"no effect in MQSim with {technology}")
    if technology == "TLC":
        source.part("Flash_Technology", None, "three page types in turn; MQSim has two pages of a type after each other"
                    " from the ninth on")  # fmt: skip
    else:
        source.same("Flash_Technology", None, f"page types: {len(types)}")
    source.same("Block_Erase_Latency", {"timing.erase": time(source.whole("Block_Erase_Latency", 0, _MAX_NS))})
