"""Recorded arrivals of a live drive: simulated again, they make the same flash operations."""

import random
from pathlib import Path

import pytest
from conftest import refused
from nbd_client import FLUSH, FUA, READ, TRIM, WRITE, Client, ended, served
from nbd_client import SMALL as SMALL_OPTIONS

import flashweir

PAGE = 4096
SMALL = {"channels": 2, "capacity": "8MiB", "pages_per_block": 8}


@pytest.mark.parametrize(
    ("clock", "settings"),
    [
        ("virtual", {}),
        ("virtual", {"buffer.bytes": "64KiB"}),
        ("paced", {"buffer.bytes": "64KiB", "engine": "event", "timing.program": "100us", "timing.erase": "200us"}),
    ],
)
def test_a_recorded_run_is_simulated_again(tmp_path: Path, clock: str, settings: dict[str, object]) -> None:
    trace = tmp_path / "arrivals.parquet"
    draw = random.Random(3)  # noqa: S311 - nothing to hide
    with flashweir.serve(
        nbd=f"unix:{tmp_path / 'sock'}", clock=clock, record=trace, set={**SMALL, **settings}
    ) as live:  # fmt: skip
        with Client(tmp_path / "sock") as client:
            for turn in range(2600 if clock == "virtual" else 600):
                page = draw.randrange(2048) if draw.random() < 0.1 else draw.randrange(100)
                kind = draw.random()
                if kind < 0.1:
                    assert client.ask(READ, page * PAGE, PAGE)[0] == 0
                elif kind < 0.15:
                    assert client.ask(TRIM, page * PAGE, PAGE)[0] == 0
                elif kind < 0.2:
                    assert client.ask(FLUSH)[0] == 0
                else:
                    sector = 512 * draw.randrange(8)
                    assert client.ask(WRITE, page * PAGE + sector, bytes(512), FUA if turn % 7 == 0 else 0)[0] == 0
        assert not trace.exists()
    result = live.result
    assert result["serve"]["recorded"] == result["requests"]
    assert result["flash"]["programs"] > 300
    again = flashweir.simulate(trace, set={**SMALL, **settings, "host.mode": "open"}, verify=True)
    assert again["flash"] == result["flash"]
    assert again["counters"] == result["counters"]
    assert again["wear"] == result["wear"]
    assert [path.name for path in tmp_path.iterdir()] == ["arrivals.parquet"]


@pytest.mark.parametrize(
    "settings",
    [
        {"background.collect.should_below": 4},
        {"background.collect.should_below": 8},
        {"background.collect.after": "0ns"},
        {"background.collect.after": "0ns", "background.collect.until": 9},
    ],
)
def test_a_recorded_run_ends_with_the_same_work_in_the_background(tmp_path: Path, settings: dict[str, object]) -> None:
    """Units still have something to collect when the last flush comes."""
    trace = tmp_path / "arrivals.parquet"
    draw = random.Random(2)  # noqa: S311 - nothing to hide
    settings = {**SMALL, "precondition": "full", "op_ratio": 0.3, "buffer.bytes": "64KiB", **settings}
    home = tmp_path / "home"
    with (
        flashweir.serve(
            nbd=f"unix:{tmp_path / 'sock'}", clock="virtual", record=trace, state=home, set=settings
        ) as live,
        Client(tmp_path / "sock") as client,
    ):
        for _ in range(1000):
            assert client.ask(WRITE, draw.randrange(2048) * PAGE, bytes(PAGE))[0] == 0
    result = live.result
    assert result["flash"]["gc"]["programs"] > 300
    again = flashweir.simulate(trace, set={**settings, "host.mode": "open"}, verify=True)
    for field in ("flash", "counters", "wear", "latency_us", "simulated_s"):
        assert again[field] == result[field], field
    # The drive that was saved is served on, and still works ahead.
    with flashweir.serve(nbd=f"unix:{tmp_path / 'sock'}", clock="virtual", state=home) as live:
        collected = live.control("counters")["flash"]["gc"]["programs"]
        with Client(tmp_path / "sock") as client:
            for _ in range(300):
                assert client.ask(WRITE, draw.randrange(2048) * PAGE, bytes(PAGE))[0] == 0
        assert live.control("counters")["flash"]["gc"]["programs"] > collected


def test_the_record_of_an_earlier_run_is_replaced_with_force(tmp_path: Path) -> None:
    record = ("--clock", "virtual", "--record", "rec.parquet")
    trace = tmp_path / "rec.parquet"
    for count, more in ((3, ()), (5, ("--force",))):
        with served(tmp_path, *record, *more) as (run, _):
            with Client(tmp_path / "flashweir.sock") as client:
                for page in range(count):
                    assert client.ask(WRITE, page * PAGE, bytes(PAGE))[0] == 0
            ended(run)
        assert flashweir.trace_info(trace)["requests"] == count
        assert "--force replaces it" in refused("serve", *SMALL_OPTIONS, *record, cwd=tmp_path)
    trace.write_bytes(b"PAR1 of somebody else PAR1")
    assert "expected another name" in refused("serve", *SMALL_OPTIONS, *record, "--force", cwd=tmp_path)
