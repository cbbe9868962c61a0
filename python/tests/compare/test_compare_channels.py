"""`flashweir compare` over ways of managing channels: the methods of the literature, and lists of them crossed."""

from typing import Any

import pytest
from conftest import flashweir

import flashweir as package
from flashweir.policies.grammar import DEFAULT, default
from flashweir.policies.outcome import outcomes

WORK = "random:span=64MiB,size=4KiB,align=512,count=20000,write=1"
DRIVE = {"capacity": "64MiB", "channels": 4, "pages_per_block": 32, "op_ratio": 0.1, "precondition": "full"}
SETTINGS = [f"--set={key}={value}" for key, value in DRIVE.items()]


@pytest.fixture(scope="module")
def frame() -> Any:
    return package.compare(WORK, set={**DRIVE, "buffer.bytes": "32KiB"}, seeds=2)


def test_the_methods_of_the_literature_are_the_default(frame: Any) -> None:
    # A drive without a cached map has no policies of one.
    assert default() == [name for name in DEFAULT if name in default() or not name.startswith("dftl")]
    assert frame.meta["refused"] == {}
    assert frame["error"].null_count() == frame.height == 2 * len(default())
    (one,) = outcomes(frame)
    iops = {entry.policy: entry.values["iops"][0] or 0.0 for entry in one.entries}
    # Both papers report this of random writes.
    assert iops["log-block+cycle-stealing"] > 2 * iops["log-block+synchronized+lock-step"]
    assert iops["fast+forwarding"] > iops["fast+none"]
    assert iops["fast+cycle-filling"] > iops["fast+none"]
    assert one.front


def test_the_default_policies_have_a_buffer_unless_the_drive_is_given_one() -> None:
    set_by_default = [package.compare(WORK, set=more, seeds=1) for more in (DRIVE, {**DRIVE, "buffer.bytes": "64KiB"})]
    sizes = [{result["config"]["buffer"]["bytes"] for _, result in frame.results()} for frame in set_by_default]
    assert sizes == [{"32KiB"}, {"64KiB"}]
    assert all(frame.meta["refused"] == {} for frame in set_by_default)


def test_a_planner_comes_with_its_clock(frame: Any) -> None:
    clocks = {row["policy"]: result["config"]["clock"] for row, result in frame.results()}
    assert clocks["log-block+cycle-stealing"] == clocks["log-block+super-data-block"] == "lock-step"
    assert clocks["fast+forwarding"] == clocks["fast+cycle-filling"] == "async"
    refused = package.compare(WORK, "fast+none,bast+none:nand.cell=tlc:slc.kind=static", set=DRIVE, seeds=1)
    assert "a data block" in (refused.meta or {})["refused"]["bast+none:nand.cell=tlc:slc.kind=static"]


def test_merges_of_collections_are_a_figure_and_bounded_by_the_throttle(frame: Any) -> None:
    (chart,) = (chart for chart in frame.figures() if chart.name == "collection-merges")
    throttled = next(one for one in chart.series if one.name.endswith("gc.throttle=8"))
    assert max(throttled.y) == 8
    assert max(max(one.y) for one in chart.series) > 8
    assert not any("page+none" in one.name for one in chart.series)


def test_lists_are_crossed_and_what_has_no_meaning_is_said() -> None:
    lists = ["--ftl=page,log-block", "--planner=none,cycle-stealing", "--units=independent,synchronized"]
    more = ["--buffer=0,32KiB", "--throttle=0,8", "--seeds=1", "--json=-"]
    found = flashweir("compare", WORK, *lists, *more, *SETTINGS).json()
    ran = [row["policy"] for row in found["rows"]]
    assert len(ran) + len(found["refused"]) == 32
    assert "log-block+cycle-stealing+independent:buffer.bytes=32KiB:gc.throttle=8" in ran
    # Page mapping has no merges to throttle, and synchronized channels nothing to plan.
    assert not any(name.startswith("page") and name.endswith("gc.throttle=8") for name in ran)
    assert not any("stealing+synchronized" in name for name in ran)
    reason = found["refused"]["log-block+cycle-stealing+synchronized:buffer.bytes=32KiB:gc.throttle=8"]
    assert "synchronized channels are one unit" in reason


def test_a_trace_that_is_not_there_is_said_before_anything_runs() -> None:
    with pytest.raises(package.ConfigError, match=r"workload 'nofile\.csv': there is no such file"):
        package.compare("nofile.csv", seeds=1)
