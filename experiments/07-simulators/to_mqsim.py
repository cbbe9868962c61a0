"""Writes a drive and its requests as MQSim's ssdconfig.xml, workload.xml and traces: `flashweir import mqsim` reversed.

Limits: page maps in memory, one bus time that is a whole number of nanoseconds a byte, no buffer for writes.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import flashweir

Settings: TypeAlias = Mapping[str, object]
# A request: nanoseconds, bytes from the start of the drive, bytes, is it a write.
Request: TypeAlias = tuple[int, int, int, bool]
SECTOR = 512
# Data of a packet on MQSim's link, and with what is around it.
_PACKET, _PACKET_AND_HEADERS = 128, 156
_SCHEDULERS = {"read-first": "OUT_OF_ORDER"}
_VICTIMS = {"greedy": "GREEDY", "d-choices": "RGA", "random": "RANDOM_P", "fifo": "FIFO"}
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "B": 1}
# Keys whose values the writer can't vary: MQSim has one, or none.
FIXED: Settings = {
    "ftl.kind": "page", "alloc.kind": "striped", "buffer.bytes": "0B", "nand.transfer": "codeword",
    "nand.codeword": "512", "precondition": "on-read", "wear.dynamic": True, "wear.static_gap": 100,
    "sched.preempt_gc": False, "timing.command": "340ns", "host.queue_entries": "65535",
}  # fmt: skip


def quantity(value: object) -> float:
    """A number, or a text such as `75us` or `8KiB`, in nanoseconds or bytes."""
    if isinstance(value, int | float):
        return value
    text = str(value)
    for unit, factor in sorted(_UNITS.items(), key=lambda item: -len(item[0])):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    return float(text)


def _flash(drive: Settings) -> dict[str, object]:
    def ns(key: str) -> int:
        return round(quantity(drive[key]))

    reads = {f"Page_Read_Latency_{name}": ns("timing.read") for name in ("LSB", "CSB", "MSB")}
    programs = {f"Page_Program_Latency_{name}": ns("timing.program") for name in ("LSB", "CSB", "MSB")}
    return {
        "Flash_Technology": "SLC", "CMD_Suspension_Support": "NONE", **reads, **programs,
        "Block_Erase_Latency": ns("timing.erase"), "Block_PE_Cycles_Limit": 10_000_000,
        "Suspend_Erase_Time": 700_000, "Suspend_Program_Time": 100_000,
        "Die_No_Per_Chip": drive["dies"], "Plane_No_Per_Die": drive["planes"],
        "Block_No_Per_Plane": drive["blocks_per_unit"], "Page_No_Per_Block": drive["pages_per_block"],
        "Page_Capacity": ns("page"), "Page_Metadat_Capacity": 448,
    }  # fmt: skip


def _device(drive: Settings) -> dict[str, object]:
    blocks = int(str(drive["blocks_per_unit"]))
    # MQSim cuts the product to whole blocks: half a block more keeps rounding out of it.
    threshold = (int(str(drive["gc.free_blocks"])) + 0.5) / blocks
    return {
        "Seed": 321, "Enabled_Preconditioning": "false", "Memory_Type": "FLASH", "HostInterface_Type": "NVME",
        "IO_Queue_Depth": 65_535, "Queue_Fetch_Size": 65_535, "Caching_Mechanism": "ADVANCED",
        "Data_Cache_Sharing_Mode": "SHARED", "Data_Cache_Capacity": 1 << 20, "Data_Cache_DRAM_Row_Size": 8192,
        "Data_Cache_DRAM_Data_Rate": 800, "Data_Cache_DRAM_Data_Busrt_Size": 4, "Data_Cache_DRAM_tRCD": 13,
        "Data_Cache_DRAM_tCL": 13, "Data_Cache_DRAM_tRP": 13, "Address_Mapping": "PAGE_LEVEL",
        "Ideal_Mapping_Table": "true", "CMT_Capacity": 2 << 20, "CMT_Sharing_Mode": "SHARED",
        "Plane_Allocation_Scheme": drive["alloc.order"],
        "Transaction_Scheduling_Policy": _SCHEDULERS[str(drive["sched.kind"])],
        "Overprovisioning_Ratio": drive["op_raw"], "GC_Exec_Threshold": f"{threshold:.9f}",
        "GC_Block_Selection_Policy": _VICTIMS[str(drive["gc.victim"])], "Use_Copyback_for_GC": "false",
        "Preemptible_GC_Enabled": "false", "GC_Hard_Threshold": "0.005", "Dynamic_Wearleveling_Enabled": "true",
        "Static_Wearleveling_Enabled": "true", "Static_Wearleveling_Threshold": 100,
        "Preferred_suspend_erase_time_for_read": 700_000, "Preferred_suspend_erase_time_for_write": 700_000,
        "Preferred_suspend_write_time_for_read": 100_000, "Flash_Channel_Count": drive["channels"],
        "Flash_Channel_Width": 1, "Channel_Transfer_Rate": round(1000 / quantity(drive["timing.bus"])),
        "Chip_No_Per_Channel": drive["chips"], "Flash_Comm_Protocol": "NVDDR2",
    }  # fmt: skip


def _xml(name: str, values: Mapping[str, object], inner: str = "") -> str:
    lines = [f"<{key}>{value}</{key}>" for key, value in values.items()]
    return "\n".join((f"<{name}>", *lines, *([inner] if inner else []), f"</{name}>"))


def ssdconfig(drive: Settings) -> str:
    """The configuration of a drive of flashweir.

    Raises:
        ValueError: a key of `FIXED` has another value, or a byte takes no whole number of nanoseconds on the bus.
    """
    for key, value in FIXED.items():
        if drive.get(key, value) != value:
            raise ValueError(f"{key}={drive[key]}: expected {value}, since MQSim has no other here")
    if quantity(drive["timing.bus"]) % 1:
        raise ValueError(f"timing.bus={drive['timing.bus']}: expected whole nanoseconds, to which MQSim cuts it")
    link = quantity(drive["host.link"]) * _PACKET_AND_HEADERS / _PACKET / 4 / 1e9
    host = {
        "PCIe_Lane_Bandwidth": f"{link:.12f}", "PCIe_Lane_Count": 4, "SATA_Processing_Delay": 400_000,
        "Enable_ResponseTime_Logging": "false", "ResponseTime_Logging_Period_Length": 1_000_000,
    }  # fmt: skip
    flash = _xml("Flash_Parameter_Set", _flash(drive))
    parts = (_xml("Host_Parameter_Set", host), _xml("Device_Parameter_Set", _device(drive), flash))
    return '<?xml version="1.0" encoding="us-ascii"?>\n' + _xml("Execution_Parameter_Set", {}, "\n".join(parts)) + "\n"


def workload(drive: Settings, traces: Sequence[Path]) -> str:
    """One scenario with a flow for each trace. MQSim gives each flow an even share of the addresses."""

    def all_of(key: str) -> str:
        return ",".join(str(number) for number in range(int(str(drive[key]))))

    flows = [
        _xml("IO_Flow_Parameter_Set_Trace_Based", {
            "Priority_Class": "HIGH", "Device_Level_Data_Caching_Mode": "TURNED_OFF",
            "Channel_IDs": all_of("channels"), "Chip_IDs": all_of("chips"), "Die_IDs": all_of("dies"),
            "Plane_IDs": all_of("planes"), "Initial_Occupancy_Percentage": 0, "File_Path": trace,
            "Percentage_To_Be_Executed": 100, "Relay_Count": 1, "Time_Unit": "NANOSECOND",
        })
        for trace in traces
    ]  # fmt: skip
    scenario = _xml("IO_Scenario", {}, "\n".join(flows))
    return '<?xml version="1.0" encoding="us-ascii"?>\n' + _xml("MQSim_IO_Scenarios", {}, scenario) + "\n"


def trace(requests: Iterable[Request]) -> str:
    """MQSim's trace: nanoseconds, device, sector, sectors, 1 for a read."""
    lines = (
        f"{at} 0 {start // SECTOR} {size // SECTOR} {0 if is_write else 1}\n" for at, start, size, is_write in requests
    )
    return "".join(lines)


def imported(drive: Settings, folder: Path) -> Mapping[str, object]:
    """Settings that `flashweir import mqsim` makes of what this writes."""
    path = folder / "ssdconfig.xml"
    path.write_text(ssdconfig(drive), encoding="us-ascii")
    requests, flows = folder / "flow-0.trace", folder / "workload.xml"
    requests.write_text(trace([(0, 0, SECTOR, False)]), encoding="us-ascii")
    flows.write_text(workload(drive, [requests]), encoding="us-ascii")
    settings: Mapping[str, object] = flashweir.import_drive("mqsim", path, workload=flows).settings
    return settings
