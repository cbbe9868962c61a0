"""MQSim's ssdconfig.xml (Tavakkol et al., FAST 2018), by what its code does with each key."""

import math
from collections.abc import Mapping
from pathlib import Path

from flashweir._native import ConfigError
from flashweir.importing import mqsim_flash, mqsim_workload
from flashweir.importing.model import Entry, Value, plain, shown
from flashweir.importing.source import Source, read, size, time

# Data of a packet on the link, and with what is around it.
_PACKET, _PACKET_AND_HEADERS = 128, 156
_LINKS = 1e12
_MAX_ENTRIES = 65_536
_ORDERS = ("CDPW", "CDWP", "CPDW", "CPWD", "CWDP", "WDPC")
# Collections that a plane may have in progress: so many blocks are kept free at least.
_COLLECTIONS = 10
# Copybacks in a row without a limit.
_ALWAYS = 1_000_000
_MAP_FRONTIERS = 4
# Values of MQSim for keys that a file lacks, of those that make a drive.
DEFAULTS = {
    "PCIe_Lane_Bandwidth": "0.4", "PCIe_Lane_Count": "4", "SATA_Processing_Delay": "0",
    "Enabled_Preconditioning": "true", "HostInterface_Type": "NVME", "IO_Queue_Depth": "1024",
    "Caching_Mechanism": "ADVANCED", "Data_Cache_Capacity": str(512 << 20), "Address_Mapping": "PAGE_LEVEL",
    "Ideal_Mapping_Table": "false", "CMT_Capacity": str(2 << 20), "Plane_Allocation_Scheme": "CWDP",
    "Transaction_Scheduling_Policy": "OUT_OF_ORDER", "Overprovisioning_Ratio": "0.07", "GC_Exec_Threshold": "0.05",
    "GC_Block_Selection_Policy": "RGA", "Preemptible_GC_Enabled": "true", "GC_Hard_Threshold": "0.005",
    "Flash_Channel_Count": "8", "Flash_Channel_Width": "1", "Channel_Transfer_Rate": "300", "Chip_No_Per_Channel": "4",
    "Flash_Comm_Protocol": "NVDDR2", "Dynamic_Wearleveling_Enabled": "true", "Static_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Threshold": "100", "Data_Cache_DRAM_Row_Size": "8192", "Data_Cache_DRAM_Data_Rate": "800",
    "Data_Cache_DRAM_Data_Busrt_Size": "4", "Data_Cache_DRAM_tRCD": "13", "Data_Cache_DRAM_tCL": "13",
    "Data_Cache_DRAM_tRP": "13", **mqsim_flash.DEFAULTS,
}  # fmt: skip
_DRAM = ("Data_Cache_DRAM_Row_Size", "Data_Cache_DRAM_Data_Rate", "Data_Cache_DRAM_Data_Busrt_Size",
         "Data_Cache_DRAM_tRCD", "Data_Cache_DRAM_tCL", "Data_Cache_DRAM_tRP")  # fmt: skip
_NEVER_SUSPENDS = (
    "no effect in MQSim: its schedulers reach no suspension, since the case of a busy chip ends in refusal"
)


def convert(file: str, workload: str | None = None) -> tuple[list[Entry], str | None]:
    """The table of a configuration, and with a file of workloads the text of a mix."""
    source = Source(file, _keys(file), DEFAULTS)
    flows = None if workload is None else mqsim_workload.read_flows(workload)
    mqsim_flash.geometry(source)
    mqsim_flash.times(source)
    _host(source)
    _queues(source)
    _cache(source, flows)
    _mapping(source)
    _collection(source)
    _wear(source)
    _scheduling(source)
    _preconditioning(source, flows)
    entries = source.finish()
    if flows is None or workload is None:
        return entries, None
    source.entries.clear()
    mix = mqsim_workload.convert(source, flows, Path(workload))
    return entries + source.entries, mix


def _keys(file: str) -> Mapping[str, str]:
    root = mqsim_workload.parse(file, read(file))
    if root.tag != "Execution_Parameter_Set":
        raise ConfigError(
            f"{plain(file)}: <{shown(root.tag)}>: expected <Execution_Parameter_Set>, as in MQSim's ssdconfig.xml"
        )
    found = {leaf.tag: (leaf.text or "").strip() for leaf in root.iter() if not len(leaf) and isinstance(leaf.tag, str)}
    if not set(found) & set(DEFAULTS):
        raise ConfigError(f"{plain(file)}: none of MQSim's keys, such as Flash_Channel_Count; expected one at least")
    return found


