"""The Python API is the command's twin, with mappings and frames."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import QUICK, SHIPPED_TRACE, SMALL_DRIVE, SMALL_SETTINGS, without_wall_times
from conftest import flashweir as command

import flashweir


def quick(**options: Any) -> flashweir.Result:
    return flashweir.simulate(QUICK, set=SMALL_DRIVE, **options)


def test_api_and_command_give_the_same_result() -> None:
    printed = command("simulate", QUICK, *SMALL_SETTINGS, "--json", "-").json()
    assert without_wall_times(quick(latency_parts=True).to_dict()) == without_wall_times(printed)


def test_result_is_a_mapping_with_attributes_and_paths() -> None:
    result = quick()
    p99 = result["latency_us"]["write"]["p99"]
    assert result.latency_us.write.p99 == result["latency_us.write.p99"] == p99
    assert result.write_amplification == result["write_amplification"]
    assert set(result) == result.to_dict().keys()
    assert json.loads(result.to_json()) == result.to_dict()
    with pytest.raises(KeyError, match="p98"):
        result["latency_us.write.p98"]
    with pytest.raises(AttributeError, match="iops"):
        _ = result.ipos


def test_ways_to_say_an_override_agree() -> None:
    ways: list[dict[str, Any]] = [
        {"gc__victim": "fifo"},
        {"gc": {"victim": "fifo"}},
        {"set": {**SMALL_DRIVE, "gc.victim": "fifo"}},
    ]
    results = [flashweir.simulate(QUICK, **({"set": SMALL_DRIVE} | way)) for way in ways]
    assert all(result.config == results[0].config for result in results)
    assert results[0].config != quick().config


def test_config_repeats_the_run() -> None:
    first = quick(gc__victim="fifo")
    second = flashweir.simulate(QUICK, device=first.config)
    assert without_wall_times(first.to_dict()) == without_wall_times(second.to_dict())


@pytest.mark.parametrize("method", ["mser-5", "steady", "requests=100"])
def test_warm_up_is_removed_by_any_method(method: str) -> None:
    result = quick(warmup=method)
    assert result["requests"] == result.warmup.of_requests - result.warmup.requests
    assert result.latency_us.write["count"] == result.counters.requests.write
    assert result.time_share.idle + result.time_share.host + result.time_share.gc == pytest.approx(1.0)
    with pytest.raises(flashweir.ConfigError, match="expected mser-5"):
        quick(warmup=f"{method}!")


def test_config_is_a_copy() -> None:
    result = quick()
    result.config["channels"] = 99
    assert result.config["channels"] == 2


def test_log_is_a_frame_with_a_row_a_request(tmp_path: Path) -> None:
    result = quick(requests=True)
    frame = result.requests
    assert isinstance(frame, pl.DataFrame)
    assert frame.height == result["requests"]
    assert result.requests is frame
    path = tmp_path / "log.parquet"
    kept = quick(requests=path)
    assert pl.read_parquet(path).equals(kept.requests)
    assert kept.requests.equals(frame)
    assert frame.to_arrow is not None


def test_temporary_log_goes_with_the_result() -> None:
    result = quick(requests=True)
    assert result._log is not None
    log = result._log.path
    assert log.exists()
    del result
    assert not log.exists()


def test_no_log_unless_asked() -> None:
    with pytest.raises(flashweir.FlashweirError, match="requests=True"):
        _ = quick().requests


def test_mappings_and_sequences_of_workloads_are_streams() -> None:
    small = "sequential:span=16MiB,size=8KiB,count=1000"
    assert flashweir.simulate({"a": QUICK, "b": small}, set=SMALL_DRIVE)["requests"] == 21_000
    assert flashweir.simulate([QUICK, small], set=SMALL_DRIVE)["requests"] == 21_000
    assert flashweir.simulate(SHIPPED_TRACE, capacity="4GiB")["requests"] > 59_000


def test_verify_finds_nothing_wrong() -> None:
    assert quick(verify=True)["requests"] == 20_000


def test_activity_is_there_when_asked_for() -> None:
    assert "activity" not in quick()
    activity = quick(activity=True)["activity"]
    assert len(activity["channels"]) == SMALL_DRIVE["channels"]
    assert 500 < len(activity["dirty_pages"]) <= 1000
    for channel in activity["channels"]:
        shares = zip(*(channel[name] for name in ("host", "gc", "mapping", "waiting", "idle")), strict=True)
        assert all(abs(sum(bin_) - 1) < 1e-9 for bin_ in shares)
    closer = quick(activity="10ms..")["activity"]
    assert (closer["from_s"], closer["to_s"]) == (0.01, activity["to_s"])


def test_power_is_cut_at_times_or_at_random() -> None:
    for power_cut, cuts in ((30, 30), ("30", 30), ("1ms", 1), (["2ms", "1ms"], 2)):
        assert quick(power_cut=power_cut)["power_cuts"]["cuts"] == cuts
    assert "power_cuts" not in quick()


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"activity": "2ms..1ms"}, flashweir.ConfigError, "activity 2ms..1ms: expected a window that ends after"),
        ({"activity": "soon"}, flashweir.ConfigError, "activity soon: expected `all`, or a window of simulated time"),
        ({"activity": 5}, flashweir.ConfigError, "activity: 5: expected a text"),
        ({"power_cut": 0}, flashweir.ConfigError, "power cut 0: expected 1 to 1000000 random cuts"),
        ({"power_cut": 1.5}, flashweir.ConfigError, "power cut"),
        ({"chanels": 4}, flashweir.ConfigError, "channels"),
        ({"channels": object()}, flashweir.ConfigError, "object"),
        ({"op_ratio": float("nan")}, flashweir.ConfigError, "^op_ratio: nan: expected a finite number$"),
        ({"channels": -1}, flashweir.ConfigError, "channels"),
        ({"device": "no-such"}, flashweir.ConfigError, "no-such"),
        ({"device": {"chanels": 4}}, flashweir.ConfigError, "chanels"),
        ({"workload": "no-such.csv"}, flashweir.TraceError, "no-such.csv"),
        ({"workload": []}, flashweir.ConfigError, "workload"),
    ],
)
def test_errors_say_whose_fault_it_is(options: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        flashweir.simulate(**({"workload": QUICK} | options))


def test_errors_are_one_family() -> None:
    for kind in (flashweir.ConfigError, flashweir.TraceError, flashweir.DeviceError):
        assert issubclass(kind, flashweir.FlashweirError)


def test_trace_functions(tmp_path: Path) -> None:
    target = tmp_path / "a.msr.csv"
    flashweir.trace_generate(QUICK, target)
    assert flashweir.trace_info(target).requests == 20_000
    flashweir.trace_convert(target, tmp_path / "b.dat", to="spc")
    assert flashweir.trace_info(tmp_path / "b.dat", format="spc").requests == 20_000
    with pytest.raises(flashweir.TraceError, match="zzz"):
        flashweir.trace_convert(target, tmp_path / "c.dat", to="zzz")


def test_schema_has_every_key_of_a_config() -> None:
    properties = flashweir.schema()["properties"]
    assert quick().config.keys() <= properties.keys()
    assert all(refusal["reason"] for refusal in flashweir.refusals())
