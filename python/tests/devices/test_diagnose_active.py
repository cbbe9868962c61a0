"""`flashweir diagnose --active`: drives with known faults, what it refuses, and the form of its answer."""

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, ends_with_machine, flashweir, refused
from model_drive import Drive

import flashweir as api
from flashweir._native import ConfigError
from flashweir.charts.model import Plot
from flashweir.diagnosis.active import greedy
from flashweir.diagnosis.active.buffer import _Drive, _fills, absorbed
from flashweir.diagnosis.active.collection import _possible
from flashweir.diagnosis.active.page import charts
from flashweir.diagnosis.active.ratios import Span, judged, ratio, span_of
from flashweir.diagnosis.active.session import check_due

MODEL = ROOT / "python" / "tests" / "model_drive.py"
SIM = "sim:mlc-2006,capacity=48MiB,channels=2,op_ratio=0.1,pages_per_block=64,buffer.bytes=512KiB"
KIB = 1024


def found(fault: str, **settings: str) -> dict[str, Any]:
    drive = Drive(fault=fault, **{"mib": "24", "dies": "4", "pages": "32", "buffer": "512"} | settings)
    return api.diagnose(drive, active=True).to_dict()


def verdicts(diagnosis: dict[str, Any]) -> dict[str, str]:
    return {name: one["verdict"] for name, one in diagnosis["symptoms"].items()}


def test_a_healthy_drive_is_healthy_and_its_values_are_near() -> None:
    diagnosis = found("none")
    assert verdicts(diagnosis) == {"mapping": "good", "collection": "good", "buffer": "good"}
    assert diagnosis["verdict"] == "healthy"
    assert diagnosis["health"] is None
    drive = diagnosis["drive"]
    assert drive["buffer_bytes"]["value"] == pytest.approx(512 * KIB, rel=0.1)
    assert drive["mapping_unit_bytes"]["value"] == 4 * KIB
    # Sizes are whole bytes, not rounded to some digits.
    assert all(
        isinstance(drive[name][end], int)
        for name in ("mapping_unit_bytes", "buffer_bytes")
        for end in ("value", "high")
    )
    assert drive["map_cache_bytes"] is None
    assert drive["spare"]["value"] == pytest.approx(0.12, abs=0.02)
    assert drive["write_amplification"]["low"] < 4.5 < drive["write_amplification"]["high"]


@pytest.mark.parametrize("noise", ["0", "0.2"])
@pytest.mark.parametrize(
    ("fault", "settings", "symptom"),
    [
        ("none", {"buffer": "0"}, "buffer"),
        ("none", {"buffer": "64"}, "buffer"),
        ("blocks", {}, "mapping"),
        ("cache", {"cached": "1"}, "mapping"),
        ("unit", {"unit": "32", "pages": "8"}, "mapping"),
        ("random", {}, "collection"),
        ("early", {"early": "0.6"}, "collection"),
    ],
)
def test_a_fault_is_found_and_nothing_else(fault: str, settings: dict[str, str], symptom: str, noise: str) -> None:
    said = verdicts(found(fault, noise=noise, hiccup="0.0005", **settings))
    assert [name for name, verdict in said.items() if verdict == "bad"] == [symptom]


def test_a_drive_that_was_used_before_is_the_same() -> None:
    assert verdicts(found("none", used="2")) == verdicts(found("none"))


def test_little_spare_is_no_symptom() -> None:
    diagnosis = found("none", spare="0.02")
    assert diagnosis["symptoms"]["collection"]["verdict"] == "good"
    assert diagnosis["drive"]["spare"]["high"] < 0.12


def test_addresses_that_share_dies_are_no_bad_mapping() -> None:
    assert found("static", dies="16", buffer="192")["symptoms"]["mapping"]["verdict"] == "good"


def test_without_discards_the_mapping_is_uncertain() -> None:
    mapping = found("none", discards="0")["symptoms"]["mapping"]
    assert mapping["verdict"] == "uncertain"
    assert "does not discard" in mapping["reason"]


@pytest.mark.parametrize("fault", ["none", "random"])
def test_discards_without_effect_are_no_fault_of_the_mapping(fault: str) -> None:
    said = verdicts(found(fault, silent="1", used="2"))
    assert said["mapping"] == "uncertain"
    assert said["collection"] == "bad" if fault == "random" else said["collection"] != "bad"


def test_a_log_as_large_as_a_quarter_of_the_drive_is_no_early_collection() -> None:
    sim = "sim:slc-2006,capacity=32MiB,channels=2,dies=1,planes=1,pages_per_block=32,op_ratio=0.28,ftl.kind=bast"
    diagnosis = api.diagnose(sim, active=True)
    assert diagnosis["symptoms"]["mapping"]["verdict"] == "bad"
    assert diagnosis["symptoms"]["collection"]["verdict"] != "bad"