def _host(source: Source) -> None:
    bandwidth, lanes = source.number("PCIe_Lane_Bandwidth", 1e-3, 1e3), source.whole("PCIe_Lane_Count", 1, 1024)
    is_sata = source.text("HostInterface_Type") == "SATA"
    rate = min(bandwidth * 1e9 * lanes, _LINKS) * _PACKET / _PACKET_AND_HEADERS
    link: Mapping[str, Value] = {"host.link": str(round(rate))}
    source.part("PCIe_Lane_Bandwidth", link, "GB/s a lane; of 156 bytes of a packet 128 are data. Commands take no time"
                " on the link here")  # fmt: skip
    source.part("PCIe_Lane_Count", link, "lanes of the same link")
    delay = source.whole("SATA_Processing_Delay", 0, 10**12)
    if is_sata:
        ours: Mapping[str, Value] = {"host.submit_time": time(delay), "host.complete_time": time(delay)}
        source.part("SATA_Processing_Delay", ours, "MQSim charges it for every message, here it is one each way")
        source.part("HostInterface_Type", {"host.queues": 1}, "one queue, as NCQ; frames of SATA are not simulated")
    else:
        source.same("SATA_Processing_Delay", None, "no effect in MQSim with NVME")
        source.same("HostInterface_Type", None, "each tenant has its own queue")
    logs = source.given.get("Enable_ResponseTime_Logging", "false") == "true"
    for key in ("Enable_ResponseTime_Logging", "ResponseTime_Logging_Period_Length"):
        if logs:
            source.none(key, "an output, not the drive: use --requests, and --activity for means over time")
        else:
            source.same(key, None, "no output")


def _queues(source: Source) -> None:
    source.part("Seed", None, "of the run, not the drive: `--seed`")
    if source.text("HostInterface_Type") not in ("NVME", "SATA"):
        raise source.wrong("HostInterface_Type", "NVME or SATA")
    if source.given.get("Memory_Type", "FLASH") != "FLASH":
        raise source.wrong("Memory_Type", "FLASH")
    source.same("Memory_Type", None, "the only one")
    entries = source.whole("IO_Queue_Depth", 1, _MAX_ENTRIES)
    source.same("IO_Queue_Depth", {"host.queue_entries": str(entries)})
    source.none("Queue_Fetch_Size", "commands that the drive takes from one queue before earlier ones complete: waits"
                " for a limit by queue (host.slots is one of all queues, in an open loop)")  # fmt: skip


def _cache(source: Source, flows: list[mqsim_workload.Flow] | None) -> None:
    capacity = source.whole("Data_Cache_Capacity", 0, 1 << 42)
    modes = {flow.values.get("Device_Level_Data_Caching_Mode", "WRITE_CACHE") for flow in flows or ()}
    writes = not modes or any(mode in ("WRITE_CACHE", "WRITE_READ_CACHE") for mode in modes)
    reason = "for writes" if writes else "0: the flows cache no writes"
    source.part("Data_Cache_Capacity", {"buffer.bytes": size(capacity if writes else 0)}, f"{reason}. MQSim also keeps"
                " pages that are programmed, to be read again")  # fmt: skip
    if source.text("Caching_Mechanism") not in ("ADVANCED", "SIMPLE"):
        raise source.wrong("Caching_Mechanism", "ADVANCED or SIMPLE")
    if writes and capacity:
        source.part("Caching_Mechanism", {"buffer.replacement": "lru"}, "LRU; MQSim programs a page at once that was"
                    " not written lately, which waits for a policy of admission")  # fmt: skip
    else:
        source.same("Caching_Mechanism", None, "no effect without a cache")
    for key, what in (("Data_Cache_Sharing_Mode", "the buffer"), ("CMT_Sharing_Mode", "the map cache")):
        if source.given.get(key, "SHARED") == "SHARED":
            source.same(key, None, "tenants share it")
        else:
            source.none(key, f"tenants share {what}: waits for partitions of it")
    _memory(source, cached=writes and capacity > 0)


