"""Reports that are refused, and targets that are kept."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from conftest import refused
from report_samples import with_recordings
from test_report_build import META, _stand_ins, frame, result

import flashweir
from flashweir.cli.report import write_report
from flashweir.reports import page
from flashweir.reports.shape import difference
from flashweir.reports.sources import read_result
from flashweir.sweeps.frame import SweepFrame

# Fixtures.
__all__ = ["_stand_ins", "result"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iops": "many"}, "key iops to be a number or null"),
        ({"latency_us": []}, "key latency_us to be an object"),
        ({"latency_us": {"read": 1}}, "key latency_us to hold objects"),
        ({"latency_histogram_ns": {"read": [1]}}, "key latency_histogram_ns to hold pairs of numbers from 0 on"),
        ({"channels": [1]}, "key channels to hold objects"),
        ({"requests": True}, "key requests to be a number"),
        ({"iops": math.inf}, "key iops to be a number or null"),
        ({"iops": 10**400}, "key iops to be a number or null"),
        ({"wall_s": "1 s"}, "key wall_s to be a number or null"),
        ({"channels": [{"host": "half"}]}, "key channels.host to be a number or null"),
        ({"latency_us": {"read": {"p99": []}}}, "key latency_us.read.p99 to be a number or null"),
        (
            {"latency_histogram_ns": {"read": [[1, "two"]]}},
            "key latency_histogram_ns to hold pairs of numbers from 0 on",
        ),
        ({"latency_histogram_ns": {"read": [[-1, 2]]}}, "key latency_histogram_ns to hold pairs of numbers from 0 on"),
        ({"streams": {"a": {"latency_us": {}}}}, "key streams.a.latency_histogram_ns"),
        ({"streams": {"a": None}}, "key streams to hold objects"),
        ({"warmup": {"method": "steady"}}, "key warmup.found"),
        ({"warmup": [1]}, "key warmup to be an object or null"),
        ({"series": {}}, "key series.end_s"),
        ({"activity": {"from_s": None}}, "key activity.from_s to be a number"),
    ],
)
def test_what_is_no_result_is_refused(
    tmp_path: Path, result: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    run = tmp_path / "run.json"
    run.write_text(json.dumps({**result, **change}), encoding="utf-8")
    expected = f"{run}: not a result of flashweir simulate --json: expected {message}"
    with pytest.raises(flashweir.ConfigError) as error:
        read_result(run)
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("series", "iops"), [1.0], "key series.iops to be a list of 3 numbers or nulls"),
        (("series", "end_s"), [1.0, None, 3.0], "key series.end_s to be a list of 3 numbers"),
        (("series", "latency_us", "read"), "no list", "key series.latency_us.read to be a list of 3 numbers or nulls"),
        (("activity", "channels"), [7], "key activity.channels to hold objects"),
        (("activity", "channels"), [{}], "key activity.channels[0].host"),
        (("activity", "channels", 0, "gc"), [0.5] * 2, "key activity.channels[0].gc to be a list of 3 numbers"),
        (("activity", "channels", 0, "idle"), [None] * 3, "key activity.channels[0].idle to be a list of 3 numbers"),
        (("activity", "dirty_pages"), None, "key activity.dirty_pages to be a list"),
        (("warmup", "requests"), "5", "key warmup.requests to be a number"),
    ],
)
def test_recordings_that_are_damaged_are_refused(
    result: dict[str, Any], path: tuple[Any, ...], value: object, message: str
) -> None:
    recorded = json.loads(json.dumps(with_recordings(result, channels=1, bins=3)))
    assert not difference(recorded)
    *parents, last = path
    part = recorded
    for key in parents:
        part = part[key]
    part[last] = value
    assert difference(recorded) == message


def test_refusals_of_the_command(tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    run.write_text('{"version": "0.1.0"}', encoding="utf-8")
    (tmp_path / "text.json").write_text("no JSON", encoding="utf-8")
    (tmp_path / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    (tmp_path / "link.html").symlink_to(run)
    page_ = str(tmp_path / "report.html")
    wrong = "not a result of flashweir simulate --json"
    for arguments, message in (
        (["run.json"], "nothing to write: give -o FILE.html, --figures DIR or both"),
        (["run.json", "-o", page_], f"run.json: {wrong}: expected key requests"),
        (["text.json", "-o", page_], f"text.json: {wrong}: not JSON (Expecting value: line 1 column 1 (char 0))"),
        (["deep.json", "-o", page_], f"deep.json: {wrong}: not JSON"),
        (
            ["none.json", "-o", page_],
            "none.json: there is no such file or folder; expected a sweep's folder, or results in JSON",
        ),
        ([".", "-o", page_], ".: no sweep: expected sweep.json in it"),
        (["run.json", "-o", "run.json"], "-o run.json: expected a file of its own: run.json is read already"),
        (["run.json", "-o", "link.html"], "-o link.html: expected a file of its own: run.json is read already"),
        (["run.json", "-o", "none/r.html"], "-o none/r.html: there is no folder none"),
        (["run.json", "-o", "."], "-o .: that is a folder"),
        (["run.json", "-o", "new/"], "-o new/: that is a folder: expected the name of a file, such as report.html"),
        (["run.json", "-o", page_, "--format", "png"], "--format goes with --figures DIR"),
        (["run.json", "--figures", "f", "--format", "gif"], "--format gif: expected one of png, svg, pdf"),
        (["run.json", "--figures", "run.json"], "--figures run.json: expected a folder"),
        (["run.json", "--figures", "none/f"], "--figures none/f: there is no folder none"),
    ):
        assert refused("report", *arguments, cwd=tmp_path).startswith(message), arguments
    assert not Path(page_).exists()


@pytest.fixture
def sweep_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all that a sweep has, and next to it links to it."""
    folder = tmp_path / "sweep"
    (folder / "earlier-1").mkdir(parents=True)
    for name in ("sweep.json", "runs.jsonl", ".lock", "earlier-1/sweep.json"):
        (folder / name).write_text("its own", encoding="utf-8")
    (tmp_path / "link.html").symlink_to(folder / ".lock")
    (tmp_path / "other").symlink_to(folder)
    found = SweepFrame(frame())
    found.directory, found.meta = folder, META
    monkeypatch.setattr("flashweir.sweeps.read_sweep", lambda _: found)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize(
    "target",
    [
        *("sweep/sweep.json", "sweep/runs.jsonl", "sweep/.lock", "sweep/earlier-1/sweep.json", "link.html"),
        *("sweep/runs-00000.parquet", "sweep/earlier-2", "other/.lock", "sweep/earlier-1/report.html"),
    ],
)
def test_what_a_sweep_owns_is_kept(sweep_folder: Path, target: str) -> None:
    before = {path: path.read_text() for path in sweep_folder.rglob("*") if path.is_file()}
    with pytest.raises(flashweir.ConfigError, match=f"^-o {target}: expected a file of its own: .* sweep in sweep$"):
        write_report([Path("sweep")], Path(target), None, None)
    assert {path: path.read_text() for path in sweep_folder.rglob("*") if path.is_file()} == before
    write_report([Path("sweep")], Path("sweep/report.html"), None, None)