def test_writes_in_runs_are_measured_where_the_map_is_on_flash() -> None:
    tests = {test["name"]: test["ratio"] for test in found("cache", cached="1")["tests"]}
    assert tests["mapping-locality"] < 0.9
    assert "mapping-locality" not in {test["name"] for test in found("none")["tests"]}


class Counting(Drive):
    """A drive with counters of host and media bytes."""

    def __init__(self, **given: str) -> None:
        self.media_written_bytes = 0
        self.host_written_bytes: Any = 0
        super().__init__(**given)

    def _map(self, unit: int) -> int:
        copies = super()._map(unit)
        self.media_written_bytes += (1 + copies) * self.unit
        return copies

    def submit(self, requests: dict[str, Any]) -> dict[str, Any]:
        self.host_written_bytes += int(requests["length"][requests["op"] == 1].sum())
        return super().submit(requests)


def test_counters_are_taken_where_the_drive_has_some() -> None:
    settings = {"mib": "24", "dies": "4", "pages": "32", "buffer": "512"}
    measured = api.diagnose(Counting(**settings), active=True)["drive"]["write_amplification"]
    assert measured["method"] == "counter"
    assert greedy.greedy(0.15, 32) < measured["value"] < greedy.greedy(0.09, 64)
    assert measured["high"] < 1.01 * measured["low"]
    inferred = api.diagnose(Drive(**settings), active=True)["drive"]["write_amplification"]
    assert (inferred["method"], inferred["value"]) == ("inferred", pytest.approx(measured["value"], rel=0.25))
    bad = Counting(**settings)
    bad.host_written_bytes = 0.5
    with pytest.raises(ConfigError, match=r"Counting\.host_written_bytes is 0\.5: expected a whole number of bytes"):
        api.diagnose(bad, active=True)
    assert bad.media_written_bytes == 0


def test_the_json_has_every_field() -> None:
    run = flashweir("diagnose", SIM, "--active", "--json", "-")
    assert run.err.startswith(f"note: {SIM}: writes its ")
    diagnosis = run.json()
    assert (diagnosis["format"], diagnosis["target"], diagnosis["size_bytes"]) == (
        "flashweir-diagnosis-2",
        SIM,
        48 << 20,
    )
    assert diagnosis["admissible"] is True
    assert list(diagnosis["symptoms"]) == ["mapping", "collection", "buffer"]
    values = ["spare", "mapping_unit_bytes", "map_cache_bytes", "buffer_bytes"]
    values += ["write_amplification", "stall_max_us", "stall_time_share"]
    assert list(diagnosis["drive"]) == values
    for value in diagnosis["drive"].values():
        assert value is None or set(value) == {"value", "low", "high", "sure", "method"}
        assert value is None or value["low"] <= value["value"] <= value["high"]
    for test in diagnosis["tests"]:
        assert set(test) == {"name", "ratio", "low", "high", "verdict", "bad_to", "good_from"}
        assert (test["bad_to"] is None) == (test["good_from"] is None)
        assert test["low"] <= test["ratio"] <= test["high"]
        assert test["verdict"] in ("good", "bad", "uncertain", "unknown")
    assert diagnosis["written_bytes"] > 4 * (48 << 20)
    assert diagnosis["elapsed_s"] > 0
    assert diagnosis == flashweir("diagnose", SIM, "--active", "--json", "-").json()


def test_a_page_shows_ratios_with_their_bands(tmp_path: Path) -> None:
    args = ("diagnose", SIM, "--active", "--html", "d.html", "--json", "d.json")
    flashweir(*args, cwd=tmp_path)
    diagnosis = json.loads((tmp_path / "d.json").read_text())
    judged, others = charts(diagnosis)
    assert isinstance(judged, Plot)
    assert isinstance(others, Plot)
    by_name = {one.name: one for one in judged.series}
    banded = [test for test in diagnosis["tests"] if test["good_from"] is not None]
    names = [test["name"] for test in banded]
    assert list(by_name["good from"].x) == names
    assert list(by_name["good from"].y) == [test["good_from"] for test in banded]
    shown = {}
    for word in ("good", "bad", "uncertain"):
        series = by_name.get(f"ratio, {word}")
        for name, y, high in zip(series.x, series.y, series.high or (), strict=True) if series else ():
            if y is not None:
                shown[name] = (word, y, high)
    assert shown == {test["name"]: (test["verdict"], max(test["ratio"], 0.01), max(test["high"], 0.01))
                     for test in banded}  # fmt: skip
    assert len(others.series[0].x) == len(diagnosis["tests"]) - len(banded)
    page = (tmp_path / "d.html").read_text()
    for one in diagnosis["symptoms"].values():
        assert html.escape(one["reason"]) in page
    assert "read-under-collection" in page
    assert ends_with_machine(tmp_path / "d.html", "diagnose")
    assert "is there already: --force replaces it" in refused(*args, cwd=tmp_path)


