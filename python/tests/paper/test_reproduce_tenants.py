"""Channels for tenants, reproduced: what its figures are made of, and what is said where traces are missing."""

import re
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, flashweir, refused

from flashweir.reproduction import catalogue, reproduce, shipped
from flashweir.reproduction.curves import Curve, Entry, Pick
from flashweir.reproduction.shapes import complete, follows

PAPER = catalogue.named("ssdkeeper2024", catalogue.papers())
NEEDED = next(one for one in PAPER.experiments if one.name == "figure-5")
LEVELS: dict[str, Any] = {
    "one": [{"level": 1, "windows": 3, "share": 0.5}, {"level": 20, "windows": 1, "share": 0.875}],
    "other": [{"level": 1, "windows": 1, "share": 0.9}, {"level": 3, "windows": 2, "share": 0.25}],
}


def levels_of(row: Any) -> Any:
    return {"allocation": {"levels": LEVELS.get(row["mix"])}}


def pick(**options: Any) -> Pick:
    return Pick(points="allocation.levels", entry=Entry("level", "share", "windows"), **options)


def test_entries_of_one_place_are_averaged_by_their_weight_over_all_runs() -> None:
    rows = [{"mix": "one", "error": None}, {"mix": "other", "error": None}]
    (curve,) = pick().family(rows, levels_of)
    assert curve.names == ("1", "3", "20")
    assert curve.y == pytest.approx([(3 * 0.5 + 0.9) / 4, 0.25, 0.875])
    assert [found.names for found in pick(each=("mix",)).family(rows, levels_of)] == [("1", "20"), ("1", "3")]


def test_runs_without_entries_are_missing() -> None:
    rows = [{"mix": "one", "error": None}, {"mix": "none", "error": None}, {"mix": "other", "error": "no"}]
    (curve,) = pick().family(rows, levels_of)
    assert curve.missing == 2
    (curve,) = Pick(points="allocation.levels", entry=Entry("level", "nothing")).family(rows[:1], levels_of)
    assert (curve.missing, curve.y) == (2, ())


def line(*y: float, names: tuple[str, ...] | None = None) -> Curve:
    return Curve({}, names or tuple(map(str, range(1, len(y) + 1))), y)


def test_a_curve_follows_another_one() -> None:
    assert follows(line(0.1, 0.5, 0.9), line(2.0, 4.0, 6.0), least=0.99).ok
    assert follows(line(0.1, 0.5, 0.9), line(2.0, 4.0, 6.0), least=0.99).said == "correlation 1.00 over 3 places"
    assert not follows(line(0.1, 0.5, 0.9), line(6.0, 4.0, 2.0), least=0.0).ok
    assert follows(line(0.5, 0.5, 0.5), line(2.0, 4.0, 6.0), least=0.0) == (False, "one of them does not change", "")
    assert not follows(line(0.1, 0.5), line(2.0, 4.0), least=0.0).ok


def test_a_complete_curve_has_every_place() -> None:
    assert complete(line(1.0, 1.0, 1.0), first=1, last=3).ok
    assert complete(line(1.0, 1.0, names=("1", "3")), first=1, last=4).said == "none at 2, 4"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{ y = "iops", entry = { x = "a", y = "b" } }', "expected with points, and without x, step and origin"),
        ('{ points = "a", step = "c", entry = { x = "a", y = "b" } }', "expected with points, and without x"),
        ('{ points = "a", entry = { x = "a" } }', "curves.one.entry.y: expected this key"),
        ('{ points = "a", entry = { x = "a", y = "b", z = "c" } }', "curves.one.entry.z: unknown key"),
    ],
)
def test_a_wrong_entry_is_one_line(tmp_path: Path, line: str, message: str) -> None:
    root = sample(tmp_path, f"[curves]\none = {line}\n")
    assert message in refused("reproduce", "sample", "--experiments", str(root))


def sample(tmp_path: Path, content: str, name: str = "figure-1", top: str = "") -> Path:
    """A folder of experiments with a paper that has one."""
    folder = tmp_path / "papers" / "01-sample" / name
    folder.mkdir(parents=True)
    (folder.parent / "paper.toml").write_text('name = "sample"\ntitle = "A sample"\n', encoding="utf-8")
    (folder / "experiment.toml").write_text(f'title = "One"\nfigures = [1]\n{top}\n{content}', encoding="utf-8")
    for sweep in ("sweep.toml", "quick.toml"):
        (folder / sweep).write_text('workloads = "random:count=10"\n', encoding="utf-8")
    return tmp_path / "papers"


VALUE = """
[curves]
iops = { y = "iops" }

[[values]]
where = "1"
unit = "IOPS"
of = "iops"
rows = [{ name = "iops@1" }]
"""


