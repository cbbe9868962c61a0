"""Grading of the active diagnosis: lists of drives, truth by twins, scores."""

import json
from pathlib import Path

import pytest

from flashweir import diagnose
from research.active import drives, grading, lists, presets
from research.active.__main__ import main
from research.active.truth import SYMPTOMS, Drive, is_bad, truth

MODEL = Path(__file__).resolve().parents[2] / "python" / "tests" / "model_drive.py"


def target(fault: str) -> str:
    return f"py:{MODEL}:Drive,mib=8,dies=2,pages=32,fault={fault}"


def test_every_symptom_needs_a_truth() -> None:
    with pytest.raises(ValueError, match="sim:a: buffer has no truth; expected it in labels, twins or buffer_bytes"):
        Drive.of({"target": "sim:a", "labels": {"mapping": True, "collection": False}})
    with pytest.raises(ValueError, match="colour: unknown key; expected buffer_bytes"):
        Drive.of({"target": "sim:a", "colour": "red"})
    drive = Drive.of({"target": "sim:a", "labels": {"mapping": True, "collection": False}, "buffer_bytes": 0})
    assert truth(drive) == {"mapping": True, "collection": False, "buffer": True}


def test_truth_is_measured_against_twins() -> None:
    well, ill = target("none"), target("random")
    drive = Drive(ill, twins={"mapping": ill, "collection": well}, buffer_bytes=1 << 20)
    assert truth(drive) == {"mapping": False, "collection": True, "buffer": False}
    assert is_bad((100.0, 100.0), (100.0, 80.0))
    assert not is_bad((100.0, 100.0), (81.0, 81.0))


def test_uncertain_on_an_ill_drive_is_a_miss() -> None:
    def one(ill: bool, said: str) -> grading.Graded:
        return grading.Graded(Drive("sim:a"), dict.fromkeys(SYMPTOMS, ill), dict.fromkeys(SYMPTOMS, said))

    found = [one(True, "bad"), one(True, "uncertain"), one(False, "good"), one(False, "bad"), one(False, "unknown")]
    precision, recall = grading.score(found, "mapping")
    assert (precision.part, precision.whole, recall.part, recall.whole) == (1, 2, 1, 2)


def test_simulated_drives_are_the_same_for_a_seed() -> None:
    assert list(drives.simulated(8, 1)) == list(drives.simulated(8, 1))
    assert list(drives.simulated(8, 1)) != list(drives.simulated(8, 2))
    assert {drive.group for drive in drives.simulated(30, 1)} == {"sim healthy", "sim mapping", "sim collection"}


def test_a_list_is_graded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = {"mapping": False, "collection": False, "buffer": True}
    given = [{"target": f"{target('none')},buffer=0", "labels": labels, "group": "ours"}]
    (tmp_path / "drives.json").write_text(json.dumps([*given, {"target": "sim:nothing", "labels": labels}]))
    assert main([str(tmp_path / "drives.json")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 drives, 1 of them failed\n")
    assert "buffer: precision 1.000" in out
    assert "failed: sim:nothing: " in out
    (tmp_path / "drives.json").write_text("[{}]")
    assert main([str(tmp_path / "drives.json")]) == 2


def test_lines_of_the_models_are_a_list(tmp_path: Path) -> None:
    labels = {"mapping": False, "collection": False, "buffer": True}
    parameters = {"state": "used", "jitter": "0.05", "discard": "no"}
    line = {"number": 0, "target": "py:research/models/processes/drive.py:ProcessDrive", "labels": labels}
    (tmp_path / "drives.jsonl").write_text(json.dumps(line | {"parameters": parameters}) + "\n")
    (drive,) = lists.read(tmp_path / "drives.jsonl")
    assert (drive.labels, drive.depth, drive.group) == (labels, 1, "model processes, depth 1")
    assert drive.groups == ("state used", "noise below 0.1", "discards no")


def test_a_run_goes_on_from_kept_results(tmp_path: Path) -> None:
    one = grading.Graded(Drive("sim:a"), dict.fromkeys(SYMPTOMS, True), dict.fromkeys(SYMPTOMS, "bad"))
    grading.Kept(tmp_path / "kept.jsonl").add(one)
    assert grading.Kept(tmp_path / "kept.jsonl").of([one.drive, Drive("sim:b")]) == [one]
    assert grading.Kept(None).of([one.drive]) == []


@pytest.mark.parametrize("name", presets.names())
def test_verdicts_on_every_preset_are_the_truth(name: str) -> None:
    drive = presets.preset(name)
    found = diagnose(drive.target, active=True)["symptoms"]
    said = {symptom: found[symptom]["verdict"] for symptom in SYMPTOMS}
    assert said == {symptom: "bad" if ill else "good" for symptom, ill in truth(drive).items()}


@pytest.mark.parametrize(
    ("settings", "symptom"),
    [("ftl.kind=bast", "mapping"), ("gc.victim=random", "collection"), ("buffer.bytes=0", "buffer")],
)
def test_a_fault_of_a_preset_is_found_in_its_place(settings: str, symptom: str) -> None:
    # Of one without firmware times: ftl.kind=bast has no mapping units.
    target = f"{presets.preset('mlc-2006').target},buffer.bytes=1MiB,{settings}"
    found = diagnose(target, active=True)["symptoms"]
    assert [name for name in SYMPTOMS if found[name]["verdict"] == "bad"] == [symptom]


@pytest.mark.parametrize(
    "settings",
    [
        # A cache of cells with one bit as large as a quarter of the drive: writes in order are slow behind it as well.
        "ufs,channels=2,dies=2,pages_per_block=48,capacity=240MiB,slc.static_blocks=32",
        "emmc,pages_per_block=48,capacity=256MiB,slc.static_blocks=60",
        # 32 superblocks of all dies.
        "zn540,pages_per_block=12,capacity=384MiB",
    ],
)
def test_caches_and_superblocks_are_no_fault(settings: str) -> None:
    assert diagnose(f"sim:{settings}", active=True)["verdict"] == "healthy"


def test_a_drive_of_five_superblocks_has_no_fault() -> None:
    # It collects greedily. Where so few blocks show nothing, the verdict may be open.
    found = diagnose("sim:zn540,pages_per_block=96,capacity=256MiB,op_ratio=1", active=True)["symptoms"]["collection"]
    assert found["verdict"] in ("good", "uncertain")
