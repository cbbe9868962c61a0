"""Names of drives in benchmarks: their own, their models, and their files where names are the same."""

from pathlib import Path

import pytest

from flashweir.benchmark import naming


def test_the_model_of_a_block_device_is_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a partition that of its drive; a file has none."""
    drive = tmp_path / "devices" / "nvme0n1"
    (drive / "device").mkdir(parents=True)
    (drive / "device" / "model").write_text("Some SSD  2TB \n", encoding="utf-8")
    (drive / "nvme0n1p1").mkdir()
    (drive / "nvme0n1p1" / "partition").write_text("1\n", encoding="utf-8")
    classes = tmp_path / "class"
    classes.mkdir()
    for name, place in (("nvme0n1", drive), ("nvme0n1p1", drive / "nvme0n1p1")):
        (classes / name).symlink_to(place)
        (tmp_path / name).write_text("", encoding="utf-8")
    assert naming.model_of(str(tmp_path / "nvme0n1"), classes) is None, "a file"
    assert naming.model_of("sim:tlc", classes) is None
    monkeypatch.setattr("stat.S_ISBLK", lambda _: True)
    assert naming.model_of(str(tmp_path / "nvme0n1"), classes) == "Some SSD 2TB"
    assert naming.model_of(str(tmp_path / "nvme0n1p1"), classes) == "Some SSD 2TB"
    assert naming.model_of(str(tmp_path / "loop0"), classes) is None


@pytest.mark.parametrize(
    ("names", "files", "expected"),
    [
        (["wd"], ["wd.json"], ["wd"]),
        (["x", "x"], ["a.json", "b.json"], ["x (a)", "x (b)"]),
        (["b", ""], ["a.json", "b.json"], ["b (a)", "b"]),
        (["", "y"], ["a.json", "b.json"], ["a", "y"]),
    ],
)
def test_equal_names_of_drives_get_their_files(names: list[str], files: list[str], expected: list[str]) -> None:
    results = [{"name": name} if name else {} for name in names]
    assert naming.labels(results, files) == expected


def test_a_target_that_leads_to_itself_has_no_model(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert naming.model_of(str(loop)) is None
