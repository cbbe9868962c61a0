"""`flashweir reproduce`: experiments found, run once, gone on with, and held against what is published."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ends_with_machine, flashweir, refused

import flashweir as package
from flashweir import ConfigError
from flashweir.reproduction import catalogue, curves, verdicts
from flashweir.sweeps import read_sweep

SWEEP = """
name = "spare"
workloads = "{requests}"
metrics = ["iops", "write_amplification"]

[set]
capacity = "64MiB"
precondition = "full"
channels = 2
pages_per_block = 64

[axes]
op_ratio = [0.1, 0.2, 0.4]
gc.victim = ["greedy", "fifo"]

[axes.trace]
uniform = { requests = "random:span=64MiB,size=4KiB,count=20000" }
"""
QUICK = """
include = "sweep.toml"
only = { op_ratio = [0.1, 0.4] }

[axes.trace.uniform]
requests = "random:span=64MiB,size=4KiB,count=5000"
"""
EXPERIMENT = """
title = "Spare space"
figures = [1, 2]

[curves]
copies = { y = "write_amplification", x = "op_ratio", each = ["gc.victim"] }
greedy = { y = "write_amplification", x = "op_ratio", at = { "gc.victim" = "greedy" } }
fifo = { y = "write_amplification", x = "op_ratio", at = { "gc.victim" = "fifo" } }
lead = { value = "fifo / greedy" }

[[values]]
where = "table 1"
unit = "ratio"
tolerance = 0.5
of = "copies"
rows = [
    { name = "copies@greedy,10%", at = { "gc.victim" = "greedy", op_ratio = 0.1 }, published = 3.0 },
    { name = "copies@fifo,40%", at = { "gc.victim" = "fifo", op_ratio = 0.4 }, published = 9.0 },
    { name = "lead@10%", of = "lead", at = { op_ratio = 0.1 }, published = [1.0, 1.5] },
    { name = "lead@40%", of = "lead", at = { op_ratio = 0.4 } },
]

[[claims]]
where = "figure 1"
claim = "more spare space, fewer copies; greedy copies least"
parts = [
    { says = "both fall", check = "falling", of = "copies", loss = 0.1 },
    { says = "greedy below fifo", check = "above", of = "fifo", than = "greedy", margin = -0.02 },
]

[[claims]]
where = "figure 2"
claim = "copies grow with spare space"
parts = [{ says = "rising", check = "rising", of = "copies" }]

[[plots]]
name = "figure-1"
title = "Copies over spare space"
x = "over-provisioning"
y = "write amplification"
curves = ["copies"]

