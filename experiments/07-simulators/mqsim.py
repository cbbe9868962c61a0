"""Runs a built MQSim in a folder of its own and reads its result."""

import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import to_mqsim
from to_mqsim import Request, Settings

TIMEOUT_S = 1800


@dataclass(frozen=True)
class Answer:
    """Result of a run. MQSim cuts times to whole microseconds: a mean lies in [mean, mean + 1)."""

    # Mean response time of each flow, microseconds.
    means_us: tuple[int, ...]
    # Shortest and longest response of the first flow, microseconds.
    min_us: int
    max_us: int
    reads: int
    programs: int
    erases: int
    # Commands for several planes: reads, programs.
    plane_reads: int
    plane_programs: int


def run(program: Path, drive: Settings, flows: Sequence[Sequence[Request]], folder: Path) -> Answer:
    """Runs the requests of each flow, with addresses from the start of the flow's share of the drive.

    Raises:
        RuntimeError: the program ends without a result.
    """
    (folder / "ssdconfig.xml").write_text(to_mqsim.ssdconfig(drive), encoding="us-ascii")
    traces = [folder / f"flow-{number}.trace" for number in range(len(flows))]
    for path, requests in zip(traces, flows, strict=True):
        path.write_text(to_mqsim.trace(requests), encoding="us-ascii")
    (folder / "workload.xml").write_text(to_mqsim.workload(drive, traces), encoding="us-ascii")
    command = [str(program.resolve()), "-i", "ssdconfig.xml", "-w", "workload.xml"]
    done = subprocess.run(  # noqa: S603 - a program that the user names
        command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    result = folder / "workload_scenario_1.xml"
    if not result.exists():
        raise RuntimeError(f"{program}: no {result.name}: {(done.stdout + done.stderr).strip()[-300:]}")
    return read(result.read_text(encoding="us-ascii"))


def read(text: str) -> Answer:
    """The answer in MQSim's XML."""
    root = ET.fromstring(text)  # noqa: S314 - the user's own program wrote it
    flows = [{leaf.tag: leaf.text or "" for leaf in flow} for flow in root.iter("Host.IO_Flow")]
    flows.sort(key=lambda flow: flow["Name"].rpartition("flow-")[2])
    ftl = next(root.iter("SSDDevice.FTL"))

    def count(name: str) -> int:
        return int(ftl.attrib[f"Issued_Flash_{name}_CMD"])

    return Answer(
        means_us=tuple(int(flow["End_to_End_Request_Delay"]) for flow in flows),
        min_us=int(flows[0]["Min_End_to_End_Request_Delay"]),
        max_us=int(flows[0]["Max_End_to_End_Request_Delay"]),
        reads=count("Read"),
        programs=count("Program"),
        erases=count("Erase"),
        plane_reads=count("Multiplane_Read"),
        plane_programs=count("Multiplane_Program"),
    )
