"""The experiment on parts together: its analysis on data with known effects, its loads, and its quick variant."""

import importlib
import itertools
import math
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT, flashweir

FOLDER = ROOT / "experiments" / "06-together"
LEVELS = {
    "planner": ("none", "cycle-filling"),
    "scheduler": ("fifo", "read-first", "suspend"),
    "allocation": ("dynamic", "tenants"),
    "buffer": ("none", "1 MiB"),
}
# Factors on latency. The planner helps and the scheduler helps, but of both together the planner's half is lost.
PLANNER, SUSPEND, TENANTS, LOST = 0.5, 0.25, 3.0, 2.0
MARKS = "<!-- results: analyse.py -->\nold\n<!-- end of results -->"
NOISE = (0.9, 1.0, 1.1)


@pytest.fixture
def analyse(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("effects", "analyse"):
        sys.modules.pop(name, None)
    return importlib.import_module("analyse")


def runs(*, reads: int = 500) -> list[dict[str, Any]]:
    """All combinations over three mixes at two loads; the effect of the planner differs between mixes by the noise."""
    found = []
    for mix, load in itertools.product((1, 2, 3), (30, 60)):
        for setting in itertools.product(*LEVELS.values()):
            run = dict(zip(LEVELS, setting, strict=True))
            latency = 100.0 * mix * load
            if run["planner"] != "none":
                latency *= PLANNER * NOISE[mix - 1]
            if run["scheduler"] == "suspend":
                latency *= SUSPEND
            if run["planner"] != "none" and run["scheduler"] == "suspend":
                latency *= LOST
            if run["allocation"] == "tenants":
                latency *= TENANTS
            numbers = {
                f"latency_us.{op}.{number}": latency
                for op, number in itertools.product(("read", "write"), ("mean", "p99"))
            }
            counts = {"latency_us.read.count": reads if mix == 3 else 500, "latency_us.write.count": 500}
            found.append({"workload": f"{mix}, {load}%", **run, **numbers, **counts, "write_amplification": 2.0})
    return found


def test_known_effects_are_found(analyse: ModuleType) -> None:
    numbers, loads, mixes = analyse.factorials(runs())
    assert (loads, mixes) == (["30%", "60%"], ["1", "2", "3"])
    number = numbers["read mean"]
    noise = sum(math.log(each) for each in NOISE) / 3
    planner, suspend, lost = math.log(PLANNER), math.log(SUSPEND), math.log(LOST)
    over = analyse.over_loads
    assert over(number.alone(0, 1)).value == pytest.approx(planner + noise)
    # One level of three of the scheduler loses, one of two of the planner.
    assert over(number.main(0, 1)).value == pytest.approx(planner + noise + lost / 3)
    assert over(number.main(1, 2)).value == pytest.approx(suspend + lost / 2)
    assert over(number.main(1, 1)).value == pytest.approx(0)
    assert over(number.main(2, 1)).value == pytest.approx(math.log(TENANTS))
    assert over(number.interaction((0, 1), (1, 2))).value == pytest.approx(lost)
    assert over(number.given((0, 1), (1, 0))).value == pytest.approx(planner + noise)
    assert over(number.given((0, 1), (1, 2))).value == pytest.approx(planner + noise + lost)
    assert over(number.interaction((0, 1), (2, 1))).value == pytest.approx(0)


def test_verdicts_of_pairs(analyse: ModuleType) -> None:
    number = analyse.factorials(runs())[0]["read mean"]
    assert analyse.verdict(analyse.over_loads(number.interaction((0, 1), (1, 2)))) == "slower"
    assert analyse.verdict(analyse.over_loads(number.interaction((0, 1), (3, 1)))) == "equal"
    assert analyse.verdict(analyse.Interval(-0.5, -0.6, -0.4)) == "faster"
    assert analyse.verdict(analyse.Interval(-0.5, -2.0, 1.0)) == "open"


def test_shares_of_the_variance_sum_to_one(analyse: ModuleType) -> None:
    shares = analyse.factorials(runs())[0]["read mean"].shares()
    assert sum(shares.values()) == pytest.approx(1)
    assert (shares[0, 1] > 0.01).all()
    assert (shares[2,] > 0.1).all()
    assert shares[3,] == pytest.approx(0)
    assert shares[0, 2] == pytest.approx(0)


def test_the_best_drive_leaves_out_parts_without_effect(analyse: ModuleType) -> None:
    numbers, loads, mixes = analyse.factorials(runs())
    # With suspension the planner gains nothing but the noise, in the geometric mean below 1.
    goals = analyse.goals(numbers)
    assert analyse.best(goals, range(len(loads)), range(len(mixes))) == (1, 2, 0, 0)
    # Without the first mix it costs more than nothing.
    assert analyse.best(goals, range(len(loads)), [1, 2]) == (0, 2, 0, 0)
    others = analyse.held_out(numbers, goals, len(mixes))["read mean"]
    assert others[:, 0] == pytest.approx(math.log(SUSPEND))
    assert others[:, 2] == pytest.approx(math.log(SUSPEND * NOISE[2]))


def test_intervals_are_of_mixes(analyse: ModuleType) -> None:
    number = analyse.factorials(runs())[0]["read mean"]
    found = analyse.over_loads(number.alone(0, 1))
    logs = [math.log(PLANNER * noise) for noise in NOISE]
    mean = sum(logs) / 3
    error = math.sqrt(sum((each - mean) ** 2 for each in logs) / 2 / 3)
    # Student's t with two degrees of freedom.
    assert found.high - found.value == pytest.approx(4.303 * error, rel=0.1)
    exact = analyse.over_loads(number.alone(2, 1))
    assert exact.low == pytest.approx(exact.high)


def test_a_mix_with_few_reads_says_nothing_of_reads(analyse: ModuleType) -> None:
    numbers, _, _ = analyse.factorials(runs(reads=99))
    logs = [math.log(PLANNER * noise) for noise in NOISE]
    assert analyse.over_loads(numbers["read mean"].alone(0, 1)).value == pytest.approx(sum(logs[:2]) / 2)
    assert analyse.over_loads(numbers["write mean"].alone(0, 1)).value == pytest.approx(sum(logs) / 3)


def test_a_mix_apart_counts_in_no_mean(analyse: ModuleType) -> None:
    numbers, _, mixes = analyse.factorials(runs())
    number = numbers["read mean"].of([mixes.index("1"), mixes.index("3")])
    logs = [math.log(PLANNER * noise) for noise in (NOISE[0], NOISE[2])]
    assert analyse.over_loads(number.alone(0, 1)).value == pytest.approx(sum(logs) / 2)


def test_a_missing_run_is_refused(analyse: ModuleType) -> None:
    with pytest.raises(SystemExit, match="1 runs missing: expected all 144 combinations"):
        analyse.factorials(runs()[1:])


@pytest.mark.usefixtures("analyse")
def test_the_part_of_planners_is_beside_managed_channels() -> None:
    sys.modules.pop("planners", None)
    planners = importlib.import_module("planners")
    own, steps = 0.8, 0.5
    found = []
    for run in runs(reads=99):
        if run["planner"] != "none" or run["scheduler"] == "suspend":
            continue
        for planner, gain in (("none", 1.0), ("managed", steps), ("cycle-filling", steps * own), ("forwarding", steps)):
            numbers = {name: value * gain for name, value in run.items() if name.endswith(("mean", "p99"))}
            # Another scheduler, and a mix apart, count nowhere.
            odd = 9.0 if run["scheduler"] == "read-first" else 1.0
            numbers = {name: value * odd if planner != "none" else value for name, value in numbers.items()}
            found.append({**run, **numbers, "planner": planner, "memory_hits": 0.25 if planner == "managed" else 0.0})
            if odd == 1.0:
                apart = {name: value * (5.0 if planner != "none" else 1.0) for name, value in numbers.items()}
                found.append({**found[-1], **apart, "workload": f"part {run['workload']}"})
    lines = list(planners.of_planners(planners.drives(found)))
    factors = {line.split("|")[1].strip(): [cell.split()[0] for cell in line.split("|")[2:7]] for line in lines[2:]}
    assert factors["no buffer, dynamic: managed / none"] == ["0.5", "0.5", "0.5", "0.5", "25.00%"]
    assert factors["1 MiB buffer, tenants: cycle-filling / managed"] == ["0.8", "0.8", "0.8", "0.8", "0.00%"]
    assert factors["no buffer, dynamic: cycle-filling / none"] == ["0.4", "0.4", "0.4", "0.4", "0.00%"]
    assert factors["1 MiB buffer, dynamic: forwarding / managed"][0] == "1"
    assert "no buffer, dynamic: forwarding / managed" not in factors
    # The third mix has 99 reads: two mixes are left, without spread here.
    read = planners.drives(found)["managed", "dynamic", "none"]["read mean"]
    assert [math.isnan(mean) for mean in read.mean(axis=0)] == [False, False, True]


def test_no_trace_is_in_two_mixes_and_all_have_three_loads() -> None:
    mixes = [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("mix-*.toml"))]
    traces = [tenant["workload"] for mix in mixes for tenant in mix["tenants"].values()]
    assert len(traces) == len(set(traces)) == 2 * len(mixes)
    found = tomllib.loads((FOLDER / "loads.toml").read_text(encoding="utf-8"))
    names = [path.stem.removeprefix("mix-").replace("-", " ") for path in sorted(FOLDER.glob("mix-*.toml"))]
    assert (
        list(found["workloads"])
        == list(found["set_for"])
        == [f"{mix}, {load}%" for mix in names for load in (30, 60, 90)]
    )
    for mix in names:
        low, middle, high = (found["set_for"][f"{mix}, {load}%"]["host"]["time_scale"] for load in (30, 60, 90))
        assert low / high == pytest.approx(3, rel=0.001)
        assert middle / high == pytest.approx(1.5, rel=0.001)


def test_the_quick_variant_runs_and_is_analysed(tmp_path: Path) -> None:
    flashweir("sweep", str(FOLDER / "quick.toml"), "-o", str(tmp_path / "runs"))
    documents = [tmp_path / "README.md", tmp_path / "tables.md"]
    for document in documents:
        document.write_text(f"Before.\n\n{MARKS}\n\nAfter.\n", encoding="utf-8")
    command = [
        sys.executable,
        str(FOLDER / "analyse.py"),
        str(tmp_path / "runs"),
        "--figures",
        str(tmp_path / "figures"),
    ]
    options = ["--readme", str(documents[0]), "--tables", str(documents[1])]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    for document, words in zip(documents, ("Best drive: ", "| cycle-filling with suspend |"), strict=True):
        text = document.read_text(encoding="utf-8")
        assert text.startswith("Before.\n")
        assert text.endswith("After.\n")
        assert "old" not in text
        assert words in text
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 8