def test_a_report_and_figures_do_not_replace_each_other(tmp_path: Path, result: dict[str, Any]) -> None:
    run, figures = tmp_path / "run.json", tmp_path / "figures"
    run.write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(flashweir.ConfigError, match="writes it already"):
        write_report([run], figures, figures, None)
    assert not figures.exists()
    figures.mkdir()
    (tmp_path / "same").symlink_to(figures)
    for output in (figures / "channel-time.svg", tmp_path / "same" / "channel-time.svg"):
        with pytest.raises(flashweir.ConfigError, match=r"expected a file of its own: --figures .* writes it already"):
            write_report([run], output, figures, None)
        assert not list(figures.iterdir())
    write_report([run], figures / "report.html", figures, None)
    assert (figures / "channel-time.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_what_fails_is_said_of_the_target(
    tmp_path: Path, result: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / ".report.html.7.part"))

    run, target = tmp_path / "run.json", tmp_path / "report.html"
    run.write_text(json.dumps(result), encoding="utf-8")
    monkeypatch.setattr(page, "write", full)
    with pytest.raises(flashweir.FlashweirError) as error:
        write_report([run], target, None, None)
    assert str(error.value) == f"{target}: can't be written: No space left on device"
    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(flashweir.FlashweirError) as error:
        write_report([run], None, tmp_path / "figures", None)
    assert str(error.value) == f"--figures {tmp_path / 'figures'}: can't be made: No space left on device"
