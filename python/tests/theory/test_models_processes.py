"""The drive model of communicating processes (research/models/processes), which grades diagnoses."""

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from research.models.processes import drives
from research.models.processes.drive import DISCARD, FLUSH, READ, WRITE, ProcessDrive
from research.models.processes.page_map import PageGroup
from research.models.processes.settings import Settings
from research.models.processes.truth import absorbs, truth

PAGE = 4096
KINDS: list[dict[str, str]] = [
    {},
    {"unit": "4KiB", "superblock": "yes", "parity": "yes", "separate": "no", "victims": "window"},
    {"mapping": "cached", "page": "4KiB", "map_cache": "4KiB", "victims": "worst", "suspend": "yes", "noise": "0.2"},
    {"mapping": "hybrid", "log_share": "0", "page": "4KiB", "buffer": "0", "order": "arrival", "jitter": "0.1"},
    {"mapping": "hybrid", "page": "4KiB", "flushing": "full", "buffer": "256KiB", "superblock": "yes"},
    {"mapping": "block", "chain": "2", "page": "4KiB", "flushing": "idle", "collect": "foreground", "chunk": "0"},
    {"unit": "64KiB", "victims": "random", "slc": "1MiB", "hiccup_s": "0.1", "flushing": "idle", "idle_ms": "1"},
]


def made(depth: int = 1, **texts: str) -> ProcessDrive:
    drive = ProcessDrive(**{"capacity": "16MiB", "pages_per_block": "8", "buffer": "1MiB", "state": "used", **texts})
    drive.depth = depth
    return drive


