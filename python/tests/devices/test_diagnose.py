"""`flashweir diagnose`: drives whose faults are known, logs that are rubbish, and what is written."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, SHIPPED_TRACE, ends_with_machine, flashweir

from flashweir import TraceError, diagnose, simulate
from flashweir.charts.model import Cloud
from flashweir.charts.plotly import figure
from flashweir.diagnosis import report
from flashweir.reports.model import Facts, Text

# An empty drive is written twice over at random, as long as its healthy form needs no copies worth speaking of.
WORKLOAD = "random:span=96MiB,size=4KiB,count=48000,seed=5"
HEALTHY = {"capacity": "128MiB", "op_ratio": 0.25, "buffer.bytes": "2MiB", "gc.frontiers": 2}
FAULTS: dict[str, dict[str, Any]] = {
    "mapping": {"ftl.kind": "bast", "op_ratio": 0.1, "gc.frontiers": None},
    "buffer": {"buffer.bytes": 0},
}


def log(folder: Path, fault: dict[str, Any] | None = None) -> Path:
    settings = {key: value for key, value in {**HEALTHY, **(fault or {})}.items() if value is not None}
    path = folder / "log.parquet"
    simulate(WORKLOAD, "mlc-2006", set=settings, requests=path)
    return path


def bad(path: Path, *, empty: bool = True) -> set[str]:
    symptoms = diagnose(path, empty=empty)["symptoms"]
    return {name for name in symptoms if symptoms[name]["verdict"] == "bad"}


def test_nothing_is_bad_of_a_healthy_drive(tmp_path: Path) -> None:
    path = log(tmp_path)
    assert bad(path) == set()
    found = diagnose(path, empty=True)
    assert found["format"] == "flashweir-diagnosis-2"
    assert found["admissible"]
    assert found["symptoms"]["buffer"]["verdict"] == "good"
    assert found["verdict"] == "unknown"


@pytest.mark.parametrize("symptom", FAULTS)
def test_a_fault_is_found(symptom: str, tmp_path: Path) -> None:
    assert bad(log(tmp_path, FAULTS[symptom])) == {symptom}


def test_a_drive_that_may_have_been_used_has_no_verdict_on_its_mapping(tmp_path: Path) -> None:
    mapping = diagnose(log(tmp_path, FAULTS["mapping"]))["symptoms"]["mapping"]
    assert mapping["verdict"] == "unknown"
    assert "--active" in mapping["reason"]


def test_collection_has_no_verdict_but_bounds(tmp_path: Path) -> None:
    found = diagnose(log(tmp_path, {"op_ratio": 0.07, "gc.victim": "random"}))
    assert found["symptoms"]["collection"]["verdict"] == "unknown"
    assert found["write_amplification"]["low"] == 1
    assert found["write_amplification"]["high"] > 1.5


def test_a_log_that_can_not_answer_says_why(tmp_path: Path) -> None:
    path = tmp_path / "deep.parquet"
    settings = {**HEALTHY, "host.queue_depth": 8}
    simulate("random:span=32MiB,size=4KiB,count=4000", "mlc-2006", set=settings, requests=path)
    found = diagnose(path, empty=True)
    assert not found["admissible"]
    assert "requests are outstanding on average: expected 1" in found["limits"][0]
    assert {one["verdict"] for one in found["symptoms"].values()} == {"unknown"}
    assert found["write_amplification"]["high"] is None
    run = flashweir("diagnose", str(path))
    assert run.out.startswith("unknown: The log can't tell: ")


def test_the_command_prints_where_when_and_how_strongly(tmp_path: Path) -> None:
    path = log(tmp_path, FAULTS["mapping"])
    run = flashweir("diagnose", str(path), "--empty")
    assert run.out.startswith("ill: Address mapping is bad")
    for word in ("where: ", "when: requests ", "how strongly: ", "usual PBR: ", "write amplification: "):
        assert word in run.out
    again = flashweir("diagnose", str(path), "--empty", "--json", "-").json()
    assert again["verdict"] == "ill"
    assert len(again["picture"]["request"]) <= 12_288


def test_report_and_picture_are_written(tmp_path: Path) -> None:
    path = log(tmp_path, FAULTS["buffer"])
    html, png = tmp_path / "d.html", tmp_path / "d.png"
    run = flashweir("diagnose", str(path), "--html", str(html), "--png", str(png))
    assert run.out
    text = html.read_text(encoding="utf-8")
    assert 'id="pbr-plot"' in text
    assert 'class="still" src="data:image/png;base64,' in text, "a picture for browsers without WebGL"
    assert "write buffer" in text
    assert ends_with_machine(html, "diagnose")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_any_trace_with_response_times_will_do() -> None:
    found = diagnose(SHIPPED_TRACE)
    assert found["writes"] > 10_000
    assert found["verdict"] == "unknown"
    assert not found["admissible"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.parquet", None, "none.parquet"),
        ("empty.msr.csv", "", "empty.msr.csv"),
        ("rubbish.parquet", "PAR1 nothing", "rubbish.parquet"),
    ],
)
def test_bad_input_is_one_line(name: str, content: str | None, says: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    run = flashweir("diagnose", name, cwd=tmp_path, code=2)
    assert run.err.count("\n") == 1
    assert run.err.startswith("error: ")
    assert says in run.err


def test_a_trace_without_response_times_is_refused(tmp_path: Path) -> None:
    run = flashweir("trace", "generate", "random:count=2000", str(tmp_path / "t.parquet"))
    run = flashweir("diagnose", str(tmp_path / "t.parquet"), code=2)
    assert "no write in it has a response time" in run.err


def test_outputs_that_can_not_be_are_refused(tmp_path: Path) -> None:
    path = log(tmp_path)
    for options in (["--html", "no/where.html"], ["--png", "x.gif"], ["--html", str(path)]):
        flashweir("diagnose", str(path), *options, cwd=tmp_path, code=2)


def test_what_is_no_log_raises(tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        diagnose(tmp_path / "nothing")


def test_the_page_begins_with_one_sentence_and_lists_the_parts(tmp_path: Path) -> None:
    found = diagnose(log(tmp_path)).to_dict()
    lead, parts = report.sections(found)[:2]
    said = [block.text for block in lead.blocks if isinstance(block, Text) and block.lead]
    assert said == [found["sentence"]]
    (facts,) = parts.blocks
    assert isinstance(facts, Facts)
    assert [name for name, _ in facts.facts] == list(report.NAMES.values())
    assert all("`" not in line for _, lines in facts.facts for line in lines)


def test_the_picture_of_a_log_of_one_address() -> None:
    picture = {"request": [0, 1], "address_bytes": [0, 0], "pbr_ns_per_byte": [0.0, 2.0], "writes": [1, 1]}
    chart = report.cloud({"picture": picture})
    assert isinstance(chart, Cloud)
    json.dumps(figure(chart), allow_nan=False)
    assert report.above({"picture": picture}) is not None


def test_a_capacity_that_is_no_size_is_refused(tmp_path: Path) -> None:
    for capacity in ("much", "0B", "3ms", "-1GiB"):
        run = flashweir("diagnose", str(SHIPPED_TRACE), f"--capacity={capacity}", cwd=tmp_path, code=2)
        assert run.err.startswith(f"error: capacity {capacity}: expected a size")


@pytest.mark.parametrize("drive", ["MTRON", "Samsung", "OCZ", "Transcend SLC"])
def test_symptoms_of_four_drives_of_the_paper_under_the_mapping_suite(drive: str, tmp_path: Path) -> None:
    """A missing buffer is found; of mapping and collection this log can tell nothing (yang2009, figure 26)."""
    # Two have a buffer (experiments/05-yang2009). No drive or workload like these was learned from.
    folder = ROOT / "experiments" / "05-yang2009"
    settings = tomllib.loads((folder / "drives.toml").read_text(encoding="utf-8"))
    tenth = tomllib.loads((folder / "tenth.toml").read_text(encoding="utf-8"))["axes"]["drive"].get(drive, {})
    chosen = flat(settings["set"]) | flat(settings["axes"]["drive"][drive]) | flat(tenth)
    path = tmp_path / "log.parquet"
    simulate("install-linux:scale=0.1", set=chosen, requests=path, wrap=True)
    symptoms = diagnose(path, empty=True)["symptoms"]
    assert {name: one["verdict"] for name, one in symptoms.items()} == {
        "mapping": "unknown",
        "collection": "unknown",
        "buffer": "good" if "buffer.bytes" in chosen else "bad",
    }
    assert symptoms["mapping"]["reason"].startswith("little is overwritten")


def flat(table: dict[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{before}{key}.") if isinstance(value, dict) else {before + key: value}
    return found
