"""Wrong twins of unit tests: channels for tenants of ssdkeeper2024, and numbers of workloads of yang2009."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conftest import flashweir as command
from unit_rig import Access
from unit_twins import UnitTwin

from flashweir import characterize, simulate

_COLUMNS = "time=0:ns,op=1,lba=2:sectors,size=3:sectors"


def saved(folder: Path, name: str, requests: Sequence[Access]) -> Path:
    lines = (f"{one.time_ns},{one.op},{one.lba},{one.sectors}\n" for one in requests)
    path = folder / f"{name}.csv"
    path.write_text("".join(lines), encoding="ascii")
    return path


def times_and_counts(*, name: str = "zhu2017") -> Any:
    """zhu2017, tables 1 and 3: times of a preset, and its blocks of a plane and pages of a block."""
    presets = {one["name"]: one["config"] for one in command("presets", "--json", "-").json()}
    config = presets[name]
    timing = config["timing"]
    times = tuple(timing[key] for key in ("read", "program", "erase", "command"))
    return (*times, config["chips"] * config["dies"], config["planes"], config["pages_per_block"])


# ssdkeeper2024, section 3.


def windows(tenants: Mapping[str, Sequence[Access]], **settings: Any) -> list[dict[str, Any]]:
    """Windows of a drive of eight channels, each with the channels that were worked out from itself."""
    drive = {
        "capacity": "64MiB",
        "channels": 8,
        "host.mode": "open",
        "precondition": "on-read",
        "alloc.kind": "hybrid",
        "tenants.channels": "ssdkeeper",
        "tenants.applies": "same",
    }
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: saved(Path(folder), name, requests) for name, requests in tenants.items()}
        result = simulate(paths, columns=_COLUMNS, windows=True, set={**drive, **settings})
    found: list[dict[str, Any]] = result.to_dict()["allocation"]["each"]
    return found


def tenant(reads: int, writes: int) -> list[Access]:
    ops = "R" * reads + "W" * writes
    return [Access(at * 1000, op, 8 * at) for at, op in enumerate(ops)]


def starts(*, window: str = "1ms") -> list[int]:
    """Starts of windows after the first request, us; the third one comes 999 us after it."""
    requests = [Access(us * 1000, "W", 0) for us in (5, 6, 1004, 2005, 9000)]
    return [round(one["start_s"] * 1e6) for one in windows({"a": requests}, **{"tenants.window_time": window})]


def level(*, level_requests: int = 2) -> int:
    found: int = windows({"a": tenant(1, 2)}, **{"tenants.level_requests": level_requests})[0]["level"]
    return found


def groups(*tenants: tuple[int, int], **settings: Any) -> list[int]:
    """Channels of each group, in the order of the tenants' reads and writes."""
    (found,) = windows({f"t{at}": tenant(*one) for at, one in enumerate(tenants)}, **settings)
    channels = [tuple(one[kind]["channels"]) for one in found["allocation"].values() for kind in ("reads", "writes")]
    return [len(one) for one in dict.fromkeys(channels)]


def at_level_ten(*, two_groups_up_to: int = 10) -> list[int]:
    settings = {"tenants.level_requests": 8, "tenants.two_groups_up_to": two_groups_up_to}
    return groups((30, 10), (10, 30), **settings)


def with_nine_tenths(*, share: float = 0.9) -> list[int]:
    return groups((36, 36), (4, 4), **{"tenants.level_requests": 4, "tenants.dominant_share": share})


def readers_alone(*, min_channels: int = 1) -> list[int]:
    return groups((40, 0), **{"tenants.min_channels": min_channels})


def nearly_all(*, channels: str = "partially-isolated") -> list[int]:
    return groups((10, 3), (0, 6), **{"tenants.channels": channels})


def placements(*, kind: str = "hybrid") -> list[str]:
    """Placement of the reading and of the writing group."""
    (found,) = windows({"a": tenant(10, 5), "b": tenant(1, 9)}, **{"alloc.kind": kind})
    return [found["allocation"]["a"][side]["placement"] for side in ("reads", "writes")]


# yang2009, sections 4 and 5.