[[plots]]
name = "figure-2"
title = "Copies"
y = "write amplification"
kind = "bars"
curves = ["greedy", "fifo"]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of experiments with one paper, of which two experiments have runs in common."""
    folder = tmp_path / "experiments"
    first, second = folder / "01-sample" / "figure-1", folder / "01-sample" / "figure-10"
    for one in (first, second):
        one.mkdir(parents=True)
        (one / "sweep.toml").write_text(SWEEP, encoding="utf-8")
        (one / "quick.toml").write_text(QUICK, encoding="utf-8")
    (folder / "01-sample" / "paper.toml").write_text('name = "sample"\ntitle = "A sample"\n', encoding="utf-8")
    (first / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    (first / "README.md").write_text("# Spare space\n\nWhat it shows.\n", encoding="utf-8")
    rest = EXPERIMENT.replace("figures = [1, 2]", "figures = [10]").replace("Spare space", "The same again")
    (second / "experiment.toml").write_text(rest.partition("[[claims]]")[0], encoding="utf-8")
    return folder


def run(root: Path, *args: str, code: int | None = 0) -> Any:
    return flashweir("reproduce", *args, "--experiments", str(root), code=code)


def test_json_has_a_row_a_value_and_a_row_a_claim(root: Path) -> None:
    found = run(root, "sample", "--quick", "--figure", "1", "--json", "-").json()
    assert list(found) == ["paper", "quick", "rows", "shapes"]
    assert (found["paper"], found["quick"]) == ("sample", True)
    for row in found["rows"]:
        assert list(row) == ["name", "where", "published", "measured", "deviation", "unit", "ok", "tolerance"]
    by_name = {row["name"]: row for row in found["rows"]}
    near, far = by_name["copies@greedy,10%"], by_name["copies@fifo,40%"]
    assert near["ok"] is True
    assert near["deviation"] == pytest.approx(near["measured"] / 3.0 - 1)
    assert (near["where"], near["unit"], near["tolerance"]) == ("table 1", "ratio", 0.5)
    assert far["ok"] is False
    assert by_name["lead@10%"]["published"] == [1.0, 1.5]
    assert by_name["lead@10%"]["tolerance"] == 0
    assert by_name["lead@40%"] | {"measured": 0} == {
        "name": "lead@40%",
        "where": "table 1",
        "published": None,
        "measured": 0,
        "deviation": None,
        "unit": "ratio",
        "ok": None,
        "tolerance": 0.5,
    }
    falls, rises = found["shapes"]
    assert list(falls) == ["where", "claim", "ok", "evidence"]
    assert falls["ok"] is True
    assert falls["evidence"].startswith("both fall: greedy: ")
    assert rises["ok"] is False
    assert "NO, greedy: falls from" in rises["evidence"]


def test_misses_are_shown_and_are_no_failure(root: Path) -> None:
    shown = " ".join(run(root, "sample", "--quick").out.split())
    assert "copies@greedy,10%" in shown
    assert "NO figure 2: copies grow with spare space" in shown
    assert "sample: 4 of 6 values within tolerance (2 more are shown and not judged), 1 of 2 claims hold" in shown


def test_it_opens_with_a_line_a_paper_and_says_what_quick_runs_cannot_decide(root: Path) -> None:
    path = root / "01-sample" / "figure-1" / "experiment.toml"
    wanted = EXPERIMENT.replace("published = 9.0", 'published = 9.0, needs_full = "few blocks"')
    path.write_text(wanted, encoding="utf-8")
    shown = run(root, "sample", "--quick").out
    assert shown.startswith("sample: 5 rows hold, 2 miss, 1 can't be decided\n")
    assert "? can't be decided by quick runs: few blocks" in shown
    rows_ = run(root, "sample", "--quick", "--figure", "1", "--json", "-").json()["rows"]
    assert [(row["ok"], row["undecided"]) for row in rows_ if "undecided" in row] == [(None, "few blocks")]
    full = run(root, "sample", "--figure", "1", "--json", "-").json()["rows"]
    assert not [row for row in full if "undecided" in row]


def test_without_a_name_all_papers_are_a_list(root: Path) -> None:
    (found,) = run(root, "--quick", "--json", "-").json()
    assert found["paper"] == "sample"
    assert len(found["rows"]) == 8


def test_runs_that_experiments_share_are_run_once(root: Path, tmp_path: Path) -> None:
    run(root, "sample", "--quick", "-o", str(tmp_path / "runs"))
    one, two = (read_sweep(tmp_path / "runs" / "01-sample" / name) for name in ("figure-1-quick", "figure-10-quick"))
    assert one.height == two.height == 4
    # Wall times tell runs apart: taken over, they are the same.
    assert one["wall_s"].to_list() == two["wall_s"].to_list()


def test_a_kept_directory_is_gone_on_with(root: Path, tmp_path: Path) -> None:
    directory = tmp_path / "runs"
    first = run(root, "sample", "--quick", "-o", str(directory), "--json", "-").json()
    before = read_sweep(directory / "01-sample" / "figure-1-quick")["wall_s"].to_list()
    assert run(root, "sample", "--quick", "-o", str(directory), "--json", "-").json() == first
    assert read_sweep(directory / "01-sample" / "figure-1-quick")["wall_s"].to_list() == before


def test_a_killed_reproduction_goes_on(root: Path, tmp_path: Path) -> None:
    spec = root / "01-sample" / "figure-1" / "sweep.toml"
    spec.write_text(SWEEP.replace("count=20000", "count=1000000"), encoding="utf-8")
    directory = tmp_path / "runs"
    lines = directory / "01-sample" / "figure-1" / "runs.jsonl"
    command = [sys.executable, "-m", "flashweir", "reproduce", "sample", "--figure", "1", "--threads", "1", "--json"]
    command += [str(tmp_path / "out.json"), "-o", str(directory), "--experiments", str(root)]
    with subprocess.Popen(command) as process:
        while process.poll() is None and not (lines.exists() and lines.stat().st_size):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    kept = [json.loads(line)["result"]["wall_s"] for line in lines.read_bytes().splitlines(keepends=True)[:1]]
    assert not (tmp_path / "out.json").exists()
    subprocess.run(command, check=True, timeout=300)
    frame = read_sweep(directory / "01-sample" / "figure-1")
    assert frame.height == 6
    assert kept[0] in frame["wall_s"].to_list()
    assert len(json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]) == 4


def test_page_and_figures(root: Path, tmp_path: Path) -> None:
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    run(root, "sample", "--quick", "--html", str(page), "--figures", str(figures), "--format", "png")
    text = page.read_text(encoding="utf-8").replace("<wbr>", "")
    lead = text[text.index('<p class="lead">') : text.index("</p>", text.index('<p class="lead">'))]
    assert lead.count("sample:") == 1, "counts once, of values and of claims"
    assert "values within tolerance" in lead
    assert "copies@greedy,10%" in text
    assert "What it shows." in text
    assert ends_with_machine(page, "reproduce")
    assert 'id="figure-1-plot"' in text
    names = sorted(path.relative_to(figures).as_posix() for path in figures.rglob("*.png"))
    assert names == ["01-sample/figure-1/figure-1.png", "01-sample/figure-1/figure-2.png"]


def test_failed_runs_are_said_and_make_the_exit_code(root: Path) -> None:
    spec = root / "01-sample" / "figure-1" / "quick.toml"
    spec.write_text(QUICK + "\n[set]\nhost.queue_depth = 0\n", encoding="utf-8")
    done = run(root, "sample", "--quick", "--figure", "1", "--json", "-", code=1)
    found = json.loads(done.out)
    assert all(row["measured"] is None and row["ok"] is None for row in found["rows"])
    assert [row["ok"] for row in found["shapes"]] == [None] * len(found["shapes"])
    assert all(row["not_run"].startswith("4 of 4 runs failed: ") for row in found["shapes"])
    judged = [row for row in found["rows"] if row["published"] is not None]
    assert judged
    assert all(row["not_run"].startswith("4 of 4 runs failed: ") for row in judged)
    assert "2 runs gave no value" in found["shapes"][0]["evidence"]
    assert done.err.startswith("error: 4 of 4 runs failed, the first: figure-1: ")
    shown = run(root, "sample", "--quick", "--figure", "1", code=1).out
    assert f"sample: 0 rows hold, 0 miss, 0 can't be decided, {len(judged) + len(found['shapes'])} not run" in shown
    assert "not run: 4 of 4 runs failed: " in shown


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["foo"], "foo: no paper that is known: expected one of sample"),
        (["sampel"], "sampel: no paper that is known: expected one of sample; did you mean sample?"),
        (["sample", "--figure", "99"], "--figure 99: not of sample: expected one of 1, 2, 10"),
        (["--figure", "1"], "--figure 1: expected the paper that it is in: sample"),
        (["sample", "--format", "png"], "--format goes with --figures DIR"),
        (["sample", "--figures", "f", "--format", "gif"], "--format gif: expected one of png, svg, pdf"),
        (["sample", "-o", "none/runs"], "-o none/runs: there is no folder none"),
        (["sample", "--html", "none/page.html"], "--html none/page.html: there is no folder none"),
    ],
)
def test_bad_input_is_one_line(root: Path, args: list[str], message: str) -> None:
    assert refused("reproduce", *args, "--experiments", str(root)) == message


def test_two_figures_of_one_name_are_refused(root: Path) -> None:
    path = root / "01-sample" / "figure-10" / "experiment.toml"
    path.write_text(EXPERIMENT, encoding="utf-8")
    with pytest.raises(ConfigError, match="figure-10 and figure-1 have a plot figure-1: expected a name of its own"):
        catalogue.papers(root)


def test_a_folder_without_papers_is_refused(tmp_path: Path) -> None:
    assert "expected folders with a paper.toml" in refused("reproduce", "--experiments", str(tmp_path))
    assert "expected a folder of experiments" in refused("reproduce", "--experiments", str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("title = ", "titel = ", "title: expected this key"),
        ('check = "falling"', 'check = "faling"', "'faling' is no check: expected one of above, "),
        ("loss = 0.1", "los = 0.1", "falling: los is no option: expected slack, loss"),
        ('than = "greedy", ', "", "above: expected than, the curve it is compared with"),
        ('of = "fifo"', 'of = "fifi"', "claim figure 1: fifi is no curve of this experiment"),
        ('value = "fifo / greedy"', 'value = "fifo / gredy"', "curves.lead: gredy is no curve before it"),
        ("published = 3.0", 'published = "low"', "most: expected the largest value that counts as 'low'"),
        ("published = [1.0, 1.5]", "published = [1.0]", "expected a range [low, high]"),
        ("published = 3.0", "publisht = 3.0", "values[0].rows[0].publisht: unknown key"),
        ('kind = "bars"', 'kind = "pie"', "kind: 'pie': expected one of lines, points, steps, bars"),
        ('y = "write_amplification", x = "op_ratio", each', "each", "expected one of y (a column), points"),
        ("figures = [1, 2]", "figures = 1", "figures: 1: expected a list"),
    ],
)
def test_a_wrong_experiment_is_one_line(root: Path, before: str, after: str, message: str) -> None:
    path = root / "01-sample" / "figure-1" / "experiment.toml"
    assert before in EXPERIMENT
    path.write_text(EXPERIMENT.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        catalogue.papers(root)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_from_python(root: Path) -> None:
    (found,) = package.reproduce("sample", figure=10, quick=True, experiments=root, threads=1)
    assert [row["name"] for row in found.rows][:1] == ["copies@greedy,10%"]
    assert found.shapes == []
    assert not found.failed


def rows(**columns: list[Any]) -> list[dict[str, Any]]:
    count = len(next(iter(columns.values())))
    return [{"error": None, **{name: values[at] for name, values in columns.items()}} for at in range(count)]


def measured(wanted: dict[str, Any], found: list[dict[str, Any]], result: Any = None) -> Any:
    return curves.measured(wanted, found, lambda _: result)


def test_seeds_are_averaged_and_places_sorted() -> None:
    found = rows(n=[4, 1, 4, 1], seed=[1, 1, 2, 2], iops=[10.0, 1.0, 20.0, 3.0])
    (curve,) = measured({"a": curves.Pick("iops", "n")}, found)["a"]
    assert (curve.names, curve.y) == (("1", "4"), (2.0, 15.0))
    assert curve.at(4) == 15.0
    assert curve.at("4") == 15.0
    assert curve.at(2) is None


def test_runs_without_a_value_are_missing() -> None:
    found = rows(n=[1, 2, 4], iops=[1.0, None, 3.0])
    found[2]["error"] = "it failed"
    (curve,) = measured({"a": curves.Pick("iops", "n")}, found)["a"]
    assert curve.missing == 2
    assert curves.point([curve], {"n": 1}) is None


def test_combinations_pair_curves_by_their_settings() -> None:
    found = rows(
        n=["1", "2"] * 4,
        op=[0.1, 0.1, 0.2, 0.2] * 2,
        kind=["a"] * 4 + ["b"] * 4,
        iops=[2.0, 4.0, 6.0, 8.0, 1.0, 1.0, 2.0, 2.0],
    )
    from flashweir.sweeps.derived import Expression

    wanted = {
        "a": curves.Pick("iops", "n", {"kind": "a"}, ("op",)),
        "b": curves.Pick("iops", "n", {"kind": "b"}, ("op",)),
        "first": curves.Pick("iops", "", {"kind": "a", "n": 1}, ("op",)),
        "lead": curves.Combination(Expression("lead", "a / b")),
        "growth": curves.Combination(Expression("growth", "a / first")),
    }
    families = measured(wanted, found)
    assert [(curve.label, curve.y) for curve in families["lead"]] == [("op=0.1", (2.0, 4.0)), ("op=0.2", (3.0, 4.0))]
    assert [curve.y for curve in families["growth"]] == [(1.0, 2.0), (1.0, 8.0 / 6.0)]
    assert curves.point(families["lead"], {"op": 0.2, "n": 2}) == 4.0
    with pytest.raises(ConfigError, match="2 curves fit"):
        curves.point(families["lead"], {"n": 2})


def test_lists_of_a_result_are_curves_too() -> None:
    result = {"activity": {"bin_s": 0.5, "channels": [{"dirty_pages": [1, 2]}, {"dirty_pages": [3, None]}]}}
    wanted = {"one": curves.Pick(points="activity.channels.1.dirty_pages", step="activity.bin_s"),
              "every": curves.Pick(points="activity.channels.*.dirty_pages", origin="activity.bin_s"),
              "none": curves.Pick(points="activity.channels.2.dirty_pages")}  # fmt: skip
    families = measured(wanted, rows(n=[1]), result)
    assert (families["one"][0].names, families["one"][0].y) == (("0",), (3.0,))
    assert [(curve.label, curve.names, curve.y) for curve in families["every"]] == [
        ("channel=0", ("0.5", "1.5"), (1.0, 2.0)),
        ("channel=1", ("0.5",), (3.0,)),
    ]
    assert families["none"][0].missing == 1


@pytest.mark.parametrize(
    ("published", "unit", "measured_value", "deviation", "ok"),
    [
        (200.0, "IOPS", 206.0, 0.03, True),
        (200.0, "IOPS", 207.0, 0.035, False),
        (0.8, "share", 0.77, -0.03, True),
        (0.8, "share", 0.84, 0.04, False),
        ((0.1, 0.4), "share", 0.3, 0.0, True),
        ((0.1, 0.4), "share", 0.45, 0.05, False),
        ((0.1, 0.4), "share", 0.05, -0.05, False),
        ("low", "share", 0.02, 0.0, True),
        ("low", "share", 0.15, 0.05, False),
        (None, "IOPS", 1.0, None, None),
        (0.0, "us", 0.0, 0.0, True),
        (0.0, "us", 1.0, None, False),
    ],
)
def test_deviations(published: Any, unit: str, measured_value: float, deviation: float | None, ok: bool | None) -> None:
    value = catalogue.Value("v", "table 1", unit, "a", {}, published, 0.03, 0.1)
    found = verdicts.row(value, {"a": [curves.Curve({}, ("",), (measured_value,))]})
    assert found["ok"] is ok
    assert found["deviation"] == (None if deviation is None else pytest.approx(deviation))
