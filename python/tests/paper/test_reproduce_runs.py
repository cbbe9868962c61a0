"""Reproductions of what many runs give: the runs behind a value, and values and figures that are about them."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from test_reproduce import rows

from flashweir import ConfigError
from flashweir.charts import from_curves, palette
from flashweir.charts.from_curves import Measured
from flashweir.reproduction import Reproduction, catalogue, checks, curves, showing, verdicts
from flashweir.reproduction import fields as fields_of
from flashweir.reproduction.curves import Combination, Curve, Mean, Pick
from flashweir.sweeps.derived import Expression

# Two policies, two places, two lengths, two seeds.
FOUND = rows(
    policy=["a"] * 8 + ["b"] * 8,
    n=[1, 1, 1, 1, 2, 2, 2, 2] * 2,
    length=[5, 5, 10, 10] * 4,
    seed=[1, 2] * 8,
    worst=[1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0, 2.0, 6.0, 12.0, 4.0, 10.0, 10.0, 30.0, 20.0],
)
WANTED: dict[str, Any] = {
    "a": Pick("worst", "n", {"policy": "a"}),
    "b": Pick("worst", "n", {"policy": "b"}),
    "gain": Combination(Expression("gain", "b / a")),
    "mean": Mean("gain"),
}


def families() -> dict[str, list[Curve]]:
    return curves.measured(WANTED, FOUND, lambda _: {}, ["policy", "n", "length"])


def test_runs_of_a_place_are_known_by_what_nobody_names() -> None:
    assert curves.runs_of(families()["a"], {"n": 1}) == {
        ("5", "1"): 1.0,
        ("5", "2"): 2.0,
        ("10", "1"): 3.0,
        ("10", "2"): 4.0,
    }
    assert curves.point(families()["a"], {"n": 1}) == 2.5
    assert curves.runs_of(families()["a"], {"n": 3}) == {}


def test_runs_of_several_values_of_an_axis_stay_apart() -> None:
    every = curves.Pick("worst", "n", {"policy": "a", "length": [5, 10]})
    found = curves.measured({"a": every}, FOUND, lambda _: {}, ["policy", "n", "length"])
    assert len(curves.runs_of(found["a"], {"n": 1})) == 4
    assert curves.runs_of(found["a"], {"n": 1}) == curves.runs_of(families()["a"], {"n": 1})


def test_a_variant_shows_where_the_published_value_lies_and_is_not_judged() -> None:
    value = catalogue.Value("v@1", "table 1", "us", "gain", {"n": 1}, 1.15, quantiles=(0.05, 0.95), variant=True)
    row = verdicts.row(value, families())
    assert (row["ok"], row["percentile"], value.judged) == (None, 0.25, False)
    assert "undecided" not in verdicts.row(value, families(), quick=True)
    text = {"name": "v", "where": "1", "unit": "us", "of": "a", "published": 1.0, "variant": True}
    with pytest.raises(ConfigError, match="variant: expected with quantiles"):
        checks.read_value(fields_of.Fields(Path("a.toml"), text))


def test_arithmetic_is_for_each_run_and_for_the_means() -> None:
    found = families()["gain"]
    assert curves.runs_of(found, {"n": 1}) == {("5", "1"): 2.0, ("5", "2"): 3.0, ("10", "1"): 4.0, ("10", "2"): 1.0}
    assert curves.point(found, {"n": 1}) == 24.0 / 10.0
    one = [row for row in FOUND if row["policy"] == "a" or (row["seed"], row["length"]) == (1, 5)]
    found = curves.measured(WANTED, one, lambda _: {}, ["policy", "n", "length"])["gain"]
    assert curves.runs_of(found, {"n": 1}) == {}, "one run alone has no distribution"


def test_a_mean_is_over_all_points_of_a_family() -> None:
    (found,) = families()["mean"]
    assert (found.names, found.y) == (("",), (pytest.approx((2.4 + 0.7) / 2),))
    assert found.runs == ({("5", "1"): 1.5, ("5", "2"): 1.75, ("10", "1"): 2.5, ("10", "2"): 0.75},)
    assert Mean("none").family({"none": []})[0].missing == 1


@pytest.mark.parametrize(
    ("published", "ok", "percentile"), [(0.5, False, 0.0), (1.15, True, 0.25), (2.0, True, 0.375), (3.9, False, 0.75)]
)
def test_a_published_value_has_to_lie_among_the_runs(published: float, ok: bool, percentile: float) -> None:
    value = catalogue.Value("v@1", "table 1", "us", "gain", {"n": 1}, published, quantiles=(0.05, 0.95))
    found = verdicts.row(value, families())
    assert (found["ok"], found["percentile"], found["tolerance"]) == (ok, percentile, None)
    assert found["measured"] == 2.4
    assert found["range"] == [pytest.approx(1.15), pytest.approx(3.85)]


def test_a_value_without_runs_is_not_within_them() -> None:
    value = catalogue.Value("v@3", "table 1", "us", "gain", {"n": 3}, 1.0, quantiles=(0.05, 0.95))
    found = verdicts.row(value, families())
    assert (found["ok"], found["measured"], found["range"], found["percentile"]) == (False, None, [None, None], None)


def test_the_table_says_where_a_value_lies_and_what_has_to_be_known() -> None:
    value = catalogue.Value("v@1", "table 1", "us", "gain", {"n": 1}, 2.0, quantiles=(0.05, 0.95))
    paper = catalogue.Paper("sample", "A sample", Path(), (), "Shares are of writes.")
    found = Reproduction(paper, True, [verdicts.row(value, families())])
    assert found.to_dict()["note"] == "Shares are of writes."
    out = StringIO()
    showing.print_reproduction(found, Console(file=out, width=100))
    said = out.getvalue()
    assert "Shares are of writes." in said
    assert "1.15..3.85, 38%" in said
    assert "is where most runs lie" in said
    assert max(map(len, said.splitlines())) <= 100


def test_an_unbounded_place_lies_behind_all_numbers() -> None:
    curve = Curve({}, ("200us", "2ms", "none"), (3.0, 2.0, 1.0))
    assert curve.x == (2e5, 2e6, float("inf"))
    assert curve.cut(start="1ms").names == ("2ms", "none")
    assert curve.cut(end="1ms").names == ("200us",)
    # Where all are words it is one of them.
    assert Curve({}, ("none", "cycle-filling"), (1.0, 2.0)).x == (0.0, 1.0)
    plot = from_curves.lines("f", "F", ("bound", "us"), [Measured("reads", curve.names, curve.y)])
    assert plot.x.scale != "category"
    assert plot.x.ticks[-1][1] == "none"
    assert plot.series[0].x[-1] == plot.x.ticks[-1][0] > 2e6
    words = from_curves.lines("f", "F", ("planner", "us"), [Measured("reads", ("none", "cycle-filling"), (1.0, 2.0))])
    assert words.x.scale == "category"


def test_levels_are_dashed_lines_in_the_colour_of_their_curve() -> None:
    drawn = catalogue.Drawing("f", "F", ("a",), levels=("before",), band=(0.0, 1.0))
    experiment = catalogue.Experiment(Path(), "t", ("1",), {}, plots=(drawn,))
    known = {"a": families()["a"], "before": [Curve({}, ("",), (7.0,))]}
    (plot,) = showing.charts(experiment, known)
    line, level = plot.series  # type: ignore[attr-defined]
    assert (list(line.low), list(line.high)) == ([1.0, 10.0], [4.0, 40.0])
    assert (list(level.x), list(level.y), level.beside) == ([1.0, 2.0], [7.0, 7.0], line.name)
    (one, other) = palette.looks([line, level])
    assert (other.colour, other.dash, one.dash) == (one.colour, "dashed", "solid")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"quantiles": [0.95, 0.05]}, "quantiles: [0.95, 0.05]: expected two shares such as [0.05, 0.95]"),
        ({"quantiles": [0.05]}, "quantiles: [0.05]: expected two shares such as [0.05, 0.95]"),
        ({"quantiles": [0.05, 0.95], "tolerance": 0.1}, "expected with a published number, and without a tolerance"),
        ({"quantiles": [0.05, 0.95], "published": [1, 2]}, "expected with a published number"),
    ],
)
def test_wrong_quantiles_are_one_line(tmp_path: Path, table: dict[str, Any], message: str) -> None:
    fields = {"name": "v@1", "where": "table 1", "unit": "us", "of": "a", "published": 1.0, **table}
    with pytest.raises(ConfigError) as caught:
        catalogue._value(fields_of.Fields(tmp_path, fields, "values[0].rows[0]"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"levels": ["a", "b"]}, "levels: 2 of 1 curves: expected no more than curves"),
        ({"kind": "bars", "levels": ["b"]}, "levels: expected with curves: bars have none"),
        ({"kind": "bars", "band": [0.05, 0.95]}, "band: expected with curves: bars have none"),
    ],
)
def test_wrong_levels_and_bands_are_one_line(tmp_path: Path, table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        catalogue._drawing(fields_of.Fields(tmp_path, {"name": "f", "title": "F", "curves": ["a"], **table}, "plots"))


def test_what_other_runs_decide_is_judged_though_some_failed() -> None:
    there = [curves.Curve({}, ("1", "2"), (3.0, 2.0))]
    families = {"there": there, "lost": [curves.Curve({}, ("1",), (3.0,), missing=1)]}
    rises = catalogue.Part("rises", "rising", "there")
    falls = catalogue.Part("falls", "falling", "there")
    lacks = catalogue.Part("below", "above", "there", "lost")
    for parts, ok, not_run in [
        ((falls,), True, None),
        ((falls, lacks), None, "1 of 4 runs failed"),
        ((rises, lacks), False, None),
        ((rises,), False, None),
    ]:
        shape = verdicts.shape(catalogue.Claim("figure 1", "a claim", parts), families, failed="1 of 4 runs failed")
        assert (shape["ok"], shape.get("not_run")) == (ok, not_run), parts
    assert verdicts.shape(catalogue.Claim("figure 1", "a claim", (lacks,)), families)["ok"] is False
    value = catalogue.Value("v@2", "figure 1", "us", "lost", {"x": 2}, 2.0, 0.1)
    assert verdicts.row(value, families, failed="1 of 4 runs failed")["not_run"] == "1 of 4 runs failed"
    assert verdicts.row(value, families)["ok"] is False


def test_a_claim_about_runs_that_are_not_there_does_not_hold() -> None:
    part = catalogue.Part("it rises", "rising", "a")
    claim = catalogue.Claim("figure 1", "it rises", (part,))
    for family, said in (
        ([], "no runs of these settings"),
        ([curves.Curve({}, ("1",), (1.0,))], "1 points are too few"),
        ([curves.Curve({"op": "0.1"}, ("1", "2"), (1.0, 2.0), missing=1)], "op=0.1: 1 runs gave no value"),
    ):
        found = verdicts.shape(claim, {"a": family})
        assert found["ok"] is False
        assert found["evidence"] == f"it rises: NO, {said}"