def _memory(source: Source, cached: bool) -> None:
    """MQSim's memory: an access, and two bursts a transfer (`estimate_dram_access_time`)."""
    if not cached:
        for key in _DRAM:
            source.same(key, None, "no effect without a cache")
        return
    row = source.whole("Data_Cache_DRAM_Row_Size", 1, 1 << 30)
    rate, burst = (
        source.whole("Data_Cache_DRAM_Data_Rate", 1, 10**6),
        source.whole("Data_Cache_DRAM_Data_Busrt_Size", 1, 4096),
    )
    access = source.whole("Data_Cache_DRAM_tRCD", 0, 10**6) + source.whole("Data_Cache_DRAM_tCL", 0, 10**6)
    first = "of a command's data, one command at a time; MQSim also reads there what it programs, which takes none here"
    for key in ("Data_Cache_DRAM_tRCD", "Data_Cache_DRAM_tCL"):
        source.part(key, {"firmware.memory_time": time(access)}, f"of an access {first}")
    data = {"firmware.memory_rate": f"{2 * burst * rate * 1_000_000}B"}
    for key in ("Data_Cache_DRAM_Data_Rate", "Data_Cache_DRAM_Data_Busrt_Size"):
        source.part(key, data, f"two bursts a transfer, {first}")
    for key in ("Data_Cache_DRAM_Row_Size", "Data_Cache_DRAM_tRP"):
        source.none(key, f"an access is one row here; MQSim counts those of commands above {row} bytes by half")


