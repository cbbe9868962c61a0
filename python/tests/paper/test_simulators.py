"""Experiment 07: drives as other simulators' files, their results, and the committed tables."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT

import flashweir

FOLDER = ROOT / "experiments" / "07-simulators"
MODULES = ("to_mqsim", "mqsim", "ssdsim", "compare", "tables")


def test_erases_that_the_text_quotes_are_those_of_the_results() -> None:
    rows = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    spare = [row for row in rows if "ours_spare" in row]
    ours, theirs = (sum(row[side]["erases"] for row in spare) / len(spare) for side in ("ours_spare", "theirs"))
    text = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())
    assert f"erases {ours:,.0f} blocks, MQSim {theirs:,.0f} (means of three seeds" in text
    assert len(spare) == 3


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        for name in MODULES:
            patch.delitem(sys.modules, name, raising=False)
        yield {name: importlib.import_module(name) for name in MODULES}
        for name in MODULES:
            sys.modules.pop(name, None)


def drives(modules: dict[str, ModuleType], name: str) -> list[dict[str, Any]]:
    spec = modules["compare"].SPEC
    return [modules["compare"].drive_of(case) for case in (*spec["case"], *spec["steady"]) if case["of"] == name]


def test_a_drive_comes_back_from_mqsims_configuration(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    for drive in drives(modules, "mqsim"):
        back = modules["to_mqsim"].imported(drive, tmp_path)
        # A share of the blocks there, and here where it makes their number.
        kept = str(back["gc.free_blocks"])
        if kept.endswith("%"):
            back["gc.free_blocks"] = round(float(kept[:-1]) * 1e6) * back["blocks_per_unit"] // 10**8
        # The host's mode is of the trace; planes work together where there are several.
        differing = {key for key, value in drive.items() if key in back and back[key] != value}
        assert differing <= {"timing.bus", "nand.codeword", "page"}, {key: (drive[key], back[key]) for key in differing}
        numbers = {key: modules["to_mqsim"].quantity(back[key]) for key in differing}
        assert numbers == {key: modules["to_mqsim"].quantity(drive[key]) for key in differing}
        left = set(drive) - set(back)
        assert left <= {"host.mode", "timing.multi_plane", "alloc.kind", "buffer.bytes"}, left


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("ftl.kind", "dftl", "ftl.kind=dftl: expected page"),
        ("timing.bus", 3.003, "timing.bus=3.003: expected whole nanoseconds"),
    ],
)
def test_what_mqsim_lacks_is_refused(modules: dict[str, ModuleType], key: str, value: object, expected: str) -> None:
    drive = drives(modules, "mqsim")[0] | {key: value}
    with pytest.raises(ValueError, match="expected") as refused:
        modules["to_mqsim"].ssdconfig(drive)
    assert str(refused.value).startswith(expected)


def test_a_drive_comes_back_from_ssdsims_parameters(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    path = tmp_path / "page.parameters"
    for drive in drives(modules, "ssdsim"):
        path.write_text(modules["ssdsim"].parameters(drive))
        back = flashweir.import_drive("ssdsim", path).settings
        same = ("channels", "chips", "dies", "planes", "pages_per_block", "blocks_per_unit", "op_raw", "timing.read",
                "timing.program", "timing.erase", "timing.command", "timing.multi_plane", "alloc.kind", "alloc.order",
                "gc.free_blocks", "page")  # fmt: skip
        assert {key: back[key] for key in same if key in drive} == {key: drive[key] for key in same if key in drive}


def test_mqsims_result_is_read(modules: dict[str, ModuleType]) -> None:
    counts = {f"Issued_Flash_{name}_CMD": number for number, name in enumerate(
        ("Read", "Multiplane_Read", "Program", "Multiplane_Program", "Erase"))}  # fmt: skip
    ftl = " ".join(f'{key}="{value}"' for key, value in counts.items())
    names = ("Name", "End_to_End_Request_Delay", "Min_End_to_End_Request_Delay", "Max_End_to_End_Request_Delay")
    flows = [
        "".join(
            f"<{name}>{value}</{name}>"
            for name, value in zip(names, (f"/x/flow-{number}.trace", mean, 7, 9), strict=True)
        )
        for number, mean in ((1, 30), (0, 8))
    ]
    host = "".join(f"<Host.IO_Flow>{flow}</Host.IO_Flow>" for flow in flows)
    found = modules["mqsim"].read(f"<MQSim_Results><Host>{host}</Host><SSDDevice.FTL {ftl}/></MQSim_Results>")
    assert (found.means_us, found.min_us, found.max_us) == ((8, 30), 7, 9)
    assert (found.reads, found.plane_reads, found.programs, found.plane_programs, found.erases) == (0, 1, 2, 3, 4)


def test_ssdsims_result_is_read(modules: dict[str, ModuleType]) -> None:
    rows = [(2000, 1, 300), (1000, 0, 200), (10**9, 1, 5), (2 * 10**9, 0, 6)]
    counts = "".join(f"{name}: {number}\n" for number, name in enumerate(modules["ssdsim"]._COUNTS.values(), 10))
    text = "".join(f"{at:>16} 8 4 {op} {at} {at + took} {took}\n" for at, op, took in rows) + counts
    found = modules["ssdsim"].read(text, 2)
    assert found.times_ns == [200, 300]
    assert (found.counts["reads"], found.counts["programs"], found.counts["erases"]) == (9, 10, 12)
    with pytest.raises(RuntimeError, match="4 answers to 5 requests"):
        modules["ssdsim"].read(text, 3)


def test_the_tables_are_of_the_results(modules: dict[str, ModuleType]) -> None:
    readme = (FOLDER / "README.md").read_text()
    start, end = modules["tables"].MARKS
    assert readme.split(start)[1].split(end)[0].strip() == modules["tables"].tables(FOLDER / "results.json")


def test_our_side_of_the_results_is_what_the_engine_says(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    compare = modules["compare"]
    rows = [row for row in json.loads((FOLDER / "results.json").read_text()) if row["group"] not in ("micro", "steady")]
    wanted = {
        json.dumps({key: row[key] for key in ("of", "group", "size", "load", "seed")}): row["ours"] for row in rows
    }
    seen = 0
    for which, drive, requests in compare.cases(tuple(compare.RUNNERS), ""):
        key = json.dumps(which)
        if key in wanted and which["seed"] == 1:
            assert compare.ours(drive, requests, tmp_path) == pytest.approx(wanted[key]), key
            seen += 1
    assert seen == sum(row["seed"] == 1 for row in rows) > 0


def test_differences_are_those_of_known_results(modules: dict[str, ModuleType]) -> None:
    rows = [
        {"of": "ssdsim", "theirs": {"write": 100.0}, "ours": {"write": 200.0 + value}} for value in (98.0, 100.0, 102.0)
    ]
    mean, half = modules["tables"].difference(rows, "write", "write")
    assert mean == pytest.approx(0)
    assert half == pytest.approx(4.303 * 2 / 3**0.5)