def test_the_verdict_comes_first() -> None:
    out = flashweir("diagnose", f"py:{MODEL}:Drive,mib=16,pages=32,buffer=0", "--active").out
    assert out.startswith("ill: the drive is bad at write buffer.\n")
    for part in ("effective spare: ", "mapping unit: 4 KiB", "write amplification: ", "longest stall: "):
        assert part in out


def test_a_real_target_has_to_be_named_again(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    image.write_bytes(b"precious" * (1 << 21))
    for erase in ([], ["--erase", "other.img"]):
        assert f"--erase {image}" in refused("diagnose", str(image), "--active", *erase)
    assert image.read_bytes() == b"precious" * (1 << 21)
    diagnosis = flashweir("diagnose", str(image), "--active", "--erase", str(image), "--json", "-").json()
    assert diagnosis["size_bytes"] == image.stat().st_size == 16 << 20


FAILING = """
import numpy as np

class Failing:
    size_bytes, block_bytes, calls = 16 << 20, 512, 0
    def submit(self, requests):
        self.calls += 1
        if self.calls > 3:
            raise RuntimeError("the drive is gone")
        end = np.maximum.accumulate(np.maximum(requests["due_ns"], 0)) + 1000
        return {"issue_ns": end - 1000, "complete_ns": end}
"""


def test_a_drive_that_fails_is_exit_1(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    line = refused("diagnose", "py:failing.py:Failing", "--active", "--json", "d.json", cwd=tmp_path, code=1)
    assert "the drive is gone" in line
    assert not (tmp_path / "d.json").exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--active", "--capacity", "1GiB"], "--capacity: has no effect with --active"),
        (["--active", "--png", "d.png"], "--png: has no effect with --active"),
        (["--erase", "x"], "--erase: has no effect without --active"),
        (["--seed", "2"], "--seed: has no effect without --active"),
    ],
)
def test_options_without_effect_are_refused(arguments: list[str], part: str) -> None:
    assert part in refused("diagnose", SIM, *arguments)


def test_drives_that_can_not_be_measured_are_refused() -> None:
    line = refused("diagnose", f"py:{MODEL}:Drive,mib=4", "--active")
    assert "4194304 bytes in blocks of 512: expected at least 8388608 bytes" in line
    assert "no such preset" in refused("diagnose", "sim:nothing", "--active")
    zones = "sim:zn540,capacity=256MiB,pages_per_block=12,op_ratio=0.5,ftl.map_unit=auto,ftl.kind=zones,ftl.host=none"
    for command in (("diagnose", zones, "--active"), ("probe", zones, "-o", "zones.toml")):
        assert "it has zones, which are written in order" in refused(*command)
    with pytest.raises(ConfigError, match="capacity: has no effect with active=True"):
        api.diagnose(SIM, active=True, capacity="1GiB")
    with pytest.raises(ConfigError, match="expected a file, or active=True"):
        api.diagnose(Drive())


def test_progress_is_said_and_stops() -> None:
    states: list[dict[str, Any]] = []

    def stop(state: dict[str, Any]) -> bool:
        states.append(state)
        return len(states) < 5

    with pytest.raises(api.FlashweirError, match="stopped by the progress function"):
        api.diagnose(Drive(mib="16"), active=True, progress=stop)
    assert [state["phase"] for state in states] == ["run"] * 5


def test_batches_that_mix_due_times_are_refused() -> None:
    check_due(np.array([-1, -1]))
    check_due(np.array([0, 5]))
    with pytest.raises(ConfigError, match=r"due_ns\[2\] is -1 and due_ns\[0\] 0: expected all -1, or none"):
        check_due(np.array([0, 5, -1]))


def test_the_closed_form_of_greedy() -> None:
    # Desnoyers 2014, figure 6: 64 pages, spare of 0.07 is about 7; of large blocks that of LRU, 1 / (1 - u).
    assert greedy.greedy(0.07, 64) == pytest.approx(7.0, rel=0.02)
    assert greedy.greedy(0.28, 1 << 20) == pytest.approx(2.48, rel=0.01)
    assert greedy.greedy(1.0) < greedy.greedy(0.5) < greedy.greedy(0.1)
    assert greedy.spare_of(greedy.greedy(0.1, 64)) == pytest.approx(0.1, rel=1e-3)
    assert greedy.hot(0.1, 0.1) == greedy.greedy(1.0)


