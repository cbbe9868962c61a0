"""The reproduction of yang2009: workloads as printed, drives in the printed order, and the misses are reported."""

from conftest import ROOT

from flashweir import reproduce
from flashweir.reproduction import catalogue

PAPER = catalogue.named("yang2009", catalogue.papers())


def test_tables_6_and_7_are_met() -> None:
    """yang2009, tables 6 and 7: volumes within 2 %, shares within 2 points, lengths and suites as printed."""
    (found,) = reproduce("yang2009", figure="table 6")
    assert len(found.rows) == 56
    assert [row["name"] for row in found.rows if not row["ok"]] == []


def test_the_order_of_drives_is_the_printed_one_but_for_what_the_readme_says() -> None:
    (found,) = reproduce("yang2009", figure="suites", quick=True)
    holds = {shape["where"]: shape["ok"] for shape in found.shapes}
    assert holds == {
        "6.5.2, figure 25": True,
        "6.5.2, figure 26": True,
        "6.5.2, figure 27": True,
        "6.5.2, figure 28": True,
    }
    assert all(row["ok"] is None and row["measured"] > 0 for row in found.rows)
    (plain,) = reproduce("yang2009", figure="plain", quick=True)
    assert [shape["ok"] for shape in plain.shapes] == [True, True, True, False, False, True]
    text = (ROOT / "experiments" / "05-yang2009" / "README.md").read_text(encoding="utf-8")
    assert "**What misses**: the uniform random test" in text


def test_a_workload_that_is_none_is_an_error_of_its_row() -> None:
    from flashweir.reproduction import character

    good, bad = character.rows({"good": "email:scale=0.1", "bad": "email:scale=7"})
    assert good["suite.gc"] == 1
    assert good["error"] is None
    assert "scale" in bad["error"]
