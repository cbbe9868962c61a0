"""Every preset, and every device file that ships, is simulated, and checked; the command stays small."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, SHIPPED_TRACE
from conftest import flashweir as command

import flashweir as package

WORKLOAD = "random:span=32MiB,size=4KiB,count=5000,write=0.5,seed=1"
DEVICES = sorted((ROOT / "crates" / "ssd" / "presets").glob("*.toml")) + sorted((ROOT / "devices").glob("*.toml"))


@pytest.mark.parametrize("name", [preset["name"] for preset in package.presets()])
def test_preset_simulates(name: str) -> None:
    result = package.simulate(WORKLOAD, name, verify=True)
    assert result["requests"] == 5000
    assert sum(result["time_share"].values()) == pytest.approx(1.0)


@pytest.mark.parametrize("device", DEVICES, ids=lambda path: path.name)
def test_device_file_simulates(device: Path) -> None:
    assert package.simulate(WORKLOAD, device, verify=True)["requests"] == 5000


@pytest.mark.parametrize("name", [preset["name"] for preset in package.presets()])
def test_shipped_trace_is_verified_on_every_preset_scaled_down(name: str) -> None:
    # Less than the 4 GiB that the trace comes from: addresses are folded, and the drive fills up. Planes of z-nand
    # and mqsim-mlc would have one and five blocks of their size, of which the map takes three.
    smaller = ["--set=pages_per_block=64"] if name in ("z-nand", "mqsim-mlc") else []
    run = command(
        "simulate",
        str(SHIPPED_TRACE),
        "--device",
        name,
        "--set=capacity=512MiB",
        "--set=op_ratio=1",
        *smaller,
        "--wrap",
        "--verify",
        "--json",
        "-",
    )
    # One request reaches over the end of the drive, and becomes two.
    assert run.json()["requests"] == 59_616 + 4033
    assert run.json()["flash"]["erases"] > 0
    assert [line for line in run.err.splitlines() if not line.startswith("note: ")] == []


def test_pages_larger_than_requests_behind_a_buffer_are_verified() -> None:
    settings = ("--set=dies=2", "--set=page=32KiB", "--set=buffer.bytes=1MiB")
    assert command("simulate", WORKLOAD, "--verify", *settings, "--json", "-").json()["requests"] == 5000


def test_presets_name_their_source() -> None:
    assert all("ource" in str(preset.to_dict()) for preset in package.presets())


def measured_inside(args: list[str], expression: str) -> str:
    """Runs the command in a process of its own, and evaluates an expression there when it is done."""
    code = (
        f"import sys, re, pathlib; from flashweir import cli; sys.argv[1:] = {args!r}\n"
        f"try:\n    cli.main()\nfinally:\n    print({expression}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    # Notes on what was read come before it.
    return done.stderr.strip().splitlines()[-1]


def test_the_command_imports_neither_polars_nor_rich_for_json() -> None:
    args = ["simulate", WORKLOAD, "--json", "-"]
    assert measured_inside(args, "sorted({'polars', 'rich'} & sys.modules.keys())") == "[]"


@pytest.mark.parametrize("workload", [WORKLOAD, str(SHIPPED_TRACE)])
def test_simulating_takes_under_100_mib(workload: str) -> None:
    # The kernel's own peak of this process alone; getrusage would count the parent that started it.
    peak = "re.search('VmHWM:\\s+(\\d+)', pathlib.Path('/proc/self/status').read_text())[1]"
    assert int(measured_inside(["simulate", workload], peak)) < 100 * 1024
