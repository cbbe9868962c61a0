"""`flashweir lifetime` of a drive whose host writes zones."""

from typing import Any

import pytest

from flashweir import lifetime, simulate

ZONED: dict[str, Any] = {
    "capacity": "8MiB",
    "pages_per_block": 16,
    "channels": 1,
    "ftl.kind": "zones",
    "ftl.host": "none",
}
WORKLOAD = "zones:span=8MiB,zone=64KiB,open=2,request=16KiB,count=3000"


@pytest.mark.parametrize("append", [0, 0.5, 1])
def test_appends_to_zones_are_bytes_of_the_host(append: float) -> None:
    found = lifetime(f"{WORKLOAD},append={append}", cycles=100, seeds=1, set=ZONED)
    assert found.ended_by == "cycles"
    assert found.write_amplification == pytest.approx(1.0)
    assert found.tbw_bytes == pytest.approx(found.raw_bytes * 100, rel=0.01)
    assert found.curve[-1]["write_us"] == pytest.approx(found.curve[0]["write_us"], rel=0.01)


def test_zones_that_have_their_blocks_for_good_have_no_spare() -> None:
    fixed = lifetime(WORKLOAD, cycles=100, block_cycles=50, seeds=1, set=ZONED)
    assert (fixed.ended_by, fixed.ends.spare, fixed.spare_blocks) == ("cycles", None, 0)
    assert "a zone less" in fixed.ends.reasons.spare
    moving = lifetime(WORKLOAD, cycles=100, block_cycles=50, seeds=1, set={**ZONED, "ftl.zone_map": "dynamic"})
    assert moving.ended_by == "spare"
    assert moving.spare_blocks > 0


def test_writes_that_zones_refuse_are_no_bytes_of_the_host() -> None:
    """The workload has three zones open at a time, the drive permits one."""
    refused = {**ZONED, "ftl.max_open": 1, "ftl.max_active": 1}
    three = WORKLOAD.replace("open=2", "open=3")
    assert simulate(three, seed=1, set=refused).zones.refused_bytes > 0
    found = lifetime(three, cycles=30, seeds=1, set=refused)
    assert found.write_amplification == pytest.approx(1.0)
