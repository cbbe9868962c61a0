"""`flashweir search`: specs, evaluation, the same bytes, resuming, outputs."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import forked
import pytest
from conftest import ends_with_machine

import flashweir
from flashweir import ConfigError, FlashweirError
from flashweir.budget import read_budget
from flashweir.searching import lives
from flashweir.searching.outcome import Search
from flashweir.searching.spec import load

if TYPE_CHECKING:
    import subprocess

SPEC = """
workloads = "zipf:span=24MiB,size=4KiB,count=1500,write=0.7"
constraints = ["cost.total_usd <= 14", "buffer.bytes <= 1MiB", "latency_us.write.p99 < 20000"]

[goals]
iops = "max"
cost.total_usd = "min"

[prices]
flash_per_gib = 100
dram_per_gib = 1000
channel = 1
drive = 1

[set]
capacity = "32MiB"
pages_per_block = 32
precondition = "full"
host.queue_depth = 8

[axes]
op_ratio = { from = 0.1, to = 0.4, step = 0.1 }
channels = { from = 1, to = 6 }
buffer.bytes = ["0", "256KiB", "2MiB"]
"""


def written(folder: Path, text: str = SPEC, name: str = "s.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Search, Path]:
    """A search of 16 designs, and its directory."""
    folder = tmp_path_factory.mktemp("searched")
    return flashweir.search(written(folder), folder / "d", budget=16), folder / "d"


def test_the_front_is_what_nothing_else_dominates(searched: tuple[Search, Path]) -> None:
    found, _ = searched
    assert (found.grid, found.runs, len(found.found)) == (4 * 6 * 3, 16, 16)
    front = found.front
    assert front.columns[:4] == ["design", "op_ratio", "channels", "buffer.bytes"]
    assert front["cost.total_usd"].max() <= 14
    # From the most IOPS on, each next one costs less.
    assert front["iops"].to_list() == sorted(front["iops"], reverse=True)
    assert front["cost.total_usd"].to_list() == sorted(front["cost.total_usd"], reverse=True)
    # A constraint over keys keeps designs from running.
    assert "2MiB" not in found.designs["buffer.bytes"].to_list()
    assert found.excluded > 0
    assert found.hypervolume[-1] == 1.0
    assert found.hypervolume == sorted(found.hypervolume)


def test_costs_follow_from_keys_and_prices(tmp_path: Path) -> None:
    found = flashweir.search(written(tmp_path), budget=6)
    row = found.front.row(0, named=True)
    keys = {"op_ratio": row["op_ratio"], "channels": row["channels"]}
    raw = flashweir.simulate(
        "random:span=1MiB,count=1", set={"capacity": "32MiB", "pages_per_block": 32, **keys}
    )["geometry.physical_pages"] * 4096  # fmt: skip
    buffer = {"0": 0, "256KiB": 256 << 10}[row["buffer.bytes"]]
    dram = buffer + 4 * (32 << 20) // 4096
    gib = 1 << 30
    assert row["cost.total_usd"] == pytest.approx(raw / gib * 100 + dram / gib * 1000 + row["channels"] + 1)


def test_the_same_seed_gives_the_same_bytes_and_goes_on_after_a_stop(
    tmp_path: Path, searched: tuple[Search, Path]
) -> None:
    spec = written(tmp_path)
    whole, directory = searched
    counts: list[int] = []

    def stop(state: Any) -> bool:
        counts.append(state.done)
        return state.done < 11

    with pytest.raises(FlashweirError, match="stopped: 1"):
        flashweir.search(spec, tmp_path / "two", budget=16, progress=stop)
    with pytest.raises(ConfigError, match="holds runs already: resume=True goes on"):
        flashweir.search(spec, tmp_path / "two", budget=16)
    before = (tmp_path / "two" / "runs.jsonl").read_text(encoding="utf-8")
    again = flashweir.search(spec, tmp_path / "two", budget=16, resume=True)
    assert json.dumps(again.to_dict()) == json.dumps(whole.to_dict())
    after = (tmp_path / "two" / "runs.jsonl").read_text(encoding="utf-8")
    assert after.startswith(before)
    assert len(after.splitlines()) == 16
    one, two = (sorted(path.read_text(encoding="utf-8") for path in (folder / "front").iterdir())
                for folder in (directory, tmp_path / "two"))  # fmt: skip
    assert one == two
    other = flashweir.search(spec, budget=16, seed=2)
    assert other.to_dict() != whole.to_dict()


def test_its_directory_is_that_of_a_sweep(tmp_path: Path) -> None:
    found = flashweir.search(written(tmp_path), tmp_path / "d", budget=9)
    frame = flashweir.read_sweep(tmp_path / "d")
    assert frame.height == 9
    assert sorted(frame["iops"]) == sorted(found.designs["iops"])
    device = tmp_path / "d" / "front" / f"{found.front['design'][0]}.toml"
    again = flashweir.simulate("zipf:span=24MiB,size=4KiB,count=1500,write=0.7", device)
    assert again.iops == found.front["iops"][0]


def test_a_small_grid_is_run_once(tmp_path: Path) -> None:
    text = SPEC.replace("{ from = 1, to = 6 }", "[2, 4]").replace("step = 0.1", "step = 0.15")
    found = flashweir.search(written(tmp_path, text), budget=100)
    assert len(found.found) == 3 * 2 * 2
    assert len({tuple(one.labels.values()) for one in found.found}) == 12


def test_lives_several_workloads_and_seeds(tmp_path: Path) -> None:
    text = """