def test_bytes_that_a_burst_is_ahead_of_flash() -> None:
    flash = 100.0
    full = np.concatenate([np.arange(1, 33) * 5.0, 160 + np.arange(1, 97) * flash])
    taken, filled = absorbed(full, 16 * KIB, flash)
    assert filled
    assert taken == pytest.approx(32 * 16 * KIB, rel=0.1)
    never = np.arange(1, 129) * 5.0
    assert absorbed(never, 16 * KIB, flash) == (128 * 16 * KIB, False)


def test_intervals_and_bands() -> None:
    steady = span_of(np.full(20, 4.0))
    assert (steady.low, steady.value, steady.high) == pytest.approx((3.96, 4.0, 4.04))
    double = ratio(span_of(np.full(20, 8.0)), steady)
    assert double.low < 2 < double.high
    assert judged("a", Span(0.9, 0.88, 0.92), 0.75, 0.85).verdict == "good"
    assert judged("a", Span(0.8, 0.78, 0.82), 0.75, 0.85).verdict == "uncertain"
    assert judged("a", Span(0.7, 0.69, 0.71), 0.75, 0.85).verdict == "bad"


def test_no_field_is_beyond_json() -> None:
    json.dumps(found("random"), allow_nan=False)


class Early(Drive):
    """Collects a block whenever it opens one while fewer than three in ten are empty: a reserve above the spare."""

    extra, busy = 0, False

    def _append(self, unit: int) -> None:
        is_full = len(self.owner[self.open]) == self.per
        if is_full and not self.busy and self.full and len(self.empty) < 0.3 * len(self.owner):
            self.busy = True
            self.extra += self._collect()
            self.busy = False
        super()._append(unit)

    def _map(self, unit: int) -> int:
        self.extra = 0
        return super()._map(unit) + self.extra


def test_a_reserve_above_the_spare_is_found_by_rewriting_in_order() -> None:
    diagnosis = api.diagnose(Early(mib="24", dies="4", pages="32", buffer="512"), active=True).to_dict()
    assert verdicts(diagnosis) == {"mapping": "good", "collection": "bad", "buffer": "good"}
    assert "though writes in order free whole blocks" in diagnosis["symptoms"]["collection"]["reason"]


@pytest.mark.parametrize("settings", [{}, {"fault": "random"}, {"silent": "1"}, {"buffer": "64"}, {"buffer": "0"}])
def test_only_counters_give_intervals_without_width(settings: dict[str, str]) -> None:
    diagnosis = found(settings.get("fault", "none"), **{key: one for key, one in settings.items() if key != "fault"})
    for value in diagnosis["drive"].values():
        assert value is None or value["low"] < value["high"]
        assert value is None or value["low"] <= value["value"] <= value["high"]
    assert all(test["low"] < test["high"] for test in diagnosis["tests"])


def test_amplification_is_null_where_no_write_is_known_to_be_free_of_copies() -> None:
    diagnosis = found("random", silent="1", used="2")
    assert diagnosis["drive"]["write_amplification"] is diagnosis["drive"]["spare"] is None
    assert _possible(Span(0.01, 0.01, 0.02), Span(4.0, 3.0, 5.0), known=True).low == greedy.spare_of(5.0)
    assert _possible(Span(0.01, 0.01, 0.02), Span(4.0, 3.0, 5.0), known=True).high == pytest.approx(1.0)
    assert _possible(Span(0.2, 0.19, 0.21), Span(4.0, 3.0, 5.0), known=True) == Span(0.2, 0.19, 0.21)


def test_the_pause_that_empties_a_buffer_begins_with_a_full_one() -> None:
    # 128 programs of 0.4 ms on four dies: four fifths take 10 ms.
    assert found("none")["buffer"]["empties_s"] == pytest.approx(0.016)


def test_a_buffer_fills_though_most_writes_find_a_die_free() -> None:
    class Line:
        """Every eighth write waits for a die, so that the mean is twice an idle one."""

        small, size, began = 4 * KIB, 64 << 20, 0

        def rest(self, _: float = 0.5) -> None:
            self.began = 0

        def call(self, _: int, offset: Any, *_length_and_depth: int) -> tuple[Any, Any]:
            taken = np.where((np.arange(len(offset)) % 8 == 7) & (len(offset) > 1), 400_000, 48_000)
            return np.zeros(len(offset), np.int64), taken

        def in_order(self, *_range: float) -> Any:
            return lambda first, count: np.arange(first, first + count)

    line: Any = Line()
    assert _fills(_Drive(line, 32 << 20, 78_000.0, 80_000 / (16 * KIB), 32 << 20, 64 << 20), 1 << 20)
