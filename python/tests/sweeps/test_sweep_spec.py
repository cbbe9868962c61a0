"""The language of sweeps: what a spec means, and what is said of a wrong one."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashweir import ConfigError
from flashweir.quantity import number_of, shortened, write_like
from flashweir.sweeps import sweep
from flashweir.sweeps.axes import axis
from flashweir.sweeps.derived import Expression
from flashweir.sweeps.estimate import estimate
from flashweir.sweeps.points import Planner, count_points, count_runs, runs
from flashweir.sweeps.spec import load

MINIMAL = {"workloads": {"w": "random:span=32MiB,count=100"}}


def labels(given: object) -> list[Any]:
    return list(axis("op_ratio", given).labels)


def test_lists_and_ranges() -> None:
    assert labels([1, 2]) == [1, 2]
    assert labels({"from": 1, "to": 8, "step": 3}) == [1, 4, 7]
    assert labels({"from": 1, "to": 64, "factor": 4}) == [1, 4, 16, 64]
    assert labels({"from": 0.1, "to": 0.3, "step": 0.1}) == [0.1, 0.2, 0.3]
    assert labels({"from": 0, "to": 1, "count": 3}) == [0, 1]  # whole ends, whole values: 0.5 is rounded to even
    assert labels({"from": 0.0, "to": 1.0, "count": 3}) == [0.0, 0.5, 1.0]
    assert labels({"from": 0.01, "to": 100.0, "count": 5, "scale": "log"}) == [0.01, 0.1, 1.0, 10.0, 100.0]
    assert labels({"from": "64KiB", "to": "1MiB", "factor": 4}) == ["64KiB", "256KiB", "1MiB"]
    assert labels({"from": "500us", "to": "2ms", "step": "500us"}) == ["500us", "1ms", "1500us", "2ms"]


@given(st.floats(0.001, 1000), st.integers(2, 50), st.floats(1.01, 10))
def test_a_log_range_goes_from_end_to_end_by_equal_factors(first: float, count: int, last: float) -> None:
    values = axis("x", {"from": first, "to": first * last, "count": count, "scale": "log"}).labels
    assert math.isclose(float(values[0]), first, rel_tol=1e-9)
    assert math.isclose(float(values[-1]), first * last, rel_tol=1e-9)
    factors = [float(b) / float(a) for a, b in pairwise(values)]
    assert all(math.isclose(factor, factors[0], rel_tol=1e-6) for factor in factors)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "at least one value"),
        (3, "expected a list"),
        ({"from": 1}, "from, to, and one of"),
        ({"from": 1, "to": 2, "step": 1, "count": 3}, "one of"),
        ({"from": 1, "to": 2, "stp": 1}, "stp"),
        ({"from": 2, "to": 1, "step": 1}, "from not above to"),
        ({"from": 0, "to": 1, "factor": 2}, "from above 0"),
        ({"from": 0, "to": 1e12, "step": 1e-6}, "values"),
        ({"from": "x", "to": 1, "step": 1}, "'x'"),
        ({"from": 1, "to": 2, "count": 1}, "from 2"),
        ({"from": 1, "to": 2, "count": 4, "scale": "cubic"}, "linear or log"),
        ([1, 1], "twice"),
        ([[1]], "numbers, texts or booleans"),
        ([float("nan")], "numbers, texts or booleans"),
    ],
)
def test_bad_axes_are_one_clear_line(given: object, message: str) -> None:
    with pytest.raises(ConfigError, match=r"axes\.op_ratio") as caught:
        axis("op_ratio", given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_values_of_several_kinds_become_texts() -> None:
    assert labels(["none", 3, True]) == ["none", "3", "True"]
    assert labels([1, 0.5]) == [1, 0.5]


@given(st.integers(0, 1 << 50))
def test_sizes_and_times_are_written_as_they_are_read(value: int) -> None:
    assert number_of(write_like(value, "1KiB")) == value
    assert number_of(write_like(value, "1us")) == value


def test_quantities_are_those_of_the_engine() -> None:
    assert number_of("1.5ms") == 1_500_000
    assert number_of("64KiB") == 65536
    assert number_of("4kB") == 4000
    assert number_of("2min") == 120e9
    assert number_of("1h") == 3600e9
    assert number_of("1e3KiB") is None
    assert number_of("4 kib") is None
    assert number_of("greedy") is None
    assert number_of("nan") is None
    assert number_of(True) is None


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("52983169ns", "52.98ms"),
        ("452035ns", "452us"),
        ("1234567B", "1.177MiB"),
        ("64KiB", "64KiB"),
        ("greedy", "greedy"),
    ],
)
def test_quantities_are_shortened_for_readers(text: str, short: str) -> None:
    assert shortened(text) == short


def test_axes_are_crossed_zipped_and_grouped() -> None:
    spec = load(
        {
            **MINIMAL,
            "seeds": [7, 9],
            "zip": [["channels", "chips"]],
            "axes": {
                "channels": [2, 4],
                "chips": [4, 2],
                "gc": {"victim": ["fifo", "greedy"]},
                "policy": {"plain": {}, "held back": {"gc": {"free_blocks": 3}}},
            },
        }
    )
    assert [axis.name for axis in spec.axes] == ["channels", "chips", "gc.victim", "policy"]
    all_runs = list(runs(spec))
    assert len(all_runs) == count_points(spec) * 2 == 2 * 2 * 2 * 2
    assert {(run.axes["channels"], run.axes["chips"]) for run in all_runs} == {(2, 4), (4, 2)}
    last = all_runs[-1]
    assert (last.point, last.seed) == (7, 9)
    assert last.spec["overrides"] == {"channels": 4, "chips": 2, "gc.victim": "greedy", "gc.free_blocks": 3}


def test_placeholders_fill_workloads_and_axes_that_do_not_act_are_not_crossed() -> None:
    spec = load(
        {
            "workloads": {
                "zipf": "zipf:span={capacity},count=10,theta={theta}",
                "random": "random:span={capacity},count=10,write={write}",
            },
            "set": {"write": 0.5},
            "axes": {"theta": [0.8, 0.9, 0.99], "capacity": ["64MiB", "128MiB"]},
        }
    )
    found = list(runs(spec))
    assert len(found) == count_points(spec) == 3 * 2 + 2
    assert found[-1].spec["workloads"][0]["spec"] == "random:span=128MiB,count=10,write=0.5"
    assert found[-1].spec["overrides"] == {"capacity": "128MiB"}
    assert found[-1].axes == {"theta": None, "capacity": "128MiB"}


def test_a_workload_may_have_settings_of_its_own_and_run_once() -> None:
    table = {
        "workloads": {"a": "random:span=32MiB,count=10", "b": "random:span=1MiB,count=10"},
        "set": {"capacity": "64MiB", "channels": 2},
        "set_for": {"b": {"capacity": "8MiB", "gc": {"victim": "fifo"}}},
        "axes": {"gc.victim": ["greedy", "random"]},
        "seeds": 3,
        "once": ["b"],
    }
    spec = load(table)
    found = list(runs(spec))
    assert [(run.workload, run.seed) for run in found if run.axes["gc.victim"] == "random"] == [
        ("a", 1), ("a", 2), ("a", 3), ("b", 1)]  # fmt: skip
    assert len(found) == count_runs(spec) == 8
    assert count_points(spec) == 4
    # Settings of an axis override both.
    settings = {run.workload: run.spec["overrides"] for run in found if run.axes["gc.victim"] == "random"}
    assert settings["a"] == {"capacity": "64MiB", "channels": 2, "gc.victim": "random"}
    assert settings["b"] == {"capacity": "8MiB", "channels": 2, "gc.victim": "random"}
    assert estimate(spec, 1)["runs"] == 8


def test_several_streams_make_one_workload() -> None:
    spec = load({"workloads": {"mix": {"a": "random:count=10", "b": "seq:count=10"}}})
    assert [stream["name"] for stream in next(runs(spec)).spec["workloads"]] == ["a", "b"]


def test_paths_are_relative_to_the_spec(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "drive.toml").write_text("channels = 2\n")
    (tmp_path / "sub" / "t.csv").write_text("0,host,0,Write,0,4096,0\n")
    (tmp_path / "sub" / "s.toml").write_text('device = "drive.toml"\n[workloads]\nt = "t.csv"\n')
    run = next(runs(load(tmp_path / "sub" / "s.toml")))
    assert run.spec["device"] == str(tmp_path / "sub" / "drive.toml")
    assert run.spec["workloads"][0]["spec"] == str(tmp_path / "sub" / "t.csv")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workload": {}}, "workload: unknown key; did you mean workloads?"),
        ({"workloads": {}}, "workloads: expected a table"),
        ({"workloads": {"w": 3}}, "workloads.w"),
        ({"workloads": {"w": "random:count={n}"}}, "{n} has no value"),
        ({"axes": {"op_ration": [1]}}, "did you mean op_ratio?"),
        ({"axes": {"seed": [1]}}, "axes.seed: that is a column already"),
        ({"axes": {"n": [1]}}, "axes.n: that is a column already"),
        ({"axes": {"iops": {"a": {}, "b": {}}}}, "axes.iops: that is a column already"),
        ({"axes": {"gc": {"victim": "fifo"}}}, "axes.gc.victim: 'fifo': expected a list"),
        ({"axes": {"gc": {"victim": ["fifo"]}, "policy": {"a": {"gc": {"victim": "greedy"}}}}}, "sets gc.victim, as"),
        ({"axes": {"channels": [2**63]}}, "expected at most"),
        (
            {"axes": {"op_ratio": {"from": 0, "to": 1e300, "step": 1e-300}}},
            "op_ratio: that is over 1,000,000,000,000,000 values: expected",
        ),
        ({"axes": {"op_ratio": {"from": 0, "to": 1, "step": 1e-300}}}, "that is over 1,000,000,000,000,000 values"),
        ({"axes": {"buffer.bytes": {"from": "64KiB", "to": "4us", "step": 1}}}, "not a mixture"),
        ({"axes": {"buffer.bytes": {"from": "64KiB", "to": "1MiB", "factor": "4KiB"}}}, "plain number"),
        ({"compare": ["channels"]}, "compare: ['channels']: expected the name of an axis"),
        ({"zip": [[["channels"]]]}, "no axis"),
        ({"set": {"capacity": object()}}, "set.capacity"),
        ({1: 2}, "expected names as texts"),
        ({"derived": {"iops": "iops * 2"}}, "column already"),
        ({"derived": {"iops low": "iops"}}, "column already"),
        ({"axes": {"channels": [1, 2]}, "metrics": ["channels"]}, "no number of a result"),
        ({"workloads": ["random:count=5", "random:count=5"]}, "listed twice"),
        ({"device": "nosuch.toml"}, "nosuch.toml"),
        ({"axes": {"device": ["femu", "nosuch"]}}, "nosuch"),
        ({"warmup": "mser"}, "mser"),
        ({"activity": "10ms"}, "10ms"),
        ({"axes": {"policy": {"a": {"gc.victm": "fifo"}}}}, "gc.victm"),
        ({"set": {"chanels": 3}}, "did you mean channels?"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"seeds": -3}, "seeds"),
        ({"seeds": {"first": 2**64, "count": 1}}, "seeds"),
        ({"zip": [["channels"]]}, "no axis"),
        ({"axes": {"channels": [1, 2], "chips": [1]}, "zip": [["channels", "chips"]]}, "chips has 1"),
        ({"compare": "channels"}, "compare"),
        ({"axes": {"channels": [1, 2]}, "compare": "channels", "baseline": 3}, "expected one of 1, 2"),
        ({"baseline": 3}, "compare"),
        ({"derived": {"a": "iops +"}}, "derived.a"),
        ({"derived": {"error": "iops"}}, "column already"),
        ({"metrics": "iops"}, "metrics"),
        ({"metrics": ["iosp"]}, "iosp is no number of a result; did you mean iops?"),
        ({"derived": {"a": "flash.gc.programs / flash.program"}}, "did you mean flash.programs?"),
        ({"derived": {"a": "iops * b", "b": "iops"}}, "derived.a: b is no column"),
        ({"verify": "yes"}, "true or false"),
        ({"skip_bad": -1}, "whole number"),
        ({"device": {"channels": 3}}, "under [set]"),
        ({"set_for": {"v": {"channels": 3}}}, "set_for: 'v' is no workload"),
        ({"set_for": {"w": {"chanels": 3}}}, "set_for.w.chanels: no key of a drive; did you mean channels?"),
        ({"set_for": {"w": 3}}, "w: 3: expected a table"),
        ({"once": ["v"]}, "once: 'v' is no workload"),
        ({"once": "w"}, "once"),
    ],
)
def test_bad_specs_are_one_clear_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load({**MINIMAL, **change})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_values_of_python_are_taken() -> None:
    spec = load(
        {
            "workloads": [Path("random:count=5"), "random:count=6"],
            "seeds": np.arange(1, 4),
            "axes": {"op_ratio": np.array([0.1, 0.2]), "channels": (np.int64(2), 4)},
        }
    )
    assert spec.seeds == [1, 2, 3]
    assert [list(axis.labels) for axis in spec.axes] == [["random:count=5", "random:count=6"], [0.1, 0.2], [2, 4]]
    last = load({**MINIMAL, "seeds": {"first": 2**64 - 1, "count": 1}})
    assert last.seeds == [2**64 - 1]


def test_traces_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.csv").write_text("0,h,0,Write,0,4096,0\n")
    path = tmp_path / "s.toml"
    path.write_text('workloads = ["x/t.csv", "y/t.csv"]\n')
    assert list(load(path).workloads) == ["x/t.csv", "y/t.csv"]
    path.write_text('workloads = ["x/t.csv", "random:count=5"]\n')
    assert list(load(path).workloads) == ["t.csv", "random:count=5"]


def test_bad_files_name_the_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    for content, message in ((b"a = \n", "line 1"), (b"\xff\xfe", "UTF-8"), (b"nonsense = 1\n", "unknown key")):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"s\.toml") as caught:
            load(path)
        assert message in str(caught.value)
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "absent.toml")


COLUMNS = {"iops": 100.0, "flash": {"gc": {"programs": 30}, "programs": 60}, "none": None, "op_ratio": 0.1,
           "buffer.bytes": "64KiB", "streams": {"a b": {"x": 2}}}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("flash.gc.programs / flash.programs", 0.5),
        ("-iops ** 2 + 1", -9999.0),
        ("max(iops, 200) - min(1, 2)", 199.0),
        ("buffer.bytes / 1024", 64.0),
        ("log2(8) * (iops > 50)", 3.0),
        ('streams["a b"].x', 2.0),
        ("none + 1", None),
        ("iops / 0", None),
        ("10.0 ** 400", None),
        ("log10(0 - 1)", None),
    ],
)
def test_derived_columns(text: str, value: float | None) -> None:
    assert Expression("d", text).value(COLUMNS) == value


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "(lambda: 1)()", "[1]", "iops if 1 else 2", "iops.__class__()", "'text'", "a := 1", "", "1 2",
     "print(1)", "min()", "f'{iops}'", "+".join(["1"] * 500), "x[0]", 7],
)  # fmt: skip
def test_nothing_but_arithmetic_is_derived(text: object) -> None:
    with pytest.raises(ConfigError, match=r"derived\.d"):
        Expression("d", text)


def test_an_expression_knows_its_columns() -> None:
    names = Expression("d", 'max(flash.gc.programs, iops) / streams["a b"].latency_us.read.mean + op_ratio').names()
    assert sorted(names) == ["flash.gc.programs", "iops", "op_ratio", "streams.a b.latency_us.read.mean"]


def test_a_name_that_is_no_column_is_said() -> None:
    with pytest.raises(ConfigError, match=r"flash\.nothing is no column"):
        Expression("d", "flash.nothing").value(COLUMNS)


def test_identity_is_content_not_form(tmp_path: Path) -> None:
    planner = Planner()

    def key(**spec: Any) -> str:
        return planner.plan(next(runs(load({"workloads": {"w": "random:span=32MiB,count=100"}, **spec})))).key

    base = key(set={"channels": 8})
    assert base == key() == key(set={"capacity": "16GiB"}) == key(workloads={"other": "random:count=100,span=32MiB"})
    different = [key(set={"channels": 4}), key(seeds=[2]), key(verify=True), key(workloads={"w": "random:count=101"})]
    assert len({base, *different}) == 5
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("128166372003061629,h,0,Write,4096,4096,1\n")
    two.write_text(one.read_text())
    assert key(workloads={"w": str(one)}) == key(workloads={"w": str(two)})
    two.write_text("128166372003061629,h,0,Write,8192,4096,1\n")
    assert key(workloads={"w": str(one)}) != key(workloads={"w": str(two)})


def test_a_dry_run_estimates_drives_of_every_run_loop() -> None:
    spec = {
        "workloads": ["random:span=16MiB,size=4KiB,count=1000,write=1"],
        "set": {"capacity": "16MiB", "channels": 2, "ftl.kind": "fast", "op_ratio": 0.2, "precondition": "full"},
        "axes": {"clock": ["async", "lock-step"]},
    }
    found = estimate(load(spec), threads=1)
    assert (found["points"], found["refused"]) == (2, 0)


def test_every_number_that_a_result_declares_can_be_a_metric() -> None:
    metrics = ["slc.room_pages", "counters.copybacks", "host.link.read_bytes", "placement.media_bytes", "iops"]
    spec = {"workloads": "random:count=1", "metrics": metrics, "derived": {"mib": "slc.room_pages / 64"}}
    assert load(spec).metrics == metrics
    with pytest.raises(ConfigError, match=r"slc\.room_page is no number of a result; did you mean slc\.room_pages\?"):
        load({**spec, "metrics": ["slc.room_page"]})
    with pytest.raises(ConfigError, match=r"latency_us is no number"):
        load({**spec, "metrics": ["latency_us"]})


def test_a_number_of_a_mechanism_is_a_metric_of_a_sweep() -> None:
    cache = {"channels": 4, "page": "16KiB", "pages_per_block": 96, "capacity": "1GiB", "nand.cell": "tlc"}
    frame = sweep({
        "workloads": "sequential:span=16MiB,size=16KiB,count=1,write=1",
        "set": {**cache, "slc.kind": "dynamic"},
        "axes": {"fill": [0.5, 1.0]},
        "metrics": ["slc.room_pages"],
        "derived": {"mib": "slc.room_pages / 64"},
    })  # fmt: skip
    assert frame["error"].null_count() == frame.height == 2
    assert frame["mib"].to_list() == [pages / 64 for pages in frame["slc.room_pages"].to_list()]
