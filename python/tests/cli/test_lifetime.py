"""`flashweir lifetime`: endurance against arithmetic, against full runs, and what is written."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ends_with_machine, flashweir

from flashweir import ConfigError, lifetime, simulate, trace_generate
from flashweir.endurance.course import Course, Snapshot, counted
from flashweir.endurance.errors import CODEWORD, UBER, Code, acceleration
from flashweir.endurance.running import snapshot

DRIVE: dict[str, Any] = {
    "capacity": "32MiB",
    "pages_per_block": 64,
    "channels": 2,
    "op_ratio": 0.14,
    "precondition": "full",
}
RANDOM = "random:span=32MiB,size=4KiB,count=5000,write=0.8"
HOT = "hotcold:span=32MiB,size=4KiB,count=5000,hot_share=0.1,hot_writes=0.9"
KEYS = {"years", "ended_by", "tbw_bytes", "tbw_low", "tbw_high", "dwpd", "write_amplification", "rated_cycles",
        "raw_bytes", "curve", "ends", "seeds", "simulated_share"}  # fmt: skip
POINT = {"years", "host_bytes", "write_amplification", "wear_mean", "wear_max", "wear_max_low", "wear_max_high",
         "spare_share",
         *(f"{kind}_{name}" for kind in ("read", "write") for name in ("us", "p99_us", "p999_us"))}  # fmt: skip
SET = [f"--set={key}={value}" for key, value in DRIVE.items()]


@pytest.mark.parametrize("workload", [RANDOM, HOT])
def test_at_the_rated_cycles_the_bytes_are_those_of_the_formula(workload: str) -> None:
    found = lifetime(workload, cycles=1000, seeds=2, **DRIVE)
    assert found.ended_by == "cycles"
    assert found.raw_bytes * 1000 / found.write_amplification == pytest.approx(found.tbw_bytes, rel=0.01)
    assert found.tbw_low < found.tbw_bytes < found.tbw_high
    assert found.dwpd == pytest.approx(found.tbw_bytes / (32 * 2**20 * 365 * 5))
    assert found.simulated_share < 0.5
    assert found.settled
    assert found.check.difference <= 0.01


@pytest.mark.parametrize("workload", [RANDOM, HOT])
def test_fast_forward_gives_what_the_full_run_gives(workload: str) -> None:
    fast = lifetime(workload, cycles=400, seeds=1, **DRIVE)
    full = lifetime(workload, cycles=400, seeds=1, full=True, **DRIVE)
    assert fast.simulated_share < 0.9
    assert full.simulated_share == 1
    assert fast.tbw_bytes == pytest.approx(full.tbw_bytes, rel=0.02)
    requests = round(fast.tbw_bytes / 4096)
    run = simulate(workload.replace("count=5000", f"count={requests}").replace("write=0.8", "write=1"), seed=1, **DRIVE)
    assert run.wear.mean == pytest.approx(400, rel=0.02)


def test_progress_names_the_seed_and_the_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    def telling(*args: Any, progress: Any, **options: Any) -> Any:
        progress({"phase": "run"})
        return simulate(*args, **options)

    monkeypatch.setattr("flashweir.endurance.api.simulate", telling)
    states: list[dict[str, Any]] = []
    lifetime(RANDOM, cycles=30, seeds=2, progress=states.append, **DRIVE)
    notes = [state["note"] for state in states]
    count = notes.index("seed 2 of 2, stretch 1")
    assert notes[:count] == [f"seed 1 of 2, stretch {1 + n}" for n in range(count)]
    assert notes[count:] == [f"seed 2 of 2, stretch {1 + n}" for n in range(len(notes) - count)]


@pytest.mark.parametrize("precondition", ["empty", "on-read", "full"])
def test_the_first_fill_of_an_empty_drive_is_a_cycle(precondition: str) -> None:
    """It needs no erase, but wears the blocks as any other: at a rating of 30 it is a thirtieth of the life."""
    drive = {**DRIVE, "precondition": precondition}
    found = lifetime("random:span=32MiB,size=4KiB,count=5000", cycles=30, seeds=1, **drive)
    assert found.raw_bytes * 30 / found.write_amplification == pytest.approx(found.tbw_bytes, rel=0.01)


def test_wear_that_is_not_steady_is_simulated_further_and_said() -> None:
    """A drive that was empty fills slowly with data that is seldom written: write amplification grows for long."""
    empty = {**DRIVE, "precondition": "on-read"}
    found = lifetime(HOT, cycles=10_000, seeds=1, tolerance=1e-6, **empty)
    assert not found.settled
    assert lifetime(HOT, cycles=10_000, seeds=1, **empty).check.difference <= 0.01


def test_a_tiny_rating_is_simulated_to_its_end() -> None:
    found = lifetime("random:span=32MiB,count=5000", cycles=30, seeds=1, **DRIVE)
    requests = round(found.tbw_bytes / 4096)
    run = simulate(f"random:span=32MiB,count={requests}", seed=1, **DRIVE)
    assert run.wear.mean == pytest.approx(30, rel=0.02)


def test_the_first_block_is_an_end_of_its_own() -> None:
    found = lifetime(HOT, cycles=150, seeds=1, full=True, **DRIVE)
    assert found.ends.first_block < found.ends.cycles
    requests = round(found.ends.first_block / found.ends.cycles * found.tbw_bytes / 4096)
    run = simulate(HOT.replace("count=5000", f"count={requests}"), seed=1, **DRIVE)
    assert run.wear.max == pytest.approx(150, rel=0.06)


def test_blocks_of_a_histogram_are_counted_by_their_erases() -> None:
    assert counted(3, 1, [2, 0, 1, 1], 6) == ((3, 0.5), (5, 0.25), (6, 0.25))
    assert counted(0, 4, [1, 3], 4) == ((1.5, 0.25), (4, 0.75))


def test_the_last_stretch_has_the_blocks_of_the_run() -> None:
    """Erases of preconditioning are no part of the life, of no block."""
    drive = {**DRIVE, "precondition": "steady"}
    run = simulate("random:span=32MiB,size=4KiB,count=30000", seed=1, **drive)
    assert run.wear.preconditioned.max > 0
    assert run.wear.run.mean == pytest.approx(run["flash.erases"] / run["geometry.blocks"])
    assert run.wear.mean == pytest.approx(run.wear.preconditioned.mean + run.wear.run.mean)
    point = snapshot(run)
    programmed = run["flash.programs"] / run["geometry.physical_pages"]
    assert point.mean == pytest.approx(programmed)
    pending = programmed - run.wear.run.mean
    assert 0 <= pending < 0.1
    assert point.most == pytest.approx(run.wear.run.max + pending)
    assert sum(share for _, share in point.counts) == pytest.approx(1)
    assert sum(erases * share for erases, share in point.counts) == pytest.approx(point.mean)


def test_what_never_wears_never_ends() -> None:
    course = Course([Snapshot(), Snapshot(host=10, mean=0)])
    assert course.host_at("mean", 3000) == math.inf


def test_a_code_leaves_the_tail_of_the_binomial() -> None:
    rate, bits = 1e-3, 2
    length = 8 * 16
    within = sum(math.comb(length, k) * rate**k * (1 - rate) ** (length - k) for k in range(bits + 1))
    assert Code(bits, 16, "").failure(rate) == pytest.approx(1 - within, rel=1e-6)
    assert 8 * CODEWORD * UBER < 1


def test_a_day_in_heat_counts_for_more() -> None:
    assert acceleration(25) == 1
    # JEDEC's 1.1 eV: 40 degrees age data 7.8 times as fast as 25.
    assert acceleration(40) == pytest.approx(7.8, rel=0.02)


def test_heat_brings_the_first_uncorrectable_read_forward() -> None:
    ends = [
        lifetime(RANDOM, temperature=celsius, seeds=1, per_day="1GB", years=50, **DRIVE) for celsius in (30, 55, 70)
    ]
    assert [one.ended_by for one in ends] == ["cycles", "uncorrectable", "uncorrectable"]
    assert ends[1].tbw_bytes > ends[2].tbw_bytes
    assert ends[0].ends.reasons.uncorrectable


def test_a_slow_host_reaches_the_horizon() -> None:
    found = lifetime(RANDOM, per_day="10MB", years=2, seeds=1, price=100, **DRIVE)
    assert (found.ended_by, found.years) == ("horizon", 2)
    assert found.tbw_bytes == pytest.approx(2 * 365 * 10e6)
    assert found.ends.cycles > 2
    assert found.cost_per_tbw == pytest.approx(100 / (found.tbw_bytes / 1e12))
    assert found.tbw_low is None


def test_a_recorded_trace_is_repeated_and_has_no_interval_to_estimate(tmp_path: Path) -> None:
    trace = tmp_path / "recorded.msr.csv"
    trace_generate("random:span=24MiB,size=4KiB,count=3000,write=0.8,rate=1000", trace)
    found = lifetime(trace, cycles=30, **DRIVE)
    assert found.seeds == [1]
    assert found.tbw_low == found.tbw_high == found.tbw_bytes
    # Ten times what the trace writes.
    assert found.tbw_bytes > 10 * 3000 * 4096


def test_cells_follow_the_drive() -> None:
    preset = lifetime(RANDOM, "slc-2006", capacity="32MiB", seeds=1)
    assert preset.rated_cycles == 100_000
    assert "Cells SLC: of the preset slc-2006." in preset.assumptions
    passes = {"programs": "foggy-fine", "cell": "qlc"}
    named = lifetime(RANDOM, timing={"program": ["1ms", "2ms"]}, nand=passes, seeds=1, **DRIVE)
    assert "Cells QLC: by nand.cell." in named.assumptions
    types = lifetime(RANDOM, timing={"program": ["1ms", "2ms"]}, seeds=1, **DRIVE)
    assert "Cells MLC: by its 2 page types." in types.assumptions


def test_the_json_has_every_key(tmp_path: Path) -> None:
    path = tmp_path / "life.json"
    flashweir("lifetime", RANDOM, *SET, "--seeds", "1", "--json", str(path))
    again = flashweir("lifetime", RANDOM, *SET, "--seed", "1", "--json", "-").json()
    assert set(again) >= KEYS
    assert set(again["ends"]) >= {"cycles", "spare", "uncorrectable"}
    assert all(set(point) == POINT for point in again["curve"])
    assert again["curve"][0]["host_bytes"] == 0
    assert again["curve"][-1]["host_bytes"] == again["tbw_bytes"]
    assert "--force" in refused_here("lifetime", RANDOM, *SET, "--json", str(path))


def test_the_summary_and_the_page_begin_with_the_finding(tmp_path: Path) -> None:
    path = tmp_path / "life.html"
    run = flashweir("lifetime", RANDOM, *SET, "--seeds", "2", "--html", str(path))
    assert run.out.startswith("The drive takes ")
    assert "rated cycles" in run.out.splitlines()[0]
    text = path.read_text("utf-8")
    for title in (
        "Erases of a block",
        "Write amplification over life",
        "Spare blocks left",
        "Latency of writes over life",
    ):
        assert title in text
    table = text[text.index("Points of the curve</p>") :]
    for row in ("written by the host", "erases of the most erased block", "spare blocks left", "mean write latency"):
        assert f'<th scope="row">{row}</th>' in table, row
    assert ends_with_machine(path, "lifetime")
    assert re.search(r"written by the host</th>.*<td class=\"n\"[^>]*>[0-9.]+ [MGT]B</td></tr>", table), "with a unit"


def refused_here(*args: str) -> str:
    run = flashweir(*args, code=2)
    assert run.err.startswith("error: ")
    return run.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cell", "xlc"], "expected slc, mlc, tlc, qlc"),
        (["--years", "0"], "years 0.0: expected a number above 0"),
        (["--years", "1e308"], "expected at most 10,000"),
        (["--temperature", "400"], "expected degrees Celsius"),
        (["--ecc", "many"], "expected bits"),
        (["--per-day", "fast"], "expected a size"),
        (["--seed", "1", "--seeds", "2"], "exclude each other"),
    ],
)
def test_wrong_options_are_one_line(options: list[str], said: str) -> None:
    assert said in refused_here("lifetime", RANDOM, *SET, *options)


def test_what_wears_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="writes nothing"):
        lifetime("random:span=32MiB,count=100,write=0", **DRIVE)
    with pytest.raises(ConfigError, match="erases no block"):
        lifetime("random:span=64KiB,count=5000", buffer={"bytes": "1MiB"}, **DRIVE)
    with pytest.raises(ConfigError, match="seeds"):
        lifetime(RANDOM, seeds=0, **DRIVE)


def test_one_seed_is_a_parameter_as_it_is_an_option() -> None:
    found = lifetime(RANDOM, cycles=30, seed=5, **DRIVE)
    assert found.seeds == [5]
    assert found == lifetime(RANDOM, cycles=30, seeds=[5], **DRIVE)
    with pytest.raises(ConfigError, match=r"^seed and seeds exclude each other$"):
        lifetime(RANDOM, seed=5, seeds=3, **DRIVE)
    with pytest.raises(ConfigError, match=r"^seed: -1: expected a whole number"):
        lifetime(RANDOM, seed=-1, **DRIVE)


# Errors by cycles alone: a page is read again once, and lost from 601 of 1,000 rated cycles on.
AGED: dict[str, Any] = {
    "ageing.kind": "power-law",
    "ageing.rated_cycles": 1000,
    "ageing.epsilon": 0,
    "ageing.alpha": 1 / 512 / (600.5 * 3),
    "ageing.k": 1,
    "ageing.beta": 0,
    "ageing.gamma": 0,
    "ageing.ecc_bits": 8,
    "ageing.margin": 0,
    "ageing.retries": 1,
    "ageing.retry_gain": 0.5,
    "ageing.soft_bits": 0,
    "nand.codeword": "1KiB",
}


def _lost(workload: str, host: float, settings: dict[str, Any]) -> int:
    """Uncorrectable pages of a run in which the host writes so many bytes, of four writes in five requests."""
    requests = round(host / 4096 / 0.8)
    run = simulate(workload.replace("count=5000", f"count={requests}"), seed=1, set=settings, **DRIVE)
    assert run.counters.bytes.write == pytest.approx(host, rel=0.005)
    pages: int = run.ageing.uncorrectable_pages
    return pages


@pytest.mark.parametrize(("workload", "at_most"), [(RANDOM, 0.9), (f"{HOT},write=0.8", 1.0)])
def test_the_first_uncorrectable_read_of_a_drive_that_ages_is_that_of_the_full_run(
    workload: str, at_most: float
) -> None:
    found = lifetime(workload, seeds=1, set=AGED, **DRIVE)
    assert found.ended_by == "uncorrectable"
    assert found.rated_cycles == 1000
    assert found.simulated_share <= at_most
    assert _lost(workload, 0.98 * found.tbw_bytes, AGED) == 0
    assert _lost(workload, 1.02 * found.tbw_bytes, AGED) > 0


def test_the_weakest_block_of_a_drive_that_ages_decides() -> None:
    settings = {**AGED, "ageing.spread": 0.3}
    found = lifetime(RANDOM, seeds=1, set=settings, **DRIVE)
    # The median of the largest of 148 factors is exp(0.3 x 2.6) = 2.18; that of the run is another one.
    assert found.curve[-1]["wear_mean"] == pytest.approx(600.5 / 2.18, rel=0.01)
    assert _lost(RANDOM, 0.75 * found.tbw_bytes, settings) == 0
    assert _lost(RANDOM, 1.4 * found.tbw_bytes, settings) > 0


def test_data_of_a_drive_that_ages_is_lost_sooner_where_it_is_warm() -> None:
    # Errors are those of cycles x days: at 25 degrees data of 30 days is lost from 900 cycles on.
    law = {"ageing.alpha": 0, "ageing.beta": 1 / 512 / (900 * 3 * 30), "ageing.m": 1, "ageing.n": 1}
    settings = {**AGED, **law}

    def worst(**options: Any) -> float:
        found = lifetime(RANDOM, seeds=1, set=settings, **options, **DRIVE)
        assert found.ended_by == "uncorrectable"
        cycles: float = found.curve[-1]["wear_max"]
        return cycles

    assert worst(temperature=25) == pytest.approx(900, rel=0.01)
    assert worst(temperature=40) == pytest.approx(900 / acceleration(40), rel=0.02)
    assert worst(temperature=25, retention_days=60) == pytest.approx(450, rel=0.01)


def test_a_drive_that_ages_has_its_own_code_rating_and_cycles() -> None:
    with pytest.raises(ConfigError, match=r"ecc 9/1KiB: the drive has its own code: use ageing\.ecc_bits"):
        lifetime(RANDOM, ecc="9/1KiB", set=AGED, **DRIVE)
    with pytest.raises(ConfigError, match=r"rated_cycles 900: the drive has ageing\.rated_cycles = 1000"):
        lifetime(RANDOM, cycles=900, set=AGED, **DRIVE)
    with pytest.raises(ConfigError, match=r"ageing\.cycles = 1000: blocks are at their 1000 rated cycles"):
        lifetime(RANDOM, set={**AGED, "ageing.cycles": 1000}, **DRIVE)
    # Half of the cycles are used: the other half is left until the rating, and 100 until the first page is lost.
    found = lifetime(RANDOM, seeds=1, set={**AGED, "ageing.cycles": 500}, **DRIVE)
    assert found.curve[-1]["wear_max"] == pytest.approx(100.5, rel=0.01)
    assert found.ends.cycles / found.ends.uncorrectable == pytest.approx(500 / 100.5, rel=0.1)


# Read again once is retired: a block of median errors at 18% of its rated cycles, the weakest of 148 at 9%.
RETIRES: dict[str, Any] = {
    **AGED,
    "ageing.alpha": 1 / 1024 / (0.18 * 3000),
    "ageing.retire": 1,
    "ageing.spread": 0.3,
}


@pytest.mark.parametrize("workload", [RANDOM, HOT])
def test_the_spare_of_a_drive_that_retires_blocks_ends_when_the_full_run_is_read_only(workload: str) -> None:
    found = lifetime(workload, seeds=1, set=RETIRES, **DRIVE)
    full = lifetime(workload, seeds=1, full=True, set=RETIRES, **DRIVE)
    assert (found.ended_by, full.ended_by) == ("spare", "spare")
    assert found.tbw_bytes == pytest.approx(full.tbw_bytes, rel=0.02)
    assert found.write_amplification == pytest.approx(full.write_amplification, rel=0.03)
    shares = [point["spare_share"] for point in found.curve]
    assert shares[0] == 1
    assert shares[-1] == pytest.approx(0, abs=1e-9)
    assert shares == sorted(shares, reverse=True)
    written = "write=0.8" not in workload
    requests = round(full.tbw_bytes / 4096 / (1 if written else 0.8))
    at = [workload.replace("count=5000", f"count={round(times * requests)}") for times in (0.97, 1.03)]
    before, after = (simulate(one, seed=1, set=RETIRES, **DRIVE).ageing.read_only for one in at)
    assert before is None
    assert after is not None


def test_a_drive_without_spare_or_errors_says_why_its_spare_has_no_end() -> None:
    none = lifetime(RANDOM, seeds=1, set={**RETIRES, "ageing.max_retired": 0}, **DRIVE)
    assert "no spare blocks" in none.ends.reasons["spare"]
    # The weakest of 148 blocks is at twice the errors of the median: nowhere near.
    strong = {**RETIRES, "ageing.alpha": 1e-12, "ageing.rated_cycles": 20}
    lasting = lifetime(RANDOM, seeds=1, set=strong, **DRIVE)
    assert lasting.ends.reasons["spare"] == "the drive is not read-only when its mean block has 40 cycles"
    with pytest.raises(ConfigError, match=r"block_cycles 900: the drive retires its blocks itself: use ageing\.retire"):
        lifetime(RANDOM, block_cycles=900, set=RETIRES, **DRIVE)
