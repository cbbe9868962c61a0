"""Policies in Python: the same as their counterparts in the engine, checked, and named in errors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flashweir
from flashweir import ConfigError, Drive, FlashweirError, simulate
from flashweir.external import BackgroundView, ClassifierView, DestageView, PlannerView, VictimView

DRIVE: dict[str, Any] = {"capacity": "64MiB", "op_ratio": 0.3, "precondition": "full", "channels": 4}
WRITES = "random:span=64MiB,size=4KiB,count=30000,write=1"
OPEN = {**DRIVE, "host.mode": "open", "buffer.bytes": "256KiB"}
BURSTS = "random:span=64MiB,size=4KiB,count=20000,write=1,rate=3000"
BUFFERED = {**DRIVE, "buffer.bytes": "256KiB", "gc.spare_blocks": 20}


def oldest(view: VictimView) -> int:
    return int(view.blocks[view.filled_at.argmin()])


def filling(view: PlannerView) -> Any:
    assert view.must is not None
    return np.flatnonzero(view.spare_blocks <= 20)


def forwarding(view: PlannerView) -> Any:
    begins = view.buffer_full & view.others_must & (view.spare_blocks <= 20)
    return np.flatnonzero((view.dirty_pages == 0) & (view.under_way | begins))


def collecting(view: BackgroundView) -> dict[str, Any]:
    """The rules of `background.collect` with after=300us and until=12."""
    steps, times = [], []
    wants = (view.idle_since_ns >= 0) & (view.under_way | (view.spare_blocks < 12))
    for unit in np.flatnonzero(wants):
        due = int(view.idle_since_ns[unit]) + 300_000
        if due <= view.now_ns:
            steps.append((unit, "collect"))
        else:
            times.append(due)
    return {"steps": steps, "ask_again_ns": min(times, default=None)}


def of_ready_units(view: BackgroundView) -> dict[str, Any]:
    """The same, asked when one more unit is ready."""
    due = (view.idle_since_ns >= 0) & (view.idle_since_ns + 300_000 <= view.now_ns)
    now = np.flatnonzero(due & (view.under_way | (view.spare_blocks < 12)))
    steps = [(unit, "collect") for unit in now]
    return {"steps": steps, "ask_spare_below": 12, "ask_idle_ns": 300_000}


def destaging(view: DestageView) -> bool | int:
    """The rule of `buffer.destage=idle` with idle_after=50us."""
    if view.idle_since_ns is None:
        return False
    due = view.idle_since_ns + 50_000
    return True if due <= view.now_ns else due


CASES = {
    "victim": (WRITES, DRIVE, {"gc.victim": "fifo"}, {"gc.victim": oldest}),
    "dftl": (WRITES, {**DRIVE, "ftl.kind": "dftl"}, {"gc.victim": "fifo"}, {"gc.victim": oldest}),
    "together": (
        WRITES,
        BUFFERED,
        {"gc.planner": "cycle-filling"},
        {"gc.planner": filling, "gc.planner_together": True},
    ),
    "ahead": (WRITES, BUFFERED, {"gc.planner": "forwarding"}, {"gc.planner": forwarding}),
    "background": (
        BURSTS,
        OPEN,
        {"background.collect.after": "300us", "background.collect.until": 12},
        {"background.kind": collecting},
    ),
    "background of ready units": (
        BURSTS,
        OPEN,
        {"background.collect.after": "300us", "background.collect.until": 12},
        {"background.kind": of_ready_units},
    ),
    "background of ready superblocks": (
        BURSTS,
        {**OPEN, "alloc.kind": "superblock", "dies": 2},
        {"background.collect.after": "300us", "background.collect.until": 12},
        {"background.kind": of_ready_units},
    ),
    "destage": (
        BURSTS,
        OPEN,
        {"buffer.destage": "idle", "buffer.idle_after": "50us"},
        {"buffer.destage": destaging},
    ),
}
# Fields of a result that differ between a policy and its counterpart, or between two equal runs.
OWN = ("config", "no_effect")


def measured(result: flashweir.Result) -> dict[str, Any]:
    found = json.loads(result.to_json())
    return {key: value for key, value in found.items() if key not in OWN and "wall" not in key}


@pytest.mark.parametrize("case", CASES)
def test_a_policy_in_python_does_as_its_counterpart(case: str) -> None:
    workload, drive, rust, python = CASES[case]
    theirs = simulate(workload, set={**drive, **rust}, verify=True)
    ours = simulate(workload, set={**drive, **python}, verify=True)
    assert measured(ours) == measured(theirs)
    plain = simulate(workload, set=drive, verify=True)
    assert measured(plain) != measured(theirs)


def test_a_policy_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("def oldest(view):\n    return view.blocks[view.filled_at.argmin()]\n")
    named = {"gc.victim": "external", "gc.victim_file": f"{file}:oldest"}
    found = simulate(WRITES, set={**DRIVE, **named})
    assert measured(found) == measured(simulate(WRITES, set={**DRIVE, "gc.victim": "fifo"}))
    assert found.config["gc"]["victim_file"] == f"{file}:oldest"


def goes_on(drive: Drive, policies: dict[str, Any], saved: Path) -> bool:
    """True if a drive, a fork of it, and one that was saved and loaded do the same from some writes on."""
    offsets = np.random.default_rng(3).integers(0, 16384, 4000) * 4096

    def rest(drive: Drive) -> Any:
        times = drive.now_ns + np.arange(len(offsets)) * 300_000
        drive.submit(op="write", offset=offsets, length=4096, time_ns=times)
        drive.drain()
        return drive.stats().flash.to_dict()

    # No whole number of the blocks of writes that a classifier is asked about.
    drive.submit(op="write", offset=offsets[:777], length=4096)
    drive.drain()
    drive.save(saved)
    fork, loaded = drive.fork(), Drive.load(saved, policies=policies)
    return bool(rest(fork) == rest(loaded) == rest(drive))


def test_a_drive_that_is_stepped_forked_and_loaded_keeps_its_policy(tmp_path: Path) -> None:
    policies = {"gc.victim": oldest}
    assert goes_on(Drive(set={**DRIVE, **policies}), policies, tmp_path / "drive")
    with pytest.raises(ConfigError, match=r"Drive\.load\(\.\.\., policies="):
        Drive.load(tmp_path / "drive")


GROUPED = {**DRIVE, "op_ratio": 0.5, "ftl.groups": 2}
SKEWED = "hotcold:span=64MiB,size=4KiB,count=60000,write=1,hot_share=0.1,hot_writes=0.9"


def lived(view: ClassifierView) -> Any:
    """Pages whose version before lived less than the map has hot pages, and others."""
    assert len(view.pages) == len(view.lived) == len(view.handles)
    return ((view.lived < 0) | (view.lived > 2000)).astype(int)


def test_a_classifier_in_python_keeps_hot_pages_apart(tmp_path: Path) -> None:
    plain = simulate(SKEWED, set={**DRIVE, "op_ratio": 0.5, "ftl.classifier": "host-and-collected"}, verify=True)
    same = {**DRIVE, "op_ratio": 0.5, "ftl.classifier": lambda view: [0] * len(view.pages), "ftl.groups": 1}
    assert simulate(SKEWED, set=same, verify=True)["flash"] == plain["flash"]
    ours = simulate(SKEWED, set={**GROUPED, "ftl.classifier": lived}, verify=True, power_cut=[5])
    # As many groups that say nothing of lifetimes.
    mixed = simulate(SKEWED, set={**GROUPED, "ftl.classifier": lambda view: view.pages % 2})
    assert ours.write_amplification - 1 < 0.8 * (mixed.write_amplification - 1)
    file = tmp_path / "own.py"
    file.write_text("def lived(view):\n    return ((view.lived < 0) | (view.lived > 2000)).astype(int)\n")
    named = {"ftl.classifier": "external", "ftl.classifier_file": f"{file}:lived"}
    assert simulate(SKEWED, set={**GROUPED, **named})["placement"] == ours["placement"]


def test_a_drive_with_a_classifier_that_is_forked_and_loaded_goes_on(tmp_path: Path) -> None:
    policies = {"ftl.classifier": lived}
    assert goes_on(Drive(set={**GROUPED, **policies}), policies, tmp_path / "drive")


def test_a_function_that_names_ready_units_is_seldom_asked(tmp_path: Path) -> None:
    calls = dict.fromkeys(("each", "ready"), 0)

    def counted(name: str, function: Any) -> Any:
        def ask(view: BackgroundView) -> Any:
            calls[name] += 1
            return function(view)

        return ask

    slow = BURSTS.replace("rate=3000", "rate=500")
    of = {
        name: {**OPEN, "background.kind": counted(name, function)}
        for name, function in {"each": collecting, "ready": of_ready_units}.items()
    }
    each, ready = (simulate(slow, set=settings) for settings in of.values())
    assert measured(each) == measured(ready)
    # A unit in the middle of a collection is ready anew after each request that it serves, and asked about once then.
    assert calls["ready"] < ready["requests"] < calls["each"]
    policies = {"background.kind": of_ready_units}
    assert goes_on(Drive(set={**OPEN, **policies}), policies, tmp_path / "drive")


def test_arrays_that_a_function_keeps_stay_as_they_were() -> None:
    kept: list[tuple[Any, Any]] = []
    calls = 0

    def array(own: Any) -> Any:
        return own.valid if isinstance(own, VictimView) else own

    def keeping(view: VictimView) -> int:
        nonlocal calls
        calls += 1
        # The view, an array and a part of one in turn, between views of which nothing is kept.
        own: Any = {0: view, 2: view.valid, 3: view.valid[3:]}.get(calls % 7)
        if own is not None:
            kept.append((own, array(own).copy()))
        return oldest(view)

    simulate(WRITES, set={**DRIVE, "gc.victim": keeping})
    assert len(kept) > 50
    for own, copy in kept:
        assert np.array_equal(array(own), copy)


def test_a_view_is_read_only() -> None:
    def writes(view: VictimView) -> int:
        view.valid[0] = 7
        return oldest(view)

    with pytest.raises(FlashweirError, match="read-only"):
        simulate(WRITES, set={**DRIVE, "gc.victim": writes})


def fails(_: Any) -> Any:
    raise ValueError("no idea\nat all")


ERRORS = {
    "another block": ({"gc.victim": lambda _: 99999}, r"^gc\.victim: block 99999 of unit \d: expected one of"),
    "no number": ({"gc.victim": lambda _: "x"}, r"^gc\.victim: TypeError: 'x': expected the number of a block"),
    "raises": ({"gc.victim": fails}, r"^gc\.victim: ValueError: no idea at all$"),
    "another unit": (
        {"gc.planner": lambda _: [77], "gc.planner_together": True, "buffer.bytes": "256KiB"},
        r"^gc\.planner: unit 77: expected units from 0 to 3$",
    ),
    "a mask": (
        {"gc.planner": lambda view: view.under_way, "gc.planner_together": True, "buffer.bytes": "256KiB"},
        r"^gc\.planner: TypeError: .*expected numbers of units",
    ),
    "another work": (
        {"background.kind": lambda _: [(0, "erase")], "host.mode": "open"},
        r"^background\.kind: TypeError: \(0, 'erase'\): expected \(unit, work\)",
    ),
    "another time of idleness": (
        {"background.kind": lambda _: {"ask_idle_ns": -1}, "host.mode": "open"},
        r"^background\.kind: ValueError: -1: expected ask_idle_ns, a time in ns$",
    ),
    "another key": (
        {"background.kind": lambda _: {"ask": 5}, "host.mode": "open"},
        r"^background\.kind: TypeError: 'ask': expected steps, ask_again_ns, ask_spare_below, ask_idle_ns$",
    ),
    "work without a map on flash": (
        {"background.kind": lambda _: [(1, "write_back")], "host.mode": "open"},
        r"^background\.kind: step \(1, 'write_back'\): expected ftl\.kind=dftl, whose map is on flash$",
    ),
    "work without levelling": (
        {"background.kind": lambda _: [(1, "level")], "host.mode": "open"},
        r"^background\.kind: step \(1, 'level'\): expected wear\.static_gap above 0 and ftl\.kind=page or dftl$",
    ),
    "another group": (
        {"ftl.classifier": lambda view: [9] * len(view.pages), "op_ratio": 0.5},
        r"^ftl\.classifier: group 9: expected",
    ),
    "no group": (
        {"ftl.classifier": lambda _: 1, "op_ratio": 0.5},
        r"^ftl\.classifier: TypeError: 1: expected a group for each page, as a list or array",
    ),
    "another answer": (
        {"buffer.destage": lambda _: None, "host.mode": "open", "buffer.bytes": "64KiB"},
        r"^buffer\.destage: TypeError: None: expected True, False, or a time",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_wrong_answer_ends_the_run_with_a_line(case: str) -> None:
    settings, message = ERRORS[case]
    with pytest.raises(FlashweirError, match=message) as caught:
        simulate(BURSTS, set={**DRIVE, **settings})
    assert "\n" not in str(caught.value)


def test_what_a_policy_raises_is_the_cause() -> None:
    with pytest.raises(FlashweirError) as caught:
        simulate(WRITES, set={**DRIVE, "gc.victim": fails})
    assert isinstance(caught.value.__cause__, ValueError)

    def stops(_: VictimView) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(WRITES, set={**DRIVE, "gc.victim": stops})


def test_a_function_needs_a_slot_and_a_slot_a_function() -> None:
    with pytest.raises(ConfigError, match=r"^buffer\.bytes: a function: expected a value"):
        simulate(WRITES, set={"buffer.bytes": oldest})
    with pytest.raises(ConfigError, match=r"^gc\.victim=external: expected a function: gc\.victim_file="):
        simulate(WRITES, set={**DRIVE, "gc.victim": "external"})
    with pytest.raises(ConfigError, match=r"^gc\.victim=external: gc\.victim_file 'no\.py:f': expected FILE"):
        simulate(WRITES, set={**DRIVE, "gc.victim": "external", "gc.victim_file": "no.py:f"})


def test_a_file_without_its_kind_has_no_effect() -> None:
    result = simulate(BURSTS, set={**OPEN, "background.file": "own.py:f"})
    assert [entry["keys"] for entry in result["no_effect"]] == ["background.file, background.kind=rules"]
