"""MQSim's workload.xml: the flows of one scenario as the tenants of a mix."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashweir._native import ConfigError
from flashweir.importing.model import Entry, Value, plain, shown
from flashweir.importing.source import Source, read, size

_SYNTHETIC, _TRACE = "IO_Flow_Parameter_Set_Synthetic", "IO_Flow_Parameter_Set_Trace_Based"
_SECTOR = 512
_WEIGHTS = {"URGENT": "urgent", "HIGH": "4", "MEDIUM": "2", "LOW": "1"}
_MODES = ("TURNED_OFF", "READ_CACHE", "WRITE_CACHE", "WRITE_READ_CACHE")
# Requests of a flow that ends by time: a mix has counts.
_COUNT = 100_000
_ALL = 100
_DEFAULTS = {
    "Read_Percentage": "100", "Working_Set_Percentage": "85", "Address_Distribution": "RANDOM_UNIFORM",
    "Percentage_of_Hot_Region": "0", "Generated_Aligned_Addresses": "true", "Address_Alignment_Unit": "16",
    "Request_Size_Distribution": "FIXED", "Average_Request_Size": "8", "Variance_Request_Size": "0", "Seed": "1",
    "Synthetic_Generator_Type": "QUEUE_DEPTH", "Average_No_of_Reqs_in_Queue": "1", "Bandwidth": "0", "Stop_Time": "0",
    "Total_Requests_To_Generate": "0", "Priority_Class": "HIGH", "Device_Level_Data_Caching_Mode": "WRITE_CACHE",
    "Percentage_To_Be_Executed": "100", "Relay_Count": "1", "Time_Unit": "NANOSECOND",
}  # fmt: skip


@dataclass(frozen=True)
class Flow:
    """A flow of requests: its name in the mix, and its values by key."""

    name: str
    is_trace: bool
    values: Mapping[str, str]


def parse(file: str, text: str) -> ET.Element:
    """The root of an XML text.

    Raises:
        ConfigError: it is none, or declares a document type, whose entities could grow without bound.
    """
    if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise ConfigError(f"{plain(file)}: expected XML without a document type")
    # The text is decoded already: what its first line says of its encoding counts no more.
    body = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    try:
        return ET.fromstring(body)  # noqa: S314 - no document type, no entities
    except (ET.ParseError, ValueError) as error:
        raise ConfigError(f"{plain(file)}: not XML: {error}; expected MQSim's tags") from error


def read_flows(file: str) -> list[Flow]:
    """The flows of the first scenario.

    Raises:
        ConfigError: the file is none of MQSim's workloads, or has no flow.
    """
    root = parse(file, read(file))
    if root.tag != "MQSim_IO_Scenarios":
        raise ConfigError(
            f"{plain(file)}: <{shown(root.tag)}>: expected <MQSim_IO_Scenarios>, as in MQSim's workload.xml"
        )
    scenario = root.find("IO_Scenario")
    flows: list[Flow] = []
    for flow in scenario if scenario is not None else ():
        if flow.tag in (_SYNTHETIC, _TRACE):
            values = {str(leaf.tag): (leaf.text or "").strip() for leaf in flow}
            flows.append(Flow(f"flow{len(flows) + 1}", flow.tag == _TRACE, values))
    if not flows:
        raise ConfigError(f"{plain(file)}: no flow in its first <IO_Scenario>; expected one at least")
    return flows


def occupancy(flows: Sequence[Flow]) -> float | None:
    """The largest share of the drive that a flow finds written; None without flows that say it."""
    shares = [flow.values.get("Initial_Occupancy_Percentage", "") for flow in flows]
    found = [int(share) / 100 for share in shares if share.isdecimal() and 0 < int(share) <= _ALL]
    return max(found, default=None)


def convert(drive: Source, flows: Sequence[Flow], path: Path) -> str:
    """The text of a mix; what becomes of the keys of the flows is added to the table of the drive."""
    capacity = _capacity(drive)
    lines = [f"# Imported from {shown(path.name)} of MQSim by flashweir import.", ""]
    depths = 0
    for flow in flows:
        source = Source(str(path), flow.values, _DEFAULTS)
        lines += [f"[tenants.{flow.name}]"]
        lines += _of_trace(source) if flow.is_trace else _of_generator(source, capacity // len(flows))
        lines.append("")
        depths += 0 if flow.is_trace else _depth(source)
        _of_any(source)
        drive.entries += [Entry(f"{flow.name}.{entry.key}", entry.value, entry.status, entry.ours, entry.reason)
                          for entry in source.finish()]  # fmt: skip
    _host(drive, flows, depths)
    return "\n".join(lines)


def _host(drive: Source, flows: Sequence[Flow], depths: int) -> None:
    """Entry of the tenants: a closed loop if no flow has times, and weights by priority."""
    if depths:
        ours: dict[str, Value] = {"host.queue_depth": depths}
        if len(flows) == 1:
            drive.entries.append(Entry("flows.Average_No_of_Reqs_in_Queue", str(depths), "set", ours))
        else:
            reason = "of all flows together: any of them may use it all, and those with times enter as fast as they can"
            drive.entries.append(Entry("flows.Average_No_of_Reqs_in_Queue", str(depths), "part", ours, reason))
    else:
        drive.entries.append(Entry("flows", str(len(flows)), "set", {"host.mode": "open"}, "they have times"))
    weights = [_WEIGHTS.get(flow.values.get("Priority_Class", "HIGH"), "1") for flow in flows]
    if len(set(weights)) > 1:
        by_weight: dict[str, Value] = {"host.arbitration": "weighted", "host.weights": ",".join(weights)}
        drive.entries.append(Entry("flows.Priority_Class", ",".join(weights), "part", by_weight, "at the queues of"
                                   " the host; MQSim orders operations of each chip by them, too"))  # fmt: skip


def _capacity(drive: Source) -> int:
    keys = ("Flash_Channel_Count", "Chip_No_Per_Channel", "Die_No_Per_Chip", "Plane_No_Per_Die", "Block_No_Per_Plane",
            "Page_No_Per_Block", "Page_Capacity")  # fmt: skip
    total = 1
    for key in keys:
        total *= drive.whole(key, 1)
    return int(total * (1 - drive.number("Overprovisioning_Ratio", 0, 1)))


def _of_trace(source: Source) -> list[str]:
    file = source.text("File_Path")
    source.same("File_Path", None, "the workload of the tenant")
    source.same("Time_Unit", None, "no effect in MQSim: times are nanoseconds")
    share = source.whole("Percentage_To_Be_Executed", 1, 100)
    if share == _ALL:
        source.same("Percentage_To_Be_Executed", None, "all")
    else:
        source.none("Percentage_To_Be_Executed", "a share of the requests: set limit of the tenant to their number")
    if source.whole("Relay_Count", 1) == 1:
        source.same("Relay_Count", None, "once")
    else:
        source.none("Relay_Count", "a trace is read once")
    # Relative names count from the folder of the mix; MQSim takes them from where it runs.
    return [f"workload = {json.dumps(file)}", 'format = "mqsim"']


def _of_generator(source: Source, share: int) -> list[str]:
    sectors = source.whole("Average_Request_Size", 1, 1 << 20)
    if source.text("Request_Size_Distribution") == "FIXED":
        source.same("Request_Size_Distribution", None, "one size")
        source.same("Variance_Request_Size", None, "no effect in MQSim with FIXED")
    else:
        source.part("Request_Size_Distribution", None, "all requests have the mean: generators have lists of sizes")
        source.none("Variance_Request_Size", "waits for sizes by a distribution")
    source.same("Average_Request_Size", None, "size, in sectors")
    percent = source.whole("Working_Set_Percentage", 0, 100) or 100
    span = share * percent // 100 // 4096 * 4096
    source.same("Working_Set_Percentage", None, "span, a share of the flow's part of the drive")
    reads = source.whole("Read_Percentage", 0, 100)
    source.same("Read_Percentage", None, "write")
    words = {"span": f"{span}B", "size": size(sectors * _SECTOR), "count": str(_count(source)),
             "write": f"{(100 - reads) / 100:g}", "seed": str(source.whole("Seed"))}  # fmt: skip
    source.same("Seed", None, "seed; the numbers drawn from it are others")
    _alignment(source, words)
    kind = _addresses(source, words)
    _arrivals(source, words, sectors)
    return [f"workload = {json.dumps(kind + ':' + ','.join(f'{key}={value}' for key, value in words.items()))}"]


def _alignment(source: Source, words: dict[str, str]) -> None:
    unit = source.whole("Address_Alignment_Unit", 1, 1 << 20)
    aligned = source.flag("Generated_Aligned_Addresses")
    if source.text("Address_Distribution") != "STREAMING":
        words["align"] = size(unit * _SECTOR if aligned else _SECTOR)
    source.same("Generated_Aligned_Addresses", None, "align")
    source.same("Address_Alignment_Unit", None, "align, in sectors" if aligned else "no effect in MQSim")


def _addresses(source: Source, words: dict[str, str]) -> str:
    kinds = {"RANDOM_UNIFORM": "random", "STREAMING": "sequential", "RANDOM_HOTCOLD": "hotcold"}
    found = source.text("Address_Distribution")
    if found not in kinds:
        raise source.wrong("Address_Distribution", f"one of {', '.join(kinds)}")
    hot = source.whole("Percentage_of_Hot_Region", 0, 99)
    source.same("Address_Distribution", None, f"the generator {kinds[found]}")
    if found == "RANDOM_HOTCOLD" and hot:
        words |= {"hot_share": f"{hot / 100:g}", "hot_writes": f"{1 - hot / 100:g}"}
        source.same("Percentage_of_Hot_Region", None, "hot_share; the other share of the requests goes there")
        return kinds[found]
    source.same("Percentage_of_Hot_Region", None, "no effect in MQSim without RANDOM_HOTCOLD, or if 0")
    return "random" if found == "RANDOM_HOTCOLD" else kinds[found]


def _arrivals(source: Source, words: dict[str, str], sectors: int) -> None:
    kind = source.text("Synthetic_Generator_Type")
    if kind not in ("QUEUE_DEPTH", "BANDWIDTH"):
        raise source.wrong("Synthetic_Generator_Type", "QUEUE_DEPTH or BANDWIDTH")
    source.same("Intensity", None, "no effect in MQSim: it reads Bandwidth")
    bandwidth = source.whole("Bandwidth")
    source.same("Synthetic_Generator_Type", None, "a closed loop" if kind == "QUEUE_DEPTH" else "arrivals by rate")
    if kind == "BANDWIDTH":
        if not bandwidth:
            raise source.wrong("Bandwidth", "bytes a second above 0, with Synthetic_Generator_Type BANDWIDTH")
        words["rate"] = f"{bandwidth / (sectors * _SECTOR):.6f}"
        source.same("Bandwidth", None, "rate, in requests a second: exponential gaps, as there")
        source.same("Average_No_of_Reqs_in_Queue", None, "no effect in MQSim with BANDWIDTH")
    else:
        source.same("Bandwidth", None, "no effect in MQSim with QUEUE_DEPTH")
        source.same("Average_No_of_Reqs_in_Queue", None, "host.queue_depth of the drive")


def _count(source: Source) -> int:
    stop, total = source.whole("Stop_Time"), source.whole("Total_Requests_To_Generate")
    if stop == 0 and total:
        source.same("Stop_Time", None, "none: the flow ends by its number of requests")
        source.same("Total_Requests_To_Generate", None, "count")
        return total
    source.none("Stop_Time", f"a generator ends by its number of requests: count={_COUNT} instead")
    source.same("Total_Requests_To_Generate", None, "no effect in MQSim with Stop_Time")
    return _COUNT


def _depth(source: Source) -> int:
    if source.text("Synthetic_Generator_Type") != "QUEUE_DEPTH":
        return 0
    return source.whole("Average_No_of_Reqs_in_Queue", 1, 1 << 20)


def _of_any(source: Source) -> None:
    if source.text("Priority_Class") not in _WEIGHTS:
        raise source.wrong("Priority_Class", f"one of {', '.join(_WEIGHTS)}")
    source.same("Priority_Class", None, "host.weights of the drive, where flows differ")
    if source.text("Device_Level_Data_Caching_Mode") not in _MODES:
        raise source.wrong("Device_Level_Data_Caching_Mode", f"one of {', '.join(_MODES)}")
    source.part("Device_Level_Data_Caching_Mode", None, "the buffer is of writes, for all tenants or none")
    source.part("Initial_Occupancy_Percentage", None, "fill of the drive with Enabled_Preconditioning: the largest")
    for key in ("Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs"):
        source.part(key, None, "all flows use all: --set tenants.channels, or an allocator, gives channels to tenants")