def numbers(requests: Sequence[Access], **options: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return characterize(saved(Path(folder), "w", requests), columns=_COLUMNS, **options).to_dict()["writes"]


def microscopic(requests: Sequence[Access]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = saved(Path(folder), "w", requests)
        done = command("trace", "characterize", str(path), "--columns", _COLUMNS, "--json", "-")
        return json.loads(done.out)["microscopic"]["writes"]


def written(*lbas: int, sectors: int = 8, ops: str = "") -> list[Access]:
    return [Access(at * 1000, (ops or "W" * len(lbas))[at], lba, sectors) for at, lba in enumerate(lbas)]


def rewrites(*, reading: str = "R") -> float:
    """Share of overwrites: of three writes the second is to data that the first wrote, the third to data only read."""
    found = numbers(written(0, 0, 80, 80, ops=f"WW{reading}W"))["rewrite_share"]
    return round(float(found), 6)


def sequential(*, gap: int = 10) -> float:
    """Share of sequential writes: one goes on after ten others."""
    found = numbers(written(0, *(1000 * at for at in range(1, 11)), 8), gap=gap)["sequential_share"]
    return round(float(found), 6)


def aligned(*, align: str = "4KiB") -> float:
    return float(numbers(written(0, 1002), align=align)["aligned_share"])


def seeks(*, sectors: int = 8) -> tuple[float, float]:
    found = microscopic(written(100, 108, 0, 1008, sectors=sectors))["seek"]
    return round(found["zero_share"], 6), round(found["mean_bytes"])


def lives(*, others: bool = True) -> tuple[float, float]:
    """Mean life span and cycle of data written as requests 0, 2 and 3."""
    found = microscopic(written(0, 8, 0, 0) if others else written(0, 0, 0))["life"]
    return found["mean_span"], found["mean_cycle"]


_TENANTS = "crates/ssd/src/tenants/tests.rs"
_CHARACTERIZE = "crates/analyze/src/characterize"
TWINS = [
    UnitTwin(
        "crates/ssd/src/config/presets.rs::the_drive_of_zhu2017_has_the_counts_and_times_of_its_tables",
        "SLC flash of another paper",
        times_and_counts,
        {"name": "slc-2006"},
        ("20us", "200us", "3ms", "10us", 8, 2, 64),
    ),
    UnitTwin(
        "crates/ssd/tests/tenants/windows.rs::a_window_ends_with_its_last_request_or_before_the_first_that_is_too_late",
        "windows are a microsecond shorter",
        starts,
        {"window": "999us"},
        [0, 2000, 8995],
    ),
    UnitTwin(
        f"{_TENANTS}::collectors_count_windows_levels_and_times",
        "a level is of one request more",
        level,
        {"level_requests": 3},
        2,
    ),
    UnitTwin(
        f"{_TENANTS}::two_groups_up_to_level_ten_and_more_from_eleven_on",
        "two groups up to level 9",
        at_level_ten,
        {"two_groups_up_to": 9},
        [4, 4],
    ),
    UnitTwin(
        f"{_TENANTS}::a_tenant_of_nine_tenths_dominates",
        "a tenant of 95% dominates",
        lambda **wrong: len(with_nine_tenths(**wrong)),
        {"share": 0.95},
        2,
    ),
    UnitTwin(
        f"{_TENANTS}::two_groups_of_eight_channels_are_at_most_seven_to_one",
        "a type has two channels at least",
        readers_alone,
        {"min_channels": 2},
        [7, 1],
    ),
    UnitTwin(
        f"{_TENANTS}::partially_isolated_gives_nearly_all_to_the_type_that_there_is_more_of",
        "half of the channels for each type",
        nearly_all,
        {"channels": "isolated"},
        [7, 1],
    ),
    UnitTwin(
        f"{_TENANTS}::groups_that_mostly_read_are_static_under_hybrid_allocation_only",
        "all is placed dynamically",
        placements,
        {"kind": "dynamic"},
        ["static", "dynamic"],
    ),
    UnitTwin(
        "crates/analyze/tests/characterize.rs::numbers_are_those_of_the_definition",
        "reads count as writes",
        rewrites,
        {"reading": "W"},
        0.333333,
    ),
    UnitTwin(
        f"{_CHARACTERIZE}/recent.rs::as_many_as_k_may_come_between",
        "one request less may come between",
        sequential,
        {"gap": 9},
        0.083333,
    ),
    UnitTwin(
        "python/tests/traces/test_characterize.py::test_shares_are_those_of_the_definition",
        "writes are aligned to a KiB",
        aligned,
        {"align": "1KiB"},
        0.5,
    ),
    UnitTwin(
        f"{_CHARACTERIZE}/seek.rs::distance_is_from_end_to_start",
        "the first half of a request is its whole",
        seeks,
        {"sectors": 4},
        (0.333333, round((116 + 1000) / 3 * 512)),
    ),
    UnitTwin(
        f"{_CHARACTERIZE}/life.rs::spans_and_cycles_are_those_of_the_definition",
        "requests to other data do not count",
        lives,
        {"others": False},
        (3.0, 1.0),
    ),
]
