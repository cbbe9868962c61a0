"""Configurations of other simulators become drives: keys, presets, device files, and wherever a device is taken."""

import json
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT
from conftest import flashweir as command
from import_samples import FEMU, FLOW, SAMPLES, mqsim, sample, workload

import flashweir
from flashweir.importing.model import Entry, ImportedDrive

QUICK = "random:span=16MiB,count=500,write=0.5"
PRESETS = {"mqsim": "mqsim-mlc", "ssdsim": "ssdsim", "nvmevirt": "970-pro", "femu": "femu"}
# Keys in which a preset and the import differ, with the reason.
EXPLAINED = {
    "mqsim": {"timing.bus": "333 MT/s are 3.003 ns a byte; MQSim's code cuts that to 3"},
    "ssdsim": {},
    "nvmevirt": {
        "capacity": "the preset has 64 GiB for the host, NVMeVirt in 64 GiB of memory 1 / 1.07 of it",
        "pages_per_block": "the preset has 256; NVMeVirt divides its memory by a fixed number of blocks",
    },
    "femu": {},
}


def entry(found: ImportedDrive, key: str) -> Entry:
    return next(one for one in found.entries if one.key == key)


@pytest.mark.parametrize("kind", SAMPLES)
def test_defaults_of_a_simulator_give_its_preset(kind: str, tmp_path: Path) -> None:
    imported = flashweir.import_drive(kind, sample(kind, tmp_path)).settings
    preset = next(one for one in flashweir.presets() if one["name"] == PRESETS[kind])["config"].to_dict()
    drive = flashweir.simulate(QUICK, imported)["config"].to_dict()
    text = (ROOT / "crates" / "ssd" / "presets" / f"{PRESETS[kind]}.toml").read_text()
    table = tomllib.loads(text)
    keys = [key for key, value in table.items() if not isinstance(value, dict)]
    keys += [f"{group}.{key}" for group, values in table.items() if isinstance(values, dict) for key in values]
    differing = set()
    for key in keys:
        left, right = preset, drive
        for part in key.split("."):
            left, right = left[part], right[part]
        if left != right:
            differing.add(key)
    assert differing == set(EXPLAINED[kind])


def test_every_key_of_mqsim_is_in_the_table(tmp_path: Path) -> None:
    found = flashweir.import_drive("mqsim", sample("mqsim", tmp_path))
    assert found.counts == {"set": 45, "part": 13, "none": 3}
    assert all(one.reason for one in found.entries if one.status != "set")
    settings = found.settings
    assert settings["ftl.kind"] == "dftl"
    # 2 MiB of entries of 9 bytes are as many entries of 8.
    assert settings["ftl.cache_bytes"] == f"{2_097_152 // 9 * 8}B"
    assert (settings["gc.victim"], settings["gc.choices"], settings["gc.free_blocks"]) == ("d-choices", 11, "5%")
    # 4 GB/s, of which 128 of 156 bytes are data.
    assert settings["host.link"] == str(round(4e9 * 128 / 156))
    # 13 + 13 ns, and 2 bytes of two bursts in 10 ns.
    assert (settings["firmware.memory_time"], settings["firmware.memory_rate"]) == ("26ns", "200000000B")


