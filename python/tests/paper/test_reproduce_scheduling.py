"""zhu2017, with streams of 5,000 requests: what it prints, in the rows that have to be there."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from conftest import reproduced

RATIOS = (0.8, 0.6, 0.4, 0.2)
METRICS = ("read_max", "write_max", "read_mean", "write_mean")


@pytest.fixture(scope="module")
def found(kept_runs: Path) -> Any:
    return reproduced(kept_runs, "zhu2017", "--quick", "--json", "-").json()


@pytest.fixture(scope="module")
def rows(found: Any) -> dict[str, Any]:
    return {row["name"]: row for row in found["rows"]}


def test_every_printed_value_has_its_row_and_its_literal_reading(rows: dict[str, Any]) -> None:
    values = [f"{when}.{metric}@{ratio}" for when, metric, ratio in product(("before", "after"), METRICS, RATIOS)]
    changes = [f"change.{metric}@{ratio}" for metric, ratio in product(METRICS, (*RATIOS, "mean"))]
    corrected = [f"change.write_max_of_values@{ratio}" for ratio in (0.4, 0.2)]
    literal = [f"literal.{name}" for name in values]
    ours = [f"ours.{metric}@{ratio}" for metric, ratio in product(("read_mean", "write_mean"), RATIOS)]
    variants = {name for name in rows if name.startswith(("short.", "unpaired.", "immediate."))}
    assert len(variants) == 44
    assert all(rows[name]["ok"] is None and rows[name]["published"] is not None for name in variants)
    assert set(rows) - variants == {*values, *changes, *corrected, *literal, *ours}
    for name in values:
        other = {"0.8": "0.2", "0.6": "0.4", "0.4": "0.6", "0.2": "0.8"}[name[-3:]]
        read_literally = rows[f"literal.{name}"]
        assert read_literally["ok"] is None
        assert read_literally["published"] == rows[name]["published"]
        assert read_literally["measured"] == rows[f"{name[:-3]}{other}"]["measured"]


def test_the_output_says_how_ratios_are_read(found: Any) -> None:
    assert found["quick"] is True
    assert "shares of writes" in found["note"]


def test_all_means_are_within_8_percent_and_claims_hold(found: Any, rows: dict[str, Any]) -> None:
    means = [row for name, row in rows.items() if "_mean@" in name and row["ok"] is not None]
    assert len(means) == 2 * 8 + 2 * 5
    assert all(row["ok"] and row["tolerance"] == 0.08 for row in means)
    assert all(shape["ok"] for shape in found["shapes"] if "by" not in shape), found["shapes"]


def test_what_is_not_the_papers_has_no_published_value_and_is_not_judged_by_it(
    found: Any, rows: dict[str, Any]
) -> None:
    """Suspension by default against reads first: reads gain 25% or more; what writes lose is close to its limits."""
    for ratio in RATIOS:
        read, write = (rows[f"ours.{metric}@{ratio}"] for metric in ("read_mean", "write_mean"))
        assert read["published"] is None is write["published"]
        assert read["ok"] is None is write["ok"]
        assert read["measured"] <= -0.25
        assert 0 < write["measured"] < 0.13
    ours = [shape for shape in found["shapes"] if "by" in shape]
    assert len(ours) == 9
    assert [shape["where"] for shape in ours if shape["where"] != "not in the paper"] == ["figure 10"]


def test_maxima_are_held_against_the_runs(rows: dict[str, Any]) -> None:
    for ratio in RATIOS:
        assert rows[f"after.read_max@{ratio}"]["ok"]
    for when, metric, ratio in product(("before", "after", "change"), ("read_max", "write_max"), RATIOS):
        row = rows[f"{when}.{metric}@{ratio}"]
        low, high = row["range"]
        assert low < row["measured"] < high
        assert row["ok"] is (low <= row["published"] <= high)
        assert 0 <= row["percentile"] <= 1