constraints = ["life.tbw > 0.001"]
seeds = 2
[workloads]
skewed = "zipf:span=24MiB,size=4KiB,count=1000,write=0.7"
mixed = "random:span=24MiB,size=4KiB,count=1000,write=0.5"
[goals]
iops = { goal = "max", over = "geomean" }
life.cost_per_tbw = { goal = "min", over = "worst" }
[prices]
flash_per_gib = { tlc = 100, qlc = 60 }
[life]
cycles = 300
[set]
capacity = "32MiB"
pages_per_block = 32
precondition = "full"
[axes]
op_ratio = [0.1, 0.3]
nand.cell = ["tlc", "qlc"]
"""
    found = flashweir.search(written(tmp_path, text), tmp_path / "d", budget=4)
    assert found.runs == 4 * 2 * 2
    rows = {(row["op_ratio"], row["nand.cell"]): row for row in found.designs.iter_rows(named=True)}
    # Cheaper flash, worn as much: fewer dollars for a byte written; more spare space: more of both.
    assert rows[0.3, "qlc"]["life.cost_per_tbw"] < rows[0.3, "tlc"]["life.cost_per_tbw"]
    assert rows[0.3, "tlc"]["life.tbw"] > rows[0.1, "tlc"]["life.tbw"]
    life = flashweir.lifetime(
        "random:span=24MiB,size=4KiB,count=1000,write=0.5", capacity="32MiB", pages_per_block=32, precondition="full",
        op_ratio=0.1, cycles=300, seeds=[1],
    )  # fmt: skip
    kept = [json.loads(line)["life"]["life.tbw"] for line in (tmp_path / "d" / lives.FILE).read_text().splitlines()]
    assert any(value == pytest.approx(life.tbw_bytes / 1e12) for value in kept)


def test_ranges_without_steps() -> None:
    def labels(axis: dict[str, object]) -> list[object]:
        spec = load({"workloads": "random:count={length}", "goals": {"iops": "max"}, "axes": {"length": axis}})
        return list(spec.sweep.axes[0].labels)

    assert labels({"from": 1, "to": 4}) == [1, 2, 3, 4]
    assert labels({"from": "64KiB", "to": "512KiB"}) == ["64KiB", "128KiB", "256KiB", "512KiB"]
    wide = labels({"from": 1, "to": 10_000})
    assert (len(wide), wide[0], wide[-1]) == (31, 1, 10_000)
    narrow = labels({"from": 0.5, "to": 1.5})
    assert (len(narrow), narrow[16]) == (33, 1.0)


def test_a_spec_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: No such file or directory: expected a search in TOML"):
        flashweir.search(tmp_path / "none.toml", budget=4)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('iops = "max"', 'iops = "most"', "goals.iops: 'most': expected min or max"),
        ('iops = "max"', 'ipos = "max"', "goals.ipos: ipos is no key, metric, cost or life; did you mean iops?"),
        ('iops = "max"', '"iops +" = "max"', "goals.iops +: 'iops +': expected arithmetic over columns"),
        ('iops = "max"', 'iops = { goal = "max", over = "worst" }', "goals.iops.over: expected several workloads"),
        ('"buffer.bytes <= 1MiB"', '"buffer.bytes"', "constraints, 2: 'buffer.bytes': expected a comparison"),
        ('"buffer.bytes <= 1MiB"', '"1 <= 2"', "constraints: 1 <= 2: expected the name of a key or metric in it"),
        ("[prices]", "[price]", "price: unknown key; did you mean prices?"),
        ("channel = 1", "chanel = 1", "prices.chanel: unknown key: expected some of flash_per_gib"),
        ("channel = 1", "channel = -1", "prices.channel: -1: expected a price in USD, a number from 0"),
        ("[axes]", "[life]\nyears = 5\n[axes]", "life: expected a goal or constraint with one of life.tbw"),
        ("from = 1, to = 6", "from = 6, to = 1", "axes.channels: 6 to 1: expected two numbers"),
        ("<= 14", "<= 1", "axes: no design may run: of those tried, 72 miss a constraint over keys or costs"),
    ],
)
def test_refused_specs(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SPEC
    with pytest.raises(ConfigError) as refused:
        flashweir.search(written(tmp_path, SPEC.replace(old, new)), budget=4)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": "soon"}, "budget: 'soon': expected a number of evaluations, or a time such as 10min"),
        ({"budget": 0}, "budget: 0: expected at least 1 design"),
        ({"batch": 0}, "batch: 0: expected a whole number from 1"),
    ],
)
def test_refused_arguments(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        flashweir.search(written(tmp_path), **arguments)
    assert message in str(refused.value)


def test_prices_are_needed_for_what_has_a_price(tmp_path: Path) -> None:
    text = SPEC.partition("[prices]")[0] + "[set]" + SPEC.partition("[set]")[2]
    with pytest.raises(ConfigError, match=r"cost.total_usd: expected \[prices\]"):
        flashweir.search(written(tmp_path, text))


def command(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return forked.run(["search", *map(str, arguments)])


def test_the_command(tmp_path: Path) -> None:
    page, out = tmp_path / "s.html", tmp_path / "s.json"
    done = command(written(tmp_path), "--budget", "8", "-o", tmp_path / "d", "--html", page)
    assert done.returncode == 0, done.stderr
    assert "on the Pareto front under 3 constraints, of 8 that ran and 72 in the grid" in done.stdout
    text = page.read_text(encoding="utf-8")
    assert "Pareto front" in text
    assert "Dominated hypervolume over designs" in text
    assert ends_with_machine(page, "search")
    lead = re.search(r'<p class="lead">(.*)</p>', text)
    assert lead is not None
    assert re.search(r"The best of each goal: .*total cost [0-9.,]+ USD \(design", lead[1]), "in words, with a unit"
    assert "e+" not in lead[1]
    done = command(written(tmp_path), "--budget", "8", "-o", tmp_path / "d", "--resume", "--json", out)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="utf-8"))
    assert (found["format"], found["runs"], len(found["designs"])) == (1, 8, 8)
    assert all(found["designs"][number - 1]["feasible"] for number in found["front"])
    assert command(tmp_path / "none.toml").returncode == 2
    none = command(written(tmp_path, SPEC.replace("< 20000", "< 1")), "--budget", "4")
    assert none.returncode == 1
    assert none.stderr.splitlines()[-1].endswith(
        "none of 4 designs meets all constraints: 4 miss latency_us.write.p99 < 1"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5s", (None, 0.5)),
        ("1.5h", (None, 5400.0)),
        ("0.5min", (None, 30.0)),
        ("100ms", (None, 0.1)),
        ("10 min", (None, 600.0)),
        ("1e2", (100, None)),
        (16, (16, None)),
        ("0", (0, None)),
    ],
)
def test_a_budget_is_a_number_or_any_time(text: int | str, expected: tuple[int | None, float | None]) -> None:
    assert read_budget(text) == expected


@pytest.mark.parametrize("text", ["0s", "-1", "1.5", "10KiB", "soon", "", "1e7", True, "nan", "1e300h"])
def test_what_is_no_budget_is_refused(text: int | str) -> None:
    with pytest.raises(ConfigError, match="expected a number of evaluations"):
        read_budget(text)
