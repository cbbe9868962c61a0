"""The report of `flashweir fit`: curves over load, values, keys."""

from pathlib import Path

import pytest
from conftest import ends_with_machine, flashweir
from fit_samples import BASE, TABLES, written

from flashweir import FlashweirError
from flashweir.fitting.outcome import Compared, Fit, KeyFound
from flashweir.fitting.showing import curve, sections
from flashweir.reports.about import without
from flashweir.reports.model import Table


def value(load: str, metric: str, measured: float, predicted: float | None) -> Compared:
    return Compared(f"{load}:{metric}", f"{metric}@{load}", metric, "us", measured, predicted, True)


POINTS = [
    value("1000", "read_p50", 80.0, 88.0),
    value("2000", "read_p50", 90.0, None),
    value("saturated", "read_p50", 900.0, 800.0),
    value("saturated", "write_p50", 900.0, 800.0),
]


def test_a_curve_has_the_loads_that_are_numbers() -> None:
    found = curve(POINTS, "read_p50")
    assert found is not None
    measured, predicted = found.series
    assert (list(measured.x), list(measured.y)) == ([1000, 2000], [80.0, 90.0])
    assert (list(predicted.x), list(predicted.y)) == ([1000], [88.0])
    assert "in the table only" in found.note
    # One load is no curve.
    assert curve(POINTS, "write_p50") is None
    assert curve(POINTS, "iops") is None


def test_a_report_says_what_is_not_predicted() -> None:
    fit = Fit("Drive A", None, POINTS, [], {}, "m.toml", 0, 1)
    found = sections(fit)
    assert [one.title for one in found][1:] == ["Values", "Machine and versions"]
    assert "read p50 10.6%" in str(found[0].blocks[0])
    assert "1 of 4 values are not predicted." in str(found[0].blocks[1])


def test_an_interval_of_a_key_is_in_plain_digits() -> None:
    keys = [KeyFound("timing.program", 150_000, 148_500.0, 152_250.0, True, "fitted")]
    table = next(block for block in sections(Fit("A", {}, POINTS, keys, {}, "m.toml", 4, 1))[-2].blocks
                 if isinstance(block, Table))  # fmt: skip
    assert table.rows[0][2:4] == ["148,500 to 152,250", "ns"]


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    path, base = written(tmp_path, "m.toml", TABLES), written(tmp_path, "base.toml", BASE)
    page = tmp_path / "report.html"
    command = ["fit", str(path), "--base", str(base), "--budget", "0", "--html", str(page)]
    flashweir(*command)
    text = page.read_text(encoding="utf-8")
    assert "read p99" in text
    assert ends_with_machine(page, "fit")
    assert "Drive A 960 GB" in text
    assert "--force" in flashweir(*command, code=2).err
    assert without(page.read_text(encoding="utf-8")) == without(text), "but for the command"
    flashweir(*command, "--force")
    assert without(page.read_text(encoding="utf-8")) == without(text), "but for the command"


def test_a_page_that_can_not_be_written(tmp_path: Path) -> None:
    fit = Fit("Drive A", None, POINTS, [], {}, "m.toml", 0, 1)
    with pytest.raises(FlashweirError, match="can't be written"):
        fit.write_html(tmp_path / "none" / "report.html")