def _mapping(source: Source) -> None:
    kind = source.text("Address_Mapping")
    if kind not in ("PAGE_LEVEL", "HYBRID"):
        raise source.wrong("Address_Mapping", "PAGE_LEVEL or HYBRID")
    cached = not source.flag("Ideal_Mapping_Table")
    source.whole("CMT_Capacity", 1, 1 << 42)
    if kind == "HYBRID":
        source.none("Address_Mapping", "MQSim has no code behind it; a page map in memory instead")
    else:
        source.same("Address_Mapping", {"ftl.kind": "dftl" if cached else "page"})
    source.same("Ideal_Mapping_Table", None, "the map is on flash" if cached else "the whole map is in memory")
    if not cached or kind == "HYBRID":
        source.same("CMT_Capacity", None, "no effect with the whole map in memory")
    else:
        pages = math.prod(source.whole(key, 1) for key in mqsim_flash.COUNTS)
        entry = math.ceil((2 * math.log2(max(pages, 2)) + source.whole("Page_Capacity", 512) // 512) / 8)
        entries = source.whole("CMT_Capacity", 1, 1 << 42) // entry
        source.same("CMT_Capacity", {"ftl.cache_bytes": size(entries * 8)}, f"{entries} entries, of {entry} bytes"
                    " each in MQSim and of 8 here")  # fmt: skip
    order = source.text("Plane_Allocation_Scheme")
    if order in _ORDERS:
        source.same("Plane_Allocation_Scheme", {"alloc.order": order})
    else:
        source.none("Plane_Allocation_Scheme", f"alloc.order has {', '.join(_ORDERS)}; the default instead")


def _collection(source: Source) -> None:
    blocks = source.whole("Block_No_Per_Plane", 2)
    ratio = source.number("Overprovisioning_Ratio", 1e-6, 0.99)
    source.same("Overprovisioning_Ratio", {"op_raw": ratio}, "a share of all blocks")
    share = source.number("GC_Exec_Threshold", 0, 1)
    wanted = max(int(share * blocks), 1, _COLLECTIONS)
    # The map on flash takes blocks for its pages, of 8 bytes an entry, and for frontiers of its own.
    is_cached = not source.flag("Ideal_Mapping_Table")
    of_map = math.ceil(blocks * 8 / source.whole("Page_Capacity", 512)) + _MAP_FRONTIERS if is_cached else 0
    kept = max(1, min(wanted, int(ratio * blocks) - 1 - of_map))
    cut = "" if kept == wanted else f", and {wanted} would leave no spare block"
    percent = f"{share * 100:.6g}"
    # The share rounds down to that number here as well.
    same = round(float(percent) * 1e6) * blocks // 10**8 == kept
    ours: Value = f"{percent}%" if same else kept
    source.part("GC_Exec_Threshold", {"gc.free_blocks": ours}, "of each plane; MQSim collects up to 10 blocks of a"
                f" plane at a time, ahead of the writes that need them, here one when it is needed{cut}")  # fmt: skip
    _victims(source, blocks)
    if source.given.get("Use_Copyback_for_GC", "false") == "true":
        source.same("Use_Copyback_for_GC", {"gc.copyback": _ALWAYS}, "no copy crosses the bus, however often")
    else:
        source.same("Use_Copyback_for_GC", None, "copies cross the bus of the channel")
    preempts = source.flag("Preemptible_GC_Enabled")
    source.part("Preemptible_GC_Enabled", {"sched.preempt_gc": preempts}, "reads alone pass a collection here")
    source.number("GC_Hard_Threshold", 0, 1)
    if preempts:
        source.none("GC_Hard_Threshold", "waits for a number of free blocks below which reads no longer pass")
    else:
        source.same("GC_Hard_Threshold", None, "no effect without Preemptible_GC_Enabled")


def _victims(source: Source, blocks: int) -> None:
    policy = source.text("GC_Block_Selection_Policy")
    found: Mapping[str, tuple[Mapping[str, Value], str]] = {
        "GREEDY": ({"gc.victim": "greedy"}, ""),
        "RGA": ({"gc.victim": "d-choices", "gc.choices": int(math.log2(blocks))}, "log2 of the blocks of a plane"),
        "RANDOM": ({"gc.victim": "random"}, "of full blocks; MQSim may pick one that is not full"),
        "RANDOM_P": ({"gc.victim": "random"}, ""),
        "RANDOM_PP": ({"gc.victim": "random"}, "MQSim draws again while a block has few invalid pages"),
        "FIFO": ({"gc.victim": "fifo"}, ""),
    }
    if policy not in found:
        raise source.wrong("GC_Block_Selection_Policy", f"one of {', '.join(found)}")
    ours, reason = found[policy]
    source.add("GC_Block_Selection_Policy", "part" if policy in ("RANDOM", "RANDOM_PP") else "set", ours, reason)


def _wear(source: Source) -> None:
    static: tuple[tuple[str, str, Mapping[str, Value]], ...] = (
        ("Static_Wearleveling_Enabled", "true", {"wear.static_gap": 100}),
        ("Static_Wearleveling_Threshold", "100", {"wear.static_gap": 100}),
    )
    for key, value, ours in (("Dynamic_Wearleveling_Enabled", "true", {"wear.dynamic": True}), *static):
        is_so = source.given.get(key, value) == value
        reason = "" if is_so else f"MQSim ignores the key, and is as with {value}"
        source.add(key, "set" if is_so else "part", ours, reason)
    source.same("Block_PE_Cycles_Limit", None, "no effect in MQSim: blocks do not fail")


def _scheduling(source: Source) -> None:
    policy = source.text("Transaction_Scheduling_Policy")
    if policy not in ("OUT_OF_ORDER", "PRIORITY_OUT_OF_ORDER", "FLIN"):
        raise source.wrong("Transaction_Scheduling_Policy", "OUT_OF_ORDER, PRIORITY_OUT_OF_ORDER or FLIN")
    if policy == "FLIN":
        source.part("Transaction_Scheduling_Policy", {"sched.kind": "flin"}, "MQSim's own FLIN is commented out, and"
                    " it refuses to run; thresholds are those of its sources")  # fmt: skip
    else:
        more = "; priorities of flows act at the queues here" if policy.startswith("PRIORITY") else ""
        source.part("Transaction_Scheduling_Policy", {"sched.kind": "read-first"}, "reads before writes before erases;"
                    f" MQSim has queues by chip, and puts those of the map and of collections first{more}")  # fmt: skip
    for key in ("Preferred_suspend_erase_time_for_read", "Preferred_suspend_erase_time_for_write",
                "Preferred_suspend_write_time_for_read", "CMD_Suspension_Support", "Suspend_Erase_Time",
                "Suspend_Program_Time"):  # fmt: skip
        source.same(key, None, _NEVER_SUSPENDS)


def _preconditioning(source: Source, flows: list[mqsim_workload.Flow] | None) -> None:
    if not source.flag("Enabled_Preconditioning"):
        source.same("Enabled_Preconditioning", {"precondition": "on-read"}, "what is read was there before")
        return
    ours: dict[str, Value] = {"precondition": "steady"}
    filled = mqsim_workload.occupancy(flows or [])
    if filled is not None and filled < 1:
        ours["fill"] = filled
    source.part("Enabled_Preconditioning", ours, "MQSim lays out a steady state by a formula, here it is written;"
                " Initial_Occupancy_Percentage of the flows is its fill")  # fmt: skip
