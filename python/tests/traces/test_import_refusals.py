"""Imports that are refused: one line that says what, where, and what was expected; nothing half-written."""

from pathlib import Path

import pytest
from conftest import flashweir as command
from import_samples import FEMU, FLOW, NVMEVIRT, SSDSIM, mqsim, workload

import flashweir

BAD_MQSIM = [
    ("<a><b></a>", "not XML: mismatched tag"),
    ("", "not XML: no element found"),
    ("<Execution_Parameter_Set/>", "none of MQSim's keys"),
    ("<drive/>", "<drive>: expected <Execution_Parameter_Set>"),
    ('<!DOCTYPE a [<!ENTITY b "c">]><Execution_Parameter_Set/>', "expected XML without a document type"),
    (mqsim(Flash_Channel_Count="many"), "Flash_Channel_Count = 'many': expected a whole number from 1 to"),
    (mqsim(Flash_Channel_Count="-8"), "Flash_Channel_Count = '-8': expected a whole number"),
    (mqsim(Flash_Channel_Count="9" * 40), "Flash_Channel_Count = '9999"),
    (mqsim(Overprovisioning_Ratio="nan"), "Overprovisioning_Ratio = 'nan': expected a number from"),
    (mqsim(Ideal_Mapping_Table="maybe"), "Ideal_Mapping_Table = 'maybe': expected true or false"),
    (mqsim(GC_Block_Selection_Policy="BEST"), "GC_Block_Selection_Policy = 'BEST': expected one of GREEDY"),
    (mqsim(Page_Capacity="1000"), "Page_Capacity = '1000': expected a multiple of 512"),
    (mqsim(Memory_Type="TAPE"), "Memory_Type = 'TAPE': expected FLASH"),
    (mqsim(Flash_Channel_Count="4000000000", Chip_No_Per_Channel="4000000000"), "its values make no drive: "),
]
OTHERS = [
    ("ssdsim", "hello = 1;\n", "expected SSDsim's page.parameters"),
    ("ssdsim", SSDSIM.replace("t_PROG = 200000", "t_PROG = soon"), "t_PROG = 'soon': expected a whole number"),
    ("ssdsim", SSDSIM.replace("die number = 2;\n", ""), "die number is missing"),
    ("nvmevirt", "#define MDTS 5\n", "no NAND_CHANNELS for SAMSUNG_970PRO"),
    ("nvmevirt", f"{NVMEVIRT}#else\n", "#else without #if"),
    ("nvmevirt", f"#if 1\n{NVMEVIRT}", "an #if has no #endif"),
    ("nvmevirt", NVMEVIRT.replace("(185000)", "(1/0)"), "NAND_PROG_LATENCY = '(1/0)': expected a whole number"),
    ("nvmevirt", NVMEVIRT.replace("(185000)", "LOOP\n#define LOOP LOOP"), "NAND_PROG_LATENCY = 'LOOP': expected"),
    ("femu", "#!/bin/sh\necho femu\n", "no option of FEMU"),
    ("femu", FEMU.replace("devsz_mb=12288", "devsz_mb=99999"), "devsz_mb = '99999': expected less than the 16384 MiB"),
    ("femu", FEMU.replace("femu_mode=1", "femu_mode=2"), "femu_mode = '2': expected 1: the black-box drive"),
]  # fmt: skip


def refused(*args: str, cwd: Path) -> str:
    """The one line of an import that is refused, which leaves no output."""
    run = command("import", *args, "-o", "out.toml", cwd=cwd, code=2)
    assert not (cwd / "out.toml").exists()
    lines = run.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert len(lines[0]) < 400
    return lines[0]


@pytest.mark.parametrize(("text", "message"), BAD_MQSIM, ids=[message for _, message in BAD_MQSIM])
def test_bad_files_of_mqsim(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "ssdconfig.xml").write_text(text)
    with pytest.raises(flashweir.ConfigError) as error:
        flashweir.import_drive("mqsim", tmp_path / "ssdconfig.xml")
    assert message in str(error.value)
    assert "ssdconfig.xml" in str(error.value)


@pytest.mark.parametrize(("kind", "text", "message"), OTHERS, ids=[message for *_, message in OTHERS])
def test_bad_files_of_others(kind: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(flashweir.ConfigError) as error:
        flashweir.import_drive(kind, tmp_path / "file")
    assert message in str(error.value)


def test_a_command_that_is_refused_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text("<a>")
    (tmp_path / "good.xml").write_text(mqsim())
    (tmp_path / "flows.xml").write_text(workload({**FLOW, "Read_Percentage": "101"}))
    (tmp_path / "empty.xml").write_text(workload())
    (tmp_path / "binary").write_bytes(b"\0\1\2")
    assert "bad.xml: not XML" in refused("mqsim", "bad.xml", cwd=tmp_path)
    assert "no.xml: there is no such file" in refused("mqsim", "no.xml", cwd=tmp_path)
    assert "expected one of mqsim, ssdsim" in refused("disksim", "good.xml", cwd=tmp_path)
    assert "binary: no text" in refused("ssdsim", "binary", cwd=tmp_path)
    assert "--mix F.toml" in refused("mqsim", "good.xml", "flows.xml", cwd=tmp_path)
    mix = ("--mix", "mix.toml")
    assert "Read_Percentage = '101'" in refused("mqsim", "good.xml", "flows.xml", *mix, cwd=tmp_path)
    assert "no flow in its first" in refused("mqsim", "good.xml", "empty.xml", *mix, cwd=tmp_path)
    assert "expected with mqsim alone" in refused("ssdsim", "good.xml", "flows.xml", *mix, cwd=tmp_path)
    assert "--model: expected with nvmevirt alone" in refused("mqsim", "good.xml", "--model", "X", cwd=tmp_path)
    assert not (tmp_path / "mix.toml").exists()


def test_models_and_memory_of_nvmevirt(tmp_path: Path) -> None:
    (tmp_path / "ssd_config.h").write_text(NVMEVIRT)
    wrong = refused("nvmevirt", "ssd_config.h", "--model", "MINE", cwd=tmp_path)
    assert wrong == "error: --model MINE: expected one of INTEL_OPTANE, SAMSUNG_970PRO"
    assert "--memory much: expected a size" in refused("nvmevirt", "ssd_config.h", "--memory", "much", cwd=tmp_path)


def test_files_are_replaced_with_force_alone(tmp_path: Path) -> None:
    (tmp_path / "ssdconfig.xml").write_text(mqsim())
    args = ("import", "mqsim", "ssdconfig.xml", "-o", "drive.toml")
    command(*args, cwd=tmp_path)
    assert "is there already: --force replaces it" in command(*args, cwd=tmp_path, code=2).err
    command(*args, "--force", cwd=tmp_path)
    (tmp_path / "drive.toml").write_text("mine = 1\n")
    assert "expected another name" in command(*args, "--force", cwd=tmp_path, code=2).err
    own = ("import", "mqsim", "ssdconfig.xml", "-o", "ssdconfig.xml", "--force")
    assert command(*own, cwd=tmp_path, code=2).err.count("\n") == 1


def test_a_device_that_is_a_bad_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "ssdconfig.xml").write_text(mqsim(Flash_Channel_Count="0"))
    run = command("simulate", "random:count=1", "--device", "ssdconfig.xml", cwd=tmp_path, code=2)
    assert run.err.startswith("error: ssdconfig.xml: Flash_Channel_Count = '0': expected a whole number")