@pytest.mark.parametrize(
    ("changes", "key", "value"),
    [
        ({"Ideal_Mapping_Table": "true"}, "ftl.kind", "page"),
        ({"Ideal_Mapping_Table": "true"}, "wear.static_gap", 100),
        ({"GC_Block_Selection_Policy": "GREEDY"}, "gc.victim", "greedy"),
        ({"Plane_Allocation_Scheme": "WDPC"}, "alloc.order", "WDPC"),
        ({"Channel_Transfer_Rate": "800", "Flash_Channel_Width": "2"}, "timing.bus", 0.5),
        ({"Flash_Technology": "TLC", "Page_Read_Latency_CSB": "80001"}, "timing.read", ["75us", "80001ns", "75us"]),
        ({"HostInterface_Type": "SATA"}, "host.submit_time", "400us"),
        ({"Enabled_Preconditioning": "true"}, "precondition", "steady"),
        ({"Page_Capacity": ""}, "page", "8KiB"),
        (
            {"Data_Cache_DRAM_Data_Rate": "", "Data_Cache_DRAM_Data_Busrt_Size": ""},
            "firmware.memory_rate",
            "6400000000B",
        ),
        ({"GC_Exec_Threshold": "0.5"}, "gc.free_blocks", 136),
        ({"Preemptible_GC_Enabled": "true"}, "sched.preempt_gc", True),
    ],
)
def test_values_of_mqsim(changes: dict[str, str], key: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "ssdconfig.xml"
    path.write_text(mqsim(**changes))
    assert flashweir.import_drive("mqsim", path).settings[key] == value


def test_without_a_cache_mqsims_memory_has_no_effect(tmp_path: Path) -> None:
    path = tmp_path / "ssdconfig.xml"
    path.write_text(mqsim(Data_Cache_Capacity="0"))
    found = flashweir.import_drive("mqsim", path)
    assert not [key for key in found.settings if key.startswith("firmware.memory")]
    assert {entry(found, f"Data_Cache_DRAM_{name}").status for name in ("Row_Size", "tRP", "tCL", "Data_Rate")} == {
        "set"
    }


def test_a_device_file_says_where_each_key_is_from(tmp_path: Path) -> None:
    path = sample("mqsim", tmp_path)
    out = tmp_path / "drive.toml"
    run = command("import", "mqsim", str(path), "-o", str(out))
    text = out.read_text()
    assert text.startswith("# Imported from ")
    assert "45 keys set, 13 in part, 3 not imported" in text
    assert "45 keys set, 13 in part, 3 not imported" in run.out
    assert "none  Queue_Fetch_Size = 512: " in run.out
    assert "# Block_Erase_Latency = 3800000\nerase = " in text
    found = flashweir.import_drive("mqsim", path)
    assert flashweir.simulate(QUICK, out)["config"] == flashweir.simulate(QUICK, found.settings)["config"]
    assert max(len(line) for line in text.splitlines()) < 200


def test_the_table_as_json(tmp_path: Path) -> None:
    path = sample("ssdsim", tmp_path)
    table = command("import", "ssdsim", str(path), "--json", "-").json()
    assert table["counts"] == flashweir.import_drive("ssdsim", path).counts
    bus = next(one for one in table["keys"] if one["key"] == "t_WC")
    assert bus["ours"] == {"timing.bus": 25.0, "timing.command": "175ns"}
    assert table["settings"]["alloc.order"] == "CDPW"


def test_nvmevirt_sizes_blocks_by_memory(tmp_path: Path) -> None:
    path = sample("nvmevirt", tmp_path)
    assert flashweir.import_drive("nvmevirt", path).settings["pages_per_block"] == 16
    assert flashweir.import_drive("nvmevirt", path, memory="1TiB").settings["pages_per_block"] == 256
    found = flashweir.import_drive("nvmevirt", path)
    assert found.settings["timing.read"] == ["30013ns", "42013ns"]
    assert found.settings["buffer.bytes"] == "1MiB"
    assert entry(found, "NEW_KEY").status == "none"


def test_programs_of_several_pages_of_nvmevirt_are_one_shot(tmp_path: Path) -> None:
    path = sample("nvmevirt", tmp_path)
    text = path.read_text()
    rates = []
    for pages, cell in ((1, None), (2, "mlc"), (3, None)):
        path.write_text(text.replace("(FLASH_PAGE_SIZE * 1)", f"(FLASH_PAGE_SIZE * {pages})"))
        found = flashweir.import_drive("nvmevirt", path)
        assert found.settings.get("nand.cell") == cell
        assert entry(found, "ONESHOT_PAGE_SIZE").status == ("none" if pages == 3 else "set")
        assert int(str(found.settings["pages_per_block"])) % pages == 0
        if pages < 3:
            small = {"capacity": "256MiB", "host.queue_depth": 32, "precondition": "empty", "host.link": "none"}
            run = flashweir.simulate("sequential:span=128MiB,size=128KiB,count=1000,write=1", found.settings, set=small)
            rates.append(run.iops)
    assert rates[1] > 1.6 * rates[0]


def test_femu_options_and_script_agree(tmp_path: Path) -> None:
    options = flashweir.import_drive("femu", FEMU).settings
    assert flashweir.import_drive("femu", sample("femu", tmp_path)).settings == options
    assert flashweir.import_drive("femu", "femu,devsz_mb=12288,femu_mode=1").settings == options
    assert options["op_raw"] == 0.25
    unknown = flashweir.import_drive("femu", f"{FEMU},wings=2")
    assert entry(unknown, "wings").status == "none"


def test_flows_become_tenants(tmp_path: Path) -> None:
    path = tmp_path / "ssdconfig.xml"
    path.write_text(mqsim(Enabled_Preconditioning="true", Block_No_Per_Plane="64", Flash_Channel_Count="1"))
    flows = tmp_path / "workload.xml"
    urgent = {**FLOW, "Priority_Class": "URGENT", "Read_Percentage": "100", "Address_Distribution": "STREAMING"}
    flows.write_text(workload(FLOW, urgent))
    found = flashweir.import_drive("mqsim", path, workload=flows)
    assert found.settings["fill"] == 0.75
    assert found.settings["host.queue_depth"] == 32
    assert found.settings["host.weights"] == "4,urgent"
    assert found.mix is not None
    tenants = tomllib.loads(found.mix)["tenants"]
    assert tenants["flow2"]["workload"].startswith("sequential:")
    assert "write=0.7," in tenants["flow1"]["workload"]
    mix = tmp_path / "mix.toml"
    mix.write_text(found.mix)
    result = flashweir.simulate(f"mix:{mix}", found.settings, set={"precondition": "on-read", "fill": 1})
    assert result["requests"] == 1000


def test_a_trace_of_mqsim_is_a_tenant(tmp_path: Path) -> None:
    (tmp_path / "run.trace").write_text("1000 0 0 8 0\n51000 0 8192 8 1\n")
    (tmp_path / "ssdconfig.xml").write_text(mqsim())
    (tmp_path / "workload.xml").write_text(workload({"File_Path": "run.trace", "Time_Unit": "NANOSECOND"}))
    args = ("ssdconfig.xml", "workload.xml", "-o", "drive.toml", "--mix", "mix.toml")
    command("import", "mqsim", *args, cwd=tmp_path)
    run = command("simulate", "mix:mix.toml", "--device", "drive.toml", "--json", "-", cwd=tmp_path)
    assert run.json()["requests"] == 2
    assert run.json()["config"]["host"]["mode"] == "open"


@pytest.mark.parametrize("kind", SAMPLES)
def test_simulate_takes_the_file_itself(kind: str, tmp_path: Path) -> None:
    path = sample(kind, tmp_path)
    run = command("simulate", QUICK, "--device", str(path), "--json", "-")
    found = flashweir.import_drive(kind, path)
    assert run.json()["config"] == flashweir.simulate(QUICK, found.settings)["config"].to_dict()
    notes = [line for line in run.err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1
    assert found.summary in notes[0]
    with pytest.warns(flashweir.FlashweirWarning) as warned:
        assert flashweir.simulate(QUICK, path)["config"].to_dict() == run.json()["config"]
    said = f"{path}: {found.simulator}: {found.summary}; flashweir.import_drive({kind!r}, {str(path)!r}) lists them"
    assert [str(one.message) for one in warned] == [said]


def test_drives_sweeps_and_targets_take_the_file_itself(tmp_path: Path) -> None:
    path = sample("femu", tmp_path)
    with pytest.warns(flashweir.FlashweirWarning, match="FEMU: 12 keys set"):
        assert flashweir.Drive(path).finish()["config"]["dies"] == 8
    with pytest.warns(flashweir.FlashweirWarning, match="FEMU: 12 keys set"):
        frame = flashweir.sweep({"device": str(path), "workloads": {"a": QUICK}, "axes": {"channels": [4, 8]}})
    assert [result["config"]["dies"] for _, result in frame.results()] == [8, 8]
    trace = tmp_path / "run.mqsim"
    trace.write_text("1000 0 0 8 0\n51000 0 8192 8 1\n")
    run = command("replay", str(trace), f"sim:{path}", "--json", "-")
    assert run.err.count(f"note: {path}: FEMU: 12 keys set") == 1
    done = run.json()
    assert done["target"]["name"] == f"sim:{path}"
    assert json.dumps(done).count("flashweir-import-") == 0


def test_the_reference_names_every_key(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "import.md").read_text(encoding="utf-8")
    for kind in SAMPLES:
        for one in flashweir.import_drive(kind, sample(kind, tmp_path)).entries:
            assert f"`{one.key}`" in page or one.key == "NEW_KEY", one.key
    assert [key for key in FLOW if f"`{key}`" not in page] == []
