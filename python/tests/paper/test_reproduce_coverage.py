"""Coverage of the papers: every caption has a row, every row a check that exists or a reason."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, flashweir, refused

from flashweir import ConfigError
from flashweir.reproduction import catalogue, coverage, covered

ROWS = covered()
CAPTIONS = tomllib.loads((Path(__file__).parent / "captions.toml").read_text(encoding="utf-8"))
COVERAGE = """
[[rows]]
where = "figure 1"
claim = "copies"
status = "value"
check = "figure-1/copies@*"

[[rows]]
where = "table 1"
claim = "a test bed"
status = "lost"
reason = "a list"
"""
EXPERIMENT = """
title = "Copies"
figures = [1]

[curves]
copies = { y = "write_amplification", x = "op_ratio" }

[[values]]
where = "figure 1"
unit = "ratio"
of = "copies"
tolerance = 0.1
rows = [
    { name = "copies@10%", at = { op_ratio = 0.1 }, published = 3.0, twin.says = "halved", twin.scale.copies = 0.5 },
    { name = "copies@40%", at = { op_ratio = 0.4 }, published = 2.0 },
]
"""


def numbers(where: str, kind: str) -> set[int]:
    """Numbers of figures or tables in a place: `figures 22 and 23`, `figures 25 to 27`."""
    found: set[int] = set()
    for text in re.findall(rf"{kind}s? (\d+(?:(?: and | to )\d+)*)", where):
        ends = [int(number) for number in re.findall(r"\d+", text)]
        found |= set(range(ends[0], ends[-1] + 1)) if " to " in text else set(ends)
    return found


@pytest.mark.parametrize("paper", CAPTIONS)
def test_every_caption_has_a_row_and_no_row_another_number(paper: str) -> None:
    rows = [row for row in ROWS if row.paper == paper]
    for kind in ("figure", "table"):
        assert {number for row in rows for number in numbers(row.where, kind)} == set(CAPTIONS[paper][f"{kind}s"]), kind


def test_every_paper_is_covered_and_every_row_has_a_check_or_a_reason() -> None:
    assert (
        [paper.name for paper in catalogue.papers()] == list(CAPTIONS) == list(dict.fromkeys(row.paper for row in ROWS))
    )
    assert [row for row in ROWS if not row.is_covered] == []
    assert all(row.reason for row in ROWS if row.status == "lost")
    assert all(row.check for row in ROWS if row.status != "lost")


@pytest.mark.parametrize("check", sorted({row.check for row in ROWS if row.check and "::" in row.check}))
def test_a_test_that_is_named_exists(check: str) -> None:
    path, _, name = check.partition("::")
    source = (ROOT / path).read_text(encoding="utf-8")
    definition = rf"^def {name}\(" if path.endswith(".py") else rf"#\[test\]\s+(?:#\[.*\]\s+)*fn {name}\("
    assert re.search(definition, source, re.MULTILINE), check


def test_statuses_fit_their_checks() -> None:
    """A value has a number that is judged, a shape is a claim of the paper or about it, a variant is not judged."""
    checks: dict[tuple[str, str], Any] = {
        (paper.name, name): one
        for paper in catalogue.papers()
        for experiment in paper.experiments
        for name, one in experiment.checks.items()
    }
    for row in ROWS:
        one = checks.get((row.paper, row.check or ""))
        if row.status == "value":
            assert isinstance(one, catalogue.Value), row
            assert one.judged, row
        elif row.status == "shape":
            assert isinstance(one, catalogue.Claim), row
        elif row.status == "variant":
            assert isinstance(one, catalogue.Value), row
            assert not one.judged, row


def test_every_claim_and_judged_value_of_a_paper_is_in_its_list() -> None:
    for paper in catalogue.papers():
        listed = {row.check for row in ROWS if row.paper == paper.name}
        for experiment in paper.experiments:
            names = [one.name for one in (*experiment.values, *experiment.claims)]
            assert len(set(names)) == len(names)
            for name, one in experiment.checks.items():
                if isinstance(one, catalogue.Claim) and not one.by:
                    assert name in listed
                if isinstance(one, catalogue.Value) and one.judged:
                    assert name in listed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "papers" / "01-sample"
    (folder / "figure-1").mkdir(parents=True)
    (folder / "paper.toml").write_text('name = "sample"\ntitle = "A sample"\n', encoding="utf-8")
    (folder / "figure-1" / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    (folder / "coverage.toml").write_text(COVERAGE, encoding="utf-8")
    return folder.parent


def run(root: Path, *args: str, code: int = 0) -> Any:
    return flashweir("reproduce", "sample", "--coverage", "--experiments", str(root), *args, code=code)


def test_a_pattern_has_a_row_for_each_check_with_its_twin(root: Path) -> None:
    rows = run(root, "--json", "-").json()
    assert [list(row) for row in rows] == [["paper", "where", "claim", "status", "check", "twin", "reason"]] * 3
    assert [row["check"] for row in rows] == ["figure-1/copies@10%", "figure-1/copies@40%", None]
    assert [row["twin"] for row in rows] == ["halved", None, None]
    assert [row["reason"] for row in rows] == [None, None, "a list"]
    assert {row["paper"] for row in rows} == {"sample"}
    shown = " ".join(run(root).out.split())
    assert "figure-1/copies@10%" in shown
    assert "sample: 2 value, 1 lost" in shown


def test_a_row_with_neither_check_nor_reason_is_a_failure(root: Path) -> None:
    path = root / "01-sample" / "coverage.toml"
    path.write_text(COVERAGE.replace('reason = "a list"', ""), encoding="utf-8")
    done = run(root, "--json", "-", code=1)
    assert len(done.json()) == 3
    assert done.err == "error: 1 of 3 rows have neither check nor reason, the first: sample, table 1: a test bed\n"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("figure-1/copies@*", "figure-1/erases@*", "rows[0].check: 'figure-1/erases@*' is no value or claim"),
        ('"value"', '"number"', "rows[0].status: 'number': expected one of value, shape, unit-test, variant, lost"),
        ("figure-1/copies@*", "a.py::test_b", "rows[0].status: 'value': expected unit-test with a test"),
        ("reason =", "because =", "rows[1].because: unknown key"),
        ('"value"', '"lost"', "rows[0].status: 'lost': expected no check with it, but a reason"),
        ("figure-1/copies@*", "figure-1/copies@10%", "figure-1/copies@40% has no row: expected one for every claim"),
        (
            '"value"\ncheck = "figure-1/copies@*"',
            '"unit-test"\ncheck = "python/tests/a.py::test_b"',
            "there is no such test",
        ),
        (
            '"value"\ncheck = "figure-1/copies@*"',
            '"unit-test"\ncheck = "python/tests/test_a.py::test_b"',
            "there is no such test",
        ),
    ],
)
def test_a_wrong_list_is_one_line(root: Path, before: str, after: str, message: str) -> None:
    (root.parent / "pyproject.toml").touch()
    (root.parent / "python" / "tests").mkdir(parents=True)
    (root.parent / "python" / "tests" / "test_a.py").write_text("def test_a():\n    ...\n", encoding="utf-8")
    path = root / "01-sample" / "coverage.toml"
    path.write_text(COVERAGE.replace(before, after), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        coverage.of(catalogue.papers(root))
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_test_is_looked_for_in_a_source_tree_alone(root: Path) -> None:
    path = root / "01-sample" / "coverage.toml"
    row = '\n[[rows]]\nwhere = "2"\nclaim = "b"\nstatus = "unit-test"\ncheck = "python/tests/a.py::test_b"\n'
    path.write_text(COVERAGE + row, encoding="utf-8")
    assert len(coverage.of(catalogue.papers(root))) == 4


def test_bad_input_is_one_line(root: Path) -> None:
    (root / "01-sample" / "coverage.toml").unlink()
    given = ("reproduce", "--coverage", "--experiments", str(root))
    assert "expected this file, with the figures, tables and claims of sample" in refused(*given)
    assert refused(*given, "--quick") == "--quick: expected without --coverage, which runs nothing"
    assert refused(*given, "-o", "runs") == "-o: expected without --coverage, which runs nothing"
