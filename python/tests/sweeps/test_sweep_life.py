"""Metrics of a drive's life in sweeps and comparisons."""

from typing import Any

import pytest

from flashweir import ConfigError, compare, lifetime, simulate, sweep

DRIVE: dict[str, Any] = {"capacity": "16MiB", "pages_per_block": 16, "channels": 1, "precondition": "steady"}
WORKLOAD = "random:span=16MiB,size=4KiB,count=20000"
DAY = 86_400.0


def _spec(life: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"workloads": WORKLOAD, "set": DRIVE, "axes": {"op_ratio": [0.15, 0.3]}, "life": life, **more}


def test_columns_of_life_are_those_of_mean_wear() -> None:
    frame = sweep(_spec({"cycles": 300, "price": 5}))
    for row in frame.iter_rows(named=True):
        run = simulate(WORKLOAD, seed=1, op_ratio=row["op_ratio"], set=DRIVE)
        assert run.write_amplification is not None
        raw = run.geometry.physical_pages * 4096
        tbw = raw * 300 / run.write_amplification
        assert row["tbw"] == pytest.approx(tbw / 1e12)
        written = run.counters.bytes.write / run.simulated_s
        assert row["years"] == pytest.approx(tbw / written / DAY / 365, rel=0.01)
        assert row["cost_per_tbw"] == pytest.approx(5 / (tbw / 1e12))
    few, many = frame["tbw"].to_list()
    assert many > 1.3 * few


def test_they_are_those_of_lifetime_where_the_mean_ends_the_drive() -> None:
    drive = {**DRIVE, "op_ratio": 0.3}
    life = lifetime(WORKLOAD, cycles=300, seeds=1, per_day="1GB", years=50, price=5, set=drive)
    (row,) = sweep(
        {"workloads": WORKLOAD, "set": drive, "life": {"cycles": 300, "price": 5, "per_day": "1GB"}}
    ).iter_rows(named=True)
    assert life.ended_by == "cycles"
    assert row["tbw"] == pytest.approx(life.tbw_bytes / 1e12, rel=0.02)
    assert row["years"] == pytest.approx(life.years, rel=0.02)
    assert row["cost_per_tbw"] == pytest.approx(life.cost_per_tbw, rel=0.02)


def test_a_price_may_be_that_of_the_flash_and_cycles_an_axis() -> None:
    spec = _spec({"cycles": "100 * level", "price_per_gb": 0.1})
    spec["axes"] = {"level": [3, 6]}
    spec["workloads"] = "random:span={level}MiB,size=4KiB,count=2000"
    rows = list(sweep(spec).iter_rows(named=True))
    raw = [row["geometry.physical_pages"] * 4096 for row in rows]
    for row, size, cycles in zip(rows, raw, (300, 600), strict=True):
        assert row["tbw"] == pytest.approx(size * cycles / row["write_amplification"] / 1e12)
        assert row["cost_per_tbw"] == pytest.approx(0.1 * size / 1e9 / row["tbw"])


def test_appends_to_zones_are_written_by_the_host() -> None:
    zoned = {**DRIVE, "capacity": "8MiB", "precondition": "empty", "ftl.kind": "zones", "ftl.host": "none"}
    rows: list[dict[str, Any]] = []
    for append in (0, 1):
        workload = f"zones:span=8MiB,zone=64KiB,open=2,request=16KiB,count=3000,append={append}"
        rows += sweep({"workloads": workload, "set": zoned, "life": {"cycles": 300}}).iter_rows(named=True)
    assert rows[0]["years"] == pytest.approx(rows[1]["years"], rel=0.01)
    assert rows[0]["tbw"] == rows[1]["tbw"]


@pytest.mark.parametrize(
    ("life", "said"),
    [
        ({"price": 5}, "life.cycles: missing"),
        ({"cycles": 0}, "life.cycles: 0: expected a number above 0"),
        ({"cycles": "3000 +"}, "expected arithmetic"),
        ({"cycles": 300, "prize": 5}, "life.prize: unknown key"),
        ({"cycles": 300, "price": 5, "price_per_gb": 1}, "exclude each other"),
        ({"cycles": 300, "per_day": "much"}, "life.per_day: 'much'"),
        ({"cycles": 300, "metrics": ["cost_per_tbw"]}, "cost_per_tbw: needs price"),
        ({"cycles": 300, "metrics": ["tbv"]}, "life.metrics: 'tbv': expected tbw, years, cost_per_tbw"),
    ],
)
def test_wrong_tables_of_life_are_refused(life: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sweep(_spec(life))
    assert said in str(caught.value)


def test_a_comparison_has_metrics_of_life_with_their_changes() -> None:
    from flashweir.policies.outcome import as_json

    more: dict[str, Any] = {"seeds": 2, "set": {**DRIVE, "op_ratio": 0.15}}
    found = as_json(compare(WORKLOAD, "greedy,op_ratio=0.3", cycles=300, price=5, per_day="1GB", **more))
    first, second = found["rows"]
    assert {"tbw", "years", "cost_per_tbw"} <= set(first["metrics"])
    assert second["metrics"]["tbw"]["value"] > first["metrics"]["tbw"]["value"]
    assert second["against_baseline"]["cost_per_tbw"]["relative"] < 0
    assert any("mean wear" in note for note in found["notes"])
    without = as_json(compare(WORKLOAD, "greedy", **more))
    assert "tbw" not in without["rows"][0]["metrics"]
    assert not any("mean wear" in note for note in without["notes"])
    alone = as_json(compare(WORKLOAD, "greedy", metric="years", cycles=300, **more))
    assert "cost_per_tbw" not in alone["rows"][0]["metrics"]
    with pytest.raises(ConfigError, match="metric tbw: needs cycles"):
        compare(WORKLOAD, "greedy", metric="tbw", **more)
