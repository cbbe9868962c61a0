"""The reproduction of yang2009: workloads as printed, drives in the printed order, and the misses are reported."""

from conftest import ROOT

from flashweir import reproduce
from flashweir.reproduction import Reproduction, catalogue

PAPER = catalogue.named("yang2009", catalogue.papers())


def test_tables_6_and_7_are_met() -> None:
    """yang2009, tables 6 and 7: volumes within 2 %, shares within 2 points, lengths and suites as printed."""
    (found,) = reproduce("yang2009", figure="table 6")
    assert len(found.rows) == 56
    assert [row["name"] for row in found.rows if not row["ok"]] == []


def test_the_order_of_drives_is_the_printed_one_but_for_what_the_readme_says() -> None:
    (found,) = reproduce("yang2009", figure="suites", quick=True)
    assert verdicts(found) == {
        "buffer": True,
        "mapping": True,
        "gc": True,
        "gc-starts": True,
        "gc-cost": False,
        "transfer": False,
        "transfer-readings": False,
    }
    (transfer,) = [shape["evidence"] for shape in found.shapes if "MTRON > Samsung > OCZ" in shape["claim"]]
    assert [part.split(":")[0] for part in transfer.split("; ") if "NO, " in part] == ["Samsung above OCZ"]
    assert all(row["ok"] is None and row["measured"] > 0 for row in found.rows)
    (plain,) = reproduce("yang2009", figure="plain", quick=True)
    assert verdicts(plain) == {
        "sequential": True,
        "sequential-transcend": False,
        "long-sequential": True,
        "random": True,
        "random-slc": False,
        "slc-above-mlc": False,
        "mlc-last": False,
        "slc-above-mlc-of-one-controller": True,
    }
    text = (ROOT / "experiments" / "05-yang2009" / "README.md").read_text(encoding="utf-8")
    missed = [name for found_ in (found, plain) for name, ok in verdicts(found_).items() if not ok]
    assert [name for name in missed if f"`{name}`" not in text] == []


def verdicts(found: Reproduction) -> dict[str, bool | None]:
    """Verdicts of an experiment by the names of its claims."""
    claims = [claim for experiment, _ in found.figures for claim in experiment.claims]
    return {claim.name: shape["ok"] for claim, shape in zip(claims, found.shapes, strict=True)}


def test_a_workload_that_is_none_is_an_error_of_its_row() -> None:
    from flashweir.reproduction import character

    good, bad = character.rows({"good": "email:scale=0.1", "bad": "email:scale=7"})
    assert good["suite.gc"] == 1
    assert good["error"] is None
    assert "scale" in bad["error"]