def test_missing_traces_are_one_line_and_the_others_are_run(tmp_path: Path) -> None:
    root = sample(tmp_path, VALUE, top='traces = "../nowhere"')
    place = tmp_path.resolve() / "papers" / "01-sample" / "nowhere"
    need = "figure-1: needs recorded traces, which do not ship: expected them"
    message = f"{need} in {place}, or in the folder of --traces"
    assert refused("reproduce", "sample", "--experiments", str(root), code=3) == message
    sample(tmp_path, VALUE.replace("@1", "@2"), "figure-2")
    done = flashweir("reproduce", "sample", "--experiments", str(root), code=3)
    assert done.err == f"error: {message}\n"
    both = ("reproduce", "sample", "--experiments", str(root), "--traces", str(tmp_path))
    assert "expected the experiments that ship" in refused(*both)
    assert "expected a folder" in refused("reproduce", "ssdkeeper2024", "--traces", str(tmp_path / "none"))
    assert f"not run: {message}" in done.out.replace("\n", " ") or "not run: figure-1" in done.out
    (found,) = reproduce("sample", experiments=root)
    assert [row["name"] for row in found.rows] == ["iops@2"]
    assert found.to_dict()["skipped"] == [message]


def test_traces_beside_the_experiment_are_found(tmp_path: Path) -> None:
    root = sample(tmp_path, VALUE, top='traces = ".."')
    (found,) = reproduce("sample", experiments=root)
    assert "skipped" not in found.to_dict()
    assert len(found.rows) == 1


def test_a_folder_of_traces_stands_for_the_one_beside_the_sources(tmp_path: Path) -> None:
    with shipped.with_traces(tmp_path) as copy:
        (paper,) = (one for one in catalogue.papers(copy) if one.name == "ssdkeeper2024")
        places = {one.traces.resolve() for one in paper.experiments if one.traces is not None}
        assert places == {tmp_path.resolve()}
        mix = copy / paper.folder.name / "mix-msr.toml"
        (tmp_path / "msr-rsrch_1.msr.csv.zst").touch()
        named = re.findall(r'workload = "(.*rsrch_1.*)"', mix.read_text())
        assert (mix.parent / named[0]).exists()
    assert not copy.exists()


def test_an_installed_package_has_no_traces_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "site-packages" / "flashweir" / "experiments"
    shutil.copytree(shipped.SHIPPED.resolve(), installed, ignore=shutil.ignore_patterns("*.svg"))
    monkeypatch.setattr(shipped, "SHIPPED", installed)
    (paper,) = (one for one in catalogue.papers(installed) if one.name == "ssdkeeper2024")
    lacks = {one.lacks for one in paper.experiments if one.traces is not None}
    assert all(reason.endswith("which do not ship: expected them in the folder of --traces") for reason in lacks), lacks


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of ssdkeeper2024, which both tests of it continue: those of the first are part of the second's."""
    return tmp_path_factory.mktemp("runs")


def test_erases_depend_on_what_is_written_whoever_gets_which_channels(runs: Path) -> None:
    """Needs no recorded traces."""
    (found,) = reproduce("ssdkeeper2024", figure="erases", quick=True, directory=runs)
    assert found.failed == []
    assert [one["claim"] for one in found.shapes if not one["ok"]] == []


@pytest.mark.skipif(bool(NEEDED.lacks), reason=NEEDED.lacks or "traces")
def test_what_came_out(runs: Path) -> None:
    (found,) = reproduce("ssdkeeper2024", quick=True, directory=runs)
    assert found.failed == []
    assert found.skipped == []
    rows = {row["name"]: row for row in found.rows}
    for quantity in ("read", "program", "erase", "total"):
        for strategy in ("partially-isolated", "shared", "SSDsim", "SSDkeeper", "SSDkeeper-same"):
            row = rows[f"{quantity}.{strategy}@hour"]
            assert row["published"] is not None
            assert row["measured"] >= 0
    # The paper's own interval, one request at a time: no strategy erases, and dynamic allocation is the fastest.
    assert all(rows[f"erase.{strategy}@msr-0.1-s-apart"]["measured"] == 0 for strategy in ("SSDsim", "SSDkeeper"))
    claims = {one["claim"]: one["ok"] for one in found.shapes if "by" not in one}
    assert claims["the share of channels for writes follows the workload from level to level"]
    assert claims["all levels from 1 to 20 occur"]
    assert not claims["SSDkeeper has the lowest total, then SSDsim, then shared, and partially isolated the highest"]


def test_the_folder_names_where_its_traces_are() -> None:
    recorded = [one for one in PAPER.experiments if one.name not in ("erases", "boundary")]
    assert all(one.traces is not None and one.traces.name == "traces" for one in recorded)
    readme = (ROOT / "experiments" / "04-ssdkeeper2024" / "README.md").read_text(encoding="utf-8")
    assert "shared/traces" in readme


def test_assumptions_about_recorded_traces_are_said(tmp_path: Path) -> None:
    root = sample(tmp_path, VALUE, top='traces = ".."')
    record = struct.pack("<IQIq", 1, 7, 4096, -1)
    (root / "01-sample" / "t.oracleGeneral.bin").write_bytes(record * 1000)
    spec = 'workloads = "../t.oracleGeneral.bin"\nformat = "oracle-general"\nwrap = true\n'
    (root / "01-sample" / "figure-1" / "sweep.toml").write_text(spec, encoding="utf-8")
    done = flashweir("reproduce", "sample", "--experiments", str(root))
    assert done.err.startswith(
        "note: t.oracleGeneral.bin: the format has no operations: all requests are taken as reads"
    )
