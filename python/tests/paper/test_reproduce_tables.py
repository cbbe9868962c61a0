"""Tables of settings that papers print: presets, workloads and drives of their experiments have the printed numbers."""

import sys
import tomllib
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from conftest import ROOT, flashweir

from flashweir import simulate
from flashweir.reproduction import covered

EXPERIMENTS = ROOT / "experiments"


@cache
def presets() -> dict[str, Any]:
    return {preset["name"]: preset["config"] for preset in flashweir("presets", "--json", "-").json()}


def table(path: str) -> dict[str, Any]:
    return tomllib.loads((EXPERIMENTS / path).read_text(encoding="utf-8"))


def flash(name: str) -> tuple[Any, ...]:
    config = presets()[name]
    timing = config["timing"]
    times = (timing["read"], timing["program"], timing["erase"])
    return (*times, timing["bus"], config["page"], config["pages_per_block"])


def options(spec: str) -> dict[str, str]:
    return dict(part.split("=") for part in spec.partition(":")[2].split(","))


def test_chips_of_2006() -> None:
    """huang2010, table 1."""
    assert flash("slc-2006") == ("25us", "200us", "1500us", 25.0, "2KiB", 64)
    assert flash("mlc-2006") == ("60us", "800us", "1500us", 25.0, "4KiB", 128)


def test_times_of_the_simulation() -> None:
    """huang2010, table 2: transfers are part of the times. wen2012, section 4.1, has the same in two parts."""
    assert flash("huang2010-slc") == ("131us", "306us", "1500us", 0.0, "2KiB", 64)
    assert flash("huang2010-mlc") == ("166us", "906us", "1500us", 0.0, "4KiB", 128)
    read, program, erase, bus, *shape = flash("wen2012")
    transfer_us = bus * 4096 / 1000
    assert (read, program, erase, shape) == ("60us", "800us", "1500us", ["4KiB", 128])
    assert round(60 + transfer_us) == 166
    assert round(800 + transfer_us) == 906


def test_workloads_have_the_printed_space_and_mean() -> None:
    """huang2010, table 3."""
    traces = table("01-huang2010/traces.toml")["axes"]["trace"]
    space = {name: traces[name]["capacity"] for name in ("Random", "Sequential", "WinXP", "Ubuntu")}
    assert space == {"Random": "16GiB", "Sequential": "20GiB", "WinXP": "40GiB", "Ubuntu": "30GiB"}
    asked = {name: options(traces[name]["requests"]) for name in space}
    assert asked["Random"]["size"] == "4KiB"
    means = [asked[name]["mean"] for name in ("Sequential", "WinXP", "Ubuntu")]
    assert means == ["60KiB", "11.46KiB", "20.01KiB"]


def test_volumes_are_those_of_table_2() -> None:
    """wen2012, table 2."""
    traces = table("01-huang2010/traces.toml")["axes"]["trace"]
    random, multimedia, desktop = (options(traces[name]["requests"]) for name in ("Random", "Multimedia", "Desktop"))
    assert (traces["Random"]["capacity"], random["size"]) == ("16GiB", "4KiB")
    assert round(int(random["count"]) * 4096 / 1e9, 1) == 18.6
    assert (multimedia["span"], multimedia["mean"], multimedia["written"]) == ("20GiB", "60KiB", "19.8GB")
    assert (desktop["span"], desktop["mean"], desktop["written"]) == ("40GiB", "23KiB", "81.2GB")


def test_arrivals_are_those_of_table_2() -> None:
    """zhu2017, table 2."""
    asked = options(table("03-zhu2017/base.toml")["workloads"])
    assert (asked["period"], asked["burst"], asked["burst_period"]) == ("40us", "10", "1200us")


