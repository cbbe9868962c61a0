"""The command: exit codes, one-line errors, JSON and nothing else, files that are whole or absent."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import QUICK, SHIPPED_TRACE, SMALL_SETTINGS, flashweir, refused, without_wall_times

import flashweir as package

FIELDS = {
    "requests",
    "simulated_s",
    "wall_s",
    "setup_wall_s",
    "precondition_wall_s",
    "iops",
    "bandwidth_mib_s",
    "latency_us",
    "write_amplification",
    "flash",
    "time_share",
    "bus_share",
    "geometry",
    "config",
    "version",
}


def test_json_on_stdout_is_json_and_nothing_else() -> None:
    run = flashweir("simulate", QUICK, *SMALL_SETTINGS, "--json", "-")
    result = run.json()
    assert result.keys() >= FIELDS
    assert result["requests"] == 20_000
    assert {"mean", "p50", "p95", "p99", "p999", "max"} <= result["latency_us"]["write"].keys()
    assert {"reads", "programs", "erases"} <= result["flash"].keys()
    assert {"host", "gc", "mapping", "idle"} <= result["time_share"].keys()
    assert {"logical_pages", "physical_pages", "reserved_blocks", "units"} <= result["geometry"].keys()
    assert result["version"] == package.__version__
    assert run.err == ""


def test_summary_fits_80_columns_and_has_no_control_characters_when_piped() -> None:
    run = flashweir("simulate", QUICK, *SMALL_SETTINGS)
    assert all(len(line) <= 80 for line in run.out.splitlines())
    assert "\x1b" not in run.out
    for word in ("20,000 requests", "write amplification", "p99.9", "idle"):
        assert word in run.out
    assert run.err == ""
    first = "default drive, 64MiB: closed loop, queue depth 1, precondition on-read"
    assert run.out.splitlines()[0] == first
    timed = ["simulate", "random:span=8MiB,count=100,rate=1000", "--device", "tlc", "--set", "host.mode=open"]
    out = flashweir(*timed, "--set", "host.slots=8", "--set", "precondition=full", "--set", "capacity=1GiB").out
    assert out.splitlines()[0] == "tlc, 1GiB: open loop, 8 slots, precondition full"
    large = flashweir("simulate", "random:count=10", "--device", "mqsim-mlc").out
    assert large.startswith("mqsim-mlc, 476.2GiB: closed loop, ")
    assert flashweir("simulate", "random:count=10").out.startswith("default drive, 16GiB: closed loop, queue depth 1, ")


def test_assumptions_about_a_trace_are_said_by_what_reads_it(tmp_path: Path) -> None:
    trace = tmp_path / "t.mqsim"
    trace.write_text("0 0 8 8 0\n5000 0 16 8 0\n4000 0 32 8 1\n")
    said = (
        "note: t.mqsim: ssdsim, mqsim, mqsim-ms, disksim and flashsim look alike; read as mqsim: times are nanoseconds"
    )
    spec = tmp_path / "s.toml"
    spec.write_text(f'workloads = "{trace}"\n[axes]\nop_ratio = [0.1, 0.2]\n')
    search = tmp_path / "search.toml"
    search.write_text(f'workloads = "{trace}"\nset = {{capacity = "32MiB"}}\ngoals = {{iops = "max"}}\n'
                      'axes = {channels = [1, 2]}\n')  # fmt: skip
    for args in (
        ("simulate", str(trace), "--json", "-"),
        ("trace", "characterize", str(trace)),
        ("sweep", str(spec), "-o", str(tmp_path / "s")),
        ("compare", str(trace), "--policies", "page+none"),
        ("replay", str(trace), "sim:tlc,capacity=512MiB", "--timing", "asap"),
        ("replay", str(trace), "sim:tlc,capacity=512MiB", "--timing", "asap", "--dry-run"),
        ("lifetime", str(trace), "--seeds", "1", "--cycles", "20", *SMALL_SETTINGS, "--set", "capacity=16MiB"),
        ("search", str(search), "--budget", "2"),
    ):
        # A machine that is busy with other things says how far it is.
        err = re.sub(r"^running, .*\n", "", flashweir(*args).err, flags=re.MULTILINE)
        assert err.startswith(said), (args, err)
        assert err.endswith("1 times went back and were set to the one before\n"), (args, err)
        assert err.count("\n") == 1, (args, err)
        again = ("--resume",) if args[0] == "sweep" else ()
        assert flashweir(*args, "--quiet", *again).err == ""
        assert flashweir("--quiet", *args, *again).err == "", "before the command too"
    info = flashweir("trace", "info", str(trace)).out
    assert "look alike" in info
    assert "clamped_times  1" in " ".join(info.split()).replace("clamped_times 1", "clamped_times  1")


def test_warm_up_is_left_out_and_told() -> None:
    plain = flashweir("simulate", QUICK, *SMALL_SETTINGS, "--json", "-").json()
    assert not {"warmup", "series"} & plain.keys()
    rest = flashweir("simulate", QUICK, *SMALL_SETTINGS, "--warmup", "requests=4000", "--json", "-").json()
    assert rest.keys() - plain.keys() == {"warmup", "series"}
    assert rest["requests"] == sum(rest["counters"]["requests"].values()) == 16_000
    assert rest["warmup"]["simulated_s"] + rest["simulated_s"] == pytest.approx(plain["simulated_s"])
    assert sum(rest["series"]["requests"]) == 20_000
    assert rest["series"]["end_s"][-1] == plain["simulated_s"]
    summary = flashweir("simulate", QUICK, *SMALL_SETTINGS, "--warmup", "requests=4000").out
    assert "4,000 of 20,000 requests removed as warm-up (requests)" in summary
    short = "sequential:span=1MiB,size=4KiB,count=30"
    assert "nothing removed (mser-5)" in flashweir("simulate", short, *SMALL_SETTINGS, "--warmup", "mser-5").out


def test_activity_is_in_the_json_and_named_in_the_summary() -> None:
    asked = ["simulate", QUICK, *SMALL_SETTINGS, "--activity", "10ms..20ms"]
    activity = flashweir(*asked, "--json", "-").json()["activity"]
    assert (activity["from_s"], activity["to_s"]) == (0.01, 0.02)
    assert f"{len(activity['dirty_pages'])} bins of 16.4 us a channel: --json writes them" in flashweir(*asked).out
    assert refused(*asked[:-1], "20ms..10ms") == "activity 20ms..10ms: expected a window that ends after it starts"


def test_power_cuts_are_in_the_json_and_named_in_the_summary() -> None:
    asked = ["simulate", QUICK, *SMALL_SETTINGS, "--set", "buffer.bytes=64KiB"]
    plain = flashweir(*asked, "--json", "-").json()
    cut = flashweir(*asked, "--power-cut", "100", "--json", "-").json()
    cuts = cut.pop("power_cuts")
    assert without_wall_times(cut) == without_wall_times(plain)
    assert cuts["cuts"] == len(cuts["details"]) == 100
    assert cuts["flushed_sectors_lost"] == 0 < cuts["acknowledged_sectors_lost"]["mean"] <= 128
    summary = flashweir(*asked, "--power-cut", "1ms", "--power-cut", "9ms").out
    assert "a prefix survives" in summary
    assert "of 2 power cuts" in summary
    assert refused(*asked, "--power-cut", "900s").startswith("power cut at 900 s: expected a time within the run")


def test_summary_survives_a_locale_without_unicode() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "flashweir", "simulate", QUICK, *SMALL_SETTINGS]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=300, check=True)
    assert done.stdout.isascii()


def test_json_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    run = flashweir("simulate", QUICK, *SMALL_SETTINGS, "--json", str(target))
    assert run.out == ""
    assert json.loads(target.read_text())["requests"] == 20_000
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_failed_run_leaves_no_file_and_keeps_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    target.write_text("old")
    log = tmp_path / "log.parquet"
    refused("simulate", QUICK, "--set", "chanels=4", "--json", str(target), "--requests", str(log))
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_same_input_gives_the_same_bytes() -> None:
    args = ("simulate", str(SHIPPED_TRACE), "--set", "capacity=4GiB", "--json", "-")
    first, second = (json.dumps(without_wall_times(flashweir(*args).json())) for _ in range(2))
    assert first == second


def test_percentiles_lie_in_order_below_the_maximum() -> None:
    latencies = flashweir("simulate", str(SHIPPED_TRACE), "--json", "-").json()["latency_us"]
    for row in latencies.values():
        ordered = [row[name] for name in ("p50", "p95", "p99", "p999", "max")]
        assert ordered == sorted(ordered)
    # One request in a thousand is slower than p99.9: far fewer than what makes the mean.
    assert latencies["write"]["p999"] > latencies["write"]["mean"] > 0


def test_seed_changes_the_workload() -> None:
    results = [
        without_wall_times(flashweir("simulate", QUICK, *SMALL_SETTINGS, "--seed", seed, "--json", "-").json())
        for seed in ("1", "2")
    ]
    assert results[0] != results[1]


def test_config_of_a_result_is_a_device(tmp_path: Path) -> None:
    first = flashweir("simulate", QUICK, *SMALL_SETTINGS, "--set", "gc.victim=fifo", "--json", "-").json()
    device = tmp_path / "device.json"
    device.write_text(json.dumps(first["config"]))
    second = flashweir("simulate", QUICK, "--device", str(device), "--json", "-").json()
    assert without_wall_times(first) == without_wall_times(second)


def test_named_workloads_are_streams() -> None:
    args = ("--workload", f"alice={QUICK}", "--workload", "bob=sequential:span=32MiB,size=8KiB,count=1000,write=0.0")
    result = flashweir("simulate", *args, *SMALL_SETTINGS, "--json", "-").json()
    assert result["requests"] == 21_000
    assert "alice" in json.dumps(result)
    assert "bob" in json.dumps(result)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "workload"),
        (("no-such-file.csv",), "no-such-file.csv"),
        (("random:span=1GiB,cuont=5",), "cuont"),
        (("randon:span=1GiB",), "randon"),
        ((QUICK, "--set", "chanels=4"), "chanels"),
        ((QUICK, "--warmup", "mser"), "expected mser-5, steady, or requests=N"),
        ((QUICK, "--warmup", "requests=20000"), "expected fewer than the 20000 requests"),
        ((QUICK, "--set", "gc.victm=fifo"), "victm"),
        ((QUICK, "--set", "channels"), "KEY=VALUE"),
        ((QUICK, "--set", "=4"), "KEY=VALUE"),
        ((QUICK, "--set", "channels=many"), "many"),
        ((QUICK, "--set", "channels=0"), "channels"),
        ((QUICK, "--set", "capacity=1KiB1"), "1KiB1"),
        ((QUICK, "--set", "gc.victim=oldest"), "oldest"),
        ((QUICK, "--device", "no-such-preset"), "no-such-preset"),
        ((QUICK, "--format", "nonsense"), "nonsense"),
        ((QUICK, "--workload", f"a={QUICK}"), "--workload"),
        (("--workload", "a"), "NAME=SPEC"),
        (("--workload", f"a={QUICK}", "--workload", f"a={QUICK}"), "twice"),
        ((QUICK, "--json", "no/such/folder/x.json"), "folder"),
        ((QUICK, "--requests", "no/such/folder/x.parquet"), "folder"),
        ((QUICK, "--skip-bad", "-1"), "skip-bad"),
        ((QUICK, "--power-cut", "soon"), "expected a time of the run with its unit, such as 1.5s"),
        ((QUICK, "--power-cut", "1ms", "--power-cut", "7"), "a number of random cuts stands alone"),
        ((QUICK, "--power-cut", "7", "--set", "ftl.kind=direct"), "ftl.kind=direct"),
        ((QUICK, "--frob"), "--frob"),
        (("a=zipf:",), "the workload alone, zipf:, or --workload a=zipf: to name it"),
    ],
)
def test_bad_input_is_one_line_that_names_it(args: tuple[str, ...], words: str, tmp_path: Path) -> None:
    assert words in refused("simulate", *args, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_misspelt_key_gets_a_suggestion() -> None:
    assert "channels" in refused("simulate", QUICK, "--set", "chanels=4")


@pytest.mark.parametrize("content", [b"", b"\n\n\n", b"\x00" * 4096, bytes(range(256)) * 16, b"a,b,c\n1,2,3\n", b"{}"])
def test_rubbish_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish.dat"
    rubbish.write_bytes(content)
    assert "rubbish.dat" in refused("simulate", str(rubbish))
    assert "rubbish.dat" in refused("trace", "info", str(rubbish))
    assert "rubbish.dat" in refused("trace", "convert", str(rubbish), str(tmp_path / "out.msr.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["rubbish.dat"]


def test_damaged_parquet_is_refused_in_one_line(tmp_path: Path) -> None:
    log, damaged = tmp_path / "log.parquet", tmp_path / "damaged.parquet"
    flashweir("trace", "generate", "random:span=32MiB,size=4KiB,count=300,seed=1", str(log))
    whole = log.read_bytes()
    asserted = None
    for at in range(len(whole)):
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            package.trace_info(damaged)
        except package.TraceError as error:
            # The Parquet library answers this with an assertion, which is no message for users.
            if "damaged beyond" in str(error):
                asserted = str(error)
                break
    assert asserted is not None, "the library names all damage now: the guard around it can go"
    assert refused("trace", "info", str(damaged)) == asserted
    assert refused("simulate", str(damaged)) == asserted
    assert refused("trace", "convert", str(damaged), str(tmp_path / "out.spc")) == asserted


@pytest.mark.parametrize("text", ["", "= 4", "channels = ", "channels = 4\nchanels = 4", "\x00", "[gc]\nvictim = 3"])
def test_rubbish_device_file_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    device = tmp_path / "device.toml"
    device.write_text(text)
    run = flashweir("simulate", QUICK, "--device", str(device), code=None)
    # An empty file is a drive: the default one.
    if text:
        assert "device.toml" in refused("simulate", QUICK, "--device", str(device))
    else:
        assert run.code == 0


def test_addresses_beyond_the_drive_are_refused_or_folded() -> None:
    beyond = "random:span=1GiB,size=4KiB,count=1000,seed=1"
    assert "--wrap" in refused("simulate", beyond, *SMALL_SETTINGS)
    assert flashweir("simulate", beyond, *SMALL_SETTINGS, "--wrap", "--json", "-").json()["requests"] == 1000


def test_usage_errors_outside_simulate() -> None:
    assert "expected one that is there, or a simulated drive such as sim:tlc" in refused("bench", "nope")
    assert "frob" in refused("frob")
    assert refused("trace")
    assert "TRACE" in refused("trace", "info")
    assert "OUT" in refused("trace", "convert", "in")


def test_console_script_and_module_are_the_same() -> None:
    assert flashweir("--version").out == flashweir("--version", module=True).out == f"flashweir {package.__version__}\n"
    assert "simulate" in flashweir(module=True).out
    assert "--set" in flashweir("simulate", "--help").out


def test_broken_pipe_is_silent() -> None:
    command = f"{sys.executable} -m flashweir schema | head -c 1"
    done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr == ""


def test_presets_schema_and_refusals() -> None:
    listed = flashweir("presets", "--json", "-").json()
    assert "mlc-2006" in {preset["name"] for preset in listed}
    assert "mlc-2006" in flashweir("presets").out
    assert "channels" in flashweir("schema").json()["properties"]
    assert isinstance(flashweir("schema", "--refusals").json(), list)
    renamed = {name["old"]: name["new"] for name in flashweir("schema", "--renamed").json()}
    assert renamed["tenants.most_slowed"] == "tenants.max_late_share"
    assert flashweir("schema", "--renamed", "--refusals", code=2).err.startswith("error:")


def test_trace_info_counts_the_shipped_trace() -> None:
    info = flashweir("trace", "info", str(SHIPPED_TRACE), "--json", "-").json()
    # Reads, writes and discards; flushes stand apart (traces/README.md).
    assert info["requests"] == 59_616
    assert "59,616" in flashweir("trace", "info", str(SHIPPED_TRACE)).out


def test_convert_and_generate_write_whole_files(tmp_path: Path) -> None:
    generated, converted = tmp_path / "a.parquet", tmp_path / "b.msr.csv"
    flashweir("trace", "generate", QUICK, str(generated))
    flashweir("trace", "convert", str(generated), str(converted))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.msr.csv"]
    infos = [flashweir("trace", "info", str(path), "--json", "-").json() for path in (generated, converted)]
    assert [info["requests"] for info in infos] == [20_000, 20_000]


@pytest.mark.parametrize("to", ["msr", "spc", "disksim", "ssdsim", "mqsim"])
def test_convert_leaves_out_what_the_format_has_no_operation_for_and_says_so(to: str, tmp_path: Path) -> None:
    run = flashweir("trace", "convert", str(SHIPPED_TRACE), str(tmp_path / "out"), "--to", to)
    assert run.err == f"left out: 4033 flushes, 505 discards: {to} has no such operation\n"
    assert "not_written" in run.out
    info = flashweir("trace", "info", str(tmp_path / "out"), "--format", to, "--json", "-").json()
    assert [info[name] for name in ("reads", "writes", "trims", "flushes")] == [29_076, 30_035, 0, 0]


def test_convert_to_what_holds_everything_says_nothing(tmp_path: Path) -> None:
    assert flashweir("trace", "convert", str(SHIPPED_TRACE), str(tmp_path / "out.parquet")).err == ""
    converted = package.trace_convert(SHIPPED_TRACE, tmp_path / "out.spc")
    assert {tally["reason"]: tally["count"] for tally in converted["not_written"]} == {"flush": 4033, "discard": 505}


def test_generate_leaves_out_what_the_format_has_no_operation_for_and_says_so(tmp_path: Path) -> None:
    spec = "random:span=32MiB,size=4KiB,count=1000,flush_every=1000,seed=1"
    run = flashweir("trace", "generate", spec, str(tmp_path / "out.spc"))
    assert run.err == "left out: 1 flush: spc has no such operation\n"
    assert flashweir("trace", "info", str(tmp_path / "out.spc"), "--json", "-").json()["requests"] == 999


def test_converting_a_file_onto_itself_does_not_destroy_it(tmp_path: Path) -> None:
    trace = tmp_path / "a.msr.csv"
    flashweir("trace", "generate", QUICK, str(trace))
    before = trace.read_bytes()
    flashweir("trace", "convert", str(trace), str(trace), code=None)
    info = flashweir("trace", "info", str(trace), "--json", "-").json()
    assert info["requests"] == 20_000
    assert len(trace.read_bytes()) == len(before)


@pytest.mark.parametrize("other", ["--requests", "--timeline"])
def test_outputs_need_files_of_their_own(tmp_path: Path, other: str) -> None:
    out = tmp_path / "out"
    assert "a file of its own" in refused("simulate", "random:span=1MiB,count=10", "--json", str(out), other, str(out))
    assert not out.exists()


def test_an_output_never_replaces_what_the_run_reads(tmp_path: Path) -> None:
    trace = tmp_path / "trace.msr.csv"
    flashweir("trace", "generate", "random:span=1MiB,count=10", str(trace))
    before = trace.read_bytes()
    for option in ("--json", "--requests", "--timeline"):
        refused("simulate", str(trace), option, str(trace))
    refused("trace", "convert", str(trace), str(trace), "--to", "spc")
    assert trace.read_bytes() == before


def test_a_link_is_followed_and_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("")
    (tmp_path / "link.json").symlink_to("real.json")
    flashweir("simulate", "random:span=1MiB,count=10", "--json", str(tmp_path / "link.json"))
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["requests"] == 10
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keeper = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    flashweir("trace", "generate", "random:span=1MiB,count=10", str(pipe), "--to", "msr")
    assert os.read(keeper, 1 << 16).count(b"\n") == 10
    os.close(keeper)
    assert pipe.is_fifo()


@pytest.mark.parametrize("arguments", [("--seed", "-1"), ("--set", "channels=1e3")])
def test_settings_out_of_range_are_named(arguments: tuple[str, str]) -> None:
    assert arguments[0] in refused("simulate", "random:span=1MiB,count=10", *arguments)
