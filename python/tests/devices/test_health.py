"""Health logs of drives: recognised in all their forms, in the right units, refused in one line."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import flashweir, refused

import flashweir as package
from flashweir.healthlogs.drives import logs_of, read_drive

if TYPE_CHECKING:
    from collections.abc import Callable

SMART = {"critical_warning": 0, "temperature": 311, "avail_spare": 100, "percent_used": 1, "data_units_read": 1000,
         "data_units_written": 2000, "media_errors": 0, "warning_temp_time": 0, "critical_comp_time": 0,
         "thm_temp1_trans_count": 1, "thm_temp2_trans_count": 0, "thm_temp1_total_time": 5,
         "thm_temp2_total_time": 0}  # fmt: skip
OCP = {"Physical media units written": {"hi": 0, "lo": 2**63}, "Physical media units read": {"hi": 0, "lo": 10},
       "Number of Thermal throttling events": 254, "Current throttling status": 0}  # fmt: skip
GROUP = {"critical_warning": 0, "avl_spare": 99, "percent_used": 2, "data_units_read": 1, "data_units_written": 100,
         "media_units_written": 300, "media_data_integrity_err": 0}  # fmt: skip
FDP = {"hbmw": 1_000_000, "mbmw": 3_000_000, "mbe": 5}


def sata(written: int, nand: int, **more: Any) -> dict[str, Any]:
    table = [{"id": 241, "name": "Total_LBAs_Written", "value": 99, "raw": {"value": written}},
             {"id": 249, "name": "NAND_Writes_1GiB", "value": 100, "raw": {"value": nand}},
             {"id": 177, "name": "Wear_Leveling_Count", "value": 97, "raw": {"value": 7}}]  # fmt: skip
    return {"smartctl": {}, "serial_number": "S1", "logical_block_size": 512, "temperature": {"current": 35},
            "ata_smart_attributes": {"table": table}, **more}  # fmt: skip


def written(folder: Path, name: str, value: object) -> Path:
    (folder / name).write_text(json.dumps(value))
    return folder / name


def changed(folder: Path, before: object, after: object) -> Any:
    return package.health(written(folder, "before.json", before), written(folder, "after.json", after))


def test_units_of_a_smart_log_are_512000_bytes_and_kelvin(tmp_path: Path) -> None:
    after = {**SMART, "data_units_written": "2,010", "data_units_read": 1001, "temperature": 320, "percent_used": 2,
             "thm_temp1_trans_count": 4, "thm_temp1_total_time": 65}  # fmt: skip
    found = changed(tmp_path, SMART, after)
    assert (found.host_written_bytes, found.host_read_bytes, found.media_written_bytes) == (5_120_000, 512_000, None)
    assert found.temperature_c.to_dict() == {"before": 38, "after": 47}
    assert found.percent_used.to_dict() == {"before": 1, "after": 2}
    assert found.throttling.to_dict() == {"events": 3, "seconds": 60, "too_hot_minutes": 0}
    assert found.write_amplification is None


def test_media_bytes_of_ocp_over_host_bytes_of_smart(tmp_path: Path) -> None:
    grown = {**OCP, "Physical media units written": {"hi": 0, "lo": 2**63 + 1_024_000_000},
             "Number of Thermal throttling events": 1}  # fmt: skip
    files = [written(tmp_path, f"{number}.json", log) for number, log in
             enumerate((SMART, OCP, {**SMART, "data_units_written": 3000}, grown))]  # fmt: skip
    found = package.health(files[:2], files[2:])
    assert found.write_amplification.value == 2.0
    assert found.write_amplification.by == "OCP C0h over smart-log"
    assert found.write_amplification.low < 2 < found.write_amplification.high
    # The count has 8 bits.
    assert found.throttling.events == 3


def test_halves_and_names_of_the_second_form_of_ocp(tmp_path: Path) -> None:
    before = {"physical_media_units_written": {"hi": 0, "lo": 2**64 - 1}}
    found = changed(tmp_path, before, {"physical_media_units_written": {"hi": 1, "lo": 9}})
    assert found.media_written_bytes == 10


def test_fdp_statistics_are_bytes_and_endurance_groups_billions(tmp_path: Path) -> None:
    found = changed(tmp_path, FDP, {"hbmw": 3_000_000, "mbmw": 6_000_000, "mbe": 7})
    assert found.write_amplification.value == 1.5
    found = changed(tmp_path, GROUP, {**GROUP, "data_units_written": 200, "media_units_written": 420})
    assert (found.host_written_bytes, found.media_written_bytes) == (10**11, 12 * 10**10)
    ratio = found.write_amplification
    assert (ratio.value, ratio.by) == (1.2, "endurance group")
    assert (ratio.low, ratio.high) == (pytest.approx(119 / 101), pytest.approx(121 / 99))


def test_smartctl_of_nvme_and_of_sata(tmp_path: Path) -> None:
    inner = {**SMART, "temperature": 38, "percentage_used": 1, "available_spare": 100}
    del inner["percent_used"]
    after = {**inner, "data_units_written": 2001}
    found = changed(
        tmp_path, {"nvme_smart_health_information_log": inner}, {"nvme_smart_health_information_log": after}
    )
    assert (found.host_written_bytes, found.temperature_c.after, found.percent_used.after) == (512_000, 38, 1)
    found = changed(tmp_path, sata(0, 10), sata(4 * 2**21, 16))
    assert (found.host_written_bytes, found.media_written_bytes) == (4 * 2**30, 6 * 2**30)
    assert (found.write_amplification.value, found.percent_used.after, found.temperature_c.after) == (1.5, 3, 35)
    statistics = {"pages": [{"table": [{"name": "Logical Sectors Written", "value": 8}]}]}
    found = changed(tmp_path, sata(0, 1, ata_device_statistics=statistics), sata(99, 1, ata_device_statistics={
        "pages": [{"table": [{"name": "Logical Sectors Written", "value": 16}]}]}))  # fmt: skip
    assert found.host_written_bytes == 8 * 512


def test_pages_of_host_and_ftl_give_an_amplification_without_bytes(tmp_path: Path) -> None:
    def pages(host: int, ftl: int) -> dict[str, Any]:
        rows = [{"id": 247, "name": "Host_Program_Page_Count", "raw": {"value": host}},
                {"id": 248, "name": "FTL_Program_Page_Count", "raw": {"value": ftl}}]  # fmt: skip
        return {"ata_smart_attributes": {"table": rows}}

    assert changed(tmp_path, pages(100, 50), pages(1100, 550)).write_amplification.value == 1.5


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, SMART, "before.json: expected the JSON of nvme smart-log"),
        (SMART, [], "after.json: expected the JSON of nvme smart-log"),
        (SMART, {**SMART, "data_units_written": "x"}, 'data_units_written: expected a number, found "x"'),
        (SMART, {**SMART, "data_units_written": 1}, "host_written: 512,000 bytes; expected at least 1,024,000,000"),
        (SMART, FDP, "FDP statistics: expected this log before and after"),
        (sata(0, 1), sata(1, 1, serial_number="S2"), "of drive S2; expected S1, as in"),
        (sata(0, 1), {"ata_smart_attributes": {"table": [{"name": "x", "raw": 5}]}}, "x.raw.value: expected a number"),
        ({"nvme_smart_health_information_log": 1}, SMART, "nvme_smart_health_information_log: expected an object"),
    ],
)
def test_bad_logs_are_refused_in_one_line(before: object, after: object, said: str, tmp_path: Path) -> None:
    with pytest.raises(package.ConfigError) as raised:
        changed(tmp_path, before, after)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_commands_print_health_beside_latencies(tmp_path: Path) -> None:
    written(tmp_path, "a.json", FDP)
    written(tmp_path, "b.json", {"hbmw": 3_000_000, "mbmw": 6_000_000, "mbe": 7})
    run = ["replay", "random:span=8MiB,count=50,rate=1000", "sim:tlc,capacity=2GiB"]
    given = ["--health-before", "a.json", "--health-after", "b.json"]
    out = flashweir(*run, *given, cwd=tmp_path).out
    assert "amplification   1.500 measured" in out
    assert "host            2.0 MB written" in out
    found = flashweir(*run, *given, "--json", "-", cwd=tmp_path).json()
    assert found["health"]["write_amplification"]["value"] == 1.5
    assert flashweir(*run, "--json", "-", cwd=tmp_path).json()["health"] is None


def test_options_are_checked_before_the_run_and_a_bad_log_after_it_is_a_warning(tmp_path: Path) -> None:
    written(tmp_path, "a.json", FDP)
    run = ["replay", "random:span=8MiB,count=50,rate=1000", "sim:tlc,capacity=2GiB"]
    assert "--health-before: expected --health-after with it" in refused(
        *run, "--health-before", "a.json", cwd=tmp_path
    )
    given = ["--health-before", "none.json", "--health-after", "a.json"]
    assert "--health-before none.json: No such file" in refused(*run, *given, cwd=tmp_path)
    done = flashweir(*run, "--health-before", "a.json", "--health-after", "none.json", "--json", "-", cwd=tmp_path)
    assert done.json()["health"] is None
    assert "warning: health: --health-after none.json: No such file" in done.err


@pytest.mark.parametrize("name", ["bench", "pts", "replay", "probe", "diagnose"])
def test_functions_take_health_logs(name: str, tmp_path: Path) -> None:
    before = written(tmp_path, "a.json", SMART)
    after = written(tmp_path, "b.json", {**SMART, "data_units_written": 2100})
    drive = "sim:slc-2006,capacity=256MiB"
    calls: dict[str, Callable[..., Any]] = {
        "bench": lambda **logs: package.bench(drive, suites=["transfer"], scale=0.01, **logs),
        "pts": lambda **logs: package.bench("sim:slc-2006,capacity=16MiB", pts=["latency"], **logs),
        "replay": lambda **logs: package.replay("random:span=8MiB,count=50,rate=1000", drive, **logs),
        "probe": lambda **logs: package.probe("sim:slc-2006,capacity=64MiB", **logs),
        "diagnose": lambda **logs: package.diagnose(tmp_path / "log.parquet", **logs),
    }
    package.replay("random:span=8MiB,count=500,rate=1000", "sim:tlc,capacity=2GiB", log=tmp_path / "log.parquet")
    # The second log is read after the run.
    assert calls[name](health_before=before, health_after=[after])["health"]["host_written_bytes"] == 51_200_000
    assert calls[name]()["health"] is None
    with pytest.raises(package.ConfigError, match="health_before: expected health_after with it"):
        calls[name](health_before=before)
    with pytest.raises(package.ConfigError, match=r"health_before: 5: expected a path, or a list"):
        calls[name](health_before=5, health_after=after)
    with pytest.warns(package.FlashweirWarning, match=r"health: health_after=.*none.json: No such file"):
        assert calls[name](health_before=before, health_after=tmp_path / "none.json")["health"] is None


def test_drives_are_asked_by_the_programs_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvme"
    program.write_text(
        f"#!/bin/sh\ncase \"$1\" in smart-log) echo '{json.dumps(SMART)}';; *) echo unknown; exit 1;; esac\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    (log,) = logs_of("/dev/nvme0n1", "/dev/nvme0")
    assert log.amounts["host_written"].bytes == 2000 * 512_000
    # Neither simulated drives nor files are asked.
    assert read_drive("sim:tlc") == read_drive(str(tmp_path / "file")) == []


@pytest.mark.parametrize(
    "command",
    [
        ["bench", "sim:slc-2006,capacity=32MiB", "--pts", "latency"],
        ["bench", "sim:slc-2006,capacity=256MiB", "--suite", "transfer", "--scale", "0.01"],
        ["diagnose", "log.parquet"],
    ],
)
def test_other_commands_take_health_logs_too(command: list[str], tmp_path: Path) -> None:
    written(tmp_path, "a.json", SMART)
    written(tmp_path, "b.json", {**SMART, "data_units_written": 2100, "temperature": 330})
    if command[0] == "diagnose":
        workload = "random:span=8MiB,count=500,rate=1000"
        flashweir("replay", workload, "sim:tlc,capacity=2GiB", "-o", "log.parquet", cwd=tmp_path)
    given = ["--health-before", "a.json", "--health-after", "b.json"]
    found = flashweir(*command, *given, "--json", "-", cwd=tmp_path).json()["health"]
    assert (found["host_written_bytes"], found["temperature_c"]["after"]) == (51_200_000, 57)
    assert "temperature     38 to 57 C" in flashweir(*command, *given, cwd=tmp_path).out