def test_flash_of_the_drives() -> None:
    """yang2009, tables 2 and 4: SLC 80 and 200 us, MLC 160 and 900 us, erases 1.5 ms; capacities, in whole blocks."""
    drives = table("05-yang2009/drives.toml")
    assert drives["set"]["timing"]["erase"] == "1500us"
    found = {
        name: (one["timing"]["read"], one["timing"]["program"], one["capacity"])
        for name, one in drives["axes"]["drive"].items()
    }
    assert found == {
        "MTRON": ("80us", "200us", "32GB"),
        "Samsung": ("80us", "200us", "32GB"),
        "OCZ": ("160us", "900us", "64GB"),
        "Transcend SLC": ("80us", "200us", "16008MB"),
    }


@pytest.mark.parametrize("channels", [2, 4, 8])
def test_sequential_reads_keep_the_speed_of_striped_channels(channels: int) -> None:
    """huang2010, sections 1 and 3.5: all channels read at once, independent ones as fast as synchronized ones."""

    def speed(units: str, count: int) -> float:
        drive = {"capacity": "64MiB", "op_ratio": 0.1, "precondition": "full", "channels": count, "units": units}
        reads = "sequential:span=64MiB,size=64KiB,write=0,count=1024"
        return simulate(reads, "huang2010-mlc", set=drive).bandwidth_mib_s or 0.0

    assert speed("independent", channels) == pytest.approx(speed("synchronized", channels), rel=0.001)
    assert speed("independent", channels) == pytest.approx(channels * speed("independent", 1), rel=0.01)


def exchanged(one: str, other: str) -> Callable[[str], Any]:
    """`flash` with two presets in each other's place."""
    names = {one: other, other: one}
    return lambda name: FLASH(names.get(name, name))


def without_transfers(name: str) -> Any:
    """`flash` with a bus of twice the speed."""
    *times, bus, page, pages = FLASH(name)
    return (*times, bus / 2, page, pages)


def turned(axis: str, one: str, other: str) -> Callable[[str], Any]:
    """`table` with two values of an axis in each other's place."""

    def changed(path: str) -> Any:
        found = deepcopy(TABLE(path))
        values = found["axes"][axis]
        values[one], values[other] = values[other], values[one]
        return found

    return changed


def with_periods_exchanged(path: str) -> Any:
    """`table` with the period of requests in place of that of bursts, and the other way round."""
    found = deepcopy(TABLE(path))
    turns = {"period": "burst_period", "burst_period": "period"}
    parts = [part.split("=") for part in found["workloads"].partition(":")[2].split(",")]
    found["workloads"] = "random:" + ",".join(f"{turns.get(key, key)}={value}" for key, value in parts)
    return found


FLASH, TABLE = flash, table
# The twins of the tables, as `coverage.toml` names them.
TWINS: dict[Callable[[], None], tuple[str, str, Callable[[str], Any]]] = {
    test_chips_of_2006: ("SLC and MLC exchanged", "flash", exchanged("slc-2006", "mlc-2006")),
    test_times_of_the_simulation: ("transfers take half of their time", "flash", without_transfers),
    test_workloads_have_the_printed_space_and_mean: (
        "workloads exchanged",
        "table",
        turned("trace", "WinXP", "Ubuntu"),
    ),
    test_volumes_are_those_of_table_2: ("workloads exchanged", "table", turned("trace", "Multimedia", "Desktop")),
    test_arrivals_are_those_of_table_2: ("periods exchanged", "table", with_periods_exchanged),
    test_flash_of_the_drives: ("drives exchanged", "table", turned("drive", "Samsung", "OCZ")),
}


@pytest.mark.parametrize("test", TWINS, ids=lambda test: test.__name__)
def test_a_table_with_a_bug_is_rejected(test: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    _, name, changed = TWINS[test]
    monkeypatch.setattr(sys.modules[__name__], name, changed)
    with pytest.raises(AssertionError):
        test()


def test_twins_are_those_of_the_coverage() -> None:
    listed = {row.check.rpartition("::")[2]: row.twin for row in covered() if row.check}
    assert {test.__name__: listed[test.__name__] for test in TWINS} == {test.__name__: TWINS[test][0] for test in TWINS}
