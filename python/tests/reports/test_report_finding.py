"""The finding of a comparison: the metric that differs, and a plain sentence where none does."""

from pathlib import Path

import polars as pl
from conftest import SMALL_DRIVE

import flashweir
from flashweir.reports import finding
from flashweir.reports.model import Figure, Text
from flashweir.reports.sweep import report_of_sweep


def row(metric: str, alternative: str, relative: float, *, significant: bool = False) -> dict[str, object]:
    known = {"low": None, "high": None, "relative_low": None, "relative_high": None}
    return {"metric": metric, "baseline": "greedy", "alternative": alternative, "difference": relative,
            "relative": relative, "significant": significant, **known}  # fmt: skip


def test_where_nothing_differs_no_value_is_the_best() -> None:
    metrics = ["iops", "write_amplification"]
    compared = pl.DataFrame([row(metric, name, 0.0) for metric in metrics for name in ("fifo", "random", "windowed")])
    (sentence,) = finding.of_comparison(compared, metrics, [])
    assert "best" not in sentence
    assert finding.isolated("fifo") in sentence
    assert "and 1 more do not differ from" in sentence
    assert sentence.endswith("in IOPS, write amplification.")
    assert finding.differences(compared, "gc.victim", ["greedy", "fifo", "random", "windowed"], metrics, []) is None


def test_the_first_metric_that_differs_decides() -> None:
    metrics = ["iops", "write_amplification"]
    compared = pl.DataFrame([row("iops", "fifo", 0.0), row("write_amplification", "fifo", 0.25)])
    sentences = finding.of_comparison(compared, metrics, [])
    assert sentences[0].startswith(f"{finding.isolated('greedy')} has the best write amplification.")
    assert "No difference in IOPS." in sentences
    picture = finding.differences(compared, "gc.victim", ["greedy", "fifo"], metrics, [])
    assert picture is not None
    assert picture.name == "finding-write_amplification"
    assert "intervals" not in picture.note


def test_of_one_comparison_it_is_said_once_whether_it_is_sure() -> None:
    for significant, verdict in ((True, "a significant difference (5 %, Holm)"), (False, "No significant difference")):
        one = row("write_amplification", "fifo", 0.25, significant=significant) | {"low": 0.2, "high": 0.3}
        said = " ".join(finding.of_comparison(pl.DataFrame([one]), ["write_amplification"], []))
        assert verdict in said
        assert "of 1" not in said


def test_no_value_is_the_best_where_no_difference_is_significant() -> None:
    known = {"low": -2.0, "high": 3.0}
    rows = [row("iops", name, by) | known for name, by in (("fifo", 0.1), ("random", 0.2), ("fifo", -0.1))]
    (sentence,) = finding.of_comparison(pl.DataFrame(rows), ["iops"], [])
    assert sentence.startswith("No significant difference in IOPS in any of 3 comparisons (5 %, Holm).")
    assert f"Best mean against {finding.isolated('greedy')}: {finding.isolated('random')}, +20 %" in sentence
    assert "has the best" not in sentence
    rows[0]["significant"] = True
    assert "has the best" in finding.of_comparison(pl.DataFrame(rows), ["iops"], [])[0]


def test_a_policy_is_judged_apart_from_the_load_where_the_sweep_compares_nothing() -> None:
    spec = {
        "workloads": "random:span=32MiB,size=4KiB,count=3000",
        "set": {"channels": 2, "capacity": "32MiB", "pages_per_block": 64, "precondition": "full"},
        "axes": {"host.queue_depth": [1, 8], "gc.victim": ["fifo", "greedy"]},
        "seeds": 3,
        "metrics": ["iops"],
    }
    frame = flashweir.sweep(spec)
    sections = report_of_sweep(frame, frame.meta or {})
    (lead,) = (block.text for block in sections[0].blocks if isinstance(block, Text))
    greedy, fifo = finding.isolated("greedy"), finding.isolated("fifo")
    assert lead.startswith((f"{greedy} has the best IOPS. Against {fifo}: +", f"{fifo} has the best IOPS. The nearest"))
    assert "over 2 settings" in lead or "2 comparisons" in lead
    assert "IOPS is best at " in lead
    assert sections[1].title == "Comparison"
    figure = next(block for block in sections[0].blocks if isinstance(block, Figure))
    assert figure.chart.name == "finding-iops"
    assert (frame.meta or {})["compare"] is None
    # Two axes of names: neither is the one. A single axis is what its settings say.
    one = {"gc.victim": ["fifo", "greedy"]}
    for axes in (one, {**one, "sched.kind": ["fifo", "read-first"]}, {**one, "host.queue_depth": [1]}):
        other = flashweir.sweep({**spec, "axes": axes})
        titles = [section.title for section in report_of_sweep(other, other.meta or {})]
        assert "Comparison" not in titles


def test_the_page_of_a_sweep_without_differences_says_so(tmp_path: Path) -> None:
    spec = {
        "workloads": "sequential:span=8MiB,size=4KiB,count=500,write=1",
        "set": dict(SMALL_DRIVE),
        "axes": {"gc.victim": ["greedy", "fifo"]},
        "compare": "gc.victim",
    }
    frame = flashweir.sweep(spec)
    frame.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "No difference: " in page
    assert "has the best" not in page