def mixed(drive: ProcessDrive, count: int, seed: int, due: np.ndarray | None = None) -> dict[str, Any]:
    """Reads, writes, discards and flushes of one to eight blocks."""
    random = np.random.default_rng(seed)
    op = random.choice([READ, WRITE, DISCARD, FLUSH], count, p=[0.3, 0.6, 0.08, 0.02]).astype(np.uint8)
    offset = random.integers(0, drive.size_bytes // PAGE - 8, count) * (op != FLUSH)
    length = random.integers(1, 9, count) * (op != FLUSH)
    return {
        "due_ns": np.full(count, -1, np.int64) if due is None else due,
        "op": op,
        "offset": (offset * PAGE).astype(np.uint64),
        "length": (length * PAGE).astype(np.uint64),
    }


def only(op: int, offsets: list[int], due: int = -1) -> dict[str, Any]:
    count = len(offsets)
    return {
        "due_ns": np.full(count, due, np.int64),
        "op": np.full(count, op, np.uint8),
        "offset": np.array(offsets, np.uint64),
        "length": np.full(count, 0 if op == FLUSH else PAGE, np.uint64),
    }


def latencies(done: dict[str, Any]) -> Any:
    return done["complete_ns"] - done["issue_ns"]


@pytest.mark.parametrize("texts", KINDS, ids=str)
@pytest.mark.parametrize("depth", [1, 8])
def test_times_are_in_order_and_the_depth_is_respected(texts: dict[str, str], depth: int) -> None:
    drive = made(depth, **texts)
    last_issue = 0
    for batch in range(2):
        gaps = np.random.default_rng(batch).exponential(1e6, 400).astype(np.int64)
        due = drive.calendar.now + gaps.cumsum() if batch else None
        requests = mixed(drive, 400, batch, due)
        done = drive.submit(requests)
        issue, complete = done["issue_ns"], done["complete_ns"]
        assert issue.dtype == complete.dtype == np.int64
        assert (complete >= issue).all()
        assert (issue >= requests["due_ns"]).all()
        assert issue[0] >= last_issue
        assert (np.diff(issue) >= 0).all()
        # At each issue, requests issued before and not complete; completions of the same instant are over.
        outstanding = [int((complete[:index] > now).sum()) for index, now in enumerate(issue)]
        assert max(outstanding) == depth - 1 or (batch and max(outstanding) < depth)
        last_issue = issue[-1]


@pytest.mark.parametrize("texts", KINDS, ids=str)
def test_resources_serve_one_at_a_time(texts: dict[str, str]) -> None:
    drive = made(8, **texts)
    resources = [*drive.flash.dies, *drive.flash.channels, drive.link, drive.controller]
    for resource in resources:
        resource.spans = []
    drive.submit(mixed(drive, 800, 3))
    assert all(resource.spans for resource in resources)
    for resource in resources:
        spans = resource.spans or []
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_the_same_settings_give_the_same_times() -> None:
    texts = {"noise": "0.1", "jitter": "0.1", "hiccup_s": "0.1", "victims": "random"}
    runs = [drive.submit(mixed(drive, 500, 5)) for drive in (made(4, **texts), made(4, **texts))]
    assert all((runs[0][name] == runs[1][name]).all() for name in runs[0])
    drive = made(4, **texts, seed="2")
    assert (drive.submit(mixed(drive, 500, 5))["complete_ns"] != runs[0]["complete_ns"]).any()


@pytest.mark.parametrize(("victims", "spare"), [("greedy", 0.1), ("greedy", 0.25), ("fifo", 0.2), ("random", 0.2)])
def test_amplification_under_uniform_writes_is_the_closed_form(victims: str, spare: float) -> None:
    """Victims of fifo, and of greedy with large blocks, are valid by v = exp(-(1 - v) x physical / logical).

    Those of random are as full as the drive. The amplification is 1 / (1 - v).
    """
    settings = Settings(page=PAGE, channels=1, pages_per_block=256, spare=spare, separate=False, victims=victims)
    units, random = 1 << 15, Random(7)  # noqa: S311 - no secret
    group = PageGroup(settings, units, random)
    for unit in range(units):
        group.write([unit])
    for _ in range(2 * units):
        group.write([int(random.random() * units)])
    group.copied = 0
    for _ in range(2 * units):
        group.write([int(random.random() * units)])
    # The free blocks of the reserve never hold data; half a front does.
    physical = (len(group.valid) - 2.5) * group.size / units
    valid = 1 / physical
    for _ in range(0 if victims == "random" else 500):
        valid = math.exp(-(1 - valid) * physical)
    assert 1 + group.copied / (2 * units) == pytest.approx(1 / (1 - valid), rel=0.05)


@pytest.mark.parametrize("texts", KINDS, ids=str)
def test_every_unit_stays_where_it_is_found(texts: dict[str, str]) -> None:
    drive = made(4, **texts)
    drive.submit(mixed(drive, 1500, 11))
    for group in drive.flash.groups:
        if isinstance(group, PageGroup):
            mapped = [position for position in group.where if position >= 0]
            assert len(set(mapped)) == len(mapped) == sum(group.valid)
            assert all(
                group.owner[group.where[unit]] == unit for unit in range(len(group.where)) if group.where[unit] >= 0
            )
        else:
            assert all(
                group.locate(unit) is None or group.locate(unit)[1] == unit for unit in range(drive.flash.group_units)
            )


def test_a_buffer_absorbs_what_it_holds_and_a_flush_waits_for_it() -> None:
    drive = made(1, buffer="512KiB", page="4KiB", state="new", flushing="full")
    taken = latencies(drive.submit(only(WRITE, [PAGE * at for at in range(128)])))
    assert taken.max() < 50_000
    assert latencies(drive.submit(only(FLUSH, [0])))[0] > 400_000
    assert latencies(made(1, protected="yes").submit(only(FLUSH, [0])))[0] < 50_000
    through = made(1, buffer="0", page="4KiB", state="new")
    assert latencies(through.submit(only(WRITE, [0])))[0] > 400_000


def test_a_read_comes_before_writes_and_suspends_a_program() -> None:
    found = {}
    for order, suspend in (("arrival", "no"), ("reads", "no"), ("reads", "yes")):
        drive = made(33, buffer="0", page="4KiB", channels="1", state="full", order=order, suspend=suspend)
        writes, read = only(WRITE, [PAGE * at for at in range(32)]), only(READ, [8 << 20])
        done = drive.submit({name: np.concatenate([writes[name], read[name]]) for name in writes})
        found[order, suspend] = latencies(done)[-1]
    assert found["reads", "yes"] < found["reads", "no"] < found["arrival", "no"] / 10


def test_an_idle_drive_folds_its_fast_region() -> None:
    drive = made(1, slc="1MiB", page="4KiB", state="new", buffer="0")
    drive.submit(only(WRITE, [PAGE * at for at in range(300)]))
    assert len(drive.flash.in_slc) == 256
    drive.submit(only(READ, [0], due=drive.calendar.now + 2_000_000_000))
    assert not drive.flash.in_slc


def test_switch_merges_copy_nothing() -> None:
    for texts in ({"mapping": "hybrid"}, {"mapping": "hybrid", "log_share": "0"}, {"mapping": "block"}):
        drive = made(1, **texts, state="full", page="4KiB", buffer="0")
        drive.submit(only(WRITE, list(range(0, drive.size_bytes, PAGE))))
        assert sum(group.copied for group in drive.flash.groups) == 0


def test_parameters_that_are_wrong_are_refused() -> None:
    for texts in ({"pages": "1"}, {"mapping": "tree"}, {"spare": "much"}, {"parity": "yes"}, {"unit": "5000"}):
        with pytest.raises(ValueError, match=next(iter(texts))):
            ProcessDrive(**texts)
    settings = Settings(capacity=64 << 20, spare=0.07, superblock=True, victims="fifo")
    assert Settings.parse(settings.texts()) == settings


def test_labels_follow_from_variants() -> None:
    small = Settings(capacity=16 << 20, page=PAGE, pages_per_block=16, buffer=512 << 10, separate=True)
    good = truth(small)
    assert good.labels == {"mapping": False, "collection": False, "buffer": False}
    assert good.savings == {"mapping": 0.0, "collection": 0.0}
    assert truth(replace(small, mapping="hybrid")).labels["mapping"]
    assert truth(replace(small, victims="worst", window=4)).labels["collection"]
    assert not truth(replace(small, spare=0.03)).labels["collection"]
    assert not absorbs(replace(small, buffer=64 << 10))


def test_drawn_drives_are_the_same_for_a_seed_and_run() -> None:
    one, two = (next(drives.lines(1, 5)) for _ in range(2))
    assert one == two
    row = json.loads(one)
    assert row["target"].startswith("py:research/models/processes/drive.py:ProcessDrive,")
    assert not any(row["labels"].values())
    for number in range(64):
        random = Random(number)  # noqa: S311 - no secret
        drives.draw(random, drives.INTENTS[number % len(drives.INTENTS)])
    counts = {symptom: sum(drives.is_bad(intent, symptom) for intent in drives.INTENTS) for symptom in row["labels"]}
    assert set(counts.values()) == {len(drives.INTENTS) // 4}


def test_states_differ_in_mapped_units() -> None:
    shares = {}
    for state in ("new", "full", "used", "fragmented"):
        drive = made(state=state)
        group = drive.flash.groups[0]
        units = range(drive.flash.group_units)
        shares[state] = sum(group.locate(unit) is not None for unit in units) / len(units)
    assert shares["new"] == 0
    assert shares["full"] == shares["used"] == 1
    assert 0.8 < shares["fragmented"] < 0.97


def test_the_kept_drives_are_balanced_and_readable() -> None:
    kept = Path(drives.__file__).with_name("drives.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in kept]
    numbers = [row["number"] for row in rows]
    assert numbers == sorted(set(numbers))
    assert max(numbers) < drives.COUNT
    for row in rows:
        intent = drives.INTENTS[row["number"] % len(drives.INTENTS)]
        assert row["labels"] == {symptom: drives.is_bad(intent, symptom) for symptom in drives.SYMPTOMS}
        settings = Settings.parse(row["parameters"])
        assert settings.texts() == row["parameters"]
        assert row["target"] == ",".join(
            [drives.TARGET, *(f"{key}={value}" for key, value in row["parameters"].items())]
        )
    # The first draw of this drive has the labels already.
    first = drives.draw(Random(f"{drives.SEED} 1 0"), drives.INTENTS[1])  # noqa: S311 - no secret
    assert first.texts() == rows[1]["parameters"]
    assert rows[1]["number"] == 1
