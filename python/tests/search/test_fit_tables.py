"""Measurements as they come: in any order, with gaps, of few loads, without what would say most."""

from pathlib import Path

import pytest
from fit_samples import TABLES, written

from flashweir import ConfigError, Drive
from flashweir.fitting import evaluation, fit, forms, frontend, load, measurements, search
from flashweir.fitting.outcome import Fit
from flashweir.fitting.points import Measurements

SHORT = load.Effort(samples=60, requests=600, saturated=500, longest=600)
RATED = "workload = {{ write = 0.5 }}\nload = {{ rate = {rate} }}\nmeasured = {{ {measured} }}\n"
FULL = "workload = {{ write = {write} }}\nload = {{ saturated = true }}\nmeasured = {{ {measured} }}\n"


def general(folder: Path, *points: str, drive: str = 'capacity = "250GB"') -> Path:
    """A file of points in the general form."""
    text = f"[drive]\n{drive}\n" + "".join(f"[[point]]\n{point}" for point in points)
    return written(folder, "g.toml", text)


def rated(count: int, measured: str = "read_mean = 74.25, read_p50 = 56.5, write_mean = 10.75") -> list[str]:
    """Points of rising rates."""
    return [RATED.format(rate=5000.5 * (at + 1), measured=measured) for at in range(count)]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches of two drives in this process, as short as they can be."""
    pytest.importorskip("cmaes")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    for name in ("QUICK", "THROUGHPUT", "MIDDLE", "FINE"):
        monkeypatch.setattr(load, name, SHORT)
    monkeypatch.setattr(forms, "_DRAWN", 10)
    monkeypatch.setattr(forms, "_BEGINS", 1)
    monkeypatch.setattr(forms, "_ROUNDS_FIRST", 2)
    monkeypatch.setattr(search, "_ROUNDS", 4)


def fitted(path: Path) -> Fit:
    """A fit of two drives, whose device file is a drive."""
    output = path.with_suffix(".drive.toml")
    found = fit(path, output=output, budget=2, effort=SHORT)
    with Drive(str(output)) as drive:
        assert drive.capacity_bytes >= (found.settings.get("capacity") or 0)  # type: ignore[operator]
    return found


def test_rows_in_any_order_are_the_same_measurements(tmp_path: Path) -> None:
    lines = TABLES.splitlines()
    rows = [line for line in lines if line.startswith("    [")]
    found = set()
    for turned in (rows, rows[::-1], [rows[1], rows[2], rows[0]]):
        made = [turned[rows.index(line)] if line in rows else line for line in lines]
        found.add(repr(measurements.read(written(tmp_path, "m.toml", "\n".join(made))).points))
    assert len(found) == 1


def test_a_latency_that_was_not_measured_is_nan(tmp_path: Path) -> None:
    some = TABLES.replace("315, 457", "315.5, nan").replace("[30000, 5200, 400", "[30000, 5200, nan")
    first, *_, full, _, _ = measurements.read(written(tmp_path, "m.toml", some)).points
    assert "read_p999" not in first.measured
    assert first.measured["read_p99"] == 315.5
    assert len(full.measured) == len(first.measured) + 1
    assert "read_p50" not in full.measured
    for old, new, message in (
        ("315, 457", "315, 0", r"points, row 1: a latency of 0: expected more, or nan"),
        ("[9953, 5049", "[nan, 5049", r"points, row 1: nan requests a second: expected at least 10,000"),
        ("[30000, 5200, 400", "[30000, 5200", r"saturated: \[30000.*expected 10 numbers"),
        ("315, 457", "-1, 457", r"points, row 1: .*expected 10 numbers: .*nan: not measured"),
    ):
        with pytest.raises(ConfigError, match=message):
            measurements.read(written(tmp_path, "n.toml", TABLES.replace(old, new)))


def test_throughput_at_saturation_is_of_requests_or_of_bytes(tmp_path: Path) -> None:
    def read(measured: str) -> Measurements:
        more = f"{measured}, read_mean = 900.0, write_mean = 3000.0"
        return measurements.read(general(tmp_path, *rated(3), FULL.format(write=0.5, measured=more)))

    requests, of_bytes = read("iops = 16000"), read("mib_s = 62.5")
    assert [point.saturation for point in requests.points] == [point.saturation for point in of_bytes.points]
    assert frontend.fetched(requests) == frontend.fetched(of_bytes)
    assert frontend.is_limited(requests) == frontend.is_limited(of_bytes)
    found = [evaluation.saturated(one) for one in (requests, of_bytes)]
    assert [point.throughput for point in found if point is not None] == [16000, 16000]


def test_reads_alone_say_nothing_of_programs(tmp_path: Path) -> None:
    reads, mixed = (FULL.format(write=write, measured="iops = 60000") for write in (0, 0.5))
    writes = FULL.format(write=1, measured="iops = 50000")
    data = measurements.read(general(tmp_path, *rated(2), reads))
    assert evaluation.saturated(data) is None
    data = measurements.read(general(tmp_path, *rated(2), reads, writes, mixed))
    full = evaluation.saturated(data)
    # That of the same workload as the rates comes first.
    assert full is not None
    assert full.id == "5"


def test_sizes_that_no_drive_simulates_give_the_bus_no_effect(tmp_path: Path) -> None:
    zones = '"drive-a.zones" = { open_zones = [1, 8], waf = [1.1, 1.4] }\n\n[latency'
    data = measurements.read(written(tmp_path, "m.toml", TABLES.replace("[latency", zones, 1)))
    assert {point.workload.size for point in data.points} == {4096, 512 << 10}
    assert "sizes" not in search.given(data)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "points",
    [
        rated(1),
        rated(2),
        rated(3, "read_p99 = 315.25"),
        [FULL.format(write=0.5, measured="iops = 60000.5")],
        [FULL.format(write=1, measured="waf = 2.5")],
        [*rated(2), FULL.format(write=0.5, measured="iops = 60000.5, read_p50 = 900")],
    ],
    ids=["one load", "no saturation", "one percentile", "saturation alone", "amplification alone", "no means"],
)
def test_few_measurements_are_fitted(tmp_path: Path, points: list[str]) -> None:
    found = fitted(general(tmp_path, *points))
    assert all(one.predicted is not None for one in found.points)
    assert found.settings["capacity"] == 250_000_000_000


@pytest.mark.usefixtures("quick")
def test_a_name_of_several_lines_is_no_key_of_the_device_file(tmp_path: Path) -> None:
    path = general(tmp_path, *rated(1), drive='capacity = "250GB"\nname = "a\\nchannels = 64 #"')
    assert fitted(path).settings["channels"] == 8
    head = path.with_suffix(".drive.toml").read_text(encoding="utf-8").splitlines()[0]
    assert head.startswith("# Fitted to a channels = 64 #, measurements")


@pytest.mark.usefixtures("quick")
def test_a_capacity_that_no_drive_has_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"g\.toml: none of 2 drives with a capacity of 10,000 bytes is possible"):
        fitted(general(tmp_path, *rated(1), drive="capacity = 10000"))


def test_a_file_without_a_point_to_fit_says_why(tmp_path: Path) -> None:
    zipf = rated(1, "write_mean = 9")[0].replace("write = 0.5", 'write = 0.5, pattern = "zipf", skew = 0.8')
    with pytest.raises(ConfigError, match=r"no point that a drive can be fitted to: zipf addresses: not simulated"):
        fitted(general(tmp_path, zipf))
